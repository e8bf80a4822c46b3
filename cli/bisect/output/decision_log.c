/*
 * The log of decisions.
 */
#include "cli/bisect/output/decision_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/measuring/runs.h"
#include "cli/output/output.h"
#include "core/stats/stats.h"

/* Runs of one decision are consecutive. The two ends are one decision: they are compared with each
 * other. */
static bool same_decision(const bisect_axis *axis, const bisect_run *a, const bisect_run *b)
{
    if (a->confirm || b->confirm)
        return a->confirm && b->confirm;
    if (a->unit || b->unit)
        return a->unit == b->unit;
    if (bisect_is_end(axis, a->commit) || bisect_is_end(axis, b->commit))
        return bisect_is_end(axis, a->commit) && bisect_is_end(axis, b->commit);
    return a->commit == b->commit && a->build == b->build;
}

/* Median of the measured runs of a commit from `from` on, NAN without any; *runs: their number. */
static double median_of(const bisect_state *state, size_t from, size_t commit, size_t *runs)
{
    const bisect_state later = { .runs = state->runs + from, .len = state->len - from };
    double *values = bisect_values_of(&later, commit, runs);
    const double median = *runs ? pfc_stats_median(values, *runs) : (double)NAN;

    free(values);
    return median;
}

/* The median ratio of the newest units. */
static double ratio_of(const bisect_units *units, size_t newest)
{
    const size_t n = PFC_MIN(newest, units->len);
    double *ratios = pfc_calloc(n, sizeof(*ratios));
    double median;

    for (size_t i = 0; i < n; i++)
        ratios[i] = units->ratios[units->len - n + i].ratio;
    median = pfc_stats_median(ratios, n);
    free(ratios);
    return median;
}

/* "0a1b2c3: 3 runs, 1.334 ms (-0.1 % against 9f8e7d6)": against the good commit, or as ratio of the
 * units in a row. */
static void say_commit(const bisect_log *log, size_t commit, pfc_buf *out)
{
    const bisect_planning *p = log->progress->planning;
    const bisect_run *newest = &log->newest;
    size_t runs, good_runs;
    const double value =
        median_of(p->state, newest->unit ? log->units_from : log->from, commit, &runs);
    const double good = median_of(p->state, 0, 0, &good_runs);
    char text[96], change[32];

    pfc_buf_printf(out, "%.12s: ", bisect_id(p->axis, commit));
    if (newest->build)
        pfc_buf_printf(out, "layout %u, ", newest->build);
    pfc_buf_printf(out, "%zu run%s", runs, runs == 1 ? "" : "s");
    if (!isfinite(value))
        return;
    pfc_show_value(value, text);
    pfc_buf_printf(out, ", %s", text);
    if (newest->unit && p->units.len)
        pfc_show_percent(ratio_of(&p->units, log->units) - 1, change);
    else if (commit != 0 && isfinite(good) && good != 0)
        pfc_show_percent(value / good - 1, change);
    else
        return;
    if (commit == 0)
        pfc_buf_printf(out, " (%s against itself)", change);
    else
        pfc_buf_printf(out, " (%s against %.12s)", change, bisect_id(p->axis, 0));
}

static void say_decision(const bisect_log *log, pfc_buf *out)
{
    const bisect_planning *p = log->progress->planning;
    pfc_buf suspects;

    pfc_buf_putc(out, ' ');
    if (bisect_is_end(p->axis, log->newest.commit) && !log->newest.unit) {
        pfc_buf_puts(out, "ends: ");
        say_commit(log, 0, out);
        pfc_buf_puts(out, "; ");
        say_commit(log, bisect_bad(p->axis), out);
        return;
    }
    pfc_buf_init(&suspects, 256);
    say_commit(log, log->newest.commit, out);
    bisect_say_suspects(p, &suspects);
    pfc_buf_printf(out, "; suspects: %s", pfc_buf_text(&suspects));
    pfc_buf_clear(&suspects);
}

static void print_line(bisect_log *log)
{
    pfc_buf line;

    log->unsaid = false;
    pfc_buf_init(&line, 1024);
    bisect_say_count(log->progress, log->newest.confirm, &line);
    if (log->newest.confirm)
        pfc_buf_printf(&line, " confirmation: %zu runs",
                       log->progress->planning->state->len - log->from);
    else
        say_decision(log, &line);
    pfc_cli_note(log->progress->cli, "%s", pfc_buf_text(&line));
    pfc_buf_clear(&line);
}

void bisect_log_flush(bisect_log *log)
{
    if (log->open && log->newest.unit)
        log->units++;
    if (log->open || log->unsaid)
        print_line(log);
    log->open = false;
    log->units = 0;
}

/* Is `run` the first of another unit of the commit that has the newest unit? */
static bool same_subject(const bisect_run *newest, const bisect_run *run)
{
    return newest->unit && run->unit && !newest->confirm && !run->confirm &&
           newest->commit == run->commit && newest->build == run->build;
}

void bisect_log_begin(bisect_log *log, const bisect_run *run)
{
    if (!log->open || same_decision(log->progress->planning->axis, &log->newest, run))
        return;
    if (!same_subject(&log->newest, run)) {
        bisect_log_flush(log);
        return;
    }
    log->open = false;
    log->units++;
    log->unsaid = true;
    if ((log->units & (log->units - 1)) == 0)
        print_line(log);
}

static void print_run(const bisect_log *log, const bisect_run *run)
{
    const bisect_planning *p = log->progress->planning;
    char value[96], layout[24] = "";

    if (run->build)
        snprintf(layout, sizeof(layout), ", layout %u", run->build);
    pfc_show_value(run->value, value);
    pfc_cli_note(log->progress->cli, "run %zu: %.12s%s: %s%s", p->state->len,
                 bisect_id(p->axis, run->commit), layout, value,
                 run->confirm     ? ", to confirm"
                 : run->reference ? ", reference of the pair"
                                  : "");
}

void bisect_log_run(bisect_log *log, const bisect_run *run, const char *reason)
{
    const pfc_cli *cli = log->progress->cli;
    const bisect_planning *p = log->progress->planning;

    if (cli->quiet || (cli->progress && run->kind == PFC_OUTCOME_MEASURED))
        return;
    if (run->kind != PFC_OUTCOME_MEASURED) {
        bisect_log_flush(log);
        bisect_view_erase(cli);
        pfc_cli_note(cli, "[%zu] %.12s: %s: %s", p->state->len, bisect_id(p->axis, run->commit),
                     pfc_outcome_name(run->kind), reason);
        return;
    }
    if (p->opts->verbose)
        print_run(log, run);
    if (!log->open)
        log->from = p->state->len - 1;
    if (!log->open && !log->units)
        log->units_from = log->from;
    /* The decision is about the unit's commit, not about its reference. */
    if (!log->open || !run->reference)
        log->newest = *run;
    log->open = true;
}
