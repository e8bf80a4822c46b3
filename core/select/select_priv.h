/* The parsed expression. */
#ifndef PFC_CORE_SELECT_SELECT_PRIV_H
#define PFC_CORE_SELECT_SELECT_PRIV_H

#include "core/select/select.h"

typedef enum select_op {
    OP_WORD, /* a word without a field */
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
} select_op;

typedef struct select_operand {
    char *text;
    bool *any; /* of each byte of text: it is a `*` that stands for any text; owned */
    bool has_any;
    bool is_number;
    double number;
} select_operand;

typedef struct select_term {
    char *field; /* NULL: OP_WORD */
    select_op op;
    select_operand *values; /* at least one */
    size_t len, cap;
} select_term;

struct pfc_select {
    select_term *terms;
    size_t len, cap;
};

#endif
