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

#endif
