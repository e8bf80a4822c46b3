/*
 * Runs whose upload failed: how often, and when each is sent again. Kept in memory only, so that a
 * new process tries all of them at once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "runner/spool/spool_priv.h"

#define MAX_LATER_S 900.0

void pfc_spool_troubles_clear(pfc_spool *spool)
{
    for (size_t i = 0; i < spool->troubles_len; i++) {
        free(spool->troubles[i].run);
        free(spool->troubles[i].reason);
    }
    free(spool->troubles);
    spool->troubles = NULL;
    spool->troubles_len = spool->troubles_cap = 0;
}

void pfc_spool_backoff(pfc_spool *spool, double first_s)
{
    spool->backoff_s = first_s;
}

pfc_spool_trouble *pfc_spool_trouble_find(const pfc_spool *spool, const char *name)
{
    const size_t len = pfc_spool_run_len(name);

    for (size_t i = 0; i < spool->troubles_len; i++)
        if (strlen(spool->troubles[i].run) == len && memcmp(spool->troubles[i].run, name, len) == 0)
            return &spool->troubles[i];
    return NULL;
}

pfc_spool_trouble *pfc_spool_trouble_of(pfc_spool *spool, const char *name)
{
    pfc_spool_trouble *t = pfc_spool_trouble_find(spool, name);

    if (t)
        return t;
    spool->troubles = pfc_grow(spool->troubles, spool->troubles_len, &spool->troubles_cap,
                               sizeof(*spool->troubles));
    t = &spool->troubles[spool->troubles_len++];
    *t = (pfc_spool_trouble){ .run = pfc_strndup(name, pfc_spool_run_len(name)) };
    return t;
}

void pfc_spool_trouble_forget(pfc_spool *spool, pfc_spool_trouble *t)
{
    if (!t)
        return;
    free(t->run);
    free(t->reason);
    *t = spool->troubles[--spool->troubles_len];
}

void pfc_spool_troubles_forget_gone(pfc_spool *spool, const pfc_spool_names *docs)
{
    for (size_t i = spool->troubles_len; i-- > 0;) {
        const char *run = spool->troubles[i].run;
        const size_t len = strlen(run);
        size_t at = 0;

        while (at < docs->len && (pfc_spool_run_len(docs->items[at]) != len ||
                                  memcmp(docs->items[at], run, len) != 0))
            at++;
        if (at == docs->len)
            pfc_spool_trouble_forget(spool, &spool->troubles[i]);
    }
}

void pfc_spool_trouble_note(pfc_spool *spool, const char *name, const char *reason)
{
    pfc_spool_trouble *t = pfc_spool_trouble_of(spool, name);
    const double later_s = fmin(MAX_LATER_S, ldexp(spool->backoff_s, (int)PFC_MIN(t->errors, 30u)));

    t->errors++;
    t->behind++;
    t->due_ns = pfc_clock_ns() + (int64_t)(later_s * 1e9);
    free(t->reason);
    t->reason = pfc_strdup(reason);
    pfc_log(t->errors < PFC_SPOOL_ERRORS ? PFC_WARN : PFC_ERROR, "upload_server_error", "document",
            name, "times", t->errors, "retry_in_s", later_s, "reason", reason);
}

bool pfc_spool_server_is_broken(const pfc_spool *spool)
{
    size_t n = 0;

    for (size_t i = 0; i < spool->troubles_len; i++)
        n += spool->troubles[i].errors > 0 && !spool->troubles[i].its_own;
    return n >= PFC_SPOOL_IN_A_ROW;
}

void pfc_spool_server_took_one(pfc_spool *spool)
{
    for (size_t i = 0; i < spool->troubles_len; i++)
        spool->troubles[i].its_own = spool->troubles[i].errors > 0;
}

bool pfc_spool_is_put_off(const pfc_spool_trouble *t)
{
    return t && t->errors >= PFC_SPOOL_ERRORS;
}
