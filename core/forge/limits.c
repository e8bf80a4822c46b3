/*
 * Limits on the number of calls. GitHub: "Rate limits for the REST API", "Best practices": wait for
 * Retry-After, else until x-ratelimit-reset when nothing remains, else a minute, doubled each time.
 * GitLab: RateLimit-Remaining and RateLimit-Reset, status 429.
 */
#include <math.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/forge/forge_priv.h"

#define FIRST_BACKOFF_S 60.0
#define MAX_WAIT_S      3600.0

int64_t forge_now(const pfc_forge *forge)
{
    return forge->now(forge->now_arg);
}

double pfc_forge_wait_s(const pfc_forge *forge)
{
    return fmax((double)(forge->not_before - forge_now(forge)), 0);
}

/* Seconds until the limit ends, by the forge's own clock; 0: it did not say. */
static double until_reset(const pfc_forge *forge, const forge_limits *l)
{
    int64_t reset = 0, left = 1;

    if (!l->remaining || !l->reset ||
        pfc_parse_i64(l->remaining, 0, INT64_MAX, "remaining", &left, NULL) || left > 0 ||
        pfc_parse_i64(l->reset, 0, INT64_C(1) << 40, "reset", &reset, NULL))
        return 0;
    return fmax((double)(reset - (l->date_unix_s ? l->date_unix_s : forge_now(forge))), 0) + 1;
}

static void wait_for(pfc_forge *forge, double seconds)
{
    const double whole = ceil(fmin(seconds, MAX_WAIT_S));

    forge->not_before = PFC_MAX(forge->not_before, forge_now(forge) + (int64_t)whole);
}

bool forge_limited(pfc_forge *forge, const forge_limits *l)
{
    const double reset_s = until_reset(forge, l);
    const bool refused = l->status == 403 || l->status == 429;
    const bool secondary = strcasestr(l->message, "secondary rate limit") ||
                           strcasestr(l->message, "abuse detection") ||
                           strcasestr(l->message, "rate limit exceeded");

    if (!refused) {
        /* The last call that was left: the next one waits. */
        if (reset_s > 0)
            wait_for(forge, reset_s);
        else if (l->status >= 500 && l->retry_after_s > 0)
            wait_for(forge, l->retry_after_s);
        if (l->status < 400)
            forge->backoff_s = 0;
        return false;
    }
    if (l->retry_after_s > 0) {
        wait_for(forge, l->retry_after_s);
    } else if (reset_s > 0) {
        wait_for(forge, reset_s);
    } else if (l->status == 429 || secondary) {
        forge->backoff_s = forge->backoff_s > 0 ? 2 * forge->backoff_s : FIRST_BACKOFF_S;
        wait_for(forge, forge->backoff_s);
    } else {
        return false;
    }
    return true;
}
