/* The fingerprint on made-up trees of /proc and /sys, and on this machine. */
#include <math.h>
#include <sched.h>

#include "bench/machine/canary/band.h"
#include "bench/machine/huge_pages.h"
#include "bench/machine/machine.h"
#include "bench/machine/timing/timing.h"
#include "core/machine/topology.h"
#include "core/wire/fingerprint.h"
#include "runner/workspace/workspace_priv.h"

#include "tests/bench/tree.h"

static void clear(pfc_machine *m)
{
    pfc_machine_clear(m);
}

static char *value(const pfc_machine *m, const char *name)
{
    const char *v = pfc_labels_get(&m->fingerprint, name);

    cr_assert(ne(ptr, (void *)v, NULL), "%s", name);
    return (char *)v;
}

TestSuite(machine, .init = tree_setup, .fini = tree_teardown);

Test(machine, files_are_read_into_the_fingerprint)
{
    const pfc_machine_opts opts = {
        .root = root, .suite_hash = "abc", .simulator = "1", .chips = "def"
    };
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
    cr_assert(eq(str, value(&m, "chips"), "def"));
    cr_assert(eq(sz, strlen(m.fingerprint_hash), 64));
    clear(&m);
}

Test(machine, what_cannot_be_read_is_not_available_and_never_empty)
{
    static const char *const names[] = { "cpu",       "cpus",       "microcode", "governor",
                                         "turbo",     "smt",        "kernel",    "libc",
                                         "compiler",  "flags",      "suite",     "harness",
                                         "simulator", "hypervisor", "aslr",      "hugepages",
                                         "topology",  "chips",      "gpu",       "gpu_driver" };
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

/* The run of a suite and that of a command describe one machine; the suite's says what measured,
 * too. */
static void expect_one_machine(const char *where)
{
    static const char *const measured_by[] = { "compiler",  "flags", "harness",
                                               "simulator", "chips", "suite" };
    const pfc_machine_opts opts = { .root = where, .suite_hash = "abc" };
    pfc_machine suite;
    pfc_machine command = { 0 };
    char **names;
    size_t len;

    pfc_machine_read(&opts, &suite);
    pfc_host_describe(where, &command, NULL, NULL);
    cr_assert(eq(str, command.name, suite.name));
    cr_assert(eq(str, command.machine_class, suite.machine_class));
    for (size_t i = 0; i < command.fingerprint.len; i++) {
        const pfc_label_entry *entry = &command.fingerprint.items[i];
        cr_assert(eq(str, value(&suite, entry->name), entry->value), "%s", entry->name);
    }
    cr_assert(eq(sz, suite.fingerprint.len, command.fingerprint.len + PFC_ARRAY_LEN(measured_by)));
    for (size_t i = 0; i < PFC_ARRAY_LEN(measured_by); i++) {
        value(&suite, measured_by[i]);
        cr_assert(eq(ptr, (void *)pfc_labels_get(&command.fingerprint, measured_by[i]), NULL));
    }
    pfc_fingerprint_diff(&command.fingerprint, &suite.fingerprint, PFC_FINGERPRINT_MACHINE, &names,
                         &len);
    cr_assert(eq(sz, len, 0));
    clear(&suite);
    clear(&command);
}

Test(machine, a_commands_run_describes_the_machine_as_a_suites_does)
{
    expect_one_machine(NULL);
    expect_one_machine(root); /* of which nothing is known */
    put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU 9000\ncpu family\t: 25\n"
                         "model\t\t: 17\nstepping\t: 1\nmicrocode\t: 0xa1\n");
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
    put("/sys/devices/system/cpu/smt/active", "0\n");
    expect_one_machine(root);
}

/* A label is the machine's class; a document that has its own fingerprint keeps it, and gets a
 * name. */
Test(machine, what_is_given_or_there_already_stands)
{
    pfc_machine m = { 0 };

    put("/proc/cpuinfo", "model name : Test CPU 9000\n");
    pfc_labels_set(&m.fingerprint, "board", "7");
    pfc_host_describe(root, &m, NULL, "lab");
    cr_assert(eq(str, m.machine_class, "lab"));
    cr_assert(gt(sz, strlen(m.name), 0));
    cr_assert(eq(sz, m.fingerprint.len, 1));
    cr_assert(eq(sz, strlen(m.fingerprint_hash), 64));
    pfc_host_describe(root, &m, "other", NULL);
    cr_assert(eq(str, m.machine_class, "lab"));
    cr_assert(eq(str, m.name, "other"));
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
    cr_assert(isnan(load.running) && isnan(load.throttled) && isnan(load.cpus));
    put("/proc/loadavg", "1.25 0.5 0.1 1/100 4242\n");
    put("/proc/stat", "cpu  100 0 50 800 10 0 5 35 0 0\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5 6\n"
                      "procs_running 4\n");
    put("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
    put("/sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count", "4\n");
    pfc_load_read(root, &load);
    cr_assert(epsilon_eq(dbl, load.load1, 1.25, 0));
    /* ticks: 35 of steal, 155 busy, 1000 in all; a tick is the same for the three */
    cr_assert(epsilon_eq(dbl, load.steal_seconds / load.total_seconds, 0.035, 1e-12));
    cr_assert(epsilon_eq(dbl, load.busy_seconds / load.total_seconds, 0.155, 1e-12));
    cr_assert(epsilon_eq(dbl, load.running, 4, 0));
    cr_assert(epsilon_eq(dbl, load.cpus, 2, 0));
    cr_assert(epsilon_eq(dbl, load.throttled, 7, 0));
}

Test(machine, the_canary_has_a_reading)
{
    double samples[PFC_CANARY_SAMPLES];

    pfc_canary_measure(samples, PFC_CANARY_SAMPLES);
    cr_assert(gt(dbl, pfc_canary_reading(samples, PFC_CANARY_SAMPLES), 0));
}

Test(machine, the_harness_hash_is_one)
{
    cr_assert(eq(sz, strlen(pfc_harness_hash()), 64));
}

#define CPU "/sys/devices/system/cpu"

Test(machine, cpus_that_differ_in_governor_are_reported_and_newer_switches_are_found)
{
    const pfc_machine_opts opts = { .root = root };
    pfc_machine m;

    put(CPU "/cpu0/cpufreq/scaling_governor", "performance\n");
    put(CPU "/cpu1/cpufreq/scaling_governor", "powersave\n");
    put(CPU "/cpu2/cpufreq/scaling_governor", "performance\n");
    put(CPU "/cpu0/cpufreq/boost", "0\n");
    put(CPU "/cpu0/microcode/version", "0xb2\n");
    pfc_machine_read(&opts, &m);
    cr_assert(eq(str, value(&m, "governor"), "performance, powersave"));
    cr_assert(eq(str, value(&m, "turbo"), "off"));
    cr_assert(eq(str, value(&m, "microcode"), "0xb2"));
    clear(&m);
}

Test(machine, a_gpu_and_its_driver_are_part_of_the_fingerprint)
{
    const pfc_gpu_sources gpus = { .nvml = PFC_STUB_NVML, .root = root };
    const pfc_machine_opts opts = { .root = root, .gpus = &gpus };
    pfc_machine m;

    pfc_machine_read(&opts, &m);
    cr_assert(eq(str, value(&m, "gpu"), "2 x Stub GPU 80GB"));
    cr_assert(eq(str, value(&m, "gpu_driver"), "550.54.15"));
    clear(&m);
}

static void put_cpu(int cpu, int package, int core, const char *l3)
{
    const struct {
        const char *file, *text;
    } files[] = {
        { "cache/index0/level", "1" },  { "cache/index0/type", "Data" },
        { "cache/index0/size", "32K" }, { "cache/index1/level", "1" },
        { "cache/index1/size", "64K" }, { "cache/index1/type", "Instruction" },
        { "cache/index2/level", "2" },  { "cache/index2/type", "Unified" },
        { "cache/index2/size", "1M" },  { "cache/index3/level", "3" },
        { "cache/index3/size", "16M" }, { "cache/index3/type", "Unified" },
    };
    char path[200];
    char text[20];

    for (size_t i = 0; i < PFC_ARRAY_LEN(files); i++) {
        snprintf(path, sizeof(path), CPU "/cpu%d/%s", cpu, files[i].file);
        put(path, files[i].text);
    }
    snprintf(path, sizeof(path), CPU "/cpu%d/cache/index3/shared_cpu_list", cpu);
    put(path, l3);
    snprintf(path, sizeof(path), CPU "/cpu%d/topology/physical_package_id", cpu);
    snprintf(text, sizeof(text), "%d\n", package);
    put(path, text);
    snprintf(path, sizeof(path), CPU "/cpu%d/topology/core_id", cpu);
    snprintf(text, sizeof(text), "%d\n", core);
    put(path, text);
}

/* Two packages with core 0 and 1 each; the first core has two threads; one CPU is offline. */
Test(machine, the_topology_counts_what_is_different)
{
    pfc_topology t;
    char *text;

    put_cpu(0, 0, 0, "0,4\n");
    put_cpu(4, 0, 0, "0,4\n");
    put_cpu(1, 0, 1, "0,4\n");
    put_cpu(2, 1, 0, "2-3\n");
    put_cpu(3, 1, 1, "2-3\n");
    put(CPU "/cpu5/online", "0\n");
    put("/sys/devices/system/node/node0/x", "");
    pfc_topology_read(root, &t);
    text = pfc_topology_text(&t);
    cr_assert(eq(str, text,
                 "2 packages, 4 cores, 5 threads, 1 node, L1d 32 KiB, L2 1 MiB, "
                 "L3 16 MiB x 2"));
    free(text);
}

Test(machine, a_cache_without_a_size_is_not_counted)
{
    static const struct {
        const char *size;
        int64_t bytes;
    } rows[] = { { "48K\n", 48 * 1024 },
                 { "2M\n", 2 * 1024 * 1024 },
                 { "512\n", 512 },
                 { "0K\n", 0 },
                 { "-1K\n", 0 },
                 { "K\n", 0 },
                 { "1099511627776\n", INT64_C(1) << 40 },
                 { "1099511627777\n", 0 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_topology t;

        put_cpu(0, 0, 0, "0\n");
        put(CPU "/cpu0/cache/index0/size", rows[i].size);
        pfc_topology_read(root, &t);
        cr_assert(eq(i64, t.l1d_bytes, rows[i].bytes), "row %zu", i);
    }
}

Test(machine, a_cache_needs_a_level_a_type_and_a_size)
{
    static const char *const files[] = { "level", "type", "size" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(files); i++) {
        char *path = pfc_format("%s" CPU "/cpu0/cache/index3/%s", root, files[i]);
        pfc_topology t;

        put_cpu(0, 0, 0, "0\n");
        pfc_topology_read(root, &t);
        cr_assert(eq(i64, t.l3_caches, 1));
        cr_assert(eq(int, remove(path), 0));
        pfc_topology_read(root, &t);
        cr_assert(eq(i64, t.l3_caches, 0), "without %s", files[i]);
        cr_assert(eq(i64, t.l3_bytes, 0));
        free(path);
    }
}

Test(machine, this_machines_topology_is_plausible_or_unknown)
{
    pfc_topology t;
    char *text;

    pfc_topology_read(NULL, &t);
    cr_assert(t.cores <= t.threads && t.packages <= PFC_MAX(t.cores, 1));
    text = pfc_topology_text(&t);
    cr_assert(eq(int, text != NULL, t.threads > 0));
    free(text);
    pfc_topology_read(root, &t); /* an empty tree */
    cr_assert(eq(ptr, pfc_topology_text(&t), NULL));
}

/* Ten readings 100..109: median 104.5, absolute deviations 0.5 .. 4.5, their median 2.5;
 * times 1.4826 is 3.7065, six of them are 21.3 % of the median. */
Test(machine, the_band_is_six_robust_deviations_around_the_median)
{
    double r[64];
    pfc_canary_band b;

    for (int i = 0; i < 10; i++)
        r[i] = 100 + i;
    pfc_band_learn(r, 9, &b);
    cr_assert(isnan(b.center_ns));
    cr_assert(not(pfc_band_left(&b, 1e6)));
    cr_assert(pfc_band_moved(&b, 1000, 1300));
    cr_assert(not(pfc_band_moved(&b, 1200, 1000)));
    pfc_band_learn(r, 10, &b);
    cr_assert(epsilon_eq(dbl, b.center_ns, 104.5, 1e-9));
    cr_assert(epsilon_eq(dbl, b.width_rel, 6 * 1.4826 * 2.5 / 104.5, 1e-4));
    cr_assert(pfc_band_left(&b, 130));
    cr_assert(pfc_band_left(&b, 80));
    cr_assert(not(pfc_band_left(&b, 120)));
    cr_assert(not(pfc_band_left(&b, 90)));
}

/* A steady machine gets the narrowest band; up to half of the readings may be wild; the last 64
 * count. */
Test(machine, outliers_do_not_widen_the_band_and_a_new_level_is_believed_in_the_end)
{
    double r[100];
    pfc_canary_band b;

    for (int i = 0; i < 64; i++)
        r[i] = i % 3 == 0 ? 900 : 100;
    pfc_band_learn(r, 64, &b);
    cr_assert(epsilon_eq(dbl, b.center_ns, 100, 1e-9));
    cr_assert(epsilon_eq(dbl, b.width_rel, PFC_BAND_MIN_REL, 1e-9));
    cr_assert(pfc_band_left(&b, 106));
    cr_assert(not(pfc_band_left(&b, 104)));
    for (int i = 0; i < 100; i++)
        r[i] = i < 60 ? 100 : 130;
    pfc_band_learn(r, 100, &b);
    cr_assert(epsilon_eq(dbl, b.center_ns, 130, 1e-9));
}

Test(machine, readings_are_kept_in_a_file_and_lines_that_are_none_are_passed_over)
{
    char *path = pfc_format("%s/cache/perfci/canary.txt", root);
    char text[1000] = "nonsense\n-5\n1e400\n100.0\n";
    pfc_err err = { 0 };
    pfc_canary_band b;

    pfc_band_load(path, &b);
    cr_assert(eq(sz, b.readings, 0));
    for (int i = 0; i < 70; i++)
        strcat(text, "200.0\n");
    put("/cache/perfci/canary.txt", text);
    cr_assert(eq(int, pfc_band_add(path, 200, &err), PFC_OK), "%s", err.msg);
    pfc_band_load(path, &b);
    cr_assert(eq(sz, b.readings, PFC_BAND_WINDOW));
    cr_assert(epsilon_eq(dbl, b.center_ns, 200, 1e-9));
    free(path);
    cr_assert(eq(int, pfc_band_add("/dev/null/x/y", 200, &err), PFC_EIO));
    cr_assert(eq(int, pfc_band_add(NULL, 200, &err), PFC_OK));
}

Test(machine, the_band_keeps_every_reading_up_to_its_window)
{
    char *path = pfc_format("%s/cache/perfci/window.txt", root);
    pfc_err err = { 0 };
    pfc_canary_band b;

    for (size_t n = 1; n <= PFC_BAND_WINDOW + 1; n++) {
        cr_assert(eq(int, pfc_band_add(path, 200 + (double)n, &err), PFC_OK), "%s", err.msg);
        pfc_band_load(path, &b);
        cr_assert(eq(sz, b.readings, PFC_MIN(n, (size_t)PFC_BAND_WINDOW)));
    }
    free(path);
}

Test(machine, another_microcode_has_another_history)
{
    const pfc_machine_opts opts = { .root = root };
    pfc_machine a;
    char *first;
    char *second;

    cr_assert(eq(int, setenv("XDG_CACHE_HOME", "/some/cache", 1), 0));
    put("/proc/cpuinfo", "model name : X\nmicrocode : 0x1\n");
    pfc_machine_read(&opts, &a);
    first = pfc_band_path(&a);
    clear(&a);
    put("/proc/cpuinfo", "model name : X\nmicrocode : 0x2\n");
    pfc_machine_read(&opts, &a);
    second = pfc_band_path(&a);
    cr_assert(eq(int, strncmp(first, "/some/cache/perfci/canary-", 26), 0));
    cr_assert(ne(str, first, second));
    free(first);
    free(second);
    cr_assert(eq(int, setenv("XDG_CACHE_HOME", "relative", 1), 0));
    cr_assert(eq(int, setenv("HOME", "/home/x", 1), 0));
    first = pfc_band_path(&a);
    cr_assert(eq(int, strncmp(first, "/home/x/.cache/perfci/canary-", 29), 0), "%s", first);
    free(first);
    cr_assert(eq(int, setenv("HOME", "relative", 1), 0));
    cr_assert(eq(ptr, pfc_band_path(&a), NULL));
    cr_assert(eq(int, unsetenv("HOME"), 0));
    cr_assert(eq(ptr, pfc_band_path(&a), NULL));
    cr_assert(eq(int, setenv("XDG_CACHE_HOME", "/some/cache", 1), 0));
    first = pfc_band_path(&a);
    cr_assert(ne(ptr, first, NULL));
    free(first);
    clear(&a);
}

Test(machine, clocks_are_calibrated)
{
    pfc_labels facts = { 0 };
    pfc_timing t;

    put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    pfc_timing_measure(root, &t);
    cr_assert(eq(str, t.source, "tsc"));
    cr_assert(t.step_ns > 0 && t.overhead_ns > 0);
#if defined(__x86_64__)
    /* no core runs slower or faster than that, whatever else runs */
    cr_assert(t.core_ghz > 0.1 && t.core_ghz < 10);
    cr_assert(t.tsc_ghz > 0.1 && t.tsc_ghz < 10);
#endif
    pfc_timing_facts(&t, &facts);
    cr_assert(ne(ptr, (void *)pfc_labels_get(&facts, "core_cycles_per_tsc_tick"), NULL));
    pfc_labels_clear(&facts);
}

Test(machine, huge_pages_that_were_granted_are_read_back)
{
    cr_assert(eq(i64, pfc_pages_huge_bytes(root), -1));
    put("/proc/self/smaps_rollup", "0-f ---p 0 00:00 0 [rollup]\nRss: 99 kB\nAnonHugePages:      "
                                   "4096 kB\n");
    cr_assert(eq(i64, pfc_pages_huge_bytes(root), 4096 * 1024));
    cr_assert(ge(i64, pfc_pages_probe(), -1));
    put("/proc/self/smaps_rollup", "AnonHugePages: 0 kB\n");
    cr_assert(eq(i64, pfc_pages_huge_bytes(root), 0));
    put("/proc/self/smaps_rollup", "AnonHugePages: -4 kB\nShmemHugePages: 8 kB\n");
    cr_assert(eq(i64, pfc_pages_huge_bytes(root), -1));
    put("/proc/self/smaps_rollup", "AnonHugePages: 8 kB\nAnonHugePages: 16 kB\n");
    cr_assert(eq(i64, pfc_pages_huge_bytes(root), 8 * 1024));
}

Test(machine, the_last_cpu_that_may_be_used_is_taken)
{
    cpu_set_t all, one;
    int first = -1;
    int last = -1;

    cr_assert(eq(int, sched_getaffinity(0, sizeof(all), &all), 0));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all))
            last = cpu;
        if (first < 0 && CPU_ISSET(cpu, &all))
            first = cpu;
    }
    cr_assert(eq(int, pfc_machine_pin_cpu(), last));
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    cr_assert(eq(int, sched_setaffinity(0, sizeof(one), &one), 0));
    cr_assert(eq(int, pfc_machine_pin_cpu(), first));
}

static char *fact(const pfc_timing *t, const char *name)
{
    static char text[80];
    pfc_labels facts = { 0 };

    pfc_timing_facts(t, &facts);
    (void)snprintf(text, sizeof(text), "%s", pfc_labels_get(&facts, name));
    pfc_labels_clear(&facts);
    return text;
}

Test(machine, each_fact_of_the_clocks_is_written_under_its_own_name)
{
    static const struct {
        const char *name, *value;
    } rows[] = {
        { "timer_resolution_ns", "1" },
        { "timer_step_ns", "20" },
        { "timer_overhead_ns", "25.5" },
        { "tsc_ghz", "2" },
        { "core_ghz", "3" },
        { "core_cycles_per_tsc_tick", "1.5" },
        { "tsc_invariant", "true" },
        { "clocksource", "kvm-clock" },
    };
    pfc_timing t = { .resolution_ns = 1,
                     .step_ns = 20,
                     .overhead_ns = 25.5,
                     .tsc_ghz = 2,
                     .core_ghz = 3,
                     .tsc_invariant = true,
                     .source = "kvm-clock" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(str, fact(&t, rows[i].name), (char *)rows[i].value), "%s", rows[i].name);
    t.tsc_invariant = false;
    cr_assert(eq(str, fact(&t, "tsc_invariant"), "false"));
    t.tsc_ghz = NAN;
    cr_assert(eq(str, fact(&t, "tsc_ghz"), PFC_NOT_AVAILABLE));
    cr_assert(eq(str, fact(&t, "tsc_invariant"), PFC_NOT_AVAILABLE));
    cr_assert(eq(str, fact(&t, "core_cycles_per_tsc_tick"), PFC_NOT_AVAILABLE));
    cr_assert(eq(str, fact(&t, "core_ghz"), "3"));
}

/* The shortest step that was seen is at most the average cost of a reading, and a reading of a
   running clock is finite; the two ways to the core's clock agree within the noise of a virtual
   machine. */
Test(machine, the_measured_clocks_agree_with_each_other)
{
    pfc_timing t;

    pfc_timing_measure(root, &t);
    cr_assert(eq(str, t.source, PFC_NOT_AVAILABLE)); /* no such file below this root */
    cr_assert(t.resolution_ns >= 1.0 && t.resolution_ns < 1e7);
    cr_assert(isfinite(t.step_ns) && isfinite(t.overhead_ns));
    cr_assert(lt(dbl, t.overhead_ns, 1e5));
#if defined(__x86_64__)
    cr_assert(t.core_ghz / t.tsc_ghz > 0.1 && t.core_ghz / t.tsc_ghz < 4);
#endif
}
