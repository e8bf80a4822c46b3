/* Members of documents: every type, every limit at it and one past it, and the sentence with its
 * path. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/wire/session.h"
#include "core/wire/wire.h"

#include "tests/check/check.h"
#include "tests/support/guarded_text.h"

typedef struct member {
    const char *text; /* of a document with the member "a" */
    const char *says; /* the sentence; NULL: it is taken */
    double value;
} member;

static json_t *parse(const char *text)
{
    json_t *doc = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_json_parse(text, strlen(text), &doc, &err), PFC_OK), "%s: %s", text,
              err.msg);
    return doc;
}

static void expect(const member *m, pfc_code code, const pfc_err *err, double got)
{
    cr_expect(eq(int, code, m->says ? PFC_EINVAL : PFC_OK), "%s: %s", m->text, err->msg);
    cr_expect(eq(str, (char *)err->msg, (char *)(m->says ? m->says : "")), "%s", m->text);
    cr_expect(eq(dbl, got, m->value), "%s", m->text);
}

Test(members, whole_numbers_lie_within_their_limits)
{
    static const member rows[] = {
        { "{\"a\":-3}", NULL, -3 },
        { "{\"a\":7}", NULL, 7 },
        { "{\"a\":5.0}", NULL, 5 },
        { "{\"a\":5e0}", NULL, 5 },
        { "{}", "a: is missing", 99 },
        { "{\"a\":null}", "a: is missing", 99 },
        { "{\"a\":-4}", "a: expected -3..7, got -4", 99 },
        { "{\"a\":8}", "a: expected -3..7, got 8", 99 },
        { "{\"a\":5.5}", "a: expected a whole number", 99 },
        { "{\"a\":\"5\"}", "a: expected a whole number", 99 },
        { "{\"a\":true}", "a: expected a whole number", 99 },
        { "{\"a\":[5]}", "a: expected a whole number", 99 },
        { "{\"a\":9007199254740992.0}", "a: expected -3..7, got 9007199254740992", 99 },
        { "{\"a\":9007199254740994.0}", "a: expected a whole number", 99 },
        { "{\"a\":-9007199254740994.0}", "a: expected a whole number", 99 },
        { "{\"a\":9223372036854775807}", "a: expected -3..7, got 9223372036854775807", 99 },
        { "{\"a\":18446744073709551615}", "a: expected a whole number", 99 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        json_t *doc = parse(rows[i].text);
        int64_t out = 99;
        pfc_err err = { 0 };
        const pfc_code code = pfc_json_i64(doc, NULL, "a", true, -3, 7, &out, &err);

        expect(&rows[i], code, &err, (double)out);
        json_decref(doc);
    }
}

Test(members, numbers_lie_within_their_limits)
{
    static const member rows[] = {
        { "{\"a\":-1.5}", NULL, -1.5 },
        { "{\"a\":2}", NULL, 2 },
        { "{\"a\":0}", NULL, 0 },
        { "{}", "a: is missing", 99 },
        { "{\"a\":null}", "a: is missing", 99 },
        { "{\"a\":-1.6}", "a: expected -1.5..2, got -1.6", 99 },
        { "{\"a\":2.1}", "a: expected -1.5..2, got 2.1", 99 },
        { "{\"a\":\"1\"}", "a: expected a number", 99 },
        { "{\"a\":false}", "a: expected a number", 99 },
        { "{\"a\":18446744073709551615}", "a: expected -1.5..2, got 1.84467e+19", 99 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        json_t *doc = parse(rows[i].text);
        double out = 99;
        pfc_err err = { 0 };
        const pfc_code code = pfc_json_double(doc, NULL, "a", true, -1.5, 2, &out, &err);

        expect(&rows[i], code, &err, out);
        json_decref(doc);
    }
}

Test(members, texts_are_bounded_and_without_control_characters)
{
    static const member rows[] = {
        { "{\"a\":\"\"}", NULL, 0 },
        { "{\"a\":\"abcd\"}", NULL, 4 },
        { "{\"a\":\"\\t\\n x\"}", NULL, 4 },
        { "{\"a\":\"\\u00e9\\u0080\"}", NULL, 4 },
        { "{}", "a: is missing", 99 },
        { "{\"a\":null}", "a: is missing", 99 },
        { "{\"a\":\"abcde\"}", "a: expected at most 4 bytes, got 5", 99 },
        { "{\"a\":\"abc\\u00e9\"}", "a: expected at most 4 bytes, got 5", 99 },
        { "{\"a\":\"a\\u001f\"}", "a: control character 31 at byte 1", 99 },
        { "{\"a\":\"\\u007f\"}", "a: control character 127 at byte 0", 99 },
        { "{\"a\":\"\\r\"}", "a: control character 13 at byte 0", 99 },
        { "{\"a\":\"\\b\"}", "a: control character 8 at byte 0", 99 },
        { "{\"a\":5}", "a: expected a string", 99 },
        { "{\"a\":[\"x\"]}", "a: expected a string", 99 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        json_t *doc = parse(rows[i].text);
        char *out = NULL;
        pfc_err err = { 0 };
        const pfc_code code = pfc_json_string(doc, NULL, "a", true, 4, &out, &err);

        expect(&rows[i], code, &err, out ? (double)strlen(out) : 99);
        free(out);
        json_decref(doc);
    }
}

Test(members, booleans_lists_and_objects_are_what_they_are)
{
    static const struct {
        const char *text, *boolean, *list, *object;
    } rows[] = {
        { "{\"a\":true}", NULL, "a: expected an array", "a: expected an object" },
        { "{\"a\":false}", NULL, "a: expected an array", "a: expected an object" },
        { "{\"a\":1}", "a: expected true or false", "a: expected an array",
          "a: expected an object" },
        { "{\"a\":\"true\"}", "a: expected true or false", "a: expected an array",
          "a: expected an object" },
        { "{\"a\":[]}", "a: expected true or false", NULL, "a: expected an object" },
        { "{\"a\":[1,2]}", "a: expected true or false", NULL, "a: expected an object" },
        { "{\"a\":[1,2,3]}", "a: expected true or false", "a: expected at most 2 entries, got 3",
          "a: expected an object" },
        { "{\"a\":{}}", "a: expected true or false", "a: expected an array", NULL },
        { "{\"a\":null}", "a: is missing", "a: is missing", "a: is missing" },
        { "{}", "a: is missing", "a: is missing", "a: is missing" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        json_t *doc = parse(rows[i].text), *list = NULL, *object = NULL;
        bool flag = false;
        pfc_err err[3] = { 0 };

        cr_expect(eq(int, pfc_json_bool(doc, NULL, "a", true, &flag, &err[0]),
                     rows[i].boolean ? PFC_EINVAL : PFC_OK));
        cr_expect(eq(int, pfc_json_array(doc, NULL, "a", true, 2, &list, &err[1]),
                     rows[i].list ? PFC_EINVAL : PFC_OK));
        cr_expect(eq(int, pfc_json_object(doc, NULL, "a", true, &object, &err[2]),
                     rows[i].object ? PFC_EINVAL : PFC_OK));
        cr_expect(eq(str, err[0].msg, (char *)(rows[i].boolean ? rows[i].boolean : "")));
        cr_expect(eq(str, err[1].msg, (char *)(rows[i].list ? rows[i].list : "")));
        cr_expect(eq(str, err[2].msg, (char *)(rows[i].object ? rows[i].object : "")));
        cr_expect(eq(int, flag, i == 0));
        cr_expect(eq(int, list != NULL, rows[i].list == NULL));
        cr_expect(eq(int, object != NULL, rows[i].object == NULL));
        json_decref(doc);
    }
}

Test(members, what_is_not_required_may_be_absent_or_null_and_is_left_alone)
{
    static const char *const texts[] = { "{}", "{\"a\":null}" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++) {
        json_t *doc = parse(texts[i]), *list = NULL, *object = NULL;
        int64_t whole = 5;
        double number = 6;
        bool flag = true;
        char *text = NULL;
        pfc_err err = { 0 };

        cr_expect(eq(int, pfc_json_i64(doc, NULL, "a", false, 0, 1, &whole, &err), PFC_OK));
        cr_expect(eq(int, pfc_json_double(doc, NULL, "a", false, 0, 1, &number, &err), PFC_OK));
        cr_expect(eq(int, pfc_json_bool(doc, NULL, "a", false, &flag, &err), PFC_OK));
        cr_expect(eq(int, pfc_json_string(doc, NULL, "a", false, 9, &text, &err), PFC_OK));
        cr_expect(eq(int, pfc_json_array(doc, NULL, "a", false, 9, &list, &err), PFC_OK));
        cr_expect(eq(int, pfc_json_object(doc, NULL, "a", false, &object, &err), PFC_OK));
        cr_expect(eq(i64, whole, 5));
        cr_expect(eq(dbl, number, 6));
        cr_expect(flag);
        cr_expect(eq(ptr, text, NULL));
        json_decref(doc);
    }
}

Test(members, a_path_has_every_step_and_cuts_long_names)
{
    const pfc_json_at root = { .key = NULL };
    const pfc_json_at first = { .up = &root, .index = 3 };
    const pfc_json_at list = { .up = &root, .key = "list" };
    const pfc_json_at item = { .up = &list, .index = 12 };
    char name[70];
    pfc_err err = { 0 };

    cr_expect(eq(int, pfc_json_fault(&item, "a", &err, "%s %d", "x", 5), PFC_EINVAL));
    cr_expect(eq(str, err.field, "list[12].a"));
    cr_expect(eq(str, err.msg, "list[12].a: x 5"));
    (void)pfc_json_fault(&item, NULL, &err, "x");
    cr_expect(eq(str, err.field, "list[12]"));
    (void)pfc_json_fault(&first, "a", &err, "x");
    cr_expect(eq(str, err.field, "[3].a"));
    (void)pfc_json_fault(&root, NULL, &err, "x");
    cr_expect(eq(str, err.field, ""));
    cr_expect(eq(str, err.msg, "x"));
    memset(name, 'n', sizeof(name) - 1);
    name[69] = '\0';
    (void)pfc_json_fault(&list, name, &err, "x");
    cr_expect(eq(sz, strlen(err.field), 5 + 60));
}

Test(members, an_unknown_one_is_named)
{
    static const char *const known[] = { "a", "b", NULL };
    json_t *good = parse("{\"b\":1,\"a\":2}"), *bad = parse("{\"a\":1,\"B\":2}"),
           *list = parse("[]");
    pfc_err err = { 0 };

    cr_expect(eq(int, pfc_json_known(good, NULL, known, &err), PFC_OK));
    cr_expect(eq(int, pfc_json_known(bad, NULL, known, &err), PFC_EINVAL));
    cr_expect(eq(str, err.msg, "B: is not a member that is known here"));
    cr_expect(eq(int, pfc_json_known(list, NULL, known, &err), PFC_EINVAL));
    cr_expect(eq(str, err.msg, "expected an object"));
    json_decref(good);
    json_decref(bad);
    json_decref(list);
}

/* ---- documents that end at every byte, before memory that cannot be read ---- */

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define SHA_C "cccccccccccccccccccccccccccccccccccccccc"
#define RUN                                                                                        \
    "{\"schema\":\"perfci.run/1\",\"id\":\"0123456789abcdef0123456789abcdef\",\"infra\":true,"     \
    "\"job_id\":null,\"started_at\":\"2026-11-22T10:00:00Z\",\"machine\":{\"class\":\"c\","        \
    "\"fingerprint\":{\"a\":\"\\u00e9\\\\\"}},\"measurements\":[{\"benchmark\":\"b\",\"metric\":"  \
    "\"m\",\"exact\":false,\"samples\":[[1,-2.5],[3e2]]}]}"
#define SESSION                                                                                    \
    "{\"id\":\"0123456789abcdef0123456789abcdef\",\"anchor\":\"" SHA_A "\",\"base\":\"" SHA_B      \
    "\",\"machine_class\":\"c\",\"started_at\":\"2026-11-22T10:00:00Z\",\"finished_at\":"          \
    "\"2026-11-22T10:00:00Z\",\"spent_s\":12.5,\"blocks\":4,\"commits\":[]}"
#define COMMITS                                                                                    \
    "{\"branch\":\"main\",\"commits\":[{\"id\":\"" SHA_A "\",\"parents\":[\"" SHA_B                \
    "\"],\"author\":\"A\",\"time\":\"2026-11-22T10:00:00Z\",\"subject\":\"s\",\"paths\":[]}]}"

static pfc_code read_document(int kind, const char *text, size_t len, pfc_err *err)
{
    pfc_run *run = NULL;
    pfc_session *session = NULL;
    pfc_commit *commits = NULL;
    char *branch = NULL;
    size_t commits_len = 0;
    pfc_code code = kind == 0 ? pfc_run_from_json(text, len, &run, err)
                    : kind == 1
                        ? pfc_session_from_json(text, len, &session, err)
                        : pfc_commits_from_json(text, len, &branch, &commits, &commits_len, err);

    pfc_run_free(run);
    pfc_session_free(session);
    pfc_commits_free(commits, commits_len);
    free(branch);
    return code;
}

Test(members, a_document_that_is_cut_is_refused_and_nothing_behind_it_is_read)
{
    static const char *const texts[] = { RUN, SESSION, COMMITS };

    for (int kind = 0; kind < 3; kind++) {
        const size_t len = strlen(texts[kind]);
        guard g = guard_open(len);
        pfc_err err = { 0 };

        for (size_t n = 0; n < len; n++)
            cr_expect(
                eq(int, read_document(kind, guard_end(&g, texts[kind], n), n, &err), PFC_EINVAL),
                "%d: %zu", kind, n);
        cr_expect(eq(int, read_document(kind, guard_end(&g, texts[kind], len), len, &err), PFC_OK),
                  "%d: %s", kind, err.msg);
        guard_close(&g);
    }
}

/* The last byte of each kind of value is the last that can be read. */
Test(members, a_value_may_end_the_text)
{
    static const char *const texts[] = { "0",    "-1",   "12.5", "1e5", "true", "false",
                                         "null", "\"\"", "[]",   "{}",  "1 ",   "\"\\\\\"" };
    static const char *const cut[] = { "-",      "1.",      "1e",   "1e+",   "tru", "fals",
                                       "nul",    "\"",      "\"\\", "\"\\u", "[",   "{",
                                       "{\"a\"", "{\"a\":", "[1,",  "" };
    guard g = guard_open(100);

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts) + PFC_ARRAY_LEN(cut); i++) {
        const bool whole = i < PFC_ARRAY_LEN(texts);
        const char *text = whole ? texts[i] : cut[i - PFC_ARRAY_LEN(texts)];
        const size_t len = strlen(text);
        json_t *doc = NULL;
        pfc_err err = { 0 };

        cr_expect(eq(int, pfc_json_parse(guard_end(&g, text, len), len, &doc, &err),
                     whole ? PFC_OK : PFC_EINVAL),
                  "'%s'", text);
        json_decref(doc);
    }
    guard_close(&g);
}

/* ---- sizes ---- */

Test(members, run_and_session_documents_have_at_most_16_mib)
{
    const size_t max = 16u * 1024 * 1024;
    char *text = mmap(NULL, max + 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    cr_assert(ne(ptr, text, MAP_FAILED));
    for (int kind = 0; kind < 2; kind++) {
        pfc_err err = { 0 };

        cr_expect(eq(int, read_document(kind, text, max, &err), PFC_EINVAL));
        cr_expect(eq(int, read_document(kind, text, max + 1, &err), PFC_ETOOBIG));
        cr_expect(
            eq(str, err.msg,
               (char *)(kind == 0 ? "run document: expected at most 16777216 bytes, got 16777217"
                                  : "session: expected at most 16777216 bytes, got 16777217")));
    }
    munmap(text, max + 1);
}
