/* A walk over a tree in the order of names, with a digest of each file. */
#include "runner/sandbox/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/hash.h"

#define READ_BYTES         ((size_t)256 * 1024)
#define MAX_MANIFEST_BYTES ((size_t)256 << 20)

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void to_hex(const unsigned char *digest, char out[PFC_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < 32; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[64] = '\0';
}

/* O_NOFOLLOW and O_NONBLOCK: the path may have become a link or a pipe since it was looked at. */
static bool hash_file(const char *path, EVP_MD_CTX *md, unsigned char *chunk,
                      char out[PFC_SHA256_HEX])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t got = -1;
    bool good = fd >= 0 && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1;

    while (good && (got = read(fd, chunk, READ_BYTES)) > 0)
        good = EVP_DigestUpdate(md, chunk, (size_t)got) == 1;
    good = good && got == 0 && EVP_DigestFinal_ex(md, digest, NULL) == 1;
    if (fd >= 0)
        close(fd);
    if (good)
        to_hex(digest, out);
    return good;
}

static bool hash_link(const char *path, char out[PFC_SHA256_HEX])
{
    char target[PFC_PATH_MAX];
    const ssize_t len = readlink(path, target, sizeof(target));

    if (len < 0)
        return false;
    pfc_sha256_hex(target, (size_t)len, out);
    return true;
}

static void put_path(pfc_buf *out, const char *path)
{
    for (; *path; path++) {
        if (*path == '\n')
            pfc_buf_puts(out, "\\n");
        else if (*path == '\\')
            pfc_buf_puts(out, "\\\\");
        else
            pfc_buf_append(out, path, 1);
    }
}

typedef struct walk {
    FTS *fts;
    EVP_MD_CTX *md;
    unsigned char *chunk;
    size_t root_len;
    const char *path; /* of the last line's file */
} walk;

/* The next file as one line, without its end; false at the end or on an error (errno, 0 at the
 * end). */
static bool next_line(walk *w, pfc_buf *line)
{
    char hex[PFC_SHA256_HEX];
    FTSENT *entry;

    while (errno = 0, (entry = fts_read(w->fts)) != NULL) {
        bool good = true;

        if (entry->fts_info == FTS_F)
            good = hash_file(entry->fts_accpath, w->md, w->chunk, hex);
        else if (entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE)
            good = hash_link(entry->fts_accpath, hex);
        else if (entry->fts_info == FTS_DEFAULT) /* a socket, a pipe, a device */
            pfc_sha256_hex("", 0, hex);
        else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
                 entry->fts_info == FTS_NS)
            good = (errno = entry->fts_errno, false);
        else
            continue;
        if (!good) {
            errno = errno ? errno : EIO;
            return false;
        }
        w->path = entry->fts_accpath;
        line->len = 0;
        pfc_buf_printf(line, "%s %o ", hex, (unsigned)entry->fts_statp->st_mode);
        put_path(line, entry->fts_path + w->root_len);
        return true;
    }
    return false;
}

static pfc_code walk_open(const char *tree, walk *w, pfc_err *err)
{
    char *paths[2] = { pfc_strdup(tree), NULL };

    /* FTS_NOCHDIR: the working directory is the process's, not this thread's. */
    w->fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, by_name);
    free(paths[0]);
    if (!w->fts)
        return pfc_err_set(err, PFC_EIO, "read %s: %s", tree, strerror(errno));
    w->md = EVP_MD_CTX_new();
    w->chunk = pfc_alloc(READ_BYTES);
    w->root_len = strlen(tree) + 1;
    return PFC_OK;
}

static void walk_close(walk *w)
{
    if (w->fts)
        fts_close(w->fts);
    EVP_MD_CTX_free(w->md);
    free(w->chunk);
}

pfc_code pfc_manifest_write(const char *tree, const char *path, pfc_err *err)
{
    walk w = { 0 };
    pfc_buf all;
    pfc_buf line;
    size_t files = 0;
    pfc_code code = walk_open(tree, &w, err);

    pfc_buf_init(&all, MAX_MANIFEST_BYTES);
    pfc_buf_init(&line, 2 * PFC_PATH_MAX + 256);
    while (!code && next_line(&w, &line)) {
        pfc_buf_append(&all, pfc_buf_text(&line), line.len);
        pfc_buf_puts(&all, "\n");
        if (++files > PFC_MANIFEST_MAX_FILES)
            code = pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %d files", tree,
                               PFC_MANIFEST_MAX_FILES);
    }
    if (!code && errno)
        code = pfc_err_set(err, PFC_EIO, "read %s: %s", tree, strerror(errno));
    if (!code)
        code = pfc_fs_write_atomic(path, pfc_buf_text(&all), all.len, 0600, err);
    pfc_buf_clear(&all);
    pfc_buf_clear(&line);
    walk_close(&w);
    return code;
}

static size_t mode_end(const char *line)
{
    const size_t digest = strcspn(line, " ");

    return digest + (line[digest] ? 1 + strcspn(line + digest + 1, " ") : 0);
}

/* True when both lines are of the same path. */
static bool same_path(const char *listed, size_t listed_len, const pfc_buf *line)
{
    const char *text = pfc_buf_text(line);
    const size_t a = mode_end(listed), b = mode_end(text);

    return listed_len > a && listed_len - a == line->len - b &&
           memcmp(listed + a, text + b, listed_len - a) == 0;
}

/* Both are sorted in the same order. A file that is not listed came later, from a measurement: it
 * is removed, so that the next one finds the tree as the build left it. A listed line that is not
 * met before the end has changed or is gone. */
pfc_code pfc_manifest_check(const char *tree, const char *path, pfc_err *err)
{
    walk w = { 0 };
    pfc_buf line;
    char *text = NULL;
    char *at;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, MAX_MANIFEST_BYTES, &text, &len, err);

    if (code)
        return code;
    code = walk_open(tree, &w, err);
    pfc_buf_init(&line, 2 * PFC_PATH_MAX + 256);
    at = text;
    while (!code && next_line(&w, &line)) {
        const size_t listed = strcspn(at, "\n");

        if (listed == line.len && memcmp(at, pfc_buf_text(&line), listed) == 0)
            at += listed + (at[listed] == '\n');
        else if (same_path(at, listed, &line))
            break;
        else if (unlink(w.path) != 0)
            code = pfc_err_set(err, PFC_EIO, "remove %.300s: %s", w.path, strerror(errno));
    }
    if (!code && *at) {
        const char *name = at + strcspn(at, " ");

        name += *name == ' ';
        name += strcspn(name, " ");
        code = pfc_err_set(err, PFC_ECONFLICT, "changed since the build:%.*s",
                           (int)strcspn(name, "\n"), name);
    }
    pfc_buf_clear(&line);
    walk_close(&w);
    free(text);
    return code;
}
