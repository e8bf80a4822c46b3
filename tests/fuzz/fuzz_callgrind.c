/* Files of callgrind: refused with the file's name, or functions whose instructions sum up. */
#include <string.h>

#include "core/analysis/functions/functions.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pfc_functions f = { 0 };
    pfc_functions none = { 0 };
    pfc_function_delta d;
    char text[320];
    pfc_err err = { 0 };
    uint64_t sum = 0;

    if (pfc_callgrind_read((const char *)data, size, "x.out", &f, &err)) {
        FUZZ_CHECK(strncmp(err.msg, "x.out:", 6) == 0);
    } else {
        pfc_functions_sort(&f);
        for (size_t i = 0; i < f.len; i++) {
            sum += f.items[i].self;
            FUZZ_CHECK(i == 0 || strcmp(f.items[i - 1].name, f.items[i].name) < 0);
        }
        FUZZ_CHECK(sum == f.total);
        pfc_functions_compare(&none, &f, &d);
        for (size_t i = 0; i < d.len; i++)
            (void)pfc_function_sentence(&d, i, text);
    }
    pfc_functions_clear(&f);
    return 0;
}
