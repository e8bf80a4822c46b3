/* The document of a session: what is written is read, and every fault has one sentence with its
 * path. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/session.h"

#include "tests/check/check.h"

#define ID     "0123456789abcdef0123456789abcdef"
#define ANCHOR "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define BASE   "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ONE    "1111111111111111111111111111111111111111"
#define TWO    "2222222222222222222222222222222222222222"
#define HEAD                                                                                       \
    "{\"id\":\"" ID "\",\"anchor\":\"" ANCHOR "\",\"base\":\"" BASE                                \
    "\",\"machine_class\":\"c\",\"started_at\":\"2026-11-22T10:00:00Z\","                          \
    "\"finished_at\":\"2026-11-22T09:00:00Z\",\"spent_s\":12.5,\"blocks\":4"
#define WITH(commits)       HEAD ",\"commits\":[" commits "]}"
#define COMMIT(id, members) "{\"commit\":\"" id "\"," members "}"
#define FUNCTION(members)   "\"status\":\"measured\",\"functions\":[{" members "}]"

/* A build that was judged before is none of the session's commits. */
Test(session, a_commit_may_be_identical_to_one_that_is_not_in_the_session)
{
    static const char text[] =
        WITH(COMMIT(ONE, "\"status\":\"identical\",\"same_as\":\"" TWO "\""));
    pfc_session *session = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_session_from_json(text, sizeof text - 1, &session, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(str, session->commits[0].same_as, TWO));
    pfc_session_free(session);
}

Test(session, survives_a_round_trip)
{
    static const char text[] = HEAD
        ",\"branch\":\"dev\",\"machine\":\"h\",\"budget_s\":60,\"note\":\"n\",\"commits\":"
        "[" COMMIT(
            ONE, "\"status\":\"measured\",\"needs_s\":3,\"functions\":[{\"name\":"
                 "\"operator new(unsigned long)\",\"before\":0,\"after\":"
                 "9007199254740992}]") "," COMMIT(TWO, "\"status\":\"identical\",\"same_as\":\"" ONE
                                                       "\"") "]}";
    pfc_session *session = NULL, *back = NULL;
    pfc_err err = { 0 };
    char *first, *second;
    json_t *json;

    cr_assert(eq(int, pfc_session_from_json(text, sizeof text - 1, &session, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(str, session->branch, "dev"));
    cr_assert(eq(i64, session->blocks, 4));
    cr_assert(eq(dbl, session->commits[0].needs_s, 3));
    cr_assert(isnan(session->commits[1].needs_s));
    cr_assert(eq(sz, session->commits[0].functions_len, 1));
    cr_assert(eq(str, session->commits[0].functions[0].name, "operator new(unsigned long)"));
    cr_assert(eq(i64, session->commits[0].functions[0].before, 0));
    cr_assert(eq(i64, session->commits[0].functions[0].after, INT64_C(9007199254740992)));
    cr_assert(eq(sz, session->commits[1].functions_len, 0));
    cr_assert(eq(str, session->commits[1].same_as, ONE));
    json = pfc_session_document(session);
    first = json_dumps(json, JSON_SORT_KEYS);
    json_decref(json);
    cr_assert(eq(int, pfc_session_from_json(first, strlen(first), &back, &err), PFC_OK), "%s",
              err.msg);
    json = pfc_session_document(back);
    second = json_dumps(json, JSON_SORT_KEYS);
    json_decref(json);
    cr_assert(eq(str, first, second));
    free(first);
    free(second);
    pfc_session_free(session);
    pfc_session_free(back);
}

Test(session, each_fault_has_one_sentence_with_its_path)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "[]", "expected an object" },
        { WITH("") " ", NULL },
        { WITH("7"), "commits[0]" },
        { HEAD "}", "commits: " },
        { HEAD ",\"commits\":[],\"budget_s\":-1}", "budget_s: " },
        { HEAD ",\"commits\":[],\"host\":\"x\"}", "host: " },
        { HEAD ",\"commits\":[],\"machine\":\" h\"}",
          "machine: expected a name without blanks at its ends" },
        { "{\"id\":\"abc\"}", "id: expected 32 hexadecimal digits in lower case" },
        { "{\"id\":\"" ID "\",\"anchor\":\"abc\"}",
          "anchor: expected a full commit id of 40 hexadecimal digits" },
        { "{\"id\":\"" ID "\",\"anchor\":\"" ANCHOR "\",\"base\":\"" BASE
          "\",\"machine_class\":\"\"}",
          "machine_class: expected a name, not empty, without blanks at its ends" },
        { WITH(COMMIT("abc", "\"status\":\"measured\"")),
          "commits[0].commit: expected a full commit id of 40 hexadecimal digits" },
        { WITH(COMMIT(ONE, "\"status\":\"skipped\"")),
          "commits[0].status: expected measured, identical, broken or not_measured, got "
          "\"skipped\"" },
        { WITH(COMMIT(ONE, "\"status\":\"identical\"")),
          "commits[0].same_as: expected the commit that was measured for this one, got none" },
        { WITH(COMMIT(ONE, "\"status\":\"measured\",\"same_as\":\"" TWO "\"")),
          "commits[0].same_as: expected none of a commit that is measured" },
        { WITH(COMMIT(ONE, "\"status\":\"broken\"")),
          "commits[0].reason: expected the reason of a commit that is broken" },
        { WITH(COMMIT(ONE, "\"status\":\"not_measured\",\"reason\":\"\"")),
          "commits[0].reason: expected the reason of a commit that is not_measured" },
        { WITH(COMMIT(ONE, "\"status\":\"measured\",\"needs_s\":-1")), "commits[0].needs_s: " },
        { WITH(COMMIT(ONE, "\"status\":\"measured\",\"functions\":{}")), "commits[0].functions: " },
        { WITH(COMMIT(ONE, FUNCTION("\"name\":\"f\",\"before\":1"))),
          "commits[0].functions[0].after: " },
        { WITH(COMMIT(ONE, FUNCTION("\"name\":\"\",\"before\":1,\"after\":2"))),
          "commits[0].functions[0].name: expected a name, not empty" },
        { WITH(COMMIT(ONE, FUNCTION("\"name\":\"f\\n\",\"before\":1,\"after\":2"))),
          "commits[0].functions[0].name: expected a name without control characters" },
        { WITH(COMMIT(ONE, FUNCTION("\"name\":\"f\",\"before\":-1,\"after\":2"))),
          "commits[0].functions[0].before: " },
        { WITH(COMMIT(ONE, FUNCTION("\"name\":\"f\",\"before\":1,\"after\":9007199254740993"))),
          "commits[0].functions[0].after: " },
        { WITH(COMMIT(ONE, FUNCTION("\"name\":\"f\",\"before\":1,\"after\":2,\"calls\":3"))),
          "commits[0].functions[0].calls: " },
        { WITH(COMMIT(ONE, "\"status\":\"measured\"") "," COMMIT(ONE, "\"status\":\"measured\"")),
          "commits[1].commit: 111111111111 is there twice" },
        { WITH(COMMIT(BASE, "\"status\":\"measured\"")),
          "commits[0].commit: expected a new commit, got the session's base" },
        { WITH(COMMIT(ANCHOR, "\"status\":\"measured\"")),
          "commits[0].commit: expected a new commit, got the session's anchor" },
        { WITH(COMMIT(ONE, "\"status\":\"identical\",\"same_as\":\"" ONE "\"")),
          "commits[0].same_as: expected a commit that is not identical to another one itself" },
        { WITH(COMMIT(ONE, "\"status\":\"identical\",\"same_as\":\"" TWO "\"") "," COMMIT(
              TWO, "\"status\":\"identical\",\"same_as\":\"" BASE "\"")),
          "commits[0].same_as: expected a commit that is not identical to another one itself" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_session *session = NULL;
        pfc_err err = { 0 };
        pfc_code code = pfc_session_from_json(bad[i].text, strlen(bad[i].text), &session, &err);

        cr_assert(eq(int, code, bad[i].says ? PFC_EINVAL : PFC_OK), "%s: %s", bad[i].text, err.msg);
        cr_assert(eq(int,
                     strncmp(err.msg, bad[i].says ? bad[i].says : "",
                             strlen(bad[i].says ? bad[i].says : "")),
                     0),
                  "%s\nexpected %s\ngot %s", bad[i].text, bad[i].says, err.msg);
        pfc_session_free(session);
    }
}

/* 256 commits are the most. */
Test(session, is_limited_to_256_commits)
{
    for (int n = 256; n <= 257; n++) {
        pfc_session *session = NULL;
        pfc_err err = { 0 };
        pfc_buf text;
        pfc_code code;

        pfc_buf_init(&text, 1 << 20);
        pfc_buf_printf(&text, "%s,\"commits\":[", HEAD);
        for (int i = 0; i < n; i++)
            pfc_buf_printf(&text, "%s{\"commit\":\"%040x\",\"status\":\"measured\"}",
                           i > 0 ? "," : "", i + 1);
        pfc_buf_printf(&text, "]}");
        code = pfc_session_from_json(text.data, text.len, &session, &err);
        cr_assert(eq(int, code, n == 256 ? PFC_OK : PFC_EINVAL), "%s", err.msg);
        cr_assert(n == 256 || strcmp(err.field, "commits") == 0, "%s", err.msg);
        pfc_session_free(session);
        pfc_buf_clear(&text);
    }
}
