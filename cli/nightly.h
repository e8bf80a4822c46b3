/*
 * One nightly round: which commits are new, measuring them, telling the service, what came of it.
 */
#ifndef PFC_CLI_NIGHTLY_H
#define PFC_CLI_NIGHTLY_H

#include "cli/api.h"
#include "cli/take.h"

/** What came of one commit. */
typedef struct pfc_night_commit {
    pfc_commit_id id;
    char *subject;
    bool measured;
    bool broken;    /* does not build, or gives wrong results */
    int64_t run_id; /* 0: not known */
    char *reason;   /* NULL when measured */
} pfc_night_commit;

typedef struct pfc_night {
    const pfc_cli *cli;
    pfc_take take;
    pfc_http *http;
    char *project;
    const char *branch;
    pfc_night_commit *commits; /* oldest first */
    size_t len;
    size_t skipped; /* new ones beyond the limit */
    json_t *alerts; /* those that this round brought; array, owned */
    json_t *
        broken; /* {commit, benchmark, metric, backend, machine_class, reason, run_id}; array, owned */
    json_t *standing; /* of the project afterwards, as the service says; NULL: not asked; owned */
    bool judged;      /* the service has looked at all of it */
} pfc_night;

/** Prints as table and sentences, Markdown or JSON. */
void pfc_night_print(const pfc_night *night, bool markdown);
/** 1 a regression, 4 the newest commit or a benchmark of any is broken, 5 the service has not judged yet, 0. */
int pfc_night_exit(const pfc_night *night);

#endif
