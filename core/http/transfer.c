/* Shared by the clients of libcurl. */
#include "core/http/transfer.h"

#include <math.h>
#include <pthread.h>

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void curl_start(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        pfc_die("libcurl does not start");
}

CURL *transfer_open(void)
{
    CURL *curl;

    (void)pthread_once(&curl_once, curl_start);
    curl = curl_easy_init();
    if (!curl)
        pfc_die("libcurl gives no handle");
    return curl;
}

static int ask_cancelled(void *arg, curl_off_t dltotal, curl_off_t dlnow, curl_off_t ultotal,
                         curl_off_t ulnow)
{
    const transfer_guard *guard = arg;

    (void)dltotal, (void)dlnow, (void)ultotal, (void)ulnow;
    return guard->cancelled && guard->cancelled(guard->cancelled_arg) ? 1 : 0;
}

/* Checks the address that is connected to. A check of the name would let its address change between
 * check and connection. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    transfer_guard *guard = arg;

    (void)purpose;
    if (guard->may_reach && !guard->may_reach(guard->may_reach_arg, &address->addr)) {
        guard->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static long to_ms(double seconds)
{
    return (long)fmin(fmax(ceil(seconds * 1000.0), 1.0), 86400e3);
}

void transfer_guard_set(CURL *curl, transfer_guard *guard, char *reason, double connect_timeout_s,
                        double timeout_s)
{
    guard->refused = false;
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, ask_cancelled);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, guard);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, guard);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, to_ms(connect_timeout_s));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, to_ms(timeout_s));
}

CURLcode transfer_perform(CURL *curl, transfer_guard *guard)
{
    return ask_cancelled(guard, 0, 0, 0, 0) ? CURLE_ABORTED_BY_CALLBACK : curl_easy_perform(curl);
}

/* The code for callers to branch on: EUNAVAIL for faults that a retry can solve, EIO for those that
 * a person must solve. */
static pfc_code code_of(CURLcode rc)
{
    if (rc == CURLE_COULDNT_RESOLVE_HOST || rc == CURLE_COULDNT_RESOLVE_PROXY ||
        rc == CURLE_COULDNT_CONNECT || rc == CURLE_GOT_NOTHING || rc == CURLE_SEND_ERROR ||
        rc == CURLE_RECV_ERROR || rc == CURLE_PARTIAL_FILE || rc == CURLE_WEIRD_SERVER_REPLY ||
        rc == CURLE_HTTP2 || rc == CURLE_HTTP2_STREAM)
        return PFC_EUNAVAIL;
    /* CURLE_UNSUPPORTED_PROTOCOL is a peer that does not speak HTTP: the URL itself is correct. */
    return rc == CURLE_URL_MALFORMAT ? PFC_EINVAL : PFC_EIO;
}

pfc_code transfer_failure(const transfer_guard *guard, CURLcode rc, const char *where,
                          const char *reason, pfc_err *err)
{
    if (rc == CURLE_ABORTED_BY_CALLBACK)
        return pfc_err_set(err, PFC_ECONFLICT, "the call to %s was cancelled", where);
    if (guard->refused && rc == CURLE_COULDNT_CONNECT)
        return pfc_err_set(err, PFC_EDENIED, "the address of %s must not be connected to", where);
    if (rc == CURLE_COULDNT_CONNECT)
        return pfc_err_set(err, PFC_EUNAVAIL, "no service answers at %s: connection failed", where);
    if (rc == CURLE_OPERATION_TIMEDOUT)
        return pfc_err_set(err, PFC_ETIMEOUT, "%s did not answer in time", where);
    return pfc_err_set(err, code_of(rc), "the call to %s failed: %s", where,
                       reason[0] ? reason : curl_easy_strerror(rc));
}
