/*
 * Findings: what a command of perfci found out about each benchmark of each commit, written for
 * other tools: JUnit XML for the test tab of a CI system, SARIF 2.1.0 for code scanning, and a page
 * of HTML. Every finding is in JUnit and in the page, also one that is broken or was not measured.
 *
 * All text is escaped for its form. Pure functions; thread-safe.
 */
#ifndef PFC_CORE_FINDINGS_FINDINGS_H
#define PFC_CORE_FINDINGS_FINDINGS_H

#include <jansson.h>

#include "core/base/buf.h"

#define PFC_FINDINGS_MAX       100000
#define PFC_FINDINGS_MAX_BYTES (64u << 20) /* of a written form */

typedef enum pfc_finding_kind {
    PFC_FINDING_REGRESSION,
    PFC_FINDING_BROKEN,       /* does not build, crashes, or gives a wrong result */
    PFC_FINDING_NOT_MEASURED, /* left out, skipped, or the measurement failed */
    PFC_FINDING_UNDECIDED,
    PFC_FINDING_IMPROVEMENT,
    PFC_FINDING_SAME,
    PFC_FINDING_IDENTICAL, /* object code of another commit, which was measured for both */
    PFC_FINDING_MEASURED,  /* there is nothing to compare it with yet */
    PFC_FINDING_KINDS,
} pfc_finding_kind;

/** Every text is owned; NULL: none. */
typedef struct pfc_findings_item {
    pfc_finding_kind kind;
    char *commit, *subject; /* full id; first line */
    char *benchmark;        /* NULL: of the commit as a whole */
    char *metric, *backend;
    double rel_change, rel_low, rel_high; /* NAN: not known */
    char *message;                        /* why, or the verdict in words */
    char *path;                           /* where to look, from the root of the repository */
    size_t line;                          /* in it, from 1; 0: the file */
} pfc_findings_item;

typedef struct pfc_findings {
    char *title;              /* "perfci nightly: kernels" */
    char *category;           /* of code scanning: results of the same replace earlier ones;
                       "perfci/nightly/kernels" */
    char *verdict;            /* one sentence */
    char *notes;              /* further sentences; NULL: none */
    pfc_findings_item *items; /* in the order of history, then of benchmarks */
    size_t len, cap;
    size_t left_out; /* over PFC_FINDINGS_MAX */
} pfc_findings;

/** An empty finding at the end, with no number known; valid until the next. NULL: the list is full;
 * left_out counts it. */
pfc_findings_item *pfc_findings_add(pfc_findings *findings, pfc_finding_kind kind);
void pfc_findings_clear(pfc_findings *findings);
/** How many are of a kind. */
size_t pfc_findings_count(const pfc_findings *findings, pfc_finding_kind kind);

/** "regression", "broken", "not measured", "undecided", "improvement", "same", "identical",
 * "measured". */
const char *pfc_finding_word(pfc_finding_kind kind);
/** The message with the numbers: "+8.1 % (+7.0 % to +9.2 %): slower". The caller frees. */
char *pfc_finding_sentence(const pfc_findings_item *finding);

/** JUnit as Jenkins' xunit plugin describes it: a suite a commit, a case a finding. A regression is
 * a failure, a broken benchmark an error; an undecided one and one that was not measured are
 * skipped. PFC_ETOOBIG over PFC_FINDINGS_MAX_BYTES. */
pfc_code pfc_findings_junit(const pfc_findings *findings, pfc_buf *out, pfc_err *err) PFC_MUSTCHECK;
/** SARIF 2.1.0: the regressions, broken, not measured and undecided findings. The others need no
 * attention and are left out, because viewers list every result. The caller decrefs. */
json_t *pfc_findings_sarif(const pfc_findings *findings);
/** A page with its style. PFC_ETOOBIG over PFC_FINDINGS_MAX_BYTES. */
pfc_code pfc_findings_html(const pfc_findings *findings, pfc_buf *out, pfc_err *err) PFC_MUSTCHECK;

#endif
