/*
 * The machine's own slow state.
 */
#include "core/analysis/bisect_priv.h"

void plan_state(pfc_bisect_plan *plan)
{
    plan->model.state = false;
}
