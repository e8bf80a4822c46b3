/*
 * Models as shapes. The expected shapes were derived by hand from the published figures (sources:
 * tests/data/models/README.md), product by product, not taken from the output of the code.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/suite/model.h"
#include "core/base/fs.h"

#include "tests/check/check.h"

static pfc_model_shape shapes[PFC_MODEL_MAX_SHAPES];
static size_t shapes_len;

static pfc_model from_file(const char *name)
{
    char *path = pfc_format("%s/models/%s.json", PFC_TEST_DATA, name);
    char *text = NULL;
    size_t len = 0;
    pfc_model model;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_read(path, PFC_MODEL_MAX_CONFIG, &text, &len, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_model_from_config(text, len, name, &model, &err), PFC_OK), "%s", err.msg);
    free(text);
    free(path);
    return model;
}

/* Names of the shapes, in their order, as a suite would have them. */
static char *names(const pfc_model *model, pfc_model_phase phase, int64_t batch, int64_t sequence)
{
    const pfc_model_use use = { .phase = phase, .batch = batch, .sequence = sequence };
    pfc_buf text;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_model_shapes(model, &use, shapes, &shapes_len, &err), PFC_OK), "%s",
              err.msg);
    pfc_buf_init(&text, 1 << 16);
    for (size_t i = 0; i < shapes_len; i++) {
        char *name = pfc_case_name(shapes[i].op, "f32", shapes[i].params);
        pfc_buf_printf(&text, "%s%s\n", name, shapes[i].headline ? "" : " -");
        free(name);
    }
    return pfc_buf_take(&text);
}

static void expect(const char *file, pfc_model_phase phase, int64_t batch, int64_t sequence,
                   const char *want)
{
    const pfc_model model = from_file(file);
    char *got = names(&model, phase, batch, sequence);

    cr_assert(eq(str, got, (char *)want));
    free(got);
}

/* Width 4096 = 32 heads x 128, 8 heads of keys and values: 8 x 128 = 1024; MLP 14336; the head's
 * logits of the last token alone. 256 tokens. */
Test(model, llama_3_8b_prefill)
{
    expect("llama-3-8b", PFC_PHASE_PREFILL, 2, 128,
           "gemm/f32/m256n4096k4096\n"                /* Q, O */
           "gemm/f32/m256n1024k4096\n"                /* K, V */
           "gemm/f32/m256n14336k4096\n"               /* gate, up */
           "gemm/f32/m256n4096k14336\n"               /* down */
           "rmsnorm/f32/rows256cols4096\n"            /* */
           "attention/f32/h64s128d128causal1\n"       /* 2 x 32 heads */
           "attention/f32/h64s128d128causal1kv16 -\n" /* 2 x 8 of keys and values */
           "gemm/f32/m2n128256k4096 -\n"              /* 2.1 GB of weights: in no mean */
           "softmax/f32/rows2cols128256\n");
}

/* One new token for each of 8 sequences; four heads share the keys of one: groups of 32 / 8 = 4. */
Test(model, llama_3_8b_decode)
{
    expect("llama-3-8b", PFC_PHASE_DECODE, 8, 1024,
           "gemm/f32/m8n4096k4096\n"
           "gemm/f32/m8n1024k4096\n"
           "gemm/f32/m8n14336k4096\n"
           "gemm/f32/m8n4096k14336\n"
           "rmsnorm/f32/rows8cols4096\n"
           "attention/f32/h256s1024d128q1kv64 -\n"
           "gemm/f32/m4n1024k128 -\n" /* scores of a group */
           "gemm/f32/m4n128k1024 -\n" /* and its values */
           "softmax/f32/rows256cols1024\n"
           "gemm/f32/m8n128256k4096 -\n"
           "softmax/f32/rows8cols128256\n");
}

/* Multi-head: K and V are as wide as Q, and no grouped attention. */
Test(model, llama_2_7b_decode)
{
    expect("llama-2-7b", PFC_PHASE_DECODE, 1, 512,
           "gemm/f32/m1n4096k4096\n"
           "gemm/f32/m1n11008k4096\n"
           "gemm/f32/m1n4096k11008\n"
           "rmsnorm/f32/rows1cols4096\n"
           "attention/f32/h32s512d128q1 -\n"
           "gemm/f32/m1n512k128 -\n"
           "gemm/f32/m1n128k512 -\n"
           "softmax/f32/rows32cols512\n"
           "gemm/f32/m1n32000k4096\n"
           "softmax/f32/rows1cols32000\n");
}

/* QKV is one product, 3 x 768 = 2304 wide; n_inner null means 4 x 768 = 3072; the head is tied. */
Test(model, gpt2_prefill)
{
    expect("gpt2", PFC_PHASE_PREFILL, 1, 1024,
           "gemm/f32/m1024n2304k768\n"
           "gemm/f32/m1024n768k768\n"
           "gemm/f32/m1024n3072k768\n"
           "gemm/f32/m1024n768k3072\n"
           "layernorm/f32/rows1024cols768\n"
           "attention/f32/h12s1024d64causal1\n"
           "gemm/f32/m1n50257k768\n"
           "softmax/f32/rows1cols50257\n");
}

/* Each product y[T,n] = x[T,k] w[k,n] has dX: T,k,n and dW: k,n,T. T = 2 x 64 = 128. */
Test(model, gpt2_training)
{
    expect("gpt2", PFC_PHASE_TRAINING, 2, 64,
           "gemm/f32/m128n2304k768\n" /* QKV */
           "gemm/f32/m128n768k2304\n" /* dX */
           "gemm/f32/m768n2304k128\n" /* dW */
           "gemm/f32/m128n768k768\n"  /* projection, and its dX */
           "gemm/f32/m768n768k128\n"  /* dW */
           "gemm/f32/m128n3072k768\n" /* up, dX of down */
           "gemm/f32/m128n768k3072\n" /* dX of up, down */
           "gemm/f32/m768n3072k128\n" /* dW of up */
           "gemm/f32/m3072n768k128\n" /* dW of down */
           "layernorm/f32/rows128cols768\n"
           "attention/f32/h24s64d64causal1\n"
           "gemm/f32/m128n50257k768\n" /* head: every token's logits */
           "gemm/f32/m128n768k50257\n"
           "gemm/f32/m768n50257k128\n"
           "softmax/f32/rows128cols50257\n");
}

Test(model, bert_base_forward_and_training)
{
    expect("bert-base-uncased", PFC_PHASE_PREFILL, 1, 512,
           "gemm/f32/m512n768k768\n"
           "gemm/f32/m512n3072k768\n"
           "gemm/f32/m512n768k3072\n"
           "layernorm/f32/rows512cols768\n"
           "attention/f32/h12s512d64\n"
           "gemm/f32/m1n768k768\n"); /* pooler: the first token */
    expect("bert-base-uncased", PFC_PHASE_TRAINING, 1, 128,
           "gemm/f32/m128n768k768\n"
           "gemm/f32/m768n768k128\n"
           "gemm/f32/m128n3072k768\n"
           "gemm/f32/m128n768k3072\n"
           "gemm/f32/m768n3072k128\n"
           "gemm/f32/m3072n768k128\n"
           "layernorm/f32/rows128cols768\n"
           "attention/f32/h12s128d64\n"
           "gemm/f32/m128n30522k768\n"
           "gemm/f32/m128n768k30522\n"
           "gemm/f32/m768n30522k128\n"
           "softmax/f32/rows128cols30522\n");
}

/* (224 / 16)^2 = 196 patches of 3 x 16 x 16 = 768 values, and the class token: 197, whatever
 * sequence was asked for. */
Test(model, vit_b_16_forward)
{
    expect("vit-base-patch16-224", PFC_PHASE_PREFILL, 4, 1,
           "gemm/f32/m788n768k768\n"
           "gemm/f32/m788n3072k768\n"
           "gemm/f32/m788n768k3072\n"
           "layernorm/f32/rows788cols768\n"
           "attention/f32/h48s197d64\n"
           "gemm/f32/m784n768k768\n"
           "gemm/f32/m4n1000k768\n");
}

/* An image has no gradient: of the patch embedding there is dW alone. */
Test(model, vit_training_has_no_gradient_of_the_image)
{
    const pfc_model model = from_file("vit-base-patch16-224");
    char *got = names(&model, PFC_PHASE_TRAINING, 1, 1);

    cr_assert(ne(ptr, strstr(got, "gemm/f32/m768n768k196\n"), NULL));
    for (size_t i = 0; i < shapes_len; i++)
        cr_assert(eq(ptr, strstr(shapes[i].use, "dX of patch"), NULL));
    free(got);
}

/* 14 heads of 64 = 896, 2 of keys and values = 128 wide; groups of 7. */
Test(model, qwen2_half_b_decode)
{
    expect("qwen2-0.5b", PFC_PHASE_DECODE, 1, 256,
           "gemm/f32/m1n896k896\n"
           "gemm/f32/m1n128k896\n"
           "gemm/f32/m1n4864k896\n"
           "gemm/f32/m1n896k4864\n"
           "rmsnorm/f32/rows1cols896\n"
           "attention/f32/h14s256d64q1kv2 -\n"
           "gemm/f32/m7n256k64 -\n"
           "gemm/f32/m7n64k256 -\n"
           "softmax/f32/rows14cols256\n"
           "gemm/f32/m1n151936k896\n"
           "softmax/f32/rows1cols151936\n");
}

/* One head of keys and values for all: 256 wide. head_dim is given, not width / heads. */
Test(model, gemma_2b_prefill)
{
    expect("gemma-2b", PFC_PHASE_PREFILL, 1, 64,
           "gemm/f32/m64n2048k2048\n"
           "gemm/f32/m64n256k2048\n"
           "gemm/f32/m64n16384k2048\n"
           "gemm/f32/m64n2048k16384\n"
           "rmsnorm/f32/rows64cols2048\n"
           "attention/f32/h8s64d256causal1\n"
           "attention/f32/h8s64d256causal1kv1 -\n"
           "gemm/f32/m1n256000k2048 -\n"
           "softmax/f32/rows1cols256000\n");
    cr_assert(from_file("gemma-2b").tied);
    cr_assert(from_file("qwen2-0.5b").tied);
    cr_assert(not(from_file("llama-3-8b").tied));
}

/* It attends to the last 4096 tokens, however long the text. */
Test(model, mistral_7b_is_bounded_by_its_window)
{
    const pfc_model model = from_file("mistral-7b");
    const pfc_model_use use = { .phase = PFC_PHASE_DECODE, .batch = 1, .sequence = 4097 };
    pfc_err err = { 0 };

    cr_assert(eq(i64, model.max_sequence, 4096));
    cr_assert(eq(int, pfc_model_shapes(&model, &use, shapes, &shapes_len, &err), PFC_EINVAL));
    cr_assert(eq(str, err.msg, "sequence: mistral takes 1..4096 tokens, got 4097"));
    for (int64_t sequence = 0; sequence <= 1; sequence++) {
        const pfc_model_use edge = { .phase = PFC_PHASE_DECODE, .batch = 1, .sequence = sequence };
        cr_assert(eq(int, pfc_model_shapes(&model, &edge, shapes, &shapes_len, &err),
                     sequence == 0 ? PFC_EINVAL : PFC_OK));
    }
}

Test(model, the_built_in_models_are_those_of_their_configurations)
{
    static const char *const pairs[][2] = { { "llama-2-7b", "llama-2-7b" },
                                            { "llama-3-8b", "llama-3-8b" },
                                            { "bert-base", "bert-base-uncased" },
                                            { "gpt2", "gpt2" },
                                            { "vit-b", "vit-base-patch16-224" } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(pairs); i++) {
        const pfc_model file = from_file(pairs[i][1]);
        const pfc_model *built = pfc_model_builtin(pairs[i][0]);

        cr_assert(ne(ptr, (void *)built, NULL));
        for (int phase = 0; phase < PFC_PHASES; phase++) {
            char *a = NULL;
            char *b = NULL;

            cr_assert(eq(int, pfc_model_has_phase(&file, (pfc_model_phase)phase),
                         pfc_model_has_phase(built, (pfc_model_phase)phase)));
            if (!pfc_model_has_phase(built, (pfc_model_phase)phase))
                continue;
            a = names(&file, (pfc_model_phase)phase, 2, 96);
            b = names(built, (pfc_model_phase)phase, 2, 96);
            cr_assert(eq(str, a, b));
            free(a);
            free(b);
        }
        cr_assert(eq(i64, file.layers, built->layers));
        cr_assert(eq(i64, file.max_sequence, built->max_sequence));
    }
    cr_assert(eq(ptr, (void *)pfc_model_builtin("gpt5"), NULL));
}

static void refuse(const char *text, const char *want)
{
    pfc_model model;
    pfc_err err = { 0 };

    cr_assert(ne(int, pfc_model_from_config(text, strlen(text), "c.json", &model, &err), PFC_OK),
              "%s", text);
    cr_assert(ne(ptr, strstr(err.msg, want), NULL), "'%s' lacks '%s'", err.msg, want);
    cr_assert(eq(ptr, strchr(err.msg, '\n'), NULL));
}

#define LLAMA(more)                                                                                \
    "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"intermediate_size\": 64, "            \
    "\"vocab_size\": 99, \"max_position_embeddings\": 128" more "}"

Test(model, what_is_wrong_with_a_configuration_is_one_sentence)
{
    refuse("", "c.json: ");
    refuse("[]", "c.json: expected an object");
    refuse("{}", "c.json: model_type: ");
    refuse("{\"model_type\": 7}", "c.json: model_type: ");
    refuse("{\"model_type\": \"mamba\"}", "c.json: model_type: expected llama, mistral, qwen2, "
                                          "gemma, gpt2, bert or vit, got 'mamba'");
    refuse("{\"model_type\": \"llama\", \"model_type\": \"gpt2\"}", "c.json: ");
    refuse(LLAMA(""), "c.json: hidden_size: ");
    refuse(LLAMA(", \"hidden_size\": 32"), "c.json: num_attention_heads: ");
    refuse(LLAMA(", \"hidden_size\": 32, \"num_attention_heads\": 0"), "num_attention_heads: ");
    refuse(LLAMA(", \"hidden_size\": 32, \"num_attention_heads\": 3"),
           "num_attention_heads: expected a divisor of the width 32, got 3");
    refuse(LLAMA(", \"hidden_size\": 32, \"num_attention_heads\": 8, \"num_key_value_heads\": 3"),
           "num_key_value_heads: expected a divisor of the 8 heads, got 3");
    refuse(LLAMA(", \"hidden_size\": \"wide\", \"num_attention_heads\": 8"), "hidden_size: ");
    refuse(LLAMA(", \"hidden_size\": 1e9, \"num_attention_heads\": 8"), "hidden_size: ");
    refuse("{\"model_type\": \"vit\", \"hidden_size\": 8, \"num_hidden_layers\": 1, "
           "\"intermediate_size\": 8, \"num_attention_heads\": 2, \"image_size\": 224, "
           "\"patch_size\": 15}",
           "patch_size: expected a divisor of the image's 224, got 15");
}

Test(model, phases_batches_and_sequences_are_checked)
{
    const pfc_model *bert = pfc_model_builtin("bert-base");
    pfc_model_use use = { .phase = PFC_PHASE_DECODE, .batch = 1, .sequence = 1 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_model_shapes(bert, &use, shapes, &shapes_len, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "is an encoder, it has no decode phase"), NULL));
    use = (pfc_model_use){ .phase = PFC_PHASE_PREFILL, .batch = 1, .sequence = 513 };
    cr_assert(eq(int, pfc_model_shapes(bert, &use, shapes, &shapes_len, &err), PFC_EINVAL));
    use = (pfc_model_use){ .phase = PFC_PHASE_PREFILL, .batch = 0, .sequence = 1 };
    cr_assert(eq(int, pfc_model_shapes(bert, &use, shapes, &shapes_len, &err), PFC_EINVAL));
}

/* A written suite reads back with the same shapes. */
Test(model, a_suite_of_every_model_reads_back)
{
    const char *const *all = pfc_model_builtin_names();
    pfc_err err = { 0 };

    for (size_t i = 0; all[i]; i++) {
        const pfc_model *model = pfc_model_builtin(all[i]);
        const pfc_model_suite_opts opts = { .dtype = i % 2 ? "bf16" : "int8",
                                            .source = "evil\nsuite: x",
                                            .batch = 4,
                                            .phases = { [PFC_PHASE_PREFILL] = true } };
        const pfc_model_use use = { .phase = PFC_PHASE_PREFILL, .batch = 4, .sequence = 128 };
        pfc_suite *suite = NULL;
        char *text = NULL;
        size_t want = 0;

        cr_assert(eq(int, pfc_model_suite(model, &opts, &text, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, pfc_suite_parse(text, strlen(text), "m.yaml", &suite, &err), PFC_OK),
                  "%s", err.msg);
        cr_assert(eq(str, suite->name, (char *)all[i]));
        cr_assert(eq(int, pfc_model_shapes(model, &use, shapes, &shapes_len, &err), PFC_OK));
        for (size_t k = 0; k < shapes_len; k++)
            want += i % 2 == 1 || strcmp(shapes[k].op->name, "gemm") == 0;
        cr_assert(eq(sz, suite->cases_len, want));
        pfc_suite_free(suite);
        free(text);
    }
}
