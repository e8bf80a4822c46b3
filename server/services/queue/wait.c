/*
 * Expected waits: reads the queue in one statement, converts it to the input of the simulation in
 * core/queue/wait.h, and returns the estimates of the requested jobs.
 */
#include "core/queue/wait.h"

#include <math.h>

#include "server/repo/sql/queue.h"
#include "server/services/queue/queue.h"

#define SEED       1         /* fixed: the same queue gives the same estimate */
#define REASON_MAX (1 << 20) /* more than all labels that a job can have */

/* Columns of the rows in the JSON document of the statement queue_look. */
enum {
    JOB_ID,
    JOB_RUNS,
    JOB_FIT,
    JOB_TOOK,
    JOB_DUE,
    JOB_SINCE,
    JOB_RUNNER,
    JOB_AVOID_S,
    JOB_PARENTS
};
enum { FIT_LABELS, FIT_AVOID, FIT_NAMES, FIT_GONE, FIT_AGO };

/* The parsed queue; all members are owned. */
typedef struct board {
    json_t *doc;
    const json_t *jobs_json, *fits_json;
    pfc_wait_job *jobs;
    size_t *parents; /* of all jobs, concatenated */
    pfc_wait_slot *slots;
    bool *fits;
    pfc_wait_history *histories;
    double **seconds;
    pfc_wait_queue queue;
    json_t *places; /* job id -> index in jobs */
    pfc_wait *waits;
} board;

static json_t *at(const json_t *rows, size_t row, size_t column)
{
    return json_array_get(json_array_get(rows, row), column);
}

static double number(const json_t *rows, size_t row, size_t column)
{
    return json_number_value(at(rows, row, column));
}

static json_t *place_of(const board *b, json_int_t id)
{
    char key[24];

    (void)snprintf(key, sizeof(key), "%lld", (long long)id);
    return json_object_get(b->places, key);
}

static void read_histories(board *b)
{
    const json_t *took = json_object_get(b->doc, "took");
    const json_t *known = json_object_get(b->doc, "known");

    b->queue.histories_len = json_array_size(took);
    b->histories = pfc_calloc(b->queue.histories_len + 1, sizeof(*b->histories));
    b->seconds = pfc_calloc(b->queue.histories_len + 1, sizeof(*b->seconds));
    for (size_t h = 0; h < b->queue.histories_len; h++) {
        const json_t *list = json_array_get(took, h);
        const size_t len = json_array_size(list);

        b->seconds[h] = pfc_calloc(len + 1, sizeof(double));
        for (size_t i = 0; i < len; i++)
            b->seconds[h][i] = json_number_value(json_array_get(list, i));
        b->histories[h] =
            (pfc_wait_history){ b->seconds[h], len, json_is_true(json_array_get(known, h)) };
    }
}

/* Each runner has one slot, and one more for each further job that it holds at the same time. */
static json_t *read_slots(board *b)
{
    const json_t *names = json_object_get(b->doc, "runners");
    const size_t jobs_len = b->queue.jobs_len;
    json_t *slots = json_object(), *owner = json_array();
    size_t len = 0;

    b->slots = pfc_calloc(json_array_size(names) + jobs_len + 1, sizeof(*b->slots));
    for (size_t j = 0; j < jobs_len && b->jobs[j].running; j++) {
        b->slots[len++] = (pfc_wait_slot){ true, j, number(b->jobs_json, j, JOB_SINCE) };
        json_array_append(owner, at(b->jobs_json, j, JOB_RUNNER));
        json_object_set_new(slots, json_string_value(at(b->jobs_json, j, JOB_RUNNER)), json_true());
    }
    for (size_t r = 0; r < json_array_size(names); r++) {
        json_t *name = json_array_get(names, r);

        if (!json_object_get(slots, json_string_value(name))) {
            json_array_append(owner, name);
            len++;
        }
    }
    json_decref(slots);
    b->queue.slots_len = len;
    return owner;
}

/* The runner that a job avoids may still take it if no other runner fits; *only: this is so. */
static void read_fit(board *b, size_t fit, const json_t *owner, bool *only)
{
    const json_t *names = at(b->fits_json, fit, FIT_NAMES);
    const char *avoid = json_string_value(at(b->fits_json, fit, FIT_AVOID));
    json_t *able = json_object();
    bool *row = b->fits + fit * b->queue.slots_len;
    size_t others = 0;

    for (size_t i = 0; i < json_array_size(names); i++)
        json_object_set_new(able, json_string_value(json_array_get(names, i)), json_true());
    others = json_object_size(able) - (avoid && json_object_get(able, avoid));
    *only = avoid && !others && json_object_size(able);
    if (avoid && others)
        json_object_del(able, avoid);
    for (size_t s = 0; s < b->queue.slots_len; s++)
        row[s] = json_object_get(able, json_string_value(json_array_get(owner, s))) != NULL;
    json_decref(able);
}

static void read_jobs(board *b)
{
    size_t links = 0, next = 0;

    for (size_t j = 0; j < b->queue.jobs_len; j++) {
        char key[24];

        (void)snprintf(key, sizeof(key), "%lld",
                       (long long)json_integer_value(at(b->jobs_json, j, JOB_ID)));
        json_object_set_new(b->places, key, json_integer((json_int_t)j));
        links += json_array_size(at(b->jobs_json, j, JOB_PARENTS));
    }
    b->jobs = pfc_calloc(b->queue.jobs_len + 1, sizeof(*b->jobs));
    b->parents = pfc_calloc(links + 1, sizeof(*b->parents));
    for (size_t j = 0; j < b->queue.jobs_len; j++) {
        const json_t *parents = at(b->jobs_json, j, JOB_PARENTS);
        pfc_wait_job *job = &b->jobs[j];

        *job = (pfc_wait_job){ .running = json_is_true(at(b->jobs_json, j, JOB_RUNS)),
                               .history = (size_t)json_integer_value(at(b->jobs_json, j, JOB_TOOK)),
                               .fit = (size_t)json_integer_value(at(b->jobs_json, j, JOB_FIT)),
                               .due_s = number(b->jobs_json, j, JOB_DUE),
                               .parents = b->parents + next };
        for (size_t i = 0; i < json_array_size(parents) && !job->running; i++) {
            const json_t *place = place_of(b, json_integer_value(json_array_get(parents, i)));

            if (place) /* else the parent is done */
                b->parents[next + job->parents_len++] = (size_t)json_integer_value(place);
        }
        next += job->parents_len;
    }
}

static pfc_code take_apart(board *b, pfc_err *err)
{
    json_t *owner;
    bool *only;

    b->jobs_json = json_object_get(b->doc, "jobs");
    b->fits_json = json_object_get(b->doc, "fits");
    b->queue.jobs_len = json_array_size(b->jobs_json);
    b->queue.fits_len = json_array_size(b->fits_json);
    b->places = json_object();
    read_jobs(b);
    read_histories(b);
    owner = read_slots(b);
    b->fits = pfc_calloc(b->queue.fits_len * b->queue.slots_len + 1, sizeof(*b->fits));
    only = pfc_calloc(b->queue.fits_len + 1, sizeof(*only));
    for (size_t fit = 0; fit < b->queue.fits_len; fit++)
        read_fit(b, fit, owner, &only[fit]);
    for (size_t j = 0; j < b->queue.jobs_len; j++) {
        if (!b->jobs[j].running && only[b->jobs[j].fit])
            b->jobs[j].due_s = fmax(b->jobs[j].due_s, number(b->jobs_json, j, JOB_AVOID_S));
    }
    free(only);
    json_decref(owner);
    b->queue.jobs = b->jobs;
    b->queue.slots = b->slots;
    b->queue.fits = b->fits;
    b->queue.histories = b->histories;
    b->queue.seed = SEED;
    b->waits = pfc_calloc(b->queue.jobs_len + 1, sizeof(*b->waits));
    return pfc_wait_estimate(&b->queue, b->waits, err);
}

/* `ahead`: a hypothetical job to add to the queue; or NULL. */
static pfc_code load(pfc_tx *tx, const pfc_job_row *ahead, int64_t project_id, board *b,
                     pfc_err *err)
{
    pfc_sql_queue_look_rows rows = { 0 };
    pfc_code code;

    code =
        pfc_sql_queue_look(tx,
                           &(pfc_sql_queue_look_args){ .limit = PFC_WAIT_MAX_JOBS - (ahead != NULL),
                                                       .project_id = ahead ? project_id : 0,
                                                       .kind = ahead ? ahead->kind : NULL,
                                                       .labels = ahead ? ahead->labels : NULL,
                                                       .priority = ahead ? ahead->priority : 0 },
                           &rows, err);
    if (!code) {
        const char *text = rows.items[0].json_build_object;

        b->doc = json_loads(text, 0, NULL);
        if (!b->doc)
            code = pfc_err_set(err, PFC_EBUG, "queue_look: no JSON");
    }
    pfc_rows_clear(&rows);
    return code ? code : take_apart(b, err);
}

static void clear(board *b)
{
    for (size_t h = 0; h < b->queue.histories_len; h++)
        free(b->seconds[h]);
    free((void *)b->seconds);
    free(b->histories);
    free(b->jobs);
    free(b->parents);
    free(b->slots);
    free(b->fits);
    free(b->waits);
    json_decref(b->places);
    json_decref(b->doc);
}

/* ---- reasons as text ---- */

static char *ago(double seconds)
{
    return seconds < 120      ? pfc_format("%.0f s", seconds)
           : seconds < 7200   ? pfc_format("%.0f minutes", seconds / 60)
           : seconds < 172800 ? pfc_format("%.0f hours", seconds / 3600)
                              : pfc_format("%.0f days", seconds / 86400);
}

static char *no_runner(const board *b, size_t fit)
{
    const char *gone = json_string_value(at(b->fits_json, fit, FIT_GONE));
    json_t *labels = at(b->fits_json, fit, FIT_LABELS);
    pfc_buf text;
    const char *name;
    json_t *value;

    pfc_buf_init(&text, REASON_MAX);
    pfc_buf_puts(&text, "no runner");
    json_object_foreach(labels, name, value)
    {
        pfc_buf_printf(&text, "%s %s=%s", text.len == strlen("no runner") ? " with" : ",", name,
                       json_string_value(value));
    }
    if (gone) {
        char *since = ago(number(b->fits_json, fit, FIT_AGO));

        pfc_buf_printf(&text, " is there: the last one, %s, was last seen %s ago", gone, since);
        free(since);
    } else {
        pfc_buf_puts(&text, " has ever asked for work");
    }
    return pfc_buf_take(&text);
}

static char *in_words(const board *b, size_t place)
{
    const pfc_wait_job *job = &b->jobs[place];
    const pfc_wait *wait = &b->waits[place];
    const size_t parent = wait->known == PFC_WAIT_PARENT ? wait->parent
                          : job->parents_len             ? job->parents[0]
                                                         : 0;
    const long long id = (long long)json_integer_value(at(b->jobs_json, parent, JOB_ID));

    switch (wait->known) {
    case PFC_WAIT_NO_RUNNER:
        return no_runner(b, job->fit);
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
        const json_t *place = place_of(&b, jobs->items[i].id);
        const size_t j = (size_t)json_integer_value(place);

        if (!pfc_streq(jobs->items[i].state, "queued"))
            continue;
        if (!place && b.queue.jobs_len == PFC_WAIT_MAX_JOBS) {
            waits[i].reason = pfc_format("more than %d jobs are before it", PFC_WAIT_MAX_JOBS);
        } else if (place && !b.jobs[j].running) { /* else it has been leased since */
            const pfc_wait *wait = &b.waits[j];

            waits[i] = (pfc_job_wait){ wait->low_s, wait->middle_s, wait->high_s, in_words(&b, j) };
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
        const json_t *place = place_of(&b, INT64_MAX);
        const size_t at_place = (size_t)json_integer_value(place);
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
