/*
 * A folder of documents, named so that their order by name is the order of their coming:
 * SECONDS.NANOSECONDS-RUNID-PART.DIGEST.json. The clock may step; then the order is another one, which
 * harms nothing. The digest is of the document, so that what a disk has lost or changed of it is not
 * taken for a result. Names of before have none. A part that another one follows is "PART+": parts come
 * and go in their order, so a run is there whole as long as its last part is.
 */
#include "runner/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/log.h"

#define PROBE_BYTES     (64 * 1024)
#define UPLOAD_S        120.0
#define RUNS_PATH       "/api/v1/runs"
#define SUFFIX          ".json"
#define REJECTED_FOLDER "rejected"
#define DIGEST_LEN      16 /* characters of it: against accidents, not against people */

struct pfc_spool {
    char *dir;
    char *rejected;
};

typedef struct names {
    char **items;
    size_t len;
    size_t cap;
    uint64_t bytes;
} names;

static void names_clear(names *list)
{
    for (size_t i = 0; i < list->len; i++)
        free(list->items[i]);
    free(list->items);
    *list = (names){ 0 };
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_document(const char *name)
{
    size_t len = strlen(name);

    return len > strlen(SUFFIX) && strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

/* Whole documents, oldest first; with `unfinished` also what a killed process left. */
static pfc_code list(const pfc_spool *spool, names *docs, names *unfinished, pfc_err *err)
{
    DIR *folder = opendir(spool->dir);
    const struct dirent *entry;

    if (!folder)
        return pfc_err_set(err, PFC_EIO, "spool %s: %s", spool->dir, strerror(errno));
    while ((entry = readdir(folder)) != NULL) {
        names *to = is_document(entry->d_name) ? docs : unfinished;
        struct stat st;

        if (!to || fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        to->items = pfc_grow(to->items, to->len, &to->cap, sizeof(*to->items));
        to->items[to->len++] = pfc_strdup(entry->d_name);
        to->bytes += (uint64_t)st.st_size;
    }
    (void)closedir(folder);
    if (docs->len > 1)
        qsort(docs->items, docs->len, sizeof(*docs->items), by_name);
    return PFC_OK;
}

/* Up to its part, a name is the run's. */
static size_t run_len(const char *name)
{
    const char *part = strrchr(name, '-');

    return part ? (size_t)(part - name) : strlen(name);
}

static bool same_run(const char *a, const char *b)
{
    return run_len(a) == run_len(b) && memcmp(a, b, run_len(a)) == 0;
}

static bool is_followed(const char *name)
{
    const char *part = strrchr(name, '-');

    return part && part[1 + strspn(part + 1, "0123456789")] == '+';
}

/* Of a run whose writer was killed between two parts: half a run would look like a whole one, and its job
 * is given to somebody again. */
static void remove_halves(const pfc_spool *spool, const names *docs)
{
    for (size_t from = 0, to; from < docs->len; from = to) {
        for (to = from + 1; to < docs->len && same_run(docs->items[from], docs->items[to]);)
            to++;
        for (size_t i = from; i < to && is_followed(docs->items[to - 1]); i++) {
            char *path = pfc_fs_join(spool->dir, docs->items[i]);

            pfc_log(PFC_WARN, "part of a run that was never finished: removed", "path", path);
            (void)unlink(path);
            free(path);
        }
    }
}

static void remove_unfinished(const pfc_spool *spool, const names *unfinished)
{
    for (size_t i = 0; i < unfinished->len; i++) {
        char *path = pfc_fs_join(spool->dir, unfinished->items[i]);

        if (unlink(path) != 0)
            pfc_log(PFC_WARN, "unfinished file stays in the spool", "path", path);
        free(path);
    }
}

pfc_code pfc_spool_open(const char *dir, pfc_spool **out, pfc_err *err)
{
    pfc_spool *spool = pfc_alloc(sizeof(*spool));
    names docs = { 0 };
    names unfinished = { 0 };
    pfc_code code;

    spool->dir = pfc_strdup(dir);
    spool->rejected = pfc_fs_join(dir, REJECTED_FOLDER);
    code = pfc_fs_mkdirs(spool->rejected, 0700, err);
    if (code == PFC_OK)
        code = list(spool, &docs, &unfinished, err);
    if (code == PFC_OK) {
        remove_unfinished(spool, &unfinished);
        remove_halves(spool, &docs);
    }
    names_clear(&docs);
    names_clear(&unfinished);
    if (code) {
        pfc_spool_close(spool);
        return pfc_err_wrap(err, "spool");
    }
    *out = spool;
    return PFC_OK;
}

void pfc_spool_close(pfc_spool *spool)
{
    if (!spool)
        return;
    free(spool->dir);
    free(spool->rejected);
    free(spool);
}

size_t pfc_spool_waiting(const pfc_spool *spool)
{
    names docs = { 0 };
    size_t len;

    if (list(spool, &docs, NULL, NULL) != PFC_OK)
        return 0;
    len = docs.len;
    names_clear(&docs);
    return len;
}

static pfc_code check_limits(const pfc_spool *spool, pfc_err *err)
{
    names docs = { 0 };
    pfc_code code = list(spool, &docs, NULL, err);

    if (code == PFC_OK && docs.len >= PFC_SPOOL_MAX_DOCUMENTS)
        code = pfc_err_set(err, PFC_ETOOBIG,
                           "spool %s is full: %zu documents wait for the server, at most %d",
                           spool->dir, docs.len, PFC_SPOOL_MAX_DOCUMENTS);
    else if (code == PFC_OK && docs.bytes >= PFC_SPOOL_MAX_BYTES)
        code = pfc_err_set(err, PFC_ETOOBIG,
                           "spool %s is full: %llu bytes wait for the server, at most %llu",
                           spool->dir, (unsigned long long)docs.bytes, PFC_SPOOL_MAX_BYTES);
    names_clear(&docs);
    return code;
}

static pfc_code say_full(const pfc_spool *spool, pfc_err *err)
{
    return pfc_err_wrap(err, "the spool cannot take a result (%zu documents wait there, unharmed)",
                        pfc_spool_waiting(spool));
}

pfc_code pfc_spool_probe(pfc_spool *spool, pfc_err *err)
{
    char *path = pfc_fs_join(spool->dir, "probe");
    char *bytes = pfc_alloc(PROBE_BYTES);
    pfc_code code = check_limits(spool, err);

    if (code == PFC_OK) {
        code = pfc_fs_write_atomic(path, bytes, PROBE_BYTES, 0600, err);
        (void)unlink(path); /* there also when only its folder could not be synced */
        if (code)
            code = say_full(spool, err);
    }
    free(path);
    free(bytes);
    return code;
}

static void digest_of(const char *text, size_t len, char out[DIGEST_LEN + 1])
{
    char hex[PFC_SHA256_HEX];

    pfc_sha256_hex(text, len, hex);
    memcpy(out, hex, DIGEST_LEN);
    out[DIGEST_LEN] = '\0';
}

/* Is it what was written? The name says so, but those of before, which end with the part. */
static bool is_whole(const char *name, const char *text, size_t len)
{
    const size_t end = strlen(name) - strlen(SUFFIX);
    char digest[DIGEST_LEN + 1];

    if (end < DIGEST_LEN + 1 || name[end - DIGEST_LEN - 1] != '.' ||
        strspn(name + end - DIGEST_LEN, "0123456789abcdef") < DIGEST_LEN)
        return true;
    digest_of(text, len, digest);
    return memcmp(name + end - DIGEST_LEN, digest, DIGEST_LEN) == 0;
}

static pfc_code add_parts(const pfc_spool *spool, const pfc_run *run, char **texts, size_t len,
                          pfc_err *err)
{
    char **paths = pfc_calloc(len, sizeof(*paths));
    struct timespec now;
    pfc_code code = PFC_OK;
    size_t done = 0;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    for (; done < len && code == PFC_OK; done++) {
        char digest[DIGEST_LEN + 1];

        digest_of(texts[done], strlen(texts[done]), digest);
        paths[done] =
            pfc_format("%s/%012lld.%09ld-%s-%03zu%s.%s" SUFFIX, spool->dir, (long long)now.tv_sec,
                       now.tv_nsec, run->id, done, done + 1 < len ? "+" : "", digest);
        code = pfc_fs_write_atomic(paths[done], texts[done], strlen(texts[done]), 0600, err);
    }
    /* All parts or none: half a run would look like a whole one. */
    for (size_t i = 0; i < done; i++) {
        if (code)
            (void)unlink(paths[i]);
        free(paths[i]);
    }
    free(paths);
    return code;
}

pfc_code pfc_spool_add(pfc_spool *spool, const pfc_run *run, pfc_err *err)
{
    char **texts = NULL;
    size_t len = 0;
    pfc_code code = check_limits(spool, err);

    if (code == PFC_OK)
        code = pfc_run_split(run, PFC_WIRE_MAX_BODY_BYTES, &texts, &len, err);
    if (code)
        return code;
    code = add_parts(spool, run, texts, len, err);
    for (size_t i = 0; i < len; i++)
        free(texts[i]);
    free(texts);
    return code ? say_full(spool, err) : PFC_OK;
}

/* Out of the way, with the server's sentence beside it for whoever looks. */
static pfc_code reject(const pfc_spool *spool, const char *name, const char *reason, pfc_err *err)
{
    char *from = pfc_fs_join(spool->dir, name);
    char *to = pfc_fs_join(spool->rejected, name);
    char *note = pfc_format("%s.reason", to);
    char *text = pfc_format("%s\n", reason);
    pfc_code code = pfc_fs_write_atomic(note, text, strlen(text), 0600, err);

    if (code == PFC_OK && rename(from, to) != 0)
        code = pfc_err_set(err, PFC_EIO, "move %s to %s: %s", from, to, strerror(errno));
    if (code == PFC_OK)
        pfc_log(PFC_ERROR, "result rejected by the server", "document", to, "reason", reason);
    free(from);
    free(to);
    free(note);
    free(text);
    return code;
}

static pfc_code reject_damaged(const pfc_spool *spool, const char *name, pfc_spool_report *report,
                               pfc_err *err)
{
    pfc_code code;

    (void)snprintf(report->rejection, sizeof(report->rejection),
                   "%.200s is not what was written: its disk has lost or changed some of it", name);
    code = reject(spool, name, report->rejection, err);
    if (code == PFC_OK)
        report->rejected++;
    return code;
}

/* A refusal that the same document will meet again tomorrow. A missing project or commit is one:
 * somebody has to make it first, and moves the document back. */
static bool is_final(int status)
{
    return status >= 400 && status < 500 && status != 401 && status != 403 && status != 408 &&
           status != 429;
}

static pfc_code send_one(const pfc_spool *spool, pfc_http *http, const char *name, const char *text,
                         size_t len, pfc_spool_report *report, pfc_err *err)
{
    const pfc_http_req req = {
        .method = "POST", .path = RUNS_PATH, .timeout_s = UPLOAD_S, .body = text, .body_len = len
    };
    char *path = pfc_fs_join(spool->dir, name);
    pfc_http_answer answer = { 0 };
    pfc_code code = pfc_http_send(http, &req, &answer, err);

    if (code)
        goto done;
    report->retry_after_s = answer.retry_after_s;
    code = pfc_http_check(http, &answer, err);
    if (code == PFC_OK) {
        if (unlink(path) != 0)
            code = pfc_err_set(err, PFC_EIO, "remove %s: %s", path, strerror(errno));
        else
            report->uploaded++;
    } else if (is_final(answer.status)) {
        (void)snprintf(report->rejection, sizeof(report->rejection), "%s", err ? err->msg : "");
        code = reject(spool, name, report->rejection, err);
        if (code == PFC_OK)
            report->rejected++;
    }

done:
    pfc_http_answer_clear(&answer);
    free(path);
    return code;
}

static pfc_code upload_one(const pfc_spool *spool, pfc_http *http, const char *name,
                           pfc_spool_report *report, pfc_err *err)
{
    char *path = pfc_fs_join(spool->dir, name);
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, PFC_WIRE_MAX_BODY_BYTES, &text, &len, err);

    if (code == PFC_OK && !is_whole(name, text, len))
        code = reject_damaged(spool, name, report, err);
    else if (code == PFC_OK)
        code = send_one(spool, http, name, text, len, report, err);
    free(path);
    free(text);
    return code;
}

pfc_code pfc_spool_bypass(pfc_http *http, const pfc_run *run, pfc_err *err)
{
    pfc_http_req req = { .method = "POST", .path = RUNS_PATH, .timeout_s = UPLOAD_S };
    char **texts = NULL;
    size_t len = 0;
    pfc_code code = pfc_run_split(run, PFC_WIRE_MAX_BODY_BYTES, &texts, &len, err);

    if (code)
        return code;
    for (size_t i = 0; i < len; i++) {
        pfc_http_answer answer = { 0 };

        req.body = texts[i];
        req.body_len = strlen(texts[i]);
        if (code == PFC_OK)
            code = pfc_http_send(http, &req, &answer, err);
        if (code == PFC_OK)
            code = pfc_http_check(http, &answer, err);
        pfc_http_answer_clear(&answer);
        free(texts[i]);
    }
    free(texts);
    return code;
}

pfc_code pfc_spool_upload(pfc_spool *spool, pfc_http *http, pfc_spool_report *report, pfc_err *err)
{
    names docs = { 0 };
    pfc_err fault = { 0 };
    pfc_code code;

    *report = (pfc_spool_report){ 0 };
    code = list(spool, &docs, NULL, &fault);
    for (size_t i = 0; i < docs.len && code == PFC_OK; i++)
        code = upload_one(spool, http, docs.items[i], report, &fault);
    report->waiting = docs.len - report->uploaded - report->rejected;
    names_clear(&docs);
    if (code && err)
        *err = fault;
    return code;
}
