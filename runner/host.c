/*
 * Which machine measured, for runs that a command of the project makes: perfci-bench describes the
 * machine itself and in more detail.
 */
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "runner/priv.h"

#define ABSENT "not available"

/* First line of a small file of the kernel, or ABSENT; caller frees. */
static char *first_line(const char *path)
{
    char *text = NULL;
    size_t len = 0;

    /* Not pfc_fs_read, which wants the size of a file that has none before it is read. */
    char buf[256];
    FILE *file = fopen(path, "re");

    if (file && fgets(buf, sizeof(buf), file)) {
        len = strcspn(buf, "\n");
        text = pfc_strndup(buf, len);
    }
    if (file)
        (void)fclose(file);
    return text ? text : pfc_strdup(ABSENT);
}

/* "name : value" of the first processor in /proc/cpuinfo; caller frees. */
static char *cpu_info(const char *name)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[1024];
    char *value = NULL;

    while (file && !value && fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');

        if (!colon || strncmp(line, name, strlen(name)) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        value = pfc_strndup(colon, PFC_MIN(strcspn(colon, "\n"), (size_t)PFC_WIRE_MAX_NAME - 1));
    }
    if (file)
        (void)fclose(file);
    return value ? value : pfc_strdup(ABSENT);
}

static void set_taken(pfc_pairs *pairs, const char *name, char *value)
{
    if (!pfc_pairs_get(pairs, name))
        pfc_pairs_set(pairs, name, value);
    free(value);
}

void pfc_host_describe(pfc_machine *machine, const char *name, const char *machine_class)
{
    pfc_pairs *pairs = &machine->fingerprint;
    struct utsname uts;
    char *model = cpu_info("model name");

    if (uname(&uts) != 0)
        pfc_die("uname failed");
    if (name || !machine->name) {
        free(machine->name);
        machine->name = pfc_strdup(name ? name : uts.nodename);
    }
    if (machine_class || !machine->machine_class) {
        free(machine->machine_class);
        machine->machine_class = pfc_strdup(
            machine_class ? machine_class : (strcmp(model, ABSENT) == 0 ? uts.machine : model));
    }
    /* A document that brings its own fingerprint is complete: nothing of ours is mixed in. */
    if (pairs->len == 0) {
        set_taken(pairs, "cpu", pfc_strdup(model));
        set_taken(pairs, "microcode", cpu_info("microcode"));
        set_taken(pairs, "cpus", pfc_format("%ld", sysconf(_SC_NPROCESSORS_ONLN)));
        set_taken(pairs, "arch", pfc_strdup(uts.machine));
        set_taken(pairs, "kernel", pfc_format("%s %s", uts.sysname, uts.release));
        set_taken(pairs, "libc", pfc_format("glibc %s", gnu_get_libc_version()));
        set_taken(pairs, "governor",
                  first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
        set_taken(pairs, "smt", first_line("/sys/devices/system/cpu/smt/active"));
    }
    pfc_machine_hash(machine);
    free(model);
}
