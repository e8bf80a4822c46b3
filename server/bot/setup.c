/* The bot's setup, counted by its holders: see setup.h. */
#include "server/bot/setup.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define POLL_S  300.0
#define RETRY_S 30.0

struct pfc_bot_setups {
    pthread_mutex_t lock;
    pfc_bot_setup *now; /* guarded by lock */
};

/* The URL is inserted into Markdown without escaping. */
static pfc_code take_link(pfc_bot_setup *s, const char *url, pfc_err *err)
{
    const size_t len = url ? strlen(url) : 0;

    if (!url)
        return PFC_OK;
    if ((strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) || len > 1024 ||
        url[strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/[]%")])
        return pfc_err_set(err, PFC_EINVAL,
                           "--public-url: expected https://HOST[/PATH], got \"%.200s\"", url);
    s->link = pfc_strndup(url, len - (url[len - 1] == '/'));
    return PFC_OK;
}

pfc_code pfc_bot_setup_read(const pfc_bot_setup_opts *opts, pfc_bot_setup **out, pfc_err *err)
{
    pfc_bot_setup *s = pfc_calloc(1, sizeof(*s));
    pfc_code code = pfc_forge_accounts_read(opts->forges, &s->accounts, err);

    s->poll_s = opts->poll_s > 0 ? opts->poll_s : POLL_S;
    s->retry_s = opts->retry_s > 0 ? opts->retry_s : RETRY_S;
    atomic_init(&s->holders, 1);
    if (!code)
        code = take_link(s, opts->public_url, err);
    if (code)
        pfc_bot_setup_release(s);
    else
        *out = s;
    return code;
}

void pfc_bot_setup_release(pfc_bot_setup *s)
{
    if (!s || atomic_fetch_sub(&s->holders, 1) > 1)
        return;
    pfc_forge_accounts_clear(&s->accounts);
    free(s->link);
    free(s);
}

pfc_bot_setups *pfc_bot_setups_new(pfc_bot_setup *first)
{
    pfc_bot_setups *setups = pfc_calloc(1, sizeof(*setups));

    pthread_mutex_init(&setups->lock, NULL);
    setups->now = first;
    return setups;
}

void pfc_bot_setups_free(pfc_bot_setups *setups)
{
    if (!setups)
        return;
    pfc_bot_setup_release(setups->now);
    pthread_mutex_destroy(&setups->lock);
    free(setups);
}

/* Counted under the lock: else the last holder could free it between the read and the count. */
pfc_bot_setup *pfc_bot_setups_hold(pfc_bot_setups *setups)
{
    pfc_bot_setup *s;

    pthread_mutex_lock(&setups->lock);
    s = setups->now;
    atomic_fetch_add(&s->holders, 1);
    pthread_mutex_unlock(&setups->lock);
    return s;
}

void pfc_bot_setups_replace(pfc_bot_setups *setups, pfc_bot_setup *next)
{
    pfc_bot_setup *old;

    pthread_mutex_lock(&setups->lock);
    old = setups->now;
    setups->now = next;
    pthread_mutex_unlock(&setups->lock);
    pfc_bot_setup_release(old);
}
