/*
 * Texts for a pull request: the title of the check, and what core/comment makes of the comparison
 * document: the comment and the answer of `/perfci why`.
 */
#include <stdlib.h>
#include <string.h>

#include "core/comment/comment.h"
#include "server/bot/internal.h"

#define NOTE_MAX 4096

/* ---- the document ---- */

static bool is(const pfc_pull_measurement *m, const char *verdict)
{
    return pfc_streq(m->verdict, verdict);
}

static const char *reason_of(const pfc_pull_measurement *m, const char *otherwise)
{
    return m->reason && m->reason[0] ? m->reason : otherwise;
}

static json_t *sides_of(const pfc_pull_measurement *m)
{
    return json_pack("{s:{s:s}, s:{s:s}, s:[]}", "a", "name", m->base_sha, "b", "name", m->head_sha,
                     "rows");
}

/* As a comparison document, in which a verdict without rows has its reason. */
static json_t *document_of(const pfc_pull_measurement *m)
{
    json_t *doc = m->document_json ? json_loads(m->document_json, JSON_DECODE_ANY, NULL) : NULL;
    const bool broken = is(m, "broken"), failed = broken || is(m, "outage");
    json_t *reused = json_incref(json_object_get(doc, "reused"));

    if (json_array_size(json_object_get(doc, "rows")) > 0) {
        json_decref(reused);
        return doc;
    }
    json_decref(doc);
    doc = sides_of(m);
    if (reused)
        json_object_set_new(doc, "reused", reused);
    if (failed)
        json_object_set_new(doc, "error",
                            json_pack("{s:i, s:o}", "status", broken ? 4 : 5, "message",
                                      json_string(reason_of(m, "no reason was given"))));
    else if (is(m, "identical"))
        json_object_set_new(doc, "object_code", json_string("identical"));
    else
        json_object_set_new(doc, "nothing",
                            json_string(reason_of(m, "No benchmark was measured on both sides.")));
    return doc;
}

/* A document that an older server stored may lack what this one reads. */
static void read_comparison(const pfc_pull_measurement *m, pfc_cmp *out)
{
    json_t *doc = document_of(m);
    pfc_err err = { 0 };

    if (pfc_cmp_from_document(doc, out, &err)) {
        pfc_cmp_clear(out);
        *out = (pfc_cmp){ .failure = pfc_strdup(err.msg), .failure_status = 5 };
    }
    json_decref(doc);
}

/* ---- the check ---- */

static pfc_check_state state_of(const pfc_pull_measurement *m)
{
    if (m->accepted_by)
        return PFC_CHECK_SUCCESS;
    switch (pfc_verdict_rank(m->verdict)) {
    case 0:
        return PFC_CHECK_SUCCESS;
    case 1:
        return PFC_CHECK_NEUTRAL;
    case 2:
        return PFC_CHECK_FAILURE;
    default:
        return PFC_CHECK_ACTION_REQUIRED;
    }
}

static pfc_check_state put_waiting(const pfc_pull *p, const pfc_pull_measurement *m, pfc_buf *title)
{
    if (!m) {
        if (p->fork && !pfc_streq(p->allowed_sha, p->head_sha)) {
            pfc_buf_puts(title, "A fork: a maintainer allows the measurement by /perfci allow");
            return PFC_CHECK_ACTION_REQUIRED;
        }
        pfc_buf_puts(title, "The merge base is not known");
        return PFC_CHECK_NEUTRAL;
    }
    if (m->waited_s >= p->patience_s) {
        pfc_buf_printf(title, "No verdict within %.0f min; the measurement goes on",
                       p->patience_s / 60);
        return PFC_CHECK_NEUTRAL;
    }
    if (pfc_streq(m->state, "leased")) {
        pfc_buf_puts(title, "Measuring");
        return PFC_CHECK_IN_PROGRESS;
    }
    pfc_buf_puts(title, "Waiting for a runner");
    return PFC_CHECK_QUEUED;
}

pfc_check_state pfc_pull_check(const pfc_pull *p, const pfc_pull_measurement *m, pfc_buf *title)
{
    pfc_cmp cmp = { 0 };
    char *verdict;

    if (!m || !m->verdict)
        return put_waiting(p, m, title);
    read_comparison(m, &cmp);
    verdict = pfc_comment_verdict(&cmp);
    pfc_buf_puts(title, verdict);
    if (m->accepted_by)
        pfc_buf_puts(title, " (accepted)");
    free(verdict);
    pfc_cmp_clear(&cmp);
    return state_of(m);
}

/* ---- the comment ---- */

char *pfc_pull_commit_url(const pfc_pull *p)
{
    static const struct {
        const char *pull, *commit;
    } pages[] = { { "/-/merge_requests/", "/-/commit/" },
                  { "/pull/", "/commit/" },
                  { "/pulls/", "/commit/" } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(pages); i++) {
        char *end = pfc_format("%s%lld", pages[i].pull, (long long)p->number);
        const size_t len = p->url ? strlen(p->url) : 0, end_len = strlen(end);
        const bool fits = len > end_len && strcmp(p->url + len - end_len, end) == 0;

        free(end);
        if (fits)
            return pfc_format("%.*s%s", (int)(len - end_len), p->url, pages[i].commit);
    }
    return NULL;
}

/* Sentences that the comparison does not have. */
static void put_note(const pfc_pull_measurement *m, pfc_buf *out)
{
    json_t *doc = m->document_json ? json_loads(m->document_json, JSON_DECODE_ANY, NULL) : NULL;
    const char *machine_class = json_string_value(json_object_get(doc, "machine_class"));

    if (m->accepted_by)
        pfc_buf_printf(out, "Accepted by %s: %s.", m->accepted_by,
                       m->accepted_reason ? m->accepted_reason : "");
    if (machine_class && json_array_size(json_object_get(doc, "rows")) > 0)
        pfc_buf_printf(out, "%sMeasured on %s for %.0f s.", out->len ? " " : "", machine_class,
                       json_number_value(json_object_get(doc, "spent_s")));
    /* The comparison's document holds the reason of the other verdicts. */
    if (m->reason && m->reason[0] && !is(m, "broken") && !is(m, "outage") && !is(m, "nothing"))
        pfc_buf_printf(out, "%sBasis: %s.", out->len ? " " : "", m->reason);
    if (m->filter)
        pfc_buf_printf(out, "%sOnly the benchmarks that match %s.", out->len ? " " : "", m->filter);
    json_decref(doc);
}

typedef void writer(const pfc_cmp *cmp, const pfc_comment_opts *opts, pfc_buf *out);

static void put_text(const pfc_pull *p, const pfc_pull_measurement *m, const pfc_pull_links *links,
                     const char *key, writer *put, pfc_buf *out)
{
    char *commit_url = pfc_pull_commit_url(p);
    pfc_comment_opts opts = { .key = key,
                              .link = links->whole,
                              .commit_url = commit_url,
                              .series_url = links->series,
                              .accepted = m->accepted_by != NULL };
    pfc_cmp cmp = { 0 };
    pfc_buf note;

    pfc_buf_init(&note, NOTE_MAX);
    put_note(m, &note);
    opts.note = note.len ? pfc_buf_text(&note) : NULL;
    read_comparison(m, &cmp);
    put(&cmp, &opts, out);
    pfc_cmp_clear(&cmp);
    pfc_buf_clear(&note);
    free(commit_url);
}

void pfc_pull_comment(const pfc_pull *p, const pfc_pull_measurement *m, const pfc_pull_links *links,
                      const char *key, pfc_buf *out)
{
    put_text(p, m, links, key, pfc_comment_markdown, out);
}

void pfc_pull_why(const pfc_pull *p, const pfc_pull_measurement *m, const pfc_pull_links *links,
                  pfc_buf *out)
{
    put_text(p, m, links, "why", pfc_comment_why, out);
}
