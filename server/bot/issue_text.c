/*
 * The issue of an alert group: its title and its text.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/forge/forge.h"
#include "server/bot/issues.h"
#include "server/services/alerts/kinds.h"

/* An escaped character has up to 8 bytes: the text stays below PFC_COMMENT_MAX_BYTES. */
enum { TITLE_BYTES = 200, ROWS_MAX = 20, EVENTS_MAX = 10, TEXT_BYTES = 400 };

static bool is_broken(const pfc_alert *lead)
{
    return pfc_streq(lead->kind, "broken");
}

/* "-3.1 % to -12.4 %"; one value where both are alike. */
static void put_effects(pfc_buf *out, double least, double most)
{
    char a[32], b[32];

    pfc_show_percent(least, a);
    pfc_show_percent(most, b);
    pfc_buf_puts(out, a);
    if (strcmp(a, b) != 0)
        pfc_buf_printf(out, " to %s", b);
}

/* Has it a summary that says more than the name of its one series? A summary has the effects. */
static bool is_summed_up(const pfc_group *g)
{
    return g->series > 1 && g->summary[0];
}

/* The subject of the group, as text without markup. */
static void put_what(pfc_buf *out, const pfc_group *g, const pfc_alert *lead)
{
    if (is_summed_up(g))
        pfc_buf_puts(out, g->summary);
    else
        pfc_buf_printf(out, "%s %s%s%s", lead->benchmark, lead->metric,
                       lead->backend && lead->backend[0] ? " on " : "",
                       lead->backend ? lead->backend : "");
}

static char *title_of(const pfc_group_issue_subject *s)
{
    const pfc_group *g = s->group;
    pfc_buf out;
    char *title;

    pfc_buf_init(&out, 8192);
    pfc_buf_printf(&out, "%s: ", g->project);
    put_what(&out, g, s->lead);
    if (is_broken(s->lead))
        pfc_buf_puts(&out, ": broken");
    else if (!is_summed_up(g) && isfinite(g->rel_least) && isfinite(g->rel_most)) {
        pfc_buf_puts(&out, ": ");
        put_effects(&out, g->rel_least, g->rel_most);
    }
    title = pfc_buf_take(&out);
    title[pfc_utf8_cut(title, TITLE_BYTES)] = '\0';
    pfc_text_plain(title, false);
    return title;
}

/* ---- the text ---- */

/* Text from outside: its first TEXT_BYTES, escaped. */
static void put_text(pfc_buf *out, const char *text)
{
    char *copy = pfc_strdup(text);

    copy[pfc_utf8_cut(copy, TEXT_BYTES)] = '\0';
    pfc_markdown_text(out, copy);
    free(copy);
}

static void put_time(pfc_buf *out, double unix_s)
{
    char text[32];

    pfc_clock_rfc3339(unix_s, text);
    pfc_buf_printf(out, "%.10s %.5s UTC", text, text + 11);
}

static void put_state(pfc_buf *out, const char *state)
{
    for (const char *p = state; *p; p++)
        pfc_buf_putc(out, *p == '_' ? ' ' : *p);
}

static void put_first_sentence(pfc_buf *out, const pfc_group_issue_subject *s)
{
    const pfc_group *g = s->group;
    pfc_buf what;

    pfc_buf_init(&what, 8192);
    put_what(&what, g, s->lead);
    pfc_buf_puts(out, "**State: ");
    put_state(out, g->state);
    pfc_buf_printf(out, ".** %lld series %s: ", (long long)g->series,
                   is_broken(s->lead)                  ? "cannot be measured"
                   : g->back && g->series == 1         ? "was slower, and its level is back"
                   : g->back                           ? "were slower, and their levels are back"
                   : pfc_streq(s->lead->kind, "drift") ? "became slower over several commits"
                                                       : "became slower, probably by one cause");
    put_text(out, pfc_buf_text(&what));
    pfc_buf_puts(out, "\n\n");
    pfc_buf_clear(&what);
}

/* A row of the first table; the value is put behind. */
static void begin_row(pfc_buf *out, const char *name)
{
    pfc_buf_printf(out, "| %s | ", name);
}

static void end_row(pfc_buf *out)
{
    pfc_buf_puts(out, " |\n");
}

/* Commit ids stand as they are: the forge makes links of them. */
static void put_commits(pfc_buf *out, const pfc_alert *lead)
{
    const char *suspect = pfc_alert_suspect(lead);
    char *title = pfc_alert_title(lead);

    begin_row(out, "what");
    put_text(out, title);
    end_row(out);
    free(title);
    if (lead->commit_low && lead->commit_high && !pfc_streq(lead->commit_low, lead->commit_high)) {
        begin_row(out, "between");
        pfc_buf_printf(out, "%s and %s", lead->commit_low, lead->commit_high);
        end_row(out);
    }
    if (suspect) {
        begin_row(out, lead->culprit                       ? "culprit"
                       : pfc_alert_suspect_was_found(lead) ? "suspect, found by a search"
                                                           : "suspect");
        pfc_buf_puts(out, suspect);
        if (lead->suspect_subject && lead->suspect_subject[0]) {
            pfc_buf_putc(out, ' ');
            put_text(out, lead->suspect_subject);
        }
        end_row(out);
    }
}

static void put_facts(pfc_buf *out, const pfc_group_issue_subject *s)
{
    const pfc_group *g = s->group;

    pfc_buf_puts(out, "| | |\n|---|---|\n");
    if (isfinite(g->rel_least) && isfinite(g->rel_most) && !is_broken(s->lead)) {
        begin_row(out, "change");
        put_effects(out, g->rel_least, g->rel_most);
        pfc_buf_printf(out, " (the smallest and the largest of %lld alerts)", (long long)g->alerts);
        end_row(out);
    }
    put_commits(out, s->lead);
    begin_row(out, "found");
    put_time(out, g->opened_first);
    if (g->opened_last > g->opened_first) {
        pfc_buf_puts(out, " to ");
        put_time(out, g->opened_last);
    }
    end_row(out);
    if (g->suppressed > 0) {
        begin_row(out, "hidden");
        pfc_buf_printf(out, "%lld of %lld alerts, by suppression rules", (long long)g->suppressed,
                       (long long)g->alerts);
        end_row(out);
    }
    if (s->link) {
        begin_row(out, "page");
        pfc_buf_printf(out, "[group %lld](<%s/groups/%lld>)", (long long)g->id, s->link,
                       (long long)g->id);
        end_row(out);
    }
}

/* The largest effects first; those without one last. */
static int by_effect(const void *a, const void *b)
{
    const pfc_alert *const *x = a, *const *y = b;
    const double fx = fabs((*x)->rel_change), fy = fabs((*y)->rel_change);
    const double ex = isfinite(fx) ? fx : -1, ey = isfinite(fy) ? fy : -1;

    if (ex != ey)
        return ex < ey ? 1 : -1;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static void put_alert(pfc_buf *out, const pfc_alert *a)
{
    char low[32], high[32];

    pfc_buf_puts(out, "| ");
    pfc_markdown_code(out, a->benchmark);
    pfc_buf_puts(out, " | ");
    pfc_markdown_code(out, a->metric);
    pfc_buf_puts(out, " | ");
    pfc_markdown_code(out, a->backend ? a->backend : "");
    pfc_buf_puts(out, " | ");
    pfc_markdown_code(out, a->machine_class ? a->machine_class : "");
    pfc_buf_puts(out, " | ");
    if (isfinite(a->rel_change))
        put_effects(out, a->rel_change, a->rel_change);
    pfc_buf_puts(out, " | ");
    if (isfinite(a->rel_low) && isfinite(a->rel_high)) {
        pfc_show_percent(a->rel_low, low);
        pfc_show_percent(a->rel_high, high);
        pfc_buf_printf(out, "%s to %s", low, high);
    }
    pfc_buf_puts(out, " | ");
    put_state(out, a->state);
    pfc_buf_puts(out, " |\n");
}

static void put_alerts(pfc_buf *out, const pfc_group_issue_subject *s)
{
    const pfc_alerts *all = s->alerts;
    const pfc_alert **sorted = pfc_calloc(all->len + 1, sizeof(*sorted));
    const size_t shown = PFC_MIN(all->len, (size_t)ROWS_MAX);

    for (size_t i = 0; i < all->len; i++)
        sorted[i] = &all->items[i];
    qsort(sorted, all->len, sizeof(*sorted), by_effect);
    pfc_buf_puts(out,
                 "\n| benchmark | metric | backend | machines | change | 95 % interval | state "
                 "|\n|---|---|---|---|---:|---:|---|\n");
    for (size_t i = 0; i < shown; i++)
        put_alert(out, sorted[i]);
    if (s->group->alerts > (int64_t)shown)
        pfc_buf_printf(out, "\n%lld more alerts are in the group.\n",
                       (long long)s->group->alerts - (long long)shown);
    free(sorted);
}

/* Without names of persons: more people may read the issue than the dashboard. */
static void put_history(pfc_buf *out, const pfc_group_events *events)
{
    const size_t shown = PFC_MIN(events->len, (size_t)EVENTS_MAX);

    if (shown == 0)
        return;
    pfc_buf_puts(out, "\n<details><summary>History</summary>\n\n");
    for (size_t i = 0; i < shown; i++) {
        const pfc_group_event *e = &events->items[i];
        pfc_buf_puts(out, "- ");
        put_time(out, e->at);
        pfc_buf_puts(out, ": ");
        put_state(out, e->state_to ? e->state_to : "");
        pfc_buf_printf(out, ", %lld alert%s", (long long)e->alerts, e->alerts == 1 ? "" : "s");
        if (e->reason && e->reason[0]) {
            pfc_buf_puts(out, ": ");
            put_text(out, e->reason);
        }
        pfc_buf_putc(out, '\n');
    }
    pfc_buf_puts(out, "\n</details>\n");
}

static char *body_of(const pfc_group_issue_subject *s)
{
    char marker[PFC_COMMENT_MARKER_MAX];
    pfc_buf out;

    pfc_comment_marker(s->key, marker);
    pfc_buf_init(&out, PFC_COMMENT_MAX_BYTES);
    pfc_buf_printf(&out, "%s\n", marker);
    if (!s->group) {
        pfc_buf_puts(&out, "The alerts of this group were moved to other groups.\n");
        return pfc_buf_take(&out);
    }
    put_first_sentence(&out, s);
    put_facts(&out, s);
    put_alerts(&out, s);
    put_history(&out, s->events);
    pfc_buf_printf(
        &out,
        "\nReproduce: `perfci repro alert:%lld`. Evidence: `perfci why %lld`.\n\nperfci edits "
        "this issue when the group changes, and closes it when no alert of the group "
        "is open.\n",
        (long long)s->lead->id, (long long)s->lead->id);
    return pfc_buf_take(&out);
}

static bool is_open(const char *state)
{
    return pfc_streq(state, "untriaged") || pfc_streq(state, "acknowledged") ||
           pfc_streq(state, "investigating");
}

void pfc_group_issue_text(const pfc_group_issue_subject *subject, pfc_group_issue_words *out)
{
    out->title = subject->group
                     ? title_of(subject)
                     : pfc_format("%s: alerts that were moved to other groups", subject->project);
    out->body = body_of(subject);
    out->open = subject->group && is_open(subject->group->state);
}

void pfc_group_issue_words_clear(pfc_group_issue_words *words)
{
    free(words->title);
    free(words->body);
    *words = (pfc_group_issue_words){ 0 };
}
