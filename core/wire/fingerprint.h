/*
 * In what two fingerprints differ, by what they say and not by how: a machine that stayed the same must
 * not seem changed because it was described in fewer words. Thread-safe.
 *
 * Runs that a project's own command made were once described by cpu, microcode, cpus, arch, kernel,
 * libc, governor and smt alone, and three of these in other words (server/API.md, "Fingerprints"). Such
 * a description is known by having just these entries. What it does not have was not recorded then,
 * which is no change.
 */
#ifndef PFC_CORE_WIRE_FINGERPRINT_H
#define PFC_CORE_WIRE_FINGERPRINT_H

#include "core/wire/wire.h"

typedef enum pfc_fingerprint_view {
    /* Values are compared: what made them counts, also where one of the two does not say it. */
    PFC_FINGERPRINT_VALUES,
    /* Has the machine changed? What measured (compiler, flags, harness, simulator, chips, suite)
     * counts where both say it: the run of a command has none of it, beside a suite's that does. */
    PFC_FINGERPRINT_MACHINE,
} pfc_fingerprint_view;

/** Names of the entries in which they differ, those of `a` first, each in its order; absent on one
 *  side is different, but for the above. *names and its texts are the caller's; NULL when none. */
void pfc_fingerprint_diff(const pfc_labels *a, const pfc_labels *b, pfc_fingerprint_view view,
                          char ***names, size_t *len);

#endif
