/*
 * The document of a session, as POST /api/v1/projects/{p}/sessions takes it: what came of each new commit.
 */
#ifndef PFC_RUNNER_BLOCKS_SESSION_JSON_H
#define PFC_RUNNER_BLOCKS_SESSION_JSON_H

#include <jansson.h>

#include "runner/blocks/blocks.h"

/** What the result does not say. */
typedef struct pfc_session_of {
    const char *branch; /* NULL: the project's default */
    size_t first;       /* new commits of the result begin here; the one before is the base */
    const bool *known;  /* as in pfc_blocks_run_opts: these are left out */
    double budget_s;    /* that was given; 0: none */
    const pfc_machine *machine; /* name and class */
} pfc_session_of;

/** Never NULL; caller decrefs. */
json_t *pfc_session_to_json(const pfc_blocks_result *result, const pfc_session_of *of);

#endif
