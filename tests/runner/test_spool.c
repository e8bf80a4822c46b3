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

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/spool.h"

#include "tests/core/http/stand_in.h"

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

static char *dir;
static char *rejected;
static pfc_spool *spool;

static void open_spool(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_spool_open(dir, &spool, &err), PFC_OK), "%s", err.msg);
}

static void setup(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_temp_dir("perfci-spool", &dir, &err), PFC_OK), "%s", err.msg);
    rejected = pfc_fs_join(dir, "rejected");
    open_spool();
}

static void teardown(void)
{
    pfc_err err = { 0 };

    pfc_spool_close(spool);
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK), "%s", err.msg);
    free(dir);
    free(rejected);
}

TestSuite(spool, .init = setup, .fini = teardown);

/* A run whose id ends in `number`, with `samples` samples. */
static pfc_run *make_run(unsigned number, size_t samples)
{
    pfc_run *run = pfc_run_new();
    pfc_measurement *m = pfc_run_add(run);

    run->id = pfc_format("%032x", number);
    run->project = pfc_strdup("demo");
    run->commit = pfc_strdup("0123456789abcdef0123456789abcdef01234567");
    run->suite = pfc_strdup("command");
    run->suite_hash = pfc_strdup("");
    run->started_at = run->finished_at = 1700000000.0;
    run->machine.name = pfc_strdup("host");
    run->machine.machine_class = pfc_strdup("class");
    m->benchmark = pfc_strdup("command");
    m->metric = pfc_strdup("value");
    m->backend = pfc_strdup("");
    m->unit = pfc_strdup("");
    m->samples = pfc_calloc(samples, sizeof(double));
    for (size_t i = 0; i < samples; i++)
        m->samples[i] = 1.0 + (double)i / 3.0;
    m->samples_len = samples;
    m->blocks = pfc_calloc(1, sizeof(uint32_t));
    m->blocks[0] = (uint32_t)samples;
    m->blocks_len = 1;
    return run;
}

static pfc_code add(unsigned number, size_t samples, pfc_err *err)
{
    pfc_run *run = make_run(number, samples);
    pfc_code code = pfc_spool_add(spool, run, err);

    pfc_run_free(run);
    return code;
}

static size_t files_in(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    size_t n = 0;

    cr_assert(ne(ptr, folder, NULL));
    while ((entry = readdir(folder)) != NULL)
        n += entry->d_type != DT_DIR;
    closedir(folder);
    return n;
}

/* A server with one answer, which remembers the ids it was sent. */
typedef struct clerk {
    int status;
    const char *body;
    int calls;
    char ids[64][33];
} clerk;

static void take_run(const stand_in_req *req, pfc_buf *out, void *arg)
{
    clerk *c = arg;
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    if (pfc_run_from_json(req->body, req->body_len, &run, &err) != PFC_OK) {
        stand_in_json(out, 400, "{\"error\": {\"message\": \"not a run document\"}}");
        return;
    }
    if (c->calls < 64)
        (void)snprintf(c->ids[c->calls], 33, "%s", run->id);
    c->calls++;
    pfc_run_free(run);
    stand_in_json(out, c->status, c->body);
}

static pfc_code upload_to(clerk *c, pfc_spool_report *report, pfc_err *err)
{
    stand_in server;
    pfc_http_opts opts = { .token = "pfc_x" };
    pfc_http *http = NULL;
    pfc_code code;

    stand_in_start(&server, take_run, c);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, err), PFC_OK), "%s", err->msg);
    code = pfc_spool_upload(spool, http, report, err);
    pfc_http_free(http);
    stand_in_stop(&server);
    return code;
}

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
    } cases[] = { { 500, PFC_EUNAVAIL }, { 503, PFC_EUNAVAIL }, { 429, PFC_EUNAVAIL },
                  { 401, PFC_EDENIED },  { 403, PFC_EDENIED },  { 504, PFC_ETIMEOUT } };
    pfc_spool_report report;
    pfc_err err = { 0 };

    cr_assert(eq(int, add(1, 1, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, add(2, 1, &err), PFC_OK), "%s", err.msg);
    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        clerk c = { .status = cases[i].status, .body = "{\"error\": {\"message\": \"later\"}}" };

        cr_assert(eq(int, upload_to(&c, &report, &err), cases[i].code), "%d: %s", cases[i].status,
                  err.msg);
        cr_assert(eq(sz, report.waiting, 2));
        cr_assert(eq(int, c.calls, 1)); /* the second document waits for a better time, too */
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

/* 30 x 50000 samples of about 18 bytes: 27 MB, which are two parts. */
static void add_large(void)
{
    pfc_run *run = make_run(9, 50000);
    pfc_err err = { 0 };

    for (int i = 0; i < 29; i++) {
        pfc_measurement *m = pfc_run_add(run);
        const pfc_measurement *first = &run->measurements[0];

        m->benchmark = pfc_format("more/%d", i);
        m->metric = pfc_strdup("value");
        m->backend = pfc_strdup("");
        m->unit = pfc_strdup("");
        m->samples = pfc_calloc(first->samples_len, sizeof(double));
        memcpy(m->samples, first->samples, first->samples_len * sizeof(double));
        m->samples_len = first->samples_len;
        m->blocks = pfc_calloc(1, sizeof(uint32_t));
        m->blocks[0] = first->blocks[0];
        m->blocks_len = 1;
    }
    cr_assert(eq(int, pfc_spool_add(spool, run, &err), PFC_OK), "%s", err.msg);
    pfc_run_free(run);
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

/* Killed before the last part lay there; stopped after the first one was taken: who starts tells them apart. */
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
        cr_assert(ne(ptr, strstr(err.msg, "1 documents wait there, unharmed"), NULL), "%s",
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
Test(spool, a_result_is_synced_before_it_is_told)
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

/* The last document is cut at every byte, and each byte of it flipped: it goes aside with the reason,
 * never to the server, and what waits beside it arrives. */
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
            cr_assert(ne(ptr, strstr(report.rejection, "is not what was written"), NULL));
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
