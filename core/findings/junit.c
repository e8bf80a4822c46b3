/*
 * Findings as JUnit XML.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/markup.h"
#include "core/findings/findings.h"

/* The findings of one commit. */
typedef struct suite {
    const pfc_findings_item *first;
    size_t len, failures, errors, skipped;
} suite;

typedef struct suites {
    suite *items;
    size_t len, cap;
    size_t *of; /* the suite of each finding */
} suites;

static bool is_skipped(pfc_finding_kind kind)
{
    return kind == PFC_FINDING_UNDECIDED || kind == PFC_FINDING_NOT_MEASURED;
}

/* The newest suites are searched first: findings of a commit stand together. */
static size_t suite_of(suites *s, const pfc_findings_item *item)
{
    for (size_t i = s->len; i-- > 0;)
        if (pfc_streq(s->items[i].first->commit, item->commit))
            return i;
    s->items = pfc_grow(s->items, s->len, &s->cap, sizeof(*s->items));
    s->items[s->len] = (suite){ .first = item };
    return s->len++;
}

static void find_suites(const pfc_findings *f, suites *s)
{
    s->of = pfc_calloc(f->len + 1, sizeof(*s->of));
    for (size_t i = 0; i < f->len; i++) {
        suite *one;

        s->of[i] = suite_of(s, &f->items[i]);
        one = &s->items[s->of[i]];
        one->len++;
        one->failures += f->items[i].kind == PFC_FINDING_REGRESSION;
        one->errors += f->items[i].kind == PFC_FINDING_BROKEN;
        one->skipped += is_skipped(f->items[i].kind);
    }
}

static void put_attribute(pfc_buf *out, const char *name, const char *text)
{
    pfc_buf_printf(out, " %s=\"", name);
    pfc_markup_text(out, text);
    pfc_buf_putc(out, '"');
}

/* The name is the same for every commit, so that a CI system finds the case's history. */
static void put_case(const pfc_findings *f, const pfc_findings_item *item, pfc_buf *out)
{
    const char *element = item->kind == PFC_FINDING_REGRESSION ? "failure"
                          : item->kind == PFC_FINDING_BROKEN   ? "error"
                          : is_skipped(item->kind)             ? "skipped"
                                                               : NULL;
    char *name = item->benchmark ? pfc_format("%s%s%s", item->benchmark, item->metric ? " " : "",
                                              item->metric ? item->metric : "")
                                 : pfc_strdup("build and measurement");
    char *class_ = pfc_format("%s%s%s", f->title, item->backend && *item->backend ? "." : "",
                              item->backend ? item->backend : "");
    char *sentence = pfc_finding_sentence(item);

    pfc_buf_puts(out, "    <testcase");
    put_attribute(out, "name", name);
    put_attribute(out, "classname", class_);
    pfc_buf_putc(out, '>');
    if (element) {
        pfc_buf_printf(out, "<%s", element);
        put_attribute(out, "type", pfc_finding_word(item->kind));
        put_attribute(out, "message", sentence);
        pfc_buf_puts(out, "/>");
    } else {
        pfc_buf_puts(out, "<system-out>");
        pfc_markup_text(out, sentence);
        pfc_buf_puts(out, "</system-out>");
    }
    pfc_buf_puts(out, "</testcase>\n");
    free(sentence);
    free(class_);
    free(name);
}

static void put_suite(const pfc_findings *f, const suites *s, size_t at, pfc_buf *out)
{
    const suite *one = &s->items[at];
    const char *commit = one->first->commit;
    const char *subject = one->first->subject;
    char *name = commit
                     ? pfc_format("%.12s%s%s", commit, subject ? " " : "", subject ? subject : "")
                     : pfc_strdup(f->title);

    pfc_buf_puts(out, "  <testsuite");
    put_attribute(out, "name", name);
    pfc_buf_printf(out,
                   " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" id=\"%zu\">\n",
                   one->len, one->failures, one->errors, one->skipped, at);
    for (size_t i = 0; i < f->len; i++)
        if (s->of[i] == at)
            put_case(f, &f->items[i], out);
    pfc_buf_puts(out, "  </testsuite>\n");
    free(name);
}

pfc_code pfc_findings_junit(const pfc_findings *f, pfc_buf *out, pfc_err *err)
{
    suites s = { 0 };

    find_suites(f, &s);
    pfc_buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    put_attribute(out, "name", f->title);
    pfc_buf_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n", f->len,
                   pfc_findings_count(f, PFC_FINDING_REGRESSION),
                   pfc_findings_count(f, PFC_FINDING_BROKEN));
    for (size_t i = 0; i < s.len; i++)
        put_suite(f, &s, i, out);
    pfc_buf_puts(out, "</testsuites>\n");
    free(s.items);
    free(s.of);
    return pfc_buf_check(out, "the JUnit report", err);
}
