/* What the machine and the build are, as pairs of name and value. */
#include <gnu/libc-version.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench/machine/machine.h"

#ifndef PFC_BUILD_FLAGS
#define PFC_BUILD_FLAGS PFC_NOT_AVAILABLE
#endif

/* First line of a file below root, trimmed; NULL when it cannot be read or is empty. */
static char *first_line(const char *root, const char *path)
{
    char *full = pfc_format("%s%s", root, path);
    char line[256];
    FILE *f = fopen(full, "re");
    char *out = NULL;

    free(full);
    if (!f)
        return NULL;
    if (fgets(line, sizeof(line), f)) {
        size_t len = strcspn(line, "\n");
        while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
            len--;
        if (len > 0)
            out = pfc_strndup(line, len);
    }
    fclose(f);
    return out;
}

/* Value of the first "key : value" line of /proc/cpuinfo. */
static char *cpuinfo(const char *root, const char *key)
{
    char *full = pfc_format("%s/proc/cpuinfo", root);
    char line[1024];
    FILE *f = fopen(full, "re");
    char *out = NULL;

    free(full);
    while (f && !out && fgets(line, sizeof(line), f)) {
        const size_t len = strlen(key);
        char *colon = strchr(line, ':');
        /* only blanks between key and colon: "model" is not "model name" */
        if (!colon || strncmp(line, key, len) != 0 ||
            line + len + strspn(line + len, " \t") != colon)
            continue;
        colon++;
        colon += strspn(colon, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        if (*colon)
            out = pfc_strndup(colon, PFC_MIN(strlen(colon), (size_t)160));
    }
    if (f)
        fclose(f);
    return out;
}

/* Takes `value`. */
static void put(pfc_machine *m, const char *name, char *value)
{
    pfc_pairs_set(&m->fingerprint, name, value && *value ? value : PFC_NOT_AVAILABLE);
    free(value);
}

/* "on"/"off" of a switch file; `inverted` for no_turbo. */
static char *on_off(const char *root, const char *path, bool inverted)
{
    char *text = first_line(root, path);
    const bool one = text && strcmp(text, "1") == 0;
    const bool zero = text && strcmp(text, "0") == 0;

    free(text);
    if (!one && !zero)
        return NULL;
    return pfc_strdup(one != inverted ? "on" : "off");
}

/* Family, model and stepping tell CPUs apart that hypervisors give one name ("AMD EPYC"). */
static char *cpu_name(const char *root)
{
    char *model = cpuinfo(root, "model name");
    char *family = cpuinfo(root, "cpu family");
    char *number = cpuinfo(root, "model");
    char *stepping = cpuinfo(root, "stepping");
    char *out = NULL;

    if (!model)
        model = cpuinfo(root, "CPU part"); /* ARM */
    if (model && family && number && stepping)
        out = pfc_format("%s (family %s model %s stepping %s)", model, family, number, stepping);
    else if (model)
        out = pfc_strdup(model);
    free(model);
    free(family);
    free(number);
    free(stepping);
    return out;
}

/* The one in brackets of "always [madvise] never". */
static char *chosen(char *text)
{
    char *open = text ? strchr(text, '[') : NULL;
    char *close = open ? strchr(open, ']') : NULL;
    char *out = close ? pfc_strndup(open + 1, (size_t)(close - open - 1)) : NULL;

    free(text);
    return out;
}

void pfc_machine_read(const pfc_machine_opts *opts, pfc_machine *out)
{
    const char *root = opts && opts->root ? opts->root : "";
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct utsname uts;
    char host[256] = "";
    char *turbo = on_off(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", true);
    char *model = cpuinfo(root, "model name");

    *out = (pfc_machine){ 0 };
    if (gethostname(host, sizeof(host) - 1) != 0 || !host[0])
        snprintf(host, sizeof(host), "localhost");
    out->name = pfc_strdup(host);
    out->machine_class = pfc_strdup(model ? model : "unknown CPU");
    free(model);
    if (!turbo)
        turbo = on_off(root, "/sys/devices/system/cpu/cpufreq/boost", false);

    put(out, "cpu", cpu_name(root));
    put(out, "cpus", cpus > 0 ? pfc_format("%ld", cpus) : NULL);
    put(out, "microcode", cpuinfo(root, "microcode"));
    put(out, "governor", first_line(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    put(out, "turbo", turbo);
    put(out, "smt", on_off(root, "/sys/devices/system/cpu/smt/active", false));
    put(out, "kernel",
        uname(&uts) == 0 ? pfc_format("%s %s %s", uts.sysname, uts.release, uts.machine) : NULL);
    put(out, "libc", pfc_format("glibc %s", gnu_get_libc_version()));
#ifdef __clang__
    put(out, "compiler", pfc_format("clang %s", __clang_version__));
#else
    put(out, "compiler", pfc_format("gcc %s", __VERSION__));
#endif
    put(out, "flags", pfc_strdup(PFC_BUILD_FLAGS));
    put(out, "harness", pfc_strdup(pfc_harness_hash()));
    put(out, "simulator", pfc_strdup(opts ? opts->simulator : NULL));
    put(out, "suite", pfc_strdup(opts ? opts->suite_hash : NULL));
    put(out, "hypervisor", first_line(root, "/sys/hypervisor/type"));
    put(out, "hugepages", chosen(first_line(root, "/sys/kernel/mm/transparent_hugepage/enabled")));
    put(out, "aslr", first_line(root, "/proc/sys/kernel/randomize_va_space"));
    pfc_machine_hash(out);
}

/* The last one: interrupts and the rest of the system gather on the first. */
int pfc_machine_pin_cpu(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return -1;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
        if (CPU_ISSET((size_t)cpu, &set))
            return cpu;
    }
    return -1;
}
