/* The state of a project. */
#include "server/services/history/project_summary.h"

#include "core/base/buf.h"
#include "server/repo/sql/projects.h"
#include "server/services/service.h"

pfc_code pfc_standing_get(pfc_db *db, int64_t project_id, pfc_standing *out, pfc_err *err)
{
    pfc_sql_project_standing_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_project_standing(
            tx, &(pfc_sql_project_standing_args){ .project_id = project_id }, &rows, err);
    if (!code && rows.len) {
        const pfc_sql_project_standing_row *row = rows.items;

        *out = (pfc_standing){ .open = row->open,
                               .groups = row->groups,
                               .fresh = row->fresh,
                               .since_night = row->since_night,
                               .broken_builds = row->broken_builds,
                               .suppressed = row->suppressed,
                               .silent = row->silent,
                               .regressions = row->regressions,
                               .broken = row->broken,
                               .drifts = row->drifts,
                               .toolchain = row->toolchain,
                               .harness = row->harness,
                               .headline = row->headline,
                               .regressed = row->regressed,
                               .watching = row->watching,
                               .improved = row->improved };
    }
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    return code;
}

const char *pfc_standing_level(const pfc_standing *s)
{
    if (s->regressions || s->broken || s->drifts || s->regressed)
        return "bad";
    return s->open || s->watching || s->broken_builds || s->silent ? "warn" : "good";
}

static void add_part(pfc_buf *out, bool *first, int64_t n, const char *one, const char *many)
{
    if (n == 0)
        return;
    pfc_buf_printf(out, "%s%lld %s", *first ? "" : ", ", (long long)n, n == 1 ? one : many);
    *first = false;
}

/* "2 open alert groups with 3 alerts (3 regressions), 1 group new since the last night" */
static void add_groups(pfc_buf *out, const pfc_standing *s)
{
    bool first = true;

    if (s->open == 0) {
        pfc_buf_puts(out, "No open alert");
        return;
    }
    add_part(out, &first, s->groups, "open alert group", "open alert groups");
    if (s->open != s->groups)
        pfc_buf_printf(out, " with %lld alerts", (long long)s->open);
    pfc_buf_puts(out, " (");
    first = true;
    add_part(out, &first, s->regressions, "regression", "regressions");
    add_part(out, &first, s->broken, "broken", "broken");
    add_part(out, &first, s->drifts, "drift", "drifts");
    add_part(out, &first, s->toolchain, "toolchain change", "toolchain changes");
    add_part(out, &first, s->harness, "harness change", "harness changes");
    pfc_buf_puts(out, "), ");
    if (s->fresh == 0)
        pfc_buf_puts(out, "none new");
    first = true;
    add_part(out, &first, s->fresh, "group new", "groups new");
    pfc_buf_puts(out, s->since_night ? " since the last night" : " in the last 24 hours");
}

char *pfc_standing_sentence(const pfc_standing *s)
{
    const int64_t unchanged = s->headline - s->regressed - s->watching - s->improved;
    bool first = true;
    pfc_buf out;
    char *text;

    pfc_buf_init(&out, 1024);
    add_groups(&out, s);
    if (s->suppressed) {
        pfc_buf_puts(&out, "; ");
        add_part(&out, &first, s->suppressed, "alert hidden by suppression rules",
                 "alerts hidden by suppression rules");
        first = true;
    }
    pfc_buf_puts(&out, "; ");
    add_part(&out, &first, s->broken_builds, "broken build", "broken builds");
    add_part(&out, &first, s->silent, "silent runner", "silent runners");
    if (!first)
        pfc_buf_puts(&out, "; ");
    first = true;
    if (s->headline == 0)
        pfc_buf_puts(&out, "no headline metric yet");
    add_part(&out, &first, s->regressed, "headline metric regressed", "headline metrics regressed");
    add_part(&out, &first, s->watching, "headline metric may have regressed: watching",
             "headline metrics may have regressed: watching");
    add_part(&out, &first, s->improved, "headline metric improved", "headline metrics improved");
    add_part(&out, &first, unchanged, "headline metric unchanged", "headline metrics unchanged");
    pfc_buf_putc(&out, '.');
    text = pfc_buf_take(&out);
    pfc_buf_clear(&out);
    return text;
}
