/*
 * Commits whose programs have identical object code: the code cannot be the cause of a change
 * between them. Measurements contain the hash of the code that their command runs
 * (runner/build/products.h), as "object". The project lists the files that the programs read at run
 * time (perfci.yaml `runtime_files`, POST /projects/{p}/sources); a commit that touches one of them
 * stays a suspect even if its code is identical.
 */
#ifndef PFC_SERVER_SERVICES_ALERTS_IDENTICAL_CODE_H
#define PFC_SERVER_SERVICES_ALERTS_IDENTICAL_CODE_H

#include "server/services/service.h"

/** A change in whose range, and at the commit before it, the code is known and the same. */
typedef struct pfc_identical {
    int64_t change_id;
    char against[41], commit[41]; /* the ends of what is identical */
} pfc_identical;

/** Those of `changes` (ids of one branch) that lie in identical code; *out is the caller's to free.
 *  Not identical where the harness changed too: that is a cause of its own. */
pfc_code pfc_identical_look(pfc_tx *tx, int64_t project_id, const char *branch,
                            const int64_t *changes, size_t n, pfc_identical **out, size_t *out_len,
                            pfc_err *err) PFC_MUSTCHECK;

/** Globs of files that the benchmark's programs read while they run; its own row, else that for
 *  all.
 *  *out: texts, freed with pfc_texts_free. */
pfc_code pfc_runtime_files(pfc_tx *tx, int64_t project_id, const char *benchmark, char ***out,
                           size_t *len, pfc_err *err) PFC_MUSTCHECK;

#endif
