/* Command line, environment and settings file of perfci-server. */
#include "server/settings.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/config/conf.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

#define MAX_FAULT_S (30 * 86400.0)

enum {
    OPT_DATABASE = 1000,
    OPT_LISTEN,
    OPT_OPS_LISTEN,
    OPT_DATA,
    OPT_DOCS,
    OPT_OPENAPI,
    OPT_BOOTSTRAP,
    OPT_MIGRATE,
    OPT_SERVER_ROLE,
    OPT_PUBLIC_READ,
    OPT_WORKERS,
    OPT_THREADS,
    OPT_REQUEST_TIMEOUT,
    OPT_LEASE,
    OPT_DATABASE_WAIT,
    OPT_DATABASE_PREPARE,
    OPT_DATABASE_UNSAFE,
    OPT_RATE_ADDRESS,
    OPT_RATE_TOKEN,
    OPT_CONNECTIONS,
    OPT_CONNECTIONS_EACH,
    OPT_WAITING_EACH,
    OPT_UPLOADS_EACH,
    OPT_TRUSTED,
    OPT_SOURCES,
    OPT_HOSTS,
    OPT_TLS_CERT,
    OPT_TLS_KEY,
    OPT_PLAIN_HTTP,
    OPT_LOG_LEVEL,
    OPT_SETTINGS,
    OPT_RETAIN_RAW,
    OPT_RETAIN_DAYS,
    OPT_RETAIN_AUDIT,
    OPT_PARTITION_WIDTH,
    OPT_BACKFILL_DELAY,
    OPT_BACKFILL_BUDGET,
    OPT_NOTIFY,
    OPT_NOTIFY_NETWORKS,
    OPT_NOTIFY_TIMEOUT,
    OPT_NOTIFY_RETRY,
    OPT_NOTIFY_TRIES,
    OPT_FORGES,
    OPT_PULL_POLL,
    OPT_PULL_RETRY,
    OPT_MISSED_NIGHT,
    OPT_SILENT_RUNNER,
    OPT_STALLED_NIGHTS,
    OPT_PUBLIC_URL,
    OPT_VERSION,
    OPT_HELP,
    OPT_END,
};

static const struct option options[] = {
    { "database", required_argument, NULL, OPT_DATABASE },
    { "listen", required_argument, NULL, OPT_LISTEN },
    { "ops-listen", required_argument, NULL, OPT_OPS_LISTEN },
    { "data", required_argument, NULL, OPT_DATA },
    { "docs", required_argument, NULL, OPT_DOCS },
    { "openapi", no_argument, NULL, OPT_OPENAPI },
    { "bootstrap-token-file", required_argument, NULL, OPT_BOOTSTRAP },
    { "migrate", no_argument, NULL, OPT_MIGRATE },
    { "server-role", required_argument, NULL, OPT_SERVER_ROLE },
    { "public-read", no_argument, NULL, OPT_PUBLIC_READ },
    { "workers", required_argument, NULL, OPT_WORKERS },
    { "threads", required_argument, NULL, OPT_THREADS },
    { "request-timeout", required_argument, NULL, OPT_REQUEST_TIMEOUT },
    { "lease", required_argument, NULL, OPT_LEASE },
    { "database-wait", required_argument, NULL, OPT_DATABASE_WAIT },
    { "database-prepare", required_argument, NULL, OPT_DATABASE_PREPARE },
    { "database-unsafe", no_argument, NULL, OPT_DATABASE_UNSAFE },
    { "rate-address", required_argument, NULL, OPT_RATE_ADDRESS },
    { "rate-token", required_argument, NULL, OPT_RATE_TOKEN },
    { "connections", required_argument, NULL, OPT_CONNECTIONS },
    { "connections-per-address", required_argument, NULL, OPT_CONNECTIONS_EACH },
    { "waiting-per-token", required_argument, NULL, OPT_WAITING_EACH },
    { "uploads-per-token", required_argument, NULL, OPT_UPLOADS_EACH },
    { "hosts", required_argument, NULL, OPT_HOSTS },
    { "sources", required_argument, NULL, OPT_SOURCES },
    { "trusted-proxies", required_argument, NULL, OPT_TRUSTED },
    { "tls-cert", required_argument, NULL, OPT_TLS_CERT },
    { "tls-key", required_argument, NULL, OPT_TLS_KEY },
    { "plain-http", no_argument, NULL, OPT_PLAIN_HTTP },
    { "log-level", required_argument, NULL, OPT_LOG_LEVEL },
    { "retain-raw", required_argument, NULL, OPT_RETAIN_RAW },
    { "retain-days", required_argument, NULL, OPT_RETAIN_DAYS },
    { "retain-audit", required_argument, NULL, OPT_RETAIN_AUDIT },
    { "partition-width", required_argument, NULL, OPT_PARTITION_WIDTH },
    { "backfill-delay", required_argument, NULL, OPT_BACKFILL_DELAY },
    { "backfill-budget", required_argument, NULL, OPT_BACKFILL_BUDGET },
    { "notify", required_argument, NULL, OPT_NOTIFY },
    { "notify-networks", required_argument, NULL, OPT_NOTIFY_NETWORKS },
    { "notify-timeout", required_argument, NULL, OPT_NOTIFY_TIMEOUT },
    { "notify-retry", required_argument, NULL, OPT_NOTIFY_RETRY },
    { "notify-tries", required_argument, NULL, OPT_NOTIFY_TRIES },
    { "forges", required_argument, NULL, OPT_FORGES },
    { "pull-poll", required_argument, NULL, OPT_PULL_POLL },
    { "pull-retry", required_argument, NULL, OPT_PULL_RETRY },
    { "missed-night", required_argument, NULL, OPT_MISSED_NIGHT },
    { "silent-runner", required_argument, NULL, OPT_SILENT_RUNNER },
    { "stalled-nights", required_argument, NULL, OPT_STALLED_NIGHTS },
    { "public-url", required_argument, NULL, OPT_PUBLIC_URL },
    { "settings", required_argument, NULL, OPT_SETTINGS },
    { "version", no_argument, NULL, OPT_VERSION },
    { "help", no_argument, NULL, OPT_HELP },
    { NULL, 0, NULL, 0 },
};

_Static_assert(OPT_END - OPT_DATABASE <= PFC_SERVER_FLAGS, "one place for each option");

/* The names that the settings file may have. The database's URL is not one: it can contain a
 * password. */
static const char *const known[] = {
    "PERFCI_LISTEN",
    "PERFCI_OPS_LISTEN",
    "PERFCI_DATA",
    "PERFCI_DOCS",
    "PERFCI_PUBLIC_READ",
    "PERFCI_WORKERS",
    "PERFCI_SOURCES",
    "PERFCI_HOSTS",
    "PERFCI_HTTP_THREADS",
    "PERFCI_REQUEST_TIMEOUT",
    "PERFCI_LEASE",
    "PERFCI_DATABASE_WAIT",
    "PERFCI_DATABASE_PREPARE",
    "PERFCI_DATABASE_UNSAFE",
    "PERFCI_RATE_ADDRESS",
    "PERFCI_RATE_TOKEN",
    "PERFCI_CONNECTIONS",
    "PERFCI_CONNECTIONS_PER_ADDRESS",
    "PERFCI_WAITING_PER_TOKEN",
    "PERFCI_UPLOADS_PER_TOKEN",
    "PERFCI_TRUSTED_PROXIES",
    "PERFCI_TLS_CERT",
    "PERFCI_TLS_KEY",
    "PERFCI_PLAIN_HTTP",
    "PERFCI_LOG_LEVEL",
    "PERFCI_RETAIN_RAW",
    "PERFCI_RETAIN_DAYS",
    "PERFCI_RETAIN_AUDIT",
    "PERFCI_PARTITION_WIDTH",
    "PERFCI_BACKFILL_DELAY",
    "PERFCI_BACKFILL_BUDGET",
    "PERFCI_NOTIFY",
    "PERFCI_NOTIFY_NETWORKS",
    "PERFCI_NOTIFY_TIMEOUT",
    "PERFCI_NOTIFY_RETRY",
    "PERFCI_NOTIFY_TRIES",
    "PERFCI_FORGES",
    "PERFCI_PULL_POLL",
    "PERFCI_PULL_RETRY",
    "PERFCI_MISSED_NIGHT",
    "PERFCI_SILENT_RUNNER",
    "PERFCI_STALLED_NIGHTS",
    "PERFCI_PUBLIC_URL",
    NULL,
};

/* Those of them that a running server takes over: what pfc_server_settings_adopt copies. */
static const char *const taken_over[] = {
    "PERFCI_PUBLIC_READ",     "PERFCI_RATE_ADDRESS",    "PERFCI_RATE_TOKEN",
    "PERFCI_LOG_LEVEL",       "PERFCI_RETAIN_RAW",      "PERFCI_RETAIN_DAYS",
    "PERFCI_RETAIN_AUDIT",    "PERFCI_PARTITION_WIDTH", "PERFCI_NOTIFY",
    "PERFCI_NOTIFY_NETWORKS", "PERFCI_NOTIFY_TIMEOUT",  "PERFCI_NOTIFY_RETRY",
    "PERFCI_NOTIFY_TRIES",    "PERFCI_PUBLIC_URL",      "PERFCI_FORGES",
    "PERFCI_PULL_POLL",       "PERFCI_PULL_RETRY",      NULL,
};

static const char *pick(const pfc_server_settings *s, int option, const char *env,
                        const char *fallback)
{
    return pfc_conf_pick(s->flags[option - OPT_DATABASE], env,
                         pfc_settings_file_get(&s->lines, env), fallback);
}

static pfc_code read_flags(int argc, char **argv, pfc_server_settings *s, pfc_err *err)
{
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (option == OPT_HELP || option == OPT_VERSION) {
            fputs(option == OPT_HELP ? pfc_server_help : "perfci-server " PFC_VERSION "\n", stdout);
            fputs(option == OPT_HELP ? pfc_server_fault_help : "", stdout);
            fputs(option == OPT_HELP ? pfc_server_more_help : "", stdout);
            s->done = true;
            return PFC_OK;
        }
        if (option == ':')
            return pfc_err_set(err, PFC_EINVAL, "%s needs a value; see --help", argv[optind - 1]);
        if (option == '?')
            return pfc_err_set(err, PFC_EINVAL, "unknown option %s; see --help", argv[optind - 1]);
        s->flags[option - OPT_DATABASE] = optarg ? optarg : "1";
    }
    if (optind < argc)
        return pfc_err_set(err, PFC_EINVAL, "unexpected argument \"%s\"; see --help", argv[optind]);
    return PFC_OK;
}

static pfc_code check_retention(pfc_server_settings *s, pfc_err *err)
{
    const char *width = pick(s, OPT_PARTITION_WIDTH, "PERFCI_PARTITION_WIDTH", "auto");

    s->partition_width = width;
    if (s->day_months && !s->raw_months)
        return pfc_err_set(err, PFC_EINVAL,
                           "--retain-days: without --retain-raw nothing is deleted; expected both");
    if (s->day_months && s->day_months <= s->raw_months)
        return pfc_err_set(err, PFC_EINVAL,
                           "--retain-days: expected more months than --retain-raw, or 0 for all");
    if (strcmp(width, "auto") && strcmp(width, "month") && strcmp(width, "week") &&
        strcmp(width, "day"))
        return pfc_err_set(err, PFC_EINVAL,
                           "--partition-width: expected auto, month, week or day, got \"%.40s\"",
                           width);
    return PFC_OK;
}

static pfc_code read_numbers(pfc_server_settings *out, pfc_err *err)
{
    const char *word;
    pfc_code code;

    code = pfc_parse_i64(pick(out, OPT_WORKERS, "PERFCI_WORKERS", "1"), 0, 64, "--workers",
                         &out->workers, err);
    if (!code)
        code = pfc_parse_i64(pick(out, OPT_THREADS, "PERFCI_HTTP_THREADS", "8"), 1, 256,
                             "--threads", &out->threads, err);
    if (!code)
        code = pfc_parse_duration_s(pick(out, OPT_REQUEST_TIMEOUT, "PERFCI_REQUEST_TIMEOUT", "30"),
                                    "--request-timeout", &out->request_timeout_s, err);
    if (!code)
        code = pfc_parse_duration_s(pick(out, OPT_LEASE, "PERFCI_LEASE", "60"), "--lease",
                                    &out->lease_s, err);
    if (!code)
        code = pfc_parse_duration_s(pick(out, OPT_DATABASE_WAIT, "PERFCI_DATABASE_WAIT", "60"),
                                    "--database-wait", &out->database_wait_s, err);
    if (!code)
        code = pfc_parse_i64(pick(out, OPT_RETAIN_RAW, "PERFCI_RETAIN_RAW", "0"), 0, 1200,
                             "--retain-raw", &out->raw_months, err);
    if (!code)
        code = pfc_parse_i64(pick(out, OPT_RETAIN_DAYS, "PERFCI_RETAIN_DAYS", "0"), 0, 1200,
                             "--retain-days", &out->day_months, err);
    if (!code)
        code = pfc_parse_i64(pick(out, OPT_RETAIN_AUDIT, "PERFCI_RETAIN_AUDIT", "0"), 0, 1200,
                             "--retain-audit", &out->audit_months, err);
    if (!code)
        code = pfc_parse_duration_s(pick(out, OPT_BACKFILL_DELAY, "PERFCI_BACKFILL_DELAY", "1h"),
                                    "--backfill-delay", &out->backfill_delay_s, err);
    if (!code)
        code = pfc_parse_i64(pick(out, OPT_BACKFILL_BUDGET, "PERFCI_BACKFILL_BUDGET", "24"), 0,
                             100000, "--backfill-budget", &out->backfill_budget, err);
    if (!code)
        code = check_retention(out, err);
    if (code)
        return code;
    if (!(out->request_timeout_s > 0))
        return pfc_err_set(err, PFC_EINVAL, "--request-timeout: expected more than 0 seconds");
    if (!(out->lease_s >= 1 && out->lease_s <= 3600 && out->lease_s == floor(out->lease_s)))
        return pfc_err_set(err, PFC_EINVAL, "--lease: expected 1 to 3600 whole seconds");
    word = pick(out, OPT_LOG_LEVEL, "PERFCI_LOG_LEVEL", "info");
    if (!pfc_log_level_parse(word, &out->log_level))
        return pfc_err_set(err, PFC_EINVAL,
                           "--log-level: expected debug, info, warn, error or off, got \"%.40s\"",
                           word);
    return PFC_OK;
}

static bool is_loopback(const char *listen)
{
    return strncmp(listen, "127.", 4) == 0 || strncmp(listen, "[::1]", 5) == 0 ||
           strncmp(listen, "localhost:", 10) == 0;
}

static pfc_code read_guard(pfc_server_settings *out, pfc_err *err)
{
    const bool near = is_loopback(out->listen);
    char quarter[24];
    pfc_code code;

    code = pfc_parse_i64(pick(out, OPT_RATE_ADDRESS, "PERFCI_RATE_ADDRESS", near ? "0" : "100"), 0,
                         1000000, "--rate-address", &out->rate_address, err);
    if (!code)
        code = pfc_parse_i64(pick(out, OPT_RATE_TOKEN, "PERFCI_RATE_TOKEN", near ? "0" : "500"), 0,
                             1000000, "--rate-token", &out->rate_token, err);
    if (!code)
        code = pfc_parse_i64(pick(out, OPT_CONNECTIONS, "PERFCI_CONNECTIONS", "1024"), 1, 100000,
                             "--connections", &out->connections, err);
    /* No address takes the whole house. */
    (void)snprintf(quarter, sizeof(quarter), "%lld",
                   near ? 0LL : (long long)(out->connections + 3) / 4);
    if (!code)
        code = pfc_parse_i64(
            pick(out, OPT_CONNECTIONS_EACH, "PERFCI_CONNECTIONS_PER_ADDRESS", quarter), 0, 100000,
            "--connections-per-address", &out->connections_each, err);
    if (!code)
        code = pfc_parse_i64(pick(out, OPT_WAITING_EACH, "PERFCI_WAITING_PER_TOKEN", "32"), 0,
                             100000, "--waiting-per-token", &out->waiting_each, err);
    if (!code)
        code = pfc_parse_i64(pick(out, OPT_UPLOADS_EACH, "PERFCI_UPLOADS_PER_TOKEN", "64"), 0,
                             100000, "--uploads-per-token", &out->uploads_each, err);
    out->trusted =
        pick(out, OPT_TRUSTED, "PERFCI_TRUSTED_PROXIES", near ? NULL : "127.0.0.0/8, ::1");
    out->hosts = pick(out, OPT_HOSTS, "PERFCI_HOSTS", NULL);
    out->sources = pick(out, OPT_SOURCES, "PERFCI_SOURCES", NULL);
    out->tls_cert = pick(out, OPT_TLS_CERT, "PERFCI_TLS_CERT", NULL);
    out->tls_key = pick(out, OPT_TLS_KEY, "PERFCI_TLS_KEY", NULL);
    if (!code && !out->tls_cert != !out->tls_key)
        code = pfc_err_set(err, PFC_EINVAL, "expected both --tls-cert and --tls-key, or neither");
    return code;
}

static pfc_code read_notify(pfc_server_settings *out, pfc_err *err)
{
    pfc_code code;

    out->notify = pick(out, OPT_NOTIFY, "PERFCI_NOTIFY", NULL);
    out->notify_networks = pick(out, OPT_NOTIFY_NETWORKS, "PERFCI_NOTIFY_NETWORKS", NULL);
    out->public_url = pick(out, OPT_PUBLIC_URL, "PERFCI_PUBLIC_URL", NULL);
    code = pfc_parse_duration_s(pick(out, OPT_NOTIFY_TIMEOUT, "PERFCI_NOTIFY_TIMEOUT", "10"),
                                "--notify-timeout", &out->notify_timeout_s, err);
    if (!code)
        code = pfc_parse_duration_s(pick(out, OPT_NOTIFY_RETRY, "PERFCI_NOTIFY_RETRY", "30"),
                                    "--notify-retry", &out->notify_retry_s, err);
    if (!code)
        code = pfc_parse_i64(pick(out, OPT_NOTIFY_TRIES, "PERFCI_NOTIFY_TRIES", "10"), 1, 100,
                             "--notify-tries", &out->notify_tries, err);
    if (!code && !(out->notify_timeout_s > 0 && out->notify_timeout_s <= 60))
        code =
            pfc_err_set(err, PFC_EINVAL, "--notify-timeout: expected more than 0 and at most 60 s");
    if (!code && !(out->notify_retry_s > 0))
        code = pfc_err_set(err, PFC_EINVAL, "--notify-retry: expected more than 0 seconds");
    return code;
}

static pfc_code read_pulls(pfc_server_settings *out, pfc_err *err)
{
    pfc_code code;

    out->forges = pick(out, OPT_FORGES, "PERFCI_FORGES", NULL);
    code = pfc_parse_duration_s(pick(out, OPT_PULL_POLL, "PERFCI_PULL_POLL", "5m"), "--pull-poll",
                                &out->pull_poll_s, err);
    if (!code)
        code = pfc_parse_duration_s(pick(out, OPT_PULL_RETRY, "PERFCI_PULL_RETRY", "30"),
                                    "--pull-retry", &out->pull_retry_s, err);
    if (!code && !(out->pull_poll_s >= 1))
        code = pfc_err_set(err, PFC_EINVAL, "--pull-poll: expected 1 second or more");
    if (!code && !(out->pull_retry_s > 0))
        code = pfc_err_set(err, PFC_EINVAL, "--pull-retry: expected more than 0 seconds");
    return code;
}

/* When the installation itself needs a person. */
static pfc_code read_faults(pfc_server_settings *out, pfc_err *err)
{
    pfc_code code = pfc_parse_duration_s(pick(out, OPT_MISSED_NIGHT, "PERFCI_MISSED_NIGHT", "12h"),
                                         "--missed-night", &out->missed_night_s, err);

    if (!code)
        code = pfc_parse_duration_s(pick(out, OPT_SILENT_RUNNER, "PERFCI_SILENT_RUNNER", "30m"),
                                    "--silent-runner", &out->silent_runner_s, err);
    if (!code)
        code = pfc_parse_i64(pick(out, OPT_STALLED_NIGHTS, "PERFCI_STALLED_NIGHTS", "3"), 0, 30,
                             "--stalled-nights", &out->stalled_nights, err);
    if (!code && out->missed_night_s != 0 &&
        !(out->missed_night_s >= 60 && out->missed_night_s <= MAX_FAULT_S))
        code = pfc_err_set(err, PFC_EINVAL, "--missed-night: expected 0, or 60 s to 30 days");
    if (!code && out->silent_runner_s != 0 &&
        !(out->silent_runner_s >= 60 && out->silent_runner_s <= MAX_FAULT_S))
        code = pfc_err_set(err, PFC_EINVAL, "--silent-runner: expected 0, or 60 s to 30 days");
    return code;
}

static pfc_code read_switch(const pfc_server_settings *s, int option, const char *env,
                            const char *fallback, bool *out, pfc_err *err)
{
    const char *word = pick(s, option, env, fallback);

    if (strcmp(word, "1") != 0 && strcmp(word, "0") != 0)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected 0 or 1, got \"%.40s\"", env, word);
    *out = strcmp(word, "1") == 0;
    return PFC_OK;
}

/* The file that NAME_FILE names must not be readable by other users. */
static pfc_code read_secret(const char *name, char **out, pfc_err *err)
{
    char *file_name = pfc_format("%s_FILE", name);
    const char *file = pfc_conf_pick(NULL, file_name, NULL, NULL);
    pfc_code code = PFC_OK;

    if (file && !pfc_conf_pick(NULL, name, NULL, NULL))
        code = pfc_fs_private(file, err);
    if (code == PFC_ENOTFOUND)
        code = PFC_OK; /* pfc_conf_secret has the better message */
    code = code ? pfc_err_wrap(err, "%s", file_name) : pfc_conf_secret(name, out, err);
    free(file_name);
    return code;
}

static pfc_code read_database(pfc_server_settings *s, pfc_err *err)
{
    const char *flag = s->flags[OPT_DATABASE - OPT_DATABASE];
    pfc_code code;

    if (flag && pfc_conf_url_has_password(flag))
        return pfc_err_set(
            err, PFC_EINVAL,
            "--database: expected a URL without a password, because all users of this "
            "machine can read the list of processes; write the URL to a file of "
            "mode 0600 and set PERFCI_DATABASE_URL_FILE to its name");
    if (flag) {
        s->database = pfc_strdup(flag);
        return PFC_OK;
    }
    code = read_secret("PERFCI_DATABASE_URL", &s->database, err);
    if (code == PFC_ENOTFOUND)
        return pfc_err_set(err, PFC_EINVAL,
                           "no database: expected --database URL, PERFCI_DATABASE_URL or "
                           "PERFCI_DATABASE_URL_FILE");
    return code;
}

/* Secrets, too: they may hold passwords, so there are no flags for them. */
static pfc_code read_other_databases(pfc_server_settings *s, pfc_err *err)
{
    pfc_code code = read_secret("PERFCI_DATABASE_READ_URL", &s->read_database, err);

    if (!code || code == PFC_ENOTFOUND)
        code = read_secret("PERFCI_DATABASE_DIRECT_URL", &s->direct_database, err);
    if (code == PFC_ENOTFOUND) {
        code = PFC_OK;
        if (err)
            *err = (pfc_err){ 0 };
    }
    return code;
}

/* All but the database, from the flags, the environment and the lines of the file. */
static pfc_code read_values(pfc_server_settings *out, pfc_err *err)
{
    pfc_code code;

    out->listen = pick(out, OPT_LISTEN, "PERFCI_LISTEN", PFC_DEFAULT_LISTEN);
    out->ops_listen = pick(out, OPT_OPS_LISTEN, "PERFCI_OPS_LISTEN", NULL);
    out->data = pick(out, OPT_DATA, "PERFCI_DATA", NULL);
    out->docs = pick(out, OPT_DOCS, "PERFCI_DOCS", NULL);
    out->bootstrap_token = out->flags[OPT_BOOTSTRAP - OPT_DATABASE];
    out->migrate = out->flags[OPT_MIGRATE - OPT_DATABASE] != NULL;
    out->server_role = out->flags[OPT_SERVER_ROLE - OPT_DATABASE];
    if (out->server_role && !out->migrate)
        return pfc_err_set(
            err, PFC_EINVAL,
            "--server-role: expected --migrate with it; the database's URL names the "
            "role that the server connects as");
    code = read_numbers(out, err);
    if (!code)
        code = read_guard(out, err);
    if (!code)
        code = read_notify(out, err);
    if (!code)
        code = read_pulls(out, err);
    if (!code)
        code = read_faults(out, err);
    if (!code)
        code = read_switch(out, OPT_PUBLIC_READ, "PERFCI_PUBLIC_READ", "0", &out->public_read, err);
    if (!code)
        code = read_switch(out, OPT_PLAIN_HTTP, "PERFCI_PLAIN_HTTP", "0", &out->plain_http, err);
    if (!code)
        code = read_switch(out, OPT_DATABASE_PREPARE, "PERFCI_DATABASE_PREPARE", "1", &out->prepare,
                           err);
    if (!code)
        code =
            read_switch(out, OPT_DATABASE_UNSAFE, "PERFCI_DATABASE_UNSAFE", "0", &out->unsafe, err);
    return code;
}

pfc_code pfc_server_settings_read(int argc, char **argv, pfc_server_settings *out, pfc_err *err)
{
    pfc_code code;

    memset(out, 0, sizeof(*out));
    code = read_flags(argc, argv, out, err);
    out->openapi = !code && out->flags[OPT_OPENAPI - OPT_DATABASE] != NULL;
    if (code || out->done || out->openapi)
        return code;
    out->file =
        pfc_conf_pick(out->flags[OPT_SETTINGS - OPT_DATABASE], "PERFCI_SETTINGS", NULL, NULL);
    if (out->file)
        code = pfc_settings_file_read(out->file, known, &out->lines, err);
    if (code == PFC_ENOTFOUND)
        code = pfc_err_wrap(err, "--settings");
    if (!code)
        code = read_values(out, err);
    if (!code)
        code = read_database(out, err);
    if (!code)
        code = read_other_databases(out, err);
    return code;
}

/* Lines that changed since the start and that a running server does not take over, "A, B"; caller
 * frees; NULL: none. */
static char *need_restart(const pfc_settings_file *old, const pfc_settings_file *fresh)
{
    pfc_buf list;

    pfc_buf_init(&list, 4096);
    for (size_t i = 0; known[i]; i++) {
        const char *before = pfc_settings_file_get(old, known[i]);
        const char *now = pfc_settings_file_get(fresh, known[i]);
        bool taken = false;

        for (size_t k = 0; taken_over[k]; k++)
            taken = taken || strcmp(taken_over[k], known[i]) == 0;
        if (!taken && strcmp(before ? before : "", now ? now : "") != 0)
            pfc_buf_printf(&list, "%s%s", list.len ? ", " : "", known[i]);
    }
    return list.len ? pfc_buf_take(&list) : NULL;
}

pfc_code pfc_server_settings_again(const pfc_server_settings *settings, pfc_server_settings *fresh,
                                   pfc_err *err)
{
    pfc_code code = PFC_OK;

    *fresh = (pfc_server_settings){ .file = settings->file };
    memcpy(fresh->flags, settings->flags, sizeof(fresh->flags));
    if (fresh->file)
        code = pfc_settings_file_read(fresh->file, known, &fresh->lines, err);
    return code ? code : read_values(fresh, err);
}

char *pfc_server_settings_adopt(pfc_server_settings *settings, pfc_server_settings *fresh)
{
    settings->rate_address = fresh->rate_address;
    settings->rate_token = fresh->rate_token;
    settings->public_read = fresh->public_read;
    settings->log_level = fresh->log_level;
    settings->raw_months = fresh->raw_months;
    settings->day_months = fresh->day_months;
    settings->audit_months = fresh->audit_months;
    settings->partition_width = fresh->partition_width;
    settings->notify = fresh->notify;
    settings->notify_networks = fresh->notify_networks;
    settings->notify_timeout_s = fresh->notify_timeout_s;
    settings->notify_retry_s = fresh->notify_retry_s;
    settings->notify_tries = fresh->notify_tries;
    settings->public_url = fresh->public_url;
    settings->forges = fresh->forges;
    settings->pull_poll_s = fresh->pull_poll_s;
    settings->pull_retry_s = fresh->pull_retry_s;
    pfc_settings_file_clear(&settings->lines_now);
    settings->lines_now = fresh->lines;
    fresh->lines = (pfc_settings_file){ 0 };
    return need_restart(&settings->lines, &settings->lines_now);
}

void pfc_server_settings_clear(pfc_server_settings *settings)
{
    free(settings->database);
    free(settings->read_database);
    free(settings->direct_database);
    settings->database = settings->read_database = settings->direct_database = NULL;
    pfc_settings_file_clear(&settings->lines);
    pfc_settings_file_clear(&settings->lines_now);
}
