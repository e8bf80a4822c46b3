/* Sentences and figures that people read of alerts, changes and projects, for every kind. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/services/alerts/effects.h"
#include "server/services/alerts/kinds.h"
#include "server/services/alerts/withheld.h"
#include "server/services/history/project_summary.h"
#include "server/services/service.h"

#include "tests/check/check.h"

static void expect_text(char *text, const char *expected)
{
    cr_expect(eq(str, text, (char *)(uintptr_t)expected));
    free(text);
}

/* ---- how a project stands ---- */

Test(standing, is_bad_for_what_became_worse_and_a_warning_for_what_may_have)
{
    static const struct {
        pfc_standing s;
        const char *level, *sentence;
    } rows[] = {
        { { 0 }, "good", "No open alert; no headline metric yet." },
        { { .headline = 1 }, "good", "No open alert; 1 headline metric unchanged." },
        { { .open = 1, .groups = 1, .regressions = 1, .headline = 3 },
          "bad",
          "1 open alert group (1 regression), none new in the last 24 hours; 3 headline metrics "
          "unchanged." },
        { { .open = 1, .groups = 1, .fresh = 1, .broken = 1, .since_night = true },
          "bad",
          "1 open alert group (1 broken), 1 group new since the last night; no headline metric "
          "yet." },
        { { .open = 1, .groups = 1, .drifts = 1, .since_night = true },
          "bad",
          "1 open alert group (1 drift), none new since the last night; no headline metric yet." },
        { { .open = 2, .groups = 1, .fresh = 1, .toolchain = 1, .harness = 1 },
          "warn",
          "1 open alert group with 2 alerts (1 toolchain change, 1 harness change), 1 group new in "
          "the last 24 hours; no headline metric yet." },
        { { .open = 11,
            .groups = 4,
            .fresh = 2,
            .since_night = true,
            .regressions = 2,
            .broken = 2,
            .drifts = 2,
            .toolchain = 2,
            .harness = 3,
            .broken_builds = 2,
            .silent = 3,
            .headline = 9,
            .regressed = 2,
            .watching = 2,
            .improved = 3 },
          "bad",
          "4 open alert groups with 11 alerts (2 regressions, 2 broken, 2 drifts, 2 toolchain "
          "changes, 3 harness changes), 2 groups new since the last night; 2 broken builds, 3 "
          "silent runners; 2 headline metrics regressed, 2 headline metrics may have regressed: "
          "watching, 3 headline metrics improved, 2 headline metrics unchanged." },
        { { .headline = 6, .broken_builds = 1 },
          "warn",
          "No open alert; 1 broken build; 6 headline metrics unchanged." },
        { { .headline = 6, .silent = 1 },
          "warn",
          "No open alert; 1 silent runner; 6 headline metrics unchanged." },
        { { .headline = 1, .regressed = 1 }, "bad", "No open alert; 1 headline metric regressed." },
        { { .headline = 1, .watching = 1 },
          "warn",
          "No open alert; 1 headline metric may have regressed: watching." },
        { { .headline = 1, .improved = 1 }, "good", "No open alert; 1 headline metric improved." },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_expect(eq(str, (char *)(uintptr_t)pfc_standing_level(&rows[i].s),
                     (char *)(uintptr_t)rows[i].level),
                  "%zu", i);
        expect_text(pfc_standing_sentence(&rows[i].s), rows[i].sentence);
    }
}

/* ---- what an alert is about ---- */

#define SHA   "0123456789abcdef0123456789abcdef01234567"
#define OTHER "fedcba9876543210fedcba9876543210fedcba98"

Test(kinds, a_title_says_the_kind_and_its_own_figures)
{
    static const struct {
        pfc_alert alert;
        const char *title;
    } rows[] = {
        { { .kind = "step", .commit = SHA }, "step: at 0123456789ab" },
        { { .kind = "step", .commit = SHA, .culprit = OTHER }, "step: culprit fedcba987654" },
        { { .kind = "step" }, "step: at ?" },
        { { .kind = "broken", .commit = SHA, .reason = "no result" },
          "broken: since 0123456789ab: no result" },
        { { .kind = "broken", .commit = SHA }, "broken: since 0123456789ab" },
        { { .kind = "toolchain",
            .boundary_json = "[{\"name\": \"compiler\", \"before\": \"gcc 12.2.0\", \"now\": "
                             "\"gcc 13.1.0\"}, {\"name\": \"flags\", \"before\": null, \"now\": "
                             "\"-O3\"}]" },
          "toolchain: compiler gcc 12.2.0 -> 13.1.0, flags unknown -> -O3" },
        { { .kind = "harness", .boundary_json = "[{\"name\": \"v\", \"before\": \"1\"}]" },
          "harness: v 1 -> unknown" },
        /* 1.1^2 = 1.21: ten per cent a week. */
        { { .kind = "drift",
            .rel_change = 0.21,
            .rel_low = 0.0099,
            .rel_high = 0.3,
            .drift_weeks = 2,
            .drift_commits = 20 },
          "drift: +21.0 % (+0.99 % to +30.0 %) over 20 commits in 2.0 weeks, +10.0 % a week" },
        { { .kind = "drift",
            .rel_change = -0.19,
            .rel_low = -0.01,
            .rel_high = -0.000999,
            .drift_weeks = 2,
            .drift_commits = 7,
            .reference_tag = "v1.2",
            .reference_rel = -0.001 },
          "drift: -19.0 % (-1.0 % to -0.100 %) over 7 commits in 2.0 weeks, -10.0 % a week; since "
          "v1.2: -0.10 %" },
        { { .kind = "drift", .rel_change = 0.03, .rel_low = 0.02, .rel_high = 0.04 },
          "drift: +3.0 % (+2.0 % to +4.0 %) over 0 commits" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        expect_text(pfc_alert_title(&rows[i].alert), rows[i].title);
}

/* (1 + slope)^parts = 1 + total, for weeks with both ends and for commits. */
Test(kinds, the_suspect_is_the_culprit_else_what_a_search_found_else_the_place_of_a_step)
{
    static const char found[] = "00112233445566778899aabbccddeeff00112233";
    static const struct {
        pfc_alert alert;
        const char *suspect;
        bool was_found;
    } rows[] = {
        { { .kind = "step", .commit = SHA }, SHA, false },
        { { .kind = "step", .commit = SHA, .found_commit = found }, found, true },
        { { .kind = "broken", .commit = SHA, .found_commit = found }, found, true },
        { { .kind = "step", .commit = SHA, .found_commit = found, .culprit = OTHER },
          OTHER,
          false },
        { { .kind = "drift", .commit = SHA, .found_commit = found }, NULL, false },
        { { .kind = "toolchain", .commit = SHA, .found_commit = found }, NULL, false },
        { { .kind = "harness", .commit = SHA }, NULL, false },
        { { .kind = "step" }, NULL, false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const char *got = pfc_alert_suspect(&rows[i].alert);

        cr_expect(pfc_streq(got ? got : "", rows[i].suspect ? rows[i].suspect : ""), "row %zu: %s",
                  i, got ? got : "none");
        cr_expect(eq(int, pfc_alert_suspect_was_found(&rows[i].alert), rows[i].was_found),
                  "row %zu", i);
    }
}

Test(kinds, a_slope_compounds_to_the_total_of_its_own_parts)
{
    const pfc_alert drift = { .kind = "drift",
                              .rel_change = 0.21,
                              .rel_low = 0.1025,
                              .rel_high = 0.44,
                              .drift_weeks = 2,
                              .drift_commits = 1 };
    const pfc_alert bare = { .kind = "drift", .rel_change = -1.0, .drift_weeks = 2 };
    pfc_slope slope = { 0 };

    pfc_drift_slope(&drift, &slope);
    cr_expect(epsilon_eq(dbl, slope.per_week, 0.1, 1e-12));
    cr_expect(epsilon_eq(dbl, slope.per_week_low, 0.05, 1e-12));
    cr_expect(epsilon_eq(dbl, slope.per_week_high, 0.2, 1e-12));
    cr_expect(epsilon_eq(dbl, slope.per_commit, 0.21, 1e-12));
    pfc_drift_slope(&bare, &slope);
    cr_expect(isnan(slope.per_week));
    cr_expect(isnan(slope.per_commit));
}

Test(kinds, the_reason_of_a_drift_names_its_ends_in_order)
{
    const pfc_alert drift = { .id = 7,
                              .kind = "drift",
                              .rel_change = 0.03,
                              .rel_low = 0.02,
                              .rel_high = 0.04,
                              .drift_commits = 9,
                              .commit_low = SHA,
                              .commit_high = OTHER };

    expect_text(pfc_drift_reason(&drift),
                "a drift has no single culprit: +3.0 % (+2.0 % to +4.0 %) over 9 commits; range "
                "0123456789ab to fedcba987654; measure its ends with \"perfci repro alert:7\"");
}

/* ---- why a change has no alert ---- */

Test(withheld_words, every_reason_has_its_sentence_with_its_numbers)
{
    static const struct {
        const char *code, *detail, *sentence;
    } rows[] = {
        { "improvement", NULL, "no alert: it is an improvement" },
        { "margin", "{\"rel\": -0.012, \"margin\": 0.015}",
          "no alert: -1.2 % is within the margin of 1.5 %" },
        { "margin", NULL, "no alert: it is within the margin" },
        { "fdr",
          "{\"p\": 0.25, \"anywhere\": 0.5, \"points\": 40, \"level\": 0.01, \"series\": 1, "
          "\"fdr\": 0.05}",
          "no alert: p 0.5 (0.25 at each of 40 points) is above the level 0.01 of this commit (FDR "
          "5 %)" },
        { "fdr",
          "{\"p\": 0.25, \"anywhere\": 0.5, \"points\": 40, \"level\": 0.01, \"series\": 2, "
          "\"fdr\": 0.05}",
          "no alert: p 0.5 (0.25 at each of 40 points) is above the level 0.01 that 2 series of "
          "this commit share (FDR 5 %)" },
        { "fdr", NULL, "no alert: the false discovery rate withholds it" },
        { "not_firm", "{\"points\": 3, \"needed\": 5, \"ended\": false}",
          "no alert: 3 of 5 points so far" },
        { "not_firm", "{\"points\": 3, \"needed\": 5, \"ended\": true}",
          "no alert: the level lasted 3 points, and 5 were needed" },
        { "not_firm", NULL, "no alert: too few points so far" },
        { "needs_blocks", "{\"against\": \"" SHA "\", \"commit\": \"" OTHER "\"}",
          "no alert yet: measured singly; the next night measures commits 0123456789ab and "
          "fedcba987654 in blocks" },
        { "identical", "{\"against\": \"" SHA "\", \"commit\": \"" OTHER "\"}",
          "no alert: commits 0123456789ab to fedcba987654 have identical object code" },
        { "budget",
          "{\"against\": \"" SHA "\", \"commit\": \"" OTHER "\", \"rounds\": 9, \"rel_low\": "
          "-0.004, \"rel_high\": 0.031}",
          "no alert yet: the night's budget ended after 9 rounds, undecided (-0.4 to +3.1 %); the "
          "next night goes on with commits 0123456789ab and fedcba987654" },
        { "rule_off", NULL, "no alert: a rule of the project leaves this series out" },
        { "machine", NULL, "no alert: the canary's code never changes, so the machine moved" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_withheld change = {
            .regression = true, .alertable = true, .code = rows[i].code, .detail = rows[i].detail
        };
        const char *code = NULL;

        expect_text(pfc_withheld_sentence(&change, &code), rows[i].sentence);
        cr_expect(eq(str, (char *)(uintptr_t)code, (char *)(uintptr_t)rows[i].code));
    }
}

Test(withheld_words, a_change_with_an_alert_has_none_and_one_not_decided_says_so)
{
    const pfc_withheld alerted = { .alert_id = 4, .regression = true, .code = "margin" };
    const pfc_withheld waits = { .regression = true, .alertable = true };
    const pfc_withheld young = { .regression = true };
    const pfc_withheld better = { .alertable = true };
    const char *code = "";

    cr_expect(eq(ptr, pfc_withheld_sentence(&alerted, &code), NULL));
    cr_expect(eq(ptr, (void *)(uintptr_t)code, NULL));
    expect_text(pfc_withheld_sentence(&waits, &code),
                "no alert yet: the series of this commit are not judged together yet");
    cr_expect(eq(str, (char *)(uintptr_t)code, (char *)"not_firm"));
    expect_text(pfc_withheld_sentence(&young, &code), "no alert: too few points so far");
    cr_expect(eq(str, (char *)(uintptr_t)code, (char *)"not_firm"));
    expect_text(pfc_withheld_sentence(&better, &code), "no alert: it is an improvement");
    cr_expect(eq(str, (char *)(uintptr_t)code, (char *)"improvement"));
}

/* ---- sizes that differ ---- */

/* Whichever comes first states the larger size; ends that meet are no contradiction. */
Test(effects_words, intervals_apart_are_said_in_either_order_and_touching_ones_are_not)
{
    const pfc_effect small = { .source = "pairs", .rel_low = 0.04, .rel_high = 0.06, .n = 1 };
    const pfc_effect large = { .source = "bisection", .rel_low = 0.08, .rel_high = 0.12, .n = 1 };
    const pfc_effect touches = { .source = "history", .rel_low = 0.06, .rel_high = 0.08, .n = 1 };
    const pfc_effect lists[][3] = { { small, large },
                                    { large, small },
                                    { small, touches },
                                    { touches, small },
                                    { touches, large, small } };
    static const size_t lens[] = { 2, 2, 2, 2, 3 };
    static const bool differ[] = { true, true, false, false, true };

    for (size_t i = 0; i < PFC_ARRAY_LEN(lists); i++) {
        char *text = pfc_effects_differ(lists[i], lens[i]);

        cr_expect(eq(int, text != NULL, differ[i]), "%zu", i);
        if (text)
            cr_expect(ne(ptr, strstr(text, "a bisection compares the runs"), NULL), "%s", text);
        free(text);
    }
}
