/*
 * Instructions of each function: the project's command once more, under valgrind's callgrind.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/workspace/workspace_priv.h"

enum {
    MAX_FILES = 256, /* processes of one command */
    MAX_OUTPUT = 1024 * 1024,
};

/* callgrind replaces "%p" in the name of its file. Each process, the shell too, writes one. */
static char *counting_command(const char *folder, const char *measure)
{
    pfc_buf line;

    pfc_buf_init(&line, 2 * PFC_WORKSPACE_MAX_COMMAND + PFC_PATH_MAX);
    pfc_buf_puts(&line, "exec valgrind --tool=callgrind -q --trace-children=yes "
                        "--callgrind-out-file=");
    pfc_shell_word(&line, folder);
    pfc_buf_puts(&line, "/%p /bin/sh -c ");
    pfc_shell_word(&line, measure);
    return pfc_buf_take(&line);
}

/* The files are the command's: it may have written anything. */
static pfc_code read_counts(const char *folder, pfc_functions *out, pfc_err *err)
{
    DIR *d = opendir(folder);
    struct dirent *entry;
    size_t files = 0;
    pfc_code code = d ? PFC_OK : pfc_err_set(err, PFC_EIO, "%s: cannot be read", folder);

    while (!code && files < MAX_FILES && (entry = readdir(d)) != NULL) {
        char *text = NULL;
        size_t len = 0;

        if (entry->d_name[0] == '.')
            continue;
        code =
            pfc_fs_read_beneath(folder, entry->d_name, PFC_CALLGRIND_MAX_BYTES, &text, &len, err);
        if (!code && len > 0) {
            files++;
            code = pfc_callgrind_read(text, len, entry->d_name, out, err);
        }
        free(text);
    }
    if (d)
        closedir(d);
    if (!code && files == 0)
        code = pfc_err_set(err, PFC_EUNAVAIL, "valgrind wrote no counts");
    pfc_functions_sort(out);
    return code;
}

static pfc_code count_in(pfc_command *cmd, pfc_functions *out, pfc_err *err)
{
    pfc_proc_result res;
    char how[128], line[200];
    pfc_code code = pfc_command_run(cmd, &res, err);

    if (code)
        return code;
    if (res.exit_status != 0) {
        pfc_proc_describe(&res, how, sizeof(how));
        pfc_command_error_line(pfc_buf_text(&res.err), line, sizeof(line));
        code = pfc_err_set(err, PFC_EUNAVAIL, "the command under valgrind: %s%s%s", how,
                           line[0] ? ": " : "", line);
    }
    pfc_proc_result_clear(&res);
    return code ? code : read_counts(cmd->scratch, out, err);
}

static pfc_code count(const pfc_commit_measure_opts *opts, const char *dir, const char *commit,
                      pfc_functions *out, pfc_err *err)
{
    pfc_command cmd = {
        .dir = dir,
        .commit = commit,
        .sandbox = opts->sandbox,
        .cgroups = opts->cgroups,
        .max_output_bytes = MAX_OUTPUT,
        .timeout_s = opts->timeout_s > 0 ? opts->timeout_s : PFC_WORKSPACE_TIMEOUT_S,
        .cancelled = opts->cancelled,
        .cancelled_arg = opts->cancelled_arg,
    };
    char *folder = NULL, *text = NULL;
    pfc_err leftover = { 0 };
    pfc_code code = pfc_fs_temp_dir("perfci-functions", &folder, err);

    if (code)
        return code;
    text = counting_command(folder, opts->measure);
    cmd.text = text;
    cmd.scratch = folder;
    code = count_in(&cmd, out, err);
    if (pfc_fs_remove_tree(folder, &leftover))
        pfc_log(PFC_WARN, "temporary_folder_left", "reason", leftover.msg);
    free(text);
    free(folder);
    return code;
}

pfc_code pfc_workspace_count(pfc_workspace *ws, const pfc_commit_measure_opts *opts,
                             const pfc_commit_id *id, pfc_functions *out, pfc_err *err)
{
    pfc_outcome prepared = { 0 };
    char *dir = NULL;
    pfc_code code;

    *out = (pfc_functions){ 0 };
    if (!opts->measure)
        return pfc_err_set(err, PFC_EINVAL, "expected a project with \"measure:\"");
    code = pfc_workspace_prepare(ws, id, 0, &dir, &prepared, err);
    if (!code && prepared.kind != PFC_OUTCOME_MEASURED)
        code = pfc_err_set(err, PFC_EBROKEN, "%.12s: %s", id->hex, prepared.reason);
    if (!code)
        code = count(opts, dir, id->hex, out, err);
    pfc_outcome_clear(&prepared);
    free(dir);
    return code;
}
