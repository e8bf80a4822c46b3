/* A log line is one line of JSON, whatever is put into it. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "core/base/fs.h"
#include "core/base/log.h"

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

Test(log, bytes_that_are_no_utf8_are_replaced)
{
    char *text;

    begin();
    pfc_log(PFC_ERROR, "odd", "text", "a\xff");
    text = logged();
    cr_assert_not_null(strstr(text, "\"text\":\"a\xef\xbf\xbd\""), "%s", text);
    free(text);
}

Test(log, level_words)
{
    pfc_log_level level = PFC_OFF;

    cr_assert(pfc_log_level_parse("warn", &level));
    cr_assert(eq(int, level, PFC_WARN));
    cr_assert_not(pfc_log_level_parse("loud", &level));
}
