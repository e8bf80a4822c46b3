/*
 * perfci accel: kernels on the simulated accelerator. `run` takes one problem from flags or many
 * from a file of JSON lines, whose members have the flags' names; `chips` lists the chips.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "core/base/parse.h"
#include "kernels/accel/ops/ops.h"

#define LINE_MAX_BYTES 65536
#define DIMS           9 /* m n k h s d causal rows cols */

static const char *const dims[DIMS] = { "m", "n", "k", "h", "s", "d", "causal", "rows", "cols" };

/* One case as flags or members say it. */
typedef struct request {
    char op[16];
    char chip[512];
    char dtype[8];
    char mode[16];
    char array[24];
    char memory[8];
    int64_t dim[DIMS];
    bool given[DIMS];
    int64_t seed;
    bool timing_only;
} request;

typedef struct command {
    request req;
    char *batch; /* of argv; NULL: one case */
} command;

enum {
    KEY_M = 1,
    KEY_LAST = KEY_M + DIMS - 1,
    KEY_CHIP,
    KEY_DTYPE,
    KEY_MODE,
    KEY_ARRAY,
    KEY_MEMORY
};

/* A dimension of the problem, at its place in dims[]. */
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
    PFC_OPT_OWN(KEY_CHIP, "chip", "NAME|FILE", "Built-in chip or chip file",
                .fallback = "the first chip"),
    PFC_OPT_OWN(KEY_DTYPE, "dtype", "T", "int8, bf16 or f32", .fallback = "bf16"),
    PFC_OPT_OWN(KEY_MODE, "mode", "M",
                "scalesim-ws, scalesim-os, scalesim-is, onnxim-ws or pipelined-ws",
                .fallback = "the chip's"),
    PFC_OPT_OWN(KEY_ARRAY, "array", "RxC", "Size of the array", .fallback = "the chip's"),
    PFC_OPT_OWN(KEY_MEMORY, "memory", "ideal|chip", "Whether transfers take time",
                .fallback = "chip, in the modes of other simulators ideal"),
    PFC_OPT_INTEGER("seed", "N", command, req.seed, 0, INT64_MAX, "Of the input", .fallback = "0"),
    PFC_OPT_FLAG("timing-only", command, req.timing_only, "Count cycles, compute no result"),
    PFC_OPT_TEXT("batch", "FILE", command, batch,
                 "A case a line, JSON, answered in order as JSON lines; - is standard input"),
    { 0 },
};

static const char run_doc[] =
    "Runs a kernel on the simulated accelerator: gemm, attention, layernorm, rmsnorm, softmax."
    "\vThe same input always takes the same cycles and gives the same digest (of result and "
    "counters). Results are computed for real up to 2^31 multiply-adds; larger problems are timed "
    "only (\"functional\": false). In a batch, flags are the defaults of every line, and a line "
    "that "
    "cannot be run is answered with {\"error\": ...}; the exit status is 2 then.\n"
    "\n"
    "Examples:\n"
    "  perfci accel run gemm --m 512 --n 512 --k 512\n"
    "  perfci accel run attention --h 8 --s 1024 --d 64 --causal --chip pfc-server --json\n"
    "  perfci accel run gemm --m 64 --n 64 --k 64 --mode scalesim-ws --array 8x8\n"
    "  perfci accel run --batch cases.jsonl\n";

static const char chips_doc[] = "Lists the built-in chips."
                                "\vExamples:\n"
                                "  perfci accel chips\n"
                                "  perfci accel chips --json\n";

static const char accel_usage[] = "Usage: perfci accel run OP [OPTION...]\n"
                                  "       perfci accel chips [--json]\n\n";
static const char accel_doc[] = "The simulated accelerator: exact cycles, bytes and results.\n"
                                "\v\n"
                                "Examples:\n"
                                "  perfci accel run gemm --m 512 --n 512 --k 512\n"
                                "  perfci accel chips\n";

/* ---- requests ---- */

static pfc_code copy_text(char *out, size_t cap, const char *name, const char *text, pfc_err *err)
{
    if (strlen(text) >= cap)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected at most %zu bytes, got %zu", name,
                           cap - 1, strlen(text));
    snprintf(out, cap, "%s", text);
    return PFC_OK;
}

/* A flag or member that is text; PFC_ENOTFOUND when there is none of that name. */
static pfc_code set_text(request *r, const char *name, const char *text, pfc_err *err)
{
    const struct {
        const char *name;
        char *out;
        size_t cap;
    } fields[] = {
        { "op", r->op, sizeof(r->op) },          { "chip", r->chip, sizeof(r->chip) },
        { "dtype", r->dtype, sizeof(r->dtype) }, { "mode", r->mode, sizeof(r->mode) },
        { "array", r->array, sizeof(r->array) }, { "memory", r->memory, sizeof(r->memory) },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(fields); i++)
        if (strcmp(fields[i].name, name) == 0)
            return copy_text(fields[i].out, fields[i].cap, name, text, err);
    return pfc_err_set(err, PFC_ENOTFOUND, "there is no member \"%.40s\" that is text", name);
}

static pfc_code set_number(request *r, const char *name, int64_t value, pfc_err *err)
{
    if (strcmp(name, "seed") == 0 && value >= 0) {
        r->seed = value;
        return PFC_OK;
    }
    for (size_t i = 0; i < DIMS; i++) {
        if (strcmp(dims[i], name) != 0)
            continue;
        r->dim[i] = value;
        r->given[i] = true;
        return PFC_OK;
    }
    return pfc_err_set(err, PFC_ENOTFOUND, "there is no member \"%.40s\" that is a number", name);
}

static pfc_code from_json(request *r, const json_t *root, pfc_err *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(root))
        return pfc_err_set(err, PFC_EINVAL, "expected a JSON object");
    json_object_foreach((json_t *)(uintptr_t)root, name, value)
    {
        pfc_code code;

        if (json_is_string(value))
            code = set_text(r, name, json_string_value(value), err);
        else if (json_is_integer(value))
            code = set_number(r, name, json_integer_value(value), err);
        else if (json_is_boolean(value) && strcmp(name, "causal") == 0)
            code = set_number(r, name, json_is_true(value), err);
        else if (json_is_boolean(value) &&
                 (strcmp(name, "timing-only") == 0 || strcmp(name, "timing_only") == 0)) {
            r->timing_only = json_is_true(value);
            code = PFC_OK;
        } else
            code = pfc_err_set(err, PFC_EINVAL, "%.40s: expected text or a whole number", name);
        if (code)
            return code;
    }
    return PFC_OK;
}

static pfc_code parse_array(const char *text, pfc_accel_chip *chip, pfc_err *err)
{
    const char *x = strchr(text, 'x');
    char *rows;
    int64_t r = 0;
    int64_t c = 0;
    pfc_code code;

    if (!x)
        return pfc_err_set(err, PFC_EINVAL, "array: expected ROWSxCOLUMNS, got \"%s\"", text);
    rows = pfc_strndup(text, (size_t)(x - text));
    code = pfc_parse_i64(rows, 1, 1024, "array: rows", &r, err);
    free(rows);
    if (!code)
        code = pfc_parse_i64(x + 1, 1, 1024, "array: columns", &c, err);
    return code ? code : pfc_accel_chip_set_array(chip, r, c, err);
}

/* The parameters of the operation, all of them and no other. */
static pfc_code fill_params(const request *r, pfc_accel_problem *p, pfc_err *err)
{
    bool used[DIMS] = { false };

    for (size_t i = 0; pfc_accel_param_name(p->kernel, i); i++) {
        const char *name = pfc_accel_param_name(p->kernel, i);
        size_t at = 0;

        while (strcmp(dims[at], name) != 0)
            at++;
        used[at] = true;
        if (!r->given[at] && strcmp(name, "causal") != 0)
            return pfc_err_set(err, PFC_EINVAL, "%s: --%s is missing", r->op, name);
        p->p[i] = r->dim[at];
    }
    for (size_t i = 0; i < DIMS; i++)
        if (r->given[i] && !used[i])
            return pfc_err_set(err, PFC_EINVAL, "%s takes no --%s", r->op, dims[i]);
    return PFC_OK;
}

typedef struct plan {
    pfc_accel_problem problem;
    pfc_accel_chip chip;
    pfc_accel_mode mode;
    pfc_accel_case_opts opts;
} plan;

static pfc_code plan_of(const request *r, plan *out, pfc_err *err)
{
    pfc_code code;

    memset(out, 0, sizeof(*out));
    if (!*r->op)
        return pfc_err_set(err, PFC_EINVAL,
                           "an operation is missing: gemm, attention, layernorm, rmsnorm, softmax");
    code = pfc_accel_kernel_parse(r->op, &out->problem.kernel, err);
    if (!code)
        code = pfc_accel_dtype_parse(*r->dtype ? r->dtype : "bf16", &out->problem.dtype, err);
    if (!code)
        code = pfc_accel_chip_load(*r->chip ? r->chip : pfc_accel_chip_name(0), &out->chip, err);
    if (code)
        return code;
    out->mode = out->chip.mode;
    if (*r->mode)
        code = pfc_accel_mode_parse(r->mode, &out->mode, err);
    if (!code && *r->array)
        code = parse_array(r->array, &out->chip, err);
    if (!code)
        code = fill_params(r, &out->problem, err);
    if (code)
        return code;
    if (*r->memory && strcmp(r->memory, "ideal") != 0 && strcmp(r->memory, "chip") != 0)
        return pfc_err_set(err, PFC_EINVAL, "memory: expected ideal or chip, got \"%s\"",
                           r->memory);
    if (strcmp(r->memory, "chip") == 0 && pfc_accel_mode_ideal_memory(out->mode))
        return pfc_err_set(err, PFC_EINVAL, "memory: %s has ideal memory", r->mode);
    out->opts = (pfc_accel_case_opts){ .timing_only = r->timing_only,
                                       .ideal_memory = strcmp(r->memory, "ideal") == 0,
                                       .seed = (uint64_t)r->seed };
    return PFC_OK;
}

/* ---- running ---- */

static pfc_code run_plan(const plan *p, pfc_accel_result *out, pfc_accel_whatif *whatif,
                         pfc_err *err)
{
    pfc_accel_case *c = NULL;
    pfc_code code = pfc_accel_case_new(&c, &p->problem, &p->chip, p->mode, &p->opts, err);

    if (!code)
        code = pfc_accel_case_run(c, out, err);
    if (!code)
        code = pfc_accel_case_whatif(c, whatif, err);
    pfc_accel_case_free(c);
    return code;
}

static json_t *answer_json(const plan *p, const pfc_accel_result *r, const pfc_accel_whatif *whatif)
{
    json_t *counters = json_object();
    json_t *without = json_object();
    char array[48];

    snprintf(array, sizeof(array), "%llux%llu", (unsigned long long)p->chip.array_rows,
             (unsigned long long)p->chip.array_cols);
    for (pfc_accel_counter c = 0; c < PFC_ACCEL_COUNTERS_LEN; c++)
        json_object_set_new(counters, pfc_accel_counter_name(c),
                            json_integer((json_int_t)r->counters.v[c]));
    json_object_set_new(counters, "dram_bytes",
                        json_integer((json_int_t)(r->counters.v[PFC_ACCEL_HBM_READ] +
                                                  r->counters.v[PFC_ACCEL_HBM_WRITE])));
    for (pfc_accel_resource i = 0; i < PFC_ACCEL_RESOURCES_LEN; i++)
        json_object_set_new(without, pfc_accel_resource_name(i),
                            json_integer((json_int_t)whatif->cycles[i]));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:f, s:f, s:s, s:o, s:b, s:I, s:o, s:s, s:s, s:s}", "op",
        pfc_accel_kernel_name(p->problem.kernel), "chip", p->chip.name, "dtype",
        pfc_accel_dtype_name(p->problem.dtype), "mode", pfc_accel_mode_name(p->mode), "array",
        array, "cycles", (json_int_t)r->cycles, "time_ns", r->time_ns, "utilization",
        r->utilization, "limiter", pfc_accel_resource_name(whatif->limiter), "whatif", without,
        "functional", r->functional, "ticks", (json_int_t)r->ticks, "counters", counters, "digest",
        r->digest, "stream_digest", r->stream_digest, "chip_hash", p->chip.hash, "simulator",
        PFC_ACCEL_VERSION);
}

static void print_answer(const pfc_cli *cli, const plan *p, const pfc_accel_result *r,
                         const pfc_accel_whatif *whatif)
{
    static const pfc_table_col columns[] = { { "WHAT", false },
                                             { "VALUE", true },
                                             { "UNIT", false } };
    pfc_table *table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));

    pfc_table_row(table);
    pfc_table_set(table, 0, "time");
    pfc_table_setf(table, 1, "%.0f", r->time_ns);
    pfc_table_set(table, 2, "ns");
    pfc_table_row(table);
    pfc_table_set(table, 0, "utilization");
    pfc_table_setf(table, 1, "%.2f", r->utilization * 100.0);
    pfc_table_set(table, 2,
                  p->problem.kernel <= PFC_ACCEL_ATTENTION ? "% of the array" : "% of the lanes");
    if (r->cycles) {
        pfc_table_row(table);
        pfc_table_set(table, 0, "ceiling reached");
        pfc_table_setf(table, 1, "%.2f", 100.0 * (double)r->ceiling_cycles / (double)r->cycles);
        pfc_table_setf(table, 2, "%% of %llu cycles", (unsigned long long)r->ceiling_cycles);
    }
    pfc_table_row(table);
    pfc_table_set(table, 0, "limiter");
    pfc_table_set(table, 1, pfc_accel_resource_name(whatif->limiter));
    for (pfc_accel_counter c = 0; c < PFC_ACCEL_COUNTERS_LEN; c++) {
        if (r->counters.v[c] == 0)
            continue;
        pfc_table_row(table);
        pfc_table_set(table, 0, pfc_accel_counter_name(c));
        pfc_table_setf(table, 1, "%llu", (unsigned long long)r->counters.v[c]);
        pfc_table_set(table, 2, pfc_accel_counter_unit(c));
    }
    pfc_table_print(table);
    pfc_cli_note(cli, "digest %s, %s%s", r->digest, p->chip.name,
                 r->functional ? "" : ", timing only");
}

/* One line of a batch; false when it could not be run. */
static bool batch_line(const request *base, const char *line, size_t len)
{
    request r = *base;
    plan p;
    pfc_accel_result result;
    pfc_accel_whatif whatif = { 0 };
    pfc_err err = { 0 };
    json_error_t why;
    json_t *root = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
    pfc_code code;

    if (!root)
        code = pfc_err_set(&err, PFC_EINVAL, "not JSON: %.120s", why.text);
    else
        code = from_json(&r, root, &err);
    json_decref(root);
    if (!code)
        code = plan_of(&r, &p, &err);
    if (!code)
        code = run_plan(&p, &result, &whatif, &err);
    if (code)
        pfc_cli_print_json(json_pack("{s:s}", "error", err.msg));
    else
        pfc_cli_print_json(answer_json(&p, &result, &whatif));
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
        } else if (!batch_line(&cmd->req, line, (size_t)len)) {
            pfc_cli_warn(cli, "line %zu could not be run", number);
            bad++;
        }
    }
    free(line);
    if (!is_stdin)
        fclose(f);
    return bad ? PFC_EXIT_USAGE : PFC_EXIT_OK;
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
    case ARGP_KEY_ARG:
        if (*cmd->req.op)
            pfc_cli_usage(state, "expected one operation, got \"%s\" and \"%s\"", cmd->req.op, arg);
        name = "op";
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (set_text(&cmd->req, name, arg, &err))
        pfc_cli_usage(state, "%s", err.msg);
    return 0;
}

static int accel_run(pfc_cli *cli, int argc, char **argv);

static const pfc_subcommand part_run = { .name = "run",
                                         .summary = "runs one kernel, or each kernel of a file",
                                         .run = accel_run,
                                         .options = run_options,
                                         .parse = parse_run,
                                         .args_doc = "OP",
                                         .doc = run_doc };

static int accel_run(pfc_cli *cli, int argc, char **argv)
{
    command cmd = { 0 };
    plan p;
    pfc_accel_result r;
    pfc_accel_whatif whatif = { 0 };
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &part_run, argc, argv, &cmd);
    if (cmd.batch)
        return run_batch(cli, &cmd);
    code = plan_of(&cmd.req, &p, &err);
    if (!code)
        code = run_plan(&p, &r, &whatif, &err);
    if (code)
        return pfc_cli_fail(cli, &err);
    if (cli->json)
        pfc_cli_print_json(answer_json(&p, &r, &whatif));
    else
        print_answer(cli, &p, &r, &whatif);
    return PFC_EXIT_OK;
}

/* ---- chips ---- */

static json_t *chip_json(const pfc_accel_chip *c)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:[I, I], s:I, s:I, s:I, s:I, s:I, s:I}", "name", c->name,
        "about", c->about, "mode", pfc_accel_mode_name(c->mode), "hash", c->hash, "clock_mhz",
        (json_int_t)c->clock_mhz, "array", (json_int_t)c->array_rows, (json_int_t)c->array_cols,
        "vector_lanes", (json_int_t)c->vector_lanes, "sram_bytes", (json_int_t)c->sram_bytes,
        "acc_bytes", (json_int_t)c->acc_bytes, "dma_engines", (json_int_t)c->dma_engines,
        "hbm_bytes", (json_int_t)c->hbm_bytes, "hbm_mbps", (json_int_t)c->hbm_mbps);
}

static int accel_chips(pfc_cli *cli, int argc, char **argv);

static const pfc_subcommand part_chips = {
    .name = "chips", .summary = "the built-in chips", .run = accel_chips, .doc = chips_doc
};

static int accel_chips(pfc_cli *cli, int argc, char **argv)
{
    static const pfc_table_col columns[] = {
        { "CHIP", false }, { "ARRAY", true }, { "MHZ", true }, { "ABOUT", false }
    };
    json_t *list = NULL;
    pfc_table *table = NULL;
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    pfc_cli_parse(cli, &part_chips, argc, argv, NULL);
    if (cli->json)
        list = json_array();
    else
        table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));
    for (size_t i = 0; pfc_accel_chip_name(i); i++) {
        if (pfc_accel_chip_load(pfc_accel_chip_name(i), &chip, &err)) {
            json_decref(list);
            return pfc_cli_fail(cli, &err);
        }
        if (list) {
            json_array_append_new(list, chip_json(&chip));
            continue;
        }
        pfc_table_row(table);
        pfc_table_set(table, 0, chip.name);
        pfc_table_setf(table, 1, "%llux%llu", (unsigned long long)chip.array_rows,
                       (unsigned long long)chip.array_cols);
        pfc_table_setf(table, 2, "%llu", (unsigned long long)chip.clock_mhz);
        pfc_table_set(table, 3, chip.about);
    }
    if (list)
        pfc_cli_print_json(list);
    else
        pfc_table_print(table);
    return PFC_EXIT_OK;
}

static const pfc_subcommand *const parts[] = { &part_run, &part_chips, NULL };

static int cmd_accel(pfc_cli *cli, int argc, char **argv)
{
    pfc_err err = { 0 };
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
        free(name);
        return status;
    }
    if (argc >= 2)
        (void)pfc_err_set(&err, PFC_EINVAL, "expected \"run\" or \"chips\", got \"%.40s\"",
                          argv[1]);
    else
        (void)pfc_err_set(&err, PFC_EINVAL, "missing subcommand: \"run\" or \"chips\"");
    return pfc_cli_fail(cli, &err);
}

const pfc_subcommand pfc_cmd_accel = {
    .name = "accel",
    .summary = "kernels on the simulated accelerator: exact cycles",
    .run = cmd_accel,
    .doc = accel_doc,
    .parts = parts,
};
