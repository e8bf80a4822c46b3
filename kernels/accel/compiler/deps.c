/* Dependences between tile operations: what each buffer's last writer and readers say, and what is
 * read back from device memory. */
#include <stddef.h>
#include <stdlib.h>

#include "kernels/accel/compiler/ir.h"

#define NONE UINT32_MAX

/* The last operation that wrote a buffer, and the operations that have read it since then. */
typedef struct history {
    uint32_t writer;
    uint32_t *readers;
    size_t len, cap;
} history;

static void depend(pfc_accel_deps *d, uint32_t first, uint32_t on, bool raw)
{
    for (size_t i = first; i < d->len; i++) {
        if (d->from[i] == on) {
            d->raw[i] |= raw;
            return;
        }
    }
    d->from = pfc_grow(d->from, d->len, &d->cap, sizeof(*d->from));
    d->raw = pfc_grow(d->raw, d->len, &d->raw_cap, sizeof(*d->raw));
    d->from[d->len] = on;
    d->raw[d->len++] = raw;
}

static uint16_t buffer_of(const pfc_accel_tile_op *op, size_t field)
{
    if (field == offsetof(pfc_accel_cmd, a))
        return op->a;
    if (field == offsetof(pfc_accel_cmd, b))
        return op->b;
    if (field == offsetof(pfc_accel_cmd, c))
        return op->c;
    return field == offsetof(pfc_accel_cmd, acc) ? op->acc : op->acc2;
}

static void note(history *h, uint32_t op, const pfc_accel_access *part)
{
    if (part->writes) {
        h->writer = op;
        h->len = 0;
        return;
    }
    h->readers = pfc_grow(h->readers, h->len, &h->cap, sizeof(*h->readers));
    h->readers[h->len++] = op;
}

void pfc_accel_deps_find(const pfc_accel_ir *ir, pfc_accel_deps *out)
{
    history *all = pfc_calloc(ir->bufs_len + 1, sizeof(*all));

    *out = (pfc_accel_deps){ 0 };
    out->of = pfc_calloc(ir->ops_len + 1, sizeof(*out->of));
    for (size_t i = 0; i < ir->bufs_len; i++)
        all[i].writer = NONE;
    for (uint32_t i = 0; i < ir->ops_len; i++) {
        pfc_accel_access parts[PFC_ACCEL_MAX_ACCESSES];
        const size_t len = pfc_accel_cmd_accesses(ir->p, &ir->ops[i].cmd, parts);

        out->of[i] = (uint32_t)out->len;
        if (ir->ops[i].after)
            depend(out, out->of[i], ir->ops[i].after - 1, true);
        for (size_t j = 0; j < len; j++) {
            const history *h = &all[buffer_of(&ir->ops[i], parts[j].field)];

            if (h->writer != NONE)
                depend(out, out->of[i], h->writer, parts[j].reads);
            for (size_t r = 0; r < h->len && parts[j].writes; r++)
                depend(out, out->of[i], h->readers[r], false);
        }
        for (size_t j = 0; j < len; j++)
            note(&all[buffer_of(&ir->ops[i], parts[j].field)], i, &parts[j]);
    }
    out->of[ir->ops_len] = (uint32_t)out->len;
    for (size_t i = 0; i < ir->bufs_len; i++)
        free(all[i].readers);
    free(all);
}

void pfc_accel_deps_free(pfc_accel_deps *deps)
{
    free(deps->of);
    free(deps->from);
    free(deps->raw);
}
