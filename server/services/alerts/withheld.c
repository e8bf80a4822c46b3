/*
 * Reasons of changes without an alert: their sentences, and how they are written.
 */
#include "server/services/alerts/withheld.h"

#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "server/repo/sql/withheld.h"
#include "server/services/service.h"

/* ---- sentences ---- */

static double number_of(const json_t *detail, const char *name)
{
    const json_t *value = json_object_get(detail, name);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static const char *text_of(const json_t *detail, const char *name)
{
    const char *text = json_string_value(json_object_get(detail, name));

    return text ? text : "";
}

static char *not_firm(const json_t *d)
{
    const double points = number_of(d, "points"), needed = number_of(d, "needed");

    if (!isfinite(points) || !isfinite(needed))
        return pfc_strdup("no alert: too few points so far");
    if (json_is_true(json_object_get(d, "ended")))
        return pfc_format("no alert: the level lasted %.0f points, and %.0f were needed", points,
                          needed);
    return pfc_format("no alert: %.0f of %.0f points so far", points, needed);
}

static char *fdr(const json_t *d)
{
    const double p = number_of(d, "p"), anywhere = number_of(d, "anywhere");
    const double points = number_of(d, "points"), level = number_of(d, "level");
    const double series = number_of(d, "series"), rate = number_of(d, "fdr");
    char *share, *out;

    if (!isfinite(p) || !isfinite(anywhere) || !isfinite(points) || !isfinite(level))
        return pfc_strdup("no alert: the false discovery rate withholds it");

    share = series > 1 ? pfc_format("that %.0f series of this commit share", series)
                       : pfc_strdup("of this commit");
    out = pfc_format("no alert: p %.2g (%.2g at each of %.0f points) is above the level %.2g %s "
                     "(FDR %.3g %%)",
                     anywhere, p, points, level, share, 100 * rate);
    free(share);
    return out;
}

static char *margin(const json_t *d)
{
    const double rel = number_of(d, "rel"), most = number_of(d, "margin");

    if (!isfinite(rel) || !isfinite(most))
        return pfc_strdup("no alert: it is within the margin");
    return pfc_format("no alert: %+.2g %% is within the margin of %.3g %%", 100 * rel, 100 * most);
}

static char *budget(const json_t *d)
{
    return pfc_format(
        "no alert yet: the night's budget ended after %.0f rounds, undecided (%+.1f to "
        "%+.1f %%); the next night goes on with commits %.12s and %.12s",
        number_of(d, "rounds"), 100 * number_of(d, "rel_low"), 100 * number_of(d, "rel_high"),
        text_of(d, "against"), text_of(d, "commit"));
}

static char *sentence_of(const char *code, const json_t *d)
{
    if (pfc_streq(code, PFC_WITHHELD_IMPROVEMENT))
        return pfc_strdup("no alert: it is an improvement");
    if (pfc_streq(code, PFC_WITHHELD_MARGIN))
        return margin(d);
    if (pfc_streq(code, PFC_WITHHELD_FDR))
        return fdr(d);
    if (pfc_streq(code, PFC_WITHHELD_NOT_FIRM))
        return not_firm(d);
    if (pfc_streq(code, PFC_WITHHELD_NEEDS_BLOCKS))
        return pfc_format(
            "no alert yet: measured singly; the next night measures commits %.12s and "
            "%.12s in blocks",
            text_of(d, "against"), text_of(d, "commit"));
    if (pfc_streq(code, PFC_WITHHELD_IDENTICAL))
        return pfc_format("no alert: commits %.12s to %.12s have identical object code",
                          text_of(d, "against"), text_of(d, "commit"));
    if (pfc_streq(code, PFC_WITHHELD_BUDGET))
        return budget(d);
    if (pfc_streq(code, PFC_WITHHELD_RULE_OFF))
        return pfc_strdup("no alert: a rule of the project leaves this series out");
    if (pfc_streq(code, PFC_WITHHELD_MACHINE))
        return pfc_strdup("no alert: the canary's code never changes, so the machine moved");
    return pfc_strdup("no alert: the change went away");
}

char *pfc_withheld_sentence(const pfc_withheld *change, const char **code)
{
    json_t *detail = NULL;
    char *sentence;

    *code = NULL;
    if (change->alert_id)
        return NULL;
    if (!change->code && change->regression && change->firm) {
        *code = PFC_WITHHELD_NOT_FIRM;
        return pfc_strdup("no alert yet: the series of this commit are not judged together yet");
    }
    *code = change->code         ? change->code
            : change->regression ? PFC_WITHHELD_NOT_FIRM
                                 : PFC_WITHHELD_IMPROVEMENT;
    detail = change->detail ? json_loads(change->detail, 0, NULL) : NULL;
    sentence = sentence_of(*code, detail);
    json_decref(detail);
    return sentence;
}

/* ---- writing ---- */

void pfc_withheld_add(pfc_withheld_list *list, int64_t change_id, const char *code, char *detail)
{
    list->ids = pfc_grow(list->ids, list->len, &list->ids_cap, sizeof(*list->ids));
    list->codes = pfc_grow(list->codes, list->len, &list->codes_cap, sizeof(*list->codes));
    list->details = pfc_grow(list->details, list->len, &list->details_cap, sizeof(*list->details));
    list->ids[list->len] = change_id;
    list->codes[list->len] = pfc_strdup(code);
    list->details[list->len++] = detail ? detail : pfc_strdup("{}");
}

pfc_code pfc_withheld_write(pfc_tx *tx, int64_t project_id, pfc_withheld_list *list, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (list->len)
        code = pfc_sql_withheld_set(
            tx,
            &(pfc_sql_withheld_set_args){ .project_id = project_id,
                                          .change_point_ids = list->ids,
                                          .withheld = (const char *const *)list->codes,
                                          .details = (const char *const *)list->details,
                                          .len = list->len },
            err);
    pfc_withheld_clear(list);
    return code;
}

void pfc_withheld_clear(pfc_withheld_list *list)
{
    for (size_t i = 0; i < list->len; i++) {
        free(list->codes[i]);
        free(list->details[i]);
    }
    free(list->ids);
    free(list->codes);
    free(list->details);
    *list = (pfc_withheld_list){ 0 };
}

/* ---- the changes at one commit ---- */

pfc_code pfc_commit_changes_list(pfc_db *db, int64_t project_id, int64_t commit_id,
                                 pfc_commit_changes *out, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_commit_changes(
            tx, &(pfc_sql_commit_changes_args){ .project_id = project_id, .commit_id = commit_id },
            out, err);
    pfc_tx_free(tx);
    return code;
}
