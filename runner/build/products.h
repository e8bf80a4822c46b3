/*
 * What was built in a checkout: the files of the repository that its programs are made of, and what
 * their code is, so that a change can be told from one that reaches no program at all.
 */
#ifndef PFC_RUNNER_BUILD_PRODUCTS_H
#define PFC_RUNNER_BUILD_PRODUCTS_H

#include "core/base/conf.h"
#include "core/base/hash.h"
#include "runner/workspace/workspace.h"

#define PFC_BUILT_MAX_FILES 20000
#define PFC_BUILT_OBJECT    "object" /* under this name in a measurement's extra */

typedef struct pfc_built {
    char **files; /* sorted paths from the root; what was generated is not among them */
    size_t files_len;
    char object[PFC_SHA256_HEX]; /* of the code that the measuring command runs; "": not known */
} pfc_built;

/**
 * Looks through `root` (absolute, built) for compile_commands.json, depfiles and ninja's log, restricted
 * to what a linker's map names where there is one. Without dependencies of any kind every header counts.
 * `object` is known where the command names a program that lies in the folder, or a script that does, or
 * a suite is measured by the perfci-bench built there; not where Python runs.
 *
 * Never fails: what cannot be read, and what is more than PFC_BUILT_MAX_FILES, is not known. Follows no
 * symbolic link. Clear with pfc_built_clear.
 */
void pfc_built_look(const char *root, const pfc_commit_measure_opts *opts, pfc_built *out);
void pfc_built_clear(pfc_built *built);

/** The body for POST /projects/{p}/sources; NULL when nothing is known that could be said. */
json_t *pfc_built_to_json(const pfc_built *built, const char *commit, const pfc_conf *conf);
/** Puts `object` on every measurement. */
void pfc_built_mark(const pfc_built *built, pfc_run *run);

#endif
