/*
 * projects.rerun_rules, jobs.rerun_rules: the rules of perfci.yaml that measure a commit again
 * (core/base/config/rerun.h).
 */
#ifndef PFC_SERVER_REPO_DOCUMENTS_RERUN_RULES_H
#define PFC_SERVER_REPO_DOCUMENTS_RERUN_RULES_H

#include "core/base/config/rerun.h"
#include "core/base/err.h"

/** The text of the column; the caller frees it. */
char *pfc_rerun_rules_text(const pfc_rerun_rules *rules);
/** text NULL: no rules. PFC_EINVAL: it is not what pfc_rerun_rules_text makes. */
pfc_code pfc_rerun_rules_parse(const char *text, pfc_rerun_rules *out, pfc_err *err) PFC_MUSTCHECK;

#endif
