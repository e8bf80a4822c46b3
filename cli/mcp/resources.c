/* Resources: a few answers of tools under addresses of their own. */
#include <stdlib.h>
#include <string.h>

#include "cli/mcp/mcp.h"
#include "core/base/parse.h"

#define SCHEME "perfci:///"

/* `path` ends where the argument begins; without an argument it is the whole path. */
typedef struct resource {
    const char *path, *tool, *argument;
    bool number; /* the argument is a whole number */
} resource;

static const resource resources[] = {
    { "projects", "projects", NULL, false },    { "chips", "accel_chips", NULL, false },
    { "alerts/", "alert", "id", true },         { "series/", "series", "id", true },
    { "bisections/", "bisection", "id", true }, { "last-night/", "last_night", "project", false },
};

static json_t *encode(const resource *r, const char *key)
{
    const mcp_tool *tool = mcp_tool_find(r->tool);

    return json_pack("{s:o, s:s, s:s, s:s, s:s}", key,
                     r->argument ? json_sprintf(SCHEME "%s{%s}", r->path, r->argument)
                                 : json_sprintf(SCHEME "%s", r->path),
                     "name", tool->name, "title", tool->title, "description", tool->help,
                     "mimeType", "application/json");
}

static json_t *list(bool templates, const char *member, const char *key)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < PFC_ARRAY_LEN(resources); i++)
        if ((resources[i].argument != NULL) == templates)
            json_array_append_new(rows, encode(&resources[i], key));
    return json_pack("{s:o}", member, rows);
}

json_t *mcp_resources_list(void)
{
    return list(false, "resources", "uri");
}

json_t *mcp_resource_templates_list(void)
{
    return list(true, "resourceTemplates", "uriTemplate");
}

/* The resource of an address, and the arguments of its tool; NULL: there is none. */
static const resource *find(const char *uri, json_t *arguments)
{
    const char *path = uri && strncmp(uri, SCHEME, strlen(SCHEME)) == 0 ? uri + strlen(SCHEME) : "";

    for (size_t i = 0; i < PFC_ARRAY_LEN(resources); i++) {
        const resource *r = &resources[i];
        const char *value = path + strlen(r->path);
        int64_t number = 0;

        if (strncmp(path, r->path, strlen(r->path)) != 0 ||
            (*value != '\0') != (r->argument != NULL))
            continue;
        if (r->number && pfc_parse_i64(value, 1, INT64_MAX, "id", &number, NULL))
            return NULL;
        if (r->argument)
            json_object_set_new(arguments, r->argument,
                                r->number ? json_integer(number) : json_string(value));
        return r;
    }
    return NULL;
}

json_t *mcp_resources_read(mcp_answerer *answerer, const json_t *params, mcp_fault *fault)
{
    const char *uri = json_string_value(json_object_get(params, "uri"));
    json_t *arguments = json_object(), *output = NULL, *result = NULL;
    const resource *r = find(uri, arguments);
    const mcp_tool *tool = r ? mcp_tool_find(r->tool) : NULL;
    pfc_err err = { 0 };
    pfc_code code = PFC_ENOTFOUND;
    char *text;

    if (tool)
        code = mcp_arguments_check(tool, arguments, &err);
    if (tool && !code)
        code = answerer->run(answerer->run_arg, tool, arguments, &output, &err);
    json_decref(arguments);
    if (!tool || code == PFC_ENOTFOUND || code == PFC_EINVAL)
        return mcp_refuse(fault, MCP_INVALID_PARAMS, "no resource \"%.200s\"%s%s", uri ? uri : "",
                          err.msg[0] ? ": " : "", err.msg);
    if (code)
        return mcp_refuse(fault, MCP_INTERNAL_ERROR, "%s", err.msg);
    text = json_dumps(output, JSON_COMPACT);
    result = json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType",
                       "application/json", "text", text);
    free(text);
    json_decref(output);
    return result;
}
