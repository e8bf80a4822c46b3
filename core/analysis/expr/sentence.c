/* Sentences with measured values. */
#include <stdio.h>
#include <string.h>

#include "core/analysis/expr/expr.h"

static void format_number(char *out, size_t size, pfc_expr_format format, double value)
{
    if (format == PFC_EXPR_PERCENT)
        snprintf(out, size, "%.1f %%", 100 * value);
    else if (format == PFC_EXPR_BYTES)
        snprintf(out, size, "%.0f bytes", value);
    else
        snprintf(out, size, "%.3g", value);
}

void pfc_expr_sentence(const char *text, pfc_expr_format format, double value, double threshold,
                       char *out, size_t size)
{
    char numbers[2][40];
    size_t len = 0;

    format_number(numbers[0], sizeof(numbers[0]), format, value);
    format_number(numbers[1], sizeof(numbers[1]), format, threshold);
    for (const char *at = text; *at && len + 1 < size;) {
        static const char *const places[] = { "{value}", "{threshold}" };
        size_t which = 0;

        while (which < 2 && strncmp(at, places[which], strlen(places[which])) != 0)
            which++;
        if (which == 2) {
            out[len++] = *at++;
            continue;
        }
        len += (size_t)snprintf(out + len, size - len, "%s", numbers[which]);
        at += strlen(places[which]);
    }
    out[PFC_MIN(len, size - 1)] = '\0';
}
