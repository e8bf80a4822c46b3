/*
 * Storing results that were measured elsewhere.
 */
#include "cli/results/upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output/output.h"
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/parse.h"

error_t pfc_upload_parse(int key, char *arg, struct argp_state *state, pfc_upload_opts *opts)
{
    switch (key) {
    case PFC_KEY_DIRECTION:
        pfc_directions_add(&opts->directions, arg, state);
        return 0;
    case ARGP_KEY_ARGS:
        opts->files = state->argv + state->next;
        opts->files_len = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        pfc_cli_usage(state, "expected at least one FILE");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void set(char **field, const char *text)
{
    if (!*field)
        *field = pfc_strdup(text);
}

/* Fills what the format did not say. The id comes from the content, so that the same file pushed
 * again is the same run; true when it does. */
static bool complete(pfc_run *run, const pfc_upload_opts *o, const char *project,
                     const char *commit)
{
    char host[256] = "unknown";
    const bool nameless = !run->id;

    gethostname(host, sizeof(host) - 1);
    free(run->project);
    run->project = pfc_strdup(project);
    set(&run->commit, commit);
    if (o->branch) {
        free(run->branch);
        run->branch = pfc_strdup(o->branch);
    }
    set(&run->suite, "imported");
    set(&run->suite_hash, "");
    set(&run->machine.name, host);
    set(&run->machine.machine_class, o->machine_class ? o->machine_class : "imported");
    if (!run->machine.fingerprint_hash)
        pfc_machine_hash(&run->machine);
    if (nameless) {
        char hash[PFC_SHA256_HEX];
        char *text;

        run->id = pfc_strdup("00000000000000000000000000000000");
        text = pfc_run_to_text(run);
        pfc_sha256_hex(text, strlen(text), hash);
        memcpy(run->id, hash, 32);
        free(text);
    }
    /* After the id: the time of the upload is no part of the content. */
    if (run->started_at <= 0)
        run->started_at = run->finished_at = pfc_clock_unix_s();
    return nameless;
}

/* The commit of a run, known to the service before the run comes. */
static pfc_code tell_commit(pfc_upload *to, const char *commit, pfc_err *err)
{
    pfc_commit_id id;

    if (!to->repo || strcmp(to->last_posted.hex, commit) == 0)
        return PFC_OK;
    if (pfc_repo_resolve(to->repo, commit, &id, NULL))
        return PFC_OK; /* of another repository: the service knows it, or learns it later */
    to->last_posted = id;
    return pfc_api_post_history(to->http, to->project, to->branch, to->repo, &id, err);
}

/* Before anything is stored; a file that cannot be read has made no project by then. */
static pfc_code ready(pfc_upload *to, pfc_err *err)
{
    const pfc_ensure want = { .project = to->project,
                              .branch = to->conf.branch,
                              .conf = &to->conf,
                              .create = to->opts->create,
                              .has_flag = true };
    pfc_code code;

    if (to->ready)
        return PFC_OK;
    code = pfc_api_ensure_project(to->http, &want, &to->made, err);
    to->ready = !code;
    if (to->made)
        pfc_cli_note(to->cli, "project %s is new", to->project);
    return code;
}

/* The number of the stored run with this id. */
static pfc_code stored_run(pfc_http *http, const char *id, int64_t *run_id, pfc_err *err)
{
    char *path = pfc_format("/api/v1/runs/%s", id);
    json_t *doc = NULL;
    pfc_code code = pfc_http_json(http, "GET", path, NULL, NULL, &doc, err);

    if (!code)
        code = pfc_json_i64(doc, NULL, "run_id", true, 1, INT64_MAX, run_id, err);
    json_decref(doc);
    free(path);
    return code;
}

pfc_code pfc_upload_run(pfc_upload *to, const char *file, pfc_run *run, json_t *list, pfc_err *err)
{
    const pfc_upload_opts *o = to->opts;
    /* A history may name its commits in short, or by a tag. */
    const bool named = run->commit && !pfc_is_commit_id(run->commit);
    const char *wanted = named ? run->commit : o->commit;
    char *commit = wanted ? pfc_strdup(wanted) : NULL;
    pfc_commit_id id = { "" };
    int64_t run_id = 0;
    bool repeated = false;
    bool by_content;
    pfc_code code = PFC_OK;

    if ((!run->commit || named) && to->repo) {
        code = pfc_repo_resolve(to->repo, wanted ? wanted : "HEAD", &id, err);
        free(commit);
        commit = pfc_strdup(id.hex);
    }
    if (!code && (!run->commit || named) && (!commit || strlen(commit) != PFC_COMMIT_HEX - 1))
        code = pfc_err_set(err, PFC_EINVAL, "of which commit? Give --commit with a full id");
    if (code)
        goto done;
    if (named) {
        free(run->commit);
        run->commit = pfc_strdup(commit);
    }
    by_content = complete(run, o, to->project, commit);
    code = to->store ? pfc_upload_store_run(to, run, &repeated, err) : ready(to, err);
    if (!code && !to->store)
        code = tell_commit(to, run->commit, err);
    if (!code && !to->store)
        code = pfc_api_post_run(to->http, run, &run_id, &repeated, err);
    /* The same content under another time: an earlier push of the same file. */
    if (code == PFC_ECONFLICT && by_content && !to->store) {
        *err = (pfc_err){ 0 };
        code = stored_run(to->http, run->id, &run_id, err);
        repeated = true;
    }
    to->stored += !code;
    if (!code)
        json_array_append_new(list, json_pack("{s:s,s:I,s:s,s:s,s:b,s:I}", "file", file, "run_id",
                                              (json_int_t)run_id, "id", run->id, "commit",
                                              run->commit, "repeated", repeated, "measurements",
                                              (json_int_t)run->measurements_len));

done:
    if (code)
        pfc_err_wrap(err, "%.200s", file);
    free(commit);
    return code;
}

static void print(const pfc_cli *cli, const json_t *list)
{
    static const pfc_table_col cols[] = { { "FILE", false },
                                          { "RUN", true },
                                          { "COMMIT", false },
                                          { "MEASUREMENTS", true },
                                          { "STORED", false } };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        pfc_table_row(table);
        pfc_table_set(table, 0, json_string_value(json_object_get(one, "file")));
        pfc_table_setf(table, 1, "%lld",
                       (long long)json_integer_value(json_object_get(one, "run_id")));
        pfc_table_setf(table, 2, "%.12s", json_string_value(json_object_get(one, "commit")));
        pfc_table_setf(table, 3, "%lld",
                       (long long)json_integer_value(json_object_get(one, "measurements")));
        pfc_table_set(table, 4, json_is_true(json_object_get(one, "repeated")) ? "before" : "now");
    }
    pfc_table_print(table);
}

static void print_list(const pfc_cli *cli, json_t *list)
{
    if (cli->json)
        pfc_cli_print_json(json_incref(list));
    else if (json_array_size(list) > 0)
        print(cli, list);
    json_decref(list);
}

pfc_code pfc_upload_open(pfc_upload *up, const pfc_cli *cli, const pfc_upload_opts *opts,
                         pfc_err *err)
{
    pfc_code code;

    *up = (pfc_upload){ .cli = cli, .opts = opts };
    code = pfc_conf_find(".", &up->conf, err);
    if (!code && pfc_repo_open(".", &up->repo, err) == PFC_OK)
        up->branch = opts->branch ? pfc_strdup(opts->branch) : pfc_repo_branch(up->repo);
    if (!code && !opts->store)
        code = pfc_api_open(opts->url, opts->data, &up->conf, &up->http, err);
    if (!code)
        code = pfc_api_project(opts->project, &up->conf, up->repo ? pfc_repo_root(up->repo) : NULL,
                               &up->project, err);
    if (!code && opts->store)
        code = pfc_upload_store_open(up, err);
    return code;
}

/* A new project that received no data is removed again; if that fails, an empty project remains. */
static void unmake(const pfc_upload *up)
{
    char *path = pfc_format("/api/v1/projects/%s", up->project);

    if (pfc_http_json(up->http, "DELETE", path, NULL, NULL, NULL, NULL))
        pfc_cli_warn(up->cli,
                     "the empty project %s is left; \"perfci project delete %s\" removes it",
                     up->project, up->project);
    free(path);
}

void pfc_upload_close(pfc_upload *up)
{
    if (up->made && up->stored == 0)
        unmake(up);
    pfc_upload_store_close(up);
    free(up->branch);
    free(up->project);
    pfc_http_free(up->http);
    pfc_repo_close(up->repo);
    pfc_conf_clear(&up->conf);
    *up = (pfc_upload){ 0 };
}

/* ---- files and folders ---- */

typedef struct storing {
    const pfc_cli *cli;
    pfc_upload to;
    json_t *list;
} storing;

static pfc_code store_results(void *arg, pfc_results *results, pfc_err *err)
{
    storing *s = arg;
    const pfc_import_result *r = &results->read;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < r->notes_len; i++)
        pfc_cli_note(s->cli, "%s: %s", results->file, r->notes[i]);
    for (size_t i = 0; i < r->runs_len && !code; i++)
        code = pfc_upload_run(&s->to, results->file, r->runs[i], s->list, err);
    return code;
}

pfc_code pfc_upload_files(const pfc_cli *cli, const pfc_upload_opts *opts,
                          const pfc_import_opts *read, pfc_err *err)
{
    storing s = { .cli = cli, .list = json_array() };
    pfc_import_opts each = *read;
    pfc_directions directions = opts->directions;
    pfc_code code = pfc_upload_open(&s.to, cli, opts, err);

    if (!code)
        pfc_directions_add_conf(&directions, &s.to.conf);
    each.directions = directions.items;
    each.directions_len = directions.len;
    each.split = true;
    for (size_t i = 0; i < opts->files_len && !code; i++)
        code = pfc_results_read(cli, &each, opts->files[i], store_results, &s, err);
    if (!code && opts->store)
        code = pfc_upload_store_finish(&s.to, err);
    if (!code || json_array_size(s.list))
        print_list(cli, json_incref(s.list));
    json_decref(s.list);
    pfc_upload_close(&s.to);
    return code;
}
