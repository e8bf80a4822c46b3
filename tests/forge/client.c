/*
 * Calls core/forge as JSON lines on stdin say it, and answers each with a line. A line: {"do",
 * ...its arguments, "now": sets the clock}; the first does "open", with {"kind", "url", "token" or
 * "app_id" and "key" (a file), "installation", "timeout_s"}. An answer: {"code", "message",
 * "wait_s", ...results}.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/fs.h"
#include "core/forge/provider.h"

static int64_t now_s;
static pfc_forge *forge;

static int64_t test_now(void *arg)
{
    (void)arg;
    return now_s;
}

static const char *text(const json_t *line, const char *key)
{
    return json_string_value(json_object_get(line, key));
}

static int64_t number(const json_t *line, const char *key)
{
    return json_integer_value(json_object_get(line, key));
}

static pfc_code open_forge(const json_t *line, json_t *out, pfc_err *err)
{
    pfc_forge_opts opts = { .api_url = text(line, "url"),
                            .token = text(line, "token"),
                            .app_id = text(line, "app_id"),
                            .installation = number(line, "installation"),
                            .timeout_s = json_number_value(json_object_get(line, "timeout_s")),
                            .now_unix_s = test_now };
    char *key = NULL;
    size_t len = 0;
    pfc_code code = pfc_forge_kind_parse(text(line, "kind"), &opts.kind, err);

    (void)out;
    if (!code && text(line, "key"))
        code = pfc_fs_read(text(line, "key"), 65536, &key, &len, err);
    opts.app_key_pem = key;
    if (!code)
        code = pfc_forge_open(&opts, &forge, err);
    free(key);
    return code;
}

static void put_comment(json_t *out, pfc_forge_comment *comment)
{
    json_object_set_new(out, "id", json_integer((json_int_t)comment->id));
    json_object_set_new(out, "url", comment->url ? json_string(comment->url) : json_null());
    json_object_set_new(out, "created", json_boolean(comment->created));
    free(comment->url);
}

static pfc_code do_put(const json_t *line, json_t *out, pfc_err *err)
{
    pfc_forge_comment comment = { 0 };
    pfc_code code = text(line, "commit")
                        ? pfc_forge_commit_comment_put(
                              forge, text(line, "repo"), text(line, "commit"), text(line, "key"),
                              number(line, "known"), text(line, "body"), &comment, err)
                        : pfc_forge_comment_put(forge, text(line, "repo"), number(line, "pull"),
                                                text(line, "key"), number(line, "known"),
                                                text(line, "body"), &comment, err);

    if (!code)
        put_comment(out, &comment);
    return code;
}

static pfc_code do_add(const json_t *line, json_t *out, pfc_err *err)
{
    pfc_forge_comment comment = { 0 };
    pfc_code code = pfc_forge_comment_add(forge, text(line, "repo"), number(line, "pull"),
                                          text(line, "body"), &comment, err);

    if (!code)
        put_comment(out, &comment);
    return code;
}

static pfc_code do_check(const json_t *line, json_t *out, pfc_err *err)
{
    const pfc_forge_check check = { .name = text(line, "name"),
                                    .commit = text(line, "commit"),
                                    .state = (pfc_check_state)number(line, "state"),
                                    .title = text(line, "title"),
                                    .summary = text(line, "summary"),
                                    .url = text(line, "url"),
                                    .external_id = text(line, "external_id") };
    int64_t id = number(line, "id");
    pfc_code code = pfc_forge_check_put(forge, text(line, "repo"), &check, &id, err);

    json_object_set_new(out, "id", json_integer((json_int_t)id));
    return code;
}

static pfc_code do_access(const json_t *line, json_t *out, pfc_err *err)
{
    static const char *const names[] = { "none", "read", "write" };
    pfc_forge_access access = PFC_ACCESS_NONE;
    pfc_code code =
        pfc_forge_access_of(forge, text(line, "repo"), text(line, "user"), &access, err);

    if (!code)
        json_object_set_new(out, "access", json_string(names[access]));
    return code;
}

static pfc_code do_pull(const json_t *line, json_t *out, pfc_err *err)
{
    pfc_forge_pull p = { 0 };
    pfc_code code = pfc_forge_pull_get(forge, text(line, "repo"), number(line, "number"), &p, err);
    json_t *doc = json_pack(
        "{s:I, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:b, s:b, s:b}",
        "number", (json_int_t)p.number, "title", p.title, "author", p.author, "url", p.url,
        "head_commit", p.head_commit, "head_branch", p.head_branch, "head_repo", p.head_repo,
        "base_commit", p.base_commit, "base_branch", p.base_branch, "base_repo", p.base_repo,
        "merge_base", p.merge_base, "open", p.open, "draft", p.draft, "fork", p.fork);

    json_object_set_new(out, "pull", doc);
    pfc_forge_pull_clear(&p);
    return code;
}

static pfc_code do_commits(const json_t *line, json_t *out, pfc_err *err)
{
    pfc_forge_line commits = { 0 };
    json_t *ids = json_array();
    pfc_code code = pfc_forge_line_get(forge, text(line, "repo"), number(line, "number"),
                                       text(line, "base"), text(line, "head"), &commits, err);

    for (size_t i = 0; i < commits.len; i++)
        json_array_append_new(ids, json_string(commits.ids[i]));
    json_object_set_new(out, "commits", ids);
    pfc_forge_line_clear(&commits);
    return code;
}

static pfc_code do_issue(const json_t *line, json_t *out, pfc_err *err)
{
    const pfc_forge_issue issue = { .title = text(line, "title"),
                                    .body = text(line, "body"),
                                    .open = json_is_true(json_object_get(line, "open")) };
    int64_t id = number(line, "number");
    char *url = NULL;
    pfc_code code = pfc_forge_issue_put(forge, text(line, "repo"), &issue, &id, &url, err);

    if (!code) {
        json_object_set_new(out, "number", json_integer((json_int_t)id));
        json_object_set_new(out, "url", json_string(url));
    }
    free(url);
    return code;
}

static pfc_code do_find_issue(const json_t *line, json_t *out, pfc_err *err)
{
    int64_t id = 0;
    char *url = NULL;
    pfc_code code = pfc_forge_issue_find(forge, text(line, "repo"), text(line, "key"),
                                         number(line, "since"), &id, &url, err);

    json_object_set_new(out, "number", json_integer((json_int_t)id));
    free(url);
    return code;
}

static pfc_code do_line(const json_t *line, json_t *out, pfc_err *err)
{
    static const struct {
        const char *name;
        pfc_code (*call)(const json_t *line, json_t *out, pfc_err *err);
    } calls[] = {
        { "open", open_forge }, { "put", do_put },         { "add", do_add },
        { "check", do_check },  { "access", do_access },   { "pull", do_pull },
        { "issue", do_issue },  { "commits", do_commits }, { "find_issue", do_find_issue }
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(calls); i++) {
        if (pfc_streq(calls[i].name, text(line, "do")))
            return calls[i].call(line, out, err);
    }
    return pfc_err_set(err, PFC_EBUG, "no call of this name");
}

static void answer(const json_t *line)
{
    json_t *out = json_object();
    pfc_err err = { 0 };
    pfc_code code;
    char *words;

    if (json_is_integer(json_object_get(line, "now")))
        now_s = number(line, "now");
    code = do_line(line, out, &err);
    json_object_set_new(out, "code", json_string(code ? pfc_code_name(code) : "OK"));
    json_object_set_new(out, "message", json_string(err.msg));
    json_object_set_new(out, "wait_s", json_real(forge ? pfc_forge_wait_s(forge) : 0));
    words = json_dumps(out, JSON_COMPACT);
    (void)printf("%s\n", words);
    (void)fflush(stdout);
    free(words);
    json_decref(out);
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;

    while (getline(&line, &cap, stdin) > 0) {
        json_t *doc = json_loads(line, 0, NULL);

        if (!doc)
            return 2;
        answer(doc);
        json_decref(doc);
    }
    free(line);
    pfc_forge_close(forge);
    return 0;
}
