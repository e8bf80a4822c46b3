/* What the parts of server/notify share. */
#ifndef PFC_SERVER_NOTIFY_INTERNAL_H
#define PFC_SERVER_NOTIFY_INTERNAL_H

#include "server/notify/notify.h"
#include "server/services/notices.h"

#define GITHUB_KEY "culprit" /* of the marker of the culprit's comment */

/** What each kind of receiver gets; caller frees. `all` begins with the oldest about the commit; `id` is
 *  the one that is being sent; link: the dashboard's URL or NULL. */
char *notify_webhook(const pfc_notices *all, int64_t id, const char *link);
char *notify_slack(const pfc_notices *all, int64_t id, const char *link);
char *notify_github(const pfc_notices *all, const char *link);

#endif
