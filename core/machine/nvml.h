/*
 * The part of NVIDIA's management library that perfci uses, declared from its published interface
 * (NVIDIA, "NVML API Reference Guide"), so that nothing of it is needed to build. The library keeps
 * these names and types from version to version; a function that an older one lacks is absent.
 */
#ifndef PFC_CORE_MACHINE_NVML_H
#define PFC_CORE_MACHINE_NVML_H

typedef int nvml_return;                 /* nvmlReturn_t; 0 is success */
typedef struct nvml_device *nvml_device; /* nvmlDevice_t */

#define NVML_CLOCK_SM                 1 /* nvmlClockType_t */
#define NVML_CLOCK_MEM                2
#define NVML_TEMPERATURE_GPU          0 /* nvmlTemperatureSensors_t */
#define NVML_MEMORY_ERROR_UNCORRECTED 1 /* nvmlMemoryErrorType_t */
#define NVML_VOLATILE_ECC             0 /* nvmlEccCounterType_t: since the driver was loaded */

typedef nvml_return nvml_init_fn(void);
typedef nvml_return nvml_text_fn(char *out, unsigned cap);
typedef nvml_return nvml_count_fn(unsigned *out);
typedef nvml_return nvml_handle_fn(unsigned index, nvml_device *out);
typedef nvml_return nvml_device_text_fn(nvml_device device, char *out, unsigned cap);
typedef nvml_return nvml_device_which_fn(nvml_device device, int which, unsigned *out);
typedef nvml_return nvml_device_number_fn(nvml_device device, unsigned *out);
typedef nvml_return nvml_reasons_fn(nvml_device device, unsigned long long *out);
typedef nvml_return nvml_ecc_mode_fn(nvml_device device, int *current, int *pending);
typedef nvml_return nvml_ecc_errors_fn(nvml_device device, int kind, int counter,
                                       unsigned long long *out);

#endif
