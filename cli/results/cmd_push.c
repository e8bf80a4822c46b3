/*
 * perfci push: uploads results, its own or other tools'.
 */
#include "cli/commands.h"
#include "cli/results/upload.h"

typedef struct push_opts {
    const char *format;
    pfc_upload_opts up;
} push_opts;

static const pfc_option push_options[] = {
    PFC_OPT_TEXT("format", "F", push_opts, format, "Format of the files; auto: by their content",
                 .fallback = "auto"),
    PFC_UPLOAD_OPTIONS(push_opts),
    PFC_UPLOAD_STORE_OPTIONS(push_opts),
    { 0 },
};

static const char push_doc[] =
    "Uploads results: run documents of perfci, or any format that it reads."
    "\vIn the repository of the commit, its history is uploaded too. "
    "Pushing a file twice changes nothing.\n"
    "\n"
    "With --store the results go into a store at their commits, also in the middle of its history; "
    "regressions that they show are put on record.\n"
    "\n"
    "Examples:\n"
    "  perfci push run.json\n"
    "  perfci push --commit v1.2 --project kernels google-benchmark.json\n"
    "  perfci push --create --project new-one run.json\n"
    "  perfci push --store branch:perfci-data --commit v1.2 old.json\n";

static error_t parse_push(int key, char *arg, struct argp_state *state)
{
    push_opts *o = state->input;

    return pfc_upload_parse(key, arg, state, &o->up);
}

static int cmd_push(pfc_cli *cli, int argc, char **argv)
{
    push_opts o = { 0 };
    pfc_err err = { 0 };

    pfc_cli_parse(cli, &pfc_cmd_push, argc, argv, &o);
    if (o.up.store && o.up.url)
        pfc_cli_usage(NULL, "--store and --url exclude each other");
    if (o.up.remote && !o.up.store)
        pfc_cli_usage(NULL, "--store-remote: expected --store branch:NAME with it");
    if (pfc_upload_files(cli, &o.up, &(pfc_import_opts){ .format = o.format }, &err))
        return pfc_cli_fail(cli, &err);
    return PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_push = {
    .name = "push",
    .summary = "upload results, also of other tools",
    .run = cmd_push,
    .options = push_options,
    .parse = parse_push,
    .args_doc = "FILE...",
    .doc = push_doc,
};
