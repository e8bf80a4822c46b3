/* Numbers and words as people read and type them. */
#include "core/base/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void pfc_show_value(double v, char out[32])
{
    const double size = fabs(v);

    if (!isfinite(v))
        snprintf(out, 32, "?");
    else if (size != 0 && (size >= 1e9 || size < 1e-3))
        snprintf(out, 32, "%.4g", v);
    else if (size >= 10000)
        snprintf(out, 32, "%.0f", v);
    else
        snprintf(out, 32, "%.5g", v);
}

void pfc_show_percent(double rel, char out[32])
{
    if (!isfinite(rel))
        snprintf(out, 32, "?");
    else
        snprintf(out, 32, "%+.*f %%", fabs(rel) < 0.001 && rel != 0 ? 3 : 1,
                 rel * 100 + 0.0); /* a negative zero loses its sign */
}

void pfc_shell_word(pfc_buf *out, const char *word)
{
    const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:@%+";

    if (word[0] && word[strspn(word, plain)] == '\0') {
        pfc_buf_puts(out, word);
        return;
    }
    pfc_buf_putc(out, '\'');
    for (const char *p = word; *p; p++)
        if (*p == '\'')
            pfc_buf_puts(out, "'\\''");
        else
            pfc_buf_putc(out, *p);
    pfc_buf_putc(out, '\'');
}
