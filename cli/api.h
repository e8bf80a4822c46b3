/*
 * The service's HTTP API as the subcommands use it: which service, whose token, which project.
 */
#ifndef PFC_CLI_API_H
#define PFC_CLI_API_H

#include <stddef.h>

#include "cli/cli.h"
#include "core/base/config/conf.h"
#include "core/git/repo.h"
#include "core/http/client.h"
#include "runner/build/products.h"

/* The options that say which service: they fill the members `url` and `data` of the input `type`,
 * or of a member of it (`path`, with a dot behind; else empty). */
#define PFC_SERVICE_OPTIONS(type, path)                                                            \
    PFC_OPT_TEXT("url", "U", type, path url, "The service"),                                       \
        PFC_OPT_TEXT("data", "DIR", type, path data, "Data folder of `perfci up`")

/**
 * A client of the service.
 *
 * url   --url or NULL: then PERFCI_URL, perfci.yaml's `server`, DATA/endpoint.json, the default
 * data  --data or NULL; conf may be NULL
 *
 * The token is PERFCI_TOKEN (or its file); without one, DATA/admin.token, but only for the service
 * that DATA/endpoint.json names: it is never sent anywhere else. Without any token the client
 * can read what the service lets every client read. Free *out with pfc_http_free.
 */
pfc_code pfc_api_open(const char *url, const char *data, const pfc_conf *conf, pfc_http **out,
                      pfc_err *err) PFC_MUSTCHECK;

/** As pfc_api_open, with further options of the client. Its url and token are not read; NULL: none.
 */
pfc_code pfc_api_open_with(const char *url, const char *data, const pfc_conf *conf,
                           const pfc_http_opts *more, pfc_http **out, pfc_err *err) PFC_MUSTCHECK;

/**
 * Opens the project that a command works on: *conf from the perfci.yaml of the working directory,
 * the project's name and a client. Clear all three in every case; each starts as zero.
 */
pfc_code pfc_api_begin(const char *url, const char *data, const char *project, pfc_conf *conf,
                       char **name, pfc_http **http, pfc_err *err) PFC_MUSTCHECK;

/** The project's name: flag, PERFCI_PROJECT, perfci.yaml, else the folder's name as a slug.
 *  `dir` may be NULL. PFC_EINVAL when none of them gives a slug; caller frees. */
pfc_code pfc_api_project(const char *flag, const pfc_conf *conf, const char *dir, char **out,
                         pfc_err *err) PFC_MUSTCHECK;

/** The project that something is to be stored in. */
typedef struct pfc_ensure {
    const char *project;
    const char *branch; /* of a new one; NULL: the service's default */
    const pfc_conf
        *conf;     /* a project that perfci.yaml states is meant, so it is made; may be NULL */
    bool create;   /* --create was given */
    bool has_flag; /* the command has --create, which the hint names */
} pfc_ensure;

/** Finds the project, or makes it where that is meant: by --create, or because perfci.yaml states
 * it. *made is true then. PFC_ENOTFOUND otherwise; the hint is the name that was probably meant. */
pfc_code pfc_api_ensure_project(pfc_http *http, const pfc_ensure *want, bool *made,
                                pfc_err *err) PFC_MUSTCHECK;
/** Where runners find the project: *out is NULL where it has a repository of its own, which the
 * service tells them, else `folder`, which only runners of this machine can read. */
pfc_code pfc_api_source(pfc_http *http, const char *project, const char *folder, const char **out,
                        pfc_err *err) PFC_MUSTCHECK;

/** Tells the service about `ids` (oldest first), in as many posts as needed. *fresh, which may be
 *  NULL: how many it did not know. */
pfc_code pfc_api_post_commits(pfc_http *http, const char *project, const char *branch,
                              pfc_repo *repo, const pfc_commit_id *ids, size_t len, int64_t *fresh,
                              pfc_err *err) PFC_MUSTCHECK;

/** Sends the CODEOWNERS file of `tip`, for the owners of alerts. The service keeps that of the
 *  newest commit of the project's branch. A failure is logged only: no result depends on it. */
void pfc_api_post_codeowners(pfc_http *http, const char *project, pfc_repo *repo,
                             const pfc_commit_id *tip);

/** Tells the service about the last 200 first-parent commits up to `tip`, so that a run of it finds
 *  its place in history, and sends the CODEOWNERS file of `tip`. */
pfc_code pfc_api_post_history(pfc_http *http, const char *project, const char *branch,
                              pfc_repo *repo, const pfc_commit_id *tip, pfc_err *err) PFC_MUSTCHECK;

/** Posts a run (with project and commit), in parts when it is too large. *run_id, which may be
 *  NULL: its number; *repeated, which may be NULL: it was there already. */
pfc_code pfc_api_post_run(pfc_http *http, const pfc_run *run, int64_t *run_id, bool *repeated,
                          pfc_err *err) PFC_MUSTCHECK;

/** Tells what benchmarks are built from, for the suspects of an alert; nothing when nothing is
 * known. Goes without saying: a service that does not take it changes no result. */
void pfc_api_post_sources(pfc_http *http, const char *project, const char *commit,
                          const pfc_conf *conf, const pfc_built *built);

#endif
