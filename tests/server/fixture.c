/* Short ways to the things that server tests start from. */
#include "tests/server/fixture.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "server/services/access/access.h"
#include "server/services/detect/detect.h"
#include "server/services/history/history.h"
#include "server/services/ingest/ingest.h"

#define START 1700000000.0

static void must(pfc_code code, const pfc_err *err)
{
    if (code)
        pfc_die("fixture: %s: %s", pfc_code_name(code), err->msg);
}

fx_ground fx_begin(unsigned connections)
{
    fx_ground g = { 0 };

    g.db = pfc_test_db_open(connections, &g.url);
    g.project = fx_project(g.db);
    return g;
}

void fx_end(fx_ground *g)
{
    free(g->url);
    pfc_db_close(g->db);
}

int64_t fx_project(pfc_db *db)
{
    pfc_projects rows = { 0 };
    pfc_err err = { 0 };
    bool created = false;
    int64_t id;

    must(pfc_project_create(db, "test", "p", "main", NULL, &created, &rows, &err), &err);
    id = rows.items[0].id;
    pfc_rows_clear(&rows);
    return id;
}

const char *fx_sha(unsigned n)
{
    static char ring[16][41];
    static unsigned next;
    char *text = ring[next++ % 16];

    (void)snprintf(text, 41, "%040x", n);
    return text;
}

static void fill(pfc_commit *c, unsigned n, unsigned parent, unsigned second)
{
    c->id = pfc_strdup(fx_sha(n));
    c->parents = pfc_calloc(2, sizeof(char *));
    if (parent)
        c->parents[c->parents_len++] = pfc_strdup(fx_sha(parent));
    if (second)
        c->parents[c->parents_len++] = pfc_strdup(fx_sha(second));
    c->author = pfc_strdup("A. Writer");
    c->time = START + 60.0 * n;
    c->subject = pfc_format("change %u \"quoted\\\" {brace}", n);
    c->paths = pfc_calloc(1, sizeof(char *));
    c->paths[c->paths_len++] = pfc_format("src/file, %u.c", n);
}

void fx_commits(pfc_db *db, int64_t project, unsigned first, unsigned last)
{
    size_t len = last - first + 1, fresh = 0;
    pfc_commit *commits = pfc_calloc(len, sizeof(*commits));
    pfc_err err = { 0 };

    for (unsigned n = first; n <= last; n++)
        fill(&commits[n - first], n, n - 1, 0);
    must(pfc_commits_store(db, "test", project, NULL, commits, len, &fresh, &err), &err);
    pfc_commits_free(commits, len);
}

void fx_commit(pfc_db *db, int64_t project, unsigned n, unsigned parent, unsigned second)
{
    pfc_commit *commit = pfc_calloc(1, sizeof(*commit));
    size_t fresh = 0;
    pfc_err err = { 0 };

    fill(commit, n, parent, second);
    must(pfc_commits_store(db, "test", project, NULL, commit, 1, &fresh, &err), &err);
    pfc_commits_free(commit, 1);
}

int64_t fx_position(pfc_db *db, int64_t project, unsigned n)
{
    pfc_commit_rows rows = { 0 };
    pfc_err err = { 0 };
    int64_t position;

    must(pfc_commits_get(db, project, fx_sha(n), &rows, &err), &err);
    position = rows.items[0].position;
    pfc_rows_clear(&rows);
    return position;
}

pfc_run *fx_run(unsigned n)
{
    pfc_run *run = pfc_run_new();
    char id[33];

    pfc_random_id(id);
    run->id = pfc_strdup(id);
    run->project = pfc_strdup("p");
    run->commit = pfc_strdup(fx_sha(n));
    run->suite = pfc_strdup("quick");
    run->suite_hash = pfc_strdup("");
    run->started_at = START + 60.0 * n + 10;
    run->finished_at = START + 60.0 * n + 20;
    run->machine.name = pfc_strdup("host-1");
    run->machine.machine_class = pfc_strdup("test-cpu");
    pfc_labels_set(&run->machine.fingerprint, "compiler", "gcc 12");
    pfc_labels_set(&run->machine.fingerprint, "kernel", "6.1");
    pfc_machine_hash(&run->machine);
    return run;
}

void fx_measure(pfc_run *run, const char *benchmark, const char *metric, double center, double rel,
                size_t count, size_t blocks, uint64_t seed)
{
    pfc_measurement *m = pfc_run_add(run);
    pfc_rng rng;

    pfc_rng_seed(&rng, seed);
    m->benchmark = pfc_strdup(benchmark);
    m->metric = pfc_strdup(metric);
    m->backend = pfc_strdup("cpu-scalar");
    m->unit = pfc_strdup("ns");
    m->status = PFC_STATUS_OK;
    pfc_labels_set(&m->params, "m", "64");
    m->samples = pfc_calloc(count, sizeof(double));
    m->samples_len = count;
    for (size_t i = 0; i < count; i++)
        m->samples[i] = center * exp(rel * pfc_rng_normal(&rng));
    m->blocks = pfc_calloc(blocks, sizeof(uint32_t));
    m->blocks_len = blocks;
    for (size_t i = 0; i < blocks; i++)
        m->blocks[i] = (uint32_t)(count / blocks);
}

void fx_exact(pfc_run *run, const char *benchmark, const char *metric, double value)
{
    fx_measure(run, benchmark, metric, value, 0, 1, 1, 1);
    run->measurements[run->measurements_len - 1].exact = true;
    run->measurements[run->measurements_len - 1].samples[0] = value;
}

void fx_break(pfc_run *run, const char *benchmark, const char *reason)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        pfc_measurement *m = &run->measurements[i];

        if (!pfc_streq(m->benchmark, benchmark))
            continue;
        m->status = PFC_STATUS_BROKEN;
        free(m->reason);
        m->reason = pfc_strdup(reason);
        m->samples_len = m->blocks_len = 0;
    }
}

const pfc_labels *fx_labels(const char *json)
{
    static pfc_labels ring[16];
    static unsigned next;
    pfc_labels *labels = &ring[next++ % PFC_ARRAY_LEN(ring)];
    pfc_err err = { 0 };

    if (!json)
        return NULL;
    pfc_labels_clear(labels);
    must(pfc_labels_parse(json, labels, &err), &err);
    return labels;
}

int64_t fx_ingest(pfc_db *db, int64_t project, pfc_run *run)
{
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    must(pfc_run_ingest(db, "test", project, run, NULL, &result, &err), &err);
    pfc_run_free(run);
    return result.run_id;
}

void fx_detect(pfc_db *db)
{
    pfc_err err = { 0 };
    pfc_detected judged = { 0 };
    pfc_code code;

    do {
        code = pfc_detect_next(db, &judged, &err);
    } while (code == PFC_OK);
    if (code != PFC_ENOTFOUND)
        must(code, &err);
}
