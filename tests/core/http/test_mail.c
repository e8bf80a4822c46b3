/* Mail against a server of a few lines in the test's own process: what is sent, what each reply
 * means, and what is refused before a connection. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/http/mail.h"

#include "tests/check/check.h"

#define LINE_MAX_BYTES 2000

/* One session: the reply to each command, and all that the client said. */
typedef struct mail_server {
    int listen_fd;
    pthread_t thread;
    char url[64];
    const char *greeting, *hello, *login, *from, *to, *data, *end; /* NULL: accepted */
    int sessions;
    pfc_buf said;
} mail_server;

static bool read_line(FILE *in, char line[LINE_MAX_BYTES], pfc_buf *said)
{
    if (!fgets(line, LINE_MAX_BYTES, in))
        return false;
    pfc_buf_puts(said, line);
    return true;
}

static const char *reply_to(const mail_server *server, const char *line)
{
    const struct {
        const char *command, *reply, *accepted;
    } rows[] = {
        { "EHLO", server->hello, "250-here\r\n250 AUTH PLAIN" },
        { "HELO", server->hello, "250 here" },
        { "AUTH", NULL, "334 " },
        { "MAIL", server->from, "250 sender" },
        { "RCPT", server->to, "250 recipient" },
        { "DATA", server->data, "354 send it" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        if (strncmp(line, rows[i].command, 4) == 0)
            return rows[i].reply ? rows[i].reply : rows[i].accepted;
    return "221 bye";
}

static void talk(mail_server *server, FILE *in, FILE *out)
{
    char line[LINE_MAX_BYTES];

    fprintf(out, "%s\r\n", server->greeting ? server->greeting : "220 here");
    fflush(out);
    while (read_line(in, line, &server->said)) {
        const char *reply = reply_to(server, line);

        fprintf(out, "%s\r\n", reply);
        fflush(out);
        if (strncmp(reply, "334", 3) == 0 && read_line(in, line, &server->said)) {
            fprintf(out, "%s\r\n", server->login ? server->login : "235 welcome");
            fflush(out);
        }
        if (strncmp(reply, "354", 3) != 0)
            continue;
        while (read_line(in, line, &server->said) && strcmp(line, ".\r\n") != 0)
            continue;
        fprintf(out, "%s\r\n", server->end ? server->end : "250 taken");
        fflush(out);
    }
}

static void *serve(void *arg)
{
    mail_server *server = arg;

    for (int fd; (fd = accept(server->listen_fd, NULL, NULL)) >= 0;) {
        FILE *in = fdopen(fd, "r"), *out = fdopen(dup(fd), "w");

        server->sessions++;
        talk(server, in, out);
        fclose(in);
        fclose(out);
    }
    return NULL;
}

static void start(mail_server *server)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);

    server->listen_fd = socket(AF_INET, SOCK_STREAM, 0);
    pfc_buf_init(&server->said, 1 << 20);
    cr_assert(eq(int, bind(server->listen_fd, (struct sockaddr *)&at, sizeof(at)), 0));
    cr_assert(eq(int, listen(server->listen_fd, 4), 0));
    cr_assert(eq(int, getsockname(server->listen_fd, (struct sockaddr *)&at, &len), 0));
    (void)snprintf(server->url, sizeof(server->url), "smtp://127.0.0.1:%d", ntohs(at.sin_port));
    cr_assert(eq(int, pthread_create(&server->thread, NULL, serve, server), 0));
}

static void stop(mail_server *server)
{
    (void)shutdown(server->listen_fd, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->listen_fd);
}

static const char *const two[] = { "a@example.org", "b@example.org" };

static pfc_mail message(void)
{
    return (pfc_mail){ .from = "perfci@example.org",
                       .to = two,
                       .to_len = 2,
                       .subject = "gemm is 5 % slower",
                       .id = "n17-1",
                       .text = "a line\r\n.dot\r\nna\xc3\xafve\r\n",
                       .date_unix_s = 1795539600 }; /* 2026-11-24, a Tuesday, 17:00 UTC */
}

/* One message to a server that replies so; err may be NULL. */
static pfc_code deliver(mail_server *server, const pfc_mail *mail, bool login, pfc_err *err)
{
    pfc_mail_opts opts = { .clear = true, .name = "receiver mail", .timeout_s = 60 };
    pfc_code code;

    start(server);
    opts.url = server->url;
    if (login) {
        opts.user = "me";
        opts.password = "pass-word";
    }
    code = pfc_mail_send(&opts, mail, err);
    stop(server);
    return code;
}

#define expect_said(server, text)                                                                  \
    cr_expect(ne(ptr, strstr(pfc_buf_text(&(server).said), (text)), NULL), "%s",                   \
              pfc_buf_text(&(server).said))

Test(mail, a_message_goes_to_each_recipient_with_all_its_headers)
{
    mail_server server = { 0 };
    const pfc_mail mail = message();
    pfc_err err = { 0 };

    cr_assert(eq(int, deliver(&server, &mail, false, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(int, server.sessions, 1));
    expect_said(server, "MAIL FROM:<perfci@example.org>");
    expect_said(server, "RCPT TO:<a@example.org>\r\n");
    expect_said(server, "RCPT TO:<b@example.org>\r\n");
    expect_said(server, "Date: Tue, 24 Nov 2026 17:00:00 +0000\r\n");
    expect_said(server, "From: perfci <perfci@example.org>\r\n");
    expect_said(server, "To: <a@example.org>,\r\n <b@example.org>\r\n");
    expect_said(server, "Subject: gemm is 5 % slower\r\n");
    expect_said(server, "Message-ID: <n17-1.perfci@example.org>\r\n");
    expect_said(server, "Auto-Submitted: auto-generated\r\n");
    expect_said(server, "MIME-Version: 1.0\r\n");
    expect_said(server, "Content-Type: text/plain; charset=utf-8\r\n");
    expect_said(server, "\r\n..dot\r\nna=C3=AFve\r\n");
    cr_expect(eq(ptr, strstr(pfc_buf_text(&server.said), "AUTH"), NULL));
    pfc_buf_clear(&server.said);
}

/* The first day of a year, a month and a week, and the last. */
Test(mail, dates_have_english_names_whatever_the_locale)
{
    static const struct {
        int64_t unix_s;
        const char *line;
    } rows[] = {
        { 0, "Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n" },
        { 1735689599, "Date: Tue, 31 Dec 2024 23:59:59 +0000\r\n" },
        { 1740873661, "Date: Sun, 02 Mar 2025 00:01:01 +0000\r\n" },
        { 1751068799, "Date: Fri, 27 Jun 2025 23:59:59 +0000\r\n" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        mail_server server = { 0 };
        pfc_mail mail = message();

        mail.date_unix_s = rows[i].unix_s;
        cr_assert(eq(int, deliver(&server, &mail, false, NULL), PFC_OK));
        expect_said(server, rows[i].line);
        pfc_buf_clear(&server.said);
    }
}

/* Base64 of Python 3.11: base64.b64encode(text.encode()). */
Test(mail, subjects_are_one_line_of_whole_characters)
{
    char long_plain[240], long_line[240], words[400];
    mail_server server = { 0 };
    pfc_mail mail = message();

    memset(long_plain, 'x', 239);
    long_plain[239] = '\0';
    (void)snprintf(long_line, sizeof(long_line), "Subject: %.200s\r\n", long_plain);
    /* 22 characters of two bytes are 44, and a 23rd would be the 46th. */
    (void)snprintf(words, sizeof(words), "Subject: =?UTF-8?B?%s?=\r\n =?UTF-8?B?w6k=?=\r\n",
                   "w6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6k=");
    const struct {
        const char *subject, *line;
    } rows[] = {
        { "a\r\nBcc: all@example.org", "Subject: a  Bcc: all@example.org\r\n" },
        { "tab\tbell\x07", "Subject: tab bell \r\n" },
        { "\xc3\xa9", "Subject: =?UTF-8?B?w6k=?=\r\n" },
        { "a\x7f", "Subject: =?UTF-8?B?YX8=?=\r\n" },
        { "=?UTF-8?Q?x?=", "Subject: =?UTF-8?B?PT9VVEYtOD9RP3g/PQ==?=\r\n" },
        { "~ !", "Subject: ~ !\r\n" },
        { long_plain, long_line },
        { "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
          "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
          "\xc3\xa9",
          words },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        server = (mail_server){ 0 };
        mail.subject = rows[i].subject;
        cr_assert(eq(int, deliver(&server, &mail, false, NULL), PFC_OK));
        expect_said(server, rows[i].line);
        pfc_buf_clear(&server.said);
    }
}

Test(mail, the_login_is_sent_and_never_shown)
{
    mail_server server = { 0 };
    const pfc_mail mail = message();
    pfc_err err = { 0 };

    cr_assert(eq(int, deliver(&server, &mail, true, &err), PFC_OK), "%s", err.msg);
    expect_said(server, "AUTH PLAIN\r\nAG1lAHBhc3Mtd29yZA==\r\n"); /* "\0me\0pass-word" */
    pfc_buf_clear(&server.said);
    for (int later = 0; later < 2; later++) {
        server = (mail_server){ .login = later ? "454 later" : "535 no" };
        cr_expect(eq(int, deliver(&server, &mail, true, &err), later ? PFC_EUNAVAIL : PFC_EDENIED));
        cr_expect(eq(str, err.msg,
                     later ? "receiver mail refuses the login (454)"
                           : "receiver mail refuses the login (535)"));
        pfc_buf_clear(&server.said);
    }
}

/* RFC 5321, 4.2.1: 4xx asks to try later, 5xx is final, whatever the command. */
Test(mail, each_reply_says_whether_to_try_again)
{
    static const struct {
        mail_server server;
        pfc_code code;
        const char *says;
    } rows[] = {
        { { .from = "400 a" }, PFC_EUNAVAIL, "receiver mail asks to try later (400)" },
        { { .from = "499 a" }, PFC_EUNAVAIL, "receiver mail asks to try later (499)" },
        { { .from = "500 a" }, PFC_EINVAL, "receiver mail refuses the message (500)" },
        { { .from = "599 a" }, PFC_EINVAL, "receiver mail refuses the message (599)" },
        { { .to = "450 a" }, PFC_EUNAVAIL, "receiver mail asks to try later (450)" },
        { { .to = "550 a" }, PFC_EINVAL, "receiver mail refuses the message (550)" },
        { { .data = "451 a" }, PFC_EUNAVAIL, "receiver mail asks to try later (451)" },
        { { .data = "554 a" }, PFC_EINVAL, "receiver mail refuses the message (554)" },
        { { .end = "452 a" }, PFC_EUNAVAIL, "receiver mail asks to try later (452)" },
        { { .end = "552 a" }, PFC_EINVAL, "receiver mail refuses the message (552)" },
        { { .greeting = "421 a" }, PFC_EUNAVAIL, "receiver mail asks to try later (421)" },
        { { .greeting = "554 a" }, PFC_EINVAL, "receiver mail refuses the message (554)" },
    };
    const pfc_mail mail = message();

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        mail_server server = rows[i].server;
        pfc_err err = { 0 };

        cr_expect(eq(int, deliver(&server, &mail, false, &err), rows[i].code), "%zu: %s", i,
                  err.msg);
        cr_expect(eq(str, err.msg, (char *)rows[i].says), "%zu", i);
        pfc_buf_clear(&server.said);
    }
}

static bool true_of(void *arg)
{
    return arg != NULL;
}

static bool unreachable(void *arg, const struct sockaddr *address)
{
    *(int *)arg = address->sa_family;
    return false;
}

Test(mail, no_message_leaves_in_clear_or_to_a_forbidden_address_or_after_cancellation)
{
    mail_server server = { 0 };
    const pfc_mail mail = message();
    pfc_mail_opts opts = { .timeout_s = 60 };
    int family = 0;
    pfc_err err = { 0 };
    char *says;

    start(&server);
    opts.url = server.url;
    cr_expect(eq(int, pfc_mail_send(&opts, &mail, &err), PFC_EIO));
    says = pfc_format("%s offers no TLS, which is required", server.url);
    cr_expect(eq(str, err.msg, says));
    free(says);
    opts.clear = true;
    opts.may_reach = unreachable;
    opts.may_reach_arg = &family;
    cr_expect(eq(int, pfc_mail_send(&opts, &mail, &err), PFC_EDENIED));
    cr_expect(eq(int, family, AF_INET));
    opts.may_reach = NULL;
    opts.cancelled = true_of;
    opts.cancelled_arg = &family;
    cr_expect(eq(int, pfc_mail_send(&opts, &mail, &err), PFC_ECONFLICT));
    opts.cancelled_arg = NULL;
    cr_expect(eq(int, pfc_mail_send(&opts, &mail, &err), PFC_OK), "%s", err.msg);
    stop(&server);
    expect_said(server, "MAIL FROM");
    cr_expect(
        eq(ptr, strstr(strstr(pfc_buf_text(&server.said), "MAIL FROM") + 1, "MAIL FROM"), NULL));
    cr_expect(eq(int, pfc_mail_send(&opts, &mail, &err), PFC_EUNAVAIL));
    pfc_buf_clear(&server.said);
}

Test(mail, addresses_are_of_two_parts_without_anything_special)
{
    static const char *const bad[] = { "",      "a",       "@b",        "a@",   "a@b@c", "a b@c",
                                       "a@b c", "<a@b",    "a>@b",      "(a@b", "a)@b",  "[a@b",
                                       "a]@b",  "a\\@b",   "a,@b",      "a;@b", "a:@b",  "\"a@b",
                                       "a\n@b", "a@b\x7f", "a@\xc3\xa9" };
    char text[256];

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++)
        cr_expect(not(pfc_mail_is_address(bad[i])), "%s", bad[i]);
    cr_expect(pfc_mail_is_address("a@b"));
    cr_expect(pfc_mail_is_address("first.last+tag!#$%&'*/=?^_`{|}~-@x.example.org"));
    memset(text, 'a', sizeof(text));
    text[1] = '@';
    text[254] = '\0';
    cr_expect(pfc_mail_is_address(text));
    text[254] = 'a';
    text[255] = '\0';
    cr_expect(not(pfc_mail_is_address(text)));
}

Test(mail, contradictory_arguments_are_refused_before_a_connection)
{
    static const struct {
        const char *url, *user, *password, *says;
    } rows[] = {
        { "http://h", NULL, NULL, "mail: expected smtp://HOST or smtps://HOST" },
        { "smtp:/h", NULL, NULL, "mail: expected smtp://HOST or smtps://HOST" },
        { "smtps:/h", NULL, NULL, "mail: expected smtp://HOST or smtps://HOST" },
        { "smtp://h", "u", NULL, "mail: expected a user with a password, or neither" },
        { "smtps://h", NULL, "p", "mail: expected a user with a password, or neither" },
    };
    const char *many[PFC_MAIL_MAX_RECIPIENTS + 1];
    mail_server server = { 0 };
    pfc_mail mail = message();
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_mail_opts opts = { .url = rows[i].url,
                                     .user = rows[i].user,
                                     .password = rows[i].password };

        cr_expect(eq(int, pfc_mail_send(&opts, &mail, &err), PFC_EINVAL));
        cr_expect(eq(str, err.msg, (char *)rows[i].says));
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(many); i++)
        many[i] = i ? "a@b" : "c@d";
    mail.to = many;
    for (size_t len = 0; len <= PFC_ARRAY_LEN(many); len += len == 1 ? 19 : 1) {
        const bool good = len == 1 || len == 20;

        server = (mail_server){ 0 };
        mail.to_len = len;
        cr_expect(eq(int, deliver(&server, &mail, false, &err), good ? PFC_OK : PFC_EINVAL), "%zu",
                  len);
        cr_expect(eq(int, server.sessions, good));
        pfc_buf_clear(&server.said);
    }
    cr_expect(eq(str, err.msg, "mail: expected 1 to 20 recipients, got 21"));
    mail.to_len = 2;
    many[1] = "b";
    cr_expect(eq(int, deliver(&server, &mail, false, &err), PFC_EINVAL));
    cr_expect(eq(str, err.msg, "mail: recipient 2 is no address"));
    pfc_buf_clear(&server.said);
    mail.to_len = 1;
    mail.from = "perfci";
    cr_expect(eq(int, deliver(&server, &mail, false, &err), PFC_EINVAL));
    cr_expect(eq(str, err.msg, "mail: the sender is no address"));
    pfc_buf_clear(&server.said);
}
