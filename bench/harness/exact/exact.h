/*
 * Exact counts of the CPU kernels: the instructions that one call executes, and how many of them
 * read and write data. valgrind's callgrind simulates the CPU, so the counts are the same in every
 * run on every machine with the same binary and C library. One count is enough, and a difference of
 * one instruction is real. Counts contain no time, and valgrind does not execute AVX-512.
 *
 * The result is checked first, as for timing. The call is counted twice, in two processes. Two
 * different counts are an error (the benchmark is broken); they are never averaged.
 */
#ifndef PFC_BENCH_HARNESS_EXACT_EXACT_H
#define PFC_BENCH_HARNESS_EXACT_EXACT_H

#include "bench/harness/harness.h"

/** Instructions that one call executes. */
typedef struct pfc_call_counts {
    uint64_t instructions;
    uint64_t reads; /* instructions that read data, and that write some */
    uint64_t writes;
} pfc_call_counts;

/** Counts one call of spec's benchmark somehow: pfc_callgrind_count, or made up in tests.
 *  PFC_EUNAVAIL: it cannot be counted, the error says why. PFC_EBROKEN: it failed under the tool.
 *  Any other code ends the whole run. */
typedef pfc_code (*pfc_count_fn)(void *arg, const pfc_block_spec *spec, pfc_call_counts *out,
                                 pfc_err *err);

/** arg: the program's path; starts `valgrind --tool=callgrind PROGRAM --call`. PFC_EIO: there is no
 *  valgrind (the error says what to install). */
pfc_code pfc_callgrind_count(void *arg, const pfc_block_spec *spec, pfc_call_counts *out,
                             pfc_err *err) PFC_MUSTCHECK;
/** The counts of a callgrind output file's text. PFC_EINVAL: it has none, or none in the call. */
pfc_code pfc_call_counts_read(const char *text, pfc_call_counts *out, pfc_err *err) PFC_MUSTCHECK;

/** In the child: opens spec's benchmark, calls it once so that everything is bound and touched,
 * then once more to be counted. PFC_EUNAVAIL, PFC_EBROKEN as above. */
pfc_code pfc_counted_run(const pfc_backend *backend, const pfc_block_spec *spec,
                         pfc_err *err) PFC_MUSTCHECK;
/** Makes one call. callgrind counts inside the function of this name. */
void pfc_counted_call(const pfc_backend *backend, void *inst);

/**
 * As pfc_suite_measure, but every number is exact: metrics `instructions`, `data_reads` and
 * `data_writes` on CPU backends, the usual ones on exact backends. opts->block checks the results.
 */
pfc_code pfc_suite_count(const pfc_suite *suite, const pfc_backends *backends,
                         const pfc_measure_opts *opts, pfc_count_fn count, void *count_arg,
                         pfc_run *run, pfc_err *err) PFC_MUSTCHECK;

#endif
