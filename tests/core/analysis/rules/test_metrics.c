/*
 * Every metric of the built-in files, one by one, against values computed by hand from the round
 * numbers below; a metric that is in a file and not here is a failure.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/metrics/metrics.h"
#include "core/base/fs.h"

#include "tests/check/check.h"

typedef struct number {
    const char *name;
    double value;
} number;

/* A run of 1000 cycles on an array of 8 x 4 cells; the sums of the counters hold. */
static const number accelerator[] = {
    { "cycles", 1000 },
    { "ceiling_cycles", 750 },
    { "chip_array_rows", 8 },
    { "chip_array_cols", 4 },
    { "chip_clock_mhz", 2000 },
    { "chip_vector_lanes", 16 },
    { "chip_hbm_mbps", 100000 }, /* 50 bytes a cycle */
    { "chip_dma_engines", 4 },
    { "chip_dma_bytes", 16 },
    { "chip_sram_banks", 4 },
    { "chip_sram_port_bytes", 8 },
    { "chip_pcie_gen", 4 },
    { "chip_pcie_lanes", 8 },
    { "chip_pcie_payload", 256 },
    { "macs_useful", 9600 },
    { "macs_mapped_slots", 12800 },
    { "tensor_busy_cycles", 800 }, /* 12800 slots of 32 cells are 400 cycles: two passes, f32 */
    { "tensor_preload_cycles", 10 },
    { "tensor_stall_weights_cycles", 40 },
    { "tensor_fill_drain_cycles", 30 },
    { "tensor_stall_dma_cycles", 50 },
    { "tensor_stall_vector_cycles", 20 },
    { "tensor_stall_drain_cycles", 5 },
    { "tensor_stall_bank_cycles", 25 },
    { "tensor_idle_cycles", 20 },
    { "vector_busy_cycles", 300 },
    { "vector_reduce_cycles", 60 },
    { "vector_stall_dma_cycles", 70 },
    { "vector_stall_tensor_cycles", 80 },
    { "vector_stall_chain_cycles", 90 },
    { "vector_stall_bank_cycles", 10 },
    { "vector_idle_cycles", 390 },
    { "vector_elements", 4800 },
    { "hbm_read_bytes", 30000 },
    { "hbm_write_bytes", 10000 },
    { "hbm_busy_cycles", 450 },
    { "hbm_row_misses", 30 },
    { "hbm_accesses", 400 },
    { "hbm_queue_cycles", 2000 },
    { "hbm_latency_cycles", 5000 },
    { "hbm_compulsory_bytes", 20000 },
    { "dma_bytes", 32000 },
    { "dma_busy_cycles", 1000 },
    { "dma_setup_cycles", 200 },
    { "dma_stall_hbm_cycles", 400 },
    { "dma_transfers", 16 },
    { "sram_read_bytes", 5000 },
    { "sram_write_bytes", 3000 },
    { "pcie_h2d_bytes", 6000 },
    { "pcie_d2h_bytes", 2000 },
    { "pcie_busy_cycles", 2000 },
    { "overlap_none_cycles", 100 },
    { "overlap_load_cycles", 120 },
    { "overlap_store_cycles", 30 },
    { "overlap_load_store_cycles", 0 },
    { "overlap_execute_cycles", 150 },
    { "overlap_load_execute_cycles", 480 },
    { "overlap_store_execute_cycles", 20 },
    { "overlap_load_store_execute_cycles", 100 },
};

/* bf16 on a machine with these ceilings; its bound is reading L2. */
static const number cpu[] = {
    { "time_ns", 2000 },
    { "metric_gemm_tflops", 0.05 }, /* 50 GFLOP/s */
    { "ops_per_byte", 2 },          /* 25 GB/s */
    { "percent_of_peak", 40 },
    { "preempted", 3 },
    { "ceiling_bf16_gflops", 200 },
    { "ceiling_fma_f32_gflops", 100 },
    { "ceiling_int8_gops", 400 },
    { "ceiling_l1_read_gbps", 250 },
    { "ceiling_l2_read_gbps", 62.5 },
    { "ceiling_l3_read_gbps", 50 },
    { "ceiling_dram_read_gbps", 12.5 },
    { "ceiling_l1_copy_gbps", 125 },
    { "ceiling_l2_copy_gbps", 40 },
    { "ceiling_l3_copy_gbps", 20 },
    { "ceiling_dram_copy_gbps", 10 },
    { "count_cycles", 8000 },
    { "count_instructions", 20000 },
    { "count_branches", 4000 },
    { "count_branch-misses", 40 },
    { "count_cache-references", 500 },
    { "count_cache-misses", 125 },
    { "count_page-faults", 0.5 },
    { "count_topdown-retiring", 600 },
    { "count_topdown-bad-spec", 100 },
    { "count_topdown-fe-bound", 50 },
    { "count_topdown-be-bound", 250 },
};

typedef struct expectation {
    const char *name;
    double value, peak, achievable; /* NAN: the metric has none */
} expectation;

static const expectation of_accelerator[] = {
    { "ceiling_reached", 750.0 / 1000, 1, NAN },
    { "overlap_load_execute", (480.0 + 100) / 1000, 1, NAN },
    { "load_only", 120.0 / 1000, NAN, NAN },
    { "store_only", 30.0 / 1000, NAN, NAN },
    { "execute_only", 150.0 / 1000, NAN, NAN },
    { "tensor_useful", 9600.0 * 2 / (32 * 1000), 1, 9600.0 * 2 / (32 * 750) },
    { "tensor_executed", 800.0 / 1000, 1, NAN },
    { "tensor_attainable", 9600.0 * 2 / (32 * 750), 1, NAN },
    { "tensor_rate", 9600.0 / 1000, 32.0 / 2, 0.8 * 32 / 2 },
    { "tensor_padding", 1 - 9600.0 / 12800, NAN, NAN },
    { "tensor_weights", (10.0 + 40) / 1000, NAN, NAN },
    { "tensor_fill_drain", 30.0 / 1000, NAN, NAN },
    { "tensor_waits", (50.0 + 20 + 5 + 25) / 1000, NAN, NAN },
    { "vector_busy", 300.0 / 1000, 1, NAN },
    { "vector_rate", 4800.0 / 1000, 16, NAN },
    { "vector_reduce", 60.0 / 1000, NAN, NAN },
    { "vector_waits", (70.0 + 80 + 90 + 10) / 1000, NAN, NAN },
    { "hbm_bandwidth", 40000.0 / 1000, 50, 43.5 },
    { "hbm_busy", 450.0 / 1000, 1, NAN },
    { "hbm_row_misses", 30.0 / 400, NAN, NAN },
    { "hbm_queueing", 2000.0 / 5000, NAN, NAN },
    { "hbm_access_time", 5000.0 / 400, NAN, NAN },
    { "hbm_redundancy", 32000.0 / 20000, NAN, 1 },
    { "hbm_burst_use", 32000.0 / 40000, 1, NAN },
    { "dma_busy", 1000.0 / 4000, 1, NAN },
    { "dma_bandwidth", 32000.0 / 1000, 64, 43.5 },
    { "dma_setup", 200.0 / 4000, NAN, NAN },
    { "dma_waits_hbm", 400.0 / 4000, NAN, NAN },
    { "dma_transfer_size", 32000.0 / 16, NAN, NAN },
    { "sram_bandwidth", 8000.0 / 1000, NAN, NAN },
    { "sram_bank_waits", (25.0 + 10) / 1000, NAN, NAN },
    /* 8 lanes of 1969 MB/s at 2000 MHz; 96 % of it, 256 of every 282 bytes */
    { "pcie_bandwidth", 8000.0 / 2000, 7.876, 0.96 * 7.876 * 256 / 282 },
    { "pcie_time", 2000.0 / 1000, NAN, NAN },
};

static const expectation of_cpu[] = {
    { "roofline", 0.4, 1, NAN },
    { "arithmetic", 50, 200, 2 * 62.5 },
    { "intensity", 2, NAN, NAN },
    { "ridge", 200 / 12.5, NAN, NAN },
    { "l1_bandwidth", 25, 250, NAN },
    { "l2_bandwidth", 25, 62.5, NAN },
    { "l3_bandwidth", 25, 50, NAN },
    { "dram_bandwidth", 25, 12.5, NAN },
    { "dram_traffic", 125.0 * 64 / 2000, 12.5, NAN },
    { "ipc", 2.5, NAN, NAN },
    { "branch_misses", 0.01, NAN, NAN },
    { "cache_misses", 0.25, NAN, NAN },
    { "page_faults", 0.5, NAN, NAN },
    { "preemptions", 3, NAN, NAN },
    { "retiring", 0.6, 1, NAN },
    { "bad_speculation", 0.1, NAN, NAN },
    { "frontend_bound", 0.05, NAN, NAN },
    { "backend_bound", 0.25, NAN, NAN },
};

static void fill(pfc_profile *p, const number *numbers, size_t len)
{
    pfc_err err = { 0 };

    pfc_profile_init(p, "run 1");
    for (size_t i = 0; i < len; i++)
        cr_assert(eq(int, pfc_profile_set(p, numbers[i].name, numbers[i].value, &err), PFC_OK));
}

static bool same(double got, double expected)
{
    return isnan(expected) ? isnan(got) : fabs(got - expected) <= 1e-12 * fabs(expected);
}

static size_t evaluate(const char *family, const pfc_profile *p, pfc_metric_value *out)
{
    pfc_metrics *m = NULL;
    pfc_err err = { 0 };
    size_t len;

    cr_assert(eq(int, pfc_metrics_load(NULL, family, &m, &err), PFC_OK), "%s", err.msg);
    len = pfc_metrics_evaluate(m, p, out);
    pfc_metrics_free(m);
    return len;
}

static void check(const char *family, const pfc_profile *p, const expectation *all, size_t all_len)
{
    pfc_metric_value values[PFC_METRICS_MAX];
    const size_t len = evaluate(family, p, values);

    cr_expect(eq(sz, len, all_len), "as many metrics in the file as expectations here");
    for (size_t i = 0; i < all_len; i++) {
        const pfc_metric_value *v = pfc_metric_find(values, len, all[i].name);

        cr_assert(v != NULL, "%s", all[i].name);
        cr_expect(v->available, "%s: %s", v->name, v->reason);
        cr_expect(same(v->value, all[i].value), "%s: expected %.12g, got %.12g", v->name,
                  all[i].value, v->value);
        cr_expect(same(v->peak, all[i].peak), "%s: peak %.12g, got %.12g", v->name, all[i].peak,
                  v->peak);
        cr_expect(same(v->achievable, all[i].achievable), "%s: achievable %.12g, got %.12g",
                  v->name, all[i].achievable, v->achievable);
        cr_expect(same(v->share, all[i].value / all[i].peak), "%s: share %.12g", v->name, v->share);
        cr_expect(v->unit[0] && v->title[0]);
    }
}

Test(metrics, each_of_the_accelerator_is_its_hand_computed_value)
{
    pfc_profile p;

    fill(&p, accelerator, PFC_ARRAY_LEN(accelerator));
    check("accelerator", &p, of_accelerator, PFC_ARRAY_LEN(of_accelerator));
    pfc_profile_clear(&p);
}

/* A region of 4 launches that takes 9000 cycles, 4000 of them in its kernels: 4 ceilings of 750
 * cycles are 3/4 of the kernels' time. */
Test(metrics, the_ceiling_of_a_region_bounds_its_kernels)
{
    pfc_metric_value values[PFC_METRICS_MAX];
    pfc_profile p;
    pfc_err err = { 0 };
    size_t len;

    fill(&p, accelerator, PFC_ARRAY_LEN(accelerator));
    cr_assert(eq(int, pfc_profile_set(&p, "cycles", 9000, &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set(&p, "kernel_cycles", 4000, &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set(&p, "launches", 4, &err), PFC_OK));
    len = evaluate("accelerator", &p, values);
    cr_expect(epsilon_eq(dbl, pfc_metric_find(values, len, "ceiling_reached")->value, 0.75, 1e-12));
    pfc_profile_clear(&p);
}

Test(metrics, each_of_the_cpu_is_its_hand_computed_value)
{
    pfc_profile p;
    pfc_err err = { 0 };

    fill(&p, cpu, PFC_ARRAY_LEN(cpu));
    cr_assert(eq(int, pfc_profile_set_fact(&p, "param_dtype", "bf16", &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set_fact(&p, "bound", "L2 read", &err), PFC_OK));
    check("cpu", &p, of_cpu, PFC_ARRAY_LEN(of_cpu));
    pfc_profile_clear(&p);
}

/* The bound selects the ceiling: a norm copies, and what arithmetic bounds has no level. */
Test(metrics, the_ceilings_of_the_cpu_follow_type_and_bound)
{
    static const struct {
        const char *dtype, *bound;
        double arithmetic_peak, arithmetic_achievable, dram_peak;
    } cases[] = {
        { "bf16", "DRAM read", 200, 25, 12.5 }, { "f32", "L1 read", 100, 100, 12.5 },
        { "int8", "L3 read", 400, 100, 12.5 },  { "f32", "fma", 100, 100, 12.5 },
        { "f32", "DRAM copy", 100, 20, 10 },    { "f32", "L2 copy", 100, 80, 10 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_metric_value values[PFC_METRICS_MAX];
        const pfc_metric_value *v;
        pfc_profile p;
        pfc_err err = { 0 };
        size_t len;

        fill(&p, cpu, PFC_ARRAY_LEN(cpu));
        cr_assert(eq(int, pfc_profile_set_fact(&p, "param_dtype", cases[i].dtype, &err), PFC_OK));
        cr_assert(eq(int, pfc_profile_set_fact(&p, "bound", cases[i].bound, &err), PFC_OK));
        len = evaluate("cpu", &p, values);
        v = pfc_metric_find(values, len, "arithmetic");
        cr_expect(eq(dbl, v->peak, cases[i].arithmetic_peak), "%s", cases[i].bound);
        cr_expect(eq(dbl, v->achievable, cases[i].arithmetic_achievable), "%s", cases[i].bound);
        v = pfc_metric_find(values, len, "dram_bandwidth");
        cr_expect(eq(dbl, v->peak, cases[i].dram_peak), "%s", cases[i].bound);
        pfc_profile_clear(&p);
    }
}

Test(metrics, an_event_that_the_machine_does_not_count_is_named)
{
    pfc_metric_value values[PFC_METRICS_MAX];
    const pfc_metric_value *v;
    pfc_profile p;
    pfc_err err = { 0 };
    size_t len;

    pfc_profile_init(&p, "run 2");
    cr_assert(
        eq(int, pfc_profile_set_text(&p, "count_topdown-retiring", "not available", &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set(&p, "percent_of_peak", 90, &err), PFC_OK));
    len = evaluate("cpu", &p, values);
    v = pfc_metric_find(values, len, "retiring");
    cr_expect(not(v->available));
    cr_expect(isnan(v->value));
    cr_expect(eq(str, (char *)v->reason, "not available: count_topdown-retiring"));
    v = pfc_metric_find(values, len, "roofline");
    cr_expect(v->available);
    cr_expect(eq(dbl, v->share, 0.9));
    pfc_profile_clear(&p);
}

Test(metrics, a_run_of_a_norm_has_no_padding_and_says_why)
{
    pfc_metric_value values[PFC_METRICS_MAX];
    const pfc_metric_value *v;
    pfc_profile p;
    pfc_err err = { 0 };
    size_t len;

    fill(&p, accelerator, PFC_ARRAY_LEN(accelerator));
    cr_assert(eq(int, pfc_profile_set(&p, "macs_mapped_slots", 0, &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set(&p, "macs_useful", 0, &err), PFC_OK));
    len = evaluate("accelerator", &p, values);
    v = pfc_metric_find(values, len, "tensor_padding");
    cr_expect(not(v->available));
    cr_expect(eq(str, (char *)v->reason, "not available: division by zero"));
    v = pfc_metric_find(values, len, "tensor_useful");
    cr_expect(eq(dbl, v->value, 0));
    pfc_profile_clear(&p);
}

Test(metrics, a_folder_takes_the_place_of_the_built_in_file)
{
    static const char text[] =
        "metrics:\n"
        "  - {name: own, title: Own metric, unit: share, value: cycles / 4}\n";
    pfc_metric_value values[PFC_METRICS_MAX];
    pfc_metrics *m = NULL;
    pfc_profile p;
    pfc_err err = { 0 };
    char *dir = NULL;
    char *path;

    cr_assert(eq(int, pfc_fs_temp_dir("perfci-metrics", &dir, &err), PFC_OK));
    path = pfc_fs_join(dir, "accelerator.yaml");
    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0600, &err), PFC_OK));
    cr_assert(eq(int, pfc_metrics_load(dir, "accelerator", &m, &err), PFC_OK), "%s", err.msg);
    fill(&p, accelerator, PFC_ARRAY_LEN(accelerator));
    cr_expect(eq(sz, pfc_metrics_evaluate(m, &p, values), 1));
    cr_expect(eq(str, values[0].name, "own"));
    cr_expect(eq(dbl, values[0].value, 250));
    cr_expect(isnan(values[0].peak) && isnan(values[0].share));
    pfc_metrics_free(m);
    m = NULL;
    cr_expect(eq(int, pfc_metrics_load(dir, "cpu", &m, &err), PFC_ENOTFOUND));
    cr_expect(m == NULL);
    pfc_profile_clear(&p);
    cr_expect(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK));
    free(path);
    free(dir);
}

Test(metrics, a_wrong_file_is_refused_with_its_line)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "metrics:\n  - {name: a, title: A, unit: share}\n",
          "x.yaml:2: metrics: a: expected the key \"value\"" },
        { "metrics:\n  - {title: A, unit: share, value: 1}\n",
          "x.yaml:2: expected the key \"name\"" },
        { "metrics:\n  - {name: a, title: A, unit: share, value: 1, peek: 2}\n",
          "x.yaml:2: metrics: unknown key 'peek' (known: name, title, unit, value, peak, "
          "achievable)" },
        { "metrics:\n  - {name: a, title: A, unit: s, value: 1}\n"
          "  - {name: a, title: B, unit: s, value: 2}\n",
          "x.yaml:3: metrics: \"a\" is there twice" },
        { "metrics: 3\n", "x.yaml:1: metrics: expected a list" },
        { "- 3\n", "x.yaml:1: the file: expected a mapping of names to values" },
        { "metrics:\n  - name: a\n    title: A\n    unit: share\n    value: 1 +\n",
          "x.yaml:5:15: expected a number, a name, a function or \"(\", got the end of the "
          "expression" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_metrics *m = NULL;
        pfc_err err = { 0 };

        cr_expect(eq(int,
                     pfc_metrics_parse("x.yaml", cases[i].text, strlen(cases[i].text), &m, &err),
                     PFC_EINVAL),
                  "%s", cases[i].text);
        cr_expect(eq(str, err.msg, (char *)cases[i].message));
        cr_expect(m == NULL);
    }
}
