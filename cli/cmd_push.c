/*
 * perfci push: uploads results, its own or other tools'.
 */
#include "cli/upload.h"

enum { KEY_FORMAT = 0x100, KEY_COMMIT, KEY_PROJECT, KEY_BRANCH, KEY_CLASS, KEY_URL, KEY_DATA };

typedef struct push_opts {
    const char *format;
    pfc_upload_opts up;
    char **files;
    size_t files_len;
} push_opts;

static const struct argp_option push_options[] = {
    { "format", KEY_FORMAT, "F", 0, "Format of the files (default auto: by content)", 0 },
    { "commit", KEY_COMMIT, "C", 0, "The commit that was measured (default HEAD)", 0 },
    { "project", KEY_PROJECT, "P", 0, "The project's name", 0 },
    { "branch", KEY_BRANCH, "B", 0, "The branch (default: the one checked out)", 0 },
    { "machine-class", KEY_CLASS, "M", 0, "For formats that do not say (default \"imported\")", 0 },
    { "url", KEY_URL, "U", 0, "The service", 0 },
    { "data", KEY_DATA, "DIR", 0, "Data folder of `perfci up`", 0 },
    { 0 },
};

static const pfc_arg_field push_fields[] = {
    { KEY_FORMAT, PFC_ARG_TEXT, offsetof(push_opts, format), 0, 0 },
    { KEY_COMMIT, PFC_ARG_TEXT, offsetof(push_opts, up.commit), 0, 0 },
    { KEY_PROJECT, PFC_ARG_TEXT, offsetof(push_opts, up.project), 0, 0 },
    { KEY_BRANCH, PFC_ARG_TEXT, offsetof(push_opts, up.branch), 0, 0 },
    { KEY_CLASS, PFC_ARG_TEXT, offsetof(push_opts, up.machine_class), 0, 0 },
    { KEY_URL, PFC_ARG_TEXT, offsetof(push_opts, up.url), 0, 0 },
    { KEY_DATA, PFC_ARG_TEXT, offsetof(push_opts, up.data), 0, 0 },
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
    switch (key) {
    case ARGP_KEY_ARGS:
        o->files = state->argv + state->next;
        o->files_len = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "want at least one FILE");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
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
    for (size_t i = 0; i < o.files_len && !code; i++)
        code = push_file(&o, &to, o.files[i], list, &err);
    if (code)
        status = pfc_cli_fail(cli, &err);
    pfc_upload_print(cli, list);
    pfc_upload_close(&to);
    return status;
}
