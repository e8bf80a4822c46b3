/* Hugging Face config.json files as models. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/suite/model.h"
#include "core/wire/wire.h"

#define MAX_WIDTH    (1 << 20)
#define MAX_HEADS    1024
#define MAX_LAYERS   4096
#define MAX_SEQUENCE 65536 /* what an operation takes; longer contexts are cut to it */
#define REQUIRED     (-1)

/* Member names differ between families; what they mean does not. */
typedef struct config_names {
    const char *hidden, *heads, *layers, *intermediate, *max_sequence;
} config_names;

static const config_names usual = { "hidden_size", "num_attention_heads", "num_hidden_layers",
                                    "intermediate_size", "max_position_embeddings" };
static const config_names gpt2_names = { "n_embd", "n_head", "n_layer", "n_inner", "n_positions" };

static const struct {
    const char *type;
    pfc_model_family family;
    bool tied; /* where the file does not say */
} types[] = {
    { "llama", PFC_MODEL_LLAMA, false }, { "mistral", PFC_MODEL_LLAMA, false },
    { "qwen2", PFC_MODEL_LLAMA, false }, { "gemma", PFC_MODEL_LLAMA, true },
    { "gpt2", PFC_MODEL_GPT2, true },    { "bert", PFC_MODEL_BERT, true },
    { "vit", PFC_MODEL_VIT, false },
};

/* fallback REQUIRED: the member must be there. */
static pfc_code number(const json_t *doc, const char *key, int64_t max, int64_t fallback,
                       int64_t *out, pfc_err *err)
{
    *out = fallback;
    return pfc_json_i64(doc, NULL, key, fallback == REQUIRED, 1, max, out, err);
}

static pfc_code read_type(const json_t *doc, pfc_model *m, pfc_err *err)
{
    char *type = NULL;
    pfc_code code = pfc_json_string(doc, NULL, "model_type", true, 60, &type, err);

    if (code)
        return code;
    for (size_t i = 0; i < PFC_ARRAY_LEN(types); i++) {
        if (strcmp(types[i].type, type) != 0)
            continue;
        snprintf(m->name, sizeof(m->name), "%s", type);
        m->family = types[i].family;
        m->tied = types[i].tied;
        free(type);
        return PFC_OK;
    }
    code =
        pfc_json_fault(NULL, "model_type", err,
                       "expected llama, mistral, qwen2, gemma, gpt2, bert or vit, got '%s'", type);
    free(type);
    return code;
}

static pfc_code read_heads(const json_t *doc, pfc_model *m, const config_names *names, pfc_err *err)
{
    const bool llama = m->family == PFC_MODEL_LLAMA;
    pfc_code code = number(doc, names->heads, MAX_HEADS, REQUIRED, &m->heads, err);

    m->kv_heads = m->heads;
    if (!code && llama)
        code = number(doc, "num_key_value_heads", MAX_HEADS, m->heads, &m->kv_heads, err);
    if (!code && m->heads % m->kv_heads != 0)
        code = pfc_json_fault(NULL, "num_key_value_heads", err,
                              "expected a divisor of the %lld heads, got %lld", (long long)m->heads,
                              (long long)m->kv_heads);
    if (!code && llama)
        code = number(doc, "head_dim", 1024, 0, &m->head_dim, err);
    else
        m->head_dim = 0;
    if (code || m->head_dim > 0)
        return code;
    if (m->hidden % m->heads != 0)
        return pfc_json_fault(NULL, names->heads, err,
                              "expected a divisor of the width %lld, got %lld",
                              (long long)m->hidden, (long long)m->heads);
    m->head_dim = m->hidden / m->heads;
    return PFC_OK;
}

/* Every class has a label; two classes without labels are the library's default. */
static pfc_code read_classes(const json_t *doc, pfc_model *m, pfc_err *err)
{
    json_t *labels = NULL;
    pfc_code code = number(doc, "num_labels", MAX_WIDTH, 0, &m->vocab, err);

    if (!code)
        code = pfc_json_object(doc, NULL, "id2label", false, &labels, err);
    if (!code && m->vocab == 0 && labels)
        m->vocab = (int64_t)json_object_size(labels);
    return code;
}

static pfc_code read_vit(const json_t *doc, pfc_model *m, pfc_err *err)
{
    int64_t image = 0;
    int64_t patch = 0;
    int64_t channels = 0;
    pfc_code code = number(doc, "image_size", 16384, REQUIRED, &image, err);

    if (!code)
        code = number(doc, "patch_size", 1024, REQUIRED, &patch, err);
    if (!code)
        code = number(doc, "num_channels", 64, 3, &channels, err);
    if (!code && image % patch != 0)
        code = pfc_json_fault(NULL, "patch_size", err,
                              "expected a divisor of the image's %lld, got %lld", (long long)image,
                              (long long)patch);
    if (code)
        return code;
    m->patch_values = channels * patch * patch;
    m->max_sequence = (image / patch) * (image / patch) + 1; /* and the class token */
    if (m->max_sequence > MAX_SEQUENCE || m->patch_values > MAX_WIDTH)
        return pfc_json_fault(NULL, "image_size", err, "expected at most %d patches of %d values",
                              MAX_SEQUENCE, MAX_WIDTH);
    return read_classes(doc, m, err);
}

/* A window of earlier tokens is what such a model attends to, however long the text. */
static pfc_code read_text(const json_t *doc, pfc_model *m, const config_names *names, pfc_err *err)
{
    int64_t window = 0;
    bool use_window = strcmp(m->name, "mistral") == 0;
    pfc_code code = number(doc, "vocab_size", 1 << 24, REQUIRED, &m->vocab, err);

    if (!code)
        code = number(doc, names->max_sequence, INT32_MAX, REQUIRED, &m->max_sequence, err);
    if (!code)
        code = pfc_json_bool(doc, NULL, "tie_word_embeddings", false, &m->tied, err);
    if (!code && strcmp(m->name, "qwen2") == 0)
        code = pfc_json_bool(doc, NULL, "use_sliding_window", false, &use_window, err);
    if (!code && use_window)
        code = number(doc, "sliding_window", INT32_MAX, 0, &window, err);
    if (window > 0)
        m->max_sequence = PFC_MIN(m->max_sequence, window);
    m->max_sequence = PFC_MIN(m->max_sequence, (int64_t)MAX_SEQUENCE);
    return code;
}

static pfc_code read_members(const json_t *doc, pfc_model *m, pfc_err *err)
{
    const config_names *names;
    pfc_code code = read_type(doc, m, err);

    if (code)
        return code;
    names = m->family == PFC_MODEL_GPT2 ? &gpt2_names : &usual;
    code = number(doc, names->hidden, MAX_WIDTH / 4, REQUIRED, &m->hidden, err);
    if (!code)
        code = number(doc, names->layers, MAX_LAYERS, REQUIRED, &m->layers, err);
    if (!code) /* GPT-2 says null for four times the width */
        code =
            number(doc, names->intermediate, MAX_WIDTH,
                   m->family == PFC_MODEL_GPT2 ? 4 * m->hidden : REQUIRED, &m->intermediate, err);
    if (!code)
        code = read_heads(doc, m, names, err);
    if (!code)
        code = m->family == PFC_MODEL_VIT ? read_vit(doc, m, err) : read_text(doc, m, names, err);
    return code;
}

pfc_code pfc_model_from_config(const char *text, size_t len, const char *name, pfc_model *out,
                               pfc_err *err)
{
    json_t *doc = NULL;
    pfc_model m = { .layers = 0 };
    pfc_err inner = { 0 };
    pfc_code code = PFC_OK;

    if (len > PFC_MODEL_MAX_CONFIG)
        return pfc_err_set(err, PFC_ETOOBIG, "%.200s: %zu bytes, a configuration has at most %u",
                           name, len, PFC_MODEL_MAX_CONFIG);
    code = pfc_json_parse(text, len, &doc, &inner);
    if (!code && !json_is_object(doc))
        code = pfc_err_set(&inner, PFC_EINVAL, "expected an object with model_type");
    if (!code)
        code = read_members(doc, &m, &inner);
    json_decref(doc);
    if (code)
        return pfc_err_set(err, code, "%.200s: %s", name, inner.msg);
    *out = m;
    return PFC_OK;
}
