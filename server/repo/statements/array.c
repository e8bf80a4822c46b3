/*
 * Arrays in a row: PostgreSQL's text of them, or its binary form, as C arrays.
 */
#include <math.h>

#include "server/repo/statements/statement.h"

static size_t array_len(const char *text)
{
    size_t n = 1;

    if (!text || text[0] != '{' || text[1] == '}')
        return 0;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

void pfc_array_f64s(pfc_array_text array, double **out, size_t *len)
{
    const char *text = array.text;
    size_t n = array_len(text);
    double *values = n ? pfc_calloc(n, sizeof(*values)) : NULL;

    for (size_t i = 0; i < n; i++) {
        char *end = NULL;

        text++; /* the brace or the comma before the value */
        values[i] = strtod(text, &end);
        if (end == text) { /* NULL inside the array */
            values[i] = (double)NAN;
            end += strcspn(end, ",}");
        }
        text = end;
    }
    *out = values;
    *len = n;
}

#define SENT_HEAD 20 /* dimensions, nulls, type; length and lower bound of the first dimension */

static uint64_t sent(const unsigned char *at, size_t len)
{
    uint64_t value = 0;

    for (size_t i = 0; i < len; i++)
        value = value << 8 | at[i];
    return value;
}

size_t pfc_bytes_f64s(pfc_bytes array, double *out, size_t most)
{
    const unsigned char *at = array.data, *end = at + array.len;
    size_t n, given = 0;

    if (!at || array.len < SENT_HEAD)
        return 0;
    n = (size_t)sent(at + 12, 4);
    for (at += SENT_HEAD; given < PFC_MIN(n, most) && end - at >= 4; given++) {
        const size_t len = (size_t)sent(at, 4);
        uint64_t bits;

        at += 4;
        out[given] = (double)NAN;
        if (len != sizeof(bits))
            continue; /* NULL: its length is -1 */
        if ((size_t)(end - at) < sizeof(bits))
            break;
        bits = sent(at, sizeof(bits));
        memcpy(&out[given], &bits, sizeof(bits));
        at += sizeof(bits);
    }
    return given;
}

size_t pfc_bytes_f64s_len(pfc_bytes array)
{
    return array.data && array.len >= SENT_HEAD ? (size_t)sent(array.data + 12, 4) : 0;
}

void pfc_array_u32s(pfc_array_text array, uint32_t **out, size_t *len)
{
    const char *text = array.text;
    size_t n = array_len(text);
    uint32_t *values = n ? pfc_calloc(n, sizeof(*values)) : NULL;

    for (size_t i = 0; i < n; i++) {
        char *end = NULL;

        values[i] = (uint32_t)strtoul(text + 1, &end, 10);
        text = end + strcspn(end, ",}");
    }
    *out = values;
    *len = n;
}

void pfc_array_i64s(pfc_array_text array, int64_t **out, size_t *len)
{
    const char *text = array.text;
    size_t n = array_len(text);
    int64_t *values = n ? pfc_calloc(n, sizeof(*values)) : NULL;

    for (size_t i = 0; i < n; i++) {
        char *end = NULL;

        values[i] = strtoll(text + 1, &end, 10);
        text = end + strcspn(end, ",}");
    }
    *out = values;
    *len = n;
}

/* One element, quoted or not, whose first byte is at `text`; returns what follows it. */
static const char *take_element(const char *text, char *out)
{
    const bool quoted = *text == '"';

    for (text += quoted; *text && (quoted ? *text != '"' : *text != ',' && *text != '}'); text++) {
        if (*text == '\\' && text[1])
            text++;
        *out++ = *text;
    }
    *out = '\0';
    return quoted && *text ? text + 1 : text;
}

void pfc_array_texts(pfc_array_text array, pfc_texts *out)
{
    const char *text = array.text;
    char *element;

    *out = (pfc_texts){ 0 };
    if (array_len(text) == 0)
        return;
    element = pfc_alloc(strlen(text) + 1);
    out->items = pfc_calloc(array_len(text), sizeof(*out->items)); /* commas in texts count, too */
    while (*text && *text != '}') {
        const char *from = ++text; /* behind the brace or the comma before it */

        text = take_element(from, element);
        if (*from == '"' || strcmp(element, "NULL") != 0)
            out->items[out->len++] = pfc_strdup(element);
    }
    free(element);
}

void pfc_texts_clear(pfc_texts *texts)
{
    for (size_t i = 0; i < texts->len; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (pfc_texts){ 0 };
}
