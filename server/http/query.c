/* Strict decoding of paths and queries, and typed access for handlers. */
#include <stdio.h>
#include <string.h>

#include "core/base/parse.h"
#include "server/http/parse.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

long httpd_decode(const char *text, size_t len, bool plus, char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '%') {
            int high = i + 2 < len ? hex_digit(text[i + 1]) : -1;
            int low = i + 2 < len ? hex_digit(text[i + 2]) : -1;

            if (i + 2 >= len || high < 0 || low < 0)
                return -1;
            c = (unsigned char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c < 0x20 || c == 0x7f)
            return -1;
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return pfc_is_utf8(out, n) ? (long)n : -1;
}

/* Is `name` one of "limit:integer(1..1000) project!:string"? */
static bool listed(const char *allowed, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = allowed; at && *at;) {
        size_t word = strcspn(at, "!: ");

        if (word == len && memcmp(at, name, len) == 0)
            return true;
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    return false;
}

/* The type of `name` in the list, which contains it: "integer(1..1000)", "(new|worth)". */
static const char *type_of(const char *allowed, const char *name)
{
    const size_t len = strlen(name);

    while (strcspn(allowed, "!: ") != len || memcmp(allowed, name, len) != 0) {
        allowed += strcspn(allowed, " ");
        allowed += strspn(allowed, " ");
    }
    return strchr(allowed, ':') + 1;
}

/* Of a parameter that is one of several words: is it? */
static pfc_code check_word(const char *allowed, const char *name, const char *value, pfc_err *err)
{
    const char *type = type_of(allowed, name), *end = strchr(type, ')');
    const size_t len = strlen(value);
    char words[256] = "";
    size_t used = 0;

    if (*type != '(' || !end)
        return PFC_OK;
    for (const char *at = type + 1; at < end; at += strcspn(at, "|)") + 1) {
        const size_t word = strcspn(at, "|)");

        if (word == len && memcmp(at, value, len) == 0)
            return PFC_OK;
        if (used + word + 3 < sizeof(words)) {
            const int n = snprintf(words + used, sizeof(words) - used, "%s%.*s", used ? ", " : "",
                                   (int)word, at);

            used += n > 0 ? (size_t)n : 0;
        }
    }
    return pfc_err_set_field(err, PFC_EINVAL, name,
                             "query: expected \"%.40s\" as one of %s, got \"%.40s\"", name, words,
                             value);
}

static pfc_code add(const char *allowed, char *name, char *value, pfc_req *req, pfc_err *err)
{
    if (!listed(allowed, name))
        return pfc_err_set_field(err, PFC_EINVAL, name, "query: unknown parameter \"%.64s\"", name);
    for (size_t i = 0; i < req->query_len; i++) {
        if (strcmp(req->query[i].name, name) == 0)
            return pfc_err_set_field(err, PFC_EINVAL, name, "query: \"%.64s\" is given twice",
                                     name);
    }
    if (req->query_len == PFC_HTTPD_MAX_QUERY)
        return pfc_err_set(err, PFC_EINVAL, "query: expected at most %d parameters",
                           PFC_HTTPD_MAX_QUERY);
    req->query[req->query_len++] = (pfc_httpd_pair){ .name = name, .value = value };
    return check_word(allowed, name, value, err);
}

pfc_code httpd_query_parse(const char *query, const char *allowed, char *storage, pfc_req *req,
                           pfc_err *err)
{
    req->query_len = 0;
    while (*query) {
        size_t len = strcspn(query, "&");
        const char *equals = memchr(query, '=', len);
        size_t name_len = equals ? (size_t)(equals - query) : len;
        char *name = storage;
        char *value;
        long n;
        pfc_code code;

        if (len > 0) {
            n = httpd_decode(query, name_len, true, name);
            if (n < 0)
                return pfc_err_set(err, PFC_EINVAL, "query: broken escape in a parameter's name");
            value = name + n + 1;
            storage = value;
            *value = '\0';
            if (equals) {
                n = httpd_decode(equals + 1, len - name_len - 1, true, value);
                if (n < 0)
                    return pfc_err_set_field(err, PFC_EINVAL, name,
                                             "query: broken escape or control byte in \"%.64s\"",
                                             name);
                storage = value + n;
            }
            storage++;
            code = add(allowed, name, value, req, err);
            if (code)
                return code;
        }
        query += len;
        query += *query == '&';
    }
    return PFC_OK;
}

static const char *find(const pfc_req *req, const char *name)
{
    for (size_t i = 0; i < req->query_len; i++) {
        if (strcmp(req->query[i].name, name) == 0)
            return req->query[i].value;
    }
    return NULL;
}

pfc_code pfc_req_query(const pfc_req *req, const char *name, size_t max_len, const char **out,
                       pfc_err *err)
{
    const char *value = find(req, name);

    if (value && strlen(value) > max_len)
        return pfc_err_set_field(err, PFC_EINVAL, name, "query: \"%s\" is over %zu bytes", name,
                                 max_len);
    *out = value;
    return PFC_OK;
}

pfc_code pfc_req_query_required(const pfc_req *req, const char *name, size_t max_len,
                                const char **out, pfc_err *err)
{
    pfc_code code = pfc_req_query(req, name, max_len, out, err);

    if (code)
        return code;
    if (!*out || !**out)
        return pfc_err_set_field(err, PFC_EINVAL, name, "query: \"%s\" is required", name);
    return PFC_OK;
}

pfc_code pfc_req_query_i64(const pfc_req *req, const char *name, int64_t min, int64_t max,
                           int64_t *out, pfc_err *err)
{
    const char *value = find(req, name);

    if (!value)
        return PFC_OK;
    if (pfc_parse_i64(value, min, max, name, out, err))
        return pfc_err_set_field(err, PFC_EINVAL, name,
                                 "query: expected \"%s\" as a whole number from %lld to %lld, got "
                                 "\"%.40s\"",
                                 name, (long long)min, (long long)max, value);
    return PFC_OK;
}

pfc_code pfc_req_query_bool(const pfc_req *req, const char *name, bool *out, pfc_err *err)
{
    const char *value = find(req, name);

    if (!value)
        return PFC_OK;
    if (strcmp(value, "1") == 0 || strcmp(value, "true") == 0)
        *out = true;
    else if (strcmp(value, "0") == 0 || strcmp(value, "false") == 0)
        *out = false;
    else
        return pfc_err_set_field(err, PFC_EINVAL, name,
                                 "query: expected \"%s\" as 0 or 1, got \"%.40s\"", name, value);
    return PFC_OK;
}

const char *pfc_req_param(const pfc_req *req, const char *name)
{
    for (size_t i = 0; i < req->params_len; i++) {
        if (strcmp(req->params[i].name, name) == 0)
            return req->params[i].value;
    }
    pfc_die("http: the route %s has no parameter {%s}", req->route->pattern, name);
}

pfc_code pfc_req_param_id(const pfc_req *req, const char *name, int64_t *out, pfc_err *err)
{
    const char *value = pfc_req_param(req, name);

    if (pfc_parse_i64(value, 1, INT64_MAX, name, out, err))
        return pfc_err_set(err, PFC_ENOTFOUND, "nothing has the number \"%.40s\"", value);
    return PFC_OK;
}
