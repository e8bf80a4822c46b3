/*
 * perfci explain and perfci report: from what a person names (revisions, runs, files, an alert) to
 * explanations, and out in the form that was asked for. Private to this folder.
 */
#ifndef PFC_CLI_EXPLAIN_EXPLAIN_H
#define PFC_CLI_EXPLAIN_EXPLAIN_H

#include "cli/api.h"
#include "cli/cli.h"
#include "core/analysis/report/report.h"

/** The values of the options; NULL where an option was not given. */
typedef struct explain_opts {
    const pfc_cli *cli;   /* set by explain_command */
    const char *sides[2]; /* A and B */
    size_t sides_len;
    const char *run, *alert;
    const char *benchmark, *backend, *metric;
    const char *rules;  /* folder */
    const char *format; /* "text", "markdown", "html", "json" */
    const char *out;    /* file; NULL: stdout */
    const char *trace;  /* folder for traces; NULL: none is made */
    bool suite;         /* rank the benchmarks of --run */
    bool commands;      /* compare the command streams */
    bool callgrind;     /* count instructions by function */
    bool perf;          /* sample call stacks */
    const char *project, *url, *data;
} explain_opts;

/** The options that both commands have; they fill an explain_opts. */
#define EXPLAIN_OPTIONS                                                                            \
    PFC_OPT_TEXT("benchmark", "NAME", explain_opts, benchmark, "This benchmark",                   \
                 .fallback = "the one with the largest regression"),                               \
        PFC_OPT_TEXT("backend", "B", explain_opts, backend, "This backend"),                       \
        PFC_OPT_TEXT("metric", "M", explain_opts, metric, "This metric",                           \
                     .fallback = "cycles, else time_ns"),                                          \
        PFC_OPT_TEXT("rules", "DIR", explain_opts, rules,                                          \
                     "Folder of metrics, limiter and guidance files",                              \
                     .fallback = "the built-in ones"),                                             \
        PFC_OPT_TEXT("project", "P", explain_opts, project, "The project's name"),                 \
        PFC_SERVICE_OPTIONS(explain_opts, )

/** The runs and names that an explanation is made from. */
typedef struct explain_input {
    pfc_run *before, *after;            /* before NULL: one run alone */
    char *benchmark, *backend, *metric; /* NULL: not named */
    char *alert;                        /* number of the alert; NULL: none */
    char *link_base;                    /* of the service's pages; NULL: no service was asked */
} explain_input;

/** Reads the files, asks the service, resolves revisions. Clear *out in every case. (input.c) */
pfc_code explain_input_read(const explain_opts *o, explain_input *out, pfc_err *err) PFC_MUSTCHECK;
void explain_input_clear(explain_input *in);

/** The explanation of the input; errors as of pfc_explain_run and pfc_explain_pair. A noisy metric
 *  is judged as `perfci compare` does. (input.c) */
pfc_code explain_input_explain(const pfc_explain_rules *rules, const explain_input *in,
                               pfc_explanation *out, pfc_err *err) PFC_MUSTCHECK;

/** Writes the report in the form of --format, to --out or stdout. json: the same as JSON, which is
 *  taken over. (output.c) */
pfc_code explain_write(const explain_opts *o, const pfc_report *r, json_t *json,
                       pfc_err *err) PFC_MUSTCHECK;
/** Writes what a command says about its input. *status is the exit status, 0 unless set. */
typedef pfc_code explain_part(const explain_opts *o, const pfc_explain_rules *rules,
                              const explain_input *in, int *status, pfc_err *err);
/** Parses the arguments, loads the rules, reads the input and calls `part`. Returns the exit status
 *  of the command. (output.c) */
int explain_command(pfc_cli *cli, const pfc_subcommand *command, int argc, char **argv,
                    explain_part *part);

/** The form that is asked for: --format, --json, else by the ending of --out, else text. */
const char *explain_format(const pfc_cli *cli, const explain_opts *o);

#endif
