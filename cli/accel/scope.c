/* The scope of a run: the kernel alone, or a region as the host sees it. */
#include <stdio.h>
#include <string.h>

#include "cli/accel/accel.h"

static pfc_code check_kernel_scope(const accel_request *r, pfc_err *err)
{
    const char *given = r->launches  ? "launches"
                        : *r->copies ? "copies"
                        : *r->sync   ? "sync"
                        : *r->wait   ? "wait"
                                     : NULL;

    return given ? pfc_err_set(err, PFC_EINVAL, "--%s needs --scope region", given) : PFC_OK;
}

pfc_code accel_scope_read(const accel_request *r, accel_plan *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (!*r->scope || strcmp(r->scope, "kernel") == 0)
        return check_kernel_scope(r, err);
    if (strcmp(r->scope, "region") != 0)
        return pfc_err_set(err, PFC_EINVAL, "scope: expected kernel or region, got \"%s\"",
                           r->scope);
    if (r->launches < 0 || r->launches > PFC_ACCEL_MAX_LAUNCHES)
        return pfc_err_set(err, PFC_EINVAL, "launches: expected 1..%d, got %lld",
                           PFC_ACCEL_MAX_LAUNCHES, (long long)r->launches);
    out->has_region = true;
    out->region.launches = (uint64_t)r->launches;
    if (*r->copies)
        code = pfc_accel_region_copies_parse(r->copies, &out->region.copies, err);
    if (!code && *r->sync)
        code = pfc_accel_region_sync_parse(r->sync, &out->region.sync, err);
    if (!code && *r->wait)
        code = pfc_accel_completion_parse(r->wait, &out->region.wait, err);
    return code;
}

static json_t *whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

json_t *accel_region_json(const accel_plan *p, const pfc_accel_region *g)
{
    const pfc_accel_host_stats *h = &g->host;
    json_t *doc = json_object();
    json_t *host = json_object();
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        { "calls", h->calls },           { "call_ns", h->call_ns },
        { "doorbells", h->doorbells },   { "doorbell_ns", h->doorbell_ns },
        { "waits", h->waits },           { "wait_ns", h->wait_ns },
        { "interrupts", h->interrupts }, { "copies", h->copies },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(counts); i++)
        json_object_set_new(host, counts[i].name, whole(counts[i].value));
    json_object_set_new(doc, "launches", whole(g->launches));
    json_object_set_new(doc, "copies", json_string(pfc_accel_region_copies_name(p->region.copies)));
    json_object_set_new(doc, "sync", json_string(pfc_accel_region_sync_name(p->region.sync)));
    json_object_set_new(doc, "wait", json_string(pfc_accel_completion_name(p->region.wait)));
    json_object_set_new(doc, "kernel_cycles", whole(g->kernel_cycles));
    json_object_set_new(doc, "pcie_h2d_bytes", whole(g->counters.v[PFC_ACCEL_PCIE_DOWN]));
    json_object_set_new(doc, "pcie_d2h_bytes", whole(g->counters.v[PFC_ACCEL_PCIE_UP]));
    json_object_set_new(doc, "pcie_busy_cycles", whole(g->counters.v[PFC_ACCEL_PCIE_BUSY]));
    json_object_set_new(doc, "host", host);
    return doc;
}

static void row(pfc_table *table, const char *what, uint64_t value, const char *unit)
{
    pfc_table_row(table);
    pfc_table_set(table, 0, what);
    pfc_table_setf(table, 1, "%llu", (unsigned long long)value);
    pfc_table_set(table, 2, unit);
}

void accel_region_rows(pfc_table *table, const pfc_accel_region *g)
{
    row(table, "launches", g->launches, "");
    row(table, "region cycles", g->cycles, "cycles");
    row(table, "kernel cycles", g->kernel_cycles, "of all launches");
    row(table, "link busy", g->counters.v[PFC_ACCEL_PCIE_BUSY], "cycles, both directions added");
    row(table, "host calls", g->host.calls, "");
    row(table, "host in calls", g->host.call_ns, "ns");
    row(table, "host at doorbells", g->host.doorbell_ns, "ns");
    row(table, "host waiting", g->host.wait_ns, "ns");
    for (pfc_accel_resource r = 0; r < PFC_ACCEL_RESOURCES_LEN; r++) {
        char what[48];

        snprintf(what, sizeof(what), "without %s", pfc_accel_resource_name(r));
        row(table, what, g->whatif.cycles[r], "cycles");
    }
}
