/* perfci accel grade-guidance: gains that were predicted beside those that came true. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/accel/accel.h"
#include "cli/accel/advice/advice.h"
#include "cli/output/output.h"
#include "core/stats/stats.h"

#define MAX_CASES   100000
#define MAX_ENTRIES 64

typedef struct command {
    int64_t seed, cases;
    char *rules; /* of argv: folder of guidance.yaml and limiter.yaml; NULL: the built-in ones */
} command;

static const pfc_option options[] = {
    PFC_OPT_INTEGER("seed", "N", command, seed, 0, INT64_MAX, "Of the cases", .fallback = "1"),
    PFC_OPT_INTEGER("cases", "N", command, cases, 1, MAX_CASES, "Schedules that are drawn",
                    .fallback = "1000"),
    PFC_OPT_TEXT("rules", "DIR", command, rules, "Folder with guidance.yaml and limiter.yaml",
                 .fallback = "the built-in rules"),
    { 0 },
};

static const char doc[] =
    "Grades the guidance: predicted gains beside simulated ones."
    "\vA case is a GEMM on a built-in chip, some constants of which are varied, with tiles that "
    "are "
    "drawn from all that fit. From one run of it the gains of all advice are predicted; only then "
    "each change is applied by the tile compiler and simulated. \"median_error\" is the median of "
    "|predicted - simulated| / |simulated| over the advice that is first of its case, "
    "\"harmful_first\" the number of those that make the run slower. The same seed always gives "
    "the same cases.\n"
    "\n"
    "Examples:\n"
    "  perfci accel grade-guidance --seed 7 --cases 200\n"
    "  perfci accel grade-guidance --seed 7 --cases 1000 --json\n";

/* ---- what is counted ---- */

typedef struct sums {
    double *errors, *predicted, *simulated; /* of each advice */
    size_t len, cap;
    uint64_t harmful, within; /* slower after the change; gain inside of the interval */
} sums;

typedef struct grade {
    const pfc_guidance *guidance;
    sums first, all, by_entry[MAX_ENTRIES];
    uint64_t first_of[MAX_ENTRIES]; /* cases in which the entry was the first one */
    uint64_t advised;               /* cases with advice that was applied */
    uint64_t impossible;            /* advice whose schedule could not be compiled */
} grade;

/* Of gains below half a percent the error in points counts, or it would be without bound. */
#define LEAST_GAIN 0.005

static void count(sums *s, const advice_outcome *o)
{
    if (s->len == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->errors = pfc_realloc(s->errors, s->cap, sizeof(*s->errors));
        s->predicted = pfc_realloc(s->predicted, s->cap, sizeof(*s->predicted));
        s->simulated = pfc_realloc(s->simulated, s->cap, sizeof(*s->simulated));
    }
    s->errors[s->len] = fabs(o->predicted - o->simulated) / fmax(fabs(o->simulated), LEAST_GAIN);
    s->predicted[s->len] = o->predicted;
    s->simulated[s->len++] = o->simulated;
    s->harmful += o->simulated < 0;
    s->within += o->simulated >= o->low && o->simulated <= o->high;
}

static void clear(sums *s)
{
    free(s->errors);
    free(s->predicted);
    free(s->simulated);
}

static double median(const double *values, size_t len)
{
    return len ? pfc_stats_median(values, len) : (double)NAN;
}

static void count_case(grade *g, const advice_outcomes *o)
{
    g->impossible += o->impossible;
    g->advised += o->len > 0;
    for (size_t i = 0; i < o->len; i++) {
        const size_t entry = PFC_MIN(o->all[i].entry, (size_t)MAX_ENTRIES - 1);

        count(&g->all, &o->all[i]);
        count(&g->by_entry[entry], &o->all[i]);
        if (i > 0)
            continue;
        count(&g->first, &o->all[i]);
        g->first_of[entry]++;
    }
}

/* ---- answer ---- */

static json_t *share_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static double part(uint64_t some, size_t all)
{
    return all ? (double)some / (double)all : (double)NAN;
}

static json_t *entries_json(const grade *g)
{
    json_t *entries = json_object();
    const char *id;

    for (size_t i = 0; i < MAX_ENTRIES && (id = pfc_guidance_id(g->guidance, i)); i++) {
        const sums *s = &g->by_entry[i];

        if (s->len == 0)
            continue;
        json_object_set_new(
            entries, id,
            json_pack("{s:I, s:I, s:o, s:o, s:o, s:I, s:o}", "advised", (json_int_t)s->len, "first",
                      (json_int_t)g->first_of[i], "median_error",
                      share_or_null(median(s->errors, s->len)), "median_predicted",
                      share_or_null(median(s->predicted, s->len)), "median_simulated",
                      share_or_null(median(s->simulated, s->len)), "harmful",
                      (json_int_t)s->harmful, "within_interval",
                      share_or_null(part(s->within, s->len))));
    }
    return entries;
}

static void print_json(const grade *g, const command *cmd)
{
    pfc_cli_print_json(json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:o, s:o, s:o}", "seed", (json_int_t)cmd->seed,
        "cases", (json_int_t)cmd->cases, "advised", (json_int_t)g->advised, "advice",
        (json_int_t)g->all.len, "impossible", (json_int_t)g->impossible, "median_error",
        share_or_null(median(g->first.errors, g->first.len)), "median_error_all",
        share_or_null(median(g->all.errors, g->all.len)), "harmful_first",
        (json_int_t)g->first.harmful, "not_harmful_first",
        share_or_null(1 - part(g->first.harmful, g->first.len)), "within_interval",
        share_or_null(part(g->all.within, g->all.len)), "by_entry", entries_json(g)));
}

static void print_table(const pfc_cli *cli, const grade *g)
{
    static const pfc_table_col columns[] = { { "ENTRY", false },    { "ADVISED", true },
                                             { "FIRST", true },     { "PREDICTED", true },
                                             { "SIMULATED", true }, { "ERROR", true },
                                             { "SLOWER", true },    { "IN INTERVAL", true } };
    pfc_table *table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));
    const char *id;

    for (size_t i = 0; i < MAX_ENTRIES && (id = pfc_guidance_id(g->guidance, i)); i++) {
        const sums *s = &g->by_entry[i];

        if (s->len == 0)
            continue;
        pfc_table_row(table);
        pfc_table_set(table, 0, id);
        pfc_table_setf(table, 1, "%zu", s->len);
        pfc_table_setf(table, 2, "%llu", (unsigned long long)g->first_of[i]);
        pfc_table_setf(table, 3, "%.1f %%", 100 * median(s->predicted, s->len));
        pfc_table_setf(table, 4, "%.1f %%", 100 * median(s->simulated, s->len));
        pfc_table_setf(table, 5, "%.1f %%", 100 * median(s->errors, s->len));
        pfc_table_setf(table, 6, "%llu", (unsigned long long)s->harmful);
        pfc_table_setf(table, 7, "%.1f %%", 100 * part(s->within, s->len));
    }
    pfc_table_print(table);
    pfc_cli_note(cli,
                 "%llu cases with advice; first advice: median error %.1f %% of the gain, %llu "
                 "made the run slower",
                 (unsigned long long)g->advised, 100 * median(g->first.errors, g->first.len),
                 (unsigned long long)g->first.harmful);
}

static pfc_code measure_all(grade *g, const pfc_limiter_rules *rules, const command *cmd,
                            pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (int64_t i = 0; i < cmd->cases && !code; i++) {
        advice_outcomes outcomes;

        code = advice_measure(g->guidance, rules, (uint64_t)cmd->seed, (uint64_t)i, &outcomes, err);
        if (!code)
            count_case(g, &outcomes);
    }
    return code;
}

static int grade_guidance(pfc_cli *cli, int argc, char **argv);

const pfc_subcommand accel_part_grade_guidance = {
    .name = "grade-guidance",
    .summary = "how near predicted gains come to simulated ones",
    .run = grade_guidance,
    .options = options,
    .doc = doc,
};

static int grade_guidance(pfc_cli *cli, int argc, char **argv)
{
    command cmd = { .seed = 1, .cases = 1000 };
    grade *g = pfc_calloc(1, sizeof(*g));
    pfc_limiter_rules *rules = NULL;
    pfc_guidance *guidance = NULL;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &accel_part_grade_guidance, argc, argv, &cmd);
    code = pfc_limiter_rules_load(cmd.rules, &rules, &err);
    if (!code)
        code = pfc_guidance_load(cmd.rules, &guidance, &err);
    g->guidance = guidance;
    if (!code)
        code = measure_all(g, rules, &cmd, &err);
    if (!code && cli->json)
        print_json(g, &cmd);
    else if (!code)
        print_table(cli, g);
    clear(&g->first);
    clear(&g->all);
    for (size_t i = 0; i < MAX_ENTRIES; i++)
        clear(&g->by_entry[i]);
    pfc_guidance_free(guidance);
    pfc_limiter_rules_free(rules);
    free(g);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}
