/*
 * Results that are broken, as lists: of a series, of a commit. The newest result of a benchmark
 * counts: measured again at the same commit, it is not broken there.
 */
#ifndef PFC_SERVER_REPO_TABLES_BROKEN_H
#define PFC_SERVER_REPO_TABLES_BROKEN_H

#include "server/repo/sql/broken.h"
#include "server/repo/tables/repo.h"

#define PFC_BROKEN_MAX 1000

/** position: on the branch; 0: not on it, or not asked for. time: of the commit. */
typedef pfc_sql_broken_result_row pfc_broken_result;
typedef pfc_sql_broken_result_rows pfc_broken_results;

/** Where the series' benchmark is broken, on its branch and machines, the newest first; one a
 * commit, at most PFC_BROKEN_MAX. from, to: positions; 0: open. Clear with pfc_rows_clear. */
pfc_code pfc_broken_of_series(pfc_db *db, int64_t series_id, int64_t from, int64_t to,
                              pfc_broken_results *out, pfc_err *err) PFC_MUSTCHECK;
/** The broken benchmarks of a commit, by name; one row a benchmark, backend and machine class, at
 * most PFC_BROKEN_MAX. */
pfc_code pfc_broken_of_commit(pfc_db *db, int64_t project_id, int64_t commit_id,
                              pfc_broken_results *out, pfc_err *err) PFC_MUSTCHECK;

#endif
