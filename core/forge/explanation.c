/* The part of a comment that says why a benchmark changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/forge/forge.h"

enum { SECTION_BYTES = 12000, TEXT_BYTES = 300, PARTS = 8, CAUSES = 5, ADVICE = 3 };

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

/* Four digits, or every digit of the whole part. */
static void put_number(pfc_buf *out, double value)
{
    pfc_buf_printf(out, fabs(value) >= 1e4 && fabs(value) < 1e15 ? "%+.0f" : "%+.4g", value);
}

/* Text of the document, cut and escaped. */
static void put_text(pfc_buf *out, const json_t *obj, const char *key)
{
    char *text = pfc_strdup(text_of(obj, key));

    text[pfc_utf8_cut(text, TEXT_BYTES)] = '\0';
    pfc_markdown_text(out, text);
    free(text);
}

/* "+97900 cycles, 29.9 %" of a contribution. */
static void put_part(pfc_buf *out, const json_t *explanation, const json_t *part)
{
    const double value = json_number_value(json_object_get(part, "value"));
    const double delta = json_number_value(json_object_get(explanation, "delta"));

    pfc_buf_puts(out, "| ");
    if (json_is_string(json_object_get(part, "resource")))
        put_text(out, part, "resource");
    else
        pfc_buf_puts(out, "not known");
    pfc_buf_puts(out, " | ");
    put_text(out, part, "phase");
    pfc_buf_puts(out, " | ");
    put_number(out, value);
    pfc_buf_putc(out, ' ');
    put_text(out, explanation, "unit");
    if (delta != 0 && isfinite(value / delta))
        pfc_buf_printf(out, " | %.1f %% |\n", 100 * value / delta);
    else
        pfc_buf_puts(out, " | |\n");
}

static void put_parts(pfc_buf *out, const json_t *explanation)
{
    const json_t *parts = json_object_get(explanation, "contributions");
    const size_t len = json_array_size(parts), shown = PFC_MIN(len, (size_t)PARTS);

    pfc_buf_puts(out, "| resource | phase | contribution | of the difference |\n"
                      "| --- | --- | ---: | ---: |\n");
    for (size_t i = 0; i < shown; i++)
        put_part(out, explanation, json_array_get(parts, i));
    if (shown < len)
        pfc_buf_printf(out, "\n%zu smaller contributions not shown.\n", len - shown);
    pfc_buf_putc(out, '\n');
}

static void put_limiter(pfc_buf *out, const json_t *limiter, const char *side, const char *name)
{
    pfc_buf_printf(out, "%s ", name);
    if (!json_is_string(json_object_get(limiter, side)))
        pfc_buf_puts(out, "inconclusive");
    else
        put_text(out, limiter, side);
}

static void put_causes(pfc_buf *out, const json_t *explanation)
{
    const json_t *causes = json_object_get(explanation, "causes");
    const json_t *total = json_object_get(explanation, "total");

    for (size_t i = 0; i < PFC_MIN(json_array_size(causes), (size_t)CAUSES); i++) {
        pfc_buf_puts(out, "- ");
        put_text(out, json_array_get(causes, i), "text");
        pfc_buf_putc(out, '\n');
    }
    if (json_is_true(json_object_get(total, "same_stream")))
        pfc_buf_puts(out, "- The command streams are identical: the cause is the chip's file or "
                          "the simulator.\n");
}

/* "Change, predicted gain 12 % (8 to 15 %)" for the first entries. */
static void put_advice(pfc_buf *out, const json_t *explanation)
{
    const json_t *list = json_object_get(explanation, "guidance");

    if (json_array_size(list) > 0)
        pfc_buf_puts(out, "\nTo try, with the predicted gain:\n\n");
    for (size_t i = 0; i < PFC_MIN(json_array_size(list), (size_t)ADVICE); i++) {
        const json_t *a = json_array_get(list, i);

        pfc_buf_puts(out, "- ");
        put_text(out, a, "change");
        pfc_buf_printf(out, " %.1f %% (%.1f to %.1f %%)\n",
                       100 * json_number_value(json_object_get(a, "gain")),
                       100 * json_number_value(json_object_get(a, "low")),
                       100 * json_number_value(json_object_get(a, "high")));
    }
}

void pfc_comment_explanation(const json_t *explanation, pfc_buf *out)
{
    const json_t *limiter = json_object_get(explanation, "limiter");
    pfc_buf section;

    if (json_array_size(json_object_get(explanation, "contributions")) == 0)
        return;
    pfc_buf_init(&section, SECTION_BYTES);
    pfc_buf_puts(&section, "<details><summary>Explanation of ");
    put_text(&section, explanation, "benchmark");
    pfc_buf_puts(&section, ": limiter ");
    put_limiter(&section, limiter, "before", "before");
    put_limiter(&section, limiter, "after", ", after");
    pfc_buf_puts(&section, "</summary>\n\n");
    put_text(&section, explanation, "claim");
    pfc_buf_puts(&section, ".\n\n");
    put_parts(&section, explanation);
    put_causes(&section, explanation);
    put_advice(&section, explanation);
    pfc_buf_puts(&section, "\n</details>\n\n");
    /* Half a section would leave its <details> open: rather none. */
    if (!section.overflow)
        pfc_buf_puts(out, pfc_buf_text(&section));
    pfc_buf_clear(&section);
}
