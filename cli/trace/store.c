/* perfci trace store, perfci trace fetch: traces of runs at the service. */
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/output/output.h"
#include "cli/trace/trace.h"
#include "core/base/fs.h"
#include "core/base/parse.h"
#include "core/trace/sink.h"

#define MAX_BYTES (16u * 1024 * 1024)

static const char store_doc[] =
    "Stores a trace with a run at the service, where the run's page shows it as a timeline."
    "\vFILE is a trace in the binary format, at most 16 MiB; - is standard input. It must have no "
    "fault that `perfci trace check` finds. A run has at most 16 traces; the same file again is "
    "answered with the trace that is there.\n"
    "\n"
    "Exit status: 0 stored, 2 wrong usage or a broken trace, 5 the service cannot be reached.\n"
    "\n"
    "Examples:\n"
    "  perfci trace store gemm.pct --run 12\n"
    "  perfci trace store gemm.pct --run 12 --benchmark gemm/f32/m512n512k512\n";

static const char fetch_doc[] = "Fetches a stored trace as a file."
                                "\vThe file has the same bytes as the stored one.\n"
                                "\n"
                                "Examples:\n"
                                "  perfci trace fetch 3 --out gemm.pct\n";

/* ---- store ---- */

typedef struct store_command {
    char *file; /* of argv */
    const char *run, *benchmark, *url, *data;
} store_command;

static const pfc_option store_options[] = {
    PFC_OPT_TEXT("run", "ID", store_command, run, "The run: its number, or the id of its document"),
    PFC_OPT_TEXT("benchmark", "NAME", store_command, benchmark, "The benchmark that was traced"),
    PFC_SERVICE_OPTIONS(store_command, ),
    { 0 },
};

static error_t parse_store(int key, char *arg, struct argp_state *state)
{
    store_command *cmd = state->input;

    if (key == ARGP_KEY_END && cmd->file && !cmd->run)
        pfc_cli_usage(state, "missing --run: the run that was traced");
    return pfc_trace_take_file(key, arg, state, &cmd->file);
}

static char *store_path(const store_command *cmd)
{
    char *run = pfc_http_escape(cmd->run);
    char *benchmark = cmd->benchmark ? pfc_http_escape(cmd->benchmark) : NULL;
    char *path = pfc_format("/api/v1/runs/%s/traces%s%s", run, benchmark ? "?benchmark=" : "",
                            benchmark ? benchmark : "");

    free(run);
    free(benchmark);
    return path;
}

static pfc_code send_trace(pfc_http *http, const store_command *cmd, json_t **answer, bool *fresh,
                           pfc_err *err)
{
    pfc_http_answer got = { 0 };
    char *bytes = NULL;
    char *path = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(cmd->file, MAX_BYTES, &bytes, &len, err);

    if (code)
        return code;
    path = store_path(cmd);
    code = pfc_http_send(http,
                         &(pfc_http_req){ .method = "POST",
                                          .path = path,
                                          .body = bytes,
                                          .body_len = len,
                                          .content_type = "application/octet-stream" },
                         &got, err);
    if (!code)
        code = pfc_http_check(http, &got, err);
    if (!code)
        code = pfc_json_parse(got.body.data, got.body.len, answer, err);
    *fresh = got.status == 201;
    pfc_http_answer_clear(&got);
    free(bytes);
    free(path);
    return code;
}

static int trace_store(pfc_cli *cli, int argc, char **argv);

const pfc_subcommand pfc_trace_part_store = { .name = "store",
                                              .summary = "a trace with a run at the service",
                                              .run = trace_store,
                                              .options = store_options,
                                              .parse = parse_store,
                                              .args_doc = "FILE",
                                              .doc = store_doc };

static int trace_store(pfc_cli *cli, int argc, char **argv)
{
    store_command cmd = { 0 };
    pfc_conf conf = { 0 };
    pfc_http *http = NULL;
    json_t *answer = NULL;
    bool fresh = false;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_trace_part_store, argc, argv, &cmd);
    code = pfc_api_open(cmd.url, cmd.data, &conf, &http, &err);
    if (!code)
        code = send_trace(http, &cmd, &answer, &fresh, &err);
    if (!code && cli->json) {
        pfc_cli_print_json(answer);
        answer = NULL;
    } else if (!code) {
        const json_int_t id = json_integer_value(json_object_get(answer, "id"));
        const json_int_t run = json_integer_value(json_object_get(answer, "run_id"));

        pfc_out("trace %lld of run %lld%s\n", (long long)id, (long long)run,
                fresh ? "" : ", stored before");
        pfc_out("%s/runs/%lld/traces/%lld\n", pfc_http_url(http), (long long)run, (long long)id);
    }
    json_decref(answer);
    pfc_http_free(http);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

/* ---- fetch ---- */

typedef struct fetch_command {
    char *id; /* of argv */
    const char *out, *url, *data;
} fetch_command;

static const pfc_option fetch_options[] = {
    PFC_OPT_TEXT("out", "FILE", fetch_command, out, "Write to this file; - is standard output"),
    PFC_SERVICE_OPTIONS(fetch_command, ),
    { 0 },
};

static error_t parse_fetch(int key, char *arg, struct argp_state *state)
{
    fetch_command *cmd = state->input;
    int64_t id;

    switch (key) {
    case ARGP_KEY_ARG:
        if (cmd->id)
            pfc_cli_usage(state, "expected one trace, got \"%s\" and \"%s\"", cmd->id, arg);
        if (pfc_parse_i64(arg, 1, INT64_MAX, "trace", &id, NULL))
            pfc_cli_usage(state, "expected the number of a trace, got \"%s\"", arg);
        cmd->id = arg;
        return 0;
    case ARGP_KEY_END:
        if (!cmd->id)
            pfc_cli_usage(state, "missing argument: the trace's ID");
        if (!cmd->out)
            pfc_cli_usage(state, "missing --out: the file to write");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static pfc_code write_file(const char *path, const pfc_buf *bytes, pfc_err *err)
{
    pfc_trace_sink *sink = NULL;
    pfc_code code = pfc_trace_sink_open(&sink, path, err);

    if (code)
        return code;
    pfc_trace_sink_write(sink, bytes->data, bytes->len);
    return pfc_trace_sink_close(sink, err);
}

static pfc_code fetch(pfc_http *http, const fetch_command *cmd, pfc_err *err)
{
    pfc_http_answer got = { 0 };
    char *path = pfc_format("/api/v1/traces/%s/file", cmd->id);
    pfc_code code = pfc_http_send(http, &(pfc_http_req){ .path = path }, &got, err);

    if (!code)
        code = pfc_http_check(http, &got, err);
    if (!code)
        code = write_file(cmd->out, &got.body, err);
    pfc_http_answer_clear(&got);
    free(path);
    return code;
}

static int trace_fetch(pfc_cli *cli, int argc, char **argv);

const pfc_subcommand pfc_trace_part_fetch = { .name = "fetch",
                                              .summary = "a stored trace as a file",
                                              .run = trace_fetch,
                                              .options = fetch_options,
                                              .parse = parse_fetch,
                                              .args_doc = "ID",
                                              .doc = fetch_doc };

static int trace_fetch(pfc_cli *cli, int argc, char **argv)
{
    fetch_command cmd = { 0 };
    /* Some bytes over the longest trace, so that the limit is the service's. */
    const pfc_http_opts opts = { .max_answer_bytes = MAX_BYTES + 4096 };
    pfc_conf conf = { 0 };
    pfc_http *http = NULL;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_trace_part_fetch, argc, argv, &cmd);
    code = pfc_api_open_with(cmd.url, cmd.data, &conf, &opts, &http, &err);
    if (!code)
        code = fetch(http, &cmd, &err);
    pfc_http_free(http);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}
