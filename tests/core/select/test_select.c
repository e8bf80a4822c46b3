/* Expressions that select series. */
#include <string.h>

#include "core/select/select.h"

#include "tests/check/check.h"

/* A gemm of bf16, with k = 4096. */
static const char *value_of(void *item, const char *name)
{
    static const char *const fields[][2] = {
        { "dtype", "bf16" }, { "k", "4096" },           { "m", "1e3" },
        { "", "empty" },     { "note", "a b,c=\"d\"" }, { "backend", "cpu-avx512" },
    };

    (void)item;
    if (!name)
        return "gemm/bf16/m1000k4096 gemm_tflops cpu-avx512";
    for (size_t i = 0; i < PFC_ARRAY_LEN(fields); i++)
        if (strcmp(fields[i][0], name) == 0)
            return fields[i][1];
    return NULL;
}

static bool selects(const char *text)
{
    pfc_select *s = NULL;
    pfc_err err = { 0 };
    bool yes;

    cr_assert(eq(int, pfc_select_parse(text, &s, &err), PFC_OK), "%s: %s", text, err.msg);
    yes = pfc_select_matches(s, value_of, NULL);
    pfc_select_free(s);
    return yes;
}

Test(select, a_term_holds_by_type_and_all_terms_must)
{
    static const struct {
        const char *text;
        bool yes;
    } cases[] = {
        { "", true },
        { "  \t ", true },
        { "dtype=bf16", true },
        { "dtype=BF16", false },
        { "dtype=f32", false },
        { "dtype=f32,bf16", true },
        { "dtype!=f32,bf16", false },
        { "dtype!=f32", true },
        { "dtype=bf16 k>=4096", true },
        { "dtype=f32 k>=4096", false },
        { "dtype=bf16 k>4096", false },
        { "k<4097", true },
        { "k<=4096", true },
        { "k<4096", false },
        { "k>999", true }, /* as texts "4096" < "999" */
        { "k=4096.0", true },
        { "k=4.096e3", true },
        { "m=1000", true },
        { "k=409", false },
        { "k=*96", true },
        { "dtype>1", false }, /* a text is not above a number */
        { "dtype=b*6", true },
        { "dtype=b*5", false },
        { "backend=cpu-*", true },
        { "backend=*avx*", true },
        { "backend=\"cpu-*\"", false }, /* quoted: an ordinary sign */
        { "absent=1", false },
        { "absent!=1", true },
        { "absent<1", false },
        { "GEMM tflops", true },
        { "gemm attention", false },
        { "m*k4096", true },
        { "\"k4096 gemm\"", true },
        { "note=\"a b,c=\\\"d\\\"\"", true },
        { "\"note\"=\"a b,c=\\\"d\\\"\"", true },
        { "note=\"\"", false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++)
        cr_expect(eq(int, selects(cases[i].text), cases[i].yes), "%s", cases[i].text);
}

Test(select, the_first_fault_is_named_with_its_position_in_characters)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        { "k>=big", "select: at character 4: expected a number after \"k>=\", got \"big\"" },
        { "gemm k>=", "select: at character 9: expected a value after \"k>=\"" },
        { "k= x", "select: at character 3: expected a value after \"k=\"" },
        { "dtype=a,,b", "select: at character 9: expected a value after \"dtype=a,\"" },
        { "k>=1,2",
          "select: at character 5: expected one number; only = and != take several values" },
        { "=3", "select: at character 1: expected a word, or a field's name before the operator" },
        { "a,b", "select: at character 2: a comma without a field; write FIELD=VALUE,VALUE" },
        { "k!3", "select: at character 2: expected an operator: = != < <= > >=" },
        { "\xc3\xa4\xc3\xb6 k=\"x", "select: at character 6: expected a closing quote" },
        { "k=\"x\"y", "select: at character 6: expected a blank after the closing quote" },
        { "k*=1", "select: at character 1: a field's name has no *; put it into the value" },
        { "ab\"c\"", "select: at character 3: a quote within a word; put quotes around all of it" },
        { "\"\"", "select: at character 1: an empty word" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_select *s = NULL;
        pfc_err err = { 0 };

        cr_expect(eq(int, pfc_select_parse(cases[i].text, &s, &err), PFC_EINVAL), "%s",
                  cases[i].text);
        cr_expect(eq(str, err.msg, (char *)(uintptr_t)cases[i].said));
        cr_expect(eq(str, err.field, "select"));
        cr_expect(eq(ptr, s, NULL));
    }
}

/* `unit` n times, then the rest. */
static char *repeated(const char *unit, size_t n, const char *rest)
{
    const size_t len = strlen(unit);
    char *text = pfc_calloc(n * len + strlen(rest) + 1, 1);

    for (size_t i = 0; i < n; i++)
        memcpy(text + i * len, unit, len);
    memcpy(text + n * len, rest, strlen(rest));
    return text;
}

static void expect_limit(const char *unit, size_t limit, const char *rest)
{
    for (size_t over = 0; over < 2; over++) {
        char *text = repeated(unit, limit + over, rest);
        pfc_select *s = NULL;
        pfc_err err = { 0 };

        cr_expect(eq(int, pfc_select_parse(text, &s, &err), over ? PFC_ETOOBIG : PFC_OK), "%s: %s",
                  text, err.msg);
        if (s)
            cr_expect(pfc_select_terms(s) > 0);
        pfc_select_free(s);
        free(text);
    }
}

Test(select, an_expression_is_bounded)
{
    expect_limit("a ", PFC_SELECT_MAX_TERMS, "");
    expect_limit("x", PFC_SELECT_MAX_BYTES, "");
    char *values = repeated("1,", PFC_SELECT_MAX_VALUES, "1");
    char *text = pfc_format("k=%s", values);
    pfc_select *s = NULL;
    pfc_err err = { 0 };

    cr_expect(eq(int, pfc_select_parse(text, &s, &err), PFC_ETOOBIG));
    text[strlen(text) - 2] = '\0';
    cr_expect(eq(int, pfc_select_parse(text, &s, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(str, (char *)(uintptr_t)pfc_select_field(s, 0), "k"));
    pfc_select_free(s);
    free(text);
    free(values);
}
