/*
 * A session as it is posted: builds measured together in blocks, and what came of each
 * (schema/json/session.schema.json). Its values are in the run documents that name it.
 *
 * Reading is strict, as in wire.h: one sentence with the path of the first fault.
 */
#ifndef PFC_CORE_WIRE_SESSION_H
#define PFC_CORE_WIRE_SESSION_H

#include "core/wire/wire.h"

#define PFC_SESSION_MAX_COMMITS   256
#define PFC_SESSION_MAX_S         1e9 /* of any duration, seconds */
#define PFC_SESSION_MAX_FUNCTIONS 40  /* of a commit */
/* A number of instructions: a double holds it exactly. */
#define PFC_SESSION_MAX_COUNT     (INT64_C(1) << 53)

typedef enum pfc_session_status {
    PFC_SESSION_MEASURED,
    PFC_SESSION_IDENTICAL, /* its object code is that of `same_as`, which was measured for both */
    PFC_SESSION_BROKEN,    /* does not build, or has broken results only */
    PFC_SESSION_NOT_MEASURED, /* left out, for `reason` */
} pfc_session_status;

/** A function whose number of instructions changed. */
typedef struct pfc_session_function {
    char *name;
    int64_t before, after; /* instructions in the function itself */
} pfc_session_function;

/** One of the session's new commits; anchor and base are not among them. */
typedef struct pfc_session_commit {
    char *commit; /* full id */
    pfc_session_status status;
    char *reason;   /* NULL: none; required unless measured or identical */
    char *same_as;  /* of an identical one: the anchor, the base, another commit that is not itself
                       identical, or a  build that was judged before and is none of the session's
                       commits */
    double needs_s; /* of measuring, until its boundary is likely to be decided; NAN: not known */
    pfc_session_function *functions; /* against the build before; the largest change first */
    size_t functions_len;            /* 0: not counted, or none changed */
} pfc_session_commit;

typedef struct pfc_session {
    char *id;     /* 32 hexadecimal digits, that of its runs */
    char *branch; /* NULL: the project's default */
    char *anchor, *base;
    char *machine_class, *machine;  /* of all its runs; machine: "" when it has no name */
    double started_at, finished_at; /* Unix seconds; finished may be earlier: clocks step */
    double budget_s;                /* 0: no limit */
    double spent_s;                 /* measuring */
    int64_t blocks;                 /* whole ones */
    char *note;                     /* NULL: none */
    char *pair_key; /* 64 hexadecimal digits: everything that decides the result of a comparison of
                       two builds (runner/blocks/pair_key.h); NULL: none */
    pfc_session_commit *commits; /* in the order of history */
    size_t commits_len;
} pfc_session;

const char *pfc_session_status_word(pfc_session_status status);
/** False: no such word. */
bool pfc_session_status_parse(const char *word, pfc_session_status *out);

/** Parses and validates; *out is the caller's to free. */
pfc_code pfc_session_from_json(const char *text, size_t len, pfc_session **out,
                               pfc_err *err) PFC_MUSTCHECK;
/** The document; the caller decrefs. */
json_t *pfc_session_document(const pfc_session *session);
/** Accepts NULL. */
void pfc_session_free(pfc_session *session);

#endif
