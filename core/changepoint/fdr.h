/*
 * From what the detector says of each series to what deserves an alert, given how many series were
 * looked at: used by the service when it opens alerts, and by the simulation that checks the
 * promise.
 */
#ifndef PFC_CORE_CHANGEPOINT_FDR_H
#define PFC_CORE_CHANGEPOINT_FDR_H

#include "core/changepoint/changepoint.h"
#include "core/stats/stats.h"

#define PFC_ALERT_FDR 0.05 /* share of mistaken alerts, at one place and over time */

/** Standard errors that a change stands out by, given what a short history cannot know: how alike
 *  neighbouring points are (their correlation is known to 1.64 / sqrt(points), and the upper end is
 *  taken) and the noise itself (Student's t with points - 4 degrees of freedom, as a normal's:
 * Wallace, Ann. Math. Stat. 30, 1959). From rel_low..rel_high where p has reached its floor.
 * INFINITY: no noise. points: of the series, up to the end of the new level at least. */
double pfc_fdr_sureness(const pfc_change *change, size_t points);
/** Standard errors that a change must stand out by as the detector sees it, to justify an alert
 * with few points of the new level in a history of so many points: the other way round. */
double pfc_fdr_needed(size_t points);
/** p of a change as clear as this one at any of the `points` places of its series, by the sureness
 *  above; a series without noise (exact) has no chance to search in, so its p is kept. */
double pfc_fdr_anywhere(const pfc_change *change, size_t points, bool exact);
/** True when the evidence for a change justifies an alert: the detector has confirmed it, or it has
 * five points and seven standard errors by the sureness above (further points rarely revoke such a
 * change), or twenty points.
 *
 *  end   end of the new level, as an index of the series' points */
bool pfc_alert_justified(const pfc_change *change, size_t end);
/** The same for a change after a level that a person has accepted: three points and six standard
 * errors are enough when the series' history makes a change much more likely than a spike. The
 * level before is known then, so only the new points can mislead; a series that had excursions of
 * three points requires five.
 *
 *  ratio   pfc_stats_change_or_spike of the newest points; NAN: not known, five points are required
 */
bool pfc_alert_justified_accepted(const pfc_change *change, size_t end, double ratio);
/** keep[i]: p[i] is a discovery at level q (Benjamini-Hochberg) among n changes at one place, where
 *  `measured` series were looked at; those without a change count with p = 1. measured < n is n. */
void pfc_fdr_keep(const double *p, size_t n, size_t measured, double q, bool *keep);

/* ---- over time: LORD++ (Ramdas, Yang, Wainwright, Jordan, Online control of the false discovery
 * rate with decaying memory, NIPS 2017; the sequence is that of Javanmard & Montanari, Ann.
 * Statist. 46(2), 2018, eq. 31). One commit is one test: that nothing changed there. Its p is
 * Simes' over the series measured, so Benjamini-Hochberg at the commit's level opens an alert
 * exactly where the test rejects. A commit's level sinks with the commits tested since the last
 * discovery and rises after one, so that of the commits accused over time at most the share `fdr`
 * is innocent, and where nothing ever changes the chance of any alert is at most that.
 *
 * The stream restarts every PFC_FDR_EPOCH commits: old discoveries must not change today's level,
 * and the level never falls below the p that a clear change can reach. */

#define PFC_FDR_EPOCH 1000 /* commits of a branch's line */

/** LORD++ level of the t-th test (from 1) at rate alpha with starting wealth w0 <= alpha; found[]:
 *  tests before it that rejected, ascending. */
double pfc_fdr_lord(double alpha, double w0, size_t t, const size_t *found, size_t found_len);

/* Commits of one branch at which alerts stand. Zero-initialise with a rate; clear it. */
typedef struct pfc_fdr_stream {
    double fdr;     /* 0: PFC_ALERT_FDR */
    int64_t *found; /* positions, ascending, each once */
    size_t len, cap;
} pfc_fdr_stream;

/** Notes a discovery at a position (from 1). */
void pfc_fdr_found(pfc_fdr_stream *stream, int64_t position);
/** The level for the commit at `position`, given the discoveries at earlier ones of its epoch. */
double pfc_fdr_level(const pfc_fdr_stream *stream, int64_t position);
/** First position of the epoch that `position` belongs to. */
int64_t pfc_fdr_epoch(int64_t position);
void pfc_fdr_stream_clear(pfc_fdr_stream *stream);

#endif
