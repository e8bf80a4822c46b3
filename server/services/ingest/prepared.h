/*
 * Shared by the files of this folder: a run prepared for storing, and the two ways to store it.
 *
 * Preparing needs no database: it checks the document, derives the figures that are stored beside
 * the samples, and hashes header and body. ingest.c stores one run in a transaction of its own;
 * group.c stores many in one, as long as they need nothing but inserts. Both store by
 * the functions of rows.c.
 */
#ifndef PFC_SERVER_SERVICES_INGEST_PREPARED_H
#define PFC_SERVER_SERVICES_INGEST_PREPARED_H

#include "core/base/hash.h"
#include "server/repo/documents/labels.h"
#include "server/repo/sql/ingest.h"
#include "server/services/ingest/ingest.h"

#define PFC_INGEST_MAX_KEY 200

/* Columns of the measurements that have samples, for unnest. */
typedef struct pfc_ingest_columns {
    size_t len;
    const char **benchmark, **metric, **backend, **unit;
    char **params, **extra;
    const pfc_measurement **measured; /* whose samples and blocks are stored */
    bool *higher, *exact;
    int64_t *series;
    double *median, *low, *high, *min;
    int64_t samples_total;
} pfc_ingest_columns;

/* One ingest under way. */
typedef struct pfc_ingest {
    const char *actor, *key; /* borrowed; key NULL: none */
    pfc_tx *tx;
    const pfc_run *run;
    int64_t project_id;
    char *project, *branch;
    int64_t commit_id, machine_id, run_id;
    bool further; /* the run has a part already */
    pfc_ingest_columns ok;
    char *ceilings; /* JSON; NULL: none */
    char header[PFC_SHA256_HEX], body[PFC_SHA256_HEX];
} pfc_ingest;

/** Checks the run and fills what needs no database; clear it, also on failure. `run`, `actor` and
 *  `key` are borrowed. PFC_EINVAL as for pfc_run_ingest. */
pfc_code pfc_ingest_prepare(pfc_ingest *in, const char *actor, int64_t project_id,
                            const pfc_run *run, const char *key, pfc_err *err) PFC_MUSTCHECK;
/** Frees what preparing and storing have made. */
void pfc_ingest_clear(pfc_ingest *in);
/** Stores a prepared run in a transaction of its own; may be called again after it failed. */
pfc_code pfc_ingest_one(pfc_db *db, pfc_ingest *in, pfc_ingest_result *out,
                        pfc_err *err) PFC_MUSTCHECK;
/** Looks up what the runs need, in the order of the runs; see group_resolve. */
pfc_code pfc_ingest_resolve(pfc_tx *tx, pfc_ingest *const *runs, size_t len,
                            pfc_sql_group_resolve_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** Stores runs with their part, detect job and audit row, but without results; with announce, sends
 *  their event, too. A run whose run_id is 0 is new and gets its number; another one is stored and
 *  gets a further part. Projects, branches, commits and machines are known; len is
 *  1..PFC_INGEST_GROUP_MAX. stored[i] false: a run with this id is there already, and nothing of
 *  runs[i] was stored. */
pfc_code pfc_ingest_store(pfc_tx *tx, pfc_ingest *const *runs, size_t len, bool announce,
                          bool *stored, pfc_err *err) PFC_MUSTCHECK;
/** Stores what was broken or skipped; in->tx, in->project_id and in->run_id are set. */
pfc_code pfc_ingest_unmeasured(pfc_ingest *in, pfc_err *err) PFC_MUSTCHECK;
/** Measurements with samples, of all the runs together. */
size_t pfc_ingest_rows(pfc_ingest *const *runs, size_t len);
/** The series of the runs' measurements with samples, a row each. */
pfc_code pfc_ingest_series_find(pfc_tx *tx, pfc_ingest *const *runs, size_t len,
                                pfc_sql_series_find_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** Makes the rows of measurements_copy: results with samples. Runs, commits and series are
 * known. */
void pfc_ingest_measurements(pfc_copy *out, pfc_ingest *const *runs, size_t len);

/* An exact result that is not what another run of the same commit and fingerprint has. */
typedef struct pfc_exact_conflict {
    bool found;
    size_t row; /* of the run's columns; the first such */
    int64_t run_id;
    double stored;
} pfc_exact_conflict;

/** Runs with exact results at one commit are stored one after the other, so that each sees the
 *  earlier one's values: taken before their rows are made, until the transaction ends. */
pfc_code pfc_ingest_exact_lock(pfc_tx *tx, pfc_ingest *const *runs, size_t len,
                               pfc_err *err) PFC_MUSTCHECK;
/** Looks for them, out[i] for runs[i], all false before; also among the runs themselves, where the
 *  later one has the conflict. Series and commits are known. */
pfc_code pfc_ingest_exact_conflicts(pfc_tx *tx, pfc_ingest *const *runs, size_t len,
                                    pfc_exact_conflict *out, pfc_err *err) PFC_MUSTCHECK;
/** PFC_ECONFLICT with both values when `in` has one. */
pfc_code pfc_ingest_exact_check(pfc_ingest *in, pfc_err *err) PFC_MUSTCHECK;

/** The state of one run of a group. */
typedef enum pfc_group_state {
    PFC_GROUP_ALONE,  /* needs more than inserts, or may be stored already: store it alone */
    PFC_GROUP_STORED, /* committed with the group */
} pfc_group_state;

/**
 * Stores as many of the runs as need nothing but inserts, in one transaction; states[i] and, for
 * those stored, results[i] say how each fared. On failure nothing of the group is stored and all
 * states are PFC_GROUP_ALONE. len is 1..PFC_INGEST_GROUP_MAX.
 */
#define PFC_INGEST_GROUP_MAX 256
pfc_code pfc_ingest_group(pfc_db *db, pfc_ingest *const *runs, size_t len, pfc_group_state *states,
                          pfc_ingest_result *results, pfc_err *err) PFC_MUSTCHECK;

#endif
