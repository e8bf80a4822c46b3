/* Chip files made of a table of keys, for the tests of this folder. */
#ifndef PFC_TESTS_KERNELS_ACCEL_CHIPS_H
#define PFC_TESTS_KERNELS_ACCEL_CHIPS_H

#include "kernels/accel/device/device.h"

/** A key of a chip file: where it goes, its limits as the manual has them, a value that is fine. */
typedef struct chip_key {
    const char *name;
    size_t offset;
    uint64_t min;
    uint64_t max;
    uint64_t usual;
    bool power_of_two;
} chip_key;

extern const chip_key chip_keys[];
extern const size_t chip_keys_len;

/**
 * A whole file: every key at its usual value, but `name` at `value`.
 *
 * name   a key of the table, or one of "name", "about", "mode"; NULL changes none
 * value  the text behind "="; NULL leaves the line out
 *
 * Returns the text, which the caller frees.
 */
char *chip_text(const char *name, const char *value);

#endif
