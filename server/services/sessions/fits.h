/*
 * pfc_blocks_judge with a cache: a session is judged after every run, when its change points are
 * written, and for each page and report that shows it, nearly always from the same visits.
 */
#ifndef PFC_SERVER_SERVICES_SESSIONS_FITS_H
#define PFC_SERVER_SERVICES_SESSIONS_FITS_H

#include "core/blocks/blocks.h"

/** As pfc_blocks_judge: the same result and the same errors. *out is the caller's own copy. Keeps
 *  the results used last, at most PFC_FITS_MAX and PFC_FITS_BYTES of them in the process.
 *  Thread-safe. */
pfc_code pfc_session_fit(const pfc_visit *visits, size_t n, const pfc_blocks_opts *opts,
                         pfc_blocks_fit *out, pfc_err *err) PFC_MUSTCHECK;

#define PFC_FITS_MAX   2048
#define PFC_FITS_BYTES ((size_t)16 << 20)

/** How often a kept result has answered, since the process began. For tests. */
uint64_t pfc_session_fit_hits(void);

#endif
