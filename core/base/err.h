/*
 * Errors: a code to branch on and a sentence to read.
 *
 * Functions that can fail return pfc_code and take `pfc_err *err` last (may be NULL). The message
 * is set where the fault is found; it names the thing, the expected and the received value. It is
 * logged once, by the caller that handles the error.
 */
#ifndef PFC_CORE_BASE_ERR_H
#define PFC_CORE_BASE_ERR_H

#include "core/base/base.h"

typedef enum pfc_code {
    PFC_OK = 0,
    PFC_EINVAL = -1,    /* the input is wrong; retrying with the same input is pointless */
    PFC_ENOTFOUND = -2, /* the named thing does not exist */
    PFC_ECONFLICT = -3, /* it exists already, or its state forbids this */
    PFC_EUNAVAIL = -4,  /* a service or resource is away; a retry may help */
    PFC_ETIMEOUT = -5,  /* a deadline passed */
    PFC_EIO = -6,       /* the file system or the network failed */
    PFC_EBUG = -7,      /* our own mistake */
    PFC_EDENIED = -8,   /* the caller may not do this */
    PFC_ETOOBIG = -9,   /* over a stated limit */
    PFC_EBROKEN = -10,  /* the benchmark is broken: build failed or the result is wrong */
} pfc_code;

#define PFC_ERR_MAX       512
#define PFC_ERR_FIELD_MAX 128
#define PFC_ERR_HINT_MAX  256

typedef struct pfc_err {
    pfc_code code;                 /* PFC_OK until something failed */
    char msg[PFC_ERR_MAX];         /* one sentence, no newline, no trailing period needed */
    char field[PFC_ERR_FIELD_MAX]; /* path of the offending input field, or empty */
    char hint[PFC_ERR_HINT_MAX];   /* the next step, one sentence; empty: the code's own hint */
} pfc_err;

/** Fills *err (may be NULL) and returns `code`. The text is cut at PFC_ERR_MAX - 1 bytes; what in
 * it is no UTF-8 or a control character, as what it quotes may be, becomes '?'. */
pfc_code pfc_err_set(pfc_err *err, pfc_code code, const char *fmt, ...) PFC_PRINTF(3, 4);

/** Like pfc_err_set, also naming the input field, e.g. "measurements[3].samples". */
pfc_code pfc_err_set_field(pfc_err *err, pfc_code code, const char *field, const char *fmt, ...)
    PFC_PRINTF(4, 5);

/** Adds the next step, which the CLI prints as a line "hint: ..." below the error. Call it after
 *  pfc_err_set, which clears it; pfc_err_wrap keeps it. Returns err->code (PFC_EBUG when err is
 * NULL). */
pfc_code pfc_err_hint(pfc_err *err, const char *fmt, ...) PFC_PRINTF(2, 3);

/** Puts "context: " before the message that is there; returns err->code (PFC_EBUG when err is
 * NULL). */
pfc_code pfc_err_wrap(pfc_err *err, const char *fmt, ...) PFC_PRINTF(2, 3);

/** "EINVAL", "ENOTFOUND", ...: stable names for logs and JSON. */
const char *pfc_code_name(pfc_code code);

/** The exit status of CONTRACTS: 0, 2 for EINVAL/ENOTFOUND/..., 4 for EBROKEN, 5 for the rest. */
int pfc_code_exit(pfc_code code);

#endif
