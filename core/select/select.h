/*
 * Selects series by an expression, for example `gemm dtype=bf16,f16 backend=cpu-* k>=4096`.
 *
 * Terms are separated by blanks, and all of them must hold. A term is a word, which is searched for
 * in the name without regard to case, or FIELD OPERATOR VALUE. Operators: `=`, `!=`, `<`, `<=`,
 * `>`, `>=`. `=` and `!=` take several values, separated by commas: one of them, or none of them. A
 * `*` in a value stands for any text. A word or value in double quotes may hold blanks, commas,
 * operators and `*` as ordinary characters; \" and \\ are a quote and a backslash within them.
 *
 * Values are typed: where both sides are decimal numbers they are compared as numbers, so that
 * `k=4096` selects "4096.0", and `k<512` does not select "1024". `<`, `<=`, `>`, `>=` take a number
 * and never select a text. An item without the field is selected by `!=` only.
 */
#ifndef PFC_CORE_SELECT_SELECT_H
#define PFC_CORE_SELECT_SELECT_H

#include "core/base/err.h"

#define PFC_SELECT_MAX_BYTES  1000 /* of an expression */
#define PFC_SELECT_MAX_TERMS  32
#define PFC_SELECT_MAX_VALUES 64 /* of one term */

typedef struct pfc_select pfc_select;

/** The value of an item's field; NULL: the item does not have it. `name` NULL: the text in which
 *  words are searched. The answer is read before the next call. */
typedef const char *(*pfc_select_value)(void *item, const char *name);

/**
 * Parses an expression; an empty one selects everything. PFC_EINVAL on the first fault, with
 * field "select" and its position: "select: at character 8: expected a number after \"k>=\", got
 * \"big\"" (characters from 1, not bytes). PFC_ETOOBIG over a limit above. Free *out.
 */
pfc_code pfc_select_parse(const char *text, pfc_select **out, pfc_err *err) PFC_MUSTCHECK;
void pfc_select_free(pfc_select *select);

/** True when every term holds for the item. Thread-safe; O(terms x length of the values). */
bool pfc_select_matches(const pfc_select *select, pfc_select_value value, void *item);

/** The field of the n-th term, 0 <= n < pfc_select_terms; NULL: the term is a word. */
const char *pfc_select_field(const pfc_select *select, size_t n);
size_t pfc_select_terms(const pfc_select *select);

/** A decimal number: the whole text, finite, no hexadecimal. Parameters are typed by this. */
bool pfc_select_number(const char *text, double *out);

#endif
