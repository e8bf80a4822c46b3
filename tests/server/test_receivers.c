/* The file of receivers: every word of a line, at its limits, and no secret in any message. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/http/client.h"
#include "server/notify/notify.h"

static char *dir, *secret, *url_file;
static pfc_receivers all;
static pfc_err err;

static char *put(const char *name, const char *text)
{
    char *path = pfc_fs_join(dir, name);

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0600, &err), PFC_OK));
    return path;
}

static void setup(void)
{
    cr_assert(eq(int, pfc_fs_temp_dir("receivers", &dir, &err), PFC_OK));
    secret = put("secret", "0123456789abcdef\nsecond line\n");
    url_file = put("url", "https://hooks.example.org/services/T0/PASSWORD\n");
}

static void teardown(void)
{
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK));
    free(dir);
    free(secret);
    free(url_file);
}

TestSuite(receivers, .init = setup, .fini = teardown);

/* SECRET and URLFILE in the text become paths of files. */
static pfc_code parse(const char *text, const char *networks)
{
    pfc_buf buf;
    pfc_code code;

    pfc_receivers_clear(&all);
    err = (pfc_err){ 0 };
    pfc_buf_init(&buf, 1 << 20);
    for (const char *at = text; *at; at++) {
        if (strncmp(at, "SECRET", 6) == 0) {
            pfc_buf_puts(&buf, secret);
            at += 5;
        } else if (strncmp(at, "URLFILE", 7) == 0) {
            pfc_buf_puts(&buf, url_file);
            at += 6;
        } else {
            pfc_buf_putc(&buf, *at);
        }
    }
    code = pfc_receivers_parse(pfc_buf_text(&buf), "f", networks, &all, &err);
    pfc_buf_clear(&buf);
    return code;
}

Test(receivers, a_line_is_a_name_and_words)
{
    const pfc_receiver *r;

    cr_assert(eq(int,
                 parse("# a comment\n\nci kind=webhook url=https://a.example.org:8443/hook?x=1 "
                       "secret=SECRET project=kernels\r\n  chat\tkind=slack url=URLFILE\n"
                       "gh kind=github secret=SECRET repo=Owner/na-me_1.x\n",
                       NULL),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, all.len, 3));
    r = &all.items[0];
    cr_assert(eq(str, r->name, "ci"));
    cr_assert(eq(int, r->kind, PFC_RECEIVER_WEBHOOK));
    cr_assert(eq(str, r->url, "https://a.example.org:8443"));
    cr_assert(eq(str, r->path, "/hook?x=1"));
    cr_assert(eq(str, r->project, "kernels"));
    cr_assert(eq(str, r->secret, "0123456789abcdef"));
    cr_assert(eq(ptr, r->repo, NULL));
    cr_assert(not(r->local));
    r = &all.items[1];
    cr_assert(eq(int, r->kind, PFC_RECEIVER_SLACK));
    cr_assert(eq(str, r->url, "https://hooks.example.org"));
    cr_assert(eq(str, r->path, "/services/T0/PASSWORD"));
    cr_assert(eq(str, r->project, ""));
    cr_assert(eq(ptr, r->secret, NULL));
    r = &all.items[2];
    cr_assert(eq(int, r->kind, PFC_RECEIVER_GITHUB));
    cr_assert(eq(str, r->url, "https://api.github.com"));
    cr_assert(eq(str, r->path, "/"));
    cr_assert(eq(str, r->repo, "Owner/na-me_1.x"));
    pfc_receivers_clear(&all);
    cr_assert(eq(sz, all.len, 0));
}

#define HOOK "a kind=webhook secret=SECRET url="

Test(receivers, each_fault_is_named_with_its_line)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "", "f: it names no receiver" },
        { "# only\n", "f: it names no receiver" },
        { "\n\nA kind=slack url=URLFILE", "f:3: a line begins with the receiver's name" },
        { "a kind=slack url=URLFILE\na kind=slack url=URLFILE\n",
          "f:2: another receiver has this name" },
        { "a", "f:1: expected kind=webhook, kind=slack or kind=github" },
        { "a kind=mail url=URLFILE", "f:1: expected kind=webhook" },
        { "a kind", "f:1: expected NAME WORD=VALUE..., got \"kind\"" },
        { "a kind=", "f:1: expected NAME WORD=VALUE..." },
        { "a kind=slack kind=slack url=URLFILE", "f:1: expected kind once, got it twice" },
        { "a kind=slack url=URLFILE url=URLFILE", "f:1: expected url once, got it twice" },
        { "a kind=slack colour=red", "f:1: unknown word \"colour\"; known: kind, url, secret" },
        { "a kind=slack url=URLFILE project=No+Slug", "f:1: project: expected a project's name" },
        { "a kind=slack url=URLFILE repo=o/n", "f:1: repo is for kind=github" },
        { HOOK "https://h repo=o/n", "f:1: repo is for kind=github" },
        { "a kind=slack", "f:1: expected url=" },
        { "a kind=webhook secret=SECRET", "f:1: expected url=" },
        { "a kind=slack url=URLFILE secret=SECRET", "f:1: kind=slack signs nothing" },
        { "a kind=webhook url=https://h", "f:1: expected secret=FILE" },
        { "a kind=github repo=o/n", "f:1: expected secret=FILE" },
        { "a kind=github secret=SECRET", "f:1: repo: expected OWNER/NAME" },
        { "a kind=github secret=SECRET repo=o", "f:1: repo: expected OWNER/NAME" },
        { "a kind=github secret=SECRET repo=/n", "f:1: repo: expected OWNER/NAME" },
        { "a kind=github secret=SECRET repo=o/", "f:1: repo: expected OWNER/NAME" },
        { "a kind=github secret=SECRET repo=o/n/m", "f:1: repo: expected OWNER/NAME" },
        { "a kind=github secret=SECRET repo=o/..", "f:1: repo: expected OWNER/NAME" },
        { "a kind=github secret=SECRET repo=o/n?x", "f:1: repo: expected OWNER/NAME" },
        { "a kind=webhook secret=/no/such/file url=https://h", "f:1: " },
        { "a kind=slack url=/no/such/file", "f:1: " },
        { HOOK "ftp://h", "f:1: url: expected https://HOST" },
        { HOOK "https://h/#x", "f:1: url: expected printable characters" },
        { HOOK "https://h/\x01", "f:1: url: expected printable characters" },
        { HOOK "https://", "f:1: url: it names no host" },
        { HOOK "https:///x", "f:1: url: it names no host" },
        { HOOK "https://[]/x", "f:1: url: it names no host" },
        { HOOK "https://u:p@h/x", "f:1: url: expected no user or password in it" },
        { HOOK "http://example.org/x", "f:1: url: expected https; http only to this machine" },
        { HOOK "http://10.1.2.3/x", "f:1: url: expected https; http only to this machine" },
        { HOOK "http://localhosts/x", "f:1: url: expected https; http only to this machine" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_assert(eq(int, parse(rows[i].text, NULL), PFC_EINVAL), "%s", rows[i].text);
        cr_assert(eq(int, strncmp(err.msg, rows[i].message, strlen(rows[i].message)), 0),
                  "%s: expected %s, got %s", rows[i].text, rows[i].message, err.msg);
        cr_assert(eq(ptr, strstr(err.msg, "PASSWORD"), NULL));
        cr_assert(eq(ptr, strstr(err.msg, "u:p"), NULL));
    }
    pfc_receivers_clear(&all);
}

Test(receivers, http_goes_to_this_machine_and_to_listed_networks)
{
    static const struct {
        const char *url, *networks, *base, *path;
        bool local;
    } rows[] = {
        { "http://127.0.0.1:9/x", NULL, "http://127.0.0.1:9", "/x", true },
        { "http://[::1]:9/x", NULL, "http://[::1]:9", "/x", true },
        { "http://localhost/x", NULL, "http://localhost", "/x", true },
        { "http://LocalHost?q=1", NULL, "http://LocalHost", "/?q=1", true },
        { "https://127.8.8.8", NULL, "https://127.8.8.8", "/", true },
        { "http://10.1.2.3/x", "10.0.0.0/8", "http://10.1.2.3", "/x", false },
        { "http://10.1.2.3/x", "192.168.0.0/16, 10.0.0.0/8", "http://10.1.2.3", "/x", false },
        { "https://example.org/@x", NULL, "https://example.org", "/@x", false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *text = pfc_format(HOOK "%s", rows[i].url);

        cr_assert(eq(int, parse(text, rows[i].networks), PFC_OK), "%s: %s", text, err.msg);
        cr_assert(eq(str, all.items[0].url, (char *)rows[i].base));
        cr_assert(eq(str, all.items[0].path, (char *)rows[i].path));
        cr_assert(eq(int, all.items[0].local, rows[i].local), "%s", rows[i].url);
        free(text);
    }
    cr_assert(eq(int, parse(HOOK "http://11.1.2.3/x", "10.0.0.0/8"), PFC_EINVAL));
    pfc_receivers_clear(&all);
}

static char *times(const char *text, char c, size_t len)
{
    const size_t at = strlen(text);
    char *out = pfc_calloc(at + len + 1, 1);

    memcpy(out, text, at);
    memset(out + at, c, len);
    return out;
}

Test(receivers, secrets_urls_lines_and_files_hold_at_their_limits)
{
    char *path = put("short", "0123456789abcde\n");
    char *text = pfc_format("a kind=webhook url=https://h secret=%s", path);
    pfc_buf many;

    cr_assert(eq(int, parse(text, NULL), PFC_EINVAL));
    cr_assert(eq(str, err.msg, "f:1: the secret is under 16 bytes"));
    free(text);
    free(path);
    for (size_t more = 0; more <= 1; more++) {
        const size_t len = PFC_HTTP_MAX_URL - strlen("https://h/") + more;

        text = times(HOOK "https://h/", 'x', len);
        cr_assert(eq(int, parse(text, NULL), more ? PFC_EINVAL : PFC_OK), "%s", err.msg);
        free(text);
    }
    for (size_t more = 0; more <= 1; more++) {
        text = times("a kind=slack url=https://h", ' ', 8192 - 26 + more);
        cr_assert(eq(int, parse(text, NULL), more ? PFC_EINVAL : PFC_OK), "%s", err.msg);
        free(text);
    }
    cr_assert(eq(str, err.msg, "f:1: the line is over 8192 bytes"));
    pfc_buf_init(&many, 1 << 20);
    for (int i = 1; i <= 65; i++) {
        pfc_buf_printf(&many, "r%d kind=slack url=https://h\n", i);
        if (i == 64)
            cr_assert(eq(int, parse(pfc_buf_text(&many), NULL), PFC_OK), "%s", err.msg);
    }
    cr_assert(eq(int, parse(pfc_buf_text(&many), NULL), PFC_EINVAL));
    cr_assert(eq(str, err.msg, "f:65: expected at most 64 receivers"));
    pfc_buf_clear(&many);
    pfc_receivers_clear(&all);
}
