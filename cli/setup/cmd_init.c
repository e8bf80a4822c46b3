/*
 * perfci init: a perfci.yaml for this repository, tried once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/measure/measure.h"
#include "cli/output/output.h"
#include "cli/setup/inspect_repository.h"
#include "core/base/fs.h"

typedef struct init_opts {
    bool force;
    bool dry_run;
    bool no_run;
} init_opts;

static const pfc_option init_options[] = {
    PFC_OPT_FLAG("force", init_opts, force, "Replace a perfci.yaml that is there"),
    PFC_OPT_FLAG("dry-run", init_opts, dry_run, "Print it and write nothing"),
    PFC_OPT_FLAG("no-run", init_opts, no_run, "Write it and measure nothing"),
    { 0 },
};

static const char init_doc[] =
    "Writes a perfci.yaml at the root of this repository and tries it once."
    "\vThe files of the repository say how it is built and what its benchmark is: CMake or Meson "
    "with "
    "Google Benchmark, Catch2 or NVBench, Cargo with Criterion, Go, pytest-benchmark, Triton, or a "
    "Makefile with a target \"bench\". Where they do not, the file has a line marked TODO. Then "
    "the "
    "benchmark is built and measured once in the working tree, and what was read is shown.\n"
    "\n"
    "Exit status 4 when the trial fails; the file stays.\n"
    "\n"
    "Examples:\n"
    "  perfci init\n"
    "  perfci init --dry-run\n"
    "  perfci init --no-run\n";

/* ---- the file ---- */

/* The content of the file; texts are borrowed. */
typedef struct page {
    const char *project, *branch;
    const pfc_inspect *found;
    const char *metric; /* of the trial; NULL: not known */
} page;

/* "key: text", in single quotes where YAML or a reader could take it for something else. */
static void put_text(pfc_buf *out, const char *key, const char *text)
{
    pfc_buf_printf(out, "%s: ", key);
    if (!strpbrk(text, ":#'\"{}[],&*!|>%@`") && text[0] != '-' && text[0] != '?') {
        pfc_buf_printf(out, "%s\n", text);
        return;
    }
    pfc_buf_putc(out, '\'');
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            pfc_buf_putc(out, '\'');
        pfc_buf_putc(out, *p);
    }
    pfc_buf_puts(out, "'\n");
}

static void put_measure(pfc_buf *out, const pfc_inspect *found)
{
    pfc_buf_puts(
        out, "\n# Prints the results: a number, {\"value\": x}, {\"metrics\": {...}}, or what a "
             "benchmark library\n# prints. Exit status 125: this commit cannot be measured.\n");
    if (found->todo)
        pfc_buf_printf(out, "# TODO: %s.\n", found->todo);
    if (found->measure)
        put_text(out, "measure", found->measure);
    else
        pfc_buf_puts(out, "#measure: ./build/bench --benchmark_format=json\n");
    if (found->others)
        pfc_buf_printf(out, "# Other programs that measure: %s.\n", found->others);
}

static void write_yaml(pfc_buf *out, const page *p)
{
    pfc_buf_puts(out, "# perfci: what is measured here, and how.\n");
    if (p->found->kind)
        pfc_buf_printf(out, "# Found: %s.\n", p->found->kind);
    pfc_buf_printf(out, "\nproject: %s\n", p->project);
    pfc_buf_printf(out, "branch: \"%s\" # the one whose history is watched\n", p->branch);
    pfc_buf_puts(out, "\n# Run in a fresh checkout of each commit before it is measured.\n");
    if (p->found->build)
        put_text(out, "build", p->found->build);
    else
        pfc_buf_puts(out, "#build: make\n");
    put_measure(out, p->found);
    pfc_buf_puts(out, "# The metric that counts, and the name of a bare number.\n");
    if (p->metric)
        put_text(out, "metric", p->metric);
    else
        pfc_buf_puts(out, "#metric: latency\n");
    pfc_buf_puts(
        out,
        "#unit: ns\n"
        "#better: lower\n"
        "\n"
        "# The benchmark's files: commits that touch them are suspected first.\n"
        "#paths: [\"src/*\"]\n"
        "# Rebuilds with another code layout; PERFCI_BUILD (1, 2, ...) selects the layout. This\n"
        "# tells a slow commit from a slow layout of the same code.\n"
        "#relink: make clean all\n"
        "\n"
        "# What a night measures along with the new commits, so that its ratios join other nights: "
        "a\n"
        "# release, for example. How long it may measure, and which change does not matter.\n"
        "#anchor: v1.0\n"
        "#budget: 30m\n"
        "#margin: 0.03\n"
        "# Files that the program reads while it is measured: a commit that changes one is "
        "measured\n"
        "# even when its object code is that of the commit before.\n"
        "#runtime_files: [\"data/*\"]\n");
}

/* Branch names may hold anything but these in a double-quoted YAML string. */
static bool plain(const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p == '"' || *p == '\\' || (unsigned char)*p < 0x20)
            return false;
    return true;
}

static pfc_code store(const char *path, const page *p, pfc_err *err)
{
    pfc_buf text;
    pfc_code code;

    pfc_buf_init(&text, PFC_CONF_MAX_BYTES);
    write_yaml(&text, p);
    code = pfc_buf_check(&text, path, err);
    if (!code)
        code = pfc_fs_write_atomic(path, pfc_buf_text(&text), text.len, 0644, err);
    pfc_buf_clear(&text);
    return code;
}

/* ---- the trial ---- */

static const char *broken_reason(const pfc_run *run)
{
    for (size_t i = 0; i < run->measurements_len; i++)
        if (run->measurements[i].status == PFC_STATUS_BROKEN)
            return run->measurements[i].reason ? run->measurements[i].reason : "no reason given";
    return "";
}

static pfc_code try_once(const pfc_cli *cli, const char *path, const char *root, pfc_run **run,
                         pfc_err *err)
{
    const pfc_take_opts opts = { .config = path, .repeats = 1 };
    pfc_take take = { 0 };
    pfc_code code = pfc_take_open(&take, cli, &opts, root, true, NULL, err);

    if (!code)
        code = pfc_take_tree(&take, run, err);
    pfc_take_close(&take);
    if (!code && pfc_take_broken(*run))
        code = pfc_err_set(err, PFC_EBROKEN, "a benchmark of the trial has no result: %.300s",
                           broken_reason(*run));
    return code;
}

/* Where the build put the program, when that is not where the file says; true: `found` was mended.
 */
static bool find_program(const char *root, pfc_inspect *found)
{
    char *at = found->program ? pfc_inspect_find_program(root, found->program) : NULL;
    const char *arguments = found->measure ? strchr(found->measure, ' ') : NULL;
    char *measure = at && arguments ? pfc_format("./%s%s", at, arguments) : NULL;
    const bool mended = measure && strcmp(measure, found->measure) != 0;

    if (mended) {
        free(found->measure);
        found->measure = measure;
        measure = NULL;
    }
    free(measure);
    free(at);
    return mended;
}

/* The metric that most benchmarks have; NULL: there is none. */
static const char *main_metric(const pfc_run *run)
{
    const char *best = NULL;
    size_t most = 0;

    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        const char *role = pfc_labels_get(&m->extra, PFC_ROLE);
        size_t n = 0;

        if (m->status != PFC_STATUS_OK || pfc_streq(role, PFC_ROLE_SECONDARY))
            continue;
        for (size_t k = 0; k < run->measurements_len; k++)
            n += pfc_streq(run->measurements[k].metric, m->metric);
        if (n > most) {
            most = n;
            best = m->metric;
        }
    }
    return best;
}

/* Builds and measures once, shows what was read and puts the metric into the file. */
static pfc_code trial(const pfc_cli *cli, const char *path, page *p, pfc_inspect *found,
                      const char *root, pfc_err *err)
{
    pfc_run *run = NULL;
    pfc_code code = try_once(cli, path, root, &run, err);

    if (code == PFC_EBROKEN && find_program(root, found)) {
        *err = (pfc_err){ 0 };
        pfc_run_free(run);
        run = NULL;
        code = store(path, p, err);
        if (!code)
            code = try_once(cli, path, root, &run, err);
    }
    if (!code) {
        p->metric = main_metric(run);
        code = store(path, p, err);
        p->metric = NULL;
    }
    if (run && cli->json)
        pfc_cli_print_json(json_pack("{s:s, s:s*, s:o}", "path", path, "found", found->kind, "run",
                                     pfc_run_to_json(run)));
    else if (run)
        pfc_take_print(cli, run);
    if (code) {
        pfc_err_wrap(err, "the trial failed");
        pfc_err_hint(err, "%.300s is written: correct it, then try it with \"perfci run\"", path);
    }
    pfc_run_free(run);
    return code;
}

static pfc_code write_and_try(const pfc_cli *cli, const init_opts *o, const char *path, page *p,
                              pfc_inspect *found, const char *root, pfc_err *err)
{
    pfc_code code;

    if (!o->force && pfc_fs_exists(path)) {
        pfc_err_set(err, PFC_ECONFLICT, "%.300s is there already", path);
        return pfc_err_hint(err, "\"perfci run\" measures by it; --force replaces it");
    }
    code = store(path, p, err);
    if (code)
        return code;
    pfc_cli_note(cli, "wrote %s (%s)", path, found->kind ? found->kind : "nothing was recognised");
    if (!found->measure)
        pfc_cli_note(cli, "TODO: %s, in the line \"measure:\" of that file", found->todo);
    if (!found->measure || o->no_run) {
        if (cli->json)
            pfc_cli_print_json(json_pack("{s:s, s:s*}", "path", path, "found", found->kind));
        else
            pfc_out("%s\n", path);
        return PFC_OK;
    }
    pfc_cli_catch_signals();
    return trial(cli, path, p, found, root, err);
}

static int cmd_init(pfc_cli *cli, int argc, char **argv)
{
    init_opts o = { 0 };
    pfc_inspect found = { 0 };
    page p = { .found = &found };
    pfc_repo *repo = NULL;
    char *project = NULL, *branch = NULL, *path = NULL;
    pfc_buf text;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_init, argc, argv, &o);
    code = pfc_repo_open(".", &repo, &err);
    if (!code && pfc_repo_is_bare(repo)) {
        code = pfc_err_set(&err, PFC_EINVAL, "%.300s has no working tree", pfc_repo_root(repo));
        pfc_err_hint(&err, "run \"perfci init\" in a clone with files, and commit what it writes");
    }
    if (!code)
        code = pfc_api_project(NULL, NULL, pfc_repo_root(repo), &project, &err);
    if (code)
        goto done;
    branch = pfc_repo_branch(repo);
    path = pfc_fs_join(pfc_repo_root(repo), PFC_PROJECT_FILE);
    pfc_inspect_look(pfc_repo_root(repo), &found);
    p.project = project;
    p.branch = branch && plain(branch) ? branch : "main";
    if (o.dry_run) {
        pfc_buf_init(&text, PFC_CONF_MAX_BYTES);
        write_yaml(&text, &p);
        if (cli->json)
            pfc_cli_print_json(json_pack("{s:s, s:s*, s:s}", "path", path, "found", found.kind,
                                         "text", pfc_buf_text(&text)));
        else
            fputs(pfc_buf_text(&text), stdout);
        pfc_buf_clear(&text);
    } else {
        code = write_and_try(cli, &o, path, &p, &found, pfc_repo_root(repo), &err);
    }

done:
    pfc_inspect_clear(&found);
    pfc_repo_close(repo);
    free(project);
    free(branch);
    free(path);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_init = {
    .name = "init",
    .summary = "write a commented perfci.yaml",
    .run = cmd_init,
    .options = init_options,
    .doc = init_doc,
};
