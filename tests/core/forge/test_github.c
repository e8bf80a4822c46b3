/* One comment for each pull request or commit, on a stand-in for GitHub's API. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "core/forge/forge.h"

#include "tests/core/http/stand_in.h"

#define OURS "<!-- perfci:k --> old"

/* The first rule with the method and path of a request answers it; NULL status line: 200. */
typedef struct rule {
    const char *call;
    int status;
    const char *headers; /* more of them, each with \r\n */
    const char *body;
} rule;

static stand_in server;
static rule rules[12];
static pfc_buf seen; /* "METHOD PATH\n" for each request */
static char *sent;   /* the last body */
static bool headers_were_there;
static int pages; /* above 0: the list has so many full pages without our comment */
static pfc_err err;

static void full_page(pfc_buf *out)
{
    pfc_buf body;

    pfc_buf_init(&body, 1 << 16);
    for (int i = 0; i < 100; i++)
        pfc_buf_printf(&body, "%s{\"id\":%d,\"body\":\"talk\"}", i ? "," : "[", i + 1);
    pfc_buf_putc(&body, ']');
    stand_in_json(out, 200, pfc_buf_text(&body));
    pfc_buf_clear(&body);
}

static void answer(const stand_in_req *req, pfc_buf *out, void *arg)
{
    char call[1100];
    const char *page = strstr(req->path, "&page=");

    (void)arg;
    (void)snprintf(call, sizeof(call), "%s %s", req->method, req->path);
    pfc_buf_printf(&seen, "%s\n", call);
    free(sent);
    sent = pfc_strndup(req->body ? req->body : "", req->body_len);
    headers_were_there = strstr(req->headers, "Accept: application/vnd.github+json\r\n") &&
                         strstr(req->headers, "X-GitHub-Api-Version: 2022-11-28\r\n") &&
                         strstr(req->headers, "User-Agent: perfci/");
    if (page && atoi(page + 6) <= pages) {
        full_page(out);
        return;
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(rules) && rules[i].call; i++) {
        if (strcmp(rules[i].call, call) != 0)
            continue;
        pfc_buf_printf(out,
                       "HTTP/1.1 %d Status\r\nContent-Type: application/json\r\n%s"
                       "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                       rules[i].status, rules[i].headers ? rules[i].headers : "",
                       strlen(rules[i].body), rules[i].body);
        return;
    }
    stand_in_json(out, 404, "{}");
}

static void setup(void)
{
    pfc_buf_init(&seen, 1 << 20);
    stand_in_start(&server, answer, NULL);
}

static void teardown(void)
{
    stand_in_stop(&server);
    pfc_buf_clear(&seen);
    free(sent);
}

TestSuite(github, .init = setup, .fini = teardown);

static bool created;
static char *url;

static pfc_code put(const char *commit, int64_t pull_request)
{
    const pfc_comment_place at = { .repo = "o/n", .commit = commit, .pull_request = pull_request };
    const pfc_http_opts opts = { .url = server.url, .token = "t" };
    pfc_http *http = NULL;
    pfc_code code;

    err = (pfc_err){ 0 };
    free(url);
    url = NULL;
    seen.len = 0;
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK));
    code = pfc_comment_put(http, &at, "k", "<!-- perfci:k --> new", &url, &created, &err);
    pfc_http_free(http);
    return code;
}

#define LIST "GET /repos/o/n/issues/7/comments?per_page=100&page="

Test(github, the_first_comment_is_created)
{
    rules[0] = (rule){ LIST "1", 200, NULL, "[{\"id\": 3, \"body\": \"other\"}, {\"id\": 4}]" };
    rules[1] = (rule){ "POST /repos/o/n/issues/7/comments", 201, NULL,
                       "{\"html_url\": \"https://host/c\"}" };
    cr_assert(eq(int, put(NULL, 7), PFC_OK), "%s", err.msg);
    cr_assert(created);
    cr_assert(eq(str, url, "https://host/c"));
    cr_assert(eq(str, sent, "{\"body\":\"<!-- perfci:k --> new\"}"));
    cr_assert(headers_were_there);
    cr_assert(eq(str, (char *)pfc_buf_text(&seen), LIST "1\nPOST /repos/o/n/issues/7/comments\n"));
}

Test(github, a_comment_of_ours_is_edited)
{
    rules[0] = (rule){ LIST "1", 200, NULL,
                       "[{\"id\": 3, \"body\": \"> " OURS "\"}, {\"id\": 4, \"body\": \"" OURS
                       "\"}, {\"id\": 5, \"body\": \"" OURS "\"}]" };
    rules[1] = (rule){ "PATCH /repos/o/n/issues/comments/4", 200, NULL, "{}" };
    created = true;
    cr_assert(eq(int, put(NULL, 7), PFC_OK), "%s", err.msg);
    cr_assert(not(created));
    cr_assert(eq(ptr, url, NULL));
    cr_assert(eq(str, (char *)pfc_buf_text(&seen), LIST "1\nPATCH /repos/o/n/issues/comments/4\n"));
}

Test(github, a_commit_has_comments_of_its_own)
{
    rules[0] = (rule){ "GET /repos/o/n/commits/abc/comments?per_page=100&page=1", 200, NULL, "[]" };
    rules[1] = (rule){ "POST /repos/o/n/commits/abc/comments", 201, NULL, "{}" };
    cr_assert(eq(int, put("abc", 0), PFC_OK), "%s", err.msg);
    cr_assert(created);
    rules[0].body = "[{\"id\": 9, \"body\": \"" OURS "\"}]";
    rules[1] = (rule){ "PATCH /repos/o/n/comments/9", 200, NULL, "{}" };
    cr_assert(eq(int, put("abc", 0), PFC_OK), "%s", err.msg);
    cr_assert(not(created));
}

/* The marker in a comment of another user: the next one is tried, five times. */
Test(github, a_comment_that_may_not_be_edited_is_passed_over)
{
    rules[0] =
        (rule){ LIST "1", 200, NULL,
                "[{\"id\": 4, \"body\": \"" OURS "\"}, {\"id\": 5, \"body\": \"" OURS "\"}]" };
    rules[1] = (rule){ "PATCH /repos/o/n/issues/comments/4", 403, NULL, "{}" };
    rules[2] = (rule){ "PATCH /repos/o/n/issues/comments/5", 200, NULL, "{}" };
    cr_assert(eq(int, put(NULL, 7), PFC_OK), "%s", err.msg);
    cr_assert(not(created));
    rules[2].status = 403; /* none may be edited: a new one */
    rules[3] = (rule){ "POST /repos/o/n/issues/7/comments", 201, NULL, "{}" };
    cr_assert(eq(int, put(NULL, 7), PFC_OK), "%s", err.msg);
    cr_assert(created);
    rules[2].status = 500; /* any other failure ends it */
    cr_assert(eq(int, put(NULL, 7), PFC_EUNAVAIL));
    cr_assert(eq(ptr, strstr(pfc_buf_text(&seen), "POST"), NULL));
}

static void patch_rules(int first, int last)
{
    static char calls[8][64];

    for (int i = first; i <= last; i++) {
        (void)snprintf(calls[i], sizeof(calls[i]), "PATCH /repos/o/n/issues/comments/%d", i);
        rules[i] = (rule){ calls[i], 403, NULL, "{}" };
    }
}

Test(github, five_foreign_comments_are_passed_over_and_a_sixth_ends_it)
{
    static const char *const lists[] = {
        "[{\"id\":1,\"body\":\"" OURS "\"},{\"id\":2,\"body\":\"" OURS
        "\"},{\"id\":3,\"body\":\"" OURS "\"},{\"id\":4,\"body\":\"" OURS
        "\"},{\"id\":5,\"body\":\"" OURS "\"}]",
        "[{\"id\":1,\"body\":\"" OURS "\"},{\"id\":2,\"body\":\"" OURS
        "\"},{\"id\":3,\"body\":\"" OURS "\"},{\"id\":4,\"body\":\"" OURS
        "\"},{\"id\":5,\"body\":\"" OURS "\"},{\"id\":6,\"body\":\"" OURS "\"}]",
    };

    patch_rules(1, 6);
    rules[7] = (rule){ "POST /repos/o/n/issues/7/comments", 201, NULL, "{}" };
    for (size_t i = 0; i < 2; i++) {
        rules[0] = (rule){ LIST "1", 200, NULL, lists[i] };
        cr_assert(eq(int, put(NULL, 7), i == 0 ? PFC_OK : PFC_EDENIED), "%s", err.msg);
    }
}

Test(github, thirty_pages_are_searched)
{
    char last[128];

    rules[0] = (rule){ "POST /repos/o/n/issues/7/comments", 201, NULL, "{}" };
    (void)snprintf(last, sizeof(last), "%s%d", LIST, 30);
    rules[1] = (rule){ last, 200, NULL, "[{\"id\": 4, \"body\": \"" OURS "\"}]" };
    rules[2] = (rule){ "PATCH /repos/o/n/issues/comments/4", 200, NULL, "{}" };
    pages = 29;
    cr_assert(eq(int, put(NULL, 7), PFC_OK), "%s", err.msg);
    cr_assert(not(created)); /* on the thirtieth page */
    pages = 40;
    cr_assert(eq(int, put(NULL, 7), PFC_OK), "%s", err.msg);
    cr_assert(created);
    cr_assert(ne(ptr, strstr(pfc_buf_text(&seen), "&page=30\n"), NULL));
    cr_assert(eq(ptr, strstr(pfc_buf_text(&seen), "&page=31\n"), NULL));
    pages = 1; /* a page that is not full is the last */
    rules[1] = (rule){ LIST "2", 200, NULL, "[{\"id\": 4, \"body\": \"x\"}]" };
    cr_assert(eq(int, put(NULL, 7), PFC_OK), "%s", err.msg);
    cr_assert(created);
    cr_assert(eq(ptr, strstr(pfc_buf_text(&seen), "&page=3\n"), NULL));
}

Test(github, what_github_answers_says_whether_it_is_worth_trying_again)
{
    static const struct {
        int status;
        const char *headers;
        pfc_code code;
        const char *message;
    } rows[] = {
        { 199 + 1, NULL, PFC_EINVAL, "" }, /* no JSON */
        { 300, NULL, PFC_EIO, "GitHub answers 300 to GET" },
        { 301, NULL, PFC_EIO, "GitHub answers 301" },
        { 401, NULL, PFC_EDENIED, "refuses the token" },
        { 403, NULL, PFC_EDENIED, "refuses the token" },
        { 403, "Retry-After: 30\r\n", PFC_EUNAVAIL, "asks to wait 30 s" },
        { 403, "Retry-After: 0\r\n", PFC_EDENIED, "refuses the token" },
        { 402, NULL, PFC_EIO, "GitHub answers 402" },
        { 404, NULL, PFC_ENOTFOUND, "knows no /repos/o/n/issues/7" },
        { 405, NULL, PFC_EIO, "GitHub answers 405" },
        { 429, NULL, PFC_EUNAVAIL, "GitHub answers 429" },
        { 430, NULL, PFC_EIO, "GitHub answers 430" },
        { 499, NULL, PFC_EIO, "GitHub answers 499" },
        { 500, NULL, PFC_EUNAVAIL, "GitHub answers 500" },
        { 503, NULL, PFC_EUNAVAIL, "GitHub answers 503" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        rules[0] = (rule){ LIST "1", rows[i].status, rows[i].headers, "not JSON" };
        cr_assert(eq(int, put(NULL, 7), rows[i].code), "row %zu: %s", i, err.msg);
        cr_assert(ne(ptr, strstr(err.msg, rows[i].message), NULL), "row %zu: %s", i, err.msg);
        cr_assert(eq(ptr, strstr(pfc_buf_text(&seen), "POST"), NULL));
    }
}
