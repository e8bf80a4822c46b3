/*
 * The loop of a bisection: ask the plan, measure, give the result back, until the plan stops or the
 * caller pauses. The caller performs the measurements: a local bisection runs each one before the
 * next question; the service queues jobs, pauses, and continues from its rows when results arrive.
 *
 * Pure, no I/O; a plan is used by one thread.
 */
#ifndef PFC_CORE_BISECT_DRIVER_H
#define PFC_CORE_BISECT_DRIVER_H

#include "core/bisect/bisect.h"

/** How a measurement ended. */
typedef enum pfc_bisect_outcome {
    PFC_BISECT_PENDING, /* not yet */
    PFC_BISECT_MEASURED,
    PFC_BISECT_BROKEN, /* the commit cannot be measured */
    PFC_BISECT_FAILED, /* may work when repeated */
    PFC_BISECT_TIMED_OUT,
} pfc_bisect_outcome;

typedef struct pfc_bisect_result {
    size_t commit;
    unsigned build;
    pfc_bisect_outcome outcome;
    double value; /* when measured */
} pfc_bisect_result;

/** Adds a result to the plan; a pending one changes nothing. PFC_EINVAL: see pfc_bisect_add_run. */
pfc_code pfc_bisect_add_result(pfc_bisect_plan *plan, const pfc_bisect_result *result,
                               pfc_err *err) PFC_MUSTCHECK;
/** The next measurement under the assumption that each pending one gives its expected value, so
 * that several runners get different work. PFC_BISECT_STOP: none to start now; with nothing pending
 * the plan has stopped. The plan's observations do not change. */
void pfc_bisect_next_beside(pfc_bisect_plan *plan, const pfc_bisect_step *pending, size_t len,
                            pfc_bisect_step *out);

/** One pass of the loop, filled by the caller. */
typedef struct pfc_bisect_turn {
    pfc_bisect_plan *plan; /* knows every result so far */
    const pfc_bisect_step *pending;
    size_t pending_len;
    bool pause;     /* no further measurement for now */
    bool unit_open; /* a group of runs is incomplete: measure() continues it without a question */
} pfc_bisect_turn;

typedef struct pfc_bisect_driver {
    /** Before each question. *turn is zeroed. */
    pfc_code (*prepare)(void *context, pfc_bisect_turn *turn, pfc_err *err);
    /** Performs the measurement and adds its result, or starts it and makes it pending. */
    pfc_code (*measure)(void *context, const pfc_bisect_step *step, pfc_err *err);
} pfc_bisect_driver;

/** Runs the loop; returns at a pause, when the plan stops, and with the first error of a
 * callback. */
pfc_code pfc_bisect_drive(const pfc_bisect_driver *driver, void *context,
                          pfc_err *err) PFC_MUSTCHECK;

#endif
