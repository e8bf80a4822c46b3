/*
 * Run documents from outside. Properties: a refusal has a sentence; what is taken can be written,
 * read back and written again to the same text, and its samples are finite and add up; the quick
 * reader takes nothing that jansson refuses, and makes the same of what it takes; a text is within
 * its limits just when its tree is.
 */
#include <math.h>
#include <string.h>

#include "core/wire/wire_priv.h"

#include "tests/fuzz/fuzz.h"

static void check(const pfc_run *run)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        size_t sum = 0;

        for (size_t b = 0; b < m->blocks_len; b++)
            sum += m->blocks[b];
        FUZZ_CHECK(sum == m->samples_len);
        for (size_t s = 0; s < m->samples_len; s++)
            FUZZ_CHECK(isfinite(m->samples[s]));
    }
}

static void check_quick(const char *text, size_t len)
{
    static const pfc_json_limits all = { SIZE_MAX, SIZE_MAX };
    json_t *quick = pfc_json_quick(text, len, &all);
    json_t *slow =
        quick ? json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL) : NULL;

    FUZZ_CHECK(!quick || (slow && json_equal(quick, slow)));
    json_decref(quick);
    json_decref(slow);
}

static void count(json_t *tree, pfc_json_limits *in)
{
    const char *key;
    json_t *value;
    size_t i;

    in->values++;
    in->nested += json_is_object(tree) || json_is_array(tree);
    json_object_foreach(tree, key, value) count(value, in);
    json_array_foreach(tree, i, value) count(value, in);
}

static pfc_code parse(const char *text, size_t len, size_t nested, size_t values)
{
    const pfc_json_limits limits = { nested, values };
    pfc_err err = { 0 };
    json_t *tree = NULL;
    pfc_code code = pfc_json_parse_within(text, len, &limits, &tree, &err);

    FUZZ_CHECK(code ? tree == NULL && err.msg[0] : tree != NULL);
    json_decref(tree);
    return code;
}

static void check_limits(const char *text, size_t len)
{
    pfc_json_limits in = { 0 };
    json_t *tree = NULL;

    if (pfc_json_parse(text, len, &tree, NULL))
        return;
    count(tree, &in);
    json_decref(tree);
    FUZZ_CHECK(parse(text, len, in.nested, in.values) == PFC_OK);
    FUZZ_CHECK(parse(text, len, in.nested, in.values - 1) == PFC_ETOOBIG);
    FUZZ_CHECK(!in.nested || parse(text, len, in.nested - 1, in.values) == PFC_ETOOBIG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pfc_run *run = NULL;
    pfc_run *again = NULL;
    pfc_err err = { 0 };
    char *text, *text_again;

    check_quick((const char *)data, size);
    check_limits((const char *)data, size);
    if (pfc_run_from_json((const char *)data, size, &run, &err)) {
        FUZZ_CHECK(run == NULL && err.msg[0] != '\0');
        return 0;
    }
    check(run);
    text = pfc_run_to_text(run);
    FUZZ_CHECK(pfc_run_from_json(text, strlen(text), &again, &err) == PFC_OK);
    text_again = pfc_run_to_text(again);
    FUZZ_CHECK(strcmp(text, text_again) == 0);
    free(text);
    free(text_again);
    pfc_run_free(run);
    pfc_run_free(again);
    return 0;
}
