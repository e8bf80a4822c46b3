/*
 * The readers of documents as a filter, for the test that holds them to their JSON Schemas.
 *
 * In: "run LENGTH\n", "commits LENGTH\n" or "session LENGTH\n", then that many bytes. Out: a line
 * of JSON for each,
 * {"code", "field", "message"}, or {"code":"OK", "document"} with what was understood.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/session.h"

#define BYTES_MAX (32u * 1024 * 1024)

static pfc_code read_run(const char *text, size_t len, json_t **out, pfc_err *err)
{
    pfc_run *run = NULL;
    pfc_code code = pfc_run_from_json(text, len, &run, err);

    if (code == PFC_OK)
        *out = pfc_run_to_json(run);
    pfc_run_free(run);
    return code;
}

static pfc_code read_commits(const char *text, size_t len, json_t **out, pfc_err *err)
{
    pfc_commit *commits = NULL;
    char *branch = NULL;
    size_t n = 0;
    pfc_code code = pfc_commits_from_json(text, len, &branch, &commits, &n, err);

    if (code == PFC_OK)
        *out = pfc_commits_to_json(branch, commits, n);
    pfc_commits_free(commits, n);
    free(branch);
    return code;
}

static pfc_code read_session(const char *text, size_t len, json_t **out, pfc_err *err)
{
    pfc_session *session = NULL;
    pfc_code code = pfc_session_from_json(text, len, &session, err);

    if (code == PFC_OK)
        *out = pfc_session_document(session);
    pfc_session_free(session);
    return code;
}

static void answer(const char *kind, const char *text, size_t len)
{
    json_t *document = NULL, *line;
    pfc_err err = { 0 };
    pfc_code code = strcmp(kind, "run") == 0       ? read_run(text, len, &document, &err)
                    : strcmp(kind, "session") == 0 ? read_session(text, len, &document, &err)
                                                   : read_commits(text, len, &document, &err);

    if (code == PFC_OK)
        line = json_pack("{s:s, s:o}", "code", "OK", "document", document);
    else
        line = json_pack("{s:s, s:s, s:s}", "code", pfc_code_name(code), "field", err.field,
                         "message", err.msg);
    /* A message that is not UTF-8 cannot be packed: the test sees the word and fails. */
    if (line && json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0)
        putchar('\n');
    else
        puts("\"unspeakable\"");
    json_decref(line);
}

int main(void)
{
    char kind[16];
    size_t len;

    while (scanf("%15s %zu", kind, &len) == 2 && getchar() == '\n' && len <= BYTES_MAX) {
        char *text = pfc_alloc(len + 1);

        if (fread(text, 1, len, stdin) != len)
            return 1;
        answer(kind, text, len);
        free(text);
        fflush(stdout);
    }
    return feof(stdin) ? 0 : 1;
}
