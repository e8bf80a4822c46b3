/*
 * Reasons of changes without an alert: their sentences, and how they are written.
 */
#include "server/services/alerts/withheld.h"

#include <math.h>
#include <stdlib.h>

#include "server/repo/sql/withheld.h"
#include "server/services/service.h"

/* ---- sentences ---- */

static char *not_firm(const pfc_withheld_detail *d)
{
    if (!isfinite(d->points) || !isfinite(d->needed))
        return pfc_strdup("no alert: too few points so far");
    if (d->ended)
        return pfc_format("no alert: the level lasted %.0f points, and %.0f were needed", d->points,
                          d->needed);
    return pfc_format("no alert: %.0f of %.0f points so far", d->points, d->needed);
}

static char *fdr(const pfc_withheld_detail *d)
{
    char *share, *out;

    if (!isfinite(d->p) || !isfinite(d->anywhere) || !isfinite(d->points) || !isfinite(d->level))
        return pfc_strdup("no alert: the false discovery rate withholds it");

    share = d->series > 1 ? pfc_format("that %.0f series of this commit share", d->series)
                          : pfc_strdup("of this commit");
    out = pfc_format("no alert: p %.2g (%.2g at each of %.0f points) is above the level %.2g %s "
                     "(FDR %.3g %%)",
                     d->anywhere, d->p, d->points, d->level, share, 100 * d->fdr);
    free(share);
    return out;
}

static char *margin(const pfc_withheld_detail *d)
{
    if (!isfinite(d->rel) || !isfinite(d->margin))
        return pfc_strdup("no alert: it is within the margin");
    return pfc_format("no alert: %+.2g %% is within the margin of %.3g %%", 100 * d->rel,
                      100 * d->margin);
}

static char *budget(const pfc_withheld_detail *d)
{
    return pfc_format(
        "no alert yet: the night's budget ended after %.0f rounds, undecided (%+.1f to "
        "%+.1f %%); the next night goes on with commits %.12s and %.12s",
        d->rounds, 100 * d->rel_low, 100 * d->rel_high, d->against, d->commit);
}

static char *sentence_of(const char *code, const pfc_withheld_detail *d)
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
            d->against, d->commit);
    if (pfc_streq(code, PFC_WITHHELD_IDENTICAL))
        return pfc_format("no alert: commits %.12s to %.12s have identical object code", d->against,
                          d->commit);
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
    pfc_withheld_detail detail;
    pfc_texts texts;
    char *sentence;

    *code = NULL;
    if (change->alert_id)
        return NULL;
    if (!change->code && change->regression && change->alertable) {
        *code = PFC_WITHHELD_NOT_FIRM;
        return pfc_strdup("no alert yet: the series of this commit are not judged together yet");
    }
    *code = change->code         ? change->code
            : change->regression ? PFC_WITHHELD_NOT_FIRM
                                 : PFC_WITHHELD_IMPROVEMENT;
    pfc_withheld_detail_parse(change->detail, &detail, &texts);
    sentence = sentence_of(*code, &detail);
    pfc_texts_clear(&texts);
    return sentence;
}

/* ---- writing ---- */

void pfc_withheld_add(pfc_withheld_list *list, int64_t change_id, const char *code,
                      const pfc_withheld_detail *detail)
{
    list->ids = pfc_grow(list->ids, list->len, &list->ids_cap, sizeof(*list->ids));
    list->codes = pfc_grow(list->codes, list->len, &list->codes_cap, sizeof(*list->codes));
    list->details = pfc_grow(list->details, list->len, &list->details_cap, sizeof(*list->details));
    list->ids[list->len] = change_id;
    list->codes[list->len] = pfc_strdup(code);
    list->details[list->len++] = pfc_withheld_detail_text(code, detail);
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
