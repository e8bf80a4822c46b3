/*
 * Huge pages: requested by madvise for each buffer; the kernel may refuse them. The granted number
 * is read back, because a run on small pages measures the TLB.
 */
#ifndef PFC_BENCH_MACHINE_HUGE_PAGES_H
#define PFC_BENCH_MACHINE_HUGE_PAGES_H

#include "core/base/base.h"

/** Bytes of this process's memory that lie on huge pages now (AnonHugePages of
 *  /proc/self/smaps_rollup, below root; NULL: this machine); -1 when that cannot be read. */
int64_t pfc_pages_huge_bytes(const char *root);
/** Asks for huge pages for 8 MiB, touches them, and says how many bytes were granted; -1: not
 * known. */
int64_t pfc_pages_probe(void);

#endif
