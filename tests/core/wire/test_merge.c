/* Runs that are merged and split, and limits of documents at them and one past them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/wire/benchmark_filter.h"
#include "core/wire/detector.h"
#include "core/wire/session.h"
#include "core/wire/wire.h"

#include "tests/check/check.h"

/* ---- merging ---- */

static pfc_measurement *add(pfc_run *run, const char *benchmark, const char *metric,
                            const char *backend, double value)
{
    pfc_measurement *m;

    pfc_run_add_value(run, benchmark, metric, "ns", value, false);
    m = &run->measurements[run->measurements_len - 1];
    free(m->backend);
    m->backend = pfc_strdup(backend);
    return m;
}

static pfc_run *one(double value)
{
    pfc_run *run = pfc_run_new();

    (void)add(run, "b", "m", "x", value);
    return run;
}

static void fail(pfc_measurement *m, pfc_status status, const char *reason)
{
    free(m->samples);
    free(m->blocks);
    m->samples = NULL;
    m->blocks = NULL;
    m->samples_len = m->blocks_len = 0;
    m->status = status;
    m->reason = pfc_strdup(reason);
}

Test(merge, a_value_is_one_sample_in_one_block_and_may_be_secondary)
{
    pfc_run *run = pfc_run_new();

    pfc_run_add_value(run, "b", "m", "ns", 7, false);
    pfc_run_add_value(run, "c", "n", "s", 8, true);
    cr_expect(eq(str, run->measurements[0].benchmark, "b"));
    cr_expect(eq(str, run->measurements[0].metric, "m"));
    cr_expect(eq(str, run->measurements[0].unit, "ns"));
    cr_expect(eq(str, run->measurements[0].backend, ""));
    cr_expect(not(run->measurements[0].higher_is_better));
    cr_expect(eq(int, run->measurements[0].status, PFC_STATUS_OK));
    cr_expect(eq(dbl, run->measurements[0].samples[0], 7));
    cr_expect(eq(u32, run->measurements[0].blocks[0], 1));
    cr_expect(eq(sz, run->measurements[0].extra.len, 0));
    cr_expect(eq(dbl, pfc_measurement_median(&run->measurements[1]), 8));
    cr_expect(eq(str, (char *)pfc_labels_get(&run->measurements[1].extra, "role"), "secondary"));
    pfc_run_free(run);
}

Test(merge, the_same_key_is_joined_and_every_other_appended)
{
    static const char *const keys[][3] = {
        { "b", "m", "x" }, { "c", "m", "x" }, { "b", "n", "x" }, { "b", "m", "y" }
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(keys); i++) {
        pfc_run *run = one(1), *more = pfc_run_new();
        const pfc_measurement *m;

        (void)add(more, keys[i][0], keys[i][1], keys[i][2], 2);
        more->finished_at = 9;
        more->infra = i == 1;
        pfc_run_merge(run, more);
        m = &run->measurements[0];
        cr_expect(eq(sz, run->measurements_len, i ? 2 : 1));
        cr_expect(eq(sz, m->samples_len, i ? 1 : 2));
        cr_expect(eq(sz, m->blocks_len, i ? 1 : 2));
        cr_expect(eq(dbl, m->samples[0], 1));
        cr_expect(eq(dbl, run->measurements[i ? 1 : 0].samples[i ? 0 : 1], 2));
        cr_expect(eq(dbl, run->finished_at, 9));
        cr_expect(eq(int, run->infra, i == 1));
        pfc_run_free(run);
    }
}

Test(merge, a_run_whose_canary_moved_stays_so)
{
    pfc_run *run = one(1);

    run->infra = true;
    pfc_run_merge(run, one(2));
    cr_expect(run->infra);
    pfc_run_free(run);
}

Test(merge, a_run_with_a_part_that_was_not_isolated_is_not)
{
    for (int i = 0; i < 3; i++) {
        pfc_run *run = one(1), *more = one(2);

        run->unsandboxed = i == 1;
        more->unsandboxed = i == 2;
        pfc_run_merge(run, more);
        cr_expect(eq(int, run->unsandboxed, i > 0));
        pfc_run_free(run);
    }
}

Test(merge, a_side_that_is_not_ok_makes_the_whole_so_for_its_reason)
{
    static const pfc_status statuses[] = { PFC_STATUS_BROKEN, PFC_STATUS_SKIPPED };

    for (size_t i = 0; i < PFC_ARRAY_LEN(statuses); i++) {
        pfc_run *run = one(1), *more = one(2);

        fail(&more->measurements[0], statuses[i], "why");
        pfc_run_merge(run, more);
        cr_expect(eq(int, run->measurements[0].status, statuses[i]));
        cr_expect(eq(str, run->measurements[0].reason, "why"));
        cr_expect(eq(sz, run->measurements[0].samples_len, 0));
        cr_expect(eq(sz, run->measurements[0].blocks_len, 0));
        pfc_run_merge(run, one(3));
        cr_expect(eq(int, run->measurements[0].status, statuses[i]));
        cr_expect(eq(str, run->measurements[0].reason, "why"));
        cr_expect(eq(sz, run->measurements[0].samples_len, 0));
        pfc_run_free(run);
    }
}

static pfc_run *many(size_t samples)
{
    pfc_run *run = one(0);
    pfc_measurement *m = &run->measurements[0];

    m->samples = pfc_realloc(m->samples, samples, sizeof(double));
    for (size_t i = 0; i < samples; i++)
        m->samples[i] = (double)i;
    m->samples_len = samples;
    m->blocks[0] = (uint32_t)samples;
    return run;
}

Test(merge, a_measurement_takes_100000_samples_and_no_repeat_past_them)
{
    for (size_t more = 1; more <= 2; more++) {
        pfc_run *run = many(99999);

        pfc_run_merge(run, many(more));
        cr_expect(eq(sz, run->measurements[0].samples_len, more == 1 ? 100000 : 99999));
        cr_expect(eq(sz, run->measurements[0].blocks_len, more == 1 ? 2 : 1));
        pfc_run_free(run);
    }
}

Test(merge, a_run_takes_20000_measurements)
{
    pfc_run *run = pfc_run_new(), *more = pfc_run_new();

    for (int i = 0; i < 19999; i++)
        (void)pfc_run_add(run);
    for (int i = 0; i < 2; i++) {
        char *name = pfc_format("b%d", i);
        (void)add(more, name, "m", "", i);
        free(name);
    }
    pfc_run_merge(run, more);
    cr_expect(eq(sz, run->measurements_len, 20000));
    cr_expect(eq(str, run->measurements[19999].benchmark, "b0"));
    pfc_run_free(run);
}

/* ---- splitting ---- */

Test(split, a_text_of_exactly_the_limit_is_one_part_and_one_byte_less_two)
{
    pfc_run *run = pfc_run_new();
    char **texts = NULL;
    char *whole;
    size_t len = 0;
    pfc_err err = { 0 };

    (void)add(run, "a", "m", "", 1);
    (void)add(run, "b", "m", "", 2);
    (void)add(run, "c", "m", "", 3);
    whole = pfc_run_to_text(run);
    for (size_t less = 0; less < 2; less++) {
        cr_assert(eq(int, pfc_run_split(run, strlen(whole) - less, &texts, &len, &err), PFC_OK));
        cr_expect(eq(sz, len, less ? 2 : 1));
        if (less) { /* one of the three, then two */
            cr_expect(ne(ptr, strstr(texts[0], "\"a\""), NULL));
            cr_expect(eq(ptr, strstr(texts[0], "\"b\""), NULL));
            cr_expect(ne(ptr, strstr(texts[1], "\"b\""), NULL));
            cr_expect(ne(ptr, strstr(texts[1], "\"c\""), NULL));
        } else {
            cr_expect(eq(str, texts[0], whole));
        }
        for (size_t i = 0; i < len; i++)
            free(texts[i]);
        free(texts);
    }
    cr_expect(eq(int, pfc_run_split(run, 100, &texts, &len, &err), PFC_ETOOBIG));
    cr_expect(eq(str, err.msg, "measurement 0 (a) alone is over 100 bytes"));
    free(whole);
    pfc_run_free(run);
}

Test(split, a_number_is_written_in_as_few_digits_as_give_it_back)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = { { 5, "5" },
                 { 0.1, "0.1" },
                 { 0.1 + 0.2, "0.30000000000000004" },
                 { -1e300, "-1e+300" },
                 { 123456789012345680.0, "1.23456789012346e+17" },
                 { 1.0 / 3.0, "0.33333333333333331" } };
    char text[32];

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_wire_number(rows[i].value, text);
        cr_expect(eq(dbl, strtod(text, NULL), rows[i].value));
        if (i != 4)
            cr_expect(eq(str, text, (char *)rows[i].text));
    }
}

/* ---- limits of documents ---- */

#define SHA    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define PARENT "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ID     "0123456789abcdef0123456789abcdef"
#define COMMIT                                                                                     \
    "{\"commits\":[{\"id\":\"" SHA "\",\"author\":\"A\",\"time\":\"2026-11-22T10:00:00Z\","        \
    "\"subject\":\"s\""
#define RUN "{\"schema\":\"perfci.run/1\",\"id\":\"" ID "\",\"started_at\":\"2026-11-22T10:00:00Z\""
#define MEASURED                                                                                   \
    RUN ",\"machine\":{\"class\":\"c\"},\"measurements\":[{\"benchmark\":\"b\",\"metric\":\"m\""
#define SESSION                                                                                    \
    "{\"id\":\"" ID "\",\"anchor\":\"" SHA "\",\"base\":\"" PARENT "\",\"machine_class\":\"c\","   \
    "\"started_at\":\"2026-11-22T10:00:00Z\",\"finished_at\":\"2026-11-22T10:00:00Z\",\"spent_"    \
    "s\":"                                                                                         \
    "0,\"blocks\":0"

typedef enum kind { A_RUN, A_SESSION, A_COMMIT, A_DETECTOR } kind;

static pfc_code read_document(kind of, const char *text, size_t len, pfc_err *err)
{
    pfc_run *run = NULL;
    pfc_session *session = NULL;
    pfc_commit *commits = NULL;
    pfc_detector detector = { 0 };
    json_t *doc = NULL;
    char *branch = NULL;
    size_t commits_len = 0;
    pfc_code code = PFC_OK;

    if (of == A_RUN)
        code = pfc_run_from_json(text, len, &run, err);
    else if (of == A_SESSION)
        code = pfc_session_from_json(text, len, &session, err);
    else if (of == A_COMMIT)
        code = pfc_commits_from_json(text, len, &branch, &commits, &commits_len, err);
    else
        code = pfc_json_parse(text, len, &doc, err);
    if (of == A_DETECTOR && !code)
        code = pfc_detector_from_json(doc, &detector, err);
    pfc_run_free(run);
    pfc_session_free(session);
    pfc_commits_free(commits, commits_len);
    pfc_detector_clear(&detector);
    json_decref(doc);
    free(branch);
    return code;
}

/* `part` so often between `before` and `behind`, apart by `sep`: `most` times and once more. */
static const struct limit {
    kind of;
    const char *before, *part, *sep, *behind;
    size_t most;
    const char *field; /* of the fault */
} limits[] = {
    { A_COMMIT, COMMIT ",\"parents\":[", "\"" PARENT "\"", ",", "]}]}", 64, "commits[0].parents" },
    { A_COMMIT, COMMIT ",\"parents\":[],\"paths\":[", "\"a\"", ",", "]}]}", 2000,
      "commits[0].paths" },
    { A_COMMIT, COMMIT ",\"parents\":[],\"paths\":[\"", "a", "", "\"]}]}", 4096,
      "commits[0].paths[0]" },
    { A_COMMIT, COMMIT ",\"parents\":[],\"tags\":[", "\"a\"", ",", "]}]}", 16, "commits[0].tags" },
    { A_COMMIT, COMMIT ",\"parents\":[],\"tags\":[\"", "a", "", "\"]}]}", 200,
      "commits[0].tags[0]" },
    { A_COMMIT, "{\"commits\":[],\"branch\":\"", "a", "", "\"}", 200, "branch" },
    { A_RUN, MEASURED ",\"samples\":[[1]],\"unit\":\"", "a", "", "\"}]}", 200,
      "measurements[0].unit" },
    { A_RUN, MEASURED ",\"samples\":[[1]],\"backend\":\"", "a", "", "\"}]}", 200,
      "measurements[0].backend" },
    { A_RUN, MEASURED ",\"status\":\"broken\",\"reason\":\"", "a", "", "\"}]}", 4096,
      "measurements[0].reason" },
    { A_RUN, MEASURED ",\"samples\":[", "[1]", ",", "]}]}", 10000, "measurements[0].samples" },
    { A_RUN, MEASURED ",\"samples\":[[", "1", ",", "]]}]}", 100000, "measurements[0].samples[0]" },
    { A_RUN, MEASURED ",\"samples\":[[1],[", "1", ",", "]]}]}", 99999,
      "measurements[0].samples[1]" },
    { A_RUN, MEASURED ",\"samples\":[[1]],\"params\":{\"", "a", "", "\":\"\"}}]}", 200,
      "measurements[0].params" },
    { A_RUN, MEASURED ",\"samples\":[[1]],\"extra\":{\"a\":\"", "a", "", "\"}}]}", 4096,
      "measurements[0].extra.a" },
    { A_RUN, RUN ",\"measurements\":[],\"machine\":{\"class\":\"", "a", "", "\"}}", 200,
      "machine.class" },
    { A_RUN, RUN ",\"measurements\":[],\"machine\":{\"class\":\"c\",\"hash\":\"", "a", "", "\"}}",
      64, "machine.hash" },
    { A_RUN, RUN ",\"measurements\":[],\"machine\":{\"class\":\"c\"},\"project\":\"", "a", "",
      "\"}", 63, "project" },
    { A_RUN, RUN ",\"measurements\":[],\"machine\":{\"class\":\"c\"},\"suite_hash\":\"", "a", "",
      "\"}", 64, "suite_hash" },
    { A_SESSION, SESSION ",\"commits\":[],\"note\":\"", "a", "", "\"}", 4096, "note" },
    { A_SESSION, SESSION ",\"commits\":[],\"machine\":\"", "a", "", "\"}", 200, "machine" },
    { A_DETECTOR, "{\"rules\":[", "{\"alpha\":0.1}", ",", "]}", 200, "rules" },
    { A_DETECTOR, "{\"rules\":[{\"alpha\":0.1,\"metric\":\"", "a", "", "\"}]}", 200,
      "rules[0].metric" },
    { A_DETECTOR, "{\"rules\":[{\"alpha\":0.1,\"branch\":\"", "*", "", "\"}]}", 8,
      "rules[0].branch" },
};

Test(documents, take_each_member_at_its_limit_and_refuse_one_more)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(limits); i++) {
        const struct limit *l = &limits[i];

        for (size_t more = 0; more < 2; more++) {
            pfc_err err = { 0 };
            pfc_buf text;

            pfc_buf_init(&text, 1u << 22);
            pfc_buf_puts(&text, l->before);
            for (size_t k = 0; k < l->most + more; k++)
                pfc_buf_printf(&text, "%s%s", k ? l->sep : "", l->part);
            pfc_buf_puts(&text, l->behind);
            cr_expect(eq(int, read_document(l->of, pfc_buf_text(&text), text.len, &err),
                         more ? PFC_EINVAL : PFC_OK),
                      "%s x %zu: %s", l->part, l->most + more, err.msg);
            cr_expect(eq(str, err.field, (char *)(more ? l->field : "")), "%s", err.msg);
            pfc_buf_clear(&text);
        }
    }
}

/* A number at its limits, and the next ones beyond them. */
Test(documents, take_each_number_at_its_limits_and_refuse_the_next)
{
    static const struct {
        kind of;
        const char *form; /* "$" stands for the number */
        const char *good[2], *bad[2];
    } rows[] = {
        { A_DETECTOR, "{\"fdr\":$,\"rules\":[]}", { "1e-6", "0.5" }, { "9e-7", "0.51" } },
        { A_DETECTOR, "{\"rules\":[{\"alpha\":$}]}", { "1e-9", "0.5" }, { "9e-10", "0.51" } },
        { A_DETECTOR, "{\"rules\":[{\"min_change\":$}]}", { "1e-6", "10" }, { "9e-7", "10.1" } },
        { A_SESSION, SESSION ",\"commits\":[],\"budget_s\":$}", { "0", "1e9" }, { "-1", "1.1e9" } },
        { A_SESSION,
          SESSION ",\"commits\":[{\"commit\":\"cccccccccccccccccccccccccccccccccccccccc\","
                  "\"status\":\"measured\",\"needs_s\":$}]}",
          { "0", "1e9" },
          { "-0.1", "1000000001" } },
        { A_RUN,
          RUN ",\"measurements\":[],\"machine\":{\"class\":\"c\"},\"job_id\":$}",
          { "0", "9007199254740991" },
          { "-1", "9007199254740992" } },
        { A_RUN,
          RUN ",\"measurements\":[],\"machine\":{\"class\":\"c\"},\"job_fence\":$}",
          { "0", "9007199254740991" },
          { "-1", "9007199254740992" } },
        { A_RUN,
          MEASURED ",\"samples\":[[$]]}]}",
          { "-1e300", "1e300" },
          { "-1.1e300", "1.1e300" } },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const size_t at = strcspn(rows[i].form, "$");

        for (size_t k = 0; k < 4; k++) {
            const char *number = k < 2 ? rows[i].good[k] : rows[i].bad[k - 2];
            char *text =
                pfc_format("%.*s%s%s", (int)at, rows[i].form, number, rows[i].form + at + 1);
            pfc_err err = { 0 };

            cr_expect(eq(int, read_document(rows[i].of, text, strlen(text), &err),
                         k < 2 ? PFC_OK : PFC_EINVAL),
                      "%s: %s", text, err.msg);
            free(text);
        }
    }
}

Test(documents, blocks_of_a_session_are_counted_up_to_one_more_than_the_last_place)
{
    static const char form[] =
        "{\"id\":\"" ID "\",\"anchor\":\"" SHA "\",\"base\":\"" PARENT
        "\",\"machine_class\":\"c\",\"started_at\":\"2026-11-22T10:00:00Z\",\"finished_at\":"
        "\"2026-11-22T10:00:00Z\",\"spent_s\":%s,\"blocks\":%d,\"commits\":[]}";
    static const struct {
        const char *spent;
        int blocks;
        pfc_code code;
    } rows[] = { { "0", 100001, PFC_OK }, { "0", 100002, PFC_EINVAL }, { "0", -1, PFC_EINVAL },
                 { "1e9", 0, PFC_OK },    { "1.1e9", 0, PFC_EINVAL },  { "-1", 0, PFC_EINVAL } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *text = pfc_format(form, rows[i].spent, rows[i].blocks);
        pfc_err err = { 0 };

        cr_expect(eq(int, read_document(A_SESSION, text, strlen(text), &err), rows[i].code), "%s",
                  text);
        free(text);
    }
}

/* ---- detector rules and selections, name by name ---- */

Test(documents, a_rule_holds_where_every_glob_of_it_fits)
{
    static const char *const names[] = { "benchmark", "metric", "backend", "machine_class",
                                         "branch" };
    const pfc_series_name series = { "bench", "metr", "back", "class", "main" };
    static const char *const fits[] = { "bench", "metr", "back", "class", "main" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        for (size_t k = 0; k < PFC_ARRAY_LEN(fits); k++) {
            char *text = pfc_format("{\"rules\":[{\"%s\":\"%s\",\"judged\":false,\"alpha\":0.25,"
                                    "\"min_change\":0.5}]}",
                                    names[i], fits[k]);
            pfc_detector detector = { 0 };
            pfc_detector_settings s;
            json_t *doc = NULL;
            pfc_err err = { 0 };

            cr_assert(eq(int, pfc_json_parse(text, strlen(text), &doc, &err), PFC_OK));
            cr_assert(eq(int, pfc_detector_from_json(doc, &detector, &err), PFC_OK));
            s = pfc_detector_for(&detector, &series);
            cr_expect(eq(int, s.judged, i != k), "%s", text);
            cr_expect(eq(dbl, s.alpha, i == k ? 0.25 : 0), "%s", text);
            cr_expect(eq(dbl, s.min_change, i == k ? 0.5 : 0), "%s", text);
            pfc_detector_clear(&detector);
            json_decref(doc);
            free(text);
        }
    }
}

Test(documents, names_that_are_listed_are_listed_once)
{
    const pfc_benchmark_filter what = { .filter = "x" };
    pfc_benchmark_names names = { 0 };
    pfc_err err = { 0 };

    pfc_benchmark_names_add(&names, "a", NULL);
    pfc_benchmark_names_add(&names, "a", "");
    cr_expect(eq(sz, names.len, 1));
    cr_expect(eq(int, pfc_benchmark_none_matches(&what, &names, &err), PFC_ENOTFOUND));
    cr_expect(eq(str, err.msg, "no benchmark fits --filter \"x\"; there is a"));
    cr_expect(eq(sz, names.len, 0));
    cr_expect(eq(int, pfc_benchmark_none_matches(&what, &names, &err), PFC_ENOTFOUND));
    cr_expect(eq(str, err.msg, "no benchmark fits --filter \"x\"; there are none"));
    cr_expect(ne(ptr, strstr(err.hint, "--backend is a whole name"), NULL));
}
