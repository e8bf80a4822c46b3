/*
 * The answer of `/perfci bisect`: what is expected while the search runs, and its result.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/forge/forge.h"
#include "server/bot/internal.h"

enum { CULPRITS_MAX = 5 };

static void put_percent(pfc_buf *out, double rel)
{
    char text[32];

    pfc_show_percent(rel, text);
    pfc_buf_puts(out, text);
}

static double number_of(const json_t *doc, const char *key)
{
    const json_t *value = json_object_get(doc, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* "-15.0 % (95 % interval -15.6 % to -14.4 %)"; values without noise have no interval. */
static void put_change(pfc_buf *out, double rel, double low, double high)
{
    put_percent(out, rel);
    if (isfinite(low) && isfinite(high) && low < high) {
        pfc_buf_puts(out, " (95 % interval ");
        put_percent(out, low);
        pfc_buf_puts(out, " to ");
        put_percent(out, high);
        pfc_buf_putc(out, ')');
    }
}

static void put_commit(pfc_buf *out, const pfc_pull *pull, const char *id)
{
    char *page = pfc_pull_commit_url(pull);

    if (page)
        pfc_buf_printf(out, "[`%.12s`](<%s%.40s>)", id, page, id);
    else
        pfc_buf_printf(out, "`%.12s`", id);
    free(page);
}

static void put_head(pfc_buf *out, const pfc_pull *pull, const pfc_bisection *b, const char *link)
{
    if (link)
        pfc_buf_printf(out, "[Bisection %lld](<%s/bisections/%lld>) of ", (long long)b->id, link,
                       (long long)b->id);
    else
        pfc_buf_printf(out, "Bisection %lld of ", (long long)b->id);
    pfc_markdown_code(out, b->metric);
    if (b->benchmark && b->benchmark[0] && strcmp(b->benchmark, "headline") != 0) {
        pfc_buf_puts(out, " of ");
        pfc_markdown_code(out, b->benchmark);
    }
    /* The first of them is where the branch began. */
    pfc_buf_printf(out, " over %lld commits, from ", (long long)b->commits - 1);
    put_commit(out, pull, b->good);
    pfc_buf_puts(out, " to ");
    put_commit(out, pull, b->bad);
    pfc_buf_puts(out, ":");
}

static void put_expected(pfc_buf *out, const pfc_bisection_cost *cost)
{
    pfc_buf_printf(out, " about %.0f runs and %.0f builds are expected, ",
                   ceil(cost->expected_runs), ceil(cost->expected_builds));
    if (isfinite(cost->seconds))
        pfc_buf_printf(out, "about %.0f min", fmax(1, ceil(cost->seconds / 60)));
    else
        pfc_buf_puts(out, "for how long is not known before such a job has ended");
    if (cost->runners == 0)
        pfc_buf_puts(out, "; no runner is connected");
    pfc_buf_puts(out, ".\n\nThis comment is edited when it ends.");
}

/* ---- results ---- */

static void put_culprit(pfc_buf *out, const pfc_pull *pull, const json_t *culprit)
{
    const json_t *ids = json_object_get(culprit, "commits");
    const size_t len = json_array_size(ids);
    const char *first = json_string_value(json_array_get(ids, 0));
    const char *last = json_string_value(json_array_get(ids, len ? len - 1 : 0));

    if (!first || !last)
        return;
    pfc_buf_puts(out, "- ");
    if (len > 1)
        pfc_buf_printf(out, "one of %zu commits, from ", len);
    put_commit(out, pull, first);
    if (len > 1) {
        pfc_buf_puts(out, " to ");
        put_commit(out, pull, last);
    }
    pfc_buf_puts(out, ": ");
    put_change(out, number_of(culprit, "rel_change"), number_of(culprit, "rel_low"),
               number_of(culprit, "rel_high"));
    pfc_buf_printf(out, ", probability %.4g", number_of(culprit, "probability"));
    if (json_is_true(json_object_get(culprit, "unmeasurable")))
        pfc_buf_puts(out, "; the commits between cannot be measured");
    pfc_buf_putc(out, '\n');
}

static void put_culprits(pfc_buf *out, const pfc_pull *pull, const pfc_bisection *b)
{
    json_t *list = b->culprits_json ? json_loads(b->culprits_json, 0, NULL) : NULL;
    const size_t len = json_array_size(list), shown = PFC_MIN(len, (size_t)CULPRITS_MAX);

    pfc_buf_printf(out, " %s\n\n", len == 1 ? "culprit found." : "culprits found.");
    for (size_t i = 0; i < shown; i++)
        put_culprit(out, pull, json_array_get(list, i));
    if (shown < len)
        pfc_buf_printf(out, "- and %zu more\n", len - shown);
    json_decref(list);
}

static void put_same(pfc_buf *out, const pfc_bisection *b)
{
    json_t *doc = b->stopped_json ? json_loads(b->stopped_json, 0, NULL) : NULL;
    const json_t *d = json_object_get(doc, "difference");

    pfc_buf_puts(out, " no regression");
    if (isfinite(number_of(d, "rel_change"))) {
        pfc_buf_puts(out, "; the ends differ by ");
        put_change(out, number_of(d, "rel_change"), number_of(d, "rel_low"),
                   number_of(d, "rel_high"));
    }
    if (number_of(d, "margin") > 0) {
        pfc_buf_puts(out, ", a change to worse below ");
        pfc_buf_printf(out, "%.2g %% does not count", 100 * number_of(d, "margin"));
    }
    pfc_buf_puts(out, ".\n");
    json_decref(doc);
}

/* The comparison of a culprit with the commit before it, in new builds. */
static void put_check(pfc_buf *out, const pfc_pull *pull, const pfc_verification *v)
{
    const bool confirmed = pfc_streq(v->state, "confirmed");

    pfc_buf_puts(out, "\nCheck of ");
    put_commit(out, pull, v->after);
    if (pfc_streq(v->state, "running")) {
        pfc_buf_puts(out, " against the commit before it: running.\n");
        return;
    }
    pfc_buf_printf(
        out, " in %lld new interleaved pairs with the commit before it: ", (long long)v->pairs);
    if (isfinite(v->rel_change)) {
        put_change(out, v->rel_change, v->rel_low, v->rel_high);
        pfc_buf_puts(out, ", ");
    }
    pfc_buf_puts(out, confirmed                        ? "confirmed"
                      : pfc_streq(v->state, "refuted") ? "the change is not confirmed"
                                                       : "not decided");
    if (!confirmed && v->reason && v->reason[0]) {
        pfc_buf_puts(out, ": ");
        pfc_markdown_text(out, v->reason);
    }
    pfc_buf_puts(out, ".\n");
}

static void put_cancelled(pfc_buf *out, const pfc_pull *pull, const pfc_bisection *b)
{
    pfc_buf_puts(out, " cancelled");
    if (!pull->open)
        pfc_buf_puts(out, ", since the pull request is closed");
    else if (!pfc_streq(pull->head_sha, b->bad))
        pfc_buf_puts(out, ", since the pull request has a newer head");
    pfc_buf_puts(out, ".\n");
}

static void put_result(pfc_buf *out, const pfc_pull *pull, const pfc_bisection *b)
{
    if (pfc_streq(b->state, "cancelled")) {
        put_cancelled(out, pull, b);
    } else if (pfc_streq(b->verdict, "found") || pfc_streq(b->verdict, "range")) {
        put_culprits(out, pull, b);
    } else if (pfc_streq(b->verdict, "no-regression")) {
        put_same(out, b);
    } else {
        pfc_buf_puts(out, " not decided");
        if (b->reason && b->reason[0]) {
            pfc_buf_puts(out, ": ");
            pfc_markdown_text(out, b->reason);
        }
        pfc_buf_puts(out, ".\n");
    }
}

void pfc_pull_bisection_text(const pfc_pull *pull, const pfc_bisection *b,
                             const pfc_bisection_cost *cost, const pfc_verifications *checks,
                             const char *link, pfc_buf *out)
{
    put_head(out, pull, b, link);
    if (pfc_streq(b->state, "running")) {
        put_expected(out, cost);
        return;
    }
    put_result(out, pull, b);
    for (size_t i = 0; i < PFC_MIN(checks->len, (size_t)CULPRITS_MAX); i++)
        put_check(out, pull, &checks->items[i]);
    pfc_buf_printf(out, "\nMeasured: %lld runs, %lld builds, %.0f min.\n", (long long)b->runs,
                   (long long)b->builds, ceil(b->seconds / 60));
}
