/* Placing, calling, looking. */
#include "tests/kernels/cpu/guarded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"

#include "tests/check/check.h"

#define WORK_ALIGN 64

static pfc_guard regions[GUARDED_MAX];

void guarded_open(size_t most)
{
    for (size_t i = 0; i < GUARDED_MAX; i++)
        pfc_guard_init(&regions[i], most * sizeof(float));
}

void guarded_close(void)
{
    for (size_t i = 0; i < GUARDED_MAX; i++)
        pfc_guard_clear(&regions[i]);
}

float *guarded_values(size_t len, uint64_t seed)
{
    float *out = pfc_calloc(len + 1, sizeof *out);
    pfc_rng rng;

    pfc_rng_seed(&rng, seed);
    for (size_t i = 0; i < len; i++)
        out[i] = (float)(pfc_rng_u64(&rng) >> 40) * 0x1p-23F - 1.0F;
    return out;
}

double guarded_sum_bound(size_t terms)
{
    return (fmin((double)terms, 8.0 * sqrt((double)terms)) + 2.0) * 0x1p-24;
}

typedef struct attempt {
    const guarded_call *call;
    float *at[GUARDED_MAX];
} attempt;

static void call_kernel(void *arg)
{
    attempt *a = arg;

    a->call->run(a->call->context, a->at);
}

static void place(attempt *a, size_t i, pfc_guard_side side)
{
    const guarded_buffer *buffer = &a->call->buffers[i];
    const size_t bytes = buffer->len * sizeof(float);
    float *to = pfc_guard_place(&regions[i], bytes, side,
                                buffer->role == GUARDED_WORK ? WORK_ALIGN : sizeof(float));

    a->at[i] = to;
    if (buffer->role == GUARDED_WORK)
        memset(to, 0xff, bytes); /* all bits set is a NaN */
    else if (bytes > 0)
        memcpy(to, buffer->from, bytes);
    if (buffer->role == GUARDED_IN)
        a->at[i] = pfc_guard_sealed(&regions[i]);
}

/* guarded: the buffer that lies against an inaccessible page; buffers_len for all of them. */
static void run_at(const guarded_call *call, size_t guarded, pfc_guard_side side)
{
    const bool all = guarded == call->buffers_len;
    attempt a = { .call = call };
    const void *address = NULL;
    char where[256];

    snprintf(where, sizeof where, "%s, %s %s", call->what,
             side == PFC_GUARD_END ? "nothing readable behind" : "nothing readable before",
             all ? "any buffer" : call->buffers[guarded].name);
    for (size_t i = 0; i < call->buffers_len; i++)
        place(&a, i, all || i == guarded ? side : PFC_GUARD_MIDDLE);
    cr_assert(pfc_guard_try(call_kernel, &a, &address), "%s: touched byte %td of it", where,
              (const char *)address - (const char *)a.at[all ? 0 : guarded]);
    for (size_t i = 0; i < call->buffers_len; i++)
        cr_assert(pfc_guard_margins_hold(&regions[i]), "%s: wrote outside %s", where,
                  call->buffers[i].name);
    call->check(call->context, a.at, where);
}

void guarded_run(const guarded_call *call)
{
    const size_t first = call->together ? call->buffers_len : 0;
    const size_t last = call->together ? call->buffers_len : call->buffers_len - 1;

    for (size_t i = first; i <= last; i++) {
        run_at(call, i, PFC_GUARD_END);
        run_at(call, i, PFC_GUARD_BEGIN);
    }
}
