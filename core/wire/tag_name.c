/*
 * Which names of tags are versions.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/wire/wire.h"

/* A word such as "rc" or "beta" anywhere in the name. */
static bool is_preview(const char *name)
{
    static const char *const words[] = { "rc",         "alpha", "beta",    "pre",      "preview",
                                         "prerelease", "dev",   "nightly", "snapshot", "test" };

    for (const char *p = name; *p; p += isalpha((unsigned char)*p) ? 0 : 1) {
        size_t len = 0;

        while (isalpha((unsigned char)p[len]))
            len++;
        for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++)
            if (len == strlen(words[i]) && strncasecmp(p, words[i], len) == 0)
                return true;
        p += len;
        if (!*p)
            break;
    }
    return false;
}

bool pfc_tag_is_release(const char *name)
{
    const char *slash = strrchr(name, '/'), *text = slash ? slash + 1 : name, *digits = text;
    const size_t prefix = strcspn(text, "0123456789");
    size_t numbers = 0;

    for (size_t i = 0; i < prefix; i++)
        if (!isalpha((unsigned char)text[i]) && !strchr("-_.", text[i]))
            return false;
    digits += prefix;
    for (const char *p = digits; *p; p++) {
        if (!isalnum((unsigned char)*p) && !strchr("-_.+", *p))
            return false;
        numbers += isdigit((unsigned char)*p) && (p == digits || !isalnum((unsigned char)p[-1]));
    }
    if (numbers == 0 || is_preview(text))
        return false;
    /* "v2" and "r128" are versions, "build17" is not; "lib-1.2" is one by its dot. */
    return numbers > 1 || prefix == 0 || (prefix == 1 && strchr("vVr", text[0])) ||
           strncasecmp(text, "release", 7) == 0;
}
