/*
 * perfci-runner: takes jobs from a perfci server and measures commits on this machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/base/config/conf.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "core/base/rng.h"
#include "runner/agent/agent.h"
#include "runner/agent/signs.h"
#include "runner/sandbox/sandbox.h"
#include "runner/slurm/node_flags.h"
#include "runner/slurm/slurm.h"
#include "runner/spool/spool.h"

#define MAX_JOB_BYTES (4 << 20)

static int stop_pipe[2] = { -1, -1 };

/* The byte stays in the pipe, so that every later poll returns at once. */
static void on_signal(int signo)
{
    int kept = errno;
    ssize_t put = write(stop_pipe[1], "x", 1);

    (void)signo, (void)put;
    errno = kept;
}

static void usage(FILE *to)
{
    (void)fputs(
        "perfci-runner --url URL --token-file FILE --work DIR [options]\n"
        "\n"
        "Takes jobs from a perfci server, checks commits out, builds and measures them here.\n"
        "\n"
        "  --url URL         the server (PERFCI_URL; default " PFC_DEFAULT_URL ")\n"
        "  --token-file FILE holds the token, with scope runner (PERFCI_TOKEN,\n"
        "                    PERFCI_TOKEN_FILE, or the systemd credential PERFCI_TOKEN)\n"
        "  --work DIR        lock, spool and checkouts; one runner a folder\n"
        "  --name NAME       of this runner; default: the host's name\n"
        "  --class CLASS     of this machine; default: the CPU's model\n"
        "  --poll SECONDS    how long one question for a job waits, 1 to 30; default 20\n"
        "  --timeout TIME    of a build or measurement unless perfci.yaml says; default 10m\n"
        "  --wait-quiet TIME for a quiet machine before a suite or a command is measured; then "
        "the\n"
        "                    job fails with the reason; default: not at all\n"
        "  --executor WHERE  local: jobs run here; slurm: each is handed to a Slurm cluster, as a\n"
        "                    batch job with a node of its own; default local\n"
        "  --slurm-partition P  its nodes; default: Slurm's default partition\n"
        "  --slurm-option O  one more option of sbatch, such as --time=30; may be repeated\n"
        "  --slurm-node-dir D  work folders on the nodes, D/NODE; default: nodes in --work DIR\n"
        "  --slurm-program P perfci-runner on the nodes; default: the path of this program\n"
        "  --sandbox MODE    auto: jobs are isolated by bubblewrap where this machine can, else a\n"
        "                    warning; require: or the runner does not start; off; default auto\n"
        "                    (PERFCI_SANDBOX)\n"
        "  --sandbox-path D  a folder that jobs see, read-only, besides /usr, such as /opt/rocm;\n"
        "                    may be repeated (PERFCI_SANDBOX_PATHS, separated by colons)\n"
        "  --sandbox-socket S  of perfci-sandbox, which then starts the jobs' commands, so that\n"
        "                    this process needs no namespaces (PERFCI_SANDBOX_SOCKET)\n"
        "  --build-network   builds may use the network where perfci.yaml of the project's branch\n"
        "                    says so (build_network); measurements never may\n"
        "                    (PERFCI_BUILD_NETWORK=1)\n"
        "  --job-env NAME    a variable of this environment that jobs get besides PATH, LANG,\n"
        "                    LC_* and TZ; may be repeated (PERFCI_JOB_ENV, separated by colons)\n"
        "  --once            at most one job, then end; with slurm: until no job is left\n"
        "  --job FILE        this leased job alone (-: from stdin), whose lease another process\n"
        "                    keeps, as slurm's batch jobs do\n"
        "  --resend          after a restore of the server's database: the runner of --work DIR\n"
        "                    sends again what the server acknowledged within 24 hours; only says "
        "so\n"
        "  --log LEVEL       debug, info, warn, error; default info\n"
        "  --version, --help\n"
        "\n"
        "Example: perfci-runner --token-file ~/runner.token --work /var/lib/perfci/runner\n"
        "Ends with 0 when stopped, 2 on wrong usage, 5 when it cannot work.\n",
        to);
}

enum {
    OPT_URL = 256,
    OPT_TOKEN,
    OPT_WORK,
    OPT_NAME,
    OPT_CLASS,
    OPT_POLL,
    OPT_TIMEOUT,
    OPT_WAIT_QUIET,
    OPT_EXECUTOR,
    OPT_SLURM_PARTITION,
    OPT_SLURM_OPTION,
    OPT_SLURM_NODE_DIR,
    OPT_SLURM_PROGRAM,
    OPT_JOB,
    OPT_SANDBOX,
    OPT_SANDBOX_PATH,
    OPT_SANDBOX_SOCKET,
    OPT_JOB_ENV,
    OPT_BUILD_NETWORK,
    OPT_ONCE,
    OPT_RESEND,
    OPT_LOG,
    OPT_VERSION,
    OPT_HELP,
};

typedef struct flags {
    const char *token_file;
    bool done; /* --help or --version was answered */
    bool resend;
    bool sandbox_given;
    bool slurm; /* the executor */
    pfc_slurm_opts cluster;
    const char *options[PFC_SLURM_MAX_OPTIONS + 1]; /* of sbatch */
    const char *job_file;
    const char *log;
    char *stored[2]; /* texts of variables that paths and variables point into */
    const char *paths[PFC_SANDBOX_MAX_PATHS + 1];
    const char *variables[PFC_SANDBOX_MAX_PATHS + 1];
} flags;

static pfc_code add_name(const char **to, const char *text, const char *flag, pfc_err *err)
{
    size_t n = 0;

    while (to[n])
        n++;
    if (n == PFC_SANDBOX_MAX_PATHS)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected at most %d of them", flag,
                           PFC_SANDBOX_MAX_PATHS);
    to[n] = text;
    return PFC_OK;
}

static pfc_code take_executor(const char *text, flags *more, pfc_err *err)
{
    more->slurm = pfc_streq(text, "slurm");
    return more->slurm || pfc_streq(text, "local")
               ? PFC_OK
               : pfc_err_set(err, PFC_EINVAL, "--executor: expected local or slurm, got '%s'",
                             text);
}

static pfc_code take_slurm_flag(int flag, flags *more, pfc_err *err)
{
    switch (flag) {
    case OPT_SLURM_PARTITION:
        more->cluster.partition = optarg;
        return PFC_OK;
    case OPT_SLURM_NODE_DIR:
        more->cluster.node_dir = optarg;
        return PFC_OK;
    case OPT_SLURM_PROGRAM:
        more->cluster.program = optarg;
        return PFC_OK;
    default:
        return optarg[0] == '-' ? add_name(more->options, optarg, "--slurm-option", err)
                                : pfc_err_set(err, PFC_EINVAL,
                                              "--slurm-option: expected an option of sbatch, such "
                                              "as --slurm-option=--time=30, got '%s'",
                                              optarg);
    }
}

static pfc_code take_sandbox_mode(const char *text, pfc_sandbox_mode *out, pfc_err *err)
{
    static const char *const names[] = { "auto", "require", "off" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        if (pfc_streq(text, names[i])) {
            *out = (pfc_sandbox_mode)i;
            return PFC_OK;
        }
    return pfc_err_set(err, PFC_EINVAL, "--sandbox: expected auto, require or off, got '%s'", text);
}

static pfc_code take_flag(int flag, pfc_agent_opts *opts, flags *more, pfc_err *err)
{
    pfc_log_level level;
    double seconds;

    switch (flag) {
    case OPT_URL:
        opts->url = optarg;
        return PFC_OK;
    case OPT_TOKEN:
        more->token_file = optarg;
        return PFC_OK;
    case OPT_WORK:
        opts->dir = optarg;
        return PFC_OK;
    case OPT_NAME:
        opts->name = optarg;
        return PFC_OK;
    case OPT_CLASS:
        opts->machine_class = optarg;
        return PFC_OK;
    case OPT_POLL:
        return pfc_parse_double(optarg, 1.0, 30.0, "--poll", &opts->poll_s, err);
    case OPT_TIMEOUT:
        return pfc_parse_duration_s(optarg, "--timeout", &opts->timeout_s, err);
    case OPT_WAIT_QUIET:
        opts->wait_quiet = optarg;
        return pfc_parse_duration_s(optarg, "--wait-quiet", &seconds, err);
    case OPT_EXECUTOR:
        return take_executor(optarg, more, err);
    case OPT_SLURM_PARTITION:
    case OPT_SLURM_OPTION:
    case OPT_SLURM_NODE_DIR:
    case OPT_SLURM_PROGRAM:
        return take_slurm_flag(flag, more, err);
    case OPT_JOB:
        more->job_file = optarg;
        return PFC_OK;
    case OPT_SANDBOX:
        more->sandbox_given = true;
        return take_sandbox_mode(optarg, &opts->sandbox, err);
    case OPT_SANDBOX_PATH:
        return optarg[0] == '/'
                   ? add_name(more->paths, optarg, "--sandbox-path", err)
                   : pfc_err_set(err, PFC_EINVAL,
                                 "--sandbox-path: expected an absolute path, got '%s'", optarg);
    case OPT_SANDBOX_SOCKET:
        opts->sandbox_socket = optarg;
        return PFC_OK;
    case OPT_BUILD_NETWORK:
        opts->build_network = true;
        return PFC_OK;
    case OPT_JOB_ENV:
        return add_name(more->variables, optarg, "--job-env", err);
    case OPT_ONCE:
        opts->once = true;
        return PFC_OK;
    case OPT_RESEND:
        more->resend = true;
        return PFC_OK;
    case OPT_LOG:
        if (!pfc_log_level_parse(optarg, &level))
            return pfc_err_set(err, PFC_EINVAL,
                               "--log: expected debug, info, warn or error, got '%s'", optarg);
        pfc_log_set_level(level);
        more->log = optarg;
        return PFC_OK;
    case OPT_VERSION:
        more->done = puts("perfci-runner " PFC_VERSION) >= 0;
        return PFC_OK;
    case OPT_HELP:
        usage(stdout);
        more->done = true;
        return PFC_OK;
    default:
        return pfc_err_set(err, PFC_EINVAL, "unknown flag; see perfci-runner --help");
    }
}

static pfc_code parse(int argc, char **argv, pfc_agent_opts *opts, flags *more, pfc_err *err)
{
    static const struct option known[] = {
        { "url", required_argument, NULL, OPT_URL },
        { "token-file", required_argument, NULL, OPT_TOKEN },
        { "work", required_argument, NULL, OPT_WORK },
        { "name", required_argument, NULL, OPT_NAME },
        { "class", required_argument, NULL, OPT_CLASS },
        { "poll", required_argument, NULL, OPT_POLL },
        { "timeout", required_argument, NULL, OPT_TIMEOUT },
        { "wait-quiet", required_argument, NULL, OPT_WAIT_QUIET },
        { "executor", required_argument, NULL, OPT_EXECUTOR },
        { "slurm-partition", required_argument, NULL, OPT_SLURM_PARTITION },
        { "slurm-option", required_argument, NULL, OPT_SLURM_OPTION },
        { "slurm-node-dir", required_argument, NULL, OPT_SLURM_NODE_DIR },
        { "slurm-program", required_argument, NULL, OPT_SLURM_PROGRAM },
        { "job", required_argument, NULL, OPT_JOB },
        { "sandbox", required_argument, NULL, OPT_SANDBOX },
        { "sandbox-path", required_argument, NULL, OPT_SANDBOX_PATH },
        { "sandbox-socket", required_argument, NULL, OPT_SANDBOX_SOCKET },
        { "build-network", no_argument, NULL, OPT_BUILD_NETWORK },
        { "job-env", required_argument, NULL, OPT_JOB_ENV },
        { "once", no_argument, NULL, OPT_ONCE },
        { "resend", no_argument, NULL, OPT_RESEND },
        { "log", required_argument, NULL, OPT_LOG },
        { "version", no_argument, NULL, OPT_VERSION },
        { "help", no_argument, NULL, OPT_HELP },
        { NULL, 0, NULL, 0 },
    };
    pfc_code code = PFC_OK;
    int flag;

    while (code == PFC_OK && !more->done && (flag = getopt_long(argc, argv, "", known, NULL)) != -1)
        code = take_flag(flag, opts, more, err);
    if (code || more->done)
        return code;
    if (optind < argc)
        return pfc_err_set(err, PFC_EINVAL, "unexpected argument '%s'", argv[optind]);
    if (!opts->dir)
        return pfc_err_set(err, PFC_EINVAL, "--work DIR is missing");
    if (more->job_file && more->slurm)
        return pfc_err_set(err, PFC_EINVAL, "--job: expected --executor local");
    return PFC_OK;
}

static pfc_code read_token(const char *file, char **token, pfc_err *err)
{
    if (!file) {
        pfc_code code = pfc_conf_secret("PERFCI_TOKEN", token, err);

        return code == PFC_ENOTFOUND
                   ? pfc_err_set(err, PFC_EINVAL,
                                 "no token: expected --token-file FILE, PERFCI_TOKEN or "
                                 "PERFCI_TOKEN_FILE; `perfci token create --scope runner` makes "
                                 "one")
                   : code;
    }
    return pfc_conf_secret_file(file, token, err) ? pfc_err_wrap(err, "--token-file") : PFC_OK;
}

/* "a:b" of a variable: the names in `store`, which the caller frees. */
static pfc_code read_names(const char *variable, const char **to, char **store, pfc_err *err)
{
    const char *text = getenv(variable);
    char *rest = NULL;
    pfc_code code = PFC_OK;

    if (to[0] || !text)
        return PFC_OK;
    *store = pfc_strdup(text);
    for (char *name = strtok_r(*store, ":", &rest); name && !code;
         name = strtok_r(NULL, ":", &rest))
        code = add_name(to, name, variable, err);
    return code;
}

static pfc_code read_sandbox(pfc_agent_opts *opts, flags *more, pfc_err *err)
{
    const char *mode = getenv("PERFCI_SANDBOX");
    pfc_code code = PFC_OK;

    if (mode && !more->sandbox_given)
        code = take_sandbox_mode(mode, &opts->sandbox, err) ? pfc_err_wrap(err, "PERFCI_SANDBOX")
                                                            : PFC_OK;
    if (!code)
        code = read_names("PERFCI_SANDBOX_PATHS", more->paths, &more->stored[0], err);
    if (!opts->sandbox_socket)
        opts->sandbox_socket = getenv("PERFCI_SANDBOX_SOCKET");
    if (pfc_streq(getenv("PERFCI_BUILD_NETWORK"), "1"))
        opts->build_network = true;
    if (!code)
        code = read_names("PERFCI_JOB_ENV", more->variables, &more->stored[1], err);
    opts->sandbox_paths = more->paths;
    opts->sandbox_variables = more->variables;
    return code;
}

static pfc_code catch_signals(pfc_err *err)
{
    struct sigaction act = { .sa_handler = on_signal };
    struct sigaction ignore = { .sa_handler = SIG_IGN };

    if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) != 0 || sigaction(SIGTERM, &act, NULL) != 0 ||
        sigaction(SIGINT, &act, NULL) != 0 || sigaction(SIGPIPE, &ignore, NULL) != 0 ||
        sigaction(SIGXFSZ, &ignore, NULL) != 0)
        return pfc_err_set(err, PFC_EIO, "signals: %s", strerror(errno));
    return PFC_OK;
}

/* Of --job; the caller's. */
static pfc_code read_job(const char *file, char **out, pfc_err *err)
{
    char part[4096];
    pfc_buf text;
    size_t len = 0;

    if (!pfc_streq(file, "-"))
        return pfc_fs_read(file, MAX_JOB_BYTES, out, &len, err) ? pfc_err_wrap(err, "--job")
                                                                : PFC_OK;
    /* Not by /dev/stdin, which a process that is not dumpable cannot open. */
    pfc_buf_init(&text, MAX_JOB_BYTES);
    while ((len = fread(part, 1, sizeof(part), stdin)) > 0)
        pfc_buf_append(&text, part, len);
    if (!ferror(stdin) && !text.overflow)
        *out = pfc_strdup(pfc_buf_text(&text));
    pfc_buf_clear(&text);
    return *out ? PFC_OK
                : pfc_err_set(err, PFC_EINVAL, "--job: expected at most %d bytes on stdin",
                              MAX_JOB_BYTES);
}

/* Jobs go to the cluster. */
static pfc_code dispatch(const pfc_agent_opts *opts, const flags *more, pfc_err *err)
{
    char **node_flags = pfc_slurm_node_flags(opts, more->log);
    pfc_slurm_opts cluster = more->cluster;
    pfc_slurm_report report = { 0 };
    pfc_code code;

    cluster.url = opts->url;
    cluster.token = opts->token;
    cluster.dir = opts->dir;
    cluster.name = opts->name;
    cluster.machine_class = opts->machine_class;
    cluster.options = more->options;
    cluster.node_flags = (const char *const *)node_flags;
    cluster.variables = opts->sandbox_variables;
    cluster.once = opts->once;
    cluster.alive = opts->alive;
    cluster.alive_arg = opts->alive_arg;
    cluster.ready = opts->ready;
    cluster.ready_arg = opts->ready_arg;
    cluster.stop_fd = opts->stop_fd;
    code = pfc_slurm_run(&cluster, &report, err);
    pfc_log(PFC_INFO, "runner_ended", "submitted", report.submitted, "returned", report.returned,
            "held", report.held);
    pfc_slurm_node_flags_free(node_flags);
    return code;
}

static pfc_code work(const pfc_agent_opts *opts, pfc_err *err)
{
    pfc_agent_report report = { 0 };
    pfc_code code = pfc_agent_run(opts, &report, err);

    pfc_log(PFC_INFO, "runner_ended", "jobs", report.jobs, "done", report.done, "broken",
            report.broken, "failed", report.failed, "abandoned", report.abandoned, "waiting",
            report.waiting);
    return code;
}

/* The command is for the runner that uses that folder, now or later. */
static pfc_code resend(const char *work, pfc_err *err)
{
    char *dir = pfc_fs_join(work, PFC_AGENT_SPOOL);
    pfc_spool_counts n = { 0 };
    pfc_code code = pfc_spool_resend(dir, &n, err);

    if (!code)
        printf("%zu documents of the last %d hours are sent again; %zu wait, %zu were rejected\n",
               n.again, PFC_SPOOL_SENT_S / 3600, n.waiting, n.rejected);
    free(dir);
    return code;
}

/* The process's memory and /proc/PID/environ hold the token, so no other process of this user may
 * read them and no core file is written. Sanitizer builds are exempt, because their leak checker
 * must read them. */
static void hide_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
    (void)prctl(PR_SET_DUMPABLE, 0);
#endif
}

int main(int argc, char **argv)
{
    pfc_agent_opts opts = { .stop_fd = -1 };
    flags more = { 0 };
    pfc_signs signs = { .fd = -1 };
    char *token = NULL, *job = NULL;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_fs_open_standard();
    hide_memory();
    signs = pfc_signs_open();
    pfc_log_set_program("perfci-runner");
    code = parse(argc, argv, &opts, &more, &err);
    if (!code && more.resend && !more.done)
        code = resend(opts.dir, &err);
    if (code || more.done || more.resend)
        goto done;
    opts.url = pfc_conf_pick(opts.url, "PERFCI_URL", NULL, PFC_DEFAULT_URL);
    if (more.job_file) /* it has a token of its own */
        code = read_job(more.job_file, &job, &err);
    else
        code = read_token(more.token_file, &token, &err);
    if (code == PFC_OK)
        code = read_sandbox(&opts, &more, &err);
    if (code == PFC_OK)
        code = catch_signals(&err);
    if (code)
        goto done;
    opts.token = token;
    opts.job = job;
    opts.once = opts.once || job;
    opts.stop_fd = stop_pipe[0];
    opts.machine_lock = getenv("PERFCI_MACHINE_LOCK");
    pfc_random_bytes(&opts.seed, sizeof(opts.seed));
    pfc_log(PFC_INFO, "runner_started", "url", opts.url, "work", opts.dir);
    opts.alive = pfc_signs_alive;
    opts.alive_arg = &signs;
    opts.ready = pfc_signs_ready;
    opts.ready_arg = &signs;
    code = more.slurm ? dispatch(&opts, &more, &err) : work(&opts, &err);
    pfc_signs_send(&signs, "STOPPING=1");

done:
    if (code)
        (void)fprintf(stderr, "perfci-runner: %s\n%s%s%s", err.msg, err.hint[0] ? "hint: " : "",
                      err.hint, err.hint[0] ? "\n" : "");
    pfc_signs_close(&signs);
    free(token);
    free(job);
    for (size_t i = 0; i < PFC_ARRAY_LEN(more.stored); i++)
        free(more.stored[i]);
    return code == PFC_EINVAL ? 2 : code ? 5 : 0;
}
