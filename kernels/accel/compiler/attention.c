/*
 * Attention with online softmax: a tile of queries stays, tiles of keys and values pass. The
 * scores of the next tile are computed while the vector unit weighs those of the current one.
 * Source: Dao et al., arXiv 2205.14135 (the tiling), arXiv 1805.02867 (the running softmax).
 */
#include <math.h>

#include "kernels/accel/compiler/emit.h"

#define ARG_Q 0
#define ARG_K 1
#define ARG_V 2
#define ARG_O 3

typedef struct lowering {
    pfc_accel_emit *e;
    uint64_t s;
    uint64_t d;
    bool causal;
    float scale;
    uint64_t tq;
    uint64_t tk;
    /* by slot: places, and the tokens that free them */
    uint64_t q[2], k[2], v[2], p[2], out[2], stats[2], scores[2], sum[2];
    uint32_t q_free[2], k_free[2], v_free[2], p_free[2], out_free[2], scores_free[2];
    uint64_t q_turn;
    uint64_t k_turn;
} lowering;

/* A tile after its softmax, ready for the multiplication with its values. */
typedef struct pending {
    bool is;
    bool first;
    size_t slot;
    uint64_t rows;
    uint64_t cols;
    uint32_t weighed;
    uint32_t v_loaded;
} pending;

static uint64_t sram_need(const lowering *l)
{
    const pfc_accel_chip *chip = l->e->chip;
    const uint64_t es = l->e->es;

    return 2 * (2 * pfc_accel_sram_rounded(chip, l->tq * l->d * es) +
                2 * pfc_accel_sram_rounded(chip, l->tk * l->d * es) +
                pfc_accel_sram_rounded(chip, l->tq * l->tk * es) +
                pfc_accel_sram_rounded(chip, l->tq * 8));
}

static uint64_t acc_need(const lowering *l)
{
    return 2 * (l->tq * l->tk + l->tq * l->d) * 4;
}

/* The larger the query tile, the fewer times keys and values are read. */
static bool choose(lowering *l)
{
    const pfc_accel_chip *chip = l->e->chip;

    l->tq = PFC_MIN(l->s, 128);
    l->tk = PFC_MIN(l->s, 128);
    while (sram_need(l) > chip->sram_bytes || acc_need(l) > chip->acc_bytes) {
        if (l->tq == 1 && l->tk == 1)
            return false;
        if (l->tk >= l->tq)
            l->tk = (l->tk + 1) / 2;
        else
            l->tq = (l->tq + 1) / 2;
    }
    return true;
}

static void place(lowering *l)
{
    pfc_accel_emit *e = l->e;

    for (size_t i = 0; i < 2; i++) {
        l->q_free[i] = l->k_free[i] = l->v_free[i] = PFC_ACCEL_NO_TOKEN;
        l->p_free[i] = l->out_free[i] = l->scores_free[i] = PFC_ACCEL_NO_TOKEN;
        l->q[i] = pfc_accel_emit_sram(e, l->tq * l->d * e->es);
        l->k[i] = pfc_accel_emit_sram(e, l->tk * l->d * e->es);
        l->v[i] = pfc_accel_emit_sram(e, l->tk * l->d * e->es);
        l->p[i] = pfc_accel_emit_sram(e, l->tq * l->tk * e->es);
        l->out[i] = pfc_accel_emit_sram(e, l->tq * l->d * e->es);
        l->stats[i] = pfc_accel_emit_sram(e, l->tq * 8);
        l->scores[i] = pfc_accel_emit_acc(e, l->tq * l->tk * 4);
        l->sum[i] = pfc_accel_emit_acc(e, l->tq * l->d * 4);
    }
}

static uint32_t load(lowering *l, uint8_t arg, uint64_t row, uint64_t rows, uint64_t at,
                     uint32_t after)
{
    const uint64_t width = l->d * l->e->es;
    const pfc_accel_tile tile = {
        .arg = arg, .offset = row * width, .stride = width, .rows = rows, .cols = l->d, .place = at
    };

    return pfc_accel_emit_move(l->e, PFC_ACCEL_OP_LOAD, &tile, &after, 1);
}

/* out (+)= P V of an earlier tile; returns its token. */
static uint32_t multiply_values(lowering *l, const pending *w, size_t qs)
{
    const pfc_accel_cmd cmd = { .unit = PFC_ACCEL_UNIT_TENSOR,
                                .op = PFC_ACCEL_OP_MATMUL,
                                .accumulate = !w->first,
                                .token = pfc_accel_emit_token(l->e),
                                .m = (uint32_t)w->rows,
                                .n = (uint32_t)l->d,
                                .k = (uint32_t)w->cols,
                                .a = l->p[w->slot],
                                .b = l->v[w->slot],
                                .acc = l->sum[qs] };
    const uint32_t waits[] = { w->weighed, w->v_loaded };

    pfc_accel_emit_cmd(l->e, &cmd, waits, PFC_ARRAY_LEN(waits));
    l->v_free[w->slot] = l->p_free[w->slot] = cmd.token;
    return cmd.token;
}

/* One tile of keys: scores, and the softmax step once the tile before is summed up. */
static void one_key_tile(lowering *l, uint64_t base, uint64_t q0, uint64_t rows, uint64_t k0,
                         size_t qs, uint32_t q_loaded, pending *before)
{
    const size_t s = (size_t)(l->k_turn++ % 2);
    const uint64_t cols = PFC_MIN(l->tk, l->s - k0);
    const uint32_t k_loaded = load(l, ARG_K, base + k0, cols, l->k[s], l->k_free[s]);
    const uint32_t v_loaded = load(l, ARG_V, base + k0, cols, l->v[s], l->v_free[s]);
    const uint32_t score_waits[] = { q_loaded, k_loaded, l->scores_free[s] };
    const pfc_accel_cmd score = { .unit = PFC_ACCEL_UNIT_TENSOR,
                                  .op = PFC_ACCEL_OP_MATMUL,
                                  .transpose_b = true,
                                  .token = pfc_accel_emit_token(l->e),
                                  .m = (uint32_t)rows,
                                  .n = (uint32_t)cols,
                                  .k = (uint32_t)l->d,
                                  .a = l->q[qs],
                                  .b = l->k[s],
                                  .acc = l->scores[s] };
    const bool first = !before->is;
    uint32_t summed = l->out_free[qs];
    pfc_accel_cmd weigh = { .unit = PFC_ACCEL_UNIT_VECTOR,
                            .op = PFC_ACCEL_OP_ATT_STEP,
                            .first = first,
                            .m = (uint32_t)rows,
                            .n = (uint32_t)cols,
                            .k = (uint32_t)l->d,
                            .a = l->p[s],
                            .b = l->stats[qs],
                            .acc = l->scores[s],
                            .acc2 = l->sum[qs],
                            .diagonal = l->causal ? (int64_t)q0 - (int64_t)k0 : (int64_t)cols,
                            .scale = l->scale };

    pfc_accel_emit_cmd(l->e, &score, score_waits, PFC_ARRAY_LEN(score_waits));
    l->k_free[s] = l->q_free[qs] = score.token;
    if (before->is)
        summed = multiply_values(l, before, qs);
    weigh.token = pfc_accel_emit_token(l->e);
    {
        const uint32_t waits[] = { score.token, summed, l->p_free[s] };

        pfc_accel_emit_cmd(l->e, &weigh, waits, PFC_ARRAY_LEN(waits));
    }
    l->scores_free[s] = weigh.token;
    *before = (pending){ .is = true,
                         .first = first,
                         .slot = s,
                         .rows = rows,
                         .cols = cols,
                         .weighed = weigh.token,
                         .v_loaded = v_loaded };
}

static void one_query_tile(lowering *l, uint64_t head, uint64_t q0)
{
    const size_t qs = (size_t)(l->q_turn++ % 2);
    const uint64_t base = head * l->s;
    const uint64_t rows = PFC_MIN(l->tq, l->s - q0);
    const uint64_t last = l->causal ? q0 + rows : l->s;
    const uint64_t width = l->d * l->e->es;
    const uint32_t q_loaded = load(l, ARG_Q, base + q0, rows, l->q[qs], l->q_free[qs]);
    pending before = { 0 };
    uint32_t summed;
    pfc_accel_cmd end = { .unit = PFC_ACCEL_UNIT_VECTOR,
                          .op = PFC_ACCEL_OP_ATT_END,
                          .m = (uint32_t)rows,
                          .k = (uint32_t)l->d,
                          .a = l->out[qs],
                          .b = l->stats[qs],
                          .acc2 = l->sum[qs] };
    const pfc_accel_tile result = { .arg = ARG_O,
                                    .offset = (base + q0) * width,
                                    .stride = width,
                                    .rows = rows,
                                    .cols = l->d,
                                    .place = l->out[qs] };

    for (uint64_t k0 = 0; k0 < last && !l->e->overflow; k0 += l->tk)
        one_key_tile(l, base, q0, rows, k0, qs, q_loaded, &before);
    summed = multiply_values(l, &before, qs);
    end.token = pfc_accel_emit_token(l->e);
    {
        const uint32_t waits[] = { summed, l->out_free[qs] };

        pfc_accel_emit_cmd(l->e, &end, waits, PFC_ARRAY_LEN(waits));
    }
    l->out_free[qs] = pfc_accel_emit_move(l->e, PFC_ACCEL_OP_STORE, &result, &end.token, 1);
}

pfc_code pfc_accel_lower_attention(pfc_accel_emit *e, const pfc_accel_problem *problem,
                                   pfc_err *err)
{
    lowering l = { .e = e,
                   .s = (uint64_t)problem->p[1],
                   .d = (uint64_t)problem->p[2],
                   .causal = problem->p[3] != 0 };
    const uint64_t heads = (uint64_t)problem->p[0];
    const uint64_t bytes = heads * l.s * l.d * e->es;

    e->p->args_len = 4;
    for (size_t i = 0; i < 4; i++)
        e->p->arg_bytes[i] = bytes;
    if (bytes == 0)
        return PFC_OK;
    l.scale = 1.0f / sqrtf((float)l.d);
    if (!choose(&l) && !e->p->ideal_memory)
        return pfc_err_set(err, PFC_ETOOBIG, "%s: no tile of this attention fits its scratchpad",
                           e->chip->name);
    place(&l);
    for (uint64_t h = 0; h < heads && !e->overflow; h++)
        for (uint64_t q0 = 0; q0 < l.s && !e->overflow; q0 += l.tq)
            one_query_tile(&l, h, q0);
    return PFC_OK;
}
