/*
 * How good detections are, by the corpus' published definitions: a detection matches a labelled
 * change at most `margin` points away, one to one; per category and overall; false positives on
 * series without change; points until a change is found and stays found.
 */
#ifndef PFC_BENCH_STUDIES_CHANGEPOINT_SCORE_H
#define PFC_BENCH_STUDIES_CHANGEPOINT_SCORE_H

#include "bench/studies/changepoint/corpus.h"

#define PFC_SCORE_MARGINS 3 /* 0, 2 and 5 points */
#define PFC_SCORE_NEVER   30

enum { PFC_MARGIN_0, PFC_MARGIN_2, PFC_MARGIN_5 };

/* A detector's answer for one series: indices into its points, ascending, without duplicates. */
typedef struct pfc_answer {
    size_t *changes; /* owned */
    size_t len;
} pfc_answer;

typedef struct pfc_category_score {
    const char *name; /* the corpus' */
    size_t series;
    size_t points;
    size_t hit; /* of a no-change category: series with a false positive */
    size_t tp[PFC_SCORE_MARGINS], fp[PFC_SCORE_MARGINS], fn[PFC_SCORE_MARGINS];
    bool null;
    bool scored; /* counts for macro F1: has changes that must be found */
} pfc_category_score;

typedef struct pfc_score {
    double headline; /* 0..100: harmonic mean of macro F1, calm 1 / (1 + FP per 1,000) and delay */
    double macro_f1[PFC_SCORE_MARGINS];
    double null_per_1000; /* false positives a thousand points without change */
    double null_hit;      /* share of series without change that got one */
    double null_worst;    /* the worst no-change category's, per 1,000 */
    double delay;         /* mean points until found, PFC_SCORE_NEVER when never */
    double found_at_1, found_at_3, found_at_5; /* share found so many points after the change */
    double exact;                   /* share of matches within 5 that are at the very point */
    pfc_category_score *categories; /* by name; owned */
    size_t categories_len;
} pfc_score;

/** Scores answers[0..corpus->len). Clear it; valid as long as the corpus. */
void pfc_score_answers(const pfc_corpus *corpus, const pfc_answer *answers, pfc_score *out);
void pfc_score_clear(pfc_score *score);
/** F1 of a category at a margin; 1 when there was nothing to find and nothing was. */
double pfc_score_f1(const pfc_category_score *category, int margin);

#endif
