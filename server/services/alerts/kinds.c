/* Titles of alerts, and the slope of a drift. */
#include "server/services/alerts/kinds.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/buf.h"

#define TEXT_MAX 65536

bool pfc_alert_is_drift(const pfc_alert *alert)
{
    return pfc_streq(alert->kind, "drift");
}

/* The change per part that, compounded over `parts`, gives `total`. */
static double spread(double total, double parts)
{
    return parts > 0 && total > -1 ? expm1(log1p(total) / parts) : (double)NAN;
}

void pfc_drift_slope(const pfc_alert *drift, pfc_slope *out)
{
    out->per_week = spread(drift->rel_change, drift->drift_weeks);
    out->per_week_low = spread(drift->rel_low, drift->drift_weeks);
    out->per_week_high = spread(drift->rel_high, drift->drift_weeks);
    out->per_commit = spread(drift->rel_change, (double)drift->drift_commits);
}

static void put_percent(pfc_buf *out, double rel)
{
    const double percent = 100 * rel;

    /* At least two significant digits: 0.31 % a week, 0.042 % a commit. */
    pfc_buf_printf(out, "%+.*f %%", fabs(percent) >= 1 ? 1 : fabs(percent) >= 0.1 ? 2 : 3, percent);
}

static void put_drift(pfc_buf *out, const pfc_alert *a)
{
    pfc_slope slope;

    pfc_drift_slope(a, &slope);
    put_percent(out, a->rel_change);
    pfc_buf_puts(out, " (");
    put_percent(out, a->rel_low);
    pfc_buf_puts(out, " to ");
    put_percent(out, a->rel_high);
    pfc_buf_printf(out, ") over %lld commits", (long long)a->drift_commits);
    if (isfinite(slope.per_week)) {
        pfc_buf_printf(out, " in %.1f weeks, ", a->drift_weeks);
        put_percent(out, slope.per_week);
        pfc_buf_puts(out, " a week");
    }
    if (!a->reference_tag)
        return;
    pfc_buf_printf(out, "; since %s: ", a->reference_tag);
    put_percent(out, a->reference_rel);
}

/* Prints a common prefix of words once: "gcc 12.2.0 -> 13.1.0". */
static size_t common_words(const char *before, const char *now)
{
    size_t same = 0;

    for (size_t i = 0; before[i] && before[i] == now[i]; i++)
        if (before[i] == ' ')
            same = i + 1;
    return now[same] ? same : 0;
}

char *pfc_boundary_text(const char *kind, const pfc_boundary_fields *fields)
{
    pfc_buf out;

    pfc_buf_init(&out, TEXT_MAX);
    pfc_buf_printf(&out, "%s:", kind);
    for (size_t i = 0; i < fields->len; i++) {
        const pfc_boundary_field *field = &fields->items[i];
        const char *before = field->before ? field->before : "unknown";
        const char *now = field->now ? field->now : "unknown";

        pfc_buf_printf(&out, "%s %s %s -> %s", i ? "," : "", field->name ? field->name : "", before,
                       now + common_words(before, now));
    }
    return pfc_buf_take(&out);
}

static char *boundary_title(const pfc_alert *a)
{
    pfc_boundary_fields fields;
    char *text;

    pfc_boundary_fields_parse(a->boundary_json, &fields);
    text = pfc_boundary_text(a->kind, &fields);
    pfc_boundary_fields_clear(&fields);
    return text;
}

char *pfc_alert_title(const pfc_alert *a)
{
    pfc_buf out;

    if (pfc_streq(a->kind, "toolchain") || pfc_streq(a->kind, "harness"))
        return boundary_title(a);
    pfc_buf_init(&out, TEXT_MAX);
    pfc_buf_printf(&out, "%s: ", a->kind);
    if (pfc_alert_is_drift(a)) {
        put_drift(&out, a);
    } else if (pfc_streq(a->kind, "broken")) {
        pfc_buf_printf(&out, "since %.12s%s%s", a->commit ? a->commit : "?", a->reason ? ": " : "",
                       a->reason ? a->reason : "");
    } else {
        pfc_buf_printf(&out, "%s %.12s", a->culprit ? "culprit" : "at",
                       a->culprit  ? a->culprit
                       : a->commit ? a->commit
                                   : "?");
    }
    return pfc_buf_take(&out);
}

static bool has_one_commit(const pfc_alert *a)
{
    return pfc_streq(a->kind, "step") || pfc_streq(a->kind, "broken");
}

bool pfc_alert_suspect_was_found(const pfc_alert *a)
{
    return !a->culprit && a->found_commit && has_one_commit(a);
}

const char *pfc_alert_suspect(const pfc_alert *a)
{
    if (a->culprit)
        return a->culprit;
    if (!has_one_commit(a))
        return NULL;
    return a->found_commit ? a->found_commit : a->commit;
}

char *pfc_drift_reason(const pfc_alert *a)
{
    pfc_buf out;

    pfc_buf_init(&out, TEXT_MAX);
    pfc_buf_puts(&out, "a drift has no single culprit: ");
    put_drift(&out, a);
    pfc_buf_printf(&out,
                   "; range %.12s to %.12s; measure its ends with \"perfci repro alert:%lld\"",
                   a->commit_low, a->commit_high, (long long)a->id);
    return pfc_buf_take(&out);
}
