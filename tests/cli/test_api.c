/*
 * The service as the subcommands see it: which URL, whose token, which project, and what their
 * posts contain.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "core/base/fs.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"
#include "tests/core/http/stand_in.h"

/* One rule of the stand-in: the first that has the method and path of a request answers it. */
typedef struct rule {
    const char *call; /* "GET /path" */
    int status;
    const char *body;
} rule;

static fixture f;
static stand_in server;
static rule rules[8];
static pfc_buf seen; /* "METHOD PATH BODY\n" for each request */
static char *token;  /* the last Authorization header's value; NULL: there was none */
static pfc_err err;

static void answer(const stand_in_req *req, pfc_buf *out, void *arg)
{
    static const char name[] = "Authorization: ";
    const char *at = strstr(req->headers, name);
    char call[1100];

    (void)arg;
    (void)snprintf(call, sizeof(call), "%s %s", req->method, req->path);
    pfc_buf_printf(&seen, "%s %.*s\n", call, (int)req->body_len, req->body ? req->body : "");
    free(token);
    token = at ? pfc_strndup(at + strlen(name), strcspn(at + strlen(name), "\r")) : NULL;
    for (size_t i = 0; i < PFC_ARRAY_LEN(rules) && rules[i].call; i++) {
        if (strcmp(rules[i].call, call) == 0) {
            stand_in_json(out, rules[i].status, rules[i].body);
            return;
        }
    }
    stand_in_json(out, 404,
                  "{\"error\": {\"code\": \"not_found\", \"message\": \"no such path\"}}");
}

static void write_data(const char *name, const char *text)
{
    char *path = pfc_fs_join(f.dir, name);

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0600, &err), PFC_OK), "%s",
              err.msg);
    free(path);
}

static void write_endpoint(const char *url)
{
    char *text = pfc_format("{\"url\": \"%s\"}", url);

    write_data("endpoint.json", text);
    free(text);
}

static void setup(void)
{
    static const char *const names[] = {
        "PERFCI_URL",     "PERFCI_TOKEN", "PERFCI_TOKEN_FILE",
        "PERFCI_PROJECT", "PERFCI_DATA",  "CREDENTIALS_DIRECTORY"
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        unsetenv(names[i]);
    fixture_init(&f);
    setenv("XDG_DATA_HOME", f.dir, 1);
    pfc_buf_init(&seen, 1 << 20);
    stand_in_start(&server, answer, NULL);
}

static void teardown(void)
{
    stand_in_stop(&server);
    pfc_buf_clear(&seen);
    free(token);
    fixture_clear(&f);
}

TestSuite(api, .init = setup, .fini = teardown);

/* The URL that pfc_api_open takes; "" where it fails. */
static char *url_of(const char *url, const char *data, const char *conf_server)
{
    pfc_conf conf = { .server = (char *)conf_server };
    pfc_http *http = NULL;
    char *found = NULL;

    err = (pfc_err){ 0 };
    if (!pfc_api_open(url, data, conf_server ? &conf : NULL, &http, &err))
        found = pfc_strdup(pfc_http_url(http));
    pfc_http_free(http);
    return found ? found : pfc_strdup("");
}

static void check_url(const char *url, const char *data, const char *conf, const char *expected)
{
    char *got = url_of(url, data, conf);

    cr_assert(eq(str, got, (char *)expected), "%s", err.msg);
    free(got);
}

Test(api, the_url_is_the_flag_then_the_environment_then_the_file_then_the_local_service)
{
    char *local = pfc_fs_join(f.dir, "perfci");

    check_url(NULL, NULL, NULL, PFC_DEFAULT_URL);
    cr_assert(eq(int, pfc_fs_mkdirs(local, 0700, &err), PFC_OK));
    write_data("perfci/endpoint.json", "{\"url\": \"http://127.0.0.1:4\"}");
    check_url(NULL, NULL, NULL, "http://127.0.0.1:4");
    check_url(NULL, NULL, "http://127.0.0.1:3", "http://127.0.0.1:3");
    setenv("PERFCI_URL", "http://127.0.0.1:2", 1);
    check_url(NULL, NULL, "http://127.0.0.1:3", "http://127.0.0.1:2");
    check_url("http://127.0.0.1:1", NULL, "http://127.0.0.1:3", "http://127.0.0.1:1");
    /* A damaged file names no service. */
    unsetenv("PERFCI_URL");
    write_data("perfci/endpoint.json", "{\"url\": 4}");
    check_url(NULL, NULL, NULL, PFC_DEFAULT_URL);
    write_data("perfci/endpoint.json", "{");
    check_url(NULL, NULL, NULL, PFC_DEFAULT_URL);
    free(local);
}

Test(api, a_data_folder_names_its_service_and_no_other)
{
    setenv("PERFCI_URL", "http://127.0.0.1:2", 1);
    check_url(NULL, f.dir, NULL, "");
    cr_assert(eq(int, err.code, PFC_EUNAVAIL));
    cr_assert(ne(ptr, strstr(err.msg, f.dir), NULL), "%s", err.msg);
    cr_assert(ne(ptr, strstr(err.hint, "perfci up --data"), NULL), "%s", err.hint);
    check_url("http://127.0.0.1:1", f.dir, NULL, "http://127.0.0.1:1");
    write_endpoint("http://127.0.0.1:5");
    check_url(NULL, f.dir, NULL, "http://127.0.0.1:5");
    check_url("http://127.0.0.1:1", f.dir, NULL, "http://127.0.0.1:1");
}

/* The Authorization header of a call to the stand-in. */
static void check_token(const char *url, const char *data, const char *expected)
{
    pfc_http *http = NULL;

    cr_assert(eq(int, pfc_api_open(url, data, NULL, &http, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_http_json(http, "GET", "/x", NULL, NULL, NULL, &err), PFC_ENOTFOUND));
    pfc_http_free(http);
    cr_assert(eq(str, token ? token : "none", (char *)expected));
}

Test(api, the_local_services_token_goes_to_that_service_alone)
{
    check_token(server.url, NULL, "none");
    write_endpoint(server.url);
    check_token(NULL, f.dir, "none"); /* its file is not there: what it lets everyone read */
    write_data("admin.token", "pfc_admin\r\nsecond line\n");
    check_token(NULL, f.dir, "Bearer pfc_admin");
    check_token(server.url, f.dir, "Bearer pfc_admin");
    write_endpoint("http://127.0.0.1:5");
    check_token(server.url, f.dir, "none");
    setenv("PERFCI_TOKEN", "pfc_mine", 1);
    check_token(server.url, f.dir, "Bearer pfc_mine");
    write_endpoint(server.url);
    check_token(NULL, f.dir, "Bearer pfc_mine");
}

Test(api, a_token_that_cannot_be_read_is_an_error_and_never_left_out)
{
    pfc_http *http = NULL;

    setenv("PERFCI_TOKEN_FILE", "/no/such/file", 1);
    cr_assert(eq(int, pfc_api_open(server.url, NULL, NULL, &http, &err), PFC_EINVAL));
    cr_assert(eq(ptr, http, NULL));
    unsetenv("PERFCI_TOKEN_FILE");
    cr_assert(eq(int, pfc_api_open("ftp://x", NULL, NULL, &http, &err), PFC_EINVAL));
}

/* ---- project ---- */

static void check_project(const char *flag, const char *conf_project, const char *dir,
                          const char *expected)
{
    pfc_conf conf = { .project = (char *)conf_project };
    char *path = dir ? pfc_fs_join(f.dir, dir) : NULL;
    char *got = NULL;
    pfc_code code;

    if (path)
        cr_assert(eq(int, pfc_fs_mkdirs(path, 0700, &err), PFC_OK));
    code = pfc_api_project(flag, conf_project ? &conf : NULL, path, &got, &err);
    cr_assert(eq(int, code, expected ? PFC_OK : PFC_EINVAL), "%s", dir ? dir : "");
    cr_assert(eq(str, got ? got : "", expected ? (char *)expected : ""));
    free(got);
    free(path);
}

Test(api, the_project_is_the_flag_then_the_environment_then_the_file_then_the_folder)
{
    check_project(NULL, NULL, NULL, NULL);
    check_project(NULL, NULL, "folder", "folder");
    check_project(NULL, "stated", "folder", "stated");
    setenv("PERFCI_PROJECT", "exported", 1);
    check_project(NULL, "stated", "folder", "exported");
    check_project("given", "stated", "folder", "given");
    check_project("Not A Slug", "stated", "folder", NULL);
    setenv("PERFCI_PROJECT", "Not A Slug", 1);
    check_project(NULL, "stated", "folder", NULL);
}

Test(api, a_folders_name_becomes_a_slug)
{
    char longest[80];

    check_project(NULL, NULL, "My Kernels", "my-kernels");
    check_project(NULL, NULL, "A  +  b", "a-b");
    check_project(NULL, NULL, "x.y_z-9", "x.y_z-9");
    check_project(NULL, NULL, "._-lead", "lead");
    check_project(NULL, NULL, "(both", "both");
    check_project(NULL, NULL, "deep/inner", "inner");
    check_project(NULL, NULL, "+++", NULL);
    memset(longest, 'q', 63);
    longest[63] = '\0';
    check_project(NULL, NULL, longest, longest);
    longest[63] = 'r';
    longest[64] = '\0';
    {
        char cut[64];

        memcpy(cut, longest, 63);
        cut[63] = '\0';
        check_project(NULL, NULL, longest, cut);
    }
}

/* ---- finding and making projects ---- */

#define PROJECT_MISSING                                                                            \
    {                                                                                              \
        "GET /api/v1/projects/kernels", 404, "{\"error\": {\"message\": \"no project\"}}"          \
    }

static pfc_code ensure(const pfc_ensure *want, bool *made)
{
    const pfc_http_opts opts = { .url = server.url };
    pfc_http *http = NULL;
    pfc_code code;

    err = (pfc_err){ 0 };
    seen.len = 0;
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK));
    code = pfc_api_ensure_project(http, want, made, &err);
    pfc_http_free(http);
    return code;
}

Test(api, a_project_that_is_there_is_left_as_it_is)
{
    const pfc_ensure want = { .project = "kernels", .create = true };
    bool made = true;

    rules[0] = (rule){ "GET /api/v1/projects/kernels", 200, "{\"name\": \"kernels\"}" };
    cr_assert(eq(int, ensure(&want, &made), PFC_OK));
    cr_assert(not(made));
    cr_assert(eq(str, (char *)pfc_buf_text(&seen), "GET /api/v1/projects/kernels \n"));
}

Test(api, a_project_is_made_where_the_flag_or_the_file_says_so)
{
    pfc_conf conf = { .project = "kernels" };
    const pfc_ensure wants[] = {
        { .project = "kernels", .create = true, .branch = "trunk" },
        { .project = "kernels", .conf = &conf },
    };
    static const char *const bodies[] = { "\"branch\":", "\"name\":" };

    rules[0] = (rule)PROJECT_MISSING;
    rules[1] = (rule){ "POST /api/v1/projects", 201, "{\"name\": \"kernels\"}" };
    for (size_t i = 0; i < 2; i++) {
        bool made = false;

        cr_assert(eq(int, ensure(&wants[i], &made), PFC_OK), "%s", err.msg);
        cr_assert(made);
        cr_assert(ne(ptr, strstr(pfc_buf_text(&seen), bodies[i]), NULL), "%s", pfc_buf_text(&seen));
        cr_assert(eq(int, strstr(pfc_buf_text(&seen), "trunk") != NULL, i == 0));
        cr_assert(eq(int, err.code, PFC_OK));
    }
    /* Refused: the message is of the second call, and nothing was made. */
    rules[1] = (rule){ "POST /api/v1/projects", 403, "{\"error\": {\"message\": \"no right\"}}" };
    {
        bool made = true;

        cr_assert(eq(int, ensure(&wants[0], &made), PFC_EDENIED));
        cr_assert(not(made));
        cr_assert(ne(ptr, strstr(err.msg, "no right"), NULL), "%s", err.msg);
    }
}

Test(api, a_missing_project_is_refused_with_the_nearest_name)
{
    pfc_conf conf = { .project = "another" };
    pfc_ensure want = { .project = "kernels", .conf = &conf };
    bool made = true;

    rules[0] = (rule)PROJECT_MISSING;
    rules[1] = (rule){ "GET /api/v1/projects?limit=1000", 200,
                       "{\"projects\": [{\"name\": \"zebra\"}, {}, {\"name\": \"kernel\"}]}" };
    cr_assert(eq(int, ensure(&want, &made), PFC_ENOTFOUND));
    cr_assert(not(made));
    cr_assert(ne(ptr, strstr(err.msg, "kernels"), NULL));
    cr_assert(ne(ptr, strstr(err.hint, "did you mean \"kernel\"?"), NULL), "%s", err.hint);
    cr_assert(ne(ptr, strstr(err.hint, "perfci project create kernels"), NULL), "%s", err.hint);
    want.has_flag = true;
    cr_assert(eq(int, ensure(&want, &made), PFC_ENOTFOUND));
    cr_assert(ne(ptr, strstr(err.hint, "--create"), NULL), "%s", err.hint);
    rules[1].body = "{\"projects\": []}";
    cr_assert(eq(int, ensure(&want, &made), PFC_ENOTFOUND));
    cr_assert(eq(ptr, strstr(err.hint, "did you mean"), NULL), "%s", err.hint);
    cr_assert(ne(ptr, strstr(err.hint, "perfci project list"), NULL), "%s", err.hint);
    rules[1].status = 500; /* the hint is a bonus: its failure is not the message */
    cr_assert(eq(int, ensure(&want, &made), PFC_ENOTFOUND));
}

Test(api, a_service_that_fails_makes_nothing)
{
    const pfc_ensure want = { .project = "kernels", .create = true };
    bool made = true;

    rules[0] = (rule){ "GET /api/v1/projects/kernels", 403, "{}" };
    cr_assert(eq(int, ensure(&want, &made), PFC_EDENIED));
    cr_assert(not(made));
    cr_assert(eq(ptr, strstr(pfc_buf_text(&seen), "POST"), NULL));
}

Test(api, a_project_with_a_repository_needs_no_folder)
{
    const pfc_http_opts opts = { .url = server.url };
    const char *source = "before";
    pfc_http *http = NULL;

    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK));
    rules[0] = (rule){ "GET /api/v1/projects/p", 200, "{\"repo_url\": \"https://host/p.git\"}" };
    cr_assert(eq(int, pfc_api_source(http, "p", "/folder", &source, &err), PFC_OK));
    cr_assert(eq(ptr, (void *)source, NULL));
    rules[0].body = "{\"repo_url\": null}";
    cr_assert(eq(int, pfc_api_source(http, "p", "/folder", &source, &err), PFC_OK));
    cr_assert(eq(str, (char *)source, "/folder"));
    cr_assert(eq(int, pfc_api_source(http, "q", "/folder", &source, &err), PFC_ENOTFOUND));
    pfc_http_free(http);
}

/* ---- posts ---- */

static pfc_commit_id id_of(const char *hex)
{
    pfc_commit_id id = { 0 };

    memcpy(id.hex, hex, 40);
    return id;
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        n++;
    return n;
}

Test(api, commits_are_posted_in_parts_of_500_with_their_order)
{
    const pfc_http_opts opts = { .url = server.url };
    pfc_commit_id ids[1001];
    pfc_http *http = NULL;
    pfc_repo *repo = NULL;
    int64_t fresh = -1;
    char *first = fixture_commit(&f, "a.c", "int a;\n", "first");
    char *second = fixture_commit(&f, "b.c", "int b;\n", "second");

    rules[0] = (rule){ "POST /api/v1/projects/p/commits", 200, "{\"new\": 2}" };
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK));
    cr_assert(eq(int, pfc_repo_open(f.repo, &repo, &err), PFC_OK), "%s", err.msg);
    for (size_t i = 0; i < 1001; i++)
        ids[i] = id_of(i == 1000 ? second : first);
    cr_assert(
        eq(int, pfc_api_post_commits(http, "p", "main", repo, ids, 500, &fresh, &err), PFC_OK),
        "%s", err.msg);
    cr_assert(eq(i64, fresh, 2));
    cr_assert(eq(sz, count(pfc_buf_text(&seen), "POST "), 1));
    cr_assert(eq(sz, count(pfc_buf_text(&seen), first), 500));
    pfc_buf_clear(&seen);
    pfc_buf_init(&seen, 4 << 20);
    cr_assert(
        eq(int, pfc_api_post_commits(http, "p", "main", repo, ids, 1001, &fresh, &err), PFC_OK));
    cr_assert(eq(i64, fresh, 6));
    cr_assert(eq(sz, count(pfc_buf_text(&seen), "POST "), 3));
    cr_assert(eq(sz, count(strrchr(pfc_buf_text(&seen), 'P'), second), 1)); /* alone in the last */
    cr_assert(ne(ptr, strstr(pfc_buf_text(&seen), "\"branch\":\"main\""), NULL));
    cr_assert(eq(int, pfc_api_post_commits(http, "p", "main", repo, ids, 1, NULL, &err), PFC_OK));
    rules[0].status = 500;
    fresh = -1;
    cr_assert(eq(int, pfc_api_post_commits(http, "p", "main", repo, ids, 1001, &fresh, &err),
                 PFC_EUNAVAIL));
    cr_assert(eq(i64, fresh, -1));
    ids[0] = id_of("0123456789012345678901234567890123456789");
    cr_assert(ne(int, pfc_api_post_commits(http, "p", "main", repo, ids, 1, &fresh, &err), PFC_OK));
    pfc_repo_close(repo);
    pfc_http_free(http);
    free(first);
    free(second);
}

Test(api, history_is_posted_up_to_its_tip)
{
    const pfc_http_opts opts = { .url = server.url };
    char *ids[3];
    pfc_commit_id tip;
    pfc_http *http = NULL;
    pfc_repo *repo = NULL;

    for (size_t i = 0; i < 3; i++)
        ids[i] = fixture_commit(&f, "a.c", i == 0 ? "0" : i == 1 ? "1" : "2", "work");
    rules[0] = (rule){ "POST /api/v1/projects/p/commits", 200, "{\"new\": 2}" };
    tip = id_of(ids[1]);
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK));
    cr_assert(eq(int, pfc_repo_open(f.repo, &repo, &err), PFC_OK));
    cr_assert(eq(int, pfc_api_post_history(http, "p", "main", repo, &tip, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(ne(ptr, strstr(pfc_buf_text(&seen), ids[0]), NULL));
    cr_assert(ne(ptr, strstr(pfc_buf_text(&seen), ids[1]), NULL));
    cr_assert(eq(ptr, strstr(pfc_buf_text(&seen), ids[2]), NULL));
    pfc_repo_close(repo);
    pfc_http_free(http);
    for (size_t i = 0; i < 3; i++)
        free(ids[i]);
}

static pfc_run *run_of(size_t measurements)
{
    pfc_run *run = pfc_run_new();
    char *longest = pfc_calloc(60001, 1);

    memset(longest, 'x', 60000);
    run->id = pfc_strdup("0123456789abcdef0123456789abcdef");
    run->suite = pfc_strdup("s");
    run->suite_hash = pfc_strdup("");
    for (size_t i = 0; i < measurements; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "b%zu", i);
        pfc_run_add_value(run, name, "m", "ns", 1.0, false);
        if (measurements > 1)
            pfc_labels_set(&run->measurements[i].extra, "text", longest);
    }
    free(longest);
    return run;
}

static int answered; /* runs so far */

/* The first part is new, every later one was there. */
static void answer_runs(const stand_in_req *req, pfc_buf *out, void *arg)
{
    (void)req;
    (void)arg;
    answered++;
    stand_in_json(out, answered == 1 ? 201 : 200, "{\"run_id\": 12}");
}

Test(api, a_run_is_repeated_only_where_all_of_its_parts_were)
{
    pfc_http_opts opts = { .url = server.url };
    pfc_http *http = NULL;
    pfc_run *small = run_of(1);
    pfc_run *large = run_of(300); /* 18 MB: over the limit of a post */
    int64_t id = 0;
    bool repeated = true;

    rules[0] = (rule){ "POST /api/v1/runs", 201, "{\"run_id\": 7}" };
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK));
    cr_assert(eq(int, pfc_api_post_run(http, small, &id, &repeated, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, id, 7));
    cr_assert(not(repeated));
    rules[0].status = 200;
    cr_assert(eq(int, pfc_api_post_run(http, small, &id, &repeated, &err), PFC_OK));
    cr_assert(repeated);
    cr_assert(eq(int, pfc_api_post_run(http, small, NULL, NULL, &err), PFC_OK));
    rules[0].body = "{}"; /* no number */
    id = -1;
    cr_assert(eq(int, pfc_api_post_run(http, small, &id, NULL, &err), PFC_EINVAL));
    rules[0] = (rule){ "POST /api/v1/runs", 409, "{\"error\": {\"message\": \"another body\"}}" };
    cr_assert(eq(int, pfc_api_post_run(http, small, &id, &repeated, &err), PFC_ECONFLICT));
    cr_assert(eq(i64, id, -1));
    pfc_http_free(http);
    stand_in_stop(&server);
    stand_in_start(&server, answer_runs, NULL);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK));
    cr_assert(eq(int, pfc_api_post_run(http, large, &id, &repeated, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, answered, 2));
    cr_assert(eq(i64, id, 12));
    cr_assert(not(repeated)); /* the first part was new */
    pfc_http_free(http);
    pfc_run_free(small);
    pfc_run_free(large);
}

Test(api, sources_are_posted_only_where_something_is_known)
{
    const pfc_http_opts opts = { .url = server.url };
    char *files[] = { (char *)"src/a.c" };
    const pfc_built none = { 0 };
    const pfc_built built = { .files = files, .files_len = 1 };
    const pfc_conf conf = { 0 };
    pfc_http *http = NULL;

    rules[0] = (rule){ "POST /api/v1/projects/p/sources", 204, "" };
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK));
    pfc_api_post_sources(http, "p", "0123", &conf, &none);
    cr_assert(eq(sz, seen.len, 0));
    pfc_api_post_sources(http, "p", "0123", &conf, &built);
    cr_assert(ne(ptr, strstr(pfc_buf_text(&seen), "POST /api/v1/projects/p/sources"), NULL));
    cr_assert(ne(ptr, strstr(pfc_buf_text(&seen), "\"src/a.c\""), NULL));
    pfc_http_free(http);
}
