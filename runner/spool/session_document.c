/*
 * A session in the spool: the runs of its builds, then its own document, under one name. The
 * server's path has the project in it, so the session's file is {"project": P, "session": {...}}.
 */
#include <stdlib.h>
#include <string.h>

#include "runner/spool/spool_priv.h"

#define MOST 999 /* parts of a name's three digits, whose order is that of the names */

pfc_code pfc_spool_session_texts(const pfc_session_set *set, char ***texts, size_t *len,
                                 pfc_err *err)
{
    char **all = NULL;
    size_t n = 0, cap = 0;
    pfc_code code = PFC_OK;
    json_t *doc;

    for (size_t i = 0; i < set->len && !code; i++) {
        char **parts = NULL;
        size_t parts_len = 0;

        code = pfc_run_split(set->runs[i], PFC_WIRE_MAX_BODY_BYTES, &parts, &parts_len, err);
        for (size_t p = 0; p < parts_len && !code; p++) {
            all = pfc_grow(all, n, &cap, sizeof(*all));
            all[n++] = parts[p];
        }
        free(parts);
    }
    if (!code && n >= MOST)
        code =
            pfc_err_set(err, PFC_ETOOBIG, "session %.12s: expected less than %d documents, got %zu",
                        set->id, MOST, n + 1);
    if (code) {
        pfc_spool_texts_free(all, n);
        return code;
    }
    all = pfc_grow(all, n, &cap, sizeof(*all));
    doc = json_pack("{s:s, s:O}", "project", set->project, "session", set->session);
    all[n++] = json_dumps(doc, JSON_COMPACT);
    json_decref(doc);
    *texts = all;
    *len = n;
    return PFC_OK;
}
