/* The readers of CSV: each tool's, tables of one's own by their columns, and by a mapping. */
#include "tests/fuzz/import_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = { "csv",     "triton",    "otava",     "ncu", "rocprof",
                                           "cutlass", "hyperfine", "criterion", NULL };
    static const char map[] = "name: \"{a}/{b}\"\nparams: [c]\nmetrics:\n  d: {unit: us, better: "
                              "lower, scale: 2}\nonly: {a: [x, y]}\nbroken: {b: failed}\n";
    const pfc_import_opts mapped = { .map = map };

    /* The mapping is parsed each time, which costs more than the table. */
    if (!FUZZ_ONE_FORM || size % 17 == 0)
        import_check(&mapped, data, size);
    return import_check_formats(formats, data, size);
}
