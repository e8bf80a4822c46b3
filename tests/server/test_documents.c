/* Columns of type jsonb: the text that a struct becomes, and the struct that a text becomes. */
#include <math.h>
#include <stdlib.h>

#include "server/repo/documents/bisection.h"
#include "server/repo/documents/boundary.h"
#include "server/repo/documents/detector.h"
#include "server/repo/documents/job_task.h"
#include "server/repo/documents/labels.h"
#include "server/repo/documents/rerun_rules.h"
#include "server/repo/documents/session.h"
#include "server/repo/documents/withheld.h"

#include "tests/check/check.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* Takes `text`. */
static void expect_text(char *text, const char *want)
{
    cr_expect(eq(str, text, (char *)(uintptr_t)want));
    free(text);
}

Test(documents, equal_labels_have_equal_texts)
{
    pfc_labels one = { 0 }, other = { 0 };

    expect_text(pfc_labels_text(NULL), "{}");
    expect_text(pfc_labels_text(&one), "{}");
    pfc_labels_set(&one, "rack", "7");
    pfc_labels_set(&one, "gpu", "a \"b\"");
    pfc_labels_set_all(&other, &one);
    pfc_labels_set(&other, "rack", "8");
    expect_text(pfc_labels_text(&one), "{\"gpu\":\"a \\\"b\\\"\",\"rack\":\"7\"}");
    expect_text(pfc_labels_text(&other), "{\"gpu\":\"a \\\"b\\\"\",\"rack\":\"8\"}");
    pfc_labels_clear(&one);
    pfc_labels_clear(&other);
}

Test(documents, a_job_has_the_options_that_are_set)
{
    static const char *const backends[] = { "cpu-avx2", "cpu-scalar" };
    static const char *const ids[] = { SHA_A, SHA_B };
    const pfc_job_blocks least = {
        .commits = ids, .commits_len = 1, .base = SHA_B, .budget_s = 60
    };
    const pfc_job_blocks most = { .commits = ids,
                                  .commits_len = 1,
                                  .base = SHA_B,
                                  .known = ids,
                                  .known_len = 1,
                                  .anchors = ids + 1,
                                  .anchors_len = 1,
                                  .budget_s = 60,
                                  .margin = 0.25,
                                  .rounds = 3 };

    cr_expect(eq(ptr, pfc_job_options_text(&(pfc_job_options){ 0 }), NULL));
    expect_text(pfc_job_options_text(&(pfc_job_options){
                    .config = "c", .filter = "f", .backends = backends, .backends_len = 2 }),
                "{\"config\":\"c\",\"filter\":\"f\",\"backends\":[\"cpu-avx2\",\"cpu-scalar\"]}");
    expect_text(pfc_job_options_text(&(pfc_job_options){ .blocks = &least }),
                "{\"blocks\":{\"commits\":[\"" SHA_A "\"],\"base\":\"" SHA_B
                "\",\"anchors\":[],\"budget_s\":60.0}}");
    expect_text(pfc_job_options_text(&(pfc_job_options){ .blocks = &most }),
                "{\"blocks\":{\"commits\":[\"" SHA_A "\"],\"base\":\"" SHA_B
                "\",\"anchors\":[\"" SHA_B "\"],\"budget_s\":60.0,\"known\":[\"" SHA_A
                "\"],\"margin\":0.25,\"rounds\":3}}");
}

Test(documents, a_step_of_a_search_says_what_is_measured)
{
    expect_text(pfc_job_search_text(&(pfc_job_search){ .metric = "time_ns" }),
                "{\"metric\":\"time_ns\",\"layout\":0,\"launches\":1}");
    expect_text(pfc_job_search_text(&(pfc_job_search){ .metric = "time_ns",
                                                       .benchmark = "b",
                                                       .backend = "cpu",
                                                       .layout = 2,
                                                       .config = "c",
                                                       .pair = SHA_A,
                                                       .pair_first = true }),
                "{\"metric\":\"time_ns\",\"benchmark\":\"b\",\"backend\":\"cpu\",\"layout\":2,"
                "\"launches\":1,\"config\":\"c\",\"pair\":\"" SHA_A "\",\"pair_first\":true}");
    expect_text(pfc_job_search_text(&(pfc_job_search){ .metric = "m", .pair = SHA_A }),
                "{\"metric\":\"m\",\"layout\":0,\"launches\":1,\"pair\":\"" SHA_A
                "\",\"pair_first\":false}");
}

Test(documents, rules_come_back_and_none_are_no_rules)
{
    pfc_rerun_rules rules = { 0 }, read = { 0 };
    pfc_err err = { 0 };
    char *text;

    cr_assert(eq(int,
                 pfc_rerun_rules_parse("[{\"on\":\"canary\",\"times\":2,\"after_s\":600,"
                                       "\"machine\":\"other\"}]",
                                       &rules, &err),
                 PFC_OK),
              "%s", err.msg);
    text = pfc_rerun_rules_text(&rules);
    cr_assert(eq(int, pfc_rerun_rules_parse(text, &read, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(int, memcmp(&rules, &read, sizeof(rules)), 0), "%s", text);
    free(text);
    cr_assert(eq(int, pfc_rerun_rules_parse(NULL, &read, &err), PFC_OK));
    cr_expect(eq(ptr, (void *)(uintptr_t)pfc_rerun_find(&read, PFC_RERUN_CANARY), NULL));
    cr_expect(eq(int, pfc_rerun_rules_parse("[{\"on\":\"x\"}]", &read, &err), PFC_EINVAL));
}

Test(documents, options_of_a_bisection_come_back)
{
    const pfc_bisection_options all = { .confidence = 0.99,
                                        .noise_rel = 0.01,
                                        .layout_noise_rel = 0.02,
                                        .delta_rel = -0.05,
                                        .margin_rel = 0.03,
                                        .relink = true,
                                        .max_runs = 40,
                                        .priority = 60,
                                        .parallel = 3,
                                        .source = "s",
                                        .config = "c" };
    pfc_bisection_options read = { 0 };
    pfc_texts texts = { 0 };
    pfc_err err = { 0 };
    char *text = pfc_bisection_options_text(&all);

    cr_assert(eq(int, pfc_bisection_options_parse(text, &read, &texts, &err), PFC_OK), "%s",
              err.msg);
    cr_expect(eq(dbl, read.confidence, all.confidence));
    cr_expect(eq(dbl, read.noise_rel, all.noise_rel));
    cr_expect(eq(dbl, read.layout_noise_rel, all.layout_noise_rel));
    cr_expect(eq(dbl, read.delta_rel, all.delta_rel));
    cr_expect(eq(dbl, read.margin_rel, all.margin_rel));
    cr_expect(read.relink);
    cr_expect(eq(i64, read.max_runs, all.max_runs));
    cr_expect(eq(int, read.priority, all.priority));
    cr_expect(eq(int, read.parallel, all.parallel));
    cr_expect(eq(str, (char *)read.source, "s"));
    cr_expect(eq(str, (char *)read.config, "c"));
    pfc_texts_clear(&texts);
    free(text);
    cr_assert(eq(int, pfc_bisection_options_parse("{}", &read, &texts, &err), PFC_OK));
    cr_expect(eq(ptr, (void *)read.source, NULL));
    cr_expect(eq(ptr, (void *)read.config, NULL));
    cr_expect(not(read.relink));
    pfc_texts_clear(&texts);
    cr_expect(eq(int, pfc_bisection_options_parse("{", &read, &texts, &err), PFC_EINVAL));
}

Test(documents, culprits_name_each_commit_of_their_range)
{
    static const char *const line[] = { "a", "b", "c", "d" };
    const pfc_culprit culprits[] = { { .first = 1,
                                       .last = 2,
                                       .probability = 0.5,
                                       .rel_change = 0.25,
                                       .rel_low = 0,
                                       .rel_high = 1 } };
    char *text = pfc_bisection_culprits_text(culprits, 1, line);

    cr_expect(ne(ptr, strstr(text, "\"commits\":[\"b\",\"c\"]"), NULL), "%s", text);
    cr_expect(ne(ptr, strstr(text, "\"rel_change\":0.25"), NULL), "%s", text);
    free(text);
    expect_text(pfc_bisection_culprits_text(culprits, 0, line), "[]");
}

Test(documents, a_stopped_bisection_says_budget_only_where_one_ended_it)
{
    const pfc_finding finding = { .known = true };
    const pfc_bisect_remaining left = { .budget = 7 };
    char *plain = pfc_bisection_stopped_text(&finding, NULL, NULL);
    char *spent = pfc_bisection_stopped_text(&finding, &left, SHA_A);

    cr_expect(ne(ptr, strstr(plain, "\"difference\":"), NULL), "%s", plain);
    cr_expect(eq(ptr, strstr(plain, "budget"), NULL), "%s", plain);
    cr_expect(ne(ptr, strstr(spent, "\"difference\":"), NULL), "%s", spent);
    cr_expect(ne(ptr, strstr(spent, "\"stopped\":\"budget\""), NULL), "%s", spent);
    cr_expect(ne(ptr, strstr(spent, SHA_A), NULL), "%s", spent);
    free(plain);
    free(spent);
}

Test(documents, fields_of_a_boundary_come_back_and_an_absent_side_is_null)
{
    pfc_boundary_fields fields = { 0 }, read = { 0 };
    char *text;

    pfc_boundary_fields_add(&fields, "compiler", "gcc 12", "gcc 13");
    pfc_boundary_fields_add(&fields, "flags", NULL, "-O3");
    text = pfc_boundary_fields_text(&fields);
    pfc_boundary_fields_parse(text, &read);
    expect_text(text, "[{\"name\":\"compiler\",\"before\":\"gcc 12\",\"now\":\"gcc 13\"},"
                      "{\"name\":\"flags\",\"before\":null,\"now\":\"-O3\"}]");
    cr_assert(eq(sz, read.len, 2));
    cr_expect(eq(str, read.items[0].before, "gcc 12"));
    cr_expect(eq(str, read.items[0].now, "gcc 13"));
    cr_expect(eq(str, read.items[1].name, "flags"));
    cr_expect(eq(ptr, read.items[1].before, NULL));
    pfc_boundary_fields_clear(&read);
    pfc_boundary_fields_clear(&fields);
    pfc_boundary_fields_parse(NULL, &read);
    cr_expect(eq(sz, read.len, 0));
    pfc_boundary_fields_parse("{", &read);
    cr_expect(eq(sz, read.len, 0));
}

/* Each code stores its own members, in the digits of its sentence. */
Test(documents, a_reason_stores_the_members_of_its_code)
{
    const pfc_withheld_detail d = { .rel = 0.0123456789,
                                    .margin = 0.02,
                                    .points = 3,
                                    .needed = 5,
                                    .p = 0.00123,
                                    .anywhere = 0.0456,
                                    .level = 0.0789,
                                    .series = 12,
                                    .fdr = 0.05,
                                    .against = SHA_A,
                                    .commit = SHA_B,
                                    .rounds = 9,
                                    .rel_low = -0.012345,
                                    .rel_high = 0.012345 };
    static const char *const rows[][2] = {
        { PFC_WITHHELD_IMPROVEMENT, "{}" },
        { PFC_WITHHELD_MARGIN, "{\"rel\": 0.0123457, \"margin\": 0.02}" },
        { PFC_WITHHELD_FDR, "{\"p\": 0.0012, \"anywhere\": 0.046, \"points\": 3, \"level\": 0.079, "
                            "\"series\": 12, \"fdr\": 0.05}" },
        { PFC_WITHHELD_NOT_FIRM, "{\"points\": 3, \"needed\": 5, \"ended\": false}" },
        { PFC_WITHHELD_NEEDS_BLOCKS, "{\"against\": \"" SHA_A "\", \"commit\": \"" SHA_B "\"}" },
        { PFC_WITHHELD_IDENTICAL, "{\"against\": \"" SHA_A "\", \"commit\": \"" SHA_B "\"}" },
        { PFC_WITHHELD_GONE, "{}" },
        { PFC_WITHHELD_BUDGET, "{\"against\": \"" SHA_A "\", \"commit\": \"" SHA_B
                               "\", \"rounds\": 9, \"rel_low\": -0.01235, \"rel_high\": 0.01235}" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        expect_text(pfc_withheld_detail_text(rows[i][0], &d), rows[i][1]);
        expect_text(pfc_withheld_detail_text(rows[i][0], NULL), "{}");
    }
}

Test(documents, what_a_reason_does_not_store_is_unknown)
{
    pfc_withheld_detail d;
    pfc_texts texts;

    pfc_withheld_detail_parse("{\"points\": 3, \"needed\": 5, \"ended\": true, \"commit\": \"x\"}",
                              &d, &texts);
    cr_expect(eq(dbl, d.points, 3));
    cr_expect(eq(dbl, d.needed, 5));
    cr_expect(d.ended);
    cr_expect(eq(str, (char *)d.commit, "x"));
    cr_expect(eq(str, (char *)d.against, ""));
    cr_expect(isnan(d.rel) && isnan(d.margin) && isnan(d.p) && isnan(d.anywhere));
    cr_expect(isnan(d.level) && isnan(d.series) && isnan(d.fdr));
    cr_expect(isnan(d.rounds) && isnan(d.rel_low) && isnan(d.rel_high));
    pfc_texts_clear(&texts);
    pfc_withheld_detail_parse(NULL, &d, &texts);
    cr_expect(isnan(d.points));
    cr_expect(not(d.ended));
    cr_expect(eq(str, (char *)d.commit, ""));
    pfc_texts_clear(&texts);
}

Test(documents, the_worst_boundary_keeps_all_digits)
{
    pfc_session_worst worst = { .series_id = 7,
                                .benchmark = "b",
                                .metric = "m",
                                .backend = "",
                                .rel_change = 0.1,
                                .rel_low = 1.0 / 3,
                                .rel_high = 1 };

    expect_text(pfc_session_worst_text(&worst),
                "{\"series_id\":7,\"benchmark\":\"b\",\"metric\":\"m\",\"backend\":\"\","
                "\"rel_change\":0.10000000000000001,\"rel_low\":0.33333333333333331,"
                "\"rel_high\":1.0,\"alert_id\":null}");
    worst.alert_id = 3;
    worst.rel_low = 0;
    expect_text(pfc_session_worst_text(&worst),
                "{\"series_id\":7,\"benchmark\":\"b\",\"metric\":\"m\",\"backend\":\"\","
                "\"rel_change\":0.10000000000000001,\"rel_low\":0.0,\"rel_high\":1.0,"
                "\"alert_id\":3}");
}

Test(documents, evidence_of_blocks_has_null_for_what_is_not_finite)
{
    pfc_blocks_evidence e = { .session = "s",
                              .against = SHA_A,
                              .commit = SHA_B,
                              .place_after = SHA_A,
                              .place_until = SHA_B,
                              .test = "rounds",
                              .different = true,
                              .rounds = 4,
                              .rel_low = -INFINITY,
                              .rel_high = 0.5,
                              .margin = 0.25,
                              .p = 0.125,
                              .p_adjusted = (double)NAN };
    char *same;

    expect_text(pfc_blocks_evidence_text(&e),
                "{\"kind\":\"blocks\",\"session\":\"s\",\"against\":\"" SHA_A
                "\",\"commit\":\"" SHA_B "\",\"place_after\":\"" SHA_A "\",\"place_until\":\"" SHA_B
                "\",\"test\":\"rounds\",\"verdict\":\"different\",\"rounds\":4,\"rel_low\":null,"
                "\"rel_high\":0.5,\"margin\":0.25,\"p\":0.125,\"p_adjusted\":null}");
    e.different = false;
    same = pfc_blocks_evidence_text(&e);
    cr_expect(ne(ptr, strstr(same, "\"verdict\":\"same\""), NULL));
    free(same);
}

Test(documents, detector_documents_are_equal_whatever_their_order)
{
    pfc_detector detector = { 0 };
    pfc_err err = { 0 };

    cr_expect(pfc_detector_texts_equal("{\"fdr\":0.05,\"rules\":[]}",
                                       "{ \"rules\" : [], \"fdr\" : 5e-2 }"));
    cr_expect(not(pfc_detector_texts_equal("{\"fdr\":0.05,\"rules\":[]}", PFC_DETECTOR_DEFAULT)));
    cr_assert(eq(int, pfc_detector_parse(PFC_DETECTOR_DEFAULT, &detector, &err), PFC_OK), "%s",
              err.msg);
    cr_expect(eq(sz, detector.rules_len, 0));
    pfc_detector_clear(&detector);
    cr_expect(eq(int, pfc_detector_parse("{\"rules\":[{\"x\":1}]}", &detector, &err), PFC_EINVAL));
    cr_expect(eq(str, err.field, "rules[0].x"));
    cr_expect(eq(int, pfc_detector_parse("[", &detector, &err), PFC_EINVAL));
}
