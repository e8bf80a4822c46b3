/*
 * One interface to GitHub, GitLab and Gitea (also Forgejo): comments, checks, permissions and pull
 * requests (GitLab: merge requests). Rate limits are honoured, lists are paged, reads are repeated
 * with their ETag, and no token appears in a message or in the log.
 *
 * A pfc_forge is used by one thread at a time. Every call may return PFC_EDENIED (the token, or its
 * scope), PFC_ENOTFOUND (no such place, or not for this token), PFC_EUNAVAIL and PFC_ETIMEOUT (the
 * same call may succeed later: pfc_forge_wait_s says when), PFC_EINVAL (the forge refuses the
 * content, with its own sentence) or PFC_EIO (anything else).
 */
#ifndef PFC_CORE_FORGE_PROVIDER_H
#define PFC_CORE_FORGE_PROVIDER_H

#include "core/http/client.h"

#define PFC_FORGE_MAX_REPO 300 /* bytes of "owner/name"; GitLab: "group/subgroup/name" */
#define PFC_FORGE_MAX_USER 100

typedef enum pfc_forge_kind { PFC_FORGE_GITHUB, PFC_FORGE_GITLAB, PFC_FORGE_GITEA } pfc_forge_kind;

/** "github", "gitlab", "gitea". */
const char *pfc_forge_kind_name(pfc_forge_kind kind);
/** PFC_EINVAL names what was expected; "forgejo" is Gitea. */
pfc_code pfc_forge_kind_parse(const char *name, pfc_forge_kind *out, pfc_err *err) PFC_MUSTCHECK;

/** "owner/name" of letters, digits, '.', '_' and '-', at most PFC_FORGE_MAX_REPO bytes; of GitLab
 * with any number of groups. */
bool pfc_forge_is_repo(pfc_forge_kind kind, const char *text);

/** Shortens every token in the text to its prefix ("ghs_*"), in place: those of GitHub and GitLab,
 * which have one. Gitea's have none and are never part of a message. */
void pfc_forge_redact(char *text);

typedef struct pfc_forge pfc_forge;

typedef struct pfc_forge_opts {
    pfc_forge_kind kind;
    const char *api_url; /* NULL: the public one of GitHub or GitLab; Gitea has none: PFC_EINVAL */
    const char *token;   /* a personal or project token; NULL with app_key_pem */
    /* a GitHub App: its tokens are fetched for the installation and renewed before they expire */
    const char *app_id;               /* client id or number */
    const char *app_key_pem;          /* RSA private key */
    int64_t installation;             /* 0: asked for by repository */
    double timeout_s;                 /* of one call; 0: 20 */
    int64_t (*now_unix_s)(void *arg); /* NULL: the real clock */
    void *now_arg;
    bool (*cancelled)(void *arg); /* as in pfc_http_opts */
    void *cancelled_arg;
    bool (*may_reach)(void *arg, const struct sockaddr *address); /* as in pfc_http_opts */
    void *may_reach_arg;
} pfc_forge_opts;

/** PFC_EINVAL for contradictory or unreadable options, without a call. *out: close it. */
pfc_code pfc_forge_open(const pfc_forge_opts *opts, pfc_forge **out, pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_forge_close(pfc_forge *forge);
pfc_forge_kind pfc_forge_kind_of(const pfc_forge *forge);
/** Has checks with a page of their own: a GitHub App. Others have commit statuses. */
bool pfc_forge_has_check_runs(const pfc_forge *forge);
/** Seconds after which a call that ended with PFC_EUNAVAIL may be repeated; 0: not known. */
double pfc_forge_wait_s(const pfc_forge *forge);

/* ---- comments of a pull request ---- */

typedef struct pfc_forge_comment {
    int64_t id;
    char *url;    /* NULL: the forge did not say; the caller frees it */
    bool created; /* false: an existing one was edited */
} pfc_forge_comment;

/**
 * Edits the comment `known_id`; where it was deleted (or known_id is 0), the first comment of our
 * own account that begins with the marker of `key`; where there is none, creates it. A comment of
 * another account is never edited.
 */
pfc_code pfc_forge_comment_put(pfc_forge *forge, const char *repo, int64_t pull, const char *key,
                               int64_t known_id, const char *body, pfc_forge_comment *out,
                               pfc_err *err) PFC_MUSTCHECK;
/** The same for a commit; GitHub alone has such comments: PFC_EINVAL for the others. */
pfc_code pfc_forge_commit_comment_put(pfc_forge *forge, const char *repo, const char *commit,
                                      const char *key, int64_t known_id, const char *body,
                                      pfc_forge_comment *out, pfc_err *err) PFC_MUSTCHECK;
/** One more comment, at most PFC_COMMENT_MAX_BYTES. */
pfc_code pfc_forge_comment_add(pfc_forge *forge, const char *repo, int64_t pull, const char *body,
                               pfc_forge_comment *out, pfc_err *err) PFC_MUSTCHECK;

/* ---- checks ---- */

typedef enum pfc_check_state {
    PFC_CHECK_QUEUED,
    PFC_CHECK_IN_PROGRESS,
    PFC_CHECK_SUCCESS,
    PFC_CHECK_FAILURE,
    /* Not decided, or our own outage. Commit statuses have no such state: it is a success there,
       because any other would block a required one, and the title has to say it. */
    PFC_CHECK_NEUTRAL,
    PFC_CHECK_ACTION_REQUIRED, /* the build or the benchmark is broken */
} pfc_check_state;

typedef struct pfc_forge_check {
    const char *name;   /* "perfci" */
    const char *commit; /* its id */
    pfc_check_state state;
    const char *title;       /* one line; cut at 140 bytes where the forge takes no more */
    const char *summary;     /* Markdown; NULL: none; forges with statuses alone drop it */
    const char *url;         /* of the details; NULL: none */
    const char *external_id; /* ours, at most 100 bytes; NULL: none */
} pfc_forge_check;

/** Creates a check, or changes the one with *id (0: create). Commit statuses have no id: 0 stays.
 */
pfc_code pfc_forge_check_put(pfc_forge *forge, const char *repo, const pfc_forge_check *check,
                             int64_t *id, pfc_err *err) PFC_MUSTCHECK;

/* ---- people and pull requests ---- */

typedef enum pfc_forge_access {
    PFC_ACCESS_NONE,
    PFC_ACCESS_READ,
    PFC_ACCESS_WRITE
} pfc_forge_access;

/** The rights of `user` in the repository; a user that the forge does not know has NONE. */
pfc_code pfc_forge_access_of(pfc_forge *forge, const char *repo, const char *user,
                             pfc_forge_access *out, pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_forge_pull {
    int64_t number;
    char *title, *author, *url;
    char *head_commit, *head_branch, *head_repo; /* head_repo NULL: the fork was deleted */
    char *base_commit; /* tip of the base branch; NULL in a webhook of GitLab */
    char *base_branch, *base_repo;
    char *merge_base; /* NULL: the forge did not say */
    bool open, draft, fork;
} pfc_forge_pull;

pfc_code pfc_forge_pull_get(pfc_forge *forge, const char *repo, int64_t number, pfc_forge_pull *out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Accepts a zeroed one. */
void pfc_forge_pull_clear(pfc_forge_pull *pull);

#define PFC_FORGE_MAX_COMMITS 250 /* of a pull request; GitHub lists no more */

/** ids[0]: the commit at which the branch began; ids[len - 1]: the head; len >= 2. */
typedef struct pfc_forge_line {
    char **ids;
    size_t len;
} pfc_forge_line;

/** The commits of a pull request along first parents, the oldest first. base: its merge base, head:
 * its head, 40 digits each. ids[0] is another commit than `base` where the branch merged its base
 * branch. PFC_EINVAL also: PFC_FORGE_MAX_COMMITS commits or more, the head is not among them (it
 * was pushed meanwhile), or the branch begins at a root. */
pfc_code pfc_forge_line_get(pfc_forge *forge, const char *repo, int64_t number, const char *base,
                            const char *head, pfc_forge_line *out, pfc_err *err) PFC_MUSTCHECK;
/** Accepts a zeroed one. */
void pfc_forge_line_clear(pfc_forge_line *line);

/* ---- issues ---- */

typedef struct pfc_forge_issue {
    const char *title, *body; /* Markdown */
    bool open;
} pfc_forge_issue;

/** Creates an issue (*number 0), or changes it: text, and closed or open. *url, NULL: not wanted;
 * the caller frees it. PFC_ENOTFOUND: it was deleted, or the repository has no issues. */
pfc_code pfc_forge_issue_put(pfc_forge *forge, const char *repo, const pfc_forge_issue *issue,
                             int64_t *number, char **url, pfc_err *err) PFC_MUSTCHECK;
/** The issue of our own account whose text begins with the marker of `key`, made after the time
 * (Unix seconds; an hour earlier counts, too): after a call of pfc_forge_issue_put whose answer was
 * lost. *number 0: there is none. *url: NULL, or the caller frees it. */
pfc_code pfc_forge_issue_find(pfc_forge *forge, const char *repo, const char *key,
                              int64_t since_unix_s, int64_t *number, char **url,
                              pfc_err *err) PFC_MUSTCHECK;

#endif
