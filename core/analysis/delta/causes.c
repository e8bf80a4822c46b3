/* Causes: what differs between the runs, and the resource through which it acts. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/delta/delta_priv.h"
#include "core/base/base.h"

/* A second resource is named when it goes with at least this share of the difference. */
#define SECOND_SHARE 0.2
/* Traffic with device memory is named when it changed by at least this share. */
#define LEAST_TRAFFIC 0.01

pfc_resource pfc_delta_resource_of_constant(const char *key)
{
    static const struct {
        const char *key;
        pfc_resource resource;
    } rows[] = {
        { "array_rows", PFC_RESOURCE_COMPUTE },
        { "array_cols", PFC_RESOURCE_COMPUTE },
        { "f32_passes", PFC_RESOURCE_COMPUTE },
        { "array_load_rows", PFC_RESOURCE_WEIGHTS },
        { "vector_lanes", PFC_RESOURCE_VECTOR },
        { "vector_exp", PFC_RESOURCE_VECTOR },
        { "vector_latency", PFC_RESOURCE_LATENCY },
        { "vector_reduce", PFC_RESOURCE_LATENCY },
        { "hbm_latency", PFC_RESOURCE_LATENCY },
        { "sram_banks", PFC_RESOURCE_SCRATCHPAD },
        { "sram_port_bytes", PFC_RESOURCE_SCRATCHPAD },
        { "dma_engines", PFC_RESOURCE_DMA },
        { "dma_bytes", PFC_RESOURCE_DMA },
        { "dma_setup", PFC_RESOURCE_DMA },
        { "dma_window", PFC_RESOURCE_DMA },
        { "launch_ns", PFC_RESOURCE_HOST },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].key, key) == 0)
            return rows[i].resource;
    if (strncmp(key, "hbm_", 4) == 0 && strcmp(key, "hbm_bytes") != 0)
        return PFC_RESOURCE_MEMORY;
    if (strncmp(key, "pcie_", 5) == 0)
        return PFC_RESOURCE_PCIE;
    return strncmp(key, "host_", 5) == 0 ? PFC_RESOURCE_HOST : PFC_RESOURCE_NONE;
}

/* By resource: ticks of the difference that vanish with the resource, in the direction of the
 * difference. Where both runs have projections, recoverable ticks after minus before: without the
 * resource the totals differ by that much less. Else the contributions; also where no run would
 * gain by the projection, which is clipped at 0 there and cannot tell the runs apart. */
static void amounts_of(const pfc_profile *before, const pfc_profile *after, const pfc_delta *d,
                       double out[PFC_RESOURCES_LEN])
{
    const double sign = d->delta > 0 ? 1 : -1;

    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++) {
        char name[64];
        double a;
        double b;

        snprintf(name, sizeof(name), "recoverable_%s_cycles", pfc_resource_name(r));
        out[r] = sign * d->by_resource[r];
        if (pfc_profile_number_of(before, name, &a) && pfc_profile_number_of(after, name, &b) &&
            (a != 0 || b != 0))
            out[r] = sign * (b - a);
    }
}

static pfc_resource largest(const double amounts[PFC_RESOURCES_LEN], pfc_resource without)
{
    pfc_resource best = PFC_RESOURCE_NONE;

    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++)
        if (r != without && amounts[r] > 0 &&
            (best == PFC_RESOURCE_NONE || amounts[r] > amounts[best]))
            best = r;
    return best;
}

static PFC_PRINTF(5, 6) void add(pfc_delta *d, pfc_delta_kind kind, pfc_resource resource,
                                 const double *amounts, const char *fmt, ...)
{
    pfc_delta_cause *c;
    va_list args;

    if (d->causes_len == PFC_DELTA_MAX_CAUSES)
        return;
    c = &d->causes[d->causes_len++];
    c->kind = kind;
    c->resource = resource;
    if (resource != PFC_RESOURCE_NONE)
        c->ticks = d->delta > 0 ? amounts[resource] : -amounts[resource];
    else
        c->ticks = 0;
    va_start(args, fmt);
    vsnprintf(c->text, sizeof(c->text), fmt, args);
    va_end(args);
}

/* The causes from `from` on, those with the largest amount first. */
static void order_from(pfc_delta *d, size_t from)
{
    for (size_t i = from + 1; i < d->causes_len; i++)
        for (size_t j = i; j > from && fabs(d->causes[j].ticks) > fabs(d->causes[j - 1].ticks);
             j--) {
            const pfc_delta_cause swap = d->causes[j];

            d->causes[j] = d->causes[j - 1];
            d->causes[j - 1] = swap;
        }
}

/* Constants of the chip, those with the largest amount first. */
static size_t add_constants(const pfc_profile *before, const pfc_profile *after, pfc_delta *d,
                            const double *amounts)
{
    const size_t from = d->causes_len;

    for (size_t i = 0; i < before->numbers_len; i++) {
        const pfc_profile_number *n = &before->numbers[i];
        pfc_resource resource;
        double now;

        if (strncmp(n->name, "chip_", 5) != 0 || !pfc_profile_number_of(after, n->name, &now) ||
            now == n->value)
            continue;
        resource = pfc_delta_resource_of_constant(n->name + 5);
        if (resource == PFC_RESOURCE_NONE)
            resource = largest(amounts, PFC_RESOURCE_NONE);
        add(d, PFC_DELTA_CHIP, resource, amounts,
            "The chip's constant %s is %.15g instead of %.15g.", n->name + 5, now, n->value);
    }
    order_from(d, from);
    return d->causes_len - from;
}

/* The same of chips whose constants were not recorded. */
static void add_costs(const pfc_profile *before, const pfc_profile *after, pfc_delta *d,
                      const double *amounts)
{
    const size_t from = d->causes_len;
    pfc_delta_cost costs[PFC_DELTA_MAX_COSTS];
    const size_t len = d->same_chip ? 0 : pfc_delta_costs(before, after, costs);

    for (size_t i = 0; i < len; i++)
        add(d, PFC_DELTA_CHIP, costs[i].resource, amounts,
            "%s takes %.4g cycles instead of %.4g: the chip is another one, though its constants "
            "are not recorded.",
            costs[i].what, costs[i].after, costs[i].before);
    order_from(d, from);
}

/* Appends the clauses of `of` (between commas and semicolons) that `other` has not; "" when it has
 * all of them. */
static void only_in(const char *of, const char *other, char *out, size_t size)
{
    size_t len = 0;

    out[0] = '\0';
    for (const char *p = of; *p;) {
        const size_t clause = strcspn(p, ",;");
        const char *found = NULL;

        for (const char *q = other; *q && !found;) {
            const size_t n = strcspn(q, ",;");

            if (n == clause && strncmp(p, q, n) == 0)
                found = q;
            q += n;
            q += strspn(q, ",; ");
        }
        if (!found)
            len += (size_t)snprintf(out + len, size - len, "%s%.*s", len ? ", " : "",
                                    (int)PFC_MIN(clause, size - len), p);
        len = PFC_MIN(len, size - 1);
        p += clause;
        p += strspn(p, ",; ");
    }
}

/* The traffic that a schedule causes; "" where it moves as much as the other. */
static void traffic(const pfc_profile *before, const pfc_profile *after, char *out, size_t size)
{
    const double a =
        pfc_profile_or(before, "hbm_read_bytes", 0) + pfc_profile_or(before, "hbm_write_bytes", 0);
    const double b =
        pfc_profile_or(after, "hbm_read_bytes", 0) + pfc_profile_or(after, "hbm_write_bytes", 0);

    out[0] = '\0';
    if (a > 0 && b > 0 && fabs(b / a - 1) >= LEAST_TRAFFIC)
        snprintf(out, size, " Device memory moves %.4g MB instead of %.4g MB.", b / 1e6, a / 1e6);
}

static void add_choice(pfc_delta *d, pfc_resource resource, const double *amounts,
                       const char *before, const char *after, const char *more)
{
    char was[120];
    char is[120];

    only_in(before, after, was, sizeof(was));
    only_in(after, before, is, sizeof(is));
    if (was[0] && is[0])
        add(d, PFC_DELTA_CHOICE, resource, amounts, "The schedule has \"%s\" instead of \"%s\".%s",
            is, was, more);
    else
        add(d, PFC_DELTA_CHOICE, resource, amounts, "The schedule %s \"%s\".%s",
            is[0] ? "now also has" : "no longer has", is[0] ? is : was, more);
}

static void add_schedule(const pfc_profile *before, const pfc_profile *after, pfc_delta *d,
                         const double *amounts)
{
    const pfc_resource first = largest(amounts, PFC_RESOURCE_NONE);
    const pfc_resource second = largest(amounts, first);
    const char *a = pfc_profile_fact_of(before, "choice");
    const char *b = pfc_profile_fact_of(after, "choice");
    const bool choice = a && b && strcmp(a, b) != 0;
    const pfc_delta_kind kind = choice ? PFC_DELTA_CHOICE : PFC_DELTA_STREAM;
    char more[100];

    traffic(before, after, more, sizeof(more));
    if (choice)
        add_choice(d, first, amounts, a, b, more);
    else
        add(d, kind, first, amounts,
            "The command stream is another one, although the compiler's choice is the same.");
    if (first != PFC_RESOURCE_NONE && second != PFC_RESOURCE_NONE &&
        amounts[second] >= SECOND_SHARE * fabs(d->delta))
        add(d, kind, second, amounts, "The same change also acts through another resource: %s.",
            pfc_resource_meaning(second));
}

void pfc_delta_causes(const pfc_profile *before, const pfc_profile *after, pfc_delta *d)
{
    double amounts[PFC_RESOURCES_LEN];
    size_t constants;
    const char *stream = pfc_profile_fact_of(before, "stream_digest");

    if (d->delta == 0)
        return;
    amounts_of(before, after, d, amounts);
    constants = add_constants(before, after, d, amounts);
    if (constants == 0)
        add_costs(before, after, d, amounts);
    if (stream && pfc_profile_fact_of(after, "stream_digest") && !d->same_stream) {
        if (constants == 0)
            add_schedule(before, after, d, amounts);
        else
            add(d, PFC_DELTA_STREAM, largest(amounts, d->causes[0].resource), amounts,
                "The compiler emits another command stream for the changed chip.");
    }
    if (pfc_profile_fact_of(before, "simulator") && pfc_profile_fact_of(after, "simulator") &&
        !d->same_simulator)
        add(d, PFC_DELTA_SIMULATOR, largest(amounts, PFC_RESOURCE_NONE), amounts,
            "The simulator is %s instead of %s: totals of different versions are not comparable.",
            pfc_profile_fact_of(after, "simulator"), pfc_profile_fact_of(before, "simulator"));
    if (d->causes_len == 0)
        add(d, PFC_DELTA_UNKNOWN, largest(amounts, PFC_RESOURCE_NONE), amounts,
            stream && d->same_chip
                ? "Chip, command stream and simulator are the same, so the total should be, too."
                : "The runs differ in nothing that was recorded about their cause.");
}
