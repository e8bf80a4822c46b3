/* The JSON of a comparison: our own, and that of GET /compare. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/parse.h"
#include "core/comparison/comparison.h"

#define MAX_NAMES     65536
#define MAX_DIFFERING 1000
#define UNKNOWN_CODE  "unknown"

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *side_json(const pfc_cmp_side *s)
{
    const bool known = s->n > 0;

    return json_pack("{s:o,s:o,s:o,s:I,s:o}", "median", number(known ? s->median : (double)NAN),
                     "low", number(known ? s->low : (double)NAN), "high",
                     number(known ? s->high : (double)NAN), "n", (json_int_t)s->n,
                     "reproducibility", text_or_null(s->reproducibility));
}

static json_t *broken_json(const pfc_cmp_row *r)
{
    json_t *sides = json_array();

    if (r->broken_a)
        json_array_append_new(sides, json_string("a"));
    if (r->broken_b)
        json_array_append_new(sides, json_string("b"));
    return sides;
}

static json_t *judged_json(const pfc_cmp_row *r)
{
    json_t *doc = json_pack("{s:s,s:s,s:s,s:s,s:s,s:b}", "benchmark", r->benchmark, "metric",
                            r->metric, "backend", r->backend, "unit", r->unit, "direction",
                            r->higher_is_better ? "higher" : "lower", "exact", r->exact);

    if (r->machine_class)
        json_object_set_new(doc, "machine_class", json_string(r->machine_class));
    if (r->differs)
        json_object_set(doc, "fingerprint_differs", r->differs);
    /* Every member in every row, as the service does: what a broken side lacks is null. */
    json_object_set_new(doc, "a", side_json(&r->a));
    json_object_set_new(doc, "b", side_json(&r->b));
    json_object_set_new(doc, "rel_change", number(r->rel_change));
    json_object_set_new(doc, "rel_low", number(r->rel_low));
    json_object_set_new(doc, "rel_high", number(r->rel_high));
    json_object_set_new(doc, "p", number(r->p));
    json_object_set_new(doc, "p_adjusted", number(r->p_adjusted));
    json_object_set_new(doc, "noise_rel", number(r->noise_rel));
    json_object_set_new(doc, "reproducibility", text_or_null(r->reproducibility));
    json_object_set_new(doc, "broken", broken_json(r));
    json_object_set_new(doc, "reason", text_or_null(r->reason));
    json_object_set_new(doc, "verdict", json_string(pfc_cmp_name(r->verdict)));
    if (r->verdict == PFC_CMP_INCONCLUSIVE && r->more_rounds)
        json_object_set_new(doc, "more_rounds", json_integer((json_int_t)r->more_rounds));
    else if (r->verdict == PFC_CMP_INCONCLUSIVE && r->more_runs)
        json_object_set_new(doc, "more_runs", json_integer((json_int_t)r->more_runs));
    if (r->secondary)
        json_object_set_new(doc, "secondary", json_true());
    return doc;
}

static json_t *row_json(const pfc_cmp_row *r)
{
    /* Nothing that the service says of a row is lost, whether this program knows the member or not.
     */
    return r->stored ? json_deep_copy(r->stored) : judged_json(r);
}

/* The names alone, as text, and with their values. */
static void put_differences(json_t *doc, const pfc_cmp *cmp)
{
    json_t *list = json_array();
    pfc_buf names;

    pfc_buf_init(&names, MAX_NAMES);
    for (size_t i = 0; i < cmp->differs_len; i++) {
        const pfc_cmp_difference *d = &cmp->differs[i];

        pfc_buf_printf(&names, "%s%s", i ? ", " : "", d->field);
        json_array_append_new(list, json_pack("{s:s,s:o,s:o}", "field", d->field, "a",
                                              text_or_null(d->a), "b", text_or_null(d->b)));
    }
    if (cmp->differs_len)
        json_object_set_new(doc, "fingerprint_differs", json_string(pfc_buf_text(&names)));
    json_object_set_new(doc, "differs", list);
    json_object_set_new(doc, "stored", json_boolean(cmp->stored));
    json_object_set_new(doc, "across", json_boolean(cmp->across));
    pfc_buf_clear(&names);
}

void pfc_cmp_put_code(json_t *doc, const char *object_code, json_t *functions)
{
    json_object_set_new(doc, "object_code", json_string(object_code ? object_code : UNKNOWN_CODE));
    json_object_set_new(doc, "functions", functions ? functions : json_array());
}

json_t *pfc_cmp_function(const char *name, int64_t before, int64_t after)
{
    return json_pack("{s:s, s:I, s:I}", "name", name, "before", (json_int_t)before, "after",
                     (json_int_t)after);
}

json_t *pfc_cmp_reused_json(const char *from, const char *measured_at)
{
    return json_pack("{s:s,s:s}", "from", from, "measured_at", measured_at);
}

char *pfc_cmp_reused_sentence(const pfc_cmp *cmp)
{
    if (!cmp->reused.from)
        return NULL;
    return pfc_format("Reused from %s, measured at %s: same trees, toolchain, suite and machine "
                      "class; nothing was measured again.",
                      cmp->reused.from, cmp->reused.measured_at);
}

static void put_how(json_t *doc, const char *key, const char *how)
{
    if (how)
        json_object_set_new(json_object_get(doc, key), "how", json_string(how));
}

json_t *pfc_cmp_to_json(const pfc_cmp *cmp)
{
    json_t *rows = json_array();
    json_t *summary = json_object();
    json_t *doc = json_pack("{s:{s:s,s:I},s:{s:s,s:I},s:o,s:I,s:I,s:O?,s:O?}", "a", "name", cmp->a,
                            "hidden", (json_int_t)cmp->hidden_a, "b", "name", cmp->b, "hidden",
                            (json_int_t)cmp->hidden_b, "rows", rows, "only_a",
                            (json_int_t)json_array_size(cmp->only_a), "only_b",
                            (json_int_t)json_array_size(cmp->only_b), "only_in_a", cmp->only_a,
                            "only_in_b", cmp->only_b);

    for (size_t i = 0; i < cmp->len; i++)
        json_array_append_new(rows, row_json(&cmp->rows[i]));
    for (int v = 0; v < PFC_CMP_VERDICTS; v++)
        json_object_set_new(summary, pfc_cmp_name((pfc_cmp_verdict)v),
                            json_integer((json_int_t)cmp->count[v]));
    json_object_set_new(doc, "summary", summary);
    if (cmp->rounds)
        json_object_set_new(doc, "rounds", json_integer((json_int_t)cmp->rounds));
    if (cmp->repeat)
        json_object_set(doc, "repeat", cmp->repeat);
    if (cmp->means)
        json_object_set(doc, "means", cmp->means);
    if (cmp->between)
        json_object_set(doc, "between", cmp->between);
    put_how(doc, "a", cmp->how_a);
    put_how(doc, "b", cmp->how_b);
    if (cmp->nothing)
        json_object_set_new(doc, "nothing", json_string(cmp->nothing));
    if (cmp->explanation)
        json_object_set(doc, "explanation", cmp->explanation);
    pfc_cmp_put_code(doc, cmp->object_code, json_incref(cmp->functions));
    if (cmp->reused.from)
        json_object_set_new(doc, "reused",
                            pfc_cmp_reused_json(cmp->reused.from, cmp->reused.measured_at));
    put_differences(doc, cmp);
    return doc;
}

/* Documents of older versions have no such member. */
static pfc_code read_class(const json_t *obj, const pfc_json_at *at, const char **out, pfc_err *err)
{
    static const char *const known[] = { "exact", "confirmed", "single" };
    char *word = NULL;
    pfc_code code = pfc_json_string(obj, at, "reproducibility", false, 32, &word, err);

    *out = NULL;
    for (size_t i = 0; i < PFC_ARRAY_LEN(known); i++)
        if (pfc_streq(word, known[i]))
            *out = known[i];
    free(word);
    return code;
}

static pfc_code read_side(const json_t *row, const pfc_json_at *at, const char *key,
                          pfc_cmp_side *out, pfc_err *err)
{
    const pfc_json_at here = { .up = at, .key = key };
    json_t *side = NULL;
    pfc_code code = pfc_json_object(row, at, key, false, &side, err);

    *out = (pfc_cmp_side){ .median = NAN, .low = NAN, .high = NAN };
    if (code || !side)
        return code;
    code = read_class(side, &here, &out->reproducibility, err);
    if (code)
        return code;
    code = pfc_json_double(side, &here, "median", false, -1e308, 1e308, &out->median, err);
    if (!code)
        code = pfc_json_double(side, &here, "low", false, -1e308, 1e308, &out->low, err);
    if (!code)
        code = pfc_json_double(side, &here, "high", false, -1e308, 1e308, &out->high, err);
    return code ? code : pfc_json_i64(side, &here, "n", false, 0, INT64_MAX, &out->n, err);
}

static pfc_code read_verdict(const json_t *obj, const pfc_json_at *at, pfc_cmp_verdict *out,
                             pfc_err *err)
{
    char *name = NULL;
    pfc_code code = pfc_json_string(obj, at, "verdict", true, 32, &name, err);

    if (code)
        return code;
    for (*out = PFC_CMP_SAME; *out < PFC_CMP_VERDICTS; ++*out)
        if (strcmp(pfc_cmp_name(*out), name) == 0)
            break;
    if (*out == PFC_CMP_VERDICTS)
        code = pfc_json_fault(at, "verdict", err, "no verdict is called \"%.32s\"", name);
    free(name);
    return code;
}

static pfc_code read_texts(const json_t *obj, const pfc_json_at *at, pfc_cmp_row *row, pfc_err *err)
{
    char *direction = NULL;
    pfc_code code =
        pfc_json_string(obj, at, "benchmark", true, PFC_WIRE_MAX_NAME, &row->benchmark, err);

    if (!code)
        code = pfc_json_string(obj, at, "metric", true, PFC_WIRE_MAX_NAME, &row->metric, err);
    if (!code)
        code = pfc_json_string(obj, at, "backend", false, PFC_WIRE_MAX_NAME, &row->backend, err);
    if (!code)
        code = pfc_json_string(obj, at, "unit", false, PFC_WIRE_MAX_NAME, &row->unit, err);
    if (!code)
        code = pfc_json_string(obj, at, "reason", false, PFC_WIRE_MAX_TEXT, &row->reason, err);
    if (!code)
        code = pfc_json_string(obj, at, "machine_class", false, PFC_WIRE_MAX_NAME,
                               &row->machine_class, err);
    if (!code)
        code = pfc_json_string(obj, at, "direction", false, 16, &direction, err);
    row->higher_is_better = pfc_streq(direction, "higher");
    row->exact = json_is_true(json_object_get(obj, "exact"));
    row->secondary = json_is_true(json_object_get(obj, "secondary"));
    if (!row->backend)
        row->backend = pfc_strdup("");
    if (!row->unit)
        row->unit = pfc_strdup("");
    free(direction);
    return code;
}

/* "broken": ["a"]. Documents of older versions have no such member. */
static pfc_code read_broken(const json_t *obj, const pfc_json_at *at, pfc_cmp_row *row,
                            pfc_err *err)
{
    json_t *sides = NULL;
    pfc_code code = pfc_json_array(obj, at, "broken", false, 2, &sides, err);

    for (size_t i = 0; !code && i < json_array_size(sides); i++) {
        const char *side = json_string_value(json_array_get(sides, i));

        row->broken_a |= pfc_streq(side, "a");
        row->broken_b |= pfc_streq(side, "b");
    }
    return code;
}

static pfc_code read_row(const json_t *obj, const pfc_json_at *at, pfc_cmp_row *row, pfc_err *err)
{
    const struct {
        const char *key;
        double *out;
    } numbers[] = { { "rel_change", &row->rel_change }, { "rel_low", &row->rel_low },
                    { "rel_high", &row->rel_high },     { "p", &row->p },
                    { "p_adjusted", &row->p_adjusted }, { "noise_rel", &row->noise_rel } };
    int64_t more = 0, rounds = 0;
    pfc_code code = read_texts(obj, at, row, err);

    row->stored = json_deep_copy(obj);
    if (!code)
        code = pfc_json_i64(obj, at, "more_rounds", false, 0, INT32_MAX, &more, err);
    row->more_rounds = (size_t)more;
    more = 0;
    if (!code)
        code = pfc_json_i64(obj, at, "rounds", false, 0, INT32_MAX, &rounds, err);
    row->rounds = (size_t)rounds;
    if (!code)
        code = pfc_json_i64(obj, at, "series_id", false, 0, INT64_MAX, &row->series_id, err);
    if (!code && json_is_integer(json_object_get(obj, "more_runs")))
        code = pfc_json_i64(obj, at, "more_runs", false, 0, INT32_MAX, &more, err);
    row->more_runs = (size_t)more;
    if (!code)
        code = read_verdict(obj, at, &row->verdict, err);
    if (!code)
        code = read_class(obj, at, &row->reproducibility, err);
    if (!code)
        code = read_broken(obj, at, row, err);
    if (!code && json_is_array(json_object_get(obj, "fingerprint_differs")))
        row->differs = json_incref(json_object_get(obj, "fingerprint_differs"));
    if (!code)
        code = read_side(obj, at, "a", &row->a, err);
    if (!code)
        code = read_side(obj, at, "b", &row->b, err);
    for (size_t i = 0; i < PFC_ARRAY_LEN(numbers) && !code; i++)
        code = pfc_json_double(obj, at, numbers[i].key, false, -1e308, 1e308, numbers[i].out, err);
    return code;
}

/* "a": {"name"} as we write it, {"commit"} as the service does. */
static pfc_code read_name(const json_t *doc, const char *key, char **out, char **how,
                          int64_t *hidden, pfc_err *err)
{
    const pfc_json_at at = { .key = key };
    json_t *side = NULL;
    pfc_code code = pfc_json_object(doc, NULL, key, true, &side, err);

    if (!code)
        code = pfc_json_string(side, &at, json_object_get(side, "name") ? "name" : "commit", false,
                               PFC_WIRE_MAX_TEXT, out, err);
    if (!code)
        code = pfc_json_i64(side, &at, "hidden", false, 0, INT64_MAX, hidden, err);
    if (!code)
        code = pfc_json_string(side, &at, "how", false, PFC_WIRE_MAX_TEXT, how, err);
    if (!code && !*out)
        *out = pfc_strdup(key);
    return code;
}

static pfc_code read_difference(const json_t *obj, const pfc_json_at *at, pfc_cmp_difference *out,
                                pfc_err *err)
{
    pfc_code code = pfc_json_string(obj, at, "field", true, PFC_WIRE_MAX_NAME, &out->field, err);

    if (!code)
        code = pfc_json_string(obj, at, "a", false, PFC_WIRE_MAX_TEXT, &out->a, err);
    return code ? code : pfc_json_string(obj, at, "b", false, PFC_WIRE_MAX_TEXT, &out->b, err);
}

static pfc_code read_differences(const json_t *doc, pfc_cmp *out, pfc_err *err)
{
    const pfc_json_at root = { .key = "differs" };
    json_t *list = NULL;
    pfc_code code = pfc_json_array(doc, NULL, "differs", false, MAX_DIFFERING, &list, err);

    out->differs = pfc_calloc(json_array_size(list), sizeof(*out->differs));
    for (size_t i = 0; !code && i < json_array_size(list); i++) {
        const pfc_json_at at = { .up = &root, .index = i };

        code =
            read_difference(json_array_get(list, i), &at, &out->differs[out->differs_len++], err);
    }
    /* The service sends neither member, because it compares stored runs only. */
    out->stored = !json_object_get(json_object_get(doc, "a"), "name");
    if (!code)
        code = pfc_json_bool(doc, NULL, "stored", false, &out->stored, err);
    return code ? code : pfc_json_bool(doc, NULL, "across", false, &out->across, err);
}

/* The lists "only_a" and "only_b" of the service, "only_in_a" and "only_in_b" as we write them. */
static json_t *read_only(const json_t *doc, const char *ours, const char *theirs)
{
    const json_t *list = json_object_get(doc, ours);
    json_t *out = json_array();
    size_t i;
    json_t *name;

    if (!list)
        list = json_object_get(doc, theirs);
    json_array_foreach(list, i, name)
    {
        if (json_is_string(name))
            json_array_append(out, name);
    }
    return out;
}

static pfc_code read_reused(const json_t *doc, pfc_cmp_reused *out, pfc_err *err)
{
    const pfc_json_at at = { .key = "reused" };
    json_t *obj = NULL;
    pfc_code code = pfc_json_object(doc, NULL, "reused", false, &obj, err);

    if (code || !obj)
        return code;
    code = pfc_json_string(obj, &at, "measured_at", true, 64, &out->measured_at, err);
    return code ? code
                : pfc_json_string(obj, &at, "from", true, PFC_WIRE_MAX_NAME, &out->from, err);
}

pfc_code pfc_cmp_from_json(const json_t *doc, pfc_cmp *out, pfc_err *err)
{
    const pfc_json_at root = { .key = "rows" };
    json_t *rows = NULL;
    int64_t rounds = 0;
    pfc_code code;

    *out = (pfc_cmp){ 0 };
    code = read_name(doc, "a", &out->a, &out->how_a, &out->hidden_a, err);
    if (!code)
        code = read_name(doc, "b", &out->b, &out->how_b, &out->hidden_b, err);
    if (!code)
        code = read_differences(doc, out, err);
    if (json_is_array(json_object_get(doc, "means")))
        out->means = json_incref(json_object_get(doc, "means"));
    if (json_is_object(json_object_get(doc, "between")))
        out->between = json_incref(json_object_get(doc, "between"));
    if (json_is_array(json_object_get(doc, "repeat")))
        out->repeat = json_incref(json_object_get(doc, "repeat"));
    if (json_is_object(json_object_get(doc, "explanation")))
        out->explanation = json_incref(json_object_get(doc, "explanation"));
    if (json_is_array(json_object_get(doc, "functions")))
        out->functions = json_incref(json_object_get(doc, "functions"));
    if (!code)
        code = pfc_json_i64(doc, NULL, "rounds", false, 0, INT32_MAX, &rounds, err);
    out->rounds = (size_t)rounds;
    out->only_a = read_only(doc, "only_in_a", "only_a");
    out->only_b = read_only(doc, "only_in_b", "only_b");
    if (!code)
        code = pfc_json_string(doc, NULL, "nothing", false, PFC_WIRE_MAX_TEXT, &out->nothing, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "object_code", false, 16, &out->object_code, err);
    if (pfc_streq(out->object_code, UNKNOWN_CODE)) {
        free(out->object_code);
        out->object_code = NULL;
    }
    if (!code)
        code = read_reused(doc, &out->reused, err);
    if (!code)
        code = pfc_json_array(doc, NULL, "rows", true, PFC_CMP_MAX_ROWS, &rows, err);
    for (size_t i = 0; !code && i < json_array_size(rows); i++) {
        const pfc_json_at at = { .up = &root, .index = i };

        code = read_row(json_array_get(rows, i), &at, pfc_cmp_add_row(out), err);
    }
    if (!code)
        pfc_cmp_count(out);
    return code;
}

static pfc_code read_failure(const json_t *doc, pfc_cmp *out, pfc_err *err)
{
    const pfc_json_at at = { .key = "error" };
    json_t *failure = NULL;
    int64_t status = 0;
    pfc_code code = pfc_json_object(doc, NULL, "error", true, &failure, err);

    *out = (pfc_cmp){ 0 };
    if (!code)
        code = pfc_json_i64(failure, &at, "status", true, 2, 5, &status, err);
    if (!code)
        code =
            pfc_json_string(failure, &at, "message", true, PFC_WIRE_MAX_TEXT, &out->failure, err);
    out->failure_status = (int)status;
    if (!code && json_object_get(doc, "a"))
        code = read_name(doc, "a", &out->a, &out->how_a, &out->hidden_a, err);
    if (!code && json_object_get(doc, "b"))
        code = read_name(doc, "b", &out->b, &out->how_b, &out->hidden_b, err);
    return code;
}

pfc_code pfc_cmp_from_document(const json_t *doc, pfc_cmp *out, pfc_err *err)
{
    return json_object_get(doc, "error") ? read_failure(doc, out, err)
                                         : pfc_cmp_from_json(doc, out, err);
}
