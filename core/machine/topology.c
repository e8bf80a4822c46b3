/* Counting packages, cores and caches. */
#include "core/machine/topology.h"

#include <stdlib.h>
#include <string.h>

#ifdef PFC_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "core/machine/sysfs.h"

#define MAX_CPUS 4096
#define CPU      "/sys/devices/system/cpu"

/* How many different texts there are: each package, core or cache is named the same on its CPUs. */
typedef struct names {
    char **items;
    size_t len, cap;
} names;

static void add(names *n, char *text)
{
    for (size_t i = 0; i < n->len; i++) {
        if (strcmp(n->items[i], text) == 0) {
            free(text);
            return;
        }
    }
    n->items = pfc_grow(n->items, n->len, &n->cap, sizeof(*n->items));
    n->items[n->len++] = text;
}

static void clear(names *n)
{
    pfc_sysfs_list_free(n->items, n->len);
}

/* "512K" in bytes; 0 when it is no size. */
static int64_t size_of(const char *text)
{
    char *end = NULL;
    const long long n = text ? strtoll(text, &end, 10) : 0;

    if (n <= 0 || n > (1LL << 40))
        return 0;
    return n * (*end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1);
}

static void read_caches(const char *root, const char *cpu, pfc_topology *out, names *l3)
{
    for (int i = 0; i < 8; i++) {
        char *level = pfc_sysfs_line(root, CPU "/%s/cache/index%d/level", cpu, i);
        char *type = pfc_sysfs_line(root, CPU "/%s/cache/index%d/type", cpu, i);
        char *size = pfc_sysfs_line(root, CPU "/%s/cache/index%d/size", cpu, i);
        char *shared = pfc_sysfs_line(root, CPU "/%s/cache/index%d/shared_cpu_list", cpu, i);
        const int64_t bytes = size_of(size);

        if (level && type && bytes > 0 && strcmp(type, "Instruction") != 0) {
            if (strcmp(level, "1") == 0)
                out->l1d_bytes = bytes;
            else if (strcmp(level, "2") == 0)
                out->l2_bytes = bytes;
            else if (strcmp(level, "3") == 0)
                out->l3_bytes = bytes;
            if (strcmp(level, "3") == 0 && shared)
                add(l3, pfc_strdup(shared));
        }
        free(level);
        free(type);
        free(size);
        free(shared);
    }
}

static void read_sysfs(const char *root, pfc_topology *out)
{
    size_t len = 0;
    char **cpus = pfc_sysfs_list(root, CPU "/cpu[0-9]*", MAX_CPUS, &len);
    size_t nodes = 0;
    names packages = { 0 };
    names cores = { 0 };
    names l3 = { 0 };

    out->by = "sysfs";
    for (size_t i = 0; i < len; i++) {
        char *package = pfc_sysfs_line(root, CPU "/%s/topology/physical_package_id", cpus[i]);
        char *core = pfc_sysfs_line(root, CPU "/%s/topology/core_id", cpus[i]);
        if (package && core) { /* an offline CPU has none */
            out->threads++;
            add(&cores, pfc_format("%s %s", package, core));
            add(&packages, pfc_strdup(package));
            read_caches(root, cpus[i], out, &l3);
        }
        free(package);
        free(core);
    }
    out->packages = (int64_t)packages.len;
    out->cores = (int64_t)cores.len;
    out->l3_caches = (int64_t)l3.len;
    clear(&packages);
    clear(&cores);
    clear(&l3);
    pfc_sysfs_list_free(cpus, len);
    cpus = pfc_sysfs_list(root, "/sys/devices/system/node/node[0-9]*", MAX_CPUS, &nodes);
    out->nodes = (int64_t)nodes;
    pfc_sysfs_list_free(cpus, nodes);
}

#ifdef PFC_HAVE_HWLOC
static int64_t count(hwloc_topology_t t, hwloc_obj_type_t type)
{
    const int n = hwloc_get_nbobjs_by_type(t, type);

    return n > 0 ? n : 0;
}

static int64_t cache_bytes(hwloc_topology_t t, hwloc_obj_type_t type)
{
    const hwloc_obj_t cache = hwloc_get_obj_by_type(t, type, 0);

    return cache && cache->attr ? (int64_t)cache->attr->cache.size : 0;
}

static bool read_hwloc(pfc_topology *out)
{
    hwloc_topology_t t;

    if (hwloc_topology_init(&t) != 0)
        return false;
    if (hwloc_topology_load(t) != 0) {
        hwloc_topology_destroy(t);
        return false;
    }
    out->by = "hwloc";
    out->packages = count(t, HWLOC_OBJ_PACKAGE);
    out->cores = count(t, HWLOC_OBJ_CORE);
    out->threads = count(t, HWLOC_OBJ_PU);
    out->nodes = count(t, HWLOC_OBJ_NUMANODE);
    out->l1d_bytes = cache_bytes(t, HWLOC_OBJ_L1CACHE);
    out->l2_bytes = cache_bytes(t, HWLOC_OBJ_L2CACHE);
    out->l3_bytes = cache_bytes(t, HWLOC_OBJ_L3CACHE);
    out->l3_caches = count(t, HWLOC_OBJ_L3CACHE);
    hwloc_topology_destroy(t);
    return out->threads > 0;
}
#endif

void pfc_topology_read(const char *root, pfc_topology *out)
{
    *out = (pfc_topology){ .by = "sysfs" };
#ifdef PFC_HAVE_HWLOC
    if ((!root || !root[0]) && read_hwloc(out))
        return;
    *out = (pfc_topology){ .by = "sysfs" };
#endif
    read_sysfs(root, out);
}

static void add_count(pfc_buf *out, int64_t n, const char *one, const char *many)
{
    if (n > 0)
        pfc_buf_printf(out, "%s%lld %s", out->len ? ", " : "", (long long)n, n == 1 ? one : many);
}

static void add_cache(pfc_buf *out, const char *name, int64_t bytes)
{
    if (bytes >= 1024 * 1024 && bytes % (1024 * 1024) == 0)
        pfc_buf_printf(out, ", %s %lld MiB", name, (long long)(bytes / (1024 * 1024)));
    else if (bytes > 0)
        pfc_buf_printf(out, ", %s %lld KiB", name, (long long)(bytes / 1024));
}

char *pfc_topology_text(const pfc_topology *t)
{
    pfc_buf out;

    if (t->threads <= 0)
        return NULL;
    pfc_buf_init(&out, 512);
    add_count(&out, t->packages, "package", "packages");
    add_count(&out, t->cores, "core", "cores");
    add_count(&out, t->threads, "thread", "threads");
    add_count(&out, t->nodes, "node", "nodes");
    add_cache(&out, "L1d", t->l1d_bytes);
    add_cache(&out, "L2", t->l2_bytes);
    add_cache(&out, "L3", t->l3_bytes);
    if (t->l3_caches > 0)
        pfc_buf_printf(&out, " x %lld", (long long)t->l3_caches);
    return pfc_buf_take(&out);
}
