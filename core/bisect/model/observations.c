/*
 * The observations of a plan.
 */
#include "core/bisect/model/observations.h"

#include <stdlib.h>
#include <string.h>

#define FAILURES 3 /* failed runs in a row that make a commit unmeasurable */

void plan_observations_init(plan_observations *seen, size_t commits)
{
    *seen = (plan_observations){ .commits = commits,
                                 .unmeasurable = pfc_calloc(commits, 1),
                                 .failures = pfc_calloc(commits, 1) };
}

static void *copy_of(const void *from, size_t bytes)
{
    void *to = pfc_alloc(bytes ? bytes : 1);

    if (bytes)
        memcpy(to, from, bytes);
    return to;
}

plan_observations plan_observations_copy(const plan_observations *seen)
{
    plan_observations copy = *seen;

    copy.runs = copy_of(seen->runs, seen->len * sizeof *seen->runs);
    copy.cap = seen->len;
    copy.unmeasurable = copy_of(seen->unmeasurable, seen->commits);
    copy.failures = copy_of(seen->failures, seen->commits);
    return copy;
}

void plan_observations_clear(plan_observations *seen)
{
    free(seen->runs);
    free(seen->unmeasurable);
    free(seen->failures);
    *seen = (plan_observations){ 0 };
}

void plan_add_run(plan_observations *seen, const plan_run *run)
{
    seen->runs = pfc_grow(seen->runs, seen->len, &seen->cap, sizeof *seen->runs);
    seen->runs[seen->len++] = *run;
    seen->spent++;
    seen->failures[run->commit] = 0;
}

void plan_add_failure(plan_observations *seen, size_t commit)
{
    seen->spent++;
    if (++seen->failures[commit] >= FAILURES)
        plan_add_unmeasurable(seen, commit);
}

void plan_add_unmeasurable(plan_observations *seen, size_t commit)
{
    if (seen->unmeasurable[commit])
        return;
    seen->unmeasurable[commit] = 1;
    seen->unmeasurable_len++;
}

bool plan_has_run(const plan_observations *seen, size_t commit)
{
    for (size_t i = 0; i < seen->len; i++)
        if (seen->runs[i].commit == commit)
            return true;
    return false;
}

bool plan_has_build(const plan_observations *seen, size_t commit, unsigned build)
{
    for (size_t i = 0; i < seen->len; i++)
        if (seen->runs[i].commit == commit && seen->runs[i].build == build)
            return true;
    return false;
}

size_t plan_unmeasurable_between(const plan_observations *seen, size_t a, size_t b)
{
    size_t len = 0;

    for (size_t i = a + 1; i < b; i++)
        len += seen->unmeasurable[i];
    return len;
}

bool plan_any_measurable_between(const plan_observations *seen, size_t a, size_t b)
{
    for (size_t i = a + 1; i < b; i++)
        if (!seen->unmeasurable[i])
            return true;
    return false;
}

/* The commit nearest to `target` that is not known to be unmeasurable; 0: none. */
static size_t nearest(const unsigned char *unmeasurable, size_t a, size_t b, size_t target)
{
    for (size_t off = 0; off < b - a; off++) {
        if (target + off < b && !unmeasurable[target + off])
            return target + off;
        if (target > a + off && !unmeasurable[target - off])
            return target - off;
    }
    return 0;
}

/* Unmeasurable commits come in stretches. Nothing between a and b was measured, so every commit
 * tried there was unmeasurable: the pick lies as far beyond these as they reach, on the side with
 * more room. */
size_t plan_pick(const plan_observations *seen, size_t a, size_t b, size_t target)
{
    const unsigned char *unmeasurable = seen->unmeasurable;
    size_t low = b;
    size_t high = a;
    if (b <= a + 1)
        return 0;
    target = PFC_MIN(PFC_MAX(target, a + 1), b - 1);
    for (size_t i = a + 1; i < b; i++) {
        low = unmeasurable[i] && low == b ? i : low;
        high = unmeasurable[i] ? i : high;
    }
    if (low == b || target < low || target > high)
        return target;
    size_t below = low - a - 1;
    size_t above = b - high - 1;
    size_t reach = high - low + 1;
    if (!below && !above)
        return nearest(unmeasurable, a, b, target);
    if (above > below)
        return high + PFC_MIN(reach, (above + 1) / 2);
    return low - PFC_MIN(reach, (below + 1) / 2);
}
