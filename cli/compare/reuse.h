/*
 * Results of earlier checks, kept in a folder by the key of their pair (runner/blocks/pair_key.h).
 */
#ifndef PFC_CLI_COMPARE_REUSE_H
#define PFC_CLI_COMPARE_REUSE_H

#include "core/comparison/comparison.h"

/** The result that is kept in `dir` under the key, at most 30 days old: out->reused says where it
 *  comes from, and out->a, out->b are the commits that were measured. Clear *out, also on failure.
 *  *found false: there is none. PFC_EINVAL: the file is not one of pfc_reuse_keep. */
pfc_code pfc_reuse_find(const char *dir, const char *key, pfc_cmp *out, bool *found,
                        pfc_err *err) PFC_MUSTCHECK;
/** Keeps the result, unless a row is broken or not decided, or it is itself a reused one. `dir` is
 *  made when absent. PFC_EIO: it cannot be written. */
pfc_code pfc_reuse_keep(const char *dir, const char *key, const pfc_cmp *cmp,
                        pfc_err *err) PFC_MUSTCHECK;

#endif
