/* A badge: label and state in one line of 20 pixels. */
#include <stdlib.h>
#include <string.h>

#include "core/base/markup.h"
#include "core/base/parse.h"
#include "server/services/pictures/pictures.h"

#define GREY "#5f6368"

enum { HEIGHT = 20, PAD = 6, MARGIN = 3 };

/* Pixels of a character at 11 pixels in the fonts below, on average; textLength makes the text as
 * wide as its box is, whichever font there is. */
#define CHAR_PX 6.6

static const struct {
    const char *level, *color; /* white text on it has a contrast of 4.5 or more */
} colors[] = { { "good", "#1e7a3c" }, { "warn", "#8a5a00" }, { "bad", "#b3261e" } };

static void add(pfc_buf *out, int64_t n, const char *one, const char *many)
{
    if (n > 0)
        pfc_buf_printf(out, "%s%lld %s", out->len ? ", " : "", (long long)n, n == 1 ? one : many);
}

char *pfc_badge_words(const pfc_standing *s, bool measured)
{
    pfc_buf out;

    if (!measured)
        return pfc_strdup("no results");
    pfc_buf_init(&out, 256);
    add(&out, s->regressions, "regression", "regressions");
    add(&out, s->broken, "broken", "broken");
    if (!out.len)
        add(&out, s->drifts, "drift", "drifts");
    if (!out.len)
        add(&out, s->regressed, "headline metric worse", "headline metrics worse");
    if (!out.len)
        add(&out, s->open, "open alert", "open alerts");
    if (!out.len)
        add(&out, s->broken_builds, "broken build", "broken builds");
    if (!out.len)
        add(&out, s->silent, "silent runner", "silent runners");
    if (!out.len)
        add(&out, s->watching, "change under watch", "changes under watch");
    if (!out.len)
        pfc_buf_puts(&out, "no regression");
    return pfc_buf_take(&out);
}

static const char *color_of(const pfc_standing *s, bool measured)
{
    const char *level = pfc_standing_level(s);

    for (size_t i = 0; measured && i < PFC_ARRAY_LEN(colors); i++) {
        if (strcmp(colors[i].level, level) == 0)
            return colors[i].color;
    }
    return GREY;
}

static size_t characters(const char *text)
{
    size_t n = 0;

    for (const char *p = text; *p; p++)
        n += ((unsigned char)*p & 0xc0) != 0x80;
    return n;
}

static double width_of(const char *text)
{
    return CHAR_PX * (double)characters(text);
}

static void put_box(pfc_buf *out, double x, const char *text, const char *color)
{
    const double width = width_of(text);

    pfc_buf_printf(out, "<rect x=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>", x,
                   width + 2 * PAD, HEIGHT, color);
    pfc_buf_printf(out, "<text x=\"%.1f\" y=\"14\" textLength=\"%.1f\">", x + PAD, width);
    pfc_markup_text(out, text);
    pfc_buf_puts(out, "</text>");
}

/* Cuts behind the n-th character. */
static char *cut(const char *text, size_t n)
{
    size_t len = 0;

    while (text[len] && n > 0) {
        do
            len++;
        while (((unsigned char)text[len] & 0xc0) == 0x80);
        n--;
    }
    return pfc_strndup(text, len);
}

void pfc_badge_svg(const char *label, const pfc_standing *standing, bool measured, pfc_buf *out)
{
    char *left = cut(label, PFC_BADGE_MAX_LABEL), *right = pfc_badge_words(standing, measured);
    const double middle = width_of(left) + 2 * PAD, width = middle + width_of(right) + 2 * PAD;

    pfc_buf_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.1f\" height=\"%d\" "
                   "role=\"img\" aria-label=\"",
                   width, HEIGHT);
    pfc_markup_text(out, left);
    pfc_buf_puts(out, ": ");
    pfc_markup_text(out, right);
    pfc_buf_puts(out, "\"><title>");
    pfc_markup_text(out, left);
    pfc_buf_puts(out, ": ");
    pfc_markup_text(out, right);
    pfc_buf_printf(out,
                   "</title><clipPath id=\"r\"><rect width=\"%.1f\" height=\"%d\" rx=\"%d\"/>"
                   "</clipPath><g clip-path=\"url(#r)\" fill=\"#fff\" font-size=\"11\" "
                   "font-family=\"Verdana,DejaVu Sans,sans-serif\">",
                   width, HEIGHT, MARGIN);
    put_box(out, 0, left, "#3c4043");
    put_box(out, middle, right, color_of(standing, measured));
    pfc_buf_puts(out, "</g></svg>\n");
    free(left);
    free(right);
}
