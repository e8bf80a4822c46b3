/* A run of the simulator as a run document, which perfci explain, compare and push take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/accel/accel.h"
#include "cli/accel/grade/grade.h"
#include "cli/output/output.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/rng.h"
#include "core/wire/wire.h"

/* "gemm/bf16/m64n64k64", as the suite names it; of a kernel in text its file's name. A region adds
 * its launches and copies, because its total is another one. */
static char *benchmark_name(const accel_plan *p, const pfc_accel_case *c)
{
    pfc_buf name;

    pfc_buf_init(&name, PFC_WIRE_MAX_NAME);
    pfc_buf_printf(&name, "%s/%s/", accel_plan_name(p),
                   pfc_accel_dtype_name(pfc_accel_case_program(c)->dtype));
    for (size_t i = 0; p->has_problem && pfc_accel_param_name(p->problem.kernel, i); i++)
        if (p->problem.p[i] || !pfc_accel_param_optional(p->problem.kernel, i))
            pfc_buf_printf(&name, "%s%lld", pfc_accel_param_name(p->problem.kernel, i),
                           (long long)p->problem.p[i]);
    if (p->has_region)
        pfc_buf_printf(&name, "/region%llu", (unsigned long long)p->region.launches);
    return pfc_buf_take(&name);
}

static void add_extra(pfc_measurement *m, const pfc_profile *profile)
{
    for (size_t i = 0; i < profile->numbers_len; i++) {
        char text[32];

        pfc_wire_number(profile->numbers[i].value, text);
        pfc_labels_set(&m->extra, profile->numbers[i].name, text);
    }
    for (size_t i = 0; i < profile->facts_len; i++)
        pfc_labels_set(&m->extra, profile->facts[i].name, profile->facts[i].text);
}

/* Parameters as a suite's run has them, and the tiles, which guidance and the comparison of streams
 * start from. */
static void add_problem(pfc_measurement *m, const accel_plan *p, const pfc_accel_case *c,
                        const pfc_profile *profile)
{
    const char *choice = pfc_profile_fact_of(profile, "choice");
    pfc_accel_gemm_tiles tiles;
    const char *name;
    uint64_t number;
    char text[32];

    pfc_labels_set(&m->params, "dtype", pfc_accel_dtype_name(pfc_accel_case_program(c)->dtype));
    for (size_t i = 0; p->has_problem && (name = pfc_accel_param_name(p->problem.kernel, i)); i++) {
        snprintf(text, sizeof(text), "%lld", (long long)p->problem.p[i]);
        if (p->problem.p[i] || !pfc_accel_param_optional(p->problem.kernel, i))
            pfc_labels_set(&m->params, name, text);
    }
    if (p->text || !choice || !pfc_accel_choice_tiles(choice, &tiles))
        return;
    for (size_t i = 0; (name = pfc_accel_tile_number(&tiles, i, &number)); i++) {
        snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
        pfc_labels_set(&m->extra, name, text);
    }
}

static pfc_run *document_of(const accel_plan *p, const pfc_accel_case *c,
                            const pfc_profile *profile)
{
    pfc_run *run = pfc_run_new();
    pfc_measurement *m = pfc_run_add(run);
    char id[33];

    pfc_random_id(id);
    run->id = pfc_strdup(id);
    run->suite = pfc_strdup("accel run");
    run->suite_hash = pfc_strdup("");
    run->started_at = run->finished_at = pfc_clock_unix_s();
    run->machine.name = pfc_strdup("simulated");
    run->machine.machine_class = pfc_strdup("simulated");
    pfc_labels_set(&run->machine.fingerprint, "simulator", PFC_ACCEL_VERSION);
    pfc_machine_hash(&run->machine);
    m->benchmark = benchmark_name(p, c);
    m->metric = pfc_strdup("cycles");
    m->backend = pfc_format("accel:%s", p->chip.name);
    m->unit = pfc_strdup("cycles");
    m->exact = true;
    m->samples = pfc_calloc(1, sizeof(*m->samples));
    m->samples[0] = pfc_profile_or(profile, "cycles", 0);
    m->samples_len = 1;
    m->blocks = pfc_calloc(1, sizeof(*m->blocks));
    m->blocks[0] = 1;
    m->blocks_len = 1;
    add_extra(m, profile);
    add_problem(m, p, c, profile);
    return run;
}

pfc_code accel_document_write(const accel_plan *p, pfc_accel_case *c,
                              const pfc_accel_result *result, const char *path, pfc_err *err)
{
    const grade_case as_case = {
        .problem = p->problem, .chip = p->chip, .is_region = p->has_region, .region = p->region
    };
    pfc_profile profile;
    pfc_run *run = NULL;
    char *text;
    pfc_code code;

    pfc_profile_init(&profile, accel_plan_name(p));
    code = grade_profile_run(c, &as_case, &profile, err);
    if (!code)
        code = pfc_profile_set_fact(&profile, "chip_hash", p->chip.hash, err);
    if (!code)
        code = pfc_profile_set_fact(&profile, "stream_digest", result->stream_digest, err);
    if (!code) {
        run = document_of(p, c, &profile);
        text = pfc_run_to_text(run);
        if (strcmp(path, "-") == 0)
            pfc_out("%s\n", text);
        else
            code = pfc_fs_write_atomic(path, text, strlen(text), 0644, err);
        free(text);
    }
    pfc_run_free(run);
    pfc_profile_clear(&profile);
    return code;
}
