/*
 * GPUs of this machine and their state: model, driver, clocks, temperature, power, and whether they
 * are throttled.
 *
 * NVIDIA: the management library (NVML), loaded when it is there; nothing is linked against it, and
 * the few functions used are declared in nvml.h from its published interface. AMD: the files of the
 * amdgpu driver below /sys/class/drm. Reading never changes a setting. One thread at a time.
 * Sources: NVIDIA, "NVML API Reference Guide"; Linux Documentation/gpu/amdgpu/thermal.rst.
 */
#ifndef PFC_CORE_MACHINE_GPU_H
#define PFC_CORE_MACHINE_GPU_H

#include "core/wire/wire.h"

#define PFC_GPUS_MAX  16
#define PFC_NVML_NAME "libnvidia-ml.so.1"

typedef struct pfc_gpu {
    char name[96];   /* "NVIDIA H100 80GB HBM3"; every text is "not available" where unknown */
    char uuid[96];   /* tells one board from another of its kind */
    char driver[96]; /* version */
    double sm_mhz;   /* clock of the compute units now; NAN: not available, here and below */
    double mem_mhz;
    double temperature_c;
    double power_w;
    double ecc_errors; /* uncorrected since the driver was loaded */
    char ecc[16];      /* "on", "off" */
    char reasons[200]; /* that hold the clock below its maximum, ", " between; "none" */
    bool throttled;    /* one of them slows the work: heat, power, hardware. Being idle does not */
} pfc_gpu;

typedef struct pfc_gpus pfc_gpus;

/** Where to look; NULL members: this machine's. */
typedef struct pfc_gpu_sources {
    const char *nvml; /* path or name of the library; "": not looked for */
    const char *root; /* put before /sys */
} pfc_gpu_sources;

/** Finds the GPUs; none at all is no error. *out is the caller's to close. sources NULL: all NULL.
 */
void pfc_gpus_open(const pfc_gpu_sources *sources, pfc_gpus **out);
void pfc_gpus_close(pfc_gpus *gpus);
size_t pfc_gpus_count(const pfc_gpus *gpus);
/** The state now of number i < count. Values that cannot be read are "not available" or NAN. */
void pfc_gpus_read(pfc_gpus *gpus, size_t i, pfc_gpu *out);
/** True when any GPU is throttled now; `why` receives its number and the reasons. */
bool pfc_gpus_throttled(pfc_gpus *gpus, char *why, size_t cap);
/** gpu0_sm_mhz, gpu0_mem_mhz, gpu0_temperature_c, gpu0_power_w, gpu0_ecc_errors, gpu0_reasons,
 *  gpu0_uuid of each; "gpu": "not available" when there is none. At most four GPUs. */
void pfc_gpus_facts(pfc_gpus *gpus, pfc_labels *out);
/** Names and driver versions for the fingerprint, each kind once: "2 x NVIDIA H100 80GB HBM3";
 * caller frees. NULL when there is no GPU. */
char *pfc_gpus_names(pfc_gpus *gpus);
char *pfc_gpus_drivers(pfc_gpus *gpus);

#endif
