/*
 * Finds the files of the repository that a checkout's programs are built from, and a hash of their
 * code. A commit whose hash equals its predecessor's changed no program.
 */
#ifndef PFC_RUNNER_BUILD_PRODUCTS_H
#define PFC_RUNNER_BUILD_PRODUCTS_H

#include "core/base/config/conf.h"
#include "core/base/hash.h"
#include "runner/workspace/workspace.h"

#define PFC_BUILT_MAX_FILES 20000

typedef struct pfc_built {
    char **files; /* sorted paths from the root, without generated files */
    size_t files_len;
    char object[PFC_SHA256_HEX]; /* hash of the code that the measuring command runs; "": not known
                                  */
} pfc_built;

/**
 * Reads compile_commands.json, depfiles and ninja's log below `root` (absolute, built). Where a
 * linker's map exists, only files that it names count. Without any dependency information every
 * header counts. `object` is known when the measuring command names a program or a script in the
 * folder, or when the perfci-bench built there measures a suite; it is not known when Python runs.
 *
 * Never fails: unreadable files are left out; above PFC_BUILT_MAX_FILES the list is empty. Follows
 * no symbolic links. Clear with pfc_built_clear.
 */
void pfc_built_look(const char *root, const pfc_commit_measure_opts *opts, pfc_built *out);
void pfc_built_clear(pfc_built *built);

/** The body of POST /projects/{p}/sources; NULL when there is nothing to send. */
json_t *pfc_built_to_json(const pfc_built *built, const char *commit, const pfc_conf *conf);
/** Adds `object` to every measurement's extra, as PFC_OBJECT. */
void pfc_built_mark(const pfc_built *built, pfc_run *run);

#endif
