/* Open addressing with linear probing; removal shifts back. See map.h. */
#include "core/trace/check/map.h"

#include <stdlib.h>

#include "core/trace/layout.h"

static size_t home(const pfc_trace_map *map, uint64_t key)
{
    return (size_t)pfc_trace_digest(PFC_TRACE_DIGEST_START, key) & (map->places - 1);
}

void pfc_trace_map_init(pfc_trace_map *map, size_t max)
{
    *map = (pfc_trace_map){ .max = max };
}

void pfc_trace_map_clear(pfc_trace_map *map)
{
    free(map->entries);
    pfc_trace_map_init(map, map->max);
}

pfc_trace_entry *pfc_trace_map_find(const pfc_trace_map *map, uint64_t key)
{
    if (!map->places)
        return NULL;
    for (size_t at = home(map, key); map->entries[at].event; at = (at + 1) & (map->places - 1))
        if (map->entries[at].key == key)
            return &map->entries[at];
    return NULL;
}

static pfc_trace_entry *free_place(pfc_trace_map *map, uint64_t key)
{
    size_t at = home(map, key);

    while (map->entries[at].event)
        at = (at + 1) & (map->places - 1);
    return &map->entries[at];
}

/* Twice as many places, at least 64. */
static void grow(pfc_trace_map *map)
{
    pfc_trace_entry *old = map->entries;
    const size_t places = map->places;

    map->places = PFC_MAX(2 * places, (size_t)64);
    map->entries = pfc_calloc(map->places, sizeof(*map->entries));
    for (size_t i = 0; i < places; i++)
        if (old[i].event)
            *free_place(map, old[i].key) = old[i];
    free(old);
}

pfc_trace_entry *pfc_trace_map_add(pfc_trace_map *map, uint64_t key, uint64_t event)
{
    pfc_trace_entry *entry;

    if (map->len == map->max)
        return NULL;
    if (2 * (map->len + 1) > map->places)
        grow(map);
    entry = free_place(map, key);
    *entry = (pfc_trace_entry){ .key = key, .event = event };
    map->len++;
    return entry;
}

void pfc_trace_map_remove(pfc_trace_map *map, pfc_trace_entry *entry)
{
    const size_t mask = map->places - 1;
    size_t hole = (size_t)(entry - map->entries);

    map->len--;
    for (size_t at = (hole + 1) & mask; map->entries[at].event; at = (at + 1) & mask) {
        /* An entry may move back unless its home lies behind the hole. */
        if (((at - home(map, map->entries[at].key)) & mask) >= ((at - hole) & mask)) {
            map->entries[hole] = map->entries[at];
            hole = at;
        }
    }
    map->entries[hole].event = 0;
}
