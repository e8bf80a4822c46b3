/*
 * Alerts as a person reads them: the list and one with everything that is stored about it.
 */
#ifndef PFC_CLI_SERVICE_ALERT_SHOW_H
#define PFC_CLI_SERVICE_ALERT_SHOW_H

#include "cli/cli.h"

/** The rows of GET /alerts as a table. */
void pfc_alert_list(const pfc_cli *cli, const json_t *list);

/** The answer of GET or PATCH /alerts/{id}, and the commands that come next. */
void pfc_alert_show(const pfc_cli *cli, const json_t *alert);

/** The suspect of an alert with subject and author, and the search that found it; "" without one.
 */
void pfc_alert_show_suspect(const json_t *alert, char *out, size_t cap);
/** The rows of `members` and of `history` of an alert or of a group. */
void pfc_alert_show_members(const pfc_cli *cli, const json_t *list);
void pfc_alert_show_history(const pfc_cli *cli, const json_t *list);

/** The issue of a group at its forge, as a table. group: answer of POST /groups/{id}/issue. */
void pfc_group_issue_show(const pfc_cli *cli, const json_t *group);

/** The sizes that history, bisections and fresh pairs state, where there are several, and why they
 *  differ. doc: an alert or its suspects. */
void pfc_alert_show_effects(const pfc_cli *cli, const json_t *doc);

#endif
