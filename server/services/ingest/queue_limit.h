/*
 * Limits how many runs may wait to be stored to the number that is stored within a second at the
 * recent rate. An accepted request is answered soon, and any other is refused at once. Little's law
 * gives the length of the queue from the rate. Plain data: the caller's lock guards it.
 */
#ifndef PFC_SERVER_SERVICES_INGEST_QUEUE_LIMIT_H
#define PFC_SERVER_SERVICES_INGEST_QUEUE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFC_PACE_WAIT_NS  1000000000.0 /* expected wait of the last run in the queue */
/* The largest group of one transaction: a shorter queue would lower the rate with the group
 * size. */
#define PFC_PACE_ROOM_MIN 256
#define PFC_PACE_ROOM_MAX 4096

typedef struct pfc_pace {
    double run_ns;   /* from one stored run to the next while others wait; > 0 */
    int64_t last_ns; /* when the last group was stored */
} pfc_pace;

/** run_ns 0: start with 0.5 ms, the figure of a slow machine, until a group was stored. */
void pfc_pace_begin(pfc_pace *pace, double run_ns);
/** `runs` > 0 that a writer took at taken_ns are stored at now_ns; `left`: other runs waited when
 *  they were taken. A group that emptied the queue gives only a lower bound of the rate. The first
 *  group after 10 s without any resets a slow rate, so that a burst is not refused because of a
 *  slow period long before. */
void pfc_pace_stored(pfc_pace *pace, int64_t taken_ns, int64_t now_ns, size_t runs, bool left);
/** PFC_PACE_ROOM_MIN to PFC_PACE_ROOM_MAX. */
size_t pfc_pace_room(const pfc_pace *pace);

#endif
