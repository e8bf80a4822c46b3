/*
 * The log of a bisection where there is no terminal: one line for each decision of the planner, which is a commit (or a
 * unit of interleaved pairs) and all runs that it got in a row. With --verbose one line for each run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/search.h"
#include "core/stats/stats.h"

/* Runs of one decision are next to each other in the list of steps. The two ends are one: they are compared with each
 * other. */
static bool same_decision(const pfc_hunt *h, const pfc_hunt_step *a, const pfc_hunt_step *b)
{
    if (a->confirm || b->confirm)
        return a->confirm && b->confirm;
    if (a->unit || b->unit)
        return a->unit == b->unit;
    if (pfc_hunt_is_end(h, a->commit) || pfc_hunt_is_end(h, b->commit))
        return pfc_hunt_is_end(h, a->commit) && pfc_hunt_is_end(h, b->commit);
    return a->commit == b->commit && a->build == b->build;
}

/* Median of the measured runs of one commit among steps from `from` on, NAN without any; *runs: their number. */
static double median_of(const pfc_hunt *h, size_t from, size_t commit, size_t *runs)
{
    double *values = pfc_calloc(h->state.len + 1, sizeof(*values));
    size_t len = 0;
    double median;

    for (size_t i = from; i < h->state.len; i++) {
        const pfc_hunt_step *s = &h->state.steps[i];

        if (s->kind == PFC_OUTCOME_MEASURED && s->commit == commit)
            values[len++] = s->value;
    }
    median = len ? pfc_stats_median(values, len) : (double)NAN;
    free(values);
    *runs = len;
    return median;
}

/* "0a1b2c3: 3 runs, 1.334 ms (-0.1 % against 9f8e7d6)": against the good commit, or as ratio of the unit of pairs. */
static void say_commit(const pfc_hunt *h, const pfc_hunt_step *step, size_t commit, pfc_buf *out)
{
    size_t runs, unused;
    const double value = median_of(h, h->log_from, commit, &runs);
    const double good = median_of(h, 0, 0, &unused);
    char text[96], change[32];

    pfc_buf_printf(out, "%.12s: ", h->commits.items[commit].id);
    if (step->build)
        pfc_buf_printf(out, "layout %u, ", step->build);
    pfc_buf_printf(out, "%zu run%s", runs, runs == 1 ? "" : "s");
    if (!isfinite(value))
        return;
    pfc_show_value(value, text);
    pfc_buf_printf(out, ", %s", text);
    if (step->unit && h->told_len)
        pfc_show_percent(h->told[h->told_len - 1].ratio - 1, change);
    else if (commit != 0 && isfinite(good) && good != 0)
        pfc_show_percent(value / good - 1, change);
    else
        return;
    pfc_buf_printf(out, " (%s against %.12s)", change, h->commits.items[0].id);
}

static void say_decision(const pfc_hunt *h, const pfc_hunt_step *step, pfc_buf *out)
{
    pfc_buf suspects;

    pfc_buf_putc(out, ' ');
    if (pfc_hunt_is_end(h, step->commit) && !step->unit) {
        pfc_buf_puts(out, "ends: ");
        say_commit(h, step, 0, out);
        pfc_buf_puts(out, "; ");
        say_commit(h, step, h->commits.len - 1, out);
        return;
    }
    pfc_buf_init(&suspects, 256);
    say_commit(h, step, step->commit, out);
    pfc_hunt_suspects_say(h, &suspects);
    pfc_buf_printf(out, "; suspects: %s", pfc_buf_text(&suspects));
    pfc_buf_clear(&suspects);
}

void pfc_hunt_log_flush(pfc_hunt *h)
{
    const pfc_hunt_step *step = &h->log_step;
    pfc_buf line;

    if (!h->log_open)
        return;
    h->log_open = false;
    pfc_buf_init(&line, 1024);
    pfc_hunt_count_say(h, step->confirm, &line);
    if (step->confirm)
        pfc_buf_printf(&line, " confirmation: %zu runs", h->state.len - h->log_from);
    else
        say_decision(h, step, &line);
    pfc_cli_note(h->cli, "%s", pfc_buf_text(&line));
    pfc_buf_clear(&line);
}

void pfc_hunt_log_begin(pfc_hunt *h, const pfc_hunt_step *step)
{
    if (h->log_open && !same_decision(h, &h->log_step, step))
        pfc_hunt_log_flush(h);
}

static void log_run(pfc_hunt *h, const pfc_hunt_step *step)
{
    char value[96], layout[24] = "";

    if (step->build)
        snprintf(layout, sizeof(layout), ", layout %u", step->build);
    pfc_show_value(step->value, value);
    pfc_cli_note(h->cli, "run %zu: %.12s%s: %s%s", h->state.len, h->commits.items[step->commit].id,
                 layout, value,
                 step->confirm     ? ", to confirm"
                 : step->reference ? ", reference of the pair"
                                   : "");
}

void pfc_hunt_log(pfc_hunt *h, const pfc_hunt_step *step, const char *reason)
{
    if (h->cli->quiet || (h->cli->progress && step->kind == PFC_OUTCOME_MEASURED))
        return;
    if (step->kind != PFC_OUTCOME_MEASURED) {
        pfc_hunt_log_flush(h);
        pfc_hunt_view_wipe(h);
        pfc_cli_note(h->cli, "[%zu] %.12s: %s: %s", h->state.len, h->commits.items[step->commit].id,
                     pfc_outcome_name(step->kind), reason);
        return;
    }
    if (h->opts->verbose)
        log_run(h, step);
    if (!h->log_open)
        h->log_from = h->state.len - 1;
    if (!h->log_open ||
        !step->reference) /* a unit of pairs is about the commit, not its reference */
        h->log_step = *step;
    h->log_open = true;
}
