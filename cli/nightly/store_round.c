/*
 * A nightly round without a service: what it reads from a store and what it adds.
 */
#include "cli/nightly/store_round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/publish.h"

enum { SESSIONS = 20, LINE = 20000 };

static const char *text_of(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

/* ---- opening ---- */

pfc_code pfc_night_store_open(pfc_night *n, const char *spec, const char *remote, pfc_err *err)
{
    struct pfc_night_store *s = pfc_alloc(sizeof(*s));
    pfc_code code;

    n->store = s;
    s->remote = remote;
    code = pfc_store_open(spec, n->take.repo, &s->store, err);
    if (!code && remote)
        code = pfc_store_pull(s->store, remote, err);
    if (!code)
        code = pfc_store_history_load(s->store, &s->history, err);
    if (!code)
        pfc_store_say_faults(n->cli, s->store, &s->history);
    return code;
}

void pfc_night_store_close(pfc_night *n)
{
    if (!n->store)
        return;
    pfc_store_history_clear(&n->store->history);
    pfc_store_close(n->store->store);
    free(n->store->line);
    free(n->store);
    n->store = NULL;
}

/* ---- what is known ---- */

static pfc_commit_id *copy_line(const struct pfc_night_store *s)
{
    pfc_commit_id *copy = pfc_calloc(s->line_len + 1, sizeof(*copy));

    memcpy(copy, s->line, s->line_len * sizeof(*copy));
    return copy;
}

static pfc_code judge(struct pfc_night_store *s, pfc_err *err)
{
    return pfc_store_history_judge(&s->history, copy_line(s), s->line_len, err);
}

pfc_code pfc_night_store_known(pfc_night *n, pfc_night_line *l, pfc_err *err)
{
    struct pfc_night_store *s = n->store;
    pfc_code code =
        pfc_repo_history(n->take.repo, &l->ids[l->len - 1], LINE, &s->line, &s->line_len, err);

    if (!code)
        code = judge(s, err);
    if (code)
        return code;
    for (size_t i = 0; i < s->history.runs_len; i++) {
        const size_t at = pfc_night_place(l, s->history.runs[i]->commit);

        if (at != PFC_NIGHT_NONE)
            l->has_run[at] = l->seen[at] = true;
    }
    n->sessions = json_array();
    for (size_t i = 0; i < json_array_size(s->history.sessions) && i < SESSIONS; i++)
        json_array_append(n->sessions, json_array_get(s->history.sessions, i));
    return PFC_OK;
}

json_t *pfc_night_store_candidates(const pfc_night *n)
{
    return pfc_store_candidates(&n->store->history);
}

/* ---- what is measured ---- */

static void note_broken(pfc_night *n, const pfc_run *run)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];

        if (m->status == PFC_STATUS_BROKEN)
            json_array_append_new(n->broken,
                                  json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?}", "commit",
                                            run->commit, "benchmark", m->benchmark, "metric",
                                            m->metric, "backend", m->backend, "machine_class",
                                            run->machine.machine_class, "reason", m->reason));
    }
}

pfc_code pfc_night_store_run(pfc_night *n, const pfc_run *run, pfc_err *err)
{
    char *text = pfc_run_to_text(run);
    pfc_run *copy = NULL;
    bool repeated = false;
    pfc_code code = pfc_run_from_json(text, strlen(text), &copy, err);

    free(text);
    if (code)
        return pfc_err_wrap(err, "the run of %.12s", run->commit);
    free(copy->project);
    copy->project = pfc_strdup(n->project);
    free(copy->branch);
    copy->branch = pfc_strdup(n->branch);
    code = pfc_store_put_run(n->store->store, copy, &repeated, err);
    if (code) {
        pfc_run_free(copy);
        return code;
    }
    note_broken(n, copy);
    pfc_store_history_add_run(&n->store->history, copy);
    return PFC_OK;
}

/* ---- the session, as judged ---- */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static void set_verdict(json_t *one, const pfc_night_commit *c)
{
    const pfc_night_worst *w = &c->worst;
    json_t *worst =
        w->benchmark
            ? json_pack("{s:s, s:s?, s:s?, s:o, s:o, s:o}", "benchmark", w->benchmark, "metric",
                        w->metric, "backend", w->backend, "rel_change", number(w->rel_change),
                        "rel_low", number(w->rel_low), "rel_high", number(w->rel_high))
            : json_null();

    json_object_set_new(one, "verdict", c->verdict ? json_string(c->verdict) : json_null());
    json_object_set_new(one, "within", number(c->within));
    json_object_set_new(one, "needs_s", number(c->needs_s));
    json_object_set_new(one, "worst", worst);
}

static pfc_code add_session(pfc_night *n, pfc_err *err)
{
    json_t *doc = json_deep_copy(n->posted);
    json_t *commits = json_object_get(doc, "commits");
    pfc_code code;

    for (size_t i = 0; i < json_array_size(commits); i++) {
        json_t *one = json_array_get(commits, i);
        const pfc_night_commit *c = pfc_night_commit_of(n, text_of(one, "commit"));

        if (c)
            set_verdict(one, c);
    }
    json_object_set(doc, "series", n->series);
    code = pfc_store_put_session(n->store->store, doc, err);
    if (code)
        json_decref(doc);
    else
        pfc_store_history_add_session(&n->store->history, doc);
    return code;
}

/* ---- the end of the round ---- */

static char *message_of(const pfc_night *n)
{
    pfc_buf verdict;
    char *text;

    pfc_buf_init(&verdict, 4096);
    pfc_night_put_verdict(n, &verdict);
    text = pfc_format("perfci nightly: %s", pfc_buf_text(&verdict));
    pfc_buf_clear(&verdict);
    return text;
}

static pfc_code publish(pfc_night *n, pfc_err *err)
{
    struct pfc_night_store *s = n->store;
    char *message = message_of(n);
    const pfc_store_publishing what = { .store = s->store,
                                        .history = &s->history,
                                        .line = s->line,
                                        .line_len = s->line_len,
                                        .project = n->project,
                                        .message = message,
                                        .remote = s->remote };
    pfc_err why = { 0 };
    bool sent = true;
    const pfc_code code = pfc_store_publish_all(&what, &sent, &why, err);

    if (!code && !sent) {
        n->push_failed = true;
        pfc_cli_warn(n->cli, "%s", why.msg);
        if (why.hint[0])
            pfc_cli_warn(n->cli, "hint: %s", why.hint);
    }
    free(message);
    return code;
}

pfc_code pfc_night_store_finish(pfc_night *n, pfc_err *err)
{
    struct pfc_night_store *s = n->store;
    json_t *found = NULL;
    pfc_code code = n->posted && n->session[0] ? add_session(n, err) : PFC_OK;

    if (!code)
        code = judge(s, err);
    if (!code) {
        found = pfc_store_alerts_new(&s->history, n->series);
        code = pfc_store_put_alerts(s->store, found, err);
    }
    if (!code) {
        json_array_extend(n->alerts, found);
        n->standing = pfc_store_standing(&s->history);
        n->judged = true;
        code = publish(n, err);
    }
    json_decref(found);
    return code;
}
