/* The answer to a case: JSON, or a table. */
#include <stdio.h>
#include <string.h>

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

static json_t *list_of(const uint64_t *values, size_t len)
{
    json_t *list = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(list, whole(values[i]));
    return list;
}

static json_t *queue_json(const pfc_accel_queue_detail *q)
{
    json_t *doc = json_object();

    set(doc, "transfers", whole(q->transfers));
    set(doc, "bytes", whole(q->bytes));
    set(doc, "busy_cycles", whole(q->busy_cycles));
    set(doc, "setup_cycles", whole(q->setup_cycles));
    set(doc, "stall_hbm_cycles", whole(q->stall_hbm_cycles));
    set(doc, "wait_cycles", whole(q->wait_cycles));
    return doc;
}

static json_t *channel_json(const pfc_accel_channel_detail *c)
{
    json_t *doc = json_object();

    set(doc, "read_bytes", whole(c->read_bytes));
    set(doc, "write_bytes", whole(c->write_bytes));
    set(doc, "busy_cycles", whole(c->busy_cycles));
    set(doc, "queue_cycles", whole(c->queue_cycles));
    set(doc, "accesses", whole(c->accesses));
    set(doc, "row_hits", whole(c->row_hits));
    set(doc, "row_conflicts", whole(c->row_conflicts));
    set(doc, "turnarounds", whole(c->turnarounds));
    set(doc, "refreshes", whole(c->refreshes));
    return doc;
}

/* Element i of a histogram counts values from 2^i to 2^(i+1) - 1. */
static json_t *detail_json(const pfc_accel_detail *d)
{
    json_t *doc = json_object();
    json_t *queues = json_array();
    json_t *channels = json_array();

    for (size_t i = 0; i < d->queues_len; i++)
        json_array_append_new(queues, queue_json(&d->queues[i]));
    for (size_t i = 0; i < d->channels_len; i++)
        json_array_append_new(channels, channel_json(&d->channels[i]));
    set(doc, "queues", queues);
    set(doc, "channels", channels);
    set(doc, "bank_wait_cycles", list_of(d->bank_wait_cycles, d->banks_len));
    set(doc, "transfer_bytes", list_of(d->transfer_bytes, PFC_ACCEL_HISTOGRAM_LEN));
    set(doc, "transfer_stride", list_of(d->transfer_stride, PFC_ACCEL_HISTOGRAM_LEN));
    set(doc, "transfer_row_bytes", list_of(d->transfer_row_bytes, PFC_ACCEL_HISTOGRAM_LEN));
    set(doc, "reuse_bytes", list_of(d->reuse_bytes, PFC_ACCEL_HISTOGRAM_LEN));
    set(doc, "first_use", whole(d->first_use));
    return doc;
}

static json_t *program_json(const accel_plan *p, const accel_outcome *out)
{
    json_t *doc = json_object();

    set(doc, "file", json_string(p->file));
    set(doc, "hash", json_string(p->text->hash));
    set(doc, "reference",
        p->has_problem ? json_string(pfc_accel_kernel_name(p->problem.kernel)) : json_null());
    set(doc, "checked", json_boolean(out->checked));
    return doc;
}

static json_t *schedule_json(const accel_plan *p)
{
    const pfc_accel_gemm_tiles *t = &p->tiles;
    json_t *doc = json_object();

    set(doc, "file", json_string(p->file));
    set(doc, "hash", json_string(p->schedule.hash));
    set(doc, "m", whole(t->m));
    set(doc, "n", whole(t->n));
    set(doc, "k", whole(t->k));
    set(doc, "order", json_string(t->m_outer ? "m" : "n"));
    set(doc, "buffers", whole(t->slots));
    set(doc, "group", whole(t->group));
    set(doc, "queues", json_string(t->mixed ? "shared" : "split"));
    set(doc, "fuse", json_string(t->unfused ? "off" : "on"));
    return doc;
}

const char *accel_plan_name(const accel_plan *p)
{
    const char *slash = p->text ? strrchr(p->file, '/') : NULL;

    if (!p->text)
        return pfc_accel_kernel_name(p->problem.kernel);
    return slash ? slash + 1 : p->file;
}

static json_t *metric_json(json_t *value, const char *unit, bool higher_is_better)
{
    return json_pack("{s:o, s:s, s:b, s:b}", "value", value, "unit", unit, "higher_is_better",
                     (int)higher_is_better, "exact", 1);
}

/* The format is that of a measuring command, so that perfci run, compare and bisect can read it.
 * One run of a commit is enough. */
static json_t *metrics_json(const pfc_accel_result *r, uint64_t cycles, double time_ns)
{
    const uint64_t *v = r->counters.v;
    json_t *doc = json_object();

    set(doc, "cycles", metric_json(whole(cycles), "cycles", false));
    set(doc, "time_ns", metric_json(json_real(time_ns), "ns", false));
    set(doc, "dram_bytes",
        metric_json(whole(v[PFC_ACCEL_HBM_READ] + v[PFC_ACCEL_HBM_WRITE]), "bytes", false));
    return doc;
}

json_t *accel_answer_json(const accel_plan *p, const accel_outcome *out)
{
    const pfc_accel_result *r = &out->result;
    const pfc_accel_whatif *whatif = &out->whatif;
    const uint64_t cycles = p->has_region ? out->region.cycles : r->cycles;
    const double time_ns = p->has_region ? out->region.time_ns : r->time_ns;
    json_t *doc = json_object();
    char array[48];

    snprintf(array, sizeof(array), "%llux%llu", (unsigned long long)p->chip.array_rows,
             (unsigned long long)p->chip.array_cols);
    set(doc, "op", json_string(accel_plan_name(p)));
    set(doc, "chip", json_string(p->chip.name));
    set(doc, "dtype", json_string(pfc_accel_dtype_name(p->problem.dtype)));
    if (p->text)
        set(doc, "program", program_json(p, out));
    if (p->scheduled)
        set(doc, "schedule", schedule_json(p));
    set(doc, "mode", json_string(pfc_accel_mode_name(p->mode)));
    set(doc, "array", json_string(array));
    set(doc, "scope", json_string(p->has_region ? "region" : "kernel"));
    set(doc, "cycles", whole(cycles));
    set(doc, "ceiling_cycles", whole(r->ceiling_cycles));
    set(doc, "choice", json_string(r->choice));
    set(doc, "time_ns", json_real(time_ns));
    set(doc, "utilization", json_real(r->utilization));
    set(doc, "limiter", json_string(pfc_accel_resource_name(whatif->limiter)));
    set(doc, "whatif", whatif_json(whatif));
    set(doc, "functional", json_boolean(r->functional));
    set(doc, "ticks", whole(r->ticks));
    if (p->has_region)
        set(doc, "region", accel_region_json(p, &out->region));
    set(doc, "metrics", metrics_json(&out->result, cycles, time_ns));
    set(doc, "counters", counters_json(&r->counters));
    if (out->detailed)
        set(doc, "detail", detail_json(&out->detail));
    set(doc, "digest", json_string(r->digest));
    set(doc, "stream_digest", json_string(r->stream_digest));
    set(doc, "chip_hash", json_string(p->chip.hash));
    set(doc, "simulator", json_string(PFC_ACCEL_VERSION));
    return doc;
}

void accel_answer_print(const pfc_cli *cli, const accel_plan *p, const accel_outcome *out)
{
    const pfc_accel_result *r = &out->result;
    const pfc_accel_whatif *whatif = &out->whatif;
    static const pfc_table_col columns[] = { { "WHAT", false },
                                             { "VALUE", true },
                                             { "UNIT", false } };
    pfc_table *table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));

    pfc_table_row(table);
    pfc_table_set(table, 0, "time");
    pfc_table_setf(table, 1, "%.0f", p->has_region ? out->region.time_ns : r->time_ns);
    pfc_table_set(table, 2, "ns");
    pfc_table_row(table);
    pfc_table_set(table, 0, "utilization");
    pfc_table_setf(table, 1, "%.2f", r->utilization * 100.0);
    pfc_table_set(table, 2,
                  pfc_accel_problem_macs(&p->problem) || p->text ? "% of the array"
                                                                 : "% of the lanes");
    if (r->cycles && r->ceiling_cycles) {
        pfc_table_row(table);
        pfc_table_set(table, 0, "ceiling reached");
        pfc_table_setf(table, 1, "%.2f", 100.0 * (double)r->ceiling_cycles / (double)r->cycles);
        pfc_table_setf(table, 2, "%% of %llu cycles", (unsigned long long)r->ceiling_cycles);
    }
    pfc_table_row(table);
    pfc_table_set(table, 0, "limiter");
    pfc_table_set(table, 1, pfc_accel_resource_name(whatif->limiter));
    if (p->has_region)
        accel_region_rows(table, &out->region);
    for (pfc_accel_counter c = 0; c < PFC_ACCEL_COUNTERS_LEN; c++) {
        if (r->counters.v[c] == 0)
            continue;
        pfc_table_row(table);
        pfc_table_set(table, 0, pfc_accel_counter_name(c));
        pfc_table_setf(table, 1, "%llu", (unsigned long long)r->counters.v[c]);
        pfc_table_set(table, 2, pfc_accel_counter_unit(c));
    }
    pfc_table_print(table);
    pfc_cli_note(cli, "digest %s, %s%s%s", r->digest, p->chip.name,
                 r->functional ? "" : ", timing only",
                 out->checked ? ", equal to the reference" : "");
}
