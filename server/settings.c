/* Command line and environment of perfci-server. */
#include "server/settings.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/conf.h"
#include "core/base/parse.h"

static const char help[] =
    "perfci-server: stores benchmark runs, finds regressions, answers over HTTP\n"
    "\n"
    "usage: perfci-server --database URL [options]\n"
    "\n"
    "  --database URL            PostgreSQL, as a libpq URI or conninfo (PERFCI_DATABASE_URL,\n"
    "                            PERFCI_DATABASE_URL_FILE; prefer these when it has a password)\n"
    "  --listen ADDRESS:PORT     default 127.0.0.1:7420; port 0 takes a free one (PERFCI_LISTEN)\n"
    "  --data DIR                folder for `endpoint`, the URL that was taken (PERFCI_DATA)\n"
    "  --bootstrap-token-file F  writes an admin token to F (0600) unless F holds a valid one\n"
    "  --public-read             reading needs no token (PERFCI_PUBLIC_READ=1)\n"
    "  --workers N               threads that judge runs, default 1; 0: this server only answers\n"
    "                            (PERFCI_WORKERS)\n"
    "  --threads N               threads that answer requests, default 8 (PERFCI_HTTP_THREADS)\n"
    "  --request-timeout T       a request must be complete within T, default 30s\n"
    "                            (PERFCI_REQUEST_TIMEOUT)\n"
    "  --database-wait T         how long to wait for the database at start, default 60s\n"
    "                            (PERFCI_DATABASE_WAIT)\n"
    "  --rate-address N          requests a second of one address, then 429; 0: no limit. Default "
    "0\n"
    "                            on a loopback address, else 100 (PERFCI_RATE_ADDRESS)\n"
    "  --rate-token N            likewise of one token; default 0 or 500 (PERFCI_RATE_TOKEN)\n"
    "  --connections N           at once, default 1024 (PERFCI_CONNECTIONS)\n"
    "  --connections-per-address N  default 0: no limit (PERFCI_CONNECTIONS_PER_ADDRESS)\n"
    "  --tls-cert F --tls-key F  PEM files: HTTPS (PERFCI_TLS_CERT, PERFCI_TLS_KEY)\n"
    "  --log-level L             debug, info, warn, error or off; default info (PERFCI_LOG_LEVEL)\n"
    "  --version, --help\n"
    "\n"
    "examples:\n"
    "  perfci-server --database 'host=/run/postgresql dbname=perfci' --public-read\n"
    "  perfci-server --database postgresql://perfci@db/perfci --listen 0.0.0.0:7420 --workers 2\n"
    "\n"
    "SIGTERM and SIGINT stop it in order. Exit status: 0 stopped, 2 usage, 5 port or database.\n";

enum {
    OPT_DATABASE = 1000,
    OPT_LISTEN,
    OPT_DATA,
    OPT_BOOTSTRAP,
    OPT_PUBLIC_READ,
    OPT_WORKERS,
    OPT_THREADS,
    OPT_REQUEST_TIMEOUT,
    OPT_DATABASE_WAIT,
    OPT_RATE_ADDRESS,
    OPT_RATE_TOKEN,
    OPT_CONNECTIONS,
    OPT_CONNECTIONS_EACH,
    OPT_TLS_CERT,
    OPT_TLS_KEY,
    OPT_LOG_LEVEL,
    OPT_VERSION,
    OPT_HELP,
    OPT_END,
};

static const struct option options[] = {
    { "database", required_argument, NULL, OPT_DATABASE },
    { "listen", required_argument, NULL, OPT_LISTEN },
    { "data", required_argument, NULL, OPT_DATA },
    { "bootstrap-token-file", required_argument, NULL, OPT_BOOTSTRAP },
    { "public-read", no_argument, NULL, OPT_PUBLIC_READ },
    { "workers", required_argument, NULL, OPT_WORKERS },
    { "threads", required_argument, NULL, OPT_THREADS },
    { "request-timeout", required_argument, NULL, OPT_REQUEST_TIMEOUT },
    { "database-wait", required_argument, NULL, OPT_DATABASE_WAIT },
    { "rate-address", required_argument, NULL, OPT_RATE_ADDRESS },
    { "rate-token", required_argument, NULL, OPT_RATE_TOKEN },
    { "connections", required_argument, NULL, OPT_CONNECTIONS },
    { "connections-per-address", required_argument, NULL, OPT_CONNECTIONS_EACH },
    { "tls-cert", required_argument, NULL, OPT_TLS_CERT },
    { "tls-key", required_argument, NULL, OPT_TLS_KEY },
    { "log-level", required_argument, NULL, OPT_LOG_LEVEL },
    { "version", no_argument, NULL, OPT_VERSION },
    { "help", no_argument, NULL, OPT_HELP },
    { NULL, 0, NULL, 0 },
};

/* Values as given on the command line, by option; NULL: not given. */
typedef struct flags {
    const char *values[OPT_END - OPT_DATABASE];
} flags;

static const char *pick(const flags *f, int option, const char *env, const char *fallback)
{
    return pfc_conf_pick(f->values[option - OPT_DATABASE], env, NULL, fallback);
}

static pfc_code read_flags(int argc, char **argv, flags *f, bool *done, pfc_err *err)
{
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (option == OPT_HELP || option == OPT_VERSION) {
            fputs(option == OPT_HELP ? help : "perfci-server " PFC_VERSION "\n", stdout);
            *done = true;
            return PFC_OK;
        }
        if (option == ':')
            return pfc_err_set(err, PFC_EINVAL, "%s needs a value; see --help", argv[optind - 1]);
        if (option == '?')
            return pfc_err_set(err, PFC_EINVAL, "unknown option %s; see --help", argv[optind - 1]);
        f->values[option - OPT_DATABASE] = optarg ? optarg : "1";
    }
    if (optind < argc)
        return pfc_err_set(err, PFC_EINVAL, "unexpected argument \"%s\"; see --help", argv[optind]);
    return PFC_OK;
}

static pfc_code read_numbers(const flags *f, pfc_server_settings *out, pfc_err *err)
{
    const char *word;
    pfc_code code;

    code = pfc_parse_i64(pick(f, OPT_WORKERS, "PERFCI_WORKERS", "1"), 0, 64, "--workers",
                         &out->workers, err);
    if (!code)
        code = pfc_parse_i64(pick(f, OPT_THREADS, "PERFCI_HTTP_THREADS", "8"), 1, 256, "--threads",
                             &out->threads, err);
    if (!code)
        code = pfc_parse_duration_s(pick(f, OPT_REQUEST_TIMEOUT, "PERFCI_REQUEST_TIMEOUT", "30"),
                                    "--request-timeout", &out->request_timeout_s, err);
    if (!code)
        code = pfc_parse_duration_s(pick(f, OPT_DATABASE_WAIT, "PERFCI_DATABASE_WAIT", "60"),
                                    "--database-wait", &out->database_wait_s, err);
    if (code)
        return code;
    if (!(out->request_timeout_s > 0))
        return pfc_err_set(err, PFC_EINVAL, "--request-timeout: want more than 0 seconds");
    word = pick(f, OPT_LOG_LEVEL, "PERFCI_LOG_LEVEL", "info");
    if (!pfc_log_level_parse(word, &out->log_level))
        return pfc_err_set(err, PFC_EINVAL,
                           "--log-level: want debug, info, warn, error or off, got \"%.40s\"",
                           word);
    return PFC_OK;
}

static bool is_loopback(const char *listen)
{
    return strncmp(listen, "127.", 4) == 0 || strncmp(listen, "[::1]", 5) == 0 ||
           strncmp(listen, "localhost:", 10) == 0;
}

static pfc_code read_guard(const flags *f, pfc_server_settings *out, pfc_err *err)
{
    const bool near = is_loopback(out->listen);
    pfc_code code;

    code = pfc_parse_i64(pick(f, OPT_RATE_ADDRESS, "PERFCI_RATE_ADDRESS", near ? "0" : "100"), 0,
                         1000000, "--rate-address", &out->rate_address, err);
    if (!code)
        code = pfc_parse_i64(pick(f, OPT_RATE_TOKEN, "PERFCI_RATE_TOKEN", near ? "0" : "500"), 0,
                             1000000, "--rate-token", &out->rate_token, err);
    if (!code)
        code = pfc_parse_i64(pick(f, OPT_CONNECTIONS, "PERFCI_CONNECTIONS", "1024"), 1, 100000,
                             "--connections", &out->connections, err);
    if (!code)
        code = pfc_parse_i64(pick(f, OPT_CONNECTIONS_EACH, "PERFCI_CONNECTIONS_PER_ADDRESS", "0"),
                             0, 100000, "--connections-per-address", &out->connections_each, err);
    out->tls_cert = pick(f, OPT_TLS_CERT, "PERFCI_TLS_CERT", NULL);
    out->tls_key = pick(f, OPT_TLS_KEY, "PERFCI_TLS_KEY", NULL);
    if (!code && !out->tls_cert != !out->tls_key)
        code = pfc_err_set(err, PFC_EINVAL, "want both --tls-cert and --tls-key, or neither");
    return code;
}

static pfc_code read_public(const flags *f, bool *out, pfc_err *err)
{
    const char *word = pick(f, OPT_PUBLIC_READ, "PERFCI_PUBLIC_READ", "0");

    if (strcmp(word, "1") != 0 && strcmp(word, "0") != 0)
        return pfc_err_set(err, PFC_EINVAL, "PERFCI_PUBLIC_READ: want 0 or 1, got \"%.40s\"", word);
    *out = strcmp(word, "1") == 0;
    return PFC_OK;
}

static pfc_code read_database(const flags *f, char **out, pfc_err *err)
{
    const char *flag = f->values[OPT_DATABASE - OPT_DATABASE];
    pfc_code code;

    if (flag) {
        *out = pfc_strdup(flag);
        return PFC_OK;
    }
    code = pfc_conf_secret("PERFCI_DATABASE_URL", out, err);
    if (code == PFC_ENOTFOUND)
        return pfc_err_set(err, PFC_EINVAL,
                           "no database: want --database URL or PERFCI_DATABASE_URL");
    return code;
}

pfc_code pfc_server_settings_read(int argc, char **argv, pfc_server_settings *out, pfc_err *err)
{
    flags f = { 0 };
    pfc_code code;

    memset(out, 0, sizeof(*out));
    code = read_flags(argc, argv, &f, &out->done, err);
    if (code || out->done)
        return code;
    out->listen = pick(&f, OPT_LISTEN, "PERFCI_LISTEN", PFC_DEFAULT_LISTEN);
    out->data = pick(&f, OPT_DATA, "PERFCI_DATA", NULL);
    out->bootstrap_token = f.values[OPT_BOOTSTRAP - OPT_DATABASE];
    code = read_numbers(&f, out, err);
    if (!code)
        code = read_guard(&f, out, err);
    if (!code)
        code = read_public(&f, &out->public_read, err);
    if (!code)
        code = read_database(&f, &out->database, err);
    return code;
}

void pfc_server_settings_clear(pfc_server_settings *settings)
{
    free(settings->database);
    settings->database = NULL;
}
