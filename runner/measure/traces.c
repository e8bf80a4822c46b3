/*
 * The traces that a measurement leaves. A commit's program writes the folder, so only files that
 * the run document names are opened, without following links.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/workspace/workspace_priv.h"

#define FOLDER "traces"

pfc_code pfc_traces_begin(pfc_command *cmd, char **out, pfc_err *err)
{
    char *dir = pfc_fs_join(cmd->scratch, FOLDER);
    const pfc_code code = pfc_fs_mkdirs(dir, 0700, err);

    if (code) {
        free(dir);
        return code;
    }
    cmd->traces = *out = dir;
    return PFC_OK;
}

static bool is_there(const pfc_outcome *out, const char *file)
{
    for (size_t i = 0; i < out->traces_len; i++)
        if (strcmp(out->traces[i].file, file) == 0)
            return true;
    return false;
}

/* Takes `file`. */
static void collect(const pfc_command *cmd, const char *benchmark, char *file, pfc_outcome *out)
{
    char *path = file ? pfc_fs_join(FOLDER, file) : NULL;
    pfc_run_trace trace = { 0 };
    pfc_err err = { 0 };
    pfc_code code = PFC_ENOTFOUND;

    if (path && !is_there(out, file))
        code = pfc_fs_read_beneath(cmd->scratch, path, PFC_RUN_TRACE_MAX_BYTES, &trace.bytes,
                                   &trace.len, &err);
    if (code && code != PFC_ENOTFOUND)
        pfc_log(PFC_WARN, "trace_left_out", "benchmark", benchmark, "reason", err.msg);
    free(path);
    if (code) {
        free(file);
        return;
    }
    trace.benchmark = pfc_strdup(benchmark);
    trace.file = file;
    if (!out->traces)
        out->traces = pfc_calloc(PFC_RUN_TRACES_MAX, sizeof(*out->traces));
    out->traces[out->traces_len++] = trace;
}

void pfc_traces_collect(const pfc_command *cmd, pfc_outcome *out)
{
    for (size_t i = 0; cmd->traces && out->run && i < out->run->measurements_len; i++) {
        const pfc_measurement *m = &out->run->measurements[i];

        if (out->traces_len < PFC_RUN_TRACES_MAX)
            collect(cmd, m->benchmark, pfc_run_trace_file(m->benchmark, m->backend), out);
        if (out->traces_len < PFC_RUN_TRACES_MAX)
            collect(cmd, m->benchmark, pfc_run_trace_file(m->benchmark, NULL), out);
    }
}
