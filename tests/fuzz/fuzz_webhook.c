/*
 * Webhook payloads and commands in comments: whatever arrives, the answer is a webhook with the
 * members that its kind promises, or one sentence.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/forge/webhook.h"

#include "tests/fuzz/fuzz.h"

static void check_webhook(const pfc_webhook *w)
{
    FUZZ_CHECK((w->why != NULL) == (w->kind == PFC_WEBHOOK_IGNORED));
    FUZZ_CHECK(w->kind != PFC_WEBHOOK_PUSH || (w->repo && w->branch && w->after && w->sender));
    FUZZ_CHECK(w->kind != PFC_WEBHOOK_PULL ||
               (w->pull_number > 0 && w->pull.head_commit && w->pull.base_branch && w->repo));
    FUZZ_CHECK(w->kind != PFC_WEBHOOK_COMMENT ||
               (w->pull_number > 0 && w->comment_author && w->comment_body && w->sender));
    FUZZ_CHECK(w->kind != PFC_WEBHOOK_CHECK_AGAIN || (w->commit && pfc_is_commit_id(w->commit)));
    FUZZ_CHECK(w->kind != PFC_WEBHOOK_INSTALLED || w->installation > 0);
    FUZZ_CHECK(!w->repo || !strstr(w->repo, ".."));
    FUZZ_CHECK(!w->repo_url || strncmp(w->repo_url, "https://", 8) == 0);
    FUZZ_CHECK(!w->branch || !pfc_name_control(w->branch));
}

static void check_command(const char *text)
{
    pfc_bot_command command;
    pfc_err err = { 0 };
    const pfc_code code = pfc_bot_command_find(text, &command, &err);

    FUZZ_CHECK(code == PFC_OK || code == PFC_ENOTFOUND || (code == PFC_EINVAL && err.msg[0]));
    FUZZ_CHECK(code != PFC_OK || strstr(text, "perfci"));
    FUZZ_CHECK(!command.argument ||
               (strlen(command.argument) <= 500 && !strpbrk(command.argument, "\n\r\x1b")));
    FUZZ_CHECK(code != PFC_OK || command.argument ||
               (command.kind != PFC_BOT_BISECT && command.kind != PFC_BOT_ACCEPT &&
                command.kind != PFC_BOT_UNKNOWN));
    pfc_bot_command_clear(&command);
}

/* The first line names provider and event: "gitlab Note Hook". */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = pfc_strndup((const char *)data, strnlen((const char *)data, size));
    char *body = strchr(text, '\n');
    char *event = strchr(text, ' ');
    pfc_forge_kind kind = PFC_FORGE_GITHUB;
    pfc_err err = { 0 };
    pfc_webhook w;

    check_command(text);
    if (body && event && event < body) {
        *body++ = '\0';
        *event++ = '\0';
        if (pfc_forge_kind_parse(text, &kind, NULL) == PFC_OK) {
            if (pfc_webhook_parse(kind, event, body, strlen(body), &w, &err) == PFC_OK)
                check_webhook(&w);
            else
                FUZZ_CHECK(err.msg[0]);
            pfc_webhook_clear(&w);
        }
    }
    free(text);
    return 0;
}
