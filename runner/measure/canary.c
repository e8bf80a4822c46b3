/*
 * The canary around user commands.
 */
#include "runner/measure/canary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "core/base/process/proc.h"
#include "runner/workspace/workspace_priv.h"

#define TIMEOUT_S  10.0 /* it takes milliseconds; a machine that needs more is no witness */
#define MAX_OUTPUT (256u * 1024)

static void find_bench(pfc_canary *c, const char *bench)
{
    char *dir = NULL;
    pfc_err err = { 0 };

    if (bench)
        c->bench = pfc_strdup(bench);
    else if (!pfc_fs_program_dir(&dir, &err))
        c->bench = pfc_fs_join(dir, "perfci-bench");
    if (c->bench && access(c->bench, X_OK) != 0) {
        (void)snprintf(c->reason, sizeof(c->reason), "no perfci-bench beside this program");
        free(c->bench);
        c->bench = NULL;
    }
    free(dir);
}

/* The program's output; caller frees. NULL: no reading, `reason` says why. */
static char *read_canary(pfc_canary *c, const char *before)
{
    const char *argv[] = { c->bench, "--canary", "--quiet", before ? "--before" : NULL, "-", NULL };
    const pfc_proc_opts opts = { .argv = argv,
                                 .input = before,
                                 .input_len = before ? strlen(before) : 0,
                                 .timeout_s = TIMEOUT_S,
                                 .max_output_bytes = MAX_OUTPUT };
    pfc_proc_result res = { 0 };
    char *text = NULL;
    pfc_err err = { 0 };

    if (pfc_proc_run(&opts, &res, &err)) {
        (void)snprintf(c->reason, sizeof(c->reason), "%.190s", err.msg);
        return NULL;
    }
    if (res.exit_status == 0 && res.out.len)
        text = pfc_strdup(pfc_buf_text(&res.out));
    else
        (void)snprintf(c->reason, sizeof(c->reason), "perfci-bench --canary ended with status %d",
                       res.exit_status);
    pfc_proc_result_clear(&res);
    return text;
}

void pfc_canary_begin(pfc_canary *c, const char *bench)
{
    *c = (pfc_canary){ 0 };
    find_bench(c, bench);
    if (c->bench)
        c->before = read_canary(c, NULL);
    if (!c->before)
        pfc_log(PFC_DEBUG, "canary_absent", "reason", c->reason);
}

static double fact(const pfc_run *run, const char *name)
{
    const char *text =
        run->measurements_len ? pfc_labels_get(&run->measurements[0].extra, name) : NULL;
    double value = (double)NAN;

    return text && !pfc_parse_double(text, 0, 1e18, name, &value, NULL) ? value : (double)NAN;
}

bool pfc_canary_end(pfc_canary *c, pfc_run *const *runs, size_t len, pfc_canary_look *out)
{
    char *after = c->before ? read_canary(c, c->before) : NULL;
    pfc_canary_look look = { 0 };
    pfc_run *canary = NULL;
    pfc_err err = { 0 };

    for (size_t i = 0; after && i <= len; i++) {
        if (pfc_run_from_json(after, strlen(after), &canary, &err)) {
            pfc_log(PFC_WARN, "canary_unreadable", "reason", err.msg);
            break;
        }
        if (i < len) {
            canary->finished_at = runs[i]->finished_at;
            pfc_run_merge(runs[i], canary);
            continue;
        }
        look = (pfc_canary_look){ .read = true,
                                  .moved = canary->infra,
                                  .before_ns = fact(canary, "before_ns"),
                                  .after_ns = fact(canary, "after_ns") };
        pfc_run_free(canary);
    }
    free(after);
    pfc_canary_clear(c);
    if (out)
        *out = look;
    return look.moved;
}

void pfc_canary_clear(pfc_canary *c)
{
    free(c->bench);
    free(c->before);
    c->bench = c->before = NULL;
}

pfc_code pfc_quiet_wait_for(const pfc_quiet_gate *gate, bool *cancelled, pfc_err *err)
{
    pfc_canary c = { 0 };
    const char *argv[] = { NULL, "--canary", "--quiet", "--wait-quiet", gate->wait, NULL };
    pfc_proc_opts opts = { .argv = argv,
                           .max_output_bytes = MAX_OUTPUT,
                           .cancelled = gate->cancelled,
                           .cancelled_arg = gate->cancelled_arg };
    pfc_proc_result res = { 0 };
    char line[PFC_WORKSPACE_REASON_BYTES];
    pfc_code code = pfc_parse_duration_s(gate->wait, "--wait-quiet", &opts.timeout_s, err);

    *cancelled = false;
    if (code)
        return code;
    find_bench(&c, gate->bench);
    if (!c.bench)
        return pfc_err_set(err, PFC_EUNAVAIL, "the machine cannot be asked whether it is quiet: %s",
                           c.reason);
    argv[0] = c.bench;
    opts.timeout_s += TIMEOUT_S;
    code = pfc_proc_run(&opts, &res, err);
    if (!code && res.was_cancelled) {
        *cancelled = true;
    } else if (!code && res.exit_status != 0) {
        const char name[] = "perfci-bench: ";

        pfc_command_error_line(pfc_buf_text(&res.err), line, sizeof(line));
        code =
            pfc_err_set(err, PFC_EUNAVAIL, "%s",
                        line + (strncmp(line, name, sizeof(name) - 1) == 0 ? sizeof(name) - 1 : 0));
    }
    pfc_proc_result_clear(&res);
    pfc_canary_clear(&c);
    return code;
}
