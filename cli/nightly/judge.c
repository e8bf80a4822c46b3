/*
 * The verdicts of a nightly round: the service's, or of this program where the service has none.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nightly/night_series.h"
#include "core/stats/comparison_family.h"

static const char *text_of(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

static double number_of(const json_t *obj, const char *key)
{
    const json_t *value = json_object_get(obj, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* ---- the service's ---- */

static pfc_night_commit *commit_of(pfc_night *n, const char *id)
{
    for (size_t i = 0; id && i < n->len; i++)
        if (strcmp(n->commits[i].id.hex, id) == 0)
            return &n->commits[i];
    return NULL;
}

const pfc_night_commit *pfc_night_commit_of(const pfc_night *n, const char *id)
{
    return commit_of((pfc_night *)(uintptr_t)n, id);
}

static void set_text(char **out, const char *text)
{
    free(*out);
    *out = text ? pfc_strdup(text) : NULL;
}

static void set_worst(pfc_night_commit *c, const json_t *worst)
{
    if (!text_of(worst, "benchmark"))
        return;
    set_text(&c->worst.benchmark, text_of(worst, "benchmark"));
    set_text(&c->worst.metric, text_of(worst, "metric"));
    set_text(&c->worst.backend, text_of(worst, "backend"));
    c->worst.rel_change = number_of(worst, "rel_change");
    c->worst.rel_low = number_of(worst, "rel_low");
    c->worst.rel_high = number_of(worst, "rel_high");
}

/* How bad a verdict is for a commit with several series or sessions. */
static int rank(const char *verdict)
{
    static const char *const order[] = { "same", "faster", "undecided", "slower" };

    for (size_t i = 0; verdict && i < PFC_ARRAY_LEN(order); i++)
        if (strcmp(order[i], verdict) == 0)
            return (int)i;
    return -1;
}

/* first: of the round's own session, whose word counts more than this program's. */
static bool take_answer(pfc_night *n, const json_t *session, bool first)
{
    const json_t *commits = json_object_get(session, "commits");
    bool any = false;

    for (size_t i = 0; i < json_array_size(commits); i++) {
        const json_t *one = json_array_get(commits, i);
        pfc_night_commit *c = commit_of(n, text_of(one, "commit"));

        if (!c || !text_of(one, "verdict"))
            continue;
        any = true;
        if (!first && c->verdict && rank(c->verdict) >= rank(text_of(one, "verdict")))
            continue; /* of another class of machines, and no better */
        free(c->worst.benchmark);
        c->worst.benchmark = NULL;
        set_text(&c->verdict, text_of(one, "verdict"));
        c->within = number_of(one, "within");
        c->needs_s = number_of(one, "needs_s");
        set_worst(c, json_object_get(one, "worst"));
    }
    return any;
}

/* *judged: what the service says of the session, when it says anything; the caller decrefs. */
static pfc_code ask_for(pfc_night *n, const char *session, bool first, json_t **judged,
                        pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s/sessions/%s", n->project, session);
    pfc_err why = { 0 };
    json_t *answer = NULL;
    pfc_code code = pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, &why);

    *judged = !code && take_answer(n, answer, first) ? json_incref(answer) : NULL;
    if (code == PFC_ENOTFOUND)
        code = PFC_OK;
    else if (code)
        *err = why;
    json_decref(answer);
    free(path);
    return code;
}

pfc_code pfc_night_take_verdicts(pfc_night *n, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (!n->session[0] || n->local)
        return PFC_OK;
    code = ask_for(n, n->session, true, &n->judged_session, err);
    for (size_t i = 0; !code && i < json_array_size(n->further); i++) {
        json_t *judged = NULL;

        code = ask_for(n, json_string_value(json_array_get(n->further, i)), false, &judged, err);
        json_decref(judged);
    }
    n->local = !code && !n->judged_session && n->posted;
    return code;
}

/* ---- this program's ---- */

/* A series of the session, and what its visits say. */
typedef struct series {
    const pfc_measurement *like;
    pfc_blocks_fit fit;
} series;

typedef struct judging {
    pfc_night *n;
    const pfc_blocks_result *r;
    series *list;
    size_t len, cap;
    double *adjusted; /* of all boundaries of all series that are not exact, in their order */
} judging;

static bool same_series(const pfc_measurement *a, const pfc_measurement *b)
{
    return pfc_streq(a->benchmark, b->benchmark) && pfc_streq(a->metric, b->metric) &&
           pfc_streq(a->backend, b->backend);
}

static bool is_judged(const pfc_measurement *m)
{
    return m->status == PFC_STATUS_OK && m->visits &&
           !pfc_streq(m->benchmark, PFC_CANARY_BENCHMARK) &&
           !pfc_streq(pfc_labels_get(&m->extra, PFC_ROLE), PFC_ROLE_SECONDARY);
}

static void find_series(judging *j)
{
    for (size_t i = 0; i < j->r->len; i++) {
        const pfc_run *run = j->r->commits[i].run;

        for (size_t k = 0; run && k < run->measurements_len; k++) {
            const pfc_measurement *m = &run->measurements[k];
            bool known = !is_judged(m);

            for (size_t s = 0; s < j->len && !known; s++)
                known = same_series(j->list[s].like, m);
            if (known)
                continue;
            j->list = pfc_grow(j->list, j->len, &j->cap, sizeof *j->list);
            j->list[j->len++] = (series){ .like = m };
        }
    }
}

/* False: a value that no ratio can be made of. */
static bool add_visits(const pfc_measurement *m, size_t build, pfc_visit *out, size_t *len)
{
    size_t at = 0;

    for (size_t i = 0; i < m->blocks_len && *len < PFC_BLOCKS_MAX_VISITS; at += m->blocks[i++]) {
        const double value = pfc_stats_median(m->samples + at, m->blocks[i]);

        if (!(value > 0))
            return false;
        out[(*len)++] = (pfc_visit){ .build = (uint32_t)build,
                                     .block = m->visits[i].block,
                                     .position = m->visits[i].position,
                                     .value = value };
    }
    return true;
}

static pfc_code judge_series(judging *j, series *s, pfc_visit *visits, pfc_err *err)
{
    const pfc_blocks_opts opts = { .builds = j->r->len,
                                   .anchor = j->r->anchor,
                                   .first = j->n->plan.first,
                                   .gap = j->n->plan.known,
                                   .margin = fmin(j->n->margin, PFC_COMPARE_MARGIN),
                                   .exact = s->like->exact };
    bool good = true;
    size_t len = 0;

    for (size_t i = 0; i < j->r->len; i++) {
        const pfc_run *run = j->r->commits[i].run;

        for (size_t k = 0; run && k < run->measurements_len; k++)
            if (is_judged(&run->measurements[k]) && same_series(s->like, &run->measurements[k]))
                good = add_visits(&run->measurements[k], i, visits, &len) && good;
    }
    return good ? pfc_blocks_judge(visits, len, &opts, &s->fit, err) : PFC_OK;
}

/* p among all boundaries, as the service adjusts them. */
static void adjust(judging *j)
{
    size_t n = 0;
    double *p;

    for (size_t i = 0; i < j->len; i++)
        n += j->list[i].like->exact ? 0 : j->list[i].fit.boundaries_len;
    p = pfc_calloc(n + 1, sizeof *p);
    j->adjusted = pfc_calloc(n + 1, sizeof *j->adjusted);
    n = 0;
    for (size_t i = 0; i < j->len; i++)
        for (size_t k = 0; k < j->list[i].fit.boundaries_len && !j->list[i].like->exact; k++)
            p[n++] = j->list[i].fit.boundaries[k].p;
    pfc_stats_fdr_adjust(p, n, j->adjusted);
    free(p);
}

static const char *word(const judging *j, const pfc_measurement *m, const pfc_boundary *b,
                        double adjusted)
{
    const double margin = j->n->margin;
    const bool different = b->verdict == PFC_VERDICT_DIFFERENT && adjusted <= PFC_BLOCKS_FDR;

    if (different)
        return (b->rel_change > 0) == m->higher_is_better ? "faster" : "slower";
    if (b->verdict == PFC_VERDICT_SAME || pfc_boundary_within(b, margin))
        return "same";
    return "undecided";
}

static void take_boundary(judging *j, const pfc_measurement *m, const pfc_boundary *b,
                          double adjusted)
{
    const char *verdict = word(j, m, b, adjusted);
    const double wide = fmax(fabs(b->rel_low), fabs(b->rel_high));

    for (size_t i = 0; i < j->n->len; i++) {
        pfc_night_commit *c = &j->n->commits[i];
        const int now = rank(c->verdict), next = rank(verdict);

        if (c->build != b->to)
            continue;
        if (next == rank("same") && now <= rank("same"))
            c->within = now < 0 ? wide : fmax(c->within, wide);
        if (next > now || (next == now && fabs(b->rel_change) > fabs(c->worst.rel_change))) {
            set_text(&c->worst.benchmark, m->benchmark);
            set_text(&c->worst.metric, m->metric);
            set_text(&c->worst.backend, m->backend);
            c->worst.rel_change = b->rel_change;
            c->worst.rel_low = b->rel_low;
            c->worst.rel_high = b->rel_high;
        }
        if (next > now)
            set_text(&c->verdict, verdict);
    }
}

/* The words that the service has for a boundary. */
static const char *boundary_word(const char *verdict)
{
    if (strcmp(verdict, "slower") == 0)
        return "regression";
    return strcmp(verdict, "faster") == 0 ? "improvement" : verdict;
}

/* Boundaries of the round's own commits; the others were judged before. */
static bool is_new(const pfc_night *n, const pfc_boundary *b)
{
    bool found = false;

    for (size_t i = 0; i < n->len && !b->gap; i++)
        found = found || n->commits[i].build == b->to;
    return found;
}

static void keep_series(const judging *j)
{
    json_t *list = json_array();
    size_t at = 0;

    for (size_t i = 0; i < j->len; i++) {
        const series *s = &j->list[i];
        const pfc_night_series one = { .result = j->r, .like = s->like, .fit = &s->fit };
        json_t *boundaries = json_array();

        for (size_t k = 0; k < s->fit.boundaries_len; k++) {
            const pfc_boundary *b = &s->fit.boundaries[k];
            const double adjusted = s->like->exact ? 0 : j->adjusted[at++];

            if (is_new(j->n, b))
                json_array_append_new(
                    boundaries,
                    pfc_night_boundary_json(j->r, b, boundary_word(word(j, s->like, b, adjusted)),
                                            s->like->exact ? (double)NAN : adjusted));
        }
        json_array_append_new(list, pfc_night_series_json(&one, boundaries));
    }
    json_decref(j->n->series);
    j->n->series = list;
}

static const char *other_word(const pfc_block_commit *b)
{
    switch (b->status) {
    case PFC_BLOCK_IDENTICAL:
        return "identical";
    case PFC_BLOCK_BROKEN:
        return "broken";
    case PFC_BLOCK_NOT_MEASURED:
        return "not_measured";
    case PFC_BLOCK_MEASURED:
        break;
    }
    return NULL;
}

pfc_code pfc_night_judge(pfc_night *n, const pfc_blocks_result *r, pfc_err *err)
{
    judging j = { .n = n, .r = r };
    pfc_visit *visits = pfc_calloc(PFC_BLOCKS_MAX_VISITS, sizeof *visits);
    size_t at = 0;
    pfc_code code = PFC_OK;

    find_series(&j);
    for (size_t i = 0; i < j.len && !code; i++)
        code = judge_series(&j, &j.list[i], visits, err);
    adjust(&j);
    for (size_t i = 0; i < j.len && !code; i++)
        for (size_t k = 0; k < j.list[i].fit.boundaries_len; k++)
            take_boundary(&j, j.list[i].like, &j.list[i].fit.boundaries[k],
                          j.list[i].like->exact ? 0 : j.adjusted[at++]);
    for (size_t i = 0; i < n->len; i++) {
        pfc_night_commit *c = &n->commits[i];
        const pfc_block_commit *b = c->build < r->len ? &r->commits[c->build] : NULL;

        if (!b || other_word(b))
            set_text(&c->verdict, b ? other_word(b) : "not_measured");
        else if (pfc_streq(c->verdict, "undecided"))
            c->needs_s = b->needs_s;
    }
    if (!code)
        keep_series(&j);
    for (size_t i = 0; i < j.len; i++)
        pfc_blocks_fit_clear(&j.list[i].fit);
    free(j.list);
    free(j.adjusted);
    free(visits);
    return code;
}
