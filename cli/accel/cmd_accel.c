/*
 * perfci accel: kernels on the simulated accelerator. `run` takes one problem from flags or many
 * from a file of JSON lines, whose members have the flags' names; `chips` lists the chips,
 * `counters` the counters.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/accel/accel.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "core/base/parse.h"

#define LINE_MAX_BYTES 65536

typedef struct command {
    accel_request req;
    char *batch;    /* of argv; NULL: one case */
    char *trace;    /* of argv; NULL: no trace */
    char *text;     /* of argv: where the program goes as text; NULL: nowhere */
    char *document; /* of argv: where the run document goes; NULL: nowhere */
    int64_t every;
    bool detail;
    char *dump; /* of argv: a pass; NULL: run */
} command;

enum {
    KEY_M = 1,
    KEY_LAST = KEY_M + ACCEL_DIMS - 1,
    KEY_CHIP,
    KEY_DTYPE,
    KEY_MODE,
    KEY_ARRAY,
    KEY_MEMORY,
    KEY_SCHEDULE,
    KEY_SCOPE,
    KEY_COPIES,
    KEY_SYNC,
    KEY_WAIT
};

/* A dimension of the problem, at its place in accel_dims[]. */
#define DIM(i, name, text)                                                                         \
    PFC_OPT_INTEGER(name, "N", command, req.dim[i], 0, PFC_ACCEL_MAX_DIM, text, .key = KEY_M + (i))

static const pfc_option run_options[] = {
    DIM(0, "m", "gemm: rows of A and C"),
    DIM(1, "n", "gemm: columns of B and C"),
    DIM(2, "k", "gemm: columns of A, rows of B"),
    DIM(3, "h", "attention: heads"),
    DIM(4, "s", "attention: sequence length"),
    DIM(5, "d", "attention: head dimension"),
    PFC_OPT_INTEGER("causal", "0|1", command, req.dim[6], 0, 1, "attention: only earlier positions",
                    .key = KEY_M + 6, .optional = true),
    DIM(7, "rows", "norms, softmax: rows"),
    DIM(8, "cols", "norms, softmax: elements a row"),
    DIM(9, "q", "attention: queries, the last of s (default: s)"),
    DIM(10, "kv", "attention: heads of keys and values, shared by groups of heads (default: h)"),
    DIM(11, "act", "gemm_bias_act: 0 none, 1 ReLU, 2 GELU, 3 SiLU (default: 0)"),
    PFC_OPT_OWN(KEY_CHIP, "chip", "NAME|FILE", "Built-in chip or chip file",
                .fallback = "the first chip"),
    PFC_OPT_OWN(KEY_DTYPE, "dtype", "T", "int8, bf16 or f32", .fallback = "bf16"),
    PFC_OPT_OWN(KEY_MODE, "mode", "M",
                "scalesim-ws, scalesim-os, scalesim-is, onnxim-ws or pipelined-ws",
                .fallback = "the chip's"),
    PFC_OPT_OWN(KEY_ARRAY, "array", "RxC", "Size of the array", .fallback = "the chip's"),
    PFC_OPT_OWN(KEY_MEMORY, "memory", "ideal|chip", "Whether transfers take time",
                .fallback = "chip, in the modes of other simulators ideal"),
    PFC_OPT_OWN(KEY_SCHEDULE, "schedule", "FILE", "gemm: tiles, loop order and buffers from a file",
                .fallback = "the compiler's choice"),
    PFC_OPT_OWN(KEY_SCOPE, "scope", "kernel|region",
                "What is timed: the kernel alone, or copies and launches as the host sees them",
                .fallback = "kernel"),
    PFC_OPT_INTEGER("launches", "N", command, req.launches, 1, PFC_ACCEL_MAX_LAUNCHES,
                    "Launches in the region", .fallback = "1"),
    PFC_OPT_OWN(KEY_COPIES, "copies", "C",
                "Copies of the region: once, each (for every launch, in order) or overlapped (for "
                "every launch, beside the kernels)",
                .fallback = "once"),
    PFC_OPT_OWN(KEY_SYNC, "sync", "end|each", "When the host waits: at the end, or for each launch",
                .fallback = "end"),
    PFC_OPT_OWN(KEY_WAIT, "wait", "irq|poll", "How the host waits: interrupt or polling",
                .fallback = "irq"),
    PFC_OPT_TEXT("dump-pca", "FILE", command, text,
                 "Write the command stream as text, which runs as FILE.pca; - is standard output"),
    PFC_OPT_TEXT("document", "FILE", command, document,
                 "Write the run as a run document, which perfci explain, compare and push take; - "
                 "is standard output, in place of the answer"),
    PFC_OPT_INTEGER("seed", "N", command, req.seed, 0, INT64_MAX, "Of the input", .fallback = "0"),
    PFC_OPT_FLAG("timing-only", command, req.timing_only, "Count cycles, compute no result"),
    PFC_OPT_TEXT("trace", "FILE", command, trace,
                 "Write a trace of the run: Perfetto JSON when FILE ends in .json, else binary"),
    PFC_OPT_INTEGER("trace-every", "N", command, every, 1, INT64_MAX,
                    "Cycles between samples of the units' states in the trace", .fallback = "1000"),
    PFC_OPT_FLAG("detail", command, detail,
                 "With --json: values by queue, channel and bank, and histograms"),
    PFC_OPT_TEXT("dump-after", "PASS", command, dump,
                 "Print the program after a pass of the compiler and run nothing: choose, tile, "
                 "place, schedule, semaphores or check"),
    PFC_OPT_TEXT("batch", "FILE", command, batch,
                 "A case a line, JSON, answered in order as JSON lines; - is standard input"),
    { 0 },
};

static const char run_doc[] =
    "Runs a kernel on the simulated accelerator: gemm, attention, layernorm, rmsnorm, softmax, "
    "gemm_bias_act, residual_rmsnorm, or a kernel in text, FILE.pca."
    "\vThe same input always takes the same cycles and gives the same digest (of result and "
    "counters). Results are computed for real up to 2^31 multiply-adds; larger problems are timed "
    "only (\"functional\": false). In a batch, flags are the defaults of every line, and a line "
    "that "
    "cannot be run is answered with {\"error\": ...}; the exit status is 2 then.\n"
    "\n"
    "With --scope region, time, limiter and what-if are those of a program on the host: copies to "
    "the device, launches, copies back, and its waits, in simulated time.\n"
    "\n"
    "Examples:\n"
    "  perfci accel run gemm --m 512 --n 512 --k 512\n"
    "  perfci accel run gemm --m 64 --n 64 --k 64 --scope region --launches 100 --sync each\n"
    "  perfci accel run attention --h 8 --s 1024 --d 64 --causal --chip pfc-server --json\n"
    "  perfci accel run gemm --m 64 --n 64 --k 64 --mode scalesim-ws --array 8x8\n"
    "  perfci accel run gemm --m 64 --n 64 --k 64 --trace gemm.json\n"
    "  perfci accel run attention --h 32 --kv 8 --s 4096 --q 1 --d 128 --chip pfc-server\n"
    "  perfci accel run gemm --m 64 --n 64 --k 64 --dump-after schedule\n"
    "  perfci accel run gemm --m 256 --n 256 --k 256 --schedule tiles.schedule\n"
    "  perfci accel run tile.pca --chip pfc-edge --json\n"
    "  perfci accel run gemm --m 256 --n 256 --k 256 --document -\n"
    "  perfci accel run --batch cases.jsonl\n";

static const char accel_usage[] = "Usage: perfci accel run OP|FILE.pca [OPTION...]\n"
                                  "       perfci accel chips [--json]\n"
                                  "       perfci accel counters [--json]\n"
                                  "       perfci accel grade-limiter [OPTION...]\n"
                                  "       perfci accel grade-delta [OPTION...]\n"
                                  "       perfci accel grade-guidance [OPTION...]\n\n";
static const char accel_doc[] = "The simulated accelerator: exact cycles, bytes and results.\n"
                                "\v\n"
                                "Examples:\n"
                                "  perfci accel run gemm --m 512 --n 512 --k 512\n"
                                "  perfci accel chips\n";

/* ---- running ---- */

static pfc_code run_plan(const command *cmd, accel_plan *p, accel_outcome *out, pfc_err *err)
{
    const pfc_accel_trace_opts trace = { .path = cmd->trace,
                                         .kernel = accel_plan_name(p),
                                         .every = (uint64_t)cmd->every,
                                         .correlation = 1 };
    const pfc_accel_trace_opts *const traced = cmd->trace ? &trace : NULL;
    pfc_accel_case *c = NULL;
    pfc_code code = accel_own_case(p, &c, err);

    memset(out, 0, sizeof(*out));
    if (!code && cmd->text)
        code = accel_own_dump(p, c, cmd->text, err);
    if (!code)
        code = pfc_accel_case_run_detail(c, &out->result, cmd->detail ? &out->detail : NULL,
                                         p->has_region ? NULL : traced, err);
    out->detailed = cmd->detail;
    if (!code && p->text && p->has_problem && out->result.functional) {
        code = pfc_accel_case_check(c, err);
        out->checked = !code;
    }
    p->region.trace = traced;
    if (!code && p->has_region)
        code = pfc_accel_case_region(c, &p->region, &out->region, err);
    else if (!code)
        code = pfc_accel_case_whatif(c, &out->whatif, err);
    if (!code && p->has_region)
        out->whatif = out->region.whatif;
    p->region.trace = NULL;
    if (!code && cmd->document)
        code = accel_document_write(p, c, &out->result, cmd->document, err);
    pfc_accel_case_free(c);
    return code;
}

/* One line of a batch; false when it could not be run. */
static bool batch_line(const command *cmd, const char *line, size_t len)
{
    accel_request r = cmd->req;
    accel_plan p = { 0 };
    accel_outcome out;
    pfc_err err = { 0 };
    json_error_t why;
    json_t *root = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
    pfc_code code;

    if (!root)
        code = pfc_err_set(&err, PFC_EINVAL, "not JSON: %.120s", why.text);
    else
        code = accel_request_json(&r, root, &err);
    json_decref(root);
    if (!code)
        code = accel_plan_of(&r, &p, &err);
    if (!code)
        code = run_plan(cmd, &p, &out, &err);
    if (code)
        pfc_cli_print_json(json_pack("{s:s}", "error", err.msg));
    else
        pfc_cli_print_json(accel_answer_json(&p, &out));
    accel_plan_clear(&p);
    return code == PFC_OK;
}

static bool blank(const char *line)
{
    return line[strspn(line, " \t\r\n")] == '\0';
}

static int run_batch(const pfc_cli *cli, const command *cmd)
{
    const bool is_stdin = strcmp(cmd->batch, "-") == 0;
    FILE *f = is_stdin ? stdin : fopen(cmd->batch, "re");
    char *line = NULL;
    size_t cap = 0;
    size_t number = 0;
    size_t bad = 0;
    ssize_t len;

    if (!f) {
        pfc_cli_warn(cli, "%s: cannot open: %s", cmd->batch, strerror(errno));
        return PFC_EXIT_USAGE;
    }
    while ((len = getline(&line, &cap, f)) >= 0) {
        number++;
        if (blank(line))
            continue;
        if (len > LINE_MAX_BYTES) {
            pfc_cli_print_json(json_pack("{s:s}", "error", "the line is longer than 64 KiB"));
            bad++;
        } else if (!batch_line(cmd, line, (size_t)len)) {
            pfc_cli_warn(cli, "line %zu could not be run", number);
            bad++;
        }
    }
    free(line);
    if (!is_stdin)
        fclose(f);
    return bad ? PFC_EXIT_USAGE : PFC_EXIT_OK;
}

/* The program after a pass, as text. */
#define DUMP_MAX_BYTES (1u << 30)
static int dump_pass(pfc_cli *cli, const command *cmd)
{
    pfc_buf text;
    pfc_accel_compile_opts opts = { .dump = &text };
    accel_plan p = { 0 };
    pfc_accel_program *program = NULL;
    pfc_err err = { 0 };
    pfc_code code = accel_plan_of(&cmd->req, &p, &err);

    pfc_buf_init(&text, DUMP_MAX_BYTES);
    opts.ideal_memory = p.opts.ideal_memory;
    opts.gemm_tiles = p.opts.gemm_tiles;
    if (!code && p.text)
        code = pfc_err_set(&err, PFC_EINVAL,
                           "a kernel in text passes no compiler: expected no "
                           "--dump-after");
    if (!code)
        code = pfc_accel_pass_parse(cmd->dump, &opts.dump_after, &err);
    if (!code)
        code = pfc_accel_compile(&p.problem, &p.chip, p.mode, &opts, &program, &err);
    if (!code)
        code = pfc_buf_check(&text, "the program", &err);
    if (!code)
        pfc_out("%s", pfc_buf_text(&text));
    pfc_accel_program_free(program);
    accel_plan_clear(&p);
    pfc_buf_clear(&text);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

static error_t parse_run(int key, char *arg, struct argp_state *state)
{
    command *cmd = state->input;
    pfc_err err = { 0 };
    const char *name = NULL;

    if (key >= KEY_M && key <= KEY_LAST) {
        if (!arg)
            cmd->req.dim[key - KEY_M] = 1; /* --causal alone */
        cmd->req.given[key - KEY_M] = true;
        return 0;
    }
    switch (key) {
    case KEY_CHIP:
        name = "chip";
        break;
    case KEY_DTYPE:
        name = "dtype";
        break;
    case KEY_MODE:
        name = "mode";
        break;
    case KEY_ARRAY:
        name = "array";
        break;
    case KEY_MEMORY:
        name = "memory";
        break;
    case KEY_SCHEDULE:
        name = "schedule";
        break;
    case KEY_SCOPE:
        name = "scope";
        break;
    case KEY_COPIES:
        name = "copies";
        break;
    case KEY_SYNC:
        name = "sync";
        break;
    case KEY_WAIT:
        name = "wait";
        break;
    case ARGP_KEY_ARG:
        if (*cmd->req.op)
            pfc_cli_usage(state, "expected one operation, got \"%s\" and \"%s\"", cmd->req.op, arg);
        name = "op";
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (accel_request_text(&cmd->req, name, arg, &err))
        pfc_cli_usage(state, "%s", err.msg);
    return 0;
}

static int accel_run(pfc_cli *cli, int argc, char **argv);

static const pfc_subcommand part_run = { .name = "run",
                                         .summary = "runs one kernel, or each kernel of a file",
                                         .run = accel_run,
                                         .options = run_options,
                                         .parse = parse_run,
                                         .args_doc = "OP|FILE.pca",
                                         .doc = run_doc };

static int accel_run(pfc_cli *cli, int argc, char **argv)
{
    command cmd = { .every = 1000 };
    accel_plan p = { 0 };
    accel_outcome out;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &part_run, argc, argv, &cmd);
    if (cmd.batch && (cmd.trace || cmd.text || cmd.document)) {
        (void)pfc_err_set(&err, PFC_EINVAL, "--%s takes one case, not a batch",
                          cmd.trace  ? "trace"
                          : cmd.text ? "dump-pca"
                                     : "document");
        return pfc_cli_fail(cli, &err);
    }
    if (cmd.batch)
        return run_batch(cli, &cmd);
    if (cmd.dump)
        return dump_pass(cli, &cmd);
    code = accel_plan_of(&cmd.req, &p, &err);
    if (!code)
        code = run_plan(&cmd, &p, &out, &err);
    if (!code && pfc_streq(cmd.document, "-"))
        ; /* the document is the answer */
    else if (!code && cli->json)
        pfc_cli_print_json(accel_answer_json(&p, &out));
    else if (!code)
        accel_answer_print(cli, &p, &out);
    accel_plan_clear(&p);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

static const pfc_subcommand *const parts[] = { &part_run,
                                               &accel_part_chips,
                                               &accel_part_counters,
                                               &accel_part_grade_limiter,
                                               &accel_part_grade_delta,
                                               &accel_part_grade_guidance,
                                               NULL };

static int cmd_accel(pfc_cli *cli, int argc, char **argv)
{
    pfc_err err = { 0 };
    const char *const whole = cli->name;
    char *name;
    int status;

    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0)) {
        pfc_out("%s%.*s%s", accel_usage, (int)strcspn(accel_doc, "\v"), accel_doc,
                strchr(accel_doc, '\v') + 1);
        return PFC_EXIT_OK;
    }
    for (size_t i = 0; argc >= 2 && parts[i]; i++) {
        if (strcmp(parts[i]->name, argv[1]) != 0)
            continue;
        name = pfc_format("%s %s", cli->name, argv[1]);
        cli->name = argv[1] = name;
        status = parts[i]->run(cli, argc - 1, argv + 1);
        cli->name = whole; /* a failure to write is reported under it after the command */
        free(name);
        return status;
    }
    if (argc >= 2)
        (void)pfc_err_set(&err, PFC_EINVAL,
                          "expected \"run\", \"chips\", \"counters\", \"grade-limiter\", "
                          "\"grade-delta\" or \"grade-guidance\", got "
                          "\"%.40s\"",
                          argv[1]);
    else
        (void)pfc_err_set(
            &err, PFC_EINVAL,
            "missing subcommand: \"run\", \"chips\", \"counters\", \"grade-limiter\", "
            "\"grade-delta\" or \"grade-guidance\"");
    return pfc_cli_fail(cli, &err);
}

const pfc_subcommand pfc_cmd_accel = {
    .name = "accel",
    .summary = "kernels on the simulated accelerator: exact cycles",
    .run = cmd_accel,
    .doc = accel_doc,
    .parts = parts,
};
