/*
 * Guidance: changes that would make a run faster, with the gain predicted from that run alone. The
 * entries come from a file (guidance.yaml): symptom, change, prediction, risk, effort.
 */
#ifndef PFC_CORE_ANALYSIS_GUIDANCE_GUIDANCE_H
#define PFC_CORE_ANALYSIS_GUIDANCE_GUIDANCE_H

#include "core/analysis/limiter/limiter.h"

#define PFC_GUIDANCE_MAX 16

typedef struct pfc_advice {
    char id[40];       /* "double_buffer" */
    char symptom[200]; /* a sentence with the measured value */
    char change[200];  /* what to change, a sentence */
    char action[80];   /* for who applies it: "buffers=2"; "" when only a person can */
    double gain;       /* predicted share of the total that is saved, 0..1 */
    double low, high;  /* the gain lies between them in nine cases of ten */
    char risk[120];
    char effort[16]; /* "low", "medium", "high" */
} pfc_advice;

typedef struct pfc_guidance pfc_guidance;

/** The built-in catalogue, or DIR/guidance.yaml; `dir` NULL: the built-in one. */
pfc_code pfc_guidance_load(const char *dir, pfc_guidance **out, pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_guidance_free(pfc_guidance *g);
/** The entries whose symptom the run shows, the largest predicted gain first; returns how many. */
size_t pfc_guidance_advise(const pfc_guidance *g, const pfc_profile *p,
                           const pfc_limiter_verdict *verdict, pfc_advice out[PFC_GUIDANCE_MAX]);

#endif
