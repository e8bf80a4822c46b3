/*
 * Reads from the service: the runs of a history, verdicts of sessions, changes that need blocks.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nightly/store_round.h"

enum {
    SESSIONS = 20,
    CANDIDATES = 8,
    DETAILS = 5, /* sessions that are read with their boundaries: each answer has all series */
};

#define SUSPECT                                                                                    \
    0.01 /* p of a step by the fit: of ten series without one, a commit in ten has it in some */

size_t pfc_night_place(const pfc_night_line *l, const char *id)
{
    for (size_t i = l->len; id && i-- > 0;)
        if (strcmp(l->ids[i].hex, id) == 0)
            return i;
    return PFC_NIGHT_NONE;
}

static const char *text_of(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

static pfc_code take_runs(const pfc_night *n, pfc_night_line *l, pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s/runs?limit=1000", n->project);
    json_t *answer = NULL;
    const json_t *runs;
    pfc_code code = pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, err);

    runs = json_object_get(answer, "runs");
    for (size_t i = 0; !code && i < json_array_size(runs); i++) {
        const size_t at = pfc_night_place(l, text_of(json_array_get(runs, i), "commit"));

        if (at != PFC_NIGHT_NONE)
            l->has_run[at] = l->seen[at] = true;
    }
    json_decref(answer);
    free(path);
    return code;
}

/* An older service answers 404: then there are none, and the round's verdicts are this program's.
 */
static pfc_code take_sessions(pfc_night *n, pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s/sessions?limit=%d", n->project, SESSIONS);
    json_t *answer = NULL;
    pfc_err why = { 0 };
    pfc_code code = pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, &why);

    if (!code)
        n->sessions = json_incref(json_object_get(answer, "sessions"));
    else if (code == PFC_ENOTFOUND)
        code = PFC_OK;
    else
        *err = why;
    json_decref(answer);
    free(path);
    return code;
}

static bool is_ours(const pfc_night *n, const json_t *session)
{
    const char *branch = text_of(session, "branch");

    return !branch || !n->branch || strcmp(branch, n->branch) == 0;
}

const json_t *pfc_night_newest_session(const pfc_night *n)
{
    for (size_t i = 0; i < json_array_size(n->sessions); i++)
        if (is_ours(n, json_array_get(n->sessions, i)))
            return json_array_get(n->sessions, i);
    return NULL;
}

/* Identical commits have no run and need none. */
static void mark_identical(const pfc_night *n, pfc_night_line *l)
{
    for (size_t i = 0; i < json_array_size(n->sessions); i++) {
        const json_t *commits = json_object_get(json_array_get(n->sessions, i), "commits");

        for (size_t k = 0; k < json_array_size(commits); k++) {
            const json_t *one = json_array_get(commits, k);
            const size_t at = pfc_night_place(l, text_of(one, "commit"));

            if (at != PFC_NIGHT_NONE && pfc_streq(text_of(one, "status"), "identical"))
                l->seen[at] = true;
        }
    }
}

/* The verdict of a commit is that of the newest session that has one: a session that left the
 * commit out says nothing of it. */
static void mark_open(const pfc_night *n, pfc_night_line *l)
{
    for (size_t i = 0; i < json_array_size(n->sessions); i++) {
        const json_t *session = json_array_get(n->sessions, i);
        const json_t *commits = is_ours(n, session) ? json_object_get(session, "commits") : NULL;

        for (size_t k = 0; k < json_array_size(commits); k++) {
            const json_t *one = json_array_get(commits, k);
            const char *verdict = text_of(one, "verdict");
            const size_t at = pfc_night_place(l, text_of(one, "commit"));

            if (at == PFC_NIGHT_NONE || l->newest_verdict[at] != PFC_NIGHT_NONE || !verdict ||
                strcmp(verdict, "not_measured") == 0)
                continue;
            l->newest_verdict[at] = i;
            l->open[at] = strcmp(verdict, "undecided") == 0;
            /* Its run may be older than the newest 1000. */
            if (l->open[at])
                l->has_run[at] = l->seen[at] = true;
        }
    }
}

/* Undecided, but the fit suspects a step. Without a number it suspects none. */
static bool shows_step(const json_t *boundary)
{
    const json_t *p = json_object_get(boundary, "screen_p");

    return pfc_streq(text_of(boundary, "verdict"), "undecided") && json_is_number(p) &&
           json_number_value(p) <= SUSPECT;
}

/* The detail of a session, for the commits whose newest verdict it has. */
static void take_detail(pfc_night_line *l, size_t session, const json_t *detail)
{
    const json_t *commits = json_object_get(detail, "commits");
    const json_t *series = json_object_get(detail, "series");

    /* The list has the verdicts of the last judging, the detail those of now. */
    for (size_t i = 0; i < json_array_size(commits); i++) {
        const json_t *one = json_array_get(commits, i);
        const char *verdict = text_of(one, "verdict");
        const size_t at = pfc_night_place(l, text_of(one, "commit"));

        if (at != PFC_NIGHT_NONE && l->newest_verdict[at] == session && verdict)
            l->open[at] = l->open[at] && strcmp(verdict, "undecided") == 0;
    }
    for (size_t s = 0; s < json_array_size(series); s++) {
        const json_t *one = json_array_get(series, s);
        const json_t *boundaries = json_object_get(one, "boundaries");

        if (json_is_false(json_object_get(one, "judged")))
            continue; /* a rule of the project leaves it out */
        for (size_t i = 0; i < json_array_size(boundaries); i++) {
            const json_t *boundary = json_array_get(boundaries, i);
            const size_t at = pfc_night_place(l, text_of(boundary, "commit"));

            if (at != PFC_NIGHT_NONE && l->newest_verdict[at] == session && l->open[at])
                l->suspect[at] = l->suspect[at] || shows_step(boundary);
        }
    }
}

/* Commits of further sessions, and of one that the service cannot show, count as only wide. */
static void mark_suspects(const pfc_night *n, pfc_night_line *l)
{
    size_t asked = 0;

    for (size_t i = 0; i < json_array_size(n->sessions) && asked < DETAILS; i++) {
        const char *id = text_of(json_array_get(n->sessions, i), "id");
        json_t *detail = NULL;
        bool any = false;
        char *path;

        for (size_t k = 0; k < l->len && !any; k++)
            any = l->open[k] && l->newest_verdict[k] == i;
        if (!any || !id)
            continue;
        asked++;
        if (n->store) {
            take_detail(l, i, json_array_get(n->sessions, i));
            continue;
        }
        path = pfc_format("/api/v1/projects/%s/sessions/%s", n->project, id);
        if (!pfc_http_json(n->http, "GET", path, NULL, NULL, &detail, NULL))
            take_detail(l, i, detail);
        json_decref(detail);
        free(path);
    }
}

/* A change that only single measurements show needs blocks of both its sides before it is reported.
 * The side before it is the nearest commit with a run, which every build of a round comes with. */
static void take_candidates(pfc_night_line *l, const json_t *list, bool decided)
{
    size_t taken = 0;

    for (size_t i = 0; i < json_array_size(list) && taken < CANDIDATES; i++) {
        const size_t at = pfc_night_place(l, text_of(json_array_get(list, i), "commit"));

        if (at == PFC_NIGHT_NONE || !l->has_run[at] ||
            (!decided && l->newest_verdict[at] != PFC_NIGHT_NONE))
            continue;
        l->open[at] = l->suspect[at] = true;
        taken++;
    }
}

static void mark_candidates(const pfc_night *n, pfc_night_line *l)
{
    char *branch = n->branch ? pfc_http_escape(n->branch) : NULL;
    char *path = pfc_format("/api/v1/projects/%s/candidates?limit=%d%s%s", n->project, CANDIDATES,
                            branch ? "&branch=" : "", branch ? branch : "");
    json_t *answer = NULL;

    /* A service that has none of their kind leaves nothing open. */
    if (pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, NULL))
        answer = NULL;
    take_candidates(l, json_object_get(answer, "candidates"), true);
    json_decref(answer);
    free(path);
    free(branch);
}

/* Blocks have judged a commit with a verdict: the values of a store alone do not open it again. */
static pfc_code known_of_store(pfc_night *n, pfc_night_line *l, pfc_err *err)
{
    const pfc_code code = pfc_night_store_known(n, l, err);
    json_t *candidates;

    if (code)
        return code;
    mark_identical(n, l);
    mark_open(n, l);
    mark_suspects(n, l);
    candidates = pfc_night_store_candidates(n);
    take_candidates(l, candidates, false);
    json_decref(candidates);
    return PFC_OK;
}

pfc_code pfc_night_known(pfc_night *n, pfc_night_line *l, pfc_err *err)
{
    pfc_code code;

    if (n->store)
        return known_of_store(n, l, err);
    code = take_runs(n, l, err);
    if (!code)
        code = take_sessions(n, err);
    if (code)
        return code;
    mark_identical(n, l);
    mark_open(n, l);
    mark_suspects(n, l);
    mark_candidates(n, l);
    return PFC_OK;
}
