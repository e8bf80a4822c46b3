/*
 * Uploads documents from the spool to the server.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/spool/spool_priv.h"

#define REASON ".reason"

/* ---- one document ---- */

/* Moves the document to `rejected/` and writes the server's message beside it, for the operator. */
static pfc_code reject(const pfc_spool *spool, const char *name, const char *reason, pfc_err *err)
{
    char *from = pfc_fs_join(spool->dir, name);
    char *to = pfc_fs_join(spool->rejected, name);
    char *note = pfc_format("%s" REASON, to);
    char *text = pfc_format("%s\n", reason);
    pfc_code code = pfc_fs_write_atomic(note, text, strlen(text), 0600, err);

    if (code == PFC_OK && rename(from, to) != 0)
        code = pfc_err_set(err, PFC_EIO, "move %s to %s: %s", from, to, strerror(errno));
    if (code == PFC_OK)
        pfc_log(PFC_ERROR, "result_rejected", "document", to, "reason", reason);
    free(from);
    free(to);
    free(note);
    free(text);
    return code;
}

/* A run is stored without a trace that cannot be. */
static pfc_code drop_trace(const pfc_spool *spool, const char *name, const char *reason,
                           pfc_err *err)
{
    char *path = pfc_fs_join(spool->dir, name);
    pfc_code code = PFC_OK;

    pfc_log(PFC_WARN, "trace_refused", "document", name, "reason", reason);
    if (unlink(path) != 0 && errno != ENOENT)
        code = pfc_err_set(err, PFC_EIO, "remove %s: %s", path, strerror(errno));
    free(path);
    return code;
}

static pfc_code reject_damaged(const pfc_spool *spool, const char *name, pfc_spool_report *report,
                               pfc_err *err)
{
    pfc_code code;

    (void)snprintf(report->rejection, sizeof(report->rejection),
                   "%.200s does not match its digest: the disk lost or changed some of it", name);
    if (pfc_spool_is_trace(name))
        return drop_trace(spool, name, report->rejection, err);
    code = reject(spool, name, report->rejection, err);
    if (code == PFC_OK)
        report->rejected++;
    return code;
}

/* True when a retry of the same document cannot succeed. A missing project or commit is such a
 * case: an operator creates it and moves the document back to the spool. A 403 that names a field
 * is about the document: it is not of the lease's job. */
static bool is_final(int status, const pfc_err *err)
{
    if (status == 403 && err->field[0])
        return true;
    return status >= 400 && status < 500 && status != 401 && status != 403 && status != 408 &&
           status != 429;
}

/* True for an error that can be specific to this document: not when the server is unavailable (502,
 * 503, Retry-After). */
static bool is_error(const pfc_http_answer *answer)
{
    return answer->status >= 500 && answer->status != 502 && answer->status != 503 &&
           answer->retry_after_s <= 0.0;
}

typedef struct courier {
    pfc_spool *spool;
    pfc_http *http;
    pfc_spool_report *report;
    bool error; /* out: 5xx, perhaps specific to this document */
} courier;

static pfc_code send_text(courier *c, const char *name, const char *text, size_t len, pfc_err *err);

/* Replaces the document on disk first, so that a retry sends the same content. */
static pfc_code send_instead(courier *c, const char *name, const char *text, pfc_err *err)
{
    const size_t len = strlen(text);
    char *other = pfc_spool_rename_for(name, text, len);
    char *from = pfc_fs_join(c->spool->dir, name), *to = pfc_fs_join(c->spool->dir, other);
    pfc_code code = pfc_fs_write_atomic(to, text, len, 0600, err);

    if (code == PFC_OK && strcmp(from, to) != 0 && unlink(from) != 0)
        code = pfc_err_set(err, PFC_EIO, "remove %s: %s", from, strerror(errno));
    if (code == PFC_OK)
        code = send_text(c, other, text, len, err);
    free(other);
    free(from);
    free(to);
    return code;
}

static pfc_code send_text(courier *c, const char *name, const char *text, size_t len, pfc_err *err)
{
    pfc_spool_report *report = c->report;
    pfc_http_answer answer = { 0 };
    char *token = pfc_spool_token_read(c->spool, name), *other = NULL;
    const pfc_spool_parcel parcel = {
        .token = token,
        .session = pfc_spool_is_session(name),
        .trace = pfc_spool_is_trace(name),
        .text = text,
        .len = len
    };
    pfc_code code = pfc_spool_post(c->http, &parcel, &answer, err);

    report->retry_after_s = answer.retry_after_s;
    c->error = is_error(&answer);
    if (code == PFC_OK) {
        code = pfc_spool_keep(c->spool, name, err);
        report->uploaded += code == PFC_OK;
    } else if (parcel.trace && is_final(answer.status, err)) {
        code = drop_trace(c->spool, name, err->msg, err);
    } else if (!parcel.trace &&
               (other = pfc_spool_without_refused(&answer, err, text, len)) != NULL) {
        code = send_instead(c, name, other, err);
    } else if (is_final(answer.status, err)) {
        (void)snprintf(report->rejection, sizeof(report->rejection), "%s", err->msg);
        code = reject(c->spool, name, report->rejection, err);
        report->rejected += code == PFC_OK;
    }
    pfc_http_answer_clear(&answer);
    free(token);
    free(other);
    return code;
}

static pfc_code upload_one(courier *c, const char *name, pfc_err *err)
{
    char *path = pfc_fs_join(c->spool->dir, name);
    char *text = NULL;
    size_t len = 0;
    pfc_code code =
        pfc_fs_read(path, PFC_WIRE_MAX_BODY_BYTES + PFC_SPOOL_TRACE_HEAD_MAX, &text, &len, err);

    c->error = false;
    if (code == PFC_ENOTFOUND) /* removed by the operator */
        code = PFC_OK;
    else if (code == PFC_OK && !pfc_spool_is_whole(name, text, len))
        code = reject_damaged(c->spool, name, c->report, err);
    else if (code == PFC_OK)
        code = send_text(c, name, text, len, err);
    free(path);
    free(text);
    return code;
}

/* ---- a pass ---- */

typedef struct place {
    char *name;
    unsigned behind;
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->behind != y->behind)
        return x->behind < y->behind ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Fewest failures first, then by arrival. Parts of a run stay together. */
static void put_in_order(const pfc_spool *spool, pfc_spool_names *docs)
{
    place *places;

    if (!spool->troubles_len || docs->len < 2)
        return;
    places = pfc_calloc(docs->len, sizeof(*places));
    for (size_t i = 0; i < docs->len; i++) {
        const pfc_spool_trouble *t = pfc_spool_trouble_find(spool, docs->items[i]);

        places[i] = (place){ .name = docs->items[i], .behind = t ? t->behind : 0 };
    }
    qsort(places, docs->len, sizeof(*places), by_place);
    for (size_t i = 0; i < docs->len; i++)
        docs->items[i] = places[i].name;
    free(places);
}

/* Notes the result of one upload. PFC_OK: the pass continues. */
static pfc_code settle(courier *c, const char *name, pfc_code code, const pfc_err *fault)
{
    if (code == PFC_OK) {
        pfc_spool_trouble_forget(c->spool, pfc_spool_trouble_find(c->spool, name));
        return PFC_OK;
    }
    if (c->error) {
        pfc_spool_trouble_note(c->spool, name, fault->msg);
        return pfc_spool_server_is_broken(c->spool) ? code : PFC_OK;
    }
    /* This document may have crashed the server: the next pass starts with another one. */
    if (code != PFC_ECONFLICT && code != PFC_EDENIED)
        pfc_spool_trouble_of(c->spool, name)->behind++;
    return code;
}

static pfc_code upload_all(courier *c, const pfc_spool_names *docs, pfc_err *fault)
{
    const int64_t begun_ns = pfc_clock_ns();
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < docs->len && code == PFC_OK; i++) {
        const pfc_spool_trouble *t = pfc_spool_trouble_find(c->spool, docs->items[i]);
        const size_t before = c->report->uploaded;

        if (t && t->due_ns > begun_ns)
            continue; /* also skips the other parts of a run that failed in this pass */
        code = upload_one(c, docs->items[i], fault);
        if (c->report->uploaded > before)
            pfc_spool_server_took_one(c->spool);
        code = settle(c, docs->items[i], code, fault);
    }
    return code;
}

/* Counts the runs that are put off and finds when the first is due. `code` is the result of the
 * pass. */
static pfc_code count_put_off(courier *c, pfc_code code, pfc_err *fault)
{
    const bool broken = pfc_spool_server_is_broken(c->spool);
    pfc_spool_report *report = c->report;
    const pfc_spool_trouble *last = NULL;
    pfc_spool_names docs = { 0 };
    int64_t due_ns = INT64_MAX;

    if (pfc_spool_list(c->spool->dir, &docs, NULL, NULL) != PFC_OK)
        return code;
    for (size_t i = 0; i < docs.len; i++) {
        const pfc_spool_trouble *t = pfc_spool_trouble_find(c->spool, docs.items[i]);

        report->put_off += pfc_spool_is_put_off(t);
        due_ns = PFC_MIN(due_ns, t ? t->due_ns : 0);
        if (t && t->reason)
            last = t;
    }
    report->waiting = docs.len;
    pfc_spool_names_clear(&docs);
    if (report->waiting == 0 || (code && !c->error))
        return code;
    report->only_put_off = report->put_off == report->waiting && !broken;
    report->retry_after_s = fmax(0.0, (double)(due_ns - pfc_clock_ns()) / 1e9);
    return pfc_err_set(fault, PFC_EUNAVAIL, "%zu results wait: %s (%s)", report->waiting,
                       broken ? "the server fails with each"
                              : "the server fails with them and accepts others",
                       last ? last->reason : "");
}

pfc_code pfc_spool_upload(pfc_spool *spool, pfc_http *http, pfc_spool_report *report, pfc_err *err)
{
    courier c = { .spool = spool, .http = http, .report = report };
    pfc_spool_names docs = { 0 };
    pfc_err fault = { 0 };
    pfc_code code;

    *report = (pfc_spool_report){ 0 };
    if (pfc_spool_take_back(spool, &fault) != PFC_OK)
        pfc_log(PFC_WARN, "resend_incomplete", "reason", fault.msg);
    code = pfc_spool_list(spool->dir, &docs, NULL, &fault);
    if (code == PFC_OK) {
        pfc_spool_troubles_forget_gone(spool, &docs);
        put_in_order(spool, &docs);
        code = upload_all(&c, &docs, &fault);
        code = count_put_off(&c, code, &fault);
    }
    pfc_spool_sweep(spool, report->uploaded > 0);
    pfc_spool_names_clear(&docs);
    if (code && err)
        *err = fault;
    return code;
}

/* ---- state of a run ---- */

/* Returns the name of the run's first document in the folder, or NULL; the caller frees it. A trace
 * is no such document: a run whose traces still wait is stored already. */
static char *find_run(const char *dir, const char *run_id)
{
    char *part = pfc_format("-%s-", run_id), *found = NULL;
    pfc_spool_names docs = { 0 };

    if (pfc_spool_list(dir, &docs, NULL, NULL) == PFC_OK) {
        for (size_t i = 0; i < docs.len && !found; i++)
            found = strstr(docs.items[i], part) && !pfc_spool_is_trace(docs.items[i])
                        ? pfc_strdup(docs.items[i])
                        : NULL;
    }
    pfc_spool_names_clear(&docs);
    free(part);
    return found;
}

static void read_reason(const pfc_spool *spool, const char *name, char *reason)
{
    char *path = pfc_format("%s/%s" REASON, spool->rejected, name), *text = NULL;
    size_t len = 0;

    if (pfc_fs_read(path, PFC_ERR_MAX, &text, &len, NULL) == PFC_OK)
        (void)snprintf(reason, PFC_ERR_MAX, "%.*s", (int)strcspn(text, "\n"), text);
    else
        (void)snprintf(reason, PFC_ERR_MAX, "rejected by the server");
    free(text);
    free(path);
}

pfc_spool_fate pfc_spool_look(const pfc_spool *spool, const char *run_id, char *reason)
{
    char *name = find_run(spool->rejected, run_id);
    pfc_spool_fate fate = PFC_SPOOL_GONE;

    if (name) {
        fate = PFC_SPOOL_REJECTED;
        read_reason(spool, name, reason);
    } else if ((name = find_run(spool->dir, run_id)) != NULL) {
        const pfc_spool_trouble *t = pfc_spool_trouble_find(spool, name);

        fate = pfc_spool_is_put_off(t) && !pfc_spool_server_is_broken(spool) ? PFC_SPOOL_PUT_OFF
                                                                             : PFC_SPOOL_WAITS;
        if (fate == PFC_SPOOL_PUT_OFF)
            (void)snprintf(
                reason, PFC_ERR_MAX,
                "measured, but the server fails to store the result, which waits in the spool: %s",
                t->reason);
    }
    free(name);
    return fate;
}
