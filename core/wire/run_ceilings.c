/*
 * The roofline in run documents: operations and bytes of a measurement, and the ceilings of the
 * machine.
 */
#include <stdlib.h>
#include <string.h>

#include "core/wire/wire_priv.h"

static const char *const kinds[] = { "compute", "memory" };
static const char *const units[] = { "FLOP/s", "OP/s", "B/s" };
static const char *const sources[] = { "measured", "chip file" };

enum { BYTES_PER_SECOND = 2 };

/* ---- reading ---- */

static pfc_code read_positive(const json_t *obj, const pfc_json_at *at, const char *key,
                              bool required, double *out, pfc_err *err)
{
    return pfc_json_double(obj, at, key, required, 1, PFC_WIRE_MAX_RATE, out, err);
}

pfc_code pfc_wire_read_work(const json_t *obj, const pfc_json_at *at, pfc_measurement *m,
                            pfc_err *err)
{
    const struct {
        const char *key;
        double *out;
    } members[] = { { "operations", &m->operations }, { "bytes", &m->bytes } };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(members) && code == PFC_OK; i++) {
        code = read_positive(obj, at, members[i].key, false, members[i].out, err);
        if (code == PFC_OK && m->status != PFC_STATUS_OK && *members[i].out > 0)
            code = pfc_json_fault(at, members[i].key, err, "a measurement that is not ok has none");
    }
    return code;
}

static pfc_code read_optional_name(const json_t *obj, const pfc_json_at *at, const char *key,
                                   char **out, pfc_err *err)
{
    const pfc_code code = pfc_wire_read_name(obj, at, key, false, out, err);

    if (code == PFC_OK && *out == NULL)
        *out = pfc_strdup("");
    return code;
}

static pfc_code read_ceiling(const json_t *obj, const pfc_json_at *at, pfc_run_ceiling *c,
                             pfc_err *err)
{
    static const char *const known[] = { "name",  "kind",           "unit",    "value",  "dtype",
                                         "level", "capacity_bytes", "backend", "source", "at",
                                         NULL };
    size_t kind = 0, unit = 0, source = 0;
    pfc_code code = pfc_json_known(obj, at, known, err);

    if (code == PFC_OK)
        code = pfc_wire_read_name(obj, at, "name", true, &c->name, err);
    if (code == PFC_OK)
        code =
            pfc_wire_read_word(obj, at, "kind", true, kinds, PFC_ARRAY_LEN(kinds), 0, &kind, err);
    if (code == PFC_OK)
        code =
            pfc_wire_read_word(obj, at, "unit", true, units, PFC_ARRAY_LEN(units), 0, &unit, err);
    if (code == PFC_OK)
        code = read_positive(obj, at, "value", true, &c->value, err);
    if (code == PFC_OK)
        code = read_optional_name(obj, at, "dtype", &c->dtype, err);
    if (code == PFC_OK)
        code = read_optional_name(obj, at, "level", &c->level, err);
    if (code == PFC_OK)
        code = read_positive(obj, at, "capacity_bytes", false, &c->capacity_bytes, err);
    if (code == PFC_OK)
        code = read_optional_name(obj, at, "backend", &c->backend, err);
    if (code == PFC_OK)
        code = pfc_wire_read_word(obj, at, "source", true, sources, PFC_ARRAY_LEN(sources), 0,
                                  &source, err);
    if (code == PFC_OK)
        code = pfc_wire_read_time(obj, at, "at", false, &c->at, err);
    if (code != PFC_OK)
        return code;
    if ((kind == 1) != (unit == BYTES_PER_SECOND))
        return pfc_json_fault(at, "unit", err, "expected %s, because the kind is %s",
                              kind == 1 ? "B/s" : "FLOP/s or OP/s", kinds[kind]);
    c->memory = kind == 1;
    c->unit = pfc_strdup(units[unit]);
    c->chip_file = source == 1;
    return PFC_OK;
}

static pfc_code read_list(const json_t *items, const pfc_json_at *list, pfc_run *run, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; code == PFC_OK && i < json_array_size(items); i++) {
        const pfc_json_at here = { .up = list, .index = i };

        code = read_ceiling(json_array_get(items, i), &here, pfc_run_add_ceiling(run), err);
    }
    return code;
}

pfc_code pfc_wire_read_ceilings(const json_t *obj, const pfc_json_at *at, pfc_run *run,
                                pfc_err *err)
{
    const pfc_json_at list = { .up = at, .key = "ceilings" };
    json_t *items = NULL;
    pfc_code code = pfc_json_array(obj, at, "ceilings", false, PFC_WIRE_MAX_CEILINGS, &items, err);

    return code == PFC_OK && items != NULL ? read_list(items, &list, run, err) : code;
}

pfc_code pfc_run_ceilings_parse(const char *text, pfc_run *run, pfc_err *err)
{
    const pfc_json_at list = { .key = "ceilings" };
    json_t *items = NULL;
    pfc_code code = pfc_json_parse(text, strlen(text), &items, err);

    if (code == PFC_OK)
        code = read_list(items, &list, run, err);
    json_decref(items);
    return code;
}

/* ---- writing ---- */

void pfc_wire_set_work(json_t *obj, const pfc_measurement *m)
{
    if (m->operations > 0)
        json_object_set_new(obj, "operations", json_real(m->operations));
    if (m->bytes > 0)
        json_object_set_new(obj, "bytes", json_real(m->bytes));
}

static void set_name(json_t *obj, const char *key, const char *name)
{
    if (name != NULL && *name != '\0')
        json_object_set_new(obj, key, json_string(name));
}

static json_t *ceiling_to_json(const pfc_run_ceiling *c)
{
    json_t *obj = json_pack("{s:s, s:s, s:s, s:f}", "name", c->name, "kind", kinds[c->memory],
                            "unit", c->unit, "value", c->value);

    set_name(obj, "dtype", c->dtype);
    set_name(obj, "level", c->level);
    if (c->capacity_bytes > 0)
        json_object_set_new(obj, "capacity_bytes", json_real(c->capacity_bytes));
    set_name(obj, "backend", c->backend);
    json_object_set_new(obj, "source", json_string(sources[c->chip_file]));
    if (c->at > 0)
        pfc_wire_set_time(obj, "at", c->at);
    return obj;
}

json_t *pfc_wire_ceilings_to_json(const pfc_run *run)
{
    json_t *list = json_array();

    for (size_t i = 0; i < run->ceilings_len; i++)
        json_array_append_new(list, ceiling_to_json(&run->ceilings[i]));
    return list;
}

char *pfc_run_ceilings_text(const pfc_run *run)
{
    json_t *list;
    char *text;

    if (run->ceilings_len == 0)
        return NULL;
    list = pfc_wire_ceilings_to_json(run);
    text = json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(list);
    if (text == NULL)
        pfc_die("out of memory while writing ceilings");
    return text;
}

pfc_run_ceiling *pfc_run_add_ceiling(pfc_run *run)
{
    run->ceilings =
        pfc_grow(run->ceilings, run->ceilings_len, &run->ceilings_cap, sizeof *run->ceilings);
    run->ceilings[run->ceilings_len] = (pfc_run_ceiling){ 0 };
    return &run->ceilings[run->ceilings_len++];
}
