/* Anchors joined by the sessions that hold two of them; expected numbers are arithmetic, shown
 * beside them. */
#include <math.h>
#include <stdlib.h>

#include "server/services/sessions/anchored.h"

#include "tests/check/check.h"

static const pfc_joined *find(const pfc_joined *list, size_t len, int64_t anchor)
{
    for (size_t i = 0; i < len; i++) {
        if (list[i].anchor == anchor)
            return &list[i];
    }
    return NULL;
}

Test(joints, without_any_there_is_the_current_anchor_alone)
{
    pfc_joined *out = NULL;
    size_t len = 0;

    pfc_joints_resolve(NULL, 0, 7, &out, &len);
    cr_assert(eq(sz, len, 1));
    cr_assert(eq(i64, out[0].anchor, 7));
    cr_assert(eq(dbl, out[0].log_ratio, 0));
    cr_assert(eq(dbl, out[0].log_se, 0));
    free(out);
}

/* Session of anchor 2 saw 1 at +0.02: seen from 2 that is +0.02, seen from 1 the other is at -0.02.
 */
Test(joints, hold_in_both_directions)
{
    const pfc_joint joint = { .anchor = 2, .other = 1, .log_ratio = 0.02, .log_se = 0.003 };
    pfc_joined *out = NULL;
    size_t len = 0;

    pfc_joints_resolve(&joint, 1, 2, &out, &len);
    cr_assert(eq(sz, len, 2));
    cr_assert(epsilon_eq(dbl, find(out, len, 1)->log_ratio, 0.02, 1e-12));
    cr_assert(epsilon_eq(dbl, find(out, len, 1)->log_se, 0.003, 1e-12));
    free(out);
    pfc_joints_resolve(&joint, 1, 1, &out, &len);
    cr_assert(epsilon_eq(dbl, find(out, len, 2)->log_ratio, -0.02, 1e-12));
    cr_assert(epsilon_eq(dbl, find(out, len, 2)->log_se, 0.003, 1e-12));
    free(out);
}

/* Weights 1/0.003^2 and 1/0.004^2, as 16 to 9: (16 * 0.020 + 9 * 0.021) / 25 = 0.02036; the error
 * is 1 / sqrt(1/0.003^2 + 1/0.004^2) = 0.0024; they agree, so it stays. */
Test(joints, of_two_sessions_that_agree_are_their_weighted_mean)
{
    const pfc_joint joints[] = { { 2, 1, 0.020, 0.003 }, { 1, 2, -0.021, 0.004 } };
    pfc_joined *out = NULL;
    size_t len = 0;

    pfc_joints_resolve(joints, 2, 2, &out, &len);
    cr_assert(epsilon_eq(dbl, find(out, len, 1)->log_ratio, 0.02036, 1e-12));
    cr_assert(epsilon_eq(dbl, find(out, len, 1)->log_se, 0.0024, 1e-12));
    free(out);
}

/* Mean (16 * 0.02 + 9 * 0.05) / 25 = 0.0308; chi-square (0.0108/0.003)^2 + (0.0192/0.004)^2 = 12.96
 * + 23.04 = 36 with one degree of freedom: the error of 0.0024 becomes six times as wide. */
Test(joints, of_sessions_that_disagree_have_a_wider_error)
{
    const pfc_joint joints[] = { { 2, 1, 0.02, 0.003 }, { 2, 1, 0.05, 0.004 } };
    pfc_joined *out = NULL;
    size_t len = 0;

    pfc_joints_resolve(joints, 2, 2, &out, &len);
    cr_assert(epsilon_eq(dbl, find(out, len, 1)->log_ratio, 0.0308, 1e-12));
    cr_assert(epsilon_eq(dbl, find(out, len, 1)->log_se, 0.0144, 1e-12));
    free(out);
}

/* 3 is current. 1 -> 2 -> 3 has sqrt(0.003^2 + 0.004^2) = 0.005 and beats the direct joint of 0.02.
 */
Test(joints, are_followed_along_the_smallest_error)
{
    const pfc_joint joints[] = { { 2, 1, 0.01, 0.003 },
                                 { 3, 2, 0.03, 0.004 },
                                 { 3, 1, 0.07, 0.02 } };
    pfc_joined *out = NULL;
    size_t len = 0;

    pfc_joints_resolve(joints, 3, 3, &out, &len);
    cr_assert(eq(sz, len, 3));
    cr_assert(epsilon_eq(dbl, find(out, len, 2)->log_ratio, 0.03, 1e-12));
    cr_assert(epsilon_eq(dbl, find(out, len, 1)->log_ratio, 0.04, 1e-12));
    cr_assert(epsilon_eq(dbl, find(out, len, 1)->log_se, 0.005, 1e-12));
    free(out);
}

/* No session held 5 and another one: nothing is known of it. */
Test(joints, do_not_reach_an_anchor_without_one)
{
    const pfc_joint joints[] = { { 3, 2, 0.03, 0.004 }, { 6, 5, 0.1, 0.001 } };
    pfc_joined *out = NULL;
    size_t len = 0;

    pfc_joints_resolve(joints, 2, 3, &out, &len);
    cr_assert(eq(sz, len, 2));
    cr_assert_null(find(out, len, 5));
    free(out);
}

Test(joints, without_noise_or_without_sense_do_no_harm)
{
    const pfc_joint joints[] = {
        { 2, 1, 0.25, 0 }, { 2, 1, (double)NAN, 0.1 }, { 2, 1, 0.3, (double)NAN }, { 2, 2, 9, 0.1 }
    };
    pfc_joined *out = NULL;
    size_t len = 0;

    pfc_joints_resolve(joints, 4, 2, &out, &len);
    cr_assert(eq(sz, len, 2));
    cr_assert(epsilon_eq(dbl, find(out, len, 1)->log_ratio, 0.25, 1e-12));
    free(out);
}
