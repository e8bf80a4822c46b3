/*
 * perfci explain: which resource a difference goes through, what limits a run, what would help.
 */
#include <string.h>

#include "cli/commands.h"
#include "cli/explain/again.h"
#include "cli/explain/measured.h"

static const char *const formats[] = { "text", "markdown", "html", "json", NULL };

static const pfc_option explain_options[] = {
    PFC_OPT_TEXT("run", "ID", explain_opts, run, "Explain one run (or file, or revision) alone"),
    PFC_OPT_TEXT("alert", "N", explain_opts, alert, "Explain an alert of the service"),
    PFC_OPT_FLAG("suite", explain_opts, suite,
                 "With --run: rank all benchmarks by what could be gained"),
    PFC_OPT_FLAG("commands", explain_opts, commands,
                 "Compile both command streams again and name the first command that differs"),
    PFC_OPT_TEXT("trace", "DIR", explain_opts, trace,
                 "Run both sides again on the simulated accelerator and write their traces there"),
    PFC_OPT_FLAG("callgrind", explain_opts, callgrind,
                 "Measure both commits again under valgrind: instructions by function"),
    PFC_OPT_FLAG("perf", explain_opts, perf,
                 "Measure both commits again under perf: a flame graph of the difference"),
    PFC_OPT_WORD("format", "F", formats, explain_opts, format, "Form of the report",
                 .fallback = "text"),
    PFC_OPT_TEXT("out", "FILE", explain_opts, out,
                 "Write there; .html, .md and .json choose the form", .fallback = "stdout"),
    EXPLAIN_OPTIONS,
    { 0 },
};

static const char explain_doc[] =
    "Says why a benchmark changed between two runs: contributions of each resource and phase that "
    "sum to the difference, what differs in chip, schedule and command stream, the limiter before "
    "and after, and what would help."
    "\vA and B are run documents, else revisions with a stored run, else numbers or ids of stored "
    "runs. Nothing is measured: what the runs recorded is all that is read, but with --callgrind "
    "and --perf, which build both commits of this repository and run the project's command, and "
    "with --commands and --trace, which simulate again from the recorded constants. `perfci why` "
    "names the commits that may have caused an alert; this command names the cause inside the "
    "program.\n"
    "\n"
    "Exit status 0 explained, 3 the limiter is inconclusive, 4 the benchmark has no value, 5 the "
    "service cannot be reached.\n"
    "\n"
    "Examples:\n"
    "  perfci explain before.json after.json\n"
    "  perfci explain v1.2 main --benchmark gemm/bf16/m512n512k512 --backend accel:pfc-server\n"
    "  perfci explain --alert 7 --out alert.html\n"
    "  perfci explain --run 4711 --suite\n"
    "  perfci explain v1.2 main --callgrind\n"
    "  perfci explain before.json after.json --commands --trace traces --out report.html\n";

static error_t parse_explain(int key, char *arg, struct argp_state *state)
{
    explain_opts *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (o->sides_len == 2)
            pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
        o->sides[o->sides_len++] = arg;
        return 0;
    case ARGP_KEY_END:
        if ((o->run != NULL) + (o->alert != NULL) + (o->sides_len > 0) != 1 || o->sides_len == 1)
            pfc_cli_usage(state, "expected A and B, or --run ID, or --alert N");
        if (o->suite && !o->run)
            pfc_cli_usage(state, "--suite: expected --run ID beside it");
        if ((o->commands || o->callgrind || o->perf) && o->run)
            pfc_cli_usage(state, "--commands, --callgrind, --perf: expected two runs, got --run");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static pfc_code rank(const explain_opts *o, const pfc_explain_rules *rules, const explain_input *in,
                     pfc_err *err)
{
    pfc_report *r = pfc_report_new("Benchmarks by what could be gained", in->link_base);
    pfc_explain_rank *ranks = NULL;
    size_t len = 0;
    pfc_code code = pfc_explain_suite(rules, in->after, &ranks, &len, err);

    if (!code) {
        pfc_report_add_ranks(r, in->after->id, ranks, len);
        code = explain_write(o, r, pfc_explain_ranks_json(ranks, len), err);
    }
    pfc_explain_ranks_free(ranks, len);
    pfc_report_free(r);
    return code;
}

static pfc_code add_asked(const explain_opts *o, const explain_input *in, pfc_explanation *e,
                          pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (o->commands)
        explain_add_stream(e);
    if (o->trace)
        code = explain_add_traces(e, o->trace, err);
    if (!code && (o->callgrind || o->perf))
        code = explain_add_measured(o, in, e, err);
    return code;
}

static pfc_code explain(const explain_opts *o, const pfc_explain_rules *rules,
                        const explain_input *in, int *status, pfc_err *err)
{
    pfc_explanation *e;
    pfc_report *r = NULL;
    char *claim;
    pfc_code code;

    if (o->suite)
        return rank(o, rules, in, err);
    e = pfc_calloc(1, sizeof(*e));
    code = explain_input_explain(rules, in, e, err);
    if (!code)
        code = add_asked(o, in, e, err);
    if (!code) {
        claim = pfc_explanation_claim(e);
        r = pfc_report_new(claim, in->link_base);
        free(claim);
        pfc_report_add(r, e);
        code = explain_write(o, r, pfc_explanation_json(e), err);
        *status = e->after.verdict.inconclusive ? PFC_EXIT_INCONCLUSIVE : PFC_EXIT_OK;
    }
    pfc_report_free(r);
    pfc_explanation_clear(e);
    free(e);
    return code;
}

static int cmd_explain(pfc_cli *cli, int argc, char **argv)
{
    return explain_command(cli, &pfc_cmd_explain, argc, argv, explain);
}

const pfc_subcommand pfc_cmd_explain = {
    .name = "explain",
    .summary = "why a benchmark changed, and what limits it",
    .run = cmd_explain,
    .options = explain_options,
    .parse = parse_explain,
    .args_doc = "[A B]",
    .doc = explain_doc,
};
