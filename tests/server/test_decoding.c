/* The parts of a request that handlers read: pages, objects, labels, lists of texts and settings,
 * each at its limit and one beyond it. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "server/handlers/handlers.h"

#include "tests/check/check.h"

static json_t *parsed(const char *text)
{
    json_error_t fault;
    json_t *doc = json_loads(text, 0, &fault);

    cr_assert(doc != NULL, "%s: %s", text, fault.text);
    return doc;
}

/* n times `c`; caller frees. */
static char *repeated(char c, size_t n)
{
    char *text = pfc_alloc(n + 1);

    memset(text, c, n);
    text[n] = '\0';
    return text;
}

Test(decode, pages_have_a_limit_of_1_to_1000_and_a_cursor_above_0)
{
    static const struct {
        const char *limit, *cursor;
        pfc_code code;
        int of_limit;
        int64_t of_cursor;
        const char *field;
    } rows[] = {
        { NULL, NULL, PFC_OK, PFC_LIST_LIMIT, 0, "" },
        { "1", "1", PFC_OK, 1, 1, "" },
        { "0", NULL, PFC_EINVAL, 0, 0, "limit" },
        { "LIMIT", "9223372036854775807", PFC_OK, PFC_LIST_MAX, INT64_MAX, "" },
        { "OVER", NULL, PFC_EINVAL, 0, 0, "limit" },
        { "-1", NULL, PFC_EINVAL, 0, 0, "limit" },
        { "5", "0", PFC_EINVAL, 0, 0, "cursor" },
        { "5", "x", PFC_EINVAL, 0, 0, "cursor" },
        { "", NULL, PFC_EINVAL, 0, 0, "limit" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char limit[32];
        pfc_req req = { 0 };
        pfc_page page = { .cursor = 99 };
        pfc_err err = { 0 };

        (void)snprintf(limit, sizeof(limit), "%s", rows[i].limit ? rows[i].limit : "");
        if (strcmp(limit, "LIMIT") == 0)
            (void)snprintf(limit, sizeof(limit), "%d", PFC_LIST_MAX);
        else if (strcmp(limit, "OVER") == 0)
            (void)snprintf(limit, sizeof(limit), "%d", PFC_LIST_MAX + 1);
        if (rows[i].limit)
            req.query[req.query_len++] = (pfc_httpd_pair){ "limit", limit };
        if (rows[i].cursor)
            req.query[req.query_len++] = (pfc_httpd_pair){ "cursor", (char *)rows[i].cursor };
        cr_expect(eq(int, pfc_decode_page(&req, &page, &err), rows[i].code), "%zu", i);
        cr_expect(eq(str, err.field, (char *)rows[i].field), "%zu", i);
        if (rows[i].code)
            continue;
        cr_expect(eq(int, page.limit, rows[i].of_limit), "%zu", i);
        cr_expect(eq(i64, page.cursor, rows[i].of_cursor), "%zu", i);
    }
}

Test(decode, a_body_is_an_object_of_known_members)
{
    static const char *const known[] = { "a", "b", NULL };
    static const struct {
        const char *body;
        pfc_code code;
    } rows[] = {
        { "{}", PFC_OK },
        { "{\"a\":1,\"b\":2}", PFC_OK },
        { "{\"c\":1}", PFC_EINVAL },
        { "[]", PFC_EINVAL },
        { "1", PFC_EINVAL },
        { "", PFC_EINVAL },
        { "{\"a\":1", PFC_EINVAL },
        { "null", PFC_EINVAL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_req req = { .body = rows[i].body, .body_len = strlen(rows[i].body) };
        json_t *doc = NULL;
        pfc_err err = { 0 };

        cr_expect(eq(int, pfc_decode_object(&req, known, &doc, &err), rows[i].code), "%s",
                  rows[i].body);
        cr_expect(eq(int, doc != NULL, rows[i].code == PFC_OK), "%s", rows[i].body);
        json_decref(doc);
    }
}

/* ---- labels ---- */

static pfc_code labels_of(const char *text, pfc_labels *out, pfc_err *err)
{
    json_t *doc = parsed(text);
    const pfc_code code = pfc_decode_labels(doc, "labels", out, err);

    json_decref(doc);
    return code;
}

Test(decode, labels_are_names_with_texts)
{
    static const struct {
        const char *text;
        pfc_code code;
        size_t len;
    } rows[] = {
        { "{}", PFC_OK, 0 },
        { "{\"labels\":{}}", PFC_OK, 0 },
        { "{\"labels\":null}", PFC_OK, 0 },
        { "{\"labels\":{\"a\":\"b\",\"c\":\"d\"}}", PFC_OK, 2 },
        { "{\"labels\":[]}", PFC_EINVAL, 0 },
        { "{\"labels\":{\"a\":1}}", PFC_EINVAL, 0 },
        { "{\"labels\":{\"a\":\"\"}}", PFC_OK, 1 },
        { "{\"labels\":{\"\":\"b\"}}", PFC_EINVAL, 0 },
        { "{\"labels\":{\"a\\u001b\":\"b\"}}", PFC_EINVAL, 0 },
        { "{\"labels\":{\"a\":\"b\\u0007\"}}", PFC_EINVAL, 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_labels labels = { 0 };
        pfc_err err = { 0 };

        cr_expect(eq(int, labels_of(rows[i].text, &labels, &err), rows[i].code), "%s: %s",
                  rows[i].text, err.msg);
        if (!rows[i].code)
            cr_expect(eq(sz, labels.len, rows[i].len), "%s", rows[i].text);
        pfc_labels_clear(&labels);
    }
}

Test(decode, at_most_64_labels_with_names_and_texts_of_a_limited_length)
{
    for (int extra = 0; extra < 2; extra++) {
        json_t *doc = json_object(), *many = json_object(), *one = json_object();
        char *name = repeated('n', PFC_WIRE_MAX_NAME + (size_t)extra);
        pfc_labels labels = { 0 };
        pfc_err err = { 0 };
        const pfc_code code = extra ? PFC_EINVAL : PFC_OK;

        for (int i = 0; i < 64 + extra; i++) {
            char key[16];

            (void)snprintf(key, sizeof(key), "k%d", i);
            json_object_set_new(many, key, json_string("v"));
        }
        json_object_set_new(doc, "labels", many);
        cr_expect(eq(int, pfc_decode_labels(doc, "labels", &labels, &err), code));
        pfc_labels_clear(&labels);
        json_object_set_new(one, name, json_string("v"));
        json_object_set(doc, "labels", one);
        cr_expect(eq(int, pfc_decode_labels(doc, "labels", &labels, &err), code), "%s", err.msg);
        pfc_labels_clear(&labels);
        json_object_clear(one);
        json_object_set_new(one, "k", json_string(name));
        cr_expect(eq(int, pfc_decode_labels(doc, "labels", &labels, &err), code), "%s", err.msg);
        pfc_labels_clear(&labels);
        json_decref(one);
        json_decref(doc);
        free(name);
    }
}

/* ---- lists of texts ---- */

Test(decode, texts_are_of_limited_length_and_number)
{
    static const pfc_texts_limits limits = { .len = 3, .bytes = 4 };
    static const struct {
        const char *text;
        bool required;
        pfc_code code;
        size_t len;
        const char *field;
    } rows[] = {
        { "{}", false, PFC_OK, 0, "" },
        { "{}", true, PFC_EINVAL, 0, "texts" },
        { "{\"texts\":[]}", false, PFC_OK, 0, "" },
        { "{\"texts\":[\"a\",\"bbbb\",\"c\"]}", true, PFC_OK, 3, "" },
        { "{\"texts\":[\"a\",\"b\",\"c\",\"d\"]}", true, PFC_EINVAL, 0, "texts" },
        { "{\"texts\":[\"a\",\"bbbbb\"]}", true, PFC_EINVAL, 0, "texts[1]" },
        { "{\"texts\":[\"\"]}", true, PFC_EINVAL, 0, "texts[0]" },
        { "{\"texts\":[1]}", true, PFC_EINVAL, 0, "texts[0]" },
        { "{\"texts\":\"a\"}", true, PFC_EINVAL, 0, "texts" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        json_t *doc = parsed(rows[i].text);
        pfc_texts texts = { 0 };
        pfc_err err = { 0 };

        cr_expect(eq(int, pfc_decode_texts(doc, "texts", rows[i].required, &limits, &texts, &err),
                     rows[i].code),
                  "%s: %s", rows[i].text, err.msg);
        cr_expect(eq(str, err.field, (char *)rows[i].field), "%s", rows[i].text);
        cr_expect(eq(sz, texts.len, rows[i].len), "%s", rows[i].text);
        if (texts.len == 3)
            cr_expect(eq(str, (char *)texts.items[1], "bbbb"));
        pfc_texts_clear(&texts);
        json_decref(doc);
    }
}

/* ---- who may ---- */

Test(decode, a_token_of_one_project_may_not_use_a_route_of_the_whole_service)
{
    pfc_err err = { 0 };

    cr_expect(eq(int, pfc_decode_unbound(&(pfc_req){ .auth = { .project_id = 0 } }, &err), PFC_OK));
    cr_expect(
        eq(int, pfc_decode_unbound(&(pfc_req){ .auth = { .project_id = 1 } }, &err), PFC_EDENIED));
}

Test(decode, settings_with_a_job_need_an_administrator_and_must_be_valid)
{
    static const struct {
        const char *text;
        int64_t scopes;
        pfc_code code;
        const char *config; /* NULL: none */
    } rows[] = {
        { "{}", 0, PFC_OK, NULL },
        { "{\"config\":null}", 0, PFC_OK, NULL },
        { "{\"config\":\"project: a\\n\"}", PFC_SCOPE_ADMIN, PFC_OK, "project: a\n" },
        { "{\"config\":\"project: a\\n\"}", ~(int64_t)PFC_SCOPE_ADMIN, PFC_EDENIED, NULL },
        { "{\"config\":\"no_such: a\\n\"}", PFC_SCOPE_ADMIN, PFC_EINVAL, NULL },
        { "{\"config\":1}", PFC_SCOPE_ADMIN, PFC_EINVAL, NULL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_req req = { .auth = { .scopes = rows[i].scopes } };
        json_t *doc = parsed(rows[i].text);
        char *config = NULL;
        pfc_err err = { 0 };

        cr_expect(eq(int, pfc_decode_config(&req, doc, &config, &err), rows[i].code), "%zu: %s", i,
                  err.msg);
        cr_expect(eq(str, err.field, rows[i].code ? "config" : ""), "%zu", i);
        cr_expect(eq(int, config != NULL, rows[i].config != NULL), "%zu", i);
        if (config && rows[i].config)
            cr_expect(eq(str, config, (char *)rows[i].config));
        free(config);
        json_decref(doc);
    }
}
