/* Arguments of tools: their schema, their check, and their way into paths and options. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/mcp/mcp.h"
#include "core/base/parse.h"
#include "core/http/client.h"

enum { TEXT_BYTES = 200 };

static size_t max_bytes(const mcp_argument *a)
{
    return a->high > 0 ? (size_t)a->high : TEXT_BYTES;
}

/* ---- the schema ---- */

static json_t *words_of(const mcp_argument *a)
{
    json_t *words = json_array();

    for (size_t i = 0; a->words[i]; i++)
        json_array_append_new(words, json_string(a->words[i]));
    return words;
}

static json_t *type_of(const mcp_argument *a)
{
    switch (a->kind) {
    case MCP_TEXT:
        return json_pack("{s:s, s:I}", "type", "string", "maxLength", (json_int_t)max_bytes(a));
    case MCP_PROJECT:
        return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[a-z0-9][a-z0-9._-]{0,62}$");
    case MCP_COMMIT:
        return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9a-f]{40}$");
    case MCP_WORD:
        return json_pack("{s:s, s:o}", "type", "string", "enum", words_of(a));
    case MCP_INTEGER:
        return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)a->low,
                         "maximum", (json_int_t)a->high);
    case MCP_NUMBER:
        return json_pack("{s:s, s:f, s:f}", "type", "number", "minimum", a->low, "maximum",
                         a->high);
    case MCP_TRUTH:
        return json_pack("{s:s}", "type", "boolean");
    case MCP_NUMBERS:
        return json_pack("{s:s, s:{s:s}, s:i, s:I}", "type", "array", "items", "type", "number",
                         "minItems", 1, "maxItems", (json_int_t)a->high);
    }
    return json_object();
}

json_t *mcp_input_schema(const mcp_tool *tool)
{
    json_t *properties = json_object(), *required = json_array();

    for (const mcp_argument *a = tool->arguments; a && a->name; a++) {
        json_t *schema = type_of(a);

        json_object_set_new(schema, "description", json_string(a->help));
        json_object_set_new(properties, a->name, schema);
        if (a->required)
            json_array_append_new(required, json_string(a->name));
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", 0);
}

/* ---- the check ---- */

static pfc_code expected(const mcp_argument *a, const json_t *value, const char *what, pfc_err *err)
{
    char *got = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    pfc_code code;

    code = pfc_err_set(err, PFC_EINVAL, "%s: expected %s, got %.60s", a->name, what, got);
    free(got);
    return code;
}

static pfc_code check_word(const mcp_argument *a, const json_t *value, pfc_err *err)
{
    const char *text = json_string_value(value);
    char all[240] = "one of";

    for (size_t i = 0; a->words[i]; i++) {
        if (text && strcmp(a->words[i], text) == 0)
            return PFC_OK;
        (void)snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s %s", i ? "," : "",
                       a->words[i]);
    }
    return expected(a, value, all, err);
}

static pfc_code check_number(const mcp_argument *a, const json_t *value, pfc_err *err)
{
    const bool kind = a->kind == MCP_INTEGER ? json_is_integer(value) : json_is_number(value);
    const double number = json_number_value(value);
    char what[96];

    if (kind && number >= a->low && number <= a->high)
        return PFC_OK;
    (void)snprintf(what, sizeof(what), "%s from %.10g to %.10g",
                   a->kind == MCP_INTEGER ? "a whole number" : "a number", a->low, a->high);
    return expected(a, value, what, err);
}

static pfc_code check_numbers(const mcp_argument *a, const json_t *value, pfc_err *err)
{
    const size_t len = json_array_size(value);
    char what[64];

    (void)snprintf(what, sizeof(what), "an array of 1..%.0f numbers", a->high);
    if (len < 1 || (double)len > a->high)
        return expected(a, value, what, err);
    for (size_t i = 0; i < len; i++)
        if (!json_is_number(json_array_get(value, i)))
            return expected(a, json_array_get(value, i), what, err);
    return PFC_OK;
}

static pfc_code check_value(const mcp_argument *a, const json_t *value, pfc_err *err)
{
    const char *text = json_string_value(value);
    char what[64];

    switch (a->kind) {
    case MCP_TEXT:
        (void)snprintf(what, sizeof(what), "text of 1..%zu bytes", max_bytes(a));
        return text && *text && strlen(text) <= max_bytes(a) ? PFC_OK
                                                             : expected(a, value, what, err);
    case MCP_PROJECT:
        return text && pfc_is_slug(text)
                   ? PFC_OK
                   : expected(a, value, "a project's name (lower-case letters, digits, . _ -)",
                              err);
    case MCP_COMMIT:
        return text && pfc_is_sha(text)
                   ? PFC_OK
                   : expected(a, value, "a full commit id of 40 hexadecimal digits", err);
    case MCP_WORD:
        return check_word(a, value, err);
    case MCP_INTEGER:
    case MCP_NUMBER:
        return check_number(a, value, err);
    case MCP_TRUTH:
        return json_is_boolean(value) ? PFC_OK : expected(a, value, "true or false", err);
    case MCP_NUMBERS:
        return check_numbers(a, value, err);
    }
    return PFC_OK;
}

static const mcp_argument *find(const mcp_tool *tool, const char *name)
{
    for (const mcp_argument *a = tool->arguments; a && a->name; a++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

pfc_code mcp_arguments_check(const mcp_tool *tool, const json_t *arguments, pfc_err *err)
{
    pfc_code code = PFC_OK;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)arguments, name, value)
    {
        const mcp_argument *a = find(tool, name);

        if (!a)
            code = pfc_err_set(err, PFC_EINVAL, "there is no argument \"%.60s\"", name);
        else
            code = check_value(a, value, err);
        if (code)
            break;
    }
    for (const mcp_argument *a = tool->arguments; a && a->name && !code; a++)
        if (a->required && !json_object_get(arguments, a->name))
            code = pfc_err_set(err, PFC_EINVAL, "missing argument \"%s\": %s", a->name, a->help);
    if (code)
        (void)pfc_err_hint(err, "the tool's inputSchema states its arguments and their limits");
    return code;
}

/* ---- into paths and options ---- */

char *mcp_argument_text(const json_t *value)
{
    if (json_is_string(value))
        return pfc_strdup(json_string_value(value));
    if (json_is_boolean(value))
        return pfc_strdup(json_is_true(value) ? "true" : "false");
    return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

/* Appends the argument that `name` (len bytes) names. */
static pfc_code put(const mcp_tool *tool, const json_t *arguments, const char *name, size_t len,
                    bool escape, bool *used, pfc_buf *out, pfc_err *err)
{
    for (size_t i = 0; tool->arguments && tool->arguments[i].name; i++) {
        const mcp_argument *a = &tool->arguments[i];
        const json_t *value = json_object_get(arguments, a->name);
        char *text, *escaped;

        if (strncmp(a->name, name, len) != 0 || a->name[len] != '\0')
            continue;
        if (!value && a->kind == MCP_PROJECT) {
            (void)pfc_err_set(err, PFC_EINVAL,
                              "missing project: pass the argument \"%s\"", a->name);
            return pfc_err_hint(err, "the tool projects lists them");
        }
        if (!value)
            return pfc_err_set(err, PFC_EINVAL, "missing argument \"%s\"", a->name);
        text = mcp_argument_text(value);
        escaped = escape ? pfc_http_escape(text) : pfc_strdup(text);
        pfc_buf_puts(out, escaped);
        free(escaped);
        free(text);
        used[i] = true;
        return PFC_OK;
    }
    return pfc_err_set(err, PFC_EBUG, "the tool %s has no argument %.*s", tool->name, (int)len,
                       name);
}

pfc_code mcp_fill(const mcp_tool *tool, const json_t *arguments, const char *template, bool escape,
                  bool *used, char **out, pfc_err *err)
{
    pfc_code code = PFC_OK;
    pfc_buf text;

    pfc_buf_init(&text, 16384);
    while (*template && !code) {
        const size_t plain = strcspn(template, "{");
        const size_t name = template[plain] ? strcspn(template + plain, "}") : 0;

        pfc_buf_append(&text, template, plain);
        if (name > 0)
            code = put(tool, arguments, template + plain + 1, name - 1, escape, used, &text, err);
        template += plain + (name ? name + 1 : 0);
    }
    if (!code)
        code = pfc_buf_check(&text, "the arguments", err);
    if (!code)
        *out = pfc_buf_take(&text);
    pfc_buf_clear(&text);
    return code;
}
