/*
 * Regressions on record, those that are new, and documents on their way into the store.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/history.h"
#include "core/base/fs.h"
#include "core/base/hash.h"

static const char *text_of(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

/* ---- what is on record ---- */

/* Names of a series, and the commits that the change may be. */
typedef struct place {
    const char *benchmark, *metric, *backend;
    size_t low, high; /* positions */
} place;

static bool on_record(const pfc_store_history *h, const place *p)
{
    for (size_t i = 0; i < json_array_size(h->alerts); i++) {
        const json_t *a = json_array_get(h->alerts, i);
        const size_t at = pfc_store_place(h, text_of(a, "commit"));

        if (at != PFC_STORE_NOWHERE && at >= p->low && at <= p->high &&
            pfc_streq(text_of(a, "benchmark"), p->benchmark) &&
            pfc_streq(text_of(a, "metric"), p->metric) &&
            pfc_streq(text_of(a, "backend"), p->backend))
            return true;
    }
    return false;
}

static place place_of(const pfc_store_series *s, const pfc_change *c)
{
    const size_t before = c->index_low ? s->points[c->index_low - 1].position + 1 : 0;

    return (place){ .benchmark = s->benchmark,
                    .metric = s->metric,
                    .backend = s->backend,
                    .low = PFC_MIN(before, s->points[c->index_low].position),
                    .high = s->points[PFC_MIN(c->index_high, s->len - 1)].position };
}

/* ---- new ones ---- */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* The key follows from what the alert is about, so that two machines write the same file. */
static json_t *alert(const pfc_store_history *h, const place *p, const char *commit,
                     const double rel[3], const char *how)
{
    json_int_t id = 0;
    char hash[PFC_SHA256_HEX];
    char *about = pfc_format("%s\n%s\n%s\n%s", commit, p->benchmark, p->metric, p->backend);
    char *title = pfc_format("worse since %.12s, %s", commit, how);
    json_t *json;

    for (size_t i = 0; i < json_array_size(h->alerts); i++)
        id = PFC_MAX(id, json_integer_value(json_object_get(json_array_get(h->alerts, i), "id")));
    pfc_sha256_hex(about, strlen(about), hash);
    hash[32] = '\0';
    json = json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:s}", "id", id + 1,
                     "key", hash, "kind", "change", "direction", "regression", "commit", commit,
                     "benchmark", p->benchmark, "metric", p->metric, "backend", p->backend,
                     "rel_change", number(rel[0]), "rel_low", number(rel[1]), "rel_high",
                     number(rel[2]), "title", title);
    free(title);
    free(about);
    return json;
}

static void record(pfc_store_history *h, json_t *list, json_t *one)
{
    json_array_append(h->alerts, one);
    json_array_append_new(list, one);
}

static double number_of(const json_t *obj, const char *key)
{
    const json_t *value = json_object_get(obj, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void add_boundary(pfc_store_history *h, const json_t *series, const json_t *boundary,
                         json_t *list)
{
    const char *commit = text_of(boundary, "commit");
    const size_t at = pfc_store_place(h, commit);
    const size_t after = pfc_store_place(h, text_of(boundary, "place_after"));
    const size_t until = pfc_store_place(h, text_of(boundary, "place_until"));
    const double rel[3] = { number_of(boundary, "rel_change"), number_of(boundary, "rel_low"),
                            number_of(boundary, "rel_high") };
    const place p = { .benchmark = text_of(series, "benchmark"),
                      .metric = text_of(series, "metric"),
                      .backend = text_of(series, "backend"),
                      .low = after == PFC_STORE_NOWHERE ? at : PFC_MIN(after + 1, at),
                      .high = until == PFC_STORE_NOWHERE ? at : PFC_MAX(until, at) };

    if (at == PFC_STORE_NOWHERE || !pfc_streq(text_of(boundary, "verdict"), "regression") ||
        on_record(h, &p))
        return;
    record(h, list, alert(h, &p, commit, rel, "measured in blocks"));
}

static void add_change(pfc_store_history *h, const pfc_store_series *s, const pfc_change *c,
                       json_t *list)
{
    const place p = place_of(s, c);
    const double rel[3] = { c->rel_change, c->rel_low, c->rel_high };

    if (!s->exact || !c->regression || !c->confirmed || on_record(h, &p))
        return;
    record(h, list,
           alert(h, &p, h->line[s->points[c->index].position].hex, rel, "by its exact values"));
}

json_t *pfc_store_alerts_new(pfc_store_history *h, const json_t *series)
{
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(series); i++) {
        const json_t *one = json_array_get(series, i);
        const json_t *boundaries = json_object_get(one, "boundaries");

        for (size_t k = 0; k < json_array_size(boundaries); k++)
            add_boundary(h, one, json_array_get(boundaries, k), list);
    }
    for (size_t i = 0; i < h->series_len; i++)
        for (size_t k = 0; k < h->series[i].found.changes_len; k++)
            add_change(h, &h->series[i], &h->series[i].found.changes[k], list);
    return list;
}

json_t *pfc_store_candidates(const pfc_store_history *h)
{
    json_t *list = json_array();

    for (size_t i = 0; i < h->series_len; i++) {
        const pfc_store_series *s = &h->series[i];

        for (size_t k = 0; k < s->found.changes_len; k++) {
            const pfc_change *c = &s->found.changes[k];
            const place p = place_of(s, c);

            if (s->exact || !c->regression || !c->confirmed || on_record(h, &p))
                continue;
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "commit",
                                                  h->line[s->points[c->index].position].hex,
                                                  "benchmark", s->benchmark, "metric", s->metric,
                                                  "backend", s->backend));
        }
    }
    return list;
}

/* Without decisions all of them are "on record", as before there was triage. */
static char *standing_sentence(const json_t *newest, size_t open, size_t decided)
{
    const char *s = open == 1 ? "" : "s", *is = open == 1 ? "is" : "are";
    char *decisions =
        decided ? pfc_format(" %zu more %s triaged.", decided, decided == 1 ? "is" : "are")
                : pfc_strdup("");
    char *text;

    if (!open && !decided)
        text = pfc_strdup("No regression is on record.");
    else if (!open)
        text = pfc_format("No regression is open; %zu on record %s triaged.", decided,
                          decided == 1 ? "is" : "are");
    else
        text = pfc_format("%zu regression%s %s %s, the newest at %.12s (%s %s).%s", open, s, is,
                          decided ? "open" : "on record", text_of(newest, "commit"),
                          text_of(newest, "benchmark"), text_of(newest, "metric"), decisions);
    free(decisions);
    return text;
}

json_t *pfc_store_standing(const pfc_store_history *h)
{
    const size_t n = json_array_size(h->alerts);
    const json_t *newest = NULL;
    size_t open = 0;
    char *sentence;
    json_t *json;

    for (size_t i = 0; i < n; i++) {
        if (json_object_get(json_array_get(h->alerts, i), "triage"))
            continue;
        newest = json_array_get(h->alerts, i);
        open++;
    }
    sentence = standing_sentence(newest, open, n - open);
    json = json_pack("{s:s, s:I}", "sentence", sentence, "regressions", (json_int_t)open);
    free(sentence);
    return json;
}

/* ---- documents ---- */

static char *path_of(const char *folder, const char *id)
{
    return pfc_format("%s/%.2s/%s.json", folder, id, id);
}

char *pfc_store_alert_path(const json_t *one)
{
    return path_of("alerts", text_of(one, "key"));
}

static pfc_code put_json(pfc_store *store, const char *path, const json_t *doc, pfc_err *err)
{
    char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));
    char *line = pfc_format("%s\n", text ? text : "");
    pfc_code code = pfc_store_put(store, path, line, strlen(line), false, err);

    free(line);
    free(text);
    return code;
}

pfc_code pfc_store_put_run(pfc_store *store, const pfc_run *run, bool *repeated, pfc_err *err)
{
    char *path = path_of("runs", run->id);
    json_t *doc = pfc_run_to_json(run);
    pfc_code code = pfc_store_has(store, path, repeated, err);

    if (!code && !*repeated)
        code = put_json(store, path, doc, err);
    json_decref(doc);
    free(path);
    return code;
}

pfc_code pfc_store_put_session(pfc_store *store, const json_t *session, pfc_err *err)
{
    char *path = path_of("sessions", text_of(session, "id"));
    pfc_code code = put_json(store, path, session, err);

    free(path);
    return code;
}

pfc_code pfc_store_put_alerts(pfc_store *store, const json_t *alerts, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < json_array_size(alerts) && !code; i++) {
        char *path = pfc_store_alert_path(json_array_get(alerts, i));

        code = put_json(store, path, json_array_get(alerts, i), err);
        free(path);
    }
    return code;
}
