/* A check: which format it is, and the list of faults. */
#include "core/trace/check/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/trace/check/check_priv.h"

static const char *const names[] = {
#define PFC_X(id, name, meaning) [PFC_TRACE_CHECK_##id] = (name),
    PFC_TRACE_CHECKS(PFC_X)
#undef PFC_X
};

static const char *const meanings[] = {
#define PFC_X(id, name, meaning) [PFC_TRACE_CHECK_##id] = (meaning),
    PFC_TRACE_CHECKS(PFC_X)
#undef PFC_X
};

const char *pfc_trace_check_name(pfc_trace_check_kind kind)
{
    return names[kind];
}

const char *pfc_trace_check_meaning(pfc_trace_check_kind kind)
{
    return meanings[kind];
}

void pfc_trace_found(pfc_trace_report *report, pfc_trace_check_kind kind, uint64_t record,
                     uint64_t offset, const char *fmt, ...)
{
    pfc_trace_finding *f;
    va_list ap;

    report->faults++;
    report->by_kind[kind]++;
    if (report->findings_len == report->findings_max)
        return;
    report->findings = pfc_grow(report->findings, report->findings_len, &report->findings_cap,
                                sizeof(*report->findings));
    f = &report->findings[report->findings_len++];
    *f = (pfc_trace_finding){ .kind = kind, .record = record, .offset = offset };
    va_start(ap, fmt);
    vsnprintf(f->what, sizeof(f->what), fmt, ap);
    va_end(ap);
}

void pfc_trace_report_clear(pfc_trace_report *report)
{
    free(report->findings);
    *report = (pfc_trace_report){ 0 };
}

/* A file that begins with a brace, blanks before it allowed, is JSON. */
static bool looks_like_json(const char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len && strchr(" \t\r\n", bytes[at]) && bytes[at])
        at++;
    return at < len && bytes[at] == '{';
}

static pfc_code check_records(pfc_trace_reader *reader, pfc_trace_report *out, pfc_err *err)
{
    const pfc_code code = pfc_trace_check_binary(reader, out, err);

    pfc_trace_reader_free(reader);
    return code;
}

static pfc_code check_json_file(const char *path, pfc_trace_report *out, pfc_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    pfc_code code;

    if (fd < 0)
        return pfc_err_set(err, PFC_EIO, "cannot open %.300s: %s", path, strerror(errno));
    code = pfc_trace_check_json(fd, NULL, 0, path, out, err);
    close(fd);
    return code;
}

/* The first bytes of a regular file. Others are taken for the binary format, since they cannot be
 * read twice. */
static bool is_json_file(const char *path)
{
    char bytes[64];
    struct stat st;
    ssize_t got = 0;
    int fd;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        got = read(fd, bytes, sizeof(bytes));
        close(fd);
    }
    return got > 0 && looks_like_json(bytes, (size_t)got);
}

pfc_code pfc_trace_check(const char *path, size_t max_findings, pfc_trace_report *out, pfc_err *err)
{
    pfc_trace_report report = { .findings_max = max_findings };
    pfc_trace_reader *reader = NULL;
    pfc_code code;

    report.json = is_json_file(path);
    if (report.json) {
        code = check_json_file(path, &report, err);
    } else {
        code = pfc_trace_reader_open(&reader, path, PFC_TRACE_LENIENT, err);
        if (!code)
            code = check_records(reader, &report, err);
    }
    if (code)
        pfc_trace_report_clear(&report);
    else
        *out = report;
    return code;
}

pfc_code pfc_trace_check_bytes(const void *bytes, size_t len, const char *name, size_t max_findings,
                               pfc_trace_report *out, pfc_err *err)
{
    pfc_trace_report report = { .findings_max = max_findings };
    pfc_trace_reader *reader = NULL;
    pfc_code code;

    report.json = looks_like_json(bytes, len);
    if (report.json) {
        code = pfc_trace_check_json(-1, bytes, len, name, &report, err);
    } else {
        code = pfc_trace_reader_open_bytes(&reader, bytes, len, name, PFC_TRACE_LENIENT, err);
        if (!code)
            code = check_records(reader, &report, err);
    }
    if (code)
        pfc_trace_report_clear(&report);
    else
        *out = report;
    return code;
}
