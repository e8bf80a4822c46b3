/* Reads files of named entries: see entries.h. */
#include "core/base/config/entries.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/parse.h"

#define BLANKS " \t\r"

pfc_code pfc_entry_bad(const pfc_entry *e, pfc_err *err, const char *sentence)
{
    return pfc_err_set(err, PFC_EINVAL, "%s:%zu: %s", e->where, e->number, sentence);
}

/* *index: of a known word. */
static bool find_word(const pfc_entry_rules *rules, const char *word, size_t *index)
{
    for (*index = 0; rules->words[*index]; ++*index)
        if (strcmp(rules->words[*index], word) == 0)
            return true;
    return false;
}

const char *pfc_entry_get(const pfc_entry *e, const char *word)
{
    size_t i;

    return find_word(e->rules, word, &i) ? e->values[i] : NULL;
}

char *pfc_entry_take(pfc_entry *e, const char *word)
{
    char *value = NULL;
    size_t i;

    if (find_word(e->rules, word, &i)) {
        value = e->values[i];
        e->values[i] = NULL;
    }
    return value;
}

static pfc_code unknown_word(const pfc_entry *e, const char *word, pfc_err *err)
{
    pfc_buf known;
    pfc_code code;

    pfc_buf_init(&known, PFC_ENTRY_MAX_BYTES);
    for (size_t i = 0; e->rules->words[i]; i++)
        pfc_buf_printf(&known, "%s%s", i ? ", " : "", e->rules->words[i]);
    code = pfc_err_set(err, PFC_EINVAL, "%s:%zu: unknown word \"%.40s\"; known: %s", e->where,
                       e->number, word, pfc_buf_text(&known));
    pfc_buf_clear(&known);
    return code;
}

/* The next word of the line, ended in place; NULL: there is none. Quotes around a value are
 * removed. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, BLANKS), *at = word;
    const char *equals;
    size_t len;

    if (!*word)
        return NULL;
    at += strcspn(at, BLANKS "=");
    equals = *at == '=' ? at : NULL;
    if (equals && at[1] == '"' && strchr(at + 2, '"')) {
        len = strcspn(at + 2, "\"");
        memmove(at + 1, at + 2, len);
        at[1 + len] = '\0';
        *rest = at + 3 + len;
        return word;
    }
    at += strcspn(at, BLANKS);
    *rest = *at ? at + 1 : at;
    *at = '\0';
    return word;
}

static pfc_code take_word(pfc_entry *e, char *word, pfc_err *err)
{
    char *value = strchr(word, '=');
    size_t i;

    if (!value || !value[1])
        return pfc_err_set(err, PFC_EINVAL, "%s:%zu: expected NAME WORD=VALUE..., got \"%.60s\"",
                           e->where, e->number, word);
    *value++ = '\0';
    if (!find_word(e->rules, word, &i))
        return unknown_word(e, word, err);
    if (e->values[i])
        return pfc_err_set(err, PFC_EINVAL, "%s:%zu: expected %s once, got it twice", e->where,
                           e->number, word);
    e->values[i] = pfc_strdup(value);
    return PFC_OK;
}

/* The names so far. */
typedef struct names {
    char **items;
    size_t len;
} names;

static pfc_code take_name(pfc_entry *e, names *seen, const char *word, pfc_err *err)
{
    const char *what = e->rules->what;

    if (seen->len == e->rules->max)
        return pfc_err_set(err, PFC_EINVAL, "%s:%zu: expected at most %zu %ss", e->where, e->number,
                           e->rules->max, what);
    if (!pfc_is_slug(word))
        return pfc_err_set(err, PFC_EINVAL,
                           "%s:%zu: a line begins with the %s's name: [a-z0-9][a-z0-9._-]*",
                           e->where, e->number, what);
    for (size_t i = 0; i < seen->len; i++)
        if (strcmp(seen->items[i], word) == 0)
            return pfc_err_set(err, PFC_EINVAL, "%s:%zu: another %s has this name", e->where,
                               e->number, what);
    e->name = seen->items[seen->len++] = pfc_strdup(word);
    return PFC_OK;
}

static pfc_code read_line(pfc_entry *e, char *text, names *seen, pfc_entry_fn take, void *arg,
                          pfc_err *err)
{
    char *rest = text;
    char *word = next_word(&rest);
    pfc_code code;

    if (!word || word[0] == '#')
        return PFC_OK;
    code = take_name(e, seen, word, err);
    while (!code && (word = next_word(&rest)))
        code = take_word(e, word, err);
    return code ? code : take(arg, e, err);
}

pfc_code pfc_entries_read(const char *text, const char *where, const pfc_entry_rules *rules,
                          pfc_entry_fn take, void *arg, pfc_err *err)
{
    char *copy = pfc_strdup(text);
    char *rest = copy;
    names seen = { .items = pfc_calloc(rules->max + 1, sizeof(char *)) };
    size_t number = 0;
    pfc_code code = PFC_OK;

    /* strsep, so that blank lines count. */
    for (char *at = strsep(&rest, "\n"); at && !code; at = strsep(&rest, "\n")) {
        pfc_entry e = { .where = where, .number = ++number, .rules = rules };

        for (size_t len = strlen(at); len && at[len - 1] == '\\' && rest; len = strlen(at)) {
            at[len - 1] = ' ';
            rest[-1] = ' '; /* the line feed, which strsep has overwritten */
            (void)strsep(&rest, "\n");
            number++;
        }
        if (strlen(at) > PFC_ENTRY_MAX_BYTES)
            code = pfc_entry_bad(&e, err, "the line is over 8192 bytes");
        else
            code = read_line(&e, at, &seen, take, arg, err);
        for (size_t i = 0; i < PFC_ENTRY_MAX_WORDS; i++)
            free(e.values[i]);
    }
    for (size_t i = 0; i < seen.len; i++)
        free(seen.items[i]);
    free(seen.items);
    free(copy);
    return code;
}

pfc_code pfc_entries_file(const char *file, const char *flag, char **text, pfc_err *err)
{
    pfc_err why = { 0 };
    size_t len = 0;
    pfc_code code = PFC_OK;

    *text = NULL;
    if (pfc_fs_read(file, PFC_ENTRIES_MAX_BYTES, text, &len, &why))
        code = pfc_err_set(err, PFC_EINVAL, "%s: %s", flag, why.msg);
    else if (strlen(*text) != len || !pfc_is_utf8(*text, len))
        code = pfc_err_set(err, PFC_EINVAL, "%s: expected text", file);
    if (code) {
        free(*text);
        *text = NULL;
    }
    return code;
}
