/* Documents that the server fails on, has already, or is too old for. */
#include <dirent.h>
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

static void init(void)
{
    ground_init();
    pfc_spool_backoff(spool, 0.0);
    pfc_log_set_level(PFC_OFF);
}

TestSuite(spool_upload, .init = init, .fini = ground_clear);

static void add_runs(unsigned from, unsigned to)
{
    pfc_err err = { 0 };

    for (unsigned i = from; i <= to; i++)
        cr_assert(eq(int, add(i, 1, &err), PFC_OK), "%s", err.msg);
}

/* The numbers of the runs that were sent, in this order; each below 10. */
static void want_calls(const clerk *c, const char *numbers)
{
    char got[CLERK_CALLS + 1] = "";

    for (int i = 0; i < c->calls && i < CLERK_CALLS; i++)
        got[i] = c->ids[i][31];
    cr_assert(eq(str, got, (char *)(uintptr_t)numbers));
}

static pfc_spool_fate look(unsigned number, char reason[PFC_ERR_MAX])
{
    char id[33];

    (void)snprintf(id, sizeof(id), "%032x", number);
    reason[0] = '\0';
    return pfc_spool_look(spool, id, reason);
}

Test(spool_upload, a_run_that_the_server_has_an_error_with_stops_no_other)
{
    clerk c = { .status = 201, .body = "{}", .odd = { 2 }, .odd_status = 500 };
    char reason[PFC_ERR_MAX];
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_runs(1, 4);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
    want_calls(&c, "1234");
    cr_assert(eq(sz, report.uploaded, 3));
    cr_assert(eq(sz, report.waiting, 1));
    cr_assert(eq(sz, report.put_off, 0));
    cr_assert(ne(ptr, strstr(err.msg, "1 results wait"), NULL), "%s", err.msg);
    cr_assert(ne(ptr, strstr(err.msg, "HTTP status 500"), NULL), "%s", err.msg);
    cr_assert(eq(int, look(1, reason), PFC_SPOOL_GONE));
    cr_assert(eq(int, look(2, reason), PFC_SPOOL_WAITS));

    /* after those that come, until it is put off; a new one goes before it also then */
    for (int n = 2; n <= PFC_SPOOL_ERRORS; n++) {
        c.calls = 0;
        add_runs(5, 5);
        cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
        want_calls(&c, "52");
        cr_assert(eq(int, report.only_put_off, n == PFC_SPOOL_ERRORS));
    }
    cr_assert(eq(sz, report.put_off, 1));
    cr_assert(eq(int, look(2, reason), PFC_SPOOL_PUT_OFF));
    cr_assert(ne(ptr, strstr(reason, "HTTP status 500"), NULL), "%s", reason);

    c.odd[0] = 0;
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.waiting + report.put_off, 0));
    cr_assert(eq(int, look(2, reason), PFC_SPOOL_GONE));
}

/* Three of them are no broken server, when it takes others. */
/* Such as an exact metric with another value than another run has: no try mends that. */
Test(spool_upload, a_conflict_is_reported_once_and_stops_no_other)
{
    clerk c = { .status = 201, .body = "{}", .odd = { 2 }, .odd_status = 409 };
    char reason[PFC_ERR_MAX];
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_runs(1, 3);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    want_calls(&c, "123");
    cr_assert(eq(sz, report.uploaded, 2));
    cr_assert(eq(sz, report.rejected, 1));
    cr_assert(eq(sz, report.waiting, 0));
    cr_assert(eq(int, look(2, reason), PFC_SPOOL_REJECTED));
    cr_assert(ne(ptr, strstr(reason, "409"), NULL), "%s", reason);
    c.calls = 0;
    add_runs(4, 4);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    want_calls(&c, "4");
}

Test(spool_upload, nor_do_several)
{
    clerk c = { .status = 201, .body = "{}", .odd = { 2, 4, 6 }, .odd_status = 500 };
    char reason[PFC_ERR_MAX];
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_runs(1, 6);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
    want_calls(&c, "123456");
    for (int n = 2; n <= PFC_SPOOL_ERRORS; n++) {
        c.calls = 0;
        cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
        want_calls(&c, "246");
    }
    cr_assert(eq(sz, report.put_off, 3));
    cr_assert(report.only_put_off);
    cr_assert(eq(int, look(4, reason), PFC_SPOOL_PUT_OFF));
    c.calls = 0;
    add_runs(7, 8);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
    want_calls(&c, "78246");
}

Test(spool_upload, it_is_sent_again_when_its_time_has_come)
{
    clerk c = { .status = 201, .body = "{}", .odd = { 1 }, .odd_status = 500 };
    pfc_spool_report report;
    pfc_err err = { 0 };

    pfc_spool_backoff(spool, 500.0);
    add_runs(1, 2);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
    want_calls(&c, "12");
    cr_assert(gt(dbl, report.retry_after_s, 100.0));
    cr_assert(le(dbl, report.retry_after_s, 500.0));
    add_runs(3, 3);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
    want_calls(&c, "123");
    cr_assert(eq(sz, report.waiting, 1));
}

/* Whatever it is sent is answered by 500: three times, then once a pass, each in its turn. */
Test(spool_upload, a_broken_server_is_asked_little_and_gets_all_when_it_is_well)
{
    clerk c = { .status = 500, .body = "{}" };
    char reason[PFC_ERR_MAX];
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_runs(1, 6);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
    want_calls(&c, "123");
    for (int n = 0; n < 4; n++)
        cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
    want_calls(&c, "1234561");
    cr_assert(ne(ptr, strstr(err.msg, "fails with each"), NULL), "%s", err.msg);
    for (int n = 0; n < 6 * PFC_SPOOL_ERRORS; n++)
        cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
    cr_assert(eq(sz, report.put_off, 6));
    cr_assert(not(report.only_put_off)); /* nothing says that it would take another */
    cr_assert(eq(int, look(1, reason), PFC_SPOOL_WAITS));
    c = (clerk){ .status = 201, .body = "{}" };
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.uploaded, 6));
}

Test(spool_upload, a_server_that_is_away_ends_the_pass_and_the_next_begins_with_another)
{
    static const struct {
        int status;
        const char *head;
    } cases[] = { { 503, NULL }, { 500, "Retry-After: 7\r\n" }, { 502, NULL }, { 0, NULL } };
    char reason[PFC_ERR_MAX];

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        clerk c = { .status = 201,
                    .body = "{}",
                    .odd = { 1 },
                    .odd_status = cases[i].status,
                    .odd_head = cases[i].head };
        pfc_spool_report report;
        pfc_err err = { 0 };

        add_runs(1, 3);
        cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL), "%zu", i);
        want_calls(&c, "1");
        cr_assert(eq(sz, report.waiting, 3));
        cr_assert(eq(int, report.retry_after_s >= 7.0, cases[i].head != NULL));
        for (int n = 0; n < PFC_SPOOL_ERRORS; n++)
            cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
        cr_assert(eq(int, memcmp(c.ids[1], c.ids[2], 33) < 0 && c.ids[1][31] == '2', true));
        cr_assert(eq(sz, report.waiting, 1));
        cr_assert(not(report.only_put_off)); /* it is not known to be the document's fault */
        cr_assert(eq(int, look(1, reason), PFC_SPOOL_WAITS));
        c.odd[0] = 0;
        cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    }
}

Test(spool_upload, of_a_run_with_an_error_no_later_part_is_sent)
{
    clerk c = { .status = 201, .body = "{}", .odd = { 9 }, .odd_status = 500 };
    pfc_spool_report report;
    pfc_err err = { 0 };
    size_t parts;

    add_large();
    parts = pfc_spool_waiting(spool);
    add_runs(3, 3);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
    want_calls(&c, "93");
    cr_assert(eq(sz, report.waiting, parts));
    pfc_spool_close(spool);
    open_spool(); /* whole: none of it is taken for a half */
    cr_assert(eq(sz, pfc_spool_waiting(spool), parts));
    c = (clerk){ .status = 201, .body = "{}" };
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.uploaded, parts));
}

Test(spool_upload, a_document_taken_away_by_hand_is_forgotten)
{
    clerk c = { .status = 500, .body = "{}" };
    pfc_spool_report report;
    struct dirent **found = NULL;
    pfc_err err = { 0 };
    int n;

    add_runs(1, 3);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
    n = scandir(dir, &found, NULL, alphasort);
    while (n > 0) {
        char *path = pfc_fs_join(dir, found[--n]->d_name);

        if (found[n]->d_type != DT_DIR)
            cr_assert(eq(int, unlink(path), 0));
        free(path);
        free(found[n]);
    }
    free(found);
    add_runs(4, 5);
    c = (clerk){ .status = 201, .body = "{}", .odd = { 4 }, .odd_status = 500 };
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_EUNAVAIL));
    want_calls(&c, "45"); /* one in a row, not four */
    cr_assert(eq(sz, report.waiting, 1));
}

/* ---- what the server has ---- */

Test(spool_upload, what_the_server_has_is_kept_and_sent_again_when_asked_for)
{
    clerk c = { .status = 201, .body = "{}" };
    pfc_spool_counts counts = { 0 };
    pfc_spool_report report;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_spool_resend(dir, &counts, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, counts.again, 0));
    add_runs(1, 3);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, pfc_spool_waiting(spool), 0));
    cr_assert(eq(sz, files_in(sent), 3));
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    want_calls(&c, "123");

    add_runs(4, 4);
    cr_assert(eq(int, pfc_spool_resend(dir, &counts, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, counts.again, 3));
    cr_assert(eq(sz, counts.waiting, 1));
    c.calls = 0;
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    want_calls(&c, "1234");
    cr_assert(eq(sz, files_in(sent), 4)); /* and nothing beside them */

    cr_assert(eq(int, pfc_spool_resend(dir, &counts, &err), PFC_OK), "%s", err.msg);
    pfc_spool_close(spool);
    open_spool(); /* requested while no process owns the spool */
    cr_assert(eq(sz, pfc_spool_waiting(spool), 4));
    cr_assert(eq(int, pfc_spool_resend("/nowhere", &counts, &err), PFC_EIO));
}

static char *path_in(const char *folder, size_t n)
{
    struct dirent **found = NULL;
    int len = scandir(folder, &found, NULL, alphasort);
    char *path = NULL;

    for (int i = 0; i < len; i++) {
        if (found[i]->d_type != DT_DIR && n-- == 0)
            path = pfc_fs_join(folder, found[i]->d_name);
        free(found[i]);
    }
    free(found);
    cr_assert(ne(ptr, path, NULL));
    return path;
}

/* As a file of that age; 0 bytes: as long as it is. */
static void make_old(char *path, int64_t s_ago, off_t bytes)
{
    struct timespec times[2];

    (void)clock_gettime(CLOCK_REALTIME, &times[1]);
    times[1].tv_sec -= s_ago;
    times[0] = times[1];
    if (bytes)
        cr_assert(eq(int, truncate(path, bytes), 0));
    cr_assert(eq(int, utimensat(AT_FDCWD, path, times, 0), 0));
    free(path);
}

Test(spool_upload, a_day_is_kept_and_of_that_no_more_than_fits)
{
    clerk c = { .status = 201, .body = "{}" };
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_runs(1, 4);
    make_old(path_in(dir, 0), 3 * PFC_SPOOL_SENT_S, 0); /* it waited long, and came today */
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, files_in(sent), 4));
    make_old(path_in(sent, 1), PFC_SPOOL_SENT_S + 3600, 0);
    make_old(path_in(sent, 2), PFC_SPOOL_SENT_S - 3600, 0);
    pfc_spool_close(spool);
    open_spool();
    cr_assert(eq(sz, files_in(sent), 3));
    make_old(path_in(sent, 0), 10, (off_t)PFC_SPOOL_SENT_BYTES / 2);
    make_old(path_in(sent, 1), 30, (off_t)PFC_SPOOL_SENT_BYTES / 2 + 1);
    make_old(path_in(sent, 2), 20, 10);
    add_runs(5, 5); /* it is looked through after an upload, too */
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, files_in(sent), 3));
    for (unsigned i = 0; i < PFC_SPOOL_SENT_DOCUMENTS; i++) {
        char *path = pfc_format("%s/000000000001.000000000-%032x-000.json", sent, i);
        const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

        cr_assert(ge(int, fd, 0));
        close(fd);
        free(path);
    }
    pfc_spool_close(spool);
    open_spool();
    cr_assert(eq(sz, files_in(sent), PFC_SPOOL_SENT_DOCUMENTS));
}

/* ---- a server that is too old ---- */

static void add_numbered(unsigned number)
{
    pfc_run *run = make_run(number, 3);
    pfc_err err = { 0 };

    run->job_id = 5;
    run->job_fence = 2;
    cr_assert(eq(int, pfc_spool_add(spool, run, &err), PFC_OK), "%s", err.msg);
    pfc_run_free(run);
}

Test(spool_upload, a_server_that_knows_no_numbers_of_leases_gets_none)
{
    clerk c = { .status = 201, .body = "{}", .knows_no_number = true };
    pfc_spool_counts counts;
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_numbered(1);
    add_numbered(2);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    want_calls(&c, "1122");
    for (int i = 0; i < 4; i++)
        cr_assert(eq(i64, c.fences[i], i % 2 ? 0 : 2));
    cr_assert(eq(sz, report.uploaded, 2));
    cr_assert(eq(sz, files_in(dir) + files_in(rejected), 0));
    /* kept as sent, so that a newer server receives the same */
    cr_assert(eq(int, pfc_spool_resend(dir, &counts, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, counts.again, 2));
    c.calls = 0;
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    want_calls(&c, "12");
    cr_assert(eq(i64, c.fences[0] + c.fences[1], 0));
    cr_assert(eq(sz, report.rejected, 0));
}

/* Each refusal names one member: three tries. */
Test(spool_upload, a_server_that_does_not_know_marks_gets_the_run_without_its_mark)
{
    clerk c = { .status = 201, .body = "{}", .knows_no_mark = true };
    pfc_run *run = make_run(1, 3);
    pfc_spool_report report;
    pfc_err err = { 0 };

    run->job_fence = 2;
    run->unsandboxed = true;
    cr_assert(eq(int, pfc_spool_add(spool, run, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    want_calls(&c, "11");
    cr_assert(c.marked[0]);
    cr_assert(not(c.marked[1]));
    cr_assert(eq(i64, c.fences[1], 2));
    c = (clerk){ .status = 201, .body = "{}", .knows_no_mark = true, .knows_no_number = true };
    cr_assert(eq(int, pfc_spool_add(spool, run, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    want_calls(&c, "111");
    cr_assert(not(c.marked[2]));
    cr_assert(eq(i64, c.fences[2], 0));
    cr_assert(eq(sz, files_in(dir) + files_in(rejected), 0));
    pfc_run_free(run);
}

/* Whichever member it names, all of them came with one version: two tries. */
Test(spool_upload, a_server_that_does_not_know_the_roofline_gets_the_run_without_it)
{
    static const char *const members[] = { "ceilings", "measurements[0].operations",
                                           "measurements[0].bytes" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(members); i++) {
        clerk c = { .status = 201, .body = "{}", .unknown = members[i] };
        pfc_run *run = make_run(1, 3);
        pfc_run_ceiling *ceiling = pfc_run_add_ceiling(run);
        pfc_spool_report report;
        pfc_err err = { 0 };

        *ceiling = (pfc_run_ceiling){
            .name = pfc_strdup("DRAM"), .memory = true, .unit = pfc_strdup("B/s"), .value = 1e9
        };
        run->measurements[0].operations = run->measurements[0].bytes = 7;
        cr_assert(eq(int, pfc_spool_add(spool, run, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
        want_calls(&c, "11");
        cr_assert(eq(sz, files_in(dir) + files_in(rejected), 0));
        pfc_run_free(run);
    }
}

Test(spool_upload, nor_does_it_when_the_disk_takes_nothing)
{
    clerk c = { .status = 201, .body = "{}", .knows_no_number = true, .knows_no_mark = true };
    pfc_run *run = make_run(1, 3);
    stand_in server;
    pfc_http_opts opts = { .token = "pfc_x" };
    pfc_http *http = NULL;
    pfc_err err = { 0 };

    run->job_fence = 2;
    run->unsandboxed = true;
    stand_in_start(&server, take_run, &c);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_spool_bypass(http, NULL, run, &err), PFC_OK), "%s", err.msg);
    stand_in_stop(&server);
    want_calls(&c, "111");
    cr_assert(eq(i64, c.fences[2], 0));
    cr_assert(not(c.marked[2]));
    pfc_http_free(http);
    pfc_run_free(run);
}
