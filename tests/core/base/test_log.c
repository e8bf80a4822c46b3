/* A log line is one line of JSON, whatever is put into it. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <jansson.h>

#include "core/base/fs.h"
#include "core/base/log.h"

#include "tests/check/check.h"

static char *path;

static void begin(void)
{
    pfc_err err = { 0 };
    char *dir = NULL;
    int fd;

    cr_assert(eq(int, pfc_fs_temp_dir("log", &dir, &err), PFC_OK), "%s", err.msg);
    path = pfc_fs_join(dir, "out");
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    cr_assert(ge(int, fd, 0));
    cr_assert(eq(int, dup2(fd, 2), 2));
    close(fd);
    free(dir);
}

static char *logged(void)
{
    pfc_err err = { 0 };
    char *text = NULL;

    cr_assert(eq(int, pfc_fs_read(path, 100000, &text, NULL, &err), PFC_OK), "%s", err.msg);
    *strrchr(path, '/') = '\0';
    cr_assert(eq(int, pfc_fs_remove_tree(path, &err), PFC_OK), "%s", err.msg);
    free(path);
    return text;
}

Test(log, a_line_holds_event_and_typed_values)
{
    char *text;
    size_t n = 3;
    bool ok = true; /* the constant itself is an int in C17 */

    begin();
    pfc_log_set_level(PFC_INFO);
    pfc_log_set_program("test");
    pfc_log(PFC_INFO, "run accepted", "run", -7, "samples", n, "share", 0.5, "ok", ok, "who",
            "a\"b\n\x01", "none", (const char *)NULL, "bad", (double)NAN);
    pfc_log(PFC_DEBUG, "not written");
    pfc_log(PFC_WARN, "bare");
    text = logged();
    cr_assert_not_null(strstr(text,
                              "\"level\":\"info\",\"event\":\"run accepted\",\"program\":\"test\","
                              "\"run\":-7,\"samples\":3,\"share\":0.5,\"ok\":true,"
                              "\"who\":\"a\\\"b\\n\\u0001\",\"none\":null,\"bad\":null}\n"),
                       "%s", text);
    cr_assert_null(strstr(text, "not written"));
    cr_assert_not_null(strstr(text, "\"event\":\"bare\",\"program\":\"test\"}\n"), "%s", text);
    free(text);
}

Test(log, the_request_is_on_every_line_until_it_is_cleared)
{
    char *text;

    begin();
    pfc_log_set_level(PFC_INFO);
    pfc_log_set_request("r-1\"");
    pfc_log(PFC_INFO, "first");
    pfc_log_set_request(NULL);
    pfc_log(PFC_INFO, "second");
    text = logged();
    cr_assert_not_null(strstr(text, "\"first\",\"request\":\"r-1\\\"\""), "%s", text);
    cr_assert_null(strstr(strstr(text, "second"), "request"), "%s", text);
    free(text);
}

Test(log, bytes_that_are_no_utf8_are_replaced)
{
    char *text;

    begin();
    pfc_log(PFC_ERROR, "odd", "text", "a\xff");
    text = logged();
    cr_assert_not_null(strstr(text, "\"text\":\"a\xef\xbf\xbd\""), "%s", text);
    free(text);
}

/* A log is read on a terminal, too. */
Test(log, characters_that_a_terminal_obeys_are_escaped)
{
    char *text;

    begin();
    pfc_log(PFC_ERROR, "odd", "text",
            "a\u202egnp\u00e9\xc2\x9b"
            "2J\u2066\u4e2d\ufeff\u061c",
            "more", "\u00e9\x1b[2J\u202e");
    text = logged();
    cr_assert_not_null(
        strstr(text, "\"text\":\"a\\u202egnp\u00e9\\u009b2J\\u2066\u4e2d\\ufeff\\u061c\""), "%s",
        text);
    cr_assert_not_null(strstr(text, "\"more\":\"\u00e9\\u001b[2J\\u202e\""), "%s", text);
    free(text);
}

Test(log, a_token_is_never_written)
{
    char secret[4 + 64 + 1] = "pfc_";
    char *text;

    memset(secret + 4, 'a', 64);
    begin();
    pfc_log_set_level(PFC_INFO);
    pfc_log(PFC_INFO, "request", "path", (const char *)secret, "reason",
            "no such project: pfc_0123456789abcdef0123/x", "name", "pfc_httpd pfc_0123 pfc_");
    text = logged();
    cr_assert_null(strstr(text, "aaaa"));
    cr_assert_not_null(strstr(text, "\"path\":\"pfc_...\""));
    cr_assert_not_null(strstr(text, "no such project: pfc_.../x"));
    cr_assert_not_null(strstr(text, "pfc_httpd pfc_0123 pfc_\""));
    free(text);
}

Test(log, level_words)
{
    pfc_log_level level = PFC_OFF;

    cr_assert(pfc_log_level_parse("warn", &level));
    cr_assert(eq(int, level, PFC_WARN));
    cr_assert_not(pfc_log_level_parse("loud", &level));
}

/* A pipe in place of stderr; the end to read. */
static int begin_pipe(void)
{
    int ends[2];

    cr_assert(eq(int, pipe(ends), 0));
    cr_assert(eq(int, dup2(ends[1], 2), 2));
    close(ends[1]);
    return ends[0];
}

Test(log, a_reader_that_stands_still_costs_lines_and_no_time_and_hears_how_many)
{
    const int end = begin_pipe();
    char *text = pfc_alloc(4 << 20);
    char filler[900];
    unsigned long long lines = 0, stated = 0;
    size_t len = 0;
    ssize_t n;

    memset(filler, 'x', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    pfc_log_never_wait();
    while (pfc_log_lost() < 1000) /* ends only when the logger stops waiting for the reader */
        pfc_log(PFC_INFO, "one", "filler", (const char *)filler);
    /* It reads again, slowly at first: what does not fit at once is finished later. */
    cr_assert(eq(int, fcntl(end, F_SETFL, O_NONBLOCK), 0));
    for (int i = 0; i < 3000; i++) {
        n = read(end, text + len, i < 1000 ? 100 : 4096);
        len += n > 0 ? (size_t)n : 0;
        pfc_log(PFC_INFO, "one", "filler", (const char *)filler);
    }
    while ((n = read(end, text + len, 65536)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    for (char *at = text, *stop; (stop = strchr(at, '\n')) != NULL; at = stop + 1) {
        json_t *line;

        *stop = '\0';
        line = json_loads(at, 0, NULL);
        cr_assert_not_null(line, "%s", at);
        if (strcmp(json_string_value(json_object_get(line, "event")), "one") == 0)
            lines++;
        else
            stated += (unsigned long long)json_integer_value(json_object_get(line, "lines"));
        json_decref(line);
    }
    cr_assert(ge(u64, stated, 1000));
    cr_assert(eq(u64, stated, pfc_log_lost()));
    cr_assert(ge(u64, lines, 2000));
    free(text);
    close(end);
}

Test(log, a_full_disk_leaves_no_half_line)
{
    struct rlimit limit = { 1000, RLIM_INFINITY };
    json_t *line;
    char *text, *at, *stop;
    int lines = 0;

    begin();
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &limit), 0)); /* EFBIG stands for ENOSPC */
    for (int i = 0; i < 40; i++)
        pfc_log(PFC_INFO, "one", "i", i);
    cr_assert(gt(u64, pfc_log_lost(), 0));
    limit.rlim_cur = RLIM_INFINITY;
    cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &limit), 0));
    pfc_log(PFC_INFO, "last");
    text = logged();
    for (at = text; (stop = strchr(at, '\n')) != NULL; at = stop + 1, lines++) {
        *stop = '\0';
        line = json_loads(at, 0, NULL);
        cr_assert_not_null(line, "%s", at);
        if (!stop[1])
            cr_assert(eq(str, (char *)(uintptr_t)json_string_value(json_object_get(line, "event")),
                         "last"));
        json_decref(line);
    }
    cr_assert(eq(int, lines + (int)pfc_log_lost(), 42)); /* 41 and the one that says how many */
    free(text);
}

Test(log, a_line_is_json_however_hostile_and_long_its_values_are)
{
    char hostile[3000], wide[3001];
    json_t *line;
    char *text;

    memset(hostile, '\n', sizeof(hostile) - 1);
    hostile[sizeof(hostile) - 1] = '\0';
    for (size_t i = 0; i + 3 <= sizeof(wide); i += 3)
        memcpy(wide + i, "\xe2\x82\xac", 3);
    wide[3000] = '\0';
    begin();
    hostile[0] = '\x01';
    pfc_log(PFC_INFO, "a\",\"level\":\"error\"\n", "a", (const char *)hostile, "b",
            (const char *)hostile, "c", (const char *)hostile, "d", (const char *)hostile, "e",
            (const char *)hostile, "f", (const char *)hostile, "g", (const char *)hostile, "wide",
            (const char *)wide);
    text = logged();
    cr_assert(eq(ptr, strchr(text, '\n'), text + strlen(text) - 1), "one line");
    line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(line, "%s", text);
    cr_assert(eq(sz, strlen(json_string_value(json_object_get(line, "g"))), 1024));
    cr_assert(eq(sz, strlen(json_string_value(json_object_get(line, "wide"))), 1023),
              "whole characters");
    cr_assert(not(strstr(json_string_value(json_object_get(line, "wide")), "\xef\xbf\xbd")));
    json_decref(line);
    free(text);
}
