/* Shared by the parts of provider.h: one call to a forge, and the operations of each provider. */
#ifndef PFC_CORE_FORGE_FORGE_PRIV_H
#define PFC_CORE_FORGE_FORGE_PRIV_H

#include <jansson.h>

#include "core/forge/provider.h"

#define FORGE_CACHED 16 /* answers that are asked for again with their ETag */

/* The pull request or the commit that a comment belongs to. */
typedef struct forge_place {
    const char *repo;
    int64_t pull;       /* 0: */
    const char *commit; /* its id */
} forge_place;

/* Names of members and their values in a provider's documents. */
typedef struct forge_words {
    const char *states[PFC_CHECK_ACTION_REQUIRED + 1]; /* of a commit status */
    const char *check_name;                            /* a commit status: the check's name */
    const char *comment_url; /* a comment: its page; NULL: the answer has none */
    const char *issue_body, *issue_state, *open, *closed, *number, *issue_url;
} forge_words;

/* Operations of a provider. Paths: the caller frees them. */
typedef struct forge_ops {
    const char *name;    /* in messages: "GitHub" */
    const char *api_url; /* the public one; NULL: none */
    const char *edit;    /* method that changes a thing: "PATCH" or "PUT" */
    const forge_words *words;
    /* The headers of a call; `token`: NULL for none. NULL-terminated texts; at most 5. */
    void (*headers)(const char *token, char *out[6]);
    char *(*comments_path)(const forge_place *at, bool list);
    char *(*comment_path)(const forge_place *at, int64_t id);
    /* Of a thing in the repository: "/issues" and the like follow. */
    char *(*repo_path)(const char *repo, const char *rest);
    /* Reads the account of the token into forge->own. */
    pfc_code (*who)(pfc_forge *forge, const char *repo, pfc_err *err);
    bool (*is_own)(const pfc_forge *forge, const json_t *comment);
    pfc_code (*check_put)(pfc_forge *forge, const char *repo, const pfc_forge_check *check,
                          int64_t *id, pfc_err *err);
    pfc_code (*access_of)(pfc_forge *forge, const char *repo, const char *user,
                          pfc_forge_access *out, pfc_err *err);
    pfc_code (*pull_get)(pfc_forge *forge, const char *repo, int64_t number, pfc_forge_pull *out,
                         pfc_err *err);
    /* Of the list of a pull request's commits. */
    char *(*commits_path)(const char *repo, int64_t number, const char *base, const char *head);
    /* Of the list of issues, open and closed, changed or made since the time that follows. */
    const char *issues_query;
} forge_ops;

/* The account of the token: its comments are ours. */
typedef struct forge_own {
    bool known;
    int64_t user; /* id of the account; 0: not known */
    int64_t app;  /* id of the GitHub App; 0: none */
    char *login;  /* NULL: not known */
    bool any_bot; /* GitHub: a token of an App whose name it does not tell */
} forge_own;

typedef struct forge_cached {
    char *path, *etag, *next;
    json_t *doc;
    uint64_t used;
} forge_cached;

struct pfc_forge {
    pfc_forge_kind kind;
    const forge_ops *ops;
    pfc_http *http;
    char *token;
    /* GitHub App */
    char *app_id, *app_key;
    int64_t installation;       /* 0: asked for by repository */
    char *app_repo, *app_token; /* the token, and the repository that it was asked for */
    int64_t app_expires;        /* Unix seconds */
    forge_own own;
    int64_t (*now)(void *arg);
    void *now_arg;
    int64_t not_before; /* Unix seconds: no call earlier */
    double backoff_s;   /* of the last limit that named no time; 0: none */
    forge_cached cached[FORGE_CACHED];
    uint64_t uses;
};

int64_t forge_now(const pfc_forge *forge);
void forge_cache_clear(pfc_forge *forge);

/**
 * One call with the token for the repository (NULL: any). *out, may be NULL: the answer, NULL for
 * an empty one; caller decrefs and must not change it.
 */
pfc_code forge_call(pfc_forge *forge, const char *repo, const char *method, const char *path,
                    const json_t *body, json_t **out, pfc_err *err) PFC_MUSTCHECK;
/** The same with a given token, and the path of the next page (NULL: none, caller frees). */
pfc_code forge_call_as(pfc_forge *forge, const char *token, const char *method, const char *path,
                       const json_t *body, json_t **out, char **next, pfc_err *err) PFC_MUSTCHECK;
/** Every item of a list, page by page, until `each` returns false. */
pfc_code forge_list(pfc_forge *forge, const char *repo, const char *path,
                    bool (*each)(void *arg, const json_t *item), void *arg,
                    pfc_err *err) PFC_MUSTCHECK;

/** The token for calls in a repository, borrowed until the next call. */
pfc_code forge_token(pfc_forge *forge, const char *repo, const char **out,
                     pfc_err *err) PFC_MUSTCHECK;
/** RS256, for ten minutes; caller frees. */
pfc_code forge_app_jwt(const char *app_id, const char *key_pem, int64_t now_unix_s, char **out,
                       pfc_err *err) PFC_MUSTCHECK;
/** Forgets the token of an App. */
void forge_app_forget(pfc_forge *forge);

/* An answer's limits. */
typedef struct forge_limits {
    int status;
    double retry_after_s;
    const char *remaining, *reset; /* headers; NULL: absent */
    int64_t date_unix_s;           /* 0: unknown */
    const char *message;           /* the forge's own sentence */
} forge_limits;

/** Is it a refusal for too many calls? Sets the time of the next call. */
bool forge_limited(pfc_forge *forge, const forge_limits *limits);

/** A text member; "" where there is none. Borrowed. */
const char *forge_text(const json_t *doc, const char *key);
/** A path part: "/repos/%s..." needs no escaping of a checked repository; a user does. */
char *forge_path(const char *fmt, ...) PFC_PRINTF(1, 2);

extern const forge_ops forge_github, forge_gitlab, forge_gitea;

/* ---- operations that providers share (shared.c) ---- */

extern const forge_words forge_github_words; /* Gitea's, too */

/** A text member, cut at max_len bytes; text NULL: none. */
void forge_set_text(json_t *doc, const char *key, const char *text, size_t max_len);
/** "/repos/REPO" and the rest. */
char *forge_repos_path(const char *repo, const char *rest);
char *forge_issue_comments_path(const forge_place *at, bool list);
char *forge_issue_comment_path(const forge_place *at, int64_t id);
pfc_code forge_who(pfc_forge *forge, const char *repo, pfc_err *err) PFC_MUSTCHECK;
pfc_code forge_status_put(pfc_forge *forge, const char *repo, const pfc_forge_check *check,
                          int64_t *id, pfc_err *err) PFC_MUSTCHECK;
/* GitHub and Gitea, whose API is alike. */
pfc_code forge_pull_get(pfc_forge *forge, const char *repo, int64_t number, pfc_forge_pull *out,
                        pfc_err *err) PFC_MUSTCHECK;
pfc_code forge_permission_get(pfc_forge *forge, const char *repo, const char *user,
                              pfc_forge_access *out, pfc_err *err) PFC_MUSTCHECK;

#endif
