/* Models: the built-in ones, and what each family computes. */
#include "bench/suite/model.h"

#include <stdio.h>
#include <string.h>

#define MEAN_MAX_FLOATS ((int64_t)1 << 28) /* 1 GiB of operands */

/*
 * Figures of the built-in models, as published:
 *   Llama 2 7B   Touvron et al. 2023 (arXiv:2307.09288); config.json of meta-llama/Llama-2-7b-hf
 *   Llama 3 8B   Grattafiori et al. 2024 (arXiv:2407.21783, table 3); config.json of
 *                meta-llama/Meta-Llama-3-8B
 *   BERT base    Devlin et al. 2019 (arXiv:1810.04805);
 *                config.json of google-bert/bert-base-uncased
 *   GPT-2        Radford et al. 2019, 124 M; config.json of openai-community/gpt2
 *   ViT-B/16     Dosovitskiy et al. 2021 (arXiv:2010.11929), 224 x 224 pixels, 1000 classes;
 *                config.json of google/vit-base-patch16-224
 */
static const pfc_model models[] = {
    { .name = "llama-2-7b",
      .family = PFC_MODEL_LLAMA,
      .layers = 32,
      .hidden = 4096,
      .heads = 32,
      .kv_heads = 32,
      .head_dim = 128,
      .intermediate = 11008,
      .vocab = 32000,
      .max_sequence = 4096 },
    { .name = "llama-3-8b",
      .family = PFC_MODEL_LLAMA,
      .layers = 32,
      .hidden = 4096,
      .heads = 32,
      .kv_heads = 8,
      .head_dim = 128,
      .intermediate = 14336,
      .vocab = 128256,
      .max_sequence = 8192 },
    { .name = "bert-base",
      .family = PFC_MODEL_BERT,
      .layers = 12,
      .hidden = 768,
      .heads = 12,
      .kv_heads = 12,
      .head_dim = 64,
      .intermediate = 3072,
      .vocab = 30522,
      .max_sequence = 512,
      .tied = true },
    { .name = "gpt2",
      .family = PFC_MODEL_GPT2,
      .layers = 12,
      .hidden = 768,
      .heads = 12,
      .kv_heads = 12,
      .head_dim = 64,
      .intermediate = 3072,
      .vocab = 50257,
      .max_sequence = 1024,
      .tied = true },
    { .name = "vit-b",
      .family = PFC_MODEL_VIT,
      .layers = 12,
      .hidden = 768,
      .heads = 12,
      .kv_heads = 12,
      .head_dim = 64,
      .intermediate = 3072,
      .vocab = 1000,
      .max_sequence = 197,
      .patch_values = 768 },
};

static const char *const phase_names[PFC_PHASES] = { "prefill", "decode", "training" };

const char *pfc_model_phase_name(pfc_model_phase phase)
{
    return phase_names[phase];
}

pfc_code pfc_model_phase_parse(const char *name, pfc_model_phase *out, pfc_err *err)
{
    for (size_t i = 0; i < PFC_PHASES; i++) {
        if (strcmp(phase_names[i], name) == 0) {
            *out = (pfc_model_phase)i;
            return PFC_OK;
        }
    }
    return pfc_err_set(err, PFC_EINVAL, "phase: expected prefill, decode or training, got '%.40s'",
                       name);
}

bool pfc_model_has_phase(const pfc_model *model, pfc_model_phase phase)
{
    return phase != PFC_PHASE_DECODE ||
           (model->family != PFC_MODEL_BERT && model->family != PFC_MODEL_VIT);
}

const pfc_model *pfc_model_builtin(const char *name)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(models); i++) {
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    }
    return NULL;
}

const char *const *pfc_model_builtin_names(void)
{
    static const char *const names[PFC_ARRAY_LEN(models) + 1] = {
        "llama-2-7b", "llama-3-8b", "bert-base", "gpt2", "vit-b", NULL,
    };

    return names;
}

/* ---- shapes ---- */

typedef struct shapes {
    const pfc_model *model;
    const pfc_model_use *use;
    pfc_model_shape *items;
    size_t len;
    int64_t tokens;     /* rows of a layer's activations */
    const char *prefix; /* of uses: "", "gradient of " */
    pfc_code code;      /* of the first failure; later calls do nothing */
    pfc_err *err;
} shapes;

static void add_use(pfc_model_shape *shape, const char *prefix, const char *use)
{
    const size_t len = strlen(shape->use);

    snprintf(shape->use + len, sizeof(shape->use) - len, "%s%s%s", len ? ", " : "", prefix, use);
}

static void check_limits(shapes *s, const pfc_op *op, const int64_t *params, const char *use)
{
    for (size_t i = 0; i < op->params_len && !s->code; i++) {
        const pfc_op_param *p = &op->params[i];
        if (params[i] < p->min || params[i] > p->max)
            s->code = pfc_err_set(s->err, PFC_EINVAL,
                                  "%s, %s: %s of %s would be %lld, a suite takes %lld..%lld",
                                  s->model->name, use, p->name, op->name, (long long)params[i],
                                  (long long)p->min, (long long)p->max);
    }
}

/* params: of the operation, in its order; those that it has beyond them take their fallback */
static void add(shapes *s, const char *op_name, const int64_t *params, size_t given, bool headline,
                const char *use)
{
    const pfc_op *op = pfc_op_find(op_name);
    int64_t all[PFC_OP_MAX_PARAMS] = { 0 };
    pfc_model_shape *shape;

    for (size_t i = 0; i < op->params_len; i++)
        all[i] = i < given ? params[i] : op->params[i].fallback;
    check_limits(s, op, all, use);
    if (s->code)
        return;
    for (size_t i = 0; i < s->len; i++) {
        if (s->items[i].op == op && memcmp(s->items[i].params, all, sizeof(all)) == 0) {
            add_use(&s->items[i], s->prefix, use);
            s->items[i].headline = s->items[i].headline || headline;
            return;
        }
    }
    if (s->len == PFC_MODEL_MAX_SHAPES) {
        s->code = pfc_err_set(s->err, PFC_EBUG, "%s: more than %d shapes", s->model->name,
                              PFC_MODEL_MAX_SHAPES);
        return;
    }
    shape = &s->items[s->len++];
    *shape = (pfc_model_shape){ .op = op, .headline = headline };
    memcpy(shape->params, all, sizeof(all));
    add_use(shape, s->prefix, use);
}

/* A product too large for some machines is not a headline: its absence would remove the mean there.
 */
static void gemm(shapes *s, int64_t m, int64_t n, int64_t k, bool headline, const char *use)
{
    const int64_t floats = m * k + k * n + m * n;

    add(s, "gemm", (const int64_t[]){ m, n, k }, 3, headline && floats <= MEAN_MAX_FLOATS, use);
}

/* y[m,n] = x[m,k] w[k,n], and in training its gradients; the input of all has none of its own. */
static void product(shapes *s, int64_t m, int64_t n, int64_t k, bool input, const char *use)
{
    gemm(s, m, n, k, true, use);
    if (s->use->phase != PFC_PHASE_TRAINING)
        return;
    s->prefix = "dX of ";
    if (!input)
        gemm(s, m, k, n, true, use);
    s->prefix = "dW of ";
    gemm(s, k, n, m, true, use);
    s->prefix = "";
}

static void linear(shapes *s, int64_t m, int64_t n, int64_t k, const char *use)
{
    product(s, m, n, k, false, use);
}

static void norm(shapes *s, const char *use)
{
    add(s, s->model->family == PFC_MODEL_LLAMA ? "rmsnorm" : "layernorm",
        (const int64_t[]){ s->tokens, s->model->hidden }, 2, true, use);
}

/* Of several heads that share keys and values there are two: as it is, and with the keys and values
 * repeated for every head, as frameworks without such a kernel do it (repeat_kv of Hugging Face
 * transformers). The former counts in no mean until every backend has it. */
static void attention(shapes *s)
{
    const pfc_model *m = s->model;
    const int64_t heads = s->use->batch * m->heads;
    const int64_t kv = m->kv_heads == m->heads ? 0 : s->use->batch * m->kv_heads;
    const int64_t seq = m->family == PFC_MODEL_VIT ? m->max_sequence : s->use->sequence;
    const int64_t group = m->heads / m->kv_heads;
    const int64_t causal = m->family == PFC_MODEL_LLAMA || m->family == PFC_MODEL_GPT2;

    if (s->use->phase != PFC_PHASE_DECODE) {
        add(s, "attention", (const int64_t[]){ heads, seq, m->head_dim, causal, 0, 0 }, 6, true,
            kv ? "attention, keys and values repeated" : "attention");
        if (kv)
            add(s, "attention", (const int64_t[]){ heads, seq, m->head_dim, causal, 0, kv }, 6,
                false, "attention, grouped heads");
        return;
    }
    add(s, "attention", (const int64_t[]){ heads, seq, m->head_dim, 0, 1, kv }, 6, false,
        "attention to the cache");
    /* Its parts, which every backend has: the queries of a group share their keys. */
    gemm(s, group, seq, m->head_dim, false, "scores of a group of heads");
    gemm(s, group, m->head_dim, seq, false, "values of a group of heads");
    add(s, "softmax", (const int64_t[]){ heads, seq }, 2, true, "attention weights");
}

static void llama(shapes *s)
{
    const pfc_model *m = s->model;

    linear(s, s->tokens, m->heads * m->head_dim, m->hidden, "Q");
    linear(s, s->tokens, m->kv_heads * m->head_dim, m->hidden, "K, V");
    linear(s, s->tokens, m->hidden, m->heads * m->head_dim, "O");
    linear(s, s->tokens, m->intermediate, m->hidden, "gate, up");
    linear(s, s->tokens, m->hidden, m->intermediate, "down");
    norm(s, "before attention and MLP, last");
}

static void gpt2(shapes *s)
{
    const pfc_model *m = s->model;

    linear(s, s->tokens, 3 * m->hidden, m->hidden, "QKV");
    linear(s, s->tokens, m->hidden, m->hidden, "projection");
    linear(s, s->tokens, m->intermediate, m->hidden, "MLP up");
    linear(s, s->tokens, m->hidden, m->intermediate, "MLP down");
    norm(s, "before attention and MLP, last");
}

static void encoder(shapes *s)
{
    const pfc_model *m = s->model;

    linear(s, s->tokens, m->hidden, m->hidden, "Q, K, V, O");
    linear(s, s->tokens, m->intermediate, m->hidden, "MLP up");
    linear(s, s->tokens, m->hidden, m->intermediate, "MLP down");
    norm(s,
         m->family == PFC_MODEL_VIT ? "before attention and MLP, last" : "after attention and MLP");
}

/* Operations before and after the layers. Generation needs only the last token's logits. */
static void head(shapes *s)
{
    const pfc_model *m = s->model;
    const bool training = s->use->phase == PFC_PHASE_TRAINING;
    const int64_t rows = training ? s->tokens : s->use->batch;

    switch (m->family) {
    case PFC_MODEL_LLAMA:
    case PFC_MODEL_GPT2:
        linear(s, rows, m->vocab, m->hidden, m->tied ? "head (tied to the embedding)" : "head");
        add(s, "softmax", (const int64_t[]){ rows, m->vocab }, 2, true, "vocabulary");
        break;
    case PFC_MODEL_BERT:
        if (!training) {
            linear(s, s->use->batch, m->hidden, m->hidden, "pooler");
            break;
        }
        linear(s, rows, m->hidden, m->hidden, "transform of the language head");
        linear(s, rows, m->vocab, m->hidden, "language head (tied to the embedding)");
        add(s, "softmax", (const int64_t[]){ rows, m->vocab }, 2, true, "vocabulary");
        break;
    case PFC_MODEL_VIT:
        product(s, s->use->batch * (m->max_sequence - 1), m->hidden, m->patch_values, true,
                "patch embedding");
        if (m->vocab > 0)
            linear(s, s->use->batch, m->vocab, m->hidden, "classifier");
        break;
    }
}

static pfc_code check_use(const pfc_model *model, const pfc_model_use *use, pfc_err *err)
{
    if (!pfc_model_has_phase(model, use->phase))
        return pfc_err_set(err, PFC_EINVAL,
                           "%s is an encoder, it has no decode phase (it has prefill, its forward "
                           "pass, and training)",
                           model->name);
    if (use->batch < 1 || use->batch > 1024)
        return pfc_err_set(err, PFC_EINVAL, "batch: expected 1..1024, got %lld",
                           (long long)use->batch);
    if (model->family != PFC_MODEL_VIT &&
        (use->sequence < 1 || use->sequence > model->max_sequence))
        return pfc_err_set(err, PFC_EINVAL, "sequence: %s takes 1..%lld tokens, got %lld",
                           model->name, (long long)model->max_sequence, (long long)use->sequence);
    return PFC_OK;
}

pfc_code pfc_model_shapes(const pfc_model *model, const pfc_model_use *use, pfc_model_shape *out,
                          size_t *len, pfc_err *err)
{
    const int64_t seq = model->family == PFC_MODEL_VIT ? model->max_sequence : use->sequence;
    shapes s = { .model = model, .use = use, .items = out, .prefix = "", .err = err };

    s.code = check_use(model, use, err);
    if (s.code)
        return s.code;
    s.tokens = use->phase == PFC_PHASE_DECODE ? use->batch : use->batch * seq;
    if (model->family == PFC_MODEL_LLAMA)
        llama(&s);
    else if (model->family == PFC_MODEL_GPT2)
        gpt2(&s);
    else
        encoder(&s);
    attention(&s);
    head(&s);
    *len = s.len;
    return s.code;
}
