/*
 * Storing results that were measured elsewhere: what push and import share. One thread.
 */
#ifndef PFC_CLI_UPLOAD_H
#define PFC_CLI_UPLOAD_H

#include "cli/api.h"
#include "cli/take.h"

/** Flags, NULL where not given. */
typedef struct pfc_upload_opts {
    const char *commit;  /* what was measured, where the document does not say; default HEAD */
    const char *project; /* default: perfci.yaml's, else the repository's name */
    const char *branch;
    const char *machine_class; /* for formats that do not say; default "imported" */
    const char *url, *data;    /* which service */
} pfc_upload_opts;

/** The service, and the repository here, if any. */
typedef struct pfc_upload {
    const pfc_upload_opts *opts;
    pfc_conf conf;
    pfc_http *http;
    pfc_repo *repo; /* NULL outside any repository */
    char *project;
    char *branch;
    pfc_commit_id told; /* the commit whose history was posted last */
} pfc_upload;

/** Connects and makes sure that the project exists. Close in every case. */
pfc_code pfc_upload_open(pfc_upload *up, const pfc_upload_opts *opts, pfc_err *err) PFC_MUSTCHECK;
void pfc_upload_close(pfc_upload *up);

/**
 * Fills what the run lacks (its id from the content, so that the same file again is the same run),
 * tells its commit to the service and stores it. `file` for messages. Appends {"file", "run_id",
 * "id", "commit", "repeated", "measurements"} to `list`.
 *
 * PFC_EINVAL when the commit is not known; the rest as pfc_api_post_run.
 */
pfc_code pfc_upload_run(pfc_upload *up, const char *file, pfc_run *run, json_t *list,
                        pfc_err *err) PFC_MUSTCHECK;

/** The list as a table, or with --json as JSON. Takes `list`. */
void pfc_upload_print(const pfc_cli *cli, json_t *list);

#endif
