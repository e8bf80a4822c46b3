/* The first admin token, in a file. */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "server/running.h"
#include "server/services/access/access.h"

/* True when the file's first line is a valid admin token. */
static bool token_file_works(server *s, const char *path)
{
    pfc_principal who = { 0 };
    char *text = NULL;
    size_t len = 0;
    bool works = false;

    if (pfc_fs_read(path, 4096, &text, &len, NULL) == PFC_OK) {
        text[strcspn(text, "\r\n")] = '\0';
        works = pfc_token_verify(s->app.db, text, &who, NULL) == PFC_OK &&
                (who.scopes & PFC_SCOPE_ADMIN) && who.project_id == 0;
    }
    free(text);
    return works;
}

pfc_code server_bootstrap_token(server *s, pfc_err *err)
{
    const char *path = s->settings.bootstrap_token;
    char secret[PFC_TOKEN_TEXT] = "";
    char *line;
    int64_t id = 0;
    pfc_code code;

    if (!path || token_file_works(s, path))
        return PFC_OK;
    code = pfc_token_create(s->app.db, "perfci-server", "bootstrap", PFC_SCOPE_ALL, 0, 0, &id,
                            secret, err);
    if (code)
        return code;
    line = pfc_format("%s\n", secret);
    code = pfc_fs_write_atomic(path, line, strlen(line), 0600, err);
    free(line);
    if (!code) {
        pfc_log(PFC_INFO, "admin_token_written", "file", path, "token_id", id);
        return PFC_OK;
    }
    /* The token is in no file, so it cannot be used; without this every start would add one. */
    if (pfc_token_revoke(s->app.db, "perfci-server", id, NULL) != PFC_OK)
        pfc_log(PFC_WARN, "unused_token_not_revoked", "token_id", id);
    return pfc_err_wrap(err, "--bootstrap-token-file");
}
