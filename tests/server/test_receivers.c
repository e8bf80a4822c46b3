/* The file of receivers: every word of a line, at its limits, and no secret in any message. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/http/client.h"
#include "server/notify/notify.h"

#include "tests/check/check.h"

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
        { "a", "f:1: expected kind=webhook, kind=slack, kind=github or kind=email" },
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
        { HOOK "https://h from=a@x", "f:1: from and to are for kind=email" },
        { HOOK "https://h to=a@x", "f:1: from and to are for kind=email" },
        { HOOK "https://h events=recover", "f:1: events: \"recover\" is none; known: all" },
        { HOOK "https://h events=recovered,,", "f:1: events: \"\" is none" },
        { HOOK "https://h quiet=22:00", "f:1: quiet: expected two different times" },
        { HOOK "https://h quiet=24:00-01:00", "f:1: quiet: expected two different times" },
        { HOOK "https://h quiet=23:60-01:00", "f:1: quiet: expected two different times" },
        { HOOK "https://h quiet=07:00-07:00", "f:1: quiet: expected two different times" },
        { "a kind=github secret=SECRET repo=o/n events=all", "f:1: events: kind=github comments" },
        { "a kind=email url=https://h from=a@x to=a@x", "f:1: url: expected smtp://HOST" },
        { "a kind=email url=smtp://h/x from=a@x to=a@x", "f:1: url: expected nothing after" },
        { "a kind=email url=smtp://h to=a@x", "f:1: from: expected the sender's address" },
        { "a kind=email url=smtp://h from=a to=a@x", "f:1: from: expected the sender's address" },
        { "a kind=email url=smtp://h from=a@x", "f:1: expected to=ADDRESS" },
        { "a kind=email url=smtp://h from=a@x to=a@x,b", "f:1: to: \"b\" is no address" },
        { "a kind=email url=smtp://h from=a@x to=a@x secret=SECRET",
          "f:1: secret: expected the user, a colon" },
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

Test(receivers, a_backslash_joins_lines_and_faults_keep_their_number)
{
    cr_assert(
        eq(int,
           parse("a kind=slack \\\n  url=URLFILE \\\n project=p\nb kind=slack url=URLFILE\\", NULL),
           PFC_EINVAL)); /* the last line has no next one */
    cr_assert(eq(int, parse("a kind=slack \\\n  url=URLFILE \\\n project=p\n\nB kind=slack", NULL),
                 PFC_EINVAL));
    cr_assert(eq(int, strncmp(err.msg, "f:5: ", 5), 0), "%s", err.msg);
    cr_assert(
        eq(int,
           parse("a kind=slack \\\n  url=URLFILE \\\n project=p\nb kind=slack url=URLFILE", NULL),
           PFC_OK),
        "%s", err.msg);
    cr_assert(eq(sz, all.len, 2));
    cr_assert(eq(str, all.items[0].project, "p"));
    cr_assert(eq(str, all.items[1].project, ""));
}

#define MAIL "a kind=email url=smtps://h from=ci@x.org to=a@x.org "

Test(receivers, a_mailbox_has_a_sender_recipients_and_a_login)
{
    char *login = put("login", "me@x.org:pass:word\n");
    char *text = pfc_format("a kind=email url=smtp://127.0.0.1:2525 from=ci@x.org "
                            "to=a@x.org,b@y.example secret=%s",
                            login);
    char *many, *one_more;

    cr_assert(eq(int, parse(text, NULL), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, all.items[0].kind, PFC_RECEIVER_EMAIL));
    cr_assert(eq(str, all.items[0].url, "smtp://127.0.0.1:2525"));
    cr_assert(eq(str, all.items[0].from, "ci@x.org"));
    cr_assert(eq(sz, all.items[0].to_len, 2));
    cr_assert(eq(str, all.items[0].to[1], "b@y.example"));
    cr_assert(eq(str, all.items[0].secret, "me@x.org:pass:word"));
    cr_assert(eq(int, all.items[0].local, 1));
    free(text);
    cr_assert(eq(int, parse(MAIL, NULL), PFC_OK), "%s", err.msg);
    cr_assert(eq(ptr, all.items[0].secret, NULL));
    cr_assert(eq(int, all.items[0].local, 0));
    many = pfc_strdup("a kind=email url=smtp://h from=a@x to=a@x");
    for (int i = 2; i <= 21; i++) {
        one_more = pfc_format("%s,a@x", many);
        free(many);
        many = one_more;
        if (i == 20)
            cr_assert(eq(int, parse(many, NULL), PFC_OK), "%s", err.msg);
    }
    cr_assert(eq(int, parse(many, NULL), PFC_EINVAL));
    cr_assert(eq(str, err.msg, "f:1: to: expected at most 20 addresses"));
    free(many);
    free(login);
}

Test(receivers, what_a_receiver_takes_and_when)
{
    const pfc_receiver *r;

    cr_assert(eq(int,
                 parse("a kind=slack url=URLFILE\n"
                       "b kind=slack url=URLFILE events=all benchmarks=gemm/*,norm/f?2|(x) "
                       "quiet=22:00-07:30\n"
                       "c kind=github secret=SECRET repo=o/n events=culprit_confirmed\n" MAIL
                       "events=recovered,regression",
                       NULL),
                 PFC_EINVAL));
    cr_assert(eq(str, err.msg, "f:4: another receiver has this name"));
    cr_assert(
        eq(int,
           parse("a kind=slack url=URLFILE\n"
                 "b kind=slack url=URLFILE events=all benchmarks=gemm/*,norm/f?2|(x) "
                 "quiet=22:00-07:30\n"
                 "c kind=github secret=SECRET repo=o/n events=culprit_confirmed\n"
                 "d kind=slack url=URLFILE events=recovered,regression owner=@gemm-*,a.b@x.y\n"
                 "e kind=slack url=URLFILE owner=*\n"
                 "f kind=github secret=SECRET repo=o/n owner=@me\n",
                 NULL),
           PFC_OK),
        "%s", err.msg);
    r = all.items;
    cr_assert(eq(str, r[0].events, ",culprit_confirmed,toolchain,harness,"));
    cr_assert(eq(str, r[0].benchmarks, ""));
    cr_assert(eq(int, r[0].quiet_from_min, r[0].quiet_to_min));
    cr_assert(eq(str, r[1].events,
                 ",culprit_confirmed,toolchain,harness,regression,worsened,infrastructure,"
                 "recovered,"));
    cr_assert(eq(str, r[1].benchmarks, "^(?:gemm\\/.*|norm\\/f.2\\|\\(x\\))$"));
    cr_assert(eq(int, r[1].quiet_from_min, 22 * 60));
    cr_assert(eq(int, r[1].quiet_to_min, 7 * 60 + 30));
    cr_assert(eq(str, r[2].events, ",culprit_confirmed,"));
    cr_assert(eq(str, r[3].events, ",recovered,regression,"));
    cr_assert(eq(str, r[0].owners, ""));  /* what no receiver takes by its owner */
    cr_assert(eq(str, r[2].owners, "^")); /* a comment on a commit */
    cr_assert(eq(str, r[3].owners, "(?:^| )(?:\\@gemm\\-[^ ]*|a\\.b\\@x\\.y)(?: |$)"));
    cr_assert(eq(str, r[4].owners, "^"));
    cr_assert(eq(str, r[5].owners, "(?:^| )(?:\\@me)(?: |$)"));
}

/* Seconds until 07:30 at that local time, as `date -d` reads it, in Berlin. */
static double quiet_at(const char *quiet, int64_t unix_s)
{
    char *text = pfc_format("b kind=slack url=URLFILE quiet=%s", quiet);
    double s;

    cr_assert(eq(int, parse(text, NULL), PFC_OK), "%s", err.msg);
    s = pfc_receiver_quiet_s(&all.items[0], unix_s);
    free(text);
    return s;
}

Test(receivers, quiet_hours_end_by_the_clock_on_the_wall)
{
    /* 2026-03-28 22:00 in Berlin, the night before the clocks go forward at 02:00. */
    const int64_t night = 1774731600;

    setenv("TZ", "Europe/Berlin", 1);
    tzset();
    cr_expect(eq(dbl, quiet_at("22:00-07:30", night - 1), 0.0));
    cr_expect(eq(dbl, quiet_at("22:00-07:30", night), 8.5 * 3600)); /* not 9.5: one hour is lost */
    cr_expect(eq(dbl, quiet_at("22:00-07:30", night + 3600 * 8), 1800.0));
    cr_expect(eq(dbl, quiet_at("22:00-07:30", night + (int64_t)(3600 * 8.5)), 0.0));
    cr_expect(eq(dbl, quiet_at("12:00-14:00", night), 0.0));
    cr_expect(eq(dbl, quiet_at("12:00-14:00", night - 10 * 3600), 2.0 * 3600));
    cr_expect(eq(dbl, quiet_at("12:00-14:00", night - 8 * 3600), 0.0));
    /* 2026-10-24 23:00, the night in which an hour comes twice. */
    cr_expect(eq(dbl, quiet_at("22:00-07:30", 1792875600), 9.5 * 3600));
}

static int64_t digest_at(const char *words, int64_t unix_s)
{
    char *text = pfc_format("b kind=slack url=URLFILE %s", words);
    int64_t at;

    cr_assert(eq(int, parse(text, NULL), PFC_OK), "%s: %s", words, err.msg);
    at = pfc_receiver_digest_at(&all.items[0], unix_s);
    free(text);
    return at;
}

Test(receivers, digests_come_by_the_clock_of_their_zone_and_not_in_quiet_hours)
{
    static const char *const faults[] = { "weekly",           "daily",
                                          "\"daily 24:00\"",  "\"daily 8:00\"",
                                          "\"daily 08:00 \"", "\"daily 08:00x\"",
                                          "\"hourly UTC\"" };
    const int64_t noon = 1774699200; /* 2026-03-28 12:00 UTC; the clocks go forward in the night */

    setenv("TZ", "UTC", 1);
    tzset();
    cr_expect(eq(i64, digest_at("", noon), 0));
    cr_expect(eq(i64, digest_at("digest=hourly", noon), noon + 3600));
    cr_expect(eq(i64, digest_at("digest=hourly", noon - 1), noon));
    cr_expect(eq(i64, digest_at("digest=\"daily 12:30\"", noon), noon + 1800));
    cr_expect(eq(i64, digest_at("digest=\"daily 12:00\"", noon), noon + 86400));
    /* 08:00 in summer time is 06:00 UTC, the day before it was 07:00. */
    cr_expect(eq(i64, digest_at("digest=\"daily 08:00 Europe/Berlin\"", noon), noon + 18 * 3600));
    cr_expect(eq(i64, digest_at("digest=\"daily 08:00 Europe/Berlin\"", noon - 18 * 3600),
                 noon - 5 * 3600));
    cr_expect(
        eq(i64, digest_at("digest=hourly quiet=12:30-15:45", noon), noon + 3 * 3600 + 45 * 60));
    for (size_t i = 0; i < PFC_ARRAY_LEN(faults); i++) {
        char *text = pfc_format("b kind=slack url=URLFILE digest=%s", faults[i]);

        cr_expect(eq(int, parse(text, NULL), PFC_EINVAL), "%s", faults[i]);
        cr_expect(
            eq(str, err.msg, "f:1: digest: expected hourly, or \"daily HH:MM [ZONE]\" in quotes"));
        free(text);
    }
    cr_expect(
        eq(int, parse("b kind=slack url=URLFILE digest=\"daily 08:00 Mars/X\"", NULL), PFC_EINVAL));
    cr_expect(eq(int, strncmp(err.msg, "f:1: digest: ", 13), 0), "%s", err.msg);
    cr_expect(ne(ptr, strstr(err.msg, "Mars/X"), NULL), "%s", err.msg);
    cr_expect(
        eq(int, parse("c kind=github secret=SECRET repo=o/n digest=hourly", NULL), PFC_EINVAL));
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
