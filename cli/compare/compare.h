/*
 * Comparisons: two runs judged benchmark by benchmark, or the service's own judgement of stored
 * ones, in one shape; as table.
 */
#ifndef PFC_CLI_COMPARE_COMPARE_H
#define PFC_CLI_COMPARE_COMPARE_H

#include "cli/cli.h"
#include "core/comparison/comparison.h"
#include "core/findings/findings.h"
#include "core/wire/benchmark_filter.h"

/** Sets cmp->explanation for the regression of time with the largest change, exact ones first.
 * Nothing where there is none, or where the runs recorded nothing to split its time by. a, b: as
 * given to pfc_cmp_runs. */
void pfc_cmp_explain(pfc_cmp *cmp, const pfc_run *a, const pfc_run *b);
/** The explanation in one line on stdout; nothing without one. */
void pfc_cmp_print_explanation(const pfc_cmp *cmp);
/** Removes the rows that are not asked for, and their verdicts from the counts. Errors as of
 *  pfc_run_filter; the comparison is then unchanged. */
pfc_code pfc_cmp_select(pfc_cmp *cmp, const pfc_benchmark_filter *what, pfc_err *err) PFC_MUSTCHECK;
/** The rows as findings of `b`, for report files; `findings` is empty before. Clear it.
 * (findings.c) */
void pfc_cmp_findings(const pfc_cmp *cmp, const char *command, const char *project,
                      pfc_findings *findings);
void pfc_cmp_print(const pfc_cli *cli, const pfc_cmp *cmp);
/** 4 broken, 1 regression, 3 inconclusive (or nothing to compare, or stored results of different
 *  machines or compilers without `across`), 0. */
int pfc_cmp_exit(const pfc_cmp *cmp);

#endif
