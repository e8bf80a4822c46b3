/* perfci accel grade-limiter: how often the limiter that one run names is the true one. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/accel/accel.h"
#include "cli/accel/grade/grade.h"
#include "cli/accel/grade/parallel.h"
#include "cli/output/output.h"

#define MAX_CASES 100000

typedef struct command {
    int64_t seed, cases, jobs;
    char *rules; /* of argv: folder of limiter.yaml; NULL: the built-in rules */
    bool list;
} command;

static const pfc_option options[] = {
    PFC_OPT_INTEGER("seed", "N", command, seed, 0, INT64_MAX, "Of the cases", .fallback = "1"),
    PFC_OPT_INTEGER("cases", "N", command, cases, 1, MAX_CASES, "Cases with a clear limiter",
                    .fallback = "2000"),
    PFC_OPT_INTEGER("jobs", "N", command, jobs, 1, GRADE_MAX_JOBS, "Threads",
                    .fallback = "one a processor"),
    PFC_OPT_TEXT("rules", "DIR", command, rules, "Folder with limiter.yaml",
                 .fallback = "the built-in rules"),
    PFC_OPT_FLAG("list", command, list, "Print each case whose limiter was named wrong on stderr"),
    { 0 },
};

static const char doc[] =
    "Grades the limiter that is named from one run against simulations without each resource."
    "\vCases are made from the seed, over all built-in chips, operators, types and shapes, with "
    "the constants of the chip varied. The truth is the resource without which the simulation is "
    "fastest. A case counts when that saves at least 1 % of the run, and more than 10 % more than "
    "any other resource would. Both views are graded: from the trace, and from counters alone. An "
    "inconclusive verdict counts as wrong. \"low95\" is the lower end of the 95 % confidence "
    "interval. The same seed always gives the same cases and verdicts, whatever --jobs is.\n"
    "\n"
    "Examples:\n"
    "  perfci accel grade-limiter --seed 7 --cases 200\n"
    "  perfci accel grade-limiter --seed 7 --cases 2000 --json\n";

typedef struct work {
    const command *cmd;
    const pfc_limiter_rules *rules;
    grade_result *results;
} work;

static pfc_code measure(void *arg, uint64_t index, pfc_err *err)
{
    work *w = arg;

    return grade_measure((uint64_t)w->cmd->seed, index, w->rules, &w->results[index], err);
}

/* ---- the answer ---- */

static const char *const view_names[GRADE_VIEWS] = {
    [GRADE_TRACE] = "trace", [GRADE_COUNTERS] = "counters"
};

/* The members of the trace's view, and those of the counters' under "counters". */
static void print_json(const command *cmd, const grade_tally *tallies, uint64_t drawn)
{
    json_t *answer =
        json_pack("{s:I, s:I, s:f, s:f}", "seed", (json_int_t)cmd->seed, "drawn", (json_int_t)drawn,
                  "margin", GRADE_MARGIN, "least_saving", GRADE_LEAST_SAVING);
    json_t *trace = grade_tally_json(&tallies[GRADE_TRACE]);

    json_object_update(answer, trace);
    json_decref(trace);
    json_object_set_new(answer, "counters", grade_tally_json(&tallies[GRADE_COUNTERS]));
    pfc_cli_print_json(answer);
}

static void print_share(pfc_table *table, size_t col, uint64_t right, uint64_t cases)
{
    if (cases)
        pfc_table_setf(table, col, "%.1f %%", 100.0 * (double)right / (double)cases);
    else
        pfc_table_set(table, col, "-");
}

static void print_resources(const pfc_cli *cli, const grade_tally *tallies)
{
    static const pfc_table_col columns[] = { { "LIMITER", false },
                                             { "CASES", true },
                                             { "SHARE", true },
                                             { "TRACE", true },
                                             { "COUNTERS", true } };
    pfc_table *table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));

    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++) {
        const uint64_t cases = tallies[GRADE_TRACE].by_resource[r].cases;

        pfc_table_row(table);
        pfc_table_set(table, 0, pfc_resource_name(r));
        pfc_table_setf(table, 1, "%llu", (unsigned long long)cases);
        print_share(table, 2, cases, tallies[GRADE_TRACE].cases);
        for (size_t v = 0; v < GRADE_VIEWS; v++)
            print_share(table, 3 + v, tallies[v].by_resource[r].right, cases);
    }
    pfc_table_print(table);
}

static void print_views(const pfc_cli *cli, const grade_tally *tallies)
{
    static const pfc_table_col columns[] = { { "VIEW", false },        { "CASES", true },
                                             { "INCONCLUSIVE", true }, { "TOP 1", true },
                                             { "AT LEAST", true },     { "TOP 2", true } };
    pfc_table *table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));

    for (size_t v = 0; v < GRADE_VIEWS; v++) {
        const grade_tally *t = &tallies[v];

        pfc_table_row(table);
        pfc_table_set(table, 0, view_names[v]);
        pfc_table_setf(table, 1, "%llu", (unsigned long long)t->cases);
        pfc_table_setf(table, 2, "%llu", (unsigned long long)t->inconclusive);
        print_share(table, 3, t->top1, t->cases);
        pfc_table_setf(table, 4, "%.1f %%", 100.0 * grade_low95(t->top1, t->cases));
        print_share(table, 5, t->top2, t->cases);
    }
    pfc_table_print(table);
}

static void print_confidence(const pfc_cli *cli, const grade_tally *tallies)
{
    static const pfc_table_col columns[] = { { "VIEW", false },
                                             { "CONFIDENCE", false },
                                             { "VERDICTS", true },
                                             { "STATED", true },
                                             { "RIGHT", true } };
    pfc_table *table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));

    for (size_t v = 0; v < GRADE_VIEWS; v++)
        for (size_t i = 0; i < GRADE_BINS; i++) {
            const grade_share *s = &tallies[v].by_confidence[i];
            double low, high;

            if (s->cases == 0)
                continue;
            grade_bin(i, &low, &high);
            pfc_table_row(table);
            pfc_table_set(table, 0, view_names[v]);
            pfc_table_setf(table, 1, "%.0f .. %.0f %%", 100 * low, 100 * high);
            pfc_table_setf(table, 2, "%llu", (unsigned long long)s->cases);
            pfc_table_setf(table, 3, "%.1f %%", 100 * tallies[v].confidence[i] / (double)s->cases);
            print_share(table, 4, s->right, s->cases);
        }
    pfc_table_print(table);
}

static void list_wrong(const grade_result *r, uint64_t index)
{
    char text[160];

    grade_case_text(&r->c, text);
    for (size_t v = 0; v < GRADE_VIEWS; v++)
        if (r->verdict[v].first != r->truth)
            pfc_out_err("case %llu, %s: expected %s (margin %.2f), got %s at %.2f: %s\n",
                        (unsigned long long)index, view_names[v], pfc_resource_name(r->truth),
                        r->margin, pfc_resource_name(r->verdict[v].first), r->verdict[v].confidence,
                        text);
}

static void answer(const pfc_cli *cli, const work *w)
{
    grade_tally tallies[GRADE_VIEWS] = { 0 };
    uint64_t drawn = 0;

    for (uint64_t i = 0; i < (uint64_t)w->cmd->cases; i++) {
        drawn += w->results[i].drawn;
        if (w->cmd->list)
            list_wrong(&w->results[i], i);
        for (grade_view v = 0; v < GRADE_VIEWS; v++)
            grade_tally_add(&tallies[v], &w->results[i], v);
    }
    if (cli->json) {
        print_json(w->cmd, tallies, drawn);
        return;
    }
    print_views(cli, tallies);
    print_resources(cli, tallies);
    print_confidence(cli, tallies);
}

static int grade_limiter(pfc_cli *cli, int argc, char **argv);

const pfc_subcommand accel_part_grade_limiter = {
    .name = "grade-limiter",
    .summary = "how often the limiter that is named is the true one",
    .run = grade_limiter,
    .options = options,
    .doc = doc,
};

static int grade_limiter(pfc_cli *cli, int argc, char **argv)
{
    command cmd = { .seed = 1, .cases = 2000, .jobs = grade_default_jobs() };
    work w = { .cmd = &cmd };
    pfc_limiter_rules *rules = NULL;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &accel_part_grade_limiter, argc, argv, &cmd);
    code = pfc_limiter_rules_load(cmd.rules, &rules, &err);
    if (!code) {
        w.rules = rules;
        w.results = pfc_calloc((size_t)cmd.cases, sizeof(*w.results));
        code = grade_run_all(cli, (uint64_t)cmd.cases, cmd.jobs, measure, &w, &err);
    }
    if (!code)
        answer(cli, &w);
    free(w.results);
    pfc_limiter_rules_free(rules);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}
