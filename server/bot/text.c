/*
 * Texts for a pull request: the comment, the title of the check, the answer of `/perfci why`.
 */
#include <math.h>
#include <string.h>

#include "core/forge/forge.h"
#include "server/bot/internal.h"

#define TABLE_ROWS 20
#define WHY_ROWS   8
#define SHORT_ID   12

static const json_t *rows_of(const json_t *doc)
{
    return json_object_get(doc, "rows");
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));

    return text ? text : "";
}

static double number_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static json_t *document_of(const pfc_pull_measurement *m)
{
    json_t *doc = m->document_json ? json_loads(m->document_json, JSON_DECODE_ANY, NULL) : NULL;

    if (json_is_object(doc))
        return doc;
    json_decref(doc);
    return NULL;
}

static size_t count_of(const json_t *doc, const char *verdict)
{
    return (size_t)json_integer_value(json_object_get(json_object_get(doc, "summary"), verdict));
}

/* The largest change among rows of this verdict, in percent. */
static double largest(const json_t *doc, const char *verdict)
{
    const json_t *rows = rows_of(doc), *row;
    double most = 0;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (strcmp(text_of(row, "verdict"), verdict) == 0)
            most = fmax(most, fabs(number_of(row, "rel_change")));
    }
    return most * 100;
}

/* ---- one sentence ---- */

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void put_regression(const json_t *doc, pfc_buf *out)
{
    const size_t n = count_of(doc, "regression");

    pfc_buf_printf(out, "%zu regression%s, the largest %.1f %%", n, plural(n),
                   largest(doc, "regression"));
}

/* The verdict in one line; its words do not come from outside. */
static void put_sentence(const pfc_pull_measurement *m, const json_t *doc, pfc_buf *out)
{
    const size_t all = json_array_size(rows_of(doc));

    if (strcmp(m->verdict, "regression") == 0)
        put_regression(doc, out);
    else if (strcmp(m->verdict, "improvement") == 0)
        pfc_buf_printf(out, "%zu improvement%s, the largest %.1f %%; no regression",
                       count_of(doc, "improvement"), plural(count_of(doc, "improvement")),
                       largest(doc, "improvement"));
    else if (strcmp(m->verdict, "same") == 0)
        pfc_buf_printf(out, "No change in %zu benchmark%s", all, plural(all));
    else if (strcmp(m->verdict, "identical") == 0)
        pfc_buf_puts(out, "Unchanged: identical object code, nothing was measured");
    else if (strcmp(m->verdict, "inconclusive") == 0)
        pfc_buf_printf(out, "Not decided: %zu of %zu benchmarks need more measuring time",
                       count_of(doc, "inconclusive"), all);
    else if (strcmp(m->verdict, "broken") == 0)
        pfc_buf_puts(out, "The build or the benchmark is broken");
    else if (strcmp(m->verdict, "nothing") == 0)
        pfc_buf_puts(out, "Nothing was compared");
    else
        pfc_buf_puts(out, "Not measured: the service had a failure of its own");
}

/* ---- the check ---- */

static pfc_check_state state_of(const pfc_pull_measurement *m)
{
    if (m->accepted_by)
        return PFC_CHECK_SUCCESS;
    switch (pfc_verdict_rank(m->verdict)) {
    case 0:
        return PFC_CHECK_SUCCESS;
    case 1:
        return PFC_CHECK_NEUTRAL;
    case 2:
        return PFC_CHECK_FAILURE;
    default:
        return PFC_CHECK_ACTION_REQUIRED;
    }
}

static pfc_check_state put_waiting(const pfc_pull *p, const pfc_pull_measurement *m, pfc_buf *title)
{
    if (!m) {
        if (p->fork && !pfc_streq(p->allowed_sha, p->head_sha)) {
            pfc_buf_puts(title, "A fork: a maintainer allows the measurement by /perfci allow");
            return PFC_CHECK_ACTION_REQUIRED;
        }
        pfc_buf_puts(title, "The merge base is not known");
        return PFC_CHECK_NEUTRAL;
    }
    if (m->waited_s >= p->patience_s) {
        pfc_buf_printf(title, "No verdict within %.0f min; the measurement goes on",
                       p->patience_s / 60);
        return PFC_CHECK_NEUTRAL;
    }
    if (pfc_streq(m->state, "leased")) {
        pfc_buf_puts(title, "Measuring");
        return PFC_CHECK_IN_PROGRESS;
    }
    pfc_buf_puts(title, "Waiting for a runner");
    return PFC_CHECK_QUEUED;
}

pfc_check_state pfc_pull_check(const pfc_pull *p, const pfc_pull_measurement *m, pfc_buf *title)
{
    json_t *doc;

    if (!m || !m->verdict)
        return put_waiting(p, m, title);
    doc = document_of(m);
    put_sentence(m, doc, title);
    if (m->accepted_by)
        pfc_buf_puts(title, " (accepted)");
    json_decref(doc);
    return state_of(m);
}

/* ---- the comment ---- */

static const char *sign_of(const pfc_pull_measurement *m)
{
    if (m->accepted_by)
        return "\xF0\x9F\x9F\xA2";
    switch (pfc_verdict_rank(m->verdict)) {
    case 0:
        return "\xF0\x9F\x9F\xA2";
    case 1:
        return "\xE2\x9A\xAA";
    case 2:
        return "\xF0\x9F\x94\xB4";
    default:
        return "\xE2\x9B\x94";
    }
}

static void put_percent(pfc_buf *out, double v)
{
    if (isfinite(v))
        pfc_buf_printf(out, "%+.1f %%", v * 100);
    else
        pfc_buf_puts(out, "?");
}

static void put_value(pfc_buf *out, const json_t *row, const char *side)
{
    const double v = number_of(json_object_get(row, side), "median");

    if (isfinite(v))
        pfc_buf_printf(out, "%.4g ", v);
    pfc_markdown_text(out, text_of(row, "unit"));
}

static void put_row(pfc_buf *out, const json_t *row)
{
    const json_t *n = json_object_get(json_object_get(row, "b"), "n");

    pfc_buf_puts(out, "| ");
    pfc_markdown_code(out, text_of(row, "benchmark"));
    pfc_buf_puts(out, " | ");
    pfc_markdown_code(out, text_of(row, "metric"));
    pfc_buf_puts(out, " | ");
    put_value(out, row, "a");
    pfc_buf_puts(out, " | ");
    put_value(out, row, "b");
    pfc_buf_puts(out, " | **");
    put_percent(out, number_of(row, "rel_change"));
    pfc_buf_puts(out, "** | ");
    put_percent(out, number_of(row, "rel_low"));
    pfc_buf_puts(out, " to ");
    put_percent(out, number_of(row, "rel_high"));
    pfc_buf_printf(out, " | %.1f %% | %lld | %s |\n", number_of(row, "noise_rel") * 100,
                   (long long)json_integer_value(n), text_of(row, "verdict"));
}

static bool is_listed(const json_t *row, bool changes)
{
    const bool regression = strcmp(text_of(row, "verdict"), "regression") == 0;
    const bool improvement = strcmp(text_of(row, "verdict"), "improvement") == 0;

    return (regression || improvement) == changes;
}

static void put_table(pfc_buf *out, const json_t *doc, bool changes, size_t max)
{
    const json_t *rows = rows_of(doc), *row;
    size_t i, shown = 0, left_out = 0;

    json_array_foreach(rows, i, row)
    {
        if (!is_listed(row, changes))
            continue;
        /* A row takes a kilobyte at most, and the end of the comment must fit, too. */
        if (shown == max || out->len > PFC_COMMENT_MAX_BYTES - 6000) {
            left_out++;
            continue;
        }
        if (shown++ == 0)
            pfc_buf_puts(out, "| benchmark | metric | before | after | change | interval | noise "
                              "| n | verdict |\n"
                              "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |\n");
        put_row(out, row);
    }
    if (left_out)
        pfc_buf_printf(out, "\n%zu more not shown.\n", left_out);
    if (shown)
        pfc_buf_putc(out, '\n');
}

static void put_others(pfc_buf *out, const json_t *doc)
{
    const size_t changed = count_of(doc, "regression") + count_of(doc, "improvement");
    const size_t others = json_array_size(rows_of(doc)) - changed;

    if (!others)
        return;
    pfc_buf_printf(out,
                   "<details><summary>%zu other%s: %zu unchanged, %zu not decided</summary>\n\n",
                   others, plural(others), count_of(doc, "same"), count_of(doc, "inconclusive"));
    put_table(out, doc, false, 300);
    pfc_buf_puts(out, "</details>\n\n");
}

static void put_end(pfc_buf *out, const pfc_pull_measurement *m, const json_t *doc,
                    const char *link)
{
    pfc_buf_printf(out, "Compared `%.12s` with its merge base `%.12s`", m->head_sha, m->base_sha);
    if (doc) {
        pfc_buf_puts(out, " on ");
        pfc_markdown_text(out, text_of(doc, "machine_class"));
        pfc_buf_printf(out, ", interleaved, %.0f s of measuring", number_of(doc, "spent_s"));
    }
    if (m->filter) {
        pfc_buf_puts(out, "; benchmarks ");
        pfc_markdown_code(out, m->filter);
    }
    pfc_buf_printf(out, ". Reproduce: `perfci compare %.12s %.12s`", m->base_sha, m->head_sha);
    if (link)
        pfc_buf_printf(out, " · <%s>", link);
    pfc_buf_puts(out, "\n");
}

void pfc_pull_comment(const pfc_pull *p, const pfc_pull_measurement *m, const char *link,
                      pfc_buf *out)
{
    json_t *doc = document_of(m);

    (void)p;
    pfc_buf_printf(out, "### %s ", sign_of(m));
    put_sentence(m, doc, out);
    pfc_buf_puts(out, "\n\n");
    if (m->accepted_by) {
        pfc_buf_puts(out, "Accepted by ");
        pfc_markdown_text(out, m->accepted_by);
        pfc_buf_puts(out, ": ");
        pfc_markdown_text(out, m->accepted_reason ? m->accepted_reason : "");
        pfc_buf_puts(out, "\n\n");
    }
    if (m->reason && m->reason[0]) {
        pfc_markdown_text(out, m->reason);
        pfc_buf_puts(out, "\n\n");
    }
    put_table(out, doc, true, TABLE_ROWS);
    put_others(out, doc);
    put_end(out, m, doc, link);
    json_decref(doc);
}

/* ---- why ---- */

static void put_evidence(pfc_buf *out, const json_t *row)
{
    pfc_buf_puts(out, "- ");
    pfc_markdown_code(out, text_of(row, "benchmark"));
    pfc_buf_puts(out, " ");
    pfc_markdown_code(out, text_of(row, "metric"));
    pfc_buf_puts(out, ": ");
    put_percent(out, number_of(row, "rel_change"));
    pfc_buf_puts(out, ", 95 % interval ");
    put_percent(out, number_of(row, "rel_low"));
    pfc_buf_puts(out, " to ");
    put_percent(out, number_of(row, "rel_high"));
    if (json_is_true(json_object_get(row, "exact")))
        pfc_buf_puts(out, "; an exact value, so one run decides");
    else
        pfc_buf_printf(out, "; %lld rounds of both builds, noise of one visit %.2f %%, p = %.2g, "
                            "a change below %.1f %% does not count",
                       (long long)json_integer_value(json_object_get(row, "rounds")),
                       number_of(row, "noise_rel") * 100, number_of(row, "p_adjusted"),
                       number_of(row, "margin_rel") * 100);
    pfc_buf_putc(out, '\n');
}

void pfc_pull_why(const pfc_pull *p, const pfc_pull_measurement *m, pfc_buf *out)
{
    json_t *doc = document_of(m), *row;
    size_t i, shown = 0;

    (void)p;
    put_sentence(m, doc, out);
    pfc_buf_printf(out, ": `%.12s` against its merge base `%.12s`.\n\n", m->head_sha, m->base_sha);
    if (m->reason && m->reason[0]) {
        pfc_markdown_text(out, m->reason);
        pfc_buf_puts(out, "\n\n");
    }
    json_array_foreach(rows_of(doc), i, row)
    {
        if (strcmp(text_of(row, "verdict"), "same") != 0 && shown++ < WHY_ROWS)
            put_evidence(out, row);
    }
    if (shown > WHY_ROWS)
        pfc_buf_printf(out, "- and %zu more\n", shown - WHY_ROWS);
    json_decref(doc);
}
