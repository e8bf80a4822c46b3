/* Configurations of models at the limits of their members, and the text of a suite in full. */
#include <stdlib.h>
#include <string.h>

#include "bench/suite/model.h"
#include "core/base/buf.h"

#include "tests/check/check.h"

static pfc_model model;
static pfc_err err;

static pfc_code read_config(const char *text)
{
    model = (pfc_model){ 0 };
    err = (pfc_err){ 0 };
    return pfc_model_from_config(text, strlen(text), "c.json", &model, &err);
}

/* Members that a family needs; `more` comes last and replaces none of them. */
static char *config(const char *type, const char *without, const char *more)
{
    static const struct {
        const char *name, *value;
    } members[] = { { "hidden_size", "64" },      { "num_attention_heads", "8" },
                    { "num_hidden_layers", "2" }, { "intermediate_size", "256" },
                    { "vocab_size", "100" },      { "max_position_embeddings", "512" },
                    { "image_size", "32" },       { "patch_size", "8" } };
    const bool vit = strcmp(type, "vit") == 0;
    pfc_buf buf;

    pfc_buf_init(&buf, 4096);
    pfc_buf_printf(&buf, "{\"model_type\": \"%s\"", type);
    for (size_t i = 0; i < PFC_ARRAY_LEN(members); i++) {
        const bool image = i >= 6;
        const bool words = i == 4 || i == 5;

        if (strcmp(members[i].name, without) != 0 && !(vit && words) && !(!vit && image))
            pfc_buf_printf(&buf, ", \"%s\": %s", members[i].name, members[i].value);
    }
    pfc_buf_printf(&buf, "%s%s}", more[0] ? ", " : "", more);
    return pfc_buf_take(&buf);
}

Test(model_config, each_member_holds_at_its_limits)
{
    static const struct {
        const char *type, *member, *good, *bad;
    } rows[] = {
        { "llama", "hidden_size", "262144", "262145" },
        { "llama", "num_hidden_layers", "4096", "4097" },
        { "llama", "num_hidden_layers", "1", "0" },
        { "llama", "intermediate_size", "1048576", "1048577" },
        { "llama", "vocab_size", "16777216", "16777217" },
        { "llama", "vocab_size", "1", "0" },
        { "llama", "max_position_embeddings", "2147483647", "2147483648" },
        { "llama", "max_position_embeddings", "1", "0" },
        { "llama", "head_dim", "1024", "1025" },
        { "llama", "num_key_value_heads", "8", "9" },
        { "vit", "patch_size", "32", "33" },
        { "vit", "num_channels", "64", "65" },
        { "vit", "num_labels", "1048576", "1048577" },
        { "vit", "image_size", "2040",
          "2048" }, /* 256 x 256 patches and the class token: too many */
        { "vit", "image_size", "8", "0" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *more[2];

        more[0] = pfc_format("\"%s\": %s", rows[i].member, rows[i].good);
        more[1] = pfc_format("\"%s\": %s", rows[i].member, rows[i].bad);
        for (int bad = 0; bad <= 1; bad++) {
            char *text = config(rows[i].type, rows[i].member, more[bad]);

            cr_expect(eq(int, read_config(text), bad ? PFC_EINVAL : PFC_OK), "row %zu, %s: %s", i,
                      more[bad], err.msg);
            free(text);
            free(more[bad]);
        }
    }
}

static void check_i64(const char *type, const char *without, const char *more, size_t field,
                      int64_t value)
{
    char *text = config(type, without, more);
    int64_t got;

    cr_assert(eq(int, read_config(text), PFC_OK), "%s: %s", text, err.msg);
    memcpy(&got, (const char *)&model + field, sizeof(got));
    cr_assert(eq(i64, got, value), "%s", text);
    free(text);
}

#define FIELD(name) offsetof(pfc_model, name)

Test(model_config, what_is_not_given_follows_from_the_rest)
{
    check_i64("llama", "", "", FIELD(kv_heads), 8);
    check_i64("llama", "", "\"num_key_value_heads\": 2", FIELD(kv_heads), 2);
    check_i64("llama", "", "", FIELD(head_dim), 8);
    check_i64("llama", "", "\"head_dim\": 16", FIELD(head_dim), 16);
    check_i64("llama", "num_attention_heads", "\"num_attention_heads\": 7, \"head_dim\": 16",
              FIELD(head_dim), 16); /* its own width of heads needs no divisor */
    check_i64("bert", "", "\"num_key_value_heads\": 2", FIELD(kv_heads),
              8); /* not a member of it */
    check_i64("bert", "", "\"head_dim\": 16", FIELD(head_dim), 8);
    check_i64("vit", "", "", FIELD(max_sequence), 17);
    check_i64("vit", "", "", FIELD(patch_values), 192);
    check_i64("vit", "", "\"num_channels\": 1", FIELD(patch_values), 64);
    check_i64("vit", "", "", FIELD(vocab), 0);
    check_i64("vit", "", "\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}", FIELD(vocab),
              3);
    check_i64("vit", "", "\"num_labels\": 5, \"id2label\": {\"0\": \"a\"}", FIELD(vocab), 5);
}

Test(model_config, a_context_is_cut_to_the_window_and_to_what_an_operation_takes)
{
    static const struct {
        const char *type, *more;
        int64_t sequence;
    } rows[] = {
        { "mistral", "\"sliding_window\": 100", 100 },
        { "mistral", "\"sliding_window\": 600", 512 },
        { "mistral", "\"sliding_window\": null", 512 },
        { "llama", "\"sliding_window\": 100", 512 },
        { "qwen2", "\"sliding_window\": 100", 512 },
        { "qwen2", "\"sliding_window\": 100, \"use_sliding_window\": true", 100 },
        { "qwen2", "\"sliding_window\": 100, \"use_sliding_window\": false", 512 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        check_i64(rows[i].type, "", rows[i].more, FIELD(max_sequence), rows[i].sequence);
    check_i64("llama", "max_position_embeddings", "\"max_position_embeddings\": 65536",
              FIELD(max_sequence), 65536);
    check_i64("llama", "max_position_embeddings", "\"max_position_embeddings\": 65537",
              FIELD(max_sequence), 65536);
}

Test(model_config, a_head_is_tied_to_the_embedding_where_its_family_is_or_the_file_says_so)
{
    static const struct {
        const char *type, *more;
        bool tied;
    } rows[] = {
        { "llama", "", false },   { "llama", "\"tie_word_embeddings\": true", true },
        { "gemma", "", true },    { "gemma", "\"tie_word_embeddings\": false", false },
        { "mistral", "", false }, { "qwen2", "", false },
        { "bert", "", true },     { "vit", "", false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *text = config(rows[i].type, "", rows[i].more);

        cr_assert(eq(int, read_config(text), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, model.tied, rows[i].tied), "row %zu", i);
        cr_assert(eq(str, model.name, (char *)rows[i].type));
        free(text);
    }
}

Test(model_config, gpt2_has_names_of_its_own)
{
    cr_assert(eq(int,
                 read_config("{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_head\": 4, "
                             "\"n_layer\": 3, \"n_positions\": 99, \"vocab_size\": 7}"),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(i64, model.hidden, 64));
    cr_assert(eq(i64, model.heads, 4));
    cr_assert(eq(i64, model.layers, 3));
    cr_assert(eq(i64, model.max_sequence, 99));
    cr_assert(eq(i64, model.intermediate, 256)); /* four times the width */
    cr_assert(
        eq(int,
           read_config("{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_head\": 4, \"n_layer\": "
                       "3, \"n_positions\": 99, \"vocab_size\": 7, \"n_inner\": 100}"),
           PFC_OK));
    cr_assert(eq(i64, model.intermediate, 100));
}

Test(model_config, a_file_has_its_most_bytes)
{
    char *text = config("llama", "", "");
    const size_t len = strlen(text);
    char *padded = pfc_calloc(PFC_MODEL_MAX_CONFIG + 1, 1);

    memset(padded, ' ', PFC_MODEL_MAX_CONFIG + 1);
    memcpy(padded, text, len);
    cr_assert(
        eq(int, pfc_model_from_config(padded, PFC_MODEL_MAX_CONFIG, "c", &model, &err), PFC_OK),
        "%s", err.msg);
    cr_assert(eq(int, pfc_model_from_config(padded, PFC_MODEL_MAX_CONFIG + 1, "c", &model, &err),
                 PFC_ETOOBIG));
    free(padded);
    free(text);
}

Test(model_config, batches_and_sequences_hold_at_their_limits)
{
    static const struct {
        const char *model;
        int64_t batch, sequence;
        bool good;
    } rows[] = {
        { "gpt2", 1, 1, true },
        { "gpt2", 0, 1, false },
        { "gpt2", 1, 0, false },
        { "gpt2", 1, 1024, true },
        { "gpt2", 1, 1025, false },
        { "vit-b", 1, 9999, true },
        { "gpt2", 1024, 1024, true }, /* 2^20 rows */
        { "llama-2-7b", 1024, 1025, false },
        { "vit-b", 1024, 1, true },
        { "vit-b", 1025, 1, false },
    };
    static pfc_model_shape shapes[PFC_MODEL_MAX_SHAPES];
    size_t len = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_model_use use = { .phase = PFC_PHASE_PREFILL,
                                    .batch = rows[i].batch,
                                    .sequence = rows[i].sequence };

        cr_assert(eq(int,
                     pfc_model_shapes(pfc_model_builtin(rows[i].model), &use, shapes, &len, &err),
                     rows[i].good ? PFC_OK : PFC_EINVAL),
                  "row %zu: %s", i, err.msg);
    }
}

Test(model_config, phases_have_names)
{
    pfc_model_phase phase = PFC_PHASES;

    for (int i = 0; i < PFC_PHASES; i++) {
        cr_assert(eq(int, pfc_model_phase_parse(pfc_model_phase_name(i), &phase, &err), PFC_OK));
        cr_assert(eq(int, phase, i));
    }
    cr_assert(eq(int, pfc_model_phase_parse("run", &phase, &err), PFC_EINVAL));
    cr_assert(not(pfc_model_has_phase(pfc_model_builtin("bert-base"), PFC_PHASE_DECODE)));
    cr_assert(not(pfc_model_has_phase(pfc_model_builtin("vit-b"), PFC_PHASE_DECODE)));
    cr_assert(pfc_model_has_phase(pfc_model_builtin("gpt2"), PFC_PHASE_DECODE));
    cr_assert(pfc_model_has_phase(pfc_model_builtin("bert-base"), PFC_PHASE_TRAINING));
    cr_assert(eq(ptr, (void *)pfc_model_builtin("none"), NULL));
}

/* ---- the text of a suite ---- */

static void check_suite(const char *name, const pfc_model_suite_opts *opts, const char *expected)
{
    char *text = NULL;

    cr_assert(eq(int, pfc_model_suite(pfc_model_builtin(name), opts, &text, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(str, text, (char *)expected));
    free(text);
}

Test(model_config, a_suite_has_each_shape_once_with_its_uses)
{
    const pfc_model_suite_opts opts = { .dtype = "f32",
                                        .source = "a\nb",
                                        .batch = 2,
                                        .sequence = 16,
                                        .phases = { [PFC_PHASE_DECODE] = true } };

    check_suite("gpt2", &opts,
                "# gpt2, from a?b: 12 layers, width 768, 12 heads (12 of keys and values) of 64, "
                "MLP 3072, vocabulary 50257, head tied to the embedding.\n"
                "# Shapes of one layer and the head, batch of 2, 16 tokens each.\n"
                "suite: gpt2\n"
                "\n"
                "settings: {processes: 5, min_samples: 25, max_samples: 200, max_seconds: 1.0,\n"
                "           warmup_seconds: 0.05, interval_rel: 0.01}\n"
                "\n"
                "backends: [\"cpu-avx*\", cpu-neon]\n"
                "\n"
                "benchmarks:\n"
                "  - op: gemm\n"
                "    dtype: f32\n"
                "    shapes:\n"
                "      - {m: 2, n: 2304, k: 768}  # decode: QKV\n"
                "      - {m: 2, n: 768, k: 768}  # decode: projection\n"
                "      - {m: 2, n: 3072, k: 768}  # decode: MLP up\n"
                "      - {m: 2, n: 768, k: 3072}  # decode: MLP down\n"
                "      - {m: 2, n: 50257, k: 768}  # decode: head (tied to the embedding)\n"
                "  - op: gemm\n"
                "    dtype: f32\n"
                "    headline: false\n"
                "    shapes:\n"
                "      - {m: 1, n: 16, k: 64}  # decode: scores of a group of heads\n"
                "      - {m: 1, n: 64, k: 16}  # decode: values of a group of heads\n"
                "  - op: attention\n"
                "    dtype: f32\n"
                "    headline: false\n"
                "    shapes:\n"
                "      - {h: 24, s: 16, d: 64, q: 1}  # decode: attention to the cache\n"
                "  - op: layernorm\n"
                "    dtype: f32\n"
                "    shapes:\n"
                "      - {rows: 2, cols: 768}  # decode: before attention and MLP, last\n"
                "  - op: softmax\n"
                "    dtype: f32\n"
                "    shapes:\n"
                "      - {rows: 24, cols: 16}  # decode: attention weights\n"
                "      - {rows: 2, cols: 50257}  # decode: vocabulary\n");
}

Test(model_config, int8_takes_products_alone_and_an_encoder_has_two_phases)
{
    const pfc_model_suite_opts opts = { .dtype = "int8", .name = "mine" };

    check_suite(
        "vit-b", &opts,
        "# vit-b: 12 layers, width 768, 12 heads (12 of keys and values) of 64, MLP 3072, classes "
        "1000.\n"
        "# Shapes of one layer and the ends, batch of 1 images, 197 tokens each.\n"
        "suite: mine\n"
        "\n"
        "settings: {processes: 5, min_samples: 25, max_samples: 200, max_seconds: 1.0,\n"
        "           warmup_seconds: 0.05, interval_rel: 0.01}\n"
        "\n"
        "backends: [\"cpu-avx*\", cpu-neon]\n"
        "\n"
        "benchmarks:\n"
        "  - op: gemm\n"
        "    dtype: int8\n"
        "    shapes:\n"
        "      - {m: 197, n: 768, k: 768}  # prefill: Q, K, V, O; training: Q, K, V, O, dX of Q, "
        "K, V, O\n"
        "      - {m: 197, n: 3072, k: 768}  # prefill: MLP up; training: MLP up, dX of MLP down\n"
        "      - {m: 197, n: 768, k: 3072}  # prefill: MLP down; training: dX of MLP up, MLP down\n"
        "      - {m: 196, n: 768, k: 768}  # prefill: patch embedding; training: patch embedding\n"
        "      - {m: 1, n: 1000, k: 768}  # prefill: classifier; training: classifier\n"
        "      - {m: 768, n: 768, k: 197}  # training: dW of Q, K, V, O\n"
        "      - {m: 768, n: 3072, k: 197}  # training: dW of MLP up\n"
        "      - {m: 3072, n: 768, k: 197}  # training: dW of MLP down\n"
        "      - {m: 768, n: 768, k: 196}  # training: dW of patch embedding\n"
        "      - {m: 1, n: 768, k: 1000}  # training: dX of classifier\n"
        "      - {m: 768, n: 1000, k: 1}  # training: dW of classifier\n");
}
