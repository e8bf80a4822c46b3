/*
 * The settings of a measurement, and their digest.
 */
#include "cli/bisect/measuring/measuring.h"

#include <stdlib.h>
#include <string.h>

#include "cli/measure/coverage_line.h"
#include "core/base/fs.h"

enum { SUITE_MAX_BYTES = 1024 * 1024 };

static const char *pick(const char *flag, const char *yaml)
{
    return flag ? flag : yaml;
}

/* The commits whose perfci.yaml is read where the working tree has none. */
static pfc_code settings_range(bisect_measuring *m, pfc_commit_id **ids, size_t *len, pfc_err *err)
{
    const bisect_opts *o = m->opts;
    const bool fixed = o->axis != BISECT_COMMITS;
    const char *to = fixed ? o->at : o->bad;
    pfc_commit_id good, bad;
    pfc_code code = pfc_repo_resolve(m->builds->repo, to ? to : "HEAD", &bad, err);

    if (code)
        return to ? pfc_err_wrap(err, "%s", fixed ? "--at" : "--bad") : code;
    /* Errors of the good commit are reported where the axis is read. */
    if (!fixed && o->good && !pfc_repo_resolve(m->builds->repo, o->good, &good, NULL) &&
        !pfc_repo_path(m->builds->repo, &good, &bad, ids, len, NULL))
        return PFC_OK;
    return pfc_repo_history(m->builds->repo, &bad, 1, ids, len, err);
}

pfc_code bisect_measuring_read(bisect_measuring *m, pfc_err *err)
{
    pfc_project_place place = { .file = m->opts->config,
                                .dir = m->opts->repo ? m->opts->repo : ".",
                                .repo = m->builds->repo };
    pfc_commit_id *ids = NULL;
    pfc_code code = PFC_OK;

    if (m->builds->repo)
        code = settings_range(m, &ids, &place.commits_len, err);
    place.commits = ids;
    if (!code)
        code = pfc_project_read(&place, &m->conf, &m->source, err);
    free(ids);
    return code;
}

/* One suite file for every commit: the one beside the perfci.yaml in use (of --suite: in the
 * current folder), else the bad commit's, because an older commit may lack it or measure something
 * else. A name that is no file there is one of the suites built into perfci-bench. */
static pfc_code find_suite(bisect_measuring *m, const char *suite, pfc_err *err)
{
    const pfc_project_source here = { .dir = (char *)(uintptr_t) "." };
    pfc_commit_id id = { "" };
    char *text = NULL;
    size_t len = 0;
    pfc_code code = PFC_OK;

    m->suite_file = pfc_project_suite(m->opts->suite ? &here : &m->source, suite);
    if (strcmp(m->suite_file, suite) != 0) {
        char *full = realpath(m->suite_file, NULL);

        free(m->suite_file);
        m->how.suite = m->suite_file = full ? full : pfc_strdup(suite);
        return PFC_OK;
    }
    free(m->suite_file);
    m->suite_file = NULL;
    m->how.suite = suite;
    if (!m->builds->repo)
        return PFC_OK;
    if (m->axis->points)
        code = pfc_repo_resolve(m->builds->repo, m->opts->at ? m->opts->at : "HEAD", &id, err);
    else
        memcpy(id.hex, bisect_id(m->axis, bisect_bad(m->axis)), PFC_COMMIT_HEX - 1);
    if (code)
        return code;
    code = pfc_repo_file(m->builds->repo, &id, suite, SUITE_MAX_BYTES, &text, &len, err);
    if (code)
        return code == PFC_ENOTFOUND ? PFC_OK : code;
    code = pfc_fs_temp_dir("perfci-bisect", &m->temp, err);
    if (!code) {
        m->suite_file = pfc_fs_join(m->temp, "suite.yaml");
        code = pfc_fs_write_atomic(m->suite_file, text, len, 0644, err);
        m->how.suite = m->suite_file;
    }
    free(text);
    return code;
}

pfc_code bisect_measuring_settle(bisect_measuring *m, pfc_err *err)
{
    const bisect_opts *o = m->opts;
    pfc_commit_measure_opts *how = &m->how;
    const char *suite = pick(o->suite, m->conf.suite);

    how->measure = o->suite ? NULL : pick(o->measure, m->conf.measure);
    how->metric = pick(o->metric, m->conf.metric);
    how->unit = m->conf.unit;
    how->backend = o->backend;
    how->filter = o->filter;
    how->timeout_s = o->timeout_s > 0 ? o->timeout_s : m->conf.timeout_s;
    how->cancelled = pfc_cli_interrupted;
    if (o->better || o->delta != 0) {
        /* --delta 0.05, the bad commit is 5 % larger, also says that larger is worse. */
        how->has_direction = true;
        how->higher_is_better = o->better ? o->better > 0 : o->delta < 0;
    } else if (m->conf.has_better) {
        how->has_direction = true;
        how->higher_is_better = m->conf.higher_is_better;
    }
    how->directions = m->conf.directions;
    how->directions_len = m->conf.directions_len;
    how->any_direction = true; /* where nothing states it, the two ends show it */
    how->time = how->measure && (o->time || (m->conf.time && !o->measure));
    if (!how->measure && o->no_checkout)
        return pfc_err_set(err, PFC_EINVAL, "--no-checkout needs --measure CMD");
    if (!how->measure && !suite)
        return pfc_measured_nothing(&m->conf,
                                    m->builds->repo ? pfc_repo_root(m->builds->repo) : ".", err);
    if (!how->measure && !how->metric)
        return pfc_err_set(err, PFC_EINVAL, "missing metric: pass --metric M, such as gemm_tflops");
    if (!how->metric)
        how->metric = how->time ? "wall_time_ns" : "value";
    return how->measure ? PFC_OK : find_suite(m, suite, err);
}

static void key_add(pfc_buf *buf, const char *text)
{
    pfc_buf_puts(buf, text ? text : "");
    pfc_buf_putc(buf, '\n');
}

static void make_key(const bisect_measuring *m, char *key)
{
    const bisect_opts *o = m->opts;
    pfc_buf buf;

    pfc_buf_init(&buf, 64u * 1024 * 1024);
    key_add(&buf, m->how.metric);
    key_add(&buf, o->benchmark);
    key_add(&buf, o->backend);
    if (o->filter)
        key_add(&buf, o->filter);
    key_add(&buf, m->how.measure ? m->how.measure : pick(o->suite, m->conf.suite));
    key_add(&buf, m->builds->opts.build);
    key_add(&buf, m->builds->opts.relink);
    key_add(&buf, o->no_checkout ? "here" : "checkout");
    for (size_t i = 0; i < m->axis->commits.len; i++) {
        key_add(&buf, m->axis->commits.items[i].id);
        if (m->axis->points)
            key_add(&buf, m->axis->points[i]);
    }
    pfc_sha256_hex(pfc_buf_text(&buf), buf.len, key);
    pfc_buf_clear(&buf);
}

void bisect_measuring_key(const bisect_measuring *m, bisect_state *state)
{
    /* Confidence and the like are not part of it: they may change between calls. */
    make_key(m, state->key);
    if (m->opts->commits_file || m->opts->no_checkout || !m->builds->repo)
        state->path = pfc_format("./.perfci/bisect-%.12s.json", state->key);
    else
        state->path = pfc_format("%s/perfci/bisect-%.12s.json", pfc_repo_git_dir(m->builds->repo),
                                 state->key);
}

void bisect_measuring_clear(bisect_measuring *m)
{
    pfc_conf_clear(&m->conf);
    pfc_project_source_clear(&m->source);
    if (m->temp)
        (void)!pfc_fs_remove_tree(m->temp, NULL);
    free(m->temp);
    free(m->suite_file);
    *m = (bisect_measuring){ 0 };
}

/* ---- notes ---- */

static void print_measured(const bisect_measuring *m, const pfc_cli *cli)
{
    const pfc_measured what = { .conf = &m->conf,
                                .measure = m->how.measure,
                                .suite = m->how.suite,
                                .metric = m->how.metric,
                                .unit = m->how.unit,
                                .higher_is_better =
                                    m->how.has_direction && m->how.higher_is_better };

    pfc_measured_say(cli, &what);
}

/* Notes on commits and files that checkouts will not contain. */
static void print_surroundings(const bisect_measuring *m, const pfc_cli *cli)
{
    pfc_commit_id id = { "" };
    char **modules = NULL;
    char *example = NULL;
    size_t len = 0;

    if (!m->builds->repo || m->opts->no_checkout)
        return;
    if (pfc_repo_is_shallow(m->builds->repo))
        pfc_cli_note(cli, "the repository is shallow: only commits it holds can be measured");
    if (!pfc_repo_dirty(m->builds->repo, &len, &example, NULL) && len)
        pfc_cli_note(cli,
                     "%zu changed file%s (%.200s) will not be measured: checkouts hold what is "
                     "committed",
                     len, len == 1 ? "" : "s", example);
    free(example);
    if (m->axis->points)
        return;
    memcpy(id.hex, bisect_id(m->axis, bisect_bad(m->axis)), PFC_COMMIT_HEX - 1);
    if (pfc_repo_submodules(m->builds->repo, &id, &modules, &len, NULL))
        return;
    if (len)
        pfc_cli_warn(cli,
                     "%zu submodule%s (%.200s) %s left empty in the checkouts: the build command "
                     "must bring them",
                     len, len == 1 ? "" : "s", modules[0], len == 1 ? "is" : "are");
    for (size_t i = 0; i < len; i++)
        free(modules[i]);
    free(modules);
}

void bisect_measuring_print(const bisect_measuring *m, const pfc_cli *cli)
{
    print_measured(m, cli);
    print_surroundings(m, cli);
}
