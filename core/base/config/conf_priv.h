/* Parts of the reader of perfci.yaml. Private to this folder. */
#ifndef PFC_CORE_BASE_CONFIG_CONF_PRIV_H
#define PFC_CORE_BASE_CONFIG_CONF_PRIV_H

#include "core/base/config/rerun.h"
#include "core/base/config/yaml.h"

/** Reads the value of `rerun:`. name: of the file; line: of the key, for an empty value. Every
 *  fault is PFC_EINVAL with file, line and what was expected. */
pfc_code pfc_conf_rerun(const char *name, int line, struct fy_node *value, pfc_rerun_rules *out,
                        pfc_err *err) PFC_MUSTCHECK;

#endif
