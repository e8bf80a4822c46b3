/* NAME=value lines. */
#include "server/settings_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/base/fs.h"

#define PFC_SETTINGS_NAME_SHOWN 80

const char *pfc_settings_file_get(const pfc_settings_file *file, const char *name)
{
    for (size_t i = 0; i < file->len; i++) {
        if (strcmp(file->names[i], name) == 0)
            return file->values[i];
    }
    return NULL;
}

void pfc_settings_file_clear(pfc_settings_file *file)
{
    for (size_t i = 0; i < file->len; i++) {
        free(file->names[i]);
        free(file->values[i]);
    }
    free(file->names);
    free(file->values);
    *file = (pfc_settings_file){ 0 };
}

static bool is_known(const char *const *known, const char *text, size_t len)
{
    for (size_t i = 0; known[i]; i++) {
        if (strlen(known[i]) == len && memcmp(known[i], text, len) == 0)
            return true;
    }
    return false;
}

/* "NAME", when it can be shown. */
static const char *quote_name(const char *text, size_t len, char out[PFC_SETTINGS_NAME_SHOWN])
{
    (void)snprintf(out, PFC_SETTINGS_NAME_SHOWN, "\"%.*s\"", (int)PFC_MIN(len, 60), text);
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return "(its name holds odd characters)";
    }
    return out;
}

static void trim(const char **text, size_t *len)
{
    while (*len && isblank((unsigned char)**text)) {
        (*text)++;
        (*len)--;
    }
    while (*len && (isblank((unsigned char)(*text)[*len - 1]) || (*text)[*len - 1] == '\r'))
        (*len)--;
}

static pfc_code check_value(const char *where, size_t line, const char *value, size_t len,
                            pfc_err *err)
{
    if (len > PFC_SETTINGS_FILE_MAX_VALUE)
        return pfc_err_set(err, PFC_EINVAL, "%s:%zu: the value is over %d bytes", where, line,
                           PFC_SETTINGS_FILE_MAX_VALUE);
    for (size_t i = 0; i < len; i++) {
        if (iscntrl((unsigned char)value[i]) || value[i] == '"')
            return pfc_err_set(
                err, PFC_EINVAL,
                "%s:%zu: the value holds a quote or a control character; expected plain "
                "text, or all of it in \"double quotes\"",
                where, line);
    }
    return PFC_OK;
}

static pfc_code parse_line(const char *text, size_t len, const char *where, size_t line,
                           const char *const *known, pfc_settings_file *out, pfc_err *err)
{
    const char *equals, *value;
    char shown[PFC_SETTINGS_NAME_SHOWN];
    size_t name_len, value_len;
    char *name;
    pfc_code code;

    trim(&text, &len);
    if (len == 0 || text[0] == '#')
        return PFC_OK;
    equals = memchr(text, '=', len);
    if (!equals)
        return pfc_err_set(err, PFC_EINVAL, "%s:%zu: expected NAME=value", where, line);
    name_len = (size_t)(equals - text);
    value = equals + 1;
    value_len = len - name_len - 1;
    trim(&text, &name_len);
    trim(&value, &value_len);
    if (value_len >= 2 && value[0] == '"' && value[value_len - 1] == '"') {
        value++;
        value_len -= 2;
    }
    if (!is_known(known, text, name_len))
        return pfc_err_set(err, PFC_EINVAL,
                           "%s:%zu: unknown setting %s; --help names all (in parentheses)", where,
                           line, quote_name(text, name_len, shown));
    code = check_value(where, line, value, value_len, err);
    if (code)
        return code;
    name = pfc_strndup(text, name_len);
    if (pfc_settings_file_get(out, name)) {
        code = pfc_err_set(err, PFC_EINVAL, "%s:%zu: %s is set a second time", where, line, name);
        free(name);
        return code;
    }
    out->names = pfc_realloc(out->names, out->len + 1, sizeof(char *));
    out->values = pfc_realloc(out->values, out->len + 1, sizeof(char *));
    out->names[out->len] = name;
    out->values[out->len++] = pfc_strndup(value, value_len);
    return PFC_OK;
}

pfc_code pfc_settings_file_parse(const char *text, size_t len, const char *name,
                                 const char *const *known, pfc_settings_file *out, pfc_err *err)
{
    size_t at = 0, line = 0;
    pfc_code code = PFC_OK;

    *out = (pfc_settings_file){ 0 };
    if (len > PFC_SETTINGS_FILE_MAX_BYTES)
        return pfc_err_set(err, PFC_EINVAL, "%s: over %d bytes", name, PFC_SETTINGS_FILE_MAX_BYTES);
    while (at < len && !code) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line_len = end ? (size_t)(end - (text + at)) : len - at;

        code = parse_line(text + at, line_len, name, ++line, known, out, err);
        at += line_len + 1;
    }
    if (code)
        pfc_settings_file_clear(out);
    return code;
}

pfc_code pfc_settings_file_read(const char *path, const char *const *known, pfc_settings_file *out,
                                pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, PFC_SETTINGS_FILE_MAX_BYTES, &text, &len, err);

    *out = (pfc_settings_file){ 0 };
    if (!code)
        code = pfc_settings_file_parse(text, len, path, known, out, err);
    free(text);
    return code;
}
