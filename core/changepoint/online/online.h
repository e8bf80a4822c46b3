/*
 * The detector a point at a time. A series is replayed in its own order: most points only pass a
 * check against the newest level (tens of nanoseconds); where that check finds something, and on a
 * thinning schedule, a look at the newest stretch decides; most looks take the noise over from an
 * earlier one and only tell whether a whole one is worth it. A change that has lasted is settled
 * then, with its place, for good: no later point moves or drops it, and later looks take it as
 * given. pfc_stats_detect is this replay followed by one look, so both always agree.
 *
 * A point that comes late (a backfill) is put in its place and the series replayed from the newest
 * state saved before that place, or from the start: the answer is that of the points in order,
 * however they arrived.
 *
 * The state holds no points: the caller keeps those, and passes the series each time. It is plain
 * data, below 2 KB, and may be copied; pfc_online_save makes bytes of it that any machine reads.
 */
#ifndef PFC_CORE_CHANGEPOINT_ONLINE_ONLINE_H
#define PFC_CORE_CHANGEPOINT_ONLINE_ONLINE_H

#include "core/changepoint/stages.h"

#define PFC_ONLINE_PINS          64 /* settled changes that a look takes into account */
#define PFC_ONLINE_OPEN          8  /* newest changes that are not settled yet */
#define PFC_ONLINE_RING          64 /* newest points, as distances from the newest level */
#define PFC_ONLINE_MAX_CONFIRMED 4  /* changes that one point can settle */
#define PFC_ONLINE_BYTES         2048

typedef struct pfc_pin {
    uint32_t index, low, high; /* of points; low..high is the 90 % set */
    uint32_t shares;           /* 1: the shares of two machine states changed, not a level */
} pfc_pin;

/* A change that looks keep finding. */
typedef struct pfc_open {
    uint32_t index;
    uint32_t since; /* points of the series when it was first seen here */
} pfc_open;

typedef struct pfc_online {
    pfc_detect_opts opts;
    uint32_t seen;      /* points of the series, missing ones too */
    uint32_t places;    /* those that are not missing */
    uint32_t from;      /* a look begins here */
    uint32_t noised;    /* points of the series when the noise was estimated; 0: not yet */
    uint32_t due;       /* ... at the next one, unless something is found before */
    uint32_t rest;      /* no look for finds before so many points */
    uint32_t fruitless; /* looks in a row that a find made and nothing came of */
    uint32_t phase;     /* points not missing since `from` */
    uint32_t age;       /* of the newest level, in points not missing; at most the ring's use */
    uint32_t exact;     /* the last look saw no noise */
    pfc_level level;
    pfc_pin pins[PFC_ONLINE_PINS];
    uint32_t pins_len;
    pfc_open open[PFC_ONLINE_OPEN];
    uint32_t open_len;
    int32_t ring[PFC_ONLINE_RING]; /* running sum of distances from the level, 1024 to a sigma */
} pfc_online;

/* Changes that one point confirmed, by index. */
typedef struct pfc_confirmed_changes {
    pfc_change changes[PFC_ONLINE_MAX_CONFIRMED];
    size_t len;
} pfc_confirmed_changes;

/** Ready for the first point. PFC_EINVAL: options out of range. NULL options: the defaults. */
pfc_code pfc_online_init(pfc_online *online, const pfc_detect_opts *opts,
                         pfc_err *err) PFC_MUSTCHECK;
/** Takes the next point, points[online->seen]; all points before it must be in `points`, too. True
 * when it confirmed a change; *out (may be NULL) then lists the confirmed ones. At most
 * PFC_SERIES_MAX_POINTS points. `space`: memory of the passes, shared by any number of series of
 * one thread. */
bool pfc_online_append(pfc_online *online, const pfc_point *points, pfc_segment_space *space,
                       pfc_confirmed_changes *out);
/** Takes the next point without the others. False: a look at the history is due at this point;
 *  *online is as it was, and pfc_online_append takes it. Otherwise equal to pfc_online_append. */
bool pfc_online_pass(pfc_online *online, const pfc_point *point) PFC_MUSTCHECK;
/** The current result: the confirmed changes within reach, and the provisional ones.
 *  points[0..online->seen) are all points taken so far. The caller clears *out with
 * pfc_detection_clear. */
void pfc_online_answer(const pfc_online *online, const pfc_point *points, pfc_segment_space *space,
                       pfc_detection *out);

/** Adds changes that were confirmed earlier to a result that no longer reaches back to them. */
void pfc_detection_join(pfc_detection *d, const pfc_change *past, size_t len);

/** The state as bytes; returns how many, at most PFC_ONLINE_BYTES. */
size_t pfc_online_save(const pfc_online *online, uint8_t out[PFC_ONLINE_BYTES]);
/** The state from bytes. PFC_EINVAL: these are no state of this version; *online is left alone. */
pfc_code pfc_online_load(pfc_online *online, const uint8_t *bytes, size_t len,
                         pfc_err *err) PFC_MUSTCHECK;

#endif
