/*
 * perfci jobs: the queue, as a table; and what is no longer wanted of it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"
#include "core/base/parse.h"

typedef struct jobs_opts {
    const char *project, *state, *kind, *url, *data;
    const char *words[2];
    size_t words_len, limit;
} jobs_opts;

static const pfc_option jobs_options[] = {
    PFC_OPT_TEXT("project", "P", jobs_opts, project, "Only this project"),
    PFC_OPT_TEXT("state", "S", jobs_opts, state,
                 "Only queued, leased, done, failed or cancelled ones"),
    PFC_OPT_TEXT("kind", "K", jobs_opts, kind,
                 "Only this kind: measure, nightly, pull_request, backfill, bisect, verify; or the "
                 "server's own, which are not listed otherwise: detect, notify"),
    PFC_OPT_COUNT("limit", "N", jobs_opts, limit, 1, 1000, "At most N, the newest",
                  .fallback = "100"),
    PFC_SERVICE_OPTIONS(jobs_opts, ),
    { 0 },
};

static const char jobs_doc[] =
    "Lists the jobs of the service's queue, newest first: position, expected start, runner and "
    "result. Or shows one job, or cancels it: a queued job at once, a leased job with the next "
    "heartbeat of its runner. Or queues a failed or cancelled job again with all that it was "
    "ordered with."
    "\v"
    "Examples:\n"
    "  perfci jobs --state queued\n"
    "  perfci jobs --kind nightly --limit 10 --json\n"
    "  perfci jobs 42\n"
    "  perfci jobs cancel 42\n"
    "  perfci jobs retry 42\n";

static error_t parse_jobs(int key, char *arg, struct argp_state *state)
{
    jobs_opts *o = state->input;

    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    if (o->words_len == PFC_ARRAY_LEN(o->words))
        pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
    o->words[o->words_len++] = arg;
    return 0;
}

/* A word that the service does not know would only find nothing. */
static pfc_code check_words(const jobs_opts *o, pfc_err *err)
{
    static const char *const states[] = { "queued", "leased", "done", "failed", "cancelled", NULL };
    static const char *const kinds[] = { "measure", "nightly", "pull_request", "backfill", "bisect",
                                         "verify",  "detect",  "notify",       NULL };
    const struct {
        const char *flag, *word;
        const char *const *known;
    } checks[] = { { "--state: ", o->state, states }, { "--kind: ", o->kind, kinds } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(checks); i++) {
        const char *const *known = checks[i].known;

        while (checks[i].word && *known && strcmp(*known, checks[i].word) != 0)
            known++;
        if (!*known)
            return pfc_browse_unknown(checks[i].flag, checks[i].word, checks[i].known, err);
    }
    return PFC_OK;
}

/* The expected start, median and range; "?" when the wait of a queued job is unknown. */
static void set_begins(pfc_table *table, size_t col, const json_t *job)
{
    static const char *const keys[] = { "seconds", "low", "high" };
    const json_t *wait = json_object_get(job, "expected_wait");
    char text[3][32];

    if (json_is_object(wait)) {
        for (size_t i = 0; i < PFC_ARRAY_LEN(keys); i++)
            pfc_show_seconds(json_number_value(json_object_get(wait, keys[i])), text[i]);
        pfc_table_setf(table, col, "in %s (%s to %s)", text[0], text[1], text[2]);
    } else if (pfc_streq(json_string_value(json_object_get(job, "state")), "queued")) {
        pfc_table_set(table, col, "?");
    }
}

/* "result single, not isolated". */
static void put_result(pfc_buf *out, const json_t *job)
{
    const char *reproduced = json_string_value(json_object_get(job, "reproducibility"));
    const bool open = json_is_true(json_object_get(job, "unsandboxed"));

    if (reproduced || open)
        pfc_buf_printf(out, "result%s%s%s%s", reproduced ? " " : "", reproduced ? reproduced : "",
                       reproduced && open ? "," : "", open ? " not isolated" : "");
}

/* "result single; rerun 1 of 2 by rule canary of job 41", and what its rules did. */
static void put_rerun(pfc_buf *out, const json_t *job)
{
    const json_t *rerun = json_object_get(job, "rerun");
    const json_int_t of = json_integer_value(json_object_get(rerun, "of"));
    const char *note = json_string_value(json_object_get(job, "rerun_note"));

    put_result(out, job);
    if (out->len && json_is_object(rerun))
        pfc_buf_puts(out, "; ");
    if (json_is_object(rerun))
        pfc_buf_printf(out, "rerun %lld of %lld by rule %s",
                       (long long)json_integer_value(json_object_get(rerun, "number")),
                       (long long)json_integer_value(json_object_get(rerun, "times")),
                       json_string_value(json_object_get(rerun, "rule")));
    if (of)
        pfc_buf_printf(out, " of job %lld", (long long)of);
    if (note)
        pfc_buf_printf(out, "%s%s", out->len ? "; " : "", note);
}

static const char *note_of(const json_t *job)
{
    static const char *const keys[] = { "wait_reason", "reason", "progress" };
    const char *note = NULL;

    if (json_is_true(json_object_get(job, "cancel_requested")) &&
        json_is_null(json_object_get(job, "finished_at")))
        return "is to stop";
    for (size_t i = 0; i < PFC_ARRAY_LEN(keys) && !note; i++)
        note = json_string_value(json_object_get(job, keys[i]));
    return note;
}

/* Of a job that measures in blocks also what it measures; of a rerun the rule that made it. */
static void set_note(pfc_table *table, size_t col, const json_t *job)
{
    const json_t *blocks = json_object_get(job, "blocks");
    const size_t commits = json_array_size(json_object_get(blocks, "commits"));
    const char *note = note_of(job);
    char budget[32];
    pfc_buf text;

    pfc_buf_init(&text, 16384);
    put_rerun(&text, job);
    if (json_is_object(blocks)) {
        pfc_show_seconds(json_number_value(json_object_get(blocks, "budget_s")), budget);
        pfc_buf_printf(&text, "%s%zu commit%s in blocks, budget %s", text.len ? "; " : "", commits,
                       commits == 1 ? "" : "s", budget);
    }
    if (note)
        pfc_buf_printf(&text, "%s%s", text.len ? "; " : "", note);
    pfc_table_set(table, col, text.len ? pfc_buf_text(&text) : NULL);
    pfc_buf_clear(&text);
}

static void print_jobs(const pfc_cli *cli, const json_t *list)
{
    static const pfc_table_col cols[] = { { "ID", true },      { "PROJECT", false },
                                          { "KIND", false },   { "COMMIT", false },
                                          { "STATE", false },  { "PLACE", true },
                                          { "BEGINS", false }, { "RUNNER", false },
                                          { "TRIES", true },   { "NOTE", false } };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        pfc_table_row(table);
        pfc_browse_id(table, 0, one, "id");
        pfc_browse_text(table, 1, one, "project");
        pfc_browse_text(table, 2, one, "kind");
        pfc_browse_id(table, 3, one, "commit");
        pfc_browse_text(table, 4, one, "state");
        pfc_browse_id(table, 5, one, "position");
        set_begins(table, 6, one);
        pfc_browse_text(table, 7, one, "runner");
        pfc_browse_id(table, 8, one, "tries");
        set_note(table, 9, one);
    }
    pfc_table_print(table);
}

static pfc_code one_job(const jobs_opts *o, pfc_http *http, json_t **answer, pfc_err *err)
{
    static const char *const known[] = { "cancel", "retry", NULL };
    const bool cancel = strcmp(o->words[0], known[0]) == 0;
    const bool again = strcmp(o->words[0], known[1]) == 0;
    const char *number = o->words[cancel || again ? 1 : 0];
    int64_t id = 0;
    char *path;
    pfc_code code;

    if (!cancel && !again && o->words_len > 1)
        return pfc_browse_unknown("", o->words[0], known, err);
    if (!number)
        return pfc_err_set(err, PFC_EINVAL, "expected the job's number");
    code = pfc_parse_i64(number, 1, INT64_MAX, "the job's number", &id, err);
    if (code)
        return code;
    path = pfc_format("/api/v1/jobs/%lld%s", (long long)id, again ? "/retry" : "");
    code = pfc_http_json(http,
                         again    ? "POST"
                         : cancel ? "DELETE"
                                  : "GET",
                         path, NULL, NULL, answer, err);
    free(path);
    return code;
}

static pfc_code ask(void *opts, const pfc_conf *conf, pfc_http *http, json_t **answer, pfc_err *err)
{
    const jobs_opts *o = opts;
    pfc_buf path;

    if (o->words_len)
        return one_job(o, http, answer, err);
    pfc_browse_begin(&path, "/api/v1/jobs", o->project, conf);
    pfc_browse_query(&path, "state", o->state);
    pfc_browse_query(&path, "kind", o->kind);
    return pfc_browse_get(&path, o->limit, http, answer, err);
}

static void show(const pfc_cli *cli, void *opts, const json_t *answer)
{
    const jobs_opts *o = opts;
    json_t *list =
        o->words_len ? json_pack("[O]", answer) : json_incref(json_object_get(answer, "jobs"));

    if (json_array_size(list) || cli->csv)
        print_jobs(cli, list);
    else
        pfc_cli_note(cli, "no jobs");
    json_decref(list);
}

static int cmd_jobs(pfc_cli *cli, int argc, char **argv)
{
    jobs_opts o = { .limit = 100 };
    pfc_err err = { 0 };

    pfc_cli_parse(cli, &pfc_cmd_jobs, argc, argv, &o);
    if (check_words(&o, &err))
        return pfc_cli_fail(cli, &err);
    return pfc_browse_run(cli, &(pfc_browse_frame){ o.url, o.data, &o, ask, show });
}

const pfc_subcommand pfc_cmd_jobs = {
    .name = "jobs",
    .summary = "list the queue, show a job, cancel it, retry it",
    .run = cmd_jobs,
    .options = jobs_options,
    .parse = parse_jobs,
    .args_doc = "[ID | cancel ID | retry ID]",
    .doc = jobs_doc,
};
