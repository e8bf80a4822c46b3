/*
 * Accounts at forges: the secrets that verify webhooks, and the tokens for the API. Secrets come
 * from the environment, from files and from systemd credentials; they are in no database, no flag
 * and no message.
 *
 * The environment gives one account of each forge, for all projects, with the forge's name; G is
 * GITHUB, GITLAB or GITEA: PERFCI_G_WEBHOOK_SECRET, PERFCI_G_TOKEN, PERFCI_G_APP_KEY (each also
 * with _FILE, or as a credential), PERFCI_G_APP_ID, PERFCI_G_API_URL. A file has further ones, for
 * single projects, or for several servers of a forge.
 */
#ifndef PFC_SERVER_BOT_ACCOUNTS_H
#define PFC_SERVER_BOT_ACCOUNTS_H

#include "core/forge/webhook.h"

#define PFC_FORGE_MAX_ACCOUNTS 64

typedef struct pfc_forge_account {
    char *name; /* a slug */
    pfc_forge_kind kind;
    char *project; /* "": all projects */
    char *url;     /* of the API; NULL: the public one of the forge */
    char *token, *app_id, *app_key;
    char *secret, *old_secret; /* of webhooks; the old one counts, too; NULL: none */
    int64_t installation;      /* 0: asked for by repository */
} pfc_forge_account;

typedef struct pfc_forge_accounts {
    pfc_forge_account *items;
    size_t len;
} pfc_forge_accounts;

/**
 * Reads the environment, and `file` (NULL: none) with lines (core/base/config/entries.h) such as
 * "NAME forge=github secret=FILE token=FILE [project=P] [url=U] [old-secret=FILE] [app=ID key=FILE
 * [installation=N]]". PFC_EINVAL names the line or the variable. Clear *out,
 * also on failure.
 */
pfc_code pfc_forge_accounts_read(const char *file, pfc_forge_accounts *out,
                                 pfc_err *err) PFC_MUSTCHECK;
/** As pfc_forge_accounts_read for the text of a file, without the environment. */
pfc_code pfc_forge_accounts_parse(const char *text, const char *where, pfc_forge_accounts *out,
                                  pfc_err *err) PFC_MUSTCHECK;
void pfc_forge_accounts_clear(pfc_forge_accounts *accounts);

/** The account that posts for a project: its own one, else one for all projects; NULL: none. */
const pfc_forge_account *pfc_forge_account_for(const pfc_forge_accounts *accounts,
                                               pfc_forge_kind kind, const char *project);
const pfc_forge_account *pfc_forge_account_named(const pfc_forge_accounts *accounts,
                                                 const char *name);

/**
 * Finds the account whose secret fits the webhook; all of the forge are tried. PFC_EDENIED, too,
 * when none of the forge has a secret. Other codes as of pfc_webhook_verify.
 */
pfc_code pfc_forge_account_verify(const pfc_forge_accounts *accounts, pfc_forge_kind kind,
                                  const pfc_webhook_headers *headers, const void *body, size_t len,
                                  int64_t now_unix_s, const pfc_forge_account **out,
                                  pfc_err *err) PFC_MUSTCHECK;

#endif
