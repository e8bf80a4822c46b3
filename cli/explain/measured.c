/* Measures both sides under callgrind and perf. */
#include "cli/explain/measured.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/measure/measure.h"
#include "cli/output/output.h"
#include "core/base/fs.h"
#include "core/base/process/proc.h"

typedef struct measuring {
    const pfc_cli *cli;
    const explain_input *in;
    char dir[64]; /* for the tools' files */
} measuring;

/* The text as one word of the shell. */
static char *quoted(const char *text)
{
    pfc_buf out;

    pfc_buf_init(&out, 1u << 16);
    pfc_buf_putc(&out, '\'');
    for (; *text; text++)
        if (*text == '\'')
            pfc_buf_puts(&out, "'\\''");
        else
            pfc_buf_putc(&out, *text);
    pfc_buf_putc(&out, '\'');
    return pfc_buf_take(&out);
}

/* "" when `program --version` runs; else why not. */
static void look_for(const char *program, char out[300])
{
    const char *argv[] = { program, "--version", NULL };
    const pfc_proc_opts opts = { .argv = argv, .timeout_s = 60 };
    pfc_proc_result res;
    pfc_err err = { 0 };

    if (pfc_proc_run(&opts, &res, &err)) {
        snprintf(out, 300, "%s is not installed", program);
        return;
    }
    if (res.exit_status != 0)
        snprintf(out, 300, "%s does not run", program);
    pfc_proc_result_clear(&res);
}

static pfc_code open_side(const measuring *m, const char *commit, const pfc_take_opts *opts,
                          pfc_take *take, pfc_commit_id *id, pfc_err *err)
{
    pfc_code code = pfc_take_open(take, m->cli, opts, NULL, true, NULL, err);

    if (!code && !take->conf.measure) {
        code = pfc_err_set(err, PFC_EINVAL,
                           "--callgrind, --perf: expected a project with \"measure:\"");
        pfc_err_hint(err, "a suite's kernels are counted by perfci-bench --exact");
    }
    return code ? code : pfc_repo_resolve(take->repo, commit, id, err);
}

/* Measures one commit once with the project's command behind `prefix`. */
static pfc_code run_side(const measuring *m, const char *commit, const char *prefix, pfc_err *err)
{
    const pfc_take_opts opts = { .repeats = 1 };
    pfc_take take = { 0 };
    pfc_commit_id id = { "" };
    pfc_run *run = NULL;
    char *word = NULL;
    char *command = NULL;
    pfc_code code = open_side(m, commit, &opts, &take, &id, err);

    if (!code) {
        word = quoted(take.conf.measure);
        command = pfc_format("%s /bin/sh -c %s", prefix, word);
        take.measure.measure = command;
        code = pfc_take_commit(&take, &id, &run, err);
    }
    pfc_take_close(&take);
    pfc_run_free(run);
    free(word);
    free(command);
    return code;
}

static const char *commit_of(const measuring *m, bool after)
{
    return (after ? m->in->after : m->in->before)->commit;
}

/* ---- callgrind ---- */

static pfc_code count_side(const measuring *m, bool after, pfc_functions *out, pfc_err *err)
{
    const pfc_take_opts opts = { .repeats = 1 };
    pfc_take take = { 0 };
    pfc_commit_id id = { "" };
    pfc_code code = open_side(m, commit_of(m, after), &opts, &take, &id, err);

    if (!code)
        code = pfc_take_workspace(&take, 1, err);
    if (!code)
        code = pfc_workspace_count(take.ws, &take.measure, &id, out, err);
    pfc_take_close(&take);
    return code;
}

static pfc_code add_functions(const measuring *m, pfc_explanation *e, pfc_err *err)
{
    pfc_functions before = { 0 };
    pfc_functions after = { 0 };
    pfc_code code = PFC_OK;

    e->functions = pfc_calloc(1, sizeof(*e->functions));
    look_for("valgrind", e->functions->unavailable);
    if (!e->functions->unavailable[0]) {
        code = count_side(m, false, &before, err);
        if (!code)
            code = count_side(m, true, &after, err);
        if (!code)
            pfc_functions_compare(&before, &after, e->functions);
    }
    pfc_functions_clear(&before);
    pfc_functions_clear(&after);
    return code;
}

/* ---- perf ---- */

/* Whether the kernel lets this user sample at all. */
static void try_perf(const measuring *m, char out[300])
{
    char *file = pfc_format("%s/try.data", m->dir);
    const char *argv[] = { "perf", "record", "-q", "-g", "-o", file, "--", "true", NULL };
    const pfc_proc_opts opts = { .argv = argv, .timeout_s = 60 };
    pfc_proc_result res;
    pfc_err err = { 0 };

    look_for("perf", out);
    if (!out[0] && pfc_proc_run(&opts, &res, &err) == PFC_OK) {
        const char *said = pfc_buf_text(&res.err);

        if (res.exit_status != 0)
            snprintf(out, 300, "perf record: %.*s", (int)PFC_MIN(strcspn(said, "\n"), 200), said);
        pfc_proc_result_clear(&res);
    }
    free(file);
}

static pfc_code sample_side(const measuring *m, bool after, pfc_flame *out, pfc_err *err)
{
    char *file = pfc_format("%s/%s.data", m->dir, after ? "after" : "before");
    char *prefix = pfc_format("exec perf record -q -g -F 999 -o %s --", file);
    const char *argv[] = { "perf", "script", "-i", file, "-F", "comm,ip,sym,dso", NULL };
    const pfc_proc_opts opts = { .argv = argv,
                                 .timeout_s = 600,
                                 .max_output_bytes = PFC_FLAME_MAX_BYTES };
    pfc_proc_result res;
    pfc_code code = run_side(m, commit_of(m, after), prefix, err);

    if (!code)
        code = pfc_proc_run(&opts, &res, err);
    if (!code) {
        if (res.exit_status != 0)
            code = pfc_err_set(err, PFC_EUNAVAIL, "perf script: %.200s", pfc_buf_text(&res.err));
        else
            code =
                pfc_flame_read(out, after, pfc_buf_text(&res.out), res.out.len, "perf script", err);
        pfc_proc_result_clear(&res);
    }
    free(prefix);
    free(file);
    return code;
}

static pfc_code add_flame(const measuring *m, pfc_explanation *e, pfc_err *err)
{
    pfc_code code = PFC_OK;

    e->flame = pfc_calloc(1, sizeof(*e->flame));
    try_perf(m, e->flame->unavailable);
    if (!e->flame->unavailable[0])
        code = sample_side(m, false, e->flame, err);
    if (!e->flame->unavailable[0] && !code)
        code = sample_side(m, true, e->flame, err);
    return code;
}

pfc_code explain_add_measured(const explain_opts *o, const explain_input *in, pfc_explanation *e,
                              pfc_err *err)
{
    measuring m = { .cli = o->cli, .in = in, .dir = "/tmp/perfci-explain-XXXXXX" };
    pfc_code code = PFC_OK;

    if (!in->before->commit || !in->after->commit)
        return pfc_err_set(err, PFC_EINVAL,
                           "--callgrind, --perf: expected two runs of commits, got run %s without "
                           "one",
                           in->before->commit ? in->after->id : in->before->id);
    if (!mkdtemp(m.dir))
        return pfc_err_set(err, PFC_EIO, "%s: cannot be made", m.dir);
    if (o->callgrind)
        code = add_functions(&m, e, err);
    if (!code && o->perf)
        code = add_flame(&m, e, err);
    if (pfc_fs_remove_tree(m.dir, code ? NULL : err) && !code)
        code = PFC_EIO;
    return code;
}
