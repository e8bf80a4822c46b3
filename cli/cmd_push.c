/*
 * perfci push: uploads results, its own or other tools'.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/api.h"
#include "cli/take.h"
#include "core/base/clock.h"
#include "core/base/hash.h"

enum { KEY_FORMAT = 0x100, KEY_COMMIT, KEY_PROJECT, KEY_BRANCH, KEY_CLASS, KEY_URL, KEY_DATA };

typedef struct push_opts {
    const char *format, *commit, *project, *branch, *machine_class, *url, *data;
    char **files;
    size_t files_len;
} push_opts;

static const struct argp_option push_options[] = {
    { "format", KEY_FORMAT, "F", 0, "Format of the files (default auto: by content)", 0 },
    { "commit", KEY_COMMIT, "C", 0, "The commit that was measured (default HEAD)", 0 },
    { "project", KEY_PROJECT, "P", 0, "The project's name", 0 },
    { "branch", KEY_BRANCH, "B", 0, "The branch (default: the one checked out)", 0 },
    { "machine-class", KEY_CLASS, "M", 0, "For formats that do not say (default \"imported\")", 0 },
    { "url", KEY_URL, "U", 0, "The service", 0 },
    { "data", KEY_DATA, "DIR", 0, "Data folder of `perfci up`", 0 },
    { 0 },
};

static const char push_doc[] =
    "Uploads results: run documents of perfci, or any format that it reads."
    "\vThe commit and its history are told to the service, too, when this is its repository. "
    "Pushing a file twice changes nothing.\n"
    "\n"
    "Examples:\n"
    "  perfci push run.json\n"
    "  perfci push --commit v1.2 --project kernels google-benchmark.json\n";

static error_t parse_push(int key, char *arg, struct argp_state *state)
{
    push_opts *o = state->input;

    switch (key) {
    case KEY_FORMAT:
        o->format = arg;
        return 0;
    case KEY_COMMIT:
        o->commit = arg;
        return 0;
    case KEY_PROJECT:
        o->project = arg;
        return 0;
    case KEY_BRANCH:
        o->branch = arg;
        return 0;
    case KEY_CLASS:
        o->machine_class = arg;
        return 0;
    case KEY_URL:
        o->url = arg;
        return 0;
    case KEY_DATA:
        o->data = arg;
        return 0;
    case ARGP_KEY_ARGS:
        o->files = state->argv + state->next;
        o->files_len = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "want at least one FILE");
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
static bool complete(pfc_run *run, const push_opts *o, const char *project, const char *commit)
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

typedef struct push_target {
    pfc_http *http;
    pfc_repo *repo; /* NULL outside any repository */
    char *project;
    char *branch;
    pfc_commit_id told; /* the commit whose history was posted last */
} push_target;

/* The commit of a run, known to the service before the run comes. */
static pfc_code tell_commit(push_target *to, const char *commit, pfc_err *err)
{
    pfc_commit_id id;

    if (!to->repo || strcmp(to->told.hex, commit) == 0)
        return PFC_OK;
    if (pfc_repo_resolve(to->repo, commit, &id, NULL))
        return PFC_OK; /* of another repository: the service knows it, or learns it later */
    to->told = id;
    return pfc_api_post_history(to->http, to->project, to->branch, to->repo, &id, err);
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

static pfc_code push_file(const push_opts *o, push_target *to, const char *file, json_t *list,
                          pfc_err *err)
{
    pfc_run *run = NULL;
    pfc_commit_id id = { "" };
    const char *commit = o->commit;
    int64_t run_id = 0;
    bool repeated = false;
    bool by_content;
    pfc_code code = pfc_take_file(file, o->format, &run, err);

    if (code)
        return code;
    if (!run->commit && to->repo) {
        code = pfc_repo_resolve(to->repo, o->commit ? o->commit : "HEAD", &id, err);
        commit = id.hex;
    }
    if (!code && !run->commit && (!commit || strlen(commit) != PFC_COMMIT_HEX - 1))
        code = pfc_err_set(err, PFC_EINVAL, "%.200s: of which commit? Give --commit with a full id",
                           file);
    if (code)
        goto done;
    by_content = complete(run, o, to->project, commit);
    code = tell_commit(to, run->commit, err);
    if (!code)
        code = pfc_api_post_run(to->http, run, &run_id, &repeated, err);
    /* The same content under another time: an earlier push of the same file. */
    if (code == PFC_ECONFLICT && by_content) {
        *err = (pfc_err){ 0 };
        code = stored_run(to->http, run->id, &run_id, err);
        repeated = true;
    }
    if (!code)
        json_array_append_new(list, json_pack("{s:s,s:I,s:s,s:s,s:b,s:I}", "file", file, "run_id",
                                              (json_int_t)run_id, "id", run->id, "commit",
                                              run->commit, "repeated", repeated, "measurements",
                                              (json_int_t)run->measurements_len));

done:
    if (code)
        pfc_err_wrap(err, "%.200s", file);
    pfc_run_free(run);
    return code;
}

static void print(const pfc_cli *cli, const json_t *list)
{
    static const pfc_col cols[] = { { "FILE", false },
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

int pfc_cmd_push(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { push_options, parse_push, "FILE...", push_doc };
    push_opts o = { 0 };
    push_target to = { 0 };
    pfc_conf conf = { 0 };
    json_t *list = json_array();
    pfc_err err = { 0 };
    int status = PFC_EXIT_OK;
    pfc_code code;

    pfc_cli_parse(cli, &args, argc, argv, &o);
    code = pfc_conf_find(".", &conf, &err);
    if (!code && pfc_repo_open(".", &to.repo, &err) == PFC_OK)
        to.branch = o.branch ? pfc_strdup(o.branch) : pfc_repo_branch(to.repo);
    if (!code)
        code = pfc_api_open(o.url, o.data, &conf, &to.http, &err);
    if (!code)
        code = pfc_api_project(o.project, &conf, to.repo ? pfc_repo_root(to.repo) : NULL,
                               &to.project, &err);
    if (!code)
        code = pfc_api_ensure_project(to.http, to.project, conf.branch, NULL, &err);
    for (size_t i = 0; i < o.files_len && !code; i++)
        code = push_file(&o, &to, o.files[i], list, &err);
    if (code)
        status = pfc_cli_fail(cli, &err);
    if (cli->json)
        pfc_cli_print_json(json_incref(list));
    else if (json_array_size(list) > 0)
        print(cli, list);
    json_decref(list);
    free(to.branch);
    free(to.project);
    pfc_http_free(to.http);
    pfc_repo_close(to.repo);
    pfc_conf_clear(&conf);
    return status;
}
