/* A webhook's payload: limits, and the reader of its provider. */
#include <stdlib.h>

#include "core/forge/webhook_priv.h"
#include "core/wire/wire.h"

enum { MAX_NESTED = 500000, MAX_VALUES = 2000000 };

pfc_code pfc_webhook_parse(pfc_forge_kind kind, const char *event, const void *body, size_t len,
                           pfc_webhook *out, pfc_err *err)
{
    static const pfc_json_limits limits = { MAX_NESTED, MAX_VALUES };
    json_t *root = NULL;
    payload p = { .forge = kind, .err = err };

    *out = (pfc_webhook){ 0 };
    if (!event || !event[0])
        return pfc_err_set(err, PFC_EINVAL, "%s webhook: expected a header that names the event",
                           pfc_forge_kind_name(kind));
    if (len > PFC_WEBHOOK_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "%s webhook: expected at most %u bytes, got %zu",
                           pfc_forge_kind_name(kind), PFC_WEBHOOK_MAX_BYTES, len);
    p.code = pfc_json_parse_within(body, len, &limits, &root, err);
    p.root = root;
    if (!p.code && !json_is_object(root))
        p.code = pfc_err_set(err, PFC_EINVAL, "expected a JSON object");
    if (!p.code && kind == PFC_FORGE_GITLAB)
        payload_read_gitlab(&p, event, out);
    else if (!p.code)
        payload_read_github(&p, event, out);
    json_decref(root);
    return p.code ? pfc_err_wrap(err, "%s webhook \"%.40s\"", pfc_forge_kind_name(kind), event)
                  : PFC_OK;
}

void pfc_webhook_clear(pfc_webhook *webhook)
{
    free(webhook->why);
    free(webhook->repo);
    free(webhook->repo_url);
    free(webhook->sender);
    free(webhook->branch);
    free(webhook->before);
    free(webhook->after);
    free(webhook->commit);
    free(webhook->action);
    pfc_forge_pull_clear(&webhook->pull);
    free(webhook->comment_author);
    free(webhook->comment_body);
    *webhook = (pfc_webhook){ 0 };
}
