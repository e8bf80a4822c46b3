/*
 * How many runs may wait to be stored: as many as are stored within a second at the rate that was
 * seen lately, so that whoever is let in is answered soon, and who would not be hears it at once.
 * Little's law turns the rate into the length. Plain data: the caller's lock guards it.
 */
#ifndef PFC_SERVER_SERVICES_INGEST_QUEUE_LIMIT_H
#define PFC_SERVER_SERVICES_INGEST_QUEUE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFC_PACE_WAIT_NS  1000000000.0 /* that the last in the queue is expected to wait */
/* What one transaction takes: fewer would make groups smaller and so the rate, whatever the pace. */
#define PFC_PACE_ROOM_MIN 256
#define PFC_PACE_ROOM_MAX 4096

typedef struct pfc_pace {
    double run_ns;   /* from one stored run to the next while others wait; > 0 */
    int64_t last_ns; /* when the last group was stored */
} pfc_pace;

/** run_ns 0: 0.5 ms, a slow machine's, until something was seen. */
void pfc_pace_begin(pfc_pace *pace, double run_ns);
/** `runs` > 0 that a writer took at taken_ns are stored at now_ns; `left`: others waited when they were
 *  taken. A group that left nobody waiting tells only that the rate is at least its own. The first one after
 *  10 s without any forgets a slow pace: the burst that ends a quiet hour is not refused for what was. */
void pfc_pace_stored(pfc_pace *pace, int64_t taken_ns, int64_t now_ns, size_t runs, bool left);
/** PFC_PACE_ROOM_MIN to PFC_PACE_ROOM_MAX. */
size_t pfc_pace_room(const pfc_pace *pace);

#endif
