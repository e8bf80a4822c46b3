/* The code of every response status, and the limits of URLs and bodies: at each limit and one
 * beyond it. */
#include <stdlib.h>
#include <string.h>

#include "core/http/client.h"

#include "tests/check/check.h"
#include "tests/core/http/stand_in.h"

#define OURS "{\"error\":{\"message\":\"no\",\"field\":\"a.b\"}}"

static pfc_code check(int status, const char *body, const pfc_http *http, pfc_err *err)
{
    pfc_http_answer answer = { .status = status };
    pfc_code code;

    *err = (pfc_err){ 0 };
    pfc_buf_init(&answer.body, 4096);
    pfc_buf_puts(&answer.body, body);
    code = pfc_http_check(http, &answer, err);
    pfc_http_answer_clear(&answer);
    return code;
}

Test(answers, every_status_has_its_code_and_its_next_step)
{
    static const char token[] = "set PERFCI_TOKEN_FILE to the file of a valid token of ";
    static const char right[] = "use a token that has the right to do this at ";
    static const char lookup[] = "check the name or number; it was looked up at ";
    static const char moved[] = "use the address that this one redirects to: ";
    static const char state[] = "try again later; \"perfci doctor\" shows the state of ";
    static const char later[] = "try again later; the fault is on the side of ";
    static const char correct[] = "correct what the sentence names; it was refused by ";
    static const struct {
        int status;
        pfc_code code;
        const char *ours, *other; /* hints for an answer of perfci's form, and of any other */
    } rows[] = {
        { 199, PFC_EIO, correct, correct },
        { 200, PFC_OK, NULL, NULL },
        { 299, PFC_OK, NULL, NULL },
        { 300, PFC_EIO, moved, moved },
        { 399, PFC_EIO, moved, moved },
        { 400, PFC_EINVAL, correct, correct },
        { 401, PFC_EDENIED, token, right },
        { 403, PFC_EDENIED, right, right },
        { 404, PFC_ENOTFOUND, lookup, lookup },
        { 405, PFC_EIO, correct, correct },
        { 408, PFC_ETIMEOUT, correct, correct },
        { 409, PFC_ECONFLICT, correct, correct },
        { 413, PFC_ETOOBIG, correct, correct },
        { 422, PFC_EINVAL, correct, correct },
        { 429, PFC_EUNAVAIL, state, later },
        { 499, PFC_EIO, correct, correct },
        { 500, PFC_EUNAVAIL, state, later },
        { 503, PFC_EUNAVAIL, state, later },
        { 504, PFC_ETIMEOUT, state, later },
        { 599, PFC_EUNAVAIL, state, later },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        for (int ours = 0; ours < 2; ours++) {
            const char *prefix = ours ? rows[i].ours : rows[i].other;
            char *hint = prefix ? pfc_format("%sthe service", prefix) : pfc_strdup("");
            char *sentence =
                pfc_format("the service at an unknown address answered with HTTP "
                           "status %d%s",
                           rows[i].status,
                           rows[i].status / 100 == 3 ? ", a redirect, which is not followed"
                                                     : " and gave no reason");
            pfc_err err;

            cr_expect(
                eq(int, check(rows[i].status, ours ? OURS : "<html>", NULL, &err), rows[i].code),
                "%d", rows[i].status);
            cr_expect(eq(str, err.hint, hint), "%d", rows[i].status);
            cr_expect(eq(str, err.msg, (char *)(!prefix ? "" : ours ? "no" : sentence)));
            cr_expect(eq(str, err.field, (char *)(prefix && ours ? "a.b" : "")));
            free(sentence);
            free(hint);
        }
    }
}

Test(answers, only_what_may_be_over_soon_is_retried)
{
    static const pfc_code codes[] = { PFC_OK,       PFC_EINVAL,  PFC_ENOTFOUND, PFC_ECONFLICT,
                                      PFC_EDENIED,  PFC_ETOOBIG, PFC_EIO,       PFC_EBUG,
                                      PFC_EUNAVAIL, PFC_ETIMEOUT };

    for (size_t i = 0; i < PFC_ARRAY_LEN(codes); i++)
        cr_expect(eq(int, pfc_http_retryable(codes[i]), i >= 8), "%zu", i);
}

Test(answers, a_sentence_from_outside_is_one_line_and_a_form_of_another_kind_is_none)
{
    static const struct {
        const char *body, *says;
    } rows[] = {
        { "{\"error\":{\"message\":\"a\\tb\\u0001\\u007f\\nc d\"}}", "a b   c d" },
        { "{\"error\":{\"message\":\"\"}}", NULL },
        { "{\"error\":{\"message\":5}}", NULL },
        { "{\"error\":\"no\"}", NULL },
        { "{\"message\":\"no\"}", NULL },
        { "{\"error\":{\"message\":\"a\",\"message\":\"b\"}}", NULL },
        { "[]", NULL },
        { "", NULL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_err err;

        cr_expect(eq(int, check(400, rows[i].body, NULL, &err), PFC_EINVAL));
        cr_expect(eq(str, err.msg,
                     (char *)(rows[i].says ? rows[i].says
                                           : "the service at an unknown address answered with HTTP "
                                             "status 400 and gave no reason")),
                  "%s", rows[i].body);
    }
}

/* ---- addresses ---- */

static pfc_code make(const char *url, const char *token, pfc_http **out)
{
    const pfc_http_opts opts = { .url = url, .token = token };

    return pfc_http_new(&opts, out, NULL);
}

Test(answers, an_address_has_at_most_4096_bytes_and_loses_the_slashes_at_its_end)
{
    char url[4098];
    pfc_http *http = NULL;

    memset(url, 'a', sizeof(url));
    memcpy(url, "http://", 7);
    url[4096] = '\0';
    cr_assert(eq(int, make(url, NULL, &http), PFC_OK));
    cr_expect(eq(str, (char *)pfc_http_url(http), url));
    pfc_http_free(http);
    url[4096] = 'a';
    url[4097] = '\0';
    cr_expect(eq(int, make(url, NULL, &http), PFC_EINVAL));
    cr_assert(eq(int, make("https://host:1/prefix///", NULL, &http), PFC_OK));
    cr_expect(eq(str, (char *)pfc_http_url(http), "https://host:1/prefix"));
    pfc_http_free(http);
    pfc_http_free(NULL);
}

Test(answers, addresses_and_tokens_are_of_printable_characters)
{
    static const char *const bad_urls[] = { "http://:80",       "https://",     "https:///",
                                            "HTTP://host",      "httpx://host", "http:/host",
                                            "http://h#x",       "http://h\tx",  "http://h\x7f",
                                            "http://h\xc3\xa9", "http://h/p@q" };
    static const char *const bad_tokens[] = { "a b", "a\n", "\x7f", "\xc3\xa9", "a\t" };
    pfc_http *http = NULL;

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad_urls); i++)
        cr_expect(eq(int, make(bad_urls[i], NULL, &http), PFC_EINVAL), "%s", bad_urls[i]);
    for (size_t i = 0; i < PFC_ARRAY_LEN(bad_tokens); i++)
        cr_expect(eq(int, make("http://host", bad_tokens[i], &http), PFC_EINVAL), "%zu", i);
    cr_assert(eq(int, make("http://host", "!~pfc_", &http), PFC_OK));
    pfc_http_free(http);
}

Test(answers, every_byte_but_the_unreserved_is_escaped)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (int c = 1; c < 256; c++) {
        const char text[2] = { (char)c, '\0' };
        char *want = strchr(plain, c) ? pfc_strdup(text) : pfc_format("%%%02X", (unsigned)c);
        char *got = pfc_http_escape(text);

        cr_expect(eq(str, got, want), "%d", c);
        free(want);
        free(got);
    }
}

/* ---- against a server ---- */

typedef struct seen {
    const char *raw;
    char method[16], path[1024], headers[2048];
    size_t body_len;
} seen;

static void reply(const stand_in_req *req, pfc_buf *out, void *arg)
{
    seen *s = arg;

    (void)snprintf(s->method, sizeof(s->method), "%s", req->method);
    (void)snprintf(s->path, sizeof(s->path), "%s", req->path);
    (void)snprintf(s->headers, sizeof(s->headers), "%.*s",
                   (int)(strstr(req->headers, "\r\n\r\n") - req->headers + 2), req->headers);
    s->body_len = req->body_len;
    pfc_buf_puts(out, s->raw);
}

static pfc_code send_to(seen *s, const pfc_http_req *req, size_t max, pfc_http_answer *got,
                        pfc_err *err)
{
    pfc_http_opts opts = { .max_answer_bytes = max, .token = "" };
    pfc_http *http = NULL;
    stand_in server;
    pfc_code code;

    stand_in_start(&server, reply, s);
    opts.url = server.url;
    code = pfc_http_new(&opts, &http, err);
    if (!code)
        code = pfc_http_send(http, req, got, err);
    pfc_http_free(http);
    stand_in_stop(&server);
    return code;
}

Test(answers, headers_of_an_answer_are_read_within_their_limits)
{
    static const struct {
        const char *lines;
        double retry_after_s;
        int64_t date;
        const char *type;
    } rows[] = {
        { "Retry-After: 3600\r\n", 3600, 0, NULL },
        { "Retry-After: 3601\r\n", 3600, 0, NULL },
        { "Retry-After: soon\r\n", 0, 0, NULL },
        { "Content-Type: text/plain\r\n", 0, 0, "text/plain" },
        { "Date: Tue, 24 Nov 2026 17:00:00 GMT\r\n", 0, 1795539600, NULL },
        { "Date: now\r\n", 0, 0, NULL },
    };
    const pfc_http_req req = { .path = "/x" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *raw = pfc_format("HTTP/1.1 200 OK\r\n%sContent-Length: 2\r\nConnection: "
                               "close\r\n\r\n{}",
                               rows[i].lines);
        seen s = { .raw = raw };
        pfc_http_answer got = { 0 };
        pfc_err err = { 0 };

        cr_assert(eq(int, send_to(&s, &req, 0, &got, &err), PFC_OK), "%s", err.msg);
        cr_expect(eq(dbl, got.retry_after_s, rows[i].retry_after_s), "%s", rows[i].lines);
        cr_expect(eq(i64, got.date_unix_s, rows[i].date), "%s", rows[i].lines);
        cr_expect(eq(int,
                     (got.content_type && rows[i].type)
                         ? strcmp(got.content_type, rows[i].type)
                         : got.content_type != NULL || rows[i].type != NULL,
                     0),
                  "%s", rows[i].lines);
        cr_expect(eq(str, s.method, "GET"));
        cr_expect(eq(str, s.path, "/x"));
        cr_expect(eq(ptr, strstr(s.headers, "Authorization"), NULL));
        cr_expect(eq(ptr, strstr(s.headers, "Content-Type"), NULL));
        cr_expect(ne(ptr, strstr(s.headers, "Accept: application/json\r\n"), NULL));
        pfc_http_answer_clear(&got);
        free(raw);
    }
}

Test(answers, a_body_of_exactly_the_limit_is_taken)
{
    static const char ten[] = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"
                              "0123456789";
    const pfc_http_req req = { .method = "POST", .path = "/" };

    for (size_t max = 9; max <= 10; max++) {
        seen s = { .raw = ten };
        pfc_http_answer got = { 0 };
        pfc_err err = { 0 };

        cr_expect(eq(int, send_to(&s, &req, max, &got, &err), max < 10 ? PFC_ETOOBIG : PFC_OK));
        if (max == 10)
            cr_expect(eq(str, got.body.data, "0123456789"));
        else
            cr_expect(ne(ptr, strstr(err.msg, "is over 9 bytes"), NULL), "%s", err.msg);
        cr_expect(ne(ptr, strstr(s.headers, "Content-Length: 0\r\n"), NULL), "%s", s.headers);
        pfc_http_answer_clear(&got);
    }
}
