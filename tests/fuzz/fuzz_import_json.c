/* The readers of JSON documents. */
#include "tests/fuzz/import_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = { "perfci",  "google-benchmark", "pytest-benchmark",
                                           "nvbench", "hyperfine",        "criterion",
                                           "asv",     "conbench",         "jmh",
                                           "lnt",     "github-action",    "bmf",
                                           "go",      "numbers",          NULL };

    return import_check_formats(formats, data, size);
}
