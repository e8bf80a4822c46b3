/* All GPUs of the machine, of every vendor. */
#include "core/machine/gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/machine/describe.h"
#include "core/machine/gpu_source.h"

#define MAX_FACTS 4 /* GPUs whose state goes into a document: the fingerprint counts the rest */

struct pfc_gpus {
    pfc_gpu_source sources[2];
};

void pfc_gpus_open(const pfc_gpu_sources *sources, pfc_gpus **out)
{
    pfc_gpus *gpus = pfc_calloc(1, sizeof(*gpus));

    gpus->sources[0] = pfc_gpu_nvml(sources && sources->nvml ? sources->nvml : PFC_NVML_NAME);
    gpus->sources[1] = pfc_gpu_amd(sources && sources->root ? sources->root : "");
    *out = gpus;
}

void pfc_gpus_close(pfc_gpus *gpus)
{
    for (size_t s = 0; gpus && s < PFC_ARRAY_LEN(gpus->sources); s++) {
        if (gpus->sources[s].count > 0)
            gpus->sources[s].close(gpus->sources[s].arg);
    }
    free(gpus);
}

size_t pfc_gpus_count(const pfc_gpus *gpus)
{
    size_t n = 0;

    for (size_t s = 0; s < PFC_ARRAY_LEN(gpus->sources); s++)
        n += gpus->sources[s].count;
    return PFC_MIN(n, (size_t)PFC_GPUS_MAX);
}

static void absent(char *text, size_t cap)
{
    snprintf(text, cap, "%s", PFC_NOT_AVAILABLE);
}

void pfc_gpus_read(pfc_gpus *gpus, size_t i, pfc_gpu *out)
{
    const pfc_gpu_source *source = &gpus->sources[0];

    *out = (pfc_gpu){ .sm_mhz = (double)NAN,
                      .mem_mhz = (double)NAN,
                      .temperature_c = (double)NAN,
                      .power_w = (double)NAN,
                      .ecc_errors = (double)NAN };
    absent(out->name, sizeof(out->name));
    absent(out->uuid, sizeof(out->uuid));
    absent(out->driver, sizeof(out->driver));
    absent(out->ecc, sizeof(out->ecc));
    while (i >= source->count) {
        i -= source->count;
        source++;
    }
    source->read(source->arg, i, out);
    if (!out->reasons[0])
        absent(out->reasons, sizeof(out->reasons));
}

bool pfc_gpus_throttled(pfc_gpus *gpus, char *why, size_t cap)
{
    const size_t n = pfc_gpus_count(gpus);

    why[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        pfc_gpu gpu;
        pfc_gpus_read(gpus, i, &gpu);
        if (gpu.throttled) {
            snprintf(why, cap, "GPU %zu: %s", i, gpu.reasons);
            return true;
        }
    }
    return false;
}

static void fact(pfc_labels *out, size_t i, const char *name, const char *text)
{
    char *full = pfc_format("gpu%zu_%s", i, name);

    pfc_labels_set(out, full, text);
    free(full);
}

static void number(pfc_labels *out, size_t i, const char *name, double value)
{
    char text[40];

    snprintf(text, sizeof(text), "%.6g", value);
    fact(out, i, name, isnan(value) ? PFC_NOT_AVAILABLE : text);
}

void pfc_gpus_facts(pfc_gpus *gpus, pfc_labels *out)
{
    const size_t n = pfc_gpus_count(gpus);

    if (n == 0)
        pfc_labels_set(out, "gpu", PFC_NOT_AVAILABLE);
    for (size_t i = 0; i < PFC_MIN(n, (size_t)MAX_FACTS); i++) {
        pfc_gpu gpu;
        pfc_gpus_read(gpus, i, &gpu);
        fact(out, i, "uuid", gpu.uuid);
        fact(out, i, "reasons", gpu.reasons);
        number(out, i, "sm_mhz", gpu.sm_mhz);
        number(out, i, "mem_mhz", gpu.mem_mhz);
        number(out, i, "temperature_c", gpu.temperature_c);
        number(out, i, "power_w", gpu.power_w);
        number(out, i, "ecc_errors", gpu.ecc_errors);
    }
}

/* "2 x A; B": each text once, in the order they come. */
static char *kinds(pfc_gpus *gpus, bool drivers)
{
    const size_t n = pfc_gpus_count(gpus);
    char texts[PFC_GPUS_MAX][96];
    pfc_buf out;

    if (n == 0)
        return NULL;
    pfc_buf_init(&out, 4096);
    for (size_t i = 0; i < n; i++) {
        pfc_gpu gpu;
        pfc_gpus_read(gpus, i, &gpu);
        memcpy(texts[i], drivers ? gpu.driver : gpu.name, sizeof(texts[i]));
    }
    for (size_t i = 0; i < n; i++) {
        size_t same = 0;
        size_t before = 0;
        for (size_t k = 0; k < n; k++) {
            const bool equal = strcmp(texts[i], texts[k]) == 0;
            same += equal;
            before += equal && k < i;
        }
        if (before > 0)
            continue;
        if (out.len > 0)
            pfc_buf_puts(&out, "; ");
        if (same > 1 && !drivers)
            pfc_buf_printf(&out, "%zu x ", same);
        pfc_buf_puts(&out, texts[i]);
    }
    return pfc_buf_take(&out);
}

char *pfc_gpus_names(pfc_gpus *gpus)
{
    return kinds(gpus, false);
}

char *pfc_gpus_drivers(pfc_gpus *gpus)
{
    return kinds(gpus, true);
}
