/*
 * Maps of linkers agree in little, but all name each object that is in: as a word that ends in ".o"
 * or
 * ".obj", as a member "libx.a(gemm.o)", or with a section behind it ("gemm.o:(.text)").
 */
#include <string.h>

#include "core/objects/objects.h"

static bool ends_in(const char *text, size_t len, const char *end)
{
    const size_t n = strlen(end);

    return len > n && memcmp(text + len - n, end, n) == 0;
}

/* The object in a word, without folders; its length, 0: there is none. */
static size_t object_in(const char **word, size_t len)
{
    const char *at = *word, *section = memmem(at, len, ":(", 2);
    const char *end = section ? section : at + len;
    const char *open = memchr(at, '(', (size_t)(end - at));

    if (open && end[-1] == ')') {
        at = open + 1;
        end--;
    }
    for (const char *c = end; c > at; c--)
        if (c[-1] == '/') {
            at = c;
            break;
        }
    *word = at;
    len = (size_t)(end - at);
    return ends_in(at, len, ".o") || ends_in(at, len, ".obj") ? len : 0;
}

void pfc_objects_link_map(const char *text, size_t len, pfc_objects_sink sink, void *arg)
{
    static const char blanks[] = " \t\r\n";
    char name[PFC_OBJECTS_NAME];
    const char *end = text + len;

    for (const char *at = text; at < end;) {
        const char *word = at;
        size_t object;

        while (at < end && !memchr(blanks, *at, sizeof(blanks)))
            at++;
        object = at > word ? object_in(&word, (size_t)(at - word)) : 0;
        if (object && object < sizeof(name)) {
            memcpy(name, word, object);
            name[object] = '\0';
            sink(arg, name, "", "");
        }
        at++;
    }
}

bool pfc_objects_is_link_map(const char *text, size_t len)
{
    static const char *const heads[] = { "Archive member included",
                                         "Discarded input sections",
                                         "Memory Configuration",
                                         "             VMA",
                                         "     VMA",
                                         "Merging program properties",
                                         "As-needed library" };

    while (len && (*text == '\n' || *text == '\r')) {
        text++;
        len--;
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(heads); i++)
        if (len >= strlen(heads[i]) && memcmp(text, heads[i], strlen(heads[i])) == 0)
            return true;
    return false;
}
