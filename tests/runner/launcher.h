/* A perfci-sandbox of a test, on a socket in its folder. */
#ifndef PFC_TESTS_RUNNER_LAUNCHER_H
#define PFC_TESTS_RUNNER_LAUNCHER_H

#include <sys/types.h>

typedef struct pfc_test_launcher {
    pid_t pid; /* 0: none */
    char *socket, *program;
} pfc_test_launcher;

/** Serves the folder `work` with a network; it listens when this returns, because it gets a socket
 *  as systemd passes one. A failure ends the test. */
pfc_test_launcher pfc_test_launcher_start(const char *work);
/** Ends it. Accepts one that was never started. */
void pfc_test_launcher_stop(pfc_test_launcher *launcher);

#endif
