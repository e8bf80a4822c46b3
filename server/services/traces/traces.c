/* Traces: checked, stored, listed. */
#include "server/services/traces/traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/parse.h"
#include "core/trace/check/check.h"
#include "server/repo/sql/runs.h"

#define TITLE_MAX 200

/* ---- what is stored ---- */

/* One sentence about the first fault. */
static pfc_code refuse(const pfc_trace_report *report, pfc_err *err)
{
    const pfc_trace_finding *f = &report->findings[0];
    char more[64] = "";

    if (report->faults > 1)
        snprintf(more, sizeof(more), " (%llu faults in all)", (unsigned long long)report->faults);
    if (f->record)
        return pfc_err_set(err, PFC_EINVAL,
                           "trace: record %llu at byte %llu: %s: %s%s; expected a trace that "
                           "\"perfci trace check\" finds no fault in",
                           (unsigned long long)f->record, (unsigned long long)f->offset,
                           pfc_trace_check_name(f->kind), f->what, more);
    return pfc_err_set(err, PFC_EINVAL,
                       "trace: %s: %s%s; expected a trace that \"perfci trace check\" finds no "
                       "fault in",
                       pfc_trace_check_name(f->kind), f->what, more);
}

static pfc_code check(const pfc_trace_upload *u, pfc_err *err)
{
    pfc_trace_report report = { 0 };
    pfc_code code;

    if (u->len == 0)
        return pfc_err_set(err, PFC_EINVAL,
                           "trace: expected a file of the binary trace format, got nothing");
    if (u->len > PFC_TRACES_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "trace: expected at most %u bytes, got %zu",
                           PFC_TRACES_MAX_BYTES, u->len);
    code = pfc_trace_check_bytes(u->bytes, u->len, "trace", 1, &report, err);
    if (!code && report.json)
        code = pfc_err_set(err, PFC_EINVAL,
                           "trace: expected the binary format, got JSON: send the file that "
                           "\"perfci trace export\" read");
    else if (!code && report.faults > 0)
        code = refuse(&report, err);
    pfc_trace_report_clear(&report);
    return code;
}

/* From the metadata: "gemm on pfc-edge". */
static char *title_of(const pfc_trace_header *header)
{
    const char *kernel = pfc_trace_meta_value(header, "kernel");
    const char *chip = pfc_trace_meta_value(header, "chip");
    char *title;

    if (!kernel)
        kernel = pfc_trace_meta_value(header, "host_command");
    if (kernel && chip)
        title = pfc_format("%s on %s", kernel, chip);
    else
        title = pfc_strdup(kernel ? kernel : chip ? chip : "");
    title[pfc_utf8_cut(title, TITLE_MAX)] = '\0';
    return title;
}

typedef struct storing {
    const pfc_trace_upload *upload;
    pfc_sql_trace_insert_args row;
    pfc_trace_stored stored;
} storing;

static pfc_code find_benchmark(pfc_tx *tx, const pfc_trace_upload *u, pfc_err *err)
{
    bool known = true;
    pfc_code code = PFC_OK;

    if (u->benchmark)
        code = pfc_sql_trace_benchmark(
            tx,
            &(pfc_sql_trace_benchmark_args){ .project_id = u->project_id, .name = u->benchmark },
            &known, err);
    if (!code && !known)
        code = pfc_err_set_field(err, PFC_EINVAL, "benchmark",
                                 "benchmark: expected one that the project has results of, got "
                                 "\"%.200s\"",
                                 u->benchmark);
    return code;
}

static pfc_code insert(pfc_tx *tx, storing *s, pfc_err *err)
{
    const pfc_trace_upload *u = s->upload;
    int64_t count = 0;
    pfc_code code = find_benchmark(tx, u, err);

    if (!code)
        code = pfc_sql_traces_count(
            tx, &(pfc_sql_traces_count_args){ .project_id = u->project_id, .run_id = u->run_id },
            &count, err);
    if (!code && count >= PFC_TRACES_MAX_RUN)
        code = pfc_err_set(err, PFC_ECONFLICT, "run %.40s: it has %d traces, the most of a run",
                           u->run, PFC_TRACES_MAX_RUN);
    if (!code)
        code = pfc_sql_trace_insert(tx, &s->row, &s->stored.id, err);
    if (!code) {
        char *object = pfc_format("run %.40s", u->run);
        char *detail = pfc_format("trace %lld, %zu bytes", (long long)s->stored.id, u->len);

        code = pfc_audit_add(tx, u->actor, "trace", u->project_id, object, detail, err);
        free(object);
        free(detail);
    }
    return code;
}

static pfc_code write_trace(pfc_tx *tx, void *into, pfc_err *err)
{
    storing *s = into;
    const pfc_trace_upload *u = s->upload;
    pfc_sql_run_lock_rows run = { 0 };
    pfc_sql_trace_by_digest_rows same = { 0 };
    /* Locked, so that two uploads at a time do not exceed the limit of the run. */
    pfc_code code = pfc_sql_run_lock(
        tx, &(pfc_sql_run_lock_args){ .project_id = u->project_id, .run_id = u->run }, &run, err);

    s->stored = (pfc_trace_stored){ 0 };
    if (!code)
        code = pfc_rows_expect_one(run.len, "such run", err);
    if (!code)
        code = pfc_sql_trace_by_digest(tx,
                                       &(pfc_sql_trace_by_digest_args){ .project_id = u->project_id,
                                                                        .run_id = u->run_id,
                                                                        .digest = s->row.digest },
                                       &same, err);
    if (!code && same.len > 0)
        s->stored = (pfc_trace_stored){ same.items[0].id, true };
    else if (!code)
        code = insert(tx, s, err);
    pfc_rows_clear(&run);
    pfc_rows_clear(&same);
    return code;
}

pfc_code pfc_trace_store(pfc_db *db, const pfc_trace_upload *u, pfc_trace_stored *out, pfc_err *err)
{
    storing s = { .upload = u };
    pfc_trace_view *view = NULL;
    char digest[PFC_SHA256_HEX];
    char *title = NULL;
    pfc_code code = check(u, err);

    if (!code)
        code = pfc_trace_view_read(&view, u->bytes, u->len, "trace", err);
    if (!code) {
        pfc_sha256_hex(u->bytes, u->len, digest);
        title = title_of(view->header);
        s.row = (pfc_sql_trace_insert_args){
            .project_id = u->project_id,
            .run_id = u->run_id,
            .benchmark = u->benchmark,
            .title = title,
            .digest = digest,
            .size = (int64_t)u->len,
            .records = (int64_t)view->records,
            .span_ns = view->span_ns,
            .units = (int64_t)view->header->units_len,
            .actor = u->actor,
            .bytes = { (const unsigned char *)u->bytes, u->len },
        };
        code = pfc_db_write(db, write_trace, &s, err);
    }
    if (!code)
        *out = s.stored;
    pfc_trace_view_free(view);
    free(title);
    return code;
}

/* ---- what is read ---- */

pfc_code pfc_traces_list(pfc_db *db, int64_t project_id, int64_t run_id, pfc_trace_rows *out,
                         pfc_err *err)
{
    return pfc_sql_traces_list_once(
        db, &(pfc_sql_traces_list_args){ .project_id = project_id, .run_id = run_id }, out, err);
}

pfc_code pfc_trace_find(pfc_db *db, int64_t id, pfc_trace_rows *out, pfc_err *err)
{
    pfc_trace_rows rows = { 0 };
    pfc_code code = pfc_sql_trace_get_once(db, &(pfc_sql_trace_get_args){ .id = id }, &rows, err);

    if (!code)
        code = pfc_rows_expect_one(rows.len, "such trace", err);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}

pfc_code pfc_trace_file(pfc_db *db, int64_t id, char **bytes, size_t *len, pfc_err *err)
{
    pfc_sql_trace_bytes_rows rows = { 0 };
    pfc_code code =
        pfc_sql_trace_bytes_once(db, &(pfc_sql_trace_bytes_args){ .id = id }, &rows, err);

    if (!code)
        code = pfc_rows_expect_one(rows.len, "such trace", err);
    if (!code) {
        *len = rows.items[0].bytes.len;
        *bytes = pfc_alloc(*len + 1);
        memcpy(*bytes, rows.items[0].bytes.data, *len);
    }
    pfc_rows_clear(&rows);
    return code;
}
