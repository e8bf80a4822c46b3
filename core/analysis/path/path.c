/* Reads a trace, finds its path, projects what each resource costs: see path.h. */
#include "core/analysis/path/path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    pfc_path_region_clear(&b->region);
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

static uint64_t ticks_of(const pfc_path_region *r, double ns)
{
    return (uint64_t)ceil(ns / r->tick_ns - 1e-6);
}

/* The path of a kernel becomes that of the region around it. Lists of the kernel's waits and hidden
 * time would be of one launch only, so a region has none. */
static pfc_code widen(pfc_path_region *r, pfc_path *path, pfc_err *err)
{
    pfc_path *kernel;
    double model;
    pfc_code code = pfc_path_region_close(r, err);

    if (code)
        return code;
    kernel = pfc_calloc(1, sizeof(*kernel));
    *kernel = *path;
    model = pfc_path_region_evaluate(r, PFC_RESOURCE_NONE, 1);
    path->total = ticks_of(r, r->calls[r->calls_len - 1].exit - r->calls[r->first].enter);
    path->model = ticks_of(r, model);
    /* The host's clock drifts: a model that agrees within that has the device's ticks. */
    if (fabs((double)path->model - (double)path->total) <= 1e-4 * (double)path->total + 2)
        path->total = path->model;
    path->commands += r->packets_len;
    path->waits_len = 0;
    memset(path->hidden, 0, sizeof(path->hidden));
    for (pfc_resource x = 0; x < PFC_RESOURCES_LEN; x++) {
        const double left = 1 - (double)kernel->recoverable[x] / (double)kernel->total;
        const double without = pfc_path_region_evaluate(r, x, left);

        path->recoverable[x] =
            model > without ? (uint64_t)((model - without) / model * (double)path->total + 0.5) : 0;
    }
    (void)pfc_path_region_evaluate(r, PFC_RESOURCE_NONE, 1);
    pfc_path_region_walk(r, kernel, path);
    free(kernel);
    return PFC_OK;
}

static void count_edges(const pfc_path_graph *g, pfc_path *out)
{
    for (size_t i = 0; i < g->len; i++) {
        const pfc_path_node *n = &g->nodes[i];

        for (size_t w = 0; w < n->waits_len; w++) {
            const pfc_path_node *by = &g->nodes[g->slots[g->waits[n->waits + w]]];

            out->edges[by->phase][n->phase]++;
        }
    }
}

pfc_code pfc_path_builder_finish(pfc_path_builder *b, pfc_path *out, pfc_err *err)
{
    pfc_code code = pfc_path_close(b, err);

    if (code)
        return code;
    pfc_path_walk(&b->graph, b->path);
    project(&b->graph, b->path);
    count_edges(&b->graph, b->path);
    if (pfc_path_has_region(&b->region))
        code = widen(&b->region, b->path, err);
    if (!code)
        *out = *b->path;
    return code;
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
    for (size_t i = 0; i < path->phases_len * path->phases_len && !code; i++) {
        const size_t from = i / path->phases_len;
        const size_t to = i % path->phases_len;

        if (!path->edges[from][to])
            continue;
        snprintf(name, sizeof(name), "edge.%s.%s", path->phases[from], path->phases[to]);
        code = pfc_profile_set(p, name, (double)path->edges[from][to], err);
    }
    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN && !code; r++) {
        snprintf(name, sizeof(name), "recoverable_%s_cycles", pfc_resource_name(r));
        code = pfc_profile_set(p, name, (double)path->recoverable[r], err);
    }
    if (!code)
        code = pfc_profile_set(p, "projection_cycles", (double)path->model, err);
    return code;
}
