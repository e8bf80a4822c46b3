/*
 * Puts documents into the spool's folder: all parts of a run or session, or none of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "runner/spool/spool_priv.h"

#define PROBE_BYTES (64 * 1024)
#define BACKOFF_S   0.5
#define AGES        100 /* documents whose age is looked at, the oldest runs first */

static bool is_followed(const char *name)
{
    const char *part = strrchr(name, '-');

    return part && part[1 + strspn(part + 1, "0123456789")] == '+';
}

/* Removes runs whose writer was killed between two parts: the server would store the first parts as
 * a complete run. The server gives the run's job to a runner again. */
static void remove_halves(const pfc_spool *spool, const pfc_spool_names *docs)
{
    for (size_t from = 0, to; from < docs->len; from = to) {
        for (to = from + 1;
             to < docs->len && pfc_spool_same_run(docs->items[from], docs->items[to]);)
            to++;
        for (size_t i = from; i < to && is_followed(docs->items[to - 1]); i++) {
            char *path = pfc_fs_join(spool->dir, docs->items[i]);

            pfc_log(PFC_WARN, "incomplete_run_removed", "path", path);
            (void)unlink(path);
            free(path);
        }
    }
}

static void remove_unfinished(const pfc_spool *spool, const pfc_spool_names *unfinished)
{
    for (size_t i = 0; i < unfinished->len; i++) {
        char *path = pfc_fs_join(spool->dir, unfinished->items[i]);

        if (unlink(path) != 0)
            pfc_log(PFC_WARN, "unfinished_file_left", "path", path);
        free(path);
    }
}

pfc_code pfc_spool_open(const char *dir, pfc_spool **out, pfc_err *err)
{
    pfc_spool *spool = pfc_calloc(1, sizeof(*spool));
    pfc_spool_names docs = { 0 };
    pfc_spool_names unfinished = { 0 };
    pfc_code code;

    spool->dir = pfc_strdup(dir);
    spool->rejected = pfc_fs_join(dir, REJECTED_FOLDER);
    spool->sent = pfc_fs_join(dir, SENT_FOLDER);
    spool->tokens = pfc_fs_join(dir, TOKENS_FOLDER);
    spool->backoff_s = BACKOFF_S;
    code = pfc_fs_mkdirs(spool->rejected, 0700, err);
    if (code == PFC_OK)
        code = pfc_fs_mkdirs(spool->sent, 0700, err);
    if (code == PFC_OK)
        code = pfc_fs_mkdirs(spool->tokens, 0700, err);
    if (code == PFC_OK)
        code =
            pfc_spool_take_back(spool, err); /* before remove_halves: a run can be in two folders */
    if (code == PFC_OK)
        code = pfc_spool_list(spool->dir, &docs, &unfinished, err);
    if (code == PFC_OK) {
        remove_unfinished(spool, &unfinished);
        remove_halves(spool, &docs);
        pfc_spool_sweep(spool, true);
    }
    pfc_spool_names_clear(&docs);
    pfc_spool_names_clear(&unfinished);
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
    free(spool->sent);
    free(spool->tokens);
    free(spool->token);
    pfc_spool_troubles_clear(spool);
    free(spool);
}

size_t pfc_spool_waiting(const pfc_spool *spool)
{
    pfc_spool_names docs = { 0 };
    size_t len;

    if (pfc_spool_list(spool->dir, &docs, NULL, NULL) != PFC_OK)
        return 0;
    len = docs.len;
    pfc_spool_names_clear(&docs);
    return len;
}

/* The clock can step backward, so a file with a future time has no age. */
static double age_of(const char *dir, const char *name)
{
    char *path = pfc_fs_join(dir, name);
    struct timespec now = { 0 };
    struct stat file;
    double age = 0;

    if (stat(path, &file) == 0 && clock_gettime(CLOCK_REALTIME, &now) == 0)
        age = (double)(now.tv_sec - file.st_mtim.tv_sec);
    free(path);
    return age > 0 ? age : 0;
}

void pfc_spool_look_at_all(const pfc_spool *spool, pfc_spool_state *out)
{
    pfc_spool_names docs = { 0 };
    struct statvfs disk;

    *out = (pfc_spool_state){ 0 };
    if (pfc_spool_list(spool->dir, &docs, NULL, NULL) == PFC_OK) {
        out->documents = docs.len;
        out->bytes = docs.bytes;
    }
    /* Names are in the order of the runs; a document that was put off keeps its name. */
    for (size_t i = 0; i < PFC_MIN(docs.len, (size_t)AGES); i++)
        out->oldest_s = PFC_MAX(out->oldest_s, age_of(spool->dir, docs.items[i]));
    pfc_spool_names_clear(&docs);
    if (statvfs(spool->dir, &disk) == 0)
        out->disk_free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
}

static pfc_code check_limits(const pfc_spool *spool, pfc_err *err)
{
    pfc_spool_names docs = { 0 };
    pfc_code code = pfc_spool_list(spool->dir, &docs, NULL, err);

    if (code == PFC_OK && docs.len >= PFC_SPOOL_MAX_DOCUMENTS)
        code = pfc_err_set(err, PFC_ETOOBIG,
                           "spool %s is full: %zu documents wait for the server, at most %d",
                           spool->dir, docs.len, PFC_SPOOL_MAX_DOCUMENTS);
    else if (code == PFC_OK && docs.bytes >= PFC_SPOOL_MAX_BYTES)
        code = pfc_err_set(err, PFC_ETOOBIG,
                           "spool %s is full: %llu bytes wait for the server, at most %llu",
                           spool->dir, (unsigned long long)docs.bytes, PFC_SPOOL_MAX_BYTES);
    pfc_spool_names_clear(&docs);
    return code;
}

static pfc_code say_full(const pfc_spool *spool, pfc_err *err)
{
    return pfc_err_wrap(err,
                        "the spool cannot store a result (%zu waiting documents are unchanged)",
                        pfc_spool_waiting(spool));
}

pfc_code pfc_spool_probe(pfc_spool *spool, pfc_err *err)
{
    char *path = pfc_fs_join(spool->dir, "probe");
    char *bytes = pfc_alloc(PROBE_BYTES);
    pfc_code code = check_limits(spool, err);

    if (code == PFC_OK) {
        do {
            code = pfc_fs_write_atomic(path, bytes, PROBE_BYTES, 0600, err);
            (void)unlink(path); /* exists even if only syncing the folder failed */
        } while (code && pfc_spool_make_room(spool));
        if (code)
            code = say_full(spool, err);
    }
    free(path);
    free(bytes);
    return code;
}

/* One file of a run or a session. */
typedef struct part {
    const char *bytes;
    size_t len;
    const char *kind; /* suffix of its number: "", PFC_SPOOL_SESSION, PFC_SPOOL_TRACE */
} part;

static pfc_code add_parts(const pfc_spool *spool, const char *id, const part *parts, size_t len,
                          pfc_err *err)
{
    char **paths = pfc_calloc(len, sizeof(*paths));
    struct timespec now;
    pfc_code code = pfc_spool_token_write(spool, id, err);
    size_t done = 0;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    for (; done < len && code == PFC_OK; done++) {
        const part *p = &parts[done];
        char digest[PFC_SPOOL_DIGEST_LEN + 1];

        pfc_spool_digest(p->bytes, p->len, digest);
        paths[done] = pfc_format("%s/%012lld.%09ld-%s-%03zu%s%s.%s" SPOOL_SUFFIX, spool->dir,
                                 (long long)now.tv_sec, now.tv_nsec, id, done,
                                 done + 1 < len ? "+" : "", p->kind, digest);
        code = pfc_fs_write_atomic(paths[done], p->bytes, p->len, 0600, err);
    }
    /* All parts or none: the server would store some of the parts as a complete run. */
    for (size_t i = 0; i < done; i++) {
        if (code)
            (void)unlink(paths[i]);
        free(paths[i]);
    }
    free(paths);
    return code;
}

/* `last`: kind of the last text. */
static pfc_code add_texts(pfc_spool *spool, const char *id, const char *last, char **texts,
                          size_t len, const part *more, size_t more_len, pfc_err *err)
{
    part *parts = pfc_calloc(len + more_len, sizeof(*parts));
    pfc_code code;

    for (size_t i = 0; i < len; i++)
        parts[i] = (part){ texts[i], strlen(texts[i]), i + 1 < len ? "" : last };
    for (size_t i = 0; i < more_len; i++)
        parts[len + i] = more[i];
    do
        code = add_parts(spool, id, parts, len + more_len, err);
    while (code && pfc_spool_make_room(spool));
    free(parts);
    return code ? say_full(spool, err) : PFC_OK;
}

pfc_code pfc_spool_add_traced(pfc_spool *spool, const pfc_run *run, const pfc_run_trace *traces,
                              size_t traces_len, pfc_err *err)
{
    part more[PFC_RUN_TRACES_MAX];
    char *files[PFC_RUN_TRACES_MAX];
    char **texts = NULL;
    size_t len = 0, n = 0;
    pfc_code code = check_limits(spool, err);

    if (code == PFC_OK)
        code = pfc_run_split(run, PFC_WIRE_MAX_BODY_BYTES, &texts, &len, err);
    if (code)
        return code;
    for (; n < traces_len && n < PFC_RUN_TRACES_MAX; n++) {
        files[n] = pfc_spool_trace_text(run->id, &traces[n], &more[n].len);
        more[n].bytes = files[n];
        more[n].kind = PFC_SPOOL_TRACE;
    }
    code = add_texts(spool, run->id, "", texts, len, more, n, err);
    for (size_t i = 0; i < n; i++)
        free(files[i]);
    pfc_spool_texts_free(texts, len);
    return code;
}

pfc_code pfc_spool_add(pfc_spool *spool, const pfc_run *run, pfc_err *err)
{
    return pfc_spool_add_traced(spool, run, NULL, 0, err);
}

pfc_code pfc_spool_add_session(pfc_spool *spool, const pfc_session_set *set, pfc_err *err)
{
    char **texts = NULL;
    size_t len = 0;
    pfc_code code = check_limits(spool, err);

    if (code == PFC_OK)
        code = pfc_spool_session_texts(set, &texts, &len, err);
    if (code)
        return code;
    code = add_texts(spool, set->id, PFC_SPOOL_SESSION, texts, len, NULL, 0, err);
    pfc_spool_texts_free(texts, len);
    return code;
}
