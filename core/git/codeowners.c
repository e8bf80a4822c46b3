/* Reads the CODEOWNERS file of a commit. */
#include "core/git/codeowners.h"

#include <stdlib.h>

#include "core/owners/owners.h"

static void clean(char *text)
{
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (*at == '\r')
            continue;
        *to++ =
            ((unsigned char)*at < 0x20 && *at != '\n' && *at != '\t') || *at == 0x7F ? ' ' : *at;
    }
    *to = '\0';
}

json_t *pfc_codeowners_document(pfc_repo *repo, const pfc_commit_id *id, pfc_err *err)
{
    const char *const *place = pfc_owners_places;
    char *text = NULL;
    size_t len = 0;
    json_t *doc;
    pfc_code code = PFC_ENOTFOUND;

    for (; *place && code == PFC_ENOTFOUND; place += code == PFC_ENOTFOUND)
        code = pfc_repo_file(repo, id, *place, PFC_OWNERS_MAX_TEXT, &text, &len, err);
    if (code == PFC_ENOTFOUND)
        return json_pack("{s:s}", "commit", id->hex);
    if (code)
        return NULL;
    clean(text);
    doc = json_pack("{s:s, s:s, s:s}", "commit", id->hex, "path", *place, "text", text);
    if (!doc)
        (void)pfc_err_set(err, PFC_EINVAL, "%s of %.12s is not UTF-8", *place, id->hex);
    free(text);
    return doc;
}
