/*
 * Runs as documents: from files, put together, shown as a table.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/measure/measure.h"
#include "cli/output/output.h"
#include "core/base/fs.h"
#include "core/import/import.h"
#include "core/stats/stats.h"

pfc_code pfc_take_file(const char *path, const char *format, const pfc_directions *directions,
                       pfc_run **out, pfc_err *err)
{
    const pfc_import_opts opts = { .format = format,
                                   .directions = directions->items,
                                   .directions_len = directions->len };
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, PFC_IMPORT_MAX_BYTES, &text, &len, err);

    if (!code) {
        code = pfc_import_text(&opts, text, len, out, err);
        if (code)
            pfc_err_wrap(err, "%.200s", path);
    }
    free(text);
    return code;
}

bool pfc_take_broken(const pfc_run *run)
{
    for (size_t i = 0; i < run->measurements_len; i++)
        if (run->measurements[i].status == PFC_STATUS_BROKEN)
            return true;
    return false;
}

static void row(pfc_table *table, const pfc_measurement *m)
{
    char text[32];
    char low[32];
    pfc_interval med;

    pfc_table_row(table);
    pfc_table_set(table, 0, m->benchmark);
    pfc_table_set(table, 1, m->metric);
    pfc_table_set(table, 2, m->backend);
    if (m->status != PFC_STATUS_OK || m->samples_len == 0) {
        pfc_table_set(table, 3, m->status == PFC_STATUS_SKIPPED ? "skipped" : "broken");
        pfc_table_color(table, 3, m->status == PFC_STATUS_SKIPPED ? "yellow" : "red");
        pfc_table_set(table, 6, m->reason);
        return;
    }
    med = pfc_stats_block_interval(m->samples, m->blocks, m->blocks_len, 0.95, 1);
    pfc_show_value(med.value, text);
    pfc_table_number(table, 3, text, med.value);
    pfc_show_value(med.low, low);
    pfc_show_value(med.high, text);
    if (m->samples_len > 1)
        pfc_table_interval(table, 4, (const char *[]){ low, text },
                           (const double[]){ med.low, med.high });
    else
        pfc_table_set(table, 4, m->exact ? "exact" : "-");
    pfc_table_setf(table, 5, "%zu", m->samples_len);
    pfc_table_set(table, 6, m->unit);
}

void pfc_take_print(const pfc_cli *cli, const pfc_run *run)
{
    static const pfc_table_col cols[] = { { "BENCHMARK", false }, { "METRIC", false },
                                          { "BACKEND", false },   { "MEDIAN", true },
                                          { "INTERVAL", true },   { "N", true },
                                          { "UNIT", false } };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < run->measurements_len; i++)
        row(table, &run->measurements[i]);
    pfc_table_print(table);
}
