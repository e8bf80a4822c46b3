/*
 * A guarded door to libfyaml: depth checked on the text itself before the library
 * sees it, aliases refused, every fault with "file:line: ".
 */
#ifndef PFC_CORE_BASE_CONFIG_YAML_H
#define PFC_CORE_BASE_CONFIG_YAML_H

#include <libfyaml.h>

#include "core/base/err.h"

typedef struct pfc_yaml {
    const char *name; /* of the file, for errors; borrowed */
    struct fy_diag *diag;
    struct fy_document *doc;
} pfc_yaml;

/** Nesting of the text, never less than what a YAML parser would see: open brackets, levels of
 *  indentation and compact "- - -" lists; *line is where it first passes `limit`. */
size_t pfc_yaml_depth(const char *text, size_t len, size_t limit, int *line);

/** Parses text; *out is cleared with pfc_yaml_clear, also after a failure. */
pfc_code pfc_yaml_load(const char *text, size_t len, size_t max_depth, const char *name,
                       pfc_yaml *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_yaml_clear(pfc_yaml *yaml);

/** Line (from 1) where the node starts; 0 when unknown (an empty document). */
int pfc_yaml_line(struct fy_node *node);
/** Sets "name:line: ..." and returns PFC_EINVAL. */
pfc_code pfc_yaml_fault(const pfc_yaml *yaml, struct fy_node *node, pfc_err *err, const char *fmt,
                        ...) PFC_PRINTF(4, 5);
/** A scalar's text; caller frees. `what` for errors. At most max_len bytes, no control bytes. */
pfc_code pfc_yaml_text(const pfc_yaml *yaml, struct fy_node *node, const char *what, size_t max_len,
                       char **out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_yaml_i64(const pfc_yaml *yaml, struct fy_node *node, const char *what, int64_t min,
                      int64_t max, int64_t *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_yaml_double(const pfc_yaml *yaml, struct fy_node *node, const char *what, double min,
                         double max, double *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_yaml_bool(const pfc_yaml *yaml, struct fy_node *node, const char *what, bool *out,
                       pfc_err *err) PFC_MUSTCHECK;
/** PFC_EINVAL unless the node is a mapping (or a sequence) that has something to iterate. */
pfc_code pfc_yaml_want_mapping(const pfc_yaml *yaml, struct fy_node *node, const char *what,
                               pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_yaml_want_sequence(const pfc_yaml *yaml, struct fy_node *node, const char *what,
                                pfc_err *err) PFC_MUSTCHECK;
/** Refuses keys of the mapping that are not in the NULL-terminated list, naming the known ones. */
pfc_code pfc_yaml_known(const pfc_yaml *yaml, struct fy_node *mapping, const char *what,
                        const char *const *known, pfc_err *err) PFC_MUSTCHECK;
/** Value under `key`, or NULL. */
struct fy_node *pfc_yaml_get(struct fy_node *mapping, const char *key);

#endif
