/*
 * Runs the tests of a Criterion program: each in a fork, one after the other.
 *
 *   test_x [--filter PATTERN] [--list]
 *
 * PATTERN is a shell pattern of "SUITE/TEST". The status is 0 when none failed, 77 when all were
 * skipped, 1 when one failed or none ran, and 2 for a wrong option. A failed test is named with the
 * reason, one that takes 5 s or more with its seconds.
 *
 * The tests are declared by Criterion's macros. The functions here replace those of Criterion's
 * own runner. That one starts the program again for each test and maps memory at fixed addresses,
 * which takes 45 ms of processor time a test (several times as much with AddressSanitizer) and
 * fails under qemu-user.
 *
 * With a sanitizer, each fork looks for leaks when it ends.
 */
#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

enum { STATUS_FAILED = 101, STATUS_SKIPPED = 102, STATUS_ALL_SKIPPED = 77 };

#define SHOWN_S 5.0 /* a test that takes as long is named with its time */

extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));
/* ReportHook(PRE_ALL) and ReportHook(POST_ALL). */
extern f_report_hook __start_cr_pra[] __attribute__((weak)), __stop_cr_pra[] __attribute__((weak));
extern f_report_hook __start_cr_poa[] __attribute__((weak)), __stop_cr_poa[] __attribute__((weak));

/* Of the fork: its test, and where an assertion that ends the test goes on. */
static const struct criterion_test *now;
static pthread_t test_thread;
static jmp_buf after_test;
static volatile bool has_failed, is_skipped;

static void call(void (*function)(void))
{
    if (function)
        function();
}

static const struct criterion_suite *suite_of(const struct criterion_test *test)
{
    for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++)
        if (*s && strcmp((*s)->name, test->category) == 0)
            return *s;
    return NULL;
}

void criterion_internal_test_setup(void)
{
    const struct criterion_suite *suite = suite_of(now);

    if (suite && suite->data)
        call(suite->data->init);
    call(now->data->init);
}

void criterion_internal_test_main(void (*function)(void))
{
    test_thread = pthread_self();
    if (setjmp(after_test) == 0)
        function();
}

void criterion_internal_test_teardown(void)
{
    const struct criterion_suite *suite = suite_of(now);

    call(now->data->fini);
    if (suite && suite->data)
        call(suite->data->fini);
}

/* A failed assertion in init or fini, or in another thread, ends the process: there is no test to
 * which this thread could return. */
static _Noreturn void end_test(int status)
{
    if (test_thread && pthread_equal(test_thread, pthread_self()))
        longjmp(after_test, 1);
    (void)fflush(NULL);
    _exit(status);
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
    if (!stats->passed)
        fprintf(stderr, "%s:%u: assertion failed: %s\n", stats->file, stats->line,
                stats->message ? stats->message : "");
}

void criterion_abort_test(void)
{
    has_failed = true;
    end_test(STATUS_FAILED);
}

void criterion_continue_test(void)
{
    has_failed = true;
}

void criterion_skip_test(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "skipped: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    is_skipped = true;
    end_test(STATUS_SKIPPED);
}

void cr_log(enum criterion_severity severity, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "%s: ", severity == CR_LOG_INFO ? "info" : "warning");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
}

/* Criterion passes a set of tests or its results to a hook; our hooks do not read them. */
static void call_hooks(f_report_hook *first, f_report_hook *end)
{
    for (f_report_hook *hook = first; hook < end; hook++)
        if (*hook)
            (*hook)(NULL);
}

static _Noreturn void be_test(const struct criterion_test *test)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a cluster ends when all that have its pipe end */
    now = test;
    test->test(); /* setup, main and teardown, above */
    /* Not _exit, which would leave out the sanitizer's search for leaks. */
    exit(has_failed ? STATUS_FAILED : is_skipped ? STATUS_SKIPPED : 0);
}

/* Kills the process when it takes longer; seconds: 0 for no limit. */
static bool ended_in_time(pid_t pid, double seconds, int *status)
{
    bool in_time = true;

    if (seconds > 0) {
        struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

        if (end.fd >= 0) {
            in_time = poll(&end, 1, (int)(seconds * 1000)) != 0;
            (void)close(end.fd);
        }
        if (!in_time)
            (void)kill(pid, SIGKILL);
    }
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return in_time;
}

/* The reason of a failure into `reason`; empty: passed. */
static void run(const struct criterion_test *test, bool *skipped, char *reason, size_t size)
{
    const struct criterion_suite *suite = suite_of(test);
    double limit = test->data->timeout;
    int status = 0;
    pid_t pid;

    if (limit <= 0 && suite && suite->data)
        limit = suite->data->timeout;
    reason[0] = '\0';
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0)
        be_test(test);
    if (pid < 0) {
        (void)snprintf(reason, size, "no process: %s", strerror(errno));
        return;
    }
    if (!ended_in_time(pid, limit, &status)) {
        (void)snprintf(reason, size, "not done after %g s", limit);
        return;
    }
    *skipped = WIFEXITED(status) && WEXITSTATUS(status) == STATUS_SKIPPED;
    if (*skipped)
        return;
    if (WIFSIGNALED(status) && WTERMSIG(status) != test->data->signal)
        (void)snprintf(reason, size, "ended by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else if (WIFEXITED(status) && test->data->signal)
        (void)snprintf(reason, size, "ended without the signal %d", test->data->signal);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_FAILED)
        (void)snprintf(reason, size, "an assertion failed");
    else if (WIFEXITED(status) && WEXITSTATUS(status) != test->data->exit_code)
        (void)snprintf(reason, size, "ended with status %d", WEXITSTATUS(status));
}

static int refuse(const char *option)
{
    (void)fprintf(stderr, "unknown option %s; expected --filter PATTERN or --list\n", option);
    return 2;
}

static double seconds(void)
{
    struct timespec now_is;

    (void)clock_gettime(CLOCK_MONOTONIC, &now_is);
    return (double)now_is.tv_sec + 1e-9 * (double)now_is.tv_nsec;
}

typedef struct counts {
    size_t ran, failed, skipped;
} counts;

/* Runs the tests that match, or prints their names. */
static counts run_all(const char *pattern, bool list)
{
    counts all = { 0 };

    for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
        char name[512], reason[128];
        bool skipped = false;
        double begin;

        if (!*t || (*t)->data->disabled)
            continue;
        (void)snprintf(name, sizeof(name), "%s/%s", (*t)->category, (*t)->name);
        if (fnmatch(pattern, name, 0))
            continue;
        all.ran++;
        if (list) {
            (void)puts(name);
            continue;
        }
        begin = seconds();
        run(*t, &skipped, reason, sizeof(reason));
        if (seconds() - begin >= SHOWN_S)
            (void)printf("%.0f s: %s\n", seconds() - begin, name);
        if (reason[0])
            (void)printf("FAILED %s: %s\n", name, reason);
        all.failed += reason[0] != '\0';
        all.skipped += skipped;
    }
    return all;
}

int main(int argc, char **argv)
{
    const char *pattern = "*";
    bool list = false;
    counts all;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0)
            list = true;
        else if (strcmp(argv[i], "--filter") == 0 && argv[i + 1])
            pattern = argv[++i];
        else
            return refuse(argv[i]);
    }
    if (!list)
        call_hooks(__start_cr_pra, __stop_cr_pra);
    all = run_all(pattern, list);
    if (!list)
        call_hooks(__start_cr_poa, __stop_cr_poa);
    if (all.ran == 0)
        (void)fprintf(stderr, "no test matches %s\n", pattern);
    else if (!list)
        (void)printf("%zu tests, %zu failed, %zu skipped\n", all.ran, all.failed, all.skipped);
    if (all.failed || all.ran == 0)
        return 1;
    return all.skipped == all.ran && !list ? STATUS_ALL_SKIPPED : 0;
}
