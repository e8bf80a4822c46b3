/*
 * Measuring for run, compare, check and nightly.
 */
#include "cli/measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/measure/coverage_line.h"
#include "core/comparison/document_pairs.h"
#include "cli/output/output.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/process/proc.h"
#include "core/base/rng.h"
#include "core/import/import.h"
#include "runner/measure/canary.h"

enum { COMMAND_REPEATS = 5, SUITE_REPEATS = 1, ERROR_BYTES = 64 * 1024 };

void pfc_take_add_backend(pfc_take_opts *opts, const char *name, struct argp_state *state)
{
    if (opts->backends_len == PFC_TAKE_MAX_BACKENDS)
        pfc_cli_usage(state, "--backend: at most %d", PFC_TAKE_MAX_BACKENDS);
    opts->backends[opts->backends_len++] = name;
}

/* ---- opening ---- */

pfc_benchmark_filter pfc_take_select(const pfc_take_opts *o)
{
    return (pfc_benchmark_filter){ o->filter, o->backends, o->backends_len };
}

static void settle(pfc_take *t)
{
    const pfc_take_opts *o = t->opts;
    pfc_commit_measure_opts *m = &t->measure;

    free(t->suite);
    t->suite = o->suite        ? pfc_strdup(o->suite)
               : t->conf.suite ? pfc_project_suite(&t->source, t->conf.suite)
                               : NULL;
    m->measure = o->measure ? o->measure : o->suite ? NULL : t->conf.measure;
    m->suite = t->suite;
    m->filter = m->measure ? NULL : o->filter; /* of a command: pfc_run_filter */
    m->metric = t->conf.metric;
    m->resources = o->resources;
    m->unit = t->conf.unit;
    m->has_direction = t->conf.has_better;
    m->higher_is_better = t->conf.higher_is_better;
    t->directions = o->directions;
    pfc_directions_add_conf(&t->directions, &t->conf);
    m->directions = t->directions.items;
    m->directions_len = t->directions.len;
    m->time = m->measure && (o->time || (t->conf.time && !o->measure));
    m->timeout_s = o->timeout_s > 0 ? o->timeout_s : t->conf.timeout_s;
    m->wait_quiet = o->wait_quiet;
    m->cancelled = pfc_cli_interrupted;
}

/* The commits whose perfci.yaml counts where the working tree has none; none of them when the ends
 * are no commits, which is for the command itself to say. */
static void range_commits(pfc_repo *repo, const pfc_take_range *range, pfc_commit_id **ids,
                          size_t *len)
{
    const char *from = range ? range->from : NULL;
    pfc_commit_id a, b;

    if (!repo || pfc_repo_resolve(repo, range && range->to ? range->to : "HEAD", &b, NULL))
        return;
    if (from && !pfc_repo_resolve(repo, from, &a, NULL) &&
        !pfc_repo_path(repo, &a, &b, ids, len, NULL))
        return;
    if (pfc_repo_history(repo, &b, 1, ids, len, NULL))
        *len = 0;
}

static pfc_code read_settings(pfc_take *t, const pfc_project_place *place, pfc_err *err)
{
    pfc_conf conf = { 0 };
    pfc_project_source source = { 0 };
    pfc_code code = pfc_project_read(place, &conf, &source, err);

    if (code)
        return code;
    pfc_conf_clear(&t->conf);
    pfc_project_source_clear(&t->source);
    t->conf = conf;
    t->source = source;
    settle(t);
    return PFC_OK;
}

pfc_code pfc_take_open(pfc_take *t, const pfc_cli *cli, const pfc_take_opts *opts, const char *dir,
                       bool need_repo, const pfc_take_range *range, pfc_err *err)
{
    pfc_project_place place = { .file = opts->config, .dir = dir ? dir : "." };
    pfc_commit_id *ids = NULL;
    pfc_code code;

    *t = (pfc_take){ .cli = cli, .opts = opts };
    code = pfc_repo_open(place.dir, &t->repo, err);
    if (code == PFC_ENOTFOUND && !need_repo) {
        *err = (pfc_err){ 0 };
        code = PFC_OK;
    }
    if (code)
        return code;
    if (t->repo && !pfc_repo_is_bare(t->repo))
        t->root = pfc_strdup(pfc_repo_root(t->repo));
    else
        t->root = realpath(place.dir, NULL);
    if (!t->root)
        return pfc_err_set(err, PFC_ENOTFOUND, "%.300s: there is no such folder", dir);
    range_commits(t->repo, range, &ids, &place.commits_len);
    place.repo = t->repo;
    place.commits = ids;
    code = read_settings(t, &place, err);
    free(ids);
    return code;
}

pfc_code pfc_take_config_of(pfc_take *t, const pfc_commit_id *base, pfc_err *err)
{
    const pfc_project_place place = { .repo = t->repo, .commits = base, .commits_len = 1 };

    return t->opts->config ? PFC_OK : read_settings(t, &place, err);
}

pfc_code pfc_take_ready(pfc_take *t, pfc_err *err)
{
    const pfc_commit_measure_opts *m = &t->measure;
    const pfc_measured what = { .conf = &t->conf,
                                .measure = m->measure,
                                .suite = m->suite,
                                .metric = m->measure ? m->metric : NULL,
                                .unit = m->unit,
                                .time = m->time,
                                .higher_is_better = m->higher_is_better,
                                .cost = m->metric && !m->has_direction && !m->time &&
                                        !pfc_import_nature(m->metric, m->unit) };

    if (!m->measure && !m->suite)
        return pfc_measured_nothing(&t->conf, t->root, err);
    if (t->opts->time && !m->measure) {
        (void)pfc_err_set(err, PFC_EINVAL, "--time: expected a command to measure, got a suite");
        return pfc_err_hint(err, "write \"-- CMD\" behind run, or \"measure:\" in perfci.yaml");
    }
    if (!t->heading_printed)
        pfc_measured_say(t->cli, &what);
    t->heading_printed = true;
    return PFC_OK;
}

void pfc_take_close(pfc_take *t)
{
    pfc_workspace_close(t->ws);
    pfc_repo_close(t->repo);
    pfc_conf_clear(&t->conf);
    pfc_project_source_clear(&t->source);
    pfc_built_clear(&t->built);
    free(t->suite);
    free(t->root);
    free(t->work);
    *t = (pfc_take){ 0 };
}

pfc_code pfc_take_workspace(pfc_take *t, size_t builds, pfc_err *err)
{
    pfc_code code = pfc_take_ready(t, err);
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const char *git_dir = pfc_repo_git_dir(t->repo);
    char hash[PFC_SHA256_HEX];

    if (code || t->ws)
        return code;
    pfc_sha256_hex(git_dir, strlen(git_dir), hash);
    if (t->opts->work)
        t->work = pfc_strdup(t->opts->work);
    else if (cache && cache[0] == '/')
        t->work = pfc_format("%s/perfci/work-%.12s", cache, hash);
    else
        t->work =
            pfc_format("%s/.cache/perfci/work-%.12s", home && home[0] == '/' ? home : "/tmp", hash);
    t->ws_opts = (pfc_workspace_opts){
        .dir = t->work,
        .source = pfc_repo_root(t->repo),
        .build = t->opts->build ? t->opts->build : t->conf.build,
        .relink = t->conf.relink,
        .build_timeout_s = t->conf.timeout_s,
        .max_checkouts = PFC_MAX(builds, (size_t)PFC_WORKSPACE_CHECKOUTS),
        .cancelled = pfc_cli_interrupted,
    };
    return pfc_workspace_open(&t->ws_opts, &t->ws, err);
}

/* ---- one measurement ---- */

static pfc_code outcome_code(const pfc_outcome *out, pfc_err *err)
{
    switch (out->kind) {
    case PFC_OUTCOME_MEASURED:
        return PFC_OK;
    case PFC_OUTCOME_BROKEN:
        return pfc_err_set(err, out->refused ? PFC_EINVAL : PFC_EBROKEN, "%s", out->reason);
    case PFC_OUTCOME_FAILED:
        return pfc_err_set(err, out->unavailable ? PFC_EUNAVAIL : PFC_EBROKEN, "%s", out->reason);
    case PFC_OUTCOME_TIMED_OUT:
        return pfc_err_set(err, PFC_ETIMEOUT, "%s", out->reason);
    case PFC_OUTCOME_CANCELLED:
        break;
    }
    return pfc_err_set(err, PFC_EUNAVAIL, "interrupted");
}

static pfc_code outcome_error(const pfc_outcome *out, pfc_err *err)
{
    const pfc_code code = outcome_code(out, err);

    if (code && out->hint[0])
        pfc_err_hint(err, "%s", out->hint);
    return code;
}

/* id NULL: the working tree. One run of all wanted benchmarks and backends: a command runs once and
 * has what is not wanted taken away, perfci-bench runs once a backend. */
static pfc_code once(pfc_take *t, const pfc_commit_id *id, pfc_run **out, pfc_err *err)
{
    const bool command = t->measure.measure != NULL;
    const size_t backends = command ? 1 : PFC_MAX(t->opts->backends_len, (size_t)1);
    const pfc_benchmark_filter wanted = pfc_take_select(t->opts);
    pfc_run *run = NULL;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < backends && !code; i++) {
        pfc_outcome outcome = { 0 };

        t->measure.backend = !command && t->opts->backends_len ? t->opts->backends[i] : NULL;
        if (id)
            code = pfc_workspace_measure(t->ws, &t->measure, id, 0, &outcome, err);
        else
            code = pfc_measure(&t->measure, t->root, NULL, 0, &outcome, err);
        if (!code)
            code = outcome_error(&outcome, err);
        if (!code && outcome.note[0] && !t->noted) {
            pfc_cli_note(t->cli, "%s", outcome.note);
            t->noted = true;
        }
        if (!code && command)
            code = pfc_run_filter(outcome.run, &wanted, err);
        if (!code && run) {
            pfc_run_merge(run, outcome.run);
            outcome.run = NULL;
        } else if (!code) {
            run = outcome.run;
            outcome.run = NULL;
        }
        pfc_outcome_clear(&outcome);
    }
    if (code)
        pfc_run_free(run);
    else
        *out = run;
    return code;
}

static size_t repeats(const pfc_take *t)
{
    if (t->opts->repeats)
        return t->opts->repeats;
    return t->measure.measure ? COMMAND_REPEATS : SUITE_REPEATS;
}

/* One more measurement into *run. */
static pfc_code once_more(pfc_take *t, const pfc_commit_id *id, pfc_run **run, pfc_err *err)
{
    pfc_run *more = NULL;
    pfc_code code = once(t, id, &more, err);

    if (!code && *run)
        pfc_run_merge(*run, more);
    else if (!code)
        *run = more;
    return code;
}

/* A suite brackets itself. */
static void watch(pfc_take *t, pfc_canary *canary)
{
    pfc_canary_begin(canary, NULL);
    if (!canary->before && !t->no_canary)
        pfc_cli_note(t->cli, "no canary: %s; a machine that changes its speed is not noticed",
                     canary->reason);
    t->no_canary = !canary->before;
}

void pfc_take_say_moved(const pfc_take *t)
{
    pfc_cli_warn(t->cli,
                 "the machine changed its speed during the measurement (canary): the run is "
                 "marked as disturbed by infrastructure");
}

static pfc_code repeat(pfc_take *t, const pfc_commit_id *id, pfc_run **out, pfc_err *err)
{
    const size_t n = repeats(t);
    pfc_canary canary = { 0 };
    pfc_run *run = NULL;
    pfc_code code = PFC_OK;

    if (t->measure.measure)
        watch(t, &canary);
    for (size_t i = 0; i < n && !code; i++) {
        pfc_cli_progress(t->cli, "measuring %zu of %zu", i + 1, n);
        code = once_more(t, id, &run, err);
    }
    pfc_cli_progress(t->cli, "%s", "");
    if (code) {
        pfc_canary_clear(&canary);
        pfc_run_free(run);
        return code;
    }
    if (pfc_canary_end(&canary, &run, 1, NULL))
        pfc_take_say_moved(t);
    *out = run;
    return PFC_OK;
}

/* ---- what is measured ---- */

static void look_at_build(pfc_take *t, const char *dir, pfc_run *run)
{
    pfc_built_clear(&t->built);
    pfc_built_look(dir, &t->measure, &t->built);
    pfc_built_mark(&t->built, run);
}

static pfc_code build_tree(pfc_take *t, pfc_err *err)
{
    const char *build = t->opts->build ? t->opts->build : t->conf.build;
    const char *argv[] = { "/bin/sh", "-c", build, NULL };
    const pfc_proc_opts opts = { .argv = argv,
                                 .cwd = t->root,
                                 .timeout_s = t->conf.timeout_s,
                                 .merge = true,
                                 .max_output_bytes = ERROR_BYTES,
                                 .cancelled = pfc_cli_interrupted };
    pfc_proc_result res;
    pfc_code code;

    if (!build || !*build)
        return PFC_OK;
    pfc_cli_progress(t->cli, "building");
    code = pfc_proc_run(&opts, &res, err);
    if (code)
        return code;
    if (res.exit_status != 0) {
        char how[64];

        pfc_proc_describe(&res, how, sizeof(how));
        pfc_out_err("%s", pfc_buf_text(&res.out));
        code = pfc_err_set(err, PFC_EBROKEN, "the build failed: %s", how);
    }
    t->build_s = res.seconds;
    pfc_proc_result_clear(&res);
    return code;
}

pfc_code pfc_take_tree(pfc_take *t, pfc_run **out, pfc_err *err)
{
    size_t changed = 0;
    pfc_commit_id head;
    pfc_code code = pfc_take_ready(t, err);

    if (!code)
        code = build_tree(t, err);

    if (!code)
        code = repeat(t, NULL, out, err);
    if (code)
        return code;
    free((*out)->commit);
    (*out)->commit = NULL;
    if (t->repo)
        look_at_build(t, t->root, *out);
    /* A tree with changes is no commit: its values must not enter the commit's series. */
    if (t->repo && !pfc_repo_dirty(t->repo, &changed, NULL, NULL) && changed == 0 &&
        !pfc_repo_resolve(t->repo, "HEAD", &head, NULL))
        (*out)->commit = pfc_strdup(head.hex);
    return PFC_OK;
}

pfc_code pfc_take_commit(pfc_take *t, const pfc_commit_id *id, pfc_run **out, pfc_err *err)
{
    pfc_outcome prepared = { 0 };
    char *dir = NULL;
    pfc_code code = pfc_take_workspace(t, 0, err);

    if (!code)
        code = repeat(t, id, out, err);
    /* It is in the cache, as it was measured. */
    if (!code && pfc_workspace_prepare(t->ws, id, 0, &dir, &prepared, NULL) == PFC_OK && dir)
        look_at_build(t, dir, *out);
    pfc_outcome_clear(&prepared);
    free(dir);
    return code;
}

/* The checkout of one side, built. Caller frees *dir. */
static pfc_code prepare_side(pfc_take *t, const pfc_commit_id *id, char **dir, pfc_err *err)
{
    pfc_outcome outcome = { 0 };
    pfc_code code;

    pfc_cli_progress(t->cli, "preparing %.12s", id->hex);
    code = pfc_workspace_prepare(t->ws, id, 0, dir, &outcome, err);
    if (!code && outcome_error(&outcome, err))
        code = pfc_err_wrap(err, "%.12s", id->hex);
    pfc_outcome_clear(&outcome);
    return code;
}

pfc_code pfc_take_turns(pfc_take *t, const pfc_commit_id *a, const pfc_commit_id *b, double margin,
                        pfc_run **run_a, pfc_run **run_b, pfc_err *err)
{
    const size_t backends = PFC_MAX(t->opts->backends_len, (size_t)1);
    pfc_pair_opts pair = { .commits = { a->hex, b->hex }, .margin = margin, .seed = t->opts->seed };
    char *dirs[2] = { NULL, NULL };
    pfc_run *runs[2] = { NULL, NULL };
    pfc_code code;

    if (t->measure.measure)
        return pfc_err_set(err, PFC_EUNAVAIL,
                           "a command is measured as a whole, it takes no turns");
    code = pfc_take_workspace(t, 0, err);
    if (!code)
        code = prepare_side(t, a, &dirs[0], err);
    if (!code)
        code = prepare_side(t, b, &dirs[1], err);
    pair.dirs[0] = dirs[0];
    pair.dirs[1] = dirs[1];
    for (size_t i = 0; i < backends && !code; i++) {
        pfc_outcome outcome = { 0 };
        pfc_run *more = NULL;

        t->measure.backend = t->opts->backends_len ? t->opts->backends[i] : NULL;
        pfc_cli_progress(t->cli, "measuring %.12s and %.12s interleaved", a->hex, b->hex);
        code = pfc_measure_pairs(&t->measure, &pair, &more, &outcome, err);
        if (!code)
            code = outcome_error(&outcome, err);
        for (int side = 0; side < 2 && !code; side++) {
            pfc_run *got = side ? outcome.run : more;
            if (runs[side])
                pfc_run_merge(runs[side], got);
            else
                runs[side] = got;
        }
        if (!code)
            outcome.run = NULL;
        pfc_outcome_clear(&outcome);
    }
    pfc_cli_progress(t->cli, "%s", "");
    free(dirs[0]);
    free(dirs[1]);
    if (code) {
        pfc_run_free(runs[0]);
        pfc_run_free(runs[1]);
        return code;
    }
    *run_a = runs[0];
    *run_b = runs[1];
    return PFC_OK;
}
