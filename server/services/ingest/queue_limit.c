#include "server/services/ingest/queue_limit.h"

#include "core/base/base.h"

#define FIRST_NS 500000.0
#define WEIGHT   0.25        /* of the newest group: after ten, 6 % of an older rate is left */
#define QUIET_NS 10000000000 /* without a stored group: older rates no longer apply */

void pfc_pace_begin(pfc_pace *pace, double run_ns)
{
    pace->run_ns = run_ns > 0 ? run_ns : FIRST_NS;
    pace->last_ns = INT64_MIN;
}

void pfc_pace_stored(pfc_pace *pace, int64_t taken_ns, int64_t now_ns, size_t runs, bool left)
{
    /* Several writers work in parallel: count from the last group of any writer, if that is
     * later. */
    const int64_t begin_ns = PFC_MAX(pace->last_ns, taken_ns);
    /* Two groups that end at the same instant must not make the time per run 0. */
    const double run_ns = PFC_MAX((double)(now_ns - begin_ns) / (double)runs, 1.0);

    if (pace->last_ns != INT64_MIN && taken_ns - pace->last_ns > QUIET_NS)
        pace->run_ns = PFC_MIN(pace->run_ns, FIRST_NS);
    pace->last_ns = PFC_MAX(pace->last_ns, now_ns);
    if (left || run_ns < pace->run_ns)
        pace->run_ns += WEIGHT * (run_ns - pace->run_ns);
}

size_t pfc_pace_room(const pfc_pace *pace)
{
    const double room = PFC_PACE_WAIT_NS / pace->run_ns;

    if (room >= PFC_PACE_ROOM_MAX)
        return PFC_PACE_ROOM_MAX;
    return room > PFC_PACE_ROOM_MIN ? (size_t)room : PFC_PACE_ROOM_MIN;
}
