/* Which benchmark of a run is explained. */
#include <math.h>
#include <string.h>

#include "core/analysis/explain/explain_priv.h"
#include "core/base/base.h"
#include "core/base/buf.h"
#include "core/stats/stats.h"
#include "core/wire/run_values.h"

static bool is_headline(const pfc_measurement *m)
{
    return pfc_streq(m->benchmark, "headline");
}

/* Headlines sum up benchmarks, so they are explained only where they are named, or where the run
 * has nothing else, as that of a command that prints one number. */
static bool headlines_only(const pfc_run *run)
{
    for (size_t i = 0; i < run->measurements_len; i++)
        if (!is_headline(&run->measurements[i]) &&
            !pfc_streq(run->measurements[i].benchmark, PFC_CANARY_BENCHMARK))
            return false;
    return true;
}

/* The canary belongs to the machine and has no limiter. */
static bool wanted(const pfc_run *run, const pfc_measurement *m, const pfc_explain_what *what)
{
    if (pfc_streq(m->benchmark, PFC_CANARY_BENCHMARK))
        return false;
    if (what->benchmark ? !pfc_streq(m->benchmark, what->benchmark)
                        : is_headline(m) && !headlines_only(run))
        return false;
    return (!what->backend || pfc_streq(m->backend, what->backend)) &&
           (!what->metric || pfc_streq(m->metric, what->metric));
}

/* Of one benchmark's metrics: cycles, else time_ns, else the first. */
static int preference(const pfc_measurement *m)
{
    return pfc_streq(m->metric, "cycles") ? 2 : pfc_streq(m->metric, "time_ns") ? 1 : 0;
}

static pfc_code not_found(const pfc_run *run, const pfc_explain_what *what, pfc_err *err)
{
    return pfc_err_set(err, PFC_ENOTFOUND, "run %s has no benchmark%s%.100s%s%.60s%s%.60s", run->id,
                       what->benchmark ? " " : "", what->benchmark ? what->benchmark : "",
                       what->backend ? " on " : "", what->backend ? what->backend : "",
                       what->metric ? " with metric " : "", what->metric ? what->metric : "");
}

pfc_code pfc_explain_select(const pfc_run *run, const pfc_explain_what *what,
                            const pfc_measurement **out, pfc_err *err)
{
    const pfc_measurement *best = NULL;

    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];

        if (!wanted(run, m, what))
            continue;
        if (best &&
            (!pfc_streq(m->benchmark, best->benchmark) || !pfc_streq(m->backend, best->backend)))
            return pfc_err_set(err, PFC_EINVAL,
                               "run %s has several benchmarks, for example %.100s on %.60s and "
                               "%.100s on %.60s: name one with --benchmark and --backend",
                               run->id, best->benchmark, best->backend, m->benchmark, m->backend);
        if (!best || preference(m) > preference(best))
            best = m;
    }
    if (!best)
        return not_found(run, what, err);
    if (best->status != PFC_STATUS_OK || best->samples_len == 0)
        return pfc_err_set(err, PFC_EBROKEN, "%.100s on %.60s has no value in run %s: %.200s",
                           best->benchmark, best->backend, run->id,
                           best->reason ? best->reason : "no reason is recorded");
    *out = best;
    return PFC_OK;
}

/* How much worse the metric is, as a share of what it was; -INFINITY: it cannot be compared. */
static double worsening(const pfc_run *before, const pfc_measurement *m)
{
    const pfc_measurement *old = pfc_run_find(before, m);
    double a;
    double b;

    if (!old || old->samples_len == 0 || m->samples_len == 0)
        return -(double)INFINITY;
    a = pfc_stats_median(old->samples, old->samples_len);
    b = pfc_stats_median(m->samples, m->samples_len);
    if (!(a > 0) || !(b > 0))
        return -(double)INFINITY;
    return m->higher_is_better ? a / b - 1 : b / a - 1;
}

/* One metric stands for its benchmark on its backend: true when the run has a preferred one. */
static bool overshadowed(const pfc_run *run, const pfc_measurement *m, const pfc_explain_what *what)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *other = &run->measurements[i];

        if (wanted(run, other, what) && preference(other) > preference(m) &&
            pfc_streq(other->benchmark, m->benchmark) && pfc_streq(other->backend, m->backend))
            return true;
    }
    return false;
}

/* A benchmark that became worse comes before one that became better, then the larger change. */
static bool before_in_order(double worse, double than)
{
    if ((worse > 0) != (than > 0))
        return worse > 0;
    return fabs(worse) > fabs(than);
}

pfc_code pfc_explain_select_worst(const pfc_run *before, const pfc_run *after,
                                  const pfc_explain_what *what, const pfc_measurement **out,
                                  pfc_err *err)
{
    double most = 0;
    bool exact = false;

    *out = NULL;
    for (size_t i = 0; i < after->measurements_len; i++) {
        const pfc_measurement *m = &after->measurements[i];
        const double worse = wanted(after, m, what) ? worsening(before, m) : -(double)INFINITY;

        if (!isfinite(worse) || (exact && !m->exact) || overshadowed(after, m, what))
            continue;
        if (!*out || (m->exact && !exact) || before_in_order(worse, most)) {
            *out = m;
            most = worse;
            exact = m->exact;
        }
    }
    if (*out)
        return PFC_OK;
    return pfc_err_set(err, PFC_ENOTFOUND,
                       "runs %s and %s have no benchmark in common that could be compared",
                       before->id, after->id);
}
