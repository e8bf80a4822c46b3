/*
 * The report as text and as Markdown.
 */
#include "cli/bisect/output/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/output.h"
#include "core/forge/forge.h"

#define REPORT_ROWS 3 /* commits in the table of a report of at most 15 lines */

/* First line of the commit's message, "" without a repository; caller frees. */
static char *subject_of(const bisect_session *b, size_t commit)
{
    pfc_commit c = { 0 };
    pfc_commit_id id;
    char *subject = NULL;

    if (b->builds.repo && !b->axis.points &&
        !pfc_repo_resolve(b->builds.repo, bisect_id(&b->axis, commit), &id, NULL) &&
        !pfc_repo_commit(b->builds.repo, &id, &c, NULL)) {
        subject = pfc_strdup(c.subject);
        pfc_commit_clear(&c);
    }
    return subject ? subject : pfc_strdup("");
}

/* Adds at most *room rows and reduces *room by them. Returns the number of rows left out. */
static size_t culprit_rows(pfc_table *table, const bisect_session *b, const pfc_culprit *c,
                           size_t *room)
{
    size_t left_out = 0;
    char change[32];
    char low[32];
    char high[32];

    pfc_show_percent(c->rel_change, change);
    pfc_show_percent(c->rel_low, low);
    pfc_show_percent(c->rel_high, high);
    for (size_t k = c->first; k <= c->last; k++) {
        char *subject;

        if (*room == 0) {
            left_out += c->last - k + 1;
            break;
        }
        --*room;
        subject = subject_of(b, k);
        pfc_table_row(table);
        pfc_table_setf(table, 0, "%.12s", bisect_id(&b->axis, k));
        pfc_table_color(table, 0, "red");
        /* The figures are those of the set; its first row has them. */
        if (k == c->first) {
            pfc_table_setf(table, 1, "%.4f", c->probability);
            pfc_table_set(table, 2, change);
            pfc_table_setf(table, 3, "%s .. %s", low, high);
        } else {
            pfc_table_set(table, 1, "or");
        }
        pfc_table_set(table, 4, subject);
        free(subject);
    }
    return left_out;
}

static void markdown_culprit(const bisect_session *b, const pfc_bisect_report *report, size_t i)
{
    const pfc_culprit *c = &report->culprits[i];
    char change[32];
    pfc_buf line;

    if (!pfc_bisect_verdict_names(report->verdict) || !bisect_is_confirmed(b, i))
        return;
    pfc_show_percent(c->rel_change, change);
    pfc_buf_init(&line, 64u * 1024);
    for (size_t k = c->first; k <= c->last && !line.overflow; k++) {
        char *subject = subject_of(b, k);

        pfc_buf_puts(&line, k == c->first ? "- " : "- or ");
        pfc_markdown_code(&line, bisect_id(&b->axis, k));
        pfc_buf_putc(&line, ' ');
        pfc_markdown_text(&line, subject);
        if (k == c->first)
            pfc_buf_printf(&line, ": **%s**, probability %.4f", change, c->probability);
        pfc_buf_putc(&line, '\n');
        free(subject);
    }
    pfc_out("%s", pfc_buf_text(&line));
    pfc_buf_clear(&line);
}

static void print_table(const bisect_session *b, const pfc_bisect_report *report)
{
    static const pfc_table_col cols[] = { { "CULPRIT", false },
                                          { "PROBABILITY", true },
                                          { "CHANGE", true },
                                          { "INTERVAL", true },
                                          { "SUBJECT", false } };
    pfc_table *table = pfc_table_new(b->cli, cols, PFC_ARRAY_LEN(cols));
    size_t room = b->opts->verbose ? SIZE_MAX : REPORT_ROWS, left_out = 0;

    for (size_t i = 0; i < report->culprits_len; i++)
        if (bisect_is_confirmed(b, i))
            left_out += culprit_rows(table, b, &report->culprits[i], &room);
    pfc_table_print(table);
    if (left_out)
        pfc_out("and %zu more commit%s: --verbose or --json prints all\n", left_out,
                left_out == 1 ? "" : "s");
}

static void none_line(const char *good, const char *bad, const bisect_stop *stop, pfc_buf *out)
{
    pfc_buf_printf(out, "no regression between %.12s and %.12s: not reproduced; ", good, bad);
    bisect_say_difference(stop, out);
}

static void open_line(const bisect_stop *stop, pfc_buf *out)
{
    pfc_buf_puts(out, "not decided: no regression is shown, and none is ruled out; ");
    bisect_say_difference(stop, out);
}

/* The verdict in one line. */
static void headline(const bisect_session *b, const pfc_bisect_report *report,
                     const bisect_stop *stop, pfc_buf *out)
{
    const char *good = bisect_id(&b->axis, 0);
    const char *bad = bisect_id(&b->axis, bisect_bad(&b->axis));

    if (pfc_bisect_verdict_names(report->verdict) && report->culprits_len > 0)
        pfc_buf_printf(out, "%s between %.12s and %.12s%s",
                       report->verdict == PFC_BISECT_FOUND ? "found" : "narrowed down", good, bad,
                       bisect_confirms(b->opts) ? ", confirmed by new pairs" : "");
    else if (report->verdict == PFC_BISECT_NO_REGRESSION)
        none_line(good, bad, stop, out);
    else if (stop->open_none && !stop->budget)
        open_line(stop, out);
    else if (stop->budget)
        pfc_buf_puts(out, "inconclusive: stopped by the budget");
    else if (report->culprits_len && b->confirmations.len)
        pfc_buf_puts(out, "inconclusive: the new pairs do not confirm the named commit");
    else
        pfc_buf_puts(out, "inconclusive: more runs are needed (--resume continues, --max-runs "
                          "allows more)");
}

static void print_stop(const bisect_session *b, const bisect_stop *stop)
{
    pfc_buf text;

    pfc_buf_init(&text, 4096);
    bisect_say_stop(b, stop, &text);
    pfc_out("%s\n%shint: --resume with a larger --max-runs continues from here\n%s",
            pfc_buf_text(&text), b->opts->markdown ? "\n" : "", b->opts->markdown ? "\n" : "");
    pfc_buf_clear(&text);
}

static void print_report(const bisect_session *b, const pfc_bisect_report *report,
                         const bisect_stop *stop)
{
    pfc_buf head;

    pfc_buf_init(&head, 4096);
    headline(b, report, stop, &head);
    if (b->opts->markdown) {
        pfc_out("### perfci bisect: %s\n\n", pfc_buf_text(&head));
    } else {
        pfc_out("%s\n", pfc_buf_text(&head));
        if (pfc_bisect_verdict_names(report->verdict) && report->culprits_len > 0)
            print_table(b, report);
    }
    pfc_buf_clear(&head);
    if (stop->budget)
        print_stop(b, stop);
    else if (stop->open_none && isfinite(stop->more_runs))
        pfc_out("hint: --resume --max-runs %.0f continues from here\n%s",
                (double)b->state.len + ceil(stop->more_runs), b->opts->markdown ? "\n" : "");
    for (size_t i = 0; b->opts->markdown && i < report->culprits_len; i++)
        markdown_culprit(b, report, i);
    if (b->opts->markdown && pfc_bisect_verdict_names(report->verdict))
        putchar('\n');
    bisect_evidence_print(b, report, stop, b->opts->markdown);
}

static int status_of(const pfc_bisect_report *report)
{
    if (pfc_bisect_verdict_names(report->verdict))
        return PFC_EXIT_REGRESSION;
    return report->verdict == PFC_BISECT_NO_REGRESSION ? PFC_EXIT_OK : PFC_EXIT_INCONCLUSIVE;
}

int bisect_report(bisect_session *b)
{
    pfc_bisect_report report;
    bisect_stop stop;
    pfc_err err = { 0 };
    int status;

    bisect_log_flush(&b->log);
    bisect_view_erase(b->cli);
    if (b->interrupted)
        pfc_cli_warn(b->cli, "interrupted; every measurement is kept; continue with the same "
                             "command and --resume");
    bisect_answer(b, &report);
    bisect_stop_get(b, &report, &stop);
    if (b->cli->json)
        pfc_cli_print_json(bisect_document_json(b, &report, &stop));
    else
        print_report(b, &report, &stop);
    status = status_of(&report);
    /* A failed post does not change the result or the exit status. */
    if (b->opts->post && !b->interrupted && bisect_report_post(b, &report, &stop, &err))
        pfc_cli_warn(b->cli, "the report was not posted: %s", err.msg);
    pfc_bisect_report_clear(&report);
    return status;
}
