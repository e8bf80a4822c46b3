/* Payloads of GitHub, and of Gitea and Forgejo, which have the same shape with other event names.
 */
#include <stdlib.h>
#include <string.h>

#include "core/forge/webhook_priv.h"

enum { TITLE_BYTES = 1000, COMMENT_BYTES = 65536, ACTION_BYTES = 100 };

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(word, *words) == 0)
            return true;
    }
    return false;
}

static void read_side(payload *p, const char *side, char **commit, char **branch, char **repo)
{
    char *sha = pfc_format("pull_request.%s.sha", side);
    char *ref = pfc_format("pull_request.%s.ref", side);
    char *name = pfc_format("pull_request.%s.repo.full_name", side);

    payload_commit(p, sha, true, commit);
    payload_name(p, ref, true, branch);
    payload_repo(p, name, false, repo);
    free(sha);
    free(ref);
    free(name);
}

static void read_pull(payload *p, pfc_webhook *out)
{
    pfc_forge_pull *pull = &out->pull;

    payload_number(p, "pull_request.number", true, &pull->number);
    out->pull_number = pull->number;
    payload_text(p, "pull_request.title", TITLE_BYTES, &pull->title);
    payload_name(p, "pull_request.user.login", false, &pull->author);
    payload_url(p, "pull_request.html_url", &pull->url);
    read_side(p, "head", &pull->head_commit, &pull->head_branch, &pull->head_repo);
    read_side(p, "base", &pull->base_commit, &pull->base_branch, &pull->base_repo);
    /* Gitea says it; of GitHub the field of this name does not exist. */
    payload_commit(p, "pull_request.merge_base", false, &pull->merge_base);
    pull->open = strcmp(payload_word(p, "pull_request.state"), "open") == 0;
    pull->draft = payload_true(p, "pull_request.draft");
    /* A fork that was deleted has no repository. */
    pull->fork = !pfc_streq(pull->head_repo, pull->base_repo);
}

static void read_pull_request(payload *p, pfc_webhook *out)
{
    static const char *const wanted[] = { "opened",       "reopened",         "synchronize",
                                          "synchronized", "ready_for_review", NULL };
    const char *action = payload_word(p, "action");

    if (strcmp(action, "closed") == 0) {
        out->kind = PFC_WEBHOOK_PULL_CLOSED;
        read_pull(p, out);
    } else if (is_one_of(action, wanted) ||
               (strcmp(action, "edited") == 0 && payload_at(p, "changes.base"))) {
        /* Another base branch is another comparison. */
        out->kind = PFC_WEBHOOK_PULL;
        read_pull(p, out);
        if (!p->code && out->pull.draft)
            payload_ignore(out, "the pull request is a draft");
    } else {
        payload_ignore(out, "the pull request was %.40s",
                       action[0] ? action : "changed without an action");
    }
}

static void read_comment(payload *p, pfc_webhook *out)
{
    const char *action = payload_word(p, "action");

    if (!payload_at(p, "issue.pull_request") && !payload_true(p, "is_pull")) {
        payload_ignore(out, "a comment on an issue");
    } else if (strcmp(action, "created") != 0) {
        payload_ignore(out, "a comment was %.40s", action);
    } else {
        out->kind = PFC_WEBHOOK_COMMENT;
        payload_number(p, "issue.number", true, &out->pull_number);
        payload_number(p, "comment.id", true, &out->comment_id);
        payload_name(p, "comment.user.login", true, &out->comment_author);
        payload_text(p, "comment.body", COMMENT_BYTES, &out->comment_body);
        if (!strcmp(payload_word(p, "comment.user.type"), "Bot"))
            out->sender_is_bot = true;
    }
}

static void read_check_run(payload *p, pfc_webhook *out)
{
    const char *action = payload_word(p, "action");
    const bool asked = strcmp(action, "requested_action") == 0;
    const json_t *pull = json_array_get(payload_at(p, "check_run.pull_requests"), 0);

    if (!asked && strcmp(action, "rerequested") != 0) {
        payload_ignore(out, "a check was %.40s", action);
        return;
    }
    out->kind = PFC_WEBHOOK_CHECK_AGAIN;
    payload_commit(p, "check_run.head_sha", true, &out->commit);
    if (asked)
        payload_text(p, "requested_action.identifier", ACTION_BYTES, &out->action);
    out->pull_number = json_integer_value(json_object_get(pull, "number"));
}

static void read_check_suite(payload *p, pfc_webhook *out)
{
    const char *action = payload_word(p, "action");
    const json_t *pull = json_array_get(payload_at(p, "check_suite.pull_requests"), 0);

    if (strcmp(action, "rerequested") != 0) {
        /* The pull request and the push have events of their own. */
        payload_ignore(out, "a check suite was %.40s", action);
        return;
    }
    out->kind = PFC_WEBHOOK_CHECK_AGAIN;
    payload_commit(p, "check_suite.head_sha", true, &out->commit);
    out->pull_number = json_integer_value(json_object_get(pull, "number"));
}

static void read_installation(payload *p, pfc_webhook *out)
{
    static const char *const wanted[] = { "created", "unsuspend", "new_permissions_accepted",
                                          "added", NULL };
    const char *action = payload_word(p, "action");

    if (is_one_of(action, wanted))
        out->kind = PFC_WEBHOOK_INSTALLED;
    else
        payload_ignore(out, "the installation was %.40s", action);
    payload_number(p, "installation.id", true, &out->installation);
}

static void read_ping(payload *p, pfc_webhook *out)
{
    (void)p;
    out->kind = PFC_WEBHOOK_PING;
}

/* Members of every event. */
static void read_common(payload *p, pfc_webhook *out)
{
    const bool of_repo = out->kind != PFC_WEBHOOK_PING && out->kind != PFC_WEBHOOK_INSTALLED &&
                         out->kind != PFC_WEBHOOK_IGNORED;

    payload_repo(p, "repository.full_name", of_repo, &out->repo);
    payload_url(p, "repository.clone_url", &out->repo_url);
    payload_name(p, "sender.login", of_repo, &out->sender);
    payload_number(p, "installation.id", false, &out->installation);
    if (!strcmp(payload_word(p, "sender.type"), "Bot"))
        out->sender_is_bot = true;
}

void payload_read_github(payload *p, const char *event, pfc_webhook *out)
{
    static const struct {
        const char *event;
        void (*read)(payload *p, pfc_webhook *out);
    } readers[] = {
        { "ping", read_ping },
        { "push", payload_read_push },
        { "pull_request", read_pull_request },
        { "pull_request_sync", read_pull_request }, /* Gitea */
        { "issue_comment", read_comment },
        { "pull_request_comment", read_comment }, /* Gitea */
        { "check_run", read_check_run },
        { "check_suite", read_check_suite },
        { "installation", read_installation },
        { "installation_repositories", read_installation },
    };

    payload_ignore(out, "the event \"%.40s\" asks for nothing", event);
    for (size_t i = 0; i < PFC_ARRAY_LEN(readers); i++) {
        if (strcmp(readers[i].event, event) != 0)
            continue;
        free(out->why);
        out->why = NULL;
        readers[i].read(p, out);
        break;
    }
    read_common(p, out);
}
