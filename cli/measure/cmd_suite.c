/*
 * perfci suite: suites checked, listed, and made from a model's configuration.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/suite/model.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

#define MAX_WORDS 65 /* the word and the files of `check` */

typedef struct suite_opts {
    const char *words[MAX_WORDS];
    size_t words_len;
    const char *out;
    const char *phases; /* as given, comma-separated */
    pfc_model_suite_opts model;
} suite_opts;

static const pfc_option suite_options[] = {
    PFC_OPT_TEXT("name", "NAME", suite_opts, model.name, "Of the suite made",
                 .fallback = "the model's type"),
    PFC_OPT_INTEGER("batch", "N", suite_opts, model.batch, 1, 1024, "Sequences or images at once",
                    .fallback = "1"),
    PFC_OPT_INTEGER("sequence", "N", suite_opts, model.sequence, 1, 65536,
                    "Tokens of a sequence; of decode, those in the cache", .fallback = "128"),
    PFC_OPT_TEXT("phases", "LIST", suite_opts, phases, "Of prefill, decode, training",
                 .fallback = "all that the model has"),
    PFC_OPT_TEXT("dtype", "T", suite_opts, model.dtype, "f32, bf16, or int8 for the products alone",
                 .fallback = "f32"),
    PFC_OPT_TEXT("out", "FILE", suite_opts, out, "Write the suite made there instead of stdout"),
    { 0 },
};

static const char suite_doc[] =
    "Checks suites, lists the built-in suites and models, makes a suite from a model."
    "\vfrom-model reads a Hugging Face config.json (llama, mistral, qwen2, gemma, gpt2, bert, vit) "
    "and "
    "prints a suite of the matrix products, attentions and norms of one layer and the head, each "
    "with "
    "a comment that says what it is.\n"
    "\n"
    "Exit status 2 when a suite or configuration is wrong: one sentence with file and line.\n"
    "\n"
    "Examples:\n"
    "  perfci suite list\n"
    "  perfci suite check bench/*.yaml\n"
    "  perfci suite from-model config.json --phases prefill,decode --batch 8 --out model.yaml\n"
    "  perfci run --suite model.yaml\n";

static error_t parse_suite(int key, char *arg, struct argp_state *state)
{
    suite_opts *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (o->words_len == MAX_WORDS)
            pfc_cli_usage(state, "at most %d files at once", MAX_WORDS - 1);
        o->words[o->words_len++] = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        pfc_cli_usage(state, "expected list, check or from-model");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- list ---- */

static size_t print_names(json_t *into, const char *title, const char *const *names)
{
    size_t n = 0;

    for (; names[n]; n++) {
        if (into)
            json_array_append_new(into, json_string(names[n]));
        else
            pfc_out("%s%s", n ? ", " : title, names[n]);
    }
    if (!into)
        pfc_out("\n");
    return n;
}

static void list(const pfc_cli *cli)
{
    json_t *suites = cli->json ? json_array() : NULL;
    json_t *models = cli->json ? json_array() : NULL;

    print_names(suites, "suites: ", pfc_suite_builtin_names());
    print_names(models, "models: ", pfc_model_builtin_names());
    if (cli->json)
        pfc_cli_print_json(json_pack("{s:o, s:o}", "suites", suites, "models", models));
}

/* ---- check ---- */

/* Every file is looked at, so that one call tells all that is wrong. */
static pfc_code check(const pfc_cli *cli, const suite_opts *o, pfc_err *err)
{
    json_t *answers = json_array();
    pfc_code worst = PFC_OK;

    if (o->words_len < 2)
        worst = pfc_err_set(err, PFC_EINVAL, "check: expected a suite's file or name");
    for (size_t i = 1; i < o->words_len; i++) {
        pfc_suite *suite = NULL;
        pfc_err inner = { 0 };
        const pfc_code code = pfc_suite_load(o->words[i], &suite, &inner);

        if (code && worst) /* the caller prints the last error */
            (void)pfc_cli_fail(cli, err);
        if (code) {
            worst = code;
            *err = inner;
            json_array_append_new(answers, json_pack("{s:s, s:b, s:s}", "file", o->words[i], "ok",
                                                     0, "error", inner.msg));
            continue;
        }
        json_array_append_new(answers,
                              json_pack("{s:s, s:b, s:s, s:I, s:s}", "file", o->words[i], "ok", 1,
                                        "suite", suite->name, "benchmarks",
                                        (json_int_t)suite->cases_len, "hash", suite->hash));
        if (!cli->json && !cli->quiet)
            pfc_out("%s: suite %s, %zu benchmarks\n", o->words[i], suite->name, suite->cases_len);
        pfc_suite_free(suite);
    }
    if (cli->json && o->words_len >= 2)
        pfc_cli_print_json(answers);
    else
        json_decref(answers);
    return worst;
}

/* ---- from-model ---- */

static pfc_code read_phases(const char *list, bool phases[PFC_PHASES], pfc_err *err)
{
    char *copy = pfc_strdup(list);
    char *save = NULL;
    size_t n = 0;
    pfc_code code = PFC_OK;

    for (char *word = strtok_r(copy, ",", &save); word && !code;
         word = strtok_r(NULL, ",", &save)) {
        pfc_model_phase phase = PFC_PHASE_PREFILL;

        code = pfc_model_phase_parse(word, &phase, err);
        if (!code)
            phases[phase] = true;
        n++;
    }
    free(copy);
    if (code || n == 0)
        return pfc_err_set(err, PFC_EINVAL,
                           "--phases: expected a list of prefill, decode and training, got '%.60s'",
                           list);
    return PFC_OK;
}

static pfc_code check_model_opts(const suite_opts *o, pfc_err *err)
{
    if (o->words_len != 2)
        return pfc_err_set(err, PFC_EINVAL, "from-model: expected one config.json");
    if (o->model.name && !pfc_is_slug(o->model.name))
        return pfc_err_set(err, PFC_EINVAL, "--name: expected a name of [a-z0-9._-], got '%.60s'",
                           o->model.name);
    if (pfc_dtype_bytes(o->model.dtype) <= 0.0)
        return pfc_err_set(err, PFC_EINVAL, "--dtype: expected f32, bf16 or int8, got '%.20s'",
                           o->model.dtype);
    return PFC_OK;
}

/* A built-in model's name stands for its configuration. */
static pfc_code find_model(const char *word, pfc_model *out, pfc_err *err)
{
    const pfc_model *builtin = strchr(word, '/') ? NULL : pfc_model_builtin(word);
    char *text = NULL;
    size_t len = 0;
    pfc_code code;

    if (builtin) {
        *out = *builtin;
        return PFC_OK;
    }
    code = pfc_fs_read(word, PFC_MODEL_MAX_CONFIG, &text, &len, err);
    if (!code)
        code = pfc_model_from_config(text, len, word, out, err);
    free(text);
    return code;
}

static pfc_code from_model(const pfc_cli *cli, suite_opts *o, pfc_err *err)
{
    pfc_model model;
    char *text = NULL;
    pfc_code code = check_model_opts(o, err);

    if (!code && o->phases)
        code = read_phases(o->phases, o->model.phases, err);
    if (!code)
        code = find_model(o->words[1], &model, err);
    if (!code)
        o->model.source = pfc_model_builtin(o->words[1]) ? NULL : o->words[1];
    if (!code)
        code = pfc_model_suite(&model, &o->model, &text, err);
    if (!code && o->out)
        code = pfc_fs_write_atomic(o->out, text, strlen(text), 0644, err);
    else if (!code && cli->json)
        pfc_cli_print_json(json_pack("{s:s, s:s}", "model", model.name, "suite", text));
    else if (!code)
        pfc_out("%s", text);
    free(text);
    return code;
}

static int cmd_suite(pfc_cli *cli, int argc, char **argv)
{
    static const char *const known[] = { "list", "check", "from-model", NULL };
    suite_opts o = { .model = { .dtype = "f32" } };
    const char *near;
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    pfc_cli_parse(cli, &pfc_cmd_suite, argc, argv, &o);
    if (strcmp(o.words[0], "list") == 0) {
        list(cli);
    } else if (strcmp(o.words[0], "check") == 0) {
        code = check(cli, &o, &err);
    } else if (strcmp(o.words[0], "from-model") == 0) {
        code = from_model(cli, &o, &err);
    } else {
        near = pfc_cli_nearest(o.words[0], known);
        code = pfc_err_set(&err, PFC_EINVAL,
                           "expected list, check or from-model, got \"%.40s\"%s%s%s", o.words[0],
                           near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_suite = {
    .name = "suite",
    .summary = "check suites, make one from a model's configuration",
    .run = cmd_suite,
    .options = suite_options,
    .parse = parse_suite,
    .args_doc = "list|check FILE...|from-model CONFIG",
    .doc = suite_doc,
};
