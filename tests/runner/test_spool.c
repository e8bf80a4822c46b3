/* The spool: whole or not at all, whatever happens between two system calls. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/spool/spool.h"

#include "tests/check/check.h"
#include "tests/runner/spool_ground.h"

/* Each call that the spool makes durable by, to fail when its turn comes: these stand before the C
 * library's, so that the spool calls them. */
static struct {
    bool on;
    int fail_at, number; /* the n-th call with this errno; 0: none */
    int calls;
    char order[64]; /* w write, f fsync of a file, r rename, d fsync of a folder */
} disk;

static bool disk_fails(char call)
{
    if (!disk.on)
        return false;
    if ((size_t)disk.calls < sizeof(disk.order) - 1)
        disk.order[disk.calls] = call;
    disk.calls++;
    errno = disk.number;
    return disk.calls == disk.fail_at;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    if (disk_fails('w')) {
        const int number = errno;

        (void)syscall(SYS_write, fd, bytes, len / 2);
        errno = number;
        return -1;
    }
    return (ssize_t)syscall(SYS_write, fd, bytes, len);
}

int fsync(int fd)
{
    struct stat st;

    return disk_fails(fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? 'd' : 'f')
               ? -1
               : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    return disk_fails('r') ? -1 : (int)syscall(SYS_rename, from, to);
}

TestSuite(spool, .init = ground_init, .fini = ground_clear);

Test(spool, what_lies_there_is_uploaded_in_order_and_removed)
{
    clerk c = { .status = 201, .body = "{\"run_id\": 1}" };
    pfc_spool_report report;
    pfc_err err = { 0 };

    for (unsigned i = 1; i <= 3; i++)
        cr_assert(eq(int, add(i, 5, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, pfc_spool_waiting(spool), 3));
    pfc_spool_close(spool);
    open_spool(); /* as at the next start */
    cr_assert(eq(sz, pfc_spool_waiting(spool), 3));

    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.uploaded, 3));
    cr_assert(eq(int, c.calls, 3));
    for (int i = 0; i < 3; i++)
        cr_assert(eq(int, c.ids[i][31], '1' + i));
    cr_assert(eq(sz, pfc_spool_waiting(spool), 0));
    cr_assert(eq(sz, files_in(dir), 0));
}

Test(spool, a_repeated_upload_that_the_server_knows_is_fine)
{
    clerk c = { .status = 200, .body = "{\"run_id\": 1}" };
    pfc_spool_report report;
    pfc_err err = { 0 };

    cr_assert(eq(int, add(7, 1, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.uploaded, 1));
}

Test(spool, a_server_in_trouble_loses_nothing)
{
    static const struct {
        int status;
        pfc_code code;
        int calls; /* 2: it may be this document's fault, and the other one is tried */
    } cases[] = { { 500, PFC_EUNAVAIL, 2 }, { 503, PFC_EUNAVAIL, 1 }, { 429, PFC_EUNAVAIL, 1 },
                  { 401, PFC_EDENIED, 1 },  { 403, PFC_EDENIED, 1 },  { 504, PFC_EUNAVAIL, 2 },
                  { 502, PFC_EUNAVAIL, 1 } };
    pfc_spool_report report;
    pfc_err err = { 0 };

    cr_assert(eq(int, add(1, 1, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, add(2, 1, &err), PFC_OK), "%s", err.msg);
    pfc_spool_backoff(spool, 0.0);
    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        clerk c = { .status = cases[i].status, .body = "{\"error\": {\"message\": \"later\"}}" };

        cr_assert(eq(int, upload_to(&c, &report, &err), cases[i].code), "%d: %s", cases[i].status,
                  err.msg);
        cr_assert(eq(sz, report.waiting, 2));
        cr_assert(eq(int, c.calls, cases[i].calls), "%d", cases[i].status);
    }
    cr_assert(eq(sz, pfc_spool_waiting(spool), 2));
}

Test(spool, a_refused_document_moves_aside_with_its_reason)
{
    clerk c = { .status = 409, .body = "{\"error\": {\"message\": \"another body, same id\"}}" };
    pfc_spool_report report;
    pfc_err err = { 0 };

    cr_assert(eq(int, add(1, 1, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, add(2, 1, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.rejected, 2));
    cr_assert(ne(ptr, strstr(report.rejection, "another body, same id"), NULL), "%s",
              report.rejection);
    cr_assert(eq(sz, pfc_spool_waiting(spool), 0));
    cr_assert(eq(sz, files_in(rejected), 4)); /* two documents, two reasons */
}

/* The first or the last document, by name. */
static void remove_end(bool last)
{
    struct dirent **found = NULL;
    int n = scandir(dir, &found, NULL, alphasort), at = -1;
    char *path;

    for (int i = 0; i < n; i++) {
        if (strstr(found[i]->d_name, ".json") && (at < 0 || last))
            at = i;
    }
    cr_assert(ge(int, at, 0));
    path = pfc_fs_join(dir, found[at]->d_name);
    cr_assert(eq(int, unlink(path), 0));
    free(path);
    while (n > 0)
        free(found[--n]);
    free(found);
}

Test(spool, a_large_run_is_split_and_each_part_arrives)
{
    clerk c = { .status = 201, .body = "{}" };
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_large();
    cr_assert(ge(sz, pfc_spool_waiting(spool), 2));
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(ge(int, c.calls, 2));
    for (int i = 0; i < c.calls; i++)
        cr_assert(eq(int, strspn(c.ids[i], "0"), 31));
}

/* Killed before the last part lay there; stopped after the first one was taken: who starts tells
 * them apart. */
Test(spool, half_a_run_is_none_but_one_that_is_on_its_way_goes_on)
{
    size_t parts;

    cr_assert(eq(int, add(1, 5, NULL), PFC_OK));
    add_large();
    parts = pfc_spool_waiting(spool) - 1;
    cr_assert(ge(sz, parts, 2));
    remove_end(true);
    pfc_spool_close(spool);
    open_spool();
    cr_assert(eq(sz, pfc_spool_waiting(spool), 1));
    cr_assert(eq(sz, files_in(dir), 1));
    remove_end(true);

    add_large();
    cr_assert(eq(int, add(2, 5, NULL), PFC_OK));
    remove_end(false);
    pfc_spool_close(spool);
    open_spool();
    cr_assert(eq(sz, pfc_spool_waiting(spool), parts));
}

/* A limit on file size stands for a full disk: writing fails half way through. */
Test(spool, a_full_disk_is_said_and_what_waits_stays)
{
    struct rlimit old, small;
    clerk c = { .status = 201, .body = "{}" };
    pfc_spool_report report;
    pfc_err err = { 0 };

    signal(SIGXFSZ, SIG_IGN);
    cr_assert(eq(int, add(1, 5, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, getrlimit(RLIMIT_FSIZE, &old), 0));
    small = old;
    small.rlim_cur = 8192;
    cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &small), 0));
    {
        pfc_code added = add(2, 5000, &err);
        pfc_err probe_err = { 0 };
        pfc_code probed = pfc_spool_probe(spool, &probe_err);

        cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &old), 0));
        cr_assert(eq(int, added, PFC_EIO), "%s", err.msg);
        cr_assert(ne(ptr, strstr(err.msg, "1 waiting documents are unchanged"), NULL), "%s",
                  err.msg);
        cr_assert(eq(int, probed, PFC_EIO), "%s", probe_err.msg);
    }
    cr_assert(eq(sz, files_in(dir), 1)); /* no half file beside the first document */
    cr_assert(eq(int, pfc_spool_probe(spool, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, add(2, 5000, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.uploaded, 2));
    cr_assert(eq(sz, files_in(dir), 0));
}

/* A child adds documents and tells us of each; it is killed without warning in the middle of it. */
Test(spool, a_kill_loses_no_acknowledged_document)
{
    int acks[2];
    char byte;
    size_t acknowledged = 0;
    clerk c = { .status = 201, .body = "{}" };
    pfc_spool_report report;
    pfc_err err = { 0 };
    pid_t child;

    cr_assert(eq(int, pipe(acks), 0));
    child = fork();
    cr_assert(ge(int, child, 0));
    if (child == 0) {
        for (unsigned i = 1;; i++) {
            if (add(i, 2000, NULL) != PFC_OK || write(acks[1], "k", 1) != 1)
                _exit(1);
        }
    }
    close(acks[1]);
    while (acknowledged < 20 && read(acks[0], &byte, 1) == 1)
        acknowledged++;
    cr_assert(eq(int, kill(child, SIGKILL), 0));
    cr_assert(eq(int, waitpid(child, NULL, 0), child));
    while (read(acks[0], &byte, 1) == 1)
        acknowledged++;
    close(acks[0]);

    pfc_spool_close(spool);
    open_spool();
    cr_assert(ge(sz, pfc_spool_waiting(spool), acknowledged));
    cr_assert(eq(sz, files_in(dir), pfc_spool_waiting(spool))); /* unfinished files are gone */
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(ge(sz, report.uploaded, acknowledged)); /* each one parsed as a run document */
    cr_assert(eq(sz, report.rejected, 0));
}

/* A document is durable before its adding is: its bytes, then its name. */
Test(spool, a_result_is_synced_before_it_is_reported)
{
    disk.on = true;
    cr_assert(eq(int, add(1, 5, NULL), PFC_OK));
    disk.on = false;
    cr_assert(eq(str, disk.order, "wfrd"));
}

/* Every write, sync and rename fails in its turn, with a full disk and with a broken one. */
Test(spool, whichever_call_fails_nothing_is_torn_and_nothing_is_lost)
{
    static const int numbers[] = { ENOSPC, EIO };
    clerk c = { .status = 201, .body = "{}" };
    pfc_spool_report report;
    pfc_err err = { 0 };
    unsigned run = 0, waiting = 0;
    int failed = 0;

    for (size_t k = 0; k < PFC_ARRAY_LEN(numbers); k++) {
        for (int n = 1, last = 4; n <= last + 1; n++) {
            pfc_code added, probed;

            memset(&disk, 0, sizeof(disk));
            disk.on = true;
            disk.fail_at = n;
            disk.number = numbers[k];
            added = add(++run, 50, &err);
            disk.on = false;
            cr_assert(eq(int, added, n <= last ? PFC_EIO : PFC_OK), "call %d: %s", n, err.msg);
            failed += n <= last;
            waiting += n > last;
            cr_assert(eq(sz, files_in(dir), waiting), "call %d left something", n);
            disk.on = true;
            disk.calls = 0;
            probed = pfc_spool_probe(spool, &err);
            disk.on = false;
            cr_assert(eq(int, probed, n <= last ? PFC_EIO : PFC_OK), "call %d of the probe", n);
            memset(&disk, 0, sizeof(disk));
            cr_assert(eq(int, add(++run, 50, &err), PFC_OK), "%s",
                      err.msg); /* there is space again */
            waiting++;
        }
    }
    cr_assert(eq(int, failed, 8));
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.uploaded, waiting)); /* each one parsed as a run document */
    cr_assert(eq(sz, report.rejected, 0));
}

/* The last document is cut at every byte, and each byte of it flipped: it goes aside with the
 * reason, never to the server, and what waits beside it arrives. */
Test(spool, a_damaged_document_is_never_taken_for_a_result)
{
    clerk c = { .status = 201, .body = "{}" };
    pfc_spool_report report;
    pfc_err err = { 0 };
    char *path = NULL, *text = NULL, *name = NULL;
    size_t len = 0, trials = 0;
    DIR *folder;
    const struct dirent *entry;
    stand_in server;
    pfc_http_opts opts = { .token = "pfc_x" };
    pfc_http *http = NULL;

    pfc_log_set_level(PFC_OFF); /* a line for each trial */
    cr_assert(eq(int, add(1, 5, &err), PFC_OK), "%s", err.msg);
    folder = opendir(dir);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_type != DT_DIR)
            name = pfc_strdup(entry->d_name);
    }
    closedir(folder);
    path = pfc_fs_join(dir, name);
    cr_assert(eq(int, pfc_fs_read(path, 65536, &text, &len, &err), PFC_OK), "%s", err.msg);
    stand_in_start(&server, take_run, &c);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK), "%s", err.msg);
    for (size_t at = 0; at < len; at++) {
        for (int flip = 0; flip < 2; flip++, trials++) {
            FILE *file = fopen(path, "w");

            text[at] ^= (char)(flip << (at % 7));
            cr_assert(eq(sz, fwrite(text, 1, flip ? len : at, file), flip ? len : at));
            cr_assert(eq(int, fclose(file), 0));
            text[at] ^= (char)(flip << (at % 7));
            cr_assert(eq(int, pfc_spool_upload(spool, http, &report, &err), PFC_OK), "%s", err.msg);
            cr_assert(eq(sz, report.rejected, 1), "cut or changed at %zu", at);
            cr_assert(ne(ptr, strstr(report.rejection, "does not match its digest"), NULL));
            cr_assert(eq(sz, report.waiting, 0));
        }
    }
    cr_assert(eq(int, c.calls, 0));
    cr_assert(ge(sz, trials, 1000));
    {
        FILE *file = fopen(path, "w");

        cr_assert(eq(sz, fwrite(text, 1, len, file), len)); /* whole again */
        cr_assert(eq(int, fclose(file), 0));
    }
    cr_assert(eq(int, add(2, 5, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_spool_upload(spool, http, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.uploaded, 2));
    pfc_http_free(http);
    stand_in_stop(&server);
    free(name);
    free(path);
    free(text);
}

/* The disk is full, and half of it are copies of what the server has: they go, the result comes. */
Test(spool, what_the_server_has_makes_room)
{
    clerk c = { .status = 201, .body = "{}" };
    pfc_spool_report report;
    pfc_err err = { 0 };

    for (unsigned i = 1; i <= 5; i++)
        cr_assert(eq(int, add(i, 5, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, files_in(sent), 5));
    for (int probe = 0; probe < 2; probe++) {
        memset(&disk, 0, sizeof(disk));
        disk.on = true;
        disk.fail_at = 1;
        disk.number = ENOSPC;
        cr_assert(eq(int, probe ? pfc_spool_probe(spool, &err) : add(6, 5, &err), PFC_OK), "%s",
                  err.msg);
        disk.on = false;
        cr_assert(eq(sz, files_in(sent), probe ? 1 : 2)); /* the younger half */
    }
    cr_assert(eq(sz, pfc_spool_waiting(spool), 1));
}

/* Killed, or without a disk, in the midst of taking back what shall be sent again: the next one
 * goes on. */
Test(spool, what_shall_be_sent_again_is_whenever_it_was_interrupted)
{
    clerk c = { .status = 201, .body = "{}" };
    pfc_spool_counts counts;
    pfc_spool_report report;
    pfc_err err = { 0 };

    for (unsigned i = 1; i <= 3; i++)
        cr_assert(eq(int, add(i, 5, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_spool_resend(dir, &counts, &err), PFC_OK), "%s", err.msg);
    disk.on = true;
    disk.fail_at = 2;
    disk.number = EIO;
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    disk.on = false;
    cr_assert(eq(sz, report.uploaded, 1));
    cr_assert(eq(int, upload_to(&c, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.uploaded, 3)); /* the first one twice: it is stored once */
    cr_assert(eq(sz, files_in(sent), 3));
}
