/*
 * The history in a store: its documents, the series that they make in the order of git, the changes
 * in them, and the regressions that are on record.
 */
#ifndef PFC_CLI_STORE_HISTORY_H
#define PFC_CLI_STORE_HISTORY_H

#include <jansson.h>

#include "cli/store/store.h"
#include "core/changepoint/changepoint.h"
#include "core/wire/wire.h"

/** A commit's value. */
typedef struct pfc_store_point {
    size_t position; /* in the line of commits */
    double value;
    size_t runs; /* behind it */
} pfc_store_point;

typedef struct pfc_store_series {
    const char *benchmark, *metric, *backend, *machine_class, *unit; /* of the runs */
    bool higher_is_better, exact;
    pfc_store_point *points; /* in the order of history, one a commit; owned */
    size_t len, cap;
    pfc_detection found; /* its indices are places in `points` */
} pfc_store_series;

typedef struct pfc_store_history {
    pfc_run **runs; /* by start; owned */
    size_t runs_len, runs_cap;
    json_t *sessions; /* as judged, the newest first: array, as GET /sessions/{id} answers each */
    json_t *alerts;   /* on record, by number: array of objects; pfc_store_alerts_new has the
                         members */
    json_t *triage;   /* decisions about them, the oldest first: array; triage.c has the members.
                         The newest of an alert is its member "triage", unless it opens it again */
    json_t *faults;   /* [{"path", "reason"}]: files that cannot be read */

    /* After pfc_store_history_judge: */
    pfc_commit_id *line; /* first-parent history of the branch, oldest first; owned */
    size_t line_len;
    size_t *by_id;            /* positions, by commit id; owned */
    size_t elsewhere;         /* runs of commits that are not on it */
    pfc_store_series *series; /* by benchmark, metric, backend, class; owned */
    size_t series_len, series_cap;
} pfc_store_history;

/** Reads all documents. One that cannot be read is in `faults`, and the others count. Clear *out in
 * every case. */
pfc_code pfc_store_history_load(pfc_store *store, pfc_store_history *out,
                                pfc_err *err) PFC_MUSTCHECK;
void pfc_store_history_clear(pfc_store_history *history);
/** Adds a document that was just measured, as if it had been read. Takes `run`. */
void pfc_store_history_add_run(pfc_store_history *history, pfc_run *run);
/** Takes `session`: it is the newest. */
void pfc_store_history_add_session(pfc_store_history *history, json_t *session);

/**
 * Makes the series and finds their changes by the detector; again after documents were added.
 *
 * The value of a commit is the median of its runs' medians. Of runs that were measured in blocks it
 * is the ratio to the session's anchor, times the anchor's level, which the commits that two
 * sessions share carry from one to the next: so the state of the machine of each night cancels.
 *
 * line  takes it: the first-parent history, oldest first
 */
pfc_code pfc_store_history_judge(pfc_store_history *history, pfc_commit_id *line, size_t len,
                                 pfc_err *err) PFC_MUSTCHECK;
/** PFC_STORE_NOWHERE: the commit is not on the line. */
size_t pfc_store_place(const pfc_store_history *history, const char *commit);

#define PFC_STORE_NOWHERE SIZE_MAX

/* ---- alerts.c ---- */

/** Confirmed regressions of series with noise that no alert on record explains: changes that single
 * measurements show. Array of {"commit", "benchmark", "metric", "backend"}; the caller decrefs. */
json_t *pfc_store_candidates(const pfc_store_history *history);

/**
 * The regressions that are not on record, as objects with "id" (number), "key", "kind",
 * "direction", "commit", "benchmark", "metric", "backend", "rel_change", "rel_low", "rel_high",
 * "title". They are added to history->alerts, and returned; the caller decrefs.
 *
 * Of a series without noise the detector's confirmed changes count; of others the boundaries of
 * `series` (as "series" of a session; NULL: none), which were measured in blocks.
 */
json_t *pfc_store_alerts_new(pfc_store_history *history, const json_t *series);
/** "alerts/ab/KEY.json". Caller frees. */
char *pfc_store_alert_path(const json_t *alert);
/** {"sentence", "regressions"}: how the project stands: regressions without a decision; the caller
 *  decrefs. */
json_t *pfc_store_standing(const pfc_store_history *history);

/* ---- triage.c ---- */

/** PFC_EINVAL: not a decision. */
pfc_code pfc_store_triage_check(const json_t *doc, pfc_err *err) PFC_MUSTCHECK;
/** Sets the member "triage" of the alerts by history->triage. */
void pfc_store_triage_apply(pfc_store_history *history);
/**
 * Stores a decision about an alert on record, and adds it to the history.
 *
 * state   "accepted", "noise", "fixed"; "open" takes an earlier decision back
 * reason  1 to PFC_WIRE_MAX_TEXT bytes
 * by      who decided, for readers; may be ""
 */
pfc_code pfc_store_triage_put(pfc_store *store, pfc_store_history *history, const json_t *alert,
                              const char *state, const char *reason, const char *by,
                              pfc_err *err) PFC_MUSTCHECK;

/* ---- documents ---- */

/** Adds a run, a session or an alert to the store. */
pfc_code pfc_store_put_run(pfc_store *store, const pfc_run *run, bool *repeated,
                           pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_store_put_session(pfc_store *store, const json_t *session, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_store_put_alerts(pfc_store *store, const json_t *alerts, pfc_err *err) PFC_MUSTCHECK;

/* ---- page.c ---- */

#define PFC_STORE_PAGE_SERIES 500 /* charts; further series are counted */

/** The page of charts: self-contained, all text escaped. PFC_ETOOBIG over PFC_STORE_MAX_FILE_BYTES.
 */
pfc_code pfc_store_page(const pfc_store_history *history, const char *project, pfc_buf *out,
                        pfc_err *err) PFC_MUSTCHECK;

#endif
