/*
 * The verdict of a session on each of its commits, over all its series.
 *
 * slower: a boundary of the commit regressed in at least one series (also used for throughput).
 * faster: none regressed, and one improved. same: the interval of every boundary lies within its
 * margin; `within` is the largest of their ends. undecided: anything else; `needs_s` is the figure
 * of the session's document, else the time of the rounds that are likely to decide the open
 * boundaries.
 *
 * Commits with identical object code share one build: the first of them in history gets its
 * boundary, and the others are "identical". Series that a rule leaves out do not count.
 */
#ifndef PFC_SERVER_SERVICES_SESSIONS_REPORT_H
#define PFC_SERVER_SERVICES_SESSIONS_REPORT_H

#include "server/repo/documents/session.h"
#include "server/services/sessions/judge.h"
#include "server/services/sessions/sessions.h"

typedef struct pfc_session_verdict {
    const char *word; /* slower, faster, same, undecided, identical, broken, not_measured */
    double within;    /* relative, of same; NAN otherwise */
    double needs_s;   /* of undecided; NAN: not known, or another word */
    /* The boundary that decided, or the one that changed most; NULL: none. */
    const pfc_session_series *worst_series;
    const pfc_session_boundary *worst;
} pfc_session_verdict;

typedef struct pfc_session_report {
    int64_t project_id;
    pfc_session_rows session; /* one */
    pfc_session_commit_rows commits;
    pfc_session_judgement judgement; /* empty: no run of it is stored */
    pfc_session_verdict *verdicts;   /* of each commit; owned */
} pfc_session_report;

/** Judges one session as stored. Clear *out in every case. PFC_ENOTFOUND: no such session. */
pfc_code pfc_session_report_load(pfc_tx *tx, int64_t project_id, const char *id,
                                 pfc_session_report *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_session_report_clear(pfc_session_report *report);

/** The commits' verdicts. Pure. The result borrows `commits` and `judgement`; the caller frees
 * it. */
pfc_session_verdict *pfc_session_verdicts(const pfc_session_row *session,
                                          const pfc_session_commit_rows *commits,
                                          const pfc_session_judgement *judgement);
/** The commit that shows the boundary of a build: builds[to], or the first one identical to it. */
const char *pfc_session_owner(const pfc_session_commit_rows *commits,
                              const pfc_session_judgement *judgement, size_t build);
/** The boundary that decided, or that changed most; the texts are those of the judgement. False:
 *  there is none, or its interval is open. */
bool pfc_session_worst_of(const pfc_session_verdict *verdict, pfc_session_worst *out);
/** As pfc_anchored_refresh, for the verdicts of the sessions' commits. Call it after alerts were
 *  opened: the verdicts refer to them. */
pfc_code pfc_session_reports_refresh(pfc_db *db, int64_t project_id, const int64_t *runs,
                                     size_t len, pfc_err *err) PFC_MUSTCHECK;
/** Keeps the verdicts for lists. */
pfc_code pfc_session_verdicts_store(pfc_tx *tx, const pfc_session_report *report,
                                    pfc_err *err) PFC_MUSTCHECK;

#endif
