/* Shared by the parts of server/notify. */
#ifndef PFC_SERVER_NOTIFY_INTERNAL_H
#define PFC_SERVER_NOTIFY_INTERNAL_H

#include <jansson.h>

#include "server/notify/notify.h"
#include "server/services/notices.h"

#define GITHUB_KEY "culprit" /* of the marker of the culprit's comment */

/** The message for each kind of receiver; caller frees. `all`: the notices about the commit, oldest
 * first; `id`: the one to send; link: the dashboard's URL or NULL. */
char *notify_webhook(const pfc_notices *all, int64_t id, const char *link);
char *notify_slack(const pfc_notices *all, int64_t id, const char *link);
/** Plain text. */
char *notify_mail(const pfc_notices *all, int64_t id, const char *link);
/** explanation: the answer of GET /alerts/{id}/explanation for one of the alerts; NULL: none is
 *  known. */
char *notify_github(const pfc_notices *all, const json_t *explanation, const char *link);

/* ---- digests: all notices in one message, in their order ---- */

/** "7 notices: 4 regression, 2 worsened, 1 recovered"; caller frees. */
char *notify_digest_title(const pfc_notices *all);
char *notify_digest_webhook(const pfc_notices *all, const char *digest, const char *link);
char *notify_digest_slack(const pfc_notices *all, const char *link);
/** Plain text. */
char *notify_digest_mail(const pfc_notices *all, const char *link);

/* ---- parts of messages (message.c) ---- */

/** The document of one notice in webhooks; never NULL. */
json_t *notify_document(const pfc_notice *n, const char *link);
/** Takes `doc`; caller frees the text. */
char *notify_dump(json_t *doc);
/** NULL without a link; caller frees. */
char *notify_alert_link(const char *link, int64_t alert_id);
/** Append foreign text to a chat's message, and to plain text; NULL: nothing. */
void notify_put_slack(pfc_buf *out, const char *text);
void notify_put_plain(pfc_buf *out, const char *text);

#endif
