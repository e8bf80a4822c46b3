/* Others on the machine, for comparisons that shall hold their promise there, too. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/studies/interleaving/study.h"

#define COPY_BYTES ((size_t)8 << 20)
#define CHAIN      2000000u

/* Some milliseconds of arithmetic, then a copy that goes through the caches; for ever. */
static _Noreturn void keep_busy(void)
{
    char *a = pfc_alloc(2 * COPY_BYTES);
    volatile uint64_t sink = 1;

    for (;;) {
        uint64_t x = sink;
        for (unsigned i = 0; i < CHAIN; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
        sink = x;
        memset(a, (int)(x >> 56), COPY_BYTES);
        memcpy(a + COPY_BYTES, a, COPY_BYTES);
    }
}

pfc_code pfc_busy_start(pfc_busy *busy, size_t n, pfc_err *err)
{
    const pid_t parent = getpid();

    busy->len = 0;
    while (busy->len < PFC_MIN(n, PFC_ARRAY_LEN(busy->pids))) {
        const pid_t pid = fork();

        if (pid < 0) {
            pfc_busy_stop(busy);
            return pfc_err_set(err, PFC_EUNAVAIL, "busy processes: %s", strerror(errno));
        }
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(0);
            keep_busy();
        }
        busy->pids[busy->len++] = pid;
    }
    return PFC_OK;
}

void pfc_busy_stop(pfc_busy *busy)
{
    for (size_t i = 0; i < busy->len; i++) {
        kill(busy->pids[i], SIGKILL);
        waitpid(busy->pids[i], NULL, 0);
    }
    busy->len = 0;
}
