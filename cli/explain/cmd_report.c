/*
 * perfci report: explains all benchmarks that changed between two runs, in one document.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/compare/compare.h"
#include "cli/explain/explain.h"

#define MAX_EXPLAINED 20 /* benchmarks of one report */

static const char *const formats[] = { "text", "markdown", "html", "json", NULL };

static const pfc_option report_options[] = {
    PFC_OPT_WORD("format", "F", formats, explain_opts, format, "Form of the report",
                 .fallback = "text"),
    PFC_OPT_TEXT("out", "FILE", explain_opts, out,
                 "Write there; .html, .md and .json choose the form", .fallback = "stdout"),
    EXPLAIN_OPTIONS,
    { 0 },
};

static const char report_doc[] =
    "Writes a report of two runs: every benchmark that became worse, the largest change first, "
    "each "
    "with baseline, comparison, causes, limiter and guidance; then what could be gained elsewhere."
    "\vA and B are as for `perfci explain`. At most 20 benchmarks are explained; the report says "
    "how "
    "many more changed.\n"
    "\n"
    "Exit status 1 a benchmark became worse, 0 none did.\n"
    "\n"
    "Examples:\n"
    "  perfci report before.json after.json --out report.html\n"
    "  perfci report v1.2 main --format markdown\n";

static error_t parse_report(int key, char *arg, struct argp_state *state)
{
    explain_opts *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (o->sides_len == 2)
            pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
        o->sides[o->sides_len++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->sides_len != 2)
            pfc_cli_usage(state, "expected A and B");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* One metric of each benchmark is explained, because the others of an exact backend follow from
 * it. */
static bool chosen(const pfc_cmp *cmp, size_t at)
{
    const pfc_cmp_row *row = &cmp->rows[at];

    if (row->verdict != PFC_CMP_REGRESSION || pfc_streq(row->benchmark, "headline") ||
        pfc_streq(row->benchmark, PFC_CANARY_BENCHMARK))
        return false;
    for (size_t i = 0; i < cmp->len; i++) {
        const pfc_cmp_row *other = &cmp->rows[i];
        const bool better =
            pfc_streq(other->metric, "cycles") || (i < at && !pfc_streq(row->metric, "cycles"));

        if (i != at && better && other->verdict == PFC_CMP_REGRESSION &&
            pfc_streq(other->benchmark, row->benchmark) && pfc_streq(other->backend, row->backend))
            return false;
    }
    return true;
}

static int compare_changes(const void *a, const void *b)
{
    const pfc_cmp_row *x = *(const pfc_cmp_row *const *)a;
    const pfc_cmp_row *y = *(const pfc_cmp_row *const *)b;
    const double more = fabs(y->rel_change) - fabs(x->rel_change);

    return more > 0 ? 1 : more < 0 ? -1 : strcmp(x->benchmark, y->benchmark);
}

/* The rows to explain, the largest change first; the caller frees. */
static const pfc_cmp_row **worse_rows(const pfc_cmp *cmp, size_t *len)
{
    const pfc_cmp_row **rows = pfc_calloc(cmp->len + 1, sizeof(*rows));

    *len = 0;
    for (size_t i = 0; i < cmp->len; i++)
        if (chosen(cmp, i))
            rows[(*len)++] = &cmp->rows[i];
    qsort(rows, *len, sizeof(*rows), compare_changes);
    return rows;
}

static pfc_code add_row(const pfc_explain_rules *rules, const explain_input *in,
                        const pfc_cmp_row *row, pfc_report *r, json_t *list, pfc_err *err)
{
    explain_input one = *in;
    pfc_explanation *e = pfc_calloc(1, sizeof(*e));
    pfc_code code;

    one.benchmark = row->benchmark;
    one.backend = row->backend;
    one.metric = row->metric;
    code = explain_input_explain(rules, &one, e, err);
    if (!code) {
        pfc_report_add(r, e);
        json_array_append_new(list, pfc_explanation_json(e));
    }
    pfc_explanation_clear(e);
    free(e);
    return code;
}

static pfc_code add_all(const pfc_explain_rules *rules, const explain_input *in, const pfc_cmp *cmp,
                        pfc_report *r, json_t *list, pfc_err *err)
{
    size_t len = 0;
    const pfc_cmp_row **rows = worse_rows(cmp, &len);
    pfc_code code = PFC_OK;

    if (len == 0)
        pfc_report_note(r, "No benchmark became worse.");
    for (size_t i = 0; i < PFC_MIN(len, (size_t)MAX_EXPLAINED) && !code; i++)
        code = add_row(rules, in, rows[i], r, list, err);
    if (len > MAX_EXPLAINED)
        pfc_report_note(r, "%zu further benchmarks became worse by less; they are not explained.",
                        len - MAX_EXPLAINED);
    free(rows);
    return code;
}

static pfc_code report(const explain_opts *o, const pfc_explain_rules *rules,
                       const explain_input *in, int *status, pfc_err *err)
{
    pfc_report *r = pfc_report_new("What changed between two runs, and why", in->link_base);
    json_t *doc = json_object();
    json_t *list = json_array();
    pfc_explain_rank *ranks = NULL;
    size_t ranks_len = 0;
    pfc_cmp cmp = { 0 };
    pfc_code code =
        pfc_cmp_runs(in->before, in->after, in->before->id, in->after->id, 0, &cmp, err);

    if (!code)
        code = add_all(rules, in, &cmp, r, list, err);
    if (!code)
        code = pfc_explain_suite(rules, in->after, &ranks, &ranks_len, err);
    if (!code) {
        pfc_report_add_ranks(r, in->after->id, ranks, ranks_len);
        json_object_set_new(doc, "before", json_string(in->before->id));
        json_object_set_new(doc, "after", json_string(in->after->id));
        json_object_set(doc, "explanations", list);
        json_object_set_new(doc, "ranking", pfc_explain_ranks_json(ranks, ranks_len));
        code = explain_write(o, r, json_incref(doc), err);
        *status = json_array_size(list) ? PFC_EXIT_REGRESSION : PFC_EXIT_OK;
    }
    pfc_explain_ranks_free(ranks, ranks_len);
    pfc_cmp_clear(&cmp);
    json_decref(list);
    json_decref(doc);
    pfc_report_free(r);
    return code;
}

static int cmd_report(pfc_cli *cli, int argc, char **argv)
{
    return explain_command(cli, &pfc_cmd_report, argc, argv, report);
}

const pfc_subcommand pfc_cmd_report = {
    .name = "report",
    .summary = "a report of everything that became worse between two runs",
    .run = cmd_report,
    .options = report_options,
    .parse = parse_report,
    .args_doc = "A B",
    .doc = report_doc,
};
