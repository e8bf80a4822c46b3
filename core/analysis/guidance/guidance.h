/*
 * Guidance: changes that would make a run faster, with the gain predicted from that run alone. The
 * entries come from a file (guidance.yaml): symptom, change, prediction, risk, effort. Nothing is
 * simulated or measured here; the caller that applies a change compares prediction and result.
 *
 * The file has expressions (expr/expr.h) over the numbers of the run:
 *
 *   definitions  named expressions, for example a model of the time by tile sizes
 *   least        advice whose interval begins below this gain is not given
 *   spread       half of the width of the interval that holds the gain in nine cases of ten; in it
 *                the name `gain` is the predicted gain
 *   entries      list: id, when (condition), value (the measured number of the symptom), format
 *                (percent, number, bytes), symptom (a sentence with {value}), change, risk, effort
 *                (low, medium or high), gain, and optionally with, fits, action, spread
 *
 * `with` maps names to expressions: the numbers that the change sets, for example `tile_m: tile_m *
 * 2`. `gain` and `fits` are evaluated with these numbers in their place, and `before.NAME` is a
 * number or definition as it was. An entry whose `fits` is false is left out. The action is the
 * list of these numbers, "tile_m=256 tile_k=64", and the text of `action`.
 *
 * A catalogue that was loaded is never changed: several threads may use it.
 */
#ifndef PFC_CORE_ANALYSIS_GUIDANCE_GUIDANCE_H
#define PFC_CORE_ANALYSIS_GUIDANCE_GUIDANCE_H

#include "core/analysis/limiter/limiter.h"

#define PFC_GUIDANCE_MAX 16

typedef struct pfc_advice {
    char id[40];       /* "double_buffer" */
    char symptom[200]; /* a sentence with the measured value */
    char change[200];  /* what to change, a sentence */
    char action[80];   /* for the program that applies it, "tile_m=256 tile_k=64": names and values
                          with blanks between them; "" when only a person can apply it */
    double gain;       /* predicted share of the total that is saved, 0..1 */
    double low, high;  /* the gain lies between them in nine cases of ten; low may be below 0 */
    char risk[120];
    char effort[16]; /* "low", "medium", "high" */
} pfc_advice;

typedef struct pfc_guidance pfc_guidance;

/** The built-in catalogue, or DIR/guidance.yaml; `dir` NULL: the built-in one. PFC_EINVAL names
 *  file, line and what was expected; PFC_ENOTFOUND, PFC_EIO as pfc_fs_read. */
pfc_code pfc_guidance_load(const char *dir, pfc_guidance **out, pfc_err *err) PFC_MUSTCHECK;
/** The same of a text in memory; `name` is for messages. */
pfc_code pfc_guidance_parse(const char *name, const char *text, size_t len, pfc_guidance **out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_guidance_free(pfc_guidance *g);
/** Id of the i-th entry of the catalogue; NULL past the last. Belongs to the catalogue. */
const char *pfc_guidance_id(const pfc_guidance *g, size_t i);
/** The entries whose symptom the run shows, the largest predicted gain first; returns how many.
 *  In conditions `limiter_RESOURCE` is 1 for the resource that `verdict` (may be NULL) names, else
 *  0. */
size_t pfc_guidance_advise(const pfc_guidance *g, const pfc_profile *p,
                           const pfc_limiter_verdict *verdict, pfc_advice out[PFC_GUIDANCE_MAX]);

#endif
