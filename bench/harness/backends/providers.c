/* The families of backends that this program has. */
#include "bench/harness/backends/backend.h"

static void (*const providers[])(pfc_backends *) = {
    pfc_backends_cpu,
    pfc_backends_accel,
};

void pfc_backends_list(pfc_backends *out)
{
    *out = (pfc_backends){ 0 };
    for (size_t i = 0; i < PFC_ARRAY_LEN(providers); i++)
        providers[i](out);
}
