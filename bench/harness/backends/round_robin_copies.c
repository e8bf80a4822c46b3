/*
 * A backend that holds several copies of one problem and calls them in turn. Together the copies
 * exceed the caches, so that each call reads its data from memory. One large problem would not do:
 * the interference of other processes within a call of some milliseconds cannot be separated from
 * the call; short calls that were disturbed are outliers.
 */
#include <stdlib.h>

#include "bench/harness/cells.h"

typedef struct copies {
    const pfc_backend *of;
    void *insts[PFC_MAX_COPIES];
    size_t len, next;
} copies;

static pfc_code check_first(void *inst, pfc_err *err)
{
    const copies *c = inst;

    return c->of->ops->check(c->insts[0], err);
}

static void run_round(void *inst, uint64_t calls)
{
    copies *c = inst;

    for (uint64_t i = 0; i < calls; i++) {
        c->of->ops->run(c->insts[c->next], 1);
        c->next = (c->next + 1) % c->len;
    }
}

static void close_all(void *inst)
{
    copies *c = inst;

    for (size_t i = 0; i < c->len; i++)
        c->of->ops->close(c->insts[i]);
    free(c);
}

static const pfc_backend_ops copies_ops = { .check = check_first,
                                            .run = run_round,
                                            .close = close_all };

pfc_code pfc_copies_open(const pfc_backend *of, const pfc_case *c, uint64_t seed, size_t n,
                         pfc_backend *as, void **inst, pfc_err *err)
{
    copies *made = pfc_alloc(sizeof(*made));
    pfc_code code = PFC_OK;

    *made = (copies){ .of = of };
    for (size_t i = 0; i < PFC_MIN(PFC_MAX(n, 1), (size_t)PFC_MAX_COPIES) && !code; i++) {
        code = of->ops->open(of, c, seed, &made->insts[i], err);
        made->len += !code;
    }
    if (code) {
        close_all(made);
        return code;
    }
    *as = *of;
    as->ops = &copies_ops;
    *inst = made;
    return PFC_OK;
}
