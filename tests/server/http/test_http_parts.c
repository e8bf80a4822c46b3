/* Router, decoding, queries, authorisation and statuses, without a socket. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "server/http/internal.h"
#include "server/services/access/access.h"

#include "tests/check/check.h"

static pfc_code nothing(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    (void)app;
    (void)req;
    (void)err;
    return pfc_reply_empty(reply);
}

static const pfc_route table[] = {
    { "GET", "/healthz", PFC_HTTPD_OPEN, nothing, NULL, NULL, "", "200", NULL },
    { "GET", "/p/{p}/series", PFC_SCOPE_READ, nothing, "limit:integer(1..10) q!:string", NULL, "",
      "200", NULL },
    { "POST", "/p/{p}/commits", PFC_SCOPE_INGEST | PFC_SCOPE_RUNNER, nothing, NULL, NULL, "", "200",
      NULL },
    { "GET", "/p/{p}/commits/{id}", PFC_SCOPE_READ, nothing, NULL, NULL, "", "200", NULL },
    { "POST", "/jobs/lease", PFC_SCOPE_RUNNER, nothing, NULL, NULL, "", "200", NULL },
    { "GET", "/jobs/{id}", PFC_SCOPE_READ, nothing, NULL, NULL, "", "200", NULL },
    { "DELETE", "/jobs/{id}", PFC_SCOPE_INGEST, nothing, NULL, NULL, "", "204", NULL },
};

static httpd_match find(const char *method, const char *path, pfc_req *req, char *storage,
                        char *allow)
{
    httpd_routed found;

    memset(req, 0, sizeof(*req));
    req->method = method;
    found = httpd_route(table, PFC_ARRAY_LEN(table), path, strlen(path), storage, req);
    memcpy(allow, found.allow, sizeof(found.allow));
    return found.match;
}

Test(router, finds_a_route_and_its_parameters)
{
    char storage[256], allow[64];
    pfc_req req;

    cr_assert(eq(int, find("GET", "/p/demo/commits/abc%20d", &req, storage, allow), HTTPD_MATCH));
    cr_assert(eq(sz, req.params_len, 2));
    cr_assert(eq(str, (char *)pfc_req_param(&req, "p"), "demo"));
    cr_assert(eq(str, (char *)pfc_req_param(&req, "id"), "abc d"));
}

Test(router, says_which_methods_a_path_has)
{
    char storage[256], allow[64];
    pfc_req req;

    cr_assert(eq(int, find("PUT", "/jobs/7", &req, storage, allow), HTTPD_NO_METHOD));
    cr_assert(eq(str, allow, "GET, HEAD, DELETE"));
    cr_assert(eq(int, find("GET", "/healthz", &req, storage, allow), HTTPD_MATCH));
}

Test(router, refuses_what_is_nearly_a_path)
{
    static const char *const paths[] = { "/",          "/healthz/",  "/healthzz",
                                         "/p//series", "/p/a/serie", "/p/a/b/commits",
                                         "//healthz",  "/jobs/",     "/P/a/series" };
    char storage[256], allow[64];
    pfc_req req;

    for (size_t i = 0; i < PFC_ARRAY_LEN(paths); i++)
        cr_assert(eq(int, find("GET", paths[i], &req, storage, allow), HTTPD_NO_PATH), "%s",
                  paths[i]);
}

Test(router, refuses_broken_escapes_and_control_bytes_in_parameters)
{
    static const char *const paths[] = { "/jobs/%",   "/jobs/%4",  "/jobs/%zz",  "/jobs/%00",
                                         "/jobs/%0a", "/jobs/%ff", "/jobs/a%7fb" };
    char storage[256], allow[64];
    pfc_req req;

    for (size_t i = 0; i < PFC_ARRAY_LEN(paths); i++)
        cr_assert(eq(int, find("GET", paths[i], &req, storage, allow), HTTPD_BAD_PATH), "%s",
                  paths[i]);
}

Test(decode, handles_escapes_at_the_very_end)
{
    char out[16];

    cr_assert(eq(long, httpd_decode("a%2Fb", 5, false, out), 3));
    cr_assert(eq(str, out, "a/b"));
    cr_assert(eq(long, httpd_decode("%41", 3, false, out), 1));
    cr_assert(eq(str, out, "A"));
    cr_assert(eq(long, httpd_decode("a+b", 3, true, out), 3));
    cr_assert(eq(str, out, "a b"));
    cr_assert(eq(long, httpd_decode("a+b", 3, false, out), 3));
    cr_assert(eq(str, out, "a+b"));
    cr_assert(eq(long, httpd_decode("", 0, false, out), 0));
    cr_assert(eq(long, httpd_decode("%4", 2, false, out), -1));
}

static pfc_code query(const char *text, pfc_req *req, char *storage, pfc_err *err)
{
    memset(req, 0, sizeof(*req));
    req->route = &table[1];
    return httpd_query_parse(text, "limit:integer(1..10) q!:string sort:(new|worth)", storage, req,
                             err);
}

Test(query, reads_named_parameters)
{
    char storage[256];
    pfc_err err = { 0 };
    pfc_req req;
    int64_t limit = 0;
    const char *q = NULL;

    cr_assert(eq(int, query("limit=12&q=gemm%20f32+x", &req, storage, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_req_query_i64(&req, "limit", 1, 1000, &limit, &err), PFC_OK));
    cr_assert(eq(i64, limit, 12));
    cr_assert(eq(int, pfc_req_query(&req, "q", 100, &q, &err), PFC_OK));
    cr_assert(eq(str, (char *)q, "gemm f32 x"));
    cr_assert(eq(int, query("", &req, storage, &err), PFC_OK));
    cr_assert(eq(int, pfc_req_query(&req, "q", 100, &q, &err), PFC_OK));
    cr_assert(eq(ptr, (void *)q, NULL));
}

Test(query, refuses_unknown_doubled_and_broken_parameters)
{
    static const char *const bad[] = { "x=1",     "limit=1&limit=2", "limi=1",   "limitx=1",
                                       "q=%zz",   "q=%00",           "%=1",      "q=%c3%28",
                                       "=1",      "limit:integer=1", "sort=",    "sort=old",
                                       "sort=ne", "sort=new|worth",  "sort=(new" };
    char storage[256];
    pfc_req req;

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_err err = { 0 };

        cr_assert(eq(int, query(bad[i], &req, storage, &err), PFC_EINVAL), "%s", bad[i]);
        cr_assert(ne(chr, err.msg[0], '\0'));
    }
}

Test(query, refuses_numbers_that_are_none_and_names_the_field)
{
    static const char *const bad[] = { "limit=",
                                       "limit=0",
                                       "limit=1001",
                                       "limit=1e3",
                                       "limit=-1",
                                       "limit=0x10",
                                       "limit=99999999999999999999",
                                       "limit=1%20" };
    char storage[256];
    pfc_req req;

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_err err = { 0 };
        int64_t limit = 77;

        cr_assert(eq(int, query(bad[i], &req, storage, &err), PFC_OK), "%s", bad[i]);
        cr_assert(eq(int, pfc_req_query_i64(&req, "limit", 1, 1000, &limit, &err), PFC_EINVAL),
                  "%s", bad[i]);
        cr_assert(eq(str, err.field, "limit"));
        cr_assert(eq(i64, limit, 77));
    }
}

Test(auth, reads_only_a_well_formed_bearer_token)
{
    cr_assert(eq(str, (char *)httpd_bearer("Bearer pfc_12"), "pfc_12"));
    cr_assert(eq(str, (char *)httpd_bearer("bearer   pfc_12"), "pfc_12"));
    cr_assert(eq(ptr, (void *)httpd_bearer("Basic abc"), NULL));
    cr_assert(eq(ptr, (void *)httpd_bearer("Bearer "), NULL));
    cr_assert(eq(ptr, (void *)httpd_bearer("Bearer a b"), NULL));
    cr_assert(eq(ptr, (void *)httpd_bearer("Bearer a, Bearer b"), NULL));
    cr_assert(eq(ptr, (void *)httpd_bearer("Bearerpfc_12"), NULL));
}

/* A token `pfc_N` has the scopes N. */
static pfc_code check(pfc_app *app, const char *token, pfc_principal *out, pfc_err *err)
{
    (void)app;
    if (strncmp(token, "pfc_", 4) != 0)
        return pfc_err_set(err, PFC_EDENIED, "unknown token");
    *out = (pfc_principal){ .token_id = 1, .scopes = atoi(token + 4) };
    return PFC_OK;
}

static int authorise(const pfc_route *route, const char *header, bool public_read)
{
    pfc_httpd http = { .opts = { .check = check }, .public_read = public_read };
    httpd_exchange x = { .auth_text = (char *)header };
    pfc_req req = { .route = route };
    pfc_err err = { 0 };
    int status = 0;
    pfc_code code = httpd_authorise(&http, &x, &req, &status, &err);

    return !code ? 200 : status ? status : httpd_status_of(code);
}

Test(auth, opens_a_route_to_its_scopes_and_to_admin)
{
    const pfc_route *read = &table[1], *post = &table[2], *open = &table[0];

    cr_assert(eq(int, authorise(open, NULL, false), 200));
    cr_assert(eq(int, authorise(open, "Bearer nonsense", false), 200));
    cr_assert(eq(int, authorise(read, NULL, false), 401));
    cr_assert(eq(int, authorise(read, NULL, true), 200));
    cr_assert(eq(int, authorise(read, "Bearer pfc_1", false), 200));
    cr_assert(eq(int, authorise(read, "Bearer pfc_2", false), 403));
    cr_assert(eq(int, authorise(read, "Bearer wrong", true), 401));
    cr_assert(eq(int, authorise(read, "Basic abc", true), 401));
    cr_assert(eq(int, authorise(post, NULL, true), 401));
    cr_assert(eq(int, authorise(post, "Bearer pfc_1", true), 403));
    cr_assert(eq(int, authorise(post, "Bearer pfc_2", false), 200));
    cr_assert(eq(int, authorise(post, "Bearer pfc_4", false), 200));
    cr_assert(eq(int, authorise(post, "Bearer pfc_8", false), 403));
    cr_assert(eq(int, authorise(post, "Bearer pfc_16", false), 200));
}

Test(auth, a_bound_token_touches_its_own_project_only)
{
    pfc_req req = { .auth = { .project_id = 7 } };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_req_allow_project(&req, 7, "job", &err), PFC_OK));
    cr_assert(eq(int, pfc_req_allow_project(&req, 8, "job", &err), PFC_ENOTFOUND));
    req.auth.project_id = 0;
    cr_assert(eq(int, pfc_req_allow_project(&req, 8, "job", &err), PFC_OK));
}

Test(reply, has_a_status_for_every_code_and_never_a_5xx_for_input)
{
    cr_assert(eq(int, httpd_status_of(PFC_EINVAL), 400));
    cr_assert(eq(int, httpd_status_of(PFC_ENOTFOUND), 404));
    cr_assert(eq(int, httpd_status_of(PFC_ECONFLICT), 409));
    cr_assert(eq(int, httpd_status_of(PFC_EDENIED), 403));
    cr_assert(eq(int, httpd_status_of(PFC_ETOOBIG), 413));
    cr_assert(eq(int, httpd_status_of(PFC_EUNAVAIL), 503));
    cr_assert(eq(int, httpd_status_of(PFC_EBUG), 500));
}

Test(reply, an_error_names_code_message_and_field)
{
    pfc_reply reply = { 0 };
    pfc_err err = { 0 };

    pfc_err_set_field(&err, PFC_EINVAL, "a[0].b", "expected \"x\"");
    httpd_reply_error(&reply, 0, &err);
    cr_assert(eq(int, reply.status, 400));
    cr_assert(eq(str, reply.body,
                 "{\"error\":{\"code\":\"invalid\",\"message\":\"expected \\\"x\\\"\","
                 "\"field\":\"a[0].b\"}}\n"));
    httpd_reply_clear(&reply);
}

Test(reply, replies_do_not_name_the_database_or_its_role)
{
    pfc_err err = {
        .code = PFC_EUNAVAIL,
        .msg = "not ready: database: connection to server at \"db.inside\" (10.1.2.3), port "
               "5432 failed: FATAL:  no such (odd) user \"perfci\""
    };
    pfc_reply reply = { 0 };

    httpd_reply_error(&reply, 0, &err);
    cr_assert(eq(int, reply.status, 503));
    cr_assert(ne(ptr,
                 strstr(reply.body,
                        "connection to server at \\\"\\\" (), port 5432 failed: FATAL:  no such "
                        "(odd) user \\\"\\\""),
                 NULL),
              "%s", reply.body);
    httpd_reply_clear(&reply);
}

Test(reply, our_own_fault_is_not_reported)
{
    pfc_reply reply = { 0 };
    pfc_err err = { 0 };

    pfc_err_set(&err, PFC_EBUG, "relation secret does not exist");
    httpd_reply_error(&reply, 0, &err);
    cr_assert(eq(int, reply.status, 500));
    cr_assert(eq(ptr, strstr(reply.body, "secret"), NULL));
    httpd_reply_clear(&reply);
}

/* ---- peers ---- */

static bool holds(const char *list, const char *address)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    struct sockaddr_storage any = { 0 };
    pfc_nets nets = { 0 };
    pfc_address peer;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_nets_parse(list, "networks", &nets, &err), PFC_OK), "%s", err.msg);
    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
        memcpy(&any, &v4, sizeof(v4));
    else if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1)
        memcpy(&any, &v6, sizeof(v6));
    cr_assert(pfc_address_of((const struct sockaddr *)&any, &peer), "%s", address);
    return pfc_nets_hold(&nets, &peer);
}

Test(peers, networks_hold_what_their_prefix_says)
{
    cr_assert(holds("10.0.0.0/8", "10.255.1.2"));
    cr_assert(not(holds("10.0.0.0/8", "11.0.0.0")));
    cr_assert(holds("192.0.2.128/25", "192.0.2.200"));
    cr_assert(not(holds("192.0.2.128/25", "192.0.2.127")));
    cr_assert(holds("192.0.2.7", "192.0.2.7"));
    cr_assert(not(holds("192.0.2.7", "192.0.2.6")));
    cr_assert(holds("0.0.0.0/0", "203.0.113.1"));
    cr_assert(not(holds("0.0.0.0/0", "2001:db8::1")));
    cr_assert(holds("2001:db8::/33, ::1", "2001:db8:7fff::1"));
    cr_assert(not(holds("2001:db8::/33", "2001:db8:8000::1")));
    cr_assert(holds(",, ::1", "::1"));
    cr_assert(not(holds("", "::1")));
    /* An IPv4 client of a socket that listens on IPv6. */
    cr_assert(holds("127.0.0.0/8", "::ffff:127.0.0.1"));
}

Test(peers, the_last_address_that_is_not_trusted_is_the_client)
{
    static const struct {
        const char *header, *client; /* NULL: the header names none */
    } cases[] = {
        { "198.51.100.7", "198.51.100.7" },
        { "evil, 198.51.100.7", "198.51.100.7" },
        { "203.0.113.1, 198.51.100.7 ,10.0.0.3, 10.0.0.2", "198.51.100.7" },
        { "2001:db8::5, 10.0.0.2", "2001:db8::5" },
        { "10.0.0.3", NULL },
        { "", NULL },
        { NULL, NULL },
        { "198.51.100.7, evil", NULL },
        { "198.51.100.7:80", NULL },
        { " , ", NULL },
    };
    pfc_nets nets = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_nets_parse("10.0.0.0/8", "networks", &nets, &err), PFC_OK), "%s",
              err.msg);
    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_address peer = { { 0 } };
        char text[INET6_ADDRSTRLEN] = "";
        const unsigned char *key;

        cr_assert(
            eq(int, httpd_forwarded_for(cases[i].header, &nets, &peer), cases[i].client != NULL),
            "%s", cases[i].header);
        if (!cases[i].client)
            continue;
        if (httpd_peer_key(&peer, &key) == 4)
            (void)inet_ntop(AF_INET, key, text, sizeof(text));
        else
            (void)inet_ntop(AF_INET6, peer.bytes, text, sizeof(text));
        cr_assert(eq(str, text, (char *)(uintptr_t)cases[i].client));
    }
}

static const struct {
    const char *header;
    bool gzip, identity, br;
} codings[] = {
    { NULL, false, true, false },
    { "", false, true, false },
    { "gzip", true, true, false },
    { "GZIP", true, true, false },
    { "x-gzip", true, true, false },
    { "br, deflate, gzip;q=0.2", true, true, true },
    { "gzip;q=0", false, true, false },
    { "gzip; q=0", false, true, false },
    { "gzip ;\tq=0.000", false, true, false },
    { "gzip;q=0.001", true, true, false },
    { "gzip;q=0.5, identity", false, true, false }, /* rather as it is */
    { "gzip;q=0.5, identity;q=0.5", true, true, false },
    { "*", true, true, false },
    { "*;q=0", false, false, false },
    { "identity;q=0", false, false, false },
    { "identity;q=0, gzip;q=0.1", true, false, false },
    { "identity; q=0,gzip", true, false, false },
    { "gzip, *;q=0", true, false, false },
    { "*;q=0, identity", false, true, false },
    { "gzipped", false, true, false },
    { "deflate, br", false, true, true },
    { "gzip;q=2", false, true, false }, /* no weight */
    { "gzip;quality=1", false, true, false },
    { ",,gzip,", true, true, false },
    { "gzip, deflate, br, zstd", true, true, true },
    { "gzip, BR;q=0.9", true, true, false }, /* rather gzip */
    { "gzip;q=0.5, br;q=0.5", true, true, true },
    { "br;q=0, gzip", true, true, false },
    { "br;q=0.5, identity", false, true, false },
    { "br, identity;q=0", false, false, true },
    { "brotli", false, true, false },
};

Test(negotiate, takes_codings_by_their_weights)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(codings); i++) {
        const httpd_codings got = httpd_codings_of(codings[i].header);

        cr_expect(eq(int, got.gzip, codings[i].gzip), "%s", codings[i].header);
        cr_expect(eq(int, got.identity, codings[i].identity), "%s", codings[i].header);
        cr_expect(eq(int, got.br, codings[i].br), "%s", codings[i].header);
    }
}

Test(negotiate, finds_a_tag_of_either_strength_in_a_list)
{
    static const char tag[] = "W/\"abc\"";
    static const char *const listed[] = {
        "*",
        " * ",
        "W/\"abc\"",
        "\"abc\"",
        "\"x\", W/\"abc\"",
        "W/\"x,y\" ,\"abc\"",
        "\"\",\"abc\",",
    };
    static const char *const others[] = {
        "",      "\"ab\"",        "\"abcd\"", "W/\"ABC\"",  "abc",
        "\"*\"", "\"x\" \"abc\"", "\"abc",    "W/ \"abc\"", "\"x W/\"abc\"\"",
        "**",    "w/\"abc\"",
    };

    cr_expect(not(httpd_tag_listed(NULL, tag)));
    for (size_t i = 0; i < PFC_ARRAY_LEN(listed); i++)
        cr_expect(httpd_tag_listed(listed[i], tag), "%s", listed[i]);
    for (size_t i = 0; i < PFC_ARRAY_LEN(others); i++)
        cr_expect(not(httpd_tag_listed(others[i], tag)), "%s", others[i]);
}
