/* Run documents: what is written is read, and every fault has its path. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/wire.h"

#include "tests/check/check.h"

#define HEAD                                                                                       \
    "\"schema\":\"perfci.run/1\",\"id\":\"0123456789abcdef0123456789abcdef\","                     \
    "\"started_at\":\"2026-11-22T10:00:00Z\",\"machine\":{\"class\":\"c\"}"
#define BENCH "\"benchmark\":\"gemm\",\"metric\":\"time_ns\""

static pfc_run *example(size_t measurements, size_t samples)
{
    pfc_run *run = pfc_run_new();

    run->id = pfc_strdup("0123456789abcdef0123456789abcdef");
    run->project = pfc_strdup("tiny");
    run->commit = pfc_strdup("0123456789012345678901234567890123456789");
    run->suite = pfc_strdup("quick");
    run->suite_hash = pfc_strdup("");
    run->started_at = 1.75e9;
    run->finished_at = 1.75e9 + 2;
    run->infra = true;
    run->unsandboxed = true;
    run->machine.machine_class = pfc_strdup("EPYC");
    pfc_labels_set(&run->machine.fingerprint, "kernel", "6.1");
    pfc_labels_set(&run->machine.fingerprint, "compiler", "gcc \"12\"");
    pfc_machine_hash(&run->machine);
    for (size_t i = 0; i < measurements; i++) {
        pfc_measurement *m = pfc_run_add(run);

        m->benchmark = pfc_format("gemm/%zu", i);
        m->metric = pfc_strdup("time_ns");
        m->backend = pfc_strdup("cpu-avx2");
        m->unit = pfc_strdup("ns");
        m->samples = pfc_calloc(samples, sizeof *m->samples);
        m->samples_len = samples;
        for (size_t s = 0; s < samples; s++)
            m->samples[s] = 1.0 / (double)(3 + s);
        m->blocks = pfc_calloc(2, sizeof *m->blocks);
        m->blocks_len = 2;
        m->blocks[0] = 1;
        m->blocks[1] = (uint32_t)samples - 1;
        pfc_labels_set(&m->params, "m", "512");
    }
    return run;
}

Test(run, survives_a_round_trip_to_the_bit)
{
    pfc_run *run = example(2, 5);
    char *text = pfc_run_to_text(run);
    pfc_run *back = NULL;
    pfc_err err = { 0 };
    char *again;

    cr_assert(eq(int, pfc_run_from_json(text, strlen(text), &back, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, back->measurements_len, 2));
    cr_assert(eq(sz, back->measurements[1].samples_len, 5));
    cr_assert(eq(u32, back->measurements[1].blocks[1], 4));
    cr_assert(eq(dbl, back->measurements[1].samples[4], 1.0 / 7.0));
    cr_assert(eq(dbl, pfc_measurement_median(&back->measurements[0]), 0.2));
    cr_assert(
        eq(str, (char *)pfc_labels_get(&back->machine.fingerprint, "compiler"), "gcc \"12\""));
    cr_assert(eq(str, back->machine.fingerprint_hash, run->machine.fingerprint_hash));
    cr_assert(back->infra);
    cr_assert(back->unsandboxed);
    again = pfc_run_to_text(back);
    cr_assert(eq(str, again, text));
    free(again);
    free(text);
    pfc_run_free(run);
    pfc_run_free(back);
}

Test(run, each_fault_names_its_path)
{
    static const struct {
        const char *text;
        const char *field;
    } bad[] = {
        { "", "" },
        { "nonsense", "" },
        { "{} {}", "" },
        { "[]", "" },
        { "{\"schema\":\"perfci.run/1\",\"schema\":\"x\"}", "" },
        { "{\"schema\":\"perfci.run/9\"}", "schema" },
        { "{" HEAD ",\"measurements\":[],\"extra\":1}", "extra" },
        { "{" HEAD "}", "measurements" },
        { "{\"schema\":\"perfci.run/1\",\"id\":\"short\"}", "id" },
        { "{" HEAD ",\"commit\":\"abc\",\"measurements\":[]}", "commit" },
        { "{" HEAD ",\"measurements\":[7]}", "measurements[0]" },
        { "{" HEAD ",\"measurements\":[{\"metric\":\"x\"}]}", "measurements[0].benchmark" },
        { "{" HEAD ",\"measurements\":[{" BENCH "}]}", "measurements[0].samples" },
        { "{" HEAD ",\"measurements\":[{" BENCH ",\"samples\":[]}]}", "measurements[0].samples" },
        { "{" HEAD ",\"measurements\":[{" BENCH ",\"samples\":[[]]}]}",
          "measurements[0].samples[0]" },
        { "{" HEAD ",\"measurements\":[{" BENCH ",\"samples\":[[1],[2,\"3\"]]}]}",
          "measurements[0].samples[1][1]" },
        { "{" HEAD ",\"measurements\":[{" BENCH ",\"samples\":[[1e301]]}]}",
          "measurements[0].samples[0][0]" },
        { "{" HEAD ",\"measurements\":[{" BENCH ",\"samples\":[[1e400]]}]}", "" },
        { "{" HEAD ",\"measurements\":[{" BENCH ",\"samples\":[[NaN]]}]}", "" },
        { "{" HEAD ",\"measurements\":[{" BENCH ",\"status\":\"fine\",\"samples\":[[1]]}]}",
          "measurements[0].status" },
        { "{" HEAD ",\"measurements\":[{" BENCH ",\"status\":\"broken\"}]}",
          "measurements[0].reason" },
        { "{" HEAD ",\"measurements\":[{" BENCH ",\"direction\":\"up\",\"samples\":[[1]]}]}",
          "measurements[0].direction" },
        { "{" HEAD ",\"measurements\":[{\"benchmark\":\"a\\u0007\",\"metric\":\"x\"}]}",
          "measurements[0].benchmark" },
        { "{" HEAD ",\"measurements\":[{" BENCH ",\"samples\":[[1]]},{" BENCH
          ",\"samples\":[[1]]}]}",
          "measurements[1]" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_run *run = NULL;
        pfc_err err = { 0 };

        cr_assert(
            eq(int, pfc_run_from_json(bad[i].text, strlen(bad[i].text), &run, &err), PFC_EINVAL),
            "%s", bad[i].text);
        cr_assert(eq(str, err.field, (char *)bad[i].field), "%s: %s", bad[i].text, err.msg);
        cr_assert(gt(sz, strlen(err.msg), 0));
        cr_assert_null(run);
    }
}

Test(run, nesting_is_counted_before_it_is_parsed)
{
    size_t len = 200000;
    char *deep = pfc_alloc(len + 1);
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    memset(deep, '[', len);
    cr_assert(eq(int, pfc_run_from_json(deep, len, &run, &err), PFC_EINVAL));
    cr_assert_not_null(strstr(err.msg, "nested deeper than 32"), "%s", err.msg);
    memset(deep + 32, ']', 32);
    cr_assert(eq(int, pfc_run_from_json(deep, 64, &run, &err), PFC_EINVAL));
    cr_assert_not_null(strstr(err.msg, "expected an object"), "32 levels: %s", err.msg);
    memset(deep, '[', 33);
    memset(deep + 33, ']', 33);
    cr_assert(eq(int, pfc_run_from_json(deep, 66, &run, &err), PFC_EINVAL));
    cr_assert_not_null(strstr(err.msg, "nested deeper than 32"), "33 levels: %s", err.msg);
    free(deep);
}

Test(run, brackets_in_texts_do_not_count_as_nesting)
{
    static const char text[] = "{" HEAD ",\"suite\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"\","
                               "\"measurements\":[]}";
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_from_json(text, sizeof text - 1, &run, &err), PFC_OK), "%s", err.msg);
    pfc_run_free(run);
}

Test(run, a_document_over_the_limit_is_refused_unread)
{
    size_t len = PFC_WIRE_MAX_BODY_BYTES + 1;
    char *text = pfc_alloc(len + 1);
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_from_json(text, len, &run, &err), PFC_ETOOBIG));
    free(text);
}

Test(run, split_parts_keep_the_id_and_every_measurement)
{
    pfc_run *run = example(37, 50);
    char **texts = NULL;
    size_t len = 0;
    size_t seen = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_split(run, 8000, &texts, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(gt(sz, len, 1));
    for (size_t i = 0; i < len; i++) {
        pfc_run *part = NULL;

        cr_assert(le(sz, strlen(texts[i]), 8000));
        cr_assert(eq(int, pfc_run_from_json(texts[i], strlen(texts[i]), &part, &err), PFC_OK));
        cr_assert(eq(str, part->id, run->id));
        for (size_t m = 0; m < part->measurements_len; m++)
            cr_assert(
                eq(str, part->measurements[m].benchmark, run->measurements[seen++].benchmark));
        pfc_run_free(part);
        free(texts[i]);
    }
    cr_assert(eq(sz, seen, 37));
    free(texts);
    cr_assert(eq(int, pfc_run_split(run, 500, &texts, &len, &err), PFC_ETOOBIG));
    pfc_run_free(run);
}

Test(run, a_broken_measurement_has_a_reason_and_no_samples)
{
    static const char text[] = "{" HEAD ",\"measurements\":[{" BENCH
                               ",\"status\":\"broken\",\"reason\":\"wrong result\"}]}";
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_from_json(text, sizeof text - 1, &run, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, run->measurements[0].status, PFC_STATUS_BROKEN));
    cr_assert(eq(str, run->measurements[0].reason, "wrong result"));
    cr_assert(isnan(pfc_measurement_median(&run->measurements[0])));
    pfc_run_free(run);
}

static void expect_read(const char *text, pfc_code want, const char *says)
{
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_from_json(text, strlen(text), &run, &err), want), "%s: %s", text,
              err.msg);
    cr_assert(ne(ptr, strstr(err.msg, says), NULL), "%s", err.msg);
    pfc_run_free(run);
}

/* Of an exact metric two values are no measurement; of any other they are noise. */
Test(run, unequal_samples_of_an_exact_metric_are_refused_with_both_values)
{
#define SAMPLES(exact, list)                                                                       \
    "{" HEAD ",\"measurements\":[{" BENCH ",\"exact\":" exact ",\"samples\":" list "}]}"
    expect_read(SAMPLES("true", "[[5,6]]"), PFC_EINVAL, "measurements[0].samples");
    expect_read(SAMPLES("true", "[[5,6]]"), PFC_EINVAL,
                "is exact: expected equal samples, got 5 and 6");
    expect_read(SAMPLES("true", "[[0.1],[0.1,0.1],[0.30000000000000004]]"), PFC_EINVAL,
                "got 0.1 and 0.30000000000000004");
    expect_read(SAMPLES("true", "[[5,5],[5]]"), PFC_OK, "");
    expect_read(SAMPLES("true", "[[0,-0.0]]"), PFC_OK, "");
    expect_read(SAMPLES("false", "[[5,6]]"), PFC_OK, "");
}

static pfc_run *exact_value(double value)
{
    pfc_run *run = pfc_run_new();

    pfc_run_add_value(run, "a", "cycles", "cycles", value, false);
    run->measurements[0].exact = true;
    return run;
}

Test(run, repeats_of_an_exact_metric_that_do_not_agree_are_broken)
{
    pfc_run *run = exact_value(5);

    pfc_run_merge(run, exact_value(5));
    cr_assert(eq(int, run->measurements[0].status, PFC_STATUS_OK));
    cr_assert(eq(sz, run->measurements[0].samples_len, 2));
    pfc_run_merge(run, exact_value(6));
    cr_assert(eq(int, run->measurements[0].status, PFC_STATUS_BROKEN));
    cr_assert(eq(str, run->measurements[0].reason,
                 "cycles is exact: expected equal values in each repeat, got 5 and 6"));
    cr_assert(eq(sz, run->measurements[0].samples_len, 0));
    pfc_run_free(run);
}

Test(pairs, the_hash_does_not_depend_on_the_order)
{
    pfc_machine a = { 0 };
    pfc_machine b = { 0 };

    pfc_labels_set(&a.fingerprint, "x", "1");
    pfc_labels_set(&a.fingerprint, "y", "2");
    pfc_labels_set(&b.fingerprint, "y", "0");
    pfc_labels_set(&b.fingerprint, "x", "1");
    pfc_labels_set(&b.fingerprint, "y", "2");
    pfc_machine_hash(&a);
    pfc_machine_hash(&b);
    cr_assert(eq(str, a.fingerprint_hash, b.fingerprint_hash));
    pfc_labels_set(&b.fingerprint, "y", "3");
    pfc_machine_hash(&b);
    cr_assert(ne(str, a.fingerprint_hash, b.fingerprint_hash));
    pfc_labels_clear(&a.fingerprint);
    pfc_labels_clear(&b.fingerprint);
    free(a.fingerprint_hash);
    free(b.fingerprint_hash);
}
