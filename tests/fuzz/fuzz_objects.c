/* Object files of a build: the first byte says which reader gets the rest. Names are bounded, and
 * what is refused has a sentence. */
#include <string.h>

#include "core/objects/objects.h"

#include "tests/fuzz/fuzz.h"

static void check(void *arg, const char *object, const char *file, const char *dir)
{
    size_t *heard = arg;

    FUZZ_CHECK(strlen(object) < PFC_OBJECTS_NAME * 200);
    FUZZ_CHECK(strlen(file) + strlen(dir) < PFC_OBJECTS_NAME * 200);
    *heard += 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    char hash[PFC_SHA256_HEX];
    size_t heard = 0;
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    if (size == 0)
        return 0;
    size--;
    if (data[0] == 'c')
        code = pfc_objects_commands(text, size, check, &heard, &err);
    else if (data[0] == 'd')
        pfc_objects_depfile(text, size, check, &heard);
    else if (data[0] == 'n')
        code = pfc_objects_ninja_deps(text, size, check, &heard, &err);
    else if (data[0] == 'm' && pfc_objects_is_link_map(text, size))
        pfc_objects_link_map(text, size, check, &heard);
    else if (data[0] == 'p')
        code = pfc_objects_code_hash(text, size, "/root", hash, &err);
    FUZZ_CHECK((code != PFC_OK) == (err.msg[0] != '\0'));
    FUZZ_CHECK(heard <= 1 + size * size);
    return 0;
}
