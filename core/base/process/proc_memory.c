/* Memory of a family of processes, from /proc, and of this one, from its allocator. */
#include "core/base/process/proc_memory.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FAMILY 4096 /* limit of processes; a family with more is refused */

typedef struct family {
    pid_t *pids;
    size_t len;
    size_t cap;
} family;

static void add(family *f, pid_t pid)
{
    if (f->len == MAX_FAMILY)
        return;
    f->pids = pfc_grow(f->pids, f->len, &f->cap, sizeof(*f->pids));
    f->pids[f->len++] = pid;
}

/* Reads the children of one thread from text such as "12 13 14". */
static void add_children_of(family *f, pid_t pid, const char *thread)
{
    char path[64 + sizeof(((struct dirent *)0)->d_name)];
    FILE *file;
    int child;

    snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, thread);
    file = fopen(path, "re");
    while (file && fscanf(file, "%d", &child) == 1)
        add(f, (pid_t)child);
    if (file)
        fclose(file);
}

static void add_children(family *f, pid_t pid)
{
    char path[64];
    struct dirent *entry;
    DIR *threads;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    threads = opendir(path);
    while (threads && (entry = readdir(threads)) != NULL) {
        if (entry->d_name[0] != '.')
            add_children_of(f, pid, entry->d_name);
    }
    if (threads)
        closedir(threads);
}

static family family_of(pid_t pid)
{
    family f = { 0 };

    add(&f, pid);
    for (size_t i = 0; i < f.len; i++)
        add_children(&f, f.pids[i]);
    return f;
}

static uint64_t resident(pid_t pid)
{
    char path[64];
    unsigned long long pages = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    file = fopen(path, "re");
    if (file && fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Proportional set size: each page divided by the number of processes that map it, because a sum of
 * resident sizes would count shared pages more than once. Where smaps_rollup is not readable, the
 * resident set size is used. */
static uint64_t proportional(pid_t pid)
{
    char path[64];
    char line[128];
    unsigned long long kib = 0;
    bool found = false;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof(line), file))
        found = sscanf(line, "Pss: %llu kB", &kib) == 1;
    if (file)
        fclose(file);
    return found ? (uint64_t)kib * 1024 : resident(pid);
}

static bool sum_exceeds(const family *f, uint64_t (*of)(pid_t pid), uint64_t limit)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < f->len; i++)
        sum += of(f->pids[i]);
    return sum > limit;
}

bool pfc_proc_tree_exceeds(pid_t pid, uint64_t limit_bytes)
{
    family f = family_of(pid);
    const bool over = sum_exceeds(&f, resident, limit_bytes) &&
                      (f.len == 1 || sum_exceeds(&f, proportional, limit_bytes));

    free(f.pids);
    return over;
}

uint64_t pfc_proc_default_memory_limit(void)
{
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned long long group = 0;
    /* "max" is not a number and means no limit */
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");

    if (file && fscanf(file, "%llu", &group) == 1 && group < all)
        all = group;
    if (file)
        fclose(file);
    return all / 4 * 3;
}

bool pfc_memory_give_back(size_t keep_bytes)
{
    if (mallinfo2().fordblks <= keep_bytes)
        return false;
    (void)malloc_trim(0);
    return true;
}
