/* The server's settings: each by its flag, its variable and its line, at its limits. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/fs.h"
#include "server/settings.h"

#include "tests/check/check.h"

static pfc_server_settings s;
static pfc_err err;
static char *dir, *file;

typedef enum type { NUMBER, SECONDS, TEXT, SWITCH } type;

/* `good` and `other` are accepted, those of `bad` (separated by blanks) are not. */
static const struct {
    const char *flag, *env;
    type type;
    size_t at; /* of the member */
    const char *fallback, *good, *other, *bad;
} rows[] = {
#define AT(member) offsetof(pfc_server_settings, member)
    { "--listen", "PERFCI_LISTEN", TEXT, AT(listen), "127.0.0.1:7420", "[::1]:1", "127.0.0.2:2",
      "" },
    { "--ops-listen", "PERFCI_OPS_LISTEN", TEXT, AT(ops_listen), NULL, "[::1]:1", "127.0.0.1:2",
      "" },
    { "--data", "PERFCI_DATA", TEXT, AT(data), NULL, "/a", "/b", "" },
    { "--docs", "PERFCI_DOCS", TEXT, AT(docs), NULL, "/a", "/b", "" },
    { "--workers", "PERFCI_WORKERS", NUMBER, AT(workers), "1", "0", "64", "65 -1 x" },
    { "--threads", "PERFCI_HTTP_THREADS", NUMBER, AT(threads), "8", "1", "256", "0 257" },
    { "--request-timeout", "PERFCI_REQUEST_TIMEOUT", SECONDS, AT(request_timeout_s), "30", "0.5",
      "1m", "0 -1 x" },
    { "--lease", "PERFCI_LEASE", SECONDS, AT(lease_s), "60", "1", "3600", "0 0.5 1.5 3601" },
    { "--database-wait", "PERFCI_DATABASE_WAIT", SECONDS, AT(database_wait_s), "60", "0", "5m",
      "x" },
    { "--retain-raw", "PERFCI_RETAIN_RAW", NUMBER, AT(raw_months), "0", "1", "1200", "1201 -1" },
    { "--retain-audit", "PERFCI_RETAIN_AUDIT", NUMBER, AT(audit_months), "0", "1", "1200",
      "1201 -1" },
    { "--partition-width", "PERFCI_PARTITION_WIDTH", TEXT, AT(partition_width), "auto", "week",
      "day", "year Month weekly 7 auto," },
    { "--backfill-delay", "PERFCI_BACKFILL_DELAY", SECONDS, AT(backfill_delay_s), "3600", "0", "90",
      "x" },
    { "--backfill-budget", "PERFCI_BACKFILL_BUDGET", NUMBER, AT(backfill_budget), "24", "0",
      "100000", "100001 -1" },
    { "--rate-address", "PERFCI_RATE_ADDRESS", NUMBER, AT(rate_address), "0", "1", "1000000",
      "1000001 -1" },
    { "--rate-token", "PERFCI_RATE_TOKEN", NUMBER, AT(rate_token), "0", "1", "1000000",
      "1000001 -1" },
    { "--connections", "PERFCI_CONNECTIONS", NUMBER, AT(connections), "1024", "1", "100000",
      "0 100001" },
    { "--connections-per-address", "PERFCI_CONNECTIONS_PER_ADDRESS", NUMBER, AT(connections_each),
      "0", "1", "100000", "-1 100001" },
    { "--waiting-per-token", "PERFCI_WAITING_PER_TOKEN", NUMBER, AT(waiting_each), "32", "0",
      "100000", "-1 100001" },
    { "--uploads-per-token", "PERFCI_UPLOADS_PER_TOKEN", NUMBER, AT(uploads_each), "64", "0",
      "100000", "-1 100001" },
    { "--forges", "PERFCI_FORGES", TEXT, AT(forges), NULL, "a", "b", "" },
    { "--pull-poll", "PERFCI_PULL_POLL", SECONDS, AT(pull_poll_s), "300", "1", "1h", "0.5 x" },
    { "--pull-retry", "PERFCI_PULL_RETRY", SECONDS, AT(pull_retry_s), "30", "0.5", "1m", "0 x" },
    { "--missed-night", "PERFCI_MISSED_NIGHT", SECONDS, AT(missed_night_s), "43200", "0", "60",
      "59 2592001 x" },
    { "--silent-runner", "PERFCI_SILENT_RUNNER", SECONDS, AT(silent_runner_s), "1800", "0",
      "2592000", "59 2592001 x" },
    { "--stalled-nights", "PERFCI_STALLED_NIGHTS", NUMBER, AT(stalled_nights), "3", "0", "30",
      "31 -1" },
    { "--hosts", "PERFCI_HOSTS", TEXT, AT(hosts), NULL, "a", "b", "" },
    { "--sources", "PERFCI_SOURCES", TEXT, AT(sources), NULL, "a", "b", "" },
    { "--trusted-proxies", "PERFCI_TRUSTED_PROXIES", TEXT, AT(trusted), NULL, "::1", "10.0.0.1",
      "" },
    { "--notify", "PERFCI_NOTIFY", TEXT, AT(notify), NULL, "/a", "/b", "" },
    { "--notify-networks", "PERFCI_NOTIFY_NETWORKS", TEXT, AT(notify_networks), NULL, "::1", "::2",
      "" },
    { "--notify-timeout", "PERFCI_NOTIFY_TIMEOUT", SECONDS, AT(notify_timeout_s), "10", "0.1", "60",
      "0 60.1 2m" },
    { "--notify-retry", "PERFCI_NOTIFY_RETRY", SECONDS, AT(notify_retry_s), "30", "0.1", "1h",
      "0 x" },
    { "--notify-tries", "PERFCI_NOTIFY_TRIES", NUMBER, AT(notify_tries), "10", "1", "100",
      "0 101" },
    { "--public-url", "PERFCI_PUBLIC_URL", TEXT, AT(public_url), NULL, "https://a", "https://b",
      "" },
    { "--public-read", "PERFCI_PUBLIC_READ", SWITCH, AT(public_read), "0", "1", "0", "2 yes" },
    { "--plain-http", "PERFCI_PLAIN_HTTP", SWITCH, AT(plain_http), "0", "1", "0", "2 true" },
    { "--database-prepare", "PERFCI_DATABASE_PREPARE", SWITCH, AT(prepare), "1", "0", "1", "2 no" },
    { "--database-unsafe", "PERFCI_DATABASE_UNSAFE", SWITCH, AT(unsafe), "0", "1", "0", "2 x" },
};

static bool takes_value(const char *flag)
{
    return strcmp(flag, "--public-read") != 0 && strcmp(flag, "--plain-http") != 0 &&
           strcmp(flag, "--database-unsafe") != 0;
}

static void setup(void)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        unsetenv(rows[i].env);
    unsetenv("PERFCI_SETTINGS");
    unsetenv("PERFCI_LOG_LEVEL");
    unsetenv("CREDENTIALS_DIRECTORY");
    unsetenv("PERFCI_DATABASE_URL_FILE");
    unsetenv("PERFCI_DATABASE_READ_URL");
    unsetenv("PERFCI_DATABASE_DIRECT_URL");
    setenv("PERFCI_DATABASE_URL", "postgresql:///x", 1);
    cr_assert(eq(int, pfc_fs_temp_dir("settings", &dir, &err), PFC_OK));
    file = pfc_fs_join(dir, "server.env");
}

static void teardown(void)
{
    pfc_server_settings_clear(&s);
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK));
    free(dir);
    free(file);
}

TestSuite(settings, .init = setup, .fini = teardown);

/* Words after the program's name, NULL-terminated. */
static pfc_code read_words(const char *a, const char *b, const char *c)
{
    static char words[3][5000];
    char *argv[5] = { (char *)"perfci-server" };
    const char *const given[] = { a, b, c };
    int argc = 1;

    for (size_t i = 0; i < 3 && given[i]; i++) {
        (void)snprintf(words[i], sizeof(words[i]), "%s", given[i]);
        argv[argc++] = words[i];
    }
    pfc_server_settings_clear(&s);
    err = (pfc_err){ 0 };
    optind = 0; /* glibc: from the start again */
    return pfc_server_settings_read(argc, argv, &s, &err);
}

static void write_line(const char *name, const char *value)
{
    char *text = pfc_format("%s=%s\n", name, value);

    cr_assert(eq(int, pfc_fs_write_atomic(file, text, strlen(text), 0600, &err), PFC_OK));
    free(text);
}

/* Compares the member with the text of the table. */
static void check(const pfc_server_settings *from, size_t row, const char *expected)
{
    const void *at = (const char *)from + rows[row].at;
    double seconds = 0;

    switch (rows[row].type) {
    case NUMBER:
        cr_assert(eq(i64, *(const int64_t *)at, strtoll(expected, NULL, 10)), "%s", rows[row].flag);
        break;
    case SECONDS:
        seconds = strtod(expected, NULL) * (strchr(expected, 'm')   ? 60
                                            : strchr(expected, 'h') ? 3600
                                                                    : 1);
        cr_assert(epsilon_eq(dbl, *(const double *)at, seconds, 1e-9), "%s", rows[row].flag);
        break;
    case TEXT:
        if (!expected)
            cr_assert(eq(ptr, *(void *const *)at, NULL), "%s", rows[row].flag);
        else
            cr_assert(eq(str, *(char *const *)at, (char *)expected), "%s", rows[row].flag);
        break;
    case SWITCH:
        cr_assert(eq(int, *(const bool *)at, expected[0] == '1'), "%s", rows[row].flag);
        break;
    }
}

Test(settings, each_has_its_default)
{
    cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_OK), "%s", err.msg);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        check(&s, i, rows[i].fallback);
    cr_assert(eq(str, s.database, "postgresql:///x"));
    cr_assert(eq(int, s.log_level, PFC_INFO));
    cr_assert(not(s.done));
    cr_assert(not(s.migrate));
}

Test(settings, a_flag_is_before_the_environment_and_that_before_the_file)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *flag = pfc_format("%s%s%s", rows[i].flag, takes_value(rows[i].flag) ? "=" : "",
                                takes_value(rows[i].flag) ? rows[i].other : "");

        write_line(rows[i].env, rows[i].good);
        setenv("PERFCI_SETTINGS", file, 1);
        cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_OK), "%s: %s", flag, err.msg);
        check(&s, i, rows[i].good);
        setenv(rows[i].env, rows[i].other, 1);
        cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_OK), "%s: %s", flag, err.msg);
        check(&s, i, rows[i].other);
        setenv(rows[i].env, takes_value(rows[i].flag) ? rows[i].good : "0", 1);
        cr_assert(eq(int, read_words(flag, NULL, NULL), PFC_OK), "%s: %s", flag, err.msg);
        check(&s, i, takes_value(rows[i].flag) ? rows[i].other : "1");
        unsetenv(rows[i].env);
        unsetenv("PERFCI_SETTINGS");
        free(flag);
    }
}

Test(settings, each_is_held_to_its_limits)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *bad = pfc_strdup(rows[i].bad);
        char *rest = NULL;

        for (char *word = strtok_r(bad, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
            setenv(rows[i].env, word, 1);
            cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_EINVAL), "%s=%s", rows[i].env,
                      word);
            cr_assert(gt(sz, strlen(err.msg), 10));
        }
        unsetenv(rows[i].env);
        free(bad);
    }
}

Test(settings, an_address_that_others_reach_has_limits_by_default)
{
    static const struct {
        const char *listen;
        bool near;
    } at[] = { { "127.0.0.1:1", true },   { "127.9.9.9:1", true },  { "[::1]:1", true },
               { "localhost:1", true },   { "0.0.0.0:1", false },   { "[::]:1", false },
               { "localhosts:1", false }, { "128.0.0.1:1", false }, { "10.0.0.1:1", false } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(at); i++) {
        cr_assert(eq(int, read_words("--listen", at[i].listen, NULL), PFC_OK), "%s", err.msg);
        cr_assert(eq(i64, s.rate_address, at[i].near ? 0 : 100), "%s", at[i].listen);
        cr_assert(eq(i64, s.rate_token, at[i].near ? 0 : 500));
        cr_assert(eq(i64, s.connections_each, at[i].near ? 0 : 256));
        cr_assert(eq(int, s.trusted == NULL, at[i].near));
    }
    setenv("PERFCI_LISTEN", "0.0.0.0:1", 1);
    cr_assert(eq(int, read_words("--connections", "5", NULL), PFC_OK));
    cr_assert(eq(i64, s.connections_each, 2)); /* a quarter, rounded up */
    cr_assert(eq(str, (char *)s.trusted, "127.0.0.0/8, ::1"));
}

Test(settings, what_belongs_together_is_checked_together)
{
    cr_assert(eq(int, read_words("--tls-cert=c", NULL, NULL), PFC_EINVAL));
    cr_assert(eq(int, read_words("--tls-key=k", NULL, NULL), PFC_EINVAL));
    cr_assert(eq(int, read_words("--tls-cert=c", "--tls-key=k", NULL), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)s.tls_cert, "c"));
    cr_assert(eq(str, (char *)s.tls_key, "k"));
    cr_assert(eq(int, read_words("--retain-raw=6", "--retain-days=6", NULL), PFC_EINVAL));
    cr_assert(eq(int, read_words("--retain-raw=6", "--retain-days=5", NULL), PFC_EINVAL));
    cr_assert(eq(int, read_words("--retain-raw=6", "--retain-days=7", NULL), PFC_OK));
    cr_assert(eq(int, read_words("--retain-raw=6", NULL, NULL), PFC_OK));
    cr_assert(eq(int, read_words("--retain-days=7", NULL, NULL), PFC_EINVAL));
    cr_assert(
        eq(str, err.msg, "--retain-days: without --retain-raw nothing is deleted; expected both"));
    cr_assert(eq(int, read_words("--partition-width=fortnight", NULL, NULL), PFC_EINVAL));
    cr_assert(eq(str, err.msg,
                 "--partition-width: expected auto, month, week or day, got \"fortnight\""));
    cr_assert(eq(int, read_words("--server-role=r", NULL, NULL), PFC_EINVAL));
    cr_assert(eq(int, read_words("--server-role=r", "--migrate", NULL), PFC_OK));
    cr_assert(s.migrate);
    cr_assert(eq(str, (char *)s.server_role, "r"));
    cr_assert(eq(int, read_words("--bootstrap-token-file=/t", NULL, NULL), PFC_OK));
    cr_assert(eq(str, (char *)s.bootstrap_token, "/t"));
    cr_assert(eq(int, read_words("--log-level=error", NULL, NULL), PFC_OK));
    cr_assert(eq(int, s.log_level, PFC_ERROR));
    cr_assert(eq(int, read_words("--log-level=loud", NULL, NULL), PFC_EINVAL));
    cr_assert(eq(int, read_words("--listen", NULL, NULL), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "--listen needs a value"), NULL), "%s", err.msg);
    cr_assert(eq(int, read_words("--lissten=x", NULL, NULL), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "unknown option --lissten"), NULL), "%s", err.msg);
    cr_assert(eq(int, read_words("word", NULL, NULL), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "unexpected argument \"word\""), NULL), "%s", err.msg);
    cr_assert(eq(int, read_words("--settings=/no/such/file", NULL, NULL), PFC_ENOTFOUND));
}

/* Not in the table: it is valid beside --retain-raw only. */
Test(settings, months_of_thinned_measurements)
{
    pfc_server_settings fresh;

    setenv("PERFCI_RETAIN_RAW", "3", 1);
    cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, s.day_months, 0));
    cr_assert(eq(int, read_words("--retain-days=1201", NULL, NULL), PFC_EINVAL));
    cr_assert(eq(int, read_words("--retain-days=-1", NULL, NULL), PFC_EINVAL));
    write_line("PERFCI_RETAIN_DAYS", "4");
    setenv("PERFCI_SETTINGS", file, 1);
    cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, s.day_months, 4));
    write_line("PERFCI_RETAIN_DAYS", "1200");
    cr_assert(eq(int, pfc_server_settings_again(&s, &fresh, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(ptr, pfc_server_settings_adopt(&s, &fresh), NULL));
    cr_assert(eq(i64, s.day_months, 1200));
    pfc_server_settings_clear(&fresh);
    setenv("PERFCI_RETAIN_DAYS", "5", 1);
    cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, s.day_months, 5));
    cr_assert(eq(int, read_words("--retain-days=6", NULL, NULL), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, s.day_months, 6));
    unsetenv("PERFCI_RETAIN_DAYS");
    unsetenv("PERFCI_RETAIN_RAW");
    unsetenv("PERFCI_SETTINGS");
}

Test(settings, the_database_is_named_without_a_password_on_the_command_line)
{
    char *secret = pfc_fs_join(dir, "database");

    cr_assert(eq(int, read_words("--database=postgresql:///y", NULL, NULL), PFC_OK));
    cr_assert(eq(str, s.database, "postgresql:///y"));
    cr_assert(eq(int, read_words("--database=postgresql://u:p4ss@h/y", NULL, NULL), PFC_EINVAL));
    cr_assert(eq(ptr, strstr(err.msg, "p4ss"), NULL));
    unsetenv("PERFCI_DATABASE_URL");
    cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "no database"), NULL), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_write_atomic(secret, "postgresql:///z\n", 16, 0600, &err), PFC_OK));
    setenv("PERFCI_DATABASE_URL_FILE", secret, 1);
    cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, s.database, "postgresql:///z"));
    cr_assert(eq(int, chmod(secret, 0644), 0));
    cr_assert(ne(int, read_words(NULL, NULL, NULL), PFC_OK)); /* others can read it */
    cr_assert(ne(ptr, strstr(err.msg, "PERFCI_DATABASE_URL_FILE"), NULL), "%s", err.msg);
    setenv("PERFCI_DATABASE_URL", "postgresql:///x", 1);
    setenv("PERFCI_DATABASE_READ_URL", "postgresql:///read", 1);
    setenv("PERFCI_DATABASE_DIRECT_URL", "postgresql:///direct", 1);
    cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, s.read_database, "postgresql:///read"));
    cr_assert(eq(str, s.direct_database, "postgresql:///direct"));
    unsetenv("PERFCI_DATABASE_READ_URL");
    cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_OK));
    cr_assert(eq(ptr, s.read_database, NULL));
    cr_assert(eq(str, s.direct_database, "postgresql:///direct"));
    free(secret);
}

/* Of a changed file a running server takes over what its comment lists, and names the rest. */
Test(settings, a_changed_file_is_adopted_or_needs_a_restart)
{
    static const char *const adopted[] = {
        "PERFCI_PUBLIC_READ",    "PERFCI_RATE_ADDRESS", "PERFCI_RATE_TOKEN",
        "PERFCI_RETAIN_RAW",     "PERFCI_NOTIFY",       "PERFCI_NOTIFY_NETWORKS",
        "PERFCI_NOTIFY_TIMEOUT", "PERFCI_NOTIFY_RETRY", "PERFCI_NOTIFY_TRIES",
        "PERFCI_PUBLIC_URL",     "PERFCI_FORGES",       "PERFCI_PULL_POLL",
        "PERFCI_PULL_RETRY",     "PERFCI_RETAIN_AUDIT", "PERFCI_PARTITION_WIDTH",
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_server_settings fresh;
        char *restart;
        bool taken = false;

        for (size_t k = 0; k < PFC_ARRAY_LEN(adopted); k++)
            taken = taken || strcmp(adopted[k], rows[i].env) == 0;
        write_line("PERFCI_LOG_LEVEL", "info");
        setenv("PERFCI_SETTINGS", file, 1);
        cr_assert(eq(int, read_words(NULL, NULL, NULL), PFC_OK));
        write_line(rows[i].env, strcmp(rows[i].good, rows[i].fallback ? rows[i].fallback : "")
                                    ? rows[i].good
                                    : rows[i].other);
        cr_assert(eq(int, pfc_server_settings_again(&s, &fresh, &err), PFC_OK), "%s", err.msg);
        restart = pfc_server_settings_adopt(&s, &fresh);
        if (taken) {
            cr_assert(eq(ptr, restart, NULL), "%s", restart);
            check(&s, i, rows[i].good);
        } else {
            cr_assert(eq(str, restart ? restart : "none", (char *)rows[i].env));
            check(&s, i, rows[i].fallback);
        }
        free(restart);
        pfc_server_settings_clear(&fresh);
    }
    write_line("PERFCI_LEASE", "x");
    {
        pfc_server_settings fresh;

        cr_assert(eq(int, pfc_server_settings_again(&s, &fresh, &err), PFC_EINVAL));
        pfc_server_settings_clear(&fresh);
    }
    unsetenv("PERFCI_SETTINGS");
}
