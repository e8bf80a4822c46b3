/*
 * Results that were measured elsewhere, into a store: at their commits, in the order of git.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/results/upload.h"
#include "cli/store/publish.h"

struct pfc_upload_store {
    pfc_store *store;
    pfc_store_history history;
};

pfc_code pfc_upload_store_open(pfc_upload *up, pfc_err *err)
{
    struct pfc_upload_store *s;
    pfc_code code;

    if (!up->repo)
        return pfc_err_set(err, PFC_EINVAL,
                           "--store: expected to be in the repository of the commits");
    s = pfc_alloc(sizeof(*s));
    up->store = s;
    code = pfc_store_open(up->opts->store, up->repo, &s->store, err);
    if (!code && up->opts->remote)
        code = pfc_store_pull(s->store, up->opts->remote, err);
    return code;
}

void pfc_upload_store_close(pfc_upload *up)
{
    if (!up->store)
        return;
    pfc_store_history_clear(&up->store->history);
    pfc_store_close(up->store->store);
    free(up->store);
    up->store = NULL;
}

pfc_code pfc_upload_store_run(pfc_upload *up, const pfc_run *run, bool *repeated, pfc_err *err)
{
    pfc_commit_id id;
    pfc_code code = pfc_repo_resolve(up->repo, run->commit, &id, err);

    /* Without its commit a result has no place in the history. */
    return code ? code : pfc_store_put_run(up->store->store, run, repeated, err);
}

static pfc_code publish(pfc_upload *up, const pfc_commit_id *line, size_t len, pfc_err *err)
{
    struct pfc_upload_store *s = up->store;
    char *message = pfc_format("perfci push: %zu run%s", up->stored, up->stored == 1 ? "" : "s");
    const pfc_store_publishing what = { .store = s->store,
                                        .history = &s->history,
                                        .line = line,
                                        .line_len = len,
                                        .project = up->project,
                                        .message = message,
                                        .remote = up->opts->remote };
    pfc_err why = { 0 };
    bool sent = true;
    pfc_code code = pfc_store_publish_all(&what, &sent, &why, err);

    free(message);
    if (!code && !sent) {
        *err = why;
        code = why.code;
    }
    return code;
}

pfc_code pfc_upload_store_finish(pfc_upload *up, pfc_err *err)
{
    struct pfc_upload_store *s = up->store;
    const char *branch = up->conf.branch ? up->conf.branch : up->branch ? up->branch : "HEAD";
    pfc_commit_id *line = NULL;
    json_t *found = NULL;
    size_t len = 0;
    pfc_code code =
        pfc_store_read_all(up->cli, s->store, up->repo, branch, &s->history, &line, &len, err);

    if (!code) {
        found = pfc_store_alerts_new(&s->history, NULL);
        code = pfc_store_put_alerts(s->store, found, err);
    }
    if (!code && json_array_size(found))
        pfc_cli_note(up->cli, "%zu regression%s on record now", json_array_size(found),
                     json_array_size(found) == 1 ? " is" : "s are");
    if (!code)
        code = publish(up, line, len, err);
    json_decref(found);
    free(line);
    return code;
}
