/* A mapping of columns: the first part of the input, to a line of "---", on the table behind it. */
#include <string.h>

#include "tests/fuzz/import_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char table[] = "a,b,c,d,time,commit,branch\nx,y,1,2.5,2024-01-01,aaa,main\n"
                                "x,failed,2,nan,2024-01-02,bbb,main\n";
    const uint8_t *cut = size ? memmem(data, size, "\n---\n", 5) : NULL;
    char *map = pfc_strndup((const char *)data, cut ? (size_t)(cut - data) : size);
    const pfc_import_opts opts = { .map = map };

    if (cut)
        import_check(&opts, cut + 5, size - (size_t)(cut + 5 - data));
    else
        import_check(&opts, (const uint8_t *)table, sizeof(table) - 1);
    free(map);
    return 0;
}
