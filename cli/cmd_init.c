/*
 * perfci init: a commented perfci.yaml for this repository.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "core/base/fs.h"

enum { KEY_FORCE = 0x100, KEY_DRY_RUN };

typedef struct init_opts {
    bool force;
    bool dry_run;
} init_opts;

static const struct argp_option init_options[] = {
    { "force", KEY_FORCE, 0, 0, "Replace a perfci.yaml that is there", 0 },
    { "dry-run", KEY_DRY_RUN, 0, 0, "Print it and write nothing", 0 },
    { 0 },
};

static const char init_doc[] =
    "Writes a commented perfci.yaml at the root of this repository."
    "\vWhat can be told from the repository is filled in: its name, its branch, how it is built.\n"
    "\n"
    "Examples:\n"
    "  perfci init\n"
    "  perfci init --dry-run\n";

static error_t parse_init(int key, char *arg, struct argp_state *state)
{
    init_opts *o = state->input;

    switch (key) {
    case KEY_FORCE:
        o->force = true;
        return 0;
    case KEY_DRY_RUN:
        o->dry_run = true;
        return 0;
    case ARGP_KEY_ARG:
        pfc_cli_usage(state, "there is no argument to give, got \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The usual build command of what lies at the root; NULL when there is no telling. */
static const char *guess_build(const char *root)
{
    static const struct {
        const char *file;
        const char *build;
    } known[] = {
        { "CMakeLists.txt",
          "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build" },
        { "Makefile", "make" },
        { "meson.build", "meson setup build --buildtype=release && ninja -C build" },
        { "Cargo.toml", "cargo build --release" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(known); i++) {
        char *path = pfc_fs_join(root, known[i].file);
        const bool there = pfc_fs_exists(path);

        free(path);
        if (there)
            return known[i].build;
    }
    return NULL;
}

static void write_yaml(pfc_buf *out, const char *project, const char *branch, const char *build)
{
    pfc_buf_puts(out, "# perfci: what is measured here, and how.\n"
                      "\n"
                      "# The project's name at the service.\n");
    pfc_buf_printf(out, "project: %s\n", project);
    pfc_buf_puts(out, "# The branch whose history is watched.\n");
    pfc_buf_printf(out, "branch: \"%s\"\n", branch);
    pfc_buf_puts(out, "# The service; PERFCI_URL and --url come before it.\n"
                      "#server: http://127.0.0.1:7420\n"
                      "\n"
                      "# Run in a fresh checkout of each commit before it is measured.\n");
    if (build)
        pfc_buf_printf(out, "build: %s\n", build);
    else
        pfc_buf_puts(out, "#build: make\n");
    pfc_buf_puts(
        out,
        "# Builds again with another layout, told by PERFCI_BUILD (1, 2, ...): tells a slow\n"
        "# commit from an unlucky link.\n"
        "#relink: make clean all\n"
        "\n"
        "# What to measure. Either a suite of perfci-bench ...\n"
        "suite: quick\n"
        "# ... or a command that prints a number, {\"value\": x}, {\"metrics\": {...}}, or Google\n"
        "# Benchmark JSON. Exit status 125: this commit cannot be measured.\n"
        "#measure: ./build/bench --benchmark_format=json\n"
        "# For a bare number: what it is.\n"
        "#metric: gemm_tflops\n"
        "#unit: TFLOP/s\n"
        "#better: higher\n"
        "\n"
        "# The benchmarked files: commits that touch them are suspected first.\n"
        "#paths: [\"src/*\"]\n");
}

/* Branch names may hold anything but these in a double-quoted YAML string. */
static bool plain(const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p == '"' || *p == '\\' || (unsigned char)*p < 0x20)
            return false;
    return true;
}

int pfc_cmd_init(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { init_options, parse_init, NULL, init_doc, NULL };
    init_opts o = { 0 };
    pfc_repo *repo = NULL;
    char *project = NULL;
    char *branch = NULL;
    char *path = NULL;
    pfc_buf text;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &args, argc, argv, &o);
    pfc_buf_init(&text, 64 * 1024);
    code = pfc_repo_open(".", &repo, &err);
    if (!code)
        code = pfc_api_project(NULL, NULL, pfc_repo_root(repo), &project, &err);
    if (code)
        goto done;
    branch = pfc_repo_branch(repo);
    path = pfc_fs_join(pfc_repo_root(repo), "perfci.yaml");
    write_yaml(&text, project, branch && plain(branch) ? branch : "main",
               guess_build(pfc_repo_root(repo)));
    if (o.dry_run) {
        pfc_out("%s", pfc_buf_text(&text));
        goto done;
    }
    if (!o.force && pfc_fs_exists(path)) {
        code =
            pfc_err_set(&err, PFC_ECONFLICT, "%.300s is there already; --force replaces it", path);
        goto done;
    }
    code = pfc_fs_write_atomic(path, pfc_buf_text(&text), text.len, 0644, &err);
    if (!code && cli->json)
        pfc_cli_print_json(json_pack("{s:s}", "path", path));
    else if (!code)
        pfc_out("%s\n", path);

done:
    pfc_buf_clear(&text);
    pfc_repo_close(repo);
    free(project);
    free(branch);
    free(path);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}
