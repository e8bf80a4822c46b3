/*
 * Output of `perfci detect` beside its table: the series as a plot, and every candidate with the
 * reason why it was kept or dropped.
 */
#ifndef PFC_CLI_DETECT_SHOW_H
#define PFC_CLI_DETECT_SHOW_H

#include "cli/cli.h"
#include "cli/detect/series_read.h"
#include "core/changepoint/changepoint.h"
#include "core/stats/stats.h"

typedef struct pfc_reason {
    size_t index; /* into the series' points */
    bool kept;
    char *text; /* one sentence; owned */
} pfc_reason;

typedef struct pfc_reasons {
    pfc_reason *items; /* by index */
    size_t len, cap;
} pfc_reasons;

/**
 * Why `found`, the detector's answer under `opts`, is what it is. Candidates are what a detector
 * with the lowest thresholds would have reported (no floor, every second series without a change
 * may have one), single points far off their level, and newest points that may be a new level.
 * Clear *out.
 */
void pfc_detect_explain(const pfc_series_in *s, const pfc_detect_opts *opts,
                        const pfc_detection *found, pfc_reasons *out);
void pfc_reasons_clear(pfc_reasons *reasons);

/** Draws the series to stdout: values (*), levels (-), changes (^; ? while provisional). Values
 *  beyond the middle 98 % are drawn at the edge. */
void pfc_detect_plot(const pfc_cli *cli, const pfc_series_in *s, const pfc_detection *found);

#endif
