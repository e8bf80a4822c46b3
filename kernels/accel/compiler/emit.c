/* Commands, tokens and space. */
#include "kernels/accel/compiler/emit.h"

#include <string.h>

uint32_t pfc_accel_emit_token(pfc_accel_emit *e)
{
    return e->p->tokens_len++;
}

pfc_accel_cmd *pfc_accel_emit_cmd(pfc_accel_emit *e, const pfc_accel_cmd *cmd,
                                  const uint32_t *waits, size_t waits_len)
{
    pfc_accel_program *p = e->p;
    pfc_accel_cmd *made;

    if (p->len >= PFC_ACCEL_MAX_COMMANDS) {
        e->overflow = true;
        return NULL;
    }
    p->cmds = pfc_grow(p->cmds, p->len, &p->cap, sizeof(*p->cmds));
    made = &p->cmds[p->len++];
    *made = *cmd;
    made->waits_len = 0;
    for (size_t i = 0; i < waits_len; i++)
        if (waits[i] != PFC_ACCEL_NO_TOKEN && made->waits_len < PFC_ACCEL_MAX_WAITS)
            made->waits[made->waits_len++] = waits[i];
    if (made->unit == PFC_ACCEL_UNIT_DMA)
        p->dma_bytes += (uint64_t)made->m * made->n * made->elem;
    return made;
}

/* A quarter of the engines stores, so that no load waits behind a result that is not there yet. */
static uint32_t pick_engine(pfc_accel_emit *e, bool store)
{
    const uint32_t all = (uint32_t)e->chip->dma_engines;
    const uint32_t stores = all == 1 ? 1 : PFC_MAX(all / 4, 1);
    const uint32_t loads = all == 1 ? 1 : all - stores;

    if (all == 1)
        return 0;
    if (store)
        return loads + e->store_next++ % stores;
    return e->load_next++ % loads;
}

uint32_t pfc_accel_emit_move(pfc_accel_emit *e, pfc_accel_op op, const pfc_accel_tile *tile,
                             const uint32_t *waits, size_t waits_len)
{
    const bool store = op != PFC_ACCEL_OP_LOAD;
    const uint64_t elem = op == PFC_ACCEL_OP_STORE_ACC ? e->out_es : e->es;
    const uint64_t all = e->chip->dma_engines;
    const uint64_t share = store ? PFC_MAX(all / 4, 1) : all - (all > 1 ? PFC_MAX(all / 4, 1) : 0);
    const uint64_t bytes = tile->rows * tile->cols * elem;
    /* below 4 KiB the setup of another engine costs more than it brings */
    uint64_t parts = PFC_MIN(PFC_MIN(tile->rows, share), bytes / 4096 + 1);
    uint32_t token;

    if (bytes == 0)
        return PFC_ACCEL_NO_TOKEN;
    if (e->p->ideal_memory)
        parts = 1;
    token = pfc_accel_emit_token(e);
    for (uint64_t i = 0; i < parts; i++) {
        const uint64_t r0 = tile->rows * i / parts;
        const uint64_t r1 = tile->rows * (i + 1) / parts;
        const uint64_t place =
            tile->place + r0 * tile->cols * (op == PFC_ACCEL_OP_STORE_ACC ? 4 : e->es);
        const pfc_accel_cmd cmd = {
            .unit = PFC_ACCEL_UNIT_DMA,
            .op = (uint8_t)op,
            .queue = (uint8_t)pick_engine(e, store),
            .arg = tile->arg,
            .token = token,
            .offset = tile->offset + r0 * tile->stride,
            .stride = tile->stride,
            .m = (uint32_t)(r1 - r0),
            .n = (uint32_t)tile->cols,
            .elem = (uint32_t)elem,
            .a = op == PFC_ACCEL_OP_STORE_ACC ? 0 : place,
            .acc = op == PFC_ACCEL_OP_STORE_ACC ? place : 0,
        };

        pfc_accel_emit_cmd(e, &cmd, waits, waits_len);
    }
    return token;
}

uint64_t pfc_accel_sram_rounded(const pfc_accel_chip *chip, uint64_t bytes)
{
    const uint64_t bank = chip->sram_bytes / chip->sram_banks;

    /* A bank each, so that loading one buffer never holds up the use of another; where banks are
     * few, space counts more. A few bytes are not worth a bank. */
    if (bytes < 256 || chip->sram_banks < PFC_ACCEL_SPARE_BANKS)
        return (bytes + 63) / 64 * 64;
    return (bytes + bank - 1) / bank * bank;
}

uint64_t pfc_accel_emit_sram(pfc_accel_emit *e, uint64_t bytes)
{
    const uint64_t at = e->p->sram_used;

    e->p->sram_used += pfc_accel_sram_rounded(e->chip, bytes);
    return at;
}

uint64_t pfc_accel_emit_acc(pfc_accel_emit *e, uint64_t bytes)
{
    const uint64_t at = e->p->acc_used;

    e->p->acc_used += (bytes + 3) / 4 * 4;
    return at;
}

pfc_accel_emit pfc_accel_emit_fork(const pfc_accel_emit *e)
{
    pfc_accel_emit fork = { .chip = e->chip, .es = e->es, .out_es = e->out_es };

    fork.p = pfc_alloc(sizeof(*fork.p));
    fork.p->dtype = e->p->dtype;
    fork.p->mode = e->p->mode;
    fork.p->args_len = e->p->args_len;
    memcpy(fork.p->arg_bytes, e->p->arg_bytes, sizeof(fork.p->arg_bytes));
    return fork;
}

uint64_t pfc_accel_emit_cycles(const pfc_accel_emit *e)
{
    pfc_accel_run run = { .chip = e->chip, .program = e->p, .timing_only = true };
    uint64_t at = 1 << 20;

    /* one argument after the other, as a fresh device would place them */
    for (size_t i = 0; i < e->p->args_len; i++) {
        run.addr[i] = at;
        at += (e->p->arg_bytes[i] + 255) / 256 * 256;
    }
    if (e->overflow || pfc_accel_program_check(e->p, e->chip, NULL) ||
        pfc_accel_execute(&run, NULL))
        return UINT64_MAX;
    return run.counters.v[PFC_ACCEL_CYCLES];
}
