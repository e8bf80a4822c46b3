#include "tests/runner/launcher.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fs.h"

#include "tests/check/check.h"

static int listen_at(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    cr_assert(lt(sz, strlen(path), sizeof(at.sun_path)));
    memcpy(at.sun_path, path, strlen(path) + 1);
    cr_assert(eq(int, bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0));
    cr_assert(eq(int, listen(fd, 8), 0));
    return fd;
}

pfc_test_launcher pfc_test_launcher_start(const char *work)
{
    pfc_test_launcher made = { .socket = pfc_fs_join(work, "launcher.sock"),
                               .program = pfc_fs_join(PFC_TEST_BIN, "perfci-sandbox") };
    const int fd = listen_at(made.socket);

    made.pid = fork();
    cr_assert(ge(int, made.pid, 0));
    if (made.pid == 0) {
        char *pid = pfc_format("%d", (int)getpid());

        /* Not beyond a test that crashes. */
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || dup2(fd, 3) != 3)
            _exit(1);
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", "1", 1);
        execl(made.program, made.program, "serve", "--work", work, "--network", (char *)NULL);
        _exit(1);
    }
    (void)close(fd);
    return made;
}

void pfc_test_launcher_stop(pfc_test_launcher *launcher)
{
    if (launcher->pid > 0) {
        (void)kill(launcher->pid, SIGTERM);
        (void)waitpid(launcher->pid, NULL, 0);
    }
    free(launcher->socket);
    free(launcher->program);
    *launcher = (pfc_test_launcher){ 0 };
}
