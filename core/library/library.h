/*
 * Shared by the parts of libperfci: errors of a thread, and structs whose size the caller states.
 * Private to core/library.
 */
#ifndef PFC_CORE_LIBRARY_LIBRARY_H
#define PFC_CORE_LIBRARY_LIBRARY_H

#include "core/base/err.h"
#include "core/comparison/comparison.h"
#include "core/library/perfci.h"

/* Size of a struct up to its last member in the first version of this ABI. */
#define LIBRARY_UNTIL(type, member) (offsetof(type, member) + sizeof(((type *)NULL)->member))

struct perfci_run {
    pfc_run *run;
};

/** An empty error of this thread, which perfci_error_message() shows after a failure. */
pfc_err *library_err(void);
/** The code of the interface for one of ours. */
int library_code(pfc_code code);
/** Reads a struct that begins with its size as the caller compiled it: `full` gets its members,
 * zero where the caller's struct is shorter. `least`: its size in the first version of this ABI.
 * PFC_EINVAL when it is shorter than that, or has members set that this library does not know. */
pfc_code library_take(const void *given, size_t least, void *full, size_t full_size,
                      const char *what, pfc_err *err) PFC_MUSTCHECK;
/** Writes the members of `full` that the caller's struct has; PFC_EINVAL when its size is shorter
 * than `least`. */
pfc_code library_give(void *given, size_t least, const void *full, size_t full_size,
                      const char *what, pfc_err *err) PFC_MUSTCHECK;
/** PFC_EINVAL unless `given`. */
pfc_code library_need(const void *given, const char *what, pfc_err *err) PFC_MUSTCHECK;
/** PFC_EINVAL unless i < len. */
pfc_code library_within(size_t i, size_t len, const char *what, pfc_err *err) PFC_MUSTCHECK;
/** PFC_EINVAL unless the value is 0 (the default) or in [low, high]. */
pfc_code library_number(double value, double low, double high, const char *what,
                        pfc_err *err) PFC_MUSTCHECK;
/** The row as the interface has it; its strings are the row's own. */
perfci_comparison library_row(const pfc_cmp_row *row);

#endif
