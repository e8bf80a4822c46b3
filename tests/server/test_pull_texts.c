/* Texts of a pull request: when a comment is made, its text, the check, for every verdict. */
#include <stdlib.h>
#include <string.h>

#include "core/forge/forge.h"
#include "server/bot/internal.h"

#include "tests/check/check.h"

#define BASE "1111111111111111111111111111111111111111"
#define HEAD "2222222222222222222222222222222222222222"
#define ROW(verdict, change)                                                                       \
    "{\"benchmark\":\"gemm\",\"metric\":\"time_ns\",\"backend\":\"cpu\",\"unit\":\"ns\","          \
    "\"series_id\":7,\"a\":{\"median\":100,\"n\":9},\"b\":{\"median\":112,\"n\":9},\"rounds\":9,"  \
    "\"rel_change\":" change ",\"rel_low\":0.11,\"rel_high\":0.13,\"noise_rel\":0.004,"            \
    "\"margin_rel\":0.01,\"p_adjusted\":1e-4,\"verdict\":\"" verdict "\"}"
#define DOCUMENT(rows)                                                                             \
    "{\"a\":{\"name\":\"" BASE "\"},\"b\":{\"name\":\"" HEAD "\"},\"rows\":[" rows "],"            \
    "\"machine_class\":\"zen\",\"spent_s\":34,\"stored\":false}"

static const pfc_pull pull = { .number = 7,
                               .project = "tiny",
                               .url = "https://forge.example/octo/tiny/pull/7",
                               .head_sha = HEAD,
                               .patience_s = 600 };
static const pfc_pull_links links = { .whole = "https://perf.example/p/tiny/nights/5",
                                      .series = "https://perf.example/series/" };

static pfc_pull_measurement measured(const char *verdict, const char *document, const char *reason)
{
    return (pfc_pull_measurement){ .head_sha = HEAD,
                                   .base_sha = BASE,
                                   .verdict = verdict,
                                   .document_json = document,
                                   .reason = reason };
}

static char *text_of(const pfc_pull_measurement *m, bool why)
{
    pfc_buf out;

    pfc_buf_init(&out, PFC_COMMENT_MAX_BYTES);
    if (why)
        pfc_pull_why(&pull, m, &links, &out);
    else
        pfc_pull_comment(&pull, m, &links, "tiny", &out);
    return pfc_buf_take(&out);
}

static void expect_in(const pfc_pull_measurement *m, bool why, const char *part)
{
    char *text = text_of(m, why);

    cr_expect(strstr(text, part) != NULL, "expected %s in:\n%s", part, text);
    free(text);
}

Test(pull_texts, each_verdict_has_a_first_line_and_a_state)
{
    static const struct {
        const char *verdict, *document, *reason, *accepted, *title, *mark;
        pfc_check_state state;
    } rows[] = {
        { "regression", DOCUMENT(ROW("regression", "0.12")), NULL, NULL,
          "1 regression, the largest +12.0 %", "\xF0\x9F\x94\xB4", PFC_CHECK_FAILURE },
        { "regression", DOCUMENT(ROW("regression", "0.12")), NULL, "github:ann",
          "1 regression, the largest +12.0 % (accepted)", "\xF0\x9F\x9F\xA2", PFC_CHECK_SUCCESS },
        { "improvement", DOCUMENT(ROW("improvement", "-0.12")), NULL, NULL,
          "1 improvement, the largest -12.0 %; no regression", "\xF0\x9F\x9F\xA2",
          PFC_CHECK_SUCCESS },
        { "same", DOCUMENT(ROW("same", "0.001")), NULL, NULL, "No change in 1 benchmark",
          "\xF0\x9F\x9F\xA2", PFC_CHECK_SUCCESS },
        { "inconclusive", DOCUMENT(ROW("inconclusive", "0.02")), NULL, NULL,
          "No regression shown; 1 of 1 not decided", "\xE2\x9A\xAA", PFC_CHECK_NEUTRAL },
        { "identical", DOCUMENT(""), "identical object code of 1", NULL,
          "Unchanged: identical object code, nothing was measured", "\xF0\x9F\x9F\xA2",
          PFC_CHECK_SUCCESS },
        { "broken", "null", "make: no rule", NULL,
          "No comparison: a build or a benchmark is broken", "\xE2\x9B\x94",
          PFC_CHECK_ACTION_REQUIRED },
        { "nothing", DOCUMENT(""), NULL, NULL, "Nothing was compared", "\xE2\x9A\xAA",
          PFC_CHECK_NEUTRAL },
        { "outage", NULL, "the runner went away", NULL, "No comparison: the measurement failed",
          "\xE2\x9A\xAA", PFC_CHECK_NEUTRAL },
        { "regression", "{\"rows\":[{}]}", NULL, NULL, "No comparison: the measurement failed",
          "\xE2\x9A\xAA", PFC_CHECK_FAILURE },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_pull_measurement m = measured(rows[i].verdict, rows[i].document, rows[i].reason);
        char *first = pfc_format("<!-- perfci:tiny -->\n### %s %s\n", rows[i].mark, rows[i].title);
        pfc_check_state state;
        pfc_buf title;
        char *body;

        m.accepted_by = rows[i].accepted;
        pfc_buf_init(&title, 512);
        state = pfc_pull_check(&pull, &m, &title);
        body = text_of(&m, false);
        cr_expect(eq(int, (int)state, (int)rows[i].state), "row %zu", i);
        cr_expect(
            eq(str, (char *)(uintptr_t)pfc_buf_text(&title), (char *)(uintptr_t)rows[i].title));
        cr_expect(eq(int, strncmp(body, first, strlen(first)), 0), "row %zu: %s", i, body);
        free(body);
        free(first);
        pfc_buf_clear(&title);
    }
}

Test(pull_texts, the_comment_links_series_commits_and_the_comparison)
{
    pfc_pull_measurement m = measured("regression", DOCUMENT(ROW("regression", "0.12")), NULL);

    m.filter = "gemm.*";
    expect_in(&m, false, "[`gemm`](<https://perf.example/series/7>)");
    expect_in(&m, false, "[Whole comparison](<https://perf.example/p/tiny/nights/5>)");
    expect_in(&m, false, "[`222222222222`](<https://forge.example/octo/tiny/commit/" HEAD ">)");
    expect_in(&m, false, "[`111111111111`](<https://forge.example/octo/tiny/commit/" BASE ">)");
    expect_in(&m, false, "Measured on zen for 34 s. Only the benchmarks that match gemm.\\*.");
    expect_in(&m, false, "| **+12.0 %** | +11.0 % to +13.0 % | 0.4 % | 9+9 |");
    expect_in(&m, false, "perfci compare " BASE " " HEAD);
    m.accepted_by = "github:ann";
    m.accepted_reason = "worth <it> @all";
    expect_in(&m, false, "Accepted by github\\:ann\\: worth &lt;it&gt; @&#8203;all. Measured on");
}

Test(pull_texts, why_shows_interval_rounds_noise_and_margin)
{
    pfc_pull_measurement m = measured("regression", DOCUMENT(ROW("regression", "0.12")), NULL);

    expect_in(&m, true, "1 regression, the largest +12.0 %.\n");
    expect_in(
        &m, true,
        "- `gemm` `time_ns`: +12.0 %, 95 % interval +11.0 % to +13.0 %; 9 rounds of both "
        "builds, noise 0.4 %, p = 0.0001 among all rows; a change below 1 % does not count\n");
    m = measured("outage", NULL, "the runner went <away>");
    expect_in(&m, true, "the runner went &lt;away&gt;\n");
}

Test(pull_texts, what_a_verdict_without_a_new_measurement_rests_on_is_said)
{
    pfc_pull_measurement m = measured("identical", DOCUMENT(""), "identical tree of 111111111111");

    expect_in(&m, false, "Basis\\: identical tree of 111111111111.\n");
    m = measured("same", DOCUMENT(ROW("same", "0.001")),
                 "the result of pull request 5 for the same commits");
    expect_in(
        &m, false,
        "Measured on zen for 34 s. Basis\\: the result of pull request 5 for the same commits.");
    m = measured("broken", "null", "make: no rule");
    expect_in(&m, false, "\n\nmake\\: no rule\n");
}

Test(pull_texts, the_page_of_a_commit_is_beside_the_pull_request)
{
    static const char *const rows[][2] = {
        { "https://github.com/o/n/pull/7", "https://github.com/o/n/commit/" },
        { "https://git.example/o/n/pulls/7", "https://git.example/o/n/commit/" },
        { "https://gitlab.com/g/s/n/-/merge_requests/7", "https://gitlab.com/g/s/n/-/commit/" },
        { "https://github.com/o/n/pull/17", NULL },
        { "https://github.com/o/n/pull/7/files", NULL },
        { "/pull/7", NULL },
        { "", NULL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_pull p = { .number = 7, .url = rows[i][0] };
        char *url = pfc_pull_commit_url(&p);

        cr_expect(pfc_streq(url, rows[i][1]), "%s: %s", rows[i][0], url ? url : "none");
        free(url);
    }
}

Test(pull_texts, a_comment_is_made_by_policy_and_anew_only_when_the_verdict_worsens)
{
    static const struct {
        pfc_pull_policy policy;
        const char *verdict;
        bool improved;
        int64_t number;
        int rank;
        pfc_comment_step step;
    } rows[] = {
        { PFC_PULL_ALWAYS, "same", false, 0, 0, PFC_COMMENT_EDIT },
        { PFC_PULL_ALWAYS, "outage", false, 0, 0, PFC_COMMENT_EDIT },
        { PFC_PULL_ON_CHANGE, "same", false, 0, 0, PFC_COMMENT_NONE },
        { PFC_PULL_ON_CHANGE, "nothing", false, 0, 0, PFC_COMMENT_NONE },
        { PFC_PULL_ON_CHANGE, "improvement", true, 0, 0, PFC_COMMENT_EDIT },
        { PFC_PULL_ON_CHANGE, "inconclusive", true, 0, 0, PFC_COMMENT_EDIT },
        { PFC_PULL_ON_CHANGE, "inconclusive", false, 0, 0, PFC_COMMENT_NONE },
        { PFC_PULL_ON_REGRESSION, "improvement", true, 0, 0, PFC_COMMENT_NONE },
        { PFC_PULL_ON_REGRESSION, "regression", false, 0, 0, PFC_COMMENT_EDIT },
        { PFC_PULL_ON_REGRESSION, "broken", false, 0, 0, PFC_COMMENT_EDIT },
        { PFC_PULL_ON_REGRESSION, "same", false, 1, 2, PFC_COMMENT_EDIT },
        { PFC_PULL_ON_CHANGE, "regression", false, 1, 0, PFC_COMMENT_NEW },
        { PFC_PULL_ON_CHANGE, "regression", false, 1, 2, PFC_COMMENT_EDIT },
        { PFC_PULL_ON_CHANGE, "broken", false, 2, 2, PFC_COMMENT_NEW },
        { PFC_PULL_ON_CHANGE, "regression", false, 2, 3, PFC_COMMENT_EDIT },
        { PFC_PULL_ALWAYS, "inconclusive", false, 1, 0, PFC_COMMENT_EDIT },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(int,
                     (int)pfc_comment_next(rows[i].policy, rows[i].verdict, rows[i].improved,
                                           rows[i].number, rows[i].rank),
                     (int)rows[i].step),
                  "row %zu", i);
}

Test(pull_texts, the_check_waits_measures_and_never_blocks_longer_than_the_patience)
{
    static const struct {
        const char *state;
        double waited_s;
        pfc_check_state expected;
        const char *title;
    } rows[] = {
        { "queued", 0, PFC_CHECK_QUEUED, "Waiting for a runner" },
        { "leased", 599, PFC_CHECK_IN_PROGRESS, "Measuring" },
        { "leased", 600, PFC_CHECK_NEUTRAL, "No verdict within 10 min; the measurement goes on" },
        { "queued", 86400, PFC_CHECK_NEUTRAL, "No verdict within 10 min; the measurement goes on" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_pull_measurement m = { .state = rows[i].state, .waited_s = rows[i].waited_s };
        pfc_buf title;

        pfc_buf_init(&title, 512);
        cr_expect(eq(int, (int)pfc_pull_check(&pull, &m, &title), (int)rows[i].expected));
        cr_expect(
            eq(str, (char *)(uintptr_t)pfc_buf_text(&title), (char *)(uintptr_t)rows[i].title));
        pfc_buf_clear(&title);
    }
}
