/*
 * Uploaded documents stay in sent/ for a day, so that they can be sent again after the server's
 * database was restored from a backup. A file's time is that of the acknowledgement. The folder is
 * limited by age, number and bytes. When the disk is full it is emptied first, because the server
 * has these documents.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/spool/spool_priv.h"

#define SWEEP_NS (600 * PFC_NS_PER_S)
#define AGAIN    "again" /* file in sent/: send all of them again */

pfc_code pfc_spool_keep(const pfc_spool *spool, const char *name, pfc_err *err)
{
    char *from = pfc_fs_join(spool->dir, name), *to = pfc_fs_join(spool->sent, name);
    pfc_code code = PFC_OK;

    /* Not synced: after a crash it is in one of the two folders, and the server ignores a second
     * upload. */
    if (utimensat(AT_FDCWD, from, NULL, 0) != 0 || rename(from, to) != 0) {
        pfc_log(PFC_WARN, "sent_copy_not_kept", "document", from, "reason", strerror(errno));
        if (unlink(from) != 0)
            code = pfc_err_set(err, PFC_EIO, "remove %s: %s", from, strerror(errno));
    }
    free(from);
    free(to);
    return code;
}

typedef struct kept {
    char *name;
    struct timespec at;
    uint64_t bytes;
} kept;

static int by_time(const void *a, const void *b)
{
    const kept *x = a, *y = b;

    if (x->at.tv_sec != y->at.tv_sec)
        return x->at.tv_sec < y->at.tv_sec ? -1 : 1;
    if (x->at.tv_nsec != y->at.tv_nsec)
        return x->at.tv_nsec < y->at.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void remove_kept(const pfc_spool *spool, const char *name)
{
    char *path = pfc_fs_join(spool->sent, name);

    (void)unlink(path);
    free(path);
}

/* Removes the oldest until the rest is within all three limits; a run is removed as a whole. */
static size_t trim(const pfc_spool *spool, int64_t oldest, size_t most, uint64_t most_bytes)
{
    pfc_spool_names docs = { 0 };
    kept *all;
    uint64_t bytes;
    size_t gone = 0;

    if (pfc_spool_list(spool->sent, &docs, NULL, NULL) != PFC_OK)
        return 0;
    all = pfc_calloc(docs.len + 1, sizeof(*all));
    bytes = docs.bytes;
    for (size_t i = 0; i < docs.len; i++) {
        char *path = pfc_fs_join(spool->sent, docs.items[i]);
        struct stat st = { 0 };

        if (stat(path, &st) == 0)
            all[i] = (kept){ .at = st.st_mtim, .bytes = (uint64_t)st.st_size };
        all[i].name = docs.items[i];
        free(path);
    }
    if (docs.len > 1)
        qsort(all, docs.len, sizeof(*all), by_time);
    while (gone < docs.len &&
           (docs.len - gone > most || bytes > most_bytes || all[gone].at.tv_sec < oldest ||
            (gone > 0 && pfc_spool_same_run(all[gone].name, all[gone - 1].name)))) {
        remove_kept(spool, all[gone].name);
        bytes -= PFC_MIN(bytes, all[gone].bytes);
        gone++;
    }
    free(all);
    pfc_spool_names_clear(&docs);
    return gone;
}

void pfc_spool_sweep(pfc_spool *spool, bool now)
{
    const int64_t ns = pfc_clock_ns();
    struct timespec at;

    if (!now && spool->swept_ns && ns - spool->swept_ns < SWEEP_NS)
        return;
    spool->swept_ns = ns;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    (void)trim(spool, (int64_t)at.tv_sec - PFC_SPOOL_SENT_S, PFC_SPOOL_SENT_DOCUMENTS,
               PFC_SPOOL_SENT_BYTES);
    pfc_spool_tokens_sweep(spool);
}

bool pfc_spool_make_room(const pfc_spool *spool)
{
    pfc_spool_names docs = { 0 };
    size_t len, gone;

    if (pfc_spool_list(spool->sent, &docs, NULL, NULL) != PFC_OK)
        return false;
    len = docs.len;
    pfc_spool_names_clear(&docs);
    gone = trim(spool, INT64_MIN, len / 2, UINT64_MAX);
    if (gone)
        pfc_log(PFC_WARN, "sent_copies_removed", "documents", gone);
    return gone > 0;
}

pfc_code pfc_spool_take_back(const pfc_spool *spool, pfc_err *err)
{
    char *mark = pfc_fs_join(spool->sent, AGAIN);
    pfc_spool_names docs = { 0 };
    pfc_code code = PFC_OK;
    size_t moved = 0;

    if (!pfc_fs_exists(mark))
        goto done;
    code = pfc_spool_list(spool->sent, &docs, NULL, err);
    for (; moved < docs.len && !code; moved++) {
        char *from = pfc_fs_join(spool->sent, docs.items[moved]);
        char *to = pfc_fs_join(spool->dir, docs.items[moved]);

        if (rename(from, to) != 0)
            code = pfc_err_set(err, PFC_EIO, "move %s to %s: %s", from, to, strerror(errno));
        free(from);
        free(to);
    }
    /* Last: after a kill, the next process continues. */
    if (!code && unlink(mark) != 0)
        code = pfc_err_set(err, PFC_EIO, "remove %s: %s", mark, strerror(errno));
    if (moved)
        pfc_log(PFC_INFO, "results_sent_again", "documents", moved);

done:
    pfc_spool_names_clear(&docs);
    free(mark);
    return code;
}

pfc_code pfc_spool_resend(const char *dir, pfc_spool_counts *counts, pfc_err *err)
{
    char *sent = pfc_fs_join(dir, SENT_FOLDER), *rejected = pfc_fs_join(dir, REJECTED_FOLDER);
    char *mark = pfc_fs_join(sent, AGAIN);
    const struct {
        const char *folder;
        size_t *to;
    } counted[] = { { sent, &counts->again },
                    { dir, &counts->waiting },
                    { rejected, &counts->rejected } };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(counted) && !code; i++) {
        pfc_spool_names docs = { 0 };

        code = pfc_spool_list(counted[i].folder, &docs, NULL, err);
        *counted[i].to = docs.len;
        pfc_spool_names_clear(&docs);
    }
    if (!code && counts->again)
        code = pfc_fs_write_atomic(mark, "", 0, 0600, err);
    free(sent);
    free(rejected);
    free(mark);
    return code;
}
