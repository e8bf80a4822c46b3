/* NVIDIA GPUs by their management library, loaded at run time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/machine/gpu_source.h"
#include "core/machine/nvml.h"

typedef struct nvml {
    void *library;
    nvml_init_fn *shutdown;
    nvml_text_fn *driver;
    nvml_count_fn *count;
    nvml_handle_fn *handle;
    nvml_device_text_fn *name, *uuid;
    nvml_device_which_fn *clock, *temperature;
    nvml_device_number_fn *power;
    nvml_reasons_fn *reasons;
    nvml_ecc_mode_fn *ecc_mode;
    nvml_ecc_errors_fn *ecc_errors;
} nvml;

/* Bits of nvmlDeviceGetCurrentClocksEventReasons; `slows` is what a measurement must not meet. */
static const struct {
    unsigned long long bit;
    const char *what;
    bool slows;
} reasons[] = {
    { 0x1, "idle", false },
    /* a limit set by the administrator is constant, so it does not count as throttling */
    { 0x2, "application clocks", false },
    { 0x4, "power cap", true },
    { 0x8, "hardware slowdown", true },
    { 0x10, "sync boost", true },
    { 0x20, "thermal slowdown", true },
    { 0x40, "hardware thermal slowdown", true },
    { 0x80, "power brake", true },
    { 0x100, "display clocks", false },
};

/* A function pointer in an object pointer's place: POSIX allows it, ISO C has no cast for it. */
static void find(const nvml *n, const char *name, void *fn)
{
    void *symbol = dlsym(n->library, name);

    memcpy(fn, &symbol, sizeof(symbol));
}

static void find_all(nvml *n)
{
    find(n, "nvmlShutdown", &n->shutdown);
    find(n, "nvmlSystemGetDriverVersion", &n->driver);
    find(n, "nvmlDeviceGetCount_v2", &n->count);
    find(n, "nvmlDeviceGetHandleByIndex_v2", &n->handle);
    find(n, "nvmlDeviceGetName", &n->name);
    find(n, "nvmlDeviceGetUUID", &n->uuid);
    find(n, "nvmlDeviceGetClockInfo", &n->clock);
    find(n, "nvmlDeviceGetTemperature", &n->temperature);
    find(n, "nvmlDeviceGetPowerUsage", &n->power);
    find(n, "nvmlDeviceGetEccMode", &n->ecc_mode);
    find(n, "nvmlDeviceGetTotalEccErrors", &n->ecc_errors);
    find(n, "nvmlDeviceGetCurrentClocksEventReasons", &n->reasons);
    if (!n->reasons) /* the name before 12.2 */
        find(n, "nvmlDeviceGetCurrentClocksThrottleReasons", &n->reasons);
}

static void read_reasons(const nvml *n, nvml_device device, pfc_gpu *out)
{
    unsigned long long bits = 0;

    if (!n->reasons || n->reasons(device, &bits) != 0)
        return;
    for (size_t i = 0; i < PFC_ARRAY_LEN(reasons); i++) {
        if (bits & reasons[i].bit)
            pfc_gpu_reason(out, reasons[i].what, reasons[i].slows);
    }
    if (!out->reasons[0])
        pfc_gpu_reason(out, "none", false);
}

static void read_ecc(const nvml *n, nvml_device device, pfc_gpu *out)
{
    unsigned long long errors = 0;
    int current = 0;
    int pending = 0;

    if (n->ecc_mode && n->ecc_mode(device, &current, &pending) == 0)
        snprintf(out->ecc, sizeof(out->ecc), "%s", current ? "on" : "off");
    if (n->ecc_errors &&
        n->ecc_errors(device, NVML_MEMORY_ERROR_UNCORRECTED, NVML_VOLATILE_ECC, &errors) == 0)
        out->ecc_errors = (double)errors;
}

/* Copies a text of the library, terminated; after a failure `out` keeps its text. */
static void read_text(char *out, size_t cap, const char *text, nvml_return rc)
{
    if (rc == 0 && text[0])
        snprintf(out, cap, "%s", text);
}

static void read_gpu(void *arg, size_t i, pfc_gpu *out)
{
    const nvml *n = arg;
    nvml_device device = NULL;
    char text[96] = "";
    unsigned value = 0;

    if (n->driver)
        read_text(out->driver, sizeof(out->driver), text, n->driver(text, sizeof(text) - 1));
    if (n->handle((unsigned)i, &device) != 0)
        return;
    if (n->name)
        read_text(out->name, sizeof(out->name), text, n->name(device, text, sizeof(text) - 1));
    if (n->uuid)
        read_text(out->uuid, sizeof(out->uuid), text, n->uuid(device, text, sizeof(text) - 1));
    if (n->clock && n->clock(device, NVML_CLOCK_SM, &value) == 0)
        out->sm_mhz = (double)value;
    if (n->clock && n->clock(device, NVML_CLOCK_MEM, &value) == 0)
        out->mem_mhz = (double)value;
    if (n->temperature && n->temperature(device, NVML_TEMPERATURE_GPU, &value) == 0)
        out->temperature_c = (double)value;
    if (n->power && n->power(device, &value) == 0)
        out->power_w = (double)value * 1e-3; /* from milliwatts */
    read_reasons(n, device, out);
    read_ecc(n, device, out);
}

static void close_nvml(void *arg)
{
    nvml *n = arg;

    if (n->shutdown)
        (void)n->shutdown();
    dlclose(n->library);
    free(n);
}

pfc_gpu_source pfc_gpu_nvml(const char *library)
{
    pfc_gpu_source none = { .count = 0 };
    nvml *n = pfc_calloc(1, sizeof(*n));
    nvml_init_fn *init = NULL;
    unsigned count = 0;

    n->library = library[0] ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!n->library) {
        free(n);
        return none;
    }
    find(n, "nvmlInit_v2", &init);
    find_all(n);
    if (!init || !n->count || !n->handle || init() != 0) {
        dlclose(n->library);
        free(n);
        return none;
    }
    if (n->count(&count) != 0 || count == 0) {
        close_nvml(n);
        return none;
    }
    return (pfc_gpu_source){ .read = read_gpu,
                             .close = close_nvml,
                             .arg = n,
                             .count = PFC_MIN((size_t)count, (size_t)PFC_GPUS_MAX) };
}
