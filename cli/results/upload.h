/*
 * Storing results that were measured elsewhere: what push and import share. One thread.
 */
#ifndef PFC_CLI_RESULTS_UPLOAD_H
#define PFC_CLI_RESULTS_UPLOAD_H

#include "cli/api.h"
#include "cli/measure/measure.h"
#include "cli/results/direction.h"
#include "cli/results/results.h"

/** Flags, NULL where not given. */
typedef struct pfc_upload_opts {
    const char *commit;  /* what was measured, where the document does not say; default HEAD */
    const char *project; /* default: perfci.yaml's, else the repository's name */
    const char *branch;
    const char *machine_class;  /* for formats that do not say; default "imported" */
    bool create;                /* makes the project when there is none */
    const char *url, *data;     /* which service */
    const char *store, *remote; /* a store instead of a service; NULL */
    pfc_directions directions;  /* of --direction */
    char **files;               /* what stands behind the flags; at least one */
    size_t files_len;
} pfc_upload_opts;

/* Their options, of an input `type` that has them as its member `up`. */
#define PFC_UPLOAD_OPTIONS(type)                                                                   \
    PFC_OPT_TEXT("commit", "C", type, up.commit, "The commit that was measured",                   \
                 .fallback = "HEAD"),                                                              \
        PFC_OPT_TEXT("project", "P", type, up.project, "The project's name"),                      \
        PFC_OPT_FLAG("create", type, up.create, "Make the project when there is none"),            \
        PFC_OPT_TEXT("branch", "B", type, up.branch, "The branch",                                 \
                     .fallback = "the one checked out"),                                           \
        PFC_OPT_TEXT("machine-class", "M", type, up.machine_class, "For formats that do not say",  \
                     .fallback = "\"imported\""),                                                  \
        PFC_DIRECTION_OPTION, PFC_SERVICE_OPTIONS(type, up.)

/* The same for a store without a service. */
#define PFC_UPLOAD_STORE_OPTIONS(type)                                                             \
    PFC_OPT_TEXT("store", "S", type, up.store,                                                     \
                 "Into the store in this folder or in branch:NAME, without a service"),            \
        PFC_OPT_TEXT("store-remote", "R", type, up.remote,                                         \
                     "With --store branch:NAME: join the branch of this remote before, and push "  \
                     "after")

/** Takes the FILEs, as the rest of an argp parser; without any the process ends with status 2. */
error_t pfc_upload_parse(int key, char *arg, struct argp_state *state, pfc_upload_opts *opts);

/** The service, and the repository here, if any. */
typedef struct pfc_upload {
    const pfc_cli *cli;
    const pfc_upload_opts *opts;
    pfc_conf conf;
    pfc_http *http;                 /* NULL: a store */
    struct pfc_upload_store *store; /* NULL: a service. Owned (upload_store.c) */
    pfc_repo *repo;                 /* NULL outside any repository */
    char *project;
    char *branch;
    pfc_commit_id last_posted; /* the commit whose history was posted last */
    bool ready;                /* the project is there */
    bool made;                 /* ... because this call made it */
    size_t stored;             /* runs that the service took */
} pfc_upload;

/** Connects. The project is looked up, or made, with the first run that can be stored. Close in
 * every case: it removes a project that was made for runs of which the service took none. */
pfc_code pfc_upload_open(pfc_upload *up, const pfc_cli *cli, const pfc_upload_opts *opts,
                         pfc_err *err) PFC_MUSTCHECK;
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

/** Opens the store of `opts`, whose commits have to be in the repository here. */
pfc_code pfc_upload_store_open(pfc_upload *up, pfc_err *err) PFC_MUSTCHECK;
/** Adds a run at its commit; *repeated: it was there. */
pfc_code pfc_upload_store_run(pfc_upload *up, const pfc_run *run, bool *repeated,
                              pfc_err *err) PFC_MUSTCHECK;
/** Puts the regressions that the history shows now on record, and publishes. */
pfc_code pfc_upload_store_finish(pfc_upload *up, pfc_err *err) PFC_MUSTCHECK;
void pfc_upload_store_close(pfc_upload *up);

/** Reads the files and folders of `opts` by `read` (its directions are those of `opts` and of
 * perfci.yaml) and stores each run; a history is a run a commit. Prints the list of what is stored,
 * also on failure: a table, or with --json JSON. */
pfc_code pfc_upload_files(const pfc_cli *cli, const pfc_upload_opts *opts,
                          const pfc_import_opts *read, pfc_err *err) PFC_MUSTCHECK;

#endif
