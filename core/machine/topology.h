/*
 * How the CPUs of the machine are put together: packages, cores, threads, memory nodes, caches. By
 * hwloc when perfci is built with it, else from /sys/devices/system alone; both see what the system
 * lets this process see. Thread-safe.
 * Source: Broquedis et al., "hwloc", PDP 2010.
 */
#ifndef PFC_CORE_MACHINE_TOPOLOGY_H
#define PFC_CORE_MACHINE_TOPOLOGY_H

#include "core/base/base.h"

typedef struct pfc_topology {
    int64_t packages, cores, threads, nodes; /* 0: not available */
    int64_t l1d_bytes, l2_bytes, l3_bytes;   /* of one cache; 0: not available */
    int64_t l3_caches;                       /* how many L3 there are */
    const char *by;                          /* "hwloc" or "sysfs" */
} pfc_topology;

/** root is put before /sys (NULL or "": this machine; anything else is read without hwloc). */
void pfc_topology_read(const char *root, pfc_topology *out);
/** "1 package, 2 cores, 2 threads, 1 node, L1d 48 KiB, L2 1 MiB, L3 32 MiB x 1"; caller frees. NULL
 * when nothing is known. The same text whichever way it was read. */
char *pfc_topology_text(const pfc_topology *topology);

#endif
