/*
 * Judging a series at the cost of its new points. The result of a series (its changes, its noise)
 * is computed at the points that may alter it, and holds until the next of those. Which points
 * these are follows from the points in their order alone: a point is due
 *   - among the first PFC_STEADY_FIRST points of a series, and at every PFC_STEADY_STRIDE-th;
 *   - 128 points, or four days, or a part of each, after the newest point that was due;
 *   - where the replay looks at the history, and while a change is open or was settled recently;
 *   - where the newest points lie off their level: one by PFC_STEADY_OFF sigma, or several by
 *     PFC_STEADY_SUM standard errors together;
 *   - at a few points after one of these.
 * So a point that is not due needs the state of online.h and nothing of the history, and judging
 * points as they arrive gives the same result as judging the whole series.
 *
 * A long series may be replayed from a later start (`base`). As long as that start is moved only at
 * multiples of the stride, the result of a prefix depends on its points alone.
 *
 * Plain data; may be copied; no function keeps a pointer. Thread-safe on different states.
 */
#ifndef PFC_CORE_CHANGEPOINT_ONLINE_STEADY_H
#define PFC_CORE_CHANGEPOINT_ONLINE_STEADY_H

#include "core/changepoint/online/online.h"

#define PFC_STEADY_FIRST  64  /* points of a series that are all due */
#define PFC_STEADY_STRIDE 256 /* points of a series between those that are due in any case */
#define PFC_STEADY_OFF    2.9 /* sigma */
#define PFC_STEADY_SUM    3.5 /* standard errors */
#define PFC_STEADY_BYTES  (PFC_ONLINE_BYTES + 64)

typedef struct pfc_steady {
    pfc_online online;
    uint64_t base;     /* points of the series before the first one of this replay */
    double due_at;     /* time of the newest point that was due, Unix seconds */
    uint32_t due_seen; /* points of this replay up to that one */
    uint32_t restless; /* further points that are due because an earlier one was */
} pfc_steady;

/** Ready for the first point, which is number `base` of the series. PFC_EINVAL as of
 *  pfc_online_init. */
pfc_code pfc_steady_init(pfc_steady *steady, uint64_t base, const pfc_detect_opts *opts,
                         pfc_err *err) PFC_MUSTCHECK;
/** Was it made ready with these options? */
bool pfc_steady_fits(const pfc_steady *steady, const pfc_detect_opts *opts);
/** Takes points[steady->online.seen] as pfc_online_append does, and returns whether it is due. *out
 *  lists the changes that it confirmed, none in most cases. */
bool pfc_steady_append(pfc_steady *steady, const pfc_point *points, pfc_segment_space *space,
                       pfc_confirmed_changes *out);
/** Takes the next point without the history. False: it is due, *steady is as it was, and the series
 *  must be judged with its history. */
bool pfc_steady_pass(pfc_steady *steady, const pfc_point *point) PFC_MUSTCHECK;

/** A replay of a series that can continue: its state after the newest point, and the changes that
 *  it confirmed. Zero: it has taken no point. */
typedef struct pfc_steady_replay {
    pfc_steady steady;
    pfc_change *past; /* by the point that confirmed them; indices into the points of the replay */
    size_t past_len, past_cap;
} pfc_steady_replay;

/** Detects the changes up to the newest point that is due. *judged counts the points up to it; *out
 *  equals the result of pfc_stats_detect for them. *replay gets the state after the last point.
 *  points[0] is number `base` of the series. PFC_EINVAL, PFC_ETOOBIG as of pfc_stats_detect.
 *  *replay, zero at first, may be that of an earlier call with the first of these points: if the
 *  options and the base are the same, and a newer point is due, only the newer points are taken.
 *  Else it begins with the first point. Clear *out, and *replay also after an error. */
pfc_code pfc_steady_detect(const pfc_point *points, size_t n, uint64_t base,
                           const pfc_detect_opts *opts, pfc_steady_replay *replay, size_t *judged,
                           pfc_detection *out, pfc_err *err) PFC_MUSTCHECK;
/** Frees what it has; it is zero then. */
void pfc_steady_replay_clear(pfc_steady_replay *replay);

/** The state as bytes; returns how many, at most PFC_STEADY_BYTES. */
size_t pfc_steady_save(const pfc_steady *steady, uint8_t out[PFC_STEADY_BYTES]);
/** The state from bytes. PFC_EINVAL: these are no state of this version; *steady is left alone. */
pfc_code pfc_steady_load(pfc_steady *steady, const uint8_t *bytes, size_t len,
                         pfc_err *err) PFC_MUSTCHECK;

#endif
