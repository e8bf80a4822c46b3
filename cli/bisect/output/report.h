/*
 * The output of `perfci bisect`. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_REPORT_H
#define PFC_CLI_BISECT_REPORT_H

#include "cli/bisect/evidence.h"

/* Prints table, Markdown or JSON, posts on request; returns the exit status. */
int bisect_report(bisect_session *session);
/* --remote: starts the bisection on the service, follows and prints it; returns the exit status. */
int bisect_remote(const pfc_cli *cli, const bisect_opts *opts);

/* ---- report_json.c ---- */

json_t *bisect_report_json(const bisect_session *session, const pfc_bisect_report *report,
                           const bisect_stop *stop);
/* The document of --json: the report, unconfirmed culprits, and the evidence. */
json_t *bisect_document_json(const bisect_session *session, const pfc_bisect_report *report,
                             const bisect_stop *stop);
/* Posts the report to the service. */
pfc_code bisect_report_post(const bisect_session *session, const pfc_bisect_report *report,
                            const bisect_stop *stop, pfc_err *err) PFC_MUSTCHECK;

#endif
