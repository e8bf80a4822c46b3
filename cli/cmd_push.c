/*
 * perfci push: uploads results, its own or other tools'.
 */
#include "cli/upload.h"

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
    "  perfci push --commit v1.2 --project kernels google-benchmark.json\n";

static error_t parse_push(int key, char *arg, struct argp_state *state)
{
    push_opts *o = state->input;

    (void)arg;
    return pfc_upload_parse(key, state, &o->up);
}

static pfc_code push_file(const push_opts *o, pfc_upload *to, const char *file, json_t *list,
                          pfc_err *err)
{
    pfc_run *run = NULL;
    pfc_code code = pfc_take_file(file, o->format, &run, err);

    if (!code)
        code = pfc_upload_run(to, file, run, list, err);
    pfc_run_free(run);
    return code;
}

int pfc_cmd_push(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { push_options, parse_push, "FILE...", push_doc, push_fields };
    push_opts o = { 0 };
    pfc_upload to;
    json_t *list = json_array();
    pfc_err err = { 0 };
    int status = PFC_EXIT_OK;
    pfc_code code;

    pfc_cli_parse(cli, &args, argc, argv, &o);
    code = pfc_upload_open(&to, &o.up, &err);
    for (size_t i = 0; i < o.up.files_len && !code; i++)
        code = push_file(&o, &to, o.up.files[i], list, &err);
    if (code)
        status = pfc_cli_fail(cli, &err);
    pfc_upload_print(cli, list);
    pfc_upload_close(&to);
    return status;
}
