/* Reads and writes the case files of tests/data/import-cases. */
#include "tests/core/import/cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "core/base/buf.h"
#include "core/base/fs.h"

enum { MAX_FILE = 1 << 20 };

/* ---- reading ---- */

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One line of an @escaped text, with its line end unless "\c" stands last. */
static void unescape(pfc_buf *out, const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (line[i] != '\\' || i + 1 >= len) {
            pfc_buf_putc(out, line[i]);
        } else if (line[++i] == 'x' && i + 2 < len) {
            pfc_buf_putc(out, (char)(16 * hex(line[i + 1]) + hex(line[i + 2])));
            i += 2;
        } else if (line[i] == 'c') {
            return;
        } else {
            pfc_buf_putc(out, (char)(line[i] == 'r' ? '\r' : line[i] == 't' ? '\t' : line[i]));
        }
    }
    pfc_buf_putc(out, '\n');
}

static char *own(import_case *c, const char *text)
{
    cr_assert(c->owned_len < PFC_ARRAY_LEN(c->owned), "%s: too many options", c->name);
    return c->owned[c->owned_len++] = pfc_strdup(text);
}

static void direction(import_case *c, const char *name, bool higher)
{
    cr_assert(c->opts.directions_len < CASE_DIRECTIONS, "%s: too many directions", c->name);
    c->directions[c->opts.directions_len++] = (pfc_direction){ own(c, name), higher };
}

static void option(import_case *c, const char *key, const char *value)
{
    const struct {
        const char *key;
        const char **text;
        bool *flag;
    } known[] = { { "format", &c->opts.format, NULL },
                  { "benchmark", &c->opts.benchmark, NULL },
                  { "metric", &c->opts.metric, NULL },
                  { "unit", &c->opts.unit, NULL },
                  { "map_name", &c->opts.map_name, NULL },
                  { "any_direction", NULL, &c->opts.any_direction },
                  { "number_is_cost", NULL, &c->opts.number_is_cost },
                  { "split", NULL, &c->opts.split },
                  { "allow_empty", NULL, &c->opts.allow_empty } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(known); i++) {
        if (strcmp(known[i].key, key) != 0)
            continue;
        if (known[i].text)
            *known[i].text = own(c, value);
        else
            *known[i].flag = true;
        return;
    }
    if (strcmp(key, "higher") == 0 || strcmp(key, "lower") == 0) {
        direction(c, value, strcmp(key, "higher") == 0);
        return;
    }
    cr_assert(strcmp(key, "better") == 0, "%s: no option '%s'", c->name, key);
    c->opts.has_direction = true;
    c->opts.higher_is_better = strcmp(value, "higher") == 0;
}

static import_case *begin(import_cases *cases, const char *name)
{
    cases->of = pfc_realloc(cases->of, cases->len + 1, sizeof(*cases->of));
    cases->of[cases->len] = (import_case){ .name = pfc_strdup(name) };
    return &cases->of[cases->len++];
}

/* The lines of a section; those of @escaped are read as such. */
static char *section(const char **at, bool escaped, size_t *len)
{
    pfc_buf buf;

    pfc_buf_init(&buf, MAX_FILE);
    while (**at && **at != '@') {
        const size_t n = strcspn(*at, "\n");
        if (escaped) {
            unescape(&buf, *at, n);
        } else {
            pfc_buf_append(&buf, *at, n);
            pfc_buf_putc(&buf, '\n');
        }
        *at += n + ((*at)[n] == '\n');
    }
    *len = buf.len;
    return pfc_buf_take(&buf);
}

import_cases cases_load(const char *file)
{
    import_cases cases = { .len = 0 };
    char *path = pfc_format("%s/import-cases/%s", PFC_TEST_DATA, file);
    char *all = NULL;
    size_t len = 0;
    pfc_err err = { 0 };
    import_case *c = NULL;

    cr_assert(pfc_fs_read(path, MAX_FILE, &all, &len, &err) == PFC_OK, "%s", err.msg);
    free(path);
    for (const char *at = all + strcspn(all, "@"); *at;) {
        char *line = pfc_strndup(at, strcspn(at, "\n"));
        const size_t word = strcspn(line, " ");
        char *rest = line[word] ? line + word + 1 : line + word;
        size_t n = 0;

        line[word] = '\0';
        at += strcspn(at, "\n");
        at += *at == '\n';
        if (strcmp(line, "@case") == 0) {
            c = begin(&cases, rest);
        } else if (strcmp(line, "@opt") == 0) {
            const size_t key = strcspn(rest, " ");
            char *value = rest[key] ? rest + key + 1 : rest + key;
            rest[key] = '\0';
            option(c, rest, value);
        } else if (strcmp(line, "@map") == 0) {
            c->map = section(&at, false, &n);
        } else if (strcmp(line, "@text") == 0 || strcmp(line, "@escaped") == 0) {
            c->text = section(&at, line[1] == 'e', &c->len);
        } else {
            cr_assert(strcmp(line, "@want") == 0, "%s: '%s'", file, line);
            c->want = section(&at, false, &n);
            while (n > 1 && c->want[n - 1] == '\n' &&
                   c->want[n - 2] == '\n') /* blank lines behind */
                c->want[--n] = '\0';
        }
        free(line);
    }
    free(all);
    cr_assert(cases.len > 0, "%s", file);
    return cases;
}

void cases_free(import_cases *cases)
{
    for (size_t i = 0; i < cases->len; i++) {
        import_case *c = &cases->of[i];
        for (size_t k = 0; k < c->owned_len; k++)
            free(c->owned[k]);
        free(c->name);
        free(c->text);
        free(c->map);
        free(c->want);
    }
    free(cases->of);
    *cases = (import_cases){ 0 };
}

/* ---- writing ---- */

/* The shortest text that reads back as the same number. */
static void put_number(pfc_buf *out, double value)
{
    char text[40];

    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    pfc_buf_puts(out, text);
}

static void put_pairs(pfc_buf *out, const pfc_labels *pairs, char open, char close)
{
    if (pairs->len == 0)
        return;
    pfc_buf_printf(out, " | %c", open);
    for (size_t i = 0; i < pairs->len; i++)
        pfc_buf_printf(out, "%s%s=%s", i ? ", " : "", pairs->items[i].name, pairs->items[i].value);
    pfc_buf_putc(out, close);
}

static void put_samples(pfc_buf *out, const pfc_measurement *m)
{
    size_t at = 0;

    for (size_t b = 0; b < m->blocks_len; b++) {
        for (size_t i = 0; i < m->blocks[b]; i++, at++) {
            pfc_buf_puts(out, i ? " " : b ? "; " : "");
            put_number(out, m->samples[at]);
        }
    }
    cr_assert(at == m->samples_len, "%s: blocks of %zu samples, got %zu", m->benchmark, at,
              m->samples_len);
}

static void put_measurement(pfc_buf *out, const pfc_measurement *m)
{
    static const char *const failed[] = {
        [PFC_STATUS_BROKEN] = "broken", [PFC_STATUS_SKIPPED] = "skipped"
    };

    pfc_buf_printf(out, "%s | %s | %s | %s%s | ", m->benchmark, m->metric, m->unit,
                   m->higher_is_better ? "higher" : "lower", m->exact ? " exact" : "");
    if (m->status == PFC_STATUS_OK) {
        cr_assert(m->reason == NULL, "%s has a reason", m->benchmark);
        put_samples(out, m);
    } else {
        cr_assert(m->samples_len == 0 && m->blocks_len == 0, "%s has samples", m->benchmark);
        pfc_buf_printf(out, "%s: %s", failed[m->status], m->reason);
    }
    if (*m->backend)
        pfc_buf_printf(out, " | @%s", m->backend);
    put_pairs(out, &m->params, '{', '}');
    put_pairs(out, &m->extra, '[', ']');
    pfc_buf_putc(out, '\n');
}

static void put_run(pfc_buf *out, const pfc_run *run, bool always)
{
    if (always || run->commit || run->branch || run->started_at != 0) {
        pfc_buf_printf(out, "run %s %s ", run->commit ? run->commit : "-",
                       run->branch ? run->branch : "-");
        put_number(out, run->started_at);
        if (run->finished_at != run->started_at)
            put_number(out, run->finished_at);
        pfc_buf_putc(out, '\n');
    }
    for (size_t i = 0; i < run->measurements_len; i++)
        put_measurement(out, &run->measurements[i]);
}

static const char *code_name(pfc_code code)
{
    return code == PFC_EINVAL ? "EINVAL" : code == PFC_ETOOBIG ? "ETOOBIG" : "other";
}

char *case_read(const import_case *c, const char *text, size_t len)
{
    pfc_import_opts opts = c->opts;
    pfc_import_result r = { 0 };
    pfc_err err = { 0 };
    pfc_buf out;
    pfc_code code;

    opts.directions = c->directions;
    opts.map = c->map;
    code = pfc_import_read(&opts, text, len, &r, &err);
    pfc_buf_init(&out, MAX_FILE);
    if (code) {
        cr_assert(r.runs == NULL && r.notes == NULL, "%s: a result beside an error", c->name);
        pfc_buf_printf(&out, "error %s: %s\n", code_name(code), err.msg);
        if (*err.hint)
            pfc_buf_printf(&out, "hint %s\n", err.hint);
        return pfc_buf_take(&out);
    }
    pfc_buf_printf(&out, "format %s\n%s", r.format, r.has_points ? "history\n" : "");
    for (size_t i = 0; i < r.notes_len; i++)
        pfc_buf_printf(&out, "note %s\n", r.notes[i]);
    for (size_t i = 0; i < r.runs_len; i++)
        put_run(&out, r.runs[i], r.runs_len > 1);
    pfc_import_result_clear(&r);
    return pfc_buf_take(&out);
}
