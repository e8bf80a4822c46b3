/*
 * What-if: the same program again with one resource that takes no time. The limiter is the resource
 * whose removal saves the most cycles: the truth that an analysis of counters is graded by.
 */
#ifndef PFC_KERNELS_ACCEL_DEVICE_WHATIF_H
#define PFC_KERNELS_ACCEL_DEVICE_WHATIF_H

#include "core/trace/resources.h"
#include "kernels/accel/device/device.h"

/* The shared vocabulary (core/trace/resources.h) under the names of this library. PCIE and HOST lie
 * outside of a kernel: their removal saves nothing of its cycles, only of a region's
 * (driver/region.h). */
typedef enum pfc_accel_resource {
#define PFC_X(id, name, meaning) PFC_ACCEL_RESOURCE_##id = PFC_RESOURCE_##id,
    PFC_RESOURCES(PFC_X)
#undef PFC_X
        PFC_ACCEL_RESOURCES_LEN
} pfc_accel_resource;

#define PFC_ACCEL_NO_RESOURCE PFC_ACCEL_RESOURCES_LEN

/** "compute", ...; "none" for PFC_ACCEL_NO_RESOURCE. */
const char *pfc_accel_resource_name(pfc_accel_resource r);

typedef struct pfc_accel_whatif {
    uint64_t base;                            /* cycles as they are */
    uint64_t cycles[PFC_ACCEL_RESOURCES_LEN]; /* without that resource */
    pfc_accel_resource limiter;               /* PFC_ACCEL_NO_RESOURCE: no removal saves a cycle */
} pfc_accel_whatif;

/** The bits of pfc_accel_run.ideal that take the resource out of a kernel; 0: it lies outside. */
unsigned pfc_accel_resource_ideal(pfc_accel_resource r);
/** Sets the limiter from `base` and `cycles`: the first resource of those that save most. */
void pfc_accel_whatif_limit(pfc_accel_whatif *w);

/** Runs the timing of a checked program again for each resource; *run is unchanged. */
pfc_code pfc_accel_whatif_run(const pfc_accel_run *run, pfc_accel_whatif *out,
                              pfc_err *err) PFC_MUSTCHECK;

#endif
