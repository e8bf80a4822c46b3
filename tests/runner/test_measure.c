/* One measurement: what each way of ending means, and what a command may and may not see. */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/parse.h"
#include "runner/measure/canary.h"
#include "runner/workspace/workspace.h"

#include "tests/check/check.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static char *dir;

static void setup(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_temp_dir("perfci-measure", &dir, &err), PFC_OK), "%s", err.msg);
}

static void teardown(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK), "%s", err.msg);
    free(dir);
}

TestSuite(measure, .init = setup, .fini = teardown);

static pfc_outcome measure_with(pfc_commit_measure_opts opts, const char *command)
{
    pfc_outcome out;
    pfc_err err = { 0 };

    opts.measure = command;
    if (opts.timeout_s <= 0)
        opts.timeout_s = 600;
    cr_assert(eq(int, pfc_measure(&opts, dir, COMMIT, 3, &out, &err), PFC_OK), "%s", err.msg);
    return out;
}

static void want(const char *command, pfc_outcome_kind kind, const char *words)
{
    pfc_outcome out = measure_with((pfc_commit_measure_opts){ 0 }, command);

    cr_assert(eq(int, out.kind, kind), "%s: %s: %s", command, pfc_outcome_name(out.kind),
              out.reason);
    cr_assert(ne(ptr, strstr(out.reason, words), NULL), "%s: %s", command, out.reason);
    cr_assert(eq(ptr, out.run, NULL));
    pfc_outcome_clear(&out);
}

static double value_of(const char *command, const char *metric)
{
    pfc_outcome out = measure_with((pfc_commit_measure_opts){ 0 }, command);
    const pfc_measurement *m = NULL;
    pfc_err err = { 0 };
    double value;

    cr_assert(eq(int, out.kind, PFC_OUTCOME_MEASURED), "%s: %s", command, out.reason);
    cr_assert(eq(int, pfc_run_value(out.run, metric, NULL, NULL, &m, &err), PFC_OK), "%s", err.msg);
    value = pfc_measurement_median(m);
    pfc_outcome_clear(&out);
    return value;
}

Test(measure, numbers_and_documents_are_read)
{
    cr_assert(eq(dbl, value_of("echo 12.5", NULL), 12.5));
    cr_assert(eq(dbl, value_of("echo '{\"value\": 3}'", NULL), 3.0));
    cr_assert(eq(dbl, value_of("echo '{\"metrics\": {\"a_ns\": 1, \"b_ns\": 2.5}}'", "b_ns"), 2.5));
}

Test(measure, each_end_has_its_meaning)
{
    want("exit 125", PFC_OUTCOME_BROKEN, "exit status 125");
    want("echo 'no such kernel' >&2; exit 1", PFC_OUTCOME_FAILED, "no such kernel");
    want("kill -SEGV $$", PFC_OUTCOME_FAILED, "signal 11");
    want("echo hello", PFC_OUTCOME_FAILED, "no result");
    want("true", PFC_OUTCOME_FAILED, "no result");
    want("echo nan", PFC_OUTCOME_FAILED, "no result");
    want("echo '{\"value\": 1e999}'", PFC_OUTCOME_FAILED, "no result");
    want("echo '{\"value\": NaN}'", PFC_OUTCOME_FAILED, "not a finite number");
    want("echo '{\"metrics\": {\"score\": 1}}'", PFC_OUTCOME_BROKEN, "direction of \"score\"");
}

/* The output is quoted in one line, cut between characters; control characters are written out. */
Test(measure, the_output_that_is_no_result_is_quoted_in_one_line)
{
    static const char *const starts[] = { "", "x", "xx" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(starts); i++) {
        char *command = pfc_format("printf '%s'; printf '\342\202\254%%.0s' $(seq 400)", starts[i]);
        pfc_outcome out = measure_with((pfc_commit_measure_opts){ 0 }, command);
        char *quote = pfc_format("\"%s\xe2\x82\xac", starts[i]);

        cr_assert(eq(int, out.kind, PFC_OUTCOME_FAILED));
        cr_assert(ne(ptr, strstr(out.reason, quote), NULL), "%s", out.reason);
        cr_assert(ne(ptr, strstr(out.reason, "\xe2\x82\xac...\""), NULL), "%s", out.reason);
        cr_assert(pfc_is_utf8(out.reason, strlen(out.reason)), "%s", out.reason);
        pfc_outcome_clear(&out);
        free(command);
        free(quote);
    }
    want("printf ' \\t\\n two words \\nsecond'", PFC_OUTCOME_FAILED, "\"two words\"");
    want("printf 'a\\001\\177b'", PFC_OUTCOME_FAILED, "\"a\\x01\\x7fb\"");
    want("printf ' \\n '", PFC_OUTCOME_FAILED, "nothing");
}

Test(measure, the_deadline_ends_it)
{
    pfc_outcome out = measure_with((pfc_commit_measure_opts){ .timeout_s = 0.2 }, "sleep 600");

    cr_assert(eq(int, out.kind, PFC_OUTCOME_TIMED_OUT), "%s", out.reason);
    pfc_outcome_clear(&out);
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

Test(measure, what_takes_all_memory_is_ended_and_named)
{
    pfc_commit_measure_opts opts = { .measure = "echo 1", .timeout_s = 600 };
    pfc_outcome out;
    pfc_err err = { 0 };

    cr_assert(eq(int, setenv("PERFCI_MEMORY_LIMIT", "64M", 1), 0));
    want("python3 -c 'import time; x = b\"1\" * (200 << 20); time.sleep(1000)'", PFC_OUTCOME_FAILED,
         "more memory than its limit of 64 MiB (PERFCI_MEMORY_LIMIT)");
    cr_assert(eq(int, setenv("PERFCI_MEMORY_LIMIT", "lots", 1), 0));
    cr_assert(eq(int, pfc_measure(&opts, dir, COMMIT, 0, &out, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "PERFCI_MEMORY_LIMIT: expected bytes"), NULL), "%s", err.msg);
    cr_assert(eq(int, setenv("PERFCI_MEMORY_LIMIT", "0", 1), 0));
    cr_assert(epsilon_eq(dbl, value_of("echo 1", "value"), 1, 0)); /* no limit */
}

Test(measure, the_caller_can_stop_it)
{
    pfc_outcome out = measure_with((pfc_commit_measure_opts){ .cancelled = always }, "sleep 600");

    cr_assert(eq(int, out.kind, PFC_OUTCOME_CANCELLED), "%s", out.reason);
    pfc_outcome_clear(&out);
}

Test(measure, secrets_are_not_passed_on_and_everything_else_is)
{
    setenv("PERFCI_TOKEN", "pfc_secret", 1);
    setenv("PERFCI_TOKEN_FILE", "/x", 1);
    setenv("GITHUB_TOKEN", "ghp", 1);
    setenv("PERFCI_DATABASE_URL", "postgres://u:p@h/d", 1);
    cr_assert(eq(
        dbl, value_of("env | awk '/pfc_secret|TOKEN|postgres:/ { n++ } END { print n + 0 }'", NULL),
        0.0));
}

Test(measure, commit_and_build_and_other_settings_are_in_the_environment)
{
    setenv("PERFCI_MY_NOISE", "4", 1);
    cr_assert(
        eq(dbl, value_of("test \"$PERFCI_COMMIT\" = " COMMIT " && echo $PERFCI_BUILD", NULL), 3.0));
    cr_assert(eq(dbl, value_of("echo $PERFCI_MY_NOISE", NULL), 4.0));
}

Test(measure, a_run_carries_its_commit_and_machine)
{
    pfc_outcome out = measure_with((pfc_commit_measure_opts){ .metric = "gemm_tflops",
                                                              .unit = "TFLOP/s",
                                                              .has_direction = true,
                                                              .higher_is_better = true,
                                                              .machine_class = "lab" },
                                   "echo 1.5");
    const pfc_measurement *m = NULL;
    char *text;
    pfc_run *again = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, out.kind, PFC_OUTCOME_MEASURED), "%s", out.reason);
    cr_assert(eq(sz, strlen(out.run->id), 32));
    cr_assert(eq(str, out.run->commit, COMMIT));
    cr_assert(eq(str, out.run->machine.machine_class, "lab"));
    cr_assert(ne(ptr, (void *)pfc_labels_get(&out.run->machine.fingerprint, "kernel"), NULL));
    cr_assert(eq(int, pfc_run_value(out.run, "gemm_tflops", NULL, NULL, &m, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(str, m->unit, "TFLOP/s"));
    cr_assert(eq(int, m->higher_is_better, 1));
    text = pfc_run_to_text(out.run);
    cr_assert(eq(int, pfc_run_from_json(text, strlen(text), &again, &err), PFC_OK), "%s", err.msg);
    pfc_run_free(again);
    free(text);
    pfc_outcome_clear(&out);
}

Test(measure, a_value_that_is_not_there_lists_what_is)
{
    pfc_outcome out = measure_with((pfc_commit_measure_opts){ 0 },
                                   "echo '{\"metrics\": {\"a_ns\": 1, \"b_ns\": 2}}'");
    const pfc_measurement *m = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_value(out.run, "c", NULL, NULL, &m, &err), PFC_ENOTFOUND));
    cr_assert(ne(ptr, strstr(err.msg, "there is:"), NULL), "%s", err.msg);
    cr_assert(eq(int, pfc_run_value(out.run, NULL, NULL, NULL, &m, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "2 results fit"), NULL), "%s", err.msg);
    pfc_outcome_clear(&out);
}

/* A stand-in for perfci-bench: a script that takes its flags and writes a document. */
static char *make_bench(const char *body)
{
    char *path = pfc_fs_join(dir, "bench.sh");
    char *text = pfc_format("#!/bin/sh\nout=$4\n%s\n", body);
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0755, &err), PFC_OK), "%s",
              err.msg);
    free(text);
    return path;
}

static pfc_outcome run_suite(const char *body)
{
    char *bench = make_bench(body);
    pfc_commit_measure_opts opts = { .suite = "quick", .bench = bench, .timeout_s = 600 };
    pfc_outcome out;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_measure(&opts, dir, COMMIT, 0, &out, &err), PFC_OK), "%s", err.msg);
    free(bench);
    return out;
}

static char *bench_document(const char *status)
{
    pfc_run *run = pfc_run_new();
    pfc_measurement *m = pfc_run_add(run);
    char *text, *command;

    run->id = pfc_strdup("00112233445566778899aabbccddeeff");
    run->suite = pfc_strdup("quick");
    run->suite_hash = pfc_strdup("");
    run->started_at = run->finished_at = 1700000000.0;
    run->machine.machine_class = pfc_strdup("bench machine");
    m->benchmark = pfc_strdup("gemm/f32/m8n8k8");
    m->metric = pfc_strdup("time_ns");
    m->backend = pfc_strdup("cpu-scalar");
    m->unit = pfc_strdup("ns");
    if (strcmp(status, "ok") == 0) {
        m->samples = pfc_calloc(1, sizeof(double));
        m->samples[0] = 5.0;
        m->samples_len = 1;
        m->blocks = pfc_calloc(1, sizeof(uint32_t));
        m->blocks[0] = 1;
        m->blocks_len = 1;
    } else {
        m->status = PFC_STATUS_BROKEN;
        m->reason = pfc_strdup("wrong result at 0");
    }
    text = pfc_run_to_text(run);
    command = pfc_format("test \"$1 $2 $3\" = '--suite quick --out' || exit 9\n"
                         "printf '%%s' '%s' > \"$out\"",
                         text);
    free(text);
    pfc_run_free(run);
    return command;
}

Test(measure, a_suite_is_run_by_perfci_bench)
{
    char *body = bench_document("ok");
    pfc_outcome out = run_suite(body);

    cr_assert(eq(int, out.kind, PFC_OUTCOME_MEASURED), "%s", out.reason);
    cr_assert(eq(str, out.run->commit, COMMIT));
    cr_assert(eq(str, out.run->machine.machine_class, "bench machine"));
    pfc_outcome_clear(&out);
    free(body);
}

Test(measure, a_suite_of_wrong_results_is_broken)
{
    char *document = bench_document("broken");
    char *body = pfc_format("%s\nexit 4", document);
    pfc_outcome out = run_suite(body);

    cr_assert(eq(int, out.kind, PFC_OUTCOME_BROKEN), "%s", out.reason);
    cr_assert(ne(ptr, strstr(out.reason, "wrong result at 0"), NULL), "%s", out.reason);
    cr_assert(ne(ptr, out.run, NULL), "what was broken is kept");
    cr_assert(eq(sz, out.run->measurements_len, 1));
    cr_assert(eq(int, out.run->measurements[0].status, PFC_STATUS_BROKEN));
    pfc_outcome_clear(&out);
    free(body);
    free(document);
}

Test(measure, a_suite_without_a_document_failed)
{
    pfc_outcome out = run_suite("exit 0");

    cr_assert(eq(int, out.kind, PFC_OUTCOME_FAILED), "%s", out.reason);
    cr_assert(ne(ptr, strstr(out.reason, "no run document"), NULL), "%s", out.reason);
    pfc_outcome_clear(&out);
    out = run_suite("echo half > \"$out\"");
    cr_assert(eq(int, out.kind, PFC_OUTCOME_FAILED), "%s", out.reason);
    pfc_outcome_clear(&out);
}

/* perfci-bench ends with 5 when the machine never got quiet: nobody's fault, and said so. */
Test(measure, a_machine_that_never_gets_quiet_is_not_the_commits_fault)
{
    char *bench = make_bench("echo \"perfci-bench: not quiet within $6\" >&2\nexit 5");
    pfc_commit_measure_opts opts = {
        .suite = "quick", .bench = bench, .timeout_s = 600, .wait_quiet = "3s"
    };
    pfc_outcome out;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_measure(&opts, dir, COMMIT, 0, &out, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, out.kind, PFC_OUTCOME_FAILED));
    cr_assert(out.unavailable);
    cr_assert(eq(str, out.reason, "not quiet within 3s"));
    pfc_outcome_clear(&out);
    free(bench);
}

Test(measure, nothing_to_measure_with_is_a_mistake)
{
    pfc_commit_measure_opts opts = { 0 };
    pfc_outcome out;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_measure(&opts, dir, NULL, 0, &out, &err), PFC_EINVAL));
    opts.measure = "echo 1";
    cr_assert(eq(int, pfc_measure(&opts, dir, "a b", 0, &out, &err), PFC_EINVAL));
}

/* ---- the gate before a command ---- */

static pfc_code gate(const char *script, bool (*cancelled)(void *), bool *was, pfc_err *err)
{
    char *bench = make_bench(script);
    const pfc_quiet_gate how = { .bench = bench, .wait = "3s", .cancelled = cancelled };
    const pfc_code code = pfc_quiet_wait_for(&how, was, err);

    free(bench);
    return code;
}

static bool at_once(void *arg)
{
    (void)arg;
    return true;
}

Test(measure, a_command_waits_for_a_quiet_machine_and_gives_up_with_the_reason)
{
    bool cancelled = false;
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 gate("test \"$*\" = '--canary --quiet --wait-quiet 3s'", NULL, &cancelled, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(int,
                 gate("echo 'perfci-bench: the machine was not quiet within 3 s: load' >&2; exit 5",
                      NULL, &cancelled, &err),
                 PFC_EUNAVAIL));
    cr_assert(eq(str, err.msg, "the machine was not quiet within 3 s: load"));
    cr_assert(not(cancelled));
    cr_assert(eq(int, gate("exec sleep 1000", at_once, &cancelled, &err), PFC_OK));
    cr_assert(cancelled);
    cr_assert(eq(int,
                 pfc_quiet_wait_for(&(pfc_quiet_gate){ .bench = "/no/bench", .wait = "1s" },
                                    &cancelled, &err),
                 PFC_EUNAVAIL));
    cr_assert(ne(ptr, strstr(err.msg, "cannot be asked whether it is quiet"), NULL), "%s", err.msg);
}

/* The fake ends long after a measurement may, and long before the wait is over. */
Test(measure, waiting_for_a_quiet_machine_is_no_part_of_the_time_limit)
{
    char *bench = make_bench("sleep 0.5; echo 'perfci-bench: busy' >&2; exit 5");
    pfc_commit_measure_opts opts = {
        .suite = "quick", .bench = bench, .timeout_s = 0.1, .wait_quiet = "500s"
    };
    pfc_outcome out;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_measure(&opts, dir, COMMIT, 0, &out, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, out.kind, PFC_OUTCOME_FAILED));
    cr_assert(eq(str, out.reason, "busy"));
    pfc_outcome_clear(&out);
    free(bench);
}
