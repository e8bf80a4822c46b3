/*
 * One measurement of a commit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/measuring/measuring.h"
#include "core/import/import.h"
#include "core/wire/benchmark_filter.h"

/* A command for one point of another axis: the point's variables, then the command. */
static char *for_point(const bisect_measuring *m, size_t point, const char *command)
{
    return command && command[0] ? pfc_format("%s%s", m->axis->points[point], command) : NULL;
}

static pfc_code measure_point(bisect_measuring *m, const bisect_run *next, pfc_outcome *out,
                              pfc_err *err)
{
    char *build = for_point(m, next->commit, m->builds->opts.build ? m->builds->opts.build : ":");
    char *relink = for_point(m, next->commit, m->builds->opts.relink);
    char *command = for_point(m, next->commit, m->how.measure);
    pfc_commit_measure_opts opts = m->how;
    pfc_commit_id commit;
    pfc_code code = PFC_OK;

    opts.measure = command;
    if (m->opts->no_checkout) {
        code = pfc_measure(&opts, ".", bisect_id(m->axis, next->commit), next->build, out, err);
        goto done;
    }
    code = bisect_builds_open(m->builds, m->opts, m->conf.timeout_s, err);
    if (!code)
        code = pfc_repo_resolve(m->builds->repo, m->opts->at ? m->opts->at : "HEAD", &commit, err);
    if (!code) {
        pfc_workspace_build_by(m->builds->workspace, build, relink, m->conf.timeout_s);
        code = pfc_workspace_measure(m->builds->workspace, &opts, &commit, next->build, out, err);
    }

done:
    free(build);
    free(relink);
    free(command);
    return code;
}

static pfc_code measure(bisect_measuring *m, const bisect_run *next, pfc_outcome *out, pfc_err *err)
{
    const char *id = bisect_id(m->axis, next->commit);
    pfc_commit_id commit;
    pfc_code code;

    if (m->axis->points)
        return measure_point(m, next, out, err);

    if (m->opts->no_checkout)
        return pfc_measure(&m->how, ".", id, next->build, out, err);
    code = bisect_builds_open(m->builds, m->opts, m->conf.timeout_s, err);
    if (code)
        return code;
    code = pfc_repo_resolve(m->builds->repo, id, &commit, err);
    if (code)
        return code;
    return pfc_workspace_measure(m->builds->workspace, &m->how, &commit, next->build, out, err);
}

/* Fills the run from the outcome. */
static pfc_code read_value(const bisect_measuring *m, pfc_outcome *out, bisect_run *run,
                           pfc_err *err)
{
    const pfc_benchmark_filter wanted = { .filter = m->opts->filter };
    const pfc_measurement *value = NULL;
    pfc_code code;

    run->kind = out->kind;
    if (out->refused && bisect_is_end(m->axis, run->commit))
        return pfc_err_set(err, PFC_EINVAL, "%s", out->reason);
    if (out->kind != PFC_OUTCOME_MEASURED)
        return PFC_OK;
    code = pfc_run_filter(out->run, &wanted, err);
    if (!code)
        code = pfc_run_value(out->run, m->how.metric, m->opts->benchmark, m->opts->backend, &value,
                             err);
    if (code == PFC_ENOTFOUND && !bisect_is_end(m->axis, run->commit)) {
        /* An older commit may lack the benchmark: further runs of it would give no value either. */
        run->kind = PFC_OUTCOME_BROKEN;
        memcpy(out->reason, err->msg, PFC_MIN(sizeof(out->reason), sizeof(err->msg)));
        out->reason[sizeof(out->reason) - 1] = '\0';
        *err = (pfc_err){ 0 };
        return PFC_OK;
    }
    if (code)
        return code;
    run->value = pfc_measurement_median(value);
    run->higher_is_better = value->higher_is_better;
    run->undirected = pfc_labels_get(&value->extra, PFC_IMPORT_DIRECTION) != NULL;
    run->exact = value->exact;
    if (!isfinite(run->value) || run->value <= 0) {
        run->kind = PFC_OUTCOME_FAILED;
        snprintf(out->reason, sizeof(out->reason), "expected a value above zero, got %g",
                 run->value);
    }
    return PFC_OK;
}

pfc_code bisect_measure(bisect_measuring *m, bisect_run *run, pfc_outcome *out, pfc_err *err)
{
    pfc_code code = measure(m, run, out, err);

    if (code)
        return code;
    run->built = out->built;
    run->build_s = out->build_s;
    run->measure_s = out->measure_s;
    return read_value(m, out, run, err);
}
