/*
 * openapi.json, generated from the route table, so that it lists exactly the routes that are
 * served. Only the schemas of bodies are written by hand, in components.json and answers.py.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "server/handlers/description/components.h"
#include "server/handlers/handlers.h"
#include "server/services/access/access.h"

static json_t *parameter(const char *name, const char *where, bool required, json_t *schema)
{
    return json_pack("{s:s, s:s, s:b, s:o}", "name", name, "in", where, "required", required,
                     "schema", schema);
}

static json_t *words_of(const char *text)
{
    json_t *words = json_array();

    while (*text && *text != ')') {
        size_t len = strcspn(text, "|)");

        json_array_append_new(words, json_stringn(text, len));
        text += len + (text[len] == '|');
    }
    return words;
}

static void set_bound(json_t *schema, const char *key, const char *text, bool whole)
{
    char *end;
    double value = strtod(text, &end);

    if (end > text)
        json_object_set_new(schema, key,
                            whole ? json_integer((json_int_t)value) : json_real(value));
}

/* "integer(1..1000)", "integer(1..)", "(new|worth)", "string" */
static json_t *encode_type(const char *text)
{
    size_t len = strcspn(text, "(");
    const bool whole = strncmp(text, "integer", len) == 0;
    const char *dots = strstr(text, "..");
    json_t *schema;

    if (len == 0)
        return json_pack("{s:s, s:o}", "type", "string", "enum", words_of(text + 1));
    schema = json_pack("{s:s%}", "type", text, len);
    if (dots) {
        set_bound(schema, "minimum", text + len + 1, whole);
        set_bound(schema, "maximum", dots + 2, whole);
    }
    return schema;
}

static json_t *encode_parameters(const pfc_route *route)
{
    json_t *list = json_array();
    char *query = pfc_strdup(route->query ? route->query : "");
    char *save = NULL;

    for (const char *at = strchr(route->pattern, '{'); at; at = strchr(at + 1, '{')) {
        char *name = pfc_strndup(at + 1, strcspn(at + 1, "}"));

        json_array_append_new(list, parameter(name, "path", true, encode_type("string")));
        free(name);
    }
    for (char *word = strtok_r(query, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *type = strchr(word, ':');
        bool required = type[-1] == '!';

        type[required ? -1 : 0] = '\0';
        json_array_append_new(list, parameter(word, "query", required, encode_type(type + 1)));
    }
    free(query);
    return list;
}

static const char *answer_type(const pfc_route *route)
{
    if (strcmp(route->pattern, "/metrics") == 0)
        return "application/openmetrics-text";
    if (strstr(route->pattern, "/events"))
        return "text/event-stream";
    if (strstr(route->pattern, "/file"))
        return "application/octet-stream";
    return "application/json";
}

static void set_error(json_t *responses, const char *status)
{
    json_object_set_new(responses, status,
                        json_pack("{s:s}", "$ref", "#/components/responses/Error"));
}

/* The errors that follow from the route's scopes and path. */
static void set_errors(const pfc_route *route, json_t *responses)
{
    set_error(responses, "400");
    if (route->scopes != PFC_HTTPD_OPEN)
        set_error(responses, "401");
    if (route->scopes != PFC_HTTPD_OPEN && route->scopes != PFC_SCOPE_ALL)
        set_error(responses, "403");
    if (strchr(route->pattern, '{'))
        set_error(responses, "404");
    set_error(responses, "default");
}

static json_t *encode_answer(const pfc_route *route)
{
    json_t *schema =
        route->answer
            ? json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", route->answer))
            : encode_type("string");

    return json_pack("{s:{s:o}}", answer_type(route), "schema", schema);
}

static json_t *encode_responses(const pfc_route *route)
{
    json_t *responses = json_object();
    char *statuses = pfc_strdup(route->statuses);
    char *save = NULL;

    for (char *word = strtok_r(statuses, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        json_t *answer;

        if (*word > '2') {
            set_error(responses, word);
            continue;
        }
        answer = json_pack("{s:s}", "description", route->summary);
        if (strcmp(word, "204") != 0)
            json_object_set_new(answer, "content", encode_answer(route));
        json_object_set_new(responses, word, answer);
    }
    free(statuses);
    set_errors(route, responses);
    return responses;
}

/* "GET /api/v1/projects/{p}" to "get_projects_p". */
static char *operation_id(const pfc_route *route)
{
    const char *path = route->pattern;
    pfc_buf out;
    bool gap = true;

    pfc_buf_init(&out, 256);
    if (strncmp(path, "/api/v1", 7) == 0)
        path += 7;
    for (const char *c = route->method; *c; c++)
        pfc_buf_putc(&out, (char)tolower((unsigned char)*c));
    for (const char *c = path; *c; c++) {
        if (isalnum((unsigned char)*c)) {
            if (gap)
                pfc_buf_putc(&out, '_');
            pfc_buf_putc(&out, *c);
            gap = false;
        } else {
            gap = true;
        }
    }
    return pfc_buf_take(&out);
}

/* Any one of the route's scopes opens it: a list of alternatives. */
static json_t *encode_security(const pfc_route *route)
{
    json_t *list = json_array();

    if (route->scopes == PFC_HTTPD_OPEN)
        json_array_append_new(list, json_object());
    for (size_t i = 0; i < PFC_ARRAY_LEN(pfc_scope_names); i++) {
        if (route->scopes & (1 << i))
            json_array_append_new(list, json_pack("{s:[s]}", "token", pfc_scope_names[i]));
    }
    if (route->scopes & PFC_SCOPE_LEASE)
        json_array_append_new(list, json_pack("{s:[s]}", "token", "lease"));
    return list;
}

static const char *body_type(const pfc_route *route)
{
    return strcmp(route->body, "TraceFile") == 0 ? "application/octet-stream" : "application/json";
}

static json_t *encode_operation(const pfc_route *route)
{
    char *id = operation_id(route);
    json_t *operation =
        json_pack("{s:s, s:s, s:o, s:o, s:o}", "operationId", id, "summary", route->summary,
                  "parameters", encode_parameters(route), "responses", encode_responses(route),
                  "security", encode_security(route));

    free(id);
    if (route->body && route->body[0]) {
        char *ref = pfc_format("#/components/schemas/%s", route->body);

        json_object_set_new(operation, "requestBody",
                            json_pack("{s:b, s:{s:{s:{s:s}}}}", "required", 1, "content",
                                      body_type(route), "schema", "$ref", ref));
        free(ref);
    }
    return operation;
}

json_t *pfc_openapi(const pfc_route *routes, size_t len)
{
    json_t *paths = json_object();
    json_t *components =
        json_loadb((const char *)pfc_components_json, pfc_components_json_len, 0, NULL);

    if (!components)
        pfc_die("openapi: components.json cannot be read");
    for (size_t i = 0; i < len; i++) {
        json_t *path = json_object_get(paths, routes[i].pattern);
        char method[8] = "";

        if (!path) {
            path = json_object();
            json_object_set_new(paths, routes[i].pattern, path);
        }
        for (size_t c = 0; routes[i].method[c] && c + 1 < sizeof(method); c++)
            method[c] = (char)tolower((unsigned char)routes[i].method[c]);
        json_object_set_new(path, method, encode_operation(&routes[i]));
    }
    return json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s}}, s:o, s:o}", "openapi", "3.1.0", "info",
                     "title", "perfci", "version", PFC_VERSION, "description",
                     "Performance regressions of ML kernels: runs, series, alerts, jobs.",
                     "license", "name", "Apache-2.0", "paths", paths, "components", components);
}

/* Built once: the description does not change while the program runs, building it takes
 * milliseconds, and the route is open to clients without a token. */
static const char *describe(pfc_app *app)
{
    char *known = atomic_load(&app->description), *text, *fresh;
    size_t len = 0;
    const pfc_route *routes;
    json_t *json;

    if (known)
        return known;
    routes = pfc_httpd_routes(app->http, &len);
    json = pfc_openapi(routes, len);
    text = json_dumps(json, JSON_COMPACT);
    if (!text)
        pfc_die("openapi: the description cannot be encoded");
    fresh = pfc_format("%s\n", text);
    free(text);
    json_decref(json);
    if (atomic_compare_exchange_strong(&app->description, &known, fresh))
        return fresh;
    free(fresh); /* another request was first */
    return known;
}

/* GET /api/v1/openapi.json */
PFC_HANDLER(openapi)
{
    const char *text = describe(app);

    (void)req;
    (void)err;
    return pfc_reply_borrowed(reply, 200, "application/json", text);
}
