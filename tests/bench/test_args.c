/* The command line of perfci-bench: what each option sets, the limits of its values, and the exit
 * statuses of wrong uses. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/program.h"

#include "tests/check/check.h"

#define WORDS 64

/* Cuts a line at its blanks; the words live as long as `line`. */
static int split(char *line, char *argv[WORDS])
{
    int argc = 0;

    argv[argc++] = "perfci-bench";
    for (char *rest = NULL, *word = strtok_r(line, " ", &rest); word && argc < WORDS - 1;
         word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    argv[argc] = NULL;
    return argc;
}

static pfc_bench_args parsed(char *line)
{
    char *argv[WORDS];
    pfc_bench_args args;

    pfc_bench_args_parse(split(line, argv), argv, &args);
    return args;
}

/* The exit status of a process that parses the line, 0 where it is accepted. */
static int status_of(const char *text)
{
    const pid_t child = fork();
    int status = 0;

    cr_assert(child >= 0);
    if (child == 0) {
        char *line = pfc_strdup(text);

        if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
            _exit(99);
        (void)parsed(line);
        _exit(0);
    }
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(bench_args, nothing_measures_the_quick_suite)
{
    char line[] = "";
    const pfc_bench_args args = parsed(line);

    cr_expect(eq(int, args.mode, PFC_BENCH_MEASURE));
    cr_expect(eq(str, (char *)args.suite, "quick"));
    cr_expect(eq(int, args.exact || args.noise || args.json || args.quiet, 0));
    cr_expect(args.pin);
    cr_expect(eq(i64, args.seed, 1));
    cr_expect(args.wait_quiet_s < 0);
    cr_expect(eq(dbl, args.margin, 0));
    cr_expect(eq(sz, args.backends_len, 0));
    cr_expect(eq(int, args.filter || args.out || args.svg || args.counters || args.before, 0));
    cr_expect(eq(int, args.sides[0] || args.sides[1], 0));
}

Test(bench_args, each_option_sets_its_own_member)
{
    char line[] = "--suite s --filter f --backend b1 -b b2 --out o --svg v --before e --side-a a "
                  "--side-b c --counters cycles --seed 7 --margin 0.02 --wait-quiet 2m --json "
                  "--quiet --exact --no-pin --color never";
    const pfc_bench_args args = parsed(line);

    cr_expect(eq(str, (char *)args.suite, "s"));
    cr_expect(eq(str, (char *)args.filter, "f"));
    cr_assert(eq(sz, args.backends_len, 2));
    cr_expect(eq(str, (char *)args.backends[0], "b1"));
    cr_expect(eq(str, (char *)args.backends[1], "b2"));
    cr_expect(eq(str, (char *)args.out, "o"));
    cr_expect(eq(str, (char *)args.svg, "v"));
    cr_expect(eq(str, (char *)args.before, "e"));
    cr_expect(eq(str, (char *)args.sides[0], "a"));
    cr_expect(eq(str, (char *)args.sides[1], "c"));
    cr_expect(eq(str, (char *)args.counters, "cycles"));
    cr_expect(eq(i64, args.seed, 7));
    cr_expect(eq(dbl, args.margin, 0.02));
    cr_expect(eq(dbl, args.wait_quiet_s, 120));
    cr_expect(eq(int, args.json &&args.quiet &&args.exact, 1));
    cr_expect(eq(int, args.pin || args.noise, 0));
    cr_expect(eq(int, args.mode, PFC_BENCH_PAIRS));
}

Test(bench_args, each_mode_has_its_option_and_the_last_one_applies)
{
    static const struct {
        const char *line;
        pfc_bench_mode mode;
        bool noise;
    } rows[] = {
        { "--list", PFC_BENCH_LIST, false },
        { "--coverage", PFC_BENCH_COVERAGE, false },
        { "--peers", PFC_BENCH_PEERS, false },
        { "--noise", PFC_BENCH_PAIRS, true },
        { "--call", PFC_BENCH_CALL, false },
        { "--block", PFC_BENCH_BLOCK, false },
        { "--tune-host", PFC_BENCH_TUNE, false },
        { "--untune-host", PFC_BENCH_UNTUNE, false },
        { "--ceilings", PFC_BENCH_CEILINGS, false },
        { "--canary", PFC_BENCH_CANARY, false },
        { "--machine", PFC_BENCH_MACHINE, false },
        { "--serve", PFC_BENCH_SERVE, false },
        { "--side-a x", PFC_BENCH_PAIRS, false },
        { "--side-b x", PFC_BENCH_PAIRS, false },
        { "--counters list", PFC_BENCH_COUNTERS, false },
        { "--counters cycles", PFC_BENCH_MEASURE, false },
        { "--exact", PFC_BENCH_MEASURE, false },
        { "--svg x", PFC_BENCH_MEASURE, false },
        { "--list --machine", PFC_BENCH_MACHINE, false },
        { "--machine --list", PFC_BENCH_LIST, false },
        { "--noise --list", PFC_BENCH_LIST, true },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *line = pfc_strdup(rows[i].line);
        const pfc_bench_args args = parsed(line);

        cr_expect(eq(int, args.mode, rows[i].mode), "%s", rows[i].line);
        cr_expect(eq(int, args.noise, rows[i].noise), "%s", rows[i].line);
        free(line);
    }
}

Test(bench_args, values_have_limits_and_a_wrong_use_ends_with_status_2)
{
    static const struct {
        const char *line;
        int status;
    } rows[] = {
        { "--margin 1e-6", 0 },
        { "--margin 0.9e-6", 2 },
        { "--margin 10", 0 },
        { "--margin 10.1", 2 },
        { "--margin x", 2 },
        { "--seed 0", 2 },
        { "--seed 9223372036854775807", 0 },
        { "--seed 9223372036854775808", 2 },
        { "--wait-quiet 0", 0 },
        { "--wait-quiet -1", 2 },
        { "--wait-quiet soon", 2 },
        { "--color always", 0 },
        { "--color never", 0 },
        { "--color auto", 0 },
        { "--color no", 2 },
        { "--counters ,", 2 },
        { "--counters cycles,cycles", 2 },
        { "-b 1 -b 2 -b 3 -b 4 -b 5 -b 6 -b 7 -b 8 -b 9 -b 10 -b 11 -b 12 -b 13 -b 14 -b 15 -b 16",
          0 },
        { "-b 1 -b 2 -b 3 -b 4 -b 5 -b 6 -b 7 -b 8 -b 9 -b 10 -b 11 -b 12 -b 13 -b 14 -b 15 -b 16 "
          "-b 17",
          2 },
        { "quick", 2 },
        { "--no-such-option", 2 },
        { "--suite", 2 },
        { "--help", 0 },
        { "--version", 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(int, status_of(rows[i].line), rows[i].status), "%s", rows[i].line);
}

Test(bench_args, a_failure_has_the_status_of_its_code)
{
    pfc_err err = { 0 };

    if (!freopen("/dev/null", "w", stderr))
        cr_fatal("no /dev/null");
    (void)pfc_err_set(&err, PFC_EINVAL, "a");
    cr_expect(eq(int, pfc_bench_fail(&err), 2));
    (void)pfc_err_set(&err, PFC_EBROKEN, "a");
    cr_expect(eq(int, pfc_bench_fail(&err), 4));
    (void)pfc_err_set(&err, PFC_EUNAVAIL, "a");
    cr_expect(eq(int, pfc_bench_fail(&err), 5));
    cr_expect(eq(int, PFC_BENCH_EXIT_BROKEN, 4));
    cr_expect(eq(int, PFC_BENCH_EXIT_INFRA, 5));
}

/* The buffer is full before the flush, or only at it. */
Test(bench_args, output_that_cannot_be_written_has_status_5)
{
    static const size_t sizes[] = { 1, 1 << 20 };

    cr_expect(eq(int, pfc_bench_flush(), 0));
    for (size_t i = 0; i < PFC_ARRAY_LEN(sizes); i++) {
        if (!freopen("/dev/full", "w", stdout))
            cr_fatal("no /dev/full");
        for (size_t k = 0; k < sizes[i]; k++)
            putchar('x');
        cr_expect(eq(int, pfc_bench_flush(), 5), "%zu", sizes[i]);
    }
    if (!freopen("/dev/null", "w", stdout))
        cr_fatal("no /dev/null");
    cr_expect(eq(int, pfc_bench_flush(), 0));
}

Test(bench_args, a_signal_is_noted_and_does_not_end_the_process)
{
    static const int signals[] = { SIGINT, SIGTERM };

    cr_expect(not(pfc_bench_is_interrupted(NULL)));
    for (size_t i = 0; i < PFC_ARRAY_LEN(signals); i++) {
        const pid_t child = fork();
        int status = 0;

        if (child == 0) {
            pfc_bench_catch_signals();
            (void)raise(signals[i]);
            _exit(pfc_bench_is_interrupted(NULL) ? 7 : 8);
        }
        cr_assert(eq(int, waitpid(child, &status, 0), child));
        cr_expect(eq(int, WIFEXITED(status) ? WEXITSTATUS(status) : -1, 7));
    }
}
