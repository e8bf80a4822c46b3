/*
 * perfci-bench-accel [--data DIR] [--only PART] [--figures FILE] | --tiles N | --attainable
 *
 * The simulated accelerator beside other ways to get its figures. --figures writes the figures of
 * the parts for `perfci push`, which makes a series of each. Parts, all but the last unless one is
 * named:
 *
 *   tables      cycles that SCALE-Sim computed: every DIR/scalesim-*.json ({"rows": [{"M", "N",
 *               "K", "rows", "cols", "dataflow", "cycles_scalesim", "util_pct",
 *               "scalesim_cpu_s"?, ...}]},
 *               or {"columns": [...], "rows": [[...]]}), and DIR/real-hw-tpu-matmul.json. Without
 *               data: "not available", exit 5
 *   fidelities  10,000 random problems: closed forms and engine beside an array ticked cell by cell
 *   memory      streams, random accesses and transfer sizes on every chip
 *   speed       simulated cycles a second, multiply-adds a second, memory used
 *   attainable  cycles and shares of the ceiling, shape by shape; also --attainable
 *   tiles       the compiler's tiles beside the best of all, for 300 problems; --tiles N for others
 *   path        time and memory of the critical path of a trace of a million records
 *   digests     a digest for each of a list of cases, for comparing builds
 */
#include <stdio.h>
#include <string.h>

#include "bench/studies/accel/studies.h"
#include "core/base/parse.h"

#define FIDELITY_CASES 10000
#define FIDELITY_SEED  17
#define TILES_PROBLEMS 300

typedef struct options {
    const char *data;
    const char *only;
    const char *tiles;
    const char *figures;
    bool attainable;
} options;

static bool read_options(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char **value = NULL;

        if (strcmp(argv[i], "--attainable") == 0) {
            o->attainable = true;
            continue;
        }
        if (strcmp(argv[i], "--data") == 0)
            value = &o->data;
        else if (strcmp(argv[i], "--only") == 0)
            value = &o->only;
        else if (strcmp(argv[i], "--tiles") == 0)
            value = &o->tiles;
        else if (strcmp(argv[i], "--figures") == 0)
            value = &o->figures;
        if (!value || i + 1 == argc)
            return false;
        *value = argv[++i];
    }
    return true;
}

static pfc_code part(size_t i, const options *o, pfc_err *err)
{
    switch (i) {
    case 0:
        return study_tables(o->data, err);
    case 1:
        return study_fidelities(FIDELITY_CASES, FIDELITY_SEED, err);
    case 2:
        return study_memory(err);
    case 3:
        return study_speeds(err);
    case 4:
        return study_attainable(err);
    case 5:
        return study_tiles(TILES_PROBLEMS, err);
    case 6:
        return study_path(err);
    default:
        return study_digests(err);
    }
}

static pfc_code run(const options *o, bool *known, pfc_err *err)
{
    static const char *const names[] = { "tables",     "fidelities", "memory", "speed",
                                         "attainable", "tiles",      "path",   "digests" };
    int64_t count = 0;
    pfc_code code = PFC_OK;

    *known = true;
    if (o->attainable)
        return study_attainable(err);
    if (o->tiles) {
        code = pfc_parse_i64(o->tiles, 1, 100000, "--tiles", &count, err);
        return code ? code : study_tiles((size_t)count, err);
    }
    *known = !o->only;
    for (size_t i = 0; i < PFC_ARRAY_LEN(names) && !code; i++) {
        if (o->only ? strcmp(o->only, names[i]) != 0 : i + 1 == PFC_ARRAY_LEN(names))
            continue;
        *known = true;
        code = part(i, o, err);
        fflush(stdout);
    }
    return code;
}

int main(int argc, char **argv)
{
    options o = { 0 };
    bool known = false;
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    if (read_options(argc, argv, &o))
        code = run(&o, &known, &err);
    if (known && !code)
        code = study_figures_write(o.figures, &err);
    if (!known) {
        fputs("Usage: perfci-bench-accel [--data DIR] [--figures FILE] [--only PART]\n"
              "       perfci-bench-accel --tiles N | --attainable\n"
              "Parts: tables fidelities memory speed attainable tiles path digests\n",
              stderr);
        return 2;
    }
    if (code == PFC_EUNAVAIL)
        printf("%s\n", err.msg);
    else if (code)
        fprintf(stderr, "perfci-bench-accel: %s\n", err.msg);
    return code ? pfc_code_exit(code) : 0;
}
