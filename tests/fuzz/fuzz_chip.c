/* Chip files: refused with the line, or a chip that takes an array of its own. */
#include <string.h>

#include "kernels/accel/device/device.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    if (pfc_accel_chip_parse((const char *)data, size, "x.chip", &chip, &err)) {
        FUZZ_CHECK(strstr(err.msg, "x.chip") != NULL);
        return 0;
    }
    FUZZ_CHECK(pfc_accel_chip_set_array(&chip, 8, 8, &err) == PFC_OK);
    FUZZ_CHECK(pfc_accel_chip_set_array(&chip, 0, 8, &err) != PFC_OK);
    return 0;
}
