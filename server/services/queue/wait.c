/*
 * Expected waits: reads the queue in one statement, converts it to the input of the simulation in
 * core/queue/wait.h, and returns the estimates of the requested jobs.
 */
#include "core/queue/wait.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/text_index.h"
#include "server/repo/documents/labels.h"
#include "server/repo/documents/queue_snapshot.h"
#include "server/services/queue/queue.h"

#define SEED       1         /* fixed: the same queue gives the same estimate */
#define REASON_MAX (1 << 20) /* more than all labels that a job can have */

/* Where a job is in the snapshot. */
typedef struct place {
    int64_t id;
    size_t at;
} place;

/* The queue as input of the simulation; all members are owned. */
typedef struct board {
    pfc_queue_snapshot seen;
    pfc_wait_job *jobs;
    size_t *parents; /* of all jobs, concatenated */
    pfc_wait_slot *slots;
    const char **owners; /* the runner of each slot */
    bool *fits;
    pfc_wait_history *histories;
    pfc_wait_queue queue;
    place *places; /* of each job, sorted by id */
    pfc_wait *waits;
} board;

static int by_id(const void *a, const void *b)
{
    const place *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* NULL: the job is not in the snapshot. */
static const size_t *place_of(const board *b, int64_t id)
{
    const place key = { .id = id };
    const place *found = b->seen.jobs_len
                             ? bsearch(&key, b->places, b->seen.jobs_len, sizeof(*b->places), by_id)
                             : NULL;

    return found ? &found->at : NULL;
}

static void read_histories(board *b)
{
    b->histories = pfc_calloc(b->seen.histories_len, sizeof(*b->histories));
    for (size_t h = 0; h < b->seen.histories_len; h++) {
        const pfc_queue_history *history = &b->seen.histories[h];

        b->histories[h] = (pfc_wait_history){ history->seconds, history->len, history->budget };
    }
}

/* Each runner has one slot, and one more for each further job that it holds at the same time. */
static void read_slots(board *b)
{
    const pfc_queue_snapshot *seen = &b->seen;
    pfc_text_index busy = { 0 };
    size_t len = 0;

    b->slots = pfc_calloc(seen->runners_len + seen->jobs_len, sizeof(*b->slots));
    b->owners = pfc_calloc(seen->runners_len + seen->jobs_len, sizeof(*b->owners));
    for (; len < seen->jobs_len && b->jobs[len].running; len++) {
        b->slots[len] = (pfc_wait_slot){ true, len, seen->jobs[len].since_s };
        b->owners[len] = seen->jobs[len].runner;
    }
    pfc_text_index_make(&busy, b->owners, len);
    for (size_t r = 0; r < seen->runners_len; r++)
        if (!pfc_text_index_find(&busy, seen->runners[r], NULL))
            b->owners[len++] = seen->runners[r];
    pfc_text_index_clear(&busy);
    b->queue.slots_len = len;
}

/* The runner that a job avoids may still take it if no other runner fits; *only: this is so. */
static void read_fit(board *b, size_t at, bool *only)
{
    const pfc_queue_fit *fit = &b->seen.fits[at];
    bool *row = b->fits + at * b->queue.slots_len;
    pfc_text_index able;
    bool others = false;

    for (size_t i = 0; i < fit->runners_len; i++)
        others |= !pfc_streq(fit->runners[i], fit->avoid);
    *only = fit->avoid && !others && fit->runners_len;
    pfc_text_index_make(&able, (const char *const *)fit->runners, fit->runners_len);
    for (size_t s = 0; s < b->queue.slots_len; s++)
        row[s] = pfc_text_index_find(&able, b->owners[s], NULL) &&
                 !(others && pfc_streq(b->owners[s], fit->avoid));
    pfc_text_index_clear(&able);
}

static void read_jobs(board *b)
{
    size_t links = 0, next = 0;

    b->places = pfc_calloc(b->seen.jobs_len, sizeof(*b->places));
    for (size_t j = 0; j < b->seen.jobs_len; j++) {
        b->places[j] = (place){ b->seen.jobs[j].id, j };
        links += b->seen.jobs[j].parents_len;
    }
    if (b->seen.jobs_len > 1)
        qsort(b->places, b->seen.jobs_len, sizeof(*b->places), by_id);
    b->jobs = pfc_calloc(b->seen.jobs_len, sizeof(*b->jobs));
    b->parents = pfc_calloc(links, sizeof(*b->parents));
    for (size_t j = 0; j < b->seen.jobs_len; j++) {
        const pfc_queue_job *seen = &b->seen.jobs[j];
        pfc_wait_job *job = &b->jobs[j];

        *job = (pfc_wait_job){ .running = seen->leased,
                               .history = seen->history,
                               .fit = seen->fit,
                               .due_s = seen->due_s,
                               .parents = b->parents + next };
        for (size_t i = 0; i < seen->parents_len && !job->running; i++) {
            const size_t *at = place_of(b, seen->parents[i]);

            if (at) /* else the parent is done */
                b->parents[next + job->parents_len++] = *at;
        }
        next += job->parents_len;
    }
}

static pfc_code take_apart(board *b, pfc_err *err)
{
    bool *only;

    read_jobs(b);
    read_histories(b);
    read_slots(b);
    b->fits = pfc_calloc(b->seen.fits_len * b->queue.slots_len, sizeof(*b->fits));
    only = pfc_calloc(b->seen.fits_len, sizeof(*only));
    for (size_t fit = 0; fit < b->seen.fits_len; fit++)
        read_fit(b, fit, &only[fit]);
    for (size_t j = 0; j < b->seen.jobs_len; j++) {
        if (!b->jobs[j].running && only[b->jobs[j].fit])
            b->jobs[j].due_s = fmax(b->jobs[j].due_s, b->seen.jobs[j].avoid_s);
    }
    free(only);
    b->queue.jobs = b->jobs;
    b->queue.jobs_len = b->seen.jobs_len;
    b->queue.slots = b->slots;
    b->queue.fits = b->fits;
    b->queue.fits_len = b->seen.fits_len;
    b->queue.histories = b->histories;
    b->queue.histories_len = b->seen.histories_len;
    b->queue.seed = SEED;
    b->waits = pfc_calloc(b->queue.jobs_len, sizeof(*b->waits));
    return pfc_wait_estimate(&b->queue, b->waits, err);
}

/* `ahead`: a hypothetical job to add to the queue; or NULL. */
static pfc_code load(pfc_tx *tx, const pfc_job_row *ahead, int64_t project_id, board *b,
                     pfc_err *err)
{
    char *labels = ahead ? pfc_labels_text(ahead->labels) : NULL;
    pfc_code code = pfc_queue_snapshot_read(
        tx,
        &(pfc_sql_queue_look_args){ .limit = PFC_WAIT_MAX_JOBS - (ahead != NULL),
                                    .project_id = ahead ? project_id : 0,
                                    .kind = ahead ? ahead->kind : NULL,
                                    .labels = labels,
                                    .priority = ahead ? ahead->priority : 0 },
        &b->seen, err);

    free(labels);
    return code ? code : take_apart(b, err);
}

static void clear(board *b)
{
    free(b->histories);
    free(b->jobs);
    free(b->parents);
    free(b->slots);
    free((void *)b->owners);
    free(b->fits);
    free(b->waits);
    free(b->places);
    pfc_queue_snapshot_clear(&b->seen);
}

/* ---- reasons as text ---- */

static char *ago(double seconds)
{
    return seconds < 120      ? pfc_format("%.0f s", seconds)
           : seconds < 7200   ? pfc_format("%.0f minutes", seconds / 60)
           : seconds < 172800 ? pfc_format("%.0f hours", seconds / 3600)
                              : pfc_format("%.0f days", seconds / 86400);
}

static char *no_runner(const pfc_queue_fit *fit)
{
    pfc_buf text;

    pfc_buf_init(&text, REASON_MAX);
    pfc_buf_puts(&text, "no runner");
    for (size_t i = 0; i < fit->labels.len; i++)
        pfc_buf_printf(&text, "%s %s=%s", i ? "," : " with", fit->labels.items[i].name,
                       fit->labels.items[i].value);
    if (fit->last) {
        char *since = ago(fit->ago_s);

        pfc_buf_printf(&text, " is there: the last one, %s, was last seen %s ago", fit->last,
                       since);
        free(since);
    } else {
        pfc_buf_puts(&text, " has ever asked for work");
    }
    return pfc_buf_take(&text);
}

static char *in_words(const board *b, size_t at)
{
    const pfc_wait_job *job = &b->jobs[at];
    const pfc_wait *wait = &b->waits[at];
    const size_t parent = wait->known == PFC_WAIT_PARENT ? wait->parent
                          : job->parents_len             ? job->parents[0]
                                                         : 0;
    const long long id = (long long)b->seen.jobs[parent].id;

    switch (wait->known) {
    case PFC_WAIT_NO_RUNNER:
        return no_runner(&b->seen.fits[job->fit]);
    case PFC_WAIT_NO_HISTORY:
        return pfc_strdup(
            "how long the jobs before it take is not known: none like them has ended");
    case PFC_WAIT_PARENT:
        return pfc_format("it waits for job %lld, whose end is not known", id);
    case PFC_WAIT_KNOWN:
        break;
    }
    if (job->parents_len)
        return pfc_format("it waits for job %lld", id);
    return job->due_s > 0 ? pfc_format("it may be taken in %.0f s", ceil(job->due_s)) : NULL;
}

pfc_code pfc_job_waits(pfc_db *db, const pfc_jobs *jobs, pfc_job_wait **out, pfc_err *err)
{
    pfc_job_wait *waits = pfc_calloc(jobs->len + 1, sizeof(*waits));
    bool any = false;
    board b = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < jobs->len; i++) {
        waits[i] = (pfc_job_wait){ NAN, NAN, NAN, NULL };
        any |= pfc_streq(jobs->items[i].state, "queued");
    }
    if (any)
        code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (any && !code)
        code = load(tx, NULL, 0, &b, err);
    pfc_tx_free(tx);
    for (size_t i = 0; !code && i < jobs->len; i++) {
        const size_t *at = place_of(&b, jobs->items[i].id);

        if (!pfc_streq(jobs->items[i].state, "queued"))
            continue;
        if (!at && b.queue.jobs_len == PFC_WAIT_MAX_JOBS) {
            waits[i].reason = pfc_format("more than %d jobs are before it", PFC_WAIT_MAX_JOBS);
        } else if (at && !b.jobs[*at].running) { /* else it has been leased since */
            const pfc_wait *wait = &b.waits[*at];

            waits[i] =
                (pfc_job_wait){ wait->low_s, wait->middle_s, wait->high_s, in_words(&b, *at) };
        }
    }
    clear(&b);
    if (code)
        pfc_job_waits_free(waits, jobs->len);
    else
        *out = waits;
    return code;
}

void pfc_job_waits_free(pfc_job_wait *waits, size_t len)
{
    for (size_t i = 0; waits && i < len; i++)
        free(waits[i].reason);
    free(waits);
}

/* ---- estimate for a job that is not queued yet ---- */

static bool share_a_runner(const board *b, size_t fit, size_t other)
{
    const size_t len = b->queue.slots_len;

    for (size_t s = 0; s < len; s++) {
        if (b->fits[fit * len + s] && b->fits[other * len + s])
            return true;
    }
    return false;
}

static double mean_of(const pfc_wait_history *history)
{
    double sum = 0;

    for (size_t i = 0; i < history->len; i++)
        sum += history->seconds[i];
    return history->len ? sum / (double)history->len : (double)NAN;
}

pfc_code pfc_job_foresee(pfc_tx *tx, int64_t project_id, const pfc_job_row *row,
                         pfc_job_prospect *out, pfc_err *err)
{
    board b = { 0 };
    pfc_code code = load(tx, row, project_id, &b, err);

    if (!code) {
        const size_t *found = place_of(&b, INT64_MAX);
        const size_t at_place = found ? *found : 0;
        const pfc_wait_job *job = &b.jobs[at_place];

        *out = (pfc_job_prospect){ .wait_s = b.waits[at_place].middle_s,
                                   .run_s = mean_of(&b.histories[job->history]) };
        for (size_t j = 0; j < at_place; j++) {
            out->before += !b.jobs[j].running && (b.waits[at_place].known == PFC_WAIT_NO_RUNNER ||
                                                  share_a_runner(&b, b.jobs[j].fit, job->fit));
        }
    }
    clear(&b);
    return code;
}
