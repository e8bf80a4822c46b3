/* The reader: a bounded buffer over a file or over memory, every record checked as it comes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/trace/layout.h"
#include "core/trace/reader_priv.h"

#define CHUNK_BYTES (PFC_TRACE_RECORD_BYTES * 8192)

struct pfc_trace_reader {
    pfc_trace_index *index;
    char *name;
    pfc_trace_reading reading;
    int fd;               /* -1: all bytes are in memory */
    uint8_t *chunk;       /* owned; NULL for memory */
    const uint8_t *bytes; /* what is buffered: the chunk, or the caller's memory */
    size_t at, len;       /* read position and end in `bytes` */
    uint64_t offset;      /* of the newest record in the file */
    uint64_t next_offset;
    uint64_t number; /* of records returned */
    uint64_t digest;
    bool ended;
    pfc_err failed; /* the failure that every later call repeats */
};

/* ---- bytes ---- */

/* Buffers at least `want` bytes if the file has them; want <= CHUNK_BYTES, because the buffer does
 * not grow. */
static pfc_code fill(pfc_trace_reader *r, size_t want, pfc_err *err)
{
    if (r->fd < 0 || r->len - r->at >= want)
        return PFC_OK;
    memmove(r->chunk, r->chunk + r->at, r->len - r->at);
    r->len -= r->at;
    r->at = 0;
    while (r->len < want) {
        const ssize_t got = read(r->fd, r->chunk + r->len, CHUNK_BYTES - r->len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return pfc_err_set(err, PFC_EIO, "cannot read %.300s: %s", r->name, strerror(errno));
        if (got == 0)
            break;
        r->len += (size_t)got;
    }
    return PFC_OK;
}

static pfc_code open_fd(const char *path, int *out, pfc_err *err)
{
    struct stat st;
    /* Non-blocking: open() of a FIFO without a writer would block before fstat can reject it. */
    const int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                          : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return pfc_err_set(err, errno == ENOENT || errno == ENOTDIR ? PFC_ENOTFOUND : PFC_EIO,
                           "cannot open %.300s: %s", path, strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        return pfc_err_set(err, PFC_EIO, "%.300s: expected a file, it is a folder", path);
    }
    if (strcmp(path, "-") != 0)
        (void)fcntl(fd, F_SETFL, 0);
    *out = fd;
    return PFC_OK;
}

/* ---- header ---- */

static pfc_code cut_header(const pfc_trace_reader *r, size_t expected, size_t got, pfc_err *err)
{
    (void)r;
    return pfc_err_set(err, PFC_EINVAL,
                       "the trace header is cut off: expected %zu bytes, the file has %zu",
                       expected, got);
}

/* A header may be longer than the chunk: its bytes are gathered in memory of their own. */
static pfc_code gather(pfc_trace_reader *r, uint8_t *out, size_t len, pfc_err *err)
{
    size_t done = 0;

    while (done < len) {
        const size_t want = PFC_MIN(len - done, (size_t)CHUNK_BYTES);
        const pfc_code code = fill(r, want, err);
        size_t have;

        if (code)
            return code;
        have = PFC_MIN(r->len - r->at, want);
        memcpy(out + done, r->bytes + r->at, have);
        r->at += have;
        done += have;
        if (have < want)
            return cut_header(r, len, done, err);
    }
    return PFC_OK;
}

static pfc_code read_header(pfc_trace_reader *r, pfc_err *err)
{
    uint8_t *bytes = NULL;
    size_t len = 0;
    pfc_code code = fill(r, PFC_TRACE_FIXED_BYTES, err);

    if (!code && r->len - r->at < PFC_TRACE_FIXED_BYTES) {
        if (r->len - r->at >= 8 && memcmp(r->bytes + r->at, PFC_TRACE_MAGIC, 8) == 0)
            code = cut_header(r, PFC_TRACE_FIXED_BYTES, r->len - r->at, err);
        else
            code =
                pfc_err_set(err, PFC_EINVAL, "not a perfci trace: expected it to begin with \"%s\"",
                            PFC_TRACE_MAGIC);
    }
    if (!code)
        code = pfc_trace_header_length(r->bytes + r->at, &len, err);
    if (code)
        return code;
    bytes = pfc_alloc(len);
    code = gather(r, bytes, len, err);
    if (!code)
        code = pfc_trace_index_decode(&r->index, bytes, len, err);
    r->offset = r->next_offset = len;
    free(bytes);
    return code;
}

static pfc_code start(pfc_trace_reader *r, pfc_trace_reader **out, pfc_err *err)
{
    const pfc_code code = read_header(r, err);

    r->digest = PFC_TRACE_DIGEST_START;
    if (code) {
        (void)pfc_err_wrap(err, "%.200s", r->name);
        pfc_trace_reader_free(r);
        return code;
    }
    *out = r;
    return PFC_OK;
}

pfc_code pfc_trace_reader_open(pfc_trace_reader **out, const char *path, pfc_trace_reading reading,
                               pfc_err *err)
{
    pfc_trace_reader *r;
    int fd = -1;
    const pfc_code code = open_fd(path, &fd, err);

    if (code)
        return code;
    r = pfc_alloc(sizeof(*r));
    r->name = pfc_strdup(strcmp(path, "-") == 0 ? "standard input" : path);
    r->reading = reading;
    r->fd = fd;
    r->bytes = r->chunk = pfc_alloc(CHUNK_BYTES);
    return start(r, out, err);
}

pfc_code pfc_trace_reader_open_bytes(pfc_trace_reader **out, const void *bytes, size_t len,
                                     const char *name, pfc_trace_reading reading, pfc_err *err)
{
    pfc_trace_reader *r = pfc_alloc(sizeof(*r));

    r->name = pfc_strdup(name);
    r->reading = reading;
    r->fd = -1;
    r->bytes = bytes;
    r->len = len;
    return start(r, out, err);
}

void pfc_trace_reader_free(pfc_trace_reader *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    pfc_trace_index_free(r->index);
    free(r->chunk);
    free(r->name);
    free(r);
}

const pfc_trace_header *pfc_trace_reader_header(const pfc_trace_reader *r)
{
    return &r->index->header;
}

const pfc_trace_index *pfc_trace_reader_index(const pfc_trace_reader *r)
{
    return r->index;
}

uint64_t pfc_trace_reader_number(const pfc_trace_reader *r)
{
    return r->number;
}

uint64_t pfc_trace_reader_offset(const pfc_trace_reader *r)
{
    return r->offset;
}

uint64_t pfc_trace_reader_offset_of(const pfc_trace_reader *r, uint64_t number)
{
    return r->offset - (r->number - number) * PFC_TRACE_RECORD_BYTES;
}

/* ---- records ---- */

static pfc_code broken(pfc_trace_reader *r, uint64_t number, const char *why, pfc_err *err)
{
    return pfc_err_set(err, PFC_EINVAL, "%.200s: record %llu at byte %llu: %s", r->name,
                       (unsigned long long)number, (unsigned long long)r->next_offset, why);
}

static pfc_code check_end(pfc_trace_reader *r, const pfc_trace_record *end, pfc_err *err)
{
    char why[128];
    pfc_code code;

    if (end->b != PFC_TRACE_END_MARK || end->unit != 0 || end->corr != 0)
        return broken(r, r->number + 1, "the end record is damaged", err);
    if (end->a != r->number) {
        snprintf(why, sizeof(why), "the end record counts %llu records, the file has %llu",
                 (unsigned long long)end->a, (unsigned long long)r->number);
        return broken(r, r->number + 1, why, err);
    }
    if (end->ticks != r->digest)
        return broken(r, r->number + 1,
                      "the digest of the records differs: the file is damaged or reordered", err);
    code = fill(r, 1, err);
    if (!code && r->at < r->len) {
        r->next_offset += PFC_TRACE_RECORD_BYTES;
        code = broken(r, r->number + 1, "expected nothing behind the end record", err);
    }
    return code;
}

static pfc_code next_bytes(pfc_trace_reader *r, pfc_trace_record *out, pfc_err *err)
{
    const pfc_code code = fill(r, PFC_TRACE_RECORD_BYTES, err);

    if (code)
        return code;
    if (r->len - r->at < PFC_TRACE_RECORD_BYTES)
        return broken(r, r->number + 1,
                      "the file ends here, expected a record or the end record: it is cut off",
                      err);
    pfc_trace_record_decode(r->bytes + r->at, out);
    r->at += PFC_TRACE_RECORD_BYTES;
    return PFC_OK;
}

static pfc_code read_record(pfc_trace_reader *r, pfc_trace_record *out, bool *more, pfc_err *err)
{
    pfc_trace_record record;
    char why[128];
    pfc_code code = next_bytes(r, &record, err);

    if (code)
        return code;
    if (record.type == PFC_TRACE_TYPE_END) {
        code = check_end(r, &record, err);
        r->ended = code == PFC_OK;
        *more = false;
        return code;
    }
    if (r->reading == PFC_TRACE_STRICT && pfc_trace_record_fault(r->index, &record, why))
        return broken(r, r->number + 1, why, err);
    r->digest = pfc_trace_record_digest(r->digest, &record);
    r->offset = r->next_offset;
    r->next_offset += PFC_TRACE_RECORD_BYTES;
    r->number++;
    *out = record;
    *more = true;
    return PFC_OK;
}

pfc_code pfc_trace_read(pfc_trace_reader *r, pfc_trace_record *out, bool *more, pfc_err *err)
{
    if (!r->failed.code && !r->ended && read_record(r, out, more, &r->failed) == PFC_OK)
        return PFC_OK;
    *more = false;
    if (r->failed.code && err)
        *err = r->failed;
    return r->failed.code;
}
