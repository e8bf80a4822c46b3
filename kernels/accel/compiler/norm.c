/* Row-wise operations: tiles of whole rows, worked on in place, several in flight. */
#include "kernels/accel/compiler/emit.h"

#define SLOTS 4 /* loading, two at work, storing */

typedef struct lowering {
    uint64_t rows;
    uint64_t cols;
    uint64_t tile_rows;
    size_t slots;
    uint64_t aux_bytes;
} lowering;

/* Enough tiles that load, work and store overlap; large enough that setup does not count. */
static bool choose(const pfc_accel_emit *e, lowering *l)
{
    const uint64_t row = l->cols * e->es;
    const uint64_t room =
        e->chip->sram_bytes -
        PFC_MIN(e->chip->sram_bytes, pfc_accel_sram_rounded(e->chip, l->aux_bytes));
    const uint64_t least = PFC_MAX(4096 * e->chip->dma_engines / row, 1);

    l->tile_rows = PFC_MAX((l->rows + 15) / 16, least);
    l->tile_rows = PFC_MIN(l->tile_rows, l->rows);
    l->slots = SLOTS;
    while (l->slots * pfc_accel_sram_rounded(e->chip, l->tile_rows * row) > room) {
        if (l->tile_rows > 1)
            l->tile_rows = (l->tile_rows + 1) / 2;
        else if (--l->slots == 0)
            return false;
    }
    return true;
}

static uint32_t load_aux(pfc_accel_emit *e, const lowering *l, uint64_t place)
{
    const pfc_accel_tile tile = {
        .arg = 1, .stride = l->aux_bytes, .rows = 1, .cols = l->aux_bytes / e->es, .place = place
    };

    return pfc_accel_emit_move(e, PFC_ACCEL_OP_LOAD, &tile, NULL, 0);
}

pfc_code pfc_accel_lower_norm(pfc_accel_emit *e, const pfc_accel_problem *problem, pfc_err *err)
{
    static const pfc_accel_op ops[] = { [PFC_ACCEL_LAYERNORM] = PFC_ACCEL_OP_LAYERNORM,
                                        [PFC_ACCEL_RMSNORM] = PFC_ACCEL_OP_RMSNORM,
                                        [PFC_ACCEL_SOFTMAX] = PFC_ACCEL_OP_SOFTMAX };
    lowering l = { .rows = (uint64_t)problem->p[0], .cols = (uint64_t)problem->p[1] };
    const uint64_t row = l.cols * e->es;
    const uint8_t out = problem->kernel == PFC_ACCEL_SOFTMAX ? 1 : 2;
    uint64_t place[SLOTS];
    uint32_t stored[SLOTS];
    uint64_t aux;
    uint32_t aux_token = PFC_ACCEL_NO_TOKEN;

    if (problem->kernel == PFC_ACCEL_LAYERNORM)
        l.aux_bytes = 2 * row;
    else if (problem->kernel == PFC_ACCEL_RMSNORM)
        l.aux_bytes = row;
    e->p->args_len = (size_t)out + 1;
    e->p->arg_bytes[0] = l.rows * row;
    e->p->arg_bytes[1] = l.aux_bytes;
    e->p->arg_bytes[out] = l.rows * row;
    if (l.rows == 0 || l.cols == 0)
        return PFC_OK;
    if (e->p->ideal_memory) {
        l.tile_rows = l.rows;
        l.slots = 1;
    } else if (!choose(e, &l)) {
        return pfc_err_set(err, PFC_ETOOBIG,
                           "%s: a row of %llu bytes and its weights do not fit its scratchpad",
                           e->chip->name, (unsigned long long)row);
    }
    aux = pfc_accel_emit_sram(e, l.aux_bytes);
    for (size_t i = 0; i < l.slots; i++) {
        place[i] = pfc_accel_emit_sram(e, l.tile_rows * row);
        stored[i] = PFC_ACCEL_NO_TOKEN;
    }
    if (l.aux_bytes)
        aux_token = load_aux(e, &l, aux);
    for (uint64_t r = 0, i = 0; r < l.rows && !e->overflow; r += l.tile_rows, i++) {
        const size_t s = (size_t)(i % l.slots);
        pfc_accel_tile tile = { .offset = r * row,
                                .stride = row,
                                .rows = PFC_MIN(l.tile_rows, l.rows - r),
                                .cols = l.cols,
                                .place = place[s] };
        const uint32_t loaded = pfc_accel_emit_move(e, PFC_ACCEL_OP_LOAD, &tile, &stored[s], 1);
        const uint32_t waits[] = { loaded, aux_token };
        const pfc_accel_cmd cmd = { .unit = PFC_ACCEL_UNIT_VECTOR,
                                    .op = (uint8_t)ops[problem->kernel],
                                    .token = pfc_accel_emit_token(e),
                                    .m = (uint32_t)tile.rows,
                                    .n = (uint32_t)l.cols,
                                    .a = place[s],
                                    .b = aux };

        pfc_accel_emit_cmd(e, &cmd, waits, PFC_ARRAY_LEN(waits));
        tile.arg = out;
        stored[s] = pfc_accel_emit_move(e, PFC_ACCEL_OP_STORE, &tile, &cmd.token, 1);
    }
    return PFC_OK;
}
