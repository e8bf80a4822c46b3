/*
 * Replaces NVIDIA's management library in tests: a shared library with the same functions. It
 * reports two boards of one kind. The environment sets the values, and is read at every call:
 *   STUB_NVML_REASONS  bits of the clock event reasons of board 1 (decimal)
 *   STUB_NVML_FAIL     "init": it does not start; "sensors": nothing but names can be read
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/machine/nvml.h"

#define ERROR_UNKNOWN 999

struct nvml_device {
    int index;
};

static struct nvml_device boards[2] = { { 0 }, { 1 } };
static int started;

static int fails(const char *what)
{
    const char *fail = getenv("STUB_NVML_FAIL");

    return fail && strcmp(fail, what) == 0;
}

#define DECLARE(type, name) type name
DECLARE(nvml_init_fn, nvmlInit_v2);
DECLARE(nvml_init_fn, nvmlShutdown);
DECLARE(nvml_text_fn, nvmlSystemGetDriverVersion);
DECLARE(nvml_count_fn, nvmlDeviceGetCount_v2);
DECLARE(nvml_handle_fn, nvmlDeviceGetHandleByIndex_v2);
DECLARE(nvml_device_text_fn, nvmlDeviceGetName);
DECLARE(nvml_device_text_fn, nvmlDeviceGetUUID);
DECLARE(nvml_device_which_fn, nvmlDeviceGetClockInfo);
DECLARE(nvml_device_which_fn, nvmlDeviceGetTemperature);
DECLARE(nvml_device_number_fn, nvmlDeviceGetPowerUsage);
DECLARE(nvml_reasons_fn, nvmlDeviceGetCurrentClocksThrottleReasons);
DECLARE(nvml_ecc_mode_fn, nvmlDeviceGetEccMode);
DECLARE(nvml_ecc_errors_fn, nvmlDeviceGetTotalEccErrors);

nvml_return nvmlInit_v2(void)
{
    if (fails("init"))
        return ERROR_UNKNOWN;
    started++;
    return 0;
}

nvml_return nvmlShutdown(void)
{
    started--;
    return 0;
}

static nvml_return text(char *out, unsigned cap, const char *value)
{
    snprintf(out, cap, "%s", value);
    return started > 0 ? 0 : ERROR_UNKNOWN;
}

static nvml_return sensor(unsigned *out, unsigned value)
{
    if (fails("sensors"))
        return ERROR_UNKNOWN;
    *out = value;
    return 0;
}

nvml_return nvmlSystemGetDriverVersion(char *out, unsigned cap)
{
    return text(out, cap, "550.54.15");
}

nvml_return nvmlDeviceGetCount_v2(unsigned *out)
{
    *out = 2;
    return 0;
}

nvml_return nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *out)
{
    *out = &boards[index];
    return 0;
}

nvml_return nvmlDeviceGetName(nvml_device device, char *out, unsigned cap)
{
    (void)device;
    return text(out, cap, "Stub GPU 80GB");
}

nvml_return nvmlDeviceGetUUID(nvml_device device, char *out, unsigned cap)
{
    return text(out, cap, device->index ? "GPU-stub-1" : "GPU-stub-0");
}

nvml_return nvmlDeviceGetClockInfo(nvml_device device, int which, unsigned *out)
{
    (void)device;
    return sensor(out, which == NVML_CLOCK_SM ? 1755 : which == NVML_CLOCK_MEM ? 2619 : 1);
}

nvml_return nvmlDeviceGetTemperature(nvml_device device, int which, unsigned *out)
{
    return sensor(out, which == NVML_TEMPERATURE_GPU ? 41 + (unsigned)device->index : 0);
}

nvml_return nvmlDeviceGetPowerUsage(nvml_device device, unsigned *out)
{
    (void)device;
    return sensor(out, 112500);
}

/* The name of older drivers alone, so that the fallback is what is tested. */
nvml_return nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *out)
{
    const char *reasons = getenv("STUB_NVML_REASONS");
    unsigned unused;

    *out = device->index == 1 && reasons ? strtoull(reasons, NULL, 10) : 0;
    return sensor(&unused, 0);
}

nvml_return nvmlDeviceGetEccMode(nvml_device device, int *current, int *pending)
{
    (void)device;
    *current = *pending = 1;
    return fails("sensors") ? ERROR_UNKNOWN : 0;
}

nvml_return nvmlDeviceGetTotalEccErrors(nvml_device device, int kind, int counter,
                                        unsigned long long *out)
{
    (void)device;
    *out = kind == NVML_MEMORY_ERROR_UNCORRECTED && counter == NVML_VOLATILE_ECC ? 3 : 0;
    return fails("sensors") ? ERROR_UNKNOWN : 0;
}
