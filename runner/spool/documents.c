/*
 * Names of documents: SECONDS.NANOSECONDS-RUNID-PART.DIGEST.json, so that the order by name is the
 * order of arrival. A clock step changes that order, which is harmless. The digest is the start of
 * the content's SHA-256: a document that the disk damaged is not sent as a result. Names from
 * earlier versions have no digest. "PART+" means that another part follows. Parts are written and
 * uploaded in order, so a run is complete as long as its last part is in the spool. The runs of a
 * session are parts under the session's id; the session's own document follows them as "PARTs".
 * Traces of a run follow it as "PARTt": a line of JSON, then the trace.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/hash.h"
#include "runner/spool/spool_priv.h"

void pfc_spool_names_clear(pfc_spool_names *list)
{
    for (size_t i = 0; i < list->len; i++)
        free(list->items[i]);
    free(list->items);
    *list = (pfc_spool_names){ 0 };
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_document(const char *name)
{
    size_t len = strlen(name);

    return len > strlen(SPOOL_SUFFIX) &&
           strcmp(name + len - strlen(SPOOL_SUFFIX), SPOOL_SUFFIX) == 0;
}

pfc_code pfc_spool_list(const char *dir, pfc_spool_names *docs, pfc_spool_names *unfinished,
                        pfc_err *err)
{
    DIR *folder = opendir(dir);
    const struct dirent *entry;

    if (!folder)
        return pfc_err_set(err, PFC_EIO, "spool %s: %s", dir, strerror(errno));
    while ((entry = readdir(folder)) != NULL) {
        pfc_spool_names *to = is_document(entry->d_name) ? docs : unfinished;
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

size_t pfc_spool_run_len(const char *name)
{
    const char *part = strrchr(name, '-');

    return part ? (size_t)(part - name) : strlen(name);
}

bool pfc_spool_same_run(const char *a, const char *b)
{
    return pfc_spool_run_len(a) == pfc_spool_run_len(b) && memcmp(a, b, pfc_spool_run_len(a)) == 0;
}

void pfc_spool_digest(const char *text, size_t len, char out[PFC_SPOOL_DIGEST_LEN + 1])
{
    char hex[PFC_SHA256_HEX];

    pfc_sha256_hex(text, len, hex);
    memcpy(out, hex, PFC_SPOOL_DIGEST_LEN);
    out[PFC_SPOOL_DIGEST_LEN] = '\0';
}

bool pfc_spool_is_whole(const char *name, const char *text, size_t len)
{
    const size_t end = strlen(name) - strlen(SPOOL_SUFFIX);
    char digest[PFC_SPOOL_DIGEST_LEN + 1];

    if (end < PFC_SPOOL_DIGEST_LEN + 1 || name[end - PFC_SPOOL_DIGEST_LEN - 1] != '.' ||
        strspn(name + end - PFC_SPOOL_DIGEST_LEN, "0123456789abcdef") < PFC_SPOOL_DIGEST_LEN)
        return true;
    pfc_spool_digest(text, len, digest);
    return memcmp(name + end - PFC_SPOOL_DIGEST_LEN, digest, PFC_SPOOL_DIGEST_LEN) == 0;
}

char *pfc_spool_rename_for(const char *name, const char *text, size_t len)
{
    const size_t run = pfc_spool_run_len(name);
    const size_t part = strcspn(name + run, ".");
    char digest[PFC_SPOOL_DIGEST_LEN + 1];

    pfc_spool_digest(text, len, digest);
    return pfc_format("%.*s.%s" SPOOL_SUFFIX, (int)(run + part), name, digest);
}

bool pfc_spool_is_session(const char *name)
{
    const char *part = strrchr(name, '-');

    return part && part[1 + strspn(part + 1, "0123456789")] == PFC_SPOOL_SESSION[0];
}

bool pfc_spool_is_trace(const char *name)
{
    const char *part = strrchr(name, '-');

    if (!part)
        return false;
    part += 1 + strspn(part + 1, "0123456789");
    return part[part[0] == '+'] == PFC_SPOOL_TRACE[0];
}

char *pfc_spool_trace_text(const char *run_id, const pfc_run_trace *trace, size_t *len)
{
    json_t *head = json_pack("{s:s, s:s}", "run", run_id, "benchmark", trace->benchmark);
    char *line = json_dumps(head, JSON_COMPACT);
    const size_t line_len = strlen(line);
    char *text = pfc_alloc(line_len + 1 + trace->len);

    memcpy(text, line, line_len);
    text[line_len] = '\n';
    memcpy(text + line_len + 1, trace->bytes, trace->len);
    *len = line_len + 1 + trace->len;
    free(line);
    json_decref(head);
    return text;
}

void pfc_spool_texts_free(char **texts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(texts[i]);
    free(texts);
}
