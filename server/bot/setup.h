/*
 * Settings of the bot and of the receivers of webhooks: accounts at forges, the dashboard's
 * address, and intervals. SIGHUP replaces all of them at once. Each thread holds the setup that it
 * works with, so that a setup is freed when the last holder has released it.
 */
#ifndef PFC_SERVER_BOT_SETUP_H
#define PFC_SERVER_BOT_SETUP_H

#include <stdatomic.h>

#include "server/bot/accounts.h"

/* Read-only for its holders. */
typedef struct pfc_bot_setup {
    pfc_forge_accounts accounts;
    char *link; /* of the dashboard, without a slash at its end; NULL: none */
    double poll_s, retry_s;
    atomic_size_t holders; /* for setup.c */
} pfc_bot_setup;

typedef struct pfc_bot_setup_opts {
    const char *forges;     /* file of accounts, besides those of the environment; NULL: none */
    const char *public_url; /* of the dashboard, for links; NULL: none */
    double poll_s;          /* between two looks at an open pull request; 0: 300 */
    double retry_s;         /* before the second try of a look, doubled up to an hour; 0: 30 */
} pfc_bot_setup_opts;

/** Reads the environment and the file. PFC_EINVAL names the line, the variable, or the URL. *out
 *  has one holder, the caller. */
pfc_code pfc_bot_setup_read(const pfc_bot_setup_opts *opts, pfc_bot_setup **out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. The last release wipes and frees it. Any thread. */
void pfc_bot_setup_release(pfc_bot_setup *setup);

/** The setup in use. Thread-safe. */
typedef struct pfc_bot_setups pfc_bot_setups;

/** Takes `first`. */
pfc_bot_setups *pfc_bot_setups_new(pfc_bot_setup *first);
/** Releases the setup in use; accepts NULL. No thread may hold one later. */
void pfc_bot_setups_free(pfc_bot_setups *setups);
/** The setup in use, for the caller to release. */
pfc_bot_setup *pfc_bot_setups_hold(pfc_bot_setups *setups);
/** Takes `next`, which is in use from now on. */
void pfc_bot_setups_replace(pfc_bot_setups *setups, pfc_bot_setup *next);

#endif
