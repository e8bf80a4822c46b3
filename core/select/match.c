/* Decides whether an item is selected. */
#include <string.h>

#include "core/select/select_priv.h"

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static bool same(char a, char b, bool fold)
{
    return fold ? lower(a) == lower(b) : a == b;
}

/* Compares with `*` as any text; word: without regard to case, and more text may follow. After a
 * mismatch the last `*` takes one character more, so the work is at most length x length. */
static bool fits(const select_operand *pattern, const char *text, bool word)
{
    size_t p = 0, back = 0;
    const char *again = NULL;

    for (;;) {
        if (pattern->text[p] && pattern->any[p]) {
            back = ++p;
            again = text;
        } else if (*text && pattern->text[p] && same(pattern->text[p], *text, word)) {
            p++;
            text++;
        } else if (!pattern->text[p] && (word || !*text)) {
            return true;
        } else if (again && *again) {
            p = back;
            text = ++again;
        } else {
            return false;
        }
    }
}

/* Whether the word is anywhere in the text. */
static bool contains(const select_operand *word, const char *text)
{
    do {
        if (fits(word, text, true))
            return true;
    } while (*text++);
    return false;
}

static bool equals(const select_operand *value, const char *text)
{
    double number;

    if (value->is_number && pfc_select_number(text, &number))
        return number == value->number;
    return value->has_any ? fits(value, text, false) : strcmp(value->text, text) == 0;
}

static bool one_equals(const select_term *t, const char *text)
{
    for (size_t i = 0; i < t->len; i++)
        if (equals(&t->values[i], text))
            return true;
    return false;
}

static bool compares(const select_term *t, const char *text)
{
    const double limit = t->values[0].number;
    double number;

    if (!pfc_select_number(text, &number))
        return false;
    switch (t->op) {
    case OP_LT:
        return number < limit;
    case OP_LE:
        return number <= limit;
    case OP_GT:
        return number > limit;
    case OP_GE:
        return number >= limit;
    case OP_WORD:
    case OP_EQ:
    case OP_NE:
        break;
    }
    return false;
}

static bool holds(const select_term *t, pfc_select_value value, void *item)
{
    const char *text = value(item, t->field);

    if (!text)
        return t->op == OP_NE;
    if (t->op == OP_WORD)
        return contains(&t->values[0], text);
    if (t->op == OP_EQ || t->op == OP_NE)
        return one_equals(t, text) == (t->op == OP_EQ);
    return compares(t, text);
}

bool pfc_select_matches(const pfc_select *select, pfc_select_value value, void *item)
{
    for (size_t i = 0; i < select->len; i++)
        if (!holds(&select->terms[i], value, item))
            return false;
    return true;
}
