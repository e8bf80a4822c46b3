/*
 * The bot: works on the deliveries of webhooks, looks at the pull requests that are due, and posts
 * what it finds: a check, a comment, answers to commands. It also keeps the issues of alert groups
 * that were asked for.
 *
 * A look asks the forge for the pull request, measures a new head (base and head together, in one
 * lease of a runner), and posts the verdict when its job has ended. Everything posted is remembered
 * with a hash, so that a look that changes nothing posts nothing. A look that fails is repeated at
 * growing intervals. Any number of servers may run bots on one database: each pull request is
 * looked at by one at a time (server/services/bot/bot.h).
 */
#ifndef PFC_SERVER_BOT_BOT_H
#define PFC_SERVER_BOT_BOT_H

#include "server/bot/setup.h"
#include "server/repo/connection/db.h"

typedef struct pfc_bot pfc_bot;

/** db, setups: outlive the bot. A replaced setup counts from the next pfc_bot_next on. */
pfc_bot *pfc_bot_new(pfc_db *db, pfc_bot_setups *setups);
/** Accepts NULL. */
void pfc_bot_close(pfc_bot *bot);
/** Cancels the call under way and every later one; any thread. */
void pfc_bot_stop(pfc_bot *bot);
/** Works on waiting deliveries, then looks at one pull request or, when none is due, at one group
 *  with an issue. PFC_ENOTFOUND: neither is due, or the setup has no account; the next one is in
 *  *due_s (INFINITY: none waits). A forge that fails is not an error of this call.
 *  One thread per server. */
pfc_code pfc_bot_next(pfc_bot *bot, double *due_s, pfc_err *err) PFC_MUSTCHECK;

#endif
