/* One message: parsed and sorted into requests, notifications, responses and what is none. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/mcp/mcp.h"
#include "core/wire/wire.h"

json_t *mcp_refuse(mcp_fault *fault, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&fault->text, fmt, ap) < 0)
        pfc_die("out of memory");
    va_end(ap);
    mcp_plain(fault->text);
    fault->code = code;
    return NULL;
}

static void refuse(mcp_message *m, int code, const char *text)
{
    mcp_fault fault = { 0 };

    (void)mcp_refuse(&fault, code, "%s", text);
    m->kind = MCP_BAD;
    m->error = code;
    m->sentence = fault.text;
}

static void sort_object(mcp_message *m)
{
    const json_t *jsonrpc = json_object_get(m->root, "jsonrpc");
    const json_t *method = json_object_get(m->root, "method");
    json_t *id = json_object_get(m->root, "id");

    if (json_is_string(id) || json_is_integer(id))
        m->id = id;
    if (!json_is_string(jsonrpc) || strcmp(json_string_value(jsonrpc), "2.0") != 0) {
        refuse(m, MCP_INVALID_REQUEST, "expected \"jsonrpc\": \"2.0\"");
        return;
    }
    if (id && !m->id) {
        refuse(m, MCP_INVALID_REQUEST, "id: expected text or a whole number");
        return;
    }
    if (!method && m->id &&
        (json_object_get(m->root, "result") || json_object_get(m->root, "error"))) {
        m->kind = MCP_RESPONSE;
        return;
    }
    if (!json_is_string(method)) {
        refuse(m, MCP_INVALID_REQUEST, "method: expected text");
        return;
    }
    m->method = json_string_value(method);
    m->params = json_object_get(m->root, "params");
    m->kind = id ? MCP_REQUEST : MCP_NOTIFICATION;
    if (m->params && !json_is_object(m->params)) {
        m->params = NULL;
        if (id)
            refuse(m, MCP_INVALID_PARAMS, "params: expected an object");
    }
}

void mcp_message_read(const char *text, size_t len, mcp_message *out)
{
    const pfc_json_limits limits = { MCP_MAX_VALUES, MCP_MAX_VALUES };
    pfc_err err = { 0 };
    pfc_code code;

    *out = (mcp_message){ .kind = MCP_BAD };
    code = pfc_json_parse_within(text, len, &limits, &out->root, &err);
    if (code)
        refuse(out, code == PFC_ETOOBIG ? MCP_INVALID_REQUEST : MCP_PARSE_ERROR, err.msg);
    else if (json_is_array(out->root))
        refuse(out, MCP_INVALID_REQUEST,
               "expected one message a line, got an array: batches are not supported");
    else if (!json_is_object(out->root))
        refuse(out, MCP_INVALID_REQUEST, "expected an object");
    else
        sort_object(out);
}

void mcp_message_clear(mcp_message *message)
{
    json_decref(message->root);
    free(message->sentence);
    *message = (mcp_message){ .kind = MCP_BAD };
}
