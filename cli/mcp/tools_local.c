/* Tools that run a subcommand of this program here: nothing is stored. */
#include <stdlib.h>

#include "cli/mcp/mcp.h"

#define MAX_DIM 65536

static const char *const ops[] = { "gemm",    "attention",     "layernorm",        "rmsnorm",
                                   "softmax", "gemm_bias_act", "residual_rmsnorm", NULL };
static const char *const chips[] = { "pfc-edge", "pfc-server", "pfc-server2",
                                     "pfc-trn",  "pfc-xf",     NULL };
static const char *const dtypes[] = { "int8", "bf16", "f32", NULL };
static const char *const modes[] = { "scalesim-ws", "scalesim-os",  "scalesim-is",
                                     "onnxim-ws",   "pipelined-ws", NULL };
static const char *const memories[] = { "ideal", "chip", NULL };

#define DIM(name_, text)                                                                           \
    {                                                                                              \
        .name = (name_), .kind = MCP_INTEGER, .low = 0, .high = MAX_DIM, .help = (text)            \
    }

static const mcp_argument accel_run[] = {
    { .name = "op", .kind = MCP_WORD, .words = ops, .required = true, .help = "The operation." },
    { .name = "chip",
      .kind = MCP_WORD,
      .words = chips,
      .help = "A built-in chip; without it the first one of accel_chips." },
    { .name = "dtype", .kind = MCP_WORD, .words = dtypes, .help = "The type; without it bf16." },
    { .name = "mode",
      .kind = MCP_WORD,
      .words = modes,
      .help = "How the array works; without it the chip's mode. The first four are those of other "
              "simulators." },
    { .name = "memory",
      .kind = MCP_WORD,
      .words = memories,
      .help = "ideal: transfers take no time." },
    DIM("m", "gemm: rows of A and C."),
    DIM("n", "gemm: columns of B and C."),
    DIM("k", "gemm: columns of A, rows of B."),
    DIM("h", "attention: heads."),
    DIM("s", "attention: sequence length."),
    DIM("d", "attention: head dimension."),
    { .name = "causal",
      .kind = MCP_INTEGER,
      .low = 0,
      .high = 1,
      .help = "attention: 1 looks at earlier positions only." },
    DIM("q", "attention: queries, the last of s; without it s."),
    DIM("kv", "attention: heads of keys and values; without it h."),
    DIM("rows", "norms and softmax: rows."),
    DIM("cols", "norms and softmax: elements of a row."),
    { .name = "act",
      .kind = MCP_INTEGER,
      .low = 0,
      .high = 3,
      .help = "gemm_bias_act: 0 none, 1 ReLU, 2 GELU, 3 SiLU." },
    { .name = "timing_only", .kind = MCP_TRUTH, .help = "Count cycles and compute no result." },
    { .name = "detail",
      .kind = MCP_TRUTH,
      .help = "Values by queue, channel and bank, and histograms, too." },
    { 0 },
};

static const mcp_argument detect[] = {
    { .name = "values",
      .kind = MCP_NUMBERS,
      .high = 10000,
      .required = true,
      .help = "The measurements in the order of history, oldest first." },
    { .name = "unit", .kind = MCP_TEXT, .high = 40, .help = "Their unit, such as ns." },
    { .name = "higher_is_better",
      .kind = MCP_TRUTH,
      .help = "Larger values are better; without it smaller ones are." },
    { 0 },
};

/* The series as `perfci detect` reads it. */
static char *detect_input(const json_t *arguments)
{
    json_t *points = json_array(), *series = json_pack("{s:s}", "id", "values");
    const json_t *values = json_object_get(arguments, "values");
    json_t *unit = json_object_get(arguments, "unit");
    json_t *higher = json_object_get(arguments, "higher_is_better");
    char *text;

    for (size_t i = 0; i < json_array_size(values); i++)
        json_array_append_new(points, json_pack("{s:O}", "v", json_array_get(values, i)));
    if (unit)
        json_object_set(series, "unit", unit);
    if (higher)
        json_object_set(series, "higher_is_better", higher);
    json_object_set_new(series, "points", points);
    text = json_dumps(series, JSON_COMPACT);
    json_decref(series);
    return text;
}

static const char *const accel_run_words[] = { "accel", "run", "{op}", NULL };
static const char *const accel_chips_words[] = { "accel", "chips", NULL };
static const char *const accel_counters_words[] = { "accel", "counters", NULL };
static const char *const detect_words[] = { "detect", NULL };
static const char *const config_words[] = { "config", "show", NULL };
static const char *const doctor_words[] = { "doctor", "--quick", NULL };

const mcp_tool mcp_tools_local[] = {
    { "accel_run", "Run a kernel on the simulated accelerator",
      "Exact cycles, bytes and counters of one kernel on a simulated chip, with the resource that "
      "limits it and the cycles if each resource were free. Give the dimensions that the "
      "operation has.",
      accel_run, .command = accel_run_words, .timeout_s = 60, .own_text = true },
    { "accel_chips", "Chips of the simulated accelerator", "Lists the built-in chips.",
      .command = accel_chips_words, .timeout_s = 10, .own_text = true },
    { "accel_counters", "Counters of the simulated accelerator",
      "Lists the counters with their units and laws.", .command = accel_counters_words,
      .timeout_s = 10, .own_text = true },
    { "detect", "Find change points in numbers",
      "Finds change points in a series that is given: where, how large with an interval, and "
      "whether it is confirmed. Nothing is stored.",
      detect, .command = detect_words, .input = detect_input, .timeout_s = 60 },
    { "config", "Settings",
      "Each setting of this installation, its value and where it comes from. Of secrets only "
      "where they come from.",
      .command = config_words, .timeout_s = 10, .of_service = true },
    { "doctor", "Check this installation",
      "Checks perfci.yaml, service, database, token, runners, counters and disk: each is ok, warn "
      "or fail, with the remedy. Exit status 5 when one failed.",
      .command = doctor_words, .timeout_s = 60, .of_service = true },
};

const size_t mcp_tools_local_len = PFC_ARRAY_LEN(mcp_tools_local);
