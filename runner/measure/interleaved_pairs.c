/*
 * Measures two checkouts in interleaved pairs, by perfci-bench.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/workspace/workspace_priv.h"

#define TIMEOUT_FACTOR                                                                             \
    10.0 /* timeout_s is for one measurement; a comparison takes about ten of each side */
#define MAX_DOCUMENT (2u * PFC_WIRE_MAX_BODY_BYTES)
#define RESULT_NAME  "pairs.json"

/* A perfci-bench without --serve ends at once with an error about an unknown option. */
static pfc_code can_serve(pfc_command *cmd, const char *bench, bool *out, pfc_err *err)
{
    const char *const argv[] = { bench, "--serve", NULL };
    pfc_proc_result res;
    pfc_code code;

    cmd->argv = argv;
    cmd->program = bench;
    code = pfc_command_run(cmd, &res, err);
    if (code)
        return code;
    *out = strstr(pfc_buf_text(&res.err), "unrecognized option") == NULL;
    pfc_proc_result_clear(&res);
    return PFC_OK;
}

static pfc_code side_from_json(const json_t *doc, const char *key, pfc_run **out, pfc_err *err)
{
    json_t *side = NULL;
    char *text = NULL;
    pfc_code code = pfc_json_object(doc, NULL, key, true, &side, err);

    if (code)
        return code;
    text = json_dumps(side, JSON_COMPACT | JSON_REAL_PRECISION(17));
    code = pfc_run_from_json(text, strlen(text), out, err);
    free(text);
    return code;
}

static pfc_code read_document(const char *folder, pfc_run **a, pfc_run **b, pfc_err *err)
{
    json_t *doc = NULL;
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read_beneath(folder, RESULT_NAME, MAX_DOCUMENT, &text, &len, err);

    if (!code)
        code = pfc_json_parse(text, len, &doc, err);
    if (!code)
        code = side_from_json(doc, "a", a, err);
    if (!code)
        code = side_from_json(doc, "b", b, err);
    json_decref(doc);
    free(text);
    if (code) {
        pfc_run_free(*a);
        *a = NULL;
    }
    return code;
}

/* The programs and the file of one comparison. */
typedef struct pair_files {
    char *benches[2]; /* the perfci-bench of A and of B */
    char *result;     /* where the document goes */
} pair_files;

static pfc_code measure(const pfc_commit_measure_opts *opts, pfc_command *cmd,
                        const pair_files *files, const pfc_pair_opts *pair, pfc_outcome *out,
                        pfc_run **a, pfc_err *err)
{
    /* B's perfci-bench controls the comparison, because it is the newer one, for which this
     * checkout's suite was written. */
    const char *argv[20] = { files->benches[1], "--suite",         opts->suite,
                             "--side-a",        files->benches[0], "--side-b",
                             files->benches[1], "--out",           files->result };
    char seed[32];
    char margin[32];
    size_t n = 9;
    pfc_err fault = { 0 };
    pfc_code code;

    (void)snprintf(seed, sizeof(seed), "%llu", (unsigned long long)(pair->seed >> 1) + 1);
    argv[n++] = "--seed";
    argv[n++] = seed;
    if (pair->margin > 0) {
        (void)snprintf(margin, sizeof(margin), "%.9g", pair->margin);
        argv[n++] = "--margin";
        argv[n++] = margin;
    }
    code = pfc_measure_run_bench(opts, cmd, argv, n, out, err);
    if (code)
        return code;
    if (out->kind == PFC_OUTCOME_MEASURED && read_document(cmd->scratch, a, &out->run, &fault)) {
        out->kind = PFC_OUTCOME_FAILED;
        (void)snprintf(out->reason, sizeof(out->reason), "perfci-bench wrote no pairs: %.300s",
                       fault.msg);
    }
    return PFC_OK;
}

pfc_code pfc_measure_pairs(const pfc_commit_measure_opts *opts, const pfc_pair_opts *pair,
                           pfc_run **run_a, pfc_outcome *out, pfc_err *err)
{
    pfc_command cmd = { .dir = pair->dirs[1],
                        .trees = { pair->dirs[0] },
                        .read_only = true,
                        .sandbox = opts->sandbox,
                        .cgroups = opts->cgroups,
                        .timeout_s =
                            TIMEOUT_FACTOR *
                            (opts->timeout_s > 0 ? opts->timeout_s : PFC_WORKSPACE_TIMEOUT_S),
                        .cancelled = opts->cancelled,
                        .cancelled_arg = opts->cancelled_arg };
    const double started_at = pfc_clock_unix_s();
    pair_files files = { .benches = { NULL, NULL } };
    char *temp = NULL;
    bool able = true;
    pfc_err leftover = { 0 };
    pfc_code code = PFC_OK;

    *out = (pfc_outcome){ 0 };
    *run_a = NULL;
    for (int i = 0; i < 2 && !code; i++)
        code = pfc_measure_find_bench(opts, pair->dirs[i], &files.benches[i], err);
    for (int i = 0; i < 2 && !code && able; i++)
        code = can_serve(&cmd, files.benches[i], &able, err);
    if (!code && !able)
        code = pfc_err_set(err, PFC_EUNAVAIL,
                           "one of the two builds has a perfci-bench without --serve");
    if (!code)
        code = pfc_fs_temp_dir("perfci-pairs", &temp, err);
    if (!code) {
        files.result = pfc_fs_join(temp, RESULT_NAME);
        cmd.scratch = temp;
        code = measure(opts, &cmd, &files, pair, out, run_a, err);
        if (pfc_fs_remove_tree(temp, &leftover) != PFC_OK)
            pfc_log(PFC_WARN, "temporary_folder_left", "reason", leftover.msg);
    }
    if (!code && out->run) {
        pfc_measure_finish_run(opts, pair->commits[0], started_at, *run_a);
        pfc_measure_finish_run(opts, pair->commits[1], started_at, out->run);
    }
    for (int i = 0; i < 2; i++)
        free(files.benches[i]);
    free(files.result);
    free(temp);
    if (code)
        pfc_outcome_clear(out);
    return code;
}
