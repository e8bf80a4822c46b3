/*
 * Transformer models as the shapes that they compute: which matrix products, attentions and norms
 * one layer (and the head) of a model runs in each phase of its life.
 *
 * prefill   all tokens of `batch` sequences of `sequence` tokens at once; for an encoder (BERT,
 *           ViT) its whole forward pass
 * decode    one new token for each of `batch` sequences, `sequence` tokens in the cache
 * training  prefill, and each product's two gradients: dX = dY W^T and dW = X^T dY. Gradients of
 *           attention and norms are left out: the suite has no such operations
 *
 * Tensors are stored row by row, y[m,n] = x[m,k] w[k,n]. A layer's shapes are given once, not once
 * a layer, and what several layers or matrices share is one shape with all its uses.
 *
 * Plain data, thread-safe. Sources of the built-in models' figures are beside them in model.c.
 */
#ifndef PFC_BENCH_SUITE_MODEL_H
#define PFC_BENCH_SUITE_MODEL_H

#include "bench/suite/suite.h"

#define PFC_MODEL_MAX_CONFIG (1024u * 1024) /* bytes of a config.json */
#define PFC_MODEL_MAX_SHAPES 64             /* of one model in one phase */

typedef enum pfc_model_family {
    PFC_MODEL_LLAMA, /* decoder: RMSNorm, gated MLP, grouped heads (Llama, Mistral, Qwen2, Gemma) */
    PFC_MODEL_GPT2,  /* decoder: LayerNorm, one QKV product, plain MLP */
    PFC_MODEL_BERT,  /* encoder with pooler and language head */
    PFC_MODEL_VIT,   /* encoder of image patches with a classifier */
} pfc_model_family;

typedef enum pfc_model_phase {
    PFC_PHASE_PREFILL,
    PFC_PHASE_DECODE,
    PFC_PHASE_TRAINING,
    PFC_PHASES,
} pfc_model_phase;

typedef struct pfc_model {
    char name[64]; /* "llama-3-8b"; of a configuration its model_type */
    pfc_model_family family;
    int64_t layers, hidden, heads, kv_heads, head_dim, intermediate;
    int64_t vocab;        /* tokens of the head; ViT: classes, 0 = no classifier */
    int64_t max_sequence; /* tokens it is made for; ViT: patches and the class token, always all */
    int64_t patch_values; /* ViT: numbers in a patch (channels x side x side) */
    bool tied;            /* the head's matrix is the embedding's: same product, no second matrix */
} pfc_model;

/** One operation with one shape. */
typedef struct pfc_model_shape {
    const pfc_op *op;
    int64_t params[PFC_OP_MAX_PARAMS]; /* as op->params */
    bool headline; /* false: a stand-in or a part, which should count in no mean */
    char use[160]; /* "gate, up": what it is in the model */
} pfc_model_shape;

typedef struct pfc_model_use {
    pfc_model_phase phase;
    int64_t batch;    /* sequences or images, 1..1024 */
    int64_t sequence; /* tokens, 1..65536; ViT looks at its own */
} pfc_model_use;

/** "prefill", "decode", "training". */
const char *pfc_model_phase_name(pfc_model_phase phase);
/** PFC_EINVAL names the three. */
pfc_code pfc_model_phase_parse(const char *name, pfc_model_phase *out, pfc_err *err) PFC_MUSTCHECK;
/** False for decode of an encoder. */
bool pfc_model_has_phase(const pfc_model *model, pfc_model_phase phase);

/** The built-in model of that name, or NULL; and their names, NULL-terminated. */
const pfc_model *pfc_model_builtin(const char *name);
const char *const *pfc_model_builtin_names(void);

/**
 * The model that a Hugging Face config.json describes. model_type is one of llama, mistral, qwen2,
 * gemma, gpt2, bert, vit; members that do not bear on shapes are not looked at, missing ones take
 * the defaults of that model type where it has any. `name` is for errors.
 * PFC_EINVAL: one sentence with the member, what was expected and what came.
 */
pfc_code pfc_model_from_config(const char *text, size_t len, const char *name, pfc_model *out,
                               pfc_err *err) PFC_MUSTCHECK;

/**
 * The shapes of one phase; each occurs once. out has room for PFC_MODEL_MAX_SHAPES.
 * PFC_EINVAL: a phase that the model has not, a sequence over model->max_sequence, or a shape over
 * the limits of its operation.
 */
pfc_code pfc_model_shapes(const pfc_model *model, const pfc_model_use *use, pfc_model_shape *out,
                          size_t *len, pfc_err *err) PFC_MUSTCHECK;

/** Options of `perfci suite from-model`. */
typedef struct pfc_model_suite_opts {
    const char *name;        /* of the suite; NULL: the model's */
    const char *source;      /* for the first comment: the configuration's path; NULL: none */
    const char *dtype;       /* "f32", "bf16" or "int8" (products alone) */
    bool phases[PFC_PHASES]; /* none: all that the model has */
    int64_t batch, sequence; /* 0: 1 and 128 */
} pfc_model_suite_opts;

/** A suite of the model's shapes as YAML with a comment for every shape; caller frees *out. */
pfc_code pfc_model_suite(const pfc_model *model, const pfc_model_suite_opts *opts, char **out,
                         pfc_err *err) PFC_MUSTCHECK;

#endif
