/* The outbox: notices and their deliveries. */
#include "server/services/notices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "server/repo/sql/jobs.h"
#include "server/repo/sql/notices.h"
#include "server/services/queue/queue.h"
#include "server/services/service.h"

pfc_code pfc_notices_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_notices *out,
                          pfc_err *err)
{
    pfc_sql_notices_open_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_notices_open(tx,
                                    &(pfc_sql_notices_open_args){ .project_id = project_id,
                                                                  .cursor = page.cursor,
                                                                  .limit = pfc_page_fetch(page) },
                                    &rows, err);
    pfc_tx_free(tx);
    if (code)
        return code;
    pfc_rows_cut(&rows, page, id);
    *out = (pfc_notices){ .items = pfc_calloc(rows.len, sizeof(*out->items)),
                          .len = rows.len,
                          .next = rows.next };
    for (size_t i = 0; i < rows.len; i++) {
        const pfc_sql_notices_open_row *row = &rows.items[i];

        out->items[i] = (pfc_notice){ .id = row->id,
                                      .project = row->project,
                                      .kind = row->kind,
                                      .alert_id = row->alert_id,
                                      .fault_id = row->fault_id,
                                      .commit = row->commit,
                                      .subject = row->subject,
                                      .author = row->author,
                                      .text = row->text,
                                      .created_at = row->created_at,
                                      .deliveries_json = row->deliveries_json,
                                      .owner = row->owner };
    }
    pfc_rows_keep_texts(&rows, &out->hold);
    return PFC_OK;
}

pfc_code pfc_notice_project(pfc_db *db, int64_t id, int64_t *project_id, pfc_err *err)
{
    pfc_tx *tx = NULL;
    /* Reads from the primary: a replica may not have a new notice yet. */
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    *project_id = 0;
    if (!code)
        code =
            pfc_sql_notice_project(tx, &(pfc_sql_notice_project_args){ .id = id }, project_id, err);
    pfc_tx_free(tx);
    if (!code && !*project_id)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such notice");
    return code;
}

pfc_code pfc_notice_done(pfc_db *db, const char *actor, int64_t id, pfc_err *err)
{
    int64_t project_id = 0;
    pfc_tx *tx = NULL;
    char object[48];
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_notice_done(tx, &(pfc_sql_notice_done_args){ .id = id, .actor = actor },
                                   &project_id, err);
    if (!code && project_id) {
        (void)snprintf(object, sizeof(object), "notice %lld", (long long)id);
        code = pfc_audit_add(tx, actor, "close", project_id, object, NULL, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_notice_again(pfc_db *db, const char *actor, int64_t project_id, int64_t id,
                          size_t *deliveries, pfc_err *err)
{
    pfc_sql_notify_again_rows rows = { 0 };
    pfc_tx *tx = NULL;
    char object[48];
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    *deliveries = 0;
    if (!code)
        code = pfc_sql_notify_again(
            tx, &(pfc_sql_notify_again_args){ .project_id = project_id, .notice_id = id }, &rows,
            err);
    if (!code && rows.len) {
        (void)snprintf(object, sizeof(object), "notice %lld", (long long)id);
        code =
            pfc_audit_add(tx, actor, "notify", project_id, object, "dead letters tried again", err);
        if (!code)
            code = pfc_event_send(tx, "notice", id, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    if (!code)
        *deliveries = rows.len;
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_notices_recent(pfc_db *db, int64_t project_id, int limit, pfc_notices *out,
                            pfc_err *err)
{
    pfc_sql_notices_recent_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_notices_recent(
            tx, &(pfc_sql_notices_recent_args){ .project_id = project_id, .limit = limit }, &rows,
            err);
    pfc_tx_free(tx);
    if (code)
        return code;
    *out = (pfc_notices){ .items = pfc_calloc(rows.len, sizeof(*out->items)), .len = rows.len };
    for (size_t i = 0; i < rows.len; i++) {
        const pfc_sql_notices_recent_row *row = &rows.items[i];

        out->items[i] = (pfc_notice){ .id = row->id,
                                      .project = row->project,
                                      .kind = row->kind,
                                      .alert_id = row->alert_id,
                                      .fault_id = row->fault_id,
                                      .commit = row->commit,
                                      .subject = row->subject,
                                      .author = row->author,
                                      .text = row->text,
                                      .created_at = row->created_at,
                                      .rel_change = (double)NAN,
                                      .owner = row->owner };
    }
    pfc_rows_keep_texts(&rows, &out->hold);
    return PFC_OK;
}

/* ---- sending ---- */

pfc_code pfc_notices_dispatch(pfc_db *db, const pfc_notice_route *routes, size_t len, int days,
                              size_t *notices, pfc_err *err)
{
    const char **texts = pfc_calloc(5 * len + 1, sizeof(*texts));
    double *times = pfc_calloc(2 * len + 1, sizeof(*times));
    pfc_tx *tx = NULL;
    int64_t made = 0;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    for (size_t i = 0; i < len; i++) {
        texts[i] = routes[i].receiver;
        texts[len + i] = routes[i].project;
        texts[2 * len + i] = routes[i].kinds;
        texts[3 * len + i] = routes[i].benchmarks;
        texts[4 * len + i] = routes[i].owners ? routes[i].owners : "";
        times[i] = routes[i].delay_s;
        times[len + i] = routes[i].digest_unix_s;
    }
    if (!code)
        code = pfc_sql_notices_dispatch(
            tx,
            &(pfc_sql_notices_dispatch_args){ .receivers = texts,
                                              .projects = texts + len,
                                              .kinds = texts + 2 * len,
                                              .benchmarks = texts + 3 * len,
                                              .delays = times,
                                              .digests = times + len,
                                              .days = days,
                                              .owners = texts + 4 * len,
                                              .len = len },
            &made, err);
    if (!code)
        *notices = (size_t)made;
    pfc_tx_free(tx);
    free(texts);
    free(times);
    return code;
}

static void set_delivery(pfc_delivery *out, const pfc_sql_notify_take_rows *rows)
{
    out->closed = true;
    for (size_t i = 0; i < rows->len; i++) {
        out->closed = out->closed && rows->items[i].closed;
        out->tries = PFC_MAX(out->tries, rows->items[i].tries);
    }
    out->job_id = rows->items[0].job_id;
    out->project_id = rows->items[0].project_id;
    out->notice_id = rows->items[0].notice_id;
    (void)snprintf(out->receiver, sizeof(out->receiver), "%s", rows->items[0].receiver);
    (void)snprintf(out->digest, sizeof(out->digest), "%s", rows->items[0].digest);
}

pfc_code pfc_delivery_take(pfc_db *db, double lease_s, pfc_delivery *out, pfc_err *err)
{
    char secret[33];
    pfc_sql_notify_take_rows rows = { 0 };
    pfc_tx *tx = NULL;
    bool begun;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    *out = (pfc_delivery){ 0 };
    pfc_random_id(secret);
    pfc_sha256_hex(secret, strlen(secret), out->lease_hash);
    if (!code)
        code = pfc_sql_notify_take_lock(tx, err);
    if (!code)
        code = pfc_sql_notify_take(
            tx, &(pfc_sql_notify_take_args){ .lease_hash = out->lease_hash, .seconds = lease_s },
            &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no notice waits to be sent");
    if (!code)
        code = pfc_tx_commit(tx, err);
    if (!code)
        set_delivery(out, &rows);
    pfc_rows_clear(&rows);
    begun = tx != NULL;
    pfc_tx_free(tx);
    /* Also when only the response was lost: no thread would process the job under that lease. */
    if (begun && code && code != PFC_ENOTFOUND)
        pfc_lease_undo(db, out->lease_hash);
    return code;
}

pfc_code pfc_delivery_prolong(pfc_db *db, const pfc_delivery *delivery, double lease_s,
                              pfc_err *err)
{
    pfc_tx *tx = NULL;
    int64_t id = 0;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_lease_prolong(
            tx,
            &(pfc_sql_lease_prolong_args){ .lease_hash = delivery->lease_hash, .seconds = lease_s },
            &id, err);
    pfc_tx_free(tx);
    if (!code && !id)
        code = pfc_err_set(err, PFC_ENOTFOUND, "the lease of delivery %lld is lost",
                           (long long)delivery->job_id);
    return code;
}

pfc_code pfc_delivery_due(pfc_db *db, double *seconds, pfc_err *err)
{
    pfc_sql_notify_due_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_notify_due(tx, &rows, err);
    if (!code) {
        const double s = rows.items[0].extract;

        *seconds = isfinite(s) ? fmax(s, 0) : HUGE_VAL;
    }
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    return code;
}

static void keep_content(pfc_sql_notice_content_rows *rows, pfc_notices *out)
{
    *out = (pfc_notices){ .items = pfc_calloc(rows->len, sizeof(*out->items)), .len = rows->len };
    for (size_t i = 0; i < rows->len; i++) {
        const pfc_sql_notice_content_row *row = &rows->items[i];

        out->items[i] = (pfc_notice){ .id = row->id,
                                      .project = row->project,
                                      .kind = row->kind,
                                      .alert_id = row->alert_id,
                                      .fault_id = row->fault_id,
                                      .commit = row->commit,
                                      .subject = row->subject,
                                      .author = row->author,
                                      .text = row->text,
                                      .created_at = row->created_at,
                                      .benchmark = row->benchmark,
                                      .metric = row->metric,
                                      .backend = row->backend,
                                      .machine_class = row->machine_class,
                                      .rel_change = row->rel_change,
                                      .owner = row->owner };
    }
    pfc_rows_keep_texts(rows, &out->hold);
}

pfc_code pfc_notice_content(pfc_db *db, const pfc_delivery *delivery, pfc_notices *out,
                            pfc_err *err)
{
    pfc_sql_notice_content_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code && delivery->digest[0])
        code = pfc_sql_digest_content(
            tx, &(pfc_sql_digest_content_args){ .lease_hash = delivery->lease_hash }, &rows, err);
    else if (!code)
        code = pfc_sql_notify_content(
            tx,
            &(pfc_sql_notify_content_args){ .project_id = delivery->project_id,
                                            .notice_id = delivery->notice_id },
            &rows, err);
    pfc_tx_free(tx);
    if (!code)
        keep_content(&rows, out);
    return code;
}

pfc_code pfc_delivery_finish(pfc_db *db, const pfc_delivery *delivery, pfc_delivery_end end,
                             const char *reason, double after_s, pfc_err *err)
{
    static const char *const states[] = { "done", "queued", "queued", "failed", "cancelled" };
    pfc_sql_notify_finish_rows ended = { 0 };
    int64_t *ids = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_notices_lock(
            tx, &(pfc_sql_notices_lock_args){ .lease_hash = delivery->lease_hash }, NULL, err);
    if (!code)
        code = pfc_sql_notify_finish(
            tx,
            &(pfc_sql_notify_finish_args){ .lease_hash = delivery->lease_hash,
                                           .state = states[end],
                                           .reason = reason,
                                           .retry_after_s = after_s,
                                           .tries_back = end == PFC_DELIVERY_BACK },
            &ended, err);
    if (!code) {
        ids = pfc_calloc(ended.len + 1, sizeof(*ids));
        for (size_t i = 0; i < ended.len; i++)
            ids[i] = ended.items[i].notice_id;
        code = pfc_sql_notify_close(
            tx, &(pfc_sql_notify_close_args){ .notice_ids = ids, .notice_ids_len = ended.len },
            err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_rows_clear(&ended);
    pfc_tx_free(tx);
    free(ids);
    return code;
}
