/* `perfci-bench --ceilings`: what the machine can do at best, as a table, a roofline, JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine/machine.h"
#include "bench/program.h"

#define SECONDS 2.0 /* for one core, and again for all: steadier than beside a suite */

static json_t *number(double value)
{
    return value > 0.0 && isfinite(value) ? json_real(value) : json_null();
}

static json_t *rates_json(const pfc_rates *r)
{
    json_t *out = json_object();
    json_t *compute = json_object();
    json_t *read = json_object();
    json_t *copy = json_object();

    for (int i = 0; i < PFC_COMPUTES; i++)
        json_object_set_new(compute, pfc_compute_name(i), number(r->gops[i]));
    for (int i = 0; i < PFC_LEVELS; i++) {
        json_object_set_new(read, pfc_level_name(i), number(r->read_gbps[i]));
        json_object_set_new(copy, pfc_level_name(i), number(r->copy_gbps[i]));
    }
    json_object_set_new(out, "gops", compute);
    json_object_set_new(out, "read_gbps", read);
    json_object_set_new(out, "copy_gbps", copy);
    return out;
}

static void print_json(const pfc_ceilings *c)
{
    json_t *doc = json_object();
    json_t *isa = json_object();
    json_t *sizes = json_object();
    char *text;

    for (int i = 0; i < PFC_COMPUTES; i++)
        json_object_set_new(isa, pfc_compute_name(i),
                            json_string(c->isa[i][0] ? c->isa[i] : PFC_NOT_AVAILABLE));
    for (int i = 0; i < PFC_LEVELS; i++)
        json_object_set_new(sizes, pfc_level_name(i), number(c->size_bytes[i]));
    json_object_set_new(doc, "isa", isa);
    json_object_set_new(doc, "size_bytes", sizes);
    json_object_set_new(doc, "one_core", rates_json(&c->one));
    json_object_set_new(doc, "all_cores", c->threads ? rates_json(&c->all) : json_null());
    json_object_set_new(doc, "threads", json_integer((json_int_t)c->threads));
    text = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    puts(text);
    free(text);
    json_decref(doc);
}

static void print_row(const char *what, const char *unit, double one, double all, const char *how)
{
    char texts[2][24];
    const double values[] = { one, all };

    for (int i = 0; i < 2; i++) {
        if (values[i] > 0.0)
            snprintf(texts[i], sizeof(texts[i]), "%.1f", values[i]);
        else
            snprintf(texts[i], sizeof(texts[i]), "%s", PFC_NOT_AVAILABLE);
    }
    printf("%-12s %-8s %14s %14s  %s\n", what, unit, texts[0], texts[1], how);
}

static void print_table(const pfc_ceilings *c)
{
    char name[32];
    char size[48];

    printf("%-12s %-8s %14s %9s (%2zu)  %s\n", "ceiling", "unit", "one core", "all", c->threads,
           "how");
    for (int i = 0; i < PFC_COMPUTES; i++)
        print_row(pfc_compute_name(i), i == PFC_COMPUTE_INT8 ? "GOP/s" : "GFLOP/s", c->one.gops[i],
                  c->all.gops[i], c->isa[i]);
    for (int i = 0; i < PFC_LEVELS; i++) {
        snprintf(size, sizeof(size), "up to %.0f KiB", c->size_bytes[i] / 1024.0);
        snprintf(name, sizeof(name), "%s read", pfc_level_name(i));
        print_row(name, "GB/s", c->one.read_gbps[i], c->all.read_gbps[i],
                  isfinite(c->size_bytes[i]) ? size : "");
        snprintf(name, sizeof(name), "%s copy", pfc_level_name(i));
        print_row(name, "GB/s", c->one.copy_gbps[i], c->all.copy_gbps[i], "read plus written");
    }
}

int pfc_bench_ceilings(const pfc_bench_args *args)
{
    pfc_ceilings c;
    pfc_err err = { 0 };

    pfc_ceilings_measure(SECONDS, true, &c);
    if (args->json) {
        print_json(&c);
    } else {
        print_table(&c);
        printf("\n");
        pfc_bench_roofline_text(stdout, &c);
    }
    if (args->svg && pfc_bench_roofline_svg(args->svg, &c, NULL, NULL, &err))
        return pfc_bench_fail(&err);
    return pfc_bench_flush();
}
