/* How busy the machine is, from /proc/loadavg and /proc/stat. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/machine/machine.h"

void pfc_load_read(const char *root, pfc_load *out)
{
    const double hz = (double)sysconf(_SC_CLK_TCK);
    char *path = pfc_format("%s/proc/loadavg", root ? root : "");
    FILE *f = fopen(path, "re");
    double v[8] = { 0 };

    *out = (pfc_load){ NAN, NAN, NAN, NAN };
    if (f && fscanf(f, "%lf", &v[0]) == 1)
        out->load1 = v[0];
    if (f)
        fclose(f);
    free(path);

    path = pfc_format("%s/proc/stat", root ? root : "");
    f = fopen(path, "re");
    /* cpu user nice system idle iowait irq softirq steal, in ticks */
    if (f && hz > 0.0 &&
        fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5],
               &v[6], &v[7]) == 8) {
        out->busy_seconds = (v[0] + v[1] + v[2] + v[5] + v[6]) / hz;
        out->steal_seconds = v[7] / hz;
        out->total_seconds = out->busy_seconds + out->steal_seconds + (v[3] + v[4]) / hz;
    }
    if (f)
        fclose(f);
    free(path);
}
