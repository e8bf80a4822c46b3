/* Other tools' results, found by content, and every format in turn. */
#include "tests/fuzz/import_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_check(NULL, data, size);
    return import_check_formats(pfc_import_formats(), data, size);
}
