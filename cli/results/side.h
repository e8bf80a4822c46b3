/*
 * An argument such as "main", "run.json" or "4711" where a command takes files, revisions and
 * stored runs alike: which of these it is, and reading a stored run.
 */
#ifndef PFC_CLI_RESULTS_SIDE_H
#define PFC_CLI_RESULTS_SIDE_H

#include "core/git/repo.h"
#include "core/http/client.h"
#include "core/wire/wire.h"

typedef enum pfc_side_kind {
    PFC_SIDE_FILE,
    PFC_SIDE_REVISION, /* of the repository here */
    PFC_SIDE_RUN       /* the number or id of a stored run, or an end that the service resolves */
} pfc_side_kind;

/**
 * A file that exists is a file; else what the repository resolves is a revision; else what looks
 * like a run is one. With `stored` the service resolves everything else: commits, tags, branches
 * and dates that it knows.
 *
 * repo  NULL: this folder is in no repository
 * id    out: the commit of a revision
 *
 * PFC_ENOTFOUND when the text is none of these.
 */
pfc_code pfc_side_find(pfc_repo *repo, const char *text, bool stored, pfc_side_kind *kind,
                       pfc_commit_id *id, pfc_err *err) PFC_MUSTCHECK;

/** GET /runs/{id} as a run; id: number or 32 hexadecimal digits. */
pfc_code pfc_side_fetch_run(pfc_http *http, const char *id, pfc_run **out,
                            pfc_err *err) PFC_MUSTCHECK;

/**
 * The newest usable run of a commit: one that is not infrastructure's, not overtaken and not in
 * quarantine. Where there are several, one of `machine_class` (may be NULL) is taken first.
 * PFC_ENOTFOUND when the service has none.
 */
pfc_code pfc_side_stored_run(pfc_http *http, const char *project, const char *commit,
                             const char *machine_class, pfc_run **out, pfc_err *err) PFC_MUSTCHECK;

#endif
