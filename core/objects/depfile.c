/* Make's rules as compilers write them: "a.o: a.c \<newline> b.h", with "\ ", "\#" and "$$" in
 * names. */
#include <string.h>

#include "core/objects/objects.h"

typedef struct reader {
    const char *at, *end;
    char word[PFC_OBJECTS_NAME];
} reader;

typedef enum token { WORD, COLON, LINE, END } token;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Returns the bytes of a line continuation (a backslash before the newline), or 0 if there is
 * none. */
static size_t continuation(const reader *r)
{
    if (r->end - r->at >= 2 && r->at[0] == '\\' && r->at[1] == '\n')
        return 2;
    if (r->end - r->at >= 3 && r->at[0] == '\\' && r->at[1] == '\r' && r->at[2] == '\n')
        return 3;
    return 0;
}

/* A colon ends a target only before a blank: "C:/x" is a name. */
static bool is_colon(const reader *r)
{
    return *r->at == ':' &&
           (r->at + 1 == r->end || is_blank(r->at[1]) || r->at[1] == '\n' || r->at[1] == '\\');
}

static token next(reader *r)
{
    size_t len = 0;

    while (r->at < r->end && (is_blank(*r->at) || continuation(r)))
        r->at += is_blank(*r->at) ? 1 : continuation(r);
    if (r->at == r->end)
        return END;
    if (*r->at == '\n') {
        r->at++;
        return LINE;
    }
    if (is_colon(r)) {
        r->at++;
        return COLON;
    }
    while (r->at < r->end && !is_blank(*r->at) && *r->at != '\n' && !continuation(r) &&
           !is_colon(r)) {
        const bool escaped =
            r->end - r->at >= 2 && ((r->at[0] == '\\' && (r->at[1] == ' ' || r->at[1] == '#')) ||
                                    (r->at[0] == '$' && r->at[1] == '$'));

        r->at += escaped;
        if (len + 1 < sizeof(r->word))
            r->word[len++] = *r->at;
        r->at++;
    }
    r->word[len] = '\0';
    return WORD;
}

void pfc_objects_depfile(const char *text, size_t len, pfc_objects_sink sink, void *arg)
{
    reader r = { .at = text, .end = text + len };
    char target[PFC_OBJECTS_NAME] = "";
    bool named = false; /* end of the targets */
    token t;

    while ((t = next(&r)) != END) {
        if (t == LINE) {
            target[0] = '\0';
            named = false;
        } else if (t == COLON) {
            named = true;
        } else if (named) {
            sink(arg, target, r.word, "");
        } else if (!target[0]) {
            memcpy(target, r.word, strlen(r.word) + 1);
        }
    }
}
