/*
 * Webhooks of GitHub, GitLab and Gitea: verification of the raw body, and what the event asks for.
 * Pure functions; thread-safe. Sources: the providers' documentation of webhooks (GitHub:
 * X-Hub-Signature-256; GitLab: X-Gitlab-Token and Standard Webhooks; Gitea: X-Gitea-Signature,
 * Forgejo: X-Forgejo-Signature).
 */
#ifndef PFC_CORE_FORGE_WEBHOOK_H
#define PFC_CORE_FORGE_WEBHOOK_H

#include "core/forge/provider.h"

#define PFC_WEBHOOK_MAX_BYTES (25u * 1024 * 1024) /* GitHub sends no larger one */
#define PFC_WEBHOOK_MAX_AGE_S 300                 /* of a signature with a time */

/* Header values as they came; NULL where absent. */
typedef struct pfc_webhook_headers {
    const char *event;     /* X-GitHub-Event, X-Gitlab-Event, X-Gitea-Event, X-Forgejo-Event */
    const char *delivery;  /* X-GitHub-Delivery, webhook-id or X-Gitlab-Event-UUID, X-Gitea-... */
    const char *signature; /* X-Hub-Signature-256, webhook-signature, X-Forgejo-, X-Gitea-... */
    const char *timestamp; /* webhook-timestamp (GitLab) */
    const char *token;     /* X-Gitlab-Token */
    const char *content_type;
} pfc_webhook_headers;

/**
 * Compares in constant time. `secrets`: tried in order, so that a secret can be exchanged; len > 0.
 * PFC_EDENIED: no secret fits, the signature is missing, malformed, or older (or newer) than
 * PFC_WEBHOOK_MAX_AGE_S; the message does not say which secret failed. PFC_EINVAL: another content
 * type than application/json, or no delivery id.
 */
pfc_code pfc_webhook_verify(pfc_forge_kind kind, const pfc_webhook_headers *headers,
                            const void *body, size_t len, const char *const *secrets,
                            size_t secrets_len, int64_t now_unix_s, pfc_err *err) PFC_MUSTCHECK;

typedef enum pfc_webhook_kind {
    PFC_WEBHOOK_IGNORED, /* `why` says the reason */
    PFC_WEBHOOK_PING,
    PFC_WEBHOOK_PUSH,        /* to a branch: repo, branch, before, after */
    PFC_WEBHOOK_PULL,        /* opened, reopened, new commits, ready for review: pull */
    PFC_WEBHOOK_PULL_CLOSED, /* pull */
    PFC_WEBHOOK_COMMENT,     /* on a pull request: pull_number, comment_*, sender */
    PFC_WEBHOOK_CHECK_AGAIN, /* check_run.rerequested, requested_action: commit, action */
    PFC_WEBHOOK_INSTALLED,   /* of a GitHub App: installation */
} pfc_webhook_kind;

typedef struct pfc_webhook {
    pfc_webhook_kind kind;
    char *why;      /* of IGNORED: "a tag was pushed", "a draft"; one sentence part */
    char *repo;     /* "owner/name" */
    char *repo_url; /* to clone from, https; NULL: not said */
    char *sender;   /* account that caused it */
    bool sender_is_bot;
    int64_t installation;          /* GitHub App; 0: none */
    char *branch, *before, *after; /* PUSH; before NULL: a new branch */
    char *commit, *action;         /* CHECK_AGAIN; action NULL: rerequested */
    int64_t pull_number;
    pfc_forge_pull pull; /* PULL, PULL_CLOSED */
    int64_t comment_id;
    char *comment_author, *comment_body;
} pfc_webhook;

/** PFC_EINVAL: not the JSON that this event of this provider has, with the member that is wrong.
 * Events that perfci has no use for are IGNORED. Clear *out, also on failure. */
pfc_code pfc_webhook_parse(pfc_forge_kind kind, const char *event, const void *body, size_t len,
                           pfc_webhook *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_webhook_clear(pfc_webhook *webhook);

/* ---- commands in comments ---- */

typedef enum pfc_bot_command_kind {
    PFC_BOT_BENCH,  /* argument: a filter, or NULL */
    PFC_BOT_BISECT, /* argument: a metric */
    PFC_BOT_RERUN,
    PFC_BOT_ACCEPT, /* argument: the reason */
    PFC_BOT_WHY,
    PFC_BOT_HELP,
    PFC_BOT_ALLOW,   /* a maintainer lets a fork's head be measured once */
    PFC_BOT_UNKNOWN, /* argument: the word */
} pfc_bot_command_kind;

typedef struct pfc_bot_command {
    pfc_bot_command_kind kind;
    char *argument; /* at most 500 bytes; NULL: none */
} pfc_bot_command;

/**
 * The first line of `body` that begins with "/perfci" or "@perfci" at column 0, outside fenced and
 * indented code, quotes and HTML comments. PFC_ENOTFOUND: there is none (no message needed).
 * PFC_EINVAL: a command with a missing or overlong argument; the message is the one-line answer.
 */
pfc_code pfc_bot_command_find(const char *body, pfc_bot_command *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_bot_command_clear(pfc_bot_command *command);

#endif
