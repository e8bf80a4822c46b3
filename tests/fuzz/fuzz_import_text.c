/* The readers of what tools print for people. */
#include "tests/fuzz/import_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = { "nccl-tests",  "go",        "catch2",
                                           "asv",         "criterion", "cutlass",
                                           "nvbandwidth", "numbers",   NULL };

    return import_check_formats(formats, data, size);
}
