/*
 * perfci mcp: reads messages from standard input and answers them on standard output, one after
 * the other. While a tool runs, the input is still read, for cancellations and pings.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/mcp/mcp.h"
#include "core/base/clock.h"
#include "core/base/parse.h"

enum { READ_BYTES = 65536, GRACE_S = 10 };

typedef struct server {
    const mcp_settings *settings;
    mcp_answerer answerer;
    mcp_lines lines;
    mcp_message queue[MCP_MAX_QUEUE]; /* requests, and what is no message, in order */
    size_t queued;
    const json_t *running; /* the id of the request that is answered; NULL: none is */
    bool cancelled;        /* that one */
    bool ended;            /* the input */
    int64_t ended_ns;
    int out;     /* where messages go */
    bool broken; /* a message could not be written */
} server;

typedef struct mcp_opts {
    const char *project, *url, *data;
    bool allow_write;
    size_t page, max_kib;
} mcp_opts;

static const pfc_option options[] = {
    PFC_OPT_FLAG("allow-write", mcp_opts, allow_write,
                 "Offer the tools that change what the service stores, too: triage of alerts, "
                 "accepting a level, jobs and bisections"),
    PFC_OPT_TEXT("project", "P", mcp_opts, project, "The project of calls that name none",
                 .fallback = "PERFCI_PROJECT, else perfci.yaml's"),
    PFC_OPT_COUNT("max-answer", "KIB", mcp_opts, max_kib, 16, 16384,
                  "The largest answer of a tool, in KiB", .fallback = "256"),
    PFC_OPT_COUNT("page", "N", mcp_opts, page, 1, 100, "Tools in one answer of tools/list",
                  .fallback = "100"),
    PFC_SERVICE_OPTIONS(mcp_opts, ),
    { 0 },
};

static const char doc[] =
    "Offers perfci to an assistant as a server of the Model Context Protocol, on standard input "
    "and output. The client of the assistant starts this command; nothing listens on the network."
    "\v"
    "Tools read: projects, the last night, series, alerts with suspects, commits, comparisons, "
    "bisections, runners, coverage, the simulated accelerator, detection in given numbers, and the "
    "checks of this installation. With --allow-write there are tools that change what the service "
    "stores, as far as the token's scopes allow.\n"
    "\n"
    "The service and the token are those of the other commands: PERFCI_URL, PERFCI_TOKEN or "
    "PERFCI_TOKEN_FILE, perfci.yaml, or a service that `perfci up` started here. The token is "
    "never part of an answer. Text of authors (names, subjects of commits) is passed as data, its "
    "paths are listed, and control characters are replaced.\n"
    "\n"
    "Versions of the protocol: 2026-07-28, and with a handshake 2025-11-25 and 2025-06-18. A "
    "message is a line of at most 1 MiB. Exit status 0 at the end of the input, 2 for wrong usage, "
    "5 when the output cannot be written.\n"
    "\n"
    "Examples:\n"
    "  perfci mcp\n"
    "  perfci mcp --allow-write --project kernels\n"
    "  perfci mcp --url https://perf.example.org\n";

/* ---- output ---- */

static void write_message(server *s, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    size_t len = strlen(text), done = 0;

    text[len++] = '\n'; /* in place of the terminator */
    while (done < len && !s->broken) {
        const ssize_t n = write(s->out, text + done, len - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR || pfc_cli_interrupted(NULL))
            s->broken = true;
    }
    free(text);
    json_decref(message);
}

static void answer(server *s, const mcp_message *message)
{
    json_t *response;

    s->running = message->id;
    s->cancelled = false;
    response = mcp_answer(&s->answerer, message);
    s->running = NULL;
    if (response && s->cancelled)
        json_decref(response);
    else if (response)
        write_message(s, response);
}

/* ---- input ---- */

/* Takes a request out of the queue, or marks the running one. */
static void cancel(server *s, const json_t *id)
{
    if (s->running && json_equal(s->running, id))
        s->cancelled = true;
    for (size_t i = 0; id && i < s->queued; i++) {
        if (!s->queue[i].id || !json_equal(s->queue[i].id, id) ||
            pfc_streq(s->queue[i].method, "initialize"))
            continue;
        mcp_message_clear(&s->queue[i]);
        memmove(&s->queue[i], &s->queue[i + 1], (s->queued - i - 1) * sizeof(s->queue[0]));
        s->queued--;
        return;
    }
}

static void take(server *s, mcp_message *m)
{
    const bool ping = m->kind == MCP_REQUEST && strcmp(m->method, "ping") == 0;

    if (m->kind == MCP_NOTIFICATION && strcmp(m->method, "notifications/cancelled") == 0)
        cancel(s, json_object_get(m->params, "requestId"));
    if (ping && s->running) {
        json_t *response = mcp_answer(&s->answerer, m);

        write_message(s, response);
    } else if (m->kind == MCP_REQUEST || m->kind == MCP_BAD) {
        s->queue[s->queued++] = *m;
        return;
    }
    mcp_message_clear(m);
}

/* Takes the whole lines that are there, as far as the queue has room. */
static void take_lines(server *s)
{
    const char *text = NULL;
    mcp_message m;
    size_t len = 0;
    mcp_line line;

    while (s->queued < MCP_MAX_QUEUE &&
           (line = mcp_lines_next(&s->lines, &text, &len)) != MCP_LINE_NONE) {
        if (line == MCP_LINE_WHOLE)
            mcp_message_read(text, len, &m);
        else
            m = (mcp_message){ .kind = MCP_BAD,
                               .error = MCP_INVALID_REQUEST,
                               .sentence = pfc_format("the message is longer than %zu bytes",
                                                      s->lines.max_bytes) };
        take(s, &m);
    }
}

/* Waits up to timeout_ms (< 0: without end) for input and takes it. */
static void read_input(server *s, int timeout_ms)
{
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    char bytes[READ_BYTES];
    ssize_t n;

    take_lines(s);
    if (s->ended || s->queued == MCP_MAX_QUEUE || (s->queued > 0 && timeout_ms < 0))
        return;
    if (poll(&in, 1, timeout_ms) <= 0)
        return;
    n = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
        mcp_lines_add(&s->lines, "\n", 1); /* a last line without its newline counts */
        s->ended = true;
        s->ended_ns = pfc_clock_ns();
    } else if (n > 0) {
        mcp_lines_add(&s->lines, bytes, (size_t)n);
    }
    take_lines(s);
}

/* Called while a tool runs; returns true if it must stop. */
static bool should_stop(void *arg)
{
    server *s = arg;

    read_input(s, 0);
    return s->cancelled || pfc_cli_interrupted(NULL) || s->broken ||
           (s->ended && (double)(pfc_clock_ns() - s->ended_ns) > s->settings->grace_s * 1e9);
}

static pfc_code run_tool(void *arg, const mcp_tool *tool, const json_t *arguments, json_t **out,
                         pfc_err *err)
{
    server *s = arg;

    return mcp_call(s->settings, tool, arguments, should_stop, s, out, err);
}

static void serve(server *s)
{
    while (!s->broken && !pfc_cli_interrupted(NULL)) {
        mcp_message m;

        read_input(s, -1);
        if (s->queued == 0 && s->ended)
            break;
        if (s->queued == 0)
            continue;
        m = s->queue[0];
        memmove(&s->queue[0], &s->queue[1], (s->queued - 1) * sizeof(m));
        s->queued--;
        answer(s, &m);
        mcp_message_clear(&m);
    }
    while (s->queued > 0)
        mcp_message_clear(&s->queue[--s->queued]);
    mcp_lines_clear(&s->lines);
}

static int cmd_mcp(pfc_cli *cli, int argc, char **argv)
{
    mcp_opts o = { .page = 100, .max_kib = 256 };
    mcp_settings settings;
    server *s = pfc_alloc(sizeof(*s));
    bool broken;
    pfc_err err = { 0 };

    pfc_cli_parse(cli, &pfc_cmd_mcp, argc, argv, &o);
    if (o.project && !pfc_is_slug(o.project)) {
        free(s);
        (void)pfc_err_set(&err, PFC_EINVAL,
                          "--project: expected lower-case letters, digits, '.', '_' and '-', got "
                          "\"%.80s\"",
                          o.project);
        return pfc_cli_fail(cli, &err);
    }
    settings = (mcp_settings){ .url = o.url,
                               .data = o.data,
                               .project = o.project,
                               .allow_write = o.allow_write,
                               .page = o.page,
                               .max_kib = o.max_kib,
                               .grace_s = GRACE_S };
    *s = (server){ .settings = &settings, .out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) };
    s->answerer = (mcp_answerer){ .settings = &settings, .run = run_tool, .run_arg = s };
    mcp_lines_init(&s->lines, MCP_MAX_LINE_BYTES);
    /* Standard output carries messages alone: what anything else prints there goes to stderr. */
    if (s->out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        s->broken = true;
    if (isatty(STDIN_FILENO))
        pfc_cli_note(cli, "reads JSON-RPC messages from a client; see \"perfci mcp --help\"");
    pfc_cli_catch_signals();
    serve(s);
    broken = s->broken && !pfc_cli_interrupted(NULL);
    close(s->out);
    free(s);
    if (!broken)
        return PFC_EXIT_OK;
    (void)pfc_err_set(&err, PFC_EIO, "cannot write to standard output");
    (void)pfc_err_hint(&err, "the client that started this command has ended or closed its end");
    return pfc_cli_fail(cli, &err);
}

const pfc_subcommand pfc_cmd_mcp = {
    .name = "mcp",
    .summary = "a server of the Model Context Protocol, for assistants",
    .run = cmd_mcp,
    .options = options,
    .doc = doc,
};
