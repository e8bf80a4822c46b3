/*
 * Chooses the commits of a nightly round: new ones, undecided ones, and the builds they are
 * compared with.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nightly/history_line.h"
#include "core/git/tags.h"
#include "core/suspects/suspects.h"

enum { HISTORY = 500, ANCHORS = 4 };

typedef pfc_night_line line;

static const char *text_of(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

static void line_clear(line *l)
{
    free(l->ids);
    free(l->has_run);
    free(l->seen);
    free(l->newest_verdict);
    free(l->open);
    free(l->suspect);
    free(l->keep);
    free(l->wanted);
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

/* New are the commits after the newest one that was seen (of a project without runs, the tip
 * alone), or all that were not seen. */
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
        l->wanted[i] = i >= first && !l->seen[i];
}

/* At most `max`: new ones are chosen by their worth, then suspected ones go along, the newest
 * first. Returns how many. */
static size_t limit(pfc_repo *repo, line *l, size_t max)
{
    pfc_commit_id *ids = pfc_calloc(l->len, sizeof ids[0]);
    size_t *places = pfc_calloc(l->len, sizeof places[0]);
    bool *keep = pfc_calloc(l->len, sizeof keep[0]);
    size_t len = 0, kept;

    for (size_t i = 0; i < l->len; i++) {
        if (!l->wanted[i])
            continue;
        ids[len] = l->ids[i];
        places[len++] = i;
    }
    pfc_night_choose(repo, ids, len, max, keep);
    for (size_t i = 0; i < len; i++)
        l->keep[places[i]] = keep[i];
    kept = PFC_MIN(len, max);
    for (size_t i = l->len; i-- > 0 && kept < max;) {
        l->keep[i] = l->keep[i] || l->suspect[i];
        kept += l->suspect[i];
    }
    free(ids);
    free(places);
    free(keep);
    return kept;
}

/* ---- what they are measured against ---- */

/* Builds of the round: what is kept, and before each the nearest commit that has a run or is kept.
 */
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
    pfc_tag *tags = NULL;
    size_t len = 0, n = 0;
    dated *list;

    if (pfc_repo_tags(repo, &tags, &len, NULL))
        return;
    list = pfc_calloc(len + 1, sizeof list[0]);
    for (size_t i = 0; i < len; i++) {
        pfc_commit commit = { 0 };

        if (!tags[i].release || pfc_repo_commit(repo, &tags[i].commit, &commit, NULL))
            continue;
        list[n++] = (dated){ tags[i].commit, commit.time };
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
    pfc_tags_free(tags, len);
}

static pfc_code find_anchors(const pfc_night *n, const pfc_night_opts *o, const pfc_commit_id *base,
                             anchors *a, pfc_err *err)
{
    const char *named = o->anchor ? o->anchor : n->take.conf.anchor;
    const json_t *session = pfc_night_newest_session(n);
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

/* Is `before` the nearest commit with a run before `i`? Then the two are a boundary as good as any.
 */
static bool follows(const line *l, size_t before, size_t i)
{
    while (i-- > before + 1)
        if (l->has_run[i])
            return false;
    return true;
}

/* In place of the plan that is there. */
static pfc_code make_plan(pfc_night *n, const pfc_night_opts *o, const line *l, pfc_err *err)
{
    pfc_night_plan *p = &n->plan;
    bool *build = pfc_calloc(l->len, sizeof build[0]);
    anchors a = { 0 };
    size_t base = 0, count = 0, last;
    pfc_code code;

    free(p->builds);
    free(p->known);
    free(p->anchors);
    *p = (pfc_night_plan){ 0 };
    find_builds(l, build);
    while (base < l->len && !build[base])
        base++;
    for (size_t i = 0; i < l->len; i++)
        count += build[i];
    if (base == l->len) {
        free(build);
        return PFC_OK;
    }
    last = base;
    code = find_anchors(n, o, &l->ids[base], &a, err);
    p->builds = pfc_calloc(l->len + 1, sizeof p->builds[0]);
    p->known = pfc_calloc(l->len + 1, sizeof p->known[0]);
    p->anchors = pfc_calloc(PFC_ARRAY_LEN(a.ids), sizeof p->anchors[0]);
    for (size_t i = 0; i < a.len; i++) {
        const size_t at = pfc_night_place(l, a.ids[i].hex);

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
        if (build[i]) {
            p->known[p->len] = i > base && !l->keep[i] && !(l->open[i] && follows(l, last, i));
            p->builds[p->len++] = l->ids[i];
            last = i;
        }
    free(build);
    return code;
}

/* A build costs a round about as much as a new commit does, so undecided commits without a step,
 * the newest first, only fill up the first block. */
static pfc_code fill_block(pfc_night *n, const pfc_night_opts *o, line *l, size_t room,
                           pfc_err *err)
{
    pfc_code code = make_plan(n, o, l, err);
    bool full = n->plan.len > PFC_BLOCK_BUILDS;

    for (size_t i = l->len; !code && !full && i-- > 0 && room > 0;) {
        if (!l->open[i] || l->keep[i])
            continue;
        l->keep[i] = true;
        room--;
        code = make_plan(n, o, l, err);
        full = n->plan.len > PFC_BLOCK_BUILDS;
        if (!code && full) {
            l->keep[i] = false;
            code = make_plan(n, o, l, err);
        }
    }
    return code;
}

/* ---- what is reported ---- */

static bool is_judged(const pfc_night_plan *p, const pfc_commit_id *id)
{
    for (size_t i = p->first; i < p->len; i++)
        if (!p->known[i] && strcmp(p->builds[i].hex, id->hex) == 0)
            return true;
    return false;
}

/* Undecided commits that this round does not judge. */
static void list_earlier(pfc_night *n, line *l)
{
    n->earlier = pfc_calloc(l->len, sizeof n->earlier[0]);
    for (size_t i = 0; i < l->len; i++) {
        if (!l->open[i])
            continue;
        l->wanted[i] = is_judged(&n->plan, &l->ids[i]);
        if (l->wanted[i])
            continue;
        n->earlier[n->earlier_len++] = l->ids[i];
        n->earlier_suspected += l->suspect[i];
    }
}

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
    /* A typed project name may contain an error, so it is created only with --create; the name of
     * the repository is always created. */
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
    l.newest_verdict = pfc_calloc(l.len, sizeof(size_t));
    l.open = pfc_calloc(l.len, sizeof(bool));
    l.suspect = pfc_calloc(l.len, sizeof(bool));
    l.keep = pfc_calloc(l.len, sizeof(bool));
    l.wanted = pfc_calloc(l.len, sizeof(bool));
    for (size_t i = 0; i < l.len; i++)
        l.newest_verdict[i] = PFC_NIGHT_NONE;
    code = n->store ? PFC_OK : ensure(n, o, err);
    if (!code && !n->store)
        code = pfc_api_post_commits(n->http, n->project, n->branch, n->take.repo, l.ids, l.len,
                                    NULL, err);
    if (!code && !n->store)
        pfc_api_post_codeowners(n->http, n->project, n->take.repo, &tip);
    if (!code)
        code = pfc_night_known(n, &l, err);
    if (!code) {
        find_wanted(&l, o->all);
        code = fill_block(n, o, &l, max - limit(n->take.repo, &l, max), err);
    }
    if (!code) {
        list_earlier(n, &l);
        list_commits(n, &l, max);
    }
    line_clear(&l);
    return code;
}
