/* The fingerprint on made-up trees of /proc and /sys, and on this machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "bench/machine/machine.h"
#include "core/base/fs.h"

static char *root;

static void put(const char *path, const char *text)
{
    char *full = pfc_format("%s%s", root, path);
    char *dir = pfc_strndup(full, (size_t)(strrchr(full, '/') - full));
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_mkdirs(dir, 0700, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_write_atomic(full, text, strlen(text), 0600, &err), PFC_OK), "%s",
              err.msg);
    free(dir);
    free(full);
}

static void setup(void)
{
    cr_assert(eq(int, pfc_fs_temp_dir("machine", &root, NULL), PFC_OK));
}

static void teardown(void)
{
    cr_assert(eq(int, pfc_fs_remove_tree(root, NULL), PFC_OK));
    free(root);
}

static void clear(pfc_machine *m)
{
    free(m->name);
    free(m->machine_class);
    free(m->fingerprint_hash);
    pfc_pairs_clear(&m->fingerprint);
}

static char *value(const pfc_machine *m, const char *name)
{
    const char *v = pfc_pairs_get(&m->fingerprint, name);

    cr_assert(ne(ptr, (void *)v, NULL), "%s", name);
    return (char *)v;
}

TestSuite(machine, .init = setup, .fini = teardown);

Test(machine, files_are_read_into_the_fingerprint)
{
    const pfc_machine_opts opts = { .root = root, .suite_hash = "abc", .simulator = "1" };
    pfc_machine m;

    put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU 9000\ncpu family\t: 25\n"
                         "model\t\t: 17\nstepping\t: 1\nmicrocode\t: 0xa1\n");
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    put("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    put("/sys/devices/system/cpu/smt/active", "1\n");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    pfc_machine_read(&opts, &m);
    cr_assert(eq(str, m.machine_class, "Test CPU 9000"));
    cr_assert(eq(str, value(&m, "cpu"), "Test CPU 9000 (family 25 model 17 stepping 1)"));
    cr_assert(eq(str, value(&m, "microcode"), "0xa1"));
    cr_assert(eq(str, value(&m, "governor"), "performance"));
    cr_assert(eq(str, value(&m, "turbo"), "off"));
    cr_assert(eq(str, value(&m, "smt"), "on"));
    cr_assert(eq(str, value(&m, "hugepages"), "madvise"));
    cr_assert(eq(str, value(&m, "suite"), "abc"));
    cr_assert(eq(sz, strlen(m.fingerprint_hash), 64));
    clear(&m);
}

Test(machine, what_cannot_be_read_is_not_available_and_never_empty)
{
    static const char *const names[] = { "cpu",       "cpus",       "microcode", "governor",
                                         "turbo",     "smt",        "kernel",    "libc",
                                         "compiler",  "flags",      "suite",     "harness",
                                         "simulator", "hypervisor", "aslr",      "hugepages" };
    const pfc_machine_opts opts = { .root = root };
    pfc_machine m;

    put("/proc/cpuinfo", "garbage without a colon\n:\n");
    put("/sys/devices/system/cpu/smt/active", "\n");
    pfc_machine_read(&opts, &m);
    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        cr_assert(gt(sz, strlen(value(&m, names[i])), 0), "%s", names[i]);
    cr_assert(eq(str, value(&m, "cpu"), PFC_NOT_AVAILABLE));
    cr_assert(eq(str, value(&m, "smt"), PFC_NOT_AVAILABLE));
    cr_assert(eq(str, value(&m, "simulator"), PFC_NOT_AVAILABLE));
    cr_assert(gt(sz, strlen(m.machine_class), 0));
    clear(&m);
}

Test(machine, reading_twice_gives_the_same_hash_and_a_new_microcode_another)
{
    const pfc_machine_opts opts = { .root = root };
    pfc_machine a;
    pfc_machine b;

    put("/proc/cpuinfo", "model name : X\nmicrocode : 0x1\n");
    pfc_machine_read(&opts, &a);
    pfc_machine_read(&opts, &b);
    cr_assert(eq(str, a.fingerprint_hash, b.fingerprint_hash));
    clear(&b);
    put("/proc/cpuinfo", "model name : X\nmicrocode : 0x2\n");
    pfc_machine_read(&opts, &b);
    cr_assert(ne(str, a.fingerprint_hash, b.fingerprint_hash));
    clear(&a);
    clear(&b);
}

Test(machine, load_is_read_in_seconds_and_absent_is_nan)
{
    pfc_load load;

    pfc_load_read(root, &load);
    cr_assert(isnan(load.load1));
    cr_assert(isnan(load.steal_seconds));
    put("/proc/loadavg", "1.25 0.5 0.1 1/100 4242\n");
    put("/proc/stat", "cpu  100 0 50 800 10 0 5 35 0 0\ncpu0 1 2 3\n");
    pfc_load_read(root, &load);
    cr_assert(epsilon_eq(dbl, load.load1, 1.25, 0));
    /* ticks: 35 of steal, 155 busy, 1000 in all; a tick is the same for the three */
    cr_assert(epsilon_eq(dbl, load.steal_seconds / load.total_seconds, 0.035, 1e-12));
    cr_assert(epsilon_eq(dbl, load.busy_seconds / load.total_seconds, 0.155, 1e-12));
}

Test(machine, the_canary_moves_beyond_its_band_only)
{
    double samples[PFC_CANARY_SAMPLES];

    cr_assert(not(pfc_canary_moved(1000, 1200)));
    cr_assert(not(pfc_canary_moved(1200, 1000)));
    cr_assert(pfc_canary_moved(1000, 1300));
    cr_assert(pfc_canary_moved(1300, 1000));
    pfc_canary_measure(samples, PFC_CANARY_SAMPLES);
    cr_assert(gt(dbl, pfc_canary_reading(samples, PFC_CANARY_SAMPLES), 0));
}

Test(machine, the_harness_hash_is_one)
{
    cr_assert(eq(sz, strlen(pfc_harness_hash()), 64));
}
