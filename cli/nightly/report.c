/*
 * The report of a nightly round: short, verdict first.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nightly/nightly.h"
#include "cli/output/output.h"
#include "core/forge/forge.h"

enum { MARKDOWN_BYTES = 4 << 20 };

bool pfc_night_is_regression(const json_t *alert)
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
        count += pfc_night_is_regression(json_array_get(n->alerts, i));
    return count;
}

static size_t measured(const pfc_night *n)
{
    size_t count = 0;

    for (size_t i = 0; i < n->len; i++)
        count += n->commits[i].measured;
    return count;
}

/* A commit that was left out on purpose is no failure; it is listed. */
static bool has_result(const pfc_night_commit *c)
{
    return c->measured || c->broken || c->left_out || c->same_as.hex[0];
}

static size_t with_verdict(const pfc_night *n, const char *verdict)
{
    size_t count = 0;

    for (size_t i = 0; i < n->len; i++)
        count += pfc_streq(n->commits[i].verdict, verdict);
    return count;
}

int pfc_night_exit(const pfc_night *n)
{
    if (regressions(n) || with_verdict(n, "slower"))
        return PFC_EXIT_REGRESSION;
    if ((n->len && n->commits[n->len - 1].broken) || json_array_size(n->broken))
        return PFC_EXIT_BROKEN;
    for (size_t i = 0; i < n->len; i++)
        if (!has_result(&n->commits[i]))
            return PFC_EXIT_INFRA;
    if (!n->judged || n->ended || n->push_failed)
        return PFC_EXIT_INFRA;
    /* As of compare and check: no regression is a result, and this is none yet. */
    return with_verdict(n, "undecided") ? PFC_EXIT_INCONCLUSIVE : PFC_EXIT_OK;
}

static const char *status_of(const pfc_night_commit *c)
{
    return c->measured         ? "measured"
           : c->broken         ? "broken"
           : c->same_as.hex[0] ? "identical"
           : c->left_out       ? "not_measured"
                               : "failed";
}

void pfc_night_put_word(const pfc_night_commit *c, pfc_buf *out)
{
    const char *verdict = c->verdict ? c->verdict : status_of(c);
    char number[32];

    if (c->same_as.hex[0]) {
        pfc_buf_printf(out, "identical (object code of %.12s)", c->same_as.hex);
    } else if (strcmp(verdict, "same") == 0 && isfinite(c->within)) {
        pfc_buf_printf(out, "same (within %.2g %%)", c->within * 100);
    } else if (strcmp(verdict, "undecided") == 0 && isfinite(c->needs_s) && c->needs_s > 0) {
        (void)snprintf(number, sizeof(number), "%.0f", ceil(c->needs_s / 60));
        pfc_buf_printf(out, "undecided (needs %s min)", number);
    } else if (strcmp(verdict, "not_measured") == 0) {
        pfc_buf_puts(out, "not measured");
    } else {
        pfc_buf_puts(out, verdict);
    }
}

/* "+3.1 % (+2.5 % to +3.8 %)" */
static void put_worst(const pfc_night_commit *c, pfc_buf *out)
{
    char change[32], low[32], high[32];

    if (!c->worst.benchmark)
        return;
    pfc_show_percent(c->worst.rel_change, change);
    pfc_buf_puts(out, change);
    if (!isfinite(c->worst.rel_low) || !isfinite(c->worst.rel_high))
        return;
    pfc_show_percent(c->worst.rel_low, low);
    pfc_show_percent(c->worst.rel_high, high);
    pfc_buf_printf(out, " (%s to %s)", low, high);
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *worst_json(const pfc_night_worst *w)
{
    if (!w->benchmark)
        return json_null();
    return json_pack("{s:s,s:s?,s:s?,s:o,s:o,s:o}", "benchmark", w->benchmark, "metric", w->metric,
                     "backend", w->backend, "rel_change", number(w->rel_change), "rel_low",
                     number(w->rel_low), "rel_high", number(w->rel_high));
}

static json_t *commit_json(const pfc_night_commit *c)
{
    return json_pack("{s:s,s:s?,s:s,s:I,s:s?,s:s?,s:o,s:o,s:s?,s:o}", "id", c->id.hex, "subject",
                     c->subject, "status", status_of(c), "run_id", (json_int_t)c->run_id, "reason",
                     c->reason, "verdict", c->verdict, "within", number(c->within), "needs_s",
                     number(c->needs_s), "same_as", c->same_as.hex[0] ? c->same_as.hex : NULL,
                     "worst", worst_json(&c->worst));
}

/* The service's document of the session, which has all that ours has, or ours. */
static json_t *session_json(const pfc_night *n)
{
    json_t *doc = n->judged_session ? n->judged_session : n->posted;

    if (!doc)
        return json_null();
    doc = json_copy(doc);
    json_object_set_new(doc, "judged_by", json_string(n->judged_session ? "service" : "perfci"));
    return doc;
}

static json_t *night_json(const pfc_night *n)
{
    json_t *commits = json_array(), *earlier = json_array();

    for (size_t i = 0; i < n->len; i++)
        json_array_append_new(commits, commit_json(&n->commits[i]));
    for (size_t i = 0; i < n->earlier_len; i++)
        json_array_append_new(earlier, json_string(n->earlier[i].hex));
    return json_pack("{s:s,s:s?,s:o,s:I,s:o,s:O,s:I,s:b,s:O,s:O?,s:o}", "project", n->project,
                     "branch", n->branch, "commits", commits, "not_measured",
                     (json_int_t)n->skipped, "undecided_earlier", earlier, "alerts", n->alerts,
                     "regressions", (json_int_t)regressions(n), "judged", n->judged, "broken",
                     n->broken, "standing", n->standing, "session", session_json(n));
}

void pfc_night_put_verdict(const pfc_night *n, pfc_buf *out)
{
    const size_t worse = regressions(n), slower = with_verdict(n, "slower");
    const size_t broken = json_array_size(n->broken);
    const size_t open = with_verdict(n, "undecided");
    size_t better = 0, same = 0;

    for (size_t i = 0; i < json_array_size(n->alerts); i++)
        better += is_improvement(json_array_get(n->alerts, i));

    if (n->len == 0) {
        pfc_buf_puts(out, "no new commits");
        return;
    }
    pfc_buf_printf(out, "%zu of %zu new commits measured", measured(n), n->len);
    if (n->skipped)
        pfc_buf_printf(out, " (%zu left out)", n->skipped);
    if (worse)
        pfc_buf_printf(out, ", %zu regression%s", worse, worse == 1 ? "" : "s");
    else if (slower)
        pfc_buf_printf(out, ", %zu slower without an alert", slower);
    else
        pfc_buf_puts(out, open ? ", no regression shown" : ", no regression");
    if (broken)
        pfc_buf_printf(out, ", %zu broken result%s", broken, broken == 1 ? "" : "s");
    for (size_t i = 0; i < n->len; i++)
        same += n->commits[i].same_as.hex[0] != '\0';
    if (same)
        pfc_buf_printf(out, ", %zu of identical object code", same);
    if (open)
        pfc_buf_printf(out, ", %zu undecided", open);
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

/* A row a commit. */
static void put_rows(const pfc_night *n, pfc_buf *out)
{
    pfc_buf cell;

    if (n->len)
        pfc_buf_puts(out, "\n| commit | verdict | change | benchmark | subject |\n"
                          "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < n->len; i++) {
        const pfc_night_commit *c = &n->commits[i];

        pfc_buf_init(&cell, 4096);
        pfc_buf_printf(out, "| %.12s | ", c->id.hex);
        pfc_night_put_word(c, &cell);
        pfc_markdown_text(out, pfc_buf_text(&cell));
        if (c->reason && !c->same_as.hex[0]) {
            pfc_buf_puts(out, ": ");
            pfc_markdown_text(out, c->reason);
        }
        pfc_buf_clear(&cell);
        pfc_buf_init(&cell, 4096);
        put_worst(c, &cell);
        pfc_buf_printf(out, " | %s | ", pfc_buf_text(&cell));
        if (c->worst.benchmark)
            pfc_markdown_code(out, c->worst.benchmark);
        pfc_buf_puts(out, " | ");
        pfc_markdown_text(out, c->subject ? c->subject : "");
        pfc_buf_puts(out, " |\n");
        pfc_buf_clear(&cell);
    }
}

void pfc_night_put_earlier(const pfc_night *n, pfc_buf *out)
{
    const size_t suspected = n->earlier_suspected, wide = n->earlier_len - suspected;

    if (wide)
        pfc_buf_printf(out,
                       "%zu earlier commit%s still undecided (interval wider than the margin, no "
                       "step suspected): %s in a round with fewer new commits.\n",
                       wide, wide == 1 ? " is" : "s are", wide == 1 ? "it goes on" : "they go on");
    if (suspected)
        pfc_buf_printf(out,
                       "%zu earlier commit%s with a suspected step %s still undecided: the round "
                       "takes no more commits (--max-commits).\n",
                       suspected, suspected == 1 ? "" : "s", suspected == 1 ? "is" : "are");
}

static const char local_note[] =
    "The service does not judge sessions: the verdicts are perfci's own, and no alert follows from "
    "them.";

static void put_notes(const pfc_night *n, pfc_buf *out)
{
    if (n->earlier_len) {
        pfc_buf_putc(out, '\n');
        pfc_night_put_earlier(n, out);
        pfc_buf_putc(out, '\n');
    }
    for (size_t i = 0; i < n->earlier_len; i++)
        pfc_buf_printf(out, "%s%.12s%s", i ? " " : "Undecided: ", n->earlier[i].hex,
                       i + 1 < n->earlier_len ? "," : "\n");
    if (n->note) {
        pfc_buf_puts(out, "\n");
        pfc_markdown_text(out, n->note);
        pfc_buf_putc(out, '\n');
    }
    if (n->local)
        pfc_buf_printf(out, "\n%s\n", local_note);
}

/* Folded; the service's answers, which the alerts carry. */
static void put_explanations(const pfc_night *n, pfc_buf *out)
{
    for (size_t i = 0; i < json_array_size(n->alerts); i++) {
        const json_t *explanation = json_object_get(json_array_get(n->alerts, i), "explanation");

        if (!explanation)
            continue;
        pfc_buf_putc(out, '\n'); /* Markdown ends the list of alerts at a blank line */
        pfc_comment_explanation(explanation, out);
    }
}

static void put_alerts(const pfc_night *n, pfc_buf *out)
{
    for (size_t i = 0; i < json_array_size(n->alerts); i++) {
        const json_t *alert = json_array_get(n->alerts, i);
        char change[32];

        if (pfc_streq(text_of(alert, "kind"), "broken"))
            continue; /* below, with its reason */
        change_of(alert, change);
        pfc_buf_printf(out, "- **%s** ", change);
        pfc_markdown_code(out, text_of(alert, "benchmark"));
        pfc_buf_putc(out, ' ');
        pfc_markdown_code(out, text_of(alert, "metric"));
        pfc_buf_putc(out, ' ');
        pfc_markdown_text(out, text_of(alert, "backend"));
        pfc_buf_puts(out, ", ");
        pfc_markdown_text(out, text_of(alert, "title"));
        pfc_buf_putc(out, '\n');
    }
}

/* Benchmarks without a result. */
static void put_absent(const char *word, const json_t *list, pfc_buf *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *b = json_array_get(list, i);

        pfc_buf_printf(out, "- **%s** ", word);
        pfc_markdown_code(out, text_of(b, "benchmark"));
        pfc_buf_putc(out, ' ');
        pfc_markdown_text(out, text_of(b, "backend"));
        pfc_buf_printf(out, " at %.12s: ", text_of(b, "commit"));
        pfc_markdown_text(out, text_of(b, "reason"));
        pfc_buf_putc(out, '\n');
    }
}

void pfc_night_markdown(const pfc_night *n, pfc_buf *out)
{
    pfc_buf_puts(out, "### ");
    pfc_markdown_text(out, n->project);
    pfc_buf_puts(out, ": ");
    pfc_night_put_verdict(n, out);
    pfc_buf_puts(out, "\n\n");
    if (n->standing) {
        pfc_markdown_text(out, text_of(n->standing, "sentence"));
        pfc_buf_puts(out, "\n\n");
    }
    put_alerts(n, out);
    put_explanations(n, out);
    put_absent("broken", n->broken, out);
    put_absent("not measured", n->skipped_benchmarks, out);
    put_rows(n, out);
    put_notes(n, out);
}

static void print_commits(const pfc_night *n)
{
    static const pfc_table_col cols[] = { { "COMMIT", false },    { "RUN", true },
                                          { "VERDICT", false },   { "CHANGE", false },
                                          { "BENCHMARK", false }, { "SUBJECT", false },
                                          { "REASON", false } };
    pfc_table *table = pfc_table_new(n->cli, cols, PFC_ARRAY_LEN(cols));

    pfc_table_wrap(table, PFC_ARRAY_LEN(cols) - 1);
    for (size_t i = 0; i < n->len; i++) {
        const pfc_night_commit *c = &n->commits[i];
        const bool bad = !has_result(c) || c->broken || pfc_streq(c->verdict, "slower");
        pfc_buf word, worst;

        pfc_buf_init(&word, 4096);
        pfc_buf_init(&worst, 4096);
        pfc_night_put_word(c, &word);
        put_worst(c, &worst);
        pfc_table_row(table);
        pfc_table_setf(table, 0, "%.12s", c->id.hex);
        if (c->run_id)
            pfc_table_setf(table, 1, "%lld", (long long)c->run_id);
        pfc_table_set(table, 2, pfc_buf_text(&word));
        pfc_table_color(table, 2,
                        bad                                                 ? "red"
                        : pfc_streq(c->verdict, "undecided") || c->left_out ? "yellow"
                                                                            : "green");
        pfc_table_set(table, 3, pfc_buf_text(&worst));
        pfc_table_set(table, 4, c->worst.benchmark);
        pfc_table_set(table, 5, c->subject);
        pfc_table_set(table, 6, c->same_as.hex[0] ? NULL : c->reason);
        pfc_buf_clear(&word);
        pfc_buf_clear(&worst);
    }
    pfc_table_print(table);
}

static void print_alerts(const pfc_night *n)
{
    static const pfc_table_col cols[] = { { "ALERT", true },   { "BENCHMARK", false },
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
        pfc_table_color(table, 4, pfc_night_is_regression(alert) ? "red" : "green");
        pfc_table_set(table, 5, text_of(alert, "title"));
    }
    pfc_table_print(table);
}

/* The first cause of each explained alert. */
static void print_causes(const pfc_night *n)
{
    for (size_t i = 0; i < json_array_size(n->alerts); i++) {
        const json_t *alert = json_array_get(n->alerts, i);
        const json_t *causes = json_object_get(json_object_get(alert, "explanation"), "causes");

        if (json_array_size(causes))
            pfc_out("alert %lld: %s\n", (long long)json_integer_value(json_object_get(alert, "id")),
                    text_of(json_array_get(causes, 0), "text"));
    }
}

static void print_broken(const pfc_night *n)
{
    static const pfc_table_col cols[] = { { "BROKEN", false },
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
    pfc_buf verdict, earlier;

    if (n->cli->json) {
        pfc_cli_print_json(night_json(n));
        return;
    }
    if (markdown) {
        pfc_buf_init(&verdict, MARKDOWN_BYTES);
        pfc_night_markdown(n, &verdict);
        pfc_out("%s", pfc_buf_text(&verdict));
        pfc_buf_clear(&verdict);
        return;
    }
    pfc_buf_init(&verdict, 4096);
    pfc_night_put_verdict(n, &verdict);
    pfc_out("%s: %s\n", n->project, pfc_buf_text(&verdict));
    pfc_buf_clear(&verdict);
    if (n->standing)
        pfc_out("%s\n", text_of(n->standing, "sentence"));
    if (json_array_size(n->alerts))
        print_alerts(n);
    print_causes(n);
    if (json_array_size(n->broken))
        print_broken(n);
    if (n->len)
        print_commits(n);
    pfc_buf_init(&earlier, 4096);
    pfc_night_put_earlier(n, &earlier);
    pfc_out("%s", pfc_buf_text(&earlier));
    pfc_buf_clear(&earlier);
    if (n->note)
        pfc_out("%s\n", n->note);
    if (n->local)
        pfc_out("%s\n", local_note);
}
