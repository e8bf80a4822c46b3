/*
 * Shared by the handlers of traces.
 */
#ifndef PFC_SERVER_HANDLERS_RESULTS_TRACES_H
#define PFC_SERVER_HANDLERS_RESULTS_TRACES_H

#include "server/handlers/handlers.h"
#include "server/services/traces/traces.h"

/** A row of a list of traces, for pfc_reply_rows; `context` is the request. */
json_t *pfc_encode_trace(const void *row, const void *context);

/** The trace of the path's {id}, when the sender may read its project. Clear *out. */
pfc_code pfc_path_trace(pfc_app *app, const pfc_req *req, pfc_trace_rows *out,
                        pfc_err *err) PFC_MUSTCHECK;

#endif
