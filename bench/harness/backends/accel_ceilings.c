/* The ceilings of simulated chips, from their files. */
#include <stdio.h>
#include <string.h>

#include "bench/harness/backends/backend.h"
#include "kernels/accel/device/device.h"

static pfc_run_ceiling *add(pfc_run *run, const char *backend, double value)
{
    pfc_run_ceiling *c = pfc_run_add_ceiling(run);

    c->value = value;
    c->backend = pfc_strdup(backend);
    c->chip_file = true;
    return c;
}

/* A multiply-add an element of the array and cycle, where f32 takes several passes, and one a lane
 * of the vector unit, which may take a part of any product. */
static void add_arithmetic(pfc_run *run, const char *backend, const pfc_accel_chip *chip,
                           const char *dtype, uint64_t passes)
{
    const double macs = (double)chip->array_rows * (double)chip->array_cols / (double)passes +
                        (double)chip->vector_lanes;
    pfc_run_ceiling *c = add(run, backend, 2e6 * macs * (double)chip->clock_mhz);

    c->name = pfc_format("%s array and vector unit, %s", chip->name, dtype);
    c->unit = pfc_strdup(strcmp(dtype, "int8") == 0 ? "OP/s" : "FLOP/s");
    c->dtype = pfc_strdup(dtype);
}

static bool has_backend(const pfc_run *run, const char *backend)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        if (pfc_streq(run->measurements[i].backend, backend))
            return true;
    }
    return false;
}

void pfc_backends_accel_ceilings(pfc_run *run)
{
    for (size_t i = 0; pfc_accel_chip_name(i); i++) {
        pfc_accel_chip chip;
        pfc_run_ceiling *memory;
        char backend[64];

        snprintf(backend, sizeof(backend), "accel:%s", pfc_accel_chip_name(i));
        if (!has_backend(run, backend) || pfc_accel_chip_load(pfc_accel_chip_name(i), &chip, NULL))
            continue;
        add_arithmetic(run, backend, &chip, "f32", chip.f32_passes);
        add_arithmetic(run, backend, &chip, "bf16", 1);
        add_arithmetic(run, backend, &chip, "int8", 1);
        memory = add(run, backend, 1e6 * (double)chip.hbm_mbps);
        memory->name = pfc_format("%s HBM", chip.name);
        memory->memory = true;
        memory->unit = pfc_strdup("B/s");
        memory->level = pfc_strdup("HBM");
    }
}
