/* Lists of CPUs, and interrupts away from one core. */
#include "bench/machine/tune/tune_irq.h"

#include <stdlib.h>

#include "core/machine/sysfs.h"

#define CPU "/sys/devices/system/cpu"

/* "0-2,5" into *out; false when it is no such list. */
static bool read_list(const char *text, cpu_set_t *out)
{
    CPU_ZERO(out);
    while (text && *text) {
        char *end;
        const long low = strtol(text, &end, 10);
        long high = low;

        if (end == text)
            return false;
        if (*end == '-') {
            text = end + 1;
            high = strtol(text, &end, 10);
            if (end == text)
                return false;
        }
        if (low < 0 || high < low || high >= CPU_SETSIZE || (*end && *end != ','))
            return false;
        for (long cpu = low; cpu <= high; cpu++)
            CPU_SET((size_t)cpu, out);
        text = *end ? end + 1 : end;
    }
    return CPU_COUNT(out) > 0;
}

static char *list_text(const cpu_set_t *set)
{
    pfc_buf out;
    char *text;

    pfc_buf_init(&out, 8192);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        const int first = cpu;

        if (!CPU_ISSET((size_t)cpu, set))
            continue;
        while (cpu + 1 < CPU_SETSIZE && CPU_ISSET((size_t)cpu + 1, set))
            cpu++;
        pfc_buf_printf(&out, first == cpu ? "%s%d" : "%s%d-%d", out.len ? "," : "", first, cpu);
    }
    text = pfc_buf_take(&out);
    pfc_buf_clear(&out);
    return text;
}

static void take_away(cpu_set_t *from, const cpu_set_t *what)
{
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, what))
            CPU_CLR(cpu, from);
    }
}

/* The threads of a core, itself among them. */
static void threads_of(const char *root, int cpu, cpu_set_t *out)
{
    char *text = pfc_sysfs_line(root, CPU "/cpu%d/topology/thread_siblings_list", cpu);

    if (!read_list(text, out))
        CPU_ZERO(out);
    CPU_SET((size_t)cpu, out);
    free(text);
}

static int first_of(const cpu_set_t *set)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((size_t)cpu, set))
            return cpu;
    }
    return -1;
}

void pfc_irq_plan_read(const char *root, pfc_irq_plan *out)
{
    char *text = pfc_sysfs_line(root, CPU "/online");

    *out = (pfc_irq_plan){ .cpu = -1 };
    if (read_list(text, &out->rest)) {
        for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && out->cpu < 0; cpu--) {
            if (!CPU_ISSET((size_t)cpu, &out->rest))
                continue;
            threads_of(root, cpu, &out->avoid);
            /* A second thread goes with SMT. */
            if (first_of(&out->avoid) == cpu)
                out->cpu = cpu;
        }
    }
    free(text);
    if (out->cpu < 0)
        return;
    take_away(&out->rest, &out->avoid);
    if (CPU_COUNT(&out->rest) == 0)
        out->cpu = -1;
}

char *pfc_irq_away(const pfc_irq_plan *plan, const char *now)
{
    cpu_set_t set;
    cpu_set_t left;

    if (plan->cpu < 0 || !read_list(now, &set))
        return NULL;
    left = set;
    take_away(&left, &plan->avoid);
    if (CPU_EQUAL(&left, &set))
        return NULL;
    return list_text(CPU_COUNT(&left) > 0 ? &left : &plan->rest);
}
