/*
 * Attributes a shift, in which many series of one machine became slower at one place of the
 * history, to a commit or to the machine. Pure, deterministic, no I/O; thread-safe.
 *
 * In the history of one machine the two look the same: commits are measured in the order in which
 * they were made, so every point after a commit is also after a moment. These observations separate
 * the two:
 * - the same work at the same commits on other machines: unchanged, or moved too;
 * - older commits measured again after the moment: at the new level (the machine's), or at the old
 * one;
 * - metrics without noise of the same kernels, and their object code: the same before and after;
 * - the machine's fingerprint, if it changed there;
 * - the files that the commits touched, if they cannot act on the series that moved.
 *
 * Without any of these the shift is attributed to a commit: attributing a regression to the machine
 * costs more than superfluous alerts. For the same reason the answer is the machine only where most
 * of its series moved, of several kinds of work. A series that lost much more than the others, or
 * that moved on other machines too, stays attributed to the commit.
 */
#ifndef PFC_CORE_SUSPECTS_MACHINE_SHIFT_H
#define PFC_CORE_SUSPECTS_MACHINE_SHIFT_H

#include "core/base/base.h"

#define PFC_SHIFT_MIN_SERIES 4  /* of a machine that moved; with fewer each has a separate cause */
#define PFC_SHIFT_BEFORE     12 /* most measured points that give a level */
#define PFC_SHIFT_AFTER      8

typedef struct pfc_shift_series {
    uint32_t work;   /* equal numbers: same benchmark, metric and backend, on any machine */
    uint32_t kernel; /* ... same benchmark and backend, any metric */
    uint32_t kind;   /* ... same kind of work (family and backend) */
    bool higher_is_better;
    bool exact;   /* a metric without noise */
    bool suspect; /* has a confirmed regression whose place may be here */
} pfc_shift_series;

/* One measured point. The points of a series are in the order of position, then of time. */
typedef struct pfc_shift_point {
    uint32_t series;  /* index into series */
    uint32_t machine; /* equal numbers: one machine */
    uint32_t state;   /* equal numbers: one fingerprint */
    uint32_t code;    /* equal numbers: same object code; 0: unknown */
    int64_t position; /* of the commit */
    double time;      /* when it was measured, Unix seconds; equal times: in the order of commits */
    double value;     /* > 0 */
} pfc_shift_point;

typedef enum pfc_shift_scope {
    PFC_SCOPE_UNKNOWN, /* the touched files may act on every series that moved, or are unknown */
    PFC_SCOPE_NARROW,  /* they cannot act on most series that moved */
} pfc_shift_scope;

typedef struct pfc_shift_case {
    const pfc_shift_series *series;
    size_t series_len;
    const pfc_shift_point *points;
    size_t points_len;
    size_t machines;   /* their numbers are below this */
    int64_t low, high; /* positions: the first commit at the new level is one of these */
    pfc_shift_scope scope;
} pfc_shift_case;

/* Why it is the machine: bits. */
enum {
    PFC_SHIFT_ELSEWHERE = 1, /* the same work is unchanged on other machines */
    PFC_SHIFT_AGAIN = 2,     /* older commits measured again are at the new level */
    PFC_SHIFT_CODE = 4,      /* object code, or metrics without noise, are unchanged */
    PFC_SHIFT_STATE = 8,     /* the machine's fingerprint changed there */
    PFC_SHIFT_SCOPE = 16,    /* the commits cannot act on the series that moved */
};

typedef enum pfc_shift_answer {
    PFC_SHIFT_UNKNOWN, /* no observation decides: treat it as a commit's */
    PFC_SHIFT_COMMIT, /* it occurs on other machines, or older commits are still at the old level */
    PFC_SHIFT_MACHINE,
} pfc_shift_answer;

typedef struct pfc_shift {
    pfc_shift_answer answer;
    uint32_t machine;
    unsigned why;         /* of PFC_SHIFT_MACHINE */
    size_t moved, judged; /* series of the machine: that moved, of those measured on both sides */
    double loss, least, most; /* relative: 0.06 is 6 % slower (or less of what should be more);
                                  median and the ends of the middle half of what belongs */
    size_t last, first;       /* points: the newest at the old level, the first at the new one */
    bool *belongs;            /* of series_len, owned: suspects that the machine explains */
    size_t belongs_len;       /* how many of them are true */
} pfc_shift;

/**
 * The machine on which most series moved, and the attribution. low <= high; machines and
 * series_len bounded by memory only; O(points log points). Clear *out.
 */
void pfc_shift_judge(const pfc_shift_case *c, pfc_shift *out);
void pfc_shift_clear(pfc_shift *shift);

#endif
