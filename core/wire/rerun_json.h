/*
 * Rerun rules as JSON: [{"on": "canary", "times": 2, "after_s": 600, "machine": "other"}]. Runners
 * send them with the result of a job, and the service keeps them with the project.
 */
#ifndef PFC_CORE_WIRE_RERUN_JSON_H
#define PFC_CORE_WIRE_RERUN_JSON_H

#include "core/base/config/rerun.h"
#include "core/wire/wire.h"

/** The rules in their order, every member written; caller decrefs. */
json_t *pfc_rerun_to_json(const pfc_rerun_rules *rules);
/** Reads what pfc_rerun_to_json writes, strictly: unknown members, a trigger that occurs twice and
 *  values out of range are PFC_EINVAL with the member's path. NULL and null: no rules. */
pfc_code pfc_rerun_from_json(const json_t *doc, pfc_rerun_rules *out, pfc_err *err) PFC_MUSTCHECK;

#endif
