/* What the files of core/wire share, and what its fuzz target looks at. */
#ifndef PFC_CORE_WIRE_PRIV_H
#define PFC_CORE_WIRE_PRIV_H

#include "core/wire/wire.h"

/** The tree of a text of the plain kind, equal to what jansson makes of it; NULL: not of that kind,
 *  or not valid: ask jansson. The caller's to decref. */
json_t *pfc_json_quick(const char *text, size_t len);

#endif
