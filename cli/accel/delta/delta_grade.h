/*
 * The grade of differences: two runs that differ in one or two parameters, explained from what both
 * recorded, and compared with the parameters that were changed. Private to cli/accel.
 */
#ifndef PFC_CLI_ACCEL_DELTA_DELTA_GRADE_H
#define PFC_CLI_ACCEL_DELTA_DELTA_GRADE_H

#include "cli/accel/grade/cases.h"
#include "core/analysis/delta/delta.h"

/* A change counts when it alters the total by at least this share, and where its resource is found
 * by simulation, when that one explains this much more than any other resource. */
#define DELTA_LEAST_CHANGE 0.01
#define DELTA_MARGIN       0.10
#define DELTA_DRAWS        400 /* cases that are drawn at most until one counts */

/** Kinds of changes. */
typedef enum delta_change {
    DELTA_CONSTANT, /* of the chip, which belongs to one resource */
    DELTA_TILE,     /* m, n or k */
    DELTA_ORDER,    /* loops, or result tiles that pass through k together */
    DELTA_BUFFERS,  /* buffers an operand, use of the engines */
    DELTA_FUSION,   /* bias and activation fused or in a second pass */
    DELTA_CHANGES
} delta_change;

/** One pair of runs. */
typedef struct delta_case {
    grade_case base; /* problem, chip before, and the region around the kernel */
    pfc_accel_chip after;
    pfc_accel_gemm_tiles tiles_before, tiles_after;
    bool tiled; /* the schedules are given; else the compiler chooses */
    delta_change change;
    pfc_resource resources[2]; /* of the changed constants; PFC_RESOURCE_NONE: by simulation */
    size_t constants;          /* that were changed: 0, 1, 2 */
} delta_case;

/** The result of one pair. */
typedef struct delta_outcome {
    delta_change change;
    size_t constants;
    pfc_resource truth[2]; /* of one change the first alone */
    pfc_resource named[2]; /* resources of the first two causes; PFC_RESOURCE_NONE: none */
    pfc_resource blind[2]; /* the same where the runs did not record the chip's constants */
    double sum_error;      /* |sum of the contributions - delta| / |delta| */
    char text[400];        /* the pair, and the ticks of each resource by simulation and by the
                               projections of both runs */
    bool equal_named;      /* two equal runs were given a cause */
} delta_outcome;

/** Draws a pair: `constants` 1 or 2 for the chip, 0 for a schedule of a product. (draw.c) */
void delta_draw(pfc_rng *rng, size_t constants, delta_case *out);
/** "constant", "tile", "order", "buffers", "fusion"; static text. */
const char *delta_change_name(delta_change change);

/** Pair number `index` of a seed; PFC_EBUG when no drawn pair counts. (measure.c) */
pfc_code delta_measure(uint64_t seed, uint64_t index, size_t constants, delta_outcome *out,
                       pfc_err *err) PFC_MUSTCHECK;

#endif
