/*
 * A private PostgreSQL with the settings it comes with (fsync on), and a server beside it. Both end
 * with this program.
 */
#include <errno.h>
#include <glob.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/studies/service/service.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/process/proc.h"
#include "core/http/client.h"

#define START_S  120
#define MAX_ARGS 40

/* argv of a program of PostgreSQL, as its user when we are root: PostgreSQL refuses root. */
typedef struct command {
    const char *argv[MAX_ARGS];
    size_t len;
    char program[300];
} command;

static void add_args(command *c, const char *const *args)
{
    for (; *args && c->len + 1 < MAX_ARGS; args++)
        c->argv[c->len++] = *args;
    c->argv[c->len] = NULL;
}

static const char *pg_user(void)
{
    return getpwnam("postgres") ? "postgres" : "nobody";
}

static void pg_command(const bench_place *p, command *c, const char *program,
                       const char *const *args)
{
    const char *const drop[] = { "setpriv",        "--reuid",     pg_user(), "--regid", "nogroup",
                                 "--clear-groups", "--pdeathsig", "QUIT",    NULL };

    memset(c, 0, sizeof(*c));
    (void)snprintf(c->program, sizeof(c->program), "%s/%s", p->pg.bin, program);
    if (geteuid() == 0)
        add_args(c, drop);
    c->argv[c->len++] = c->program;
    add_args(c, args);
}

static pfc_code run_program(const command *c, char **out, pfc_err *err)
{
    const char *const env[] = { "LC_ALL=C", NULL };
    const pfc_proc_opts opts = {
        .argv = c->argv, .env = env, .cwd = "/", .timeout_s = 600, .merge = true
    };
    pfc_proc_result res;
    pfc_code code = pfc_proc_run(&opts, &res, err);

    if (code)
        return code;
    if (res.exit_status != 0)
        code = pfc_err_set(err, PFC_EIO, "%s: %.300s", c->program, pfc_buf_text(&res.out));
    else if (out)
        *out = pfc_strdup(pfc_buf_text(&res.out));
    pfc_proc_result_clear(&res);
    return code;
}

static pfc_code start_postgres(bench_place *p, pfc_err *err)
{
    char *data = pfc_fs_join(p->dir, "data"), *log = pfc_fs_join(p->dir, "postgres.log");
    const char *const init[] = { "-D",    data, "-U",   "perfci",     "-A",
                                 "trust", "-E", "UTF8", "--locale=C", "--no-instructions",
                                 NULL };
    const char *const serve[] = { "-D", data,
                                  "-k", p->dir,
                                  "-c", "listen_addresses=",
                                  "-c", "shared_buffers=256MB",
                                  "-c", "max_wal_size=4GB",
                                  NULL };
    const char *const ping[] = { "-h", p->dir, "-U", "perfci", "-d", "postgres", "-q", NULL };
    const char *const env[] = { "LC_ALL=C", NULL };
    const struct passwd *user = getpwnam(pg_user());
    int64_t until = pfc_clock_ns() + START_S * PFC_NS_PER_S;
    command c;
    pfc_code code = PFC_OK;

    if (geteuid() == 0 && (!user || chown(p->dir, user->pw_uid, user->pw_gid)))
        code = pfc_err_set(err, PFC_EIO, "%s: cannot be given to %s", p->dir, pg_user());
    if (!code) {
        pg_command(p, &c, "initdb", init);
        code = run_program(&c, NULL, err);
    }
    if (!code) {
        const pfc_proc_spawn_opts opts = {
            .argv = c.argv, .env = env, .cwd = "/", .log_path = log
        };

        pg_command(p, &c, "postgres", serve);
        code = pfc_proc_spawn(&opts, &p->postgres, err);
    }
    pg_command(p, &c, "pg_isready", ping);
    while (!code && run_program(&c, NULL, err) != PFC_OK) {
        if (pfc_clock_ns() > until)
            code = pfc_err_set(err, PFC_ETIMEOUT, "PostgreSQL is not ready after %d s", START_S);
        pfc_clock_sleep_ns(50 * PFC_NS_PER_MS);
    }
    p->database = pfc_format("host=%s user=perfci dbname=postgres", p->dir);
    free(data);
    free(log);
    return code;
}

static char *beside_us(const char *name)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (n <= 0)
        return pfc_strdup(name);
    self[n] = '\0';
    slash = strrchr(self, '/');
    *slash = '\0';
    return pfc_fs_join(self, name);
}

/* First line of a file once it is there; NULL: not yet. */
static char *first_line(const char *dir, const char *name)
{
    char *path = pfc_fs_join(dir, name), *text = NULL;
    size_t len = 0;

    if (pfc_fs_read(path, 4096, &text, &len, NULL) != PFC_OK)
        text = NULL;
    if (text)
        text[strcspn(text, "\r\n")] = '\0';
    free(path);
    return text;
}

static bool answers(const bench_place *p)
{
    const pfc_http_opts opts = { .url = p->url };
    pfc_http *http = NULL;
    bool ready = pfc_http_new(&opts, &http, NULL) == PFC_OK &&
                 pfc_http_json(http, "GET", "/readyz", NULL, NULL, NULL, NULL) == PFC_OK;

    pfc_http_free(http);
    return ready;
}

static pfc_code start_server(bench_place *p, pfc_err *err)
{
    char *program = beside_us("perfci-server"), *data = pfc_fs_join(p->dir, "server");
    char *token = pfc_fs_join(p->dir, "server/admin.token"),
         *log = pfc_fs_join(p->dir, "server.log");
    char *setting = pfc_format("PERFCI_DATABASE_URL=%s", p->database);
    const char *const argv[] = { program,       "--listen",
                                 "127.0.0.1:0", "--data",
                                 data,          "--workers",
                                 "0",           "--connections",
                                 "16384",       "--bootstrap-token-file",
                                 token,         "--waiting-per-token",
                                 "0",           "--log-level",
                                 "warn",        NULL };
    const char *const env[] = { setting, NULL };
    const pfc_proc_spawn_opts opts = { .argv = argv, .env = env, .log_path = log };
    int64_t until = pfc_clock_ns() + START_S * PFC_NS_PER_S;
    pfc_code code = pfc_fs_mkdirs(data, 0700, err);

    if (!code)
        code = pfc_proc_spawn(&opts, &p->server, err);
    while (!code && (!p->url || !p->token || !answers(p))) {
        free(p->url);
        free(p->token);
        p->url = first_line(data, "endpoint");
        p->token = first_line(data, "admin.token");
        if (pfc_clock_ns() > until)
            code = pfc_err_set(err, PFC_ETIMEOUT, "the server is not ready after %d s", START_S);
        pfc_clock_sleep_ns(20 * PFC_NS_PER_MS);
    }
    free(program);
    free(data);
    free(token);
    free(log);
    free(setting);
    return code;
}

pfc_code bench_place_start(bench_place *p, pfc_err *err)
{
    pfc_code code;

    memset(p, 0, sizeof(*p));
    code = pfc_pg_find(0, &p->pg, err);
    if (code)
        return code;
    (void)snprintf(p->dir, sizeof(p->dir), "/tmp/pfc-bench-XXXXXX");
    if (!mkdtemp(p->dir)) {
        p->dir[0] = '\0';
        return pfc_err_set(err, PFC_EIO, "/tmp: %s", strerror(errno));
    }
    code = start_postgres(p, err);
    return code ? code : start_server(p, err);
}

void bench_place_end(bench_place *p)
{
    if (p->server > 0)
        pfc_proc_stop(p->server, 30);
    if (p->postgres > 0)
        pfc_proc_stop(p->postgres, 60);
    if (p->dir[0] && pfc_fs_remove_tree(p->dir, NULL))
        fprintf(stderr, "%s is left behind\n", p->dir);
    free(p->database);
    free(p->url);
    free(p->token);
    memset(p, 0, sizeof(*p));
}

uint64_t bench_place_rss(const bench_place *p)
{
    char *path = pfc_format("/proc/%d/statm", (int)p->server), *text = NULL;
    unsigned long long total = 0, resident = 0;
    size_t len = 0;

    if (pfc_fs_read(path, 4096, &text, &len, NULL) != PFC_OK ||
        sscanf(text, "%llu %llu", &total, &resident) != 2)
        resident = 0;
    free(text);
    free(path);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Of /proc/PID/stat, seconds: the process itself, and its children that have ended. */
static bool process_cpu(const char *pid, long *parent, double *own, double *ended)
{
    const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    char *path = pfc_format("/proc/%s/stat", pid), *text = NULL;
    unsigned long long user = 0, system = 0, child_user = 0, child_system = 0;
    size_t len = 0;
    bool ok = pfc_fs_read(path, 4096, &text, &len, NULL) == PFC_OK;
    const char *rest = ok ? strrchr(text, ')') : NULL; /* a name may hold anything but its end */

    ok = rest && sscanf(rest, ") %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
                        parent, &user, &system, &child_user, &child_system) == 5;
    *own = (double)(user + system) * tick;
    *ended = (double)(child_user + child_system) * tick;
    free(text);
    free(path);
    return ok;
}

bench_cpu bench_place_cpu(const bench_place *p)
{
    bench_cpu cpu = { 0 };
    glob_t found = { 0 };
    long parent;
    double own, ended;

    if (glob("/proc/[0-9]*", 0, NULL, &found) != 0)
        return cpu;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *pid = found.gl_pathv[i] + strlen("/proc/");

        if (!process_cpu(pid, &parent, &own, &ended))
            continue;
        if (atol(pid) == (long)p->server)
            cpu.server = own;
        else if (atol(pid) == (long)p->postgres)
            cpu.postgres += own + ended;
        else if (parent == (long)p->postgres)
            cpu.postgres += own;
    }
    globfree(&found);
    return cpu;
}

static bool number_after(const char *text, const char *label, double *out)
{
    const char *at = strstr(text, label);

    if (!at)
        return false;
    *out = strtod(at + strlen(label), NULL);
    return *out > 0;
}

/* The third word of each line is the transaction's time in microseconds. */
static void add_log(const char *path, float **ms, size_t *len, size_t *cap)
{
    FILE *file = fopen(path, "r");
    unsigned long long us;

    while (file && fscanf(file, "%*u %*u %llu%*[^\n]", &us) == 1) {
        *ms = pfc_grow(*ms, *len, cap, sizeof(**ms));
        (*ms)[(*len)++] = (float)us * 1e-3f;
    }
    if (file)
        (void)fclose(file);
    (void)unlink(path);
}

/* pgbench's logs, one a thread. */
static double log_p99_ms(const char *prefix)
{
    char *pattern = pfc_format("%s.*", prefix);
    glob_t found = { 0 };
    float *ms = NULL;
    size_t len = 0, cap = 0;
    double p99 = 0;

    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_log(found.gl_pathv[i], &ms, &len, &cap);
    }
    if (len)
        p99 = (double)bench_quantile(ms, len, 0.99);
    free(ms);
    globfree(&found);
    free(pattern);
    return p99;
}

/* Triggers that count stored rows. Off for pgbench, which is compared only for storing, and whose
 * prepared statement needs the tables' statistics: its plan is made once a call. */
static pfc_code set_counting(const bench_place *p, bool on, pfc_err *err)
{
    const char *const args[] = {
        "-XAtq",
        "-h",
        p->dir,
        "-U",
        "perfci",
        "-d",
        "postgres",
        "-c",
        on ? "ALTER TABLE runs ENABLE TRIGGER USER; ALTER TABLE run_parts ENABLE TRIGGER USER"
           : "ALTER TABLE runs DISABLE TRIGGER USER; ALTER TABLE run_parts DISABLE TRIGGER USER;"
             "ANALYZE",
        NULL
    };
    command c;

    pg_command(p, &c, "psql", args);
    return run_program(&c, NULL, err);
}

pfc_code bench_pgbench(const bench_place *p, const char *script, unsigned clients, unsigned seconds,
                       bench_pg_result *out, pfc_err *err)
{
    char *path = pfc_fs_join(p->dir, "raw.sql"), *log = pfc_fs_join(p->dir, "data/raw"),
         *text = NULL;
    char *prefix = pfc_format("--log-prefix=%s", log);
    char clients_text[16], seconds_text[16];
    const char *const args[] = { "-h",
                                 p->dir,
                                 "-U",
                                 "perfci",
                                 "-n",
                                 "-M",
                                 "prepared",
                                 "-c",
                                 clients_text,
                                 "-j",
                                 "2",
                                 "-T",
                                 seconds_text,
                                 "-f",
                                 path,
                                 "-l",
                                 "--sampling-rate=0.1",
                                 prefix,
                                 "postgres",
                                 NULL };
    command c;
    pfc_code code = pfc_fs_write_atomic(path, script, strlen(script), 0644, err);

    (void)snprintf(clients_text, sizeof(clients_text), "%u", clients);
    (void)snprintf(seconds_text, sizeof(seconds_text), "%u", seconds);
    if (!code)
        code = set_counting(p, false, err);
    pg_command(p, &c, "pgbench", args);
    if (!code)
        code = run_program(&c, &text, err);
    if (!code)
        code = set_counting(p, true, err);
    if (!code && (!number_after(text, "tps = ", &out->tps) ||
                  !number_after(text, "latency average = ", &out->mean_ms)))
        code = pfc_err_set(err, PFC_EIO, "pgbench: %.200s", text);
    out->p99_ms = log_p99_ms(log);
    free(text);
    free(prefix);
    free(log);
    free(path);
    return code;
}
