/* The spool at its limits, and what each answer of the server means to it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"

#include "tests/check/check.h"
#include "tests/runner/spool_ground.h"

static pfc_err err;

static void init(void)
{
    ground_init();
    pfc_spool_backoff(spool, 0.0);
    pfc_log_set_level(PFC_OFF);
}

TestSuite(spool_limits, .init = init, .fini = ground_clear);

static char *make_file(const char *folder, unsigned number, off_t bytes, int64_t s_ago)
{
    char *path = pfc_format("%s/000000000001.000000000-%032x-000.json", folder, number);
    const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    struct timespec times[2];

    cr_assert(ge(int, fd, 0));
    cr_assert(eq(int, ftruncate(fd, bytes), 0)); /* a hole: it takes no room */
    (void)clock_gettime(CLOCK_REALTIME, &times[1]);
    times[1].tv_sec -= s_ago;
    times[0] = times[1];
    cr_assert(eq(int, futimens(fd, times), 0));
    close(fd);
    return path;
}

/* Ten thousand files take half a minute on some disks, and a moment in memory. */
static void init_in_memory(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    init();
}

TestSuite(spool_full, .init = init_in_memory, .fini = ground_clear);

Test(spool_full, as_many_documents_as_it_may_hold)
{
    for (unsigned i = 0; i < PFC_SPOOL_MAX_DOCUMENTS - 1; i++)
        free(make_file(dir, i, 0, 0));
    cr_assert(eq(int, pfc_spool_probe(spool, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, add(99999, 1, &err), PFC_OK), "%s", err.msg); /* the 10000th */
    cr_assert(eq(int, pfc_spool_probe(spool, &err), PFC_ETOOBIG));
    cr_assert(ne(ptr, strstr(err.msg, "10000 documents wait for the server, at most 10000"), NULL),
              "%s", err.msg);
    cr_assert(eq(int, add(99998, 1, &err), PFC_ETOOBIG));
    cr_assert(eq(sz, pfc_spool_waiting(spool), 10000));
}

Test(spool_limits, as_many_bytes_as_it_may_hold)
{
    char *path = make_file(dir, 1, (off_t)PFC_SPOOL_MAX_BYTES - 1, 0);

    cr_assert(eq(int, pfc_spool_probe(spool, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, truncate(path, (off_t)PFC_SPOOL_MAX_BYTES), 0));
    cr_assert(eq(int, pfc_spool_probe(spool, &err), PFC_ETOOBIG));
    cr_assert(
        ne(ptr, strstr(err.msg, "2147483648 bytes wait for the server, at most 2147483648"), NULL),
        "%s", err.msg);
    cr_assert(eq(int, add(2, 1, &err), PFC_ETOOBIG));
    cr_assert(eq(int, unlink(path), 0));
    cr_assert(eq(int, add(2, 1, &err), PFC_OK), "%s", err.msg);
    free(path);
}

/* Copies of uploaded documents: one day (some seconds can pass during the test), at most 1 GiB. */
Test(spool_limits, a_day_and_a_gibibyte_of_what_the_server_has)
{
    free(make_file(sent, 1, 10, PFC_SPOOL_SENT_S - 600));
    free(make_file(sent, 2, 10, PFC_SPOOL_SENT_S + 2));
    pfc_spool_close(spool);
    open_spool();
    cr_assert(eq(sz, files_in(sent), 1));
    free(make_file(sent, 3, (off_t)PFC_SPOOL_SENT_BYTES - 10, 0));
    pfc_spool_close(spool);
    open_spool();
    cr_assert(eq(sz, files_in(sent), 2)); /* together as many as fit */
    free(make_file(sent, 4, 1, 0));
    pfc_spool_close(spool);
    open_spool();
    cr_assert(eq(sz, files_in(sent), 2)); /* the oldest went */
}

typedef enum fate { TAKEN, REJECTED, WAITS, WAITS_AND_OTHERS_GO_ON } fate;

Test(spool_limits, each_status_has_its_meaning)
{
    static const struct {
        int status;
        const char *head;
        fate fate;
        pfc_code code;
    } rows[] = {
        { 200, NULL, TAKEN, PFC_OK },
        { 201, NULL, TAKEN, PFC_OK },
        { 400, NULL, REJECTED, PFC_OK },
        { 404, NULL, REJECTED, PFC_OK },
        { 409, NULL, REJECTED, PFC_OK },
        { 410, NULL, REJECTED, PFC_OK },
        { 413, NULL, REJECTED, PFC_OK },
        { 422, NULL, REJECTED, PFC_OK },
        { 499, NULL, REJECTED, PFC_OK },
        { 401, NULL, WAITS, PFC_EDENIED },
        { 403, NULL, WAITS, PFC_EDENIED },
        { 408, NULL, WAITS, PFC_ETIMEOUT },
        { 429, NULL, WAITS, PFC_EUNAVAIL },
        { 502, NULL, WAITS, PFC_EUNAVAIL },
        { 503, NULL, WAITS, PFC_EUNAVAIL },
        { 500, "Retry-After: 1\r\n", WAITS, PFC_EUNAVAIL },
        { 504, "Retry-After: 1\r\n", WAITS, PFC_ETIMEOUT },
        { 500, NULL, WAITS_AND_OTHERS_GO_ON, PFC_EUNAVAIL },
        { 501, NULL, WAITS_AND_OTHERS_GO_ON, PFC_EUNAVAIL },
        { 504, NULL, WAITS_AND_OTHERS_GO_ON, PFC_EUNAVAIL },
        { 507, NULL, WAITS_AND_OTHERS_GO_ON, PFC_EUNAVAIL },
        { 599, NULL, WAITS_AND_OTHERS_GO_ON, PFC_EUNAVAIL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const bool waits = rows[i].fate >= WAITS;
        clerk c = { .status = 201,
                    .body = "{}",
                    .odd = { 1 },
                    .odd_status = rows[i].status,
                    .odd_head = rows[i].head };
        clerk well = { .status = 201, .body = "{}" };
        const size_t aside = files_in(rejected);
        pfc_spool_report report;

        cr_assert(eq(int, add(1, 1, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, add(2, 1, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, upload_to(&c, &report, &err), rows[i].code), "%d: %s", rows[i].status,
                  err.msg);
        cr_assert(eq(int, c.calls, rows[i].fate == WAITS ? 1 : 2), "%d", rows[i].status);
        cr_assert(eq(sz, report.waiting, waits ? (rows[i].fate == WAITS ? 2 : 1) : 0), "%d",
                  rows[i].status);
        cr_assert(eq(sz, report.rejected, rows[i].fate == REJECTED), "%d", rows[i].status);
        cr_assert(eq(sz, files_in(rejected) - aside, rows[i].fate == REJECTED ? 2 : 0), "%d",
                  rows[i].status);
        cr_assert(eq(int, upload_to(&well, &report, &err), PFC_OK), "%d: %s", rows[i].status,
                  err.msg);
        cr_assert(eq(sz, pfc_spool_waiting(spool), 0));
    }
}

/* 100 s, 200 s, 400 s, 800 s, then a quarter of an hour each time. */
Test(spool_limits, errors_are_repeated_later_and_later)
{
    static const double first_s[] = { 100.0, 500.0, 900.0, 2000.0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(first_s); i++) {
        const double want_s = first_s[i] < 900.0 ? first_s[i] : 900.0;
        clerk c = { .status = 500, .body = "{}" };
        clerk well = { .status = 201, .body = "{}" };
        pfc_spool_report report;

        pfc_spool_backoff(spool, first_s[i]);
        cr_assert(eq(int, add(1, 1, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
        cr_assert(le(dbl, report.retry_after_s, want_s));
        cr_assert(gt(dbl, report.retry_after_s, want_s - 60.0));
        /* not due: it is not sent */
        cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
        cr_assert(eq(int, c.calls, 1));
        pfc_spool_close(spool); /* the next process tries again at once */
        open_spool();
        cr_assert(eq(int, upload_to(&well, &report, &err), PFC_OK), "%s", err.msg);
    }
}

/* Three runs with errors in a row end the pass; when the server took one, they are its own trouble.
 */
Test(spool_limits, three_errors_in_a_row_are_a_broken_server)
{
    for (unsigned runs = 2; runs <= 4; runs++) {
        clerk c = { .status = 500, .body = "{}" };
        clerk well = { .status = 201, .body = "{}" };
        pfc_spool_report report;

        for (unsigned i = 1; i <= runs; i++)
            cr_assert(eq(int, add(i, 1, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
        cr_assert(eq(int, c.calls, runs < PFC_SPOOL_IN_A_ROW ? (int)runs : PFC_SPOOL_IN_A_ROW));
        cr_assert(eq(int, strstr(err.msg, "fails with each") != NULL, runs >= PFC_SPOOL_IN_A_ROW),
                  "%s", err.msg);
        cr_assert(eq(int, upload_to(&well, &report, &err), PFC_OK), "%s", err.msg);
    }
}
