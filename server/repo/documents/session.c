#include "server/repo/documents/session.h"

#include <math.h>

static char *text_of(json_t *doc, size_t flags)
{
    char *text = json_dumps(doc, JSON_COMPACT | flags);

    json_decref(doc);
    return text;
}

char *pfc_session_worst_text(const pfc_session_worst *w)
{
    return text_of(json_pack("{s:I, s:s, s:s, s:s, s:f, s:f, s:f, s:o}", "series_id",
                             (json_int_t)w->series_id, "benchmark", w->benchmark, "metric",
                             w->metric, "backend", w->backend, "rel_change", w->rel_change,
                             "rel_low", w->rel_low, "rel_high", w->rel_high, "alert_id",
                             w->alert_id ? json_integer(w->alert_id) : json_null()),
                   JSON_REAL_PRECISION(17));
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

char *pfc_blocks_evidence_text(const pfc_blocks_evidence *e)
{
    return text_of(
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "kind",
                  "blocks", "session", e->session, "against", e->against, "commit", e->commit,
                  "place_after", e->place_after, "place_until", e->place_until, "test", e->test,
                  "verdict", e->different ? "different" : "same", "rounds", (json_int_t)e->rounds,
                  "rel_low", number(e->rel_low), "rel_high", number(e->rel_high), "margin",
                  number(e->margin), "p", number(e->p), "p_adjusted", number(e->p_adjusted)),
        0);
}

char *pfc_session_text(const pfc_session *session)
{
    return text_of(pfc_session_document(session), JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
}
