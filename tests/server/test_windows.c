/*
 * Windows of random series against what follows from their points by the definition: whatever was
 * packed or came late, whichever bounds and however many buckets.
 */
#include <math.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/rng.h"
#include "server/services/history/history.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define COMMITS    60
#define SIDE       500 /* off the line */
#define FIRST_TIME 1700000000.0
#define WINDOWS    24 /* of each series */
#define FIRST_RUN  1000

/* A measurement as it was stored; runs are numbered in the order of arrival. */
typedef struct point {
    unsigned commit; /* its position, too */
    int64_t run_id;
    unsigned started; /* minutes */
    double median, min;
    int64_t n;
    bool infra;
} point;

typedef struct world {
    char *url;
    pfc_db *db;
    int64_t project;
    pfc_rng rng;
    point points[1800];
    size_t len;
    int64_t next_run, run_step;
} world;

static unsigned below(pfc_rng *rng, unsigned n)
{
    return (unsigned)pfc_rng_below(rng, n);
}

/* Few different values, so that equal ones meet, and now and then an odd one. */
static double value(pfc_rng *rng)
{
    static const double odd[] = { 0, -3.5, 1e300, 1e-300, -1e300 };

    return below(rng, 40) == 0 ? odd[below(rng, PFC_ARRAY_LEN(odd))] : 90 + below(rng, 200) / 8.0;
}

static void add_points(world *w, int64_t series, size_t count, const char *stored)
{
    pfc_buf sql, rest;

    if (count == 0)
        return;
    pfc_buf_init(&sql, 1 << 20);
    pfc_buf_init(&rest, 1 << 20);
    pfc_buf_puts(
        &sql, "INSERT INTO runs (project_id, id, run_id, header_hash, commit_id, branch, suite,"
              " suite_hash, machine_id, infra, started_at, finished_at)"
              " OVERRIDING SYSTEM VALUE SELECT 1, v.id, md5(v.id::text), '', c.id, 'main', '', '',"
              " 1, v.infra, to_timestamp(60 * v.m), to_timestamp(60 * v.m)"
              " FROM (VALUES ");
    pfc_buf_puts(&rest,
                 "INSERT INTO measurements (project_id, series_id, run_id, commit_id, stored_at, n,"
                 " median, low, high, min, samples, blocks) SELECT 1, v.s, v.run, r.commit_id, ");
    pfc_buf_puts(&rest, stored);
    pfc_buf_puts(&rest, ", v.n, v.median, v.median, v.median, v.min, '{1}', '{1}' FROM (VALUES ");
    for (size_t i = 0; i < count; i++) {
        point p = { .commit = 1 + below(&w->rng, COMMITS),
                    .run_id = w->next_run += w->run_step,
                    .started = below(&w->rng, 30),
                    .median = value(&w->rng),
                    .min = value(&w->rng),
                    .n = 1 + below(&w->rng, 9),
                    .infra = below(&w->rng, 30) == 0 };
        const bool aside = below(&w->rng, 25) == 0;

        pfc_buf_printf(&sql, "%s(%lld, '%s', %u, %s)", i ? "," : "", (long long)p.run_id,
                       fx_sha(aside ? SIDE : p.commit), p.started, p.infra ? "true" : "false");
        pfc_buf_printf(&rest, "%s(%lld, %lld, %lld, %.17g::float8, %.17g::float8)", i ? "," : "",
                       (long long)series, (long long)p.run_id, (long long)p.n, p.median, p.min);
        if (!aside)
            w->points[w->len++] = p;
    }
    pfc_buf_puts(&sql, ") AS v (id, sha, m, infra) JOIN commits c ON c.sha = v.sha;");
    pfc_buf_puts(&rest, ") AS v (s, run, n, median, min) JOIN runs r ON r.id = v.run;"
                        " INSERT INTO run_parts (project_id, run_id, body_hash, measurements,"
                        " series, samples, received_at) SELECT 1, m.run_id, '', 1, 0, 1,"
                        " m.stored_at FROM measurements m WHERE NOT EXISTS (SELECT FROM run_parts"
                        " q WHERE q.run_id = m.run_id); UPDATE runs r SET received_at ="
                        " p.received_at FROM run_parts p WHERE p.run_id = r.id;");
    pfc_test_sql(w->url, pfc_buf_text(&sql));
    pfc_test_sql(w->url, pfc_buf_text(&rest));
    pfc_buf_clear(&sql);
    pfc_buf_clear(&rest);
}

static void pack(world *w)
{
    int64_t cursor = 0;
    pfc_err err = { 0 };

    pfc_test_sql(w->url, "UPDATE series s SET points = (SELECT count(*) FROM measurements m WHERE"
                         " m.series_id = s.id)");
    do {
        size_t built = 0;

        cr_assert(eq(int, pfc_chunks_step(w->db, 0, &cursor, &built, &err), PFC_OK), "%s", err.msg);
    } while (cursor);
}

static int by_arrival(const void *a, const void *b)
{
    const point *x = a, *y = b;

    if (x->commit != y->commit)
        return x->commit < y->commit ? -1 : 1;
    return x->run_id < y->run_id ? -1 : 1;
}

static int by_start(const void *a, const void *b)
{
    const point *x = a, *y = b;

    if (x->commit == y->commit && x->started != y->started)
        return x->started < y->started ? -1 : 1;
    return by_arrival(a, b);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Points `at` to `end` of an ordered window as the bucket they are said to be. */
static void expect_bucket(const point *points, size_t at, size_t end, const pfc_window_point *got)
{
    double medians[1800], low = INFINITY, high = -INFINITY, min = INFINITY, middle;
    int64_t n = 0;
    bool infra = false;
    size_t len = end - at;

    for (size_t i = at; i < end; i++) {
        medians[i - at] = points[i].median;
        low = fmin(low, points[i].median);
        high = fmax(high, points[i].median);
        min = fmin(min, points[i].min);
        n += points[i].n;
        infra |= points[i].infra;
    }
    qsort(medians, len, sizeof(double), by_value);
    middle = len % 2 ? medians[len / 2] : medians[len / 2 - 1] / 2 + medians[len / 2] / 2;
    cr_assert(eq(dbl, got->median, middle));
    cr_assert(eq(dbl, got->low, low));
    cr_assert(eq(dbl, got->high, high));
    cr_assert(eq(dbl, got->min, min));
    cr_assert(eq(i64, got->n, n));
    cr_assert(eq(int, got->infra, infra));
    cr_assert(eq(i64, got->run_id, points[end - 1].run_id), "the newest stands for it");
    cr_assert(eq(i64, got->position, (int64_t)points[end - 1].commit));
    cr_assert(eq(str, (char *)(uintptr_t)got->commit, (char *)fx_sha(points[end - 1].commit)));
    cr_assert(eq(dbl, got->time, FIRST_TIME + 60.0 * points[end - 1].commit));
}

static void expect_window(const world *w, unsigned from, unsigned to, size_t most,
                          const pfc_window *got)
{
    point kept[1800];
    size_t len = 0, at = 0;

    for (size_t i = 0; i < w->len; i++)
        if (w->points[i].commit >= from && w->points[i].commit <= to)
            kept[len++] = w->points[i];
    cr_assert(eq(int, got->bucketed, len > most));
    cr_assert(eq(sz, got->points.len, len > most ? most : len));
    qsort(kept, len, sizeof(*kept), got->bucketed ? by_arrival : by_start);
    for (size_t i = 0; i < got->points.len; i++) {
        /* as many in each, and one more in the first ones */
        size_t size = got->bucketed ? len / most + (i < len % most) : 1;

        /* two runs at one commit that began at the same time may stand either way round */
        if (!got->bucketed && i + 1 < len && kept[i].commit == kept[i + 1].commit &&
            kept[i].started == kept[i + 1].started &&
            kept[i].run_id != got->points.items[i].run_id) {
            at += size;
            continue;
        }
        if (!got->bucketed && i > 0 && kept[i].commit == kept[i - 1].commit &&
            kept[i].started == kept[i - 1].started) {
            at += size;
            continue;
        }
        expect_bucket(kept, at, at + size, &got->points.items[i]);
        at += size;
    }
    cr_assert(eq(sz, at, len));
}

/* A bound at a commit, by its id or by its time; 0: none. */
static const char *bound(pfc_rng *rng, unsigned commit, char *room, size_t cap)
{
    if (!commit)
        return NULL;
    if (below(rng, 2))
        return fx_sha(commit);
    (void)snprintf(room, cap, "%.0f", FIRST_TIME + 60.0 * commit);
    return room;
}

static void ask(world *w, int64_t series)
{
    char from_text[32], to_text[32];
    const unsigned from = below(&w->rng, 4) ? 1 + below(&w->rng, COMMITS) : 0;
    const unsigned to = below(&w->rng, 4) ? 1 + below(&w->rng, COMMITS) : 0;
    const size_t most =
        w->len && below(&w->rng, 3) ? 1 + below(&w->rng, (unsigned)w->len) : 1 + below(&w->rng, 9);
    const pfc_window_opts opts = { .from = bound(&w->rng, from, from_text, sizeof(from_text)),
                                   .to = bound(&w->rng, to, to_text, sizeof(to_text)),
                                   .points = (int)most };
    const bool reversed = from && to && from > to;
    pfc_window window = { 0 };
    pfc_err err = { 0 };
    pfc_code code = pfc_series_window(w->db, series, &opts, &window, &err);

    if (reversed && strlen(opts.from) == strlen(opts.to)) { /* both ids, or both times */
        cr_assert(eq(int, code, PFC_EINVAL));
        cr_assert(eq(str, err.field, "to"));
        return;
    }
    cr_assert(eq(int, code, PFC_OK), "%s", err.msg);
    expect_window(w, from ? from : 1, to ? to : COMMITS, most, &window);
    pfc_window_clear(&window);
}

Test(windows, are_what_their_points_make_them_by_the_definition)
{
    /* before packing, and after it; a chunk is worth it from 500 points on */
    static const size_t sizes[][2] = { { 0, 0 },   { 1, 0 },   { 0, 1 },     { 7, 3 },
                                       { 90, 40 }, { 700, 0 }, { 900, 300 }, { 1100, 600 } };
    world *w = pfc_calloc(1, sizeof(*w));
    pfc_buf names;
    pfc_err err = { 0 };

    /* whatever the database's own settings are */
    w->url = pfc_test_db_url(false);
    pfc_test_sql(w->url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %1$I SET datestyle = German;"
                         " ALTER DATABASE %1$I SET timezone = ''Asia/Kolkata''',"
                         " current_database()); END $$");
    cr_assert(eq(int, pfc_db_open(&w->db, &(pfc_db_opts){ .url = w->url, .connections = 2 }, &err),
                 PFC_OK));
    w->project = fx_project(w->db);
    w->next_run = FIRST_RUN;
    pfc_rng_seed(&w->rng, 20261123);
    fx_commits(w->db, w->project, 1, COMMITS);
    fx_commit(w->db, w->project, SIDE, 7, 0);
    fx_commit(w->db, w->project, SIDE + 1, COMMITS, SIDE);
    pfc_buf_init(&names, 65536);
    pfc_buf_puts(&names, "INSERT INTO machines (class, name, fingerprint_hash, fingerprint)"
                         " VALUES ('c', 'm', repeat('a', 64), '{}');"
                         "INSERT INTO benchmarks (project_id, name) SELECT 1, 'b' || g FROM "
                         "generate_series(1, 8) AS g;"
                         "INSERT INTO series (project_id, benchmark_id, metric, backend, "
                         "machine_class, branch, unit,"
                         " higher_is_better, exact, headline) SELECT 1, id, 'm', 'b', 'c', 'main', "
                         "'ns', false, false,"
                         " false FROM benchmarks ORDER BY id");
    pfc_test_sql(w->url, pfc_buf_text(&names));
    pfc_buf_clear(&names);
    for (size_t s = 0; s < PFC_ARRAY_LEN(sizes); s++) {
        const int64_t series = (int64_t)s + 1;

        w->len = 0;
        /* Over several months, so that there are several chunks. Runs are stored in the order of
         * their numbers, of all series together. */
        w->next_run = FIRST_RUN + (int64_t)s;
        w->run_step = PFC_ARRAY_LEN(sizes);
        add_points(w, series, sizes[s][0],
                   "now() - (1 - (v.run - 1000) / 10000.0) * interval '100 days'");
        if (sizes[s][0])
            pack(w);
        w->next_run = FIRST_RUN * 100 * (int64_t)(s + 1);
        w->run_step = 1;
        add_points(w, series, sizes[s][1], "now()"); /* late, at any commit */
        for (int i = 0; i < WINDOWS; i++)
            ask(w, series);
    }
    char *chunks = pfc_test_sql_value(w->url, "SELECT count(*) >= 8 FROM series_chunks");
    cr_assert(eq(str, chunks, "t"), "three packed series of several months");
    free(chunks);
    pfc_db_close(w->db);
    free(w->url);
    free(w);
}
