/*
 * The output layer: everything that a command prints passes here, so that text of others (commit
 * subjects, names, reasons, answers of a service) reaches a terminal without control characters.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output/output.h"
#include "core/base/buf.h"
#include "core/base/parse.h"

void pfc_out_to(FILE *to, const char *fmt, va_list ap)
{
    char *text = NULL;

    if (vasprintf(&text, fmt, ap) < 0)
        pfc_die("out of memory");
    pfc_text_plain(text, true);
    fputs(text, to);
    free(text);
}

void pfc_out(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    pfc_out_to(stdout, fmt, ap);
    va_end(ap);
}

void pfc_out_err(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    pfc_out_to(stderr, fmt, ap);
    va_end(ap);
}

void pfc_out_line(FILE *to, const char *text)
{
    char *line = pfc_strdup(text);

    pfc_text_plain(line, false);
    fprintf(to, "%s\n", line);
    free(line);
}

/* jansson escapes the C0 controls only; the others are written as \u escapes, which mean the same.
 */
static bool needs_escape(const unsigned char *p, unsigned *c)
{
    if (*p == 0x7f)
        *c = 0x7f;
    else if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
        *c = p[1];
    else if (p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf)
        *c = 0xfeff;
    else if (p[0] == 0xd8 && p[1] == 0x9c)
        *c = 0x61c;
    else if (p[0] == 0xe2 && (p[1] == 0x80 || p[1] == 0x81))
        *c = 0x2000u + (p[1] == 0x81 ? 0x40u : 0u) + (p[2] & 0x3fu);
    else
        return false;
    return *c < 0x2000 || (*c >= 0x200e && *c <= 0x200f) || (*c >= 0x2028 && *c <= 0x202e) ||
           (*c >= 0x2066 && *c <= 0x206f) || *c == 0xfeff;
}

static size_t size_of(unsigned c)
{
    return c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
}

void pfc_out_json_part(const char *text)
{
    const char *from = text, *p = text;
    unsigned c = 0;

    while (*p) {
        if (needs_escape((const unsigned char *)p, &c)) {
            fwrite(from, 1, (size_t)(p - from), stdout);
            printf("\\u%04x", c);
            p += size_of(c);
            from = p;
        } else {
            p++;
        }
    }
    fputs(from, stdout);
}

void pfc_out_json(const char *text)
{
    pfc_out_json_part(text);
    fputc('\n', stdout);
    fflush(stdout);
}

void pfc_cli_print_json(json_t *doc)
{
    char *text = json_dumps(doc, JSON_COMPACT | JSON_ENCODE_ANY);

    pfc_out_json(text ? text : "null");
    free(text);
    json_decref(doc);
}
