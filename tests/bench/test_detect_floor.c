/* The detector on a small labelled corpus: floors, a little under what it reaches. */
#include <math.h>
#include <stdlib.h>

#include "bench/studies/changepoint/score.h"
#include "core/changepoint/changepoint.h"

#include "tests/check/check.h"

static pfc_corpus corpus;
static pfc_answer *answers;

static void load(void)
{
    pfc_err err = { 0 };
    cr_assert(eq(int,
                 pfc_corpus_load_lines(&corpus, PFC_TEST_DATA "/changepoint/reduced.jsonl", &err),
                 PFC_OK),
              "%s", err.msg);
    answers = pfc_calloc(corpus.len, sizeof *answers);
}

static void drop(void)
{
    for (size_t i = 0; i < corpus.len; i++)
        free(answers[i].changes);
    free(answers);
    pfc_corpus_clear(&corpus);
}

static void detect_all(void)
{
    for (size_t i = 0; i < corpus.len; i++) {
        const pfc_labelled *s = &corpus.items[i];
        const pfc_detect_opts opts = { .higher_is_better = s->higher_is_better };
        pfc_detection found;
        cr_assert(eq(int, pfc_stats_detect(s->points, s->len, &opts, &found, NULL), PFC_OK));
        answers[i].changes = pfc_calloc(found.changes_len + 1, sizeof(size_t));
        for (size_t k = 0; k < found.changes_len; k++)
            answers[i].changes[answers[i].len++] = found.changes[k].index;
        pfc_detection_clear(&found);
    }
}

TestSuite(detect_floor, .init = load, .fini = drop);

/* Reached when this was written: 77.7, 0.875, 0.65 (one alarm, on a series whose owner calls it a
 * spike) and 2.0 points. */
Test(detect_floor, the_detector_stays_calm_early_and_exact)
{
    pfc_score score;
    detect_all();
    pfc_score_answers(&corpus, answers, &score);
    cr_assert(eq(sz, corpus.len, 80));
    cr_assert(score.headline >= 65.0, "score %.1f", score.headline);
    cr_assert(score.macro_f1[PFC_MARGIN_2] >= 0.80, "macro F1 %.3f", score.macro_f1[PFC_MARGIN_2]);
    cr_assert(score.null_per_1000 <= 1.4, "false alarms per 1,000: %.2f", score.null_per_1000);
    cr_assert(score.delay <= 4.0, "delay %.2f points", score.delay);
    pfc_score_clear(&score);
}

/* The labels themselves as answers: nothing better exists. */
Test(detect_floor, the_labels_as_answers_score_the_most_there_is)
{
    pfc_score score;
    for (size_t i = 0; i < corpus.len; i++) {
        const pfc_labelled *s = &corpus.items[i];
        answers[i].changes = pfc_calloc(s->labels_len + 1, sizeof(size_t));
        for (size_t k = 0; k < s->labels_len; k++)
            answers[i].changes[answers[i].len++] = s->labels[k].index;
    }
    pfc_score_answers(&corpus, answers, &score);
    cr_assert(epsilon_eq(dbl, score.macro_f1[PFC_MARGIN_0], 1.0, 1e-12));
    cr_assert(eq(dbl, score.null_per_1000, 0.0));
    cr_assert(epsilon_eq(dbl, score.delay, 1.0, 1e-12)); /* found at the first cut, a point after */
    cr_assert(epsilon_eq(dbl, score.headline, 300.0 / (1.0 + 1.0 + 30.0 / 29.0), 1e-9));
    pfc_score_clear(&score);
}

/* A detector that says nothing finds nothing, and is calm. */
Test(detect_floor, silence_scores_nothing)
{
    pfc_score score;
    pfc_score_answers(&corpus, answers, &score);
    cr_assert(eq(dbl, score.headline, 0.0));
    cr_assert(eq(dbl, score.null_hit, 0.0));
    cr_assert(eq(dbl, score.delay, (double)PFC_SCORE_NEVER));
    pfc_score_clear(&score);
}

/* Two steps, at 10 and 20, answered with 11, 13 and 40: within two points one is found, at the very
 * point none; 13 is as wrong as 40 since 10 is taken. P = 1/3, R = 1/2, F1 = 0.4. */
Test(detect_floor, matches_are_one_to_one_and_within_the_margin)
{
    pfc_corpus_label labels[] = { { .index = 10 }, { .index = 20 } };
    size_t changes[] = { 11, 13, 40 };
    pfc_labelled series = {
        .id = "x", .category = "c", .len = 50, .labels = labels, .labels_len = 2
    };
    pfc_corpus one = { .items = &series, .len = 1, .points = 50 };
    pfc_answer answer = { changes, 3 };
    pfc_score score;
    pfc_score_answers(&one, &answer, &score);
    cr_assert(eq(sz, score.categories_len, 1));
    cr_assert(epsilon_eq(dbl, pfc_score_f1(&score.categories[0], PFC_MARGIN_2), 0.4, 1e-12));
    cr_assert(eq(dbl, pfc_score_f1(&score.categories[0], PFC_MARGIN_0), 0.0));
    pfc_score_clear(&score);
}
