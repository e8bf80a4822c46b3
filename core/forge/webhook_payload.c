/* Members of a payload, and what the providers' payloads have in common. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/forge/webhook_priv.h"

enum {
    NAME_BYTES = 1024, /* of a branch; Git's own limit is that of a path */
    URL_BYTES = 2048,
};

const json_t *payload_at(const payload *p, const char *path)
{
    const json_t *at = p->root;

    while (at && *path) {
        const size_t len = strcspn(path, ".");
        char key[64];

        (void)snprintf(key, sizeof(key), "%.*s", (int)len, path);
        at = json_object_get(at, key);
        path += len + (path[len] == '.');
    }
    return json_is_null(at) ? NULL : at;
}

const char *payload_word(const payload *p, const char *path)
{
    const char *text = json_string_value(payload_at(p, path));

    return text ? text : "";
}

bool payload_true(const payload *p, const char *path)
{
    return json_is_true(payload_at(p, path));
}

void payload_fault(payload *p, const char *path, const char *expected)
{
    if (!p->code)
        p->code = pfc_err_set_field(p->err, PFC_EINVAL, path, "%s: expected %s", path, expected);
}

/* The text at the path; NULL: absent, or a fault, which is set. */
static const char *text_at(payload *p, const char *path, bool required)
{
    const json_t *value = p->code ? NULL : payload_at(p, path);

    if (p->code || (!value && !required))
        return NULL;
    if (!json_is_string(value))
        payload_fault(p, path, value ? "a text" : "a text, got none");
    return json_string_value(value);
}

void payload_text(payload *p, const char *path, size_t max_len, char **out)
{
    const char *text = text_at(p, path, true);

    if (text)
        *out = pfc_strndup(text, pfc_utf8_cut(text, max_len));
}

void payload_name(payload *p, const char *path, bool required, char **out)
{
    const char *text = text_at(p, path, required);

    if (!text)
        return;
    if (!text[0] || strlen(text) > NAME_BYTES || pfc_name_control(text))
        payload_fault(p, path, "1 to 1024 bytes without control characters");
    else
        *out = pfc_strdup(text);
}

void payload_commit(payload *p, const char *path, bool required, char **out)
{
    const char *text = text_at(p, path, required);

    if (!text)
        return;
    if (!pfc_is_commit_id(text))
        payload_fault(p, path, "a commit id of 40 or 64 lower-case hexadecimal digits");
    else
        *out = pfc_strdup(text);
}

void payload_repo(payload *p, const char *path, bool required, char **out)
{
    const char *text = text_at(p, path, required);

    if (!text)
        return;
    if (!pfc_forge_is_repo(p->forge, text))
        payload_fault(p, path, "a repository such as \"owner/name\"");
    else
        *out = pfc_strdup(text);
}

void payload_url(payload *p, const char *path, char **out)
{
    const char *text = payload_word(p, path);

    if (p->code || strncmp(text, "https://", 8) != 0 || strlen(text) > URL_BYTES)
        return;
    for (const char *c = text; *c; c++) {
        if (*c <= ' ' || *c > '~' || strchr("<>\"`\\", *c))
            return;
    }
    *out = pfc_strdup(text);
}

void payload_number(payload *p, const char *path, bool required, int64_t *out)
{
    const json_t *value = p->code ? NULL : payload_at(p, path);

    if (p->code || (!value && !required))
        return;
    if (!json_is_integer(value) || json_integer_value(value) <= 0)
        payload_fault(p, path, "a number above zero");
    else
        *out = json_integer_value(value);
}

void payload_ignore(pfc_webhook *out, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    free(out->why);
    out->kind = PFC_WEBHOOK_IGNORED;
    out->why = pfc_vformat(fmt, args);
    va_end(args);
    pfc_text_plain(out->why, false);
}

bool payload_is_no_commit(const char *id)
{
    return id[0] && id[strspn(id, "0")] == '\0';
}

void payload_read_push(payload *p, pfc_webhook *out)
{
    const char *ref = payload_word(p, "ref");

    if (strncmp(ref, "refs/tags/", 10) == 0) {
        payload_ignore(out, "a tag was pushed or deleted");
    } else if (payload_true(p, "deleted") || payload_is_no_commit(payload_word(p, "after"))) {
        payload_ignore(out, "a branch was deleted");
    } else if (strncmp(ref, "refs/heads/", 11) != 0) {
        payload_fault(p, "ref", "\"refs/heads/...\" or \"refs/tags/...\"");
    } else {
        out->kind = PFC_WEBHOOK_PUSH;
        payload_name(p, "ref", true, &out->branch);
        if (!p->code)
            memmove(out->branch, out->branch + 11, strlen(out->branch + 11) + 1);
        if (!p->code && !out->branch[0])
            payload_fault(p, "ref", "the name of a branch");
        if (!payload_is_no_commit(payload_word(p, "before")))
            payload_commit(p, "before", true, &out->before);
        payload_commit(p, "after", true, &out->after);
    }
}
