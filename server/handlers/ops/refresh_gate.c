/* Limits how often requests of the open routes read the database: see pfc_refresh_gate. */
#include "core/base/clock.h"
#include "server/handlers/handlers.h"

bool pfc_refresh_begin(pfc_refresh_gate *gate)
{
    const int64_t now_ns = pfc_clock_ns();

    if (gate->reading || (gate->end_ns && now_ns - gate->end_ns < PFC_REFRESH_NS))
        return false;
    gate->reading = true;
    gate->begin_ns = now_ns;
    return true;
}

void pfc_refresh_end(pfc_refresh_gate *gate)
{
    gate->reading = false;
    gate->end_ns = pfc_clock_ns();
}

int64_t pfc_refresh_pending_ns(const pfc_refresh_gate *gate)
{
    return gate->reading ? PFC_MAX(pfc_clock_ns() - gate->begin_ns, 1) : 0;
}
