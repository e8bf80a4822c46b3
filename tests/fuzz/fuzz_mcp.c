/*
 * Messages of `perfci mcp`: whatever arrives in whatever pieces, each line is answered with at most
 * one response, which is a message itself; a notification with none. Tools are not run: a function
 * of this test returns their arguments.
 */
#include <string.h>

#include "cli/mcp/mcp.h"
#include "core/base/parse.h"

#include "tests/fuzz/fuzz.h"

enum { LINE_BYTES = 4096, PIECES = 3 };

static pfc_code echo(void *arg, const mcp_tool *tool, const json_t *arguments, json_t **out,
                     pfc_err *err)
{
    json_t *data = json_pack("{s:O?}", "arguments", arguments);
    const mcp_settings *settings = arg;

    (void)err;
    FUZZ_CHECK(settings->allow_write || !tool->writes);
    *out = mcp_output(tool, data);
    json_decref(data);
    return PFC_OK;
}

/* No text in it that a terminal obeys. */
static void check_plain(const json_t *value)
{
    const char *text = json_string_value(value), *key;
    const json_t *item;
    size_t i;

    FUZZ_CHECK(!text || !pfc_name_control(text) || strpbrk(text, "\n"));
    json_object_foreach((json_t *)(uintptr_t)value, key, item) check_plain(item);
    json_array_foreach((json_t *)(uintptr_t)value, i, item) check_plain(item);
}

static void check_response(const mcp_message *m, const json_t *response)
{
    const json_t *result = json_object_get(response, "result");
    const json_t *error = json_object_get(response, "error");
    const json_t *output = json_object_get(result, "structuredContent");

    FUZZ_CHECK((response != NULL) == (m->kind == MCP_REQUEST || m->kind == MCP_BAD));
    if (!response)
        return;
    FUZZ_CHECK((result != NULL) != (error != NULL));
    FUZZ_CHECK(!m->id || json_equal(json_object_get(response, "id"), m->id));
    FUZZ_CHECK(!error || (json_is_integer(json_object_get(error, "code")) &&
                          json_is_string(json_object_get(error, "message"))));
    FUZZ_CHECK(m->kind != MCP_BAD ||
               json_integer_value(json_object_get(error, "code")) == m->error);
    check_plain(output);
}

static void read_lines(mcp_lines *lines, mcp_answerer *answerer)
{
    const char *text = NULL;
    size_t len = 0;
    mcp_line line;

    while ((line = mcp_lines_next(lines, &text, &len)) != MCP_LINE_NONE) {
        json_t *response;
        mcp_message m;

        if (line == MCP_LINE_TOO_LONG)
            continue;
        FUZZ_CHECK(len > 0 && len <= LINE_BYTES && !memchr(text, '\n', len));
        mcp_message_read(text, len, &m);
        response = mcp_answer(answerer, &m);
        check_response(&m, response);
        json_decref(response);
        mcp_message_clear(&m);
    }
    FUZZ_CHECK(lines->len - lines->from <= LINE_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mcp_settings settings = { .page = 100, .max_kib = 256, .allow_write = size % 2 == 0 };
    mcp_answerer answerer = { .settings = &settings,
                              .run = echo,
                              .run_arg = (void *)(uintptr_t)&settings };
    const size_t piece = size / PIECES + 1;
    mcp_lines lines;

    mcp_lines_init(&lines, LINE_BYTES);
    for (size_t at = 0; at < size; at += piece) {
        mcp_lines_add(&lines, (const char *)data + at, PFC_MIN(piece, size - at));
        read_lines(&lines, &answerer);
    }
    mcp_lines_add(&lines, "\n", 1);
    read_lines(&lines, &answerer);
    FUZZ_CHECK(lines.from == lines.len);
    mcp_lines_clear(&lines);
    return 0;
}
