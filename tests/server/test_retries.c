/* Retries of deliveries: their number, and the waits between them. */
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "server/notify/notify.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

/* A bound socket that does not listen: the kernel refuses connections to its port. */
static int closed_port(int *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert(ge(int, fd, 0));
    cr_assert(eq(int, bind(fd, (struct sockaddr *)&at, len), 0));
    cr_assert(eq(int, getsockname(fd, (struct sockaddr *)&at, &len), 0));
    *port = ntohs(at.sin_port);
    return fd;
}

static void write_file(const char *path, const char *text)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0600, &err), PFC_OK), "%s",
              err.msg);
}

/* A notifier with one receiver at that port. */
static pfc_notifier *open_notifier(pfc_db *db, int port, double retry_s, int64_t tries)
{
    char folder[] = "/tmp/pfc-retries-XXXXXX";
    char *file, *secret, *lines;
    pfc_notifier *notifier = NULL;
    pfc_err err = { 0 };

    cr_assert(ne(ptr, mkdtemp(folder), NULL));
    file = pfc_format("%s/receivers", folder);
    secret = pfc_format("%s/secret", folder);
    lines = pfc_format("away kind=webhook url=http://127.0.0.1:%d/x secret=%s\n", port, secret);
    write_file(secret, "sixteen bytes at least");
    write_file(file, lines);
    cr_assert(eq(int,
                 pfc_notifier_open(&notifier,
                                   &(pfc_notifier_opts){
                                       .db = db, .file = file, .retry_s = retry_s, .tries = tries },
                                   &err),
                 PFC_OK),
              "%s", err.msg);
    (void)unlink(file);
    (void)unlink(secret);
    (void)rmdir(folder);
    free(file);
    free(secret);
    free(lines);
    return notifier;
}

/* Waits of 1000 s, 2000 s, then the limit of an hour; the fifth try is the last. */
Test(retries, wait_twice_as_long_each_time_up_to_an_hour_and_end_after_the_last_try)
{
    static const double waits_s[] = { 1000, 2000, 3600, 3600 };
    int port = 0, fd = closed_port(&port);
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t alert = plant_alert(url, p, &(planted){ .low = 2, .high = 2 });
    pfc_notifier *notifier = open_notifier(db, port, 1000, PFC_ARRAY_LEN(waits_s) + 1);
    pfc_err err = { 0 };
    double due_s = 0;

    pfc_log_set_level(PFC_OFF);
    plant_sql(url,
              "INSERT INTO notices (project_id, kind, alert_id, sha, text) VALUES"
              " (%lld, 'culprit_confirmed', %lld, '%s', 'x')",
              (long long)p, (long long)alert, fx_sha(2));
    for (size_t i = 0; i < PFC_ARRAY_LEN(waits_s); i++) {
        cr_assert(eq(int, pfc_notify_next(notifier, &due_s, &err), PFC_OK), "%s", err.msg);
        cr_expect(eq(i64,
                     plant_number(url, "SELECT tries FROM jobs WHERE kind = 'notify' AND state ="
                                       " 'queued'"),
                     (int64_t)i + 1));
        /* None is due, and the notifier reports the time until the next one. */
        cr_expect(eq(int, pfc_notify_next(notifier, &due_s, &err), PFC_ENOTFOUND));
        cr_expect(due_s > waits_s[i] - 60 && due_s <= waits_s[i], "try %zu waits %g s", i + 1,
                  due_s);
        pfc_test_sql(url, "UPDATE jobs SET not_before = now() WHERE kind = 'notify'");
    }
    cr_assert(eq(int, pfc_notify_next(notifier, &due_s, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(i64,
                 plant_number(url, "SELECT tries FROM jobs WHERE kind = 'notify' AND state ="
                                   " 'failed'"),
                 (int64_t)PFC_ARRAY_LEN(waits_s) + 1));
    cr_expect(eq(int, pfc_notify_next(notifier, &due_s, &err), PFC_ENOTFOUND));
    cr_expect(eq(dbl, due_s, (double)INFINITY));
    pfc_notifier_close(notifier);
    close(fd);
    free(url);
    pfc_db_close(db);
}
