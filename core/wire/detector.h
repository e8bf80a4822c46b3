/*
 * How a project wants its series judged: one document, which the service stores, `perfci replay`
 * tries out and both read the same way.
 *
 *   {"fdr": 0.05,
 *    "rules": [{"benchmark": "gemm*bf16*", "backend": "cpu-avx*", "min_change": 0.02},
 *              {"metric": "*_allocs", "judged": false}]}
 *
 * A rule holds for the series that fit all of its globs (an absent one fits all; '*' also matches
 * slashes). No rules: []. Rules are read from first to last, and a later one overrides what it says
 * itself.
 */
#ifndef PFC_CORE_WIRE_DETECTOR_H
#define PFC_CORE_WIRE_DETECTOR_H

#include "core/stats/stats.h"
#include "core/wire/wire.h"

#define PFC_DETECTOR_MAX_RULES 200
#define PFC_DETECTOR_MAX_GLOB  200 /* bytes */
#define PFC_DETECTOR_MAX_STARS 8   /* in one glob, so that matching stays quick */
#define PFC_DETECTOR_MAX_BYTES (64 * 1024)

/* Limits of the settings, the same for a document, the API's query and the sliders. */
#define PFC_DETECTOR_MIN_CHANGE_LEAST 1e-6
#define PFC_DETECTOR_MIN_CHANGE_MOST  10.0
#define PFC_DETECTOR_ALPHA_LEAST      1e-9
#define PFC_DETECTOR_ALPHA_MOST       0.5
#define PFC_DETECTOR_FDR_LEAST        1e-6
#define PFC_DETECTOR_FDR_MOST         0.5

/** Names that rules match a series by. */
typedef struct pfc_series_name {
    const char *benchmark, *metric, *backend, *machine_class, *branch;
} pfc_series_name;

typedef struct pfc_detector_rule {
    char *benchmark, *metric, *backend, *machine_class, *branch; /* globs; NULL: any */
    double min_change; /* relative change that is too small to act on; NAN: not set */
    double alpha;      /* expected false changes a series; NAN: not set */
    int judged;        /* 0: never an alert; 1: judged; -1: not set */
} pfc_detector_rule;

typedef struct pfc_detector {
    double fdr; /* share of mistaken alerts among those of one place; 0: PFC_ALERT_FDR */
    pfc_detector_rule *rules;
    size_t rules_len;
} pfc_detector;

/** Result of all rules for one series; zeros are the detector's defaults. */
typedef struct pfc_detector_settings {
    double min_change, alpha;
    bool judged;
} pfc_detector_settings;

/** Reads the document, strictly: unknown members, values out of range, rules that say nothing and
 *  globs with more than PFC_DETECTOR_MAX_STARS stars are PFC_EINVAL with the member's path. */
pfc_code pfc_detector_from_json(const json_t *doc, pfc_detector *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_detector_clear(pfc_detector *detector);
/** The settings for a series. detector NULL: the defaults. Pure. */
pfc_detector_settings pfc_detector_for(const pfc_detector *detector, const pfc_series_name *name);

#endif
