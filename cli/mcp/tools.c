/* The tools of all tables. */
#include <string.h>

#include "cli/mcp/mcp.h"

const mcp_tool *mcp_tool_at(size_t at, bool allow_write)
{
    if (at < mcp_tools_read_len)
        return &mcp_tools_read[at];
    at -= mcp_tools_read_len;
    if (at < mcp_tools_local_len)
        return &mcp_tools_local[at];
    at -= mcp_tools_local_len;
    return allow_write && at < mcp_tools_write_len ? &mcp_tools_write[at] : NULL;
}

const mcp_tool *mcp_tool_find(const char *name)
{
    const mcp_tool *tool;

    for (size_t i = 0; (tool = mcp_tool_at(i, true)) != NULL; i++)
        if (strcmp(tool->name, name) == 0)
            return tool;
    return NULL;
}

json_t *mcp_tool_json(const mcp_tool *tool)
{
    json_t *annotations = json_pack("{s:s, s:b, s:b}", "title", tool->title, "readOnlyHint",
                                    !tool->writes, "openWorldHint", 0);

    if (tool->writes) {
        json_object_set_new(annotations, "destructiveHint", json_boolean(tool->destroys));
        json_object_set_new(annotations, "idempotentHint", json_boolean(tool->repeats));
    }
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", tool->name, "title", tool->title,
                     "description", tool->help, "inputSchema", mcp_input_schema(tool),
                     "outputSchema", mcp_output_schema(tool), "annotations", annotations);
}
