/* Tokens in texts that are shown or logged. */
#include <ctype.h>
#include <string.h>

#include "core/forge/provider.h"

static const char *const prefixes[] = { "ghs_",  "ghp_",        "gho_",   "ghu_",
                                        "ghr_",  "github_pat_", "glpat-", "gldt-",
                                        "glrt-", "glcbt-",      "gloas-" };

static bool is_token_char(char c)
{
    return isalnum((unsigned char)c) || strchr("_-.", c);
}

/* Bytes of the prefix at `at`; 0: none. It begins a word, or the whole would be a part of one. */
static size_t prefix_at(const char *text, const char *at)
{
    if (at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
        return 0;
    for (size_t i = 0; i < PFC_ARRAY_LEN(prefixes); i++) {
        const size_t len = strlen(prefixes[i]);

        if (strncmp(at, prefixes[i], len) == 0 && at[len] && is_token_char(at[len]))
            return len;
    }
    return 0;
}

void pfc_forge_redact(char *text)
{
    char *to = text;

    for (const char *at = text; *at;) {
        const size_t len = prefix_at(text, at);

        if (!len) {
            *to++ = *at++;
            continue;
        }
        memmove(to, at, len);
        to += len;
        at += len;
        while (*at && is_token_char(*at))
            at++;
        /* It takes the place of one character at least, which was read. */
        *to++ = '*';
    }
    *to = '\0';
}
