/*
 * Runs of the simulated accelerator made again from what they recorded: the problem, the chip's
 * constants and the tiles give the command stream, whose digest has to be the recorded one. Private
 * to this folder.
 */
#ifndef PFC_CLI_EXPLAIN_AGAIN_H
#define PFC_CLI_EXPLAIN_AGAIN_H

#include "core/analysis/explain/explain.h"

/** Compiles both streams again and fills e->stream: the first command that differs, or why that is
 *  not known. */
void explain_add_stream(pfc_explanation *e);

/** Runs each side again with a trace, DIR/RUN.json, for Perfetto. A side whose run cannot be made
 *  again says why. PFC_EIO when the folder cannot be made. */
pfc_code explain_add_traces(pfc_explanation *e, const char *dir, pfc_err *err) PFC_MUSTCHECK;

#endif
