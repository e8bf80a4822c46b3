/*
 * Answers that cost much to build, kept in memory beside the version of the data from which they
 * were built. The caller reads the version at each request, which must cost little, and change with
 * every change that alters the answer. Bounded in bytes: the answer that was asked for longest ago
 * is dropped first. Thread-safe.
 */
#ifndef PFC_SERVER_HTTP_KEPT_H
#define PFC_SERVER_HTTP_KEPT_H

#include "server/http/http.h"

#define PFC_KEPT_MAX_ANSWERS 64
#define PFC_KEPT_MAX_KEY     4096

typedef struct pfc_kept pfc_kept;

/** most_bytes: of all kept bodies, plain and compressed. */
pfc_kept *pfc_kept_new(size_t most_bytes);
/** Answers under way keep what they need. Accepts NULL. */
void pfc_kept_free(pfc_kept *kept);
/** Whether an answer of any version is kept under this key, so that reading the version may avoid
 *  building one. kept NULL: false, here and below. */
bool pfc_kept_has(pfc_kept *kept, const char *key);
/** Answers with what is kept under this key; false: nothing is, or it is of another version. */
bool pfc_kept_find(pfc_kept *kept, const char *key, const char *version, pfc_reply *reply);
/** Keeps the answer, of status 200 with a body of its own, and replaces what was under this key. An
 *  answer over a quarter of the limit, or a key over PFC_KEPT_MAX_KEY, is not kept: the reply is
 *  unchanged then. */
void pfc_kept_put(pfc_kept *kept, const char *key, const char *version, pfc_reply *reply);

typedef struct pfc_kept_figures {
    size_t answers, bytes;
    uint64_t found, built; /* requests answered from memory; answers put there; since the start */
} pfc_kept_figures;
void pfc_kept_count(pfc_kept *kept, pfc_kept_figures *out);

#endif
