/*
 * perfci project: makes, lists, links and deletes the projects of a service.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"
#include "cli/service/project_forge.h"
#include "cli/service/project_owners.h"
#include "core/base/parse.h"

typedef struct project_opts {
    const char *branch, *repo_url, *file, *url, *data;
    pfc_project_forge forge;
    pfc_browse_words words; /* the verb, and the project */
    bool yes;
} project_opts;

static const char *const forges[] = { "github", "gitlab", "gitea", "forgejo", "none", NULL };
static const char *const policies[] = { "always", "on_change", "on_regression", NULL };

static const pfc_option project_options[] = {
    PFC_OPT_TEXT("branch", "B", project_opts, branch, "Its main branch", .fallback = "main"),
    PFC_OPT_TEXT("repo-url", "U", project_opts, repo_url,
                 "Where its repository is; with set: from now on, none: nowhere"),
    PFC_OPT_WORD("forge", "F", forges, project_opts, forge.forge,
                 "With set: where pull requests are; none: they are no longer measured"),
    PFC_OPT_TEXT("repo", "R", project_opts, forge.repo, "With set: OWNER/NAME at the forge"),
    PFC_OPT_WORD("policy", "P", policies, project_opts, forge.policy,
                 "With set: when a comment is written", .fallback = "on_change"),
    PFC_OPT_SECONDS("budget", "T", project_opts, forge.budget_s,
                    "With set: measuring time of one push", .fallback = "5m"),
    PFC_OPT_SECONDS("patience", "T", project_opts, forge.patience_s,
                    "With set: without a verdict, the check is neutral after it", .fallback = "1h"),
    PFC_OPT_TEXT("machine-class", "C", project_opts, forge.machine_class,
                 "With set: the machines that measure pull requests", .fallback = "any"),
    PFC_OPT_TEXT("file", "FILE", project_opts, file,
                 "With owners: replace the rules by those of the file"),
    PFC_OPT_FLAG("yes", project_opts, yes, "Delete without typing the name"),
    PFC_SERVICE_OPTIONS(project_opts, ),
    { 0 },
};

static const char project_doc[] =
    "Makes, lists, links and deletes the projects of the service."
    "\v"
    "`set` links a project to a repository of a forge, whose webhooks then have its pull requests "
    "measured; options that are not given stay as they are. With --repo-url it registers another "
    "repository to build from; results of the old one stay. `pulls` lists the open ones.\n"
    "\n"
    "`owners` shows or replaces the rules that say who owns benchmarks and files: lines `PATTERN "
    "OWNER...`, where a pattern is benchmark:GLOB, kernel:GLOB or one of paths as in CODEOWNERS. "
    "The last one that matches counts.\n"
    "\n"
    "`delete` removes the project with its commits, runs, series, alerts, jobs and tokens. It asks "
    "for the name again, or requires --yes. While jobs of the project run it does nothing. The "
    "audit "
    "log keeps its entries.\n"
    "\n"
    "Examples:\n"
    "  perfci project create kernels --branch main --repo-url https://example.org/k.git\n"
    "  perfci project list --json\n"
    "  perfci project set kernels --forge github --repo me/kernels\n"
    "  perfci project set kernels --repo-url https://example.org/moved.git\n"
    "  perfci project pulls kernels\n"
    "  perfci project owners kernels --file owners.txt\n"
    "  perfci project delete old-kernels --yes\n";

static error_t parse_project(int key, char *arg, struct argp_state *state)
{
    project_opts *o = state->input;

    return pfc_browse_parse_words(key, arg, state, &o->words,
                                  "expected create NAME, list, set NAME, pulls NAME, owners NAME "
                                  "or delete NAME");
}

static pfc_code create(const pfc_cli *cli, const project_opts *o, pfc_http *http, pfc_err *err)
{
    json_t *body = NULL;
    json_t *answer = NULL;
    int status = 0;
    pfc_code code;

    if (!o->words.items[1] || !pfc_is_slug(o->words.items[1]))
        return pfc_err_set(
            err, PFC_EINVAL,
            "expected the project's name: lower-case letters, digits, '.', '_', '-'");
    body = json_pack("{s:s}", "name", o->words.items[1]);
    if (o->branch)
        json_object_set_new(body, "branch", json_string(o->branch));
    if (o->repo_url)
        json_object_set_new(body, "repo_url", json_string(o->repo_url));
    code = pfc_http_json(http, "POST", "/api/v1/projects", body, &status, &answer, err);
    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code)
        pfc_out("project %s %s\n", o->words.items[1], status == 201 ? "made" : "was there already");
    json_decref(answer);
    json_decref(body);
    return code;
}

static pfc_code list(const pfc_cli *cli, pfc_http *http, pfc_err *err)
{
    static const pfc_browse_col cols[] = {
        { "PROJECT", "name", PFC_BROWSE_TEXT },
        { "BRANCH", "branch", PFC_BROWSE_TEXT },
        { "COMMITS", "commits", PFC_BROWSE_ID },
        { "RUNS", "runs", PFC_BROWSE_ID },
        { "ALERTS", "alerts_open", PFC_BROWSE_ID },
        { "LAST RUN (UTC)", "last_run_at", PFC_BROWSE_WHEN },
    };
    json_t *answer = NULL;
    pfc_code code =
        pfc_http_json(http, "GET", "/api/v1/projects?limit=1000", NULL, NULL, &answer, err);

    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code)
        pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), false, json_object_get(answer, "projects"));
    json_decref(answer);
    return code;
}

/* ---- delete ---- */

static pfc_code confirm(const char *name, pfc_err *err)
{
    char typed[80] = "";

    if (!isatty(STDIN_FILENO)) {
        (void)pfc_err_set(err, PFC_EINVAL, "deleting project \"%.63s\" needs --yes", name);
        return pfc_err_hint(err, "add --yes, or type the name on a terminal");
    }
    pfc_out_err("This removes project %s with all its runs and alerts. Type its name: ", name);
    if (!fgets(typed, sizeof(typed), stdin))
        typed[0] = '\0';
    typed[strcspn(typed, "\r\n")] = '\0';
    if (strcmp(typed, name) != 0)
        return pfc_err_set(err, PFC_EINVAL, "expected \"%.63s\", got \"%.63s\": nothing is deleted",
                           name, typed);
    return PFC_OK;
}

static pfc_code remove_project(const pfc_cli *cli, const project_opts *o, pfc_http *http,
                               pfc_err *err)
{
    char *rest = o->words.items[1] ? pfc_strdup(o->words.items[1]) : NULL;
    int64_t rows = 0;
    pfc_code code = PFC_OK;

    if (!rest || !pfc_is_slug(rest))
        code = pfc_err_set(err, PFC_EINVAL, "expected the name of the project to delete");
    if (!code && !o->yes)
        code = confirm(rest, err);
    while (!code && rest) {
        char *path = pfc_format("/api/v1/projects/%s", rest);
        json_t *answer = NULL;

        code = pfc_http_json(http, "DELETE", path, NULL, NULL, &answer, err);
        rows += json_integer_value(json_object_get(answer, "rows"));
        free(rest);
        rest = pfc_strdup(json_string_value(json_object_get(answer, "rest")));
        if (rest)
            pfc_cli_progress(cli, "%lld rows removed", (long long)rows);
        json_decref(answer);
        free(path);
    }
    if (!code && cli->json)
        pfc_cli_print_json(
            json_pack("{s:s, s:I}", "deleted", o->words.items[1], "rows", (json_int_t)rows));
    else if (!code)
        pfc_out("project %s is deleted: %lld rows\n", o->words.items[1], (long long)rows);
    free(rest);
    return code;
}

static bool changes_link(const pfc_project_forge *f)
{
    return f->forge || f->repo || f->policy || f->machine_class || f->budget_s > 0 ||
           f->patience_s > 0;
}

/* `set`, `pulls` and `owners`. */
static pfc_code of_one(const pfc_cli *cli, const project_opts *o, pfc_http *http, pfc_err *err)
{
    const char *name = o->words.items[1];

    if (!name || !pfc_is_slug(name))
        return pfc_err_set(err, PFC_EINVAL, "expected the name of the project");
    if (strcmp(o->words.items[0], "pulls") == 0)
        return pfc_project_pulls(cli, http, name, err);
    if (strcmp(o->words.items[0], "owners") == 0)
        return pfc_project_owners(cli, http, name, o->file, err);
    if (o->repo_url) {
        const pfc_code code = pfc_project_move(cli, http, name, o->repo_url, err);

        if (code || !changes_link(&o->forge))
            return code;
    }
    return pfc_project_set(cli, http, name, &o->forge, err);
}

static int cmd_project(pfc_cli *cli, int argc, char **argv)
{
    static const char *const known[] = {
        "create", "list", "set", "pulls", "owners", "delete", NULL
    };
    project_opts o = { 0 };
    pfc_http *http = NULL;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_project, argc, argv, &o);
    code = pfc_api_open(o.url, o.data, NULL, &http, &err);
    if (!code && strcmp(o.words.items[0], "create") == 0)
        code = create(cli, &o, http, &err);
    else if (!code && strcmp(o.words.items[0], "list") == 0)
        code = list(cli, http, &err);
    else if (!code && strcmp(o.words.items[0], "delete") == 0)
        code = remove_project(cli, &o, http, &err);
    else if (!code &&
             (strcmp(o.words.items[0], "set") == 0 || strcmp(o.words.items[0], "pulls") == 0 ||
              strcmp(o.words.items[0], "owners") == 0))
        code = of_one(cli, &o, http, &err);
    else if (!code)
        code = pfc_browse_unknown("", o.words.items[0], known, &err);
    pfc_http_free(http);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_project = {
    .name = "project",
    .summary = "make, list, link and delete projects",
    .run = cmd_project,
    .options = project_options,
    .parse = parse_project,
    .args_doc = "create NAME | list | set NAME | pulls NAME | owners NAME | delete NAME",
    .doc = project_doc,
};
