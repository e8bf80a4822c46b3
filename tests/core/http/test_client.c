/* The client against a server that answers whatever a test wants. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/http/client.h"

#include "tests/check/check.h"
#include "tests/core/http/stand_in.h"

typedef struct script {
    const char *raw; /* sent as it is when not NULL */
    size_t raw_len;
    int status; /* else this status and body */
    const char *body;
    int calls; /* what came */
    char method[16];
    char path[1024];
    char headers[4096];
    size_t body_len;
    char body_start[64];
} script;

static stand_in server;
static script play;
static pfc_http *http;

static void answer(const stand_in_req *req, pfc_buf *out, void *arg)
{
    script *s = arg;

    s->calls++;
    (void)snprintf(s->method, sizeof(s->method), "%s", req->method);
    (void)snprintf(s->path, sizeof(s->path), "%s", req->path);
    (void)snprintf(s->headers, sizeof(s->headers), "%.*s",
                   (int)(strstr(req->headers, "\r\n\r\n") - req->headers + 2), req->headers);
    (void)snprintf(s->body_start, sizeof(s->body_start), "%s", req->body);
    s->body_len = req->body_len;
    if (s->raw)
        pfc_buf_append(out, s->raw, s->raw_len);
    else if (s->status)
        stand_in_json(out, s->status, s->body ? s->body : "");
}

static void start(const char *token, size_t max_answer)
{
    pfc_http_opts opts = { .token = token, .max_answer_bytes = max_answer };
    pfc_err err = { 0 };

    stand_in_start(&server, answer, &play);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK), "%s", err.msg);
}

static void stop(void)
{
    pfc_http_free(http);
    stand_in_stop(&server);
}

Test(http, json_goes_out_and_comes_back)
{
    json_t *body = json_pack("{s:i}", "n", 7);
    json_t *doc = NULL;
    int status = 0;
    pfc_err err = { 0 };

    play = (script){ .status = 201, .body = "{\"run_id\": 12}" };
    start("pfc_secret", 0);
    cr_assert(
        eq(int, pfc_http_json(http, "POST", "/api/v1/runs", body, &status, &doc, &err), PFC_OK),
        "%s", err.msg);
    cr_assert(eq(int, status, 201));
    cr_assert(eq(int, (int)json_integer_value(json_object_get(doc, "run_id")), 12));
    cr_assert(eq(str, play.method, "POST"));
    cr_assert(eq(str, play.path, "/api/v1/runs"));
    cr_assert(eq(str, play.body_start, "{\"n\":7}"));
    cr_assert(ne(ptr, strstr(play.headers, "Authorization: Bearer pfc_secret\r\n"), NULL));
    cr_assert(ne(ptr, strstr(play.headers, "Content-Type: application/json\r\n"), NULL));
    cr_assert(ne(ptr, strstr(play.headers, "Accept-Encoding: "), NULL));
    cr_assert(eq(ptr, strstr(play.headers, "Expect:"), NULL));
    json_decref(body);
    json_decref(doc);
    stop();
}

Test(http, an_empty_answer_is_no_document)
{
    json_t *doc = NULL;
    int status = 0;
    pfc_err err = { 0 };

    play = (script){ .raw = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n" };
    play.raw_len = strlen(play.raw);
    start(NULL, 0);
    cr_assert(eq(int, pfc_http_json(http, "POST", "/x", NULL, &status, &doc, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, status, 204));
    cr_assert(eq(ptr, doc, NULL));
    cr_assert(eq(ptr, strstr(play.headers, "Authorization"), NULL));
    stop();
}

Test(http, statuses_become_codes_with_the_servers_sentence)
{
    static const struct {
        int status;
        pfc_code code;
        bool retry;
    } cases[] = {
        { 400, PFC_EINVAL, false },    { 401, PFC_EDENIED, false },   { 403, PFC_EDENIED, false },
        { 404, PFC_ENOTFOUND, false }, { 409, PFC_ECONFLICT, false }, { 413, PFC_ETOOBIG, false },
        { 429, PFC_EUNAVAIL, true },   { 500, PFC_EUNAVAIL, true },   { 503, PFC_EUNAVAIL, true },
        { 504, PFC_ETIMEOUT, true },   { 302, PFC_EIO, false },
    };

    play = (script){ .body = "{\"error\": {\"code\": \"x\", \"message\": \"the\\nsentence\","
                             " \"field\": \"commits[0]\"}}" };
    start("t", 0);
    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        int status = 0;
        pfc_err err = { 0 };
        pfc_code code;

        play.status = cases[i].status;
        code = pfc_http_json(http, "GET", "/y", NULL, &status, NULL, &err);
        cr_assert(eq(int, code, cases[i].code), "status %d: %s", cases[i].status, err.msg);
        cr_assert(eq(int, status, cases[i].status));
        cr_assert(eq(int, pfc_http_retryable(code), cases[i].retry));
        cr_assert(ne(ptr, strstr(err.msg, "the sentence"), NULL), "%s", err.msg);
        cr_assert(eq(str, err.field, "commits[0]"));
    }
    stop();
}

Test(http, an_error_without_json_still_says_the_status)
{
    pfc_err err = { 0 };

    play = (script){ .status = 502, .body = "<html>bad gateway</html>" };
    start(NULL, 0);
    cr_assert(eq(int, pfc_http_json(http, "GET", "/", NULL, NULL, NULL, &err), PFC_EUNAVAIL));
    cr_assert(ne(ptr, strstr(err.msg, "502"), NULL), "%s", err.msg);
    stop();
}

Test(http, something_that_is_no_json_is_distinguished)
{
    json_t *doc = NULL;
    pfc_err err = { 0 };

    play = (script){ .status = 200, .body = "<html>hello</html>" };
    start(NULL, 0);
    cr_assert(eq(int, pfc_http_json(http, "GET", "/", NULL, NULL, &doc, &err), PFC_EIO));
    cr_assert(ne(ptr, strstr(err.msg, "no JSON"), NULL), "%s", err.msg);
    cr_assert(eq(ptr, doc, NULL));
    stop();
}

Test(http, redirects_are_not_followed)
{
    pfc_http_answer got;
    pfc_http_req req = { .path = "/start" };
    pfc_err err = { 0 };
    char *raw;

    play = (script){ 0 };
    start("pfc_secret", 0);
    raw = pfc_format("HTTP/1.1 302 Found\r\nLocation: %s/stolen\r\nContent-Length: 0\r\n"
                     "Connection: close\r\n\r\n",
                     server.url);
    play.raw = raw;
    play.raw_len = strlen(raw);
    cr_assert(eq(int, pfc_http_send(http, &req, &got, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, got.status, 302));
    cr_assert(eq(int, play.calls, 1));
    cr_assert(eq(str, play.path, "/start"));
    pfc_http_answer_clear(&got);
    stop();
    free(raw);
}

Test(http, an_answer_over_the_limit_is_refused)
{
    char big[4001];
    pfc_err err = { 0 };

    memset(big, 'a', 4000);
    big[4000] = '\0';
    play = (script){ .status = 200, .body = big };
    start(NULL, 1000);
    cr_assert(eq(int, pfc_http_json(http, "GET", "/", NULL, NULL, NULL, &err), PFC_ETOOBIG));
    cr_assert(ne(ptr, strstr(err.msg, "over 1000 bytes"), NULL), "%s", err.msg);
    stop();
}

/* gzip.compress(b'{"zipped": true}', mtime=0) of Python 3.11 */
Test(http, gzip_is_understood)
{
    static const char zipped[] =
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\n"
        "Content-Length: 36\r\nConnection: close\r\n\r\n"
        "\037\213\010\000\000\000\000\000\002\003\253\126\252\312\054\050\110\115\121\262\122\050"
        "\051\052\115\255\005\000\314\245\336\015\020\000\000\000";
    json_t *doc = NULL;
    pfc_err err = { 0 };

    play = (script){ .raw = zipped, .raw_len = sizeof(zipped) - 1 };
    start(NULL, 0);
    cr_assert(eq(int, pfc_http_json(http, "GET", "/", NULL, NULL, &doc, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, json_is_true(json_object_get(doc, "zipped")), 1));
    json_decref(doc);
    stop();
}

Test(http, a_large_body_arrives_whole)
{
    size_t len = 3u * 1024 * 1024;
    char *body = pfc_alloc(len);
    const char *const headers[] = { "Idempotency-Key: abc", NULL };
    pfc_http_req req = { .method = "POST",
                         .path = "/z",
                         .body = body,
                         .body_len = len,
                         .headers = headers,
                         .content_type = "text/plain" };
    pfc_http_answer got;
    pfc_err err = { 0 };

    memset(body, 'b', len);
    play = (script){ .status = 200, .body = "{}" };
    start(NULL, 0);
    cr_assert(eq(int, pfc_http_send(http, &req, &got, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, play.body_len, len));
    cr_assert(ne(ptr, strstr(play.headers, "Idempotency-Key: abc\r\n"), NULL));
    cr_assert(ne(ptr, strstr(play.headers, "Content-Type: text/plain\r\n"), NULL));
    pfc_http_answer_clear(&got);
    stop();
    free(body);
}

Test(http, a_lost_connection_may_be_retried)
{
    pfc_err err = { 0 };
    pfc_code code;

    play = (script){ 0 }; /* closes without an answer */
    start("pfc_secret", 0);
    code = pfc_http_json(http, "GET", "/", NULL, NULL, NULL, &err);
    cr_assert(eq(int, code, PFC_EUNAVAIL), "%s", err.msg);
    cr_assert(pfc_http_retryable(code));
    cr_assert(eq(ptr, strstr(err.msg, "pfc_secret"), NULL));
    stop();
}

Test(http, a_refused_connection_may_be_retried)
{
    char *url = pfc_format("http://127.0.0.1:%d", stand_in_free_port());
    pfc_http_opts opts = { .url = url };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_http_json(http, "GET", "/", NULL, NULL, NULL, &err), PFC_EUNAVAIL));
    cr_assert(ne(ptr, strstr(err.msg, url), NULL), "%s", err.msg);
    pfc_http_free(http);
    free(url);
}

/* A name can resolve to another address between two lookups: the check is of the address that is
 * connected to. */
static bool never(void *arg, const struct sockaddr *address)
{
    *(int *)arg = address->sa_family;
    return false;
}

Test(http, an_address_that_may_not_be_reached_is_not_connected_to)
{
    int family = 0;
    pfc_http_opts opts = { .may_reach = never, .may_reach_arg = &family, .name = "receiver chat" };
    pfc_http_req req = { .method = "POST", .path = "/secret-path", .body = "{}", .body_len = 2 };
    pfc_http_answer got = { 0 };
    pfc_err err = { 0 };

    stand_in_start(&server, answer, &play);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_http_send(http, &req, &got, &err), PFC_EDENIED));
    cr_assert(eq(int, family, AF_INET));
    cr_assert(eq(int, play.calls, 0));
    cr_assert(strstr(err.msg, "receiver chat") != NULL, "%s", err.msg);
    cr_assert(eq(ptr, strstr(err.msg, "secret-path"), NULL));
    stop();
}

Test(http, odd_urls_and_tokens_are_refused)
{
    static const char *const urls[] = {
        "",           "127.0.0.1:1",     "ftp://host",      "http://",           "http:///x",
        "http://a b", "http://u:p@host", "http://host?x=1", "file:///etc/passwd"
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(urls); i++) {
        pfc_http_opts opts = { .url = urls[i] };
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_EINVAL), "%s", urls[i]);
        cr_assert(eq(ptr, strstr(err.msg, "u:p"), NULL), "%s", err.msg);
    }
    {
        pfc_http_opts opts = { .url = "http://host", .token = "a\r\nX-Evil: 1" };
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_EINVAL));
        cr_assert(eq(ptr, strstr(err.msg, "Evil"), NULL));
    }
}

Test(http, retry_after_is_read)
{
    pfc_http_answer got;
    pfc_http_req req = { .path = "/" };
    pfc_err err = { 0 };

    play = (script){ .raw = "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n"
                            "Connection: close\r\n\r\n" };
    play.raw_len = strlen(play.raw);
    start(NULL, 0);
    cr_assert(eq(int, pfc_http_send(http, &req, &got, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, got.status, 429));
    cr_assert(eq(dbl, got.retry_after_s, 7.0));
    pfc_http_answer_clear(&got);
    stop();
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

Test(http, a_cancelled_call_ends)
{
    pfc_http_opts opts = { .cancelled = always };
    pfc_err err = { 0 };

    play = (script){ .status = 200, .body = "{}" };
    stand_in_start(&server, answer, &play);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_http_json(http, "GET", "/", NULL, NULL, NULL, &err), PFC_ECONFLICT), "%s",
              err.msg);
    stop();
}

/* A socket that listens and never answers: the kernel takes the connection. */
Test(http, a_server_that_says_nothing_is_given_up)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    char url[64];
    pfc_http_opts opts = { .url = url, .timeout_s = 0.05 };
    pfc_err err = { 0 };

    cr_assert(eq(int, bind(fd, (struct sockaddr *)&at, sizeof(at)), 0));
    cr_assert(eq(int, listen(fd, 1), 0));
    cr_assert(eq(int, getsockname(fd, (struct sockaddr *)&at, &len), 0));
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(at.sin_port));
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK));
    cr_assert(eq(int, pfc_http_json(http, "GET", "/", NULL, NULL, NULL, &err), PFC_ETIMEOUT));
    cr_assert(ne(ptr, strstr(err.msg, "did not answer in time"), NULL), "%s", err.msg);
    cr_assert(pfc_http_retryable(PFC_ETIMEOUT));
    pfc_http_free(http);
    close(fd);
}

/* ---- a token of one request ---- */

typedef struct tokens {
    int status; /* for the request's own token */
    int ours;   /* for any other */
    int calls;
    char last[64]; /* the token of the last call */
} tokens;

static void ask_token(const stand_in_req *req, pfc_buf *out, void *arg)
{
    tokens *t = arg;
    const char *at = strstr(req->headers, "Authorization: Bearer ");

    t->calls++;
    (void)snprintf(t->last, sizeof(t->last), "%.*s", at ? (int)strcspn(at + 22, "\r") : 0,
                   at ? at + 22 : "");
    stand_in_json(out, strcmp(t->last, "first") == 0 ? t->status : t->ours, "{\"n\": 1}");
}

Test(http, a_requests_own_token_is_tried_first_and_only_401_leads_to_the_clients)
{
    static const struct {
        const char *token; /* of the client */
        int status, ours, calls;
        const char *last;
        pfc_code code;
    } rows[] = {
        { "second", 200, 200, 1, "first", PFC_OK },
        { "second", 401, 200, 2, "second", PFC_OK },
        { NULL, 401, 200, 2, "", PFC_OK },
        { "second", 401, 401, 2, "second", PFC_EDENIED },
        { "second", 403, 200, 1, "first", PFC_EDENIED },
        { "second", 400, 200, 1, "first", PFC_EINVAL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        tokens t = { .status = rows[i].status, .ours = rows[i].ours };
        pfc_http_opts opts = { .token = rows[i].token };
        json_t *doc = NULL;
        int status = 0;
        pfc_err err = { 0 };

        stand_in_start(&server, ask_token, &t);
        opts.url = server.url;
        cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK), "%s", err.msg);
        cr_expect(eq(int, pfc_http_json_as(http, "first", "GET", "/", NULL, &status, &doc, &err),
                     rows[i].code),
                  "%zu: %s", i, err.msg);
        cr_expect(eq(int, status, rows[i].calls == 1 ? rows[i].status : rows[i].ours), "%zu", i);
        cr_expect(eq(int, doc != NULL, rows[i].code == PFC_OK), "%zu", i);
        json_decref(doc);
        stop();
        cr_expect(eq(int, t.calls, rows[i].calls), "%zu", i);
        cr_expect(eq(str, t.last, (char *)rows[i].last), "%zu", i);
    }
}

/* ---- headers ---- */

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

Test(http, a_requests_own_accept_replaces_ours)
{
    static const char *const none[] = { "X-Accept: a", "Accepted: b", NULL };
    static const char *const own[] = { "X-Other: a", "accept: text/plain", NULL };
    pfc_http_answer got;
    pfc_err err = { 0 };

    for (int mine = 0; mine < 2; mine++) {
        const pfc_http_req req = { .path = "/", .headers = mine ? own : none };

        play = (script){ .status = 200, .body = "{}" };
        start(NULL, 0);
        cr_assert(eq(int, pfc_http_send(http, &req, &got, &err), PFC_OK), "%s", err.msg);
        cr_expect(eq(sz, count_of(play.headers, "\nAccept: application/json\r"), mine ? 0 : 1));
        cr_expect(eq(sz, count_of(play.headers, "\naccept: text/plain\r"), mine ? 1 : 0));
        cr_expect(eq(sz, count_of(play.headers, mine ? "X-Other: a\r" : "X-Accept: a\r"), 1));
        cr_expect(eq(sz, count_of(play.headers, "User-Agent: perfci/"), 1));
        pfc_http_answer_clear(&got);
        stop();
    }
}

Test(http, the_headers_that_are_asked_for_are_kept_in_their_order)
{
    static const char *const names[] = { "link", "X-Missing", "X-Last", NULL };
    static const char *const values[] = { "<a>; rel=next", NULL, "z" };
    const pfc_http_req req = { .path = "/", .answer_headers = names };
    const pfc_http_req plain = { .path = "/" };
    pfc_http_answer got;
    pfc_err err = { 0 };

    play = (script){ .raw = "HTTP/1.1 200 OK\r\nLink: <a>; rel=next\r\nLink: <b>\r\nX-Last: z\r\n"
                            "Content-Length: 0\r\nConnection: close\r\n\r\n" };
    play.raw_len = strlen(play.raw);
    start(NULL, 0);
    cr_assert(eq(int, pfc_http_send(http, &req, &got, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, got.headers_len, 3));
    for (size_t i = 0; i < 3; i++) {
        cr_expect(eq(int, got.headers[i] != NULL, values[i] != NULL), "%zu", i);
        if (values[i])
            cr_expect(eq(str, got.headers[i], (char *)values[i]));
    }
    pfc_http_answer_clear(&got);
    cr_assert(eq(int, pfc_http_send(http, &plain, &got, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(sz, got.headers_len, 0));
    pfc_http_answer_clear(&got);
    stop();
}

/* ---- faults on the way ---- */

Test(http, faults_that_may_pass_are_distinguished_from_those_of_a_person)
{
    static const struct {
        const char *raw;
        pfc_code code;
    } rows[] = {
        { "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", PFC_EUNAVAIL },
        { "SSH-2.0-OpenSSH_9.2\r\n", PFC_EIO },
        { "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", PFC_EIO },
    };
    pfc_http_opts bad = { .url = "http://127.0.0.1:99999" };
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        play = (script){ .raw = rows[i].raw, .raw_len = strlen(rows[i].raw) };
        start(NULL, 0);
        cr_expect(eq(int, pfc_http_json(http, "GET", "/", NULL, NULL, NULL, &err), rows[i].code),
                  "%zu: %s", i, err.msg);
        cr_expect(ne(ptr, strstr(err.msg, server.url), NULL), "%s", err.msg);
        stop();
    }
    cr_assert(eq(int, pfc_http_new(&bad, &http, &err), PFC_OK));
    cr_expect(eq(int, pfc_http_json(http, "GET", "/", NULL, NULL, NULL, &err), PFC_EINVAL), "%s",
              err.msg);
    pfc_http_free(http);
}

static bool ask_flag(void *arg)
{
    return *(bool *)arg;
}

Test(http, a_call_goes_on_while_it_is_not_cancelled)
{
    bool ended = false;
    pfc_http_opts opts = { .cancelled = ask_flag, .cancelled_arg = &ended };
    pfc_err err = { 0 };

    play = (script){ .status = 200, .body = "{}" };
    stand_in_start(&server, answer, &play);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(int, pfc_http_json(http, "GET", "/", NULL, NULL, NULL, &err), PFC_OK), "%s",
              err.msg);
    ended = true;
    cr_expect(eq(int, pfc_http_json(http, "GET", "/", NULL, NULL, NULL, &err), PFC_ECONFLICT));
    stop();
    cr_expect(eq(int, play.calls, 1));
}

Test(http, escaping_leaves_only_unreserved_characters)
{
    char *text = pfc_http_escape("gemm/f32 a&b=\xc3\xa9~");

    cr_assert(eq(str, text, "gemm%2Ff32%20a%26b%3D%C3%A9~"));
    free(text);
}
