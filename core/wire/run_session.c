/*
 * Sessions in run documents: which session a run belongs to, and where in it each process was
 * launched.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/wire/wire_priv.h"

/* ---- reading ---- */

static pfc_code read_id(const json_t *obj, const pfc_json_at *at, const char *key, char **out,
                        pfc_err *err)
{
    pfc_code code = pfc_json_string(obj, at, key, true, 64, out, err);

    if (code == PFC_OK && !pfc_is_sha(*out))
        code = pfc_json_fault(at, key, err, "expected a full commit id of 40 hexadecimal digits");
    return code;
}

pfc_code pfc_wire_read_session(const json_t *obj, const pfc_json_at *at, pfc_run *run, pfc_err *err)
{
    static const char *const known[] = { "id", "anchor", "base", NULL };
    const pfc_json_at here = { .up = at, .key = "session" };
    json_t *session = NULL;
    pfc_code code = pfc_json_object(obj, at, "session", false, &session, err);

    if (code != PFC_OK || session == NULL)
        return code;
    code = pfc_json_known(session, &here, known, err);
    if (code == PFC_OK)
        code = pfc_json_string(session, &here, "id", true, 32, &run->session_id, err);
    if (code == PFC_OK && (strlen(run->session_id) != 32 || !pfc_is_hex_id(run->session_id)))
        code = pfc_json_fault(&here, "id", err, "expected 32 hexadecimal digits in lower case");
    if (code == PFC_OK)
        code = read_id(session, &here, "anchor", &run->session_anchor, err);
    if (code == PFC_OK)
        code = read_id(session, &here, "base", &run->session_base, err);
    return code;
}

/* A whole number of either spelling, as JSON Schema counts them: 5 and 5.0. */
static bool read_place(const json_t *value, uint32_t *out)
{
    const double number = json_number_value(value);

    if (!json_is_number(value) || !(number >= 0 && number <= PFC_WIRE_MAX_PLACE) ||
        number != floor(number))
        return false;
    *out = (uint32_t)number;
    return true;
}

static pfc_code read_visit(const json_t *pair, const pfc_json_at *at, pfc_session_position *out,
                           pfc_err *err)
{
    uint32_t *const into[] = { &out->block, &out->position };

    if (!json_is_array(pair) || json_array_size(pair) != 2)
        return pfc_json_fault(at, NULL, err, "expected a pair [block, position]");
    for (size_t i = 0; i < 2; i++) {
        const pfc_json_at here = { .up = at, .index = i };

        if (!read_place(json_array_get(pair, i), into[i]))
            return pfc_json_fault(&here, NULL, err, "expected a whole number of 0 to %d",
                                  PFC_WIRE_MAX_PLACE);
    }
    return PFC_OK;
}

static int order_of(const pfc_session_position *a, const pfc_session_position *b)
{
    return a->block != b->block ? (a->block > b->block) - (a->block < b->block)
                                : (a->position > b->position) - (a->position < b->position);
}

pfc_code pfc_wire_read_visits(const json_t *obj, const pfc_json_at *at, const pfc_run *run,
                              pfc_measurement *m, pfc_err *err)
{
    const pfc_json_at list = { .up = at, .key = "visits" };
    json_t *visits = NULL;
    pfc_code code = pfc_json_array(obj, at, "visits", false, PFC_WIRE_MAX_LAUNCHES, &visits, err);

    if (code != PFC_OK || visits == NULL)
        return code;
    if (run->session_id == NULL)
        return pfc_json_fault(at, "visits", err, "expected a run with a session, got none");
    if (json_array_size(visits) != m->blocks_len)
        return pfc_json_fault(at, "visits", err,
                              "expected as many as samples has inner arrays, %zu, got %zu",
                              m->blocks_len, json_array_size(visits));
    if (m->blocks_len == 0)
        return PFC_OK;
    m->visits = pfc_calloc(m->blocks_len, sizeof *m->visits);
    for (size_t i = 0; i < m->blocks_len; i++) {
        const pfc_json_at here = { .up = &list, .index = i };

        code = read_visit(json_array_get(visits, i), &here, &m->visits[i], err);
        if (code != PFC_OK)
            return code;
        if (i > 0 && order_of(&m->visits[i - 1], &m->visits[i]) >= 0)
            return pfc_json_fault(&here, NULL, err,
                                  "expected a visit after the one before it, [%u, %u]",
                                  m->visits[i - 1].block, m->visits[i - 1].position);
    }
    return PFC_OK;
}

/* ---- writing ---- */

json_t *pfc_wire_session_to_json(const pfc_run *run)
{
    return json_pack("{s:s, s:s, s:s}", "id", run->session_id, "anchor", run->session_anchor,
                     "base", run->session_base);
}

json_t *pfc_wire_visits_to_json(const pfc_measurement *m)
{
    json_t *list = json_array();

    for (size_t i = 0; i < m->blocks_len; i++)
        json_array_append_new(list, json_pack("[I, I]", (json_int_t)m->visits[i].block,
                                              (json_int_t)m->visits[i].position));
    return list;
}

/* ---- merging ---- */

typedef struct launch {
    pfc_session_position at;
    uint32_t samples;
    const double *first;
} launch;

static int by_time(const void *a, const void *b)
{
    return order_of(&((const launch *)a)->at, &((const launch *)b)->at);
}

static size_t gather(const pfc_measurement *m, launch *out)
{
    size_t at = 0;

    for (size_t i = 0; i < m->blocks_len; at += m->blocks[i++])
        out[i] = (launch){ m->visits[i], m->blocks[i], m->samples + at };
    return m->blocks_len;
}

bool pfc_wire_join_visits(pfc_measurement *m, const pfc_measurement *more)
{
    const size_t len = m->blocks_len + more->blocks_len;
    launch *all = pfc_calloc(len, sizeof *all);
    double *samples = pfc_calloc(m->samples_len + more->samples_len, sizeof *samples);
    uint32_t *blocks = pfc_calloc(len, sizeof *blocks);
    pfc_session_position *visits = pfc_calloc(len, sizeof *visits);
    size_t n = gather(m, all), at = 0;
    bool apart = true;

    (void)gather(more, all + n);
    qsort(all, len, sizeof *all, by_time);
    for (size_t i = 0; i < len; i++) {
        apart = apart && (i == 0 || order_of(&all[i - 1].at, &all[i].at) < 0);
        memcpy(samples + at, all[i].first, all[i].samples * sizeof *samples);
        at += all[i].samples;
        blocks[i] = all[i].samples;
        visits[i] = all[i].at;
    }
    free(all);
    if (!apart) {
        free(samples);
        free(blocks);
        free(visits);
        return false;
    }
    free(m->samples);
    free(m->blocks);
    free(m->visits);
    m->samples = samples;
    m->samples_len = at;
    m->blocks = blocks;
    m->blocks_len = len;
    m->visits = visits;
    return true;
}
