/* The program itself: what it prints, what it writes, how it ends. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/process/proc.h"
#include "core/wire/wire.h"

#include "tests/check/check.h"

#define SUITE                                                                                      \
    "suite: tiny\n"                                                                                \
    "settings: {processes: 2, min_samples: 4, max_samples: 8, max_seconds: 0.05,"                  \
    " warmup_seconds: 0.01}\n"                                                                     \
    "backends: [cpu-scalar, cpu-avx512]\n"                                                         \
    "benchmarks:\n"                                                                                \
    "  - {op: gemm, shapes: [{m: 8, n: 8, k: 8}, {m: 7, n: 5, k: 3}]}\n"

static char *dir;
static char *suite_path;
static pfc_proc_result res;

static void setup(void)
{
    cr_assert(eq(int, pfc_fs_temp_dir("bench", &dir, NULL), PFC_OK));
    cr_assert(eq(int, setenv("XDG_CACHE_HOME", dir, 1), 0)); /* the canary's history */
    suite_path = pfc_fs_join(dir, "tiny.yaml");
    cr_assert(eq(int, pfc_fs_write_atomic(suite_path, SUITE, strlen(SUITE), 0600, NULL), PFC_OK));
}

static void teardown(void)
{
    cr_assert(eq(int, pfc_fs_remove_tree(dir, NULL), PFC_OK));
    free(suite_path);
    free(dir);
}

static int run_program(const char *program, const char *const *args)
{
    const char *argv[16] = { program };
    const pfc_proc_opts opts = { .argv = argv, .timeout_s = 600, .max_output_bytes = 4 << 20 };
    pfc_err err = { 0 };

    for (size_t i = 0; args[i]; i++)
        argv[i + 1] = args[i];
    cr_assert(eq(int, pfc_proc_run(&opts, &res, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, res.signal, 0));
    return res.exit_status;
}

#define RUN(...)                                                                                   \
    run_program(PFC_TEST_BIN "/perfci-bench", (const char *const[]){ __VA_ARGS__, NULL })
#define RUN_PAIRS(...)                                                                             \
    run_program(PFC_TEST_BIN "/perfci-bench-pairs", (const char *const[]){ __VA_ARGS__, NULL })

static bool out_has(const char *text)
{
    return strstr(pfc_buf_text(&res.out), text) != NULL;
}

static bool err_has(const char *text)
{
    return strstr(pfc_buf_text(&res.err), text) != NULL;
}

TestSuite(perfci_bench, .init = setup, .fini = teardown);

Test(perfci_bench, a_suite_is_measured_into_a_document_that_the_wire_reads)
{
    char *out = pfc_fs_join(dir, "run.json");
    char *text = NULL;
    size_t len = 0;
    pfc_run *doc = NULL;
    pfc_err err = { 0 };
    size_t ok = 0;
    /* what values may be compared with: each is there, be it as "not available" */
    static const char *const fields[] = { "cpu",    "microcode", "governor", "turbo",   "smt",
                                          "kernel", "libc",      "compiler", "flags",   "harness",
                                          "suite",  "simulator", "chips",    "topology" };

    cr_assert(eq(int, RUN("--suite", suite_path, "--out", out), 0), "%s", pfc_buf_text(&res.err));
    cr_assert(eq(sz, res.out.len, 0));
    cr_assert(eq(int, pfc_fs_read(out, PFC_WIRE_MAX_BODY_BYTES, &text, &len, &err), PFC_OK));
    cr_assert(eq(int, pfc_run_from_json(text, len, &doc, &err), PFC_OK), "%s %s", err.field,
              err.msg);
    cr_assert(eq(ptr, doc->commit, NULL));
    cr_assert(eq(sz, strlen(doc->id), 32));
    cr_assert(eq(str, doc->suite, "tiny"));
    for (size_t i = 0; i < PFC_ARRAY_LEN(fields); i++) {
        const char *value = pfc_labels_get(&doc->machine.fingerprint, fields[i]);
        cr_assert(value != NULL && value[0], "%s", fields[i]);
    }
    cr_assert(eq(sz, strlen(pfc_labels_get(&doc->machine.fingerprint, "harness")), 64));
    cr_assert(eq(sz, strlen(pfc_labels_get(&doc->machine.fingerprint, "chips")), 64));
    for (size_t i = 0; i < doc->measurements_len; i++) {
        const pfc_measurement *m = &doc->measurements[i];
        if (!pfc_streq(m->metric, "gemm_tflops") || m->status != PFC_STATUS_OK)
            continue;
        ok++;
        cr_assert(ge(sz, m->blocks_len, 2));
        for (size_t s = 0; s < m->samples_len; s++)
            cr_assert(gt(dbl, m->samples[s], 0));
    }
    cr_assert(ge(sz, ok, 3)); /* two shapes and the headline, on cpu-scalar at least */
    pfc_run_free(doc);
    free(text);
    free(out);
    pfc_proc_result_clear(&res);
}

Test(perfci_bench, json_is_the_document_and_nothing_else)
{
    pfc_run *doc = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 RUN("--suite", suite_path, "--backend", "cpu-scalar", "--filter", "m8", "--json",
                     "--quiet"),
                 0));
    cr_assert(eq(sz, res.err.len, 0));
    cr_assert(eq(int, pfc_run_from_json(pfc_buf_text(&res.out), res.out.len, &doc, &err), PFC_OK),
              "%s", err.msg);
    pfc_run_free(doc);
    pfc_proc_result_clear(&res);
}

Test(perfci_bench, without_json_it_prints_a_table)
{
    cr_assert(eq(int, RUN("--suite", suite_path, "--backend", "cpu-scalar"), 0));
    cr_assert(out_has("95 % interval"));
    cr_assert(out_has("gemm/f32/m7n5k3"));
    cr_assert(out_has("headline"));
    cr_assert(out_has("s harness between them (")); /* what it costs is said */
    cr_assert(err_has("at most about"));
    cr_assert(not(err_has("\r"))); /* no bar without a terminal */
    pfc_proc_result_clear(&res);
}

Test(perfci_bench, noise_shows_what_can_be_confirmed)
{
    char *path = pfc_fs_join(dir, "noise.yaml");
    const char *text =
        "suite: noise\n"
        "settings: {processes: 6, min_samples: 12, max_samples: 12, max_seconds: 600}\n"
        "backends: [cpu-scalar]\n"
        "benchmarks: [{op: gemm, shapes: [{m: 8, n: 8, k: 8}]}]\n";

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0600, NULL), PFC_OK));
    cr_assert(eq(int, RUN("--suite", path, "--noise", "--json"), 0), "%s", pfc_buf_text(&res.err));
    cr_assert(out_has("\"detectable_rel\":"));
    cr_assert(out_has("\"pairs_1pct\":"));
    free(path);
    pfc_proc_result_clear(&res);
}

/* One real comparison, and modelled ones: the counts add up to what was asked for. */
Test(perfci_bench, the_study_of_pairs_counts_what_it_was_asked_for)
{
    cr_assert(eq(int,
                 RUN_PAIRS("--aa", "1", "--ab", "0", "--kernel", "l1", "--backend", "cpu-scalar",
                           "--max-pairs", "20", "--json", "--quiet"),
                 0),
              "%s", pfc_buf_text(&res.err));
    cr_assert(
        out_has("\"benchmark\":\"gemm/f32/m16n16k16\",\"injected_rel\":0,\"comparisons\":1,"));
    cr_assert(out_has("{\"summary\":\"false alarms\",\"comparisons\":1,\"called\":"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN_PAIRS("--simulate", "3", "--json"), 0));
    cr_assert(out_has("\"benchmark\":\"drift of 5 %\",\"injected_rel\":0,\"comparisons\":3,"));
    cr_assert(err_has("a drift of 5 % over the comparison moved the estimate by "));
    cr_assert(err_has("below 0.3 %: kept"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN_PAIRS("--kernel", "l9"), 2));
    cr_assert(err_has("expected l1, l2, l3 or dram"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN_PAIRS("--kernel", "l2", "--inject", "0.3", "--aa", "0"), 2));
    cr_assert(err_has("no whole number"));
    pfc_proc_result_clear(&res);
}

/* One program against itself, by real children: both documents, whatever the verdict. */
Test(perfci_bench, two_builds_are_measured_in_turns)
{
    cr_assert(eq(int,
                 RUN("--suite", suite_path, "--backend", "cpu-scalar", "--filter", "m8n8k8",
                     "--side-b", PFC_TEST_BIN "/perfci-bench", "--margin", "1", "--json"),
                 0),
              "%s", pfc_buf_text(&res.err));
    cr_assert(out_has("\"schema\":\"perfci.pairs/1\""));
    cr_assert(out_has("\"pair_verdict\":"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--side-a", "/no/such/program"), 2));
    cr_assert(err_has("/no/such/program"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--serve"), 2)); /* nothing on standard input */
    pfc_proc_result_clear(&res);
}

Test(perfci_bench, the_machine_is_described_as_text_and_as_json)
{
    static const char *const sections[] = { "fingerprint", "topology", "gpus",  "clocks",
                                            "huge_pages",  "canary",   "quiet", "machine" };
    json_t *doc = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, RUN("--machine"), 0));
    cr_assert(out_has("fingerprint_hash"));
    cr_assert(out_has("timer_overhead_ns"));
    cr_assert(out_has("steal_share"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--machine", "--json"), 0));
    cr_assert(eq(int, pfc_json_parse(pfc_buf_text(&res.out), res.out.len, &doc, &err), PFC_OK),
              "%s", err.msg);
    for (size_t i = 0; i < PFC_ARRAY_LEN(sections); i++)
        cr_assert(ne(ptr, json_object_get(doc, sections[i]), NULL), "%s", sections[i]);
    json_decref(doc);
    pfc_proc_result_clear(&res);
}

static void expect_svg(const char *path, const char *want)
{
    char *text = NULL;
    size_t len = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_read(path, 4 << 20, &text, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, strncmp(text, "<svg ", 5), 0));
    cr_assert(ne(ptr, strstr(text, want), NULL), "%s", want);
    cr_assert(eq(str, text + len - 7, "</svg>\n"));
    free(text);
}

Test(perfci_bench, ceilings_are_printed_drawn_and_given_as_json)
{
    char *svg = pfc_fs_join(dir, "roof.svg");
    json_t *doc = NULL;
    json_t *one;
    pfc_err err = { 0 };

    cr_assert(eq(int, RUN("--ceilings", "--json", "--svg", svg), 0));
    cr_assert(eq(int, pfc_json_parse(pfc_buf_text(&res.out), res.out.len, &doc, &err), PFC_OK),
              "%s", err.msg);
    one = json_object_get(doc, "one_core");
    cr_assert(gt(dbl, json_number_value(json_object_get(json_object_get(one, "gops"), "f32")), 0));
    cr_assert(
        gt(dbl, json_number_value(json_object_get(json_object_get(one, "read_gbps"), "DRAM")), 0));
    cr_assert(ne(ptr, json_object_get(json_object_get(doc, "all_cores"), "gops"), NULL));
    expect_svg(svg, "DRAM read");
    json_decref(doc);
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--suite", suite_path, "--backend", "cpu-scalar", "--svg", svg), 0));
    expect_svg(svg, "gemm/f32/m8n8k8 on cpu-scalar");
    free(svg);
    pfc_proc_result_clear(&res);
}

/* The stub says "thermal slowdown" (0x20) of its second board all the time. */
Test(perfci_bench, a_gpu_that_is_held_back_marks_what_was_measured_meanwhile)
{
    cr_assert(eq(int, setenv("LD_LIBRARY_PATH", PFC_STUB_DIR, 1), 0));
    cr_assert(eq(int, setenv("STUB_NVML_REASONS", "32", 1), 0));
    cr_assert(eq(int, RUN("--suite", suite_path, "--backend", "cpu-scalar", "--filter", "m8"), 0));
    cr_assert(out_has("held back while this was measured (GPU 1: thermal slowdown)"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(
        int, RUN("--suite", suite_path, "--backend", "cpu-scalar", "--filter", "m8", "--json"), 0));
    cr_assert(out_has("\"throttled\":\"GPU 1: thermal slowdown\""));
    cr_assert(out_has("\"throttled_blocks\":"));
    cr_assert(out_has("\"gpu\":\"2 x Stub GPU 80GB\""));
    cr_assert(out_has("\"gpu_driver\":\"550.54.15\""));
    cr_assert(out_has("\"gpu0_temperature_c\":\"41\""));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--machine"), 0));
    cr_assert(out_has("GPU 1"));
    cr_assert(out_has("GPU-stub-1"));
    pfc_proc_result_clear(&res);
}

Test(perfci_bench, list_and_coverage_measure_nothing)
{
    cr_assert(eq(int, RUN("--suite", suite_path, "--list"), 0));
    cr_assert(out_has("gemm/f32/m8n8k8"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--list", "--json"), 0));
    cr_assert(out_has("\"benchmark\":\"gemm/f32/"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--coverage"), 0));
    cr_assert(out_has("gap"));
    cr_assert(out_has("no kernel")); /* int8 norms */
    cr_assert(out_has("gemm/f32/m48n48k48: not on cpu-avx2"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--coverage", "--json", "--suite", "nightly"), 0));
    cr_assert(out_has("\"gap\":true"));
    cr_assert(out_has("\"gap\":false"));
    cr_assert(out_has("\"op\":\"softmax\",\"dtype\":\"int8\",\"backend\":\"cpu-avx2\","
                      "\"benchmarks\":0,\"kernel\":false"));
    cr_assert(out_has("{\"benchmark\":\"gemm/f32/m1n4096k4096\",\"backend\":\"cpu-scalar\","));
    pfc_proc_result_clear(&res);
}

Test(perfci_bench, misuse_ends_with_status_two_and_a_sentence)
{
    cr_assert(eq(int, RUN("--suite", "no-such"), 2));
    cr_assert(err_has("no-such"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--suite", suite_path, "--backend", "cpu-x"), 2));
    cr_assert(err_has("cpu-scalar"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--suite", suite_path, "--filter", "("), 2));
    cr_assert(err_has("filter"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--suite", suite_path, "--filter", "no-benchmark-like-this"), 2));
    cr_assert(err_has("no benchmark is left"));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--nonsense"), 2));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("argument"), 2));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, RUN("--block"), 2)); /* nothing on standard input */
    pfc_proc_result_clear(&res);
}

/* Four busy processes a CPU: more threads run than the gate lets through, on any machine. */
Test(perfci_bench, a_machine_that_never_gets_quiet_ends_with_status_five_and_the_reason)
{
    const long n = PFC_MIN(4 * sysconf(_SC_NPROCESSORS_ONLN), 256L);
    pid_t pids[256];

    for (long i = 0; i < n; i++) {
        pids[i] = fork();
        cr_assert(ge(int, pids[i], 0));
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile unsigned spin = 0;; spin++)
                continue;
        }
    }
    cr_assert(eq(
        int, RUN("--suite", suite_path, "--backend", "cpu-scalar", "--wait-quiet", "1", "--json"),
        5));
    cr_assert(err_has("the machine was not quiet within 1 s: "));
    cr_assert(eq(sz, res.out.len, 0));
    pfc_proc_result_clear(&res);
    for (long i = 0; i < n; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    cr_assert(eq(int, RUN("--wait-quiet", "soon"), 2));
    cr_assert(err_has("expected a duration"));
    pfc_proc_result_clear(&res);
}

Test(perfci_bench, an_output_without_a_folder_is_refused_before_measuring)
{
    cr_assert(eq(int,
                 RUN("--suite", suite_path, "--backend", "cpu-scalar", "--filter", "m8", "--out",
                     "/dev/null/x/run.json"),
                 2));
    cr_assert(err_has("/dev/null/x"));
    pfc_proc_result_clear(&res);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* valgrind runs no sanitizer */
/* The values of every exact measurement, in order. */
static size_t exact_values(double *out, size_t cap)
{
    pfc_run *doc = NULL;
    pfc_err err = { 0 };
    size_t n = 0;

    cr_assert(eq(int,
                 RUN("--suite", suite_path, "--exact", "--backend", "cpu-scalar", "--filter", "m7",
                     "--json", "--quiet"),
                 0),
              "%s", pfc_buf_text(&res.err));
    cr_assert(eq(int, pfc_run_from_json(pfc_buf_text(&res.out), res.out.len, &doc, &err), PFC_OK),
              "%s", err.msg);
    for (size_t i = 0; i < doc->measurements_len && n < cap; i++) {
        cr_assert(doc->measurements[i].exact && doc->measurements[i].samples_len == 1);
        out[n++] = doc->measurements[i].samples[0];
    }
    pfc_run_free(doc);
    pfc_proc_result_clear(&res);
    return n;
}

/* 7 x 5 x 3 scalar: 105 products, each at least a load or two, a multiplication and an addition. */
Test(perfci_bench, exact_counts_are_the_same_from_run_to_run)
{
    double first[3] = { 0 };
    double second[3] = { 0 };

    cr_assert(eq(sz, exact_values(first, 3), 3)); /* instructions, reads, writes */
    cr_assert(eq(sz, exact_values(second, 3), 3));
    for (size_t i = 0; i < 3; i++)
        cr_assert(epsilon_eq(dbl, first[i], second[i], 0.0));
    cr_assert(ge(dbl, first[0], 4 * 105));
    cr_assert(ge(dbl, first[1], 105));
    cr_assert(gt(dbl, first[0], first[1] + first[2]));
}
#endif

Test(perfci_bench, exact_without_valgrind_says_what_to_install)
{
    cr_assert(eq(int, setenv("PATH", dir, 1), 0));
    cr_assert(eq(int, RUN("--suite", suite_path, "--exact", "--backend", "cpu-scalar"), 5));
    cr_assert(err_has("apt-get install valgrind"));
    pfc_proc_result_clear(&res);
}

Test(perfci_bench, help_has_examples)
{
    cr_assert(eq(int, RUN("--help"), 0));
    cr_assert(out_has("Examples:"));
    pfc_proc_result_clear(&res);
}
