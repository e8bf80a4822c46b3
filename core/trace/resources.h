/*
 * The resources that can limit a program on a device: one vocabulary for the simulator's what-if
 * runs, critical paths, limiters, contributions of a delta, and guidance. Numbers and names are
 * stable; a resource is only added, at the end.
 */
#ifndef PFC_CORE_TRACE_RESOURCES_H
#define PFC_CORE_TRACE_RESOURCES_H

#include <stdbool.h>

/* id, name, meaning. PCIE and HOST lie outside of a kernel: within a kernel they limit nothing. */
#define PFC_RESOURCES(X)                                                                           \
    X(COMPUTE, "compute", "rows stream through the matrix unit")                                   \
    X(WEIGHTS, "weights", "weights load into the matrix unit")                                     \
    X(VECTOR, "vector", "the vector unit computes")                                                \
    X(MEMORY, "memory", "the channels of device memory serve accesses")                            \
    X(DMA, "dma", "DMA engines: their rate, setup, and window of outstanding accesses")            \
    X(SCRATCHPAD, "scratchpad", "accesses to one bank of the scratchpad wait for each other")      \
    X(LATENCY, "latency", "latency of memory, fill and drain of the array, reduction trees")       \
    X(PCIE, "pcie", "copies between host and device")                                              \
    X(HOST, "host", "calls of the host, doorbells, interrupts")

typedef enum pfc_resource {
#define PFC_X(id, name, meaning) PFC_RESOURCE_##id,
    PFC_RESOURCES(PFC_X)
#undef PFC_X
        PFC_RESOURCES_LEN
} pfc_resource;

/* No resource: nothing that could be removed saves time. Its name is "none". */
#define PFC_RESOURCE_NONE PFC_RESOURCES_LEN

/** "compute", ...; "none" for PFC_RESOURCE_NONE and anything above. Static text. */
const char *pfc_resource_name(pfc_resource r);
/** The meaning of the resource, a clause; "" for PFC_RESOURCE_NONE. Static text. */
const char *pfc_resource_meaning(pfc_resource r);
/** False when no resource has that name; *out is PFC_RESOURCE_NONE then. */
bool pfc_resource_parse(const char *name, pfc_resource *out);

#endif
