/* SIGINT and SIGTERM end a measurement after the current block. */
#include <signal.h>

#include "bench/program.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
    (void)sig;
    interrupted = 1;
}

void pfc_bench_catch_signals(void)
{
    const struct sigaction action = { .sa_handler = on_signal };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool pfc_bench_is_interrupted(void *arg)
{
    (void)arg;
    return interrupted != 0;
}
