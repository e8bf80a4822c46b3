/*
 * The result of a nightly round as findings: a finding for each benchmark of each commit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nightly/nightly.h"

static const char *text_of(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

static double number_of(const json_t *obj, const char *key)
{
    const json_t *value = json_object_get(obj, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* A benchmark of a commit, by the names that series, alerts and broken results share. */
static pfc_findings_item *add(pfc_findings *f, pfc_finding_kind kind, const char *commit,
                              const json_t *names)
{
    pfc_findings_item *item = pfc_findings_add(f, kind);

    if (!item)
        return NULL;
    item->commit = pfc_strdup(commit);
    item->benchmark = pfc_strdup(text_of(names, "benchmark"));
    item->metric = pfc_strdup(text_of(names, "metric"));
    item->backend = pfc_strdup(text_of(names, "backend"));
    return item;
}

static void set_message(pfc_findings_item *item, const char *message)
{
    free(item->message);
    item->message = pfc_strdup(message);
}

static void set_numbers(pfc_findings_item *item, const json_t *from)
{
    item->rel_change = number_of(from, "rel_change");
    item->rel_low = number_of(from, "rel_low");
    item->rel_high = number_of(from, "rel_high");
}

/* ---- of a session's boundaries ---- */

static pfc_finding_kind kind_of(const char *verdict)
{
    static const pfc_finding_kind kinds[] = { PFC_FINDING_REGRESSION, PFC_FINDING_IMPROVEMENT,
                                              PFC_FINDING_SAME };

    for (size_t i = 0; i < PFC_ARRAY_LEN(kinds); i++)
        if (pfc_streq(verdict, pfc_finding_word(kinds[i])))
            return kinds[i];
    return PFC_FINDING_UNDECIDED;
}

static void add_boundary(pfc_findings *f, const json_t *series, const json_t *boundary)
{
    const char *verdict = text_of(boundary, "verdict");
    const pfc_finding_kind kind = kind_of(verdict);
    const char *against = text_of(boundary, "against");
    pfc_findings_item *item = add(f, kind, text_of(boundary, "commit"), series);

    if (!item)
        return;
    set_numbers(item, boundary);
    item->message = pfc_format("%s against %.12s%s", pfc_finding_word(kind), against ? against : "",
                               json_is_false(json_object_get(series, "judged"))
                                   ? " (a rule of the project leaves this series out)"
                                   : "");
    /* A series that a rule leaves out raises no alert, so its finding is no regression. */
    if (json_is_false(json_object_get(series, "judged")) && kind == PFC_FINDING_REGRESSION)
        item->kind = PFC_FINDING_UNDECIDED;
}

static size_t add_boundaries(pfc_findings *f, const json_t *series, const pfc_night_commit *c)
{
    const size_t before = f->len;

    for (size_t s = 0; s < json_array_size(series); s++) {
        const json_t *one = json_array_get(series, s);
        const json_t *list = json_object_get(one, "boundaries");

        for (size_t i = 0; i < json_array_size(list); i++)
            if (pfc_streq(text_of(json_array_get(list, i), "commit"), c->id.hex))
                add_boundary(f, one, json_array_get(list, i));
    }
    return f->len - before;
}

/* ---- of the commit as a whole ---- */

static void add_commit(pfc_findings *f, const pfc_night_commit *c)
{
    const bool identical = c->same_as.hex[0] != '\0';
    const pfc_finding_kind kind = c->broken                         ? PFC_FINDING_BROKEN
                                  : identical                       ? PFC_FINDING_IDENTICAL
                                  : !c->measured                    ? PFC_FINDING_NOT_MEASURED
                                  : !c->verdict                     ? PFC_FINDING_MEASURED
                                  : pfc_streq(c->verdict, "slower") ? PFC_FINDING_REGRESSION
                                  : pfc_streq(c->verdict, "faster") ? PFC_FINDING_IMPROVEMENT
                                  : pfc_streq(c->verdict, "same")   ? PFC_FINDING_SAME
                                                                    : PFC_FINDING_UNDECIDED;
    pfc_findings_item *item = pfc_findings_add(f, kind);
    pfc_buf word;

    if (!item)
        return;
    item->commit = pfc_strdup(c->id.hex);
    if (c->worst.benchmark && kind != PFC_FINDING_MEASURED) {
        item->benchmark = pfc_strdup(c->worst.benchmark);
        item->metric = pfc_strdup(c->worst.metric);
        item->backend = pfc_strdup(c->worst.backend);
        item->rel_change = c->worst.rel_change;
        item->rel_low = c->worst.rel_low;
        item->rel_high = c->worst.rel_high;
    }
    pfc_buf_init(&word, 8192);
    pfc_night_put_word(c, &word);
    if (c->reason && !identical)
        pfc_buf_printf(&word, ": %s", c->reason);
    else if (kind == PFC_FINDING_MEASURED)
        pfc_buf_puts(&word, "; there is nothing to compare it with yet");
    item->message = pfc_buf_take(&word);
}

/* ---- benchmarks without a result, and alerts ---- */

static pfc_findings_item *find(pfc_findings *f, const char *commit, const json_t *names)
{
    for (size_t i = f->len; i-- > 0;) {
        pfc_findings_item *item = &f->items[i];

        if (item->benchmark && pfc_streq(item->commit, commit) &&
            pfc_streq(item->benchmark, text_of(names, "benchmark")) &&
            pfc_streq(item->metric, text_of(names, "metric")) &&
            pfc_streq(item->backend, text_of(names, "backend")))
            return item;
    }
    return NULL;
}

/* Benchmarks without a result at a commit: broken or skipped. commit NULL: of all commits that are
 * not in the round. */
static void add_absent(pfc_findings *f, const pfc_night *n, const json_t *list,
                       pfc_finding_kind kind, const char *commit)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *of = text_of(one, "commit");
        pfc_findings_item *item;

        if (commit ? !pfc_streq(of, commit) : pfc_night_commit_of(n, of) != NULL)
            continue;
        item = find(f, of, one);
        if (!item)
            item = add(f, kind, of, one);
        if (!item)
            return;
        item->kind = kind;
        set_message(item, text_of(one, "reason") ? text_of(one, "reason") : pfc_finding_word(kind));
    }
}

static void add_alerts(pfc_findings *f, const pfc_night *n, const char *commit)
{
    for (size_t i = 0; i < json_array_size(n->alerts); i++) {
        const json_t *alert = json_array_get(n->alerts, i);
        const char *of = text_of(alert, "commit");
        pfc_findings_item *item;

        if (commit ? !pfc_streq(of, commit) : pfc_night_commit_of(n, of) != NULL)
            continue;
        item = find(f, of, alert);
        if (item && item->kind == PFC_FINDING_BROKEN)
            continue;
        if (!item)
            item = add(f, PFC_FINDING_REGRESSION, of, alert);
        if (!item)
            return;
        item->kind = pfc_night_is_regression(alert)                ? PFC_FINDING_REGRESSION
                     : pfc_streq(text_of(alert, "kind"), "broken") ? PFC_FINDING_BROKEN
                                                                   : PFC_FINDING_IMPROVEMENT;
        set_numbers(item, alert);
        set_message(item, text_of(alert, "title") ? text_of(alert, "title") : "alert");
    }
}

static void add_all_of(pfc_findings *f, const pfc_night *n, const json_t *series,
                       const pfc_night_commit *c)
{
    const size_t from = f->len;
    const size_t boundaries = add_boundaries(f, series, c);

    add_alerts(f, n, c->id.hex);
    add_absent(f, n, n->broken, PFC_FINDING_BROKEN, c->id.hex);
    add_absent(f, n, n->skipped_benchmarks, PFC_FINDING_NOT_MEASURED, c->id.hex);
    /* A commit without any result of a benchmark is a finding of its own. */
    if (!boundaries && (f->len == from || !c->measured))
        add_commit(f, c);
    for (size_t i = from; i < f->len; i++)
        f->items[i].subject = pfc_strdup(c->subject);
}

static void place_all(const pfc_night *n, pfc_findings *f)
{
    const pfc_report_place place = { .repo = n->take.repo, .config = n->take.source.text };

    for (size_t i = 0; i < f->len; i++)
        pfc_reports_place(&place, &f->items[i]);
}

void pfc_night_findings(const pfc_night *n, pfc_findings *f)
{
    const json_t *series =
        n->judged_session ? json_object_get(n->judged_session, "series") : n->series;
    pfc_buf verdict, notes;

    pfc_buf_init(&verdict, 4096);
    pfc_buf_init(&notes, 64 * 1024);
    f->title = pfc_format("perfci nightly: %s", n->project);
    f->category = pfc_format("perfci/nightly/%s", n->project);
    pfc_night_put_verdict(n, &verdict);
    f->verdict = pfc_buf_take(&verdict);
    pfc_buf_printf(
        &notes, "%s ",
        n->standing && text_of(n->standing, "sentence") ? text_of(n->standing, "sentence") : "");
    pfc_night_put_earlier(n, &notes);
    if (n->note)
        pfc_buf_puts(&notes, n->note);
    f->notes = pfc_buf_take(&notes);
    for (size_t i = 0; i < n->len; i++)
        add_all_of(f, n, series, &n->commits[i]);
    add_alerts(f, n, NULL);
    add_absent(f, n, n->broken, PFC_FINDING_BROKEN, NULL);
    place_all(n, f);
}

/* ---- what the run documents say of benchmarks without a result ---- */

void pfc_night_note_skipped(pfc_night *n, const pfc_run *run)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];

        if (m->status != PFC_STATUS_SKIPPED)
            continue;
        if (!n->skipped_benchmarks)
            n->skipped_benchmarks = json_array();
        json_array_append_new(n->skipped_benchmarks,
                              json_pack("{s:s?, s:s, s:s, s:s, s:s?}", "commit", run->commit,
                                        "benchmark", m->benchmark, "metric", m->metric, "backend",
                                        m->backend, "reason", m->reason));
    }
}
