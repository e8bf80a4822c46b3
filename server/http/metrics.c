/* Counters of requests, in OpenMetrics text. */
#include <string.h>

#include "core/base/clock.h"
#include "server/http/internal.h"

static const double bounds_s[PFC_HTTPD_BUCKETS - 1] = { 0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30 };
/* As OpenMetrics writes numbers in labels. */
static const char *const bounds[PFC_HTTPD_BUCKETS - 1] = { "0.001", "0.005", "0.025", "0.1",
                                                           "0.5",   "1.0",   "5.0",   "30.0" };

void httpd_metrics_count(pfc_httpd *http, const httpd_exchange *x, int64_t now_ns)
{
    httpd_route_stats *stats = &http->stats[x->route_index];
    int64_t took_ns = now_ns - (x->complete_ns ? x->complete_ns : x->begin_ns);
    size_t class = (size_t)(x->status / 100);
    size_t bucket = 0;

    atomic_fetch_add(&stats->by_class[class < 6 ? class : 0], 1);
    while (bucket < PFC_HTTPD_BUCKETS - 1 && (double)took_ns * 1e-9 > bounds_s[bucket])
        bucket++;
    atomic_fetch_add(&stats->buckets[bucket], 1);
    atomic_fetch_add(&stats->sum_ns, (uint64_t)took_ns);
}

static const char *route_name(const pfc_httpd *http, size_t i, const char **method)
{
    *method = i < http->opts.routes_len ? http->opts.routes[i].method : "";
    return i < http->opts.routes_len ? http->opts.routes[i].pattern : "(none)";
}

static uint64_t served(httpd_route_stats *stats)
{
    uint64_t all = 0;

    for (size_t b = 0; b < PFC_HTTPD_BUCKETS; b++)
        all += atomic_load(&stats->buckets[b]);
    return all;
}

static void put_counts(pfc_httpd *http, pfc_buf *out)
{
    pfc_buf_puts(out,
                 "# TYPE perfci_http_requests counter\n"
                 "# HELP perfci_http_requests Requests answered, by route and status class.\n");
    for (size_t i = 0; i <= http->opts.routes_len; i++) {
        const char *method;
        const char *name = route_name(http, i, &method);

        for (size_t class = 0; class < 6; class ++) {
            uint64_t n = atomic_load(&http->stats[i].by_class[class]);

            if (n > 0)
                pfc_buf_printf(out,
                               "perfci_http_requests_total{method=\"%s\",route=\"%s\","
                               "status=\"%zuxx\"} %llu\n",
                               method, name, class, (unsigned long long)n);
        }
    }
}

static void put_durations(pfc_httpd *http, pfc_buf *out)
{
    pfc_buf_puts(out, "# TYPE perfci_http_request_seconds histogram\n"
                      "# UNIT perfci_http_request_seconds seconds\n"
                      "# HELP perfci_http_request_seconds From the request's last byte to the "
                      "answer's.\n");
    for (size_t i = 0; i <= http->opts.routes_len; i++) {
        const char *method;
        const char *name = route_name(http, i, &method);
        uint64_t all = served(&http->stats[i]);
        uint64_t below = 0;

        if (all == 0)
            continue;
        for (size_t b = 0; b < PFC_HTTPD_BUCKETS - 1; b++) {
            below += atomic_load(&http->stats[i].buckets[b]);
            pfc_buf_printf(out,
                           "perfci_http_request_seconds_bucket{method=\"%s\",route=\"%s\","
                           "le=\"%s\"} %llu\n",
                           method, name, bounds[b], (unsigned long long)below);
        }
        /* Summed here, not `all`: requests answered meanwhile must not make +Inf the smaller. */
        below += atomic_load(&http->stats[i].buckets[PFC_HTTPD_BUCKETS - 1]);
        pfc_buf_printf(out,
                       "perfci_http_request_seconds_bucket{method=\"%s\",route=\"%s\",le=\"+Inf\"} "
                       "%llu\nperfci_http_request_seconds_count{method=\"%s\",route=\"%s\"} %llu\n"
                       "perfci_http_request_seconds_sum{method=\"%s\",route=\"%s\"} %.9g\n",
                       method, name, (unsigned long long)below, method, name,
                       (unsigned long long)below, method, name,
                       (double)atomic_load(&http->stats[i].sum_ns) * 1e-9);
    }
}

static void put_figure(pfc_buf *out, const char *type, const char *name, const char *help,
                       uint64_t value)
{
    pfc_buf_printf(
        out, "# TYPE perfci_http_%s %s\n# HELP perfci_http_%s %s\nperfci_http_%s%s %llu\n", name,
        type, name, help, name, type[0] == 'c' ? "_total" : "", (unsigned long long)value);
}

void pfc_httpd_metrics(pfc_httpd *http, pfc_buf *out)
{
    size_t conns, streams, waiters;

    pthread_mutex_lock(&http->lock);
    conns = http->conns_len;
    pthread_mutex_unlock(&http->lock);
    pthread_mutex_lock(&http->events.lock);
    streams = http->events.streams_len;
    waiters = http->events.waiters_len;
    pthread_mutex_unlock(&http->events.lock);

    put_counts(http, out);
    put_durations(http, out);
    pfc_buf_printf(out,
                   "# TYPE perfci_http_body_bytes gauge\n"
                   "# HELP perfci_http_body_bytes Bodies of requests under way.\n"
                   "perfci_http_body_bytes %zu\n",
                   atomic_load(&http->bodies));
    if (http->tls)
        pfc_buf_printf(out,
                       "# TYPE perfci_http_certificate_expires gauge\n"
                       "# HELP perfci_http_certificate_expires When the certificate shown ends, "
                       "Unix seconds.\nperfci_http_certificate_expires %lld\n",
                       (long long)httpd_tls_expires(http->tls));
    put_figure(out, "gauge", "connections", "Connections open.", conns);
    put_figure(out, "gauge", "streams", "Event streams open.", streams);
    put_figure(out, "gauge", "waiting", "Requests that wait for news.", waiters);
    put_figure(out, "counter", "timeouts", "Connections ended because their client was too slow.",
               atomic_load(&http->timeouts));
    put_figure(out, "counter", "refused", "Connections refused: there were too many.",
               atomic_load(&http->refused));
    put_figure(out, "counter", "evicted", "Unused connections closed for newer ones.",
               atomic_load(&http->evicted));
    put_figure(out, "counter", "crowded", "Event streams and waits beyond their limits.",
               atomic_load(&http->crowded));
    put_figure(out, "counter", "limited", "Requests refused by 429.", atomic_load(&http->limited));
}
