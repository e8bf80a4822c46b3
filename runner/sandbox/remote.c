/* The runner's side of perfci-sandbox: the command line, and the report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner/sandbox/launch.h"
#include "runner/sandbox/sandbox_priv.h"

extern char **environ;

/* The server's environment is not the runner's: what passes is in the request. */
static void add_environment(const pfc_sandbox *s, const char *const *more, pfc_words *a)
{
    for (size_t i = 0; environ[i]; i++) {
        char *name = pfc_strndup(environ[i], strcspn(environ[i], "="));

        if (pfc_sandbox_passes(s, name))
            pfc_words_add2(a, "--env", environ[i]);
        free(name);
    }
    for (size_t i = 0; more && more[i]; i++)
        if (strchr(more[i], '='))
            pfc_words_add2(a, "--env", more[i]);
}

pfc_code pfc_sandbox_wrap_remote(const pfc_sandbox *s, const pfc_sandbox_command *command,
                                 pfc_sandbox_start *out, pfc_err *err)
{
    pfc_words a = { .items = pfc_calloc(PFC_WORDS_MAX, sizeof(char *)) };

    *out = (pfc_sandbox_start){ .argv = a.items, .reported = true };
    out->keep_fd = memfd_create("perfci-report", MFD_CLOEXEC);
    if (out->keep_fd < 0) {
        pfc_sandbox_start_clear(out);
        return pfc_err_set(err, PFC_EIO, "memfd_create: %s", strerror(errno));
    }
    pfc_words_add2(&a, s->starter, "run");
    pfc_words_add2(&a, "--socket", s->socket);
    pfc_words_add(&a, "--report");
    pfc_words_add_owned(&a, pfc_format("%d", out->keep_fd));
    if (command->network)
        pfc_words_add(&a, "--network");
    if (command->memory_bytes) {
        pfc_words_add(&a, "--memory");
        pfc_words_add_owned(&a, pfc_format("%llu", (unsigned long long)command->memory_bytes));
    }
    for (size_t i = 0; i < command->mounts_len; i++)
        pfc_words_add2(&a, command->mounts[i].writable ? "--rw" : "--ro", command->mounts[i].path);
    add_environment(s, command->env, &a);
    pfc_words_add2(&a, "--cwd", command->cwd);
    pfc_words_add(&a, "--");
    for (size_t i = 0; command->argv[i]; i++)
        pfc_words_add(&a, command->argv[i]);
    if (!a.full)
        return PFC_OK;
    pfc_sandbox_start_clear(out);
    return pfc_err_set(err, PFC_ETOOBIG, "sandbox: expected at most %d arguments", PFC_WORDS_MAX);
}

pfc_code pfc_sandbox_read_report(const pfc_sandbox_start *start, pfc_proc_result *res, pfc_err *err)
{
    pfc_launch_report report;
    const ssize_t len = pread(start->keep_fd, &report, sizeof(report), 0);

    /* It was killed before the answer came: the result of the program is what is known. */
    if (len == 0 && (res->timed_out || res->was_cancelled || res->over_disk))
        return PFC_OK;
    if (len != (ssize_t)sizeof(report) || report.mark != PFC_LAUNCH_MARK)
        return pfc_err_set(err, PFC_EUNAVAIL, "perfci-sandbox gave no report of the command");
    report.reason[sizeof(report.reason) - 1] = '\0';
    if (report.code)
        return pfc_err_set(err, (pfc_code)report.code, "%s", report.reason);
    res->exit_status = report.exit_status;
    res->signal = report.signal;
    res->over_memory = res->over_memory || report.over_memory;
    res->process_limit = report.process_limit;
    res->cpu_seconds = report.cpu_seconds;
    res->max_rss_bytes = report.max_rss_bytes;
    return PFC_OK;
}
