/* How many of the requested huge pages the kernel granted. */
#include "bench/machine/huge_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PROBE_BYTES (8u * 1024 * 1024) /* holds whole huge pages of 2 MiB however it is aligned */

int64_t pfc_pages_huge_bytes(const char *root)
{
    char *path = pfc_format("%s/proc/self/smaps_rollup", root ? root : "");
    FILE *f = fopen(path, "re");
    char line[256];
    long long kib = -1;

    free(path);
    while (f && kib < 0 && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "AnonHugePages: %lld kB", &kib) != 1)
            kib = -1;
    }
    if (f)
        fclose(f);
    return kib >= 0 && kib < (1LL << 50) ? (int64_t)kib * 1024 : -1;
}

int64_t pfc_pages_probe(void)
{
    const int64_t before = pfc_pages_huge_bytes(NULL);
    int64_t granted = -1;
    char *p = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return -1;
    (void)madvise(p, PROBE_BYTES, MADV_HUGEPAGE);
    memset(p, 1, PROBE_BYTES);
    if (before >= 0)
        granted = pfc_pages_huge_bytes(NULL) - before;
    (void)munmap(p, PROBE_BYTES);
    return granted < 0 ? -1 : granted;
}
