#include "server/handlers/results/compare_text.h"

#include <string.h>

#include "core/comment/comment.h"
#include "core/forge/forge.h"
#include "core/wire/wire.h"

#define MAX_CSV_BYTES ((size_t)64 << 20) /* 20,000 rows of names of 200 bytes, quoted */

/* Members of a row, in the order of the columns; "a.median" is the member of a member. */
static const char *const columns[] = {
    "benchmark",
    "metric",
    "backend",
    "machine_class",
    "unit",
    "direction",
    "verdict",
    "rel_change",
    "rel_low",
    "rel_high",
    "p",
    "p_adjusted",
    "margin_rel",
    "a.median",
    "a.low",
    "a.high",
    "a.n",
    "a.backend",
    "a.series_id",
    "b.median",
    "b.low",
    "b.high",
    "b.n",
    "b.backend",
    "b.series_id",
    "noise_rel",
    "between_rel",
    "detectable_rel",
    "more_runs",
    "reproducibility",
    "machine_moved",
    "exact",
    "broken",
    "reason",
    "fingerprint_differs",
    "series_id",
};

static const json_t *member(const json_t *row, const char *path)
{
    const char *dot = strchr(path, '.');
    char first[16];

    if (!dot)
        return json_object_get(row, path);
    memcpy(first, path, (size_t)(dot - path));
    first[dot - path] = '\0';
    return json_object_get(json_object_get(row, first), dot + 1);
}

/* A field of text. In a spreadsheet a formula can read other cells and open addresses. */
static void put_text(pfc_buf *out, const char *text)
{
    pfc_buf_putc(out, '"');
    if (*text && strchr("=+-@\t\r", *text))
        pfc_buf_putc(out, '\'');
    for (; *text; text++) {
        if (*text == '"')
            pfc_buf_putc(out, '"');
        pfc_buf_putc(out, *text);
    }
    pfc_buf_putc(out, '"');
}

/* An array is a list of texts, separated by "; ". */
static void put_list(pfc_buf *out, const json_t *list)
{
    const json_t *item;
    size_t i;
    pfc_buf text;

    pfc_buf_init(&text, MAX_CSV_BYTES);
    json_array_foreach(list, i, item)
        pfc_buf_printf(&text, "%s%s", i ? "; " : "", json_string_value(item));
    put_text(out, pfc_buf_text(&text));
    pfc_buf_clear(&text);
}

static void put_field(pfc_buf *out, const json_t *value)
{
    char *text;

    if (json_is_string(value)) {
        put_text(out, json_string_value(value));
    } else if (json_is_array(value)) {
        put_list(out, value);
    } else if (value && !json_is_null(value)) {
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        pfc_buf_puts(out, text);
        free(text);
    }
}

char *pfc_compare_csv(const json_t *doc)
{
    const json_t *row;
    size_t i;
    pfc_buf out;

    pfc_buf_init(&out, MAX_CSV_BYTES);
    for (size_t c = 0; c < PFC_ARRAY_LEN(columns); c++)
        pfc_buf_printf(&out, "%s%s", c ? "," : "", columns[c]);
    pfc_buf_puts(&out, "\r\n");
    json_array_foreach(json_object_get(doc, "rows"), i, row)
    {
        for (size_t c = 0; c < PFC_ARRAY_LEN(columns); c++) {
            if (c)
                pfc_buf_putc(&out, ',');
            put_field(&out, member(row, columns[c]));
        }
        pfc_buf_puts(&out, "\r\n");
    }
    return pfc_buf_take(&out);
}

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

/* The geometric means as a table. Without means nothing is written. */
static void put_means(pfc_buf *out, const json_t *means)
{
    const json_t *mean;
    size_t i;
    char change[32];

    if (!json_array_size(means))
        return;
    pfc_buf_puts(out, "\n| kernel | backend | metric | geometric mean of B / A | rows | slower | "
                      "faster | left out |\n|---|---|---|---:|---:|---:|---:|---:|\n");
    json_array_foreach(means, i, mean)
    {
        const json_t *rel = json_object_get(mean, "rel_change");

        pfc_buf_puts(out, "| ");
        pfc_markdown_code(out, text_of(mean, "kernel"));
        pfc_buf_puts(out, " | ");
        pfc_markdown_code(out, text_of(mean, "backend"));
        pfc_buf_puts(out, " | ");
        pfc_markdown_code(out, text_of(mean, "metric"));
        pfc_show_percent(json_number_value(rel), change);
        pfc_buf_printf(out, " | %s | %lld | %lld | %lld | %lld |\n",
                       json_is_number(rel) ? change : "not known",
                       json_integer_value(json_object_get(mean, "n")),
                       json_integer_value(json_object_get(mean, "regressions")),
                       json_integer_value(json_object_get(mean, "improvements")),
                       json_integer_value(json_object_get(mean, "left_out")));
    }
}

pfc_code pfc_compare_markdown(const json_t *doc, char **out, pfc_err *err)
{
    const json_t *a = json_object_get(doc, "a"), *b = json_object_get(doc, "b");
    char *note = pfc_format("A is %s. B is %s. %s", text_of(a, "how"), text_of(b, "how"),
                            text_of(json_object_get(doc, "between"), "sentence"));
    pfc_cmp cmp = { 0 };
    pfc_buf text;
    const char *body;
    pfc_code code = pfc_cmp_from_json(doc, &cmp, err);

    pfc_buf_init(&text, (size_t)4 * PFC_COMMENT_MAX_BYTES);
    if (!code) {
        pfc_comment_markdown(&cmp, &(pfc_comment_opts){ .key = "comparison", .note = note }, &text);
        put_means(&text, json_object_get(doc, "means"));
        code = pfc_buf_check(&text, "the comparison as Markdown", err);
    }
    if (!code) {
        /* the first line is the marker by which a comment is found again */
        body = strchr(pfc_buf_text(&text), '\n');
        *out = pfc_strdup(body ? body + 1 : "");
    }
    pfc_buf_clear(&text);
    pfc_cmp_clear(&cmp);
    free(note);
    return code;
}
