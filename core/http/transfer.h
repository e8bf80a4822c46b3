/*
 * Shared by the clients of core/http: libcurl's handles, cancellation, allowed addresses, and what
 * a failed transfer means. Not for other folders.
 */
#ifndef PFC_CORE_HTTP_TRANSFER_H
#define PFC_CORE_HTTP_TRANSFER_H

#include <stdbool.h>
#include <sys/socket.h>

#include <curl/curl.h>

#include "core/base/err.h"

typedef struct transfer_guard {
    bool (*cancelled)(void *arg); /* asked about once a second; NULL: never */
    void *cancelled_arg;
    bool (*may_reach)(void *arg, const struct sockaddr *address); /* NULL: anywhere */
    void *may_reach_arg;
    bool refused; /* by may_reach, in this transfer */
} transfer_guard;

/** A new handle; libcurl's global state is set up once, whichever thread is first. */
CURL *transfer_open(void);
/** The options of every transfer. reason: CURL_ERROR_SIZE bytes. The guard outlives it. */
void transfer_guard_set(CURL *curl, transfer_guard *guard, char *reason, double connect_timeout_s,
                        double timeout_s);
/** curl_easy_perform, unless it is cancelled already. */
CURLcode transfer_perform(CURL *curl, transfer_guard *guard);
/**
 * PFC_ECONFLICT: cancelled; PFC_EDENIED: may_reach; PFC_EUNAVAIL and PFC_ETIMEOUT: a later try may
 * succeed; PFC_EINVAL: the URL; PFC_EIO: what a person must mend (TLS and the rest). `where`: the
 * URL, or the name that stands for it in messages.
 */
pfc_code transfer_failure(const transfer_guard *guard, CURLcode rc, const char *where,
                          const char *reason, pfc_err *err);

#endif
