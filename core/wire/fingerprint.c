/* Comparing fingerprints. */
#include "core/wire/fingerprint.h"

#include <stdlib.h>
#include <string.h>

/* The entries of the brief description, all of them and no other. */
static bool is_brief(const pfc_labels *p)
{
    static const char *const names[] = { "cpu",    "microcode", "cpus",     "arch",
                                         "kernel", "libc",      "governor", "smt" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        if (!pfc_labels_get(p, names[i]))
            return false;
    return p->len == PFC_ARRAY_LEN(names);
}

static bool is_of_harness(const char *name)
{
    static const char *const names[] = { "compiler",  "flags", "harness",
                                         "simulator", "chips", "suite" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* `full` is `brief` and more behind it. */
static bool begins(const char *full, const char *brief, const char *more)
{
    const size_t len = strlen(brief);

    return strncmp(full, brief, len) == 0 && strncmp(full + len, more, strlen(more)) == 0;
}

/* One of the texts of "a, b". */
static bool lists(const char *full, const char *one)
{
    const size_t len = strlen(one);

    for (const char *at = full; at; at = strstr(at, ", ") ? strstr(at, ", ") + 2 : NULL)
        if (strncmp(at, one, len) == 0 && (!at[len] || at[len] == ','))
            return true;
    return false;
}

/* True when the brief text says the same, as far as it goes: the CPU without family, model and
 * stepping, the kernel without the architecture, the first CPU's governor, 0 and 1. */
static bool same_in_brief(const pfc_labels *brief, const char *name, const char *text,
                          const char *full)
{
    if (strcmp(text, PFC_NOT_AVAILABLE) == 0)
        return true; /* looked for in one place alone */
    if (strcmp(name, "cpu") == 0)
        return begins(full, text, " (family ");
    if (strcmp(name, "kernel") == 0) {
        const char *last = strrchr(full, ' ');

        return begins(full, text, " ") && full + strlen(text) == last &&
               strcmp(last + 1, pfc_labels_get(brief, "arch")) == 0;
    }
    if (strcmp(name, "governor") == 0)
        return lists(full, text);
    return strcmp(name, "smt") == 0 && ((strcmp(text, "0") == 0 && strcmp(full, "off") == 0) ||
                                        (strcmp(text, "1") == 0 && strcmp(full, "on") == 0));
}

typedef struct sides {
    const pfc_labels *a, *b;
    bool brief_a, brief_b; /* at most one: two brief ones are compared as any two */
    pfc_fingerprint_view view;
} sides;

static bool differs(const sides *s, const char *name)
{
    const char *x = pfc_labels_get(s->a, name), *y = pfc_labels_get(s->b, name);

    if (x && y)
        return strcmp(x, y) != 0 && !(s->brief_a && same_in_brief(s->a, name, x, y)) &&
               !(s->brief_b && same_in_brief(s->b, name, y, x));
    if (is_of_harness(name))
        return s->view == PFC_FINGERPRINT_VALUES;
    /* The architecture stands with the kernel since. */
    if (strcmp(name, "arch") == 0 && (s->brief_a || s->brief_b))
        return false;
    return !(x ? s->brief_b : s->brief_a);
}

void pfc_fingerprint_diff(const pfc_labels *a, const pfc_labels *b, pfc_fingerprint_view view,
                          char ***names, size_t *len)
{
    sides s = { .a = a, .b = b, .brief_a = is_brief(a), .brief_b = is_brief(b), .view = view };
    size_t cap = 0;

    if (s.brief_a && s.brief_b)
        s.brief_a = s.brief_b = false;
    *names = NULL;
    *len = 0;
    for (size_t i = 0; i < a->len + b->len; i++) {
        const char *name = i < a->len ? a->items[i].name : b->items[i - a->len].name;

        if ((i >= a->len && pfc_labels_get(a, name)) || !differs(&s, name))
            continue;
        *names = pfc_grow(*names, *len, &cap, sizeof(char *));
        (*names)[(*len)++] = pfc_strdup(name);
    }
}
