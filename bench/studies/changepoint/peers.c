/* Ours beside the rivals, on the same series, in turns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/studies/changepoint/bench.h"
#include "bench/studies/changepoint/rivals.h"

typedef struct entrant {
    const char *name;
    const pfc_rival *rival; /* NULL: ours */
    pfc_answer *answers;
    size_t points; /* of the series that it took */
    size_t passed; /* series it gave up on */
    int64_t ns;
    pfc_score score;
} entrant;

/* A series as the rivals take it. */
typedef struct plain {
    double *v;
    size_t *place; /* in the points */
    size_t len;
} plain;

static plain without_gaps(const pfc_labelled *s)
{
    plain p = { .v = pfc_calloc(s->len + 1, sizeof *p.v),
                .place = pfc_calloc(s->len + 1, sizeof *p.place) };
    for (size_t i = 0; i < s->len; i++) {
        if (!isfinite(s->points[i].v))
            continue;
        p.v[p.len] = s->points[i].v;
        p.place[p.len++] = i;
    }
    return p;
}

static void run_rival(entrant *e, const plain *p, pfc_answer *answer)
{
    answer->changes = pfc_calloc(p->len + 1, sizeof *answer->changes);
    if (e->rival->max_len && p->len > e->rival->max_len) {
        e->passed++;
        return;
    }
    int64_t from = pfc_bench_cpu_ns();
    answer->len = e->rival->detect(p->v, p->len, answer->changes);
    e->ns += pfc_bench_cpu_ns() - from;
    e->points += p->len;
    for (size_t i = 0; i < answer->len; i++)
        answer->changes[i] = p->place[answer->changes[i]];
}

static bool run_ours(entrant *e, const pfc_labelled *s, pfc_answer *answer)
{
    int64_t from = pfc_bench_cpu_ns();
    bool ok = pfc_bench_detect_answer(s, answer);
    e->ns += pfc_bench_cpu_ns() - from;
    e->points += s->len;
    return ok;
}

static bool run_all(entrant *entrants, size_t n, const pfc_corpus *corpus)
{
    bool ok = true;
    for (size_t i = 0; i < corpus->len && ok; i++) {
        const pfc_labelled *s = &corpus->items[i];
        plain p = without_gaps(s);
        for (size_t k = 0; k < n && ok; k++) {
            if (entrants[k].rival)
                run_rival(&entrants[k], &p, &entrants[k].answers[i]);
            else
                ok = run_ours(&entrants[k], s, &entrants[k].answers[i]);
        }
        free(p.place);
        free(p.v);
    }
    return ok;
}

static void print_table(const entrant *entrants, size_t n)
{
    printf("%-12s %6s %6s %6s %9s %6s %9s %6s %18s %6s %10s %s\n", "detector", "score", "F1 m2",
           "F1 m0", "null/1000", "hit", "worst", "delay", "found at 1/3/5", "exact", "k points/s",
           "given up");
    for (size_t i = 0; i < n; i++) {
        const entrant *e = &entrants[i];
        const pfc_score *s = &e->score;
        printf(
            "%-12s %6.1f %6.3f %6.3f %9.2f %5.1f%% %9.2f %6.2f   %.2f / %.2f / %.2f %6.2f %10.0f "
            "%zu\n",
            e->name, s->headline, s->macro_f1[PFC_MARGIN_2], s->macro_f1[PFC_MARGIN_0],
            s->null_per_1000, 100.0 * s->null_hit, s->null_worst, s->delay, s->found_at_1,
            s->found_at_3, s->found_at_5, s->exact,
            (double)e->points * 1e6 / (double)PFC_MAX(e->ns, (int64_t)1), e->passed);
    }
    printf("\n");
    for (size_t i = 0; i < n; i++)
        printf("%-12s %s\n", entrants[i].name,
               entrants[i].rival ? entrants[i].rival->source : "perfci, repeats behind the points");
}

/* Rows: the categories of one kind; F1 at margin 2, or false positives per 1,000 points. */
static void print_categories(const entrant *entrants, size_t n, bool null)
{
    printf("\n%-16s", null ? "null/1000" : "F1 margin 2");
    for (size_t i = 0; i < n; i++)
        printf(" %11s", entrants[i].name);
    printf("\n");
    for (size_t c = 0; c < entrants[0].score.categories_len; c++) {
        const pfc_category_score *first = &entrants[0].score.categories[c];
        if (first->null != null || (!null && !first->scored))
            continue;
        printf("%-16s", first->name);
        for (size_t i = 0; i < n; i++) {
            const pfc_category_score *x = &entrants[i].score.categories[c];
            printf(" %11.2f", null ? 1000.0 * (double)x->fp[PFC_MARGIN_2] / (double)x->points
                                   : pfc_score_f1(x, PFC_MARGIN_2));
        }
        printf("\n");
    }
}

/* Where a rival beats ours by most: the category that is next to be mended. */
static void print_worst_gap(const entrant *entrants, size_t n)
{
    double worst = -INFINITY;
    const char *category = "none";
    const char *rival = "none";
    for (size_t c = 0; c < entrants[0].score.categories_len; c++) {
        const pfc_category_score *ours = &entrants[0].score.categories[c];
        for (size_t i = 1; i < n && !ours->null && ours->scored; i++) {
            double gap = pfc_score_f1(&entrants[i].score.categories[c], PFC_MARGIN_2) -
                         pfc_score_f1(ours, PFC_MARGIN_2);
            if (gap > worst) {
                worst = gap;
                category = ours->name;
                rival = entrants[i].name;
            }
        }
    }
    printf("\nlargest lead of a rival in one category: F1 %+.2f (%s, %s)\n", worst, category,
           rival);
}

int pfc_bench_score(const pfc_corpus *corpus)
{
    entrant ours = { .name = "perfci", .answers = pfc_calloc(corpus->len, sizeof(pfc_answer)) };
    bool ok = run_all(&ours, 1, corpus);
    pfc_score_answers(corpus, ours.answers, &ours.score);
    const pfc_score *s = &ours.score;
    const char *comma = "";
    if (ok) {
        printf("{\"score\": %.3f, \"f1_m2\": %.5f, \"f1_m0\": %.5f, \"null_per_1000\": %.4f, "
               "\"null_hit\": %.5f, \"null_worst\": %.4f, \"delay\": %.4f, \"found_3\": %.4f, "
               "\"found_5\": %.4f, \"categories\": {",
               s->headline, s->macro_f1[PFC_MARGIN_2], s->macro_f1[PFC_MARGIN_0], s->null_per_1000,
               s->null_hit, s->null_worst, s->delay, s->found_at_3, s->found_at_5);
        for (size_t i = 0; i < s->categories_len; i++) {
            if (s->categories[i].null || !s->categories[i].scored)
                continue;
            printf("%s\"%s\": %.5f", comma, s->categories[i].name,
                   pfc_score_f1(&s->categories[i], PFC_MARGIN_2));
            comma = ", ";
        }
        printf("}}\n");
    }
    for (size_t k = 0; k < corpus->len; k++)
        free(ours.answers[k].changes);
    free(ours.answers);
    pfc_score_clear(&ours.score);
    return ok ? 0 : 5;
}

int pfc_bench_side_by_side(const pfc_corpus *corpus, bool categories)
{
    size_t n = 1 + pfc_rivals_len;
    entrant *entrants = pfc_calloc(n, sizeof *entrants);
    for (size_t i = 0; i < n; i++) {
        entrants[i].rival = i ? &pfc_rivals[i - 1] : NULL;
        entrants[i].name = i ? pfc_rivals[i - 1].name : "perfci";
        entrants[i].answers = pfc_calloc(corpus->len, sizeof(pfc_answer));
    }
    bool ok = run_all(entrants, n, corpus);
    for (size_t i = 0; i < n; i++)
        pfc_score_answers(corpus, entrants[i].answers, &entrants[i].score);
    if (ok) {
        printf("%zu series, %zu points\n\n", corpus->len, corpus->points);
        print_table(entrants, n);
        if (categories) {
            print_categories(entrants, n, false);
            print_categories(entrants, n, true);
        }
        print_worst_gap(entrants, n);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < corpus->len; k++)
            free(entrants[i].answers[k].changes);
        free(entrants[i].answers);
        pfc_score_clear(&entrants[i].score);
    }
    free(entrants);
    return ok ? 0 : 5;
}
