/* Webhooks: who signed them, and what each payload asks for. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/forge/webhook.h"

#include "tests/check/check.h"

static pfc_err err;

/* ---- what the payloads ask for ---- */

/* `file`: of tests/data/forge; the event is its name up to the first dot, where `event` is NULL.
 * `says`: the reason, or what the event names. */
static const struct {
    pfc_forge_kind forge;
    const char *file, *event;
    pfc_webhook_kind kind;
    const char *says;
} payloads[] = {
    { PFC_FORGE_GITHUB, "github/check_run.requested_action.json", NULL, PFC_WEBHOOK_CHECK_AGAIN,
      "electron/electron 5bd5f196a46b8222fb7484f05faba41a73cf34bd lgtm|26764 26764" },
    { PFC_FORGE_GITHUB, "github/check_run.rerequested.json", NULL, PFC_WEBHOOK_CHECK_AGAIN, NULL },
    { PFC_FORGE_GITHUB, "github/check_suite.requested.json", NULL, PFC_WEBHOOK_IGNORED,
      "a check suite was requested" },
    { PFC_FORGE_GITHUB, "github/installation.created.json", NULL, PFC_WEBHOOK_INSTALLED, NULL },
    { PFC_FORGE_GITHUB, "github/issue_comment.created-on-pr.derived.json", NULL,
      PFC_WEBHOOK_COMMENT,
      "Codertocat/Hello-World 2 Codertocat "
      "/perfci compare --metric gemm_tflops --base master" },
    { PFC_FORGE_GITHUB, "github/issue_comment.created.json", NULL, PFC_WEBHOOK_IGNORED,
      "a comment on an issue" },
    { PFC_FORGE_GITHUB, "github/ping.json", NULL, PFC_WEBHOOK_PING, NULL },
    { PFC_FORGE_GITHUB, "github/pull_request.closed.json", NULL, PFC_WEBHOOK_PULL_CLOSED, NULL },
    { PFC_FORGE_GITHUB, "github/pull_request.opened.json", NULL, PFC_WEBHOOK_PULL, NULL },
    { PFC_FORGE_GITHUB, "github/pull_request.synchronize.json", NULL, PFC_WEBHOOK_PULL, NULL },
    { PFC_FORGE_GITHUB, "github/push.branch-update.derived.json", NULL, PFC_WEBHOOK_PUSH, NULL },
    { PFC_FORGE_GITHUB, "github/push.json", NULL, PFC_WEBHOOK_IGNORED,
      "a tag was pushed or deleted" },
    { PFC_FORGE_GITHUB, "github/push.with-installation.json", NULL, PFC_WEBHOOK_IGNORED,
      "a tag was pushed or deleted" },
    { PFC_FORGE_GITHUB, "github/workflow_run.completed.with-pull-requests.json", NULL,
      PFC_WEBHOOK_IGNORED, "the event \"workflow_run\" asks for nothing" },
    { PFC_FORGE_GITLAB, "gitlab/push_hook.json", "Push Hook", PFC_WEBHOOK_PUSH,
      "team/sub/kernels feature/x jsmith" },
    { PFC_FORGE_GITLAB, "gitlab/push_hook.deleted.json", "Push Hook", PFC_WEBHOOK_IGNORED,
      "a branch was deleted" },
    { PFC_FORGE_GITLAB, "gitlab/tag_push_hook.json", "Tag Push Hook", PFC_WEBHOOK_IGNORED,
      "a tag was pushed or deleted" },
    { PFC_FORGE_GITLAB, "gitlab/merge_request_hook.open.json", "Merge Request Hook",
      PFC_WEBHOOK_PULL, "team/sub/kernels 7 same" },
    { PFC_FORGE_GITLAB, "gitlab/merge_request_hook.update-commits.json", "Merge Request Hook",
      PFC_WEBHOOK_PULL, "team/sub/kernels 7 same" },
    { PFC_FORGE_GITLAB, "gitlab/merge_request_hook.update-labels.json", "Merge Request Hook",
      PFC_WEBHOOK_IGNORED, "the merge request got the action \"update\"" },
    { PFC_FORGE_GITLAB, "gitlab/merge_request_hook.fork.json", "Merge Request Hook",
      PFC_WEBHOOK_PULL, "team/sub/kernels 7 fork jane/kernels" },
    { PFC_FORGE_GITLAB, "gitlab/merge_request_hook.draft.json", "Merge Request Hook",
      PFC_WEBHOOK_IGNORED, "the merge request is a draft" },
    { PFC_FORGE_GITLAB, "gitlab/merge_request_hook.merge.json", "Merge Request Hook",
      PFC_WEBHOOK_PULL_CLOSED, NULL },
    { PFC_FORGE_GITLAB, "gitlab/note_hook.json", "Note Hook", PFC_WEBHOOK_COMMENT,
      "team/sub/kernels 7 root /perfci bench gemm" },
    { PFC_FORGE_GITLAB, "gitlab/note_hook.commit.json", "Note Hook", PFC_WEBHOOK_IGNORED,
      "a comment on something else than a merge request" },
    { PFC_FORGE_GITLAB, "gitlab/note_hook.system.json", "Note Hook", PFC_WEBHOOK_IGNORED,
      "a note of GitLab itself" },
    { PFC_FORGE_GITLAB, "gitlab/pipeline_hook.json", "Pipeline Hook", PFC_WEBHOOK_IGNORED,
      "the event \"Pipeline Hook\" asks for nothing" },
    { PFC_FORGE_GITEA, "gitea/push.json", NULL, PFC_WEBHOOK_PUSH, "team/kernels main gitea" },
    { PFC_FORGE_GITEA, "gitea/pull_request.opened.json", NULL, PFC_WEBHOOK_PULL,
      "team/kernels 3 same" },
    { PFC_FORGE_GITEA, "gitea/pull_request_sync.json", NULL, PFC_WEBHOOK_PULL,
      "team/kernels 3 fork jane/kernels" },
    { PFC_FORGE_GITEA, "gitea/issue_comment.on-pr.json", NULL, PFC_WEBHOOK_COMMENT,
      "team/kernels 3 gitea /perfci why" },
    { PFC_FORGE_GITEA, "gitea/issue_comment.json", NULL, PFC_WEBHOOK_IGNORED,
      "a comment on an issue" },
    { PFC_FORGE_GITEA, "gitea/create.json", NULL, PFC_WEBHOOK_IGNORED,
      "the event \"create\" asks for nothing" },
};

static char *read_payload(const char *file, size_t *len)
{
    char *path = pfc_format("%s/forge/%s", PFC_TEST_DATA, file);
    char *text = NULL;

    cr_assert(eq(int, pfc_fs_read(path, PFC_WEBHOOK_MAX_BYTES, &text, len, &err), PFC_OK), "%s",
              err.msg);
    free(path);
    return text;
}

static char *what(const pfc_webhook *w)
{
    switch (w->kind) {
    case PFC_WEBHOOK_IGNORED:
        return pfc_strdup(w->why);
    case PFC_WEBHOOK_PUSH:
        return pfc_format("%s %s %s", w->repo, w->branch, w->sender);
    case PFC_WEBHOOK_PULL:
    case PFC_WEBHOOK_PULL_CLOSED:
        return pfc_format("%s %lld %s%s", w->repo, (long long)w->pull_number,
                          w->pull.fork ? "fork " : "same", w->pull.fork ? w->pull.head_repo : "");
    case PFC_WEBHOOK_COMMENT:
        return pfc_format("%s %lld %s %s", w->repo, (long long)w->pull_number, w->comment_author,
                          w->comment_body);
    case PFC_WEBHOOK_CHECK_AGAIN:
        return pfc_format("%s %s %s %lld", w->repo, w->commit, w->action ? w->action : "-",
                          (long long)w->pull_number);
    case PFC_WEBHOOK_PING:
    case PFC_WEBHOOK_INSTALLED:
        break;
    }
    return pfc_strdup("");
}

Test(webhook, each_payload_is_handled_or_ignored_on_purpose)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(payloads); i++) {
        const char *name = strchr(payloads[i].file, '/') + 1;
        char *event = payloads[i].event ? pfc_strdup(payloads[i].event)
                                        : pfc_strndup(name, strcspn(name, "."));
        size_t len = 0;
        char *text = read_payload(payloads[i].file, &len);
        pfc_webhook w;
        char *said;

        cr_assert(eq(int, pfc_webhook_parse(payloads[i].forge, event, text, len, &w, &err), PFC_OK),
                  "%s: %s", payloads[i].file, err.msg);
        cr_assert(eq(int, (int)w.kind, (int)payloads[i].kind), "%s", payloads[i].file);
        said = what(&w);
        if (payloads[i].says)
            cr_assert(eq(str, said, (char *)payloads[i].says), "%s", payloads[i].file);
        cr_assert(eq(int, w.why != NULL, w.kind == PFC_WEBHOOK_IGNORED));
        free(said);
        free(text);
        free(event);
        pfc_webhook_clear(&w);
    }
}

static int is_json(const struct dirent *entry)
{
    return strstr(entry->d_name, ".json") != NULL;
}

Test(webhook, the_table_names_every_payload)
{
    static const char *const folders[] = { "github", "gitlab", "gitea" };
    size_t found = 0;

    for (size_t f = 0; f < PFC_ARRAY_LEN(folders); f++) {
        char *path = pfc_format("%s/forge/%s", PFC_TEST_DATA, folders[f]);
        struct dirent **entries = NULL;
        const int count = scandir(path, &entries, is_json, alphasort);

        for (int i = 0; i < count; i++) {
            char *name = pfc_format("%s/%s", folders[f], entries[i]->d_name);
            bool listed = false;

            for (size_t k = 0; k < PFC_ARRAY_LEN(payloads); k++)
                listed |= strcmp(payloads[k].file, name) == 0;
            cr_assert(listed, "%s is in no row", name);
            found++;
            free(name);
            free(entries[i]);
        }
        free(entries);
        free(path);
    }
    cr_assert(eq(sz, found, PFC_ARRAY_LEN(payloads)));
}

static pfc_code parse(pfc_forge_kind forge, const char *event, const char *text, pfc_webhook *out)
{
    err = (pfc_err){ 0 };
    return pfc_webhook_parse(forge, event, text, strlen(text), out, &err);
}

Test(webhook, a_member_that_is_missing_or_wrong_is_named)
{
    static const struct {
        pfc_forge_kind forge;
        const char *event, *body, *field;
    } rows[] = {
        { PFC_FORGE_GITHUB, "push", "{}", "ref" },
        { PFC_FORGE_GITHUB, "push", "{\"ref\":\"refs/heads/\"}", "ref" },
        { PFC_FORGE_GITHUB, "push", "{\"ref\":\"refs/heads/a\",\"before\":\"x\"}", "before" },
        { PFC_FORGE_GITHUB, "issue_comment",
          "{\"action\":\"created\",\"is_pull\":true,\"issue\":{\"number\":-1}}", "issue.number" },
        { PFC_FORGE_GITHUB, "pull_request", "{\"action\":\"opened\",\"pull_request\":7}",
          "pull_request.number" },
        { PFC_FORGE_GITHUB, "installation", "{\"action\":\"created\"}", "installation.id" },
        { PFC_FORGE_GITHUB, "star", "{\"repository\":{\"full_name\":\"../x\"}}",
          "repository.full_name" },
        { PFC_FORGE_GITLAB, "Merge Request Hook", "{\"object_attributes\":{\"action\":\"open\"}}",
          "object_attributes.last_commit.id" },
        { PFC_FORGE_GITLAB, "Note Hook",
          "{\"object_attributes\":{\"noteable_type\":\"MergeRequest\"}}", "merge_request.iid" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_webhook w;

        cr_assert(eq(int, parse(rows[i].forge, rows[i].event, rows[i].body, &w), PFC_EINVAL),
                  "row %zu", i);
        cr_assert(eq(str, err.field, (char *)rows[i].field), "row %zu: %s", i, err.msg);
        pfc_webhook_clear(&w);
    }
}

Test(webhook, what_is_no_object_is_refused)
{
    static const char *const bodies[] = { "", "{", "[]", "7", "{\"a\":1,\"a\":2}", "{\"ref\":" };
    pfc_webhook w;

    for (size_t i = 0; i < PFC_ARRAY_LEN(bodies); i++)
        cr_assert(eq(int, parse(PFC_FORGE_GITHUB, "push", bodies[i], &w), PFC_EINVAL), "%zu", i);
    cr_assert(eq(int, parse(PFC_FORGE_GITHUB, NULL, "{}", &w), PFC_EINVAL));
    cr_assert(eq(
        int, pfc_webhook_parse(PFC_FORGE_GITHUB, "push", "", PFC_WEBHOOK_MAX_BYTES + 1, &w, &err),
        PFC_ETOOBIG));
}

/* A body cut anywhere is refused, never read in part. */
Test(webhook, a_truncated_payload_is_refused)
{
    size_t len = 0;
    char *text = read_payload("github/pull_request.opened.json", &len);

    while (len > 0 && text[len - 1] != '}')
        len--;
    for (size_t cut = 0; cut < len; cut += 97) {
        pfc_webhook w;

        cr_assert(eq(int, pfc_webhook_parse(PFC_FORGE_GITHUB, "pull_request", text, cut, &w, &err),
                     PFC_EINVAL));
        pfc_webhook_clear(&w);
    }
    free(text);
}

Test(webhook, bots_are_recognised)
{
    pfc_webhook w;

#define PUSH                                                                                       \
    "{\"ref\":\"refs/heads/m\",\"before\":\"0000000000000000000000000000000000000000\","           \
    "\"after\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
    cr_assert(eq(int,
                 parse(PFC_FORGE_GITHUB, "push",
                       PUSH "\"repository\":{\"full_name\":\"a/b\",\"clone_url\":\"http://a/b\"},"
                            "\"sender\":{\"login\":\"x[bot]\",\"type\":\"Bot\"}}",
                       &w),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(w.sender_is_bot && !w.before && !w.repo_url);
    pfc_webhook_clear(&w);
    for (int bot = 0; bot < 2; bot++) {
        char *body =
            pfc_format(PUSH "\"user_username\":\"%s\",\"project\":{\"path_with_namespace\":"
                            "\"a/b\"}}",
                       bot ? "group_1_bot" : "project_x_bot");

        cr_assert(eq(int, parse(PFC_FORGE_GITLAB, "Push Hook", body, &w), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, w.sender_is_bot, bot));
        pfc_webhook_clear(&w);
        free(body);
    }
}

/* ---- signatures ---- */

#define SECRET         "It's a Secret to Everybody"
#define BODY           "Hello, World!"
/* GitHub's documentation, "Validating webhook deliveries". */
#define HEX            "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
#define NOW            1800000000
/* printf 'd1.1800000000.Hello, World!' | openssl dgst -sha256 -hmac "It's a Secret to Everybody"
 *   -binary | base64 */
#define STANDARD       "6/g7QaOXXQ61yLakqJzfBoqH5V+prTjKPj1UzIBF1+U="
/* The same under the key "perfci-test-key-of-32-bytes-1234", whose base64 is the secret. */
#define WHSEC          "whsec_cGVyZmNpLXRlc3Qta2V5LW9mLTMyLWJ5dGVzLTEyMzQ="
#define STANDARD_WHSEC "TrS4NFjOIZjg6u/BgOPbG5pFZ2wuW1HWRzsQ1KUnQqI="

static pfc_code verify(pfc_forge_kind kind, pfc_webhook_headers h, const char *secret)
{
    const char *const secrets[] = { "another, older one", secret };

    if (!h.content_type)
        h.content_type = "application/json";
    if (!h.delivery)
        h.delivery = "d1";
    return pfc_webhook_verify(kind, &h, BODY, strlen(BODY), secrets, 2, NOW, &err);
}

Test(webhook, only_the_right_signature_is_accepted)
{
    static const struct {
        pfc_forge_kind kind;
        pfc_webhook_headers headers;
        const char *secret;
        pfc_code code;
    } rows[] = {
        { PFC_FORGE_GITHUB, { .signature = "sha256=" HEX }, SECRET, PFC_OK },
        { PFC_FORGE_GITHUB, { .signature = HEX }, SECRET, PFC_EDENIED },
        { PFC_FORGE_GITHUB, { .signature = "sha256=" HEX "0" }, SECRET, PFC_EDENIED },
        { PFC_FORGE_GITHUB, { .signature = "sha256=" }, SECRET, PFC_EDENIED },
        { PFC_FORGE_GITHUB, { .signature = "sha1=" HEX }, SECRET, PFC_EDENIED },
        { PFC_FORGE_GITHUB, { .signature = "sha256=" HEX }, "another", PFC_EDENIED },
        { PFC_FORGE_GITHUB, { .signature = "sha256=" HEX }, "", PFC_EDENIED },
        { PFC_FORGE_GITHUB, { .token = SECRET }, SECRET, PFC_EDENIED },
        { PFC_FORGE_GITHUB, { .signature = NULL }, SECRET, PFC_EDENIED },
        { PFC_FORGE_GITHUB,
          { .signature = "sha256=" HEX, .content_type = "application/x-www-form-urlencoded" },
          SECRET,
          PFC_EINVAL },
        { PFC_FORGE_GITHUB,
          { .signature = "sha256=" HEX, .content_type = "Application/JSON; charset=utf-8" },
          SECRET,
          PFC_OK },
        { PFC_FORGE_GITHUB, { .signature = "sha256=" HEX, .delivery = "" }, SECRET, PFC_EINVAL },
        { PFC_FORGE_GITHUB, { .signature = "sha256=" HEX, .delivery = "a b" }, SECRET, PFC_EINVAL },
        { PFC_FORGE_GITEA, { .signature = HEX }, SECRET, PFC_OK },
        { PFC_FORGE_GITEA, { .signature = "sha256=" HEX }, SECRET, PFC_EDENIED },
        { PFC_FORGE_GITLAB, { .token = SECRET }, SECRET, PFC_OK },
        { PFC_FORGE_GITLAB, { .token = SECRET "x" }, SECRET, PFC_EDENIED },
        { PFC_FORGE_GITLAB, { .token = "" }, SECRET, PFC_EDENIED },
        { PFC_FORGE_GITLAB,
          { .signature = "v1," STANDARD, .timestamp = "1800000000" },
          SECRET,
          PFC_OK },
        { PFC_FORGE_GITLAB,
          { .signature = "v1,eA== v1," STANDARD, .timestamp = "1800000000" },
          SECRET,
          PFC_OK },
        { PFC_FORGE_GITLAB,
          { .signature = "v1," STANDARD_WHSEC, .timestamp = "1800000000" },
          WHSEC,
          PFC_OK },
        { PFC_FORGE_GITLAB,
          { .signature = "v2," STANDARD, .timestamp = "1800000000" },
          SECRET,
          PFC_EDENIED },
        { PFC_FORGE_GITLAB,
          { .signature = "v1," STANDARD, .timestamp = "1800000001" },
          SECRET,
          PFC_EDENIED },
        { PFC_FORGE_GITLAB, { .signature = "v1," STANDARD }, SECRET, PFC_EDENIED },
        /* A signature that does not fit is no reason to look at the token. */
        { PFC_FORGE_GITLAB,
          { .signature = "v1,x", .timestamp = "1800000000", .token = SECRET },
          SECRET,
          PFC_EDENIED },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(int, verify(rows[i].kind, rows[i].headers, rows[i].secret), rows[i].code),
                  "row %zu: %s", i, err.msg);
}

Test(webhook, a_signature_ages)
{
    static const struct {
        int64_t now;
        pfc_code code;
    } rows[] = { { NOW + 300, PFC_OK },
                 { NOW + 301, PFC_EDENIED },
                 { NOW - 300, PFC_OK },
                 { NOW - 301, PFC_EDENIED } };
    const pfc_webhook_headers h = { .signature = "v1," STANDARD,
                                    .timestamp = "1800000000",
                                    .delivery = "d1",
                                    .content_type = "application/json" };
    const char *const secret = SECRET;

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(int,
                     pfc_webhook_verify(PFC_FORGE_GITLAB, &h, BODY, strlen(BODY), &secret, 1,
                                        rows[i].now, &err),
                     rows[i].code),
                  "row %zu", i);
    cr_assert(eq(int,
                 pfc_webhook_verify(PFC_FORGE_GITLAB, &h, BODY, PFC_WEBHOOK_MAX_BYTES + 1, &secret,
                                    1, NOW, &err),
                 PFC_ETOOBIG));
}
