#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/markup.h"
#include "core/findings/findings.h"

#include "tests/check/check.h"

#define HOSTILE "a<b>&\"'](x){0}\x01\xc3\x28\xe2\x80\xae]]>"

static pfc_findings_item *add(pfc_findings *f, pfc_finding_kind kind, const char *commit,
                              const char *benchmark)
{
    pfc_findings_item *item = pfc_findings_add(f, kind);

    item->commit = pfc_strdup(commit);
    item->benchmark = pfc_strdup(benchmark);
    item->metric = pfc_strdup("latency");
    item->backend = pfc_strdup("cpu");
    return item;
}

static void begin(pfc_findings *f)
{
    f->title = pfc_strdup("perfci nightly: p");
    f->category = pfc_strdup("perfci/nightly/p");
    f->verdict = pfc_strdup("verdict");
}

static size_t times(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, part)); p += strlen(part))
        n++;
    return n;
}

static char *junit_of(pfc_findings *f)
{
    pfc_err err = { 0 };
    pfc_buf out;

    pfc_buf_init(&out, 1 << 20);
    cr_assert(eq(int, pfc_findings_junit(f, &out, &err), PFC_OK), "%s", err.msg);
    return pfc_buf_take(&out);
}

Test(findings, text_of_others_is_escaped_for_html_and_xml)
{
    pfc_buf out;

    pfc_buf_init(&out, 4096);
    pfc_markup_text(&out, HOSTILE "\n\xef\xbf\xbe\xef\xbf\xbd\xf0\x9f\x98\x80\xf0\x9f");
    cr_assert(eq(str, out.data,
                 "a&lt;b&gt;&amp;&quot;&#39;](x){0}?\?(?]]&gt; ?\xef\xbf\xbd\xf0\x9f\x98\x80?\?"));
    pfc_buf_clear(&out);
}

Test(findings, each_kind_has_its_element_in_junit)
{
    static const struct {
        pfc_finding_kind kind;
        const char *element;
    } cases[] = {
        { PFC_FINDING_REGRESSION, "<failure type=\"regression\"" },
        { PFC_FINDING_BROKEN, "<error type=\"broken\"" },
        { PFC_FINDING_NOT_MEASURED, "<skipped type=\"not measured\"" },
        { PFC_FINDING_UNDECIDED, "<skipped type=\"undecided\"" },
        { PFC_FINDING_IMPROVEMENT, "<system-out>improvement</system-out>" },
        { PFC_FINDING_SAME, "<system-out>same</system-out>" },
        { PFC_FINDING_IDENTICAL, "<system-out>identical</system-out>" },
        { PFC_FINDING_MEASURED, "<system-out>measured</system-out>" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_findings f = { 0 };
        char *text;

        begin(&f);
        add(&f, cases[i].kind, "aaaa", "b");
        text = junit_of(&f);
        cr_assert(strstr(text, cases[i].element) != NULL, "%s", text);
        cr_assert(eq(sz,
                     times(text, "<failure") + times(text, "<error") + times(text, "<skipped") +
                         times(text, "<system-out"),
                     1));
        free(text);
        pfc_findings_clear(&f);
    }
}

Test(findings, commits_are_suites_also_when_their_findings_stand_apart)
{
    pfc_findings f = { 0 };
    char *text;

    begin(&f);
    add(&f, PFC_FINDING_SAME, "aaaa", "one");
    add(&f, PFC_FINDING_REGRESSION, "bbbb", "one");
    add(&f, PFC_FINDING_BROKEN, "aaaa", "two");
    text = junit_of(&f);
    cr_assert(eq(sz, times(text, "<testsuite "), 2));
    cr_assert(strstr(text, "name=\"aaaa\" tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"0\"") !=
              NULL);
    cr_assert(strstr(text, "name=\"bbbb\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\"") !=
              NULL);
    cr_assert(strstr(text, "tests=\"3\" failures=\"1\" errors=\"1\">") != NULL);
    free(text);
    pfc_findings_clear(&f);
}

Test(findings, sarif_has_what_needs_attention_at_its_place)
{
    pfc_findings f = { 0 };
    pfc_findings_item *item;
    json_t *doc, *results, *first;
    const char *uri;

    begin(&f);
    add(&f, PFC_FINDING_SAME, "aaaa", "fine");
    item = add(&f, PFC_FINDING_REGRESSION, "bbbb", "gemm");
    item->rel_change = 0.08;
    item->rel_low = 0.07;
    item->rel_high = 0.09;
    item->message = pfc_strdup("slower");
    item->path = pfc_strdup("src/a b%.c");
    item->line = 7;
    for (int kind = PFC_FINDING_BROKEN; kind < PFC_FINDING_KINDS; kind++)
        add(&f, (pfc_finding_kind)kind, "bbbb", "other");
    doc = pfc_findings_sarif(&f);
    results = json_object_get(json_array_get(json_object_get(doc, "runs"), 0), "results");
    cr_assert(eq(sz, json_array_size(results), 4));
    first = json_array_get(results, 0);
    cr_assert(eq(str, (char *)json_string_value(json_object_get(first, "ruleId")),
                 "performance-regression"));
    cr_assert(eq(str, (char *)json_string_value(json_object_get(first, "level")), "error"));
    cr_assert(eq(
        str, (char *)json_string_value(json_object_get(json_object_get(first, "message"), "text")),
        "gemm latency on cpu at bbbb: +8.0 % (+7.0 % to +9.0 %): slower"));
    first =
        json_object_get(json_array_get(json_object_get(first, "locations"), 0), "physicalLocation");
    uri = json_string_value(json_object_get(json_object_get(first, "artifactLocation"), "uri"));
    cr_assert(eq(str, (char *)uri, "src/a%20b%25.c"));
    cr_assert(
        eq(int,
           (int)json_integer_value(json_object_get(json_object_get(first, "region"), "startLine")),
           7));
    json_decref(doc);
    pfc_findings_clear(&f);
}

/* 3.11.6 and 3.11.5 of the standard: no link and no place of an argument by a name. */
Test(findings, a_name_is_neither_link_nor_argument_in_sarif)
{
    pfc_findings f = { 0 };
    json_t *doc;
    char *text;

    begin(&f);
    add(&f, PFC_FINDING_BROKEN, "aaaa", "[x](https://evil){0}\x01\xff");
    doc = pfc_findings_sarif(&f);
    text = json_dumps(doc, JSON_COMPACT);
    cr_assert(text != NULL);
    cr_assert(strstr(text, "[x] (https://evil){ 0}?\?") != NULL, "%s", text);
    free(text);
    json_decref(doc);
    pfc_findings_clear(&f);
}

Test(findings, the_page_names_every_finding_and_escapes_it)
{
    pfc_findings f = { 0 };
    pfc_err err = { 0 };
    pfc_buf out;

    begin(&f);
    for (int kind = 0; kind < PFC_FINDING_KINDS; kind++) {
        pfc_findings_item *item = add(&f, (pfc_finding_kind)kind, "aaaa", HOSTILE);

        item->subject = pfc_strdup("<script>alert(1)</script>");
    }
    pfc_buf_init(&out, 1 << 20);
    cr_assert(eq(int, pfc_findings_html(&f, &out, &err), PFC_OK));
    cr_assert(eq(sz, times(out.data, "a&lt;b&gt;&amp;"), PFC_FINDING_KINDS));
    cr_assert(eq(sz, times(out.data, "<script"), 0));
    pfc_buf_clear(&out);
    pfc_findings_clear(&f);
}

Test(findings, forms_have_a_limit)
{
    pfc_findings f = { 0 };
    pfc_err err = { 0 };
    pfc_buf out;

    begin(&f);
    add(&f, PFC_FINDING_SAME, "aaaa", "b");
    pfc_buf_init(&out, 50);
    cr_assert(eq(int, pfc_findings_junit(&f, &out, &err), PFC_ETOOBIG));
    pfc_buf_clear(&out);
    cr_assert(eq(int, pfc_findings_html(&f, &out, &err), PFC_ETOOBIG));
    pfc_buf_clear(&out);
    pfc_findings_clear(&f);
}

Test(findings, a_full_list_counts_what_it_leaves_out)
{
    pfc_findings f = { 0 };

    for (size_t i = 0; i < PFC_FINDINGS_MAX; i++)
        cr_assert(pfc_findings_add(&f, PFC_FINDING_SAME) != NULL);
    cr_assert(pfc_findings_add(&f, PFC_FINDING_SAME) == NULL);
    cr_assert(eq(sz, f.left_out, 1));
    pfc_findings_clear(&f);
}
