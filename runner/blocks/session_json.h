/*
 * The body of POST /api/v1/projects/{p}/sessions: the result of each new commit of a session.
 */
#ifndef PFC_RUNNER_BLOCKS_SESSION_JSON_H
#define PFC_RUNNER_BLOCKS_SESSION_JSON_H

#include <jansson.h>

#include "runner/blocks/blocks.h"

/** Facts about the session that pfc_blocks_result lacks. */
typedef struct pfc_session_of {
    const char *branch; /* NULL: the project's default */
    size_t first;       /* index of the first new commit; the commit before it is the base */
    const bool *known;  /* as in pfc_blocks_run_opts: these are left out */
    double budget_s;    /* the session's limit; 0: none */
    const pfc_machine *machine; /* name and class */
    const char *pair_key;       /* pair_key.h; NULL: none */
} pfc_session_of;

/** Never NULL; caller decrefs. */
json_t *pfc_session_to_json(const pfc_blocks_result *result, const pfc_session_of *of);

#endif
