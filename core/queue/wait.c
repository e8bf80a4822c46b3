/* The queue played forward: events in a heap, ready jobs in a heap for each kind of runner they
 * want. */
#include "core/queue/wait.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/stats/stats.h"

#define ROUNDS_MOST  64
#define ROUNDS_LEAST 16
#define WORK         200000 /* limit of jobs times rounds: about 0.2 s of processor time */
#define FACTOR_SD    0.5    /* of a kind with one finished job */
#define NONE         SIZE_MAX

typedef struct event {
    double at;
    bool free; /* a slot is; else a job is due */
    size_t index;
} event;

typedef struct play {
    const pfc_wait_queue *q;
    size_t rounds;
    pfc_rng rng;
    double **sorted;                         /* of each history, ascending */
    double *factor;                          /* of each history in this round */
    size_t *child_start, *children;          /* of each job, jobs_len + 1 */
    size_t *left;                            /* what each job still waits for */
    size_t *ready, *ready_start, *ready_len; /* heaps of job indices, one for each row of fits */
    event *events;                           /* heap */
    size_t events_len;
    size_t *holds;  /* job of each slot, or NONE */
    double *starts; /* job by round; INFINITY: never */
} play;

/* ---- heaps ---- */

static bool before(const event *a, const event *b)
{
    return a->at != b->at ? a->at < b->at : a->free != b->free ? b->free : a->index < b->index;
}

static void push_event(play *p, event e)
{
    size_t i = p->events_len++;

    for (; i > 0 && before(&e, &p->events[(i - 1) / 2]); i = (i - 1) / 2)
        p->events[i] = p->events[(i - 1) / 2];
    p->events[i] = e;
}

static event pop_event(play *p)
{
    const event top = p->events[0], last = p->events[--p->events_len];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < p->events_len) {
        child += child + 1 < p->events_len && before(&p->events[child + 1], &p->events[child]);
        if (!before(&p->events[child], &last))
            break;
        p->events[i] = p->events[child];
        i = child;
    }
    p->events[i] = last;
    return top;
}

static void push_ready(play *p, size_t job)
{
    const size_t fit = p->q->jobs[job].fit;
    size_t *heap = p->ready + p->ready_start[fit];
    size_t i = p->ready_len[fit]++;

    for (; i > 0 && job < heap[(i - 1) / 2]; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = job;
}

static size_t pop_ready(play *p, size_t fit)
{
    size_t *heap = p->ready + p->ready_start[fit], i = 0, child;
    const size_t len = --p->ready_len[fit], top = heap[0], last = heap[len];

    while ((child = 2 * i + 1) < len) {
        child += child + 1 < len && heap[child + 1] < heap[child];
        if (last < heap[child])
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}

/* ---- one round ---- */

static double draw(play *p, size_t history)
{
    const size_t len = p->q->histories[history].len;

    return len ? p->factor[history] * p->sorted[history][pfc_rng_below(&p->rng, len)]
               : (double)INFINITY;
}

/* Remaining seconds of a job that has run for elapsed_s. */
static double draw_rest(play *p, size_t history, double elapsed_s)
{
    const size_t len = p->q->histories[history].len;
    const double *sorted = p->sorted[history];
    size_t low = 0, high = len;

    if (!len)
        return INFINITY;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (sorted[middle] * p->factor[history] > elapsed_s)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == len)
        return elapsed_s * pfc_rng_double(&p->rng);
    return sorted[low + pfc_rng_below(&p->rng, len - low)] * p->factor[history] - elapsed_s;
}

static void start(play *p, size_t round, size_t job, size_t slot, double now)
{
    const double ends = now + draw(p, p->q->jobs[job].history);

    p->starts[job * p->rounds + round] = now;
    p->holds[slot] = job;
    if (isfinite(ends))
        push_event(p, (event){ ends, true, slot });
}

static bool fits(const play *p, size_t fit, size_t slot)
{
    return p->q->fits[fit * p->q->slots_len + slot];
}

/* The slot takes the first job that it is allowed to run. If there is none, it stays idle. */
static void look_for_job(play *p, size_t round, size_t slot, double now)
{
    size_t best = NONE;

    for (size_t fit = 0; fit < p->q->fits_len; fit++) {
        if (p->ready_len[fit] && fits(p, fit, slot) &&
            (best == NONE || p->ready[p->ready_start[fit]] < p->ready[p->ready_start[best]]))
            best = fit;
    }
    p->holds[slot] = NONE;
    if (best != NONE)
        start(p, round, pop_ready(p, best), slot, now);
}

/* Removes one condition that the job waits for. An idle slot had no suitable job until now, so it
 * takes this one. */
static void loosen(play *p, size_t round, size_t job, double now)
{
    if (--p->left[job] > 0)
        return;
    for (size_t slot = 0; slot < p->q->slots_len; slot++) {
        if (p->holds[slot] == NONE && fits(p, p->q->jobs[job].fit, slot)) {
            start(p, round, job, slot, now);
            return;
        }
    }
    push_ready(p, job);
}

static void begin_round(play *p, size_t round)
{
    const pfc_wait_queue *q = p->q;

    p->events_len = 0;
    memset(p->ready_len, 0, q->fits_len * sizeof(*p->ready_len));
    for (size_t h = 0; h < q->histories_len; h++)
        p->factor[h] = q->histories[h].known ? 1.0
                                             : exp(FACTOR_SD * pfc_rng_normal(&p->rng) /
                                                   sqrt((double)PFC_MAX(1, q->histories[h].len)));
    for (size_t j = 0; j < q->jobs_len; j++) {
        const pfc_wait_job *job = &q->jobs[j];

        p->starts[j * p->rounds + round] = job->running ? 0.0 : (double)INFINITY;
        p->left[j] = job->parents_len + (job->due_s > 0);
        if (job->running)
            continue;
        if (job->due_s > 0)
            push_event(p, (event){ job->due_s, false, j });
        else if (!p->left[j])
            push_ready(p, j);
    }
    for (size_t s = 0; s < q->slots_len; s++) {
        const pfc_wait_slot *slot = &q->slots[s];
        double rest;

        p->holds[s] = slot->busy ? slot->job : NONE;
        if (!slot->busy)
            continue;
        rest = draw_rest(p, q->jobs[slot->job].history, slot->elapsed_s);
        if (isfinite(rest))
            push_event(p, (event){ rest, true, s });
    }
    for (size_t s = 0; s < q->slots_len; s++) {
        if (!q->slots[s].busy)
            look_for_job(p, round, s, 0.0);
    }
}

static void play_round(play *p, size_t round)
{
    begin_round(p, round);
    while (p->events_len) {
        const event e = pop_event(p);

        if (!e.free) {
            loosen(p, round, e.index, e.at);
            continue;
        }
        const size_t ended = p->holds[e.index]; /* it waits while its child jobs run */

        for (size_t c = p->child_start[ended]; c < p->child_start[ended + 1]; c++)
            loosen(p, round, p->children[c], e.at);
        look_for_job(p, round, e.index, e.at);
    }
}

/* ---- before and after ---- */

static pfc_code check(const pfc_wait_queue *q, pfc_err *err)
{
    bool fine = q->jobs_len <= PFC_WAIT_MAX_JOBS && q->slots_len <= PFC_WAIT_MAX_SLOTS;

    for (size_t s = 0; s < q->slots_len && fine; s++) {
        const pfc_wait_slot *slot = &q->slots[s];

        fine = !slot->busy || (slot->job < q->jobs_len && q->jobs[slot->job].running &&
                               isfinite(slot->elapsed_s) && slot->elapsed_s >= 0);
    }
    for (size_t j = 0; j < q->jobs_len && fine; j++) {
        const pfc_wait_job *job = &q->jobs[j];

        fine = job->history < q->histories_len && (job->running || job->fit < q->fits_len) &&
               isfinite(job->due_s);
        for (size_t i = 0; i < job->parents_len && fine; i++)
            fine = job->parents[i] < q->jobs_len;
    }
    for (size_t h = 0; h < q->histories_len && fine; h++) {
        for (size_t i = 0; i < q->histories[h].len && fine; i++)
            fine = isfinite(q->histories[h].seconds[i]) && q->histories[h].seconds[i] >= 0;
    }
    return fine ? PFC_OK : pfc_err_set(err, PFC_EINVAL, "queue: a place or a time out of range");
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void link_children(play *p)
{
    const pfc_wait_queue *q = p->q;
    size_t links = 0;

    for (size_t j = 0; j < q->jobs_len; j++) {
        links += q->jobs[j].parents_len;
        for (size_t i = 0; i < q->jobs[j].parents_len; i++)
            p->child_start[q->jobs[j].parents[i] + 1]++;
    }
    p->children = pfc_calloc(links + 1, sizeof(*p->children));
    for (size_t j = 0; j < q->jobs_len; j++)
        p->child_start[j + 1] += p->child_start[j];
    for (size_t j = 0; j < q->jobs_len; j++) {
        for (size_t i = 0; i < q->jobs[j].parents_len; i++) {
            const size_t parent = q->jobs[j].parents[i];

            p->children[p->child_start[parent] + p->left[parent]++] = j;
        }
    }
}

static void prepare(play *p, const pfc_wait_queue *q)
{
    const size_t rounds = WORK / PFC_MAX(1, q->jobs_len);

    p->q = q;
    p->rounds = PFC_MAX(ROUNDS_LEAST, PFC_MIN(ROUNDS_MOST, rounds));
    pfc_rng_seed(&p->rng, q->seed);
    p->sorted = pfc_calloc(q->histories_len + 1, sizeof(*p->sorted));
    p->factor = pfc_calloc(q->histories_len + 1, sizeof(*p->factor));
    for (size_t h = 0; h < q->histories_len; h++) {
        const pfc_wait_history *of = &q->histories[h];

        p->sorted[h] = pfc_calloc(of->len + 1, sizeof(double));
        for (size_t i = 0; i < of->len; i++)
            p->sorted[h][i] = of->seconds[i];
        qsort(p->sorted[h], of->len, sizeof(double), ascending);
    }
    p->child_start = pfc_calloc(q->jobs_len + 2, sizeof(*p->child_start));
    p->left = pfc_calloc(q->jobs_len + 1, sizeof(*p->left));
    link_children(p);
    p->ready = pfc_calloc(q->jobs_len + 1, sizeof(*p->ready));
    p->ready_start = pfc_calloc(q->fits_len + 2, sizeof(*p->ready_start));
    p->ready_len = pfc_calloc(q->fits_len + 1, sizeof(*p->ready_len));
    for (size_t j = 0; j < q->jobs_len; j++) {
        if (!q->jobs[j].running)
            p->ready_start[q->jobs[j].fit + 1]++;
    }
    for (size_t fit = 0; fit < q->fits_len; fit++)
        p->ready_start[fit + 1] += p->ready_start[fit];
    p->events = pfc_calloc(q->jobs_len + q->slots_len + 1, sizeof(*p->events));
    p->holds = pfc_calloc(q->slots_len + 1, sizeof(*p->holds));
    p->starts = pfc_calloc(q->jobs_len * p->rounds + 1, sizeof(*p->starts));
}

static void clear(play *p)
{
    for (size_t h = 0; h < p->q->histories_len; h++)
        free(p->sorted[h]);
    free((void *)p->sorted);
    free(p->factor);
    free(p->child_start);
    free(p->children);
    free(p->left);
    free(p->ready);
    free(p->ready_start);
    free(p->ready_len);
    free(p->events);
    free(p->holds);
    free(p->starts);
}

static bool begins(const play *p, size_t job)
{
    for (size_t r = 0; r < p->rounds; r++) {
        if (!isfinite(p->starts[job * p->rounds + r]))
            return false;
    }
    return true;
}

static pfc_wait_known why_unknown(const play *p, size_t job, size_t *parent)
{
    const pfc_wait_job *of = &p->q->jobs[job];
    bool any = false;

    for (size_t s = 0; s < p->q->slots_len && !any; s++)
        any = fits(p, of->fit, s);
    if (!any)
        return PFC_WAIT_NO_RUNNER;
    for (size_t i = 0; i < of->parents_len; i++) {
        *parent = of->parents[i];
        if (!begins(p, *parent) || !p->q->histories[p->q->jobs[*parent].history].len)
            return PFC_WAIT_PARENT;
    }
    return PFC_WAIT_NO_HISTORY;
}

pfc_code pfc_wait_estimate(const pfc_wait_queue *queue, pfc_wait *out, pfc_err *err)
{
    play p = { 0 };
    pfc_code code = check(queue, err);

    if (code)
        return code;
    prepare(&p, queue);
    for (size_t round = 0; round < p.rounds; round++)
        play_round(&p, round);
    for (size_t j = 0; j < queue->jobs_len; j++) {
        const double *starts = p.starts + j * p.rounds;

        out[j] = (pfc_wait){ .low_s = NAN, .middle_s = NAN, .high_s = NAN };
        if (!begins(&p, j)) {
            out[j].known = why_unknown(&p, j, &out[j].parent);
            continue;
        }
        out[j].low_s = pfc_stats_quantile(starts, p.rounds, PFC_WAIT_LOW);
        out[j].middle_s = pfc_stats_quantile(starts, p.rounds, 0.5);
        out[j].high_s = pfc_stats_quantile(starts, p.rounds, PFC_WAIT_HIGH);
    }
    clear(&p);
    return PFC_OK;
}
