/*
 * Settings of perfci-server, from flags, environment and the settings file, in this order of
 * precedence. A running server adopts these from a changed file: the two rates, public reading, the
 * log level, retention, the width of partitions, and the receivers of notices.
 */
#ifndef PFC_SERVER_SETTINGS_H
#define PFC_SERVER_SETTINGS_H

#include "core/base/err.h"
#include "core/base/log.h"
#include "server/settings_file.h"

#define PFC_SERVER_FLAGS 56

typedef struct pfc_server_settings {
    const char *listen;     /* --listen, PERFCI_LISTEN */
    const char *ops_listen; /* --ops-listen, PERFCI_OPS_LISTEN; NULL: none */
    char *database;         /* --database, PERFCI_DATABASE_URL or its _FILE; owned */
    char *read_database;    /* PERFCI_DATABASE_READ_URL: a replica; NULL: none; owned */
    char *direct_database;  /* PERFCI_DATABASE_DIRECT_URL: bypasses a pooler, for LISTEN; owned */
    bool prepare;     /* --database-prepare, PERFCI_DATABASE_PREPARE=0: no prepared statements */
    bool unsafe;      /* --database-unsafe, PERFCI_DATABASE_UNSAFE=1: a crash may lose commits */
    const char *data; /* --data, PERFCI_DATA; NULL: nothing is written */
    const char *docs; /* --docs, PERFCI_DOCS: folder of the built documentation; NULL: where it is
                         installed */
    bool openapi;     /* --openapi: prints the API's description, then exits */
    const char *bootstrap_token; /* --bootstrap-token-file; NULL: none */
    bool migrate;                /* --migrate: migrates the schema, then exits */
    const char
        *server_role; /* --server-role: the role that gets the server's rights then; NULL: none */
    bool public_read; /* --public-read, PERFCI_PUBLIC_READ=1 */
    int64_t workers;  /* --workers, PERFCI_WORKERS; 0: this server only answers requests */
    int64_t threads;  /* --threads, PERFCI_HTTP_THREADS */
    int64_t rate_address;        /* --rate-address, PERFCI_RATE_ADDRESS; 0: no limit */
    int64_t rate_token;          /* --rate-token, PERFCI_RATE_TOKEN; 0: no limit */
    int64_t connections;         /* --connections, PERFCI_CONNECTIONS */
    int64_t connections_each;    /* --connections-per-address; 0: no limit */
    int64_t waiting_each;        /* --waiting-per-token; 0: no limit */
    int64_t uploads_each;        /* --uploads-per-token; 0: no limit */
    const char *hosts;           /* --hosts, PERFCI_HOSTS; NULL: none */
    const char *sources;         /* --sources, PERFCI_SOURCES; NULL: none */
    const char *trusted;         /* --trusted-proxies, PERFCI_TRUSTED_PROXIES; NULL: none */
    const char *tls_cert;        /* --tls-cert, PERFCI_TLS_CERT: file; NULL: plain HTTP */
    const char *tls_key;         /* --tls-key, PERFCI_TLS_KEY */
    bool plain_http;             /* --plain-http, PERFCI_PLAIN_HTTP=1 */
    double request_timeout_s;    /* --request-timeout, PERFCI_REQUEST_TIMEOUT */
    double lease_s;              /* --lease, PERFCI_LEASE: whole seconds */
    int64_t raw_months;          /* --retain-raw, PERFCI_RETAIN_RAW: months; 0: all */
    int64_t day_months;          /* --retain-days, PERFCI_RETAIN_DAYS: months; 0: all */
    int64_t audit_months;        /* --retain-audit, PERFCI_RETAIN_AUDIT: months; 0: all */
    const char *partition_width; /* --partition-width: "auto", "month", "week" or "day" */
    double backfill_delay_s;     /* --backfill-delay, PERFCI_BACKFILL_DELAY */
    int64_t backfill_budget;     /* --backfill-budget, PERFCI_BACKFILL_BUDGET; 0: none */
    const char *notify;          /* --notify, PERFCI_NOTIFY: file of receivers; NULL: none */
    const char *notify_networks; /* --notify-networks, PERFCI_NOTIFY_NETWORKS; NULL: public ones */
    double notify_timeout_s;     /* --notify-timeout, PERFCI_NOTIFY_TIMEOUT */
    double notify_retry_s;       /* --notify-retry, PERFCI_NOTIFY_RETRY */
    int64_t notify_tries;        /* --notify-tries, PERFCI_NOTIFY_TRIES */
    const char *forges;          /* --forges, PERFCI_FORGES: file of accounts; NULL: none */
    double pull_poll_s;          /* --pull-poll, PERFCI_PULL_POLL */
    double pull_retry_s;         /* --pull-retry, PERFCI_PULL_RETRY */
    double missed_night_s;       /* --missed-night, PERFCI_MISSED_NIGHT; 0: no alert */
    double silent_runner_s;      /* --silent-runner, PERFCI_SILENT_RUNNER; 0: no alert */
    int64_t stalled_nights;      /* --stalled-nights, PERFCI_STALLED_NIGHTS; 0: no alert */
    const char *public_url;      /* --public-url, PERFCI_PUBLIC_URL; NULL: no links */
    double database_wait_s;      /* --database-wait, PERFCI_DATABASE_WAIT */
    pfc_log_level log_level;     /* --log-level, PERFCI_LOG_LEVEL */
    const char *file;            /* --settings, PERFCI_SETTINGS; NULL: none */
    bool done;                   /* --help or --version was answered */
    pfc_settings_file
        lines; /* of the file at the start; the strings above may point into it or into */
    pfc_settings_file lines_now;         /* the file that was adopted last */
    const char *flags[PFC_SERVER_FLAGS]; /* as given, for reading the settings again */
} pfc_server_settings;

/** The text of --help, in three parts (settings_help.c). */
extern const char pfc_server_help[], pfc_server_fault_help[], pfc_server_more_help[];

/** Clear *out, also on failure. PFC_EINVAL for a usage error. */
pfc_code pfc_server_settings_read(int argc, char **argv, pfc_server_settings *out,
                                  pfc_err *err) PFC_MUSTCHECK;
/** Reads the settings file again; flags and environment do not change. The caller passes *fresh to
 *  pfc_server_settings_adopt or clears it, also on failure. */
pfc_code pfc_server_settings_again(const pfc_server_settings *settings, pfc_server_settings *fresh,
                                   pfc_err *err) PFC_MUSTCHECK;
/** Adopts the settings that may change while the server runs (see above). Returns the names of
 * changed lines that need a restart, "A, B"; caller frees; NULL: none. */
char *pfc_server_settings_adopt(pfc_server_settings *settings, pfc_server_settings *fresh);
void pfc_server_settings_clear(pfc_server_settings *settings);

#endif
