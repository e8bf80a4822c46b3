/*
 * perfci accel: a case as flags or members of a JSON line say it, and its answer. Private to this
 * folder.
 */
#ifndef PFC_CLI_ACCEL_ACCEL_H
#define PFC_CLI_ACCEL_ACCEL_H

#include <jansson.h>

#include "cli/cli.h"
#include "cli/output/output.h"
#include "kernels/accel/ops/ops.h"
#include "kernels/accel/text/text.h"

#define ACCEL_DIMS 12 /* m n k h s d causal rows cols q kv act */

extern const char *const accel_dims[ACCEL_DIMS];

/** One case as flags or members say it; "" for texts that were not given. */
typedef struct accel_request {
    char op[512]; /* or the path of a kernel in text, *.pca */
    char chip[512];
    char schedule[512];
    char dtype[8];
    char mode[16];
    char array[24];
    char memory[8];
    char scope[8];
    char copies[12];
    char sync[8];
    char wait[8];
    int64_t dim[ACCEL_DIMS]; /* in the order of accel_dims */
    bool given[ACCEL_DIMS];
    int64_t launches; /* 0: not given */
    int64_t seed;
    bool timing_only;
} accel_request;

/** A checked request. Points into itself: it stays where accel_plan_of filled it. */
typedef struct accel_plan {
    pfc_accel_text *text; /* a kernel in text; NULL: the built-in one of `problem` */
    char *file;           /* its path, or that of the schedule; NULL: neither */
    bool scheduled;
    pfc_accel_schedule schedule;
    pfc_accel_gemm_tiles tiles; /* of the schedule, for this problem */
    bool has_problem;           /* else a kernel in text without a reference */
    pfc_accel_problem problem;
    pfc_accel_chip chip;
    pfc_accel_mode mode;
    pfc_accel_case_opts opts;
    bool has_region; /* scope `region`; else the kernel alone */
    pfc_accel_region_opts region;
} accel_plan;

/** Sets a flag or member that is text; PFC_ENOTFOUND: there is none of that name. (request.c) */
pfc_code accel_request_text(accel_request *r, const char *name, const char *text, pfc_err *err);
/** Sets what the members of a JSON object say. */
pfc_code accel_request_json(accel_request *r, const json_t *root, pfc_err *err);
/** Checks the request; PFC_EINVAL names the flag or member, and what was expected. */
pfc_code accel_plan_of(const accel_request *r, accel_plan *out, pfc_err *err) PFC_MUSTCHECK;
/** Frees what the plan holds; also after accel_plan_of failed. */
void accel_plan_clear(accel_plan *p);

/** True for the path of a kernel in text. (own.c) */
bool accel_is_text(const char *op);
/** Reads the kernel in text, or the schedule, that the request names. */
pfc_code accel_own_read(const accel_request *r, accel_plan *out, pfc_err *err) PFC_MUSTCHECK;
/** A case of the plan: the kernel in text, else the compiled one, with the schedule. */
pfc_code accel_own_case(accel_plan *p, pfc_accel_case **out, pfc_err *err) PFC_MUSTCHECK;
/** Writes the case's program as text to a file, "-" is standard output. */
pfc_code accel_own_dump(const accel_plan *p, const pfc_accel_case *c, const char *path,
                        pfc_err *err) PFC_MUSTCHECK;

/** Reads scope, launches, copies, sync and wait. (scope.c) */
pfc_code accel_scope_read(const accel_request *r, accel_plan *out, pfc_err *err) PFC_MUSTCHECK;
/** A region's figures, to be freed by the caller; and as rows of the answer's table. */
json_t *accel_region_json(const accel_plan *p, const pfc_accel_region *region);
void accel_region_rows(pfc_table *table, const pfc_accel_region *region);

/** Everything that a run gives. */
typedef struct accel_outcome {
    pfc_accel_result result;
    pfc_accel_whatif whatif; /* of the scope */
    pfc_accel_region region; /* of the scope `region` */
    bool checked;            /* the result of a kernel in text equals its reference */
    bool detailed;
    pfc_accel_detail detail; /* when detailed */
} accel_outcome;

/** Writes the run as a run document with everything that perfci explain reads: counters, constants
 *  of the chip, critical path; "-" is standard output. Runs the case once more, with a trace.
 *  (document.c) */
pfc_code accel_document_write(const accel_plan *p, pfc_accel_case *c,
                              const pfc_accel_result *result, const char *path,
                              pfc_err *err) PFC_MUSTCHECK;

/** The operation, or for a kernel in text its file's name. */
const char *accel_plan_name(const accel_plan *p);
/** The answer as JSON, to be freed by the caller. (answer.c) */
json_t *accel_answer_json(const accel_plan *p, const accel_outcome *out);
/** The answer as a table; counters that are 0 are left out. */
void accel_answer_print(const pfc_cli *cli, const accel_plan *p, const accel_outcome *out);

extern const pfc_subcommand accel_part_chips;
extern const pfc_subcommand accel_part_counters;
extern const pfc_subcommand accel_part_grade_limiter;
extern const pfc_subcommand accel_part_grade_delta;
extern const pfc_subcommand accel_part_grade_guidance;

#endif
