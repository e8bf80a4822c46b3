/* Expressions: values, what is missing, and where a fault is. Expected values by arithmetic. */
#include <math.h>
#include <string.h>

#include "core/analysis/expr/expr.h"
#include "core/base/buf.h"

#include "tests/check/check.h"

static const pfc_expr_place place = { "rules.yaml", 7, 12 };

static void fill(pfc_profile *p)
{
    pfc_err err = { 0 };

    pfc_profile_init(p, "run 1");
    cr_assert(eq(int, pfc_profile_set(p, "cycles", 200, &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set(p, "busy", 50, &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set(p, "count_cache-misses", 8, &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set(p, "path.tile a.dma", 3, &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set_fact(p, "bound", "L2 read", &err), PFC_OK));
}

static pfc_expr_result value_of(const char *text)
{
    pfc_expr_scope scope;
    pfc_expr_result r;
    pfc_expr *e = NULL;
    pfc_profile p;
    pfc_err err = { 0 };
    static char missing[200];

    fill(&p);
    cr_assert(eq(int, pfc_expr_parse(text, strlen(text), &place, NULL, &e, &err), PFC_OK), "%s: %s",
              text, err.msg);
    pfc_expr_scope_init(&scope, NULL, &p);
    r = pfc_expr_eval(e, &scope);
    if (!r.available) { /* belongs to the expression */
        snprintf(missing, sizeof(missing), "%s", r.missing);
        r.missing = missing;
    }
    pfc_expr_free(e);
    pfc_profile_clear(&p);
    return r;
}

Test(expr, arithmetic_follows_the_usual_precedence)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        { "1 + 2 * 3", 7 },         { "(1 + 2) * 3", 9 },
        { "8 - 2 - 1", 5 },         { "8 / 4 / 2", 1 },
        { "-2 * -3", 6 },           { "--2", 2 },
        { "2e-3 * 1000", 2 },       { ".5 + 1.", 1.5 },
        { "busy / cycles", 0.25 },  { "min(3, 1, 2)", 1 },
        { "max(3, 1, 2)", 3 },      { "log2(8)", 3 },
        { "sqrt(cycles / 2)", 10 }, { "'count_cache-misses' * 64", 512 },
        { "'path.tile a.dma'", 3 }, { " \n busy\t+\n1 ", 51 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        const pfc_expr_result r = value_of(cases[i].text);

        cr_expect(r.available, "%s", cases[i].text);
        cr_expect(epsilon_eq(dbl, r.number, cases[i].value, 1e-12), "%s", cases[i].text);
    }
}

Test(expr, conditions_are_one_or_zero)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        { "1 < 2", 1 },
        { "2 < 1", 0 },
        { "2 <= 2", 1 },
        { "3 >= 4", 0 },
        { "2 > 2", 0 },
        { "2 == 2", 1 },
        { "2 != 2", 0 },
        { "not 0", 1 },
        { "not not 3", 1 },
        { "1 and 0 or 1", 1 },
        { "0 and 0 or 0", 0 },
        { "3 and 4", 1 },
        { "not 1 == 2", 1 },
        { "if(busy > 40, 10, 20)", 10 },
        { "if(busy > 60, 10, 20)", 20 },
        { "fact(bound, \"L2 read\")", 1 },
        { "fact(bound, \"L2\")", 0 },
        { "fact(no_such_fact, \"L2 read\")", 0 },
        { "fact('bound', \"L2 read\") and 2 > 1", 1 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        const pfc_expr_result r = value_of(cases[i].text);

        cr_expect(r.available, "%s", cases[i].text);
        cr_expect(eq(dbl, r.number, cases[i].value), "%s", cases[i].text);
    }
}

Test(expr, what_is_missing_is_named)
{
    static const struct {
        const char *text, *missing;
    } cases[] = {
        { "busy + missing.part / 0", "missing.part" },
        { "min(1, nothing, other)", "nothing" },
        { "busy / (cycles - 200)", "division by zero" },
        { "if(absent, 1, 2)", "absent" },
        { "if(1, absent, 2)", "absent" },
        { "1 and absent", "absent" },
        { "default(absent, gone)", "gone" },
        { "1e308 * 10", "a finite result" },
        { "log2(0)", "a positive number" },
        { "sqrt(-1)", "a positive number" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        const pfc_expr_result r = value_of(cases[i].text);

        cr_expect(not(r.available), "%s", cases[i].text);
        cr_expect(isnan(r.number), "%s", cases[i].text);
        cr_expect(eq(str, (char *)r.missing, (char *)cases[i].missing), "%s", cases[i].text);
    }
}

Test(expr, only_what_is_needed_is_looked_at)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        { "default(absent, 5)", 5 }, { "default(busy, absent)", 50 }, { "default(1 / 0, 5)", 5 },
        { "if(0, absent, 2)", 2 },   { "if(1, 2, absent)", 2 },       { "0 and absent", 0 },
        { "1 or absent", 1 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        const pfc_expr_result r = value_of(cases[i].text);

        cr_expect(r.available, "%s: %s", cases[i].text, r.missing);
        cr_expect(eq(dbl, r.number, cases[i].value), "%s", cases[i].text);
    }
}

Test(expr, a_fault_names_line_column_and_what_was_expected)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "rules.yaml:7:12: expected a number, a name, a function or \"(\", got the end of the "
              "expression" },
        { "1 +", "rules.yaml:7:15: expected a number, a name, a function or \"(\", got the end of "
                 "the expression" },
        { "1 + * 2", "rules.yaml:7:16: expected a number, a name, a function or \"(\", got \"*\"" },
        { "busy\n + )",
          "rules.yaml:8:4: expected a number, a name, a function or \"(\", got \")\"" },
        { "(1 + 2", "rules.yaml:7:18: expected \")\" or an operator, got the end of the "
                    "expression" },
        { "1 2", "rules.yaml:7:14: expected an operator or the end of the expression, got \"2\"" },
        { "1 < 2 < 3",
          "rules.yaml:7:18: expected an operator or the end of the expression, got \"<\"" },
        { "min(1)", "rules.yaml:7:17: expected \",\": min has at least 2 arguments, got \")\"" },
        { "if(1, 2, 3, 4)", "rules.yaml:7:24: expected if with 3 arguments or fewer, got \"4\"" },
        { "max 1", "rules.yaml:7:16: expected \"(\", got \"1\"" },
        { "1.2.3",
          "rules.yaml:7:12: expected a decimal number such as 0.8 or 2e-3, got \"1.2.3\"" },
        { "1e999",
          "rules.yaml:7:12: expected a decimal number such as 0.8 or 2e-3, got \"1e999\"" },
        { "a $ b",
          "rules.yaml:7:14: expected an operator or the end of the expression, got \"$\"" },
        { "and", "rules.yaml:7:12: expected a number, a name, a function or \"(\", got \"and\"" },
        { "fact(bound, 3)", "rules.yaml:7:24: expected a text in double quotes, got \"3\"" },
        { "''", "rules.yaml:7:12: expected a name of 1 to 127 bytes, got \"''\"" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_expr *e = NULL;
        pfc_err err = { 0 };

        cr_expect(eq(int,
                     pfc_expr_parse(cases[i].text, strlen(cases[i].text), &place, NULL, &e, &err),
                     PFC_EINVAL),
                  "%s", cases[i].text);
        cr_expect(eq(str, err.msg, (char *)cases[i].message), "%s", cases[i].text);
        cr_expect(e == NULL);
    }
}

/* `count` times `unit`, then `end`. */
static pfc_code parse_repeated(const char *unit, size_t count, const char *end, pfc_err *err)
{
    pfc_expr *e = NULL;
    pfc_buf text;
    pfc_code code;

    pfc_buf_init(&text, 1u << 20);
    for (size_t i = 0; i < count; i++)
        pfc_buf_puts(&text, unit);
    pfc_buf_puts(&text, end);
    code = pfc_expr_parse(pfc_buf_text(&text), text.len, &place, NULL, &e, err);
    pfc_expr_free(e);
    pfc_buf_clear(&text);
    return code;
}

Test(expr, length_depth_and_height_are_bounded)
{
    pfc_err err = { 0 };

    cr_expect(eq(int, parse_repeated("-", PFC_EXPR_MAX_DEPTH - 1, "1", &err), PFC_OK), "%s",
              err.msg);
    cr_expect(eq(int, parse_repeated("-", PFC_EXPR_MAX_DEPTH, "1", &err), PFC_ETOOBIG));
    cr_expect(eq(int, parse_repeated("(", 10000, "1", &err), PFC_ETOOBIG));
    cr_expect(eq(int, parse_repeated("not ", 4000, "1", &err), PFC_ETOOBIG));
    cr_expect(eq(int, parse_repeated("1+", PFC_EXPR_MAX_HEIGHT - 1, "1", &err), PFC_OK), "%s",
              err.msg);
    cr_expect(eq(int, parse_repeated("1+", PFC_EXPR_MAX_HEIGHT, "1", &err), PFC_ETOOBIG));
    cr_expect(eq(int, parse_repeated(" ", PFC_EXPR_MAX_BYTES, "1", &err), PFC_ETOOBIG));
    cr_expect(not(eq(ptr, strstr(err.msg, "at most 16384 bytes, got 16385"), NULL)), "%s", err.msg);
}

static const char sheet[] = "definitions:\n"
                            "  share: busy / cycles\n"
                            "  twice: >-\n"
                            "    share * 2 +\n"
                            "    lost\n"
                            "  lost: 7\n"
                            "rules: 1\n";

Test(expr, definitions_use_those_above_and_the_profile)
{
    pfc_expr_defs defs = { 0 };
    pfc_expr_scope scope;
    pfc_expr_file f;
    pfc_profile p;
    pfc_err err = { 0 };

    fill(&p);
    cr_assert(
        eq(int, pfc_expr_file_open_text(&f, "sheet.yaml", sheet, strlen(sheet), &err), PFC_OK),
        "%s", err.msg);
    cr_assert(eq(int, pfc_expr_defs_read(&f, &defs, &err), PFC_OK), "%s", err.msg);
    pfc_expr_scope_init(&scope, &defs, &p);
    cr_expect(eq(sz, defs.len, 3));
    cr_expect(eq(dbl, scope.values[0].number, 0.25));
    /* `lost` is defined below, so `twice` asks the profile, which has none. */
    cr_expect(not(scope.values[1].available));
    cr_expect(eq(str, (char *)scope.values[1].missing, "lost"));
    cr_expect(eq(dbl, scope.values[2].number, 7));
    pfc_expr_defs_clear(&defs);
    pfc_expr_file_close(&f);
    pfc_profile_clear(&p);
}

Test(expr, a_fault_in_a_file_is_at_its_own_line_and_column)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "definitions:\n  a: 1 + + 2\n", "sheet.yaml:2:10: expected a number" },
        { "definitions:\n  a: \"1 + + 2\"\n", "sheet.yaml:2:11: expected a number" },
        { "definitions:\n  a: >-\n    1 +\n      2 + * 3\n", "sheet.yaml:4:11: expected a number" },
        { "definitions:\n  a: 1 +\n    2 + * 3\n", "sheet.yaml:3:9: expected a number" },
        { "definitions:\n  A: 1\n", "sheet.yaml:2: definitions: expected a name of a-z" },
        { "definitions:\n  a: [1]\n", "sheet.yaml:2: a: expected an expression" },
        { "definitions: 3\n", "sheet.yaml:1: definitions: expected a mapping" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_expr_defs defs = { 0 };
        pfc_expr_file f;
        pfc_err err = { 0 };
        pfc_code code =
            pfc_expr_file_open_text(&f, "sheet.yaml", cases[i].text, strlen(cases[i].text), &err);

        if (!code)
            code = pfc_expr_defs_read(&f, &defs, &err);
        cr_expect(eq(int, code, PFC_EINVAL), "%s", cases[i].text);
        cr_expect(eq(int, strncmp(err.msg, cases[i].message, strlen(cases[i].message)), 0),
                  "%s: %s", cases[i].text, err.msg);
        pfc_expr_defs_clear(&defs);
        pfc_expr_file_close(&f);
    }
}
