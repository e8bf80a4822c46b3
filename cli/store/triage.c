/*
 * Decisions about the regressions on record. Each is a file that is only added:
 * "triage/ab/ID.json", {"id", "alert" (its key), "state", "reason", "by", "at"}. The newest one of
 * an alert counts, so that two machines may decide at the same time.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/store/history.h"
#include "core/base/clock.h"
#include "core/base/hash.h"

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

static bool is_state(const char *word)
{
    static const char *const states[] = { "accepted", "noise", "fixed", "open" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(states); i++)
        if (strcmp(states[i], word) == 0)
            return true;
    return false;
}

pfc_code pfc_store_triage_check(const json_t *doc, pfc_err *err)
{
    static const struct {
        const char *name;
        size_t max;
    } texts[] = { { "id", 32 },
                  { "alert", 32 },
                  { "state", 16 },
                  { "reason", PFC_WIRE_MAX_TEXT },
                  { "by", PFC_WIRE_MAX_NAME },
                  { "at", 32 } };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts) && !code; i++) {
        char *text = NULL;

        code = pfc_json_string(doc, NULL, texts[i].name, true, texts[i].max, &text, err);
        free(text);
    }
    if (!code && !is_state(text_of(doc, "state")))
        code = pfc_json_fault(NULL, "state", err, "expected accepted, noise, fixed or open");
    return code;
}

static json_t *alert_of(const pfc_store_history *h, const char *key)
{
    for (size_t i = 0; i < json_array_size(h->alerts); i++)
        if (strcmp(text_of(json_array_get(h->alerts, i), "key"), key) == 0)
            return json_array_get(h->alerts, i);
    return NULL;
}

static void apply(const pfc_store_history *h, json_t *decision)
{
    json_t *alert = alert_of(h, text_of(decision, "alert"));

    if (alert && strcmp(text_of(decision, "state"), "open") == 0)
        json_object_del(alert, "triage");
    else if (alert)
        json_object_set(alert, "triage", decision);
}

void pfc_store_triage_apply(pfc_store_history *h)
{
    for (size_t i = 0; i < json_array_size(h->triage); i++)
        apply(h, json_array_get(h->triage, i));
}

/* The id follows from the decision, so that two machines write different files. */
static json_t *decision(const json_t *alert, const char *state, const char *reason, const char *by)
{
    char at[32], hash[PFC_SHA256_HEX];
    char *about;
    json_t *doc;

    pfc_clock_rfc3339(pfc_clock_unix_s(), at);
    about = pfc_format("%s\n%s\n%s\n%s\n%s", text_of(alert, "key"), state, reason, by, at);
    pfc_sha256_hex(about, strlen(about), hash);
    hash[32] = '\0';
    doc = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "id", hash, "alert", text_of(alert, "key"),
                    "state", state, "reason", reason, "by", by, "at", at);
    free(about);
    return doc;
}

pfc_code pfc_store_triage_put(pfc_store *store, pfc_store_history *h, const json_t *alert,
                              const char *state, const char *reason, const char *by, pfc_err *err)
{
    json_t *doc = decision(alert, state, reason, by);
    char *path = NULL, *text = NULL;
    pfc_code code = doc ? pfc_store_triage_check(doc, err)
                        : pfc_err_set(err, PFC_EINVAL, "reason: expected UTF-8");

    if (!code) {
        path = pfc_format("triage/%.2s/%s.json", text_of(doc, "id"), text_of(doc, "id"));
        text = json_dumps(doc, JSON_COMPACT);
        code = pfc_store_put(store, path, text, strlen(text), false, err);
    }
    if (!code) {
        json_array_append(h->triage, doc);
        apply(h, doc);
    }
    free(text);
    free(path);
    json_decref(doc);
    return code;
}
