/* JSON as tools write it. */
#include <math.h>
#include <string.h>

#include "core/import/reader/reader.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Length of a bare word that JSON lacks and that stands for "no number"; 0: none starts here. */
static size_t bare_word(const char *text, size_t len, size_t i)
{
    static const char *const words[] = { "NaN",      "nan",       "-nan", "-NaN", "NAN",
                                         "Infinity", "-Infinity", "inf",  "-inf", "None" };

    /* Most bytes are none of the first letters, so they are tested first. */
    if (!strchr("Nn-Ii", text[i]) || text[i] == '\0' || (i > 0 && is_word(text[i - 1])))
        return 0;
    for (size_t w = 0; w < PFC_ARRAY_LEN(words); w++) {
        const size_t n = strlen(words[w]);
        if (len - i >= n && memcmp(text + i, words[w], n) == 0 &&
            (i + n == len || !is_word(text[i + n])))
            return n;
    }
    return 0;
}

static pfc_code parse(const char *text, size_t len, const char *instead, json_t **out, pfc_err *err)
{
    pfc_buf buf;
    bool quoted = false;
    size_t from = 0; /* of what is not yet copied */
    pfc_code code;

    if (len > PFC_IMPORT_MAX_JSON_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "JSON of %zu bytes, at most %u are read", len,
                           PFC_IMPORT_MAX_JSON_BYTES);
    pfc_buf_init(&buf, PFC_IMPORT_MAX_JSON_BYTES + 64);
    for (size_t i = 0; i < len; i++) {
        size_t n;
        if (quoted && text[i] == '\\') {
            i++;
            continue;
        }
        if (text[i] == '"')
            quoted = !quoted;
        n = quoted || text[i] == '"' ? 0 : bare_word(text, len, i);
        if (n > 0) {
            pfc_buf_append(&buf, text + from, i - from);
            pfc_buf_puts(&buf, instead);
            i += n - 1;
            from = i + 1;
        }
    }
    if (buf.len == 0) /* nothing to replace: no copy */
        return pfc_json_parse(text, len, out, err);
    pfc_buf_append(&buf, text + from, len - from);
    code = pfc_buf_check(&buf, "JSON", err);
    if (!code)
        code = pfc_json_parse(pfc_buf_text(&buf), buf.len, out, err);
    pfc_buf_clear(&buf);
    return code;
}

pfc_code pfc_import_json(const char *text, size_t len, json_t **out, pfc_err *err)
{
    return parse(text, len, "null", out, err);
}

pfc_code pfc_import_json_with_nan(const char *text, size_t len, json_t **out, pfc_err *err)
{
    return parse(text, len, "\"" PFC_IMPORT_NAN "\"", out, err);
}

size_t pfc_import_json_end(const char *text, size_t len)
{
    bool quoted = false;
    size_t depth = 0;

    for (size_t i = 0; i < len; i++) {
        if (quoted) {
            if (text[i] == '\\')
                i++; /* and what it protects */
            else
                quoted = text[i] != '"';
            continue;
        }
        quoted = text[i] == '"';
        depth += text[i] == '{' || text[i] == '[';
        if ((text[i] == '}' || text[i] == ']') && --depth == 0)
            return i + 1;
        if (depth == 0)
            return 0;
    }
    return 0;
}

pfc_code pfc_import_json_lines(const char *text, size_t len, json_t **out, pfc_err *err)
{
    json_t *list = json_array();
    pfc_lines lines;
    pfc_span line;
    pfc_code code = PFC_OK;

    pfc_lines_init(&lines, text, len);
    while (!code && pfc_lines_next(&lines, &line)) {
        json_t *doc = NULL;

        line = pfc_span_trim(line);
        if (line.len == 0 || line.text[0] != '{')
            continue; /* what else was said among them */
        code = pfc_import_json(line.text, line.len, &doc, err);
        if (code)
            (void)pfc_err_wrap(err, "line %zu", lines.number);
        else
            json_array_append_new(list, doc);
    }
    if (code)
        json_decref(list);
    else
        *out = list;
    return code;
}

double pfc_import_json_number(const json_t *value)
{
    double x = (double)NAN;

    if (json_is_number(value))
        x = json_number_value(value);
    else if (json_is_string(value) &&
             pfc_span_number((pfc_span){ json_string_value(value), json_string_length(value) },
                             &x) != PFC_NUMBER)
        x = (double)NAN;
    return isfinite(x) ? x : (double)NAN;
}

double pfc_import_number(const json_t *obj, const char *key)
{
    return pfc_import_json_number(json_object_get(obj, key));
}

const char *pfc_import_string(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

const json_t *pfc_import_first(const json_t *obj, const char **key)
{
    void *it = json_object_iter((json_t *)(uintptr_t)obj);

    if (key)
        *key = it ? json_object_iter_key(it) : NULL;
    return it ? json_object_iter_value(it) : NULL;
}
