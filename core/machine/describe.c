/* Describes the machine as key/value labels. */
#include "core/machine/describe.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/machine/sysfs.h"
#include "core/machine/topology.h"

#define CPU      "/sys/devices/system/cpu"
#define MAX_CPUS 4096

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

void pfc_machine_put(pfc_machine *machine, const char *name, const char *value)
{
    pfc_labels_set(&machine->fingerprint, name, value && *value ? value : PFC_NOT_AVAILABLE);
}

/* Takes `value`. */
static void put(pfc_machine *m, const char *name, char *value)
{
    pfc_machine_put(m, name, value);
    free(value);
}

/* "on"/"off" of a switch file; `inverted` for no_turbo. */
static char *on_off(const char *root, const char *path, bool inverted)
{
    char *text = pfc_sysfs_line(root, "%s", path);
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

/* The governor of all CPUs, or the list of all values: a partly tuned machine differs from a tuned
 * one. */
static char *governors(const char *root)
{
    size_t len = 0;
    char **cpus = pfc_sysfs_list(root, CPU "/cpu[0-9]*", MAX_CPUS, &len);
    pfc_buf out;
    char *first = NULL;

    pfc_buf_init(&out, 512);
    for (size_t i = 0; i < len; i++) {
        char *one = pfc_sysfs_line(root, CPU "/%s/cpufreq/scaling_governor", cpus[i]);
        /* one is at most 255 bytes; what does not fit is left out, and the list is still unequal */
        if (one && !strstr(pfc_buf_text(&out), one))
            pfc_buf_printf(&out, "%s%s", out.len ? ", " : "", one);
        free(one);
    }
    pfc_sysfs_list_free(cpus, len);
    if (out.len > 0)
        first = pfc_buf_take(&out);
    pfc_buf_clear(&out);
    return first;
}

/* Each of the three frequency drivers has its own switch. */
static char *turbo(const char *root)
{
    char *out = on_off(root, CPU "/intel_pstate/no_turbo", true);

    if (!out)
        out = on_off(root, CPU "/cpufreq/boost", false);
    return out ? out : on_off(root, CPU "/cpu0/cpufreq/boost", false);
}

static char *microcode(const char *root)
{
    char *out = cpuinfo(root, "microcode");

    return out ? out : pfc_sysfs_line(root, CPU "/cpu0/microcode/version");
}

static char *topology(const char *root)
{
    pfc_topology t;

    pfc_topology_read(root, &t);
    return pfc_topology_text(&t);
}

static void put_gpus(pfc_machine *out, const pfc_gpu_sources *sources, const char *root)
{
    const pfc_gpu_sources here = { .nvml = root[0] ? "" : NULL, .root = root };
    pfc_gpus *gpus = NULL;

    pfc_gpus_open(sources ? sources : &here, &gpus);
    put(out, "gpu", pfc_gpus_names(gpus));
    put(out, "gpu_driver", pfc_gpus_drivers(gpus));
    pfc_gpus_close(gpus);
}

void pfc_machine_describe(const char *root, const pfc_gpu_sources *gpus, pfc_machine *out)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct utsname uts;
    char *model;

    root = root ? root : "";
    if (uname(&uts) != 0)
        pfc_die("uname failed");
    model = cpuinfo(root, "model name");
    *out = (pfc_machine){ 0 };
    out->name = pfc_strdup(uts.nodename[0] ? uts.nodename : "localhost");
    out->machine_class = pfc_strdup(model ? model : uts.machine);
    free(model);

    put(out, "cpu", cpu_name(root));
    put(out, "cpus", cpus > 0 ? pfc_format("%ld", cpus) : NULL);
    put(out, "topology", topology(root));
    put(out, "microcode", microcode(root));
    put(out, "governor", governors(root));
    put(out, "turbo", turbo(root));
    put(out, "smt", on_off(root, CPU "/smt/active", false));
    put(out, "kernel", pfc_format("%s %s %s", uts.sysname, uts.release, uts.machine));
    put(out, "libc", pfc_format("glibc %s", gnu_get_libc_version()));
    put(out, "hypervisor", pfc_sysfs_line(root, "/sys/hypervisor/type"));
    put(out, "hugepages",
        chosen(pfc_sysfs_line(root, "/sys/kernel/mm/transparent_hugepage/enabled")));
    put(out, "aslr", pfc_sysfs_line(root, "/proc/sys/kernel/randomize_va_space"));
    put_gpus(out, gpus, root);
}
