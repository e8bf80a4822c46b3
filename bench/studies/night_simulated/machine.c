/* A machine with two speeds, drift, noise and outliers; or one that was recorded. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bench/studies/night_simulated/night.h"
#include "core/stats/stats.h"

#define OUTLIER     5.0 /* mean of what an outlier adds, in standard deviations of the noise */
#define TRACE_LEAST 100

/* ---- recorded ---- */

static double value_at(const json_t *rows, size_t row, size_t column)
{
    const json_t *at = json_array_get(rows, row);

    return json_number_value(json_is_array(at) ? json_array_get(at, column) : at);
}

static pfc_code take_rows(const json_t *rows, pfc_trace *out, pfc_err *err)
{
    out->log_value = pfc_calloc(out->len * out->columns, sizeof *out->log_value);
    double *column = pfc_calloc(out->len, sizeof *column);
    pfc_code code = PFC_OK;

    for (size_t c = 0; c < out->columns && !code; c++) {
        for (size_t i = 0; i < out->len && !code; i++) {
            const double v = value_at(rows, i, c);

            if (!(v > 0.0))
                code =
                    pfc_err_set(err, PFC_EINVAL, "run %zu: expected numbers above 0, got %g", i, v);
            else
                column[i] = log(v);
        }
        const double middle = code ? 0.0 : pfc_stats_median(column, out->len);

        for (size_t i = 0; i < out->len && !code; i++)
            out->log_value[i * out->columns + c] = column[i] - middle;
    }
    free(column);
    return code;
}

pfc_code pfc_trace_read(const char *path, pfc_trace *out, pfc_err *err)
{
    json_error_t why;
    json_t *root = json_load_file(path, 0, &why);
    const json_t *rows = json_is_object(root) ? json_object_get(root, "runs") : root;
    pfc_code code;

    *out = (pfc_trace){ .columns = 1, .len = json_array_size(rows) };
    if (json_is_object(root))
        out->columns = json_array_size(json_object_get(root, "metrics"));
    if (!root)
        return pfc_err_set(err, PFC_EINVAL, "%s: %s", path, why.text);
    if (out->len < TRACE_LEAST || !out->columns)
        code = pfc_err_set(err, PFC_EINVAL, "expected an array of at least %d runs", TRACE_LEAST);
    else
        code = take_rows(rows, out, err);
    json_decref(root);
    if (code) {
        pfc_trace_clear(out);
        return pfc_err_wrap(err, "%s", path);
    }
    out->name = pfc_strdup(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    return PFC_OK;
}

void pfc_trace_clear(pfc_trace *trace)
{
    free(trace->name);
    free(trace->log_value);
    *trace = (pfc_trace){ 0 };
}

/* ---- modelled ---- */

static double exponential(pfc_rng *rng)
{
    return -log1p(-pfc_rng_double(rng));
}

/* 1 + a geometric number of visits with the given mean, as in the sketch that this follows. */
static size_t stretch(pfc_sim_machine *m)
{
    const double p = 1.0 / m->model.stretch;

    return p >= 1.0 ? 2 : 2 + (size_t)floor(log1p(-pfc_rng_double(&m->rng)) / log1p(-p));
}

static void new_state(pfc_sim_machine *m)
{
    const pfc_machine_model *o = &m->model;

    m->level = m->slow ? log1p(o->low + (o->high - o->low) * pfc_rng_double(&m->rng)) : 0.0;
    m->left = stretch(m);
}

void pfc_machine_start(pfc_sim_machine *m, const pfc_machine_model *model, uint64_t seed)
{
    *m = (pfc_sim_machine){ .model = *model };
    pfc_rng_seed(&m->rng, seed);
    if (model->stretch > 0.0) {
        m->slow = pfc_rng_double(&m->rng) < 0.5;
        new_state(m);
        m->left = 1 + pfc_rng_below(&m->rng, m->left);
    }
    if (model->trace) {
        m->at = pfc_rng_below(&m->rng, model->trace->len);
        m->column = pfc_rng_below(&m->rng, model->trace->columns);
    }
}

void pfc_machine_step(pfc_sim_machine *m)
{
    m->time++;
    m->walked += m->model.drift + m->model.walk * pfc_rng_normal(&m->rng);
    if (m->model.stretch <= 0.0)
        return;
    if (m->left-- == 0) {
        m->slow = !m->slow;
        new_state(m);
        m->left--;
    }
}

double pfc_machine_factor(pfc_sim_machine *m, size_t series)
{
    const pfc_machine_model *o = &m->model;
    double y;

    if (o->trace)
        return o->trace->log_value[(m->at + m->time) % o->trace->len * o->trace->columns +
                                   (m->column + series) % o->trace->columns];
    y = m->level + m->walked + o->noise * pfc_rng_normal(&m->rng);
    if (pfc_rng_double(&m->rng) < o->outliers)
        y += OUTLIER * o->noise * exponential(&m->rng);
    return y;
}
