/*
 * perfci-bench-night: how often a night of blocks finds what was planted, and what it costs.
 *
 * The planner and the judgement are those of the product; the machine is a model, or a recording.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/studies/night_simulated/table.h"
#include "core/base/parse.h"

#define CELLS_MAX  512
#define TRACES_MAX 16
#define BUDGET                                                                                     \
    20.0 /* visits of each new commit: the most of a night; what it takes is in the table */
#define STUDY  18.0 /* 2.5 nights of five repeats */
#define THRICE 37.5 /* three times 2.5 nights of five repeats */

typedef struct options {
    int64_t nights, seed, threads;
    const char *only;
    pfc_trace traces[TRACES_MAX];
    size_t traces_len;
} options;

static const char doc[] =
    "Simulates nights of 12 new commits and prints a table: found, place, false changes, cost.\v"
    "Examples:\n"
    "  perfci-bench-night                                the table, 2000 nights a cell\n"
    "  perfci-bench-night --nights 200 --only 'states 15'   some cells\n"
    "  perfci-bench-night --trace kernel.json --only kernel  a recorded machine: an array of "
    "numbers\n"
    "\n"
    "found: a regression is called in the night, in the plant's series. visits: of all series, "
    "for\n"
    "each new commit, base and anchor included. same: boundaries without a plant whose 95 % "
    "interval\n"
    "lies within 3 %. cov: fitted intervals that cover the truth. circular: the model is the fit's "
    "own.";

static const struct argp_option argp_options[] = {
    { "nights", 'n', "N", 0, "of each cell (default: 2000)", 0 },
    { "seed", 's', "N", 0, "first seed (default: 1)", 0 },
    { "threads", 'j', "N", 0, "(default: 2)", 0 },
    { "only", 'o', "TEXT", 0, "cells whose line of name, series, plant and budget contains it", 0 },
    { "trace", 't', "FILE", 0,
      "recorded values, JSON (bench/studies/night/traces); can be repeated", 0 },
    { 0 },
};

static void whole(struct argp_state *state, const char *arg, int64_t most, const char *name,
                  int64_t *out)
{
    pfc_err err = { 0 };

    if (pfc_parse_i64(arg, 1, most, name, out, &err))
        argp_error(state, "%s", err.msg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    pfc_err err = { 0 };

    switch (key) {
    case 'n':
        whole(state, arg, 10000000, "--nights", &o->nights);
        return 0;
    case 's':
        whole(state, arg, INT64_MAX, "--seed", &o->seed);
        return 0;
    case 'j':
        whole(state, arg, 64, "--threads", &o->threads);
        return 0;
    case 'o':
        o->only = arg;
        return 0;
    case 't':
        if (o->traces_len == TRACES_MAX)
            argp_error(state, "--trace: expected at most %d", TRACES_MAX);
        if (pfc_trace_read(arg, &o->traces[o->traces_len], &err))
            argp_error(state, "--trace: %s", err.msg);
        o->traces_len++;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- cells ---- */

typedef struct cells {
    pfc_sim_cell items[CELLS_MAX];
    size_t len;
} cells;

static void cell(cells *c, const char *name, const pfc_machine_model *m, size_t series,
                 double plant, size_t plants, double budget)
{
    /* Three times the budget is for smaller changes. */
    const double margin = budget >= THRICE ? 0.01 : 0.0;
    pfc_sim_cell *it = &c->items[c->len];

    if (c->len == CELLS_MAX)
        return;
    c->len++;
    *it = (pfc_sim_cell){ .circular = m->stretch > 0.0 && !m->trace,
                          .opts = { .machine = *m,
                                    .commits = 12,
                                    .series = series,
                                    .plant = plant,
                                    .plants = plants,
                                    .budget = budget,
                                    .margin = margin } };
    snprintf(it->name, sizeof it->name, "%s", name);
}

static void machine(cells *c, const char *name, const pfc_machine_model *m, bool all)
{
    static const double plants[] = { 0.0, 0.01, 0.02, 0.03, 0.05 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(plants); i++)
        cell(c, name, m, 1, plants[i], 1, BUDGET);
    cell(c, name, m, 1, 0.01, 1, THRICE);
    cell(c, name, m, 1, 0.03, 2, BUDGET);
    if (!all)
        return;
    cell(c, name, m, 5, 0.0, 1, BUDGET);
    cell(c, name, m, 5, 0.02, 1, BUDGET);
    cell(c, name, m, 5, 0.03, 1, BUDGET);
}

/* A night of the study: a command that measures all metrics of the recording in one run. */
static void command(cells *c, const char *name, const pfc_trace *trace)
{
    static const double plants[] = { 0.0, 0.01, 0.02, 0.03, 0.05 };
    const pfc_machine_model m = { .trace = trace };
    const size_t series = PFC_MIN(trace->columns, (size_t)PFC_NIGHT_MAX_SERIES);

    for (size_t i = 0; i < PFC_ARRAY_LEN(plants); i++) {
        cell(c, name, &m, series, plants[i], 1, STUDY);
        c->items[c->len - 1].opts.whole = true;
    }
}

static void fill(cells *c, const options *o)
{
    static const double noises[] = { 0.012, 0.005, 0.03 };
    static const double stretches[] = { 0.0, 60.0, 15.0, 3.0 };
    char name[64];

    for (size_t i = 0; i < PFC_ARRAY_LEN(noises); i++) {
        pfc_machine_model m = { .noise = noises[i], .outliers = 0.04, .low = 0.05, .high = 0.12 };

        for (size_t k = 0; k < PFC_ARRAY_LEN(stretches); k++) {
            if (i && stretches[k] != 0.0 && stretches[k] != 15.0)
                continue;
            m.stretch = stretches[k];
            snprintf(name, sizeof name,
                     stretches[k] > 0.0 ? "noise %g %%, states %g" : "noise %g %%, quiet",
                     100.0 * noises[i], stretches[k]);
            machine(c, name, &m, i == 0);
        }
        if (i)
            continue;
        m.stretch = 0.0;
        m.drift = 5e-4;
        m.walk = 1e-3;
        snprintf(name, sizeof name, "noise %g %%, drift", 100.0 * noises[i]);
        machine(c, name, &m, false);
    }
    for (size_t i = 0; i < o->traces_len; i++) {
        const pfc_machine_model m = { .trace = &o->traces[i] };

        snprintf(name, sizeof name, "recorded %.40s", o->traces[i].name);
        machine(c, name, &m, true);
        snprintf(name, sizeof name, "command %.40s", o->traces[i].name);
        command(c, name, &o->traces[i]);
    }
}

static bool wanted(const options *o, const pfc_sim_cell *cell)
{
    char line[160];

    snprintf(line, sizeof line, "%s, series %zu, plant %g x %zu, budget %g", cell->name,
             cell->opts.series, 100.0 * cell->opts.plant, cell->opts.plants, cell->opts.budget);
    return !o->only || strstr(line, o->only);
}

int main(int argc, char **argv)
{
    static const struct argp argp = { argp_options, parse_option, NULL, doc, NULL, NULL, NULL };
    options o = { .nights = 2000, .seed = 1, .threads = 2 };
    cells *c = pfc_alloc(sizeof *c);
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    fill(c, &o);
    pfc_table_head();
    for (size_t i = 0; i < c->len && !code; i++) {
        pfc_sim_tally t;

        if (!wanted(&o, &c->items[i]))
            continue;
        code = pfc_cell_run(&c->items[i], (size_t)o.nights, (uint64_t)o.seed + i, (size_t)o.threads,
                            &t, &err);
        if (!code)
            pfc_table_row(&c->items[i], &t);
    }
    if (code)
        fprintf(stderr, "perfci-bench-night: %s\n", err.msg);
    for (size_t i = 0; i < o.traces_len; i++)
        pfc_trace_clear(&o.traces[i]);
    free(c);
    return pfc_code_exit(code);
}
