/* Positions along a branch, from the graph alone. */

#include "core/base/rng.h"
#include "server/services/history/history.h"

#include "tests/check/check.h"

#define SHA(c) c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c

static int64_t position_of(const pfc_line_commit *line, size_t n, const char *sha)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(line[i].sha, sha) == 0)
            return line[i].position;
    }
    cr_fatal("commit %.8s is not in the line", sha);
}

Test(line, nothing_is_no_trouble)
{
    pfc_line_positions(NULL, 0);
    cr_assert(true);
}

Test(line, a_merged_branch_is_not_on_the_first_parent_line)
{
    /* a - b ----- d      (d = merge of b and c) */
    /*      \- c -/                              */
    pfc_line_commit line[] = {
        { .sha = SHA("d"), .parents = SHA("b") " " SHA("c"), .time = 4 },
        { .sha = SHA("c"), .parents = SHA("b"), .time = 3 },
        { .sha = SHA("a"), .parents = "", .time = 1 },
        { .sha = SHA("b"), .parents = SHA("a"), .time = 2 },
    };

    pfc_line_positions(line, 4);
    cr_assert(eq(i64, position_of(line, 4, SHA("a")), 1));
    cr_assert(eq(i64, position_of(line, 4, SHA("b")), 2));
    cr_assert(eq(i64, position_of(line, 4, SHA("c")), 0));
    cr_assert(eq(i64, position_of(line, 4, SHA("d")), 3));
}

Test(line, a_merged_history_with_a_root_of_its_own_is_not_on_it_either)
{
    /* a - b - d      (d = merge of b and c; another repository came in) */
    /*    e - c -/                                                      */
    pfc_line_commit line[] = {
        { .sha = SHA("a"), .parents = "", .time = 1 },
        { .sha = SHA("b"), .parents = SHA("a"), .time = 2 },
        { .sha = SHA("c"), .parents = SHA("e"), .time = 5 },
        { .sha = SHA("d"), .parents = SHA("b") " " SHA("c"), .time = 4 },
        { .sha = SHA("e"), .parents = "", .time = 1 },
    };

    pfc_line_positions(line, 5);
    cr_assert(eq(i64, position_of(line, 5, SHA("a")), 1));
    cr_assert(eq(i64, position_of(line, 5, SHA("b")), 2));
    cr_assert(eq(i64, position_of(line, 5, SHA("d")), 3));
    cr_assert(eq(i64, position_of(line, 5, SHA("c")), 0));
    cr_assert(eq(i64, position_of(line, 5, SHA("e")), 0));
}

/* Known from runs only, and committed within one second: ordered by their ids, in any order of
 * arrival. */
Test(line, fragments_of_one_moment_lie_in_the_order_of_their_ids)
{
    pfc_line_commit line[] = {
        { .sha = SHA("b"), .parents = "", .time = 4 },
        { .sha = SHA("c"), .parents = "", .time = 4 },
        { .sha = SHA("a"), .parents = "", .time = 4 },
    };

    pfc_line_positions(line, 3);
    cr_assert(eq(i64, position_of(line, 3, SHA("a")), 1));
    cr_assert(eq(i64, position_of(line, 3, SHA("b")), 2));
    cr_assert(eq(i64, position_of(line, 3, SHA("c")), 3));
}

Test(line, an_abandoned_tip_is_off_the_line)
{
    pfc_line_commit line[] = {
        { .sha = SHA("a"), .parents = "", .time = 1 },
        { .sha = SHA("b"), .parents = SHA("a"), .time = 2 }, /* pushed over by c */
        { .sha = SHA("c"), .parents = SHA("a"), .time = 3 },
    };

    pfc_line_positions(line, 3);
    cr_assert(eq(i64, position_of(line, 3, SHA("a")), 1));
    cr_assert(eq(i64, position_of(line, 3, SHA("b")), 0));
    cr_assert(eq(i64, position_of(line, 3, SHA("c")), 2));
}

Test(line, fragments_with_a_gap_between_them_lie_in_the_order_of_time)
{
    /* f's parent e is not known yet */
    pfc_line_commit line[] = {
        { .sha = SHA("f"), .parents = SHA("e"), .time = 6 },
        { .sha = SHA("a"), .parents = "", .time = 1 },
        { .sha = SHA("b"), .parents = SHA("a"), .time = 2 },
        { .sha = SHA("9"), .parents = SHA("f"), .time = 7 },
        { .sha = SHA("8"), .parents = "", .time = 4 }, /* known from a run only */
    };

    pfc_line_positions(line, 5);
    cr_assert(eq(i64, position_of(line, 5, SHA("a")), 1));
    cr_assert(eq(i64, position_of(line, 5, SHA("b")), 2));
    cr_assert(eq(i64, position_of(line, 5, SHA("8")), 3));
    cr_assert(eq(i64, position_of(line, 5, SHA("f")), 4));
    cr_assert(eq(i64, position_of(line, 5, SHA("9")), 5));
}

Test(line, a_circle_of_parents_ends)
{
    pfc_line_commit line[] = {
        { .sha = SHA("a"), .parents = SHA("b"), .time = 1 },
        { .sha = SHA("b"), .parents = SHA("a"), .time = 2 },
        { .sha = SHA("c"), .parents = SHA("c"), .time = 3 },
    };

    pfc_line_positions(line, 3);
    cr_assert(eq(i64, position_of(line, 3, SHA("a")), 0));
    cr_assert(eq(i64, position_of(line, 3, SHA("b")), 0));
}

Test(line, every_order_of_a_thousand_commits_gives_the_same_positions)
{
    enum { N = 1000 };
    static char shas[N][41], parents[N][41];
    static pfc_line_commit line[N];
    size_t order[N];
    pfc_rng rng;

    pfc_rng_seed(&rng, 11);
    for (int i = 0; i < N; i++) {
        (void)snprintf(shas[i], 41, "%040x", (i + 1) * 7919); /* ids in no order of time */
        (void)snprintf(parents[i], 41, "%040x", i * 7919);
    }
    parents[0][0] = '\0';
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < N; i++)
            order[i] = i;
        pfc_rng_shuffle(&rng, order, N);
        for (size_t i = 0; i < N; i++)
            line[i] = (pfc_line_commit){ .sha = shas[order[i]],
                                         .parents = parents[order[i]],
                                         .time = (double)order[i] };
        pfc_line_positions(line, N);
        for (size_t i = 0; i < N; i++)
            cr_assert(eq(dbl, (double)line[i].position, line[i].time + 1));
    }
}

/* ---- from the end alone ---- */

enum { KNOWN = 24, ADDED = 4 };

typedef struct history {
    char shas[KNOWN + ADDED][41], parents[KNOWN][128];
    pfc_line_commit line[KNOWN + ADDED];
    pfc_line_tail tail[KNOWN];
    pfc_line_added added[ADDED];
    size_t tail_len;
} history;

/* Merges, gaps, circles, clocks that went wrong, many at one moment. */
static void make_history(history *h, pfc_rng *rng)
{
    for (size_t i = 0; i < KNOWN + ADDED; i++)
        (void)snprintf(h->shas[i], 41, "%032x%08x", (unsigned)pfc_rng_below(rng, 1u << 30),
                       (unsigned)i);
    for (size_t i = 0; i < KNOWN; i++) {
        const size_t parents = pfc_rng_below(rng, 3);
        size_t len = 0;

        h->parents[i][0] = '\0';
        for (size_t k = 0; k < parents; k++) {
            const size_t before =
                pfc_rng_below(rng, 8) ? (i ? i - 1 : 0) : pfc_rng_below(rng, KNOWN);

            len +=
                (size_t)snprintf(h->parents[i] + len, sizeof(h->parents[i]) - len, "%s%s",
                                 k ? " " : "", pfc_rng_below(rng, 6) ? h->shas[before] : SHA("f"));
        }
        h->line[i] = (pfc_line_commit){ .sha = h->shas[i],
                                        .parents = h->parents[i],
                                        .time = (double)(i + pfc_rng_below(rng, 4)) };
    }
}

static int last_first(const void *a, const void *b)
{
    const pfc_line_tail *x = a, *y = b;

    return x->position < y->position ? 1 : x->position > y->position ? -1 : 0;
}

static void make_tail(history *h)
{
    static char first[KNOWN][41];

    pfc_line_positions(h->line, KNOWN);
    h->tail_len = 0;
    for (size_t i = 0; i < KNOWN; i++) {
        (void)snprintf(first[i], 41, "%.40s", h->line[i].parents);
        if (h->line[i].position)
            h->tail[h->tail_len++] = (pfc_line_tail){ .sha = h->line[i].sha,
                                                      .parent = first[i][0] ? first[i] : NULL,
                                                      .time = h->line[i].time,
                                                      .position = h->line[i].position };
    }
    qsort(h->tail, h->tail_len, sizeof(*h->tail), last_first);
}

/* Does what was put in at the end lie where the whole graph has it? */
static void expect_line(history *h, size_t looked, size_t added, int round)
{
    for (size_t k = 0; k < added; k++)
        h->line[KNOWN + k] =
            (pfc_line_commit){ .sha = h->added[k].sha, .parents = "", .time = h->added[k].time };
    pfc_line_positions(h->line, KNOWN + added);
    for (size_t i = 0; i < h->tail_len; i++)
        cr_assert(eq(i64, h->tail[i].position, position_of(h->line, KNOWN + added, h->tail[i].sha)),
                  "round %d: commit %zu of %zu from the end, %zu looked at", round, i, h->tail_len,
                  looked);
    for (size_t k = 0; k < added; k++)
        cr_assert(
            eq(i64, h->added[k].position, position_of(h->line, KNOWN + added, h->added[k].sha)),
            "round %d: inserted commit %zu of %zu", round, k, added);
}

Test(line, what_has_no_tie_is_put_in_from_the_end_where_the_graph_has_it)
{
    static history h;
    pfc_rng rng;
    int short_looks = 0, partial = 0;

    pfc_rng_seed(&rng, 29);
    for (int round = 0; round < 5000; round++) {
        const size_t added = 1 + pfc_rng_below(&rng, ADDED);
        size_t looked;

        make_history(&h, &rng);
        make_tail(&h);
        for (size_t k = 0; k < added; k++)
            h.added[k] = (pfc_line_added){ .sha = h.shas[KNOWN + k],
                                           .time = (double)pfc_rng_below(&rng, KNOWN + 6) };
        looked = pfc_rng_below(&rng, h.tail_len + 1);
        if (!pfc_line_insert(h.tail, looked, looked == h.tail_len, h.added, added)) {
            /* further back: the same question with all of it */
            cr_assert(lt(sz, looked, h.tail_len), "round %d: nowhere", round);
            short_looks++;
            make_tail(&h);
            looked = h.tail_len;
            cr_assert(pfc_line_insert(h.tail, looked, true, h.added, added));
        }
        partial += looked < h.tail_len;
        expect_line(&h, looked, added, round);
    }
    cr_assert(gt(int, short_looks, 500));
    cr_assert(gt(int, partial, 500));
}

/* ---- new commits by the end alone ---- */

enum { GRAPH = 32, FRESH = 6 };

typedef struct graph {
    char shas[GRAPH][41], parents[GRAPH][128];
    double times[GRAPH];
    bool fresh[GRAPH], stub[GRAPH]; /* stub: stored before, its parents and its time were unknown */
    int64_t was[GRAPH], is[GRAPH];  /* positions, without the new ones and with them */
} graph;

static void put_parents(graph *g, pfc_rng *rng, size_t i, unsigned tame)
{
    const size_t parents =
        i == 0 || pfc_rng_below(rng, 16 * tame) == 0 ? 0 : 1 + !pfc_rng_below(rng, 4);
    size_t len = 0;

    g->parents[i][0] = '\0';
    for (size_t k = 0; k < parents; k++) {
        const size_t parent =
            k || !pfc_rng_below(rng, 8 * tame) ? pfc_rng_below(rng, GRAPH) : i - 1;

        len += (size_t)snprintf(g->parents[i] + len, sizeof(g->parents[i]) - len, "%s%s",
                                k ? " " : "", pfc_rng_below(rng, 24) ? g->shas[parent] : SHA("f"));
    }
}

static void positions_of(const graph *g, bool after, int64_t *out)
{
    pfc_line_commit line[GRAPH];
    size_t n = 0;

    for (size_t i = 0; i < GRAPH; i++)
        if (after || !g->fresh[i] || g->stub[i])
            line[n++] = (pfc_line_commit){ .sha = g->shas[i],
                                           .parents = !after && g->stub[i] ? "" : g->parents[i],
                                           .time = g->times[i] - (after && g->stub[i] ? 2 : 0) };
    pfc_line_positions(line, n);
    for (size_t i = 0; i < GRAPH; i++)
        out[i] = !after && g->fresh[i] && !g->stub[i] ? 0 : position_of(line, n, g->shas[i]);
}

/* Most parents are the commit before; clocks go wrong, circles occur, histories have gaps, and less
 * often so in a tame one. */
static void make_graph(graph *g, pfc_rng *rng, unsigned tame)
{
    memset(g, 0, sizeof(*g));
    for (size_t i = 0; i < GRAPH; i++)
        (void)snprintf(g->shas[i], 41, "%032x%08x", (unsigned)pfc_rng_below(rng, 1u << 30),
                       (unsigned)i);
    for (size_t i = 0; i < GRAPH; i++) {
        put_parents(g, rng, i, tame);
        g->times[i] = (double)(pfc_rng_below(rng, 16)         ? i
                               : pfc_rng_below(rng, 2 * tame) ? i + pfc_rng_below(rng, 8)
                                                              : pfc_rng_below(rng, GRAPH));
        g->fresh[i] = i + FRESH >= GRAPH || !pfc_rng_below(rng, 32 * tame);
        g->stub[i] = g->fresh[i] && !pfc_rng_below(rng, 4);
    }
    positions_of(g, false, g->was);
    positions_of(g, true, g->is);
}

/* A commit that was stored before has a new one among its parents: that needs the whole graph. */
static bool a_known_child(const graph *g)
{
    for (size_t i = 0; i < GRAPH; i++)
        for (size_t k = 0; !g->fresh[i] && k < GRAPH; k++)
            if (g->fresh[k] && strstr(g->parents[i], g->shas[k]))
                return true;
    return false;
}

static int by_line_sha(const void *a, const void *b)
{
    return strcmp(((const pfc_line_commit *)a)->sha, ((const pfc_line_commit *)b)->sha);
}

static size_t index_of(const graph *g, const char *sha)
{
    for (size_t i = 0; i < GRAPH; i++)
        if (strncmp(g->shas[i], sha, 40) == 0)
            return i;
    return GRAPH;
}

/* True when the end behind `before` commits was enough; then it has the positions of the graph. */
static bool ends_alike(const graph *g, int64_t before, int round)
{
    pfc_line_commit line[GRAPH];
    const char *outside[2 * GRAPH];
    int64_t was[GRAPH];
    bool read[GRAPH] = { false };
    size_t n = 0, len = 0;

    for (size_t i = 0; i < GRAPH; i++) {
        read[i] = g->fresh[i] || g->was[i] > before;
        if (g->fresh[i] && g->was[i] && g->was[i] <= before)
            return false; /* the caller reads more */
        if (read[i])
            line[n++] = (pfc_line_commit){ .sha = g->shas[i],
                                           .parents = g->parents[i],
                                           .time = g->times[i] - (g->stub[i] ? 2 : 0) };
    }
    qsort(line, n, sizeof(*line), by_line_sha);
    for (size_t i = 0; i < n; i++) {
        const size_t at = index_of(g, line[i].sha);

        was[i] = g->fresh[at] ? 0 : g->was[at];
    }
    if (!pfc_line_end(line, n, was, before, outside, &len))
        return false;
    for (size_t i = 0; i < len; i++)
        if (index_of(g, outside[i]) < GRAPH)
            return false;
    for (size_t i = 0; i < GRAPH; i++)
        cr_assert(eq(i64, read[i] ? position_of(line, n, g->shas[i]) : g->was[i], g->is[i]),
                  "round %d, %d commits before: commit %zu was at %d", round, (int)before, i,
                  (int)g->was[i]);
    return true;
}

/* a - b - c is the line, of which b and c are read; the new commit without parents is older: its
 * place is before a. */
Test(line, the_end_is_not_enough_for_what_lies_before_it)
{
    pfc_line_commit line[] = { { .sha = SHA("b"), .parents = SHA("a"), .time = 2 },
                               { .sha = SHA("c"), .parents = SHA("b"), .time = 3 },
                               { .sha = SHA("d"), .parents = "", .time = 1 } };
    const int64_t was[] = { 2, 3, 0 };
    const char *outside[3];
    size_t len;

    cr_assert(not(pfc_line_end(line, 3, was, 1, outside, &len)));
    line[2].time = 4;
    cr_assert(pfc_line_end(line, 3, was, 1, outside, &len));
    cr_assert(eq(i64, position_of(line, 3, SHA("b")), 2));
    cr_assert(eq(i64, position_of(line, 3, SHA("d")), 4));
}

Test(line, the_end_alone_has_new_commits_where_the_graph_has_them)
{
    int enough = 0, of_a_part = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 41);
    for (int round = 0; round < 40000; round++) {
        int64_t before;
        graph g;

        make_graph(&g, &rng, round % 2 ? 1 : 8);
        before = (int64_t)pfc_rng_below(&rng, GRAPH - FRESH);
        for (size_t i = 0; before && i <= GRAPH; i++) /* at least one of the line is read */
            if (i == GRAPH)
                before = 0;
            else if (g.was[i] > before)
                break;
        if (a_known_child(&g) || !ends_alike(&g, before, round))
            continue;
        enough++;
        of_a_part += before > 0;
    }
    cr_assert(gt(int, of_a_part, 700), "%d of them by a part of the line", of_a_part);
    cr_assert(gt(int, enough, of_a_part));
}
