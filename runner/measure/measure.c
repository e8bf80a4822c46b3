/*
 * One measurement in a folder: by the project's command, or by a suite of perfci-bench.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "core/base/rng.h"
#include "core/import/import.h"
#include "runner/workspace/workspace_priv.h"

#define BENCH_REFUSES     2
#define BENCH_WRONG       4
#define BENCH_UNAVAILABLE 5
#define BENCH_IN_CHECKOUT "build/release/bin/perfci-bench"
#define MAX_COMMIT_TEXT   64
#define RESULT_NAME       "run.json"

char *pfc_measure_filter(const char *benchmark)
{
    if (!benchmark || !benchmark[0] || strcmp(benchmark, "headline") == 0)
        return NULL;
    return pfc_benchmark_only(benchmark);
}

void pfc_outcome_clear(pfc_outcome *outcome)
{
    if (!outcome)
        return;
    pfc_run_free(outcome->run);
    pfc_run_traces_free(outcome->traces, outcome->traces_len);
    free(outcome->log_path);
    *outcome = (pfc_outcome){ 0 };
}

const char *pfc_outcome_name(pfc_outcome_kind kind)
{
    switch (kind) {
    case PFC_OUTCOME_MEASURED:
        return "measured";
    case PFC_OUTCOME_BROKEN:
        return "broken";
    case PFC_OUTCOME_FAILED:
        return "failed";
    case PFC_OUTCOME_TIMED_OUT:
        return "timed out";
    case PFC_OUTCOME_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}

/* The outcome by the child's exit status alone; MEASURED: the output decides. `reason` has
 * PFC_WORKSPACE_REASON_BYTES. */
static pfc_outcome_kind classify(const pfc_proc_result *res, const char *what, char *reason)
{
    char how[128];
    char line[200];

    pfc_proc_describe(res, how, sizeof(how));
    pfc_command_error_line(pfc_buf_text(&res->err), line, sizeof(line));
    (void)snprintf(reason, PFC_WORKSPACE_REASON_BYTES, "%s: %s%s%s%s", what, how,
                   res->over_memory ? " (PERFCI_MEMORY_LIMIT)" : "", line[0] ? ": " : "", line);
    if (res->was_cancelled)
        return PFC_OUTCOME_CANCELLED;
    if (res->timed_out)
        return PFC_OUTCOME_TIMED_OUT;
    if (res->exit_status == PFC_MEASURE_CANNOT)
        return PFC_OUTCOME_BROKEN;
    if (res->exit_status != 0)
        return PFC_OUTCOME_FAILED;
    reason[0] = '\0';
    return PFC_OUTCOME_MEASURED;
}

/* Status 2 of perfci-bench: what it was asked for is wrong, and is so at every try. Makes a failed
 * outcome a broken, refused one with its sentence. Status 5, a machine that cannot measure now: it
 * stays failed, and is called unavailable. */
static void refused(const pfc_proc_result *res, pfc_outcome *out)
{
    const char name[] = "perfci-bench: ";
    char line[PFC_WORKSPACE_REASON_BYTES];

    if (out->kind != PFC_OUTCOME_FAILED ||
        (res->exit_status != BENCH_REFUSES && res->exit_status != BENCH_UNAVAILABLE))
        return;
    out->unavailable = res->exit_status == BENCH_UNAVAILABLE;
    out->refused = !out->unavailable;
    if (out->refused)
        out->kind = PFC_OUTCOME_BROKEN;
    pfc_command_error_line(pfc_buf_text(&res->err), line, sizeof(line));
    if (line[0])
        (void)snprintf(out->reason, sizeof(out->reason), "%s",
                       line + (strncmp(line, name, sizeof(name) - 1) == 0 ? sizeof(name) - 1 : 0));
}

void pfc_measure_finish_run(const pfc_commit_measure_opts *opts, const char *commit,
                            double started_at, pfc_run *run)
{
    char id[33];

    pfc_random_id(id);
    free(run->id);
    run->id = pfc_strdup(id);
    free(run->commit);
    run->commit = pfc_strdup(commit);
    if (!run->suite_hash)
        run->suite_hash = pfc_strdup("");
    if (!run->suite)
        run->suite = pfc_strdup(opts->measure ? "command" : opts->suite);
    run->started_at = started_at;
    run->finished_at = pfc_clock_unix_s();
    pfc_host_describe(NULL, &run->machine, opts->machine_name, opts->machine_class);
}

/* Adds the command's time and memory. `secondary`: in addition to the values that it prints. */
static void add_resources(const pfc_proc_result *res, bool secondary, pfc_run *run)
{
    pfc_run_add_value(run, "headline", "wall_time_ns", "ns", res->seconds * 1e9, secondary);
    pfc_run_add_value(run, "headline", "process_cpu_time_ns", "ns", res->cpu_seconds * 1e9,
                      secondary);
    if (res->max_rss_bytes > 0)
        pfc_run_add_value(run, "headline", "max_rss_bytes", "bytes", (double)res->max_rss_bytes,
                          secondary);
}

/* The first line that is not blank, control characters as "\x1b", cut to fit; "nothing". */
static void first_line(const char *text, char *out, size_t cap)
{
    size_t n = 0;
    bool quote = false;

    while (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n')
        text++;
    if (!*text) {
        (void)snprintf(out, cap, "nothing");
        return;
    }
    out[n++] = '"';
    for (; *text && *text != '\n' && n + 8 < cap; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f)
            n += (size_t)snprintf(out + n, cap - n, "\\x%02x", c);
        else
            out[n++] = *text;
        quote = true;
    }
    while (quote && n > 1 && out[n - 1] == ' ')
        n--;
    /* A character must not be cut in two, or the text would not be UTF-8. */
    while (*text && *text != '\n' && n > 1 && ((unsigned char)out[n - 1] & 0xc0) == 0x80)
        n--;
    if (*text && *text != '\n' && n > 1 && (unsigned char)out[n - 1] >= 0xc0)
        n--;
    (void)snprintf(out + n, cap - n, "%s", *text && *text != '\n' ? "...\"" : "\"");
}

/* nan and inf are not results. In a tool's own format they may appear beside valid values. */
static pfc_code check_values(const pfc_import_result *r, pfc_err *err)
{
    const pfc_run *run = r->runs[0];
    const pfc_measurement *none = NULL;
    bool any = false;

    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        any = any || m->status != PFC_STATUS_SKIPPED;
        if (!none && m->status == PFC_STATUS_SKIPPED)
            none = m;
    }
    if (none && (!any || strcmp(r->format, "numbers") == 0))
        return pfc_err_set(err, PFC_EINVAL, "metric \"%.80s\" of \"%.80s\": %.80s", none->metric,
                           none->benchmark, none->reason ? none->reason : "it has no value");
    return PFC_OK;
}

static void keep_notes(const pfc_import_result *r, pfc_outcome *out)
{
    if (r->notes_len > 0)
        (void)snprintf(out->note, sizeof(out->note), "%.370s%s", r->notes[0],
                       r->notes_len > 1 ? " (and more)" : "");
}

static pfc_code read_output(const pfc_commit_measure_opts *opts, const pfc_proc_result *res,
                            pfc_outcome *out, pfc_err *err)
{
    const bool named = opts->metric && strcmp(opts->metric, "value") != 0;
    /* A value without a benchmark's name is the project's headline. */
    const pfc_import_opts import = { .benchmark = "headline",
                                     .metric = opts->metric,
                                     .unit = opts->unit,
                                     .has_direction = opts->has_direction,
                                     .higher_is_better = opts->higher_is_better,
                                     .directions = opts->directions,
                                     .directions_len = opts->directions_len,
                                     .any_direction = opts->any_direction,
                                     .number_is_cost = !(opts->any_direction && named) };
    pfc_import_result r = { 0 };
    pfc_code code;

    if (res->truncated)
        return pfc_err_set(err, PFC_ETOOBIG, "it printed more than %u bytes",
                           PFC_WIRE_MAX_BODY_BYTES);
    code = pfc_import_read(&import, pfc_buf_text(&res->out), res->out.len, &r, err);
    if (!code)
        code = check_values(&r, err);
    if (!code) {
        out->run = r.runs[0];
        r.runs[0] = NULL;
        keep_notes(&r, out);
    }
    pfc_import_result_clear(&r);
    return code;
}

/* The importers' last resort: nothing at all, or a line that is no number. */
static bool read_as_number(const pfc_err *why)
{
    return strstr(why->msg, "expected a number or JSON") || strstr(why->msg, "got nothing");
}

static void no_result(const pfc_commit_measure_opts *opts, const pfc_proc_result *res,
                      const pfc_err *why, pfc_outcome *out)
{
    char line[100];
    char command[100];

    /* The output is fine; the project must say which way is better. */
    if (why->hint[0]) {
        out->kind = PFC_OUTCOME_BROKEN;
        out->refused = true;
        (void)snprintf(out->reason, sizeof(out->reason), "%.390s", why->msg);
        (void)snprintf(out->hint, sizeof(out->hint), "%s", why->hint);
        return;
    }
    first_line(pfc_buf_text(&res->out), line, sizeof(line));
    first_line(opts->measure, command, sizeof(command));
    out->kind = PFC_OUTCOME_FAILED;
    /* The message already states that the line is not a number. */
    (void)snprintf(out->reason, sizeof(out->reason),
                   "%s printed no result: expected a number or a benchmark format, got %s%s%.120s",
                   command, line, read_as_number(why) ? "" : ": ",
                   read_as_number(why) ? "" : why->msg);
    (void)snprintf(out->hint, sizeof(out->hint), "%s",
                   "print a number, {\"value\": x} or {\"metrics\": {M: x}}; --time measures the "
                   "command's wall time, CPU time and peak memory instead");
}

static pfc_code run_command(const pfc_commit_measure_opts *opts, pfc_command *cmd, pfc_outcome *out,
                            pfc_err *err)
{
    pfc_proc_result res;
    pfc_err fault = { 0 };
    pfc_code code;

    cmd->text = opts->measure;
    cmd->max_output_bytes = PFC_WIRE_MAX_BODY_BYTES;
    code = pfc_command_run(cmd, &res, err);
    if (code)
        return pfc_err_wrap(err, "measure");
    out->measure_s = res.seconds;
    out->over_disk = res.over_disk;
    out->kind = classify(&res, "the measuring command", out->reason);
    if (out->kind == PFC_OUTCOME_MEASURED && opts->time) {
        out->run = pfc_run_new();
        add_resources(&res, false, out->run);
    } else if (out->kind == PFC_OUTCOME_MEASURED) {
        if (read_output(opts, &res, out, &fault))
            no_result(opts, &res, &fault, out);
        else if (opts->resources)
            add_resources(&res, true, out->run);
    }
    pfc_proc_result_clear(&res);
    return PFC_OK;
}

/* A folder for the command's results, and for its traces when they are wanted. */
typedef struct scratch {
    char *dir, *traces;
} scratch;

static pfc_code scratch_open(const pfc_commit_measure_opts *opts, pfc_command *cmd, scratch *out,
                             pfc_err *err)
{
    pfc_code code = pfc_fs_temp_dir("perfci-run", &out->dir, err);

    if (code)
        return code;
    cmd->scratch = out->dir;
    return opts->traces ? pfc_traces_begin(cmd, &out->traces, err) : PFC_OK;
}

static void scratch_close(scratch *s)
{
    pfc_err leftover = { 0 };

    if (s->dir && pfc_fs_remove_tree(s->dir, &leftover) != PFC_OK)
        pfc_log(PFC_WARN, "temporary_folder_left", "reason", leftover.msg);
    free(s->dir);
    free(s->traces);
}

static pfc_code by_command(const pfc_commit_measure_opts *opts, pfc_command *cmd, pfc_outcome *out,
                           pfc_err *err)
{
    scratch temp = { 0 };
    pfc_code code = opts->traces ? scratch_open(opts, cmd, &temp, err) : PFC_OK;

    if (code == PFC_OK)
        code = run_command(opts, cmd, out, err);
    if (code == PFC_OK)
        pfc_traces_collect(cmd, out);
    scratch_close(&temp);
    return code;
}

pfc_code pfc_measure_find_bench(const pfc_commit_measure_opts *opts, const char *dir, char **out,
                                pfc_err *err)
{
    char *in_checkout = pfc_fs_join(dir, BENCH_IN_CHECKOUT);
    char *program_dir = NULL;
    char *beside = NULL;
    pfc_code code = PFC_OK;

    if (opts->bench) {
        *out = pfc_strdup(opts->bench);
    } else if (access(in_checkout, X_OK) == 0) {
        *out = pfc_strdup(in_checkout);
    } else {
        code = pfc_fs_program_dir(&program_dir, err);
        beside = code ? NULL : pfc_fs_join(program_dir, "perfci-bench");
        if (beside && access(beside, X_OK) == 0)
            *out = pfc_strdup(beside);
        else if (code == PFC_OK)
            code = pfc_err_set(err, PFC_ENOTFOUND, "no perfci-bench: neither %s nor %s",
                               in_checkout, beside);
    }
    free(in_checkout);
    free(program_dir);
    free(beside);
    return code;
}

/* A suite is BROKEN when no benchmark gave a number. The run is kept, because it says which
 * benchmark failed and why. */
static void judge_suite(pfc_outcome *out)
{
    const pfc_run *run = out->run;
    const char *reason = "the suite has no benchmark";

    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];

        if (m->status == PFC_STATUS_OK)
            return;
        if (m->reason && (i == 0 || m->status == PFC_STATUS_BROKEN))
            reason = m->reason;
    }
    out->kind = PFC_OUTCOME_BROKEN;
    (void)snprintf(out->reason, sizeof(out->reason), "no benchmark gave a result: %.300s", reason);
    if (run->measurements_len == 0) {
        pfc_run_free(out->run);
        out->run = NULL;
    }
}

pfc_code pfc_measure_run_bench(const pfc_commit_measure_opts *opts, pfc_command *cmd,
                               const char **argv, size_t argc, pfc_outcome *out, pfc_err *err)
{
    const char *const flags[][2] = { { "--filter", opts->filter },
                                     { "--backend", opts->backend },
                                     { "--wait-quiet", opts->wait_quiet } };
    pfc_proc_result res;
    double wait_s = 0;
    pfc_code code;

    /* The limit is one of measuring: waiting for a quiet machine does not count. */
    if (opts->wait_quiet &&
        pfc_parse_duration_s(opts->wait_quiet, "--wait-quiet", &wait_s, NULL) == PFC_OK)
        cmd->timeout_s += wait_s;
    for (size_t i = 0; i < PFC_ARRAY_LEN(flags); i++)
        if (flags[i][1]) {
            argv[argc++] = flags[i][0];
            argv[argc++] = flags[i][1];
        }
    cmd->argv = argv;
    code = pfc_command_run(cmd, &res, err);
    if (code)
        return pfc_err_wrap(err, "suite %s", opts->suite);
    out->measure_s = res.seconds;
    out->over_disk = res.over_disk;
    out->kind = classify(&res, "perfci-bench", out->reason);
    refused(&res, out);
    if (out->kind == PFC_OUTCOME_FAILED && res.exit_status == BENCH_WRONG)
        out->kind = PFC_OUTCOME_MEASURED;
    pfc_proc_result_clear(&res);
    return PFC_OK;
}

static pfc_code run_bench(const pfc_commit_measure_opts *opts, pfc_command *cmd, const char *bench,
                          const char *result, pfc_outcome *out, pfc_err *err)
{
    const char *argv[16] = { bench, "--suite", opts->suite, "--out", result };
    pfc_err fault = { 0 };
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_measure_run_bench(opts, cmd, argv, 5, out, err);

    if (code)
        return code;
    if (out->kind == PFC_OUTCOME_MEASURED) {
        code = pfc_fs_read_beneath(cmd->scratch, RESULT_NAME, PFC_WIRE_MAX_BODY_BYTES, &text, &len,
                                   &fault);
        if (code == PFC_OK)
            code = pfc_run_from_json(text, len, &out->run, &fault);
        if (code) {
            out->kind = PFC_OUTCOME_FAILED;
            (void)snprintf(out->reason, sizeof(out->reason),
                           "perfci-bench wrote no run document: %.300s", fault.msg);
        } else {
            out->reason[0] = '\0';
            judge_suite(out);
        }
        free(text);
    }
    return PFC_OK;
}

static pfc_code by_suite(const pfc_commit_measure_opts *opts, pfc_command *cmd, pfc_outcome *out,
                         pfc_err *err)
{
    char *bench = NULL;
    char *result = NULL;
    scratch temp = { 0 };
    pfc_code code = pfc_measure_find_bench(opts, cmd->dir, &bench, err);

    if (code == PFC_OK)
        code = scratch_open(opts, cmd, &temp, err);
    if (code == PFC_OK) {
        result = pfc_fs_join(temp.dir, RESULT_NAME);
        cmd->read_only = true; /* perfci-bench writes its results alone */
        cmd->program = bench;
        code = run_bench(opts, cmd, bench, result, out, err);
    }
    if (code == PFC_OK)
        pfc_traces_collect(cmd, out);
    scratch_close(&temp);
    free(bench);
    free(result);
    return code;
}

static pfc_code check_opts(const pfc_commit_measure_opts *opts, const char *commit, pfc_err *err)
{
    size_t len = commit ? strlen(commit) : 0;

    if (!opts->measure && !opts->suite)
        return pfc_err_set(err, PFC_EINVAL,
                           "nothing to measure with: give a measure command or a suite");
    if (commit && (len < 1 || len > MAX_COMMIT_TEXT))
        return pfc_err_set(err, PFC_EINVAL, "commit id: expected 1..%d bytes, got %zu",
                           MAX_COMMIT_TEXT, len);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)commit[i] <= 0x20 || commit[i] == 0x7f)
            return pfc_err_set(err, PFC_EINVAL,
                               "commit id: expected printable characters without spaces");
    }
    return PFC_OK;
}

pfc_code pfc_measure(const pfc_commit_measure_opts *opts, const char *dir, const char *commit,
                     unsigned build, pfc_outcome *out, pfc_err *err)
{
    pfc_command cmd = {
        .dir = dir,
        .commit = commit,
        .build = build,
        .sandbox = opts->sandbox,
        .cgroups = opts->cgroups,
        .timeout_s = opts->timeout_s > 0 ? opts->timeout_s : PFC_WORKSPACE_TIMEOUT_S,
        .cancelled = opts->cancelled,
        .cancelled_arg = opts->cancelled_arg,
    };
    double started_at = pfc_clock_unix_s();
    pfc_code code;

    *out = (pfc_outcome){ 0 };
    code = check_opts(opts, commit, err);
    if (code)
        return code;
    code = opts->measure ? by_command(opts, &cmd, out, err) : by_suite(opts, &cmd, out, err);
    if (code == PFC_OK && out->run)
        pfc_measure_finish_run(opts, commit, started_at, out->run);
    if (code)
        pfc_outcome_clear(out);
    return code;
}
