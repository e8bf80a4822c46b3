/* A file that gets its name only when it is complete: see sink.h. */
#include "core/trace/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"

#define FILE_MODE 0644

struct pfc_trace_sink {
    char *path;
    char *temp; /* NULL: the path itself is written */
    int fd;
    int error; /* errno of the first failure; 0: none */
};

static pfc_code fail(const char *doing, const char *path, int number, pfc_err *err)
{
    const bool missing = number == ENOENT || number == ENOTDIR;

    return pfc_err_set(err, missing ? PFC_ENOTFOUND : PFC_EIO, "cannot %s %.300s: %s", doing, path,
                       strerror(number));
}

/* A pipe or a device cannot be replaced by renaming. */
static bool is_special(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

pfc_code pfc_trace_sink_open(pfc_trace_sink **out, const char *path, pfc_err *err)
{
    pfc_trace_sink *sink = pfc_alloc(sizeof(*sink));
    int number;

    sink->path = pfc_strdup(strcmp(path, "-") == 0 ? "standard output" : path);
    if (strcmp(path, "-") == 0) {
        sink->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    } else if (is_special(path)) {
        sink->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        sink->temp = pfc_format("%s.XXXXXX", path);
        sink->fd = mkostemp(sink->temp, O_CLOEXEC);
        if (sink->fd >= 0)
            (void)fchmod(sink->fd, FILE_MODE);
    }
    if (sink->fd >= 0) {
        *out = sink;
        return PFC_OK;
    }
    number = errno;
    free(sink->temp);
    sink->temp = NULL;
    pfc_trace_sink_drop(sink);
    return fail("create", path, number, err);
}

void pfc_trace_sink_write(pfc_trace_sink *sink, const void *bytes, size_t len)
{
    const char *at = bytes;

    while (len > 0 && !sink->error) {
        const ssize_t done = write(sink->fd, at, len);

        if (done < 0 && errno != EINTR)
            sink->error = errno;
        if (done > 0) {
            at += done;
            len -= (size_t)done;
        }
    }
}

bool pfc_trace_sink_failed(const pfc_trace_sink *sink)
{
    return sink->error != 0;
}

pfc_code pfc_trace_sink_close(pfc_trace_sink *sink, pfc_err *err)
{
    pfc_code code = PFC_OK;

    /* No fsync: a trace can be made again, and a file that a crash cuts off lacks its end record.
     * Network file systems report a full disk here. */
    if (close(sink->fd) != 0 && !sink->error)
        sink->error = errno;
    sink->fd = -1;
    if (sink->error)
        code = fail("write", sink->path, sink->error, err);
    else if (sink->temp && rename(sink->temp, sink->path) != 0)
        code = fail("replace", sink->path, errno, err);
    if (!code) {
        free(sink->temp);
        sink->temp = NULL;
    }
    pfc_trace_sink_drop(sink);
    return code;
}

void pfc_trace_sink_drop(pfc_trace_sink *sink)
{
    if (!sink)
        return;
    if (sink->fd >= 0)
        close(sink->fd);
    if (sink->temp)
        unlink(sink->temp);
    free(sink->temp);
    free(sink->path);
    free(sink);
}
