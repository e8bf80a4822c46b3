/*
 * Runs a Criterion program's tests without Criterion's runner: each in a fork, one after the other.
 *
 * Criterion starts its own program again for each test and maps memory at fixed places, which fails
 * under qemu-user. Linked into a test program, these functions take the place of the library's;
 * the assertions themselves are those of tests/check.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

enum { STATUS_FAILED = 101, STATUS_SKIPPED = 102 };

extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

static const struct criterion_test *now;
static bool has_failed;

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
    function();
}

void criterion_internal_test_teardown(void)
{
    const struct criterion_suite *suite = suite_of(now);

    call(now->data->fini);
    if (suite && suite->data)
        call(suite->data->fini);
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
    if (!stats->passed)
        fprintf(stderr, "%s:%u: assertion failed: %s\n", stats->file, stats->line,
                stats->message ? stats->message : "");
}

void cri_asserts_passed_incr(void)
{
}

void criterion_abort_test(void)
{
    _exit(STATUS_FAILED);
}

void criterion_continue_test(void)
{
    has_failed = true;
}

void criterion_skip_test(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    _exit(STATUS_SKIPPED);
}

static bool run(const struct criterion_test *test, bool *skipped)
{
    int status = 0;
    pid_t pid;

    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        now = test;
        test->test();
        (void)fflush(NULL);
        _exit(has_failed ? STATUS_FAILED : 0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return false;
    *skipped = WIFEXITED(status) && WEXITSTATUS(status) == STATUS_SKIPPED;
    if (*skipped)
        return true;
    if (test->data->signal)
        return WIFSIGNALED(status) && WTERMSIG(status) == test->data->signal;
    return WIFEXITED(status) && WEXITSTATUS(status) == test->data->exit_code;
}

int main(void)
{
    size_t ran = 0, failed = 0, skips = 0;

    for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
        bool skipped = false;

        if (!*t || (*t)->data->disabled)
            continue;
        ran++;
        if (!run(*t, &skipped)) {
            printf("FAILED %s::%s\n", (*t)->category, (*t)->name);
            failed++;
        }
        skips += skipped;
    }
    printf("%zu tests, %zu failed, %zu skipped\n", ran, failed, skips);
    return failed || ran == 0 ? 1 : 0;
}
