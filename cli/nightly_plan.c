/*
 * What a nightly round measures: what is new, what is undecided, what to measure it against.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nightly.h"
#include "core/analysis/suspects.h"
#include "core/git/tags.h"

enum { HISTORY = 500, ANCHORS = 4, SESSIONS = 20, CANDIDATES = 8 };

/* The first-parent history, oldest first, and what is known of each commit. */
typedef struct line {
    pfc_commit_id *ids;
    size_t len;
    bool *has_run, *seen; /* seen: has a run, or its object code is that of one that has */
    bool *open;           /* the newest session left it undecided */
    bool *keep;           /* is measured in this round */
    bool *wanted;         /* is reported */
} line;

static void line_clear(line *l)
{
    free(l->ids);
    free(l->has_run);
    free(l->seen);
    free(l->open);
    free(l->keep);
    free(l->wanted);
}

static size_t place_of(const line *l, const char *id)
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

/* ---- what the service has ---- */

static pfc_code take_runs(const pfc_night *n, line *l, pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s/runs?limit=1000", n->project);
    json_t *answer = NULL;
    const json_t *runs;
    pfc_code code = pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, err);

    runs = json_object_get(answer, "runs");
    for (size_t i = 0; !code && i < json_array_size(runs); i++) {
        const size_t at = place_of(l, text_of(json_array_get(runs, i), "commit"));

        if (at != PFC_NIGHT_NONE)
            l->has_run[at] = l->seen[at] = true;
    }
    json_decref(answer);
    free(path);
    return code;
}

/* An older service answers 404: then there are none, and the round's verdicts are this program's. */
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

static const json_t *newest_session(const pfc_night *n)
{
    for (size_t i = 0; i < json_array_size(n->sessions); i++) {
        const json_t *one = json_array_get(n->sessions, i);
        const char *branch = text_of(one, "branch");

        if (!branch || !n->branch || strcmp(branch, n->branch) == 0)
            return one;
    }
    return NULL;
}

/* Identical commits have no run and need none. */
static void mark_identical(const pfc_night *n, line *l)
{
    for (size_t i = 0; i < json_array_size(n->sessions); i++) {
        const json_t *commits = json_object_get(json_array_get(n->sessions, i), "commits");

        for (size_t k = 0; k < json_array_size(commits); k++) {
            const json_t *one = json_array_get(commits, k);
            const size_t at = place_of(l, text_of(one, "commit"));

            if (at != PFC_NIGHT_NONE && pfc_streq(text_of(one, "status"), "identical"))
                l->seen[at] = true;
        }
    }
}

/* What the newest session left undecided goes on. */
static void mark_open(const pfc_night *n, line *l)
{
    const json_t *session = newest_session(n);
    char *path = session ? pfc_format("/api/v1/projects/%s/sessions/%s", n->project,
                                      text_of(session, "id") ? text_of(session, "id") : "")
                         : NULL;
    json_t *answer = NULL;
    const json_t *commits;

    /* A service that cannot say leaves nothing open. */
    if (path && pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, NULL))
        answer = NULL;
    commits = json_object_get(answer, "commits");
    for (size_t i = 0; i < json_array_size(commits); i++) {
        const json_t *one = json_array_get(commits, i);
        const size_t at = place_of(l, text_of(one, "commit"));

        if (at != PFC_NIGHT_NONE && pfc_streq(text_of(one, "verdict"), "undecided"))
            l->open[at] = true;
    }
    json_decref(answer);
    free(path);
}

/* A change that only single measurements show needs blocks of both its sides before it is told. The side
 * before it is the nearest commit with a run, which every build of a round comes with. */
static void mark_candidates(const pfc_night *n, line *l)
{
    char *branch = n->branch ? pfc_http_escape(n->branch) : NULL;
    char *path = pfc_format("/api/v1/projects/%s/candidates?limit=%d%s%s", n->project, CANDIDATES,
                            branch ? "&branch=" : "", branch ? branch : "");
    json_t *answer = NULL;
    const json_t *list;

    /* A service that has none of their kind leaves nothing open. */
    if (pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, NULL))
        answer = NULL;
    list = json_object_get(answer, "candidates");
    for (size_t i = 0; i < json_array_size(list) && i < CANDIDATES; i++) {
        const size_t at = place_of(l, text_of(json_array_get(list, i), "commit"));

        if (at != PFC_NIGHT_NONE && l->has_run[at])
            l->open[at] = true;
    }
    json_decref(answer);
    free(path);
    free(branch);
}

/* ---- which commits ---- */

static void add_lines(void *arg, const char *path, size_t lines)
{
    const pfc_path_kind kind = pfc_path_kind_of(path);

    if (kind == PFC_PATH_SOURCE || kind == PFC_PATH_BUILD || kind == PFC_PATH_DEPENDENCY)
        *(size_t *)arg += lines;
}

static size_t lines_of(pfc_repo *repo, const pfc_commit_id *from, const pfc_commit_id *to)
{
    size_t lines = 0;

    return pfc_repo_diff(repo, from, to, true, add_lines, &lines, NULL) ? 0 : lines;
}

void pfc_night_choose(pfc_repo *repo, const pfc_commit_id *ids, size_t len, size_t max, bool *keep)
{
    const size_t parts = max - 1; /* of all but the newest */

    for (size_t i = 0; i < len; i++)
        keep[i] = len <= max || i + 1 == len;
    for (size_t p = 0; len > max && p < parts; p++) {
        const size_t from = p * (len - 1) / parts, to = (p + 1) * (len - 1) / parts;
        size_t best = to - 1, most = 0;

        for (size_t i = from; i < to; i++) {
            const size_t lines = i ? lines_of(repo, &ids[i - 1], &ids[i]) : 0;

            if (lines > most) {
                most = lines;
                best = i;
            }
        }
        keep[best] = true;
    }
}

/* New are the commits after the newest one that was seen (of a project without runs, the tip alone), or
 * all that were not seen. */
static void find_wanted(line *l, bool all)
{
    size_t first = l->len;

    while (first > 0 && !l->seen[first - 1])
        first--;
    if (all)
        first = 0;
    else if (first == 0)
        first = l->len - 1;
    for (size_t i = 0; i < l->len; i++)
        l->wanted[i] = (i >= first && !l->seen[i]) || l->open[i];
}

/* At most `max`: of the undecided ones the oldest go first, then new ones are chosen by their worth. */
static void limit(pfc_repo *repo, line *l, size_t max)
{
    pfc_commit_id *ids = pfc_calloc(l->len, sizeof ids[0]);
    size_t *places = pfc_calloc(l->len, sizeof places[0]);
    bool *keep = pfc_calloc(l->len, sizeof keep[0]);
    size_t len = 0, open = 0;

    for (size_t i = 0; i < l->len; i++) {
        if (!l->wanted[i] || l->seen[i])
            continue;
        ids[len] = l->ids[i];
        places[len++] = i;
    }
    pfc_night_choose(repo, ids, len, max, keep);
    for (size_t i = 0; i < len; i++)
        l->keep[places[i]] = keep[i];
    for (size_t i = l->len; i-- > 0;) {
        if (!l->open[i] || !l->seen[i])
            continue;
        l->wanted[i] = l->keep[i] = PFC_MIN(len, max) + open < max;
        open += l->keep[i];
    }
    free(ids);
    free(places);
    free(keep);
}

/* ---- what they are measured against ---- */

/* Builds of the round: what is kept, and before each the nearest commit that has a run or is kept. */
static void find_builds(const line *l, bool *build)
{
    for (size_t i = 0; i < l->len; i++) {
        if (!l->keep[i])
            continue;
        build[i] = true;
        for (size_t k = i; k-- > 0;)
            if (l->has_run[k] || l->keep[k]) {
                build[k] = true;
                break;
            }
    }
}

typedef struct anchors {
    pfc_commit_id ids[ANCHORS + 2];
    size_t len;
} anchors;

static void add_anchor(anchors *a, const pfc_commit_id *id)
{
    for (size_t i = 0; i < a->len; i++)
        if (strcmp(a->ids[i].hex, id->hex) == 0)
            return;
    if (a->len < PFC_ARRAY_LEN(a->ids))
        a->ids[a->len++] = *id;
}

typedef struct dated {
    pfc_commit_id id;
    double time;
} dated;

static int newest_first(const void *a, const void *b)
{
    const double x = ((const dated *)a)->time, y = ((const dated *)b)->time;

    return (x < y) - (x > y);
}

/* Releases that the base contains, newest first. */
static void add_releases(pfc_repo *repo, const pfc_commit_id *base, anchors *a)
{
    pfc_release *releases = NULL;
    size_t len = 0, n = 0;
    dated *list;

    if (pfc_repo_releases(repo, &releases, &len, NULL))
        return;
    list = pfc_calloc(len + 1, sizeof list[0]);
    for (size_t i = 0; i < len; i++) {
        pfc_commit commit = { 0 };

        if (pfc_repo_commit(repo, &releases[i].commit, &commit, NULL))
            continue;
        list[n++] = (dated){ releases[i].commit, commit.time };
        pfc_commit_clear(&commit);
    }
    if (n > 1)
        qsort(list, n, sizeof list[0], newest_first);
    for (size_t i = 0; i < n && a->len < ANCHORS; i++) {
        pfc_commit_id shared;

        if (!pfc_repo_merge_base(repo, &list[i].id, base, &shared, NULL) &&
            strcmp(shared.hex, list[i].id.hex) == 0)
            add_anchor(a, &list[i].id);
    }
    free(list);
    pfc_releases_free(releases, len);
}

static pfc_code find_anchors(const pfc_night *n, const pfc_night_opts *o, const pfc_commit_id *base,
                             anchors *a, pfc_err *err)
{
    const char *named = o->anchor ? o->anchor : n->take.conf.anchor;
    const json_t *session = newest_session(n);
    pfc_repo *repo = n->take.repo;
    pfc_commit_id id;

    if (named && pfc_repo_resolve(repo, named, &id, err))
        return pfc_err_wrap(err, o->anchor ? "--anchor" : "perfci.yaml: anchor");
    if (named)
        add_anchor(a, &id);
    /* It may be of a history that was rewritten. */
    if (session && text_of(session, "anchor") &&
        !pfc_repo_resolve(repo, text_of(session, "anchor"), &id, NULL))
        add_anchor(a, &id);
    add_releases(repo, base, a);
    return PFC_OK;
}

static pfc_code make_plan(pfc_night *n, const pfc_night_opts *o, const line *l, pfc_err *err)
{
    pfc_night_plan *p = &n->plan;
    bool *build = pfc_calloc(l->len, sizeof build[0]);
    anchors a = { 0 };
    size_t base = 0, count = 0;
    pfc_code code;

    find_builds(l, build);
    while (base < l->len && !build[base])
        base++;
    for (size_t i = 0; i < l->len; i++)
        count += build[i];
    if (base == l->len) {
        free(build);
        return PFC_OK;
    }
    code = find_anchors(n, o, &l->ids[base], &a, err);
    p->builds = pfc_calloc(l->len + 1, sizeof p->builds[0]);
    p->anchors = pfc_calloc(PFC_ARRAY_LEN(a.ids), sizeof p->anchors[0]);
    for (size_t i = 0; i < a.len; i++) {
        const size_t at = place_of(l, a.ids[i].hex);

        /* A new build is no anchor; the base may be both, where it is measured against others. */
        if (at != PFC_NIGHT_NONE && build[at] && (at != base || count == 1))
            continue;
        if (p->len == 0 && p->anchors_len == 0 && at != base)
            p->builds[p->len++] = a.ids[i];
        else if (p->len == 0 && at == base)
            break;
        else
            p->anchors[p->anchors_len++] = a.ids[i];
    }
    p->first = p->len + 1;
    for (size_t i = base; i < l->len && p->len < PFC_BLOCKS_MAX_BUILDS; i++)
        if (build[i])
            p->builds[p->len++] = l->ids[i];
    free(build);
    return code;
}

/* ---- what is reported ---- */

static void add_subject(const pfc_night *n, pfc_night_commit *c)
{
    pfc_commit commit = { 0 };

    if (pfc_repo_commit(n->take.repo, &c->id, &commit, NULL))
        return;
    c->subject = pfc_strdup(commit.subject);
    pfc_commit_clear(&commit);
}

static void list_commits(pfc_night *n, const line *l, size_t max)
{
    size_t len = 0;

    for (size_t i = 0; i < l->len; i++)
        len += l->wanted[i];
    n->commits = pfc_calloc(len + 1, sizeof n->commits[0]);
    for (size_t i = 0; i < l->len; i++) {
        pfc_night_commit *c = &n->commits[n->len];

        if (!l->wanted[i])
            continue;
        *c = (pfc_night_commit){
            .id = l->ids[i], .build = PFC_NIGHT_NONE, .within = (double)NAN, .needs_s = (double)NAN
        };
        add_subject(n, c);
        for (size_t k = 0; k < n->plan.len; k++)
            if (strcmp(n->plan.builds[k].hex, c->id.hex) == 0)
                c->build = k;
        c->left_out = c->build == PFC_NIGHT_NONE;
        if (c->left_out)
            c->reason = pfc_format("more new commits than a round takes (--max-commits %zu)", max);
        n->skipped += c->left_out;
        n->len++;
    }
}

static pfc_code ensure(const pfc_night *n, const pfc_night_opts *o, pfc_err *err)
{
    /* A name that was typed may be a typo; that of the repository is meant. */
    const bool typed = pfc_conf_pick(o->project, "PERFCI_PROJECT", NULL, NULL) != NULL;
    const pfc_ensure want = { .project = n->project,
                              .branch = n->branch,
                              .conf = &n->take.conf,
                              .create = o->create || !typed,
                              .has_flag = true };
    bool made = false;
    pfc_code code = pfc_api_ensure_project(n->http, &want, &made, err);

    if (made)
        pfc_cli_note(n->cli, "project %s is new", n->project);
    return code;
}

pfc_code pfc_night_find(pfc_night *n, const pfc_night_opts *o, pfc_err *err)
{
    const size_t max = o->max ? o->max : o->all ? PFC_NIGHT_MOST : PFC_NIGHT_MAX;
    pfc_commit_id tip, anchor;
    line l = { 0 };
    pfc_code code = pfc_repo_resolve(n->take.repo, n->branch ? n->branch : "HEAD", &tip, err);

    if (!code && o->anchor && pfc_repo_resolve(n->take.repo, o->anchor, &anchor, err))
        code = pfc_err_wrap(err, "--anchor");
    if (!code)
        code = pfc_repo_history(n->take.repo, &tip, HISTORY, &l.ids, &l.len, err);
    if (code)
        return code;
    l.has_run = pfc_calloc(l.len, sizeof(bool));
    l.seen = pfc_calloc(l.len, sizeof(bool));
    l.open = pfc_calloc(l.len, sizeof(bool));
    l.keep = pfc_calloc(l.len, sizeof(bool));
    l.wanted = pfc_calloc(l.len, sizeof(bool));
    code = ensure(n, o, err);
    if (!code)
        code = pfc_api_post_commits(n->http, n->project, n->branch, n->take.repo, l.ids, l.len,
                                    NULL, err);
    if (!code)
        code = take_runs(n, &l, err);
    if (!code)
        code = take_sessions(n, err);
    if (!code) {
        mark_identical(n, &l);
        mark_open(n, &l);
        mark_candidates(n, &l);
        find_wanted(&l, o->all);
        limit(n->take.repo, &l, max);
        code = make_plan(n, o, &l, err);
    }
    if (!code)
        list_commits(n, &l, max);
    line_clear(&l);
    return code;
}
