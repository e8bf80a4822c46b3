/* Cases of a grade measured by several threads. Private to cli/accel. */
#ifndef PFC_CLI_ACCEL_GRADE_PARALLEL_H
#define PFC_CLI_ACCEL_GRADE_PARALLEL_H

#include <stdint.h>

#include "cli/cli.h"

#define GRADE_MAX_JOBS 64

/** Measures case number `index`; called by several threads at once. */
typedef pfc_code grade_one(void *arg, uint64_t index, pfc_err *err);

/** Calls `one` for each index below `cases` on `jobs` threads, with a progress line. The first
 *  failure ends the rest and is returned. */
pfc_code grade_run_all(const pfc_cli *cli, uint64_t cases, int64_t jobs, grade_one *one, void *arg,
                       pfc_err *err) PFC_MUSTCHECK;
/** One thread for each processor, at most GRADE_MAX_JOBS. */
int64_t grade_default_jobs(void);

#endif
