/*
 * The ends' difference against the margin, from a fitted model. Private to core/bisect; finding.h
 * is the public form.
 */
#ifndef PFC_CORE_BISECT_MARGIN_H
#define PFC_CORE_BISECT_MARGIN_H

#include "core/bisect/finding.h"
#include "core/bisect/model/model.h"

void plan_finding(const plan_model *model, pfc_finding *out);
/* While the finding is open: is another run of the ends within what equal ends would have
 * needed? */
bool plan_finding_pays(const plan_model *model, const pfc_finding *finding);

#endif
