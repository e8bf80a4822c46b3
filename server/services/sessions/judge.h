/*
 * Judges a session from its stored visits. GET /sessions/{id} and the change points use the same
 * function, so that the page and the alerts cannot disagree.
 *
 * Builds are the commits of the session's runs on the branch's line, in history order. A boundary
 * is judged when its commit is newer than the session's base and among the commits of the session's
 * document (else it was judged before, and is measured because later ones are compared with it), or
 * when a live change point of the series lies in it: a candidate that was seen in single
 * measurements, whose two sides the session has measured.
 *
 * A run counts unless a later lease of its job has overtaken it (jobs.fence > runs.job_fence): the
 * job's next runner measures in a session of its own.
 */
#ifndef PFC_SERVER_SERVICES_SESSIONS_JUDGE_H
#define PFC_SERVER_SERVICES_SESSIONS_JUDGE_H

#include "core/blocks/blocks.h"
#include "server/services/service.h"

typedef struct pfc_session_build {
    int64_t commit_id, position; /* on the branch's line */
    const char *commit;
    bool known; /* judged before: the session's document does not have it among its commits */
} pfc_session_build;

typedef struct pfc_session_boundary {
    const pfc_boundary *b; /* from, to: indices into the session's builds */
    double p_adjusted;   /* over the session's judged boundaries (Benjamini-Hochberg); NAN: exact */
    pfc_verdict verdict; /* among them: DIFFERENT needs p_adjusted <= PFC_BLOCKS_FDR too */
    bool within;      /* inconclusive, but the fit lies within the night's margin: shown as same */
    bool regression;  /* where DIFFERENT: worse, by the metric's direction */
    int64_t alert_id; /* of the change point that this boundary made; 0: none */
} pfc_session_boundary;

typedef struct pfc_session_series {
    int64_t id;
    const char *benchmark, *metric, *backend, *machine_class, *unit;
    bool higher_is_better, exact;
    bool judged;         /* false: a rule of the project leaves it out */
    double margin;       /* relative change that does not matter, of the test */
    double night_margin; /* likewise, of what a night leaves alone */
    pfc_blocks_fit fit;  /* levels of all builds; a level without visits: not measured here */
    pfc_session_boundary *boundaries; /* those judged, in history order; owned */
    size_t boundaries_len;
    size_t rounds; /* that hold at least two builds of this series */
} pfc_session_series;

typedef struct pfc_session_judgement {
    int64_t project_id;
    const char *session, *branch;
    pfc_session_build *builds; /* in history order, at most PFC_BLOCKS_MAX_BUILDS */
    size_t builds_len;
    size_t base, anchor;        /* into builds; builds_len: not measured */
    pfc_session_series *series; /* by benchmark, metric, backend, machine class */
    size_t series_len;
    pfc_res *builds_hold, *series_hold; /* behind the texts */
} pfc_session_judgement;

/** Judges the stored visits of all runs of the session. Clear *out in every case. PFC_ENOTFOUND: no
 *  run of that session is stored. Reads only; deterministic in what is stored. */
pfc_code pfc_session_judge(pfc_tx *tx, int64_t project_id, const char *session,
                           pfc_session_judgement *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_session_judgement_clear(pfc_session_judgement *judgement);

/** "order": the random order of the stretch's builds decides; "pairs": the builds' rounds. */
const char *pfc_session_test_name(const pfc_session_boundary *boundary);

/** "regression", "improvement", "same" or "undecided". */
const char *pfc_session_verdict_name(const pfc_session_boundary *boundary);

#endif
