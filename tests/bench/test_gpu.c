/* GPUs on a library that replaces NVIDIA's, and on a made-up tree of the amdgpu driver. */
#include <math.h>

#include "bench/machine/quiet/throttle.h"
#include "core/machine/gpu.h"

#include "tests/bench/tree.h"

#define CARD "/sys/class/drm/card0/device"

TestSuite(gpu, .init = tree_setup, .fini = tree_teardown);

static pfc_gpus *open_nvml(void)
{
    const pfc_gpu_sources sources = { .nvml = PFC_STUB_NVML, .root = root };
    pfc_gpus *gpus = NULL;

    pfc_gpus_open(&sources, &gpus);
    return gpus;
}

static pfc_gpus *open_amd(void)
{
    const pfc_gpu_sources sources = { .nvml = "", .root = root };
    pfc_gpus *gpus = NULL;

    pfc_gpus_open(&sources, &gpus);
    return gpus;
}

Test(gpu, nvml_answers_name_clocks_temperature_power_ecc)
{
    pfc_gpus *gpus = open_nvml();
    pfc_gpu g;
    char *names;
    char *drivers;

    cr_assert(eq(sz, pfc_gpus_count(gpus), 2));
    pfc_gpus_read(gpus, 1, &g);
    cr_assert(eq(str, g.name, "Stub GPU 80GB"));
    cr_assert(eq(str, g.uuid, "GPU-stub-1"));
    cr_assert(eq(str, g.driver, "550.54.15"));
    cr_assert(epsilon_eq(dbl, g.sm_mhz, 1755, 0));
    cr_assert(epsilon_eq(dbl, g.mem_mhz, 2619, 0));
    cr_assert(epsilon_eq(dbl, g.temperature_c, 42, 0));
    cr_assert(epsilon_eq(dbl, g.power_w, 112.5, 1e-9));
    cr_assert(eq(str, g.ecc, "on"));
    cr_assert(epsilon_eq(dbl, g.ecc_errors, 3, 0));
    cr_assert(eq(str, g.reasons, "none"));
    cr_assert(not(g.throttled));
    names = pfc_gpus_names(gpus);
    drivers = pfc_gpus_drivers(gpus);
    cr_assert(eq(str, names, "2 x Stub GPU 80GB"));
    cr_assert(eq(str, drivers, "550.54.15"));
    free(names);
    free(drivers);
    pfc_gpus_close(gpus);
}

/* 0x4 power cap, 0x20 thermal slowdown; 0x1 idle and 0x2 application clocks slow no work. */
Test(gpu, reasons_that_slow_the_work_are_distinguished_from_those_that_do_not)
{
    pfc_gpus *gpus = open_nvml();
    char why[160];
    pfc_gpu g;

    cr_assert(eq(int, setenv("STUB_NVML_REASONS", "3", 1), 0));
    pfc_gpus_read(gpus, 1, &g);
    cr_assert(eq(str, g.reasons, "idle, application clocks"));
    cr_assert(not(g.throttled));
    cr_assert(not(pfc_gpus_throttled(gpus, why, sizeof(why))));
    cr_assert(eq(str, why, ""));
    cr_assert(eq(int, setenv("STUB_NVML_REASONS", "36", 1), 0));
    cr_assert(pfc_gpus_throttled(gpus, why, sizeof(why)));
    cr_assert(eq(str, why, "GPU 1: power cap, thermal slowdown"));
    pfc_gpus_close(gpus);
}

Test(gpu, sensors_that_do_not_answer_are_not_available)
{
    pfc_gpus *gpus = open_nvml();
    pfc_labels facts = { 0 };
    pfc_gpu g;

    cr_assert(eq(int, setenv("STUB_NVML_FAIL", "sensors", 1), 0));
    pfc_gpus_read(gpus, 0, &g);
    cr_assert(eq(str, g.name, "Stub GPU 80GB"));
    cr_assert(isnan(g.sm_mhz) && isnan(g.temperature_c) && isnan(g.power_w) && isnan(g.ecc_errors));
    cr_assert(eq(str, g.ecc, PFC_NOT_AVAILABLE));
    cr_assert(eq(str, g.reasons, PFC_NOT_AVAILABLE));
    cr_assert(not(g.throttled));
    pfc_gpus_facts(gpus, &facts);
    cr_assert(eq(str, (char *)pfc_labels_get(&facts, "gpu0_sm_mhz"), PFC_NOT_AVAILABLE));
    cr_assert(eq(str, (char *)pfc_labels_get(&facts, "gpu1_uuid"), "GPU-stub-1"));
    pfc_labels_clear(&facts);
    pfc_gpus_close(gpus);
}

Test(gpu, a_library_that_is_absent_or_does_not_start_is_no_gpu)
{
    const pfc_gpu_sources absent = { .nvml = "libno-such-nvml.so.1", .root = root };
    pfc_gpus *gpus = NULL;
    pfc_labels facts = { 0 };

    pfc_gpus_open(&absent, &gpus);
    cr_assert(eq(sz, pfc_gpus_count(gpus), 0));
    cr_assert(eq(ptr, pfc_gpus_names(gpus), NULL));
    pfc_gpus_facts(gpus, &facts);
    cr_assert(eq(str, (char *)pfc_labels_get(&facts, "gpu"), PFC_NOT_AVAILABLE));
    pfc_labels_clear(&facts);
    pfc_gpus_close(gpus);
    cr_assert(eq(int, setenv("STUB_NVML_FAIL", "init", 1), 0));
    gpus = open_nvml();
    cr_assert(eq(sz, pfc_gpus_count(gpus), 0));
    pfc_gpus_close(gpus);
}

static void put_card(void)
{
    put(CARD "/vendor", "0x1002\n");
    put(CARD "/device", "0x74a1\n");
    put(CARD "/unique_id", "51f3a0c1d2e3\n");
    put(CARD "/pp_dpm_sclk", "0: 500Mhz\n1: 1801Mhz *\n2: 2100Mhz\n");
    put(CARD "/pp_dpm_mclk", "0: 900Mhz\n1: 1300Mhz *\n");
    put(CARD "/hwmon/hwmon3/temp1_input", "54000\n");
    put(CARD "/hwmon/hwmon3/power1_average", "203000000\n");
    put(CARD "/ras/umc_err_count", "ue: 2\nce: 5\n");
    put("/sys/module/amdgpu/version", "6.7.8\n");
    /* a connector of the card, and another maker's card */
    put("/sys/class/drm/card0-DP-1/status", "connected\n");
    put("/sys/class/drm/card1/device/vendor", "0x8086\n");
    put("/sys/class/drm/card1/device/pp_dpm_sclk", "0: 500Mhz *\n");
}

/* The head of gpu_metrics: size, format, contents; throttle_status at 68, the independent one at
 * 112. */
static void put_part(unsigned char contents, uint32_t dependent, uint64_t independent, size_t len)
{
    unsigned char m[120] = { 120, 0, 1, contents };

    for (size_t i = 0; i < 4; i++)
        m[68 + i] = (unsigned char)(dependent >> (8 * i));
    for (size_t i = 0; i < 8; i++)
        m[112 + i] = (unsigned char)(independent >> (8 * i));
    put_bytes(CARD "/gpu_metrics", m, len);
}

static void put_metrics(unsigned char contents, uint32_t dependent, uint64_t independent)
{
    put_part(contents, dependent, independent, 120);
}

static pfc_gpu read_amd(void)
{
    pfc_gpus *gpus = open_amd();
    pfc_gpu g;

    cr_assert(eq(sz, pfc_gpus_count(gpus), 1));
    pfc_gpus_read(gpus, 0, &g);
    pfc_gpus_close(gpus);
    return g;
}

Test(gpu, the_amdgpu_files_answer_the_same)
{
    pfc_gpu g;

    put_card();
    put_metrics(3, 0, 0);
    g = read_amd();
    cr_assert(eq(str, g.name, "AMD GPU 0x74a1"));
    cr_assert(eq(str, g.uuid, "51f3a0c1d2e3"));
    cr_assert(eq(str, g.driver, "amdgpu 6.7.8"));
    cr_assert(epsilon_eq(dbl, g.sm_mhz, 1801, 0));
    cr_assert(epsilon_eq(dbl, g.mem_mhz, 1300, 0));
    cr_assert(epsilon_eq(dbl, g.temperature_c, 54, 1e-9));
    cr_assert(epsilon_eq(dbl, g.power_w, 203, 1e-9));
    cr_assert(epsilon_eq(dbl, g.ecc_errors, 2, 0));
    cr_assert(eq(str, g.reasons, "none"));
    put(CARD "/product_name", "AMD Instinct MI300X\n");
    g = read_amd();
    cr_assert(eq(str, g.name, "AMD Instinct MI300X"));
}

Test(gpu, the_throttle_bits_of_amd_are_read_by_the_tables_kind)
{
    pfc_gpu g;

    put_card();
    put_metrics(3, 0, UINT64_C(1) | UINT64_C(1) << 37); /* PPT0, TEMP_SOC */
    g = read_amd();
    cr_assert(eq(str, g.reasons, "power cap, thermal slowdown"));
    cr_assert(g.throttled);
    put_metrics(3, 0, UINT64_C(1) << 36); /* TEMP_HOTSPOT */
    g = read_amd();
    cr_assert(eq(str, g.reasons, "hot spot temperature"));
    cr_assert(not(g.throttled));
    put_metrics(1, 0x40, 0);
    g = read_amd();
    cr_assert(eq(str, g.reasons, "throttle status 0x40"));
    cr_assert(g.throttled);
    put_metrics(3, 0, UINT64_MAX); /* not filled in by the board */
    g = read_amd();
    cr_assert(eq(str, g.reasons, PFC_NOT_AVAILABLE));
    put_metrics(9, 1, 1); /* a kind of the future */
    g = read_amd();
    cr_assert(eq(str, g.reasons, PFC_NOT_AVAILABLE));
    cr_assert(not(g.throttled));
}

/* One byte less than the independent reasons need, and the dependent ones are read. */
Test(gpu, a_table_that_ends_early_gives_what_it_holds)
{
    put_card();
    put_part(3, 0, 1, 119);
    cr_assert(eq(str, read_amd().reasons, "none"));
    put_part(3, 0, 1, 120);
    cr_assert(ne(str, read_amd().reasons, "none"));
    put_part(3, 1, 0, 119);
    cr_assert(ne(str, read_amd().reasons, "none"));
    put_part(3, 1, 0, 71);
    cr_assert(eq(str, read_amd().reasons, PFC_NOT_AVAILABLE));
    put_part(3, 1, 0, 72);
    cr_assert(ne(str, read_amd().reasons, PFC_NOT_AVAILABLE));
    put_part(1, 1, 0, 72);
    cr_assert(ne(str, read_amd().reasons, PFC_NOT_AVAILABLE));
    put_part(0, 1, 0, 120);
    cr_assert(eq(str, read_amd().reasons, PFC_NOT_AVAILABLE));
    put_part(4, 1, 0, 120);
    cr_assert(eq(str, read_amd().reasons, PFC_NOT_AVAILABLE));
}

Test(gpu, garbage_in_the_files_is_not_available)
{
    pfc_gpu g;

    put_card();
    put(CARD "/pp_dpm_sclk", "*\nno clock * here\n: *\n");
    put(CARD "/pp_dpm_mclk", "");
    put(CARD "/hwmon/hwmon3/temp1_input", "hot\n");
    put(CARD "/hwmon/hwmon3/power1_average", "99999999999999999999\n");
    put(CARD "/ras/umc_err_count", "ue: many\n");
    put(CARD "/gpu_metrics", "xy");
    g = read_amd();
    cr_assert(isnan(g.sm_mhz) && isnan(g.mem_mhz));
    cr_assert(isnan(g.temperature_c) && isnan(g.power_w) && isnan(g.ecc_errors));
    cr_assert(eq(str, g.reasons, PFC_NOT_AVAILABLE));
}

Test(gpu, a_cpu_slowed_by_heat_between_two_looks_is_seen_once)
{
    pfc_gpus *gpus = open_nvml();
    pfc_throttle t;
    char why[160];

    put("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "7\n");
    pfc_throttle_begin(&t, root, gpus);
    cr_assert(not(pfc_throttle_look(&t, why, sizeof(why))));
    put("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "9\n");
    cr_assert(pfc_throttle_look(&t, why, sizeof(why)));
    cr_assert(eq(str, why, "CPU: slowed by heat 2 times"));
    cr_assert(not(pfc_throttle_look(&t, why, sizeof(why))));
    cr_assert(eq(int, setenv("STUB_NVML_REASONS", "64", 1), 0));
    cr_assert(pfc_throttle_look(&t, why, sizeof(why)));
    cr_assert(eq(str, why, "GPU 1: hardware thermal slowdown"));
    pfc_gpus_close(gpus);
}
