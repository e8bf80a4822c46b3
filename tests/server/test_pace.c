/* The room of the queue of runs, from the rate at which they are stored. */

#include "core/base/clock.h"
#include "server/services/ingest/queue_limit.h"

#include "tests/check/check.h"

static pfc_pace pace_of(double run_ns)
{
    pfc_pace pace;

    pfc_pace_begin(&pace, run_ns);
    return pace;
}

/* `n` groups of `runs`, one after the other, each of which takes group_ns. */
static void go_on(pfc_pace *pace, int n, size_t runs, int64_t group_ns, bool left)
{
    for (int64_t at = PFC_MAX(pace->last_ns, 0); n > 0; n--, at += group_ns)
        pfc_pace_stored(pace, at, at + group_ns, runs, left);
}

Test(pace, as_many_may_wait_as_are_stored_within_a_second)
{
    pfc_pace pace = pace_of(0);

    cr_assert(eq(sz, pfc_pace_room(&pace), 2000));
    go_on(&pace, 50, 100, 100 * PFC_NS_PER_MS, true); /* 1,000 runs a second */
    cr_assert(ge(sz, pfc_pace_room(&pace), 999));
    cr_assert(le(sz, pfc_pace_room(&pace), 1001));
    go_on(&pace, 50, 256, 80 * PFC_NS_PER_MS, true); /* 3,200 */
    cr_assert(ge(sz, pfc_pace_room(&pace), 3190));
    cr_assert(le(sz, pfc_pace_room(&pace), 3210));
}

Test(pace, it_has_a_least_and_a_most)
{
    pfc_pace slow = pace_of(1e10), fast = pace_of(1), still = pace_of(0);

    cr_assert(eq(sz, pfc_pace_room(&slow), PFC_PACE_ROOM_MIN));
    cr_assert(eq(sz, pfc_pace_room(&fast), PFC_PACE_ROOM_MAX));
    go_on(&still, 50, 10, 0, true); /* a clock that stands */
    cr_assert(eq(sz, pfc_pace_room(&still), PFC_PACE_ROOM_MAX));
}

Test(pace, a_group_without_waiting_requests_only_lowers_the_pace)
{
    pfc_pace pace = pace_of(0);

    go_on(&pace, 50, 1, 10 * PFC_NS_PER_MS, false); /* one at a time, with an fsync each */
    cr_assert(eq(sz, pfc_pace_room(&pace), 2000));
    go_on(&pace, 50, 100, 33 * PFC_NS_PER_MS, false);
    cr_assert(ge(sz, pfc_pace_room(&pace), 3000));
}

Test(pace, writers_beside_each_other_share_the_time)
{
    pfc_pace pace = pace_of(0);

    /* Two, each 200 ms for 100 runs, half a turn apart: 1,000 a second. */
    for (int64_t i = 0; i < 100; i++)
        pfc_pace_stored(&pace, i * 100 * PFC_NS_PER_MS, (i + 2) * 100 * PFC_NS_PER_MS, 100, true);
    cr_assert(ge(sz, pfc_pace_room(&pace), 990));
    cr_assert(le(sz, pfc_pace_room(&pace), 1010));
}

Test(pace, a_quiet_while_forgets_what_was_slow)
{
    pfc_pace slow = pace_of(0), fast = pace_of(0);
    const int64_t later = 3600 * PFC_NS_PER_S;

    go_on(&slow, 50, 10, 1000 * PFC_NS_PER_MS, true); /* a disk that could not */
    cr_assert(eq(sz, pfc_pace_room(&slow), PFC_PACE_ROOM_MIN));
    pfc_pace_stored(&slow, later, later + 5 * PFC_NS_PER_MS, 1, false);
    cr_assert(eq(sz, pfc_pace_room(&slow), 2000));
    go_on(&fast, 50, 256, 70 * PFC_NS_PER_MS, true);
    pfc_pace_stored(&fast, later, later + 5 * PFC_NS_PER_MS, 1, false);
    cr_assert(ge(sz, pfc_pace_room(&fast), 3600));
}
