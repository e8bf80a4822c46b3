/*
 * The ends of a comparison as people name them: a commit, a run, a tag, a branch or a date, each
 * with `~N` behind it for N commits before. service.h has the general rules.
 *
 * Read in this order: a full commit id; 32 digits or fewer than 7 decimal digits are a run; the
 * first digits of a commit id; a tag; a branch, which is its newest commit with results; a date,
 * which is the newest commit with results of the project's branch at or before it (a day: until its
 * end, UTC). `refs/tags/NAME` and `refs/heads/NAME` name a tag and a branch alone.
 */
#ifndef PFC_SERVER_SERVICES_HISTORY_ENDS_H
#define PFC_SERVER_SERVICES_HISTORY_ENDS_H

#include "server/repo/tables/repo.h"

#define PFC_END_MAX_TEXT (PFC_WIRE_MAX_NAME + 32) /* bytes of an end as it is named */
#define PFC_END_MAX_BACK 10000                    /* N of ~N */

/* An end as it is asked for. NULL: every backend, every machine class. With one, the newest commit
 * of a branch or date is one with results of it. */
typedef struct pfc_end_ask {
    const char *text;
    const char *backend, *machine_class;
} pfc_end_ask;

typedef struct pfc_end {
    int64_t commit_id;
    int64_t run_id;   /* 0: all runs of the commit */
    char *commit;     /* 40 digits */
    const char *kind; /* "commit", "run", "tag", "branch", "date"; static */
    char *how;        /* "tag v1.2~1 at 1a2b3c4d5e6f, 1 commit before f00ba12..." */
} pfc_end;

/**
 * Finds the commit of an end. `field` names the end in errors: PFC_EINVAL for text that can name
 * none, PFC_ENOTFOUND where the project has no such commit, run, tag, branch or measured commit.
 * *out is empty before, and stays so on failure.
 */
pfc_code pfc_end_find(pfc_db *db, int64_t project_id, const pfc_end_ask *ask, const char *field,
                      pfc_end *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_end_clear(pfc_end *end);

/* The commits between two ends. */
typedef struct pfc_ends_between {
    char *branch;    /* on whose line both lie; NULL: on no line together */
    int64_t commits; /* between both; -1: on no line together */
    bool backwards;  /* b lies before a */
    char *sentence;
} pfc_ends_between;

/** a, b: commits. *out is empty before. */
pfc_code pfc_ends_between_load(pfc_tx *tx, int64_t project_id, int64_t a, int64_t b,
                               pfc_ends_between *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_ends_between_clear(pfc_ends_between *between);

#endif
