/*
 * perfci triage: decisions about the regressions on record in a store, where there is no service.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/service/browse.h"
#include "cli/store/publish.h"
#include "core/base/parse.h"

typedef struct triage_opts {
    const char *store, *remote, *reason, *project, *branch;
    pfc_browse_words words; /* the verb, and the number */
} triage_opts;

static const pfc_option triage_options[] = {
    PFC_OPT_TEXT("store", "S", triage_opts, store, "The store: a folder, or branch:NAME"),
    PFC_OPT_TEXT("store-remote", "R", triage_opts, remote,
                 "With --store branch:NAME: join the branch of this remote before, and push after"),
    PFC_OPT_TEXT("reason", "TEXT", triage_opts, reason, "Why; stays in the store, and on its page"),
    PFC_OPT_TEXT("branch", "B", triage_opts, branch,
                 "The history of this branch orders the commits",
                 .fallback = "that of perfci.yaml, else the present one"),
    PFC_OPT_TEXT("project", "P", triage_opts, project, "Its name on the page",
                 .fallback = "that of perfci.yaml, else the folder's name"),
    { 0 },
};

static const char triage_doc[] =
    "Lists the regressions on record in a store, or decides about one of them. It then no longer "
    "counts as open, in the nights that follow and on the page. `perfci alerts` does the same in a "
    "service."
    "\v"
    "`accept`: the new level is right. `noise`: nothing changed. `fixed`: a later commit repaired "
    "it; when it becomes worse again, that is a new regression. `reopen` takes a decision back. "
    "Decisions are files that are only added: the newest one counts, also when two machines "
    "decide.\n"
    "\n"
    "Examples:\n"
    "  perfci triage --store branch:perfci-data\n"
    "  perfci triage --store branch:perfci-data accept 3 --reason 'agreed in #81'\n"
    "  perfci triage --store ../history noise 4 --reason 'the machine was busy'\n";

static error_t parse_triage(int key, char *arg, struct argp_state *state)
{
    triage_opts *o = state->input;

    if (key == ARGP_KEY_END && !o->store)
        pfc_cli_usage(state, "expected --store; \"perfci alerts\" is for a service");
    if (key != ARGP_KEY_ARG)
        return key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
    if (o->words.len == PFC_ARRAY_LEN(o->words.items))
        pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
    o->words.items[o->words.len++] = arg;
    return 0;
}

/* The files and tables that are open while the command runs. */
typedef struct triaging {
    const pfc_cli *cli;
    const triage_opts *opts;
    pfc_conf conf;
    pfc_repo *repo;
    pfc_store *store;
    pfc_store_history history;
    pfc_commit_id *line;
    size_t line_len;
    char *project, *branch;
} triaging;

static pfc_code begin(triaging *t, pfc_err *err)
{
    const triage_opts *o = t->opts;
    pfc_code code = pfc_conf_find(".", &t->conf, err);

    if (!code)
        code = pfc_repo_open(".", &t->repo, err);
    if (code)
        return code;
    t->branch = pfc_repo_branch(t->repo);
    code = pfc_api_project(o->project, &t->conf, pfc_repo_root(t->repo), &t->project, err);
    if (!code)
        code = pfc_store_open(o->store, t->repo, &t->store, err);
    if (!code && o->remote)
        code = pfc_store_pull(t->store, o->remote, err);
    if (!code)
        code = pfc_store_read_all(t->cli, t->store, t->repo,
                                  o->branch        ? o->branch
                                  : t->conf.branch ? t->conf.branch
                                  : t->branch      ? t->branch
                                                   : "HEAD",
                                  &t->history, &t->line, &t->line_len, err);
    return code;
}

static void end(triaging *t)
{
    pfc_store_history_clear(&t->history);
    pfc_store_close(t->store);
    pfc_repo_close(t->repo);
    pfc_conf_clear(&t->conf);
    free(t->line);
    free(t->project);
    free(t->branch);
}

/* ---- decisions ---- */

static const char *const verbs[] = { "accept", "noise", "fixed", "reopen", NULL };
static const char *const states[] = { "accepted", "noise", "fixed", "open" };

static pfc_code read_words(const triage_opts *o, size_t *verb, int64_t *id, pfc_err *err)
{
    *verb = 0;
    while (verbs[*verb] && strcmp(verbs[*verb], o->words.items[0]) != 0)
        ++*verb;
    if (!verbs[*verb])
        return pfc_browse_unknown("", o->words.items[0], verbs, err);
    if (!o->words.items[1])
        return pfc_err_set(err, PFC_EINVAL, "%s: expected the regression's number", verbs[*verb]);
    if (!o->reason || !*o->reason)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected --reason TEXT", verbs[*verb]);
    return pfc_parse_i64(o->words.items[1], 1, INT64_MAX, "the regression's number", id, err);
}

static pfc_code find(const triaging *t, int64_t id, const json_t **out, pfc_err *err)
{
    for (size_t i = 0; i < json_array_size(t->history.alerts); i++) {
        *out = json_array_get(t->history.alerts, i);
        if (json_integer_value(json_object_get(*out, "id")) == id)
            return PFC_OK;
    }
    (void)pfc_err_set(err, PFC_ENOTFOUND, "no regression %lld is on record in %.200s",
                      (long long)id, pfc_store_name(t->store));
    return pfc_err_hint(err, "\"perfci triage --store %.200s\" lists them", t->opts->store);
}

static pfc_code publish(triaging *t, const char *verb, int64_t id, pfc_err *err)
{
    char *message = pfc_format("perfci triage: %s %lld", verb, (long long)id);
    const pfc_store_publishing what = { .store = t->store,
                                        .history = &t->history,
                                        .line = t->line,
                                        .line_len = t->line_len,
                                        .project = t->project,
                                        .message = message,
                                        .remote = t->opts->remote };
    pfc_err why = { 0 };
    bool sent = true;
    pfc_code code = pfc_store_publish_all(&what, &sent, &why, err);

    free(message);
    if (!code && !sent) {
        *err = why;
        code = why.code;
    }
    return code;
}

static pfc_code decide(triaging *t, pfc_err *err)
{
    const char *user = getenv("USER");
    const json_t *alert = NULL;
    int64_t id = 0;
    size_t verb = 0;
    pfc_code code = read_words(t->opts, &verb, &id, err);

    if (!code)
        code = begin(t, err);
    if (!code)
        code = find(t, id, &alert, err);
    if (!code)
        code = pfc_store_triage_put(t->store, &t->history, alert, states[verb], t->opts->reason,
                                    user ? user : "", err);
    return code ? code : publish(t, verbs[verb], id, err);
}

/* ---- the list ---- */

static void show(const triaging *t)
{
    static const pfc_browse_col cols[] = {
        { "NUMBER", "id", PFC_BROWSE_ID },       { "BENCHMARK", "benchmark", PFC_BROWSE_TEXT },
        { "METRIC", "metric", PFC_BROWSE_TEXT }, { "COMMIT", "commit", PFC_BROWSE_ID },
        { "EFFECT", NULL, PFC_BROWSE_EFFECT },   { "STATE", "state", PFC_BROWSE_TEXT },
        { "REASON", "reason", PFC_BROWSE_TEXT },
    };
    json_t *standing = pfc_store_standing(&t->history), *list = json_array();

    for (size_t i = 0; i < json_array_size(t->history.alerts); i++) {
        json_t *one = json_deep_copy(json_array_get(t->history.alerts, i));
        const json_t *triage = json_object_get(one, "triage");

        json_object_set_new(one, "state",
                            triage ? json_incref(json_object_get(triage, "state"))
                                   : json_string("open"));
        if (triage)
            json_object_set(one, "reason", json_object_get(triage, "reason"));
        json_array_append_new(list, one);
    }
    if (t->cli->json) {
        pfc_cli_print_json(json_pack("{s:O, s:O}", "alerts", list, "standing", standing));
    } else {
        if (json_array_size(list) || t->cli->csv)
            pfc_browse_list(t->cli, cols, PFC_ARRAY_LEN(cols), true, list);
        pfc_cli_note(t->cli, "%s", pfc_browse_string(standing, "sentence"));
    }
    json_decref(list);
    json_decref(standing);
}

static int cmd_triage(pfc_cli *cli, int argc, char **argv)
{
    triage_opts o = { 0 };
    triaging t = { .cli = cli, .opts = &o };
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_triage, argc, argv, &o);
    code = o.words.len ? decide(&t, &err) : begin(&t, &err);
    if (!code)
        show(&t);
    end(&t);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_triage = {
    .name = "triage",
    .summary = "decide about the regressions in a store",
    .run = cmd_triage,
    .options = triage_options,
    .parse = parse_triage,
    .args_doc = "[accept N | noise N | fixed N | reopen N]",
    .doc = triage_doc,
};
