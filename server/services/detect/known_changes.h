/*
 * The stored change points of a series, as they are matched with new results: of the detector
 * (judge.c), or of a session's blocks (sessions/changes.c).
 */
#ifndef PFC_SERVER_SERVICES_DETECT_KNOWN_CHANGES_H
#define PFC_SERVER_SERVICES_DETECT_KNOWN_CHANGES_H

#include "server/repo/sql/jobs.h"
#include "server/services/service.h"

/* A change that is stored already. */
typedef struct pfc_known {
    int64_t id, position, low, high, alert_id;
    double before, after;
    double rel_change, last_event_at; /* last_event_at: of its alert, Unix seconds; NAN: none */
    bool regression, gone, undone, accepted, used;
    bool blocks;         /* a session decided that it is there: no single measurement changes it */
    bool same;           /* a session decided that nothing changed there: it stays gone */
    bool may_return;     /* its alert, without new blocks */
    const char *session; /* whose blocks decided; NULL: none */
    const char *withheld;
    const char *alert_state, *last_actor;
} pfc_known;

/** One a row; texts live as long as `rows`. */
void pfc_known_read(const pfc_sql_change_points_of_series_rows *rows, pfc_known *items);
/** The stored change whose range meets [low, high] with the same direction: live ones before gone
 *  ones (the rows are in that order), the nearest first. Not one that is used already, nor a place
 *  at which a session found no change. NULL: none. */
pfc_known *pfc_known_match(pfc_known *items, size_t len, int64_t position, int64_t low,
                           int64_t high, bool regression);
/** Does the change lie at the commits low to high: some of it there, its ends not far outside? */
bool pfc_known_at(const pfc_known *k, int64_t low, int64_t high);
/** Has a session decided that nothing changed at this place, low to high? */
bool pfc_known_same(const pfc_known *items, size_t len, int64_t low, int64_t high);
/** Is its alert in that state, set by the detector? The detector reverts only its own changes. */
bool pfc_known_own(const pfc_known *k, const char *state);
/** Updates the alert of a stored change: closes it when the level has come back (undone: the
 *  evidence, as the reason in its history; NULL: it has not), opens it again
 *  when that turns out wrong, or when a change that had vanished is detected again and may return.
 *  A state last set by a person is kept, except "acknowledged", "investigating" and "fixed". */
pfc_code pfc_known_follow(pfc_tx *tx, int64_t project_id, const pfc_known *old, bool confirmed,
                          const char *undone, pfc_err *err) PFC_MUSTCHECK;
/** Groups the alert, and those grouped with it, again. moved: its change has another place, or has
 *  returned, so that its owner and its boundary are found again, too. */
pfc_code pfc_alert_regroup(pfc_tx *tx, int64_t project_id, int64_t alert_id, bool moved,
                           pfc_err *err) PFC_MUSTCHECK;

#endif
