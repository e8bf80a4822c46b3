/*
 * perfci mcp: the Model Context Protocol over standard input and output. Private to this folder.
 *
 * A message is a line of JSON (JSON-RPC 2.0). Two eras of the protocol are spoken in one process:
 * in the older one (2025-06-18, 2025-11-25) a client begins with `initialize`; in the newer one
 * (2026-07-28) every request states its version in `params._meta`, and `server/discover` replaces
 * the handshake. Requests are answered one after the other, in the order received; cancellations
 * and pings are read while a tool runs.
 *
 * Tools are rows of tables (tools_*.c): a row names requests of the HTTP API, or a subcommand of
 * this program that is run with --json. The answer is passed through; only control characters and
 * characters that hide or reorder text are replaced.
 *
 * One thread. Source of the messages: the schemas of modelcontextprotocol.io, whose parts that the
 * tests use are in tests/data/mcp.
 */
#ifndef PFC_CLI_MCP_MCP_H
#define PFC_CLI_MCP_MCP_H

#include <jansson.h>

#include "cli/cli.h"
#include "core/base/buf.h"

#define MCP_MAX_LINE_BYTES (1024u * 1024) /* of one message, without its newline */
#define MCP_MAX_VALUES     20000          /* JSON values in one message */
#define MCP_MAX_QUEUE      64             /* requests that wait while a tool runs */

/* Error codes of JSON-RPC 2.0, and of the protocol's 2026-07-28. */
#define MCP_PARSE_ERROR         (-32700)
#define MCP_INVALID_REQUEST     (-32600)
#define MCP_METHOD_NOT_FOUND    (-32601)
#define MCP_INVALID_PARAMS      (-32602)
#define MCP_INTERNAL_ERROR      (-32603)
#define MCP_UNSUPPORTED_VERSION (-32022)

/* ---- lines.c: the reader ---- */

/** Bytes of standard input that are not taken yet. */
typedef struct mcp_lines {
    char *data;
    size_t from, len, cap; /* the bytes from `from` up to `len` are not taken */
    size_t max_bytes;      /* longest line, without its newline */
    bool skipping;         /* inside a line that was too long */
} mcp_lines;

typedef enum mcp_line {
    MCP_LINE_NONE,    /* no whole line is there */
    MCP_LINE_WHOLE,   /* one line, without its newline */
    MCP_LINE_TOO_LONG /* a line over max_bytes, which is dropped up to its newline */
} mcp_line;

void mcp_lines_init(mcp_lines *lines, size_t max_bytes);
void mcp_lines_clear(mcp_lines *lines);
/** Adds bytes as they were read. */
void mcp_lines_add(mcp_lines *lines, const char *bytes, size_t len);
/** Takes the next line; *text is valid until the next call with `lines`. Blank lines are left out.
 */
mcp_line mcp_lines_next(mcp_lines *lines, const char **text, size_t *len);

/* ---- message.c: one message ---- */

typedef enum mcp_message_kind {
    MCP_REQUEST,
    MCP_NOTIFICATION,
    MCP_RESPONSE, /* of the client: this server sends no requests, so it is ignored */
    MCP_BAD       /* no message: `error` and `sentence` are the answer */
} mcp_message_kind;

typedef struct mcp_message {
    mcp_message_kind kind;
    json_t *root;       /* owned; NULL when it could not be parsed */
    json_t *id;         /* a string or an integer, borrowed from root; NULL: none */
    const char *method; /* of a request or notification, borrowed from root */
    json_t *params;     /* an object, borrowed from root; NULL: absent */
    int error;          /* of MCP_BAD: a code above */
    char *sentence;     /* of MCP_BAD: owned */
} mcp_message;

/** Reads a line. Never fails: what is no message has the kind MCP_BAD. */
void mcp_message_read(const char *text, size_t len, mcp_message *out);
void mcp_message_clear(mcp_message *message);

/** The error of a method that has no result. */
typedef struct mcp_fault {
    int code;     /* 0: none */
    char *text;   /* owned */
    json_t *data; /* owned; NULL: none */
} mcp_fault;

/** Sets *fault and returns NULL. */
json_t *mcp_refuse(mcp_fault *fault, int code, const char *fmt, ...) PFC_PRINTF(3, 4);

/* ---- versions ---- */

typedef struct mcp_version {
    const char *name;
    bool modern;  /* stated by every request, no handshake */
    bool null_id; /* an unknown id is null in an error; later versions leave the member out */
} mcp_version;

/* ---- tools.c and the tables of tools_*.c ---- */

typedef enum mcp_kind {
    MCP_TEXT,    /* at most `high` bytes, 0: 200 */
    MCP_PROJECT, /* a project's name; where it is absent that of PERFCI_PROJECT or perfci.yaml */
    MCP_COMMIT,  /* a full commit id */
    MCP_WORD,    /* one of `words` */
    MCP_INTEGER, /* low..high */
    MCP_NUMBER,  /* low..high */
    MCP_TRUTH,   /* true or false */
    MCP_NUMBERS  /* an array of at most `high` finite numbers */
} mcp_kind;

/** An argument of a tool. It goes where the tool's path or command has its name in braces, else
 * into the query (GET), the body (other methods) or an option --NAME=VALUE (commands). A table ends
 * with an empty row. */
typedef struct mcp_argument {
    const char *name;
    const char *help; /* one sentence, with the unit */
    mcp_kind kind;
    bool required;
    const char *const *words; /* of MCP_WORD; NULL-terminated */
    double low, high;
    const char *as; /* the member of the body, with a dot for a member of an object; NULL: name */
} mcp_argument;

/** One request of the HTTP API. */
typedef struct mcp_request {
    const char *member; /* of `data` that takes the answer; NULL: the answer is `data` */
    const char *method;
    const char *path;   /* "/api/v1/alerts/{id}" */
    const char *answer; /* the schema of the answer in openapi.json; NULL: none is stated */
} mcp_request;

typedef struct mcp_tool {
    const char *name, *title;
    const char *help; /* what it answers, for the assistant */
    const mcp_argument *arguments;
    mcp_request requests[4];    /* the arguments that no path names go to the first */
    const char *body;           /* JSON object with fixed members of the body; NULL: none */
    const char *const *command; /* words of a subcommand, NULL-terminated; NULL: requests */
    char *(*input)(const json_t *arguments); /* standard input of the command; NULL: none */
    double timeout_s;                        /* of the command */
    bool of_service;                         /* the command takes --url and --data */
    bool own_text; /* every text in the answer is perfci's own: nothing is quoted */
    bool writes;   /* only with --allow-write */
    bool destroys; /* of a writing one: replaces what is stored */
    bool repeats;  /* of a writing one: a repeated call changes nothing more */
} mcp_tool;

extern const mcp_tool mcp_tools_read[], mcp_tools_local[], mcp_tools_write[];
extern const size_t mcp_tools_read_len, mcp_tools_local_len, mcp_tools_write_len;

/** The tool number `at` in the order of the list, writing ones last; NULL past the last one. */
const mcp_tool *mcp_tool_at(size_t at, bool allow_write);
/** The tool of that name, also a writing one; NULL: none. */
const mcp_tool *mcp_tool_find(const char *name);
/** {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}. */
json_t *mcp_tool_json(const mcp_tool *tool);

/* ---- arguments.c ---- */

/** JSON Schema of the arguments. */
json_t *mcp_input_schema(const mcp_tool *tool);
/** Checks the arguments against the table. `arguments` may be NULL: none. PFC_EINVAL names the
 * argument, what was expected and what came. */
pfc_code mcp_arguments_check(const mcp_tool *tool, const json_t *arguments,
                             pfc_err *err) PFC_MUSTCHECK;
/** The value as text for a path, a query or an option; caller frees. */
char *mcp_argument_text(const json_t *value);
/** `template` with each {name} replaced by the argument, percent-encoded when `escape`. Sets
 * used[i] for each argument of the tool that it names. PFC_EINVAL: an argument is missing. */
pfc_code mcp_fill(const mcp_tool *tool, const json_t *arguments, const char *template, bool escape,
                  bool *used, char **out, pfc_err *err) PFC_MUSTCHECK;
#define MCP_MAX_ARGUMENTS 24

/* ---- output.c ---- */

/** JSON Schema of structuredContent. */
json_t *mcp_output_schema(const mcp_tool *tool);
/** {"notice", "quoted", "data"}: `data` without control characters and hidden text, and the paths
 * of the text in it that is quoted from authors. Borrows `data`. */
json_t *mcp_output(const mcp_tool *tool, const json_t *data);
/** `text` in place, without control characters, hidden characters and characters that reorder text.
 */
void mcp_plain(char *text);

/* The API's answers, for output schemas, and the members whose text is perfci's own; written by
 * output_schemas.py. */
extern const unsigned char mcp_schemas_json[];
extern const size_t mcp_schemas_json_len;

/* ---- call.c ---- */

typedef struct mcp_settings {
    const char *url, *data; /* of the service; NULL: the usual settings */
    const char *project;    /* for tools without the argument; NULL: the usual settings */
    bool allow_write;
    size_t page;    /* tools in one answer of tools/list, at least 1 */
    size_t max_kib; /* of a tool's answer */
    double grace_s; /* that a running tool has after the end of the input */
} mcp_settings;

/** Runs a tool. `cancelled` is asked while it runs; true ends it with PFC_ECONFLICT. On PFC_OK *out
 * is the structured content; caller decrefs. Errors have a sentence and mostly a hint. */
pfc_code mcp_call(const mcp_settings *settings, const mcp_tool *tool, const json_t *arguments,
                  bool (*cancelled)(void *arg), void *arg, json_t **out,
                  pfc_err *err) PFC_MUSTCHECK;

/* ---- answer.c: methods ---- */

/** Runs a tool for answer.c: mcp_call, or a test's own function. */
typedef pfc_code (*mcp_runs)(void *arg, const mcp_tool *tool, const json_t *arguments, json_t **out,
                             pfc_err *err);

typedef struct mcp_answerer {
    const mcp_settings *settings;
    const mcp_version *session; /* of the handshake; NULL: there was none */
    mcp_runs run;
    void *run_arg;
} mcp_answerer;

/** The response to a request, or to a message of kind MCP_BAD; caller decrefs. NULL: a
 * notification or a response gets none. */
json_t *mcp_answer(mcp_answerer *answerer, const mcp_message *message);

/* ---- prompts.c, resources.c ---- */

json_t *mcp_prompts_list(void);
json_t *mcp_prompts_get(const json_t *params, mcp_fault *fault);
json_t *mcp_resources_list(void);
json_t *mcp_resource_templates_list(void);
json_t *mcp_resources_read(mcp_answerer *answerer, const json_t *params, mcp_fault *fault);

#endif
