/*
 * The function that callgrind counts in: from its entry to its return, everything it calls
 * included. In a file of its own, so that the compiler can neither inline nor clone it.
 */
#include "bench/harness/exact/exact.h"

void pfc_counted_call(const pfc_backend *backend, void *inst)
{
    backend->ops->run(inst, 1);
}
