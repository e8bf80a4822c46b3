/*
 * The plain kind of JSON, read quickly: ASCII strings without escapes, numbers of up to 15 digits,
 * no member twice. That is what runners send, thousands of numbers at a time. On any other input
 * this parser stops and jansson parses the whole text, so that jansson alone decides what is valid
 * and writes every message. A fuzz target checks that both build the same trees.
 */
#include <string.h>

#include "core/wire/wire_priv.h"

#define DIGITS_MAX 15 /* below 2^53 whatever they are */
#define POWER_MAX  22 /* the largest power of ten that a double holds exactly */

typedef struct reader {
    const char *at, *end;
    int depth;
    pfc_json_limits left;
} reader;

static json_t *read_value(reader *r);

static void skip_blanks(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

/* Skips blanks and then this character; returns false if another one follows. */
static bool skip(reader *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* The inside of a string; at its opening quote. */
static bool read_text(reader *r, const char **text, size_t *len)
{
    if (!skip(r, '"'))
        return false;
    *text = r->at;
    while (r->at < r->end && *r->at >= 0x20 && *r->at < 0x7f && *r->at != '"' && *r->at != '\\')
        r->at++;
    if (r->at == r->end || *r->at != '"')
        return false;
    *len = (size_t)(r->at - *text);
    r->at++;
    return true;
}

/* Digits into *value; their number. */
static int read_digits(reader *r, uint64_t *value, int room)
{
    int digits = 0;

    while (r->at < r->end && *r->at >= '0' && *r->at <= '9' && digits <= room) {
        *value = *value * 10 + (uint64_t)(*r->at++ - '0');
        digits++;
    }
    return digits;
}

/* Exact: an integer below 2^53 divided by an exact power of ten is rounded once (Clinger, "How to
 * read floating point numbers accurately", PLDI 1990). */
static json_t *read_number(reader *r)
{
    static const double powers[POWER_MAX + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    const bool minus = *r->at == '-';
    uint64_t value = 0;
    int whole, part = 0;
    bool real = false;
    const char *first;

    r->at += minus;
    first = r->at;
    whole = read_digits(r, &value, DIGITS_MAX);
    if (whole == 0 || whole > DIGITS_MAX || (whole > 1 && *first == '0'))
        return NULL;
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        real = true;
        part = read_digits(r, &value, DIGITS_MAX - whole);
        if (part == 0 || whole + part > DIGITS_MAX)
            return NULL;
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E'))
        return NULL;
    if (!real)
        return json_integer(minus ? -(json_int_t)value : (json_int_t)value);
    return json_real((minus ? -1.0 : 1.0) * ((double)value / powers[part]));
}

static json_t *read_array(reader *r)
{
    json_t *array = json_array();

    r->at++;
    if (skip(r, ']'))
        return array;
    do {
        /* Takes the value, and fails when there is none. */
        if (json_array_append_new(array, read_value(r)))
            goto failed;
    } while (skip(r, ','));
    if (skip(r, ']'))
        return array;

failed:
    json_decref(array);
    return NULL;
}

static json_t *read_object(reader *r)
{
    json_t *object = json_object();
    size_t members = 0;

    r->at++;
    if (skip(r, '}'))
        return object;
    do {
        const char *key;
        size_t key_len;

        if (!read_text(r, &key, &key_len) || !skip(r, ':') ||
            json_object_setn_new_nocheck(object, key, key_len, read_value(r)) ||
            json_object_size(object) != ++members) /* the member occurs twice */
            goto failed;
    } while (skip(r, ','));
    if (skip(r, '}'))
        return object;

failed:
    json_decref(object);
    return NULL;
}

static bool skip_word(reader *r, const char *word)
{
    size_t len = strlen(word);

    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
        return false;
    r->at += len;
    return true;
}

static json_t *read_nested(reader *r)
{
    json_t *value = NULL;

    if (r->depth < PFC_WIRE_MAX_DEPTH && r->left.nested > 0) {
        r->left.nested--;
        r->depth++;
        value = *r->at == '{' ? read_object(r) : read_array(r);
        r->depth--;
    }
    return value;
}

static json_t *read_value(reader *r)
{
    const char *text;
    size_t len;

    skip_blanks(r);
    if (r->at == r->end || r->left.values == 0)
        return NULL;
    r->left.values--;
    switch (*r->at) {
    case '{':
    case '[':
        return read_nested(r);
    case '"':
        return read_text(r, &text, &len) ? json_stringn_nocheck(text, len) : NULL;
    case 't':
        return skip_word(r, "true") ? json_true() : NULL;
    case 'f':
        return skip_word(r, "false") ? json_false() : NULL;
    case 'n':
        return skip_word(r, "null") ? json_null() : NULL;
    default:
        return *r->at == '-' || (*r->at >= '0' && *r->at <= '9') ? read_number(r) : NULL;
    }
}

json_t *pfc_json_quick(const char *text, size_t len, const pfc_json_limits *limits)
{
    reader r = { .at = text, .end = text + len, .left = *limits };
    json_t *root = read_value(&r);

    skip_blanks(&r);
    if (root && r.at == r.end)
        return root;
    json_decref(root);
    return NULL;
}
