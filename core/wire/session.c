/* The document of a session: read with the path of the first fault, written. */
#include "core/wire/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/wire/wire_priv.h"

static const char *const words[] = { "measured", "identical", "broken", "not_measured" };

const char *pfc_session_status_word(pfc_session_status status)
{
    return words[status];
}

bool pfc_session_status_parse(const char *word, pfc_session_status *out)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        if (pfc_streq(word, words[i])) {
            *out = (pfc_session_status)i;
            return true;
        }
    }
    return false;
}

void pfc_session_free(pfc_session *session)
{
    if (session == NULL)
        return;
    for (size_t i = 0; i < session->commits_len; i++) {
        free(session->commits[i].commit);
        free(session->commits[i].reason);
        free(session->commits[i].same_as);
        for (size_t k = 0; k < session->commits[i].functions_len; k++)
            free(session->commits[i].functions[k].name);
        free(session->commits[i].functions);
    }
    free(session->commits);
    free(session->id);
    free(session->branch);
    free(session->anchor);
    free(session->base);
    free(session->machine_class);
    free(session->machine);
    free(session->note);
    free(session->pair_key);
    free(session);
}

/* ---- reading ---- */

static pfc_code read_sha(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                         char **out, pfc_err *err)
{
    pfc_code code = pfc_json_string(obj, at, key, required, 64, out, err);

    if (code == PFC_OK && *out != NULL && !pfc_is_sha(*out))
        code = pfc_json_fault(at, key, err, "expected a full commit id of 40 hexadecimal digits");
    return code;
}

static pfc_code read_name(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                          bool empty, char **out, pfc_err *err)
{
    pfc_code code = pfc_json_name(obj, at, key, required, PFC_WIRE_MAX_NAME, out, err);
    const char *name = *out;
    const size_t len = code == PFC_OK && name != NULL ? strlen(name) : 0;

    if (code != PFC_OK || name == NULL)
        return code;
    if ((len == 0 && !empty) || strpbrk(name, "\n\t") != NULL ||
        (len > 0 && (name[0] == ' ' || name[len - 1] == ' ')))
        return pfc_json_fault(at, key, err, "expected a name%s without blanks at its ends",
                              empty ? "" : ", not empty,");
    return PFC_OK;
}

static pfc_code read_status(const json_t *obj, const pfc_json_at *at, pfc_session_status *out,
                            pfc_err *err)
{
    char *word = NULL;
    pfc_code code = pfc_json_string(obj, at, "status", true, 32, &word, err);

    if (code == PFC_OK && !pfc_session_status_parse(word, out))
        code = pfc_json_fault(at, "status", err,
                              "expected measured, identical, broken or not_measured, got \"%.32s\"",
                              word);
    free(word);
    return code;
}

static pfc_code read_function(const json_t *obj, const pfc_json_at *at, pfc_session_function *f,
                              pfc_err *err)
{
    static const char *const known[] = { "name", "before", "after", NULL };
    pfc_code code = pfc_json_known(obj, at, known, err);

    if (code == PFC_OK)
        code = pfc_json_name(obj, at, "name", true, PFC_WIRE_MAX_NAME, &f->name, err);
    if (code == PFC_OK && f->name[0] == '\0')
        code = pfc_json_fault(at, "name", err, "expected a name, not empty");
    if (code == PFC_OK)
        code = pfc_json_i64(obj, at, "before", true, 0, PFC_SESSION_MAX_COUNT, &f->before, err);
    return code ? code
                : pfc_json_i64(obj, at, "after", true, 0, PFC_SESSION_MAX_COUNT, &f->after, err);
}

static pfc_code read_functions(const json_t *obj, const pfc_json_at *up, pfc_session_commit *c,
                               pfc_err *err)
{
    const pfc_json_at list = { .up = up, .key = "functions" };
    json_t *items = NULL;
    pfc_code code =
        pfc_json_array(obj, up, "functions", false, PFC_SESSION_MAX_FUNCTIONS, &items, err);

    c->functions = pfc_calloc(json_array_size(items), sizeof(*c->functions));
    for (size_t i = 0; code == PFC_OK && i < json_array_size(items); i++) {
        const pfc_json_at at = { .up = &list, .index = i };

        code = read_function(json_array_get(items, i), &at, &c->functions[c->functions_len++], err);
    }
    return code;
}

static pfc_code read_commit(const json_t *obj, const pfc_json_at *at, pfc_session_commit *c,
                            pfc_err *err)
{
    static const char *const known[] = { "commit",  "status",    "reason", "same_as",
                                         "needs_s", "functions", NULL };
    pfc_code code = pfc_json_known(obj, at, known, err);

    c->needs_s = (double)NAN;
    if (code == PFC_OK)
        code = read_sha(obj, at, "commit", true, &c->commit, err);
    if (code == PFC_OK)
        code = read_status(obj, at, &c->status, err);
    if (code == PFC_OK)
        code = pfc_json_string(obj, at, "reason", false, PFC_WIRE_MAX_TEXT, &c->reason, err);
    if (code == PFC_OK)
        code = read_sha(obj, at, "same_as", false, &c->same_as, err);
    if (code == PFC_OK)
        code = pfc_json_double(obj, at, "needs_s", false, 0, PFC_SESSION_MAX_S, &c->needs_s, err);
    if (code == PFC_OK)
        code = read_functions(obj, at, c, err);
    if (code != PFC_OK)
        return code;
    if (c->status == PFC_SESSION_IDENTICAL && c->same_as == NULL)
        return pfc_json_fault(at, "same_as", err,
                              "expected the commit that was measured for this one, got none");
    if (c->status != PFC_SESSION_IDENTICAL && c->same_as != NULL)
        return pfc_json_fault(at, "same_as", err, "expected none of a commit that is %s",
                              words[c->status]);
    if ((c->status == PFC_SESSION_BROKEN || c->status == PFC_SESSION_NOT_MEASURED) &&
        (c->reason == NULL || *c->reason == '\0'))
        return pfc_json_fault(at, "reason", err, "expected the reason of a commit that is %s",
                              words[c->status]);
    return PFC_OK;
}

static const pfc_session_commit *find(const pfc_session *s, const char *commit, size_t before)
{
    for (size_t i = 0; i < before; i++) {
        if (strcmp(s->commits[i].commit, commit) == 0)
            return &s->commits[i];
    }
    return NULL;
}

/* Checks one commit against the others. */
static pfc_code check_commit(const pfc_session *s, size_t i, const pfc_json_at *at, pfc_err *err)
{
    const pfc_session_commit *c = &s->commits[i], *same;

    if (find(s, c->commit, i) != NULL)
        return pfc_json_fault(at, "commit", err, "%.12s is there twice", c->commit);
    if (strcmp(c->commit, s->anchor) == 0 || strcmp(c->commit, s->base) == 0)
        return pfc_json_fault(at, "commit", err, "expected a new commit, got the session's %s",
                              strcmp(c->commit, s->base) == 0 ? "base" : "anchor");
    if (c->same_as == NULL || strcmp(c->same_as, s->anchor) == 0 ||
        strcmp(c->same_as, s->base) == 0)
        return PFC_OK;
    same = find(s, c->same_as, s->commits_len);
    if (same != NULL && same->status == PFC_SESSION_IDENTICAL)
        return pfc_json_fault(at, "same_as", err,
                              "expected a commit that is not identical to another one itself");
    return PFC_OK;
}

static pfc_code read_commits(const json_t *obj, const pfc_json_at *at, pfc_session *s, pfc_err *err)
{
    const pfc_json_at list = { .up = at, .key = "commits" };
    json_t *items = NULL;
    pfc_code code = pfc_json_array(obj, at, "commits", true, PFC_SESSION_MAX_COMMITS, &items, err);

    if (code != PFC_OK)
        return code;
    s->commits = pfc_calloc(json_array_size(items) + 1, sizeof *s->commits);
    for (size_t i = 0; code == PFC_OK && i < json_array_size(items); i++) {
        const pfc_json_at here = { .up = &list, .index = i };

        code = read_commit(json_array_get(items, i), &here, &s->commits[s->commits_len++], err);
    }
    for (size_t i = 0; code == PFC_OK && i < s->commits_len; i++) {
        const pfc_json_at here = { .up = &list, .index = i };

        code = check_commit(s, i, &here, err);
    }
    return code;
}

static pfc_code read_time(const json_t *obj, const pfc_json_at *at, const char *key, double *out,
                          pfc_err *err)
{
    char *text = NULL;
    pfc_code code = pfc_json_string(obj, at, key, true, 64, &text, err);

    if (code == PFC_OK && pfc_parse_rfc3339(text, key, out, NULL) != PFC_OK)
        code = pfc_json_fault(at, key, err, PFC_WIRE_WANT_TIME);
    free(text);
    return code;
}

static pfc_code read_head(const json_t *obj, const pfc_json_at *at, pfc_session *s, pfc_err *err)
{
    pfc_code code = pfc_json_string(obj, at, "id", true, 32, &s->id, err);

    if (code == PFC_OK && (strlen(s->id) != 32 || !pfc_is_hex_id(s->id)))
        code = pfc_json_fault(at, "id", err, "expected 32 hexadecimal digits in lower case");
    if (code == PFC_OK)
        code = read_name(obj, at, "branch", false, true, &s->branch, err);
    pfc_wire_drop_empty(&s->branch);
    if (code == PFC_OK)
        code = read_sha(obj, at, "anchor", true, &s->anchor, err);
    if (code == PFC_OK)
        code = read_sha(obj, at, "base", true, &s->base, err);
    if (code == PFC_OK)
        code = read_name(obj, at, "machine_class", true, false, &s->machine_class, err);
    if (code == PFC_OK)
        code = read_name(obj, at, "machine", false, true, &s->machine, err);
    if (code == PFC_OK && s->machine == NULL)
        s->machine = pfc_strdup("");
    return code;
}

static pfc_code read_pair_key(const json_t *obj, const pfc_json_at *at, pfc_session *s,
                              pfc_err *err)
{
    pfc_code code = pfc_json_string(obj, at, "pair_key", false, 64, &s->pair_key, err);

    if (code == PFC_OK && s->pair_key != NULL &&
        (strlen(s->pair_key) != 64 || !pfc_is_hex_id(s->pair_key)))
        code = pfc_json_fault(at, "pair_key", err, "expected 64 hexadecimal digits in lower case");
    return code;
}

static pfc_code read_session(const json_t *obj, pfc_session *s, pfc_err *err)
{
    static const char *const known[] = { "id",         "branch",        "anchor",
                                         "base",       "machine_class", "machine",
                                         "started_at", "finished_at",   "budget_s",
                                         "spent_s",    "blocks",        "note",
                                         "commits",    "pair_key",      NULL };
    const pfc_json_at root = { 0 };
    pfc_code code = pfc_json_known(obj, &root, known, err);

    if (code == PFC_OK)
        code = read_head(obj, &root, s, err);
    if (code == PFC_OK)
        code = read_time(obj, &root, "started_at", &s->started_at, err);
    if (code == PFC_OK)
        code = read_time(obj, &root, "finished_at", &s->finished_at, err);
    if (code == PFC_OK)
        code =
            pfc_json_double(obj, &root, "budget_s", false, 0, PFC_SESSION_MAX_S, &s->budget_s, err);
    if (code == PFC_OK)
        code = pfc_json_double(obj, &root, "spent_s", true, 0, PFC_SESSION_MAX_S, &s->spent_s, err);
    if (code == PFC_OK)
        code = pfc_json_i64(obj, &root, "blocks", true, 0, PFC_WIRE_MAX_PLACE + 1, &s->blocks, err);
    if (code == PFC_OK)
        code = pfc_json_string(obj, &root, "note", false, PFC_WIRE_MAX_TEXT, &s->note, err);
    if (code == PFC_OK)
        code = read_pair_key(obj, &root, s, err);
    if (code == PFC_OK)
        code = read_commits(obj, &root, s, err);
    return code;
}

pfc_code pfc_session_from_json(const char *text, size_t len, pfc_session **out, pfc_err *err)
{
    static const pfc_json_limits limits = { 2000, 20000 };
    pfc_session *session = NULL;
    json_t *doc = NULL;
    pfc_code code;

    if (len > PFC_WIRE_MAX_BODY_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "session: expected at most %u bytes, got %zu",
                           PFC_WIRE_MAX_BODY_BYTES, len);
    code = pfc_json_parse_within(text, len, &limits, &doc, err);
    if (code == PFC_OK) {
        session = pfc_alloc(sizeof *session);
        code = read_session(doc, session, err);
    }
    json_decref(doc);
    if (code != PFC_OK) {
        pfc_session_free(session);
        return code;
    }
    *out = session;
    return PFC_OK;
}

/* ---- writing ---- */

static void set_text(json_t *obj, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(obj, key, json_string(text));
}

static void set_time(json_t *obj, const char *key, double unix_s)
{
    char text[32];

    pfc_clock_rfc3339(unix_s, text);
    json_object_set_new(obj, key, json_string(text));
}

static json_t *commit_to_json(const pfc_session_commit *c)
{
    json_t *obj = json_object(), *functions = json_array();

    set_text(obj, "commit", c->commit);
    set_text(obj, "status", words[c->status]);
    set_text(obj, "reason", c->reason);
    set_text(obj, "same_as", c->same_as);
    if (isfinite(c->needs_s))
        json_object_set_new(obj, "needs_s", json_real(c->needs_s));
    for (size_t i = 0; i < c->functions_len; i++)
        json_array_append_new(functions, json_pack("{s:s, s:I, s:I}", "name", c->functions[i].name,
                                                   "before", (json_int_t)c->functions[i].before,
                                                   "after", (json_int_t)c->functions[i].after));
    if (c->functions_len)
        json_object_set(obj, "functions", functions);
    json_decref(functions);
    return obj;
}

json_t *pfc_session_document(const pfc_session *s)
{
    json_t *obj = json_object();
    json_t *list = json_array();

    set_text(obj, "id", s->id);
    set_text(obj, "branch", s->branch);
    set_text(obj, "anchor", s->anchor);
    set_text(obj, "base", s->base);
    set_text(obj, "machine_class", s->machine_class);
    set_text(obj, "machine", s->machine);
    set_time(obj, "started_at", s->started_at);
    set_time(obj, "finished_at", s->finished_at);
    json_object_set_new(obj, "budget_s", json_real(s->budget_s));
    json_object_set_new(obj, "spent_s", json_real(s->spent_s));
    json_object_set_new(obj, "blocks", json_integer(s->blocks));
    set_text(obj, "note", s->note);
    set_text(obj, "pair_key", s->pair_key);
    for (size_t i = 0; i < s->commits_len; i++)
        json_array_append_new(list, commit_to_json(&s->commits[i]));
    json_object_set_new(obj, "commits", list);
    return obj;
}
