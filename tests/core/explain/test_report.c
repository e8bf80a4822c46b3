/* Written forms: the same values everywhere, text of others escaped, contributions that sum. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/report/report.h"
#include "core/base/base.h"

#include "tests/check/check.h"
#include "tests/core/explain/explain_case.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static pfc_explain_rules rules;
static pfc_explanation *e;
static pfc_run *before, *after;
static pfc_buf out;
static pfc_err err;

static void set_up(void)
{
    err = (pfc_err){ 0 };
    e = pfc_calloc(1, sizeof(*e));
    before = case_run(ID_A, 600);
    after = case_run(ID_B, 900);
    pfc_buf_init(&out, PFC_REPORT_MAX_BYTES);
    cr_assert(eq(int, pfc_explain_rules_load(NULL, &rules, &err), PFC_OK), "%s", err.msg);
}

static void tear_down(void)
{
    pfc_explanation_clear(e);
    free(e);
    pfc_run_free(before);
    pfc_run_free(after);
    pfc_buf_clear(&out);
    pfc_explain_rules_clear(&rules);
}

TestSuite(report, .init = set_up, .fini = tear_down);

static void explain(const char *metric)
{
    const pfc_explain_what what = { CASE_GEMM, CASE_CHIP, metric };

    pfc_explanation_clear(e);
    cr_assert(eq(int, pfc_explain_pair(&rules, before, after, &what, NULL, e, &err), PFC_OK), "%s",
              err.msg);
    pfc_explanation_repeat(e, "perfci explain %s %s", ID_A, ID_B);
}

static const char *written(void (*write)(const pfc_report *, pfc_buf *), const char *title,
                           const char *link_base)
{
    pfc_report *r = pfc_report_new(title, link_base);

    pfc_buf_reset(&out);
    pfc_report_add(r, e);
    write(r, &out);
    pfc_report_free(r);
    return pfc_buf_text(&out);
}

static void has(const char *text, const char *wanted)
{
    cr_assert(strstr(text, wanted) != NULL, "expected \"%s\" in:\n%s", wanted, text);
}

Test(report, every_form_states_values_runs_and_causes)
{
    static void (*const forms[])(const pfc_report *, pfc_buf *) = { pfc_report_text,
                                                                    pfc_report_html };

    explain("cycles");
    for (size_t i = 0; i < PFC_ARRAY_LEN(forms); i++) {
        const char *text = written(forms[i], "The title", NULL);

        has(text, "The title");
        has(text, "600 cycles");
        has(text, "900 cycles");
        has(text, "+50.0 %");
        has(text, ID_A);
        has(text, ID_B);
        has(text, "0123456789ab");
        has(text, "+300");
        has(text, "memory");
        has(text, "perfci explain " ID_A " " ID_B);
    }
    has(written(pfc_report_text, "T", NULL), "The schedule has \"tiles of m 16\"");
    has(written(pfc_report_markdown, "T", NULL), "| memory | load | +300 |");
}

Test(report, runs_are_links_where_a_dashboard_is_known)
{
    explain("cycles");
    has(written(pfc_report_html, "T", "http://x:1"), "<a href=\"http://x:1/runs/" ID_B "\">");
    has(written(pfc_report_markdown, "T", "http://x:1"), "](http://x:1/runs/" ID_A ")");
    cr_assert(strstr(written(pfc_report_html, "T", NULL), "<a ") == NULL);
}

Test(report, text_of_others_is_escaped)
{
    static const char hostile[] = "<script>alert(1)</script>&\"'\xe2\x80\xae\x1b[31m";
    const char *text;

    pfc_labels_set(&after->measurements[0].extra, "choice", hostile);
    for (int i = 0; i < 2; i++) {
        pfc_run *run = i ? after : before;

        free(run->measurements[0].metric);
        run->measurements[0].metric = pfc_strdup("<script>x");
    }
    explain("<script>x");
    text = written(pfc_report_html, hostile, "http://x\"><b>");
    cr_assert(strstr(text, "<script>") == NULL && strstr(text, "<b>") == NULL, "%s", text);
    cr_assert(strstr(text, "\xe2\x80\xae") == NULL && strchr(text, '\x1b') == NULL);
    has(text, "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;??[31m");
    text = written(pfc_report_markdown, hostile, NULL);
    cr_assert(strstr(text, "<script>") == NULL, "%s", text);
}

/* Sections that others add to an explanation are shown in every form, and escaped. */
Test(report, added_sections_are_shown_and_escaped)
{
    static const char stacks[] = "p\n\t 1 <b>hot+0x1 (x)\n\t 2 main (x)\n";
    const char *text;
    json_t *doc;

    explain("cycles");
    e->stream = pfc_calloc(1, sizeof(*e->stream));
    e->stream->at = 41;
    snprintf(e->stream->after.text, sizeof(e->stream->after.text), "load <b>");
    e->functions = pfc_calloc(1, sizeof(*e->functions));
    e->functions->before = 100;
    e->functions->after = 150;
    e->functions->len = 1;
    e->functions->changes[0] = (pfc_function_change){ "dot<b>", 100, 150, 1, 2 };
    e->flame = pfc_calloc(1, sizeof(*e->flame));
    cr_assert(eq(int, pfc_flame_read(e->flame, false, stacks, strlen(stacks), "a", &err), PFC_OK));
    cr_assert(eq(int, pfc_flame_read(e->flame, true, stacks, strlen(stacks), "b", &err), PFC_OK));
    e->after.trace.file = pfc_strdup("traces/\"x.json");
    text = written(pfc_report_html, "T", NULL);
    cr_assert(strstr(text, "<b>") == NULL, "%s", text);
    has(text, "<a href=\"traces/&quot;x.json\">");
    has(text, "Command 41 is the first one that differs");
    has(text, "dot&lt;b&gt; executes 150 instructions instead of 100");
    has(text, "aria-label=\"Flame graph of the difference\"");
    text = written(pfc_report_text, "T", NULL);
    has(text, "the stream has ended");
    has(text, "It is called 2 times instead of 1.");
    doc = pfc_explanation_json(e);
    cr_assert(eq(sz, json_array_size(json_object_get(doc, "phases")), 2));
    cr_assert(
        eq(i64, json_integer_value(json_object_get(json_object_get(doc, "stream"), "at")), 41));
    cr_assert(json_object_get(doc, "functions") && json_object_get(doc, "stacks"));
    json_decref(doc);
}

/* Loads stand left of the work that waits for them: one line forward, one dashed line back. */
Test(report, phases_are_a_graph_with_a_table)
{
    const char *text;

    explain("cycles");
    text = written(pfc_report_html, "T", NULL);
    has(text, "aria-label=\"Phases and what they wait for\"");
    has(text, "stroke-dasharray");
    has(written(pfc_report_markdown, "T", NULL), "| matmul | load | 12 |");
    has(pfc_buf_text(&out), "| load | matmul | 9 |");
}

Test(report, pictures_have_a_table_of_their_values)
{
    const char *text;

    explain("cycles");
    text = written(pfc_report_html, "T", NULL);
    has(text, "aria-label=\"The difference by phase and resource\"");
    has(text, "aria-label=\"The critical path by resource\"");
    has(text, "<td>memory</td><td>load</td>");
}

static double sum_of(const json_t *doc)
{
    const json_t *list = json_object_get(doc, "contributions");
    double sum = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        sum += json_number_value(json_object_get(json_array_get(list, i), "value"));
    return sum;
}

Test(report, contributions_in_json_sum_to_the_delta_of_the_metric)
{
    static const char *const metrics[] = { "cycles", "gemm_tflops" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(metrics); i++) {
        json_t *doc;
        double delta;

        explain(metrics[i]);
        doc = pfc_explanation_json(e);
        delta = json_number_value(json_object_get(doc, "delta"));
        cr_assert(epsilon_eq(dbl, sum_of(doc), delta, 1e-9 * fabs(delta)), "%s", metrics[i]);
        cr_assert(epsilon_eq(dbl, delta,
                             json_number_value(json_object_get(doc, "after")) -
                                 json_number_value(json_object_get(doc, "before")),
                             1e-9));
        json_decref(doc);
    }
}

Test(report, json_of_one_run_has_no_difference)
{
    const pfc_explain_what what = { CASE_GEMM, CASE_CHIP, NULL };
    json_t *doc;

    cr_assert(eq(int, pfc_explain_run(&rules, after, &what, e, &err), PFC_OK), "%s", err.msg);
    doc = pfc_explanation_json(e);
    cr_assert(eq(int, json_is_null(json_object_get(doc, "before")), 1));
    cr_assert(eq(int, json_is_null(json_object_get(doc, "delta")), 1));
    cr_assert(eq(int, json_is_null(json_object_get(doc, "total")), 1));
    cr_assert(json_object_get(doc, "judged") == NULL);
    cr_assert(eq(sz, json_array_size(json_object_get(doc, "evidence")), 1));
    json_decref(doc);
    has(written(pfc_report_text, "T", NULL), "900 cycles");
}

Test(report, equal_runs_are_said_to_be_identical)
{
    pfc_run_free(after);
    after = case_run(ID_B, 600);
    explain("cycles");
    has(written(pfc_report_text, "T", NULL), "identical: there is nothing to explain");
}
