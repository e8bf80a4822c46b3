/*
 * The report of a nightly round: short, verdict first.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/nightly.h"
#include "core/forge/forge.h"

/* A benchmark that broke has lost its values: it is told with its reason, and is no regression. */
static bool is_regression(const json_t *alert)
{
    return !pfc_streq(json_string_value(json_object_get(alert, "kind")), "broken") &&
           pfc_streq(json_string_value(json_object_get(alert, "direction")), "regression");
}

static bool is_improvement(const json_t *alert)
{
    return pfc_streq(json_string_value(json_object_get(alert, "direction")), "improvement");
}

static size_t regressions(const pfc_night *n)
{
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(n->alerts); i++)
        count += is_regression(json_array_get(n->alerts, i));
    return count;
}

static size_t measured(const pfc_night *n)
{
    size_t count = 0;

    for (size_t i = 0; i < n->len; i++)
        count += n->commits[i].measured;
    return count;
}

int pfc_night_exit(const pfc_night *n)
{
    if (regressions(n))
        return PFC_EXIT_REGRESSION;
    if ((n->len && n->commits[n->len - 1].broken) || json_array_size(n->broken))
        return PFC_EXIT_BROKEN;
    for (size_t i = 0; i < n->len; i++)
        if (!n->commits[i].measured && !n->commits[i].broken)
            return PFC_EXIT_INFRA;
    return n->judged ? PFC_EXIT_OK : PFC_EXIT_INFRA;
}

static json_t *night_json(const pfc_night *n)
{
    json_t *commits = json_array();

    for (size_t i = 0; i < n->len; i++) {
        const pfc_night_commit *c = &n->commits[i];

        json_array_append_new(commits,
                              json_pack("{s:s,s:s?,s:s,s:I,s:s?}", "id", c->id.hex, "subject",
                                        c->subject, "status",
                                        c->measured ? "measured"
                                        : c->broken ? "broken"
                                                    : "failed",
                                        "run_id", (json_int_t)c->run_id, "reason", c->reason));
    }
    return json_pack("{s:s,s:s?,s:o,s:I,s:O,s:I,s:b,s:O,s:O?}", "project", n->project, "branch",
                     n->branch, "commits", commits, "not_measured", (json_int_t)n->skipped,
                     "alerts", n->alerts, "regressions", (json_int_t)regressions(n), "judged",
                     n->judged, "broken", n->broken, "standing", n->standing);
}

/* "3 new commits measured, 1 regression" */
static void put_verdict(const pfc_night *n, pfc_buf *out)
{
    const size_t worse = regressions(n);
    const size_t broken = json_array_size(n->broken);
    size_t better = 0;

    for (size_t i = 0; i < json_array_size(n->alerts); i++)
        better += is_improvement(json_array_get(n->alerts, i));

    if (n->len == 0) {
        pfc_buf_puts(out, "no new commits");
        return;
    }
    pfc_buf_printf(out, "%zu of %zu new commits measured", measured(n), n->len);
    if (n->skipped)
        pfc_buf_printf(out, " (%zu older ones left out)", n->skipped);
    if (worse)
        pfc_buf_printf(out, ", %zu regression%s", worse, worse == 1 ? "" : "s");
    else
        pfc_buf_puts(out, ", no regression");
    if (broken)
        pfc_buf_printf(out, ", %zu broken result%s", broken, broken == 1 ? "" : "s");
    if (better)
        pfc_buf_printf(out, ", %zu improvement%s", better, better == 1 ? "" : "s");
    if (!n->judged)
        pfc_buf_puts(out, "; the service has not judged all of it yet");
}

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

static void change_of(const json_t *alert, char out[32])
{
    pfc_show_percent(json_number_value(json_object_get(alert, "rel_change")), out);
}

static void print_markdown(const pfc_night *n)
{
    pfc_buf out;

    pfc_buf_init(&out, 1024 * 1024);
    pfc_buf_puts(&out, "### ");
    pfc_markdown_text(&out, n->project);
    pfc_buf_puts(&out, ": ");
    put_verdict(n, &out);
    pfc_buf_puts(&out, "\n\n");
    if (n->standing) {
        pfc_markdown_text(&out, text_of(n->standing, "sentence"));
        pfc_buf_puts(&out, "\n\n");
    }
    for (size_t i = 0; i < json_array_size(n->alerts); i++) {
        const json_t *alert = json_array_get(n->alerts, i);
        char change[32];

        if (pfc_streq(text_of(alert, "kind"), "broken"))
            continue; /* below, with its reason */
        change_of(alert, change);
        pfc_buf_printf(&out, "- **%s** ", change);
        pfc_markdown_code(&out, text_of(alert, "benchmark"));
        pfc_buf_putc(&out, ' ');
        pfc_markdown_code(&out, text_of(alert, "metric"));
        pfc_buf_putc(&out, ' ');
        pfc_markdown_text(&out, text_of(alert, "backend"));
        pfc_buf_puts(&out, ", ");
        pfc_markdown_text(&out, text_of(alert, "title"));
        pfc_buf_putc(&out, '\n');
    }
    for (size_t i = 0; i < json_array_size(n->broken); i++) {
        const json_t *b = json_array_get(n->broken, i);

        pfc_buf_puts(&out, "- **broken** ");
        pfc_markdown_code(&out, text_of(b, "benchmark"));
        pfc_buf_putc(&out, ' ');
        pfc_markdown_text(&out, text_of(b, "backend"));
        pfc_buf_printf(&out, " at %.12s: ", text_of(b, "commit"));
        pfc_markdown_text(&out, text_of(b, "reason"));
        pfc_buf_putc(&out, '\n');
    }
    for (size_t i = 0; i < n->len; i++) {
        const pfc_night_commit *c = &n->commits[i];

        if (c->measured)
            continue;
        pfc_buf_printf(&out, "- %s: %.12s ", c->broken ? "broken" : "not measured", c->id.hex);
        pfc_markdown_text(&out, c->subject ? c->subject : "");
        pfc_buf_puts(&out, ": ");
        pfc_markdown_text(&out, c->reason ? c->reason : "");
        pfc_buf_putc(&out, '\n');
    }
    pfc_out("%s", pfc_buf_text(&out));
    pfc_buf_clear(&out);
}

static void print_commits(const pfc_night *n)
{
    static const pfc_col cols[] = { { "COMMIT", false },
                                    { "RUN", true },
                                    { "STATUS", false },
                                    { "SUBJECT", false },
                                    { "REASON", false } };
    pfc_table *table = pfc_table_new(n->cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < n->len; i++) {
        const pfc_night_commit *c = &n->commits[i];

        pfc_table_row(table);
        pfc_table_setf(table, 0, "%.12s", c->id.hex);
        if (c->run_id)
            pfc_table_setf(table, 1, "%lld", (long long)c->run_id);
        pfc_table_set(table, 2, c->measured ? "measured" : c->broken ? "broken" : "failed");
        pfc_table_color(table, 2, c->measured ? "green" : "red");
        pfc_table_set(table, 3, c->subject);
        pfc_table_set(table, 4, c->reason);
    }
    pfc_table_print(table);
}

static void print_alerts(const pfc_night *n)
{
    static const pfc_col cols[] = { { "ALERT", true },   { "BENCHMARK", false },
                                    { "METRIC", false }, { "BACKEND", false },
                                    { "CHANGE", true },  { "WHAT", false } };
    pfc_table *table = pfc_table_new(n->cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(n->alerts); i++) {
        const json_t *alert = json_array_get(n->alerts, i);
        char change[32];

        change_of(alert, change);
        if (pfc_streq(text_of(alert, "kind"), "broken"))
            (void)snprintf(change, sizeof(change), "broken");
        pfc_table_row(table);
        pfc_table_setf(table, 0, "%lld",
                       (long long)json_integer_value(json_object_get(alert, "id")));
        pfc_table_set(table, 1, text_of(alert, "benchmark"));
        pfc_table_set(table, 2, text_of(alert, "metric"));
        pfc_table_set(table, 3, text_of(alert, "backend"));
        pfc_table_set(table, 4, change);
        pfc_table_color(table, 4, is_regression(alert) ? "red" : "green");
        pfc_table_set(table, 5, text_of(alert, "title"));
    }
    pfc_table_print(table);
}

static void print_broken(const pfc_night *n)
{
    static const pfc_col cols[] = { { "BROKEN", false },
                                    { "BACKEND", false },
                                    { "MACHINE", false },
                                    { "COMMIT", false },
                                    { "REASON", false } };
    pfc_table *table = pfc_table_new(n->cli, cols, PFC_ARRAY_LEN(cols));

    pfc_table_wrap(table, PFC_ARRAY_LEN(cols) - 1);
    for (size_t i = 0; i < json_array_size(n->broken); i++) {
        const json_t *b = json_array_get(n->broken, i);

        pfc_table_row(table);
        pfc_table_set(table, 0, text_of(b, "benchmark"));
        pfc_table_color(table, 0, "red");
        pfc_table_set(table, 1, text_of(b, "backend"));
        pfc_table_set(table, 2, text_of(b, "machine_class"));
        pfc_table_setf(table, 3, "%.12s", text_of(b, "commit"));
        pfc_table_set(table, 4, text_of(b, "reason"));
    }
    pfc_table_print(table);
}

void pfc_night_print(const pfc_night *n, bool markdown)
{
    pfc_buf verdict;

    if (n->cli->json) {
        pfc_cli_print_json(night_json(n));
        return;
    }
    if (markdown) {
        print_markdown(n);
        return;
    }
    pfc_buf_init(&verdict, 4096);
    put_verdict(n, &verdict);
    pfc_out("%s: %s\n", n->project, pfc_buf_text(&verdict));
    pfc_buf_clear(&verdict);
    if (n->standing)
        pfc_out("%s\n", text_of(n->standing, "sentence"));
    if (json_array_size(n->alerts))
        print_alerts(n);
    if (json_array_size(n->broken))
        print_broken(n);
    if (n->len)
        print_commits(n);
}
