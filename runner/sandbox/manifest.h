/*
 * The files of a finished build, so that a later change by another job, a full disk or a user is
 * noticed before the build is measured.
 *
 * A manifest is text, one line a file, sorted by path: SHA-256 of the content (of a symbolic link:
 * of its target), kind and permissions in octal, path with '\\' and newline escaped. Folders are
 * not listed. Files that came after the manifest are not looked at: they are of the same commit,
 * because a job sees no other commit's tree.
 */
#ifndef PFC_RUNNER_SANDBOX_MANIFEST_H
#define PFC_RUNNER_SANDBOX_MANIFEST_H

#include "core/base/err.h"

#define PFC_MANIFEST_MAX_FILES 1000000

/** Writes the manifest of `tree` to `path`, by rename. PFC_ETOOBIG: more files than the maximum. */
pfc_code pfc_manifest_write(const char *tree, const char *path, pfc_err *err) PFC_MUSTCHECK;
/** PFC_OK when every file that `path` lists is unchanged in `tree`. PFC_ECONFLICT names the first
 *  that is not; PFC_ENOTFOUND: there is no manifest. */
pfc_code pfc_manifest_check(const char *tree, const char *path, pfc_err *err) PFC_MUSTCHECK;

#endif
