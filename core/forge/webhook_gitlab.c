/* Payloads of GitLab. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/forge/webhook_priv.h"

enum { TITLE_BYTES = 1000, COMMENT_BYTES = 65536 };

/* Accounts of project and group access tokens: "project_12_bot_0123abcd". */
static bool is_bot(const char *user)
{
    const size_t prefix = strncmp(user, "project_", 8) == 0 ? 8
                          : strncmp(user, "group_", 6) == 0 ? 6
                                                            : 0;
    const char *at = user + prefix;

    if (!prefix || !isdigit((unsigned char)*at))
        return false;
    at += strspn(at, "0123456789");
    return strncmp(at, "_bot", 4) == 0;
}

static void read_pull(payload *p, pfc_webhook *out)
{
    pfc_forge_pull *pull = &out->pull;
    const struct {
        const char *member;
        void (*read)(payload *p, const char *path, bool required, char **out);
        char **out;
        bool required;
    } members[] = {
        { "last_commit.id", payload_commit, &pull->head_commit, true },
        { "source_branch", payload_name, &pull->head_branch, true },
        { "target_branch", payload_name, &pull->base_branch, true },
        { "source.path_with_namespace", payload_repo, &pull->head_repo, false },
        { "target.path_with_namespace", payload_repo, &pull->base_repo, false },
    };
    char *path;

    for (size_t i = 0; i < PFC_ARRAY_LEN(members); i++) {
        path = pfc_format("object_attributes.%s", members[i].member);
        members[i].read(p, path, members[i].required, members[i].out);
        free(path);
    }
    payload_number(p, "object_attributes.iid", true, &pull->number);
    out->pull_number = pull->number;
    payload_text(p, "object_attributes.title", TITLE_BYTES, &pull->title);
    payload_name(p, "user.username", false, &pull->author);
    payload_url(p, "object_attributes.url", &pull->url);
    pull->open = strcmp(payload_word(p, "object_attributes.state"), "opened") == 0;
    pull->draft = payload_true(p, "object_attributes.draft") ||
                  payload_true(p, "object_attributes.work_in_progress");
    pull->fork = !json_equal(payload_at(p, "object_attributes.source_project_id"),
                             payload_at(p, "object_attributes.target_project_id"));
}

/* Does an update change what is compared: commits, target branch, or the end of a draft? */
static bool is_news(const payload *p)
{
    return payload_at(p, "object_attributes.oldrev") || payload_at(p, "changes.target_branch") ||
           (payload_true(p, "changes.draft.previous") && !payload_true(p, "changes.draft.current"));
}

static void read_merge_request(payload *p, pfc_webhook *out)
{
    const char *action = payload_word(p, "object_attributes.action");

    if (strcmp(action, "close") == 0 || strcmp(action, "merge") == 0) {
        out->kind = PFC_WEBHOOK_PULL_CLOSED;
        read_pull(p, out);
    } else if (strcmp(action, "open") == 0 || strcmp(action, "reopen") == 0 ||
               (strcmp(action, "update") == 0 && is_news(p))) {
        out->kind = PFC_WEBHOOK_PULL;
        read_pull(p, out);
        if (!p->code && out->pull.draft)
            payload_ignore(out, "the merge request is a draft");
    } else {
        payload_ignore(out, "the merge request got the action \"%.40s\"", action);
    }
}

static void read_note(payload *p, pfc_webhook *out)
{
    const char *action = payload_word(p, "object_attributes.action");

    if (strcmp(payload_word(p, "object_attributes.noteable_type"), "MergeRequest") != 0) {
        payload_ignore(out, "a comment on something else than a merge request");
    } else if (payload_true(p, "object_attributes.system")) {
        payload_ignore(out, "a note of GitLab itself");
    } else if (action[0] && strcmp(action, "create") != 0) {
        payload_ignore(out, "a comment got the action \"%.40s\"", action);
    } else {
        out->kind = PFC_WEBHOOK_COMMENT;
        payload_number(p, "merge_request.iid", true, &out->pull_number);
        payload_number(p, "object_attributes.id", true, &out->comment_id);
        payload_name(p, "user.username", true, &out->comment_author);
        payload_text(p, "object_attributes.note", COMMENT_BYTES, &out->comment_body);
    }
}

static void read_tag(payload *p, pfc_webhook *out)
{
    (void)p;
    payload_ignore(out, "a tag was pushed or deleted");
}

void payload_read_gitlab(payload *p, const char *event, pfc_webhook *out)
{
    static const struct {
        const char *event;
        void (*read)(payload *p, pfc_webhook *out);
        const char *user;
    } readers[] = {
        { "Push Hook", payload_read_push, "user_username" },
        { "Tag Push Hook", read_tag, "user_username" },
        { "Merge Request Hook", read_merge_request, "user.username" },
        { "Note Hook", read_note, "user.username" },
    };

    payload_ignore(out, "the event \"%.40s\" asks for nothing", event);
    for (size_t i = 0; i < PFC_ARRAY_LEN(readers); i++) {
        if (strcmp(readers[i].event, event) != 0)
            continue;
        free(out->why);
        out->why = NULL;
        readers[i].read(p, out);
        payload_name(p, readers[i].user, out->kind != PFC_WEBHOOK_IGNORED, &out->sender);
    }
    payload_repo(p, "project.path_with_namespace", out->kind != PFC_WEBHOOK_IGNORED, &out->repo);
    payload_url(p, "project.git_http_url", &out->repo_url);
    out->sender_is_bot = out->sender && is_bot(out->sender);
}
