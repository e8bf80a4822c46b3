/*
 * Shared by the files of this folder that read suites: what is known while a suite and the files it
 * includes are read. One thread; lives as long as one call of pfc_suite_parse or _load.
 */
#ifndef PFC_BENCH_SUITE_READER_H
#define PFC_BENCH_SUITE_READER_H

#include "bench/suite/suite.h"
#include "core/base/buf.h"
#include "core/base/config/yaml.h"

/** One text that was read: the suite itself, or an included one. */
typedef struct pfc_suite_file {
    char *path; /* as errors name it; owned */
    char *text; /* owned; the nodes point into it */
    bool on_disk;
    pfc_yaml yaml;
    struct fy_node *groups; /* `groups`, or NULL */
} pfc_suite_file;

/** Conditions of an `include` entry on the benchmarks that it includes. */
typedef struct pfc_suite_filter {
    const struct pfc_suite_filter
        *outer;        /* of the file that includes the including file, or NULL */
    char **benchmarks; /* globs on names; one must match; len 0: all */
    size_t benchmarks_len;
    bool *matched; /* for each glob: it matched something */
} pfc_suite_filter;

typedef struct pfc_suite_reader {
    pfc_suite *suite;
    pfc_suite_file *
        *files; /* owned; all stay until the end, because groups are looked up in them */
    size_t files_len;
    pfc_suite_file *file; /* being read */
    size_t depth;         /* of includes around it */
    size_t total_bytes;
    pfc_buf hashes; /* of every text, in the order of reading */

    /* defaults for the entries of the file being read */
    pfc_case_settings settings;
    char **backends;
    size_t backends_len;
    bool backends_fixed; /* an include entry named them: what the file itself says is not used */
    const pfc_suite_filter *filter;
} pfc_suite_reader;

/** Settings of an entry under `benchmarks`, for all its shapes. */
typedef struct pfc_suite_entry {
    const pfc_op *op;
    char dtype[8];
    bool headline;
    pfc_case_settings settings;
    char **backends; /* owned when own_backends */
    size_t backends_len;
    bool own_backends;
    char *program; /* paths, owned; NULL: none */
    char *schedule;
    bool generated; /* shapes come from a generator: one that is there already is left out */
} pfc_suite_entry;

void pfc_suite_free_strings(char **items, size_t len);

/* ---- settings.c ---- */

/** `top`: at the top of a suite, where limits of the whole run may stand, too. */
pfc_code pfc_suite_read_settings(pfc_suite_reader *r, struct fy_node *node, bool top,
                                 pfc_case_settings *s, pfc_err *err);
pfc_code pfc_suite_read_backends(const pfc_suite_reader *r, struct fy_node *node, char ***out,
                                 size_t *out_len, pfc_err *err);
/** A list of 1..max globs; `what` for errors. */
pfc_code pfc_suite_read_globs(const pfc_suite_reader *r, struct fy_node *node, const char *what,
                              size_t max, char ***out, size_t *out_len, pfc_err *err);

/* ---- shapes.c ---- */

/** Adds a benchmark unless the includes' filters leave it out; refuses a name that is there. */
pfc_code pfc_suite_add_case(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *at,
                            const int64_t *params, pfc_err *err);
pfc_code pfc_suite_add_shapes(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *list,
                              pfc_err *err);
pfc_code pfc_suite_add_cross(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                             pfc_err *err);
pfc_code pfc_suite_add_group(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                             pfc_err *err);
/** The names of an operation's parameters, NULL-terminated, and room for `more` of them. */
void pfc_suite_param_names(const pfc_op *op, const char *const *more,
                           const char *names[PFC_OP_MAX_PARAMS + 8]);
pfc_code pfc_suite_read_param(const pfc_suite_reader *r, const pfc_op_param *p,
                              struct fy_node *value, int64_t *out, pfc_err *err);

/* ---- generate.c ---- */

pfc_code pfc_suite_add_random(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                              pfc_err *err);
pfc_code pfc_suite_add_boundary(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                                pfc_err *err);

/* ---- include.c ---- */

/** Reads a text as one more file of the suite; `read` is called with it as r->file. */
pfc_code pfc_suite_read_file(pfc_suite_reader *r, const char *path, bool on_disk, const char *text,
                             size_t len, pfc_err *err);
pfc_code pfc_suite_read_includes(pfc_suite_reader *r, struct fy_node *node, pfc_err *err);
void pfc_suite_reader_clear(pfc_suite_reader *r);
/** A path from the folder of the file that is being read. `what` for errors: an absolute path, or a
 *  suite without a file around it. *out is the caller's. */
pfc_code pfc_suite_beside(const pfc_suite_reader *r, struct fy_node *at, const char *what,
                          const char *path, char **out, pfc_err *err);

/* ---- suite.c ---- */

/** Everything of r->file. */
pfc_code pfc_suite_read_document(pfc_suite_reader *r, pfc_err *err);

#endif
