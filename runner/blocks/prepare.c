/*
 * The builds of a session: made before anything is measured, identical ones found, the anchor
 * chosen.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/suspects/suspects.h"
#include "runner/blocks/blocks_priv.h"

enum { LINE_BYTES = 200 };

void pfc_blocks_say(const pfc_blocks_session *s, const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list args;

    if (!s->opts->progress)
        return;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    s->opts->progress(s->opts->progress_arg, line);
}

static void set_broken(pfc_block_commit *c, const char *reason)
{
    c->status = PFC_BLOCK_BROKEN;
    c->code = PFC_EBROKEN;
    (void)snprintf(c->reason, sizeof(c->reason), "%.399s", reason);
}

/* A commit that cannot be built is a result. One that is not in the repository is an error, but for
 * an anchor, which may lie beyond the edge of a shallow clone. */
static pfc_code build(pfc_blocks_session *s, pfc_block_commit *c, bool may_miss, pfc_err *err)
{
    pfc_outcome outcome = { 0 };
    pfc_err why = { 0 };
    char *dir = NULL;
    pfc_code code = pfc_workspace_prepare(s->ws, &c->id, 0, &dir, &outcome, &why);

    s->out->build_s += outcome.build_s;
    if (code == PFC_ENOTFOUND && may_miss) {
        set_broken(c, why.msg);
        code = PFC_OK;
    } else if (code) {
        *err = why;
    } else if (outcome.kind == PFC_OUTCOME_CANCELLED) {
        code = pfc_err_set(err, PFC_EUNAVAIL, "interrupted");
    } else if (outcome.kind != PFC_OUTCOME_MEASURED) {
        set_broken(c, outcome.reason);
    } else {
        c->status = PFC_BLOCK_MEASURED;
        c->reason[0] = '\0';
        pfc_built_look(dir, s->measure, &c->built);
    }
    pfc_outcome_clear(&outcome);
    free(dir);
    return code;
}

/* ---- the anchor ---- */

static void note(pfc_blocks_session *s, const char *anchor, const char *reason, const char *other)
{
    (void)snprintf(s->out->note, sizeof(s->out->note),
                   "anchor %.12s cannot be built (%.240s); %.60s is the anchor", anchor, reason,
                   other);
}

/* The next candidate that builds takes the anchor's place; without one the base is the anchor. */
static pfc_code replace_anchor(pfc_blocks_session *s, pfc_err *err)
{
    const pfc_blocks_run_opts *o = s->opts;
    const size_t base = o->first - 1;
    pfc_block_commit *anchor = &s->out->commits[o->anchor];
    const pfc_block_commit first = *anchor;
    char other[80];
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < o->anchors_len && !code; i++) {
        if (pfc_streq(o->anchors[i].hex, s->out->commits[base].id.hex))
            break;
        if (pfc_streq(o->anchors[i].hex, first.id.hex))
            continue;
        anchor->id = o->anchors[i];
        pfc_blocks_say(s, "[anchor] %.12s", anchor->id.hex);
        code = build(s, anchor, true, err);
        if (!code && anchor->status == PFC_BLOCK_MEASURED) {
            (void)snprintf(other, sizeof(other), "%.12s", anchor->id.hex);
            note(s, first.id.hex, first.reason, other);
            return PFC_OK;
        }
    }
    *anchor = first;
    s->out->anchor = base;
    (void)snprintf(other, sizeof(other), "the base %.12s", s->out->commits[base].id.hex);
    note(s, first.id.hex, first.reason, other);
    return code;
}

/* ---- identical builds ---- */

typedef struct reads {
    const pfc_conf *conf;
    bool any;
} reads;

static void look_at_file(void *arg, const char *path, size_t lines)
{
    reads *r = arg;

    (void)lines;
    r->any = r->any || pfc_path_fits(path, r->conf->runtime_files, r->conf->runtime_files_len);
}

static bool same_program(const pfc_blocks_session *s, const pfc_block_commit *a,
                         const pfc_block_commit *b)
{
    reads r = { .conf = s->opts->conf };

    if (!a->built.object[0] || strcmp(a->built.object, b->built.object) != 0)
        return false;
    /* If the commits cannot be compared, their files may differ. */
    return !r.conf || !r.conf->runtime_files_len ||
           (!pfc_repo_diff(pfc_workspace_repo(s->ws), &a->id, &b->id, false, look_at_file, &r,
                           NULL) &&
            !r.any);
}

/* A new commit with the tree of the one before it, which builds: it is not even built. */
static bool has_same_tree(pfc_blocks_session *s, size_t i)
{
    pfc_blocks_result *out = s->out;
    pfc_block_commit *c = &out->commits[i];
    pfc_commit_id a, b;
    pfc_repo *repo = pfc_workspace_repo(s->ws);
    const pfc_block_commit *before = i ? &out->commits[i - 1] : NULL;

    if (i < s->opts->first || s->opts->measure_identical || before->status == PFC_BLOCK_BROKEN ||
        pfc_repo_tree(repo, &before->id, &a, NULL) || pfc_repo_tree(repo, &c->id, &b, NULL) ||
        strcmp(a.hex, b.hex) != 0)
        return false;
    c->status = PFC_BLOCK_IDENTICAL;
    c->same_as = before->status == PFC_BLOCK_IDENTICAL ? before->same_as : i - 1;
    (void)snprintf(c->reason, sizeof(c->reason), "identical tree of %.12s",
                   out->commits[c->same_as].id.hex);
    return true;
}

/* Each new commit against the nearest one before it that builds. The base and the anchor are
 * measured in any case: the first starts the session's boundaries, the other joins it to other
 * nights. */
static void find_identical(pfc_blocks_session *s)
{
    pfc_blocks_result *out = s->out;
    size_t before = PFC_BLOCKS_NONE;

    for (size_t i = s->opts->first - 1; i < out->len; i++) {
        pfc_block_commit *c = &out->commits[i];

        if (c->status == PFC_BLOCK_BROKEN || c->status == PFC_BLOCK_IDENTICAL)
            continue;
        if (before != PFC_BLOCKS_NONE && !s->opts->measure_identical && i >= s->opts->first &&
            same_program(s, &out->commits[before], c)) {
            const pfc_block_commit *same = &out->commits[before];

            c->status = PFC_BLOCK_IDENTICAL;
            c->same_as = same->status == PFC_BLOCK_IDENTICAL ? same->same_as : before;
            (void)snprintf(c->reason, sizeof(c->reason), "identical object code of %.12s",
                           out->commits[c->same_as].id.hex);
        }
        before = i;
    }
}

/* ---- all of it ---- */

/* The builds that are visited. Without the base's build the first new one takes its part: it is
 * measured, and nothing is said of what came in with it. */
static void list_builds(pfc_blocks_session *s)
{
    pfc_blocks_result *out = s->out;

    s->anchor = s->first = PFC_BLOCKS_NONE;
    for (size_t i = 0; i < out->len; i++) {
        if (out->commits[i].status != PFC_BLOCK_MEASURED)
            continue;
        if (i == out->anchor)
            s->anchor = s->len;
        if (i >= s->opts->first && s->first == PFC_BLOCKS_NONE)
            s->first = s->len;
        s->builds[s->len++] = i;
    }
    if (s->first == PFC_BLOCKS_NONE)
        s->first = s->len;
    else if (out->commits[s->opts->first - 1].status != PFC_BLOCK_MEASURED)
        s->first++;
    if (s->anchor == PFC_BLOCKS_NONE && s->len) {
        s->anchor = 0;
        out->anchor = s->builds[0];
    }
}

pfc_code pfc_blocks_prepare(pfc_blocks_session *s, pfc_err *err)
{
    const pfc_blocks_run_opts *o = s->opts;
    pfc_blocks_result *out = s->out;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < out->len && !code; i++) {
        const bool anchor = i == o->anchor && o->anchor + 1 < o->first;

        if (has_same_tree(s, i))
            continue;
        pfc_blocks_say(s, "[build %zu of %zu] %.12s", i + 1, out->len, out->commits[i].id.hex);
        code = build(s, &out->commits[i], anchor, err);
        if (!code && anchor && out->commits[i].status == PFC_BLOCK_BROKEN)
            code = replace_anchor(s, err);
    }
    if (code)
        return code;
    if (out->commits[o->first - 1].status == PFC_BLOCK_BROKEN)
        (void)snprintf(out->note, sizeof(out->note), "base %.12s cannot be built (%.300s)",
                       out->commits[o->first - 1].id.hex, out->commits[o->first - 1].reason);
    find_identical(s);
    list_builds(s);
    return PFC_OK;
}
