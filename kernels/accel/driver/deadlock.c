/* Why nothing goes on: the circle of streams that wait for each other, as a sentence. */
#include <stdio.h>
#include <string.h>

#include "kernels/accel/driver/parts.h"

/* A command that is not over and would raise the semaphore to the value. */
static const pfc_accel_packet *find_signal(const pfc_accel_device *dev, size_t semaphore,
                                           uint64_t value, pfc_accel_stream *stream)
{
    for (uint32_t s = 0; s < dev->streams_len; s++)
        for (size_t i = 0; i < dev->queues[s].len; i++) {
            const pfc_accel_packet *p = pfc_accel_queue_at(&dev->queues[s], i);

            if ((p->kind == PFC_ACCEL_PACKET_SIGNAL || p->kind == PFC_ACCEL_PACKET_RECORD) &&
                p->semaphore == semaphore && p->value >= value) {
                *stream = s;
                return p;
            }
        }
    return NULL;
}

static void append(char text[PFC_ERR_MAX], const char *more)
{
    const size_t len = strlen(text);

    snprintf(text + len, PFC_ERR_MAX - len, "%s", more);
}

static void append_wait(const pfc_accel_device *dev, pfc_accel_stream stream,
                        const pfc_accel_packet *wait, char text[PFC_ERR_MAX])
{
    const bool hidden = dev->semaphores[wait->semaphore].hidden;
    char part[160];

    snprintf(part, sizeof(part), "stream %u waits in command %llu for %s %zu >= %llu", stream,
             (unsigned long long)wait->number, hidden ? "event semaphore" : "semaphore",
             wait->semaphore, (unsigned long long)wait->value);
    append(text, part);
}

pfc_code pfc_accel_deadlock(const pfc_accel_device *dev, pfc_accel_stream stream, pfc_err *err)
{
    bool seen[PFC_ACCEL_MAX_STREAMS] = { false };
    char text[PFC_ERR_MAX] = "deadlock: ";
    pfc_accel_stream at = stream;

    while (!seen[at]) {
        /* Every other command becomes over, so a queue that stands still has a wait at its head. */
        const pfc_accel_packet *wait = pfc_accel_queue_at(&dev->queues[at], 0);
        const pfc_accel_packet *by;
        pfc_accel_stream next = at;
        char part[96];

        seen[at] = true;
        append_wait(dev, at, wait, text);
        by = find_signal(dev, wait->semaphore, wait->value, &next);
        if (!by) {
            append(text, ", which no command signals");
            return pfc_err_set(err, PFC_ECONFLICT, "%s", text);
        }
        snprintf(part, sizeof(part), ", which command %llu of stream %u signals; ",
                 (unsigned long long)by->number, next);
        append(text, part);
        at = next;
    }
    append(text, "the circle closes");
    return pfc_err_set(err, PFC_ECONFLICT, "%s", text);
}
