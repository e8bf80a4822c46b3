/*
 * Settings of the host that make numbers steadier: governor, turbo, address layout, NUMA balancing,
 * watchdog, interrupts away from the core that measures, SMT. Changed only when asked for, by root,
 * each change told, and undone exactly: what was there is written to a journal before the change,
 * and put back from it. The journal lies under /run, which a reboot clears together with the
 * settings.
 */
#ifndef PFC_BENCH_MACHINE_TUNE_TUNE_H
#define PFC_BENCH_MACHINE_TUNE_TUNE_H

#include <stdio.h>

#include "core/base/err.h"

#define PFC_TUNE_JOURNAL "/run/perfci-tune.journal"

/**
 * Applies the settings that this host has and that differ. `root` is put before every path (NULL or
 * "": this host; tests give a made-up tree, for which no privilege is asked). A line a change goes
 * to `say`. A setting that the host refuses is reported and left unchanged.
 *
 * PFC_EDENIED: not root. PFC_ECONFLICT: tuned already. PFC_EIO: the journal cannot be written;
 * nothing is changed without it.
 */
pfc_code pfc_tune_host(const char *root, FILE *say, pfc_err *err) PFC_MUSTCHECK;
/** Puts everything back, last change first, and removes the journal. PFC_ENOTFOUND: not tuned.
 *  PFC_EIO: something could not be put back; the journal keeps what is still to do. */
pfc_code pfc_untune_host(const char *root, FILE *say, pfc_err *err) PFC_MUSTCHECK;

#endif
