/* perfci accel counters: what each counter says, for tools that read them years later. */
#include "cli/accel/accel.h"
#include "cli/output/output.h"

static const char counters_doc[] =
    "Lists the counters of the simulated accelerator."
    "\vA counter keeps its name for ever. \"since\" is the version of the simulator from which on "
    "it has the meaning that is listed; a law ties it to others and is checked after every run.\n"
    "\n"
    "Examples:\n"
    "  perfci accel counters\n"
    "  perfci accel counters --json\n";

static int accel_counters(pfc_cli *cli, int argc, char **argv);

const pfc_subcommand accel_part_counters = { .name = "counters",
                                             .summary = "the counters, and the laws between them",
                                             .run = accel_counters,
                                             .doc = counters_doc };

static void print_json(void)
{
    json_t *list = json_array();

    for (pfc_accel_counter c = 0; c < PFC_ACCEL_COUNTERS_LEN; c++) {
        const pfc_accel_counter_about a = pfc_accel_counter_describe(c);

        json_array_append_new(list, json_pack("{s:s, s:s, s:s?, s:s, s:i}", "name", a.name, "unit",
                                              a.unit, "domain", *a.domain ? a.domain : NULL, "law",
                                              a.law, "since", (int)a.since));
    }
    pfc_cli_print_json(list);
}

static void print_table(const pfc_cli *cli)
{
    static const pfc_table_col columns[] = {
        { "COUNTER", false }, { "UNIT", false }, { "DOMAIN", false },
        { "SINCE", false },   { "LAW", false },
    };
    pfc_table *table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));

    for (pfc_accel_counter c = 0; c < PFC_ACCEL_COUNTERS_LEN; c++) {
        const pfc_accel_counter_about a = pfc_accel_counter_describe(c);

        pfc_table_row(table);
        pfc_table_set(table, 0, a.name);
        pfc_table_set(table, 1, a.unit);
        pfc_table_set(table, 2, *a.domain ? a.domain : "-");
        pfc_table_setf(table, 3, "accel-%u", a.since);
        pfc_table_set(table, 4, a.law);
    }
    pfc_table_print(table);
}

static int accel_counters(pfc_cli *cli, int argc, char **argv)
{
    pfc_cli_parse(cli, &accel_part_counters, argc, argv, NULL);
    if (cli->json)
        print_json();
    else
        print_table(cli);
    return PFC_EXIT_OK;
}
