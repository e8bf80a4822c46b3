/*
 * Kept results of the judging of sessions: the same input is answered from memory with the same
 * values, and any difference of the input, however small, is not.
 */
#include <math.h>

#include "server/services/sessions/fits.h"

#include "tests/check/check.h"

#define BUILDS 3u
#define VISITS 24u

static void fill(pfc_visit visits[VISITS])
{
    for (uint32_t i = 0; i < VISITS; i++)
        visits[i] = (pfc_visit){ .build = (i + i / BUILDS) % BUILDS,
                                 .block = i / BUILDS,
                                 .position = i % BUILDS,
                                 .value = 100 + (double)(i * 7 % 5) };
}

static const pfc_blocks_opts base_opts = { .builds = BUILDS, .first = 1, .margin = 0.01 };

static pfc_blocks_fit judge(const pfc_visit *visits, size_t n, const pfc_blocks_opts *opts)
{
    pfc_blocks_fit fit = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_session_fit(visits, n, opts, &fit, &err), PFC_OK), "%s", err.msg);
    return fit;
}

/* Was it answered from memory? */
static bool hits(const pfc_visit *visits, size_t n, const pfc_blocks_opts *opts)
{
    const uint64_t before = pfc_session_fit_hits();
    pfc_blocks_fit fit = judge(visits, n, opts);

    pfc_blocks_fit_clear(&fit);
    return pfc_session_fit_hits() > before;
}

static void expect_equal(const pfc_blocks_fit *a, const pfc_blocks_fit *b)
{
    cr_assert(eq(sz, a->levels_len, b->levels_len));
    cr_assert(eq(sz, a->boundaries_len, b->boundaries_len));
    cr_assert(eq(dbl, a->noise_rel, b->noise_rel));
    for (size_t i = 0; i < a->levels_len; i++) {
        cr_assert(eq(dbl, a->levels[i].ratio, b->levels[i].ratio));
        cr_assert(eq(dbl, a->levels[i].median, b->levels[i].median));
    }
    for (size_t i = 0; i < a->boundaries_len; i++) {
        cr_assert(eq(sz, a->boundaries[i].to, b->boundaries[i].to));
        cr_assert(eq(dbl, a->boundaries[i].rel_low, b->boundaries[i].rel_low));
        cr_assert(eq(dbl, a->boundaries[i].p, b->boundaries[i].p));
    }
}

Test(session_fits, the_same_visits_are_answered_from_memory_with_the_same_values)
{
    pfc_visit visits[VISITS];
    pfc_blocks_fit direct = { 0 }, first, second;
    pfc_err err = { 0 };

    fill(visits);
    cr_assert(eq(int, pfc_blocks_judge(visits, VISITS, &base_opts, &direct, &err), PFC_OK));
    cr_assert(gt(sz, direct.boundaries_len, 0));
    first = judge(visits, VISITS, &base_opts);
    cr_assert(eq(u64, pfc_session_fit_hits(), 0));
    second = judge(visits, VISITS, &base_opts);
    cr_assert(eq(u64, pfc_session_fit_hits(), 1));
    cr_assert(ne(ptr, first.levels, second.levels)); /* each its own copy */
    expect_equal(&direct, &first);
    expect_equal(&direct, &second);
    pfc_blocks_fit_clear(&direct);
    pfc_blocks_fit_clear(&first);
    pfc_blocks_fit_clear(&second);
}

Test(session_fits, any_difference_of_visits_or_options_is_judged_again)
{
    bool gap[BUILDS] = { false, false, true }, no_gap[BUILDS] = { false };
    pfc_blocks_opts other[7];
    pfc_visit visits[VISITS], moved[VISITS];

    for (size_t i = 0; i < 7; i++)
        other[i] = base_opts;
    other[0].anchor = 1;
    other[1].first = 2;
    other[2].apart = 1;
    other[3].gap = gap;
    other[4].margin = 0.02;
    other[5].alpha = 0.005;
    other[6].builds = BUILDS + 1;
    fill(visits);
    cr_assert(not(hits(visits, VISITS, &base_opts)));
    cr_assert(hits(visits, VISITS, &base_opts));
    for (size_t i = 0; i < 7; i++) {
        cr_assert(not(hits(visits, VISITS, &other[i])), "option %zu", i);
        cr_assert(hits(visits, VISITS, &other[i]), "option %zu", i);
    }
    gap[1] = true;
    cr_assert(not(hits(visits, VISITS, &other[3])));
    other[3].gap = no_gap;
    cr_assert(not(hits(visits, VISITS, &other[3])));
    cr_assert(not(hits(visits, VISITS - BUILDS, &base_opts)));
    fill(moved);
    moved[5].value = nextafter(moved[5].value, 1e9);
    cr_assert(not(hits(moved, VISITS, &base_opts)));
    fill(moved);
    moved[3].build = visits[4].build;
    moved[4].build = visits[3].build;
    cr_assert(not(hits(moved, VISITS, &base_opts)));
    fill(moved);
    moved[3].position = visits[4].position;
    moved[4].position = visits[3].position;
    cr_assert(not(hits(moved, VISITS, &base_opts)));
    fill(moved);
    for (size_t i = VISITS - BUILDS; i < VISITS; i++)
        moved[i].block += 2;
    cr_assert(not(hits(moved, VISITS, &base_opts)));
    cr_assert(hits(visits, VISITS, &base_opts));
}

Test(session_fits, exact_values_are_another_question)
{
    pfc_blocks_opts exact = base_opts;
    pfc_visit visits[VISITS];

    exact.exact = true;
    fill(visits);
    for (size_t i = 0; i < VISITS; i++)
        visits[i].value = 100;
    cr_assert(not(hits(visits, VISITS, &base_opts)));
    cr_assert(not(hits(visits, VISITS, &exact)));
    cr_assert(hits(visits, VISITS, &exact));
}

Test(session_fits, an_error_is_not_kept)
{
    pfc_visit visits[VISITS];
    pfc_blocks_fit fit = { 0 };

    fill(visits);
    visits[1].build = visits[0].build; /* twice in a block */
    for (int i = 0; i < 2; i++) {
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_session_fit(visits, VISITS, &base_opts, &fit, &err), PFC_EINVAL));
        cr_assert(ne(str, err.msg, ""));
        pfc_blocks_fit_clear(&fit);
    }
    cr_assert(eq(u64, pfc_session_fit_hits(), 0));
}

Test(session_fits, the_result_used_longest_ago_is_dropped_first)
{
    pfc_visit visits[VISITS], other[VISITS];

    fill(visits);
    fill(other);
    cr_assert(not(hits(visits, BUILDS, &base_opts)));
    for (size_t i = 1; i < PFC_FITS_MAX; i++) {
        other[0].value = 100 + (double)i;
        cr_assert(not(hits(other, BUILDS, &base_opts)));
    }
    cr_assert(hits(visits, BUILDS, &base_opts)); /* full, and used again */
    other[0].value = 99;
    cr_assert(not(hits(other, BUILDS, &base_opts)));
    cr_assert(hits(visits, BUILDS, &base_opts));
    other[0].value = 101;
    cr_assert(not(hits(other, BUILDS, &base_opts))); /* dropped for the newest */
}
