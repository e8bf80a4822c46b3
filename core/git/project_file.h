/*
 * Which perfci.yaml counts. One rule for every program that measures:
 *
 *   1. the file that --config names;
 *   2. the working tree's, committed or not: the nearest from the current folder up to the root of
 *      the repository;
 *   3. that of the newest commit of the range that has one: bare clones, and trees without the
 * file;
 *   4. the nearest above the repository.
 *
 * A pull request is measured by the base branch's file alone: its author must not choose the
 * command.
 */
#ifndef PFC_CORE_GIT_PROJECT_FILE_H
#define PFC_CORE_GIT_PROJECT_FILE_H

#include "core/base/config/conf.h"
#include "core/git/repo.h"

#define PFC_PROJECT_FILE "perfci.yaml"

/** Where to look. All zero: nowhere. */
typedef struct pfc_project_place {
    const char *file;             /* --config; then nothing else counts */
    const char *dir;              /* the folder where the search begins; NULL: only in commits */
    pfc_repo *repo;               /* the repository around `dir`; NULL: there is none */
    const pfc_commit_id *commits; /* the range, oldest first */
    size_t commits_len;
} pfc_project_place;

/** Where the settings came from. All zero: there is no file. */
typedef struct pfc_project_source {
    char *text;           /* as it was read */
    size_t len;           /* bytes of it */
    char *dir;            /* absolute folder of the file; NULL: it came from a commit */
    pfc_commit_id commit; /* the commit it came from; "": from no commit */
} pfc_project_source;

/**
 * Finds and reads the file that counts.
 *
 * conf    out: the settings, with conf->path "/src/app/perfci.yaml" or "perfci.yaml@1a2b3c4d5e6f";
 * all defaults and path NULL when there is no file. The user's own settings are in, too.
 *         pfc_conf_clear
 * source  out, may be NULL: pfc_project_source_clear
 *
 * PFC_ENOTFOUND when place->file or place->dir is not there; PFC_EINVAL with file and line when the
 * text is wrong.
 */
pfc_code pfc_project_read(const pfc_project_place *place, pfc_conf *conf,
                          pfc_project_source *source, pfc_err *err) PFC_MUSTCHECK;
void pfc_project_source_clear(pfc_project_source *source);

/** The suite of the settings as perfci-bench finds it from any folder: the absolute path when it is
 * a file beside a perfci.yaml of the file system, else the text itself. Caller frees. */
char *pfc_project_suite(const pfc_project_source *source, const char *suite);

#endif
