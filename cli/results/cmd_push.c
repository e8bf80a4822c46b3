/*
 * perfci push: uploads results, its own or other tools'.
 */
#include "cli/results/upload.h"

enum { KEY_FORMAT = 0x100 };

typedef struct push_opts {
    const char *format;
    pfc_upload_opts up;
} push_opts;

static const struct argp_option push_options[] = {
    { "format", KEY_FORMAT, "F", 0, "Format of the files (default auto: by content)", 0 },
    PFC_UPLOAD_OPTIONS(0),
    { 0 },
};

static const pfc_arg_field push_fields[] = {
    { KEY_FORMAT, PFC_ARG_TEXT, offsetof(push_opts, format), 0, 0 },
    PFC_UPLOAD_FIELDS(push_opts),
    { 0 },
};

static const char push_doc[] =
    "Uploads results: run documents of perfci, or any format that it reads."
    "\vThe commit and its history are told to the service, too, when this is its repository. "
    "Pushing a file twice changes nothing.\n"
    "\n"
    "Examples:\n"
    "  perfci push run.json\n"
    "  perfci push --commit v1.2 --project kernels google-benchmark.json\n"
    "  perfci push --create --project new-one run.json\n";

static error_t parse_push(int key, char *arg, struct argp_state *state)
{
    push_opts *o = state->input;

    return pfc_upload_parse(key, arg, state, &o->up);
}

int pfc_cmd_push(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { push_options, parse_push, "FILE...", push_doc, push_fields };
    push_opts o = { 0 };
    pfc_err err = { 0 };

    pfc_cli_parse(cli, &args, argc, argv, &o);
    if (pfc_upload_files(cli, &o.up, &(pfc_import_opts){ .format = o.format }, &err))
        return pfc_cli_fail(cli, &err);
    return PFC_EXIT_OK;
}
