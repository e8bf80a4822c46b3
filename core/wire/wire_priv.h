/* What the files of core/wire share, and what its fuzz target looks at. */
#ifndef PFC_CORE_WIRE_PRIV_H
#define PFC_CORE_WIRE_PRIV_H

#include "core/wire/wire.h"

/** An empty branch is what a script sends whose variable was not set: the default one, not one of no name. */
void pfc_wire_drop_empty(char **text);

#define PFC_WIRE_WANT_TIME "want a time of the years 1970 to 9999 such as 2026-11-22T10:00:00Z"

/** The tree of a text of the plain kind, equal to what jansson makes of it; NULL: not of that kind, over
 *  the limits, or not valid: ask jansson. The caller's to decref. */
json_t *pfc_json_quick(const char *text, size_t len, const pfc_json_limits *limits);

#endif
