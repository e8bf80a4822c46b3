#include "runner/slurm/holdings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/log.h"

#define HELD_FILE "held.json"
#define MAX_HELD  (4 << 20) /* a job with its perfci.yaml */

static void forget_job(pfc_holding *h)
{
    pfc_job_clear(&h->job);
    free(h->document);
    free(h->secret);
    free(h->features);
    free(h->gres);
    free(h->machine_class);
    *h = (pfc_holding){ .dir = h->dir, .question = h->question };
}

/* Members that follow from the job. */
static void complete(pfc_holding *h)
{
    const size_t len = strcspn(h->job.lease, "-");
    char hash[PFC_SHA256_HEX];

    h->held = true;
    h->secret = pfc_strndup(h->job.lease, len);
    /* The name has lease and service, because a job that is leased again, or one of another
     * service, needs another batch job. */
    pfc_sha256_hex(h->secret, len, hash);
    (void)snprintf(h->name, sizeof(h->name), "perfci-%lld-%.12s", (long long)h->job.id, hash);
}

pfc_code pfc_holding_keep(pfc_holding *h, char *document, const pfc_slurm_kind *kind, pfc_err *err)
{
    json_t *doc;
    char *path = pfc_fs_join(h->dir, HELD_FILE), *text;
    pfc_code code;

    h->document = document;
    h->features = pfc_strdup(kind->features);
    h->gres = pfc_strdup(kind->gres);
    h->machine_class = pfc_strdup(kind->machine_class);
    complete(h);
    doc = json_pack("{s:s, s:s, s:s, s:s}", "document", document, "features", kind->features,
                    "gres", kind->gres, "machine_class", kind->machine_class);
    text = json_dumps(doc, JSON_COMPACT);
    code = text ? pfc_fs_write_atomic(path, text, strlen(text), 0600, err)
                : pfc_err_set(err, PFC_EINVAL, "%s: not text", path);
    json_decref(doc);
    free(text);
    free(path);
    return code;
}

void pfc_holding_drop(pfc_holding *h)
{
    char *path = pfc_fs_join(h->dir, HELD_FILE);
    pfc_err err = { 0 };

    if (pfc_lease_new(h->dir, &h->question, &err) != PFC_OK)
        pfc_log(PFC_WARN, "job_file_unavailable", "reason", err.msg);
    (void)unlink(path);
    free(path);
    forget_job(h);
}

static pfc_code read_text(const json_t *doc, const char *name, char **out, pfc_err *err)
{
    return pfc_json_string(doc, NULL, name, true, MAX_HELD, out, err);
}

static pfc_code read_held(pfc_holding *h, const char *path, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    json_t *doc = NULL, *job = NULL;
    pfc_code code = pfc_fs_read(path, MAX_HELD, &text, &len, err);

    if (!code)
        code = pfc_json_parse(text, len, &doc, err);
    if (!code)
        code = read_text(doc, "document", &h->document, err);
    if (!code)
        code = read_text(doc, "features", &h->features, err);
    if (!code)
        code = read_text(doc, "gres", &h->gres, err);
    if (!code)
        code = read_text(doc, "machine_class", &h->machine_class, err);
    if (!code)
        code = pfc_json_parse(h->document, strlen(h->document), &job, err);
    if (!code)
        code = pfc_job_from_json(job, &h->job, err);
    if (!code)
        complete(h);
    json_decref(job);
    json_decref(doc);
    free(text);
    return code;
}

static pfc_holding *add(pfc_holdings *all)
{
    pfc_holding *h = pfc_calloc(1, sizeof(*h));
    char number[24];

    (void)snprintf(number, sizeof(number), "%zu", all->len);
    h->dir = pfc_fs_join(all->dir, number);
    all->items = pfc_grow(all->items, all->len, &all->cap, sizeof(*all->items));
    all->items[all->len++] = h;
    return h;
}

pfc_code pfc_holdings_open(const char *dir, pfc_holdings *out, pfc_err *err)
{
    pfc_code code;

    *out = (pfc_holdings){ .dir = pfc_fs_join(dir, "slurm") };
    code = pfc_fs_mkdirs(out->dir, 0700, err);
    while (!code) {
        pfc_holding *h = add(out);
        char *path = pfc_fs_join(h->dir, HELD_FILE);
        pfc_err own = { 0 };
        const bool there = pfc_fs_is_dir(h->dir);

        if (!there) { /* the first that does not exist was the last */
            free(h->dir);
            free(h);
            out->len--;
        } else if (pfc_fs_exists(path) && read_held(h, path, &own) != PFC_OK) {
            pfc_log(PFC_WARN, "held_job_not_readable", "path", path, "reason", own.msg);
            pfc_holding_drop(h);
        } else if (h->held) {
            pfc_log(PFC_INFO, "held_job_found", "job", h->job.id, "batch_job", h->name);
        }
        free(path);
        if (!there)
            break;
    }
    return code;
}

void pfc_holdings_close(pfc_holdings *all)
{
    for (size_t i = 0; i < all->len; i++) {
        forget_job(all->items[i]);
        free(all->items[i]->dir);
        free(all->items[i]);
    }
    free(all->items);
    free(all->dir);
    *all = (pfc_holdings){ 0 };
}

pfc_code pfc_holdings_spare(pfc_holdings *all, pfc_http *http, pfc_holding **out, pfc_err *err)
{
    pfc_holding *h = NULL;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < all->len && !h; i++)
        if (!all->items[i]->held)
            h = all->items[i];
    if (!h)
        h = add(all);
    if (!h->question.lease[0]) {
        code = pfc_fs_mkdirs(h->dir, 0700, err);
        if (!code) /* a verdict is never kept here: this reads or makes the lease's name */
            code = pfc_job_settle(http, h->dir, NULL, &h->question, err);
    }
    *out = h;
    return code;
}

size_t pfc_holdings_held(const pfc_holdings *all)
{
    size_t n = 0;

    for (size_t i = 0; i < all->len; i++)
        n += all->items[i]->held;
    return n;
}

size_t pfc_holdings_of_kind(const pfc_holdings *all, const pfc_slurm_kind *kind)
{
    size_t n = 0;

    for (size_t i = 0; i < all->len; i++) {
        const pfc_holding *h = all->items[i];

        n += h->held && !h->over_ns && strcmp(h->features, kind->features) == 0 &&
             strcmp(h->gres, kind->gres) == 0;
    }
    return n;
}
