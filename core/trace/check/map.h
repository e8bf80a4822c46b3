/*
 * A hash map from 64-bit keys to a few numbers, with a limit. Private to core/trace.
 */
#ifndef PFC_CORE_TRACE_CHECK_MAP_H
#define PFC_CORE_TRACE_CHECK_MAP_H

#include "core/base/base.h"

typedef struct pfc_trace_entry {
    uint64_t key;
    int64_t ns;
    uint64_t event; /* 0: the place is free */
    uint64_t offset;
    size_t at; /* for the user */
} pfc_trace_entry;

typedef struct pfc_trace_map {
    pfc_trace_entry *entries; /* a power of two of places; owned */
    size_t places, len, max;
} pfc_trace_map;

/** An empty map of at most `max` entries. Nothing is allocated yet. */
void pfc_trace_map_init(pfc_trace_map *map, size_t max);
void pfc_trace_map_clear(pfc_trace_map *map);
/** NULL: not there. Valid until the next call that adds or removes. */
pfc_trace_entry *pfc_trace_map_find(const pfc_trace_map *map, uint64_t key);
/** Adds an entry with this key, which is not there, and `event` > 0. NULL: the map is full. */
pfc_trace_entry *pfc_trace_map_add(pfc_trace_map *map, uint64_t key, uint64_t event);
void pfc_trace_map_remove(pfc_trace_map *map, pfc_trace_entry *entry);

#endif
