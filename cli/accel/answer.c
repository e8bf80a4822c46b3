/* The answer to a case: JSON, or a table. */
#include <stdio.h>

#include "cli/accel/accel.h"
#include "cli/output/output.h"

static void set(json_t *doc, const char *name, json_t *value)
{
    json_object_set_new(doc, name, value);
}

static json_t *whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *counters_json(const pfc_accel_counters *counters)
{
    json_t *doc = json_object();

    for (pfc_accel_counter c = 0; c < PFC_ACCEL_COUNTERS_LEN; c++)
        set(doc, pfc_accel_counter_name(c), whole(counters->v[c]));
    set(doc, "dram_bytes",
        whole(counters->v[PFC_ACCEL_HBM_READ] + counters->v[PFC_ACCEL_HBM_WRITE]));
    return doc;
}

static json_t *whatif_json(const pfc_accel_whatif *whatif)
{
    json_t *doc = json_object();

    for (pfc_accel_resource i = 0; i < PFC_ACCEL_RESOURCES_LEN; i++)
        set(doc, pfc_accel_resource_name(i), whole(whatif->cycles[i]));
    return doc;
}

json_t *accel_answer_json(const accel_plan *p, const pfc_accel_result *r,
                          const pfc_accel_whatif *whatif)
{
    json_t *doc = json_object();
    char array[48];

    snprintf(array, sizeof(array), "%llux%llu", (unsigned long long)p->chip.array_rows,
             (unsigned long long)p->chip.array_cols);
    set(doc, "op", json_string(pfc_accel_kernel_name(p->problem.kernel)));
    set(doc, "chip", json_string(p->chip.name));
    set(doc, "dtype", json_string(pfc_accel_dtype_name(p->problem.dtype)));
    set(doc, "mode", json_string(pfc_accel_mode_name(p->mode)));
    set(doc, "array", json_string(array));
    set(doc, "cycles", whole(r->cycles));
    set(doc, "ceiling_cycles", whole(r->ceiling_cycles));
    set(doc, "time_ns", json_real(r->time_ns));
    set(doc, "utilization", json_real(r->utilization));
    set(doc, "limiter", json_string(pfc_accel_resource_name(whatif->limiter)));
    set(doc, "whatif", whatif_json(whatif));
    set(doc, "functional", json_boolean(r->functional));
    set(doc, "ticks", whole(r->ticks));
    set(doc, "counters", counters_json(&r->counters));
    set(doc, "digest", json_string(r->digest));
    set(doc, "stream_digest", json_string(r->stream_digest));
    set(doc, "chip_hash", json_string(p->chip.hash));
    set(doc, "simulator", json_string(PFC_ACCEL_VERSION));
    return doc;
}

void accel_answer_print(const pfc_cli *cli, const accel_plan *p, const pfc_accel_result *r,
                        const pfc_accel_whatif *whatif)
{
    static const pfc_table_col columns[] = { { "WHAT", false },
                                             { "VALUE", true },
                                             { "UNIT", false } };
    pfc_table *table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));

    pfc_table_row(table);
    pfc_table_set(table, 0, "time");
    pfc_table_setf(table, 1, "%.0f", r->time_ns);
    pfc_table_set(table, 2, "ns");
    pfc_table_row(table);
    pfc_table_set(table, 0, "utilization");
    pfc_table_setf(table, 1, "%.2f", r->utilization * 100.0);
    pfc_table_set(table, 2,
                  p->problem.kernel <= PFC_ACCEL_ATTENTION ? "% of the array" : "% of the lanes");
    if (r->cycles) {
        pfc_table_row(table);
        pfc_table_set(table, 0, "ceiling reached");
        pfc_table_setf(table, 1, "%.2f", 100.0 * (double)r->ceiling_cycles / (double)r->cycles);
        pfc_table_setf(table, 2, "%% of %llu cycles", (unsigned long long)r->ceiling_cycles);
    }
    pfc_table_row(table);
    pfc_table_set(table, 0, "limiter");
    pfc_table_set(table, 1, pfc_accel_resource_name(whatif->limiter));
    for (pfc_accel_counter c = 0; c < PFC_ACCEL_COUNTERS_LEN; c++) {
        if (r->counters.v[c] == 0)
            continue;
        pfc_table_row(table);
        pfc_table_set(table, 0, pfc_accel_counter_name(c));
        pfc_table_setf(table, 1, "%llu", (unsigned long long)r->counters.v[c]);
        pfc_table_set(table, 2, pfc_accel_counter_unit(c));
    }
    pfc_table_print(table);
    pfc_cli_note(cli, "digest %s, %s%s", r->digest, p->chip.name,
                 r->functional ? "" : ", timing only");
}
