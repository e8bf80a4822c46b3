/* The table of operations: a new one is one row, for assembler and disassembler alike. */
#include <string.h>

#include "kernels/accel/text/parts.h"

#define KEY(text, of, member, may_lack)                                                            \
    {                                                                                              \
        .name = (text), .kind = PFC_ACCEL_KEY_##of, .optional = (may_lack),                        \
        .offset = offsetof(pfc_accel_cmd, member), .size = sizeof(((pfc_accel_cmd *)0)->member)    \
    }
#define MUST(text, of, member) KEY(text, of, member, false)
#define MAY(text, of, member)  KEY(text, of, member, true)
#define ROWS                   MUST("rows", NUMBER, m)
#define COLS                   MUST("cols", NUMBER, n)
#define MOVED                                                                                      \
    ROWS, COLS, MAY("elem", NUMBER, elem), MAY("stride", NUMBER, stride),                          \
        MAY("queue", NUMBER, queue)

#define PRODUCT                                                                                    \
    MUST("a", SRAM, a), MUST("b", SRAM, b), MUST("to", ACC, acc), MUST("m", NUMBER, m),            \
        MUST("n", NUMBER, n), MUST("k", NUMBER, k), MAY("accumulate", FLAG, accumulate),           \
        MAY("transpose_b", FLAG, transpose_b)
#define NORM MUST("at", SRAM, a), MUST("weights", SRAM, b), ROWS, COLS

static const pfc_accel_op_row rows[] = {
    { PFC_ACCEL_OP_LOAD,
      PFC_ACCEL_UNIT_DMA,
      { MUST("from", ARG, offset), MUST("to", SRAM, a), MOVED } },
    { PFC_ACCEL_OP_STORE,
      PFC_ACCEL_UNIT_DMA,
      { MUST("from", SRAM, a), MUST("to", ARG, offset), MOVED } },
    { PFC_ACCEL_OP_STORE_ACC,
      PFC_ACCEL_UNIT_DMA,
      { MUST("from", ACC, acc), MUST("to", ARG, offset), MOVED } },
    { PFC_ACCEL_OP_MATMUL, PFC_ACCEL_UNIT_TENSOR, { PRODUCT } },
    { PFC_ACCEL_OP_MATVEC, PFC_ACCEL_UNIT_VECTOR, { PRODUCT, MAY("batch", NUMBER, batch) } },
    { PFC_ACCEL_OP_SOFTMAX, PFC_ACCEL_UNIT_VECTOR, { MUST("at", SRAM, a), ROWS, COLS } },
    { PFC_ACCEL_OP_LAYERNORM, PFC_ACCEL_UNIT_VECTOR, { NORM } },
    { PFC_ACCEL_OP_RMSNORM, PFC_ACCEL_UNIT_VECTOR, { NORM } },
    { PFC_ACCEL_OP_RES_NORM, PFC_ACCEL_UNIT_VECTOR, { NORM, MUST("residual", SRAM, c) } },
    { PFC_ACCEL_OP_BIAS_ACT,
      PFC_ACCEL_UNIT_VECTOR,
      { MUST("sums", ACC, acc), MUST("bias", SRAM, b), MUST("to", SRAM, a), ROWS, COLS,
        MAY("act", NUMBER, act) } },
    { PFC_ACCEL_OP_BIAS_ROWS,
      PFC_ACCEL_UNIT_VECTOR,
      { MUST("at", SRAM, a), MUST("bias", SRAM, b), ROWS, COLS, MAY("act", NUMBER, act) } },
    { PFC_ACCEL_OP_ATT_STEP,
      PFC_ACCEL_UNIT_VECTOR,
      { MUST("scores", ACC, acc), MUST("out", ACC, acc2), MUST("weights", SRAM, a),
        MUST("stats", SRAM, b), ROWS, COLS, MUST("depth", NUMBER, k), MUST("scale", REAL, scale),
        MUST("diagonal", SIGNED, diagonal), MAY("period", NUMBER, period),
        MAY("first", FLAG, first) } },
    { PFC_ACCEL_OP_ATT_END,
      PFC_ACCEL_UNIT_VECTOR,
      { MUST("out", ACC, acc2), MUST("stats", SRAM, b), MUST("to", SRAM, a), ROWS,
        MUST("depth", NUMBER, k) } },
};

/* The digest of a stream covers every field but `line`: a text must be able to say each. */
_Static_assert(sizeof(pfc_accel_cmd) == 136, "a new field needs a line in raw[], and in a row");

static const pfc_accel_key raw[] = {
    MAY("queue", NUMBER, queue),
    MAY("accumulate", FLAG, accumulate),
    MAY("transpose_b", FLAG, transpose_b),
    MAY("first", FLAG, first),
    MAY("arg", NUMBER, arg),
    MAY("offset", SIGNED, offset),
    MAY("stride", SIGNED, stride),
    MAY("m", NUMBER, m),
    MAY("n", NUMBER, n),
    MAY("k", NUMBER, k),
    MAY("elem", NUMBER, elem),
    MAY("a", SIGNED, a),
    MAY("b", SIGNED, b),
    MAY("c", SIGNED, c),
    MAY("acc", SIGNED, acc),
    MAY("acc2", SIGNED, acc2),
    MAY("diagonal", SIGNED, diagonal),
    MAY("period", NUMBER, period),
    MAY("act", NUMBER, act),
    MAY("batch", NUMBER, batch),
    MAY("scale", NUMBER, scale),
    { .name = NULL },
};

const pfc_accel_op_row *pfc_accel_row_named(const char *name)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        if (strcmp(pfc_accel_op_name((uint8_t)rows[i].op), name) == 0)
            return &rows[i];
    return NULL;
}

const pfc_accel_op_row *pfc_accel_row_of(const pfc_accel_cmd *cmd)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        if (rows[i].op == (pfc_accel_op)cmd->op && rows[i].unit == (pfc_accel_unit)cmd->unit)
            return &rows[i];
    return NULL;
}

const pfc_accel_key *pfc_accel_raw_key(size_t i)
{
    return &raw[i];
}

int64_t pfc_accel_field_get(const pfc_accel_key *key, const pfc_accel_cmd *cmd)
{
    const char *field = (const char *)cmd + key->offset;
    uint8_t v1;
    uint32_t v4;
    int64_t v8;

    switch (key->size) {
    case 1:
        memcpy(&v1, field, sizeof(v1));
        return v1;
    case 4:
        memcpy(&v4, field, sizeof(v4));
        return v4;
    default:
        memcpy(&v8, field, sizeof(v8));
        return v8;
    }
}

bool pfc_accel_field_set(const pfc_accel_key *key, pfc_accel_cmd *cmd, int64_t value)
{
    char *field = (char *)cmd + key->offset;
    const uint8_t v1 = (uint8_t)(key->kind == PFC_ACCEL_KEY_FLAG ? value != 0 : value);
    const uint32_t v4 = (uint32_t)value;

    if (value < 0 && key->kind != PFC_ACCEL_KEY_SIGNED && key->kind != PFC_ACCEL_KEY_FLAG)
        return false;
    switch (key->size) {
    case 1:
        memcpy(field, &v1, sizeof(v1));
        return key->kind == PFC_ACCEL_KEY_FLAG || value <= UINT8_MAX;
    case 4:
        memcpy(field, &v4, sizeof(v4));
        return value <= UINT32_MAX;
    default:
        memcpy(field, &value, sizeof(value));
        return true;
    }
}

uint32_t pfc_accel_default_elem(pfc_accel_op op, pfc_accel_dtype dtype)
{
    if (op == PFC_ACCEL_OP_STORE_ACC)
        return dtype == PFC_ACCEL_BF16 ? 2 : 4;
    return (uint32_t)pfc_accel_dtype_bytes(dtype);
}
