/*
 * Reports: an explanation as a document of headings, sentences, tables and pictures, written as
 * text for a terminal, as Markdown, as a page of HTML that needs nothing else, or as JSON. All of
 * them say the same values; each table of values names the runs that they are from.
 *
 * Text of others (names, choices) is escaped for each form. A report belongs to one thread.
 */
#ifndef PFC_CORE_ANALYSIS_REPORT_REPORT_H
#define PFC_CORE_ANALYSIS_REPORT_REPORT_H

#include <jansson.h>

#include "core/analysis/explain/explain.h"
#include "core/base/buf.h"

#define PFC_REPORT_MAX_BYTES (8u << 20) /* of a written report */

typedef struct pfc_report pfc_report;

/** An empty report. link_base: address of a dashboard without a slash at the end, to which runs and
 *  commits are linked; NULL: no links. Frees with pfc_report_free. */
pfc_report *pfc_report_new(const char *title, const char *link_base);
/** Accepts NULL. */
void pfc_report_free(pfc_report *r);

/** Adds the whole story of an explanation: claim, runs, contributions, causes, limiter before and
 *  after, guidance, metrics, recorded differences, how to repeat. */
void pfc_report_add(pfc_report *r, const pfc_explanation *e);
/** Adds the ranking of a suite's benchmarks by what could be gained. */
void pfc_report_add_ranks(pfc_report *r, const char *run, const pfc_explain_rank *ranks,
                          size_t len);

/** Adds a sentence. */
void pfc_report_note(pfc_report *r, const char *fmt, ...) PFC_PRINTF(2, 3);

/** Appends the report to `out`, whose limit has to be at least PFC_REPORT_MAX_BYTES. */
void pfc_report_text(const pfc_report *r, pfc_buf *out);
void pfc_report_markdown(const pfc_report *r, pfc_buf *out);
/** A whole page with its style in both themes and pictures as SVG. */
void pfc_report_html(const pfc_report *r, pfc_buf *out);

/**
 * The explanation as JSON: "metric", "before", "after", "delta", "contributions" (which sum to the
 * delta), "limiter", "causes", "guidance", "evidence", "repeat", and what belongs to them;
 * docs/reference/explain.md lists all members. The caller decrefs. Never NULL.
 */
json_t *pfc_explanation_json(const pfc_explanation *e);
/** A ranking as an array of objects; the caller decrefs. */
json_t *pfc_explain_ranks_json(const pfc_explain_rank *ranks, size_t len);

/** The claim in one sentence: benchmark, metric, values, change, and the first cause. Frees by the
 *  caller. */
char *pfc_explanation_claim(const pfc_explanation *e);

#endif
