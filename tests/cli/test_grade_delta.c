/* Grades of differences: pairs from a seed with the stated differences, outcomes that repeat. */
#include <string.h>

#include "cli/accel/delta/delta_grade.h"
#include "cli/accel/grade/parallel.h"
#include "core/base/base.h"

#include "tests/check/check.h"

static size_t differing_constants(const pfc_accel_chip *a, const pfc_accel_chip *b)
{
    const char *key;
    uint64_t x, y;
    size_t n = 0;

    for (size_t i = 0; (key = pfc_accel_chip_constant(a, i, &x)); i++) {
        pfc_accel_chip_constant(b, i, &y);
        n += x != y;
    }
    return n;
}

Test(grade_delta, a_pair_differs_in_as_many_parameters_as_it_says)
{
    bool changes[DELTA_CHANGES] = { false };
    bool resources[PFC_RESOURCES_LEN + 1] = { false };
    delta_case c;
    pfc_rng rng;

    pfc_rng_seed(&rng, 1);
    for (size_t i = 0; i < 1500; i++) {
        const size_t wanted = i % 3;

        delta_draw(&rng, wanted, &c);
        cr_assert(eq(sz, differing_constants(&c.base.chip, &c.after), wanted));
        cr_assert(eq(int, c.tiled, wanted == 0));
        if (wanted == 2)
            cr_assert(ne(int, c.resources[0], c.resources[1]));
        if (wanted == 0)
            cr_assert(ne(int, memcmp(&c.tiles_before, &c.tiles_after, sizeof(c.tiles_after)), 0));
        changes[c.change] = true;
        resources[c.resources[0]] = true;
    }
    for (size_t i = 0; i < DELTA_CHANGES; i++)
        cr_assert(changes[i], "%s", delta_change_name((delta_change)i));
    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++)
        cr_assert(resources[r], "%s", pfc_resource_name(r));
}

static delta_outcome outcomes[12];

static pfc_code measure(void *arg, uint64_t index, pfc_err *err)
{
    delta_outcome *out = arg;

    return delta_measure(7, index, index % 3, &out[index], err);
}

Test(grade_delta, outcomes_repeat_on_any_number_of_threads, .timeout = 300)
{
    const pfc_cli cli = { .quiet = true };
    delta_outcome again[12];
    pfc_err err = { 0 };

    cr_assert(eq(int, grade_run_all(&cli, 12, 1, measure, outcomes, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, grade_run_all(&cli, 12, 2, measure, again, &err), PFC_OK), "%s", err.msg);
    for (size_t i = 0; i < 12; i++) {
        cr_assert(eq(str, outcomes[i].text, again[i].text));
        for (size_t k = 0; k < 2; k++) {
            cr_assert(eq(int, outcomes[i].named[k], again[i].named[k]));
            cr_assert(eq(int, outcomes[i].truth[k], again[i].truth[k]));
        }
        cr_assert(lt(dbl, outcomes[i].sum_error, 1e-9));
        cr_assert(not(outcomes[i].equal_named));
        /* A constant that both runs recorded is named, whatever else changed with it. */
        if (outcomes[i].constants == 1)
            cr_assert(eq(int, outcomes[i].named[0], outcomes[i].truth[0]), "%s", outcomes[i].text);
    }
}

static pfc_code fail_at_five(void *arg, uint64_t index, pfc_err *err)
{
    (void)arg;
    return index == 5 ? pfc_err_set(err, PFC_EBUG, "five") : PFC_OK;
}

Test(grade_delta, a_failure_ends_the_run_and_is_returned)
{
    const pfc_cli cli = { .quiet = true };
    pfc_err err = { 0 };

    cr_assert(eq(int, grade_run_all(&cli, 100, 2, fail_at_five, NULL, &err), PFC_EBUG));
    cr_assert(eq(str, err.msg, "five"));
}
