/*
 * The loop of a local bisection: ask the plan, measure, keep, tell the plan.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/search.h"
#include "core/base/clock.h"
#include "core/import/import.h"
#include "core/wire/select.h"

/* An end must be measured, whatever it takes; any other commit the plan gives up after three. */
enum { END_TRIES = 8 };

/* ---- measuring ---- */

static pfc_code open_workspace(pfc_hunt *h, pfc_err *err)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const char *git_dir = pfc_repo_git_dir(h->repo);
    char hash[PFC_SHA256_HEX];

    free(h->work); /* of a workspace that was given back */
    pfc_sha256_hex(git_dir, strlen(git_dir), hash);
    if (h->opts->work)
        h->work = pfc_strdup(h->opts->work);
    else if (cache && cache[0] == '/')
        h->work = pfc_format("%s/perfci/work-%.12s", cache, hash);
    else
        h->work =
            pfc_format("%s/.cache/perfci/work-%.12s", home && home[0] == '/' ? home : "/tmp", hash);
    h->ws_opts.dir = h->work;
    h->ws_opts.source = pfc_repo_root(h->repo);
    h->ws_opts.build_timeout_s = h->conf.timeout_s;
    return pfc_workspace_open(&h->ws_opts, &h->ws, err);
}

/* What is run for one point of another axis: the same commands, told of the point first. */
static char *told_of(const pfc_hunt *h, size_t point, const char *command)
{
    return command && command[0] ? pfc_format("%s%s", h->points[point], command) : NULL;
}

static pfc_code measure_point(pfc_hunt *h, const pfc_bisect_step *next, pfc_outcome *out,
                              pfc_err *err)
{
    char *build = told_of(h, next->commit, h->ws_opts.build ? h->ws_opts.build : ":");
    char *relink = told_of(h, next->commit, h->ws_opts.relink);
    char *command = told_of(h, next->commit, h->measure.measure);
    pfc_commit_measure_opts opts = h->measure;
    pfc_commit_id commit;
    pfc_code code = PFC_OK;

    opts.measure = command;
    if (h->opts->no_checkout) {
        code = pfc_measure(&opts, ".", h->commits.items[next->commit].id, next->build, out, err);
        goto done;
    }
    if (!h->ws)
        code = open_workspace(h, err);
    if (!code)
        code = pfc_repo_resolve(h->repo, h->opts->at ? h->opts->at : "HEAD", &commit, err);
    if (!code) {
        pfc_workspace_build_by(h->ws, build, relink, h->conf.timeout_s);
        code = pfc_workspace_measure(h->ws, &opts, &commit, next->build, out, err);
    }

done:
    free(build);
    free(relink);
    free(command);
    return code;
}

static pfc_code measure(pfc_hunt *h, const pfc_bisect_step *next, pfc_outcome *out, pfc_err *err)
{
    const char *id = h->commits.items[next->commit].id;
    pfc_commit_id commit;
    pfc_code code;

    if (h->points)
        return measure_point(h, next, out, err);

    if (h->opts->no_checkout)
        return pfc_measure(&h->measure, ".", id, next->build, out, err);
    if (!h->ws) {
        code = open_workspace(h, err);
        if (code)
            return code;
    }
    code = pfc_repo_resolve(h->repo, id, &commit, err);
    if (code)
        return code;
    return pfc_workspace_measure(h->ws, &h->measure, &commit, next->build, out, err);
}

/* The number in an outcome; what cannot be used becomes a failed or broken one with its reason. */
static pfc_code take_value(pfc_hunt *h, size_t commit, pfc_outcome *out, pfc_hunt_step *step,
                           pfc_err *err)
{
    const pfc_select wanted = { .filter = h->opts->filter };
    const pfc_measurement *m = NULL;
    pfc_code code;

    step->kind = out->kind;
    if (out->refused && pfc_hunt_is_end(h, commit))
        return pfc_err_set(err, PFC_EINVAL, "%s", out->reason);
    if (out->kind != PFC_OUTCOME_MEASURED)
        return PFC_OK;
    code = pfc_run_select(out->run, &wanted, err);
    if (!code)
        code = pfc_run_value(out->run, h->measure.metric, h->opts->benchmark, h->opts->backend, &m,
                             err);
    if (code == PFC_ENOTFOUND && !pfc_hunt_is_end(h, commit)) {
        /* An older commit may lack the benchmark: no run of it will ever tell. */
        step->kind = PFC_OUTCOME_BROKEN;
        memcpy(out->reason, err->msg, PFC_MIN(sizeof(out->reason), sizeof(err->msg)));
        out->reason[sizeof(out->reason) - 1] = '\0';
        *err = (pfc_err){ 0 };
        return PFC_OK;
    }
    if (code)
        return code;
    step->value = pfc_measurement_median(m);
    step->higher_is_better = m->higher_is_better;
    step->undirected = pfc_pairs_get(&m->extra, PFC_IMPORT_DIRECTION) != NULL;
    step->exact = m->exact;
    if (!isfinite(step->value) || step->value <= 0) {
        step->kind = PFC_OUTCOME_FAILED;
        snprintf(out->reason, sizeof(out->reason), "expected a value above zero, got %g",
                 step->value);
    }
    return PFC_OK;
}

/* An end that cannot be measured leaves nothing to compare with. */
static pfc_code check_end(const pfc_hunt *h, const pfc_hunt_step *step, const char *reason,
                          size_t *failed, pfc_err *err)
{
    const char *which = step->commit == 0 ? "good" : "bad";

    if (!pfc_hunt_is_end(h, step->commit) || step->kind == PFC_OUTCOME_MEASURED) {
        *failed = 0;
        return PFC_OK;
    }
    if (step->kind == PFC_OUTCOME_TIMED_OUT && step->commit != 0)
        return PFC_OK;
    if (step->kind == PFC_OUTCOME_BROKEN || ++*failed >= END_TRIES)
        return pfc_err_set(err, PFC_EBROKEN, "the %s end, %.12s, cannot be measured: %.350s", which,
                           h->commits.items[step->commit].id, reason);
    return PFC_OK;
}

static double seconds_now(const pfc_hunt *h)
{
    return h->seconds_before + (double)(pfc_clock_ns() - h->started_ns) * 1e-9;
}

pfc_code pfc_hunt_take(pfc_hunt *h, pfc_hunt_step *step, char *reason, bool *taken, pfc_err *err)
{
    const pfc_bisect_step next = { .commit = step->commit, .build = step->build };
    pfc_outcome out = { 0 };
    pfc_code code;

    *taken = false;
    pfc_hunt_log_begin(h, step);
    pfc_hunt_view(h, &next, step->confirm);
    code = measure(h, &next, &out, err);
    if (!code)
        code = take_value(h, step->commit, &out, step, err);
    if (code)
        goto done;
    if (step->kind == PFC_OUTCOME_CANCELLED || pfc_cli_interrupted(NULL)) {
        h->interrupted = true;
        if (step->kind != PFC_OUTCOME_MEASURED)
            goto done; /* our own doing, no fault of the commit's */
    }
    /* Slow is what a time-out says, and of the good end that would be wrong. */
    if (step->kind == PFC_OUTCOME_TIMED_OUT && step->commit == 0)
        step->kind = PFC_OUTCOME_FAILED;
    step->built = out.built;
    step->build_s = out.build_s;
    step->measure_s = out.measure_s;
    memcpy(reason, out.reason, PFC_WORKSPACE_REASON_BYTES);
    pfc_hunt_state_add(&h->state, step);
    h->state.seconds = seconds_now(h);
    code = pfc_hunt_state_save(&h->state, err);
    *taken = !code;

done:
    pfc_outcome_clear(&out);
    return code;
}

/* One measurement, kept before the plan hears of it. */
static pfc_code one_step(pfc_hunt *h, const pfc_bisect_step *next, size_t *failed, pfc_err *err)
{
    char reason[PFC_WORKSPACE_REASON_BYTES];
    pfc_hunt_step step = { .commit = next->commit, .build = next->build };
    bool taken;
    const bool was_news = pfc_hunt_build_cost(h) <= 0 || !pfc_hunt_first(h);
    pfc_code code;

    if (h->state.paired)
        pfc_hunt_pairs_ask(h, next, &step);
    code = pfc_hunt_take(h, &step, reason, &taken, err);

    if (code || !taken)
        return code;
    code = check_end(h, &step, reason, failed, err);
    if (code)
        return code;
    if (pfc_hunt_turned(h))
        code = pfc_hunt_replan(h, err);
    else if (was_news && step.kind == PFC_OUTCOME_MEASURED &&
             (pfc_hunt_build_cost(h) > 0 || pfc_hunt_first(h) == &h->state.steps[h->state.len - 1]))
        code = pfc_hunt_replan(h, err);
    else
        code = pfc_hunt_tell(h, &step, err);
    if (!code)
        pfc_hunt_log(h, &step, reason);
    return code;
}

static bool runs_spent(const pfc_hunt *h)
{
    return h->opts->max_runs > 0 && h->state.len >= (size_t)h->opts->max_runs;
}

/* Of pairs the plan counts units, and only runs have a price. */
static bool budget_spent(const pfc_hunt *h)
{
    return h->state.paired && runs_spent(h);
}

static pfc_code search(pfc_hunt *h, pfc_err *err)
{
    size_t failed = 0;
    bool turned;
    pfc_code code = PFC_OK;

    pfc_hunt_phase(h, "searching %zu %s, from %.12s to %.12s", h->commits.len,
                   h->points ? "points" : "commits", h->commits.items[0].id,
                   h->commits.items[h->commits.len - 1].id);
    while (!code && !h->interrupted) {
        pfc_bisect_step next = { .act = PFC_BISECT_MEASURE };

        if (pfc_cli_interrupted(NULL)) {
            h->interrupted = true;
            break;
        }
        code = pfc_hunt_pairs_turn(h, &turned, err);
        if (code || budget_spent(h))
            break;
        if (!pfc_hunt_pairs_open(h))
            pfc_bisect_next(h->plan, &next);
        if (next.act == PFC_BISECT_STOP)
            break;
        code = one_step(h, &next, &failed, err);
    }
    return code;
}

/* What it says of the machine is said with the answer; a suite's runs have one each. */
static void end_canary(pfc_hunt *h, pfc_canary *canary)
{
    if (pfc_canary_end(canary, NULL, 0, &h->canary))
        pfc_cli_warn(h->cli,
                     "the machine changed its speed during the search (canary %.3g us, then "
                     "%.3g us): single runs may say more about it than about the code",
                     h->canary.before_ns / 1000, h->canary.after_ns / 1000);
}

pfc_code pfc_hunt_run(pfc_hunt *h, pfc_err *err)
{
    pfc_canary canary = { 0 };
    bool again = true;
    pfc_code code = PFC_OK;

    if (h->measure.measure)
        pfc_canary_begin(&canary, NULL);
    while (!code && again) {
        again = false;
        code = search(h, err);
        if (!code && !h->interrupted && pfc_hunt_confirms(h))
            code = pfc_hunt_confirm(h, &again, err);
        if (!code && !h->interrupted && !again && !pfc_hunt_names(h) && !runs_spent(h))
            code = pfc_hunt_pairs_doubt(h, &again, err);
    }
    pfc_hunt_view_wipe(h);
    end_canary(h, &canary);
    return code;
}
