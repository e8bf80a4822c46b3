/* A model's shapes as the text of a suite. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/suite/model.h"
#include "core/base/buf.h"

#define MAX_TEXT (256u * 1024)

/* Every shape of all wanted phases, once. */
typedef struct collected {
    pfc_model_shape items[PFC_PHASES * PFC_MODEL_MAX_SHAPES];
    char uses[PFC_PHASES * PFC_MODEL_MAX_SHAPES][400]; /* with the phases' names */
    size_t len;
} collected;

static void collect(collected *all, const pfc_model_shape *shape, pfc_model_phase phase)
{
    const char *name = pfc_model_phase_name(phase);
    size_t at = 0;
    size_t used;

    while (at < all->len && (all->items[at].op != shape->op ||
                             memcmp(all->items[at].params, shape->params, sizeof(shape->params))))
        at++;
    if (at == all->len)
        all->items[all->len++] = *shape;
    used = strlen(all->uses[at]);
    snprintf(all->uses[at] + used, sizeof(all->uses[at]) - used, "%s%s: %s", used ? "; " : "", name,
             shape->use);
    all->items[at].headline = all->items[at].headline || shape->headline;
}

static void print_shape(pfc_buf *out, const pfc_model_shape *shape, const char *use)
{
    const pfc_op *op = shape->op;
    const char *sep = "";

    pfc_buf_puts(out, "      - {");
    for (size_t i = 0; i < op->params_len; i++) {
        if (shape->params[i] == op->params[i].fallback)
            continue;
        if (op->params[i].max == 1) /* a switch */
            pfc_buf_printf(out, "%s%s: true", sep, op->params[i].name);
        else
            pfc_buf_printf(out, "%s%s: %lld", sep, op->params[i].name, (long long)shape->params[i]);
        sep = ", ";
    }
    pfc_buf_printf(out, "}  # %s\n", use);
}

/* The entries of one operation: those that count in its headline, then those that do not. */
static void print_op(pfc_buf *out, const collected *all, const pfc_op *op, const char *dtype)
{
    for (int headline = 1; headline >= 0; headline--) {
        bool first = true;

        for (size_t i = 0; i < all->len; i++) {
            if (all->items[i].op != op || all->items[i].headline != (headline == 1))
                continue;
            if (first)
                pfc_buf_printf(out, "  - op: %s\n    dtype: %s\n%s    shapes:\n", op->name, dtype,
                               headline ? "" : "    headline: false\n");
            first = false;
            print_shape(out, &all->items[i], all->uses[i]);
        }
    }
}

/* A path may hold anything, a comment ends with its line. */
static void print_source(pfc_buf *out, const char *source)
{
    for (const char *p = source; *p; p++)
        pfc_buf_putc(out, (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p);
}

static void print_head(pfc_buf *out, const pfc_model *m, const pfc_model_suite_opts *o,
                       int64_t batch, int64_t sequence)
{
    pfc_buf_printf(out, "# %s%s", m->name, o->source ? ", from " : "");
    print_source(out, o->source ? o->source : "");
    pfc_buf_printf(out,
                   ": %lld layers, width %lld, %lld heads (%lld of keys and values) of %lld, "
                   "MLP %lld, %s %lld%s.\n",
                   (long long)m->layers, (long long)m->hidden, (long long)m->heads,
                   (long long)m->kv_heads, (long long)m->head_dim, (long long)m->intermediate,
                   m->family == PFC_MODEL_VIT ? "classes" : "vocabulary", (long long)m->vocab,
                   m->tied ? ", head tied to the embedding" : "");
    if (m->family == PFC_MODEL_VIT)
        pfc_buf_printf(
            out, "# Shapes of one layer and the ends, batch of %lld images, %lld tokens each.\n",
            (long long)batch, (long long)m->max_sequence);
    else
        pfc_buf_printf(out,
                       "# Shapes of one layer and the head, batch of %lld, %lld tokens each.\n",
                       (long long)batch, (long long)sequence);
    pfc_buf_printf(out,
                   "suite: %s\n\n"
                   "settings: {processes: 5, min_samples: 25, max_samples: 200, max_seconds: 1.0,\n"
                   "           warmup_seconds: 0.05, interval_rel: 0.01}\n\n"
                   "backends: [\"cpu-avx*\", cpu-neon]\n\n"
                   "benchmarks:\n",
                   o->name ? o->name : m->name);
}

static bool wanted(const pfc_model *model, const pfc_model_suite_opts *opts, pfc_model_phase phase)
{
    for (size_t i = 0; i < PFC_PHASES; i++) {
        if (opts->phases[i])
            return opts->phases[phase];
    }
    return pfc_model_has_phase(model, phase);
}

pfc_code pfc_model_suite(const pfc_model *model, const pfc_model_suite_opts *opts, char **out,
                         pfc_err *err)
{
    const bool whole = strcmp(opts->dtype, "int8") != 0; /* int8 is for products alone */
    const int64_t batch = opts->batch ? opts->batch : 1;
    const int64_t sequence =
        opts->sequence ? opts->sequence : PFC_MIN(model->max_sequence, (int64_t)128);
    collected *all = pfc_alloc(sizeof(*all));
    pfc_model_shape *shapes = pfc_calloc(PFC_MODEL_MAX_SHAPES, sizeof(*shapes));
    size_t ops_len = 0;
    const pfc_op *ops = pfc_op_list(&ops_len);
    pfc_buf text;
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < PFC_PHASES; i++) {
        const pfc_model_use use = { .phase = (pfc_model_phase)i,
                                    .batch = batch,
                                    .sequence = sequence };
        size_t len = 0;

        if (!wanted(model, opts, use.phase))
            continue;
        code = pfc_model_shapes(model, &use, shapes, &len, err);
        for (size_t k = 0; !code && k < len; k++)
            collect(all, &shapes[k], use.phase);
    }
    pfc_buf_init(&text, MAX_TEXT);
    print_head(&text, model, opts, batch, sequence);
    for (size_t i = 0; i < ops_len; i++) {
        if (whole || strcmp(ops[i].name, "gemm") == 0)
            print_op(&text, all, &ops[i], opts->dtype);
    }
    if (!code)
        code = pfc_buf_check(&text, "suite", err);
    if (!code)
        *out = pfc_buf_take(&text);
    pfc_buf_clear(&text);
    free(shapes);
    free(all);
    return code;
}
