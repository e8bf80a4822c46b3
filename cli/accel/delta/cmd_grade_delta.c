/* perfci accel grade-delta: how often the cause of a difference is named first. */
#include <stdlib.h>

#include "cli/accel/accel.h"
#include "cli/accel/delta/delta_grade.h"
#include "cli/accel/grade/grade.h"
#include "cli/accel/grade/parallel.h"
#include "cli/output/output.h"
#include "core/base/base.h"

#define MAX_CASES 100000

typedef struct command {
    int64_t seed, cases, jobs;
    bool list;
} command;

static const pfc_option options[] = {
    PFC_OPT_INTEGER("seed", "N", command, seed, 0, INT64_MAX, "Of the pairs", .fallback = "1"),
    PFC_OPT_INTEGER("cases", "N", command, cases, 1, MAX_CASES,
                    "Pairs that differ in one parameter; two fifths as many differ in two",
                    .fallback = "500"),
    PFC_OPT_INTEGER("jobs", "N", command, jobs, 1, GRADE_MAX_JOBS, "Threads",
                    .fallback = "one a processor"),
    PFC_OPT_FLAG("list", command, list, "Print each pair whose cause was named wrong on stderr"),
    { 0 },
};

static const char doc[] =
    "Grades the causes that are named for the difference of two runs against the parameters that "
    "were changed."
    "\vPairs are made from the seed: a constant of the chip, a tile size, an order or the buffers "
    "of a schedule is changed, and both runs are explained from what they recorded. A constant "
    "belongs to one resource; of a schedule the truth is the resource whose removal, simulated in "
    "both runs, removes most of the difference. A pair counts when the total changes by 1 % or "
    "more. \"blind\" is the same grade where the runs did not record the chip's constants, so that "
    "the resource has to show in the critical paths. \"double\" are pairs in which two constants "
    "of two resources were changed: the share of the two that is named.\n"
    "\n"
    "Examples:\n"
    "  perfci accel grade-delta --seed 7 --cases 100\n"
    "  perfci accel grade-delta --seed 7 --cases 500 --json\n";

typedef struct work {
    uint64_t seed, singles;
    delta_outcome *outcomes; /* the pairs with one change, then those with two */
} work;

/* Three in five pairs with one change are of a constant, the others of a schedule. */
static pfc_code measure(void *arg, uint64_t index, pfc_err *err)
{
    work *w = arg;
    const size_t constants = index >= w->singles ? 2 : index % 5 < 3 ? 1 : 0;

    return delta_measure(w->seed, index, constants, &w->outcomes[index], err);
}

/* ---- what was reached ---- */

typedef struct totals {
    grade_tally named, blind; /* pairs with one change */
    grade_share by_change[DELTA_CHANGES];
    grade_share blind_by_change[DELTA_CHANGES];
    grade_share both, blind_both; /* changed parameters of pairs with two changes */
    uint64_t equal, equal_named;
    double sum_error_max;
} totals;

static void add_one(grade_tally *tally, grade_share *change, const delta_outcome *o,
                    const pfc_resource named[2])
{
    const bool first = named[0] == o->truth[0];

    tally->cases++;
    tally->inconclusive += named[0] == PFC_RESOURCE_NONE;
    tally->top1 += first;
    tally->top2 += first || named[1] == o->truth[0];
    tally->by_resource[o->truth[0]].cases++;
    tally->by_resource[o->truth[0]].right += first;
    change->cases++;
    change->right += first;
}

static void add_two(grade_share *both, const delta_outcome *o, const pfc_resource named[2])
{
    for (size_t i = 0; i < 2; i++) {
        both->cases++;
        both->right += named[0] == o->truth[i] || named[1] == o->truth[i];
    }
}

static void add(totals *t, const delta_outcome *o)
{
    if (o->constants == 2) {
        add_two(&t->both, o, o->named);
        add_two(&t->blind_both, o, o->blind);
    } else {
        add_one(&t->named, &t->by_change[o->change], o, o->named);
        add_one(&t->blind, &t->blind_by_change[o->change], o, o->blind);
    }
    t->equal++;
    t->equal_named += o->equal_named;
    t->sum_error_max = PFC_MAX(t->sum_error_max, o->sum_error);
}

static void list(const delta_outcome *o, uint64_t index, const char *how,
                 const pfc_resource named[2])
{
    pfc_out_err("pair %llu, %s%s: expected %s, got %s, then %s: %s\n", (unsigned long long)index,
                delta_change_name(o->change), how, pfc_resource_name(o->truth[0]),
                pfc_resource_name(named[0]), pfc_resource_name(named[1]), o->text);
}

/* Of a pair with one change. */
static void list_wrong(const delta_outcome *o, uint64_t index)
{
    if (o->constants < 2 && o->named[0] != o->truth[0])
        list(o, index, "", o->named);
    else if (o->constants < 2 && o->blind[0] != o->truth[0])
        list(o, index, ", blind", o->blind);
}

/* ---- the answer ---- */

static double part(const grade_share *s)
{
    return s->cases ? (double)s->right / (double)s->cases : 0;
}

static json_t *share_json(const grade_share *s)
{
    return json_pack("{s:I, s:f, s:f}", "cases", (json_int_t)s->cases, "named", part(s), "low95",
                     grade_low95(s->right, s->cases));
}

static json_t *changes_json(const grade_share shares[DELTA_CHANGES])
{
    json_t *out = json_object();

    for (delta_change c = 0; c < DELTA_CHANGES; c++)
        json_object_set_new(out, delta_change_name(c), share_json(&shares[c]));
    return out;
}

/* Of a tally without confidences. */
static json_t *tally_json(const grade_tally *tally, const grade_share changes[DELTA_CHANGES],
                          const grade_share *both)
{
    json_t *out = grade_tally_json(tally);

    json_object_del(out, "confidence");
    json_object_set_new(out, "by_change", changes_json(changes));
    json_object_set_new(out, "double", share_json(both));
    return out;
}

static void print_json(const command *cmd, const totals *t)
{
    json_t *out = tally_json(&t->named, t->by_change, &t->both);

    json_object_set_new(out, "seed", json_integer(cmd->seed));
    json_object_set_new(out, "sum_error_max", json_real(t->sum_error_max));
    json_object_set_new(out, "named_first",
                        json_real((double)t->named.top1 / (double)t->named.cases));
    json_object_set_new(out, "equal",
                        json_pack("{s:I, s:I}", "cases", (json_int_t)t->equal, "with_cause",
                                  (json_int_t)t->equal_named));
    json_object_set_new(out, "blind", tally_json(&t->blind, t->blind_by_change, &t->blind_both));
    pfc_cli_print_json(out);
}

static void row(pfc_table *table, const char *name, const grade_share *named,
                const grade_share *blind)
{
    pfc_table_row(table);
    pfc_table_set(table, 0, name);
    pfc_table_setf(table, 1, "%llu", (unsigned long long)named->cases);
    pfc_table_setf(table, 2, "%.1f %%", 100 * part(named));
    pfc_table_setf(table, 3, "%.1f %%", 100 * grade_low95(named->right, named->cases));
    pfc_table_setf(table, 4, "%.1f %%", 100 * part(blind));
}

static void print_table(const pfc_cli *cli, const totals *t)
{
    static const pfc_table_col columns[] = { { "CHANGE", false },
                                             { "CASES", true },
                                             { "NAMED FIRST", true },
                                             { "AT LEAST", true },
                                             { "BLIND", true } };
    const grade_share named = { t->named.cases, t->named.top1 };
    const grade_share blind = { t->blind.cases, t->blind.top1 };
    pfc_table *table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));

    row(table, "one parameter", &named, &blind);
    for (delta_change c = 0; c < DELTA_CHANGES; c++)
        row(table, delta_change_name(c), &t->by_change[c], &t->blind_by_change[c]);
    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++)
        if (t->named.by_resource[r].cases)
            row(table, pfc_resource_name(r), &t->named.by_resource[r], &t->blind.by_resource[r]);
    row(table, "two parameters", &t->both, &t->blind_both);
    pfc_table_print(table);
    pfc_out("contributions: sum off by %.2g of the difference at most\n"
            "equal runs: %llu of %llu were given a cause\n",
            t->sum_error_max, (unsigned long long)t->equal_named, (unsigned long long)t->equal);
}

static int grade_delta(pfc_cli *cli, int argc, char **argv);

const pfc_subcommand accel_part_grade_delta = {
    .name = "grade-delta",
    .summary = "how often the cause of a difference is named first",
    .run = grade_delta,
    .options = options,
    .doc = doc,
};

static int grade_delta(pfc_cli *cli, int argc, char **argv)
{
    command cmd = { .seed = 1, .cases = 500, .jobs = grade_default_jobs() };
    totals t = { 0 };
    work w = { 0 };
    uint64_t all;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &accel_part_grade_delta, argc, argv, &cmd);
    w.seed = (uint64_t)cmd.seed;
    w.singles = (uint64_t)cmd.cases;
    all = w.singles + w.singles * 2 / 5;
    w.outcomes = pfc_calloc(all, sizeof(*w.outcomes));
    code = grade_run_all(cli, all, cmd.jobs, measure, &w, &err);
    for (uint64_t i = 0; i < all && !code; i++) {
        add(&t, &w.outcomes[i]);
        if (cmd.list)
            list_wrong(&w.outcomes[i], i);
    }
    free(w.outcomes);
    if (code)
        return pfc_cli_fail(cli, &err);
    if (cli->json)
        print_json(&cmd, &t);
    else
        print_table(cli, &t);
    return PFC_EXIT_OK;
}
