#include "kernels/accel/reference/array_parts.h"

void pfc_accel_ports_start(pfc_accel_array *array, pfc_accel_port *ports, size_t len, bool go,
                           uint64_t fold)
{
    /* from the last: each sees what the one before it had in the tick before */
    for (size_t i = len; i-- > 0;) {
        const bool start = i ? ports[i - 1].started : go;

        ports[i].started = start;
        if (!start)
            continue;
        array->lost |= ports[i].on;
        ports[i].on = true;
        ports[i].fold = i ? ports[i - 1].fold : fold;
        ports[i].next = 0;
    }
}
