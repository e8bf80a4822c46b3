/*
 * A nightly round that is measured here, in blocks: measuring, and sending what came of it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nightly/store_round.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/machine/describe.h"
#include "runner/blocks/session_json.h"

enum { TRIES = 5 };

/* ---- sending ---- */

/* A night of measuring is worth some patience: waits 1, 2, 4 and 8 s between tries. */
static bool try_again(pfc_code code, size_t tries, pfc_err *err)
{
    if (!code || !pfc_http_retryable(code) || tries + 1 >= TRIES || pfc_cli_interrupted(NULL))
        return false;
    pfc_log(PFC_WARN, "upload_repeated", "reason", (const char *)err->msg);
    pfc_clock_sleep_ns((1LL << tries) * PFC_NS_PER_S);
    *err = (pfc_err){ 0 };
    return true;
}

static pfc_code post_run(pfc_night *n, pfc_block_commit *c, int64_t *id, pfc_err *err)
{
    pfc_code code;
    size_t tries = 0;

    if (n->store)
        return pfc_night_store_run(n, c->run, err);
    free(c->run->project);
    c->run->project = pfc_strdup(n->project);
    free(c->run->branch);
    c->run->branch = pfc_strdup(n->branch);
    do
        code = pfc_api_post_run(n->http, c->run, id, NULL, err);
    while (try_again(code, tries++, err));
    if (!code)
        pfc_api_post_sources(n->http, n->project, c->id.hex, &n->take.conf, &c->built);
    return code;
}

static json_t *left_out_json(const pfc_night_commit *c)
{
    return json_pack("{s:s, s:s, s:s}", "commit", c->id.hex, "status", "not_measured", "reason",
                     c->reason);
}

/* Those that were left out take their place among the others, as far as the document has room. */
static void add_left_out(const pfc_night *n, json_t *session)
{
    json_t *measured = json_object_get(session, "commits");
    const size_t len = json_array_size(measured);
    size_t room = PFC_BLOCKS_MAX_BUILDS - PFC_MIN(len, (size_t)PFC_BLOCKS_MAX_BUILDS);
    size_t outside = 0, at = 0;
    json_t *all = json_array();

    for (size_t i = 0; i < n->len; i++)
        outside += n->commits[i].build == PFC_NIGHT_NONE;
    for (size_t i = 0; i < n->len; i++) {
        const pfc_night_commit *c = &n->commits[i];

        if (c->build == PFC_NIGHT_NONE && outside-- <= room)
            json_array_append_new(all, left_out_json(c));
        if (c->build != PFC_NIGHT_NONE && at < len)
            json_array_append(all, json_array_get(measured, at++));
    }
    while (at < len)
        json_array_append(all, json_array_get(measured, at++));
    json_object_set_new(session, "commits", all);
}

static json_t *session_of(const pfc_night *n, const pfc_blocks_result *r)
{
    pfc_machine here = { 0 };
    const pfc_machine *machine = NULL;
    pfc_session_of of = {
        .branch = n->branch, .first = n->plan.first, .known = n->plan.known, .budget_s = n->budget_s
    };
    json_t *doc;

    for (size_t i = 0; i < r->len && !machine; i++)
        machine = r->commits[i].run ? &r->commits[i].run->machine : NULL;
    if (!machine)
        pfc_machine_describe(NULL, NULL, &here);
    of.machine = machine ? machine : &here;
    doc = pfc_session_to_json(r, &of);
    add_left_out(n, doc);
    pfc_machine_clear(&here);
    return doc;
}

/* PFC_OK and n->local: the service has no sessions. */
static pfc_code post_session(pfc_night *n, pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s/sessions", n->project);
    pfc_code code = PFC_OK;
    size_t tries = 0;

    do
        code = pfc_http_json(n->http, "POST", path, n->posted, NULL, NULL, err);
    while (try_again(code, tries++, err));
    if (code == PFC_ENOTFOUND) {
        *err = (pfc_err){ 0 };
        n->local = true;
        code = PFC_OK;
    }
    free(path);
    return code;
}

static pfc_code send_all(pfc_night *n, pfc_blocks_result *r, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < r->len && !code; i++) {
        int64_t id = 0;

        if (!r->commits[i].run)
            continue;
        pfc_night_note_skipped(n, r->commits[i].run);
        code = post_run(n, &r->commits[i], &id, err);
        for (size_t k = 0; k < n->len; k++)
            if (n->commits[k].build == i)
                n->commits[k].run_id = id;
    }
    n->posted = session_of(n, r);
    if (!code && !n->store)
        code = post_session(n, err);
    return code;
}

/* ---- what came of each commit ---- */

static void take_status(pfc_night *n, const pfc_blocks_result *r)
{
    for (size_t i = 0; i < n->len; i++) {
        pfc_night_commit *c = &n->commits[i];
        const pfc_block_commit *b;

        if (c->build == PFC_NIGHT_NONE)
            continue;
        b = &r->commits[c->build];
        c->measured = b->status == PFC_BLOCK_MEASURED;
        c->broken = b->status == PFC_BLOCK_BROKEN;
        c->left_out = b->status == PFC_BLOCK_NOT_MEASURED && !r->ended[0];
        n->skipped += c->left_out;
        if (b->status == PFC_BLOCK_IDENTICAL)
            c->same_as = r->commits[b->same_as].id;
        if (b->reason[0])
            c->reason = pfc_strdup(b->reason);
    }
}

static void say(const pfc_night *n, const pfc_blocks_result *r)
{
    if (r->note[0])
        pfc_cli_warn(n->cli, "%s", r->note);
    if (r->ended[0])
        pfc_cli_warn(n->cli, "the session ended early: %s; its whole blocks are kept", r->ended);
}

pfc_code pfc_night_measure_blocks(pfc_night *n, pfc_err *err)
{
    const pfc_night_plan *p = &n->plan;
    const pfc_blocks_run_opts opts = { .commits = p->builds,
                                       .len = p->len,
                                       .anchor = p->anchor,
                                       .first = p->first,
                                       .known = p->known,
                                       .anchors = p->anchors,
                                       .anchors_len = p->anchors_len,
                                       .budget_s = n->take.opts->repeats ? 0 : n->budget_s,
                                       .margin = n->margin,
                                       .exact_rounds = n->take.opts->repeats,
                                       .seed = (uint64_t)pfc_clock_ns() };
    pfc_blocks_result r = { 0 };
    pfc_code code;

    if (!n->cli->progress)
        pfc_cli_note(n->cli, "measuring %zu builds in blocks", p->len);
    code = pfc_take_blocks(&n->take, &opts, &r, err);
    if (!code) {
        say(n, &r);
        take_status(n, &r);
        n->ended = r.ended[0] != '\0';
        (void)snprintf(n->session, sizeof(n->session), "%s", r.session);
        n->note = r.note[0] ? pfc_strdup(r.note) : NULL;
        code = send_all(n, &r, err);
    }
    /* The service's verdicts take their place. */
    if (!code)
        code = pfc_night_judge(n, &r, err);
    pfc_blocks_result_clear(&r);
    return code;
}

void pfc_night_clear(pfc_night *n)
{
    for (size_t i = 0; i < n->len; i++) {
        free(n->commits[i].subject);
        free(n->commits[i].reason);
        free(n->commits[i].verdict);
        free(n->commits[i].worst.benchmark);
        free(n->commits[i].worst.metric);
        free(n->commits[i].worst.backend);
    }
    free(n->commits);
    free(n->earlier);
    free(n->plan.builds);
    free(n->plan.known);
    free(n->plan.anchors);
    free(n->note);
    json_decref(n->sessions);
    json_decref(n->posted);
    json_decref(n->series);
    json_decref(n->skipped_benchmarks);
    json_decref(n->judged_session);
    json_decref(n->further);
    json_decref(n->alerts);
    json_decref(n->broken);
    json_decref(n->standing);
    free(n->project);
}
