/*
 * CSV as tools write it, a row at a time. The hot path of large files: cells are views, a row costs
 * one pass over its bytes, and nothing is allocated once the arrays have grown.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/import/reader/reader.h"

#define HEADER_LINES 5000 /* lines of the program's own output before a header */

void pfc_csv_init(pfc_csv *csv, const char *text, size_t len, size_t line, char delimiter)
{
    *csv = (pfc_csv){
        .at = text, .end = text + len, .delimiter = delimiter, .quote = '"', .next_line = line
    };
}

void pfc_csv_clear(pfc_csv *csv)
{
    free(csv->cells);
    free(csv->scratch);
    free(csv->names);
    free(csv->header);
    *csv = (pfc_csv){ 0 };
}

static void add_cell(pfc_csv *csv, const char *text, size_t len)
{
    if (csv->cells_len >= PFC_CSV_MAX_COLUMNS)
        /* the caller that reads the row reports this, because it knows which column it expected */
        return;
    if (csv->cells_len == csv->cells_cap)
        csv->cells = pfc_grow(csv->cells, csv->cells_len, &csv->cells_cap, sizeof(*csv->cells));
    csv->cells[csv->cells_len++] = (pfc_span){ text, len };
}

/* Without its doubled quotes. Cells lie in the scratch in order, and it may move while the row
 * grows: their places are filled in by settle(). */
static void add_unquoted(pfc_csv *csv, pfc_span raw, size_t *used)
{
    size_t n = 0;
    char *to;

    if (csv->scratch_cap < *used + raw.len) {
        csv->scratch_cap = 2 * (*used + raw.len);
        csv->scratch = pfc_realloc(csv->scratch, csv->scratch_cap, 1);
    }
    to = csv->scratch + *used;
    for (size_t i = 0; i < raw.len; i++) {
        to[n++] = raw.text[i];
        if (raw.text[i] == csv->quote)
            i++;
    }
    *used += n;
    add_cell(csv, NULL, n);
}

static void settle(pfc_csv *csv)
{
    size_t at = 0;

    for (size_t i = 0; i < csv->cells_len; i++) {
        if (!csv->cells[i].text) {
            csv->cells[i].text = csv->scratch + at;
            at += csv->cells[i].len;
        }
    }
}

/* Reads a quoted cell from its opening quote. Text between the closing quote and the delimiter is
 * dropped. Returns the first byte after the cell, or NULL if the quote is not closed. */
static const char *quoted_cell(pfc_csv *csv, const char *p, const char *eol, size_t *used)
{
    const char *from = ++p;
    bool doubled = false;
    const char *close;

    while ((close = memchr(p, csv->quote, (size_t)(csv->end - p))) != NULL &&
           close + 1 < csv->end && close[1] == csv->quote) {
        doubled = true;
        p = close + 2;
    }
    if (!close)
        return NULL;
    for (const char *nl = eol; nl && nl < close && (nl = memchr(nl, '\n', (size_t)(close - nl)));
         nl++)
        csv->next_line++;
    if (doubled)
        add_unquoted(csv, (pfc_span){ from, (size_t)(close - from) }, used);
    else
        add_cell(csv, from, (size_t)(close - from));
    p = close + 1;
    while (p < csv->end && *p != csv->delimiter && *p != '\n')
        p++;
    return p;
}

/* Rows without any quote: the length of the line is all there is to know. */
static void plain_row(pfc_csv *csv, const char *from, const char *end)
{
    for (const char *p = from;;) {
        const char *stop = p;
        while (stop < end && *stop != csv->delimiter)
            stop++;
        add_cell(csv, p, (size_t)(stop - p));
        if (stop >= end)
            return;
        p = stop + 1;
    }
}

/* `eol` is the first line end behind `from`, or NULL: no quote that closes before it spans lines.
 */
static pfc_code quoted_row(pfc_csv *csv, const char *from, const char *eol, pfc_err *err)
{
    const char *p = from;
    size_t used = 0;

    for (;;) {
        while (p < csv->end && (*p == ' ' || *p == '\t') && *p != csv->delimiter)
            p++;
        if (p < csv->end && *p == csv->quote) {
            if (eol && p > eol) /* an earlier cell of the row contained it */
                eol = memchr(p, '\n', (size_t)(csv->end - p));
            p = quoted_cell(csv, p, eol, &used);
            if (!p)
                return pfc_err_set(err, PFC_EINVAL, "line %zu: a quoted cell has no end",
                                   csv->line);
        } else {
            const char *start = p;
            while (p < csv->end && *p != csv->delimiter && *p != '\n')
                p++;
            add_cell(csv, start,
                     (size_t)(p - start) -
                         (p > start && p[-1] == '\r' && (p == csv->end || *p == '\n')));
        }
        if (p >= csv->end || *p == '\n') {
            csv->at = p < csv->end ? p + 1 : p;
            settle(csv);
            return PFC_OK;
        }
        p++; /* the delimiter */
    }
}

/* In concatenated files the header is repeated and must not be read as a row. */
static bool is_header_again(const pfc_csv *csv)
{
    if (csv->names_len < 2 || csv->cells_len != csv->names_len)
        return false;
    for (size_t i = 0; i < csv->names_len; i++) {
        if (csv->cells[i].len != csv->names[i].len ||
            memcmp(csv->cells[i].text, csv->names[i].text, csv->names[i].len) != 0)
            return false;
    }
    return true;
}

static pfc_code next_row(pfc_csv *csv, bool *more, pfc_err *err)
{
    *more = false;
    csv->cells_len = 0;
    while (csv->at < csv->end) {
        const char *from = csv->at;
        const char *eol = memchr(from, '\n', (size_t)(csv->end - from));
        const char *end = eol ? eol : csv->end;

        csv->line = csv->next_line++;
        if (end > from && end[-1] == '\r')
            end--;
        if (end == from) {
            csv->at = eol ? eol + 1 : csv->end;
            continue;
        }
        *more = true;
        if (!memchr(from, csv->quote, (size_t)(end - from))) {
            plain_row(csv, from, end);
            csv->at = eol ? eol + 1 : csv->end;
            return PFC_OK;
        }
        return quoted_row(csv, from, eol, err);
    }
    return PFC_OK;
}

pfc_code pfc_csv_row(pfc_csv *csv, bool *more, pfc_err *err)
{
    pfc_code code;

    do {
        code = next_row(csv, more, err);
    } while (!code && *more && is_header_again(csv));
    return code;
}

pfc_code pfc_csv_header(pfc_csv *csv, pfc_err *err)
{
    bool more = false;
    pfc_code code;
    size_t bytes = 0;
    size_t at = 0;

    if (csv->end - csv->at >= 3 && memcmp(csv->at, "\xef\xbb\xbf", 3) == 0)
        csv->at += 3;
    code = pfc_csv_row(csv, &more, err);
    if (code)
        return code;
    if (!more)
        return pfc_err_set(err, PFC_EINVAL, "expected a line with the columns' names, got nothing");
    for (size_t i = 0; i < csv->cells_len; i++)
        bytes += csv->cells[i].len + 1;
    csv->header = pfc_alloc(PFC_MAX(bytes, (size_t)1));
    csv->names = pfc_calloc(csv->cells_len, sizeof(*csv->names));
    csv->names_len = csv->cells_len;
    for (size_t i = 0; i < csv->cells_len; i++) {
        const pfc_span name = pfc_span_trim(csv->cells[i]);
        if (name.len)
            memcpy(csv->header + at, name.text, name.len);
        csv->names[i] = (pfc_span){ csv->header + at, name.len };
        at += name.len;
        csv->header[at++] = '\0';
    }
    return PFC_OK;
}

size_t pfc_csv_column1(const pfc_csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->names_len; i++) {
        if (pfc_span_is_nocase(csv->names[i], name))
            return i;
    }
    return SIZE_MAX;
}

size_t pfc_csv_column(const pfc_csv *csv, const char *const *names)
{
    size_t found = SIZE_MAX;

    for (; *names && found == SIZE_MAX; names++)
        found = pfc_csv_column1(csv, *names);
    return found;
}

pfc_span pfc_csv_cell(const pfc_csv *csv, size_t column)
{
    return column < csv->cells_len ? csv->cells[column] : (pfc_span){ "", 0 };
}

char pfc_csv_delimiter(pfc_span line)
{
    static const char candidates[] = ",;\t|";
    char best = ',';
    size_t most = 0;

    for (const char *c = candidates; *c; c++) {
        size_t n = 0;
        bool quoted = false;
        for (size_t i = 0; i < line.len; i++) {
            quoted ^= line.text[i] == '"';
            n += !quoted && line.text[i] == *c;
        }
        if (n > most) {
            most = n;
            best = *c;
        }
    }
    return best;
}

static bool has_nocase(pfc_span s, const char *text)
{
    const size_t n = strlen(text);
    const char pair[] = { (char)tolower((unsigned char)text[0]),
                          (char)toupper((unsigned char)text[0]), '\0' };

    for (size_t i = 0; i + n <= s.len; i++) {
        if ((s.text[i] == pair[0] || s.text[i] == pair[1]) && strncasecmp(s.text + i, text, n) == 0)
            return true;
    }
    return false;
}

bool pfc_csv_find_header(const char *text, size_t len, const char *const *names, size_t *offset,
                         size_t *line)
{
    pfc_lines lines;
    pfc_span one;

    pfc_lines_init(&lines, text, len);
    while (lines.number < HEADER_LINES && pfc_lines_next(&lines, &one)) {
        pfc_csv csv;
        bool all = true;
        const char *const first = names[0];

        /* A search for the first name is cheap; a line without it cannot be the header. */
        if (!has_nocase(one, first))
            continue;
        pfc_csv_init(&csv, one.text, one.len, 1, pfc_csv_delimiter(one));
        all = pfc_csv_header(&csv, NULL) == PFC_OK;
        for (const char *const *name = names; all && *name; name++)
            all = pfc_csv_column1(&csv, *name) != SIZE_MAX;
        pfc_csv_clear(&csv);
        if (all) {
            if (offset)
                *offset = (size_t)(one.text - text);
            if (line)
                *line = lines.number;
            return true;
        }
    }
    return false;
}

pfc_code pfc_csv_open(pfc_csv *csv, const char *text, size_t len, const char *const *names,
                      pfc_err *err)
{
    size_t offset = 0;
    size_t line = 1;
    pfc_lines lines;
    pfc_span first = { "", 0 };

    pfc_csv_init(csv, "", 0, 1, ',');
    if (!pfc_csv_find_header(text, len, names, &offset, &line))
        return pfc_err_set(err, PFC_EINVAL, "expected a line with the column '%s'", names[0]);
    pfc_lines_init(&lines, text + offset, len - offset);
    (void)pfc_lines_next(&lines, &first);
    pfc_csv_init(csv, text + offset, len - offset, line, pfc_csv_delimiter(first));
    return pfc_csv_header(csv, err);
}
