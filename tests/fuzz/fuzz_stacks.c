/* Output of `perf script`: refused in a sentence, or a tree whose children hold as many samples as
 * their parent. */
#include <string.h>

#include "core/analysis/flame/flame.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pfc_flame f = { 0 };
    pfc_flame_function list[4];
    pfc_err err = { 0 };

    if (pfc_flame_read(&f, size % 2, (const char *)data, size, "x", &err))
        FUZZ_CHECK(err.msg[0]);
    else
        for (size_t i = 0; i < f.len; i++) {
            const size_t side = size % 2;
            uint64_t below = f.nodes[i].self[side];

            for (size_t c = f.nodes[i].first_child; c; c = f.nodes[c].next)
                below += f.nodes[c].samples[side];
            FUZZ_CHECK(below == f.nodes[i].samples[side]);
        }
    (void)pfc_flame_functions(&f, list, 4);
    pfc_flame_clear(&f);
    return 0;
}
