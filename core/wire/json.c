/* Strict reading of JSON, and the path of a fault. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/wire/wire_priv.h"

#define KEY_SHOWN   60     /* bytes of a member's name in a path */
#define EXACT_WHOLE 0x1p53 /* as far as a double holds every whole number */

/* Upper bounds of a text's tree, from its brackets and commas. */
typedef struct extent {
    int depth;
    size_t nested, values;
} extent;

/* jansson recurses without a limit, so that depth and size are checked before it parses. Strings
 * are skipped. */
static extent measure(const char *text, size_t len)
{
    extent e = { .values = 1 };
    bool quoted = false, empty = false; /* empty: so far, of the innermost */
    int depth = 0;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
            empty = false;
        } else if (c == '[' || c == '{') {
            depth++;
            e.depth = PFC_MAX(e.depth, depth);
            e.nested++;
            e.values++; /* its first; the others have commas before them */
            empty = true;
        } else if (c == ']' || c == '}') {
            depth--;
            e.values -= empty;
            empty = false;
        } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            e.values += c == ',';
            empty = false;
        }
    }
    return e;
}

static pfc_code check_extent(const char *text, size_t len, const pfc_json_limits *limits,
                             pfc_err *err)
{
    const extent e = measure(text, len);

    if (e.depth > PFC_WIRE_MAX_DEPTH)
        return pfc_err_set(err, PFC_EINVAL, "JSON nested deeper than %d levels",
                           PFC_WIRE_MAX_DEPTH);
    if (e.nested > limits->nested)
        return pfc_err_set(
            err, PFC_ETOOBIG,
            "JSON: expected at most %zu arrays and objects, got %zu: send it in parts",
            limits->nested, e.nested);
    if (e.values > limits->values)
        return pfc_err_set(err, PFC_ETOOBIG,
                           "JSON: expected at most %zu values, got %zu: send it in parts",
                           limits->values, e.values);
    return PFC_OK;
}

pfc_code pfc_json_parse(const char *text, size_t len, json_t **out, pfc_err *err)
{
    return pfc_json_parse_within(text, len, &(pfc_json_limits){ SIZE_MAX, SIZE_MAX }, out, err);
}

pfc_code pfc_json_parse_within(const char *text, size_t len, const pfc_json_limits *limits,
                               json_t **out, pfc_err *err)
{
    json_error_t fault;
    json_t *root;
    pfc_code code;

    if (len == 0)
        return pfc_err_set(err, PFC_EINVAL, "expected a JSON document, got nothing");
    *out = pfc_json_quick(text, len, limits);
    if (*out)
        return PFC_OK;
    code = check_extent(text, len, limits, err);
    if (code)
        return code;
    root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
    /* A counter of 64 bits without a sign is as good a number as the same with an exponent. */
    if (root == NULL && json_error_code(&fault) == json_error_numeric_overflow)
        root = json_loadb(
            text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &fault);
    if (root == NULL)
        return pfc_err_set(err, PFC_EINVAL, "not valid JSON: line %d, column %d: %.200s",
                           fault.line, fault.column, fault.text);
    *out = root;
    return PFC_OK;
}

void pfc_wire_drop_empty(char **text)
{
    if (*text == NULL || **text != '\0')
        return;
    free(*text);
    *text = NULL;
}

static void put_key(pfc_buf *path, const char *key)
{
    pfc_buf_printf(path, "%s%.*s", path->len > 0 ? "." : "", (int)pfc_utf8_cut(key, KEY_SHOWN),
                   key);
}

static void put_path(pfc_buf *path, const pfc_json_at *at)
{
    if (at == NULL)
        return;
    put_path(path, at->up);
    if (at->key != NULL)
        put_key(path, at->key);
    else if (at->up != NULL)
        pfc_buf_printf(path, "[%zu]", at->index);
}

pfc_code pfc_json_fault(const pfc_json_at *at, const char *key, pfc_err *err, const char *fmt, ...)
{
    pfc_buf path;
    char text[PFC_ERR_MAX], shown[PFC_ERR_FIELD_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pfc_buf_init(&path, 4096);
    put_path(&path, at);
    if (key != NULL)
        put_key(&path, key);
    snprintf(shown, sizeof shown, "%.*s", (int)pfc_utf8_cut(pfc_buf_text(&path), sizeof shown - 1),
             pfc_buf_text(&path));
    pfc_err_set_field(err, PFC_EINVAL, shown, "%s%s%.380s", shown, path.len > 0 ? ": " : "", text);
    pfc_buf_clear(&path);
    return PFC_EINVAL;
}

/* The member, or NULL when it is absent or null; PFC_EINVAL when that is not allowed. */
static pfc_code member(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                       json_t **out, pfc_err *err)
{
    json_t *value = json_object_get(obj, key);

    *out = NULL;
    if (value == NULL || json_is_null(value))
        return required ? pfc_json_fault(at, key, err, "is missing") : PFC_OK;
    *out = value;
    return PFC_OK;
}

pfc_code pfc_json_string(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                         size_t max_len, char **out, pfc_err *err)
{
    json_t *value = NULL;
    pfc_code code = member(obj, at, key, required, &value, err);
    const char *text;
    size_t len;

    if (code != PFC_OK || value == NULL)
        return code;
    if (!json_is_string(value))
        return pfc_json_fault(at, key, err, "expected a string");
    text = json_string_value(value);
    len = json_string_length(value);
    if (len > max_len)
        return pfc_json_fault(at, key, err, "expected at most %zu bytes, got %zu", max_len, len);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            return pfc_json_fault(at, key, err, "control character %u at byte %zu", c, i);
    }
    *out = pfc_strndup(text, len);
    return PFC_OK;
}

pfc_code pfc_json_name(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                       size_t max_len, char **out, pfc_err *err)
{
    char *name = NULL;
    const char *control;
    pfc_code code = pfc_json_string(obj, at, key, required, max_len, &name, err);

    if (code || !name)
        return code;
    control = pfc_name_control(name);
    if (control) {
        code = pfc_json_fault(at, key, err,
                              "expected a name without control characters, line breaks and "
                              "characters that change the direction of text (byte %zu)",
                              (size_t)(control - name));
        free(name);
        return code;
    }
    *out = name;
    return PFC_OK;
}

pfc_code pfc_json_i64(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                      int64_t min, int64_t max, int64_t *out, pfc_err *err)
{
    json_t *value = NULL;
    pfc_code code = member(obj, at, key, required, &value, err);
    double real = json_real_value(value); /* returns 0 for a value that is not a real */
    json_int_t number;

    if (code != PFC_OK || value == NULL)
        return code;
    /* 5.0 is as whole as 5: JSON has numbers of one kind. */
    if (!json_is_number(value) || real != floor(real) || fabs(real) > EXACT_WHOLE)
        return pfc_json_fault(at, key, err, "expected a whole number");
    number = json_is_integer(value) ? json_integer_value(value) : (json_int_t)real;
    if (number < min || number > max)
        return pfc_json_fault(at, key, err, "expected %lld..%lld, got %lld", (long long)min,
                              (long long)max, (long long)number);
    *out = number;
    return PFC_OK;
}

pfc_code pfc_json_double(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                         double min, double max, double *out, pfc_err *err)
{
    json_t *value = NULL;
    pfc_code code = member(obj, at, key, required, &value, err);
    double number;

    if (code != PFC_OK || value == NULL)
        return code;
    if (!json_is_number(value))
        return pfc_json_fault(at, key, err, "expected a number");
    number = json_number_value(value);
    if (!isfinite(number) || number < min || number > max)
        return pfc_json_fault(at, key, err, "expected %g..%g, got %g", min, max, number);
    *out = number;
    return PFC_OK;
}

pfc_code pfc_json_bool(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                       bool *out, pfc_err *err)
{
    json_t *value = NULL;
    pfc_code code = member(obj, at, key, required, &value, err);

    if (code != PFC_OK || value == NULL)
        return code;
    if (!json_is_boolean(value))
        return pfc_json_fault(at, key, err, "expected true or false");
    *out = json_is_true(value);
    return PFC_OK;
}

pfc_code pfc_json_array(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                        size_t max_len, json_t **out, pfc_err *err)
{
    json_t *value = NULL;
    pfc_code code = member(obj, at, key, required, &value, err);

    if (code != PFC_OK || value == NULL)
        return code;
    if (!json_is_array(value))
        return pfc_json_fault(at, key, err, "expected an array");
    if (json_array_size(value) > max_len)
        return pfc_json_fault(at, key, err, "expected at most %zu entries, got %zu", max_len,
                              json_array_size(value));
    *out = value;
    return PFC_OK;
}

pfc_code pfc_json_object(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                         json_t **out, pfc_err *err)
{
    json_t *value = NULL;
    pfc_code code = member(obj, at, key, required, &value, err);

    if (code != PFC_OK || value == NULL)
        return code;
    if (!json_is_object(value))
        return pfc_json_fault(at, key, err, "expected an object");
    *out = value;
    return PFC_OK;
}

pfc_code pfc_json_known(const json_t *obj, const pfc_json_at *at, const char *const *names,
                        pfc_err *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(obj))
        return pfc_json_fault(at, NULL, err, "expected an object");
    /* The iteration does not change the object; the cast is needed because jansson's macro is not
     * const-correct. */
    json_object_foreach((json_t *)(uintptr_t)obj, key, value)
    {
        bool known = false;

        for (size_t i = 0; names[i] != NULL && !known; i++)
            known = strcmp(names[i], key) == 0;
        if (!known)
            return pfc_json_fault(at, key, err, "is not a member that is known here");
    }
    return PFC_OK;
}

pfc_code pfc_wire_read_word(const json_t *obj, const pfc_json_at *at, const char *key,
                            bool required, const char *const *words, size_t words_len,
                            size_t fallback, size_t *out, pfc_err *err)
{
    char *word = NULL;
    pfc_code code = pfc_json_string(obj, at, key, required, 32, &word, err);
    size_t i = 0;

    if (code != PFC_OK)
        return code;
    *out = fallback;
    if (word == NULL)
        return PFC_OK;
    while (i < words_len && strcmp(words[i], word) != 0)
        i++;
    if (i == words_len)
        code = pfc_json_fault(at, key, err, "\"%.32s\" is not one of the words known here", word);
    else
        *out = i;
    free(word);
    return code;
}

pfc_code pfc_wire_read_name(const json_t *obj, const pfc_json_at *at, const char *key,
                            bool required, char **out, pfc_err *err)
{
    char *name = NULL;
    pfc_code code = pfc_json_name(obj, at, key, required, PFC_WIRE_MAX_NAME, &name, err);
    size_t len;

    if (code != PFC_OK || name == NULL)
        return code;
    len = strlen(name);
    if ((required && len == 0) || strpbrk(name, "\n\t") != NULL ||
        (len > 0 && (name[0] == ' ' || name[len - 1] == ' '))) {
        free(name);
        return pfc_json_fault(at, key, err, "expected a name%s",
                              required ? " that is not empty" : "");
    }
    *out = name;
    return PFC_OK;
}

pfc_code pfc_wire_read_time(const json_t *obj, const pfc_json_at *at, const char *key,
                            bool required, double *out, pfc_err *err)
{
    char *text = NULL;
    pfc_code code = pfc_json_string(obj, at, key, required, 64, &text, err);

    if (code == PFC_OK && text != NULL && pfc_parse_rfc3339(text, key, out, NULL) != PFC_OK)
        code = pfc_json_fault(at, key, err, PFC_WIRE_WANT_TIME);
    free(text);
    return code;
}

void pfc_wire_set_time(json_t *obj, const char *key, double unix_s)
{
    char text[32];

    pfc_clock_rfc3339(unix_s, text);
    json_object_set_new(obj, key, json_string(text));
}
