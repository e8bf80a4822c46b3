/*
 * Documents of sessions: session_commits.worst, change_points.evidence, and the text that a
 * session's hash is of.
 */
#ifndef PFC_SERVER_REPO_DOCUMENTS_SESSION_H
#define PFC_SERVER_REPO_DOCUMENTS_SESSION_H

#include "core/wire/session.h"

/** The boundary of a commit that decided its verdict, or that changed most. */
typedef struct pfc_session_worst {
    int64_t series_id;
    const char *benchmark, *metric, *backend;
    double rel_change, rel_low, rel_high; /* finite */
    int64_t alert_id;                     /* 0: none */
} pfc_session_worst;

/** Decision of a session about a change. Ids of commits have 40 digits. */
typedef struct pfc_blocks_evidence {
    const char *session;
    const char *against, *commit; /* the builds that were compared */
    const char *place_after,
        *place_until; /* the change is after the one, and not after the other */
    const char *test; /* its name */
    bool different;   /* false: the same within the margin */
    size_t rounds;
    double rel_low, rel_high, margin, p, p_adjusted; /* not finite: stored as null */
} pfc_blocks_evidence;

/** The text of the column, with numbers that read back as the same; the caller frees it. */
char *pfc_session_worst_text(const pfc_session_worst *worst);
/** Likewise. */
char *pfc_blocks_evidence_text(const pfc_blocks_evidence *evidence);
/** The session's document in one form: equal content has equal texts, whatever the blanks and the
 *  order of members were. The caller frees it. */
char *pfc_session_text(const pfc_session *session);

#endif
