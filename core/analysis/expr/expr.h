/*
 * Expressions over the numbers of a profile: the language of the metrics, the limiter's rules and
 * the guidance, so that each of them is data and a new one needs no build.
 *
 *   or, and, not                      truth is 1 or 0; anything but 0 is true
 *   <  <=  >  >=  ==  !=              one comparison, without a chain such as a < b < c
 *   +  -  *  /  and a leading -
 *   min(a, b, ...)  max(a, b, ...)    2 to 16 arguments
 *   if(condition, a, b)               only the chosen side is evaluated
 *   default(a, b)                     b where a is not available
 *   log2(a)                           of a positive number
 *   exp2(a)                           2 to the power of a
 *   sqrt(a)                           of a number that is not negative
 *   floor(a)  ceil(a)                 the next whole number below and above
 *   fact(NAME, "text")                1 when the profile's fact of that name is that text, else 0
 *   NAME                              a definition above in the same file, else a number of the
 *                                     profile: a letter or "_", then letters, digits, "_" and "."
 *   'NAME'                            the same for any other name, such as 'count_cache-misses'
 *   before.NAME                       where a scope is a change of another one: NAME there
 *   1.5, 2e-3                         decimal numbers
 *
 * A number that the profile lacks makes the result not available, with the reason "not available:
 * NAME"; so do a division by zero and a result that is not finite. "and", "or" and "if" look only
 * at what they need: `if(0, missing, 1)` is 1.
 *
 * An expression is read once and evaluated often; reading allocates, evaluating does not. An
 * expression is never changed once it is read, so any number of threads may evaluate it.
 */
#ifndef PFC_CORE_ANALYSIS_EXPR_EXPR_H
#define PFC_CORE_ANALYSIS_EXPR_EXPR_H

#include "core/analysis/profile/profile.h"
#include "core/base/config/yaml.h"

#define PFC_EXPR_MAX_BYTES  16384 /* of one expression */
#define PFC_EXPR_MAX_NODES  4096  /* numbers, names and operators of one expression */
#define PFC_EXPR_MAX_DEPTH  48    /* parentheses, calls and signs within each other */
#define PFC_EXPR_MAX_HEIGHT 200   /* operators above one number: the terms of one long sum */
#define PFC_EXPR_MAX_ARGS   16    /* of min and max */
#define PFC_EXPR_MAX_DEFS   192   /* definitions of one file */
#define PFC_EXPR_FILE_BYTES 262144
#define PFC_EXPR_NAME_BYTES PFC_PROFILE_NAME_BYTES

typedef struct pfc_expr pfc_expr;

/** Named expressions of one file; each may use those above it. */
typedef struct pfc_expr_defs {
    char *names[PFC_EXPR_MAX_DEFS];
    pfc_expr *exprs[PFC_EXPR_MAX_DEFS];
    size_t len;
} pfc_expr_defs;

typedef struct pfc_expr_result {
    bool available;
    double number;       /* finite when available, else NAN */
    const char *missing; /* the name that the profile lacks, or "division by zero", "a finite
                            result", "a positive number": what was needed; NULL when available.
                            Belongs to the expression. */
} pfc_expr_result;

/** A number that takes the place of that of the profile, or of a definition. */
typedef struct pfc_expr_change {
    const char *name;
    double value;
} pfc_expr_change;

/** A profile and the values of a file's definitions for it. Plain data, about 5 KiB. */
typedef struct pfc_expr_scope {
    const pfc_profile *profile;
    const struct pfc_expr_scope *before; /* NULL: this scope is no change of another one */
    const pfc_expr_change *changes;
    size_t changes_len;
    const pfc_expr_defs *defs; /* NULL: there are no definitions */
    pfc_expr_result values[PFC_EXPR_MAX_DEFS];
    size_t known; /* definitions evaluated so far */
} pfc_expr_scope;

/** Where an expression stands, for messages. Lines and columns count from 1. */
typedef struct pfc_expr_place {
    const char *file;
    int line, column; /* of its first byte */
} pfc_expr_place;

/**
 * Reads an expression of `len` bytes. `defs` (may be NULL): names that are definitions.
 * PFC_EINVAL "FILE:LINE:COLUMN: expected ..., got ..."; PFC_ETOOBIG past a limit above.
 */
pfc_code pfc_expr_parse(const char *text, size_t len, const pfc_expr_place *place,
                        const pfc_expr_defs *defs, pfc_expr **out, pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_expr_free(pfc_expr *e);
/** Evaluates the definitions for a profile; both are borrowed and outlive the scope. */
void pfc_expr_scope_init(pfc_expr_scope *scope, const pfc_expr_defs *defs, const pfc_profile *p);
/** The same where some numbers are other ones: definitions are evaluated with them, and
 *  `before.NAME` is the value in the scope `before`. Everything is borrowed. */
void pfc_expr_scope_change(pfc_expr_scope *scope, const pfc_expr_scope *before,
                           const pfc_expr_change *changes, size_t changes_len);
/** The value of an expression that was read with the definitions of the scope. */
pfc_expr_result pfc_expr_eval(const pfc_expr *e, const pfc_expr_scope *scope);
/** True when the value is available and not 0. */
bool pfc_expr_true(const pfc_expr *e, const pfc_expr_scope *scope);
/** "not available: NAME"; "" for an available result. */
void pfc_expr_reason(const pfc_expr_result *r, char *out, size_t size);

/* ---- sentences (sentence.c) ---- */

typedef enum pfc_expr_format {
    PFC_EXPR_NUMBER,  /* "1.62" */
    PFC_EXPR_PERCENT, /* "31.4 %" of 0.314 */
    PFC_EXPR_BYTES,   /* "2048 bytes" */
} pfc_expr_format;

/** Writes `text` with the numbers in the places of {value} and {threshold}; cut at size - 1. */
void pfc_expr_sentence(const char *text, pfc_expr_format format, double value, double threshold,
                       char *out, size_t size);

/* ---- files of expressions (file.c) ---- */

/** An open YAML file whose scalars may be expressions. */
typedef struct pfc_expr_file {
    char *name; /* for messages: "limiter.yaml" (built in) or the path */
    char *text;
    size_t len;
    pfc_yaml yaml;
    struct fy_node *root; /* a mapping */
} pfc_expr_file;

/** Opens DIR/NAME.yaml, or the built-in file NAME where `dir` is NULL. PFC_ENOTFOUND, PFC_ETOOBIG,
 *  PFC_EIO as pfc_fs_read; PFC_EINVAL with file and line. *out is closed also after a failure. */
pfc_code pfc_expr_file_open(pfc_expr_file *out, const char *dir, const char *name,
                            pfc_err *err) PFC_MUSTCHECK;
/** The same of a text in memory; `name` is for messages. */
pfc_code pfc_expr_file_open_text(pfc_expr_file *out, const char *name, const char *text, size_t len,
                                 pfc_err *err) PFC_MUSTCHECK;
void pfc_expr_file_close(pfc_expr_file *f);
/** Text of the built-in file NAME; NULL when there is none. */
const char *pfc_expr_builtin(const char *name);

/** Reads the expression of a scalar node. `what` names it in messages. */
pfc_code pfc_expr_of_node(const pfc_expr_file *f, struct fy_node *node, const char *what,
                          const pfc_expr_defs *defs, pfc_expr **out, pfc_err *err) PFC_MUSTCHECK;
/** Reads the member `key`, *out is NULL when there is none. */
pfc_code pfc_expr_member(const pfc_expr_file *f, struct fy_node *mapping, const char *key,
                         const pfc_expr_defs *defs, pfc_expr **out, pfc_err *err) PFC_MUSTCHECK;
/** Reads the mapping "definitions" of the file's root, if it has one; *defs is cleared by the
 *  caller, also after a failure. */
pfc_code pfc_expr_defs_read(const pfc_expr_file *f, pfc_expr_defs *defs,
                            pfc_err *err) PFC_MUSTCHECK;
void pfc_expr_defs_clear(pfc_expr_defs *defs);
/** Copies the text member `key` to out[size]; "" when there is none and it is not `required`.
 *  PFC_EINVAL when it does not fit. */
pfc_code pfc_expr_text_member(const pfc_expr_file *f, struct fy_node *mapping, const char *key,
                              bool required, char *out, size_t size, pfc_err *err) PFC_MUSTCHECK;
/** The member "format": number (also without one), percent or bytes. */
pfc_code pfc_expr_format_member(const pfc_expr_file *f, struct fy_node *mapping,
                                pfc_expr_format *out, pfc_err *err) PFC_MUSTCHECK;

#endif
