/*
 * Publishing a store: see publish.h.
 */
#include "cli/store/publish.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 5, FAULTS_NAMED = 20, LINE = 20000 };

static pfc_code publish(const pfc_store_publishing *w, pfc_err *err)
{
    pfc_buf page;
    pfc_code code;

    pfc_buf_init(&page, PFC_STORE_MAX_FILE_BYTES);
    code = pfc_store_page(w->history, w->project, &page, err);
    if (!code)
        code = pfc_store_put(w->store, PFC_STORE_PAGE, pfc_buf_text(&page), page.len, true, err);
    if (!code)
        code = pfc_store_publish(w->store, w->message, err);
    pfc_buf_clear(&page);
    return code;
}

/* Joins the files of another machine that pushed meanwhile, and reads both. */
static pfc_code join(const pfc_store_publishing *w, pfc_err *err)
{
    pfc_commit_id *line = pfc_calloc(w->line_len + 1, sizeof(*line));
    pfc_code code = pfc_store_pull(w->store, w->remote, err);

    if (w->line_len)
        memcpy(line, w->line, w->line_len * sizeof(*line));
    pfc_store_history_clear(w->history);
    if (!code)
        code = pfc_store_history_load(w->store, w->history, err);
    if (code) {
        free(line);
        return code;
    }
    return pfc_store_history_judge(w->history, line, w->line_len, err);
}

pfc_code pfc_store_publish_all(const pfc_store_publishing *w, bool *sent, pfc_err *why,
                               pfc_err *err)
{
    pfc_code code = publish(w, err);
    pfc_code pushed = PFC_OK;

    for (size_t i = 0; i < TRIES && !code && w->remote; i++) {
        *why = (pfc_err){ 0 };
        pushed = pfc_store_push(w->store, w->remote, why);
        if (pushed != PFC_ECONFLICT || i + 1 == TRIES)
            break;
        pushed = join(w, why);
        if (pushed)
            break;
        code = publish(w, err);
    }
    *sent = !pushed;
    return code;
}

pfc_code pfc_store_read_all(const pfc_cli *cli, pfc_store *store, pfc_repo *repo,
                            const char *branch, pfc_store_history *h, pfc_commit_id **line,
                            size_t *len, pfc_err *err)
{
    pfc_commit_id tip, *copy;
    pfc_code code = pfc_store_history_load(store, h, err);

    if (!code)
        pfc_store_say_faults(cli, store, h);
    if (!code)
        code = pfc_repo_resolve(repo, branch, &tip, err);
    if (!code)
        code = pfc_repo_history(repo, &tip, LINE, line, len, err);
    if (code)
        return code;
    copy = pfc_calloc(*len + 1, sizeof(*copy));
    memcpy(copy, *line, *len * sizeof(*copy));
    return pfc_store_history_judge(h, copy, *len, err);
}

void pfc_store_say_faults(const pfc_cli *cli, const pfc_store *store, const pfc_store_history *h)
{
    const size_t n = json_array_size(h->faults);

    for (size_t i = 0; i < PFC_MIN(n, (size_t)FAULTS_NAMED); i++) {
        const json_t *fault = json_array_get(h->faults, i);

        pfc_cli_warn(cli, "the store %.200s: %s cannot be read and is left out: %s",
                     pfc_store_name(store), json_string_value(json_object_get(fault, "path")),
                     json_string_value(json_object_get(fault, "reason")));
    }
    if (n > FAULTS_NAMED)
        pfc_cli_warn(cli, "the store %.200s: %zu further files cannot be read",
                     pfc_store_name(store), n - FAULTS_NAMED);
}
