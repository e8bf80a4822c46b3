/*
 * A bisection that the service runs on its runners: its rows are read into the planner, and the
 * planner's requests become jobs. Private to this folder.
 *
 * Its whole state is in the database: the commits, the options, the steps. Each turn makes the plan
 * from it, so a killed server loses nothing and any server of the database can continue.
 */
#ifndef PFC_SERVER_SERVICES_BISECT_REMOTE_H
#define PFC_SERVER_SERVICES_BISECT_REMOTE_H

#include "core/bisect/driver.h"
#include "core/bisect/finding.h"
#include "server/repo/sql/bisections.h"
#include "server/services/bisect/bisect.h"

#define REMOTE_MAX_PENDING 8 /* jobs of one bisection at a time, however many runners there are */

typedef struct remote_step {
    int64_t n;
    size_t place; /* in the line */
    unsigned layout;
    pfc_bisect_outcome state; /* pending: a job was queued for it */
    int64_t job_id, run_id;   /* 0: none */
    double value;             /* when measured */
    const char *reason;       /* of a step that ended without a value; "" or NULL: see job_reason */
    const char *job_state, *job_reason;
} remote_step;

typedef struct remote {
    int64_t project_id, id;
    const char *metric, *benchmark, *backend, *branch, *machine_class; /* NULL: any */
    pfc_texts line; /* ids of commits, the good one first; owned */
    size_t len;
    double *prior; /* one a commit; NULL: equal */
    pfc_bisection_options options;
    pfc_texts option_texts; /* of options read from the row; owned */
    bool known;             /* the direction is known, from a series or a first run */
    bool higher_is_better, exact;
    int64_t alert_id;
    remote_step *steps;
    size_t steps_len, steps_cap;
    pfc_sql_bisection_load_rows row; /* one */
    pfc_sql_bisection_steps_rows step_rows;
} remote;

const char *remote_commit(const remote *r, size_t place);
/** "asked" (pending), "measured", "broken", "failed", "timed_out". */
const char *remote_state_name(pfc_bisect_outcome state);
/** Row and steps; clear with remote_clear. */
pfc_code remote_load(pfc_tx *tx, int64_t project_id, int64_t id, remote *out,
                     pfc_err *err) PFC_MUSTCHECK;
void remote_clear(remote *r);
/** A plan without results, and one result for it; a pending one changes nothing. */
pfc_code remote_plan_new(const remote *r, pfc_bisect_plan **out, pfc_err *err) PFC_MUSTCHECK;
pfc_code remote_plan_add(pfc_bisect_plan *plan, const remote_step *s, pfc_err *err) PFC_MUSTCHECK;
/** A plan that knows every step that ended. */
pfc_code remote_plan(const remote *r, pfc_bisect_plan **out, pfc_err *err) PFC_MUSTCHECK;
/** Expected cost from now on; reads the runners and the queue. */
pfc_code remote_cost(pfc_tx *tx, const remote *r, double expected_runs, pfc_bisection_cost *out,
                     pfc_err *err) PFC_MUSTCHECK;
pfc_code remote_put_step(pfc_tx *tx, const remote *r, const remote_step *s,
                         pfc_err *err) PFC_MUSTCHECK;
/** How a bisection ended; texts, NULL: none. */
typedef struct remote_end {
    const char *verdict, *culprits, *reason,
        *stopped; /* culprits, stopped: JSON; see 0029_stopped.sql */
} remote_end;

/** Ends the search with the report of its plan, and queues the verification of each culprit. */
pfc_code remote_conclude(pfc_tx *tx, remote *r, const pfc_bisect_plan *plan,
                         const pfc_bisect_report *report, pfc_err *err) PFC_MUSTCHECK;
/** Ends a running bisection and notifies listeners; *row 0: it had ended before. */
pfc_code remote_finish(pfc_tx *tx, int64_t project_id, int64_t id, const char *state,
                       const remote_end *end, int64_t *row, pfc_err *err) PFC_MUSTCHECK;
pfc_code remote_cancel_jobs(pfc_tx *tx, int64_t project_id, int64_t id, pfc_err *err) PFC_MUSTCHECK;
/** The kind of its jobs: `kind`, or that of pull requests where the commits may come from a
 *  stranger. */
const char *remote_job_kind(const remote *r, const char *kind);
/** Adds the labels of its jobs; none: any runner. The caller clears *out. */
void remote_labels(const remote *r, pfc_labels *out);
/** Queues the confirmation of a culprit, unless it is a set of commits. (verify.c) */
pfc_code verify_start(pfc_tx *tx, const remote *r, const pfc_culprit *c,
                      pfc_err *err) PFC_MUSTCHECK;
pfc_code verify_list(pfc_tx *tx, int64_t project_id, int64_t bisection_id, pfc_verifications *out,
                     pfc_err *err) PFC_MUSTCHECK;
#endif
