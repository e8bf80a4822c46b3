#include "server/repo/documents/queue_snapshot.h"

/* Columns of the rows in the document of the statement queue_look. */
enum {
    JOB_ID,
    JOB_LEASED,
    JOB_FIT,
    JOB_HISTORY,
    JOB_DUE,
    JOB_SINCE,
    JOB_RUNNER,
    JOB_AVOID_S,
    JOB_PARENTS
};
enum { FIT_LABELS, FIT_AVOID, FIT_RUNNERS, FIT_LAST, FIT_AGO };

static double number(const json_t *row, size_t column)
{
    return json_number_value(json_array_get(row, column));
}

static char *text(const json_t *row, size_t column)
{
    return pfc_strdup(json_string_value(json_array_get(row, column)));
}

static char **texts_of(const json_t *list, size_t *len)
{
    char **texts = pfc_calloc(json_array_size(list), sizeof(*texts));

    *len = json_array_size(list);
    for (size_t i = 0; i < *len; i++) {
        const char *item = json_string_value(json_array_get(list, i));

        texts[i] = pfc_strdup(item ? item : "");
    }
    return texts;
}

static void read_job(const json_t *row, pfc_queue_job *job)
{
    const json_t *parents = json_array_get(row, JOB_PARENTS);
    char *runner = text(row, JOB_RUNNER);

    *job = (pfc_queue_job){ .id = json_integer_value(json_array_get(row, JOB_ID)),
                            .leased = json_is_true(json_array_get(row, JOB_LEASED)),
                            .fit = (size_t)number(row, JOB_FIT),
                            .history = (size_t)number(row, JOB_HISTORY),
                            .due_s = number(row, JOB_DUE),
                            .since_s = number(row, JOB_SINCE),
                            .runner = runner ? runner : pfc_strdup(""),
                            .avoid_s = number(row, JOB_AVOID_S),
                            .parents_len = json_array_size(parents) };
    job->parents = job->parents_len ? pfc_calloc(job->parents_len, sizeof(*job->parents)) : NULL;
    for (size_t i = 0; i < job->parents_len; i++)
        job->parents[i] = json_integer_value(json_array_get(parents, i));
}

static void read_fit(const json_t *row, pfc_queue_fit *fit)
{
    const char *name;
    json_t *value;

    json_object_foreach(json_array_get(row, FIT_LABELS), name, value)
    {
        if (json_is_string(value))
            pfc_labels_set(&fit->labels, name, json_string_value(value));
    }
    fit->avoid = text(row, FIT_AVOID);
    fit->runners = texts_of(json_array_get(row, FIT_RUNNERS), &fit->runners_len);
    fit->last = text(row, FIT_LAST);
    fit->ago_s = number(row, FIT_AGO);
}

static void read_history(const json_t *seconds, const json_t *budget, pfc_queue_history *history)
{
    history->len = json_array_size(seconds);
    history->seconds = pfc_calloc(history->len, sizeof(*history->seconds));
    for (size_t i = 0; i < history->len; i++)
        history->seconds[i] = number(seconds, i);
    history->budget = json_is_true(budget);
}

static void read_document(const json_t *doc, pfc_queue_snapshot *out)
{
    const json_t *jobs = json_object_get(doc, "jobs"), *fits = json_object_get(doc, "fits");
    const json_t *took = json_object_get(doc, "took"), *known = json_object_get(doc, "known");

    out->jobs_len = json_array_size(jobs);
    out->jobs = pfc_calloc(out->jobs_len, sizeof(*out->jobs));
    for (size_t i = 0; i < out->jobs_len; i++)
        read_job(json_array_get(jobs, i), &out->jobs[i]);
    out->fits_len = json_array_size(fits);
    out->fits = pfc_calloc(out->fits_len, sizeof(*out->fits));
    for (size_t i = 0; i < out->fits_len; i++)
        read_fit(json_array_get(fits, i), &out->fits[i]);
    out->histories_len = json_array_size(took);
    out->histories = pfc_calloc(out->histories_len, sizeof(*out->histories));
    for (size_t i = 0; i < out->histories_len; i++)
        read_history(json_array_get(took, i), json_array_get(known, i), &out->histories[i]);
    out->runners = texts_of(json_object_get(doc, "runners"), &out->runners_len);
}

pfc_code pfc_queue_snapshot_read(pfc_tx *tx, const pfc_sql_queue_look_args *args,
                                 pfc_queue_snapshot *out, pfc_err *err)
{
    pfc_sql_queue_look_rows rows = { 0 };
    json_t *doc = NULL;
    pfc_code code = pfc_sql_queue_look(tx, args, &rows, err);

    *out = (pfc_queue_snapshot){ 0 };
    if (!code) {
        doc = json_loads(rows.items[0].json_build_object, 0, NULL);
        if (!doc)
            code = pfc_err_set(err, PFC_EBUG, "queue_look: no JSON");
    }
    if (!code)
        read_document(doc, out);
    json_decref(doc);
    pfc_rows_clear(&rows);
    return code;
}

static void free_texts(char **texts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(texts[i]);
    free(texts);
}

void pfc_queue_snapshot_clear(pfc_queue_snapshot *s)
{
    for (size_t i = 0; i < s->jobs_len; i++) {
        free(s->jobs[i].runner);
        free(s->jobs[i].parents);
    }
    for (size_t i = 0; i < s->fits_len; i++) {
        pfc_labels_clear(&s->fits[i].labels);
        free(s->fits[i].avoid);
        free_texts(s->fits[i].runners, s->fits[i].runners_len);
        free(s->fits[i].last);
    }
    for (size_t i = 0; i < s->histories_len; i++)
        free(s->histories[i].seconds);
    free_texts(s->runners, s->runners_len);
    free(s->jobs);
    free(s->fits);
    free(s->histories);
    *s = (pfc_queue_snapshot){ 0 };
}
