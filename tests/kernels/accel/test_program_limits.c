/* Programs that the chip accepts: each bound at its last valid and its first invalid value. */
#include <string.h>

#include "tests/check/check.h"
#include "tests/kernels/accel/small.h"

static small s;
static pfc_err err;

static pfc_code check(void)
{
    err = (pfc_err){ 0 };
    return pfc_accel_program_check(&s.program, &s.chip, &err);
}

/* One field of the command, its last good and its first bad value, and a word of the reason. */
typedef struct bound {
    size_t offset;
    size_t size;
    uint64_t good, bad;
    const char *says;
} bound;

#define AT(field, good, bad, says)                                                                 \
    {                                                                                              \
        offsetof(pfc_accel_cmd, field), sizeof(((pfc_accel_cmd *)0)->field), good, bad, says       \
    }

static void put(const bound *b, uint64_t value)
{
    memcpy((char *)&s.cmds[0] + b->offset, &value, b->size); /* little end first: x86-64, arm64 */
}

/* `make` builds a program of one command. */
static void check_bounds(const char *what, void (*make)(void), const bound *bounds, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        make();
        cr_assert(eq(int, check(), PFC_OK), "%s: %s", what, err.msg);
        put(&bounds[i], bounds[i].good);
        cr_assert(eq(int, check(), PFC_OK), "%s, bound %zu: %s", what, i, err.msg);
        put(&bounds[i], bounds[i].bad);
        cr_assert(eq(int, check(), PFC_EINVAL), "%s, bound %zu", what, i);
        cr_assert(strstr(err.msg, bounds[i].says) != NULL, "%s, bound %zu: %s", what, i, err.msg);
        cr_assert(strstr(err.msg, "command 0") != NULL, "%s", err.msg);
    }
}

/* 4 rows of 100 bytes, 200 apart, in an argument of 1000 and a scratchpad of 512. */
static void make_load(void)
{
    small_init(&s, PFC_ACCEL_BF16);
    s.program.arg_bytes[0] = 1000;
    s.program.sram_used = 512;
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 4, 50, 200)->elem = 2;
}

Test(program, a_load_is_held_to_its_ranges)
{
    static const bound bounds[] = {
        AT(arg, 0, 1, "no such argument"),
        AT(m, 5, 6, "leaves"), /* 5 rows end at byte 900 of the argument and 500 of the pad */
        AT(m, 1, 0, "an empty transfer"),
        AT(n, 64, 65, "leaves the scratchpad"),
        AT(n, 1, 0, "an empty transfer"),
        AT(elem, 1, 0, "an empty transfer"),
        AT(elem, 2, 5, "an empty transfer"),
        AT(stride, 100, 99, "rows of a transfer overlap"),
        AT(stride, 300, 301, "leaves its argument"), /* 3 * 300 + 100 */
        AT(offset, 300, 301, "leaves its argument"), /* 3 * 200 + 100 */
        AT(offset, 300, UINT64_MAX, "leaves its argument"),
        AT(stride, 300, UINT64_MAX, "leaves its argument"),
        AT(queue, 1, 2, "no such DMA engine"),
        AT(a, 112, 113, "leaves the scratchpad"),
        AT(a, 112, UINT64_MAX, "leaves the scratchpad"),
        AT(token, 0, 1, "no such token"),
        AT(waits_len, 0, PFC_ACCEL_MAX_WAITS + 1, "too many waits"),
    };

    check_bounds("load", make_load, bounds, PFC_ARRAY_LEN(bounds));
}

static void make_store(void)
{
    make_load();
    s.cmds[0].op = PFC_ACCEL_OP_STORE;
}

Test(program, a_store_is_held_to_its_ranges)
{
    static const bound bounds[] = { AT(a, 112, 113, "leaves the scratchpad"),
                                    AT(offset, 300, 301, "leaves its argument") };

    check_bounds("store", make_store, bounds, PFC_ARRAY_LEN(bounds));
}

/* 4 x 6 sums of 4 bytes in 100 bytes of accumulators. */
static void make_sums(void)
{
    small_init(&s, PFC_ACCEL_BF16);
    s.program.acc_used = 100;
    small_transfer(&s, PFC_ACCEL_OP_STORE_ACC, 0, 4, 6, 200)->elem = 2;
}

Test(program, a_store_of_sums_is_held_to_its_ranges)
{
    static const bound bounds[] = { AT(acc, 4, 5, "leaves the accumulators"),
                                    AT(m, 1, 5, "leaves the accumulators"),
                                    AT(elem, 2, 4, "a wrong element size") };

    check_bounds("sums", make_sums, bounds, PFC_ARRAY_LEN(bounds));
    make_sums();
    s.program.dtype = PFC_ACCEL_INT8;
    cr_assert(eq(int, check(), PFC_EINVAL));
    s.cmds[0].elem = 4;
    cr_assert(eq(int, check(), PFC_OK), "%s", err.msg);
    s.program.dtype = PFC_ACCEL_F32;
    cr_assert(eq(int, check(), PFC_OK), "%s", err.msg);
}

/* a: 3 x 7 x 2 = 42 bytes, b: 7 x 5 x 2 = 70, sums: 3 x 5 x 4 = 60. */
static void make_product(void)
{
    small_init(&s, PFC_ACCEL_BF16);
    s.program.sram_used = 200;
    s.program.acc_used = 64;
    small_matmul(&s, 3, 5, 7);
}

Test(program, a_product_is_held_to_its_ranges)
{
    static const bound bounds[] = {
        AT(a, 158, 159, "leaves its memory"),
        AT(b, 130, 131, "leaves its memory"),
        AT(acc, 4, 8, "leaves its memory"),
        AT(acc, 4, 2, "leaves its memory"), /* not a multiple of 4 */
        AT(acc2, 4, 2, "leaves its memory"),
        AT(k, 20, 21, "leaves its memory"), /* b: 20 x 5 x 2 = 200 */
        AT(n, 5, 6, "leaves its memory"),   /* sums: 72 */
        AT(m, 3, 4, "leaves its memory"),
        AT(k, 0, (1u << 20) + 1, "expected at most 2^20"),
        AT(n, 0, (1u << 20) + 1, "expected at most 2^20"),
        AT(m, 0, (1u << 20) + 1, "expected at most 2^20"),
        AT(unit, PFC_ACCEL_UNIT_TENSOR, PFC_ACCEL_UNIT_VECTOR, "wrong unit"),
    };

    check_bounds("product", make_product, bounds, PFC_ARRAY_LEN(bounds));
    /* 2^20 itself is not too many, but there is no room for it. */
    make_product();
    s.cmds[0].m = 1u << 20;
    cr_assert(eq(int, check(), PFC_EINVAL));
    cr_assert(strstr(err.msg, "leaves its memory") != NULL, "%s", err.msg);
}

static pfc_accel_op made_op;

/* 3 rows of 5, 7 wide output; f32. */
static void make_vector(void)
{
    small_init(&s, PFC_ACCEL_F32);
    s.program.sram_used = 200;
    s.program.acc_used = 200;
    small_vector(&s, made_op, 3, 5, 7);
}

Test(program, vector_operations_are_held_to_their_ranges)
{
    /* rows: 60 bytes, gamma: 20, beta: 20 */
    static const bound softmax[] = { AT(a, 140, 141, "leaves"),
                                     AT(unit, PFC_ACCEL_UNIT_VECTOR, PFC_ACCEL_UNIT_TENSOR,
                                        "wrong unit") };
    static const bound rmsnorm[] = { AT(a, 140, 141, "leaves"), AT(b, 180, 181, "leaves"),
                                     AT(unit, PFC_ACCEL_UNIT_VECTOR, PFC_ACCEL_UNIT_TENSOR,
                                        "wrong unit") };
    static const bound layernorm[] = { AT(a, 140, 141, "leaves"), AT(b, 160, 161, "leaves"),
                                       AT(unit, PFC_ACCEL_UNIT_VECTOR, PFC_ACCEL_UNIT_TENSOR,
                                          "wrong unit") };
    /* weights: 60, statistics: 24, scores: 60, output: 84 */
    static const bound step[] = { AT(a, 140, 141, "leaves"),    AT(b, 176, 180, "leaves"),
                                  AT(b, 4, 2, "leaves"),        AT(acc, 140, 144, "leaves"),
                                  AT(acc2, 116, 120, "leaves"), AT(acc, 4, 6, "leaves"),
                                  AT(acc2, 4, 6, "leaves") };
    /* output: 84 in both */
    static const bound end[] = { AT(a, 116, 117, "leaves"), AT(b, 176, 180, "leaves"),
                                 AT(b, 4, 2, "leaves"), AT(acc2, 116, 120, "leaves") };
    static const struct {
        const char *name;
        pfc_accel_op op;
        const bound *bounds;
        size_t len;
    } rows[] = { { "softmax", PFC_ACCEL_OP_SOFTMAX, softmax, PFC_ARRAY_LEN(softmax) },
                 { "rmsnorm", PFC_ACCEL_OP_RMSNORM, rmsnorm, PFC_ARRAY_LEN(rmsnorm) },
                 { "layernorm", PFC_ACCEL_OP_LAYERNORM, layernorm, PFC_ARRAY_LEN(layernorm) },
                 { "step", PFC_ACCEL_OP_ATT_STEP, step, PFC_ARRAY_LEN(step) },
                 { "end", PFC_ACCEL_OP_ATT_END, end, PFC_ARRAY_LEN(end) } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        made_op = rows[i].op;
        check_bounds(rows[i].name, make_vector, rows[i].bounds, rows[i].len);
        make_vector();
        s.program.dtype = PFC_ACCEL_INT8;
        cr_assert(eq(int, check(), PFC_EINVAL), "%s", rows[i].name);
        cr_assert(strstr(err.msg, "has no int8") != NULL, "%s", err.msg);
    }
}

Test(program, waits_are_for_earlier_commands)
{
    make_product();
    s.program.acc_used = s.program.sram_used = 4096;
    small_matmul(&s, 3, 5, 7);
    small_wait(&s, 0);
    cr_assert(eq(int, check(), PFC_OK), "%s", err.msg);
    s.cmds[1].waits[0] = 1; /* itself */
    cr_assert(eq(int, check(), PFC_EINVAL));
    cr_assert(strstr(err.msg, "command 1 waits for a command that comes later") != NULL, "%s",
              err.msg);
    s.cmds[1].waits[0] = 2; /* no such token */
    cr_assert(eq(int, check(), PFC_EINVAL));
    s.cmds[1].waits[0] = 0;
    s.cmds[1].token = 0; /* the last command of a token counts */
    cr_assert(eq(int, check(), PFC_EINVAL));
}

Test(program, capacities_are_those_of_the_chip)
{
    static const struct {
        size_t offset;
        uint64_t good;
        const char *says;
    } rows[] = {
        { offsetof(pfc_accel_program, sram_used), 4096, "small has 4096 bytes of scratchpad" },
        { offsetof(pfc_accel_program, acc_used), 4096, "small has 4096 bytes of accumulators" },
        { offsetof(pfc_accel_program, dma_bytes), PFC_ACCEL_MAX_DMA_BYTES, "bytes moved" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        uint64_t value = rows[i].good;

        small_init(&s, PFC_ACCEL_INT8);
        memcpy((char *)&s.program + rows[i].offset, &value, sizeof value);
        cr_assert(eq(int, check(), PFC_OK), "%s", err.msg);
        value++;
        memcpy((char *)&s.program + rows[i].offset, &value, sizeof value);
        cr_assert(eq(int, check(), PFC_ETOOBIG), "%s", rows[i].says);
        cr_assert(strstr(err.msg, rows[i].says) != NULL, "%s", err.msg);
        s.program.ideal_memory = true; /* capacities are not kept, the bytes moved are */
        cr_assert(eq(int, check(), i < 2 ? PFC_OK : PFC_ETOOBIG));
    }
}
