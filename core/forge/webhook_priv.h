/* Shared by the parts of webhook.h: members of a payload by their path, the first fault kept. */
#ifndef PFC_CORE_FORGE_WEBHOOK_PRIV_H
#define PFC_CORE_FORGE_WEBHOOK_PRIV_H

#include <jansson.h>

#include "core/forge/webhook.h"

/* After the first fault every call does nothing. */
typedef struct payload {
    const json_t *root;
    pfc_forge_kind forge;
    pfc_code code;
    pfc_err *err;
} payload;

/** The member at a path such as "pull_request.head.sha"; NULL: absent or null. Borrowed. */
const json_t *payload_at(const payload *p, const char *path);
/** A text, "" where there is none. Borrowed. */
const char *payload_word(const payload *p, const char *path);
bool payload_true(const payload *p, const char *path);
/** A fault: what was expected at the path. */
void payload_fault(payload *p, const char *path, const char *expected);

/* Each sets *out (caller frees); `required` false: absent leaves it alone. */
void payload_text(payload *p, const char *path, size_t max_len, char **out);
void payload_name(payload *p, const char *path, bool required, char **out);
void payload_commit(payload *p, const char *path, bool required, char **out);
void payload_repo(payload *p, const char *path, bool required, char **out);
/** Only an https URL. */
void payload_url(payload *p, const char *path, char **out);
void payload_number(payload *p, const char *path, bool required, int64_t *out);
/** Makes the webhook one that is ignored, for a reason. */
void payload_ignore(pfc_webhook *out, const char *fmt, ...) PFC_PRINTF(2, 3);

/** Does the id consist of zeros alone: no commit? */
bool payload_is_no_commit(const char *id);

void payload_read_github(payload *p, const char *event, pfc_webhook *out);
void payload_read_gitlab(payload *p, const char *event, pfc_webhook *out);
/** ref, before and after of a push, in the shape that all providers share. */
void payload_read_push(payload *p, pfc_webhook *out);

#endif
