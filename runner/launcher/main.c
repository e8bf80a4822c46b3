/*
 * perfci-sandbox: starts the sandboxed commands of perfci-runner, in a process without network.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "runner/launcher/launcher.h"

#define FIRST_WORD 6 /* perfci-sandbox run --socket S --report FD ... */

static void usage(FILE *to)
{
    (void)fputs("perfci-sandbox serve --work DIR [options]\n"
                "perfci-sandbox run --socket PATH --report FD REQUEST...\n"
                "\n"
                "Starts the sandboxed commands of perfci-runner (--sandbox-socket), in a process\n"
                "that needs no network and has no secret. The runner uses `run` itself.\n"
                "\n"
                "  --work DIR        work folder of the runner: commands see folders cache-* and\n"
                "                    tmp of it alone\n"
                "  --socket PATH     listens there; default: the socket that systemd passes\n"
                "  --sandbox-path D  a folder that jobs see, read-only, besides /usr; may be\n"
                "                    repeated\n"
                "  --network         builds may use the network of this process where they ask\n"
                "                    for one\n"
                "  --few-namespaces  commands see the host's name and this process's control\n"
                "                    group, for a unit that may not make namespaces for these\n"
                "  --version, --help\n"
                "\n"
                "Example: perfci-sandbox serve --work /var/lib/perfci-runner --socket s.sock\n"
                "Ends with 0 when stopped, 2 on wrong usage, 5 when it cannot work.\n",
                to);
}

enum { OPT_WORK = 256, OPT_SOCKET, OPT_PATH, OPT_NETWORK, OPT_FEW, OPT_VERSION, OPT_HELP };

typedef struct flags {
    const char *paths[PFC_SANDBOX_MAX_PATHS + 1];
    size_t paths_len;
    bool done; /* --help or --version was answered */
} flags;

static pfc_code take_flag(int flag, pfc_launcher_opts *opts, flags *more, pfc_err *err)
{
    switch (flag) {
    case OPT_WORK:
        opts->rules.work = optarg;
        return optarg[0] == '/'
                   ? PFC_OK
                   : pfc_err_set(err, PFC_EINVAL, "--work: expected an absolute path, got '%s'",
                                 optarg);
    case OPT_SOCKET:
        opts->socket = optarg;
        return PFC_OK;
    case OPT_PATH:
        if (optarg[0] != '/' || more->paths_len == PFC_SANDBOX_MAX_PATHS)
            return pfc_err_set(err, PFC_EINVAL,
                               "--sandbox-path: expected at most %d absolute paths, got '%s'",
                               PFC_SANDBOX_MAX_PATHS, optarg);
        more->paths[more->paths_len++] = optarg;
        return PFC_OK;
    case OPT_NETWORK:
        opts->rules.network = true;
        return PFC_OK;
    case OPT_FEW:
        opts->sandbox.few_namespaces = true;
        return PFC_OK;
    case OPT_VERSION:
        more->done = puts("perfci-sandbox " PFC_VERSION) >= 0;
        return PFC_OK;
    case OPT_HELP:
        usage(stdout);
        more->done = true;
        return PFC_OK;
    default:
        return pfc_err_set(err, PFC_EINVAL, "unknown flag; see perfci-sandbox --help");
    }
}

static pfc_code serve(int argc, char **argv, pfc_err *err)
{
    static const struct option known[] = {
        { "work", required_argument, NULL, OPT_WORK },
        { "socket", required_argument, NULL, OPT_SOCKET },
        { "sandbox-path", required_argument, NULL, OPT_PATH },
        { "network", no_argument, NULL, OPT_NETWORK },
        { "few-namespaces", no_argument, NULL, OPT_FEW },
        { "version", no_argument, NULL, OPT_VERSION },
        { "help", no_argument, NULL, OPT_HELP },
        { NULL, 0, NULL, 0 },
    };
    pfc_launcher_opts opts = { 0 };
    flags more = { 0 };
    pfc_code code = PFC_OK;
    int flag;

    while (!code && !more.done && (flag = getopt_long(argc, argv, "", known, NULL)) != -1)
        code = take_flag(flag, &opts, &more, err);
    if (code || more.done)
        return code;
    if (optind + 1 != argc || !pfc_streq(argv[optind], "serve"))
        return pfc_err_set(err, PFC_EINVAL, "expected serve or run; see perfci-sandbox --help");
    if (!opts.rules.work)
        return pfc_err_set(err, PFC_EINVAL, "--work DIR is missing");
    opts.sandbox.read_only = more.paths;
    return pfc_launcher_serve(&opts, err);
}

/* The words are the runner's own (runner/sandbox/remote.c), in this order. */
static int run(int argc, char **argv, pfc_err *err)
{
    int64_t fd = 0;

    if (argc <= FIRST_WORD || !pfc_streq(argv[2], "--socket") || !pfc_streq(argv[4], "--report")) {
        (void)pfc_err_set(err, PFC_EINVAL, "expected run --socket PATH --report FD REQUEST...");
        return -1;
    }
    if (pfc_parse_i64(argv[5], 3, INT32_MAX, "--report", &fd, err))
        return -1;
    if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) != 0) {
        (void)pfc_err_set(err, PFC_EINVAL, "--report: descriptor %s is not open", argv[5]);
        return -1;
    }
    return pfc_launcher_run(argv[3], (int)fd, argv + FIRST_WORD, (size_t)(argc - FIRST_WORD));
}

int main(int argc, char **argv)
{
    pfc_err err = { 0 };
    pfc_code code;
    int status;

    pfc_fs_open_standard();
    pfc_log_set_program("perfci-sandbox");
    if (argc > 1 && pfc_streq(argv[1], "run")) {
        status = run(argc, argv, &err);
        if (status >= 0)
            return status;
        code = err.code;
    } else {
        code = serve(argc, argv, &err);
    }
    if (!code)
        return 0;
    (void)fprintf(stderr, "perfci-sandbox: %s\n", err.msg);
    if (err.hint[0])
        (void)fprintf(stderr, "hint: %s\n", err.hint);
    return pfc_code_exit(code);
}
