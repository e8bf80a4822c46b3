/* The messages about changes that no commit caused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "server/notify/internal.h"

#include "tests/check/check.h"

static pfc_notice notice(const char *kind)
{
    return (pfc_notice){ .id = 3,
                         .project = "p",
                         .kind = kind,
                         .alert_id = 7,
                         .commit = "0123456789012345678901234567890123456789",
                         .subject = "faster tables",
                         .author = "Ada",
                         .text = "toolchain: compiler gcc 12.2.0 -> 13.1.0; 1 series, no commit's",
                         .created_at = 1,
                         .rel_change = 0.1 };
}

Test(message, a_change_of_toolchain_is_sent_without_a_commit)
{
    pfc_notice toolchain = notice("toolchain"), culprit = notice("culprit_confirmed");
    const pfc_notices blameless = { .items = &toolchain, .len = 1 };
    const pfc_notices blaming = { .items = &culprit, .len = 1 };
    char *text = notify_webhook(&blameless, 3, NULL);
    json_t *doc = json_loads(text, 0, NULL);

    cr_assert(eq(int, json_is_null(json_object_get(doc, "commit")), 1));
    cr_assert(eq(str, (char *)json_string_value(json_object_get(doc, "kind")), "toolchain"));
    cr_assert(
        eq(str, (char *)json_string_value(json_object_get(doc, "text")), (char *)toolchain.text));
    json_decref(doc);
    free(text);
    text = notify_webhook(&blaming, 3, NULL);
    doc = json_loads(text, 0, NULL);
    cr_assert(eq(int, json_is_object(json_object_get(doc, "commit")), 1));
    json_decref(doc);
    free(text);
    text = notify_slack(&blameless, 3, NULL);
    cr_assert(ne(ptr, strstr(text, "gcc 12.2.0 -&gt; 13.1.0"), NULL), "%s", text);
    cr_assert(eq(ptr, strstr(text, "faster tables"), NULL), "%s", text);
    cr_assert(eq(ptr, strstr(text, "012345678901"), NULL), "%s", text);
    free(text);
    text = notify_slack(&blaming, 3, NULL);
    cr_assert(ne(ptr, strstr(text, "`012345678901` faster tables"), NULL), "%s", text);
    free(text);
}

Test(message, names_the_owner)
{
    pfc_notice owned = notice("regression"), free_one = notice("regression");
    const pfc_notices all = { .items = &owned, .len = 1 }, none = { .items = &free_one, .len = 1 };
    char *text;
    json_t *doc;

    owned.owner = "@gemm<x a@b.c";
    text = notify_webhook(&all, 3, NULL);
    doc = json_loads(text, 0, NULL);
    cr_expect(
        eq(str, (char *)json_string_value(json_object_get(doc, "owner")), (char *)owned.owner));
    json_decref(doc);
    free(text);
    text = notify_slack(&all, 3, NULL);
    cr_expect(ne(ptr,
                 strstr(text, "owner: @\xE2\x80\x8Bgemm&lt;x a@\xE2\x80\x8B"
                              "b.c"),
                 NULL),
              "%s", text);
    free(text);
    text = notify_mail(&all, 3, NULL);
    cr_expect(ne(ptr, strstr(text, "\nOwner:     @gemm<x a@b.c\n"), NULL), "%s", text);
    free(text);
    text = notify_github(&all, NULL, NULL);
    cr_expect(ne(ptr, strstr(text, "\nOwner: `@gemm<x a@b.c`\n"), NULL), "%s", text);
    free(text);
    text = notify_github(&none, NULL, NULL);
    cr_expect(eq(ptr, strstr(text, "Owner:"), NULL), "%s", text);
    free(text);
    text = notify_webhook(&none, 3, NULL);
    doc = json_loads(text, 0, NULL);
    cr_expect(eq(int, json_is_null(json_object_get(doc, "owner")), 1));
    json_decref(doc);
    free(text);
    text = notify_mail(&none, 3, NULL);
    cr_expect(eq(ptr, strstr(text, "Owner"), NULL), "%s", text);
    free(text);
}

/* A fault of the installation: no alert, no commit, nothing to repeat. */
Test(message, a_fault_is_sent_without_an_alert)
{
    pfc_notice fault = { .id = 3,
                         .project = "p",
                         .kind = "infrastructure",
                         .fault_id = 12,
                         .text = "runner rack-7 (epyc) is silent",
                         .created_at = 1,
                         .rel_change = (double)NAN };
    const pfc_notices all = { .items = &fault, .len = 1 };
    char *text = notify_webhook(&all, 3, "https://perfci.example");
    json_t *doc = json_loads(text, 0, NULL);

    cr_expect(eq(int, json_is_null(json_object_get(doc, "alert")), 1));
    cr_expect(eq(int, json_is_null(json_object_get(doc, "commit")), 1));
    cr_expect(eq(int, json_is_null(json_object_get(doc, "repro")), 1));
    cr_expect(eq(int, (int)json_integer_value(json_object_get(doc, "event_id")), 12));
    json_decref(doc);
    free(text);
    text = notify_slack(&all, 3, "https://perfci.example");
    cr_expect(
        ne(ptr, strstr(text, "runner rack-7 (epyc) is silent\\nmore: `perfci events 12`\""), NULL),
        "%s", text);
    free(text);
    text = notify_mail(&all, 3, "https://perfci.example");
    cr_expect(ne(ptr, strstr(text, "is silent\nMore:      perfci events 12\n"), NULL), "%s", text);
    cr_expect(eq(ptr, strstr(text, "Alert:"), NULL), "%s", text);
    free(text);
}

Test(message, a_mail_names_what_is_known_and_no_more)
{
    pfc_notice culprit = notice("culprit_confirmed"), recovered = notice("recovered");
    const pfc_notices blaming = { .items = &culprit, .len = 1 };
    const pfc_notices blameless = { .items = &recovered, .len = 1 };
    char *text;

    culprit.subject = "a\nBcc: b@x.org";
    culprit.benchmark = "gemm/a";
    culprit.metric = "time_ns";
    culprit.backend = "cpu-avx2";
    text = notify_mail(&blaming, 3, "https://perf.example");
    cr_assert(eq(str, text,
                 "Project:   p\n"
                 "What:      toolchain: compiler gcc 12.2.0 -> 13.1.0; 1 series, no commit's\n"
                 "Commit:    012345678901 a Bcc: b@x.org\n"
                 "Author:    Ada\n"
                 "Benchmark: gemm/a\nMetric:    time_ns\nBackend:   cpu-avx2\n"
                 "Change:    +10.00 %\n"
                 "Alert:     https://perf.example/alerts/7\n"
                 "Repeat:    perfci repro alert:7\n"));
    free(text);
    text = notify_mail(&blameless, 3, NULL);
    cr_assert(eq(ptr, strstr(text, "Commit"), NULL));
    cr_assert(eq(ptr, strstr(text, "Benchmark"), NULL));
    cr_assert(eq(ptr, strstr(text, "Alert:"), NULL));
    free(text);
}

Test(message, a_digest_counts_its_kinds_and_keeps_the_order)
{
    enum { MANY = 205 };
    pfc_notice items[MANY];
    pfc_notices all = { .items = items, .len = 3 };
    char *text;
    json_t *doc;

    for (size_t i = 0; i < MANY; i++) {
        items[i] = notice(i == 2 ? "recovered" : "regression");
        items[i].id = (int64_t)(100 - i);
    }
    items[1].text = "a <b> & c\n@all";
    text = notify_digest_title(&all);
    cr_expect(eq(str, text, "3 notices: 2 regression, 1 recovered"));
    free(text);
    text = notify_digest_webhook(&all, "0123456789abcdef", "https://x.example");
    doc = json_loads(text, 0, NULL);
    cr_assert(ne(ptr, doc, NULL));
    cr_expect(eq(str, (char *)json_string_value(json_object_get(doc, "kind")), "digest"));
    cr_expect(
        eq(str, (char *)json_string_value(json_object_get(doc, "digest")), "0123456789abcdef"));
    cr_expect(eq(
        int, (int)json_integer_value(json_object_get(json_object_get(doc, "counts"), "regression")),
        2));
    cr_expect(eq(sz, json_array_size(json_object_get(doc, "notices")), 3));
    for (size_t i = 0; i < 3; i++)
        cr_expect(eq(int,
                     (int)json_integer_value(
                         json_object_get(json_array_get(json_object_get(doc, "notices"), i), "id")),
                     (int)(100 - i)));
    json_decref(doc);
    free(text);
    text = notify_digest_slack(&all, "https://x.example");
    cr_expect(ne(ptr,
                 strstr(text, "a &lt;b&gt; &amp; c @\xE2\x80\x8B"
                              "all "
                              "https://x.example/alerts/7"),
                 NULL),
              "%s", text);
    free(text);
    text = notify_digest_mail(&all, NULL);
    cr_expect(eq(str, text,
                 "3 notices: 2 regression, 1 recovered\n"
                 "- regression: p: toolchain: compiler gcc 12.2.0 -> 13.1.0; 1 series, no commit's "
                 "(alert 7)\n"
                 "- regression: p: a <b> & c @all (alert 7)\n"
                 "- recovered: p: toolchain: compiler gcc 12.2.0 -> 13.1.0; 1 series, no commit's "
                 "(alert 7)\n"));
    free(text);
    /* Notices that do not fit are counted. */
    all.len = MANY;
    text = notify_digest_webhook(&all, "0123456789abcdef", NULL);
    doc = json_loads(text, 0, NULL);
    cr_expect(eq(sz, json_array_size(json_object_get(doc, "notices")), 200));
    cr_expect(eq(int, (int)json_integer_value(json_object_get(doc, "more")), 5));
    json_decref(doc);
    free(text);
    text = notify_digest_slack(&all, NULL);
    cr_expect(ne(ptr, strstr(text, "and 165 more"), NULL));
    free(text);
}
