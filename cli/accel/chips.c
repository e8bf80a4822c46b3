/* perfci accel chips */
#include "cli/accel/accel.h"
#include "cli/output/output.h"

typedef struct command {
    const char *text; /* a chip whose file is printed; NULL: the list */
} command;

static const pfc_option options[] = {
    PFC_OPT_TEXT("text", "NAME", command, text,
                 "Print the file of this chip, to be changed and given to accel run --chip"),
    { 0 },
};

static const char chips_doc[] = "Lists the built-in chips."
                                "\vExamples:\n"
                                "  perfci accel chips\n"
                                "  perfci accel chips --json\n"
                                "  perfci accel chips --text pfc-server > wider.chip\n";

static json_t *chip_json(const pfc_accel_chip *c)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:[I, I], s:I, s:I, s:I, s:I, s:I, s:I}", "name", c->name,
        "about", c->about, "mode", pfc_accel_mode_name(c->mode), "hash", c->hash, "clock_mhz",
        (json_int_t)c->clock_mhz, "array", (json_int_t)c->array_rows, (json_int_t)c->array_cols,
        "vector_lanes", (json_int_t)c->vector_lanes, "sram_bytes", (json_int_t)c->sram_bytes,
        "acc_bytes", (json_int_t)c->acc_bytes, "dma_engines", (json_int_t)c->dma_engines,
        "hbm_bytes", (json_int_t)c->hbm_bytes, "hbm_mbps", (json_int_t)c->hbm_mbps);
}

static int accel_chips(pfc_cli *cli, int argc, char **argv);

const pfc_subcommand accel_part_chips = {
    .name = "chips",
    .summary = "the built-in chips",
    .run = accel_chips,
    .options = options,
    .doc = chips_doc,
};

static int print_text(pfc_cli *cli, const char *name)
{
    pfc_err err = { 0 };

    for (size_t i = 0; pfc_accel_chip_name(i); i++) {
        if (!pfc_streq(pfc_accel_chip_name(i), name))
            continue;
        pfc_out("%s", pfc_accel_chip_text(i));
        return PFC_EXIT_OK;
    }
    (void)pfc_err_set(&err, PFC_EINVAL, "--text: expected a built-in chip, got \"%.60s\"", name);
    pfc_err_hint(&err, "perfci accel chips lists them");
    return pfc_cli_fail(cli, &err);
}

static int accel_chips(pfc_cli *cli, int argc, char **argv)
{
    static const pfc_table_col columns[] = {
        { "CHIP", false }, { "ARRAY", true }, { "MHZ", true }, { "ABOUT", false }
    };
    json_t *list = NULL;
    pfc_table *table = NULL;
    command cmd = { 0 };
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    pfc_cli_parse(cli, &accel_part_chips, argc, argv, &cmd);
    if (cmd.text)
        return print_text(cli, cmd.text);
    if (cli->json)
        list = json_array();
    else
        table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));
    for (size_t i = 0; pfc_accel_chip_name(i); i++) {
        if (pfc_accel_chip_load(pfc_accel_chip_name(i), &chip, &err)) {
            json_decref(list);
            return pfc_cli_fail(cli, &err);
        }
        if (list) {
            json_array_append_new(list, chip_json(&chip));
            continue;
        }
        pfc_table_row(table);
        pfc_table_set(table, 0, chip.name);
        pfc_table_setf(table, 1, "%llux%llu", (unsigned long long)chip.array_rows,
                       (unsigned long long)chip.array_cols);
        pfc_table_setf(table, 2, "%llu", (unsigned long long)chip.clock_mhz);
        pfc_table_set(table, 3, chip.about);
    }
    if (list)
        pfc_cli_print_json(list);
    else
        pfc_table_print(table);
    return PFC_EXIT_OK;
}
