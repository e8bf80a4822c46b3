/* How busy the machine is, from /proc/loadavg, /proc/stat and the thermal counters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/machine/machine.h"
#include "core/machine/sysfs.h"

#define MAX_CPUS 4096
#define CPU      "/sys/devices/system/cpu"

/* cpu user nice system idle iowait irq softirq steal, in ticks */
static void read_total(const char *line, pfc_load *out)
{
    const double hz = (double)sysconf(_SC_CLK_TCK);
    double v[8] = { 0 };

    if (hz <= 0.0 || sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3],
                            &v[4], &v[5], &v[6], &v[7]) != 8)
        return;
    out->busy_seconds = (v[0] + v[1] + v[2] + v[5] + v[6]) / hz;
    out->steal_seconds = v[7] / hz;
    out->total_seconds = out->busy_seconds + out->steal_seconds + (v[3] + v[4]) / hz;
}

static void read_stat(const char *root, pfc_load *out)
{
    char *path = pfc_format("%s/proc/stat", root);
    FILE *f = fopen(path, "re");
    char line[1024]; /* the interrupts' line is longer; its pieces match nothing */
    double cpus = 0.0;

    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, "cpu ", 4) == 0)
            read_total(line, out);
        else if (strncmp(line, "cpu", 3) == 0)
            cpus += 1.0;
        else
            (void)sscanf(line, "procs_running %lf", &out->running);
    }
    if (cpus > 0.0)
        out->cpus = cpus;
    if (f)
        fclose(f);
    free(path);
}

/* Every CPU of a package shows the package's counter. Only changes of the sum matter, so that
 * counting it several times does no harm. */
static void read_throttled(const char *root, pfc_load *out)
{
    size_t len = 0;
    char **cpus = pfc_sysfs_list(root, CPU "/cpu[0-9]*", MAX_CPUS, &len);
    double sum = 0.0;
    bool any = false;

    for (size_t i = 0; i < len; i++) {
        int64_t n = 0;
        if (pfc_sysfs_i64(root, &n, CPU "/%s/thermal_throttle/core_throttle_count", cpus[i])) {
            sum += (double)n;
            any = true;
        }
        if (pfc_sysfs_i64(root, &n, CPU "/%s/thermal_throttle/package_throttle_count", cpus[i])) {
            sum += (double)n;
            any = true;
        }
    }
    if (any)
        out->throttled = sum;
    pfc_sysfs_list_free(cpus, len);
}

void pfc_load_read(const char *root, pfc_load *out)
{
    char *line = pfc_sysfs_line(root, "/proc/loadavg");
    const double unknown = (double)NAN;

    *out = (pfc_load){ unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown };
    if (line)
        (void)sscanf(line, "%lf", &out->load1);
    free(line);
    read_stat(root ? root : "", out);
    read_throttled(root, out);
}
