/* Kernels in text and schedules: read, made a case of, and written. */
#include <stdlib.h>
#include <string.h>

#include "cli/accel/accel.h"
#include "cli/output/output.h"
#include "core/base/fs.h"

bool accel_is_text(const char *op)
{
    const size_t len = strlen(op);

    return len > 4 && strcmp(op + len - 4, ".pca") == 0;
}

static pfc_code read_schedule(const accel_request *r, accel_plan *out, pfc_err *err)
{
    pfc_code code;

    if (out->problem.kernel != PFC_ACCEL_GEMM && out->problem.kernel != PFC_ACCEL_GEMM_BIAS_ACT)
        return pfc_err_set(err, PFC_EINVAL, "schedule: expected gemm or gemm_bias_act, got %s",
                           r->op);
    if (out->opts.ideal_memory || pfc_accel_mode_ideal_memory(out->mode))
        return pfc_err_set(err, PFC_EINVAL,
                           "schedule: expected --memory chip and the mode pipelined-ws, since "
                           "ideal memory takes the whole problem as one tile");
    out->file = pfc_strdup(r->schedule);
    out->scheduled = true;
    code = pfc_accel_schedule_load(r->schedule, &out->schedule, err);
    if (code)
        return code;
    out->tiles = pfc_accel_schedule_tiles(&out->schedule, &out->problem);
    out->opts.gemm_tiles = &out->tiles;
    return PFC_OK;
}

pfc_code accel_own_read(const accel_request *r, accel_plan *out, pfc_err *err)
{
    pfc_code code;

    if (!accel_is_text(r->op))
        return read_schedule(r, out, err);
    code = pfc_accel_text_load(r->op, &out->text, err);
    if (!code)
        code = pfc_accel_text_check(out->text, &out->chip, err);
    if (code)
        return code;
    out->file = pfc_strdup(r->op);
    out->mode = out->text->program->mode;
    out->has_problem = out->text->has_reference;
    out->problem = out->text->reference;
    return PFC_OK;
}

pfc_code accel_own_case(accel_plan *p, pfc_accel_case **out, pfc_err *err)
{
    pfc_accel_program *program;
    pfc_code code;

    if (p->text) {
        program = p->text->program;
        p->text->program = NULL; /* of the case from now on */
        code = pfc_accel_case_new_program(out, program, p->has_problem ? &p->problem : NULL,
                                          &p->chip, &p->opts, err);
    } else {
        code = pfc_accel_case_new(out, &p->problem, &p->chip, p->mode, &p->opts, err);
    }
    return code && p->file ? pfc_err_wrap(err, "%s", p->file) : code;
}

pfc_code accel_own_dump(const accel_plan *p, const pfc_accel_case *c, const char *path,
                        pfc_err *err)
{
    pfc_buf text;
    pfc_code code;

    pfc_buf_init(&text, PFC_ACCEL_TEXT_MAX_BYTES);
    code = pfc_accel_text_print(pfc_accel_case_program(c), p->has_problem ? &p->problem : NULL,
                                &text, err);
    if (!code && strcmp(path, "-") == 0)
        pfc_out("%s", pfc_buf_text(&text));
    else if (!code)
        code = pfc_fs_write_atomic(path, pfc_buf_text(&text), text.len, 0644, err);
    pfc_buf_clear(&text);
    return code;
}
