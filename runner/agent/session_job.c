/*
 * A job with blocks: its builds are measured together, and go to the server as one session.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "runner/agent/agent_priv.h"
#include "runner/blocks/blocks.h"
#include "runner/blocks/pair_key.h"
#include "runner/blocks/session_json.h"

enum {
    LINE_BYTES = 200,
    FUNCTIONS_S = 120, /* of counting one build; a command is about 50 times slower then */
};

/* The builds in the order of history: [anchor,] base, new ones. */
typedef struct session_builds {
    pfc_commit_id *commits, *anchors; /* anchors: to be tried when the first does not build */
    bool *known;                      /* of each commit: as in pfc_blocks_run_opts */
    size_t len, anchors_len, first;
    char key[PFC_SHA256_HEX]; /* of the pair; "": none */
} session_builds;

/* The progress line that the next heartbeat sends. */
typedef struct progress_line {
    pfc_lease *lease;
    char line[LINE_BYTES];
} progress_line;

static void set_progress(void *arg, const char *line)
{
    progress_line *t = arg;

    (void)snprintf(t->line, sizeof(t->line), "%s", line);
    t->lease->progress = t->line;
}

/* An anchor that the source no longer has is left out: the next one is tried. */
static size_t find_anchors(pfc_workspace *ws, const pfc_task_blocks *b, pfc_commit_id *out)
{
    pfc_err err = { 0 };
    size_t len = 0;

    for (size_t i = 0; i < b->anchors_len; i++) {
        if (pfc_workspace_find(ws, b->anchors[i], &out[len], &err) == PFC_OK)
            len++;
        else
            pfc_log(PFC_WARN, "anchor_missing", "commit", b->anchors[i], "reason", err.msg);
    }
    return len;
}

/* The base is the anchor where there is no other. */
static pfc_code find_commits(pfc_workspace *ws, const pfc_task_blocks *b, session_builds *out,
                             pfc_err *err)
{
    pfc_commit_id base;
    size_t apart;
    pfc_code code = pfc_workspace_find(ws, b->base, &base, err);

    if (code)
        return pfc_err_wrap(err, "base");
    out->commits = pfc_calloc(b->commits_len + 2, sizeof(*out->commits));
    out->anchors = pfc_calloc(b->anchors_len + 1, sizeof(*out->anchors));
    out->known = pfc_calloc(b->commits_len + 2, sizeof(*out->known));
    out->anchors_len = find_anchors(ws, b, out->anchors);
    apart = out->anchors_len && strcmp(out->anchors[0].hex, base.hex) != 0;
    if (apart)
        out->commits[out->len++] = out->anchors[0];
    out->commits[out->len++] = base;
    out->first = out->len;
    if (out->anchors_len) { /* the first is in use */
        out->anchors_len--;
        memmove(out->anchors, out->anchors + 1, out->anchors_len * sizeof(*out->anchors));
    }
    for (size_t i = 0; i < b->commits_len && !code; i++) {
        for (size_t k = 0; k < b->known_len; k++)
            out->known[out->len] |= strcmp(b->known[k], b->commits[i]) == 0;
        code = pfc_workspace_find(ws, b->commits[i], &out->commits[out->len++], err);
    }
    return code;
}

static pfc_code measure(pfc_agent *a, pfc_workspace *ws, const pfc_conf *conf, pfc_lease *lease,
                        const session_builds *builds, pfc_blocks_result *out, pfc_err *err)
{
    const pfc_task *task = &lease->job->task;
    const pfc_commit_measure_opts measure = pfc_agent_measure_opts(a, conf, lease);
    const pfc_benchmark_filter wanted = { .filter = task->filter,
                                          .backends = (const char *const *)task->backends,
                                          .backends_len = task->backends_len };
    progress_line t = { .lease = lease };
    const pfc_blocks_run_opts opts = { .commits = builds->commits,
                                       .len = builds->len,
                                       .first = builds->first,
                                       .known = builds->known,
                                       .anchors = builds->anchors,
                                       .anchors_len = builds->anchors_len,
                                       .budget_s = task->blocks->budget_s,
                                       .margin = task->blocks->margin,
                                       .exact_rounds = (size_t)task->blocks->rounds,
                                       .seed = pfc_rng_u64(&a->rng),
                                       .conf = conf,
                                       .functions_s = pfc_streq(lease->job->kind, "pull_request")
                                                          ? FUNCTIONS_S
                                                          : 0,
                                       .wanted = &wanted,
                                       .progress = set_progress,
                                       .progress_arg = &t };
    pfc_code code;

    lease->progress = "building";
    code = pfc_blocks_measure(ws, &measure, &opts, out, err);
    lease->progress = "uploading";
    return code;
}

/* Broken commits are part of the session's result. The job itself is broken only if no commit has a
 * result. */
static const char *status_of(const pfc_blocks_result *r, size_t first, const char **reason)
{
    const char *status = "failed";

    *reason = "";
    for (size_t i = 0; i < r->len; i++) {
        const pfc_block_commit *c = &r->commits[i];

        if (i >= first && (c->status == PFC_BLOCK_MEASURED || c->status == PFC_BLOCK_IDENTICAL)) {
            *reason = "";
            return "done";
        }
        if (c->status == PFC_BLOCK_BROKEN)
            status = "broken";
        if (!**reason)
            *reason = c->reason;
    }
    return status;
}

/* Runs of a session that was stopped name no job: the next lease of the job measures in a session
 * of its own and would overtake them. */
static void label_all(const pfc_agent *a, const pfc_leased_job *job, const pfc_blocks_result *r,
                      bool partial)
{
    for (size_t i = 0; i < r->len; i++) {
        pfc_run *run = r->commits[i].run;

        if (!run)
            continue;
        pfc_agent_label(a, job, run);
        if (partial)
            run->job_id = run->job_fence = 0;
    }
}

static void deliver(pfc_agent *a, const pfc_conf *conf, pfc_lease *lease, pfc_blocks_result *r,
                    const session_builds *builds, pfc_job_verdict *v)
{
    const pfc_leased_job *job = lease->job;
    const pfc_session_of of = { .branch = job->branch,
                                .first = builds->first,
                                .known = builds->known,
                                .budget_s = job->task.blocks->budget_s,
                                .machine = &a->machine,
                                .pair_key = builds->key[0] ? builds->key : NULL };
    json_t *doc = pfc_session_to_json(r, &of);
    pfc_run **runs = pfc_calloc(r->len + 1, sizeof(*runs));
    pfc_session_set set = {
        .id = r->session, .project = job->project, .session = doc, .runs = runs
    };
    const char *reason = "", *status = status_of(r, builds->first, &reason);
    pfc_err err = { 0 };

    label_all(a, job, r, r->cancelled);
    for (size_t i = 0; i < r->len; i++)
        if (r->commits[i].run)
            runs[set.len++] = r->commits[i].run;
    if (!r->cancelled) {
        pfc_agent_store_session(a, lease, &set, status, reason, v);
        for (size_t i = 0; i < r->len && pfc_agent_whole_suite(&job->task); i++)
            if (r->commits[i].status == PFC_BLOCK_MEASURED)
                pfc_agent_send_sources(a, job, &r->commits[i].id, conf, &r->commits[i].built);
    } else if (pfc_spool_add_session(a->spool, &set, &err) != PFC_OK) {
        pfc_log(PFC_ERROR, "spool_failed", "reason", err.msg);
    }
    free(runs);
    json_decref(doc);
}

/* One new commit against its base. Without a key the pair is measured, and no later job can use its
 * result. */
static void make_key(const pfc_agent *a, pfc_workspace *ws, const pfc_conf *conf, pfc_lease *lease,
                     session_builds *builds)
{
    const pfc_task *task = &lease->job->task;
    const pfc_commit_measure_opts measure = pfc_agent_measure_opts(a, conf, lease);
    const pfc_benchmark_filter wanted = { .filter = task->filter,
                                          .backends = (const char *const *)task->backends,
                                          .backends_len = task->backends_len };
    const pfc_pair_of pair = { .base = &builds->commits[0],
                               .head = &builds->commits[1],
                               .build = conf->build,
                               .measure = &measure,
                               .wanted = &wanted,
                               .budget_s = task->blocks->budget_s,
                               .margin = task->blocks->margin,
                               .rounds = (size_t)task->blocks->rounds,
                               .isolation = a->sandbox ? a->isolation : NULL };
    pfc_err err = { 0 };

    if (!task->blocks->keyed || builds->len != 2 || builds->first != 1 || task->layout)
        return;
    if (pfc_pair_key(pfc_workspace_repo(ws), &pair, builds->key, &err)) {
        builds->key[0] = '\0';
        pfc_log(PFC_WARN, "pair_has_no_key", "job", lease->job->id, "reason", err.msg);
    }
}

/* True: an earlier session has the result of this pair, and the verdict names it. A failure of the
 * request is logged only: the pair is then measured. */
static bool find_earlier(pfc_agent *a, pfc_lease *lease, const session_builds *builds,
                         pfc_job_verdict *v)
{
    pfc_earlier earlier = { 0 };
    pfc_err err = { 0 };

    if (!builds->key[0] || !lease->job->task.blocks->reuse)
        return false;
    if (pfc_job_earlier(a->http, lease->job, builds->key, &earlier, &err)) {
        pfc_log(PFC_WARN, "earlier_result_not_asked", "job", lease->job->id, "reason", err.msg);
        return false;
    }
    if (!earlier.session[0])
        return false;
    pfc_log(PFC_INFO, "pair_reused", "job", lease->job->id, "session",
            (const char *)earlier.session);
    pfc_agent_verdict(v, "done", "");
    (void)snprintf(v->session, sizeof(v->session), "%s", earlier.session);
    (void)snprintf(
        v->reason, sizeof(v->reason),
        "reused: session %s of %s has the same trees, toolchain, suite and machine class",
        earlier.session, earlier.measured_at);
    return true;
}

pfc_code pfc_agent_session(pfc_agent *a, pfc_workspace *ws, const pfc_conf *conf, pfc_lease *lease,
                           pfc_job_verdict *v, pfc_err *err)
{
    pfc_blocks_result result = { 0 };
    session_builds builds = { 0 };
    bool reused;
    pfc_code code = find_commits(ws, lease->job->task.blocks, &builds, err);

    if (!code)
        make_key(a, ws, conf, lease, &builds);
    reused = !code && find_earlier(a, lease, &builds, v);
    if (!code && !reused)
        code = measure(a, ws, conf, lease, &builds, &result, err);
    if (!code && result.canary_moved)
        pfc_log(PFC_WARN, "canary_moved", "job", lease->job->id);
    if (!code && !reused && !lease->lost && !lease->cancelled)
        deliver(a, conf, lease, &result, &builds, v);
    if (!code && !lease->lost && !lease->cancelled && !result.cancelled &&
        pfc_agent_whole_suite(&lease->job->task))
        pfc_agent_send_owners(a, lease->job, pfc_workspace_repo(ws),
                              &builds.commits[builds.len - 1]);
    pfc_blocks_result_clear(&result);
    free(builds.commits);
    free(builds.known);
    free(builds.anchors);
    return code;
}
