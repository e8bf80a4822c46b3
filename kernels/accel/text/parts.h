/*
 * Shared by the files that read and write kernels in text: the table of operations, names and
 * expressions. Private to kernels/accel/text.
 */
#ifndef PFC_KERNELS_ACCEL_TEXT_PARTS_H
#define PFC_KERNELS_ACCEL_TEXT_PARTS_H

#include "kernels/accel/text/text.h"

#define PFC_ACCEL_NAME_MAX  32 /* bytes of a name, with its terminator */
#define PFC_ACCEL_MAX_WORDS 32 /* of a line */
#define PFC_ACCEL_MAX_KEYS  12 /* of an operation */

/* ---- table.c: operations ---- */

typedef enum pfc_accel_key_kind {
    PFC_ACCEL_KEY_NUMBER, /* 0 and up */
    PFC_ACCEL_KEY_SIGNED,
    PFC_ACCEL_KEY_REAL,
    PFC_ACCEL_KEY_FLAG, /* `name`, or name=EXPRESSION: set unless 0 */
    PFC_ACCEL_KEY_SRAM, /* address in the scratchpad */
    PFC_ACCEL_KEY_ACC,  /* address in the accumulators */
    PFC_ACCEL_KEY_ARG,  /* an argument and an offset in it: fields arg and offset */
} pfc_accel_key_kind;

/** An operand as `name=value`, and the field of pfc_accel_cmd that it fills. */
typedef struct pfc_accel_key {
    const char *name; /* NULL past the last */
    pfc_accel_key_kind kind;
    bool optional; /* left out: 0, and for `elem` and `stride` what the type and the row give */
    size_t offset;
    size_t size;
} pfc_accel_key;

/** The name of the operation is that of pfc_accel_op_name. */
typedef struct pfc_accel_op_row {
    pfc_accel_op op;
    pfc_accel_unit unit;
    pfc_accel_key keys[PFC_ACCEL_MAX_KEYS];
} pfc_accel_op_row;

/** NULL when there is none. */
const pfc_accel_op_row *pfc_accel_row_named(const char *name);
const pfc_accel_op_row *pfc_accel_row_of(const pfc_accel_cmd *cmd);
/** Fields that an operation does not use, as raw.NAME=NUMBER; NULL past the last. */
const pfc_accel_key *pfc_accel_raw_key(size_t i);
int64_t pfc_accel_field_get(const pfc_accel_key *key, const pfc_accel_cmd *cmd);
/** False when the field cannot hold the value. */
bool pfc_accel_field_set(const pfc_accel_key *key, pfc_accel_cmd *cmd, int64_t value);
/** Bytes of an element that a transfer of that operation moves. */
uint32_t pfc_accel_default_elem(pfc_accel_op op, pfc_accel_dtype dtype);

/* ---- names.c: names and expressions ---- */

typedef enum pfc_accel_name_kind {
    PFC_ACCEL_NAME_VALUE,
    PFC_ACCEL_NAME_ARG,
    PFC_ACCEL_NAME_SRAM,
    PFC_ACCEL_NAME_ACC,
    PFC_ACCEL_NAME_TOKEN,
} pfc_accel_name_kind;

typedef struct pfc_accel_name {
    char text[PFC_ACCEL_NAME_MAX];
    pfc_accel_name_kind kind;
    int64_t value; /* VALUE; ARG: its number; SRAM, ACC: address; TOKEN: number of the first */
    int64_t size;  /* bytes; TOKEN: how many */
} pfc_accel_name;

typedef struct pfc_accel_loop {
    pfc_accel_name index; /* its text is "" for a loop without a name */
    int64_t count;
    size_t at;   /* offset of its first line in the text */
    size_t line; /* number of the line before that */
} pfc_accel_loop;

typedef struct pfc_accel_assembler {
    pfc_accel_text *out;
    const char *text;
    size_t len;
    size_t at;   /* offset of the next line */
    size_t line; /* number of the current one */
    size_t steps;
    pfc_accel_loop loops[PFC_ACCEL_TEXT_MAX_DEPTH];
    size_t loops_len;
    pfc_accel_name names[PFC_ACCEL_TEXT_MAX_NAMES];
    size_t names_len;
    uint16_t slots[2 * PFC_ACCEL_TEXT_MAX_NAMES]; /* open addressing; 0: empty, else index + 1 */
    bool has_version, has_dtype, has_mode, has_memory, has_macs;
    uint64_t macs;
    uint64_t rows; /* moved so far */
    char *words[PFC_ACCEL_MAX_WORDS];
    size_t words_len;
    size_t lines_cap;
    pfc_err *err;
} pfc_accel_assembler;

/** Sets "file:line: ..." and returns PFC_EINVAL. */
pfc_code pfc_accel_at(pfc_accel_assembler *s, const char *fmt, ...) PFC_PRINTF(2, 3);
/** The name, or NULL. Indices of loops are found first. */
pfc_accel_name *pfc_accel_name_find(pfc_accel_assembler *s, const char *text, size_t len);
/** Adds a name; refuses one that is there, and text that is no name. */
pfc_code pfc_accel_name_add(pfc_accel_assembler *s, const char *text, pfc_accel_name_kind kind,
                            int64_t value, int64_t size);
/** PFC_EINVAL unless it is a letter or _, then letters, digits and _. */
pfc_code pfc_accel_name_check(pfc_accel_assembler *s, const char *text);

/** An expression to the end of `text`, of numbers, values and indices; `what` for errors. */
pfc_code pfc_accel_number(pfc_accel_assembler *s, const char *what, const char *text, int64_t min,
                          int64_t max, int64_t *out);
/** An expression with at most one name of that kind in it; *name is NULL without. SRAM and ACC
 *  count their address, and the sum must not leave the buffer; ARG counts 0. */
pfc_code pfc_accel_place(pfc_accel_assembler *s, const char *what, const char *text,
                         pfc_accel_name_kind kind, const pfc_accel_name **name, int64_t *out);
/** TOKEN or TOKEN[EXPRESSION] at *text, which is moved past it. *number is -1 for an index below
 *  0, which is no token. */
pfc_code pfc_accel_token(pfc_accel_assembler *s, const char *what, const char **text,
                         int64_t *number);
/** "t[3]": the name of a token that has a name, else "token 3". */
void pfc_accel_token_name(const pfc_accel_assembler *s, uint32_t token, char *out, size_t cap);

/* ---- directives.c, command.c, order.c ---- */

/** One line that is no loop: a directive; *known is false when there is none of that name. */
pfc_code pfc_accel_directive(pfc_accel_assembler *s, bool *known);
/** One command. */
pfc_code pfc_accel_command(pfc_accel_assembler *s, const pfc_accel_op_row *row);
/** Every token that is waited for is signalled by earlier commands alone; else the error names the
 *  commands that wait for each other, or the one that must move. */
pfc_code pfc_accel_order_check(pfc_accel_assembler *s);

#endif
