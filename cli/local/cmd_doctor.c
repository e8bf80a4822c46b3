/*
 * perfci doctor: checks this installation; each line names the fault and the remedy.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "bench/counters/counters.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

#define NOISE_WARN     0.03 /* spread of the canary, relative: the middle eight tenths */
#define SKEW_WARN_S    5
#define RUNNER_SEEN_S  300
#define DISK_WARN_MIB  2048
#define DISK_FAIL_MIB  200
#define CANARY_ROUNDS  300
#define CANARY_LIMIT_S 3.0

typedef struct doctor_opts {
    const char *url, *data;
    bool quick;
} doctor_opts;

static const pfc_option doctor_options[] = {
    PFC_OPT_FLAG("quick", doctor_opts, quick,
                 "Leave out the noise of the machine, which takes some seconds"),
    PFC_SERVICE_OPTIONS(doctor_opts, ),
    { 0 },
};

static const char doctor_doc[] =
    "Checks this installation: perfci.yaml, service, database, token, runners, clocks, access to "
    "counters, noise of the machine, disk. Each line is ok, warn or fail, with the remedy."
    "\v"
    "Exit status 0 when nothing failed, else 5.\n"
    "\n"
    "Examples:\n"
    "  perfci doctor\n"
    "  perfci doctor --quick --json\n";

/* state: "ok", "warn" or "fail"; hint: NULL when nothing is to be done. Takes `found`. */
static void say(json_t *list, const char *what, const char *state, char *found, const char *hint)
{
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s?}", "check", what, "state", state,
                                          "found", found, "hint", hint));
    free(found);
}

/* ---- here ---- */

static void check_conf(json_t *list, pfc_conf *conf)
{
    pfc_err err = { 0 };

    if (pfc_conf_find(".", conf, &err))
        say(list, "perfci.yaml", "fail", pfc_strdup(err.msg), "correct the line that it names");
    else if (conf->path)
        say(list, "perfci.yaml", "ok", pfc_strdup(conf->path), NULL);
    else
        say(list, "perfci.yaml", "warn", pfc_strdup("none here or in a folder above"),
            "\"perfci init\" writes one");
}

static void check_disk(json_t *list, const char *data)
{
    char *at = pfc_strdup(data);
    struct statvfs fs;
    double mib;

    /* For a folder that does not exist yet, the file system of its nearest parent is checked. */
    while (!pfc_fs_exists(at) && strrchr(at, '/') && strrchr(at, '/') != at)
        *strrchr(at, '/') = '\0';
    if (statvfs(at, &fs) != 0) {
        say(list, "disk", "fail", pfc_format("%s cannot be looked at", at),
            "check that the data folder's path exists");
    } else {
        mib = (double)fs.f_bavail * (double)fs.f_frsize / (1024 * 1024);
        say(list, "disk",
            mib < DISK_FAIL_MIB   ? "fail"
            : mib < DISK_WARN_MIB ? "warn"
                                  : "ok",
            pfc_format("%.0f MiB free at %s", mib, at),
            mib < DISK_WARN_MIB ? "free some space, or move the data folder with --data" : NULL);
    }
    free(at);
}

/* The names of the counters that open (or do not), separated by commas. */
static char *names_of_counters(const pfc_counters *counters, bool open)
{
    pfc_buf names;

    pfc_buf_init(&names, PFC_COUNTER_LIST_MAX);
    for (size_t i = 0; i < counters->set.len; i++)
        if ((counters->fd[i] >= 0) == open)
            pfc_buf_printf(&names, "%s%s", names.len ? ", " : "", counters->set.events[i].name);
    return pfc_buf_take(&names);
}

/* Each event is opened, because a virtual machine may permit counters that it does not have. */
static void check_counters(json_t *list)
{
    pfc_counter_set set;
    pfc_counters counters;
    char *there, *missing, *level = NULL;
    size_t len = 0;

    pfc_counter_defaults(&set);
    pfc_counters_open(&counters, &set, NULL);
    there = names_of_counters(&counters, true);
    missing = names_of_counters(&counters, false);
    pfc_counters_close(&counters);
    if (pfc_fs_read("/proc/sys/kernel/perf_event_paranoid", 64, &level, &len, NULL))
        level = pfc_strdup("unknown");
    level[strcspn(level, "\n")] = '\0';
    if (*missing)
        say(list, "counters", "warn",
            pfc_format("not available: %s%s%s (perf_event_paranoid is %.20s)", missing,
                       *there ? "; available: " : "", there, level),
            "if the level is above 2, run \"sysctl kernel.perf_event_paranoid=1\" as root; a "
            "virtual "
            "machine may offer none, and times are measured without them");
    else
        say(list, "counters", "ok", pfc_strdup(there), NULL);
    free(level);
    free(missing);
    free(there);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double spin(void)
{
    const int64_t start = pfc_clock_ns();
    volatile uint64_t x = 88172645463325252u;

    for (int i = 0; i < 1000000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return (double)(pfc_clock_ns() - start);
}

/* Repeats the same work: the spread of its times is the noise of the machine. */
static void check_noise(const pfc_cli *cli, json_t *list)
{
    const int64_t until = pfc_clock_ns() + (int64_t)(CANARY_LIMIT_S * (double)PFC_NS_PER_S);
    double times[CANARY_ROUNDS], spread;
    size_t n = 0;

    pfc_cli_progress(cli, "measuring the noise of this machine");
    while (n < CANARY_ROUNDS && (n < 10 || pfc_clock_ns() < until))
        times[n++] = spin();
    qsort(times, n, sizeof(*times), by_value);
    spread = (times[n * 9 / 10] - times[n / 10]) / times[n / 2];
    say(list, "noise", spread > NOISE_WARN ? "warn" : "ok",
        pfc_format("%.1f %% between the 10th and 90th of %zu equal pieces of work", 100 * spread,
                   n),
        spread > NOISE_WARN ? "stop other work on this machine, fix the clock frequency "
                              "(cpupower frequency-set -g performance), or use a quieter one"
                            : NULL);
}

/* ---- the service ---- */

static bool check_server(json_t *list, pfc_http *http)
{
    const pfc_http_req req = { .method = "GET", .path = "/version", .timeout_s = 5 };
    pfc_http_answer answer = { 0 };
    pfc_err err = { 0 };
    json_t *doc = NULL;
    int64_t skew;
    const char *version;

    if (pfc_http_send(http, &req, &answer, &err)) {
        say(list, "server", "fail", pfc_strdup(err.msg),
            "\"perfci up --detach\" starts one here; --url or PERFCI_URL names another");
        return false;
    }
    if (answer.status == 200)
        doc = json_loadb(answer.body.data, answer.body.len, 0, NULL);
    version = pfc_browse_string(doc, "version");
    if (!*version)
        say(list, "server", "fail",
            pfc_format("%s answers, but is no perfci server", pfc_http_url(http)),
            "name the service with --url or PERFCI_URL");
    else
        say(list, "server", strcmp(version, PFC_VERSION) == 0 ? "ok" : "warn",
            pfc_format("version %s at %s", version, pfc_http_url(http)),
            strcmp(version, PFC_VERSION) == 0 ? NULL
                                              : "install the same version here and there: this is "
                                                "version " PFC_VERSION);
    skew = answer.date_unix_s ? llabs(answer.date_unix_s - (int64_t)pfc_clock_unix_s()) : 0;
    if (!answer.date_unix_s)
        say(list, "clock", "warn", pfc_strdup("the server did not send its time"), NULL);
    else
        say(list, "clock", skew > SKEW_WARN_S ? "warn" : "ok",
            pfc_format("%lld s between here and the server", (long long)skew),
            skew > SKEW_WARN_S ? "let both follow an NTP server (timedatectl set-ntp true)" : NULL);
    pfc_http_answer_clear(&answer);
    const bool found = *version != '\0';
    json_decref(doc);
    return found;
}

static void check_ready(json_t *list, pfc_http *http)
{
    pfc_err err = { 0 };

    if (pfc_http_json(http, "GET", "/readyz", NULL, NULL, NULL, &err))
        say(list, "database", "fail", pfc_strdup(err.msg),
            "\"perfci up --detach\" restarts a private database; of another one look at its log "
            "and "
            "at PERFCI_DATABASE_URL");
    else
        say(list, "database", "ok", pfc_strdup("the service is ready"), NULL);
}

static bool check_token(json_t *list, pfc_http *http)
{
    pfc_err err = { 0 };
    int status = 0;

    if (pfc_http_json(http, "GET", "/api/v1/projects?limit=1", NULL, &status, NULL, &err)) {
        say(list, "token", "fail", pfc_strdup(err.msg),
            err.hint[0] ? err.hint : "set PERFCI_TOKEN_FILE to the file of a valid token");
        return false;
    }
    say(list, "token", "ok", pfc_strdup("the service lets this user read"), NULL);
    return true;
}

static void check_runners(json_t *list, pfc_http *http)
{
    json_t *answer = NULL;
    const json_t *runners;
    pfc_err err = { 0 };
    size_t seen = 0;
    const char *alarm = NULL, *alarmed = NULL;

    if (pfc_http_json(http, "GET", "/api/v1/runners", NULL, NULL, &answer, &err)) {
        say(list, "runners", "fail", pfc_strdup(err.msg), err.hint);
        return;
    }
    runners = json_object_get(answer, "runners");
    for (size_t i = 0; i < json_array_size(runners); i++) {
        double age = 0;

        if (pfc_browse_seconds_ago(json_object_get(json_array_get(runners, i), "last_seen_at"),
                                   &age) &&
            age < RUNNER_SEEN_S)
            seen++;
        if (!alarm) {
            alarmed = json_string_value(json_object_get(json_array_get(runners, i), "name"));
            alarm = json_string_value(json_object_get(json_array_get(runners, i), "alarm"));
        }
    }
    if (alarm)
        say(list, "runner spool", "warn", pfc_format("%s: %s", alarmed ? alarmed : "?", alarm),
            "\"perfci runner list\" shows each runner; the how-to page \"Operate runners\" says "
            "what to do");
    say(list, "runners", seen ? "ok" : "warn",
        pfc_format("%zu of %zu seen in the last %d min", seen, json_array_size(runners),
                   RUNNER_SEEN_S / 60),
        seen ? NULL
             : "start one: \"perfci up\" does, or perfci-runner --url URL --token-file FILE");
    json_decref(answer);
}

static void check_service(json_t *list, const doctor_opts *o, const pfc_conf *conf)
{
    pfc_http *http = NULL;
    pfc_err err = { 0 };

    if (pfc_api_open(o->url, o->data, conf, &http, &err))
        say(list, "server", "fail", pfc_strdup(err.msg), err.hint[0] ? err.hint : "correct --url");
    else if (check_server(list, http)) {
        check_ready(list, http);
        if (check_token(list, http))
            check_runners(list, http);
    }
    pfc_http_free(http);
}

static void print(const pfc_cli *cli, const json_t *list)
{
    static const pfc_table_col cols[] = {
        { "CHECK", false }, { "STATE", false }, { "FOUND", false }, { "MENDING", false }
    };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *state = pfc_browse_string(one, "state");

        pfc_table_row(table);
        pfc_browse_text(table, 0, one, "check");
        pfc_table_set(table, 1, state);
        pfc_table_color(table, 1,
                        strcmp(state, "ok") == 0     ? "green"
                        : strcmp(state, "warn") == 0 ? "yellow"
                                                     : "red");
        pfc_browse_text(table, 2, one, "found");
        pfc_browse_text(table, 3, one, "hint");
    }
    pfc_table_below(table, 2);
    pfc_table_below(table, 3);
    pfc_table_print(table);
}

static int cmd_doctor(pfc_cli *cli, int argc, char **argv)
{
    doctor_opts o = { 0 };
    json_t *list = json_array();
    pfc_conf conf = { 0 };
    bool failed = false;
    char *data;

    pfc_cli_parse(cli, &pfc_cmd_doctor, argc, argv, &o);
    data = pfc_conf_data_dir(o.data);
    check_conf(list, &conf);
    check_service(list, &o, &conf);
    check_counters(list);
    if (!o.quick)
        check_noise(cli, list);
    check_disk(list, data);
    pfc_cli_progress(cli, "%s", "");
    for (size_t i = 0; i < json_array_size(list); i++)
        failed = failed || strcmp(pfc_browse_string(json_array_get(list, i), "state"), "fail") == 0;
    if (cli->json)
        pfc_cli_print_json(json_pack("{s:b, s:O}", "ok", !failed, "checks", list));
    else
        print(cli, list);
    json_decref(list);
    free(data);
    pfc_conf_clear(&conf);
    return failed ? PFC_EXIT_INFRA : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_doctor = {
    .name = "doctor",
    .summary = "check this installation and name the remedies",
    .run = cmd_doctor,
    .options = doctor_options,
    .doc = doctor_doc,
};
