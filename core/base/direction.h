/* Which way a metric is better, as a person says it: `--direction NAME=higher`, `directions:`. */
#ifndef PFC_CORE_BASE_DIRECTION_H
#define PFC_CORE_BASE_DIRECTION_H

#include <stdbool.h>

#define PFC_MAX_DIRECTIONS 256 /* of one perfci.yaml or command line */

typedef struct pfc_direction {
    const char *name; /* of a metric, or of a benchmark whose metrics have no names of their own */
    bool higher;
} pfc_direction;

#endif
