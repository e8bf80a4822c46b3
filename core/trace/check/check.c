/* A check: which format the file has, and the checker of it. */
#include "core/trace/check/check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/trace/check/check_priv.h"

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
