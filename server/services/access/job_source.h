/*
 * Restricts the repositories that a job may name as its source. A runner builds and executes the
 * code found there with access to its own network and files, so a token that may queue jobs must
 * not be able to choose an arbitrary repository.
 */
#ifndef PFC_SERVER_SERVICES_ACCESS_JOB_SOURCE_H
#define PFC_SERVER_SERVICES_ACCESS_JOB_SOURCE_H

#include "server/repo/tables/repo.h"

/**
 * PFC_OK when `source` is the project's registered repository, or fits one of the patterns.
 *
 * project   the project's name; PFC_ENOTFOUND when it does not exist
 * patterns  globs (fnmatch, `*` also matches slashes), separated by commas or spaces; NULL: none
 * source    as the job names it: a folder or URL. A trailing ".git" or slash makes no difference
 *
 * PFC_EINVAL with the field "source" otherwise.
 */
pfc_code pfc_job_source_check(pfc_db *db, const char *project, const char *patterns,
                              const char *source, pfc_err *err) PFC_MUSTCHECK;

#endif
