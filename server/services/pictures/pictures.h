/*
 * Pictures for other pages, as SVG that an <img> shows: a badge with the state of a project, and a
 * series as a chart or a sparkline. No script, no request, both themes. Pure functions;
 * thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_PICTURES_PICTURES_H
#define PFC_SERVER_SERVICES_PICTURES_PICTURES_H

#include "server/services/history/history.h"
#include "server/services/history/project_summary.h"

#define PFC_BADGE_MAX_LABEL    40 /* characters */
#define PFC_PICTURE_MAX_POINTS 500
#define PFC_PICTURE_MIN_WIDTH  40 /* pixels, like the rest */
#define PFC_PICTURE_MAX_WIDTH  2000
#define PFC_PICTURE_MIN_HEIGHT 12
#define PFC_PICTURE_MAX_HEIGHT 1000

/** The words of a badge: "2 regressions, 1 broken", "1 drift", "1 open alert", "1 broken build",
 * "1 silent runner", "no regression"; "no results" where `measured` is false. Caller frees. */
char *pfc_badge_words(const pfc_standing *standing, bool measured);

/** Appends a badge: the label at the left, the words at the right on the colour of the standing's
 * level, grey without results. A longer label is cut. At most 4 KiB. */
void pfc_badge_svg(const char *label, const pfc_standing *standing, bool measured, pfc_buf *out);

typedef struct pfc_picture_opts {
    bool spark; /* the line alone; else a chart with title, values, dates and changes */
    int width, height;
} pfc_picture_opts;

/** Appends the window of a series: medians by position, a gap where commits of the branch between
 * two points were not measured, each change in the colour of its direction, and the band from low
 * to high. A window without points says so. At most 200 bytes a point and 4 KiB. */
void pfc_series_svg(const pfc_window *window, const pfc_picture_opts *opts, pfc_buf *out);

#endif
