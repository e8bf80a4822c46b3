/*
 * A library for LD_PRELOAD that lets a program meet a fault at a named point, without a line in the
 * program for it. PERFCI_SEAM says which:
 *
 *   record FILE              appends each point to FILE as it is passed
 *   kill POINT N             SIGKILL at the N-th time (from 1) that the point is passed
 *   state SQLSTATE POINT N   the N-th statement POINT ends with this error instead
 *   cut POINT N              the connection ends before the N-th statement POINT is sent
 *   lose POINT N             it ends after it was carried out, so that its answer is lost
 *   fail ERRNO CALLS N [FROM]  the N-th (with FROM: and every later) of CALLS ("write", "fsync",
 *                            "rename", "open" or "any") on files below PERFCI_SEAM_FOLDER fails
 * with that number; a write has written its first half before it
 *
 * PERFCI_SEAM_FIRED names a file that is made when the fault comes.
 *
 * A point is "before NAME" or "after NAME" for kill and record; NAME alone for statements. NAME is
 * a statement's name, or the first word of a text that is sent as it is ("BEGIN", "COMMIT"),
 * "pipeline" for the end of one, "copy" for the end of a COPY, "http" for bytes of an answer over
 * TCP, "connect" for a call to others.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <libpq-fe.h>

#define NAME_MAX_ 64

enum fault { NONE, RECORD, KILL, STATE, CUT, LOSE, FAIL };

static struct {
    enum fault fault;
    char point[NAME_MAX_ + 8]; /* with "before " or "after " where there is one */
    char value[256];           /* SQLSTATE, or the file of points */
    long number, at;
    bool from;
    const char *folder, *fired;
} seam;
static atomic_long passed;
static _Thread_local int inside; /* libpq's own sends are not the answers of HTTP */

/* For the test, which waits for the fault. */
static void tell(void)
{
    int fd = seam.fired ? open(seam.fired, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd >= 0)
        (void)close(fd);
}

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void seam_begin(void)
{
    const char *text = getenv("PERFCI_SEAM");
    char word[16], when[8], name[NAME_MAX_ + 1];

    seam.folder = getenv("PERFCI_SEAM_FOLDER");
    seam.fired = getenv("PERFCI_SEAM_FIRED");
    if (!text || sscanf(text, "%15s", word) != 1)
        return;
    if (strcmp(word, "record") == 0 && sscanf(text, "record %255s", seam.value) == 1)
        seam.fault = RECORD;
    else if (sscanf(text, "kill %7s %64s %ld", when, name, &seam.at) == 3)
        seam.fault = KILL, (void)snprintf(seam.point, sizeof(seam.point), "%s %s", when, name);
    else if (sscanf(text, "state %5s %64s %ld", seam.value, seam.point, &seam.at) == 3)
        seam.fault = STATE;
    else if (sscanf(text, "cut %64s %ld", seam.point, &seam.at) == 2)
        seam.fault = CUT;
    else if (sscanf(text, "lose %64s %ld", seam.point, &seam.at) == 2)
        seam.fault = LOSE;
    else if (sscanf(text, "fail %ld %64s %ld %7s", &seam.number, seam.point, &seam.at, when) >= 3)
        seam.fault = FAIL, seam.from = strstr(text, " FROM") != NULL;
    else
        _exit(99);
    /* Of this process alone: its children meet no fault. */
    (void)unsetenv("PERFCI_SEAM");
    (void)unsetenv("LD_PRELOAD");
}

/* Is this the time? Counts those of the point that was named. */
static bool is_now(enum fault fault, const char *point)
{
    if (seam.fault != fault || strcmp(seam.point, point) != 0 ||
        atomic_fetch_add(&passed, 1) + 1 != seam.at)
        return false;
    tell();
    return true;
}

static void pass(const char *when, const char *name)
{
    char point[NAME_MAX_ + 8];

    (void)snprintf(point, sizeof(point), "%s %s", when, name);
    if (seam.fault == RECORD) {
        int fd = open(seam.value, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        char line[NAME_MAX_ + 16];
        int len = snprintf(line, sizeof(line), "%s\n", point);

        if (fd < 0 || syscall(SYS_write, fd, line, (size_t)len) != len)
            _exit(99);
        (void)close(fd);
    } else if (is_now(KILL, point)) {
        (void)kill(getpid(), SIGKILL);
        for (;;)
            (void)pause();
    }
}

static void name_of(const char *text, char *name)
{
    size_t n = strcspn(text, " ;");

    n = n < NAME_MAX_ ? n : NAME_MAX_;
    memcpy(name, text, n);
    name[n] = '\0';
}

static void put_state(char *text, size_t size)
{
    (void)snprintf(text, size,
                   "DO $$ BEGIN RAISE EXCEPTION 'a fault of the test' USING ERRCODE = '%s'; END $$",
                   seam.value);
}

static PGresult *raise_state(PGconn *pg, PGresult *(*exec)(PGconn *, const char *))
{
    char text[200];

    put_state(text, sizeof(text));
    return exec(pg, text);
}

/* Effect of a statement: `go` carries it out. */
#define STATEMENT(pg, text, go)                                                                    \
    do {                                                                                           \
        PGresult *(*plain)(PGconn *, const char *) =                                               \
            (PGresult * (*)(PGconn *, const char *)) next("PQexec");                               \
        char name[NAME_MAX_ + 1];                                                                  \
        PGresult *res;                                                                             \
                                                                                                   \
        name_of(text, name);                                                                       \
        pass("before", name);                                                                      \
        inside++;                                                                                  \
        if (is_now(STATE, name)) {                                                                 \
            res = raise_state(pg, plain);                                                          \
        } else {                                                                                   \
            if (is_now(CUT, name))                                                                 \
                (void)shutdown(PQsocket(pg), SHUT_RDWR);                                           \
            res = (go);                                                                            \
            if (is_now(LOSE, name)) {                                                              \
                PQclear(res);                                                                      \
                (void)shutdown(PQsocket(pg), SHUT_RDWR);                                           \
                res = plain(pg, "SELECT 1");                                                       \
            }                                                                                      \
        }                                                                                          \
        inside--;                                                                                  \
        pass("after", name);                                                                       \
        return res;                                                                                \
    } while (0)

PGresult *PQexec(PGconn *pg, const char *text)
{
    PGresult *(*real)(PGconn *, const char *) =
        (PGresult * (*)(PGconn *, const char *)) next("PQexec");

    STATEMENT(pg, text, real(pg, text));
}

PGresult *PQexecPrepared(PGconn *pg, const char *statement, int len, const char *const *values,
                         const int *lengths, const int *formats, int binary)
{
    PGresult *(*real)(PGconn *, const char *, int, const char *const *, const int *, const int *,
                      int) = (PGresult * (*)(PGconn *, const char *, int, const char *const *,
                                             const int *, const int *, int)) next("PQexecPrepared");

    STATEMENT(pg, statement, real(pg, statement, len, values, lengths, formats, binary));
}

/* Waits until the database says that it is ready again, so that all was carried out, and keeps what
 * it said to itself. */
static void lose_answer(int fd)
{
    static const char ready[] = { 'Z', 0, 0, 0, 5 };
    char bytes[4096], end[sizeof(ready) + 1] = { 0 };

    while (memcmp(end, ready, sizeof(ready)) != 0) {
        struct pollfd one = { .fd = fd, .events = POLLIN };
        ssize_t n = poll(&one, 1, -1) == 1 ? recv(fd, bytes, sizeof(bytes), 0) : 0;

        if (n <= 0)
            break;
        for (ssize_t i = 0; i < n; i++) {
            memmove(end, end + 1, sizeof(end) - 1);
            end[sizeof(end) - 1] = bytes[i];
        }
    }
    (void)shutdown(fd, SHUT_RDWR);
}

/* Of a statement in a pipeline: its answer goes with the pipeline's. */
static _Thread_local bool loses_pipeline;
/* A statement that was sent alone, until its last result is read; empty: none. */
static _Thread_local char awaited[NAME_MAX_ + 1];

static int send_state(PGconn *pg)
{
    int (*send)(PGconn *, const char *, int, const Oid *, const char *const *, const int *,
                const int *, int) =
        (int (*)(PGconn *, const char *, int, const Oid *, const char *const *, const int *,
                 const int *, int))next("PQsendQueryParams");
    char text[200];

    put_state(text, sizeof(text));
    return send(pg, text, 0, NULL, NULL, NULL, NULL, 0);
}

int PQsendQueryPrepared(PGconn *pg, const char *statement, int len, const char *const *values,
                        const int *lengths, const int *formats, int binary)
{
    int (*real)(PGconn *, const char *, int, const char *const *, const int *, const int *, int) =
        (int (*)(PGconn *, const char *, int, const char *const *, const int *, const int *,
                 int))next("PQsendQueryPrepared");
    int done;

    pass("before", statement);
    inside++;
    if (is_now(CUT, statement))
        (void)shutdown(PQsocket(pg), SHUT_RDWR);
    loses_pipeline = is_now(LOSE, statement);
    if (is_now(STATE, statement))
        done = send_state(pg);
    else
        done = real(pg, statement, len, values, lengths, formats, binary);
    if (PQpipelineStatus(pg) == PQ_PIPELINE_OFF) {
        name_of(statement, awaited);
        if (loses_pipeline)
            lose_answer(PQsocket(pg));
        loses_pipeline = false;
    }
    inside--;
    return done;
}

int PQsendQuery(PGconn *pg, const char *text)
{
    int (*real)(PGconn *, const char *) = (int (*)(PGconn *, const char *))next("PQsendQuery");
    char name[NAME_MAX_ + 1];
    int done;

    name_of(text, name);
    if (strcmp(name, "LISTEN") == 0)
        return real(pg, text);
    pass("before", name);
    inside++;
    if (is_now(CUT, name))
        (void)shutdown(PQsocket(pg), SHUT_RDWR);
    if (is_now(STATE, name))
        done = send_state(pg);
    else
        done = real(pg, text);
    if (is_now(LOSE, name))
        lose_answer(PQsocket(pg));
    (void)snprintf(awaited, sizeof(awaited), "%s", name);
    inside--;
    return done;
}

int PQpipelineSync(PGconn *pg)
{
    int (*real)(PGconn *) = (int (*)(PGconn *))next("PQpipelineSync");
    int done;

    pass("before", "pipeline");
    inside++;
    if (is_now(CUT, "pipeline"))
        (void)shutdown(PQsocket(pg), SHUT_RDWR);
    done = real(pg);
    if (is_now(LOSE, "pipeline") || loses_pipeline)
        (void)shutdown(PQsocket(pg), SHUT_RD);
    loses_pipeline = false;
    inside--;
    return done;
}

int PQexitPipelineMode(PGconn *pg)
{
    int (*real)(PGconn *) = (int (*)(PGconn *))next("PQexitPipelineMode");
    int done = real(pg);

    pass("after", "pipeline");
    return done;
}

int PQputCopyEnd(PGconn *pg, const char *why)
{
    int (*real)(PGconn *, const char *) = (int (*)(PGconn *, const char *))next("PQputCopyEnd");
    int done;

    pass("before", "copy");
    inside++;
    if (is_now(CUT, "copy"))
        (void)shutdown(PQsocket(pg), SHUT_RDWR);
    done = real(pg, why);
    if (is_now(LOSE, "copy"))
        lose_answer(PQsocket(pg));
    inside--;
    pass("after", "copy");
    return done;
}

PGresult *PQgetResult(PGconn *pg)
{
    PGresult *(*real)(PGconn *) = (PGresult * (*)(PGconn *)) next("PQgetResult");
    PGresult *res;

    inside++;
    res = real(pg);
    inside--;
    if (!res && awaited[0]) {
        char name[sizeof(awaited)];

        memcpy(name, awaited, sizeof(name));
        awaited[0] = '\0';
        pass("after", name);
    }
    return res;
}

PGconn *PQconnectdbParams(const char *const *keys, const char *const *values, int expand)
{
    PGconn *(*real)(const char *const *, const char *const *, int) =
        (PGconn * (*)(const char *const *, const char *const *, int)) next("PQconnectdbParams");
    PGconn *pg;

    inside++;
    pg = real(keys, values, expand);
    inside--;
    return pg;
}

/* ---- answers, and calls to others ---- */

static bool is_tcp(int fd)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);

    return !inside && getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
           address.ss_family == AF_INET;
}

#define ANSWER(fd, go)                                                                             \
    do {                                                                                           \
        const bool answers = is_tcp(fd);                                                           \
        ssize_t done;                                                                              \
                                                                                                   \
        if (answers)                                                                               \
            pass("before", "http");                                                                \
        done = (go);                                                                               \
        if (answers)                                                                               \
            pass("after", "http");                                                                 \
        return done;                                                                               \
    } while (0)

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
    ssize_t (*real)(int, const void *, size_t, int) =
        (ssize_t(*)(int, const void *, size_t, int))next("send");

    ANSWER(fd, real(fd, bytes, len, flags));
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t (*real)(int, const struct msghdr *, int) =
        (ssize_t(*)(int, const struct msghdr *, int))next("sendmsg");

    ANSWER(fd, real(fd, message, flags));
}

ssize_t writev(int fd, const struct iovec *parts, int len)
{
    ssize_t (*real)(int, const struct iovec *, int) =
        (ssize_t(*)(int, const struct iovec *, int))next("writev");

    ANSWER(fd, real(fd, parts, len));
}

/* ---- files ---- */

static bool below(const char *path)
{
    return seam.folder && strncmp(path, seam.folder, strlen(seam.folder)) == 0;
}

/* True when this call is to fail; sets errno. */
static bool fails(const char *call, int fd, const char *path)
{
    char link[64], target[4096];
    ssize_t len;
    long n;

    if ((seam.fault != FAIL && seam.fault != RECORD) || !seam.folder)
        return false;
    if (!path) {
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        len = readlink(link, target, sizeof(target) - 1);
        target[len > 0 ? len : 0] = '\0';
        path = target;
    }
    if (!below(path))
        return false;
    if (seam.fault == RECORD) {
        pass("file", call);
        return false;
    }
    if (strcmp(seam.point, "any") != 0 && strcmp(seam.point, call) != 0)
        return false;
    n = atomic_fetch_add(&passed, 1) + 1;
    if (n != seam.at && !(seam.from && n > seam.at))
        return false;
    tell();
    errno = (int)seam.number;
    return true;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    ssize_t (*real)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))next("write");

    if (fails("write", fd, NULL)) {
        const int number = errno;

        (void)!real(fd, bytes, len / 2);
        errno = number;
        return -1;
    }
    return real(fd, bytes, len);
}

int fsync(int fd)
{
    int (*real)(int) = (int (*)(int))next("fsync");

    return fails("fsync", fd, NULL) ? -1 : real(fd);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))next("rename");

    return fails("rename", -1, to) ? -1 : real(from, to);
}

int mkostemp(char *template, int flags)
{
    int (*real)(char *, int) = (int (*)(char *, int))next("mkostemp");

    return fails("open", -1, template) ? -1 : real(template, flags);
}
