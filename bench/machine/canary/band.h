/*
 * The canary's band on this machine, learned from its earlier readings.
 *
 * The canary's normal variation differs between machines: a tenth of a percent on a tuned host,
 * several percent on a shared virtual machine. Therefore the readings are kept, a file for each
 * kind of machine and build below $XDG_CACHE_HOME/perfci, and the band is the median of the last
 * PFC_BAND_WINDOW readings plus or minus PFC_BAND_SIGMAS robust standard deviations (1.4826 times
 * the median absolute deviation). Up to half of the readings may be wrong without moving it much; a
 * lasting change of the machine becomes the new normal after half a window. Until there are
 * PFC_BAND_LEAST readings, only the difference within a run counts, against PFC_CANARY_BAND_REL.
 */
#ifndef PFC_BENCH_MACHINE_CANARY_BAND_H
#define PFC_BENCH_MACHINE_CANARY_BAND_H

#include "bench/machine/machine.h"

#define PFC_BAND_WINDOW 64
#define PFC_BAND_LEAST  10
#define PFC_BAND_SIGMAS 6.0
#define PFC_BAND_MIN_REL                                                                           \
    0.05 /* lower limit: resolution of a reading, and load on the same physical core */
#define PFC_BAND_MAX_REL 0.50 /* upper limit: a wider band would detect nothing */

typedef struct pfc_canary_band {
    double center_ns; /* NAN: not learned yet */
    double width_rel; /* half of the band, relative */
    size_t readings;  /* number of readings behind it */
} pfc_canary_band;

/** The band of these readings (ns, positive, oldest first; the last PFC_BAND_WINDOW count). */
void pfc_band_learn(const double *readings_ns, size_t len, pfc_canary_band *out);
/** True when a reading is outside the band; false before the band is learned. */
bool pfc_band_left(const pfc_canary_band *band, double reading_ns);
/** True when two readings of one run differ by more than the band is wide. */
bool pfc_band_moved(const pfc_canary_band *band, double before_ns, double after_ns);

/** The file of this machine and build; caller frees. NULL when there is no home to put it in. */
char *pfc_band_path(const pfc_machine *machine);
/** The band by the file's readings; a file that is absent, and lines that are no readings, are as
 * if they were not there. path NULL: nothing learned. */
void pfc_band_load(const char *path, pfc_canary_band *out);
/** Adds a reading and keeps the newest PFC_BAND_WINDOW; makes the folder. path NULL: does nothing.
 */
pfc_code pfc_band_add(const char *path, double reading_ns, pfc_err *err) PFC_MUSTCHECK;

#endif
