/*
 * Series from CSV: a header whose first column is `time`, then one column a metric. Columns whose
 * first cell is no number (a commit id, a branch) are attributes and no series.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/detect/series_read.h"
#include "core/base/parse.h"
#include "core/changepoint/changepoint.h"
#include "core/import/import.h"

typedef struct column {
    const char *name;
    bool settled; /* has had a cell that is not empty */
    bool text;    /* an attribute */
    pfc_series_in series;
} column;

/* Cuts one record at its commas, in place ("" inside quotes is a quote). Returns the cells, or 0
 * when a quote is left open or there are more than max. */
static size_t cut_record(char *line, char **cells, size_t max)
{
    size_t n = 0;
    char *p = line;

    for (;;) {
        char *w = p;

        if (n == max)
            return 0;
        cells[n++] = p;
        if (*p == '"') {
            for (p++; *p; p++) {
                if (*p == '"' && p[1] != '"')
                    break;
                if (*p == '"')
                    p++;
                *w++ = *p;
            }
            if (*p != '"' || (p[1] != ',' && p[1] != '\0'))
                return 0;
            p++;
            if (*p == '\0') {
                *w = '\0';
                return n;
            }
            *w = '\0';
            p++;
            continue;
        }
        p = strchr(p, ',');
        if (!p)
            return n;
        *p++ = '\0';
    }
}

static char *trim(char *text)
{
    size_t len;

    while (*text == ' ' || *text == '\t')
        text++;
    len = strlen(text);
    while (len && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
        text[--len] = '\0';
    return text;
}

static bool parse_time(const char *text, double *out)
{
    char rfc[40];

    if (!pfc_parse_double(text, -1e15, 1e15, "time", out, NULL) ||
        !pfc_parse_rfc3339(text, "time", out, NULL))
        return true;
    /* "2026-11-22" and "2026-11-22 10:00:00" are common enough; they are taken as UTC. */
    if (strlen(text) == 10)
        snprintf(rfc, sizeof(rfc), "%.10sT00:00:00Z", text);
    else if (strlen(text) == 19)
        snprintf(rfc, sizeof(rfc), "%.10sT%.8sZ", text, text + 11);
    else
        return false;
    return !pfc_parse_rfc3339(rfc, "time", out, NULL);
}

/* Words that other programs write for a missing value. Infinite values are among them, because no
 * duration is infinite. */
static bool is_missing(const char *cell)
{
    static const char *const words[] = { "null", "none", "nan", "na", "n/a", "inf", "infinity" };

    if (*cell == '-' || *cell == '+')
        cell++;
    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++)
        if (!strcasecmp(cell, words[i]))
            return true;
    return !*cell;
}

/* Checks the whole record before any of it is kept, so that a bad line leaves no half of itself. */
static bool read_record(column *cols, char **cells, size_t n, char why[128])
{
    double values[PFC_CSV_MAX_COLUMNS] = { 0 };
    double t = NAN;

    if (!parse_time(trim(cells[0]), &t)) {
        snprintf(why, 128, "time: expected Unix seconds or RFC 3339, got \"%.40s\"",
                 trim(cells[0]));
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        const char *cell = trim(cells[i]);
        bool number;

        values[i] = NAN;
        if (cols[i].text || is_missing(cell))
            continue;
        number = !pfc_parse_double(cell, -1e300, 1e300, cols[i].name, &values[i], NULL);
        if (!number && cols[i].settled) {
            snprintf(why, 128, "column %.40s: expected a number, got \"%.40s\"", cols[i].name,
                     cell);
            return false;
        }
        cols[i].settled = true;
        cols[i].text = !number;
    }
    for (size_t i = 1; i < n; i++)
        pfc_series_point(&cols[i].series, t, values[i]);
    return true;
}

/* A column of ids that consist of digits must not be read as a series of numbers. */
static const char *const commit_names[] = { "commit",     "revision",    "sha",        "commit_id",
                                            "commit_sha", "commit_hash", "git_commit", NULL };
static const char *const attributes[] = { "branch", "version", "tag", NULL };

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (!strcasecmp(name, *names))
            return true;
    return false;
}

static bool higher_of(const char *name, const pfc_series_sink *sink)
{
    for (size_t i = 0; i < sink->directions_len; i++)
        if (pfc_streq(sink->directions[i].name, name))
            return sink->directions[i].higher;
    return sink->higher_is_better || pfc_import_higher_is_better(name, NULL);
}

/* Names the columns; false when the first is not `time`. */
static bool read_header(column *cols, char **cells, size_t n, const pfc_series_sink *sink)
{
    if (n == 0 || strcasecmp(trim(cells[0]), "time") != 0) {
        sink->bad(
            sink->arg, 1,
            "expected JSON, or CSV whose header begins with \"time\" and has at most 1000 columns");
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        cols[i].name = trim(cells[i]);
        cols[i].text = is_one_of(cols[i].name, commit_names) || is_one_of(cols[i].name, attributes);
        pfc_series_reset(&cols[i].series);
        cols[i].series.id = pfc_strdup(cols[i].name);
        cols[i].series.higher_is_better = higher_of(cols[i].name, sink);
    }
    return true;
}

/* Number of the column of commits; 0: there is none. */
static size_t commit_column(const column *cols, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (is_one_of(cols[i].name, commit_names))
            return i;
    return 0;
}

void pfc_series_parse_csv(char *text, size_t len, const pfc_series_sink *sink)
{
    column *cols = pfc_calloc(PFC_CSV_MAX_COLUMNS, sizeof(*cols));
    char **cells = pfc_calloc(PFC_CSV_MAX_COLUMNS, sizeof(*cells));
    size_t n = 0;
    size_t line = 0;
    size_t rows = 0;
    size_t found = 0;
    size_t commit = 0;
    char **commits = NULL;
    size_t commits_len = 0;
    size_t commits_cap = 0;
    char *at = text;

    while (at < text + len) {
        char *end = memchr(at, '\n', (size_t)(text + len - at));
        char *record = at;
        char why[128];
        size_t got;

        line++;
        at = end ? end + 1 : text + len;
        if (end)
            *end = '\0';
        if (!*trim(record))
            continue;
        got = cut_record(record, cells, PFC_CSV_MAX_COLUMNS);
        if (n == 0) {
            if (!read_header(cols, cells, got, sink))
                goto done;
            n = got;
            commit = commit_column(cols, n);
        } else if (got != n) {
            snprintf(why, sizeof(why), "expected %zu cells, got %zu", n, got);
            sink->bad(sink->arg, line, why);
        } else if (cols[1].series.len >= PFC_SERIES_MAX_POINTS) {
            sink->bad(sink->arg, line, "more than a million rows");
            break;
        } else if (!read_record(cols, cells, n, why)) {
            sink->bad(sink->arg, line, why);
        } else if (commit) { /* in the text, which lives as long */
            commits = pfc_grow(commits, commits_len, &commits_cap, sizeof(char *));
            commits[commits_len++] = trim(cells[commit]);
        }
        rows++;
    }
    for (size_t i = 1; i < n; i++) {
        if (cols[i].text)
            continue;
        cols[i].series.commits = commits;
        sink->series(sink->arg, &cols[i].series, 1);
        found++;
    }
    if (rows > 1 && found == 0)
        sink->bad(sink->arg, 1, "expected a column of numbers beside \"time\", got none");

done:
    for (size_t i = 0; i < PFC_CSV_MAX_COLUMNS; i++)
        pfc_series_clear(&cols[i].series);
    free(commits);
    free(cells);
    free(cols);
}
