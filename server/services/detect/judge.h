/*
 * Judging one series of which the history is read (judge.c), for those that judge several
 * (judge_group.c).
 */
#ifndef PFC_SERVER_SERVICES_DETECT_JUDGE_H
#define PFC_SERVER_SERVICES_DETECT_JUDGE_H

#include "server/services/detect/judged_rows.h"

/* A series to be judged, and what is known of it before its history is read. */
typedef struct pfc_judge_item {
    const pfc_judged *series;
    pfc_settled settled;    /* how far, unless new points lie before that */
    pfc_settled stored;     /* how far as of the last judging */
    int64_t from_run;       /* no point from the anchor on is of a run with a lower number */
    int64_t points;         /* as of the last judging */
    bool first;             /* it has never been judged */
    bool anchored, changed; /* ratios to an anchor; has or had changes */
    int64_t generation;     /* of its state; 0: it has none */
    int64_t position;       /* of the newest point of that state */
} pfc_judge_item;

/* Left by a judgement for the next one. */
typedef struct pfc_judge_state {
    int64_t generation; /* 0: the series has no state */
    size_t anchor;      /* the point of h at which the next history begins */
} pfc_judge_state;

/** Detects, and stores what is found, but for the row of the series, which is added to `rows`. h:
 *  the points from item->settled.anchor on. *replay: as of pfc_history_detect. tx holds the lock of
 *  the series. */
pfc_code pfc_judge_history(pfc_tx *tx, int64_t project_id, const pfc_judge_item *item,
                           const pfc_history *h, pfc_steady_replay *replay, pfc_judged_rows *rows,
                           pfc_judge_state *out, pfc_err *err) PFC_MUSTCHECK;

#endif
