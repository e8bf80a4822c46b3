/* Sections of a report for what is asked for beside the stored runs. Private to this folder. */
#ifndef PFC_CORE_ANALYSIS_REPORT_FURTHER_H
#define PFC_CORE_ANALYSIS_REPORT_FURTHER_H

#include "core/analysis/report/blocks.h"

/** Adds what `draw` appends as a picture; nothing when it appends nothing. (content.c) */
void pfc_report_add_picture(pfc_report *r, const pfc_explanation *e,
                            void (*draw)(const pfc_explanation *, pfc_buf *));
/** The graph of the phases of `after`, with its table; nothing where the run did not record it. */
void pfc_report_add_phases(pfc_report *r, const pfc_explanation *e);
/** The first command that differs, traces, instructions by function, call stacks: those that are
 *  there. */
void pfc_report_add_further(pfc_report *r, const pfc_explanation *e);
/** The same as members of the explanation's JSON. */
void pfc_report_further_json(const pfc_explanation *e, json_t *out);

#endif
