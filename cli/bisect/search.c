/*
 * What a local bisection starts from: settings, commits, kept state, the plan that knows it all.
 */
#include "cli/bisect/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/measure/coverage_line.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/import/import.h"
#include "core/stats/stats.h"

enum { YAML_MAX_BYTES = PFC_CONF_MAX_BYTES, SUITE_MAX_BYTES = 1024 * 1024 };

/* ---- opening ---- */

static const char *pick(const char *flag, const char *yaml)
{
    return flag ? flag : yaml;
}

/* The commits whose perfci.yaml counts where the working tree has none. */
static pfc_code settings_range(pfc_hunt *h, pfc_commit_id **ids, size_t *len, pfc_err *err)
{
    const pfc_hunt_opts *o = h->opts;
    const bool fixed = o->axis != PFC_AXIS_COMMITS;
    const char *to = fixed ? o->at : o->bad;
    pfc_commit_id good, bad;
    pfc_code code = pfc_repo_resolve(h->repo, to ? to : "HEAD", &bad, err);

    if (code)
        return to ? pfc_err_wrap(err, "%s", fixed ? "--at" : "--bad") : code;
    /* What is wrong with the good end is said where the commits are read. */
    if (!fixed && o->good && !pfc_repo_resolve(h->repo, o->good, &good, NULL) &&
        !pfc_repo_path(h->repo, &good, &bad, ids, len, NULL))
        return PFC_OK;
    return pfc_repo_history(h->repo, &bad, 1, ids, len, err);
}

/* One way to measure for all commits. */
static pfc_code read_conf(pfc_hunt *h, pfc_err *err)
{
    pfc_project_place place = { .file = h->opts->config,
                                .dir = h->opts->repo ? h->opts->repo : ".",
                                .repo = h->repo };
    pfc_commit_id *ids = NULL;
    pfc_code code = PFC_OK;

    if (h->repo)
        code = settings_range(h, &ids, &place.commits_len, err);
    place.commits = ids;
    if (!code)
        code = pfc_project_read(&place, &h->conf, &h->source, err);
    free(ids);
    return code;
}

/* The globs that count: the flags', else perfci.yaml's. */
static pfc_code read_commits(pfc_hunt *h, pfc_err *err)
{
    const pfc_hunt_opts *o = h->opts;
    char *const *globs = o->globs_len ? o->globs : h->conf.paths;
    const size_t len = o->globs_len ? o->globs_len : h->conf.paths_len;

    if (o->axis != PFC_AXIS_COMMITS)
        return pfc_hunt_axis_read(h, err);
    if (o->commits_file)
        return pfc_hunt_commits_file(o->commits_file, o->good, o->bad, globs, len, &h->commits,
                                     err);
    if (!o->good || !o->bad)
        return pfc_err_set(err, PFC_EINVAL, "expected --good and --bad, or --commits FILE");
    return pfc_hunt_commits_repo(h->repo, o->good, o->bad, globs, len, &h->commits, err);
}

/* One suite file for every commit: the one beside the perfci.yaml that counts (or, of --suite, in the
 * current folder), else the bad end's, because an older commit may lack it or measure something else.
 * A name that is no file there is one that perfci-bench knows itself. */
static pfc_code take_suite(pfc_hunt *h, const char *suite, pfc_err *err)
{
    const pfc_project_source here = { .dir = (char *)(uintptr_t) "." };
    pfc_commit_id id = { "" };
    char *text = NULL;
    size_t len = 0;
    pfc_code code = PFC_OK;

    h->suite_file = pfc_project_suite(h->opts->suite ? &here : &h->source, suite);
    if (strcmp(h->suite_file, suite) != 0) {
        char *full = realpath(h->suite_file, NULL);

        free(h->suite_file);
        h->measure.suite = h->suite_file = full ? full : pfc_strdup(suite);
        return PFC_OK;
    }
    free(h->suite_file);
    h->suite_file = NULL;
    h->measure.suite = suite;
    if (!h->repo)
        return PFC_OK;
    if (h->points)
        code = pfc_repo_resolve(h->repo, h->opts->at ? h->opts->at : "HEAD", &id, err);
    else
        memcpy(id.hex, h->commits.items[h->commits.len - 1].id, PFC_COMMIT_HEX - 1);
    if (code)
        return code;
    code = pfc_repo_file(h->repo, &id, suite, SUITE_MAX_BYTES, &text, &len, err);
    if (code)
        return code == PFC_ENOTFOUND ? PFC_OK : code;
    code = pfc_fs_temp_dir("perfci-bisect", &h->temp, err);
    if (!code) {
        h->suite_file = pfc_fs_join(h->temp, "suite.yaml");
        code = pfc_fs_write_atomic(h->suite_file, text, len, 0644, err);
        h->measure.suite = h->suite_file;
    }
    free(text);
    return code;
}

static pfc_code settle_measure(pfc_hunt *h, pfc_err *err)
{
    const pfc_hunt_opts *o = h->opts;
    pfc_commit_measure_opts *m = &h->measure;
    const char *suite = pick(o->suite, h->conf.suite);

    m->measure = o->suite ? NULL : pick(o->measure, h->conf.measure);
    m->metric = pick(o->metric, h->conf.metric);
    m->unit = h->conf.unit;
    m->backend = o->backend;
    m->filter = o->filter;
    m->timeout_s = o->timeout_s > 0 ? o->timeout_s : h->conf.timeout_s;
    m->cancelled = pfc_cli_interrupted;
    if (o->better || o->delta != 0) {
        /* "--bad is 5 % larger" also says that larger is worse. */
        m->has_direction = true;
        m->higher_is_better = o->better ? o->better > 0 : o->delta < 0;
    } else if (h->conf.has_better) {
        m->has_direction = true;
        m->higher_is_better = h->conf.higher_is_better;
    }
    m->directions = h->conf.directions;
    m->directions_len = h->conf.directions_len;
    m->any_direction = true; /* where nothing says it, the two ends do */
    m->time = m->measure && (o->time || (h->conf.time && !o->measure));
    if (!m->measure && o->no_checkout)
        return pfc_err_set(err, PFC_EINVAL, "--no-checkout needs --measure CMD");
    if (!m->measure && !suite)
        return pfc_measured_nothing(&h->conf, h->repo ? pfc_repo_root(h->repo) : ".", err);
    if (!m->measure && !m->metric)
        return pfc_err_set(err, PFC_EINVAL, "which metric? Give --metric M, e.g. gemm_tflops");
    if (!m->metric)
        m->metric = m->time ? "wall_time_ns" : "value";
    return m->measure ? PFC_OK : take_suite(h, suite, err);
}

static void say_measured(const pfc_hunt *h)
{
    const pfc_measured what = { .conf = &h->conf,
                                .measure = h->measure.measure,
                                .suite = h->measure.suite,
                                .metric = h->measure.metric,
                                .unit = h->measure.unit,
                                .higher_is_better =
                                    h->measure.has_direction && h->measure.higher_is_better };

    pfc_measured_say(h->cli, &what);
}

static void key_add(pfc_buf *buf, const char *text)
{
    pfc_buf_puts(buf, text ? text : "");
    pfc_buf_putc(buf, '\n');
}

/* What decides what a measurement means; confidence and the like may change between calls. */
static void make_key(pfc_hunt *h)
{
    const pfc_hunt_opts *o = h->opts;
    pfc_buf buf;

    pfc_buf_init(&buf, 64u * 1024 * 1024);
    key_add(&buf, h->measure.metric);
    key_add(&buf, o->benchmark);
    key_add(&buf, o->backend);
    if (o->filter)
        key_add(&buf, o->filter);
    key_add(&buf, h->measure.measure ? h->measure.measure : pick(o->suite, h->conf.suite));
    key_add(&buf, h->ws_opts.build);
    key_add(&buf, h->ws_opts.relink);
    key_add(&buf, o->no_checkout ? "here" : "checkout");
    for (size_t i = 0; i < h->commits.len; i++) {
        key_add(&buf, h->commits.items[i].id);
        if (h->points)
            key_add(&buf, h->points[i]);
    }
    pfc_sha256_hex(pfc_buf_text(&buf), buf.len, h->state.key);
    pfc_buf_clear(&buf);
}

static void place_state(pfc_hunt *h)
{
    if (h->opts->commits_file || h->opts->no_checkout || !h->repo)
        h->state.path = pfc_format("./.perfci/bisect-%.12s.json", h->state.key);
    else
        h->state.path =
            pfc_format("%s/perfci/bisect-%.12s.json", pfc_repo_git_dir(h->repo), h->state.key);
}

/* What a checkout will lack, and what is here and will not be measured. */
static void note_surroundings(const pfc_hunt *h)
{
    pfc_commit_id id = { "" };
    char **modules = NULL;
    char *example = NULL;
    size_t len = 0;

    if (!h->repo || h->opts->no_checkout)
        return;
    if (pfc_repo_is_shallow(h->repo))
        pfc_cli_note(h->cli, "the repository is shallow: only commits it holds can be measured");
    if (!pfc_repo_dirty(h->repo, &len, &example, NULL) && len)
        pfc_cli_note(h->cli,
                     "%zu changed file%s (%.200s) will not be measured: checkouts hold what is "
                     "committed",
                     len, len == 1 ? "" : "s", example);
    free(example);
    if (h->points)
        return;
    memcpy(id.hex, h->commits.items[h->commits.len - 1].id, PFC_COMMIT_HEX - 1);
    if (pfc_repo_submodules(h->repo, &id, &modules, &len, NULL))
        return;
    if (len)
        pfc_cli_warn(h->cli,
                     "%zu submodule%s (%.200s) %s left empty in the checkouts: the build command "
                     "must bring them",
                     len, len == 1 ? "" : "s", modules[0], len == 1 ? "is" : "are");
    for (size_t i = 0; i < len; i++)
        free(modules[i]);
    free(modules);
}

pfc_code pfc_hunt_open(pfc_hunt *h, const pfc_cli *cli, const pfc_hunt_opts *o, pfc_err *err)
{
    bool found = false;
    pfc_code code = PFC_OK;

    *h = (pfc_hunt){ .cli = cli, .opts = o, .started_ns = pfc_clock_ns() };
    if (!o->no_checkout || (!o->commits_file && o->axis == PFC_AXIS_COMMITS))
        code = pfc_repo_open(o->repo ? o->repo : ".", &h->repo, err);
    if (!code)
        code = read_conf(h, err);
    if (!code)
        code = read_commits(h, err);
    h->ws_opts = (pfc_workspace_opts){ .build = pick(o->build, h->conf.build),
                                       .relink = pick(o->relink_command, h->conf.relink),
                                       .cancelled = pfc_cli_interrupted };
    if (!code)
        code = settle_measure(h, err);
    if (code)
        return code;
    say_measured(h);
    note_surroundings(h);
    make_key(h);
    place_state(h);
    if (o->resume || o->dry_run) {
        code = pfc_hunt_state_load(&h->state, h->commits.len, &found, err);
        if (!code && found && !o->dry_run)
            pfc_cli_note(cli, "going on after %zu measurements", h->state.len);
        else if (!code && !o->dry_run)
            pfc_cli_note(cli, "nothing was kept of this bisection: it starts afresh");
    }
    if (o->dry_run) {
        /* What was kept tells how long things take, and is planned with only by --resume. */
        pfc_hunt_costs(h, &h->kept_measure_s, &h->kept_build_s);
        if (!o->resume)
            h->state.len = 0;
    }
    /* Asked for or forbidden, it holds for what was kept, too. */
    if (o->paired)
        h->state.paired = o->paired > 0;
    h->seconds_before = h->state.seconds;
    return code ? code : pfc_hunt_replan(h, err);
}

void pfc_hunt_close(pfc_hunt *h)
{
    pfc_workspace_close(h->ws);
    pfc_bisect_free(h->plan);
    pfc_hunt_state_clear(&h->state);
    for (size_t i = 0; h->points && i < h->commits.len; i++)
        free(h->points[i]);
    free(h->points);
    free(h->confirmed);
    pfc_pairing_clear(&h->pairing);
    free(h->told);
    pfc_hunt_commits_clear(&h->commits);
    pfc_repo_close(h->repo);
    pfc_conf_clear(&h->conf);
    pfc_project_source_clear(&h->source);
    if (h->temp)
        (void)!pfc_fs_remove_tree(h->temp, NULL);
    free(h->temp);
    free(h->suite_file);
    free(h->work);
    *h = (pfc_hunt){ 0 };
}

/* ---- the plan ---- */

bool pfc_hunt_is_end(const pfc_hunt *h, size_t commit)
{
    return commit == 0 || commit == h->commits.len - 1;
}

pfc_code pfc_hunt_tell(pfc_hunt *h, const pfc_hunt_step *s, pfc_err *err)
{
    if (s->confirm)
        return PFC_OK; /* a comparison of its own: see confirm.c */
    if (h->state.paired && s->kind == PFC_OUTCOME_MEASURED)
        return pfc_hunt_pairs_tell(h, s, err);
    if (h->state.paired && !s->reference)
        pfc_pairing_drop(&h->pairing);
    switch (s->kind) {
    case PFC_OUTCOME_MEASURED:
        return pfc_bisect_add_run(h->plan, s->commit, s->build, s->value, err);
    case PFC_OUTCOME_BROKEN:
        pfc_bisect_skip(h->plan, s->commit);
        return PFC_OK;
    case PFC_OUTCOME_TIMED_OUT:
        pfc_bisect_add_timeout(h->plan, s->commit);
        return PFC_OK;
    case PFC_OUTCOME_FAILED:
    case PFC_OUTCOME_CANCELLED:
        /* Ends are tried again and again by us; the plan would give them up. */
        if (!pfc_hunt_is_end(h, s->commit))
            pfc_bisect_add_failure(h->plan, s->commit);
        return PFC_OK;
    }
    return PFC_OK;
}

const pfc_hunt_step *pfc_hunt_first(const pfc_hunt *h)
{
    for (size_t i = 0; i < h->state.len; i++)
        if (h->state.steps[i].kind == PFC_OUTCOME_MEASURED)
            return &h->state.steps[i];
    return NULL;
}

/* What a build costs against a run, from the first of each; 0 while either is unknown. Only the
 * first ones, so that a resumed bisection plans as the interrupted one did. */
double pfc_hunt_build_cost(const pfc_hunt *h)
{
    const pfc_hunt_step *run = pfc_hunt_first(h);
    double build_s = 0;

    for (size_t i = 0; i < h->state.len && build_s <= 0; i++)
        if (h->state.steps[i].built)
            build_s = h->state.steps[i].build_s;
    if (!run || run->measure_s <= 0 || build_s <= 0)
        return 0;
    return PFC_MIN(build_s / run->measure_s, 1000.0);
}

/* The value of the first run at a commit; false: there is none. */
static bool first_value(const pfc_hunt *h, size_t commit, double *value)
{
    for (size_t i = 0; i < h->state.len; i++) {
        const pfc_hunt_step *s = &h->state.steps[i];
        if (s->kind != PFC_OUTCOME_MEASURED || s->commit != commit)
            continue;
        *value = s->value;
        return true;
    }
    return false;
}

/* Which way is better. Where nothing says it, the ends do: the bad one is the worse one. By the first
 * run of each, so that a resumed bisection decides as the interrupted one did. */
static bool direction_of(const pfc_hunt *h)
{
    const pfc_hunt_step *first = pfc_hunt_first(h);
    double good = 0.0;
    double bad = 0.0;

    if (h->measure.has_direction)
        return h->measure.higher_is_better;
    if (!first)
        return pfc_import_higher_is_better(h->measure.metric, h->measure.unit);
    if (first->undirected && first_value(h, 0, &good) && first_value(h, h->commits.len - 1, &bad))
        return bad < good;
    return first->higher_is_better;
}

bool pfc_hunt_turned(const pfc_hunt *h)
{
    return h->higher_is_better != direction_of(h);
}

/* A plan that knows all steps so far. Made anew when the first measurement brought news about the
 * metric itself: its direction, that it is exact, what a build costs. */
pfc_code pfc_hunt_replan(pfc_hunt *h, pfc_err *err)
{
    const pfc_hunt_opts *o = h->opts;
    const pfc_hunt_step *first = pfc_hunt_first(h);
    double *prior = pfc_hunt_prior(&h->commits);
    pfc_bisect_opts opts = {
        .commits = h->commits.len,
        .confidence = o->confidence,
        /* History's noise is that of single runs. */
        .noise_rel = h->state.paired ? 0 : o->noise,
        .layout_noise_rel = o->layout_noise,
        .delta_rel = o->delta,
        .margin = o->margin,
        .paired = h->state.paired,
        .relink = o->relink,
        .first_only = o->first_only,
        .max_runs = h->state.paired && o->max_runs ? PFC_BISECT_MAX_RUNS : (size_t)o->max_runs,
        .run_cost = 1,
        .build_cost = pfc_hunt_build_cost(h) / (h->state.paired ? 2.0 * PFC_PAIRING_PAIRS : 1),
        .prior = prior,
        .seed = 1,
    };
    pfc_code code;

    h->higher_is_better = direction_of(h);
    opts.higher_is_better = h->higher_is_better;
    /* A deterministic metric has no noise; the planner wants something above zero. */
    if (first && first->exact && opts.noise_rel <= 0)
        opts.noise_rel = 1e-6;
    pfc_bisect_free(h->plan);
    h->plan = NULL;
    pfc_hunt_pairs_reset(h);
    code = pfc_bisect_new(&h->plan, &opts, err);
    for (size_t i = 0; i < h->state.len && !code; i++)
        code = pfc_hunt_tell(h, &h->state.steps[i], err);
    free(prior);
    return code;
}
