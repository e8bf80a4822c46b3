/*
 * perfci comment: tells a pull request what a comparison found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/compare/compare.h"
#include "cli/output/output.h"
#include "core/base/config/conf.h"
#include "core/base/fs.h"
#include "core/base/parse.h"
#include "core/comment/comment.h"
#include "core/forge/provider.h"

enum { COMPARISON_MAX_BYTES = 16 * 1024 * 1024 };

typedef struct comment_opts {
    const char *file, *forge, *repo, *token_file, *api, *key, *link;
    pfc_forge_kind kind;
    int64_t number;
    bool dry_run, exit_status;
} comment_opts;

static const pfc_option comment_options[] = {
    PFC_OPT_TEXT("forge", "NAME", comment_opts, forge, "github, gitlab or gitea (also for Forgejo)",
                 .fallback = "gitlab in a job of GitLab, else github"),
    PFC_OPT_TEXT("repo", "OWNER/NAME", comment_opts, repo, "The repository; GitLab: GROUP/NAME",
                 .fallback = "GITHUB_REPOSITORY or CI_PROJECT_PATH"),
    PFC_OPT_INTEGER("pr", "N", comment_opts, number, 1, INT32_MAX,
                    "Number of the pull request or merge request",
                    .fallback = "CI_MERGE_REQUEST_IID"),
    PFC_OPT_TEXT("token-file", "F", comment_opts, token_file, "File with the token",
                 .fallback = "GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN, or ..._TOKEN_FILE"),
    PFC_OPT_TEXT("api-url", "U", comment_opts, api, "Root of the API",
                 .fallback = "GITHUB_API_URL or CI_API_V4_URL, else the public one"),
    PFC_OPT_TEXT("key", "NAME", comment_opts, key,
                 "Tells several comments of one pull request apart"),
    PFC_OPT_TEXT("link", "U", comment_opts, link, "Where the comparison can be seen"),
    PFC_OPT_FLAG("exit-status", comment_opts, exit_status,
                 "Exit as the comparison's own command did: 1 regression, 3 not decided, 4 broken"),
    PFC_OPT_FLAG("dry-run", comment_opts, dry_run, "Print the comment and post nothing"),
    { 0 },
};

static const char comment_doc[] =
    "Writes a comparison as the one comment of a pull request, verdict first."
    "\vFILE is what `perfci compare --json` or `check --json` printed (default: standard input). "
    "The "
    "comment that is there already is edited, found by an invisible marker.\n"
    "\n"
    "Examples:\n"
    "  perfci check --json | perfci comment --exit-status --repo me/kernels --pr 12\n"
    "  perfci comment --dry-run comparison.json\n";

static error_t parse_comment(int key, char *arg, struct argp_state *state)
{
    comment_opts *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (o->file)
            pfc_cli_usage(state, "one FILE at a time, got \"%s\", too", arg);
        o->file = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Where a job of each forge says what the flags say, too. */
static const struct {
    const char *repo, *api, *token;
} environment[] = {
    [PFC_FORGE_GITHUB] = { "GITHUB_REPOSITORY", "GITHUB_API_URL", "GITHUB_TOKEN" },
    [PFC_FORGE_GITLAB] = { "CI_PROJECT_PATH", "CI_API_V4_URL", "GITLAB_TOKEN" },
    [PFC_FORGE_GITEA] = { "GITHUB_REPOSITORY", "GITHUB_API_URL", "GITEA_TOKEN" },
};

static pfc_code check_opts(const comment_opts *o, pfc_err *err)
{
    if (o->link && !pfc_comment_is_link(o->link))
        return pfc_err_set(err, PFC_EINVAL, "--link: expected http(s)://..., got \"%.100s\"",
                           o->link);
    if (!pfc_is_slug(o->key))
        return pfc_err_set(err, PFC_EINVAL,
                           "--key: expected lower-case letters, digits, '.', '_', '-'");
    if (o->dry_run)
        return PFC_OK;
    if (!o->repo || !pfc_forge_is_repo(o->kind, o->repo))
        return pfc_err_set(err, PFC_EINVAL, "--repo: expected OWNER/NAME, got \"%.100s\"",
                           o->repo ? o->repo : "");
    if (!o->number)
        return pfc_err_set(err, PFC_EINVAL, "--pr: expected the number of the pull request");
    return PFC_OK;
}

static pfc_code read_comparison(const char *file, pfc_cmp *out, pfc_err *err)
{
    char *text = NULL;
    json_t *doc = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(file, COMPARISON_MAX_BYTES, &text, &len, err);

    if (!code)
        code = pfc_json_parse(text, len, &doc, err);
    if (!code)
        code = pfc_cmp_from_document(doc, out, err);
    if (code)
        pfc_err_wrap(err, "%.200s", pfc_streq(file, "-") ? "standard input" : file);
    json_decref(doc);
    free(text);
    return code;
}

static pfc_code read_token(const comment_opts *o, char **out, pfc_err *err)
{
    const char *name = environment[o->kind].token;
    pfc_code code;

    if (o->token_file)
        return pfc_conf_secret_file(o->token_file, out, err) ? pfc_err_wrap(err, "--token-file")
                                                             : PFC_OK;
    code = pfc_conf_secret(name, out, err);
    if (code == PFC_ENOTFOUND)
        return pfc_err_set(err, PFC_EINVAL, "no token: set %s, %s_FILE, or --token-file", name,
                           name);
    return code;
}

static pfc_code post(const pfc_cli *cli, const comment_opts *o, const char *body, pfc_err *err)
{
    pfc_forge_opts opts = { .kind = o->kind, .api_url = o->api };
    pfc_forge *forge = NULL;
    pfc_forge_comment put = { 0 };
    char *token = NULL;
    pfc_code code = read_token(o, &token, err);

    opts.token = token;
    if (!code)
        code = pfc_forge_open(&opts, &forge, err);
    if (!code)
        code = pfc_forge_comment_put(forge, o->repo, o->number, o->key, 0, body, &put, err);
    if (!code && cli->json)
        pfc_cli_print_json(json_pack("{s:b,s:s?,s:I}", "created", put.created, "url", put.url, "id",
                                     (json_int_t)put.id));
    else if (!code)
        pfc_out("%s %s\n", put.created ? "created" : "edited", put.url ? put.url : "the comment");
    pfc_forge_close(forge);
    free(put.url);
    free(token);
    return code;
}

/* The forge, and what a job of it says. */
static pfc_code complete_opts(comment_opts *o, pfc_err *err)
{
    const char *name = o->forge ? o->forge : getenv("GITLAB_CI") ? "gitlab" : "github";
    const char *number = getenv("CI_MERGE_REQUEST_IID");
    pfc_code code = pfc_forge_kind_parse(name, &o->kind, err);

    if (code)
        return pfc_err_wrap(err, "--forge");
    o->repo = pfc_conf_pick(o->repo, environment[o->kind].repo, NULL, NULL);
    o->api = pfc_conf_pick(o->api, environment[o->kind].api, NULL, NULL);
    if (!o->number && o->kind == PFC_FORGE_GITLAB && number)
        code = pfc_parse_i64(number, 1, INT32_MAX, "CI_MERGE_REQUEST_IID", &o->number, err);
    return code;
}

/* Where a commit's page is, with the id left out; NULL: not known. */
static char *commit_page(const comment_opts *o)
{
    const char *project = getenv("CI_PROJECT_URL"), *server = getenv("GITHUB_SERVER_URL");

    if (o->kind == PFC_FORGE_GITLAB)
        return project ? pfc_format("%s/-/commit/", project) : NULL;
    if (!server && o->kind == PFC_FORGE_GITHUB && !o->api)
        server = "https://github.com";
    return server && o->repo ? pfc_format("%s/%s/commit/", server, o->repo) : NULL;
}

static int cmd_comment(pfc_cli *cli, int argc, char **argv)
{
    comment_opts o = { .key = "pull-request" };
    pfc_cmp cmp = { 0 };
    int status = PFC_EXIT_OK;
    char *commit_url = NULL;
    pfc_buf body;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_comment, argc, argv, &o);
    pfc_buf_init(&body, 65536);
    code = complete_opts(&o, &err);
    if (!code)
        code = check_opts(&o, &err);
    if (!code)
        commit_url = commit_page(&o);
    if (!code)
        code = read_comparison(o.file ? o.file : "-", &cmp, &err);
    if (!code) {
        pfc_comment_markdown(
            &cmp, &(pfc_comment_opts){ .key = o.key, .link = o.link, .commit_url = commit_url },
            &body);
        code = pfc_buf_check(&body, "the comment", &err);
    }
    if (!code && o.dry_run && cli->json)
        pfc_cli_print_json(json_pack("{s:s}", "body", pfc_buf_text(&body)));
    else if (!code && o.dry_run)
        pfc_out("%s", pfc_buf_text(&body));
    else if (!code)
        code = post(cli, &o, pfc_buf_text(&body), &err);
    if (o.exit_status)
        status = pfc_cmp_exit(&cmp);
    free(commit_url);
    pfc_buf_clear(&body);
    pfc_cmp_clear(&cmp);
    return code ? pfc_cli_fail(cli, &err) : status;
}

const pfc_subcommand pfc_cmd_comment = {
    .name = "comment",
    .summary = "post a comparison as a comment on a pull request",
    .run = cmd_comment,
    .options = comment_options,
    .parse = parse_comment,
    .args_doc = "[FILE]",
    .doc = comment_doc,
};
