/* Reads a trace, finds its path, projects what each resource costs: see path.h. */
#include "core/analysis/path/path.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/analysis/path/build.h"
#include "core/base/base.h"

static pfc_code begin(void *arg, const pfc_trace_header *header, pfc_err *err)
{
    return pfc_path_begin(arg, header, err);
}

static pfc_code take_all(void *arg, const pfc_trace_record *records, size_t len, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < len && !code; i++)
        code = pfc_path_take(arg, &records[i], err);
    return code;
}

pfc_path_builder *pfc_path_builder_new(void)
{
    pfc_path_builder *b = pfc_calloc(1, sizeof(*b));

    b->consumer = (pfc_trace_consumer){ begin, take_all, b };
    b->path = pfc_calloc(1, sizeof(*b->path));
    return b;
}

void pfc_path_builder_free(pfc_path_builder *b)
{
    if (!b)
        return;
    for (size_t i = 0; b->units && i < b->graph.units_len; i++) {
        free(b->units[i].open);
        free(b->units[i].waits);
    }
    free(b->units);
    free(b->semaphores);
    free(b->signals);
    free(b->wait_for);
    free(b->path);
    free(b->graph.nodes);
    free(b->graph.units);
    free(b->graph.order);
    free(b->graph.waits);
    free(b->graph.slots);
    free(b->graph.first_slot);
    free(b);
}

const pfc_trace_consumer *pfc_path_builder_consumer(pfc_path_builder *b)
{
    return &b->consumer;
}

/* The model's saving, as a share of the model's total, of the run's total: the model of an
 * unchanged graph gives the run's total exactly. */
static void project(const pfc_path_graph *g, pfc_path *out)
{
    out->model = pfc_path_evaluate(g, PFC_RESOURCE_NONE);
    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++) {
        const bool outside = r == PFC_RESOURCE_PCIE || r == PFC_RESOURCE_HOST;
        const uint64_t without = outside ? out->model : pfc_path_evaluate(g, r);
        const uint64_t saved = out->model > without ? out->model - without : 0;

        out->recoverable[r] =
            saved ? (uint64_t)((double)saved / (double)out->model * (double)out->total + 0.5) : 0;
    }
}

pfc_code pfc_path_builder_finish(pfc_path_builder *b, pfc_path *out, pfc_err *err)
{
    pfc_code code = pfc_path_close(b, err);

    if (code)
        return code;
    pfc_path_walk(&b->graph, b->path);
    project(&b->graph, b->path);
    *out = *b->path;
    return PFC_OK;
}

pfc_code pfc_path_read(pfc_trace_reader *reader, pfc_path *out, pfc_err *err)
{
    pfc_path_builder *b = pfc_path_builder_new();
    pfc_code code = pfc_path_begin(b, pfc_trace_reader_header(reader), err);
    pfc_trace_record record;
    bool more = true;

    while (!code && more) {
        code = pfc_trace_read(reader, &record, &more, err);
        if (!code && more)
            code = pfc_path_take(b, &record, err);
    }
    if (!code)
        code = pfc_path_builder_finish(b, out, err);
    pfc_path_builder_free(b);
    return code;
}

pfc_code pfc_path_store(const pfc_path *path, pfc_profile *p, pfc_err *err)
{
    char name[128];
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < path->phases_len; i++)
        for (pfc_resource r = 0; r < PFC_RESOURCES_LEN && !code; r++) {
            if (!path->blocking[i][r])
                continue;
            snprintf(name, sizeof(name), "path.%s.%s", path->phases[i], pfc_resource_name(r));
            code = pfc_profile_set(p, name, (double)path->blocking[i][r], err);
        }
    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN && !code; r++) {
        snprintf(name, sizeof(name), "recoverable_%s_cycles", pfc_resource_name(r));
        code = pfc_profile_set(p, name, (double)path->recoverable[r], err);
    }
    if (!code)
        code = pfc_profile_set(p, "projection_cycles", (double)path->model, err);
    return code;
}
