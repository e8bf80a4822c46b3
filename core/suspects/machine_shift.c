/* Attributes a shift of many series to a commit or to the machine, by the changes of each series on
 * each machine. */
#include "core/suspects/machine_shift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats/stats.h"

#define NOISE_LEAST   0.001 /* of a point: clocks and rounding */
#define BEFORE_LEAST  3
#define AFTER_LEAST   2
#define SURE          3.5 /* standard errors that make a series without a change point moved */
#define HALF          0.5 /* of the step: limit between moved and unchanged elsewhere */
#define VOTES         3   /* equal votes needed */
#define OUTWEIGH      2   /* factor by which they must outnumber the opposite votes */
#define BREADTH       0.6 /* share of the series that moved, when other machines are unchanged */
#define BREADTH_ALONE 0.8 /* likewise, when there is no other machine */
#define KINDS         3   /* kinds of work that moved; fewer when fewer are measured, at least 2 */
#define APART         0.5 /* of the machine's loss: a series beyond it by more is separate */
#define APART_LEAST   0.01
#define EXACT_LEAST   0.0005

/* One series on one machine. Losses are logarithms: above 0 is worse. */
typedef struct seen {
    bool measured, moved;
    double loss, error;
    int again; /* older commits measured again: 1 at the new level, -1 at the old one, 0 unknown */
    int code;  /* object code across the place: 1 the same, -1 other, 0 unknown */
} seen;

typedef struct table {
    const pfc_shift_case *c;
    seen *cells;     /* series by machine */
    size_t *start;   /* of each series' points in `order`, series_len + 1 */
    uint32_t *order; /* points by series, in their order */
    double *since;   /* of each machine: time of its first measurement after the place */
    double *scratch;
    int *others; /* of each series of the machine that moved: vote of the other machines */
    int *exact;  /* likewise: vote of metrics without noise */
} table;

static seen *cell(const table *t, size_t series, size_t machine)
{
    return &t->cells[series * t->c->machines + machine];
}

static void sort_by_series(table *t)
{
    const pfc_shift_case *c = t->c;
    size_t *next;

    for (size_t i = 0; i < c->points_len; i++)
        t->start[c->points[i].series + 1]++;
    for (size_t s = 0; s < c->series_len; s++)
        t->start[s + 1] += t->start[s];
    next = pfc_calloc(c->series_len + 1, sizeof(*next));
    memcpy(next, t->start, (c->series_len + 1) * sizeof(*next));
    for (size_t i = 0; i < c->points_len; i++)
        t->order[next[c->points[i].series]++] = (uint32_t)i;
    free(next);
}

static void find_since(table *t)
{
    const pfc_shift_case *c = t->c;

    for (size_t m = 0; m < c->machines; m++)
        t->since[m] = (double)INFINITY;
    for (size_t i = 0; i < c->points_len; i++) {
        const pfc_shift_point *p = &c->points[i];

        if (p->position >= c->high)
            t->since[p->machine] = fmin(t->since[p->machine], p->time);
    }
}

/* Logarithms of a series' points on a machine: the newest before the place and measured before the
 * moment, the first after the place, and those before the place that were measured after the
 * moment. */
typedef struct sides {
    double before[PFC_SHIFT_BEFORE], after[PFC_SHIFT_AFTER], again[PFC_SHIFT_AFTER];
    size_t before_len, after_len, again_len;
    uint32_t code_before, code_after;
} sides;

static void split(const table *t, size_t series, size_t machine, sides *out)
{
    const pfc_shift_case *c = t->c;

    memset(out, 0, sizeof(*out));
    for (size_t k = t->start[series + 1]; k-- > t->start[series];) {
        const pfc_shift_point *p = &c->points[t->order[k]];

        if (p->machine != machine || p->position >= c->low)
            continue;
        if (p->time > t->since[machine]) {
            if (out->again_len < PFC_SHIFT_AFTER)
                out->again[out->again_len++] = log(p->value);
            continue;
        }
        if (out->before_len == 0)
            out->code_before = p->code;
        if (out->before_len < PFC_SHIFT_BEFORE)
            out->before[out->before_len++] = log(p->value);
    }
    for (size_t k = t->start[series]; k < t->start[series + 1]; k++) {
        const pfc_shift_point *p = &c->points[t->order[k]];

        if (p->machine != machine || p->position < c->high)
            continue;
        if (out->after_len == 0)
            out->code_after = p->code;
        if (out->after_len < PFC_SHIFT_AFTER)
            out->after[out->after_len++] = log(p->value);
    }
}

static double spread(const table *t, const sides *s, double before, double after)
{
    size_t n = 0;

    for (size_t i = 0; i < s->before_len; i++)
        t->scratch[n++] = s->before[i] - before;
    for (size_t i = 0; i < s->after_len; i++)
        t->scratch[n++] = s->after[i] - after;
    return fmax(NOISE_LEAST, pfc_stats_mad(t->scratch, n));
}

/* The standard error of a median is a quarter larger than that of a mean. */
static double error_of(double noise, size_t a, size_t b)
{
    return 1.25 * noise * sqrt(1.0 / (double)a + 1.0 / (double)b);
}

static void look(const table *t, size_t series, size_t machine)
{
    const pfc_shift_series *what = &t->c->series[series];
    const double worse = what->higher_is_better ? -1 : 1;
    seen *out = cell(t, series, machine);
    double before, after, noise;
    sides s;

    split(t, series, machine, &s);
    if (s.before_len < (what->exact ? 1 : BEFORE_LEAST) ||
        s.after_len < (what->exact ? 1 : AFTER_LEAST))
        return;
    before = pfc_stats_median(s.before, s.before_len);
    after = pfc_stats_median(s.after, s.after_len);
    noise = what->exact ? 0 : spread(t, &s, before, after);
    out->measured = true;
    out->loss = worse * (after - before);
    out->error = error_of(noise, s.before_len, s.after_len);
    out->moved =
        what->exact ? out->loss > EXACT_LEAST : out->loss > (what->suspect ? 2 : SURE) * out->error;
    if (s.code_before && s.code_after)
        out->code = s.code_before == s.code_after ? 1 : -1;
    if (s.again_len && out->moved) {
        const double now = worse * (pfc_stats_median(s.again, s.again_len) - before);
        const double error = error_of(noise, s.before_len, s.again_len);

        if (now - 2 * error > HALF * out->loss)
            out->again = 1;
        else if (now + 2 * error < HALF * out->loss)
            out->again = -1;
    }
}

static bool is_suspect(const table *t, size_t series, size_t machine)
{
    const seen *s = cell(t, series, machine);

    return t->c->series[series].suspect && !t->c->series[series].exact && s->measured && s->moved;
}

/* The same work on the other machines: 1 moved as much, -1 unchanged, 0 unknown. One machine that
 * moved takes precedence over all that did not. */
static int elsewhere(const table *t, size_t series, size_t machine)
{
    const double step = cell(t, series, machine)->loss;
    int answer = 0;

    for (size_t o = 0; o < t->c->series_len; o++) {
        if (t->c->series[o].work != t->c->series[series].work)
            continue;
        for (size_t m = 0; m < t->c->machines; m++) {
            const seen *s = cell(t, o, m);

            if (m == machine || !s->measured)
                continue;
            if (s->moved && s->loss - 2 * s->error > HALF * step)
                return 1;
            if (s->loss + 2 * s->error < HALF * step)
                answer = -1;
        }
    }
    return answer;
}

/* The same of metrics without noise of the same kernel, on any machine. */
static int exact_of(const table *t, size_t series)
{
    int answer = 0;

    for (size_t o = 0; o < t->c->series_len; o++) {
        if (!t->c->series[o].exact || t->c->series[o].kernel != t->c->series[series].kernel)
            continue;
        for (size_t m = 0; m < t->c->machines; m++) {
            const seen *s = cell(t, o, m);

            if (s->measured && s->moved)
                return 1;
            if (s->measured && fabs(s->loss) <= EXACT_LEAST)
                answer = -1;
        }
    }
    return answer;
}

/* Counts the votes for the machine and for the commit. */
typedef struct votes {
    size_t machine, commit;
} votes;

static void vote(votes *v, int commit)
{
    v->machine += commit < 0;
    v->commit += commit > 0;
}

static bool votes_machine(votes v)
{
    return v.machine >= VOTES && v.machine >= OUTWEIGH * v.commit;
}

static bool votes_commit(votes v)
{
    return v.commit >= VOTES && v.commit > v.machine;
}

static size_t kinds_of(const table *t, size_t machine, bool moved)
{
    uint32_t *kinds = pfc_calloc(t->c->series_len + 1, sizeof(*kinds));
    size_t len = 0;

    for (size_t s = 0; s < t->c->series_len; s++) {
        const seen *at = cell(t, s, machine);
        bool known = t->c->series[s].exact || !at->measured || (moved && !at->moved);

        for (size_t k = 0; k < len && !known; k++)
            known = kinds[k] == t->c->series[s].kind;
        if (!known)
            kinds[len++] = t->c->series[s].kind;
    }
    free(kinds);
    return len;
}

/* The machine with the most suspect series, and how many of its series moved. */
static size_t choose_machine(const table *t, pfc_shift *out)
{
    size_t best = 0;

    for (size_t m = 0; m < t->c->machines; m++) {
        size_t suspects = 0, moved = 0, judged = 0;

        for (size_t s = 0; s < t->c->series_len; s++) {
            const seen *at = cell(t, s, m);

            if (t->c->series[s].exact || !at->measured)
                continue;
            judged++;
            moved += at->moved;
            suspects += is_suspect(t, s, m);
        }
        if (suspects > best) {
            best = suspects;
            out->machine = (uint32_t)m;
            out->moved = moved;
            out->judged = judged;
        }
    }
    return best;
}

/* The newest point at the old level and the first one at the new, by when they were measured. */
static void find_edge(const table *t, pfc_shift *out)
{
    const pfc_shift_case *c = t->c;

    out->last = out->first = SIZE_MAX;
    for (size_t i = 0; i < c->points_len; i++) {
        const pfc_shift_point *p = &c->points[i];

        if (p->machine != out->machine || !is_suspect(t, p->series, p->machine))
            continue;
        if (p->position < c->low && p->time <= t->since[out->machine] &&
            (out->last == SIZE_MAX || p->time > c->points[out->last].time ||
             (p->time == c->points[out->last].time && p->position > c->points[out->last].position)))
            out->last = i;
        if (p->position >= c->high &&
            (out->first == SIZE_MAX || p->time < c->points[out->first].time ||
             (p->time == c->points[out->first].time &&
              p->position < c->points[out->first].position)))
            out->first = i;
    }
}

/* True when the machine's fingerprint changed there to one that it did not have before. */
static bool state_changed(const table *t, const pfc_shift *out)
{
    const pfc_shift_case *c = t->c;

    if (out->last == SIZE_MAX || out->first == SIZE_MAX)
        return false;
    for (size_t i = 0; i < c->points_len; i++) {
        const pfc_shift_point *p = &c->points[i];

        if (p->machine == out->machine && p->position < c->low &&
            p->time <= t->since[out->machine] && p->state == c->points[out->first].state)
            return false;
    }
    return true;
}

static void ask_others(table *t, uint32_t machine)
{
    for (size_t s = 0; s < t->c->series_len; s++) {
        if (!is_suspect(t, s, machine))
            continue;
        t->others[s] = elsewhere(t, s, machine);
        t->exact[s] = exact_of(t, s);
    }
}

static void weigh(const table *t, pfc_shift *out)
{
    const size_t kinds = kinds_of(t, out->machine, true), all = kinds_of(t, out->machine, false);
    const double breadth = (double)out->moved / (double)out->judged;
    votes others = { 0 }, again = { 0 }, code = { 0 };

    for (size_t s = 0; s < t->c->series_len; s++) {
        const seen *at = cell(t, s, out->machine);

        if (!is_suspect(t, s, out->machine))
            continue;
        vote(&others, t->others[s]);
        vote(&again, -at->again);
        vote(&code, t->exact[s] ? t->exact[s] : -at->code);
    }
    out->answer =
        votes_commit(others) || votes_commit(again) ? PFC_SHIFT_COMMIT : PFC_SHIFT_UNKNOWN;
    /* Other object code follows from any change of the sources and is no vote against the
     * machine. */
    if (out->answer == PFC_SHIFT_COMMIT || kinds < 2 || kinds < PFC_MIN((size_t)KINDS, all))
        return;
    if (votes_machine(others))
        out->why |= PFC_SHIFT_ELSEWHERE;
    if (votes_machine(again))
        out->why |= PFC_SHIFT_AGAIN;
    if (breadth >= BREADTH_ALONE && votes_machine(code))
        out->why |= PFC_SHIFT_CODE;
    if (breadth >= BREADTH_ALONE && state_changed(t, out))
        out->why |= PFC_SHIFT_STATE;
    if (breadth >= BREADTH_ALONE && t->c->scope == PFC_SCOPE_NARROW)
        out->why |= PFC_SHIFT_SCOPE;
    if (out->why && breadth >= BREADTH)
        out->answer = PFC_SHIFT_MACHINE;
    else
        out->why = 0;
}

/* The suspect series that the machine explains, and its loss. */
static void divide(const table *t, pfc_shift *out)
{
    double *losses = pfc_calloc(t->c->series_len + 1, sizeof(*losses)), centre, limit;
    size_t n = 0;

    for (size_t s = 0; s < t->c->series_len; s++) {
        const seen *at = cell(t, s, out->machine);

        if (is_suspect(t, s, out->machine) && t->others[s] <= 0)
            losses[n++] = at->loss;
    }
    centre = n ? pfc_stats_median(losses, n) : 0;
    limit =
        centre + fmax(fmax(3 * (n ? pfc_stats_mad(losses, n) : 0), APART * centre), APART_LEAST);
    n = 0;
    for (size_t s = 0; s < t->c->series_len; s++) {
        const seen *at = cell(t, s, out->machine);

        out->belongs[s] = is_suspect(t, s, out->machine) && t->others[s] <= 0 && t->exact[s] <= 0 &&
                          at->loss - 2 * at->error <= limit;
        if (out->belongs[s])
            losses[n++] = at->loss;
    }
    out->belongs_len = n;
    if (n < PFC_SHIFT_MIN_SERIES) {
        out->answer = PFC_SHIFT_UNKNOWN;
        out->why = 0;
        out->belongs_len = 0;
        memset(out->belongs, 0, t->c->series_len * sizeof(*out->belongs));
    } else {
        out->loss = expm1(pfc_stats_median(losses, n));
        out->least = expm1(pfc_stats_quantile(losses, n, 0.25));
        out->most = expm1(pfc_stats_quantile(losses, n, 0.75));
    }
    free(losses);
}

void pfc_shift_judge(const pfc_shift_case *c, pfc_shift *out)
{
    table t = { .c = c };

    memset(out, 0, sizeof(*out));
    out->last = out->first = SIZE_MAX;
    out->belongs = pfc_calloc(c->series_len + 1, sizeof(*out->belongs));
    t.cells = pfc_calloc(c->series_len * c->machines + 1, sizeof(*t.cells));
    t.start = pfc_calloc(c->series_len + 2, sizeof(*t.start));
    t.order = pfc_calloc(c->points_len + 1, sizeof(*t.order));
    t.since = pfc_calloc(c->machines + 1, sizeof(*t.since));
    t.scratch = pfc_calloc(PFC_SHIFT_BEFORE + PFC_SHIFT_AFTER, sizeof(*t.scratch));
    t.others = pfc_calloc(c->series_len + 1, sizeof(*t.others));
    t.exact = pfc_calloc(c->series_len + 1, sizeof(*t.exact));
    sort_by_series(&t);
    find_since(&t);
    for (size_t s = 0; s < c->series_len; s++) {
        for (size_t m = 0; m < c->machines; m++)
            look(&t, s, m);
    }
    if (choose_machine(&t, out) >= PFC_SHIFT_MIN_SERIES) {
        find_edge(&t, out);
        ask_others(&t, out->machine);
        weigh(&t, out);
        if (out->answer == PFC_SHIFT_MACHINE)
            divide(&t, out);
    }
    free(t.exact);
    free(t.others);
    free(t.scratch);
    free(t.since);
    free(t.order);
    free(t.start);
    free(t.cells);
}

void pfc_shift_clear(pfc_shift *shift)
{
    free(shift->belongs);
    memset(shift, 0, sizeof(*shift));
}
