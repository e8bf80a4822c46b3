/* The roofline of a branch: which ceilings apply, stored work, and what has no place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/services/ingest/ingest.h"
#include "server/services/plot/roofline.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

/* ---- which ceilings apply ---- */

static const pfc_run_ceiling ceilings[] = {
    { .name = "f32",
      .unit = "FLOP/s",
      .value = 100,
      .dtype = "f32",
      .level = "",
      .backend = "cpu-*" },
    { .name = "any", .unit = "FLOP/s", .value = 20, .dtype = "", .level = "", .backend = "cpu-*" },
    { .name = "chip",
      .unit = "OP/s",
      .value = 900,
      .dtype = "",
      .level = "",
      .backend = "accel:x" },
    { .name = "DRAM",
      .memory = true,
      .unit = "B/s",
      .value = 5,
      .dtype = "",
      .level = "DRAM",
      .backend = "cpu-*" },
    { .name = "L1",
      .memory = true,
      .unit = "B/s",
      .value = 50,
      .dtype = "",
      .level = "L1",
      .capacity_bytes = 1000,
      .backend = "cpu-*" },
    { .name = "L2",
      .memory = true,
      .unit = "B/s",
      .value = 25,
      .dtype = "",
      .level = "L2",
      .capacity_bytes = 9000,
      .backend = "cpu-*" },
};

Test(roofline, the_ceilings_of_a_benchmark_follow_from_backend_type_and_bytes)
{
    static const struct {
        const char *backend, *dtype;
        double bytes;
        size_t compute, memory;
    } rows[] = {
        { "cpu-avx2", "f32", 1000, 0, 4 },       { "cpu-avx2", "f32", 1001, 0, 5 },
        { "cpu-avx2", "bf16", 9001, 1, 3 },      { "cpu-avx2", NULL, 1, 1, 4 },
        { "accel:x", "f32", 1, 2, SIZE_MAX },    { "accel:xy", "f32", 1, SIZE_MAX, SIZE_MAX },
        { "cpu", "f32", 1, SIZE_MAX, SIZE_MAX },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        size_t compute = 77, memory = 77;

        pfc_roofline_choose(ceilings, PFC_ARRAY_LEN(ceilings), rows[i].backend, rows[i].dtype,
                            rows[i].bytes, &compute, &memory);
        cr_expect(eq(sz, compute, rows[i].compute), "row %zu", i);
        cr_expect(eq(sz, memory, rows[i].memory), "row %zu", i);
    }
}

Test(roofline, times_are_told_by_their_unit)
{
    cr_expect(epsilon_eq(dbl, pfc_roofline_seconds("ns"), 1e-9, 1e-15));
    cr_expect(epsilon_eq(dbl, pfc_roofline_seconds("ms"), 1e-3, 1e-9));
    cr_expect(epsilon_eq(dbl, pfc_roofline_seconds("s"), 1, 1e-9));
    cr_expect(zero(dbl, pfc_roofline_seconds("bytes")));
    cr_expect(zero(dbl, pfc_roofline_seconds("cycles")));
}

/* ---- stored and read ---- */

static pfc_measurement *measure(pfc_run *run, const char *benchmark, const char *metric,
                                double value, double operations, double bytes)
{
    pfc_measurement *m;

    fx_measure(run, benchmark, metric, value, 0, 4, 2, 1);
    m = &run->measurements[run->measurements_len - 1];
    pfc_labels_set(&m->params, "dtype", "f32");
    m->operations = operations;
    m->bytes = bytes;
    return m;
}

/* Flat at `flat` operations a second; memory at a tenth of that in bytes a second. */
static void add_ceilings(pfc_run *run, double flat)
{
    for (int i = 0; i < 2; i++) {
        pfc_run_ceiling *c = pfc_run_add_ceiling(run);

        c->memory = i == 1;
        c->name = pfc_strdup(c->memory ? "DRAM read" : "f32 arithmetic");
        c->unit = pfc_strdup(c->memory ? "B/s" : "FLOP/s");
        c->value = c->memory ? flat / 10 : flat;
        c->dtype = pfc_strdup(c->memory ? "" : "f32");
        c->level = pfc_strdup(c->memory ? "DRAM" : "");
        c->backend = pfc_strdup("");
    }
}

/* Commits 1 to 4. gemm: 1000 ns at 1, 500 ns at 3, where its operations are other ones. */
static int64_t ground(pfc_db *db)
{
    const int64_t p = fx_project(db);
    pfc_run *run;

    fx_commits(db, p, 1, 4);
    run = fx_run(1);
    measure(run, "gemm", "time_ns", 1000, 8000, 400);
    measure(run, "copy", "time_ns", 1000, 0, 400);
    measure(run, "plain", "time_ns", 1000, 0, 0);
    measure(run, "size", "bytes", 7, 0, 0);
    free(run->measurements[3].unit);
    run->measurements[3].unit = pfc_strdup("bytes");
    add_ceilings(run, 16e9);
    fx_ingest(db, p, run);
    run = fx_run(3);
    measure(run, "gemm", "time_ns", 500, 4000, 1000);
    fx_ingest(db, p, run);
    return p;
}

static void read(pfc_db *db, int64_t p, pfc_roofline_opts opts, pfc_roofline *out)
{
    pfc_err err = { 0 };

    opts.branch = "main";
    cr_assert(eq(int, pfc_roofline_read(db, p, &opts, out, &err), PFC_OK), "%s", err.msg);
}

Test(roofline, each_side_has_its_own_work_and_the_limit_that_held)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = ground(db);
    pfc_roofline r = { 0 };
    const pfc_roofline_point *a, *b;

    read(db, p, (pfc_roofline_opts){ .a = fx_sha(2), .select = "gemm" }, &r);
    cr_assert(eq(sz, r.len, 1));
    a = &r.rows[0].a;
    b = &r.rows[0].b;
    cr_expect(eq(str, (char *)(uintptr_t)a->commit, (char *)fx_sha(1)),
              "the newest before commit 2");
    cr_expect(eq(str, (char *)(uintptr_t)b->commit, (char *)fx_sha(3)));
    /* 8000 operations in 1000 ns, 20 a byte: 16e9 is less than 1.6e9 x 20 */
    cr_expect(epsilon_eq(dbl, a->rate, 8e9, 1));
    cr_expect(epsilon_eq(dbl, a->intensity, 20, 1e-9));
    cr_expect(epsilon_eq(dbl, a->limit, 16e9, 1));
    cr_expect(eq(int, a->by_memory, 0));
    /* 4000 in 500 ns, 4 a byte: 1.6e9 x 4 */
    cr_expect(epsilon_eq(dbl, b->rate, 8e9, 1));
    cr_expect(epsilon_eq(dbl, b->intensity, 4, 1e-9));
    cr_expect(epsilon_eq(dbl, b->limit, 6.4e9, 1),
              "of the run at commit 1: the newest that states any");
    cr_expect(eq(int, b->by_memory, 1));
    cr_assert(eq(sz, r.ceilings_len, 2));
    cr_expect(eq(i64, r.ceilings[b->memory].run_id, a->run_id));
    pfc_roofline_clear(&r);
    pfc_db_close(db);
}

Test(roofline, what_has_no_place_is_listed_with_its_reason)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = ground(db);
    pfc_roofline r = { 0 };

    read(db, p, (pfc_roofline_opts){ 0 }, &r);
    cr_expect(eq(sz, r.matched, 4));
    cr_expect(eq(sz, r.len, 1));
    cr_expect(eq(int, r.rows[0].a.run_id != 0, 0), "no other side was asked for");
    cr_assert(eq(sz, r.missing_len, 3));
    cr_expect(eq(int, r.missing[0].reason, PFC_ROOFLINE_NO_OPERATIONS), "copy");
    cr_expect(eq(int, r.missing[1].reason, PFC_ROOFLINE_NO_WORK), "plain");
    cr_expect(eq(int, r.missing[2].reason, PFC_ROOFLINE_NO_TIME), "size");
    pfc_roofline_clear(&r);

    read(db, p, (pfc_roofline_opts){ .backend = "other" }, &r);
    cr_expect(eq(sz, r.matched, 0));
    pfc_roofline_clear(&r);
    pfc_db_close(db);
}

/* A later run with higher ceilings: it holds for results from then on, and not for those before. */
Test(roofline, ceilings_that_come_later_do_not_change_what_was)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = ground(db);
    pfc_run *run = fx_run(4);
    pfc_roofline r = { 0 };

    measure(run, "gemm", "time_ns", 500, 8000, 400);
    add_ceilings(run, 32e9);
    fx_ingest(db, p, run);
    read(db, p, (pfc_roofline_opts){ .a = fx_sha(3), .select = "gemm" }, &r);
    cr_expect(epsilon_eq(dbl, r.rows[0].a.limit, 6.4e9, 1));
    cr_expect(epsilon_eq(dbl, r.rows[0].b.limit, 32e9, 1));
    cr_expect(eq(sz, r.ceilings_len, 4));
    pfc_roofline_clear(&r);
    pfc_db_close(db);
}

Test(roofline, a_stored_run_comes_back_with_its_work_and_ceilings)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    pfc_run *run = fx_run(1), *back = NULL;
    char *sent, *stored;
    int64_t id;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 1);
    measure(run, "gemm", "time_ns", 1000, 8000, 400);
    add_ceilings(run, 16e9);
    run->ceilings[0].at = 1.75e9;
    run->ceilings[0].capacity_bytes = 3e4;
    run->ceilings[1].chip_file = true;
    sent = pfc_run_ceilings_text(run);
    id = fx_ingest(db, p, run);
    cr_assert(eq(int, pfc_run_load(db, p, id, &back, &err), PFC_OK), "%s", err.msg);
    stored = pfc_run_ceilings_text(back);
    cr_expect(eq(str, stored, sent));
    cr_expect(epsilon_eq(dbl, back->measurements[0].operations, 8000, 0));
    cr_expect(epsilon_eq(dbl, back->measurements[0].bytes, 400, 0));
    pfc_run_free(back);
    free(sent);
    free(stored);
    pfc_db_close(db);
}

/* The same document again is the same answer; other operations under the same id are another
 * document, whose series the run has already. */
Test(roofline, operations_are_part_of_what_a_document_says)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    pfc_ingest_result first = { 0 }, again = { 0 };
    pfc_run *run = fx_run(1);
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 1);
    measure(run, "gemm", "time_ns", 1000, 8000, 400);
    cr_assert(eq(int, pfc_run_ingest(db, "t", p, run, NULL, &first, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_run_ingest(db, "t", p, run, NULL, &again, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(i64, again.run_id, first.run_id));
    run->measurements[0].operations = 9000;
    cr_expect(eq(int, pfc_run_ingest(db, "t", p, run, NULL, &again, &err), PFC_ECONFLICT));
    pfc_run_free(run);
    pfc_db_close(db);
}
