/* The answer of `/perfci bisect`, for each way a search can go. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/forge/forge.h"
#include "server/bot/internal.h"

#include "tests/check/check.h"

#define BASE            "1111111111111111111111111111111111111111"
#define SLOW            "3333333333333333333333333333333333333333"
#define HEAD            "2222222222222222222222222222222222222222"
#define PAGE            "https://forge.example/octo/tiny/commit/"
#define LINK(id, short) "[`" short "`](<" PAGE id ">)"

static const pfc_pull pull = { .number = 7,
                               .project = "tiny",
                               .url = "https://forge.example/octo/tiny/pull/7",
                               .head_sha = HEAD,
                               .open = true };

static pfc_bisection search(const char *state, const char *verdict)
{
    return (pfc_bisection){ .id = 12,
                            .metric = "gemm_tflops",
                            .benchmark = "headline",
                            .commits = 6,
                            .good = BASE,
                            .bad = HEAD,
                            .state = state,
                            .verdict = verdict,
                            .runs = 14,
                            .builds = 5,
                            .seconds = 61 };
}

static void expect_with(const pfc_pull *p, const pfc_bisection *b, const pfc_bisection_cost *cost,
                        const pfc_verification *check, const char *part)
{
    pfc_verification item = check ? *check : (pfc_verification){ 0 };
    const pfc_verifications checks = { .items = &item, .len = check != NULL };
    pfc_buf out;

    pfc_buf_init(&out, PFC_COMMENT_MAX_BYTES);
    pfc_pull_bisection_text(p, b, cost, &checks, "https://perf.example", &out);
    cr_expect(strstr(pfc_buf_text(&out), part) != NULL, "expected %s in:\n%s", part,
              pfc_buf_text(&out));
    pfc_buf_clear(&out);
}

static void expect(const pfc_bisection *b, const char *part)
{
    expect_with(&pull, b, NULL, NULL, part);
}

Test(bisect_text, a_running_search_says_what_is_expected)
{
    const pfc_bisection b = search("running", NULL);
    pfc_bisection_cost cost = {
        .expected_runs = 13.2, .expected_builds = 4.1, .seconds = 541, .runners = 1
    };

    expect_with(&pull, &b, &cost, NULL,
                "[Bisection 12](<https://perf.example/bisections/12>) of `gemm_tflops` over 5 "
                "commits, from " LINK(BASE, "111111111111") " to " LINK(
                    HEAD, "222222222222") ": about 14 runs and 5 builds are expected, about 10 "
                                          "min.\n\nThis comment is edited when it ends.");
    cost.seconds = (double)NAN;
    cost.runners = 0;
    expect_with(&pull, &b, &cost, NULL,
                "for how long is not known before such a job has ended; no runner is connected.");
}

Test(bisect_text, a_culprit_has_its_effect_interval_and_check)
{
    pfc_bisection b = search("done", "found");
    pfc_verification check = { .after = SLOW,
                               .state = "running",
                               .pairs = 6,
                               .rel_change = -0.151,
                               .rel_low = -0.16,
                               .rel_high = -0.142 };

    b.culprits_json = "[{\"commits\":[\"" SLOW "\"],\"probability\":0.99961,\"rel_change\":-0.15,"
                      "\"rel_low\":-0.156,\"rel_high\":-0.144,\"unmeasurable\":false}]";
    expect(&b, ": culprit found.\n\n- " LINK(SLOW, "333333333333") ": -15.0 % (95 % interval "
                                                                   "-15.6 % to -14.4 %), "
                                                                   "probability 0.9996\n");
    expect(&b, "\nMeasured: 14 runs, 5 builds, 2 min.\n");
    expect_with(&pull, &b, NULL, &check, "against the commit before it: running.\n");
    check.state = "confirmed";
    expect_with(
        &pull, &b, NULL, &check,
        "Check of " LINK(SLOW, "333333333333") " in 6 new interleaved pairs with the commit "
                                               "before it: -15.1 % (95 % interval -16.0 % "
                                               "to -14.2 %), confirmed.\n");
    check.state = "refuted";
    expect_with(&pull, &b, NULL, &check, ", the change is not confirmed.\n");
    check.state = "open";
    check.reason = "<b>broken";
    check.rel_change = (double)NAN;
    expect_with(&pull, &b, NULL, &check, "before it: not decided: &lt;b&gt;broken.\n");
}

Test(bisect_text, several_commits_and_exact_values)
{
    pfc_bisection b = search("done", "range");

    b.benchmark = "gemm/`f32`";
    b.culprits_json = "[{\"commits\":[\"" SLOW "\",\"" HEAD "\"],\"probability\":1,"
                      "\"rel_change\":-0.15,\"rel_low\":-0.15,\"rel_high\":-0.15,"
                      "\"unmeasurable\":true}]";
    expect(&b, "- one of 2 commits, from " LINK(SLOW, "333333333333") " to " LINK(
                   HEAD, "222222222222") ": -15.0 %, probability 1; the commits between cannot be "
                                         "measured\n");
    expect(&b, "of `gemm_tflops` of `gemm/'f32'` over");
}

Test(bisect_text, a_search_without_a_culprit_says_why)
{
    pfc_bisection b = search("done", "no-regression");
    pfc_pull other = pull;

    b.stopped_json = "{\"difference\":{\"rel_change\":-0.001,\"rel_low\":-0.01,\"rel_high\":0.009,"
                     "\"margin\":0.025,\"within\":true}}";
    expect(&b, ": no regression; the ends differ by -0.1 % (95 % interval -1.0 % to +0.9 %), a "
               "change to worse below 2.5 % does not count.\n");
    b = search("done", "inconclusive");
    b.reason = "14 runs did not decide it";
    expect(&b, ": not decided: 14 runs did not decide it.\n");
    b = search("cancelled", NULL);
    expect(&b, ": cancelled.\n");
    other.head_sha = SLOW;
    expect_with(&other, &b, NULL, NULL, ": cancelled, since the pull request has a newer head.\n");
    other.open = false;
    expect_with(&other, &b, NULL, NULL, ": cancelled, since the pull request is closed.\n");
}
