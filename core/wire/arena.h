/*
 * Throw-away memory for one JSON tree a thread: begin, parse, seal, read the tree, free (instead of
 * json_decref). Only what is allocated between begin and seal is throw-away.
 *
 * Installs jansson's allocation functions for the whole process at the first use; outside of begin
 * and seal they are malloc and free, so trees made before or elsewhere are freed as ever.
 */
#ifndef PFC_CORE_WIRE_ARENA_H
#define PFC_CORE_WIRE_ARENA_H

#include "core/base/base.h"

/** From here on this thread's JSON is throw-away. Does not nest: the last tree was freed. */
void pfc_json_arena_begin(void);
/** From here on no more: the tree stays readable. */
void pfc_json_arena_seal(void);
/** Frees the tree. */
void pfc_json_arena_free(void);

#endif
