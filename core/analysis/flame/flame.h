/*
 * Call stacks of two runs in one tree: what a flame graph of the difference is drawn from. Stacks
 * are read from what `perf script` prints.
 *
 * Samples of both runs are compared as shares of their run, because runs differ in length. Text
 * comes from outside: bytes, depth, nodes and names are bounded. A tree belongs to one thread.
 */
#ifndef PFC_CORE_ANALYSIS_FLAME_FLAME_H
#define PFC_CORE_ANALYSIS_FLAME_FLAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

#define PFC_FLAME_MAX_BYTES  (16u << 20) /* of one run's stacks */
#define PFC_FLAME_MAX_DEPTH  127         /* frames; outer ones of a deeper stack are left out */
#define PFC_FLAME_MAX_NODES  20000
#define PFC_FLAME_NAME_BYTES 120 /* a longer name is cut */

typedef struct pfc_flame_node {
    char *name;
    uint64_t samples[2];        /* before, after: with those of its children */
    uint64_t self[2];           /* without them */
    uint32_t first_child, next; /* positions; 0: none */
} pfc_flame_node;

/** nodes[0] is the root, whose samples are all of a run; zero is an empty tree. */
typedef struct pfc_flame {
    char unavailable[300]; /* why there are no stacks; "": there are */
    pfc_flame_node *nodes;
    size_t len, cap;
} pfc_flame;

/**
 * Adds the stacks that `perf script` printed of one run. Lines that begin with a blank are frames,
 * the innermost first; another line begins a sample. PFC_EINVAL when there is no sample,
 * PFC_ETOOBIG over one of the limits.
 */
pfc_code pfc_flame_read(pfc_flame *f, bool after, const char *text, size_t len, const char *name,
                        pfc_err *err) PFC_MUSTCHECK;
void pfc_flame_clear(pfc_flame *f);

/** Share of the run's samples, 0..1, of a node. */
double pfc_flame_share(const pfc_flame *f, size_t node, bool after);

/** A function with the samples in it, wherever it was called from. */
typedef struct pfc_flame_function {
    const char *name;     /* of the tree */
    double before, after; /* shares of the run, 0..1 */
} pfc_flame_function;

/** The functions whose own share changed most, at most `cap`; returns how many. */
size_t pfc_flame_functions(const pfc_flame *f, pfc_flame_function *out, size_t cap);

#endif
