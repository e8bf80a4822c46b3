/*
 * A kernel call on buffers of which one at a time (or all at once) lies against an inaccessible
 * page.
 */
#ifndef PFC_TESTS_KERNELS_CPU_GUARDED_H
#define PFC_TESTS_KERNELS_CPU_GUARDED_H

#include "core/base/base.h"

#include "tests/support/guard.h"

#define GUARDED_MAX 5

typedef enum guarded_role {
    GUARDED_IN,   /* `from` holds its bytes; it is handed out read only */
    GUARDED_OUT,  /* `from` holds what is there before the call */
    GUARDED_WORK, /* NaN before the call, aligned to 64 bytes */
} guarded_role;

typedef struct guarded_buffer {
    const char *name;
    guarded_role role;
    size_t len; /* floats */
    const float *from;
} guarded_buffer;

typedef struct guarded_call {
    const char *what; /* for messages: kernel and sizes */
    guarded_buffer buffers[GUARDED_MAX];
    size_t buffers_len;
    bool together; /* all buffers against an inaccessible page at once: for large problems */
    /* Calls the kernel; at[i] is the place of buffer i. */
    void (*run)(void *context, float *const *at);
    /* Compares the outputs with the reference; asserts. */
    void (*check)(void *context, float *const *at, const char *where);
    void *context;
} guarded_call;

/** Regions for buffers of at most `most` floats, in place of those of an earlier call. */
void guarded_open(size_t most);
void guarded_close(void);

/** Runs the call with each buffer at the end of its pages, then at their beginning; asserts. */
void guarded_run(const guarded_call *call);

/** `len` values in [-1, 1) from `seed`; the caller frees. */
float *guarded_values(size_t len, uint64_t seed);
/** Factor on u * sum|terms| for a sum of `terms` products, u included: min(n, 8 sqrt(n)) + 2. */
double guarded_sum_bound(size_t terms);

#endif
