/* A comparison as a table. */
#include <stdio.h>

#include "cli/compare/compare.h"
#include "cli/output/output.h"
#include "core/base/buf.h"

#define MAX_DIFFERENCES 65536

static void show_side(pfc_table *table, size_t col, const pfc_cmp_side *s)
{
    char text[32];

    pfc_show_value(s->median, text);
    if (s->n)
        pfc_table_number(table, col, text, s->median);
}

/* "broken in B: wrong result" */
static void show_broken(pfc_table *table, size_t col, const pfc_cmp_row *r)
{
    const char *where = r->broken_a && r->broken_b ? " in A and B"
                        : r->broken_a              ? " in A"
                        : r->broken_b              ? " in B"
                                                   : "";

    pfc_table_setf(table, col, "broken%s%s%.900s", where, r->reason ? ": " : "",
                   r->reason ? r->reason : "");
}

/* classes: rows are of several machine classes, so that each says its own. verdict: the last
 * column; of stored results the one before it has the reproducibility class. */
static void print_row(pfc_table *table, const pfc_cmp_row *r, bool classes, size_t verdict)
{
    static const char *const colors[] = { NULL, "green", "yellow", "red", "red" };
    char text[32];
    char low[32];

    pfc_table_row(table);
    pfc_table_set(table, 0, r->benchmark);
    pfc_table_set(table, 1, r->metric);
    if (classes && r->machine_class)
        pfc_table_setf(table, 2, "%s (%s)", r->backend, r->machine_class);
    else
        pfc_table_set(table, 2, r->backend);
    pfc_table_set(table, verdict, pfc_cmp_name(r->verdict));
    if (colors[r->verdict])
        pfc_table_color(table, verdict, colors[r->verdict]);
    if (verdict > 9)
        pfc_table_set(table, 9, r->reproducibility);
    show_side(table, 3, &r->a);
    show_side(table, 4, &r->b);
    pfc_table_set(table, 5, r->unit);
    if (r->verdict == PFC_CMP_BROKEN) {
        show_broken(table, verdict, r);
        return;
    }
    pfc_show_percent(r->rel_change, text);
    pfc_table_number(table, 6, text, r->rel_change);
    pfc_show_percent(r->rel_low, low);
    pfc_show_percent(r->rel_high, text);
    pfc_table_interval(table, 7, (const char *[]){ low, text },
                       (const double[]){ r->rel_low, r->rel_high });
    pfc_table_setf(table, 8, "%lld+%lld", (long long)r->a.n, (long long)r->b.n);
}

/* The first line, before the numbers that it puts in question; not between rows for programs. */
static void print_differences(const pfc_cli *cli, const pfc_cmp *cmp)
{
    pfc_buf text;

    pfc_buf_init(&text, MAX_DIFFERENCES);
    for (size_t i = 0; i < cmp->differs_len; i++) {
        const pfc_cmp_difference *d = &cmp->differs[i];

        pfc_buf_printf(&text, "%s%s: %s -> %s", i ? "; " : "A and B differ in ", d->field,
                       d->a ? d->a : "(not recorded)", d->b ? d->b : "(not recorded)");
    }
    if (text.len)
        pfc_out_line(cli->csv ? stderr : stdout, pfc_buf_text(&text));
    pfc_buf_clear(&text);
}

/* How many more measurements would decide a row. */
static void print_open(const pfc_cmp_row *r)
{
    if (r->verdict == PFC_CMP_INCONCLUSIVE && r->more_rounds)
        pfc_out("not decided after %zu round%s: %s %s; about %zu more expected\n", r->rounds,
                r->rounds == 1 ? "" : "s", r->benchmark, r->metric, r->more_rounds);
    else if (r->verdict == PFC_CMP_INCONCLUSIVE && r->more_runs)
        pfc_out("not decided: %s %s; about %zu more run%s a side expected\n", r->benchmark,
                r->metric, r->more_runs, r->more_runs == 1 ? "" : "s");
}

/* Object code and counted functions of both sides. */
static void print_code(const pfc_cli *cli, const pfc_cmp *cmp)
{
    const pfc_table_col cols[] = { { "FUNCTION", false },
                                   { "INSTRUCTIONS A", true },
                                   { "INSTRUCTIONS B", true } };
    const size_t len = json_array_size(cmp->functions);
    pfc_table *table;

    if (cmp->object_code)
        pfc_out("object code: %s\n", cmp->object_code);
    if (len == 0)
        return;
    table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));
    for (size_t i = 0; i < len; i++) {
        const json_t *f = json_array_get(cmp->functions, i);

        pfc_table_row(table);
        pfc_table_set(table, 0, json_string_value(json_object_get(f, "name")));
        pfc_table_setf(table, 1, "%.0f", json_number_value(json_object_get(f, "before")));
        pfc_table_setf(table, 2, "%.0f", json_number_value(json_object_get(f, "after")));
    }
    pfc_table_print(table);
}

/* How the service found each end, and what lies between. */
static void print_ends(const pfc_cmp *cmp)
{
    const char *between = json_string_value(json_object_get(cmp->between, "sentence"));

    if (cmp->how_a && cmp->how_b) {
        pfc_out("A: %s\n", cmp->how_a);
        pfc_out("B: %s\n", cmp->how_b);
    }
    if (between)
        pfc_out("%s\n", between);
}

/* The geometric means of the service. */
static void print_means(const pfc_cli *cli, const pfc_cmp *cmp)
{
    const pfc_table_col cols[] = { { "KERNEL", false }, { "BACKEND", false },
                                   { "METRIC", false }, { "GEOMETRIC MEAN OF B/A", true },
                                   { "ROWS", true },    { "LEFT OUT", true } };
    const size_t len = json_array_size(cmp->means);
    pfc_table *table;
    char text[32];

    if (len == 0)
        return;
    table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));
    for (size_t i = 0; i < len; i++) {
        const json_t *m = json_array_get(cmp->means, i), *rel = json_object_get(m, "rel_change");

        pfc_table_row(table);
        pfc_table_set(table, 0, json_string_value(json_object_get(m, "kernel")));
        pfc_table_set(table, 1, json_string_value(json_object_get(m, "backend")));
        pfc_table_set(table, 2, json_string_value(json_object_get(m, "metric")));
        pfc_show_percent(json_number_value(rel), text);
        if (json_is_number(rel))
            pfc_table_number(table, 3, text, json_number_value(rel));
        pfc_table_setf(table, 4, "%.0f", json_number_value(json_object_get(m, "n")));
        pfc_table_setf(table, 5, "%.0f", json_number_value(json_object_get(m, "left_out")));
    }
    pfc_table_print(table);
}

static void print_reused(const pfc_cli *cli, const pfc_cmp *cmp)
{
    char *sentence = pfc_cmp_reused_sentence(cmp);

    if (sentence)
        pfc_cli_note(cli, "%s", sentence);
    free(sentence);
}

void pfc_cmp_print(const pfc_cli *cli, const pfc_cmp *cmp)
{
    pfc_table_col cols[] = { { "BENCHMARK", false },  { "METRIC", false },  { "BACKEND", false },
                             { "A", true },           { "B", true },        { "UNIT", false },
                             { "CHANGE", true },      { "INTERVAL", true }, { "N", true },
                             { "REPRODUCED", false }, { "VERDICT", false } };
    const size_t verdict = cmp->stored ? 10 : 9;
    pfc_table *table;
    const size_t only_a = json_array_size(cmp->only_a), only_b = json_array_size(cmp->only_b);
    bool classes = false;
    char text[32];

    cols[verdict] = cols[PFC_ARRAY_LEN(cols) - 1];
    table = pfc_table_new(cli, cols, verdict + 1);
    print_differences(cli, cmp);
    pfc_table_wrap(table, verdict);
    for (size_t i = 1; i < cmp->len; i++)
        classes |= !pfc_streq(cmp->rows[i].machine_class, cmp->rows[0].machine_class);
    for (size_t i = 0; i < cmp->len; i++)
        print_row(table, &cmp->rows[i], classes, verdict);
    pfc_table_print(table);
    for (size_t i = 0; i < cmp->len && !cli->csv; i++)
        print_open(&cmp->rows[i]);
    if (!cli->csv) {
        print_ends(cmp);
        print_means(cli, cmp);
        print_code(cli, cmp);
        pfc_cmp_print_explanation(cmp);
    }
    print_reused(cli, cmp);
    if (cmp->nothing)
        pfc_out("%s\n", cmp->nothing);
    else if (cmp->len == 0)
        pfc_cli_warn(cli, "nothing to compare: A and B have no measured benchmark in common");
    if (cmp->canary_rel != 0) {
        pfc_show_percent(cmp->canary_rel, text);
        pfc_cli_warn(cli,
                     "the same fixed work took %s in B: the machine ran at another speed, so that "
                     "timings may say more about it than about the code",
                     text);
    }
    if (pfc_cmp_is_undecided(cmp))
        pfc_cli_warn(
            cli, "not decided: A and B were measured with different machines or compilers, so the "
                 "difference may not come from the code\n"
                 "hint: pass --across to compare them anyway, or measure both here without "
                 "--stored");
    else if (pfc_cmp_machines_differ(cmp))
        pfc_cli_warn(cli, "the machines or compilers differ, so a difference may not come from the "
                          "code");
    if (cmp->hidden_a || cmp->hidden_b)
        pfc_cli_note(cli,
                     "hidden: %lld results of A and %lld of B are in quarantine and do not count "
                     "(perfci runner list)",
                     (long long)cmp->hidden_a, (long long)cmp->hidden_b);
    if (only_a || only_b)
        pfc_cli_note(cli, "not compared: %zu only in A, %zu only in B", only_a, only_b);
}

int pfc_cmp_exit(const pfc_cmp *cmp)
{
    if (cmp->failure)
        return cmp->failure_status;
    if (cmp->nothing)
        return PFC_EXIT_OK;
    switch (pfc_cmp_overall(cmp)) {
    case PFC_CMP_BROKEN:
        return PFC_EXIT_BROKEN;
    case PFC_CMP_REGRESSION:
        return PFC_EXIT_REGRESSION;
    case PFC_CMP_INCONCLUSIVE:
        return PFC_EXIT_INCONCLUSIVE;
    case PFC_CMP_SAME:
    case PFC_CMP_IMPROVEMENT:
    case PFC_CMP_VERDICTS:
        break;
    }
    return PFC_EXIT_OK;
}
