/*
 * Owners of files and benchmarks: the project's own rules, and the CODEOWNERS file of its
 * repository. Pure; a pfc_owners is read-only after parsing, so that threads may share it.
 *
 * Sources: "About code owners" (GitHub Docs) and "Code Owners syntax and error handling" (GitLab
 * Docs). In each, the last rule that matches a path counts.
 */
#ifndef PFC_CORE_OWNERS_OWNERS_H
#define PFC_CORE_OWNERS_OWNERS_H

#include "core/base/err.h"

#define PFC_OWNERS_MAX_TEXT    (256 * 1024) /* bytes of one file */
#define PFC_OWNERS_MAX_RULES   5000
#define PFC_OWNERS_MAX_PATTERN 1024 /* bytes */
#define PFC_OWNERS_MAX_STARS   16   /* in one pattern, so that matching stays quick */
#define PFC_OWNERS_MAX_NAMES   16   /* of one path */
#define PFC_OWNERS_MAX_NAME    128  /* bytes */
#define PFC_OWNERS_MAX_PATHS   500  /* of which pfc_owners_of_paths reads the owners */

typedef enum pfc_owners_syntax {
    /* The project's own: lines as of PFC_OWNERS_GITHUB, whose pattern may be "benchmark:GLOB" or
     * "kernel:GLOB" (the first part of a benchmark's name; '*' also matches '/'). An owner is any
     * word. An invalid line is refused. */
    PFC_OWNERS_RULES,
    /* Patterns as in .gitignore, without '!' and '[ ]'; a star after the last slash matches
     * no file in a folder below. Invalid lines are skipped, as GitHub does. */
    PFC_OWNERS_GITHUB,
    /* A pattern without '/' in front matches at any depth. Sections "[Name][2] @default",
     * "^[Name]": the last match of each section counts, and the owners of all sections are added.
     * "!PATTERN" excludes paths from its section. Invalid lines are skipped. */
    PFC_OWNERS_GITLAB,
} pfc_owners_syntax;

typedef struct pfc_owners pfc_owners;

/** Where forges look for the file, in order; ends with NULL. */
extern const char *const pfc_owners_places[];
bool pfc_owners_is_place(const char *path);
/** GitLab, when the file is in .gitlab/ or has a section; else GitHub. path: may be NULL. */
pfc_owners_syntax pfc_owners_guess(const char *path, const char *text);
/** Parses `text`; `where` names it in messages. PFC_EINVAL: it has over PFC_OWNERS_MAX_TEXT bytes
 *  or PFC_OWNERS_MAX_RULES rules, or PFC_OWNERS_RULES and an invalid line, which the message
 *  names. Free *out with pfc_owners_free. */
pfc_code pfc_owners_parse(const char *text, pfc_owners_syntax syntax, const char *where,
                          pfc_owners **out, pfc_err *err) PFC_MUSTCHECK;
void pfc_owners_free(pfc_owners *owners);
/** The number of rules, and of the lines that were skipped as invalid. */
size_t pfc_owners_rules(const pfc_owners *owners);
size_t pfc_owners_skipped(const pfc_owners *owners);

/** The owners of a file (its path from the repository's root), separated by one space, at most
 *  PFC_OWNERS_MAX_NAMES; "": the rule that counts names none; NULL: no rule matches. The caller
 *  frees it. owners may be NULL. */
char *pfc_owners_of_path(const pfc_owners *owners, const char *path);
/** The same of a benchmark, by its rules "benchmark:" and "kernel:". */
char *pfc_owners_of_benchmark(const pfc_owners *owners, const char *benchmark);
/** The owners that most of the first PFC_OWNERS_MAX_PATHS paths have by the rules or else by
 *  `codeowners`; of equally many, those of the first path. NULL: none. The caller frees it. Both
 *  may be NULL. */
char *pfc_owners_of_paths(const pfc_owners *rules, const pfc_owners *codeowners,
                          const char *const *paths, size_t len);

#endif
