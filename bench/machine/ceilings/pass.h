/* One piece of work of a ceiling: some arithmetic, or one way through a buffer. Shared by the files
 * of bench/machine only. */
#ifndef PFC_BENCH_MACHINE_CEILINGS_PASS_H
#define PFC_BENCH_MACHINE_CEILINGS_PASS_H

#include "bench/machine/ceilings/loop_dispatch.h"

typedef struct pfc_pass {
    pfc_loop *compute;   /* NULL: through the buffer */
    pfc_read_loop *read; /* NULL: copy one half to the other */
    char *buffer;
    size_t bytes;
    size_t window; /* bytes of one piece of work, the next of them each time; 0: the whole buffer */
    size_t *at;    /* where the next begins; unless window is 0 */
} pfc_pass;

/* A way through a buffer for DRAM takes longer than a scheduler's slice, and every sample of it
 * would be preempted on a busy machine. So it is timed window by window; the buffer as a whole is
 * what is too large for the caches. */
#define PFC_DRAM_WINDOW ((size_t)8 * 1024 * 1024)

/** Does the work `times` over; the operations or bytes (read plus written) that were. */
double pfc_pass_run(const pfc_pass *pass, uint64_t times);
/** How often the work fits in about ns nanoseconds; at least once. */
uint64_t pfc_pass_times(const pfc_pass *pass, double ns);

/** Zeroed, on huge pages where they are granted; NULL: no memory for it. */
char *pfc_buffer_get(size_t bytes);
void pfc_buffer_drop(char *buffer, size_t bytes);
/** Bytes of a buffer that `level` holds and the one before does not, for each of `threads`. */
size_t pfc_buffer_bytes(const pfc_ceilings *ceilings, int level, size_t threads);

/** All CPUs at once: sets all and threads. */
void pfc_ceilings_measure_all(const pfc_loops *loops, double seconds, pfc_ceilings *out);

#endif
