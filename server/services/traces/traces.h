/*
 * Traces of runs (core/trace): stored as they were sent, once they hold against the checker, and
 * read into views for the timeline. service.h has the general rules.
 */
#ifndef PFC_SERVER_SERVICES_TRACES_TRACES_H
#define PFC_SERVER_SERVICES_TRACES_TRACES_H

#include "core/trace/view/view.h"
#include "server/repo/sql/traces.h"
#include "server/services/service.h"

#define PFC_TRACES_MAX_BYTES (16u * 1024 * 1024) /* of a trace, as the table has it */
#define PFC_TRACES_MAX_RUN   16                  /* of a run */

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
