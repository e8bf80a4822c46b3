/* Rows as JSON: every kind of member, and both directions of changes. */
#include <math.h>
#include <stdlib.h>

#include "server/handlers/handlers.h"
#include "server/services/history/compare.h"

#include "tests/check/check.h"

typedef struct row {
    const char *text, *json;
    char *owned;
    double number, time;
    int small;
    int64_t large, id;
    size_t size;
    bool flag;
    pfc_array_text texts;
} row;

static const pfc_field fields[] = {
    PFC_FIELD(row, text),
    PFC_FIELD(row, owned),
    PFC_FIELD(row, number),
    PFC_FIELD_AS(row, "time", time, TIME),
    PFC_FIELD(row, small),
    PFC_FIELD(row, large),
    PFC_FIELD_AS(row, "id", id, ID),
    PFC_FIELD(row, size),
    PFC_FIELD(row, flag),
    PFC_FIELD_AS(row, "better", flag, DIRECTION),
    PFC_FIELD_AS(row, "direction", flag, CHANGE),
    PFC_FIELD_AS(row, "status", flag, STATUS),
    PFC_FIELD_AS(row, "json", json, JSON),
    PFC_FIELD_AS(row, "texts", texts, TEXTS),
    PFC_FIELD_AS(row, "array", json, ARRAY),
    PFC_FIELD_AS(row, "object", json, OBJECT),
    PFC_FIELD_NAMED(row, "another", text),
};

static void expect_json(json_t *json, const char *want)
{
    char *text = json_dumps(json, JSON_COMPACT);

    cr_expect(eq(str, text, (char *)want));
    free(text);
    json_decref(json);
}

Test(fields, each_kind_has_its_form_in_the_order_of_the_table)
{
    const row full = { .text = "a",
                       .json = "[1]",
                       .owned = (char *)"b",
                       .number = 0.5,
                       .time = 1,
                       .small = -2,
                       .large = 1LL << 40,
                       .id = 7,
                       .size = 3,
                       .flag = true,
                       .texts = { "{a,\"b, \\\"c\\\"\"}" } };
    const row empty = { .number = (double)NAN };

    expect_json(
        pfc_encode_fields(PFC_FIELDS(fields), &full),
        "{\"text\":\"a\",\"owned\":\"b\",\"number\":0.5,\"time\":\"1970-01-01T00:00:01.000Z\","
        "\"small\":-2,\"large\":1099511627776,\"id\":7,\"size\":3,\"flag\":true,"
        "\"better\":\"higher\",\"direction\":\"regression\",\"status\":\"confirmed\","
        "\"json\":[1],\"texts\":[\"a\",\"b, "
        "\\\"c\\\"\"],\"array\":[1],\"object\":[1],\"another\":\"a\"}");
    expect_json(pfc_encode_fields(PFC_FIELDS(fields), &empty),
                "{\"text\":null,\"owned\":null,\"number\":null,\"time\":null,\"small\":0,"
                "\"large\":0,\"id\":null,\"size\":0,\"flag\":false,\"better\":\"lower\","
                "\"direction\":\"improvement\",\"status\":\"provisional\",\"json\":null,"
                "\"texts\":[],\"array\":[],\"object\":{},\"another\":null}");
}

Test(fields, rows_keep_their_order_and_none_is_an_empty_array)
{
    const row rows[] = { { .large = 1 }, { .large = 2 }, { .large = 3 } };
    static const pfc_field one[] = { PFC_FIELD(row, large) };
    const pfc_row_view all = { rows, 3, sizeof(rows[0]) }, none = { rows, 0, sizeof(rows[0]) };

    expect_json(pfc_encode_table(all, PFC_FIELDS(one)),
                "[{\"large\":1},{\"large\":2},{\"large\":3}]");
    expect_json(pfc_encode_table(none, PFC_FIELDS(one)), "[]");
    expect_json(pfc_encode_list("items", json_array(), 0), "{\"items\":[],\"next_cursor\":null}");
    expect_json(pfc_encode_list("items", json_array(), 9), "{\"items\":[],\"next_cursor\":9}");
}

Test(directions, a_difference_is_a_regression_or_an_improvement_and_broken_comes_first)
{
    static const struct {
        pfc_verdict verdict;
        bool regression, broken_a, broken_b;
        const char *word;
    } cases[] = {
        { PFC_VERDICT_DIFFERENT, true, false, false, "regression" },
        { PFC_VERDICT_DIFFERENT, false, false, false, "improvement" },
        { PFC_VERDICT_SAME, true, false, false, "same" },
        { PFC_VERDICT_INCONCLUSIVE, true, false, false, "inconclusive" },
        { PFC_VERDICT_DIFFERENT, true, true, false, "broken" },
        { PFC_VERDICT_DIFFERENT, false, false, true, "broken" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        const pfc_compare_row r = { .result = { .verdict = cases[i].verdict },
                                    .regression = cases[i].regression,
                                    .broken_a = cases[i].broken_a,
                                    .broken_b = cases[i].broken_b };

        cr_expect(eq(str, (char *)pfc_compare_word(&r), (char *)cases[i].word), "case %zu", i);
    }
    expect_json(
        pfc_encode_summary(&(pfc_comparison){
            .regressions = 1, .improvements = 2, .same = 3, .inconclusive = 4, .broken = 5 }),
        "{\"regression\":1,\"improvement\":2,\"same\":3,\"inconclusive\":4,\"broken\":5}");
}

Test(actors, a_token_is_named_only_to_requests_with_a_token)
{
    pfc_req req = { 0 };

    expect_json(json_pack("[o]", pfc_encode_actor(&req, "token 7 (ann)")), "[\"token 7\"]");
    expect_json(json_pack("[o]", pfc_encode_actor(&req, "detector (x)")), "[\"detector (x)\"]");
    expect_json(json_pack("[o]", pfc_encode_actor(&req, NULL)), "[null]");
    req.auth.token_id = 1;
    expect_json(json_pack("[o]", pfc_encode_actor(&req, "token 7 (ann)")), "[\"token 7 (ann)\"]");
}
