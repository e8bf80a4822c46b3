/* The comment as the service asks for it; its whole text is in tests/cli/test_comment_golden.py. */
#include <stdlib.h>
#include <string.h>

#include "core/comment/comment.h"

#include "tests/check/check.h"

#define SIDES "\"a\":{\"name\":\"x\"},\"b\":{\"name\":\"y\"}"
#define ROW(verdict)                                                                               \
    "{\"benchmark\":\"gemm\",\"metric\":\"time_ns\",\"verdict\":\"" verdict                        \
    "\",\"rel_change\":0.25}"

static pfc_err err;

static pfc_code make(const char *text, const pfc_comment_opts *opts, char **body,
                     pfc_comment_result *result)
{
    static const pfc_comment_opts plain = { .key = "k" };
    pfc_buf out;
    pfc_code code;

    err = (pfc_err){ 0 };
    pfc_buf_init(&out, PFC_COMMENT_MAX_BYTES);
    code = pfc_comment_from_text(text, strlen(text), opts ? opts : &plain, &out, result, &err);
    *body = pfc_buf_take(&out);
    return code;
}

Test(comment, a_document_has_a_verdict_and_a_title)
{
    static const struct {
        const char *document;
        pfc_cmp_verdict verdict;
        const char *title, *first;
    } rows[] = {
        { "{" SIDES ",\"rows\":[" ROW("regression") "]}", PFC_CMP_REGRESSION,
          "1 regression, the largest +25.0 %", "\xF0\x9F\x94\xB4" },
        { "{" SIDES ",\"rows\":[" ROW("improvement") "]}", PFC_CMP_IMPROVEMENT,
          "1 improvement, the largest +25.0 %; no regression", "\xF0\x9F\x9F\xA2" },
        { "{" SIDES ",\"rows\":[" ROW("same") "]}", PFC_CMP_SAME, "No change in 1 benchmark",
          "\xF0\x9F\x9F\xA2" },
        { "{" SIDES ",\"rows\":[" ROW("inconclusive") "]}", PFC_CMP_INCONCLUSIVE,
          "No regression shown; 1 of 1 not decided", "\xE2\x9A\xAA" },
        { "{" SIDES ",\"rows\":[" ROW("broken") "," ROW("regression") "]}", PFC_CMP_BROKEN,
          "1 benchmark is broken; 1 regression, the largest +25.0 %", "\xE2\x9B\x94" },
        { "{" SIDES ",\"rows\":[]}", PFC_CMP_INCONCLUSIVE, "Nothing was compared", "\xE2\x9A\xAA" },
        { "{" SIDES ",\"rows\":[],\"nothing\":\"no code changed\"}", PFC_CMP_INCONCLUSIVE,
          "Nothing was compared", "\xE2\x9A\xAA" },
        { "{" SIDES
          ",\"stored\":true,\"differs\":[{\"field\":\"cpu\"}],\"rows\":[" ROW("regression") "]}",
          PFC_CMP_INCONCLUSIVE, "Not decided: measured with different machines or compilers",
          "\xE2\x9A\xAA" },
        { "{\"error\":{\"status\":5,\"message\":\"no runner\"}}", PFC_CMP_INCONCLUSIVE,
          "No comparison: the measurement failed", "\xE2\x9A\xAA" },
        { "{\"error\":{\"status\":4,\"message\":\"it does not build\"}}", PFC_CMP_BROKEN,
          "No comparison: a build or a benchmark is broken", "\xE2\x9B\x94" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_comment_result result = { 0 };
        char *body = NULL;
        char *expected =
            pfc_format("<!-- perfci:k -->\n### %s %s\n\n", rows[i].first, rows[i].title);

        cr_assert(eq(int, make(rows[i].document, NULL, &body, &result), PFC_OK), "%zu: %s", i,
                  err.msg);
        cr_assert(eq(int, (int)result.verdict, (int)rows[i].verdict), "row %zu", i);
        cr_assert(eq(str, result.title, (char *)rows[i].title));
        cr_assert(eq(int, strncmp(body, expected, strlen(expected)), 0), "%s", body);
        free(expected);
        free(body);
        free(result.title);
    }
}

Test(comment, commits_and_the_whole_comparison_are_linked)
{
    static const char document[] =
        "{\"a\":{\"name\":\"1111111111111111111111111111111111111111\"},\"b\":{\"name\":\"y\"},"
        "\"rows\":[]}";
    pfc_comment_opts opts = { .key = "k",
                              .commit_url = "https://h/o/n/commit/",
                              .link = "https://perf/7",
                              .note = "a <note> @all" };
    char *body = NULL;

    cr_assert(eq(int, make(document, &opts, &body, NULL), PFC_OK), "%s", err.msg);
    cr_assert(strstr(body, "Head `y` compared with base [`111111111111`](<https://h/o/n/commit/"
                           "1111111111111111111111111111111111111111>) \xC2\xB7 "
                           "[Whole comparison](<https://perf/7>)\n\n"
                           "a &lt;note&gt; @&#8203;all\n\n") != NULL,
              "%s", body);
    free(body);
    opts = (pfc_comment_opts){ .key = "k", .commit_url = "javascript:x", .link = "https://a b" };
    cr_assert(eq(int, make(document, &opts, &body, NULL), PFC_OK));
    cr_assert(strstr(body, "javascript") == NULL && strstr(body, "https") == NULL, "%s", body);
    free(body);
}

Test(comment, what_is_no_comparison_is_refused)
{
    static const char *const documents[] = { "",
                                             "{",
                                             "[]",
                                             "{}",
                                             "{\"error\":{}}",
                                             "{" SIDES ",\"rows\":[{}]}",
                                             "{" SIDES ",\"rows\":[" ROW("faster") "]}" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(documents); i++) {
        char *body = NULL;

        cr_assert(eq(int, make(documents[i], NULL, &body, NULL), PFC_EINVAL), "%s", documents[i]);
        cr_assert(eq(str, body, ""));
        free(body);
    }
}
