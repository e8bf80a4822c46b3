/* Effects of one change, by source. */
#include "server/services/alerts/effects.h"

#include "core/base/buf.h"
#include "server/services/service.h"

pfc_code pfc_alert_effects(pfc_db *db, int64_t project_id, int64_t alert_id, pfc_effects *out,
                           pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_alert_effects(
            tx, &(pfc_sql_alert_effects_args){ .project_id = project_id, .alert_id = alert_id },
            out, err);
    pfc_tx_free(tx);
    return code;
}

static const char *how(const char *source)
{
    if (pfc_streq(source, "history"))
        return "history compares levels over many runs, with the machine states of their nights";
    if (pfc_streq(source, "pairs"))
        return "fresh pairs compare the two builds interleaved, on one machine";
    return "a bisection compares the runs of the commits that it measured";
}

static void put(pfc_buf *out, const pfc_effect *e)
{
    pfc_buf_printf(out, "%s says %+.2f %% (%+.2f to %+.2f, n = %lld)", e->source,
                   100 * e->rel_change, 100 * e->rel_low, 100 * e->rel_high, (long long)e->n);
}

static bool apart(const pfc_effect *a, const pfc_effect *b)
{
    return a->rel_high < b->rel_low || b->rel_high < a->rel_low;
}

char *pfc_effects_differ(const pfc_effect *effects, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        for (size_t k = i + 1; k < len; k++) {
            pfc_buf out;
            char *text;

            if (!apart(&effects[i], &effects[k]))
                continue;
            pfc_buf_init(&out, 1024);
            put(&out, &effects[i]);
            pfc_buf_puts(&out, ", ");
            put(&out, &effects[k]);
            pfc_buf_printf(&out, ": the intervals do not overlap because %s; %s.",
                           how(effects[i].source), how(effects[k].source));
            text = pfc_buf_take(&out);
            pfc_buf_clear(&out);
            return text;
        }
    }
    return NULL;
}
