/*
 * perfci config: each effective setting and where it comes from.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"
#include "core/base/fs.h"

typedef struct config_opts {
    const char *url, *data;
    const char *word;
} config_opts;

static const pfc_option config_options[] = {
    PFC_SERVICE_OPTIONS(config_opts, ),
    { 0 },
};

static const char config_doc[] =
    "Shows each setting that commands use here, its value and where the value comes from: a flag, "
    "the environment, perfci.yaml, the user's own file, a file of the data folder, or the default. "
    "Of secrets it shows only where they come from."
    "\v"
    "Examples:\n"
    "  perfci config show\n"
    "  perfci config show --json\n";

static error_t parse_config(int key, char *arg, struct argp_state *state)
{
    config_opts *o = state->input;

    if (key == ARGP_KEY_NO_ARGS)
        pfc_cli_usage(state, "expected show");
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    if (o->word || strcmp(arg, "show") != 0)
        pfc_cli_usage(state, "expected show, got \"%s\"", arg);
    o->word = arg;
    return 0;
}

static void add(json_t *list, const char *name, const char *value, const char *from)
{
    json_array_append_new(list, json_pack("{s:s, s:s?, s:s}", "setting", name, "value", value,
                                          "from", value ? from : "not set"));
}

/* The first of flag, environment, perfci.yaml and what stands behind them. */
static void add_picked(json_t *list, const char *name, const char *flag, const char *env,
                       const char *yaml, const char *file, const char *fallback)
{
    const char *set = env ? getenv(env) : NULL;

    if (flag)
        add(list, name, flag, "flag");
    else if (set && *set)
        add(list, name, set, env);
    else if (yaml)
        add(list, name, yaml, file);
    else
        add(list, name, fallback, "default");
}

static void add_server(json_t *list, const config_opts *o, const pfc_conf *conf, bool yaml_has)
{
    char *data = pfc_conf_data_dir(o->data);
    char *endpoint = pfc_fs_join(data, "endpoint.json");
    pfc_http *http = NULL;
    const char *env = getenv("PERFCI_URL");
    const char *from = "default";

    if (o->url)
        from = "flag";
    else if (o->data && pfc_fs_exists(endpoint))
        from = endpoint;
    else if (env && *env)
        from = "PERFCI_URL";
    else if (conf->server)
        from = yaml_has ? conf->path : "the user's config.yaml";
    else if (pfc_fs_exists(endpoint))
        from = endpoint;
    if (pfc_api_open(o->url, o->data, conf, &http, NULL) == PFC_OK)
        add(list, "server", pfc_http_url(http), from);
    else
        add(list, "server", NULL, from);
    pfc_http_free(http);
    add_picked(list, "data", o->data, "PERFCI_DATA", NULL, NULL, data);
    free(endpoint);
    free(data);
}

/* A secret is named by its place, never shown. */
static void add_secret(json_t *list, const char *name, const char *data)
{
    char *file_name = pfc_format("%s_FILE", name);
    const char *value = getenv(name), *file = getenv(file_name);
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");
    char *credential = credentials ? pfc_fs_join(credentials, name) : NULL;
    char *admin = data ? pfc_fs_join(data, "admin.token") : NULL;
    char *from = NULL;

    if (value && *value)
        from = pfc_format("%s", name);
    else if (file && *file)
        from = pfc_format("%s: %s", file_name, file);
    else if (credential && pfc_fs_exists(credential))
        from = pfc_format("%s", credential);
    else if (admin && pfc_fs_exists(admin))
        from = pfc_format("%s, for the service of that folder", admin);
    add(list, name, from ? "set" : NULL, from ? from : "");
    free(from);
    free(admin);
    free(credential);
    free(file_name);
}

static void add_globs(json_t *list, const char *key, char *const *globs, size_t len,
                      const pfc_conf *conf)
{
    char *all = pfc_strdup("");

    for (size_t i = 0; i < len; i++) {
        char *more = pfc_format("%s%s%s", all, i ? ", " : "", globs[i]);

        free(all);
        all = more;
    }
    add(list, key, *all ? all : NULL, conf->path);
    free(all);
}

static json_t *settings(const config_opts *o, const pfc_conf *conf, bool yaml_has_server)
{
    static const char *const networks[] = { "none", "branches", "all" };
    json_t *list = json_array();
    char *data = pfc_conf_data_dir(o->data);
    char timeout[32], number[32];

    add(list, "perfci.yaml", conf->path, "nearest upwards from here");
    add_server(list, o, conf, yaml_has_server);
    add_picked(list, "project", NULL, "PERFCI_PROJECT", conf->project, conf->path, NULL);
    add_picked(list, "branch", NULL, NULL, conf->branch, conf->path, NULL);
    add_picked(list, "build", NULL, NULL, conf->build, conf->path, NULL);
    add_picked(list, "measure", NULL, NULL, conf->measure, conf->path, NULL);
    add_picked(list, "suite", NULL, NULL, conf->suite, conf->path, NULL);
    add_picked(list, "relink", NULL, NULL, conf->relink, conf->path, NULL);
    add_picked(list, "metric", NULL, NULL, conf->metric, conf->path, NULL);
    add_picked(list, "unit", NULL, NULL, conf->unit, conf->path, NULL);
    add(list, "better",
        !conf->has_better        ? NULL
        : conf->higher_is_better ? "higher"
                                 : "lower",
        conf->path);
    add_globs(list, "paths", conf->paths, conf->paths_len, conf);
    add_picked(list, "anchor", NULL, NULL, conf->anchor, conf->path, NULL);
    pfc_show_seconds(conf->budget_s > 0 ? conf->budget_s : PFC_NIGHT_BUDGET_S, number);
    add(list, "budget", number, conf->budget_s > 0 ? conf->path : "default");
    (void)snprintf(number, sizeof(number), "%g",
                   conf->margin > 0 ? conf->margin : PFC_NIGHT_MARGIN);
    add(list, "margin", number, conf->margin > 0 ? conf->path : "default");
    add_globs(list, "runtime_files", conf->runtime_files, conf->runtime_files_len, conf);
    (void)snprintf(timeout, sizeof(timeout), "%g s", conf->timeout_s);
    add(list, "timeout", timeout, conf->timeout_s != 600 ? conf->path : "default");
    add(list, "build_network", networks[conf->build_network],
        conf->build_network != PFC_BUILD_NETWORK_NONE ? conf->path : "default");
    add_secret(list, "PERFCI_TOKEN", data);
    add_secret(list, "PERFCI_DATABASE_URL", NULL);
    add_secret(list, "PERFCI_DATABASE_READ_URL", NULL);
    free(data);
    return list;
}

static int cmd_config(pfc_cli *cli, int argc, char **argv)
{
    static const pfc_browse_col cols[] = {
        { "SETTING", "setting", PFC_BROWSE_TEXT },
        { "VALUE", "value", PFC_BROWSE_TEXT },
        { "FROM", "from", PFC_BROWSE_TEXT },
    };
    config_opts o = { 0 };
    pfc_conf conf = { 0 }, yaml = { 0 };
    char *text = NULL;
    size_t len = 0;
    json_t *list;
    bool yaml_has_server = false;
    pfc_err err = { 0 };

    pfc_cli_parse(cli, &pfc_cmd_config, argc, argv, &o);
    if (pfc_conf_find(".", &conf, &err))
        return pfc_cli_fail(cli, &err);
    /* The user's file fills in the server of `conf`; the project's file alone says which of both it
     * was. */
    if (conf.path && !pfc_fs_read(conf.path, PFC_CONF_MAX_BYTES, &text, &len, NULL) &&
        !pfc_conf_parse(text, len, conf.path, &yaml, NULL))
        yaml_has_server = yaml.server != NULL;
    list = settings(&o, &conf, yaml_has_server);
    if (cli->json)
        pfc_cli_print_json(json_pack("{s:O}", "settings", list));
    else
        pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), true, list);
    json_decref(list);
    free(text);
    pfc_conf_clear(&yaml);
    pfc_conf_clear(&conf);
    return PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_config = {
    .name = "config",
    .summary = "show: each setting and where it comes from",
    .run = cmd_config,
    .options = config_options,
    .parse = parse_config,
    .args_doc = "show",
    .doc = config_doc,
};
