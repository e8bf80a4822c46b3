/* Limits of queries, paths and tokens, sessions of browsers, and statuses, without a socket. */
#include <string.h>

#include "server/http/internal.h"
#include "server/services/access/access.h"

#include "tests/check/check.h"

/* ---- queries and paths ---- */

static pfc_code parse(const char *text, const char *allowed, char *storage, pfc_req *req,
                      pfc_err *err)
{
    *err = (pfc_err){ 0 };
    memset(req, 0, sizeof(*req));
    return httpd_query_parse(text, allowed, storage, req, err);
}

Test(query_limits, a_number_is_taken_from_its_least_to_its_most)
{
    static const struct {
        const char *text;
        int64_t value; /* 0: refused */
    } rows[] = { { "n=2", 2 }, { "n=9", 9 }, { "n=1", 0 }, { "n=10", 0 }, { "n=5", 5 } };
    char storage[64];
    pfc_req req;
    pfc_err err;

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        int64_t value = 77;

        cr_assert(eq(int, parse(rows[i].text, "n:integer(2..9)", storage, &req, &err), PFC_OK));
        cr_expect(eq(int, pfc_req_query_i64(&req, "n", 2, 9, &value, &err),
                     rows[i].value ? PFC_OK : PFC_EINVAL),
                  "%s", rows[i].text);
        cr_expect(eq(i64, value, rows[i].value ? rows[i].value : 77), "%s", rows[i].text);
    }
}

Test(query_limits, a_truth_is_a_word_of_four_and_stays_what_it_was_when_it_is_not_given)
{
    static const struct {
        const char *text;
        bool was, is, refused;
    } rows[] = {
        { "b=1", false, true, false }, { "b=true", false, true, false },
        { "b=0", true, false, false }, { "b=false", true, false, false },
        { "", true, true, false },     { "", false, false, false },
        { "b=", true, true, true },    { "b=yes", false, false, true },
        { "b=2", false, false, true },
    };
    char storage[64];
    pfc_req req;
    pfc_err err;

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        bool value = rows[i].was;

        cr_assert(eq(int, parse(rows[i].text, "b:boolean", storage, &req, &err), PFC_OK));
        cr_expect(eq(int, pfc_req_query_bool(&req, "b", &value, &err),
                     rows[i].refused ? PFC_EINVAL : PFC_OK),
                  "%zu", i);
        cr_expect(eq(int, value, rows[i].is), "%zu", i);
    }
}

Test(query_limits, a_text_may_be_as_long_as_is_said_and_is_there_when_it_is_required)
{
    char storage[64];
    pfc_req req;
    pfc_err err;
    const char *text = NULL;

    cr_assert(
        eq(int, parse("q=abcd&e=", "q!:string e!:string f!:string", storage, &req, &err), PFC_OK));
    cr_expect(eq(int, pfc_req_query(&req, "q", 4, &text, &err), PFC_OK));
    cr_expect(eq(str, (char *)(uintptr_t)text, (char *)"abcd"));
    cr_expect(eq(int, pfc_req_query(&req, "q", 3, &text, &err), PFC_EINVAL));
    cr_expect(eq(str, err.field, (char *)"q"));
    cr_expect(eq(int, pfc_req_query_required(&req, "q", 4, &text, &err), PFC_OK));
    cr_expect(eq(int, pfc_req_query_required(&req, "q", 3, &text, &err), PFC_EINVAL));
    cr_expect(eq(int, pfc_req_query_required(&req, "e", 4, &text, &err), PFC_EINVAL));
    cr_expect(eq(int, pfc_req_query_required(&req, "f", 4, &text, &err), PFC_EINVAL));
    cr_expect(eq(str, err.field, (char *)"f"));
}

Test(query_limits, as_many_parameters_as_there_is_room_for_are_read)
{
    for (int n = PFC_HTTPD_MAX_QUERY; n <= PFC_HTTPD_MAX_QUERY + 1; n++) {
        char storage[1024], allowed[1024] = "", text[1024] = "";
        pfc_req req;
        pfc_err err;

        for (int i = 0; i < n; i++) {
            (void)snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed),
                           "%sp%d:string", i ? " " : "", i);
            (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%sp%d=%d",
                           i ? "&" : "", i, i);
        }
        cr_expect(eq(int, parse(text, allowed, storage, &req, &err),
                     n > PFC_HTTPD_MAX_QUERY ? PFC_EINVAL : PFC_OK),
                  "%d: %s", n, err.msg);
        cr_expect(eq(sz, req.query_len, PFC_HTTPD_MAX_QUERY));
    }
}

Test(query_limits, bytes_below_a_blank_and_delete_are_refused_and_their_neighbours_are_not)
{
    static const struct {
        const char *text;
        bool taken;
    } rows[] = { { "%1F", false }, { "%20", true },   { "%7E", true },
                 { "%7F", false }, { "\x1f", false }, { "~", true } };
    char out[16];

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(int, httpd_decode(rows[i].text, strlen(rows[i].text), false, out) == 1,
                     rows[i].taken),
                  "%zu", i);
    cr_expect(eq(long, httpd_decode("%4A%4f", 6, false, out), 2));
    cr_expect(eq(str, out, (char *)"JO"));
    cr_expect(eq(long, httpd_decode("%4G", 3, false, out), -1));
    cr_expect(eq(long, httpd_decode("%G4", 3, false, out), -1));
    cr_expect(eq(long, httpd_decode("%4g", 3, false, out), -1));
}

Test(query_limits, a_number_in_a_path_begins_with_one_and_fits_sixty_four_bits)
{
    static const struct {
        const char *text;
        int64_t id; /* 0: there is none */
    } rows[] = { { "1", 1 },
                 { "0", 0 },
                 { "-1", 0 },
                 { "9223372036854775807", INT64_MAX },
                 { "9223372036854775808", 0 },
                 { "1x", 0 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_req req = { .params = { { .name = "id", .value = rows[i].text } },
                              .params_len = 1 };
        int64_t id = 0;
        pfc_err err = { 0 };

        cr_expect(
            eq(int, pfc_req_param_id(&req, "id", &id, &err), rows[i].id ? PFC_OK : PFC_ENOTFOUND),
            "%s", rows[i].text);
        cr_expect(eq(i64, id, rows[i].id), "%s", rows[i].text);
    }
}

/* ---- who asks ---- */

Test(sessions, a_bearer_token_has_at_most_256_bytes_and_no_blanks)
{
    char text[7 + 257 + 1] = "Bearer ";

    memset(text + 7, 'a', 257);
    cr_expect(eq(ptr, (void *)(uintptr_t)httpd_bearer(text), NULL));
    text[7 + 256] = '\0';
    cr_expect(ne(ptr, (void *)(uintptr_t)httpd_bearer(text), NULL));
    cr_expect(eq(ptr, (void *)(uintptr_t)httpd_bearer("Bearer a\tb"), NULL));
    cr_expect(eq(ptr, (void *)(uintptr_t)httpd_bearer("Bearer a,"), NULL));
    cr_expect(eq(ptr, (void *)(uintptr_t)httpd_bearer(NULL), NULL));
}

/* A token `pfc_N` has the scopes N; "away": who would know is not there. */
static pfc_code check(pfc_app *app, const char *token, pfc_principal *out, pfc_err *err)
{
    (void)app;
    if (strcmp(token, "away") == 0)
        return pfc_err_set(err, PFC_EUNAVAIL, "away");
    if (strncmp(token, "pfc_", 4) != 0)
        return pfc_err_set(err, PFC_EDENIED, "unknown token");
    *out = (pfc_principal){ .token_id = 1, .scopes = atoi(token + 4) };
    return PFC_OK;
}

static pfc_code shut(pfc_app *app, pfc_err *err)
{
    (void)app;
    return pfc_err_set(err, PFC_EUNAVAIL, "not ready");
}

typedef struct visit {
    const char *method;
    int64_t scopes;
    const char *auth, *cookie;
    bool own_page, cross_site, public_read, gate;
    int status;
} visit;

static int status_of(const visit *v)
{
    const pfc_route route = { .method = v->method, .pattern = "/x", .scopes = v->scopes };
    pfc_httpd http = { .opts = { .check = check, .session = check, .gate = v->gate ? shut : NULL },
                       .public_read = v->public_read };
    httpd_exchange x = { .auth_text = (char *)(uintptr_t)v->auth,
                         .cookie_text = (char *)(uintptr_t)v->cookie,
                         .own_page = v->own_page,
                         .cross_site = v->cross_site };
    pfc_req req = { .route = &route, .method = v->method };
    pfc_err err = { 0 };
    int status = 0;
    const pfc_code code = httpd_authorise(&http, &x, &req, &status, &err);

    return !code ? 200 : status ? status : httpd_status_of(code);
}

/* Browsers send the cookie with requests of every page that they take for one of this site. */
Test(sessions, a_cookie_reads_for_this_site_and_changes_things_for_our_own_pages_alone)
{
    static const visit rows[] = {
        { "GET", PFC_SCOPE_READ, NULL, "pfc_1", false, false, false, false, 200 },
        { "GET", PFC_SCOPE_READ, NULL, "pfc_1", false, true, false, false, 401 },
        { "GET", PFC_SCOPE_READ, NULL, "", false, false, false, false, 401 },
        { "GET", PFC_SCOPE_READ, NULL, "pfc_2", false, false, false, false, 403 },
        { "GET", PFC_SCOPE_ADMIN, NULL, "pfc_16", false, false, false, false, 200 },
        { "GET", PFC_SCOPE_ADMIN, NULL, "pfc_15", false, false, true, false, 403 },
        { "POST", PFC_SCOPE_READ, NULL, "pfc_31", false, false, true, false, 401 },
        { "POST", PFC_SCOPE_READ, NULL, "pfc_31", true, false, true, false, 200 },
        { "POST", PFC_SCOPE_READ, NULL, "pfc_31", true, true, true, false, 401 },
        { "DELETE", PFC_SCOPE_TRIAGE, NULL, "pfc_1", true, false, false, false, 403 },
        { "DELETE", PFC_SCOPE_TRIAGE, NULL, "pfc_31", false, false, false, false, 401 },
        /* An explicit header takes precedence over the cookie. */
        { "GET", PFC_SCOPE_READ, "Bearer pfc_2", "pfc_1", false, false, false, false, 403 },
        { "GET", PFC_SCOPE_READ, "Bearer wrong", "pfc_1", false, false, true, false, 401 },
        /* A session whose token has gone reads what everyone may read. */
        { "GET", PFC_SCOPE_READ, NULL, "wrong", false, false, false, false, 401 },
        { "GET", PFC_SCOPE_READ, NULL, "wrong", false, false, true, false, 200 },
        { "GET", PFC_SCOPE_ADMIN, NULL, "wrong", false, false, true, false, 401 },
        { "GET", PFC_SCOPE_READ, NULL, "away", false, false, true, false, 503 },
        { "GET", PFC_SCOPE_READ, "Bearer away", NULL, false, false, true, false, 503 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(int, status_of(&rows[i]), rows[i].status), "%zu", i);
}

Test(sessions, reading_is_open_to_strangers_by_get_alone_and_nothing_is_before_the_server_is_ready)
{
    static const visit rows[] = {
        { "GET", PFC_SCOPE_READ, NULL, NULL, false, false, true, false, 200 },
        { "GET", PFC_SCOPE_READ | PFC_SCOPE_ADMIN, NULL, NULL, false, false, true, false, 200 },
        { "POST", PFC_SCOPE_READ, NULL, NULL, false, false, true, false, 401 },
        { "GET", PFC_SCOPE_TRIAGE, NULL, NULL, false, false, true, false, 401 },
        { "GET", PFC_SCOPE_READ, "Bearer pfc_2", NULL, false, false, true, false, 200 },
        { "POST", PFC_SCOPE_READ, "Bearer pfc_2", NULL, false, false, true, false, 403 },
        { "GET", PFC_SCOPE_READ, "Bearer pfc_1", NULL, false, false, false, true, 503 },
        { "GET", PFC_HTTPD_OPEN, NULL, NULL, false, false, false, true, 200 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(int, status_of(&rows[i]), rows[i].status), "%zu", i);
}

Test(sessions, a_page_is_our_own_by_what_its_browser_states)
{
    static const struct {
        const char *fetch_site, *origin, *host;
        bool own;
    } rows[] = {
        { "same-origin", NULL, "h:1", true },
        { "same-origin", "null", "h:1", true },
        { "same-site", "http://h:1", "h:1", false },
        { "cross-site", "http://h:1", "h:1", false },
        { "none", "http://h:1", "h:1", false },
        { "", "http://h:1", "h:1", false },
        { NULL, "http://h:1", "h:1", true },
        { NULL, "https://H:1", "h:1", true },
        { NULL, "http://h:2", "h:1", false },
        { NULL, "http://h:1.evil", "h:1", false },
        { NULL, "null", "h:1", false },
        { NULL, "", "", false },
        { NULL, "http://", "", false },
        { NULL, NULL, "h:1", false },
        { NULL, "http://h:1", NULL, false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(int, httpd_is_own_page(rows[i].fetch_site, rows[i].origin, rows[i].host),
                     rows[i].own),
                  "%zu", i);
}

Test(sessions, the_cookie_is_for_the_api_alone_and_ends_when_it_is_emptied)
{
    pfc_reply reply = { 0 };

    pfc_reply_session(&reply, "pfc_1");
    cr_expect(eq(str, reply.cookie,
                 (char *)"pfc_session=pfc_1; Path=/api/v1; HttpOnly; SameSite=Strict"));
    pfc_reply_session(&reply, "");
    cr_expect(eq(str, reply.cookie,
                 (char *)"pfc_session=; Path=/api/v1; HttpOnly; SameSite=Strict; Max-Age=0"));
}

/* ---- answers ---- */

Test(answers, every_code_has_its_status_and_every_status_its_word)
{
    static const struct {
        pfc_code code;
        int status;
        const char *word;
    } rows[] = {
        { PFC_EINVAL, 400, "invalid" },       { PFC_EBROKEN, 400, "invalid" },
        { PFC_EDENIED, 403, "forbidden" },    { PFC_ENOTFOUND, 404, "not_found" },
        { PFC_ECONFLICT, 409, "conflict" },   { PFC_ETOOBIG, 413, "too_large" },
        { PFC_EUNAVAIL, 503, "unavailable" }, { PFC_ETIMEOUT, 503, "unavailable" },
        { PFC_EIO, 500, "internal" },         { PFC_EBUG, 500, "internal" },
    };
    static const struct {
        int status;
        const char *word;
    } others[] = { { 401, "unauthorized" },   { 405, "method_not_allowed" },
                   { 406, "not_acceptable" }, { 414, "too_large" },
                   { 415, "unsupported" },    { 429, "too_many" } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_expect(eq(int, httpd_status_of(rows[i].code), rows[i].status), "%zu", i);
        cr_expect(eq(str, (char *)(uintptr_t)httpd_error_word(rows[i].status),
                     (char *)(uintptr_t)rows[i].word));
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(others); i++)
        cr_expect(eq(str, (char *)(uintptr_t)httpd_error_word(others[i].status),
                     (char *)(uintptr_t)others[i].word));
    cr_expect(eq(int, httpd_status_of(PFC_OK), 200));
}

/* RFC 9110, 12.5.1: the most specific range that fits has the weight. */
Test(answers, a_type_has_the_weight_of_the_range_that_says_most)
{
    static const struct {
        const char *header;
        double weight;
    } rows[] = {
        { NULL, 1 },
        { "", 0 },
        { "text/plain", 1 },
        { "TEXT/Plain", 1 },
        { "text/html", 0 },
        { "text/*", 1 },
        { "*/*", 1 },
        { "text/*;q=0.5", 0.5 },
        { "*/*;q=0.1, text/*;q=0.5", 0.5 },
        { "text/*;q=0.5, */*;q=0.1", 0.5 },
        { "text/plain;q=0.2, text/*;q=0.5, */*", 0.2 },
        { "text/plain;q=0, */*", 0 },
        { "application/*, text/html", 0 },
        { "text/plain; version=0.0.4; q=0.3", 0.3 },
        { "text/plain; version=0.0.4", 1 },
        { "text/plainer", 0 },
        { "text/plain;q=1.5", 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(dbl, httpd_type_weight(rows[i].header, "text/plain"), rows[i].weight), "%s",
                  rows[i].header);
}

/* The wait after a refusal is what a whole request takes to fill: less than a second's part of
 * it. */
Test(answers, a_limited_client_receives_its_waiting_time)
{
    httpd_limits *limits = httpd_limits_new();
    const int64_t now = 1000000000;

    /* Two seconds' worth and one. */
    for (int i = 0; i < 9; i++)
        cr_expect(eq(dbl, httpd_limits_take(limits, 4, 't', "k", 1, now), 0));
    cr_expect(epsilon_eq(dbl, httpd_limits_take(limits, 4, 't', "k", 1, now), 0.25, 1e-9));
    cr_expect(
        epsilon_eq(dbl, httpd_limits_take(limits, 4, 't', "k", 1, now + 125000000), 0.125, 1e-9));
    cr_expect(eq(dbl, httpd_limits_take(limits, 4, 't', "k", 1, now + 250000000), 0));
    /* Another kind of key, and another key, have their own. */
    cr_expect(eq(dbl, httpd_limits_take(limits, 4, 'a', "k", 1, now), 0));
    cr_expect(eq(dbl, httpd_limits_take(limits, 4, 't', "l", 1, now), 0));
    cr_expect(eq(dbl, httpd_limits_take(limits, 0, 't', "k", 1, now), 0));
    httpd_limits_free(limits);
}
