/* A case as flags or members of a JSON line say it: read and checked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/accel/accel.h"
#include "core/base/parse.h"

const char *const accel_dims[ACCEL_DIMS] = { "m",      "n",    "k",    "h", "s",  "d",
                                             "causal", "rows", "cols", "q", "kv", "act" };

static pfc_code copy_text(char *out, size_t cap, const char *name, const char *text, pfc_err *err)
{
    if (strlen(text) >= cap)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected at most %zu bytes, got %zu", name,
                           cap - 1, strlen(text));
    snprintf(out, cap, "%s", text);
    return PFC_OK;
}

/* A flag or member that is text; PFC_ENOTFOUND when there is none of that name. */
pfc_code accel_request_text(accel_request *r, const char *name, const char *text, pfc_err *err)
{
    const struct {
        const char *name;
        char *out;
        size_t cap;
    } fields[] = {
        { "op", r->op, sizeof(r->op) },
        { "chip", r->chip, sizeof(r->chip) },
        { "dtype", r->dtype, sizeof(r->dtype) },
        { "mode", r->mode, sizeof(r->mode) },
        { "array", r->array, sizeof(r->array) },
        { "memory", r->memory, sizeof(r->memory) },
        { "schedule", r->schedule, sizeof(r->schedule) },
        { "scope", r->scope, sizeof(r->scope) },
        { "copies", r->copies, sizeof(r->copies) },
        { "sync", r->sync, sizeof(r->sync) },
        { "wait", r->wait, sizeof(r->wait) },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(fields); i++)
        if (strcmp(fields[i].name, name) == 0)
            return copy_text(fields[i].out, fields[i].cap, name, text, err);
    return pfc_err_set(err, PFC_ENOTFOUND, "there is no member \"%.40s\" that is text", name);
}

static pfc_code set_number(accel_request *r, const char *name, int64_t value, pfc_err *err)
{
    if (strcmp(name, "seed") == 0) {
        if (value < 0)
            return pfc_err_set(err, PFC_EINVAL, "seed: expected 0 or more, got %lld",
                               (long long)value);
        r->seed = value;
        return PFC_OK;
    }
    if (strcmp(name, "launches") == 0) {
        if (value < 1 || value > PFC_ACCEL_MAX_LAUNCHES)
            return pfc_err_set(err, PFC_EINVAL, "launches: expected 1..%d, got %lld",
                               PFC_ACCEL_MAX_LAUNCHES, (long long)value);
        r->launches = value;
        return PFC_OK;
    }
    for (size_t i = 0; i < ACCEL_DIMS; i++) {
        if (strcmp(accel_dims[i], name) != 0)
            continue;
        r->dim[i] = value;
        r->given[i] = true;
        return PFC_OK;
    }
    return pfc_err_set(err, PFC_ENOTFOUND, "there is no member \"%.40s\" that is a number", name);
}

pfc_code accel_request_json(accel_request *r, const json_t *root, pfc_err *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(root))
        return pfc_err_set(err, PFC_EINVAL, "expected a JSON object");
    json_object_foreach((json_t *)(uintptr_t)root, name, value)
    {
        pfc_code code;

        if (json_is_string(value))
            code = accel_request_text(r, name, json_string_value(value), err);
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
static pfc_code fill_params(const accel_request *r, pfc_accel_problem *p, pfc_err *err)
{
    bool used[ACCEL_DIMS] = { false };

    for (size_t i = 0; pfc_accel_param_name(p->kernel, i); i++) {
        const char *name = pfc_accel_param_name(p->kernel, i);
        size_t at = 0;

        while (strcmp(accel_dims[at], name) != 0)
            at++;
        used[at] = true;
        if (!r->given[at] && !pfc_accel_param_optional(p->kernel, i))
            return pfc_err_set(err, PFC_EINVAL, "%s: --%s is missing", r->op, name);
        p->p[i] = r->dim[at];
    }
    for (size_t i = 0; i < ACCEL_DIMS; i++)
        if (r->given[i] && !used[i])
            return pfc_err_set(err, PFC_EINVAL, "%s takes no --%s", r->op, accel_dims[i]);
    return PFC_OK;
}

/* A kernel in text says itself what the flags say of a built-in one. */
static pfc_code plan_text(const accel_request *r, accel_plan *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < ACCEL_DIMS; i++)
        if (r->given[i])
            return pfc_err_set(err, PFC_EINVAL, "a kernel in text takes no --%s", accel_dims[i]);
    if (*r->dtype || *r->mode || *r->memory || *r->schedule)
        return pfc_err_set(err, PFC_EINVAL, "a kernel in text takes no --%s",
                           *r->dtype    ? "dtype"
                           : *r->mode   ? "mode"
                           : *r->memory ? "memory"
                                        : "schedule");
    if (*r->array)
        code = parse_array(r->array, &out->chip, err);
    out->opts = (pfc_accel_case_opts){ .timing_only = r->timing_only, .seed = (uint64_t)r->seed };
    return code ? code : accel_own_read(r, out, err);
}

pfc_code accel_plan_of(const accel_request *r, accel_plan *out, pfc_err *err)
{
    pfc_code code;

    memset(out, 0, sizeof(*out));
    if (!*r->op)
        return pfc_err_set(err, PFC_EINVAL,
                           "an operation is missing: gemm, attention, layernorm, rmsnorm, softmax, "
                           "gemm_bias_act, residual_rmsnorm or FILE.pca");
    code = accel_scope_read(r, out, err);
    if (!code)
        code = pfc_accel_chip_load(*r->chip ? r->chip : pfc_accel_chip_name(0), &out->chip, err);
    if (!code && accel_is_text(r->op))
        return plan_text(r, out, err);
    if (!code)
        code = pfc_accel_kernel_parse(r->op, &out->problem.kernel, err);
    if (!code)
        code = pfc_accel_dtype_parse(*r->dtype ? r->dtype : "bf16", &out->problem.dtype, err);
    if (code)
        return code;
    out->has_problem = true;
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
    return *r->schedule ? accel_own_read(r, out, err) : PFC_OK;
}

void accel_plan_clear(accel_plan *p)
{
    pfc_accel_text_free(p->text);
    free(p->file);
    p->text = NULL;
    p->file = NULL;
}
