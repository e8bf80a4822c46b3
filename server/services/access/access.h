/*
 * Access rights: projects, tokens, and the cache of both. service.h has the general rules.
 */
#ifndef PFC_SERVER_SERVICES_ACCESS_ACCESS_H
#define PFC_SERVER_SERVICES_ACCESS_ACCESS_H

#include "server/repo/tables/repo.h"

/* ---- projects ---- */

/** Creates the project, or returns the existing one (*created false). name: a slug; branch NULL:
 *  main; repo_url may be NULL. PFC_ECONFLICT: it exists with another branch or URL. */
pfc_code pfc_project_create(pfc_db *db, const char *actor, const char *name, const char *branch,
                            const char *repo_url, bool *created, pfc_projects *out,
                            pfc_err *err) PFC_MUSTCHECK;

/** Registers another repository: jobs that name no source are built from it from now on. repo_url
 *  NULL: none. Results of the old one stay. PFC_ENOTFOUND. */
pfc_code pfc_project_set_repository(pfc_db *db, const char *actor, const char *name,
                                    const char *repo_url, pfc_projects *out,
                                    pfc_err *err) PFC_MUSTCHECK;

/** Headline series of the project, on its default branch. */
pfc_code pfc_project_headline(pfc_db *db, int64_t project_id, pfc_series_rows *out,
                              pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_cache pfc_cache; /* of tokens and projects, see below */

/* ---- tokens ---- */

enum {
    PFC_SCOPE_READ = 1,
    PFC_SCOPE_INGEST = 2,
    PFC_SCOPE_RUNNER = 4,
    PFC_SCOPE_TRIAGE = 8,
    PFC_SCOPE_ADMIN = 16,
    PFC_SCOPE_ALL = 31,
    PFC_SCOPE_LEASE = 32, /* of a lease's token alone; no token of a user has it */
};

#define PFC_TOKEN_TEXT 69 /* "pfc_", 64 hexadecimal digits, terminator */
/** Bit of a scope name such as "read"; 0: unknown. pfc_scope_names is in the order of the bits. */
int pfc_scope_parse(const char *name);
extern const char *const pfc_scope_names[5];

/** A lease of a job. */
typedef struct pfc_lease_id {
    int64_t job_id; /* 0: none */
    int64_t fence;
} pfc_lease_id;

typedef struct pfc_principal {
    int64_t token_id;   /* of a lease's token: the runner's own */
    int64_t scopes;     /* admin implies every other */
    int64_t project_id; /* 0: all */
    pfc_lease_id lease; /* whose results the token stores; job_id 0: not a lease's token */
    int64_t session_id; /* of the browser that signed in; 0: the token itself was sent */
    char actor[96];     /* "token 3 (ci)", "runner a, job 17" */
    int64_t until_ns;   /* expiry as a time of pfc_clock_ns; 0: never */
} pfc_principal;

/** expires_at: Unix seconds, 0: never. project_id 0: all. The secret is returned only here. */
pfc_code pfc_token_create(pfc_db *db, const char *actor, const char *name, int64_t scopes,
                          int64_t project_id, double expires_at, int64_t *id,
                          char secret[PFC_TOKEN_TEXT], pfc_err *err) PFC_MUSTCHECK;

/** Ensures that `secret` (from DIR/admin.token) is a valid admin token with the name `name`. */
pfc_code pfc_token_ensure(pfc_db *db, const char *name, const char *secret,
                          pfc_err *err) PFC_MUSTCHECK;
/**
 * Cache of recently used tokens and project names. An entry lives for at most ttl_s, and only while
 * the server receives database events: the listener thread calls pfc_cache_trust(false) when its
 * connection is lost, (true) when it is back, and pfc_cache_forget at an event of type "token",
 * which every revocation sends. Thread-safe.
 */
pfc_cache *pfc_cache_new(double ttl_s);

void pfc_cache_free(pfc_cache *cache); /* accepts NULL */
void pfc_cache_trust(pfc_cache *cache, bool heard);
void pfc_cache_forget(pfc_cache *cache);
/** As pfc_token_verify, but reads the cache (NULL: none) first. */
pfc_code pfc_token_verify_cached(pfc_db *db, pfc_cache *cache, const char *secret,
                                 pfc_principal *out, pfc_err *err) PFC_MUSTCHECK;
/** Id of a project, from the cache (NULL: none) or the database. PFC_ENOTFOUND: no such project. */
pfc_code pfc_project_find(pfc_db *db, pfc_cache *cache, const char *name, int64_t *id,
                          pfc_err *err) PFC_MUSTCHECK;
/** PFC_EDENIED: the secret is malformed, unknown, expired or revoked. */
pfc_code pfc_token_verify(pfc_db *db, const char *secret, pfc_principal *out,
                          pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_token_revoke(pfc_db *db, const char *actor, int64_t id, pfc_err *err) PFC_MUSTCHECK;
/** Creates a token with the name, scopes, project and lifetime of token `id`, which then expires in
 *  overlap_s. *out (one row, caller clears): the new one. PFC_ENOTFOUND: `id` is unknown, revoked
 *  or expired. */
pfc_code pfc_token_rotate(pfc_db *db, const char *actor, int64_t id, double overlap_s,
                          pfc_tokens *out, char secret[PFC_TOKEN_TEXT], pfc_err *err) PFC_MUSTCHECK;

/* ---- for the other services, not for handlers ---- */

/** Looks up a cached token. *generation is always set, for pfc_cache_keep_token. */
bool pfc_cache_token(pfc_cache *cache, const char *hash, pfc_principal *out, uint64_t *generation);
/** Caches a token. valid_s: seconds until it expires, negative: never. Does nothing if the cache
 *  was cleared since `generation`: the token may have been revoked after it was read. */
void pfc_cache_keep_token(pfc_cache *cache, const char *hash, const pfc_principal *who,
                          double valid_s, uint64_t generation);

#endif
