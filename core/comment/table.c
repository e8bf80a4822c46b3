/* Tables of the comment: rows of results, slices of the suite, functions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/comment/comment_priv.h"

enum { ROW_BYTES = 4096, EVIDENCE = 3, SLICES = 12, FUNCTIONS = 10, SLICE_BYTES = 64 };

static const char *const marks[] = {
    [PFC_CMP_SAME] = "",
    [PFC_CMP_IMPROVEMENT] = "\xF0\x9F\x9F\xA2 ",
    [PFC_CMP_INCONCLUSIVE] = "\xE2\x9A\xAA ",
    [PFC_CMP_REGRESSION] = "\xF0\x9F\x94\xB4 ",
    [PFC_CMP_BROKEN] = "\xE2\x9B\x94 ",
};

static const char *word(pfc_cmp_verdict verdict)
{
    return verdict == PFC_CMP_INCONCLUSIVE ? "not decided" : pfc_cmp_name(verdict);
}

bool comment_is_change(const pfc_cmp_row *r)
{
    return !r->secondary && (r->verdict == PFC_CMP_REGRESSION || r->verdict == PFC_CMP_BROKEN ||
                             r->verdict == PFC_CMP_IMPROVEMENT);
}

static int weight(const pfc_cmp_row *r)
{
    static const int weights[] = { [PFC_CMP_BROKEN] = 5,
                                   [PFC_CMP_REGRESSION] = 4,
                                   [PFC_CMP_IMPROVEMENT] = 3,
                                   [PFC_CMP_INCONCLUSIVE] = 2,
                                   [PFC_CMP_SAME] = 1 };

    return r->secondary ? 0 : weights[r->verdict];
}

static int by_weight(const void *x, const void *y)
{
    const pfc_cmp_row *a = *(const pfc_cmp_row *const *)x, *b = *(const pfc_cmp_row *const *)y;
    const double ca = isfinite(a->rel_change) ? fabs(a->rel_change) : 0;
    const double cb = isfinite(b->rel_change) ? fabs(b->rel_change) : 0;

    if (weight(a) != weight(b))
        return weight(b) - weight(a);
    if (comment_is_change(a) && ca != cb)
        return ca < cb ? 1 : -1;
    return (a > b) - (a < b); /* the order of the comparison */
}

const pfc_cmp_row **comment_order(const pfc_cmp *cmp)
{
    const pfc_cmp_row **rows = pfc_calloc(cmp->len, sizeof(const pfc_cmp_row *));

    for (size_t i = 0; i < cmp->len; i++)
        rows[i] = &cmp->rows[i];
    qsort(rows, cmp->len, sizeof(const pfc_cmp_row *), by_weight);
    return rows;
}

/* ---- rows ---- */

static void put_percent(pfc_buf *out, double rel)
{
    char text[32];

    pfc_show_percent(rel, text);
    pfc_buf_puts(out, text);
}

/* A dimensionless value, whose unit is "1", is a number alone. */
static void put_value(pfc_buf *out, double value, const char *unit)
{
    char text[32];

    pfc_show_value(value, text);
    pfc_buf_puts(out, text);
    if (unit[0] && strcmp(unit, "1") != 0) {
        pfc_buf_putc(out, ' ');
        pfc_markdown_text(out, unit);
    }
}

/* Another metric of the same benchmark that supports the verdict, or contradicts it. */
static bool is_evidence(const pfc_cmp_row *of, const pfc_cmp_row *r)
{
    const bool counter = strstr(r->metric, "instructions") || strstr(r->metric, "cycles");

    return r != of && (r->secondary || counter) && isfinite(r->rel_change) &&
           strcmp(r->benchmark, of->benchmark) == 0 && strcmp(r->backend, of->backend) == 0 &&
           strcmp(r->metric, of->metric) != 0;
}

bool comment_evidence(const pfc_cmp *cmp, const pfc_cmp_row *of, pfc_buf *out)
{
    size_t shown = 0;

    for (size_t i = 0; i < cmp->len && shown < EVIDENCE; i++) {
        if (!is_evidence(of, &cmp->rows[i]))
            continue;
        pfc_buf_puts(out, shown++ ? ", " : "");
        pfc_markdown_text(out, cmp->rows[i].metric);
        pfc_buf_putc(out, ' ');
        put_percent(out, cmp->rows[i].rel_change);
    }
    return shown > 0;
}

static void put_verdict(pfc_buf *out, const pfc_cmp_row *r)
{
    pfc_buf_printf(out, "%s%s", marks[r->verdict], word(r->verdict));
    if (r->secondary)
        pfc_buf_puts(out, " (not counted)");
    if (r->verdict == PFC_CMP_INCONCLUSIVE && r->more_rounds)
        pfc_buf_printf(out, ", about %zu more rounds expected", r->more_rounds);
    else if (r->verdict == PFC_CMP_INCONCLUSIVE && r->more_runs)
        pfc_buf_printf(out, ", about %zu more runs a side expected", r->more_runs);
}

static void put_numbers(pfc_buf *out, const pfc_cmp_row *r)
{
    put_value(out, r->a.median, r->unit);
    pfc_buf_puts(out, " | ");
    put_value(out, r->b.median, r->unit);
    pfc_buf_puts(out, " | **");
    put_percent(out, r->rel_change);
    pfc_buf_puts(out, "** | ");
    if (r->exact) {
        pfc_buf_puts(out, "exact | ");
    } else {
        put_percent(out, r->rel_low);
        pfc_buf_puts(out, " to ");
        put_percent(out, r->rel_high);
        pfc_buf_puts(out, " | ");
    }
    if (r->exact)
        pfc_buf_puts(out, "none");
    else if (isfinite(r->noise_rel))
        pfc_buf_printf(out, "%.2g %%", 100 * r->noise_rel);
    else
        pfc_buf_puts(out, "?");
    pfc_buf_printf(out, " | %lld+%lld", (long long)r->a.n, (long long)r->b.n);
}

/* The benchmark, as a link to the page of its series. */
static void put_benchmark(pfc_buf *out, const pfc_cmp_row *r, const char *series_url)
{
    const bool linked = r->series_id && series_url && pfc_comment_is_link(series_url);

    if (linked)
        pfc_buf_putc(out, '[');
    pfc_markdown_code(out, r->benchmark);
    if (linked)
        pfc_buf_printf(out, "](<%s%lld>)", series_url, (long long)r->series_id);
}

static void put_row(pfc_buf *out, const pfc_cmp *cmp, const comment_shape *shape,
                    const pfc_cmp_row *r)
{
    pfc_buf_puts(out, "| ");
    put_verdict(out, r);
    pfc_buf_puts(out, " | ");
    put_benchmark(out, r, shape->series_url);
    pfc_buf_puts(out, " | ");
    pfc_markdown_code(out, r->metric);
    pfc_buf_puts(out, " | ");
    pfc_markdown_text(out, r->backend);
    pfc_buf_puts(out, " | ");
    if (r->verdict == PFC_CMP_BROKEN)
        pfc_buf_puts(out, "| | | | |");
    else
        put_numbers(out, r);
    if (shape->evidence && r->verdict == PFC_CMP_BROKEN) {
        char *reason = pfc_strdup(r->reason ? r->reason : "");

        pfc_buf_puts(out, " | ");
        reason[pfc_utf8_cut(reason, 300)] = '\0';
        pfc_markdown_text(out, reason);
        free(reason);
    } else if (shape->evidence) {
        pfc_buf_puts(out, " | ");
        (void)comment_evidence(cmp, r, out);
    }
    pfc_buf_puts(out, " |\n");
}

size_t comment_table(const pfc_cmp *cmp, const comment_shape *shape, const pfc_cmp_row *const *rows,
                     size_t len, pfc_buf *out)
{
    size_t shown = 0;
    pfc_buf row;

    pfc_buf_init(&row, ROW_BYTES);
    if (len > 0)
        pfc_buf_printf(out,
                       "| verdict | benchmark | metric | backend | before | after | change | "
                       "interval | noise | n |%s\n"
                       "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |%s\n",
                       shape->evidence ? " evidence |" : "", shape->evidence ? " --- |" : "");
    for (; shown < len && shown < shape->max_rows; shown++) {
        pfc_buf_reset(&row);
        row.overflow = false;
        put_row(&row, cmp, shape, rows[shown]);
        if (row.overflow || out->len + row.len > shape->max_bytes)
            break;
        pfc_buf_append(out, row.data, row.len);
    }
    if (shown < len)
        pfc_buf_printf(out, "\n%zu more not shown.\n", len - shown);
    pfc_buf_putc(out, '\n');
    pfc_buf_clear(&row);
    return shown;
}

/* ---- slices ---- */

typedef struct slice {
    char kernel[SLICE_BYTES], backend[SLICE_BYTES];
    size_t count[PFC_CMP_VERDICTS];
    double log_cost; /* sum of the logarithms of the cost's ratio */
    size_t known;
} slice;

/* "gemm" of "gemm/f32/m512". */
static void name_slice(slice *s, const pfc_cmp_row *r)
{
    const size_t len = strcspn(r->benchmark, "/");
    char *kernel = pfc_strndup(r->benchmark, len);

    (void)memcpy(s->kernel, kernel, pfc_utf8_cut(kernel, SLICE_BYTES - 1));
    (void)memcpy(s->backend, r->backend, pfc_utf8_cut(r->backend, SLICE_BYTES - 1));
    free(kernel);
}

static slice *slice_of(slice *slices, size_t *len, size_t max, const pfc_cmp_row *r)
{
    slice wanted = { .kernel = "" };

    name_slice(&wanted, r);
    for (size_t i = 0; i < *len; i++) {
        if (strcmp(slices[i].kernel, wanted.kernel) == 0 &&
            strcmp(slices[i].backend, wanted.backend) == 0)
            return &slices[i];
    }
    if (*len == max)
        return NULL;
    slices[*len] = wanted;
    return &slices[(*len)++];
}

static void add_row(slice *s, const pfc_cmp_row *r)
{
    const double ratio = 1 + r->rel_change;

    s->count[r->verdict]++;
    if (!isfinite(ratio) || ratio <= 0 || r->verdict == PFC_CMP_BROKEN)
        return;
    s->log_cost += r->higher_is_better ? -log(ratio) : log(ratio);
    s->known++;
}

void comment_slices(const pfc_cmp *cmp, pfc_buf *out)
{
    slice slices[SLICES] = { 0 };
    size_t len = 0, others = 0;

    for (size_t i = 0; i < cmp->len; i++) {
        const pfc_cmp_row *r = &cmp->rows[i];
        slice *s = r->secondary || strcmp(r->benchmark, PFC_CANARY_BENCHMARK) == 0
                       ? NULL
                       : slice_of(slices, &len, SLICES, r);

        if (s)
            add_row(s, r);
        else
            others += !r->secondary;
    }
    if (len < 2)
        return;
    pfc_buf_puts(
        out, "| kernel | backend | regressions | improvements | same | not decided | broken | mean "
             "cost |\n"
             "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < len; i++) {
        const size_t *n = slices[i].count;

        pfc_buf_puts(out, "| ");
        pfc_markdown_text(out, slices[i].kernel);
        pfc_buf_puts(out, " | ");
        pfc_markdown_text(out, slices[i].backend);
        pfc_buf_printf(out, " | %zu | %zu | %zu | %zu | %zu | ", n[PFC_CMP_REGRESSION],
                       n[PFC_CMP_IMPROVEMENT], n[PFC_CMP_SAME], n[PFC_CMP_INCONCLUSIVE],
                       n[PFC_CMP_BROKEN]);
        put_percent(out, slices[i].known ? exp(slices[i].log_cost / (double)slices[i].known) - 1
                                         : (double)NAN);
        pfc_buf_puts(out, " |\n");
    }
    if (len == SLICES && others)
        pfc_buf_printf(out, "\n%zu results of further slices.\n", others);
    pfc_buf_putc(out, '\n');
}

/* ---- functions ---- */

void comment_functions(const pfc_cmp *cmp, pfc_buf *out)
{
    const size_t len = json_array_size(cmp->functions);

    if (len == 0)
        return;
    pfc_buf_puts(out, "Functions whose number of instructions changed:\n\n"
                      "| function | before | after | change |\n| --- | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < PFC_MIN(len, (size_t)FUNCTIONS); i++) {
        const json_t *f = json_array_get(cmp->functions, i);
        const double before = json_number_value(json_object_get(f, "before"));
        const double after = json_number_value(json_object_get(f, "after"));
        const char *name = json_string_value(json_object_get(f, "name"));

        pfc_buf_puts(out, "| ");
        pfc_markdown_code(out, name ? name : "?");
        pfc_buf_printf(out, " | %.0f | %.0f | ", before, after);
        put_percent(out, before > 0 ? after / before - 1 : (double)NAN);
        pfc_buf_puts(out, " |\n");
    }
    if (len > FUNCTIONS)
        pfc_buf_printf(out, "\n%zu more not shown.\n", len - FUNCTIONS);
    pfc_buf_putc(out, '\n');
}
