/*
 * Traces of runs (core/trace): stored as they were sent, once they hold against the checker, and
 * read into views for the timeline. service.h has the general rules.
 */
#ifndef PFC_SERVER_SERVICES_TRACES_TRACES_H
#define PFC_SERVER_SERVICES_TRACES_TRACES_H

#include "core/trace/run_files.h"
#include "core/trace/view/view.h"
#include "server/repo/sql/traces.h"
#include "server/services/service.h"

#define PFC_TRACES_MAX_BYTES PFC_RUN_TRACE_MAX_BYTES /* of a trace, as the table has it */
#define PFC_TRACES_MAX_RUN   PFC_RUN_TRACES_MAX

typedef struct pfc_trace_upload {
    const char *actor;
    int64_t project_id, run_id; /* of the run */
    const char *run;            /* its own id */
    const char *benchmark;      /* NULL: not said */
    const char *bytes;
    size_t len;
} pfc_trace_upload;

typedef struct pfc_trace_stored {
    int64_t id;
    bool repeated; /* the run has these bytes already, under this id */
} pfc_trace_stored;

/** Stores a trace. PFC_EINVAL: it is no trace, or has a fault, which the message names with its
 *  place, or the project has no such benchmark; PFC_ECONFLICT: the run has PFC_TRACES_MAX_RUN;
 *  PFC_ETOOBIG: longer than PFC_TRACES_MAX_BYTES. */
pfc_code pfc_trace_store(pfc_db *db, const pfc_trace_upload *upload, pfc_trace_stored *out,
                         pfc_err *err) PFC_MUSTCHECK;

typedef pfc_sql_trace_row pfc_trace_row_of_run;
typedef pfc_sql_trace_rows pfc_trace_rows;

/** The traces of a run, oldest first. Clear *out. */
pfc_code pfc_traces_list(pfc_db *db, int64_t project_id, int64_t run_id, pfc_trace_rows *out,
                         pfc_err *err) PFC_MUSTCHECK;
/** One row; PFC_ENOTFOUND: "no such trace". Clear *out. */
pfc_code pfc_trace_find(pfc_db *db, int64_t id, pfc_trace_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** The file; caller frees *bytes. */
pfc_code pfc_trace_file(pfc_db *db, int64_t id, char **bytes, size_t *len,
                        pfc_err *err) PFC_MUSTCHECK;

/* ---- of_alert.c ---- */

#define PFC_ALERT_TRACES_MAX 16 /* of a side */

/** One side of an alert's change: the run that the explanation compares, and what is stored of its
 *  commit. */
typedef struct pfc_alert_trace_side {
    pfc_sql_trace_side_rows at; /* one */
    pfc_trace_rows traces;      /* of the alert's benchmark, newest first */
} pfc_alert_trace_side;

typedef struct pfc_alert_traces {
    int64_t project_id;
    pfc_alert_trace_side sides[2]; /* before, after */
} pfc_alert_traces;

/** The stored traces of the alert's benchmark on both sides of its change. PFC_ENOTFOUND: the alert
 *  has no run on one of them, or is no step. Clear *out in every case. */
pfc_code pfc_alert_traces_load(pfc_db *db, int64_t alert_id, pfc_alert_traces *out,
                               pfc_err *err) PFC_MUSTCHECK;
/** Queues a measurement with traces of each side whose commit has none and no job for one. *out as
 *  above, afterwards. */
pfc_code pfc_alert_traces_ask(pfc_db *db, const char *actor, int64_t alert_id,
                              pfc_alert_traces *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_alert_traces_clear(pfc_alert_traces *traces);

/* ---- views.c ---- */

#define PFC_TRACE_VIEWS_LEN   8                   /* views that are kept */
#define PFC_TRACE_VIEWS_BYTES (96u * 1024 * 1024) /* of all of them; a larger one alone stays */

/** Views of the traces that were read last. Reading one of 16 MiB takes some 100 ms, and a person
 *  who zooms asks for it several times a second. */
typedef struct pfc_trace_views pfc_trace_views;

pfc_trace_views *pfc_trace_views_new(void);
/** No view is held. Accepts NULL. */
void pfc_trace_views_free(pfc_trace_views *views);

/** A view that stays as long as it is held. */
typedef struct pfc_trace_held {
    pfc_trace_view *view;
    pfc_trace_views *of; /* NULL: the holder's own */
    size_t slot;
} pfc_trace_held;

/** The view of a trace; views NULL: it is read each time. Ends in pfc_trace_drop. */
pfc_code pfc_trace_hold(pfc_db *db, pfc_trace_views *views, int64_t id, pfc_trace_held *out,
                        pfc_err *err) PFC_MUSTCHECK;
void pfc_trace_drop(pfc_trace_held *held);

#endif
