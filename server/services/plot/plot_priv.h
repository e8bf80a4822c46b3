/* The parts of this folder that only it uses. */
#ifndef PFC_SERVER_SERVICES_PLOT_PLOT_PRIV_H
#define PFC_SERVER_SERVICES_PLOT_PLOT_PRIV_H

#include "core/select/select.h"
#include "server/services/plot/plot.h"

/* ---- candidates.c ---- */

bool pfc_plot_selects(pfc_plot_candidates *candidates, size_t row, const pfc_select *select);
/** Fields of the expression, and `more` (may be NULL), that no series has. *out is empty. */
void pfc_plot_unknown(pfc_plot_candidates *candidates, const pfc_select *select, const char *more,
                      pfc_texts *out);

/* ---- columns.c, pure ---- */

/** The horizontal axis. Mark positions, finish, then ask for columns. */
typedef struct pfc_plot_axis {
    uint32_t *place; /* by position: 0: none; after finishing: its place, from 1 */
    size_t span;     /* positions 0..span-1 */
    size_t places, columns;
    int64_t *newest; /* position of the newest place of each column; owned */
} pfc_plot_axis;

/** last: the highest position. PFC_ETOOBIG over PFC_PLOT_MAX_POSITION. Clear *axis. */
pfc_code pfc_plot_axis_init(pfc_plot_axis *axis, int64_t last, pfc_err *err) PFC_MUSTCHECK;
void pfc_plot_axis_mark(pfc_plot_axis *axis, int64_t position);
/** Shares the places out to at most `columns` columns, whose sizes differ by one at most. */
void pfc_plot_axis_finish(pfc_plot_axis *axis, size_t columns);
/** The column of a marked position. */
size_t pfc_plot_axis_column(const pfc_plot_axis *axis, int64_t position);
void pfc_plot_axis_clear(pfc_plot_axis *axis);

/** Lowest, median and highest value of the points in each column; points by position, all marked.
 *  The arrays have a value a column; NAN: no point. */
void pfc_plot_fill(const pfc_plot_axis *axis, const pfc_packed_points *points, float *median,
                   float *low, float *high);

/* ---- geomean.c, pure ---- */

/** Geometric mean of the members' values, a point a position at which every member has one. Of
 *  several results of a member at a position the median counts. Values <= 0 count as absent.
 *  *out: by position, with n the number of members; free items. partial: appends the positions at
 *  which some, but not all, members have one; positions below 2^31. */
typedef struct pfc_plot_positions {
    int64_t *items; /* owned */
    size_t len, cap;
} pfc_plot_positions;

void pfc_plot_geomean(const pfc_packed_points *const *members, size_t len, pfc_packed_points *out,
                      pfc_plot_positions *partial);

/* ---- chunks.c: points of chunks in memory, for all plots ----
 * A chunk's points never change: another content has another version (migration 0078), also in a
 * database that was set back. Thread-safe. */

#define PFC_PLOT_CHUNK_BYTES (96u << 20) /* of all: PFC_PLOT_MAX_POINTS at 24 bytes */

typedef struct pfc_plot_chunk pfc_plot_chunk;

/** NULL: it is not in memory. Release it. */
pfc_plot_chunk *pfc_plot_chunk_find(int64_t series_id, int64_t version);
/** Unpacks it, and keeps it in memory. Release it. */
pfc_code pfc_plot_chunk_unpack(int64_t series_id, int64_t version, pfc_bytes packed,
                               pfc_plot_chunk **out, pfc_err *err) PFC_MUSTCHECK;
/** Appends its points, without `min` and `n`, which a plot does not show. */
void pfc_plot_chunk_append(const pfc_plot_chunk *chunk, pfc_packed_points *out);
/** Accepts NULL. */
void pfc_plot_chunk_release(pfc_plot_chunk *chunk);

typedef struct pfc_plot_chunk_figures {
    size_t bytes;
    uint64_t found, unpacked; /* since the start */
} pfc_plot_chunk_figures;
void pfc_plot_chunk_count(pfc_plot_chunk_figures *out);

/* ---- read.c ---- */

/** One chosen series with all of its points. */
typedef struct pfc_plot_member {
    size_t row;               /* of the candidates */
    pfc_packed_points points; /* by position, without those of a moved machine */
    pfc_plot_positions moved; /* positions of those */
} pfc_plot_member;

/** PFC_ETOOBIG over PFC_PLOT_MAX_POINTS. points: stored ones of the selected series. */
pfc_code pfc_plot_check_points(int64_t points, pfc_err *err) PFC_MUSTCHECK;

/** Reads the points of the members, of which `row` is set. */
pfc_code pfc_plot_read_points(pfc_tx *tx, int64_t project_id, const char *branch,
                              const pfc_plot_candidates *candidates, pfc_plot_member *members,
                              size_t len, pfc_err *err) PFC_MUSTCHECK;
void pfc_plot_members_free(pfc_plot_member *members, size_t len);

/* ---- version.c ---- */

/** As pfc_plot_version, of the state that `tx` sees. */
pfc_code pfc_plot_version_read(pfc_tx *tx, int64_t project_id, const char *branch, char **out,
                               pfc_err *err) PFC_MUSTCHECK;

#endif
