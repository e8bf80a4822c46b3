/*
 * Compares two fingerprints by content, not by wording: an unchanged machine must not count as
 * changed because an earlier version recorded fewer entries. Thread-safe.
 *
 * Runs that a project's own command made were once described by cpu, microcode, cpus, arch, kernel,
 * libc, governor and smt alone, and three of these in other words (server/API.md, "Fingerprints").
 * Such a fingerprint is recognised by having exactly these entries. An entry that it lacks was not
 * recorded at that time and does not count as a change.
 */
#ifndef PFC_CORE_WIRE_FINGERPRINT_H
#define PFC_CORE_WIRE_FINGERPRINT_H

#include "core/wire/wire.h"

typedef enum pfc_fingerprint_view {
    /* Values are compared: what made them counts, also where one of the two does not say it. */
    PFC_FINGERPRINT_VALUES,
    /* The machine only. Entries about the measuring program (compiler, flags, harness, simulator,
     * chips, suite) count where both fingerprints have them: a command's run has none, a suite's
     * run has all. */
    PFC_FINGERPRINT_MACHINE,
} pfc_fingerprint_view;

/** Names of the entries in which they differ, those of `a` first, each in its order; absent on one
 *  side is different, but for the above. *names and its texts are the caller's; NULL when none. */
void pfc_fingerprint_diff(const pfc_labels *a, const pfc_labels *b, pfc_fingerprint_view view,
                          char ***names, size_t *len);

#endif
