/*
 * Verdicts of commits from the boundaries of a session's series: see report.h.
 */
#include "server/services/sessions/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/repo/sql/sessions.h"
#include "server/services/service.h"

/* ---- which commit a boundary belongs to ---- */

static size_t commit_at(const pfc_session_commit_rows *commits, int64_t commit_id)
{
    size_t i = 0;

    while (i < commits->len && commits->items[i].commit_id != commit_id)
        i++;
    return i;
}

/* The first of the adjacent commits that share its build; commits->len: it is not a new commit. */
static size_t owner_at(const pfc_session_commit_rows *commits, int64_t commit_id)
{
    size_t i = commit_at(commits, commit_id);

    while (i > 0 && i < commits->len && commits->items[i - 1].same_as_id == commit_id)
        i--;
    return i;
}

const char *pfc_session_owner(const pfc_session_commit_rows *commits,
                              const pfc_session_judgement *judgement, size_t build)
{
    const size_t i = owner_at(commits, judgement->builds[build].commit_id);

    return i < commits->len ? commits->items[i].commit : judgement->builds[build].commit;
}

/* ---- verdicts ---- */

/* The boundaries of one commit, counted by verdict. */
typedef struct tally {
    size_t boundaries, worse, better, open;
    double within; /* the largest end of an interval */
    size_t more;   /* rounds */
    const pfc_session_series *series;
    const pfc_session_boundary *worst;
} tally;

/* A decided change ranks above an undecided one, a regression above an improvement. */
static int rank_of(const pfc_session_boundary *b)
{
    if (b->verdict != PFC_VERDICT_DIFFERENT)
        return 0;
    return b->regression ? 2 : 1;
}

static void add_boundary(tally *t, const pfc_session_series *series, const pfc_session_boundary *b)
{
    const bool by_fit = b->verdict == PFC_VERDICT_INCONCLUSIVE && b->within;
    const double low = fabs(by_fit ? b->b->rel_low : b->b->any_low);
    const double high = fabs(by_fit ? b->b->rel_high : b->b->any_high);

    t->boundaries++;
    if (b->verdict == PFC_VERDICT_DIFFERENT)
        *(b->regression ? &t->worse : &t->better) += 1;
    if (b->verdict == PFC_VERDICT_INCONCLUSIVE && !b->within) {
        t->open++;
        t->more = PFC_MAX(t->more, PFC_MAX(b->b->more, (size_t)1));
    }
    if (!series->exact)
        t->within = fmax(t->within, fmax(low, high));
    if (!t->worst || rank_of(b) > rank_of(t->worst) ||
        (rank_of(b) == rank_of(t->worst) &&
         fabs(b->b->rel_change) > fabs(t->worst->b->rel_change))) {
        t->series = series;
        t->worst = b;
    }
}

/* Seconds of a round of two builds, from what all visits took; NAN: nothing was measured. */
static double round_s(const pfc_session_row *session, const pfc_session_judgement *j)
{
    size_t most = 0;

    for (size_t s = 0; s < j->series_len; s++) {
        size_t visits = 0;

        for (size_t b = 0; b < j->series[s].fit.levels_len; b++)
            visits += j->series[s].fit.levels[b].visits;
        most = PFC_MAX(most, visits);
    }
    return most ? 4 * session->spent_s / (double)most : (double)NAN;
}

static pfc_session_verdict verdict_of(const pfc_session_commit_row *c, const tally *t, double round)
{
    pfc_session_verdict v = {
        .within = (double)NAN, .needs_s = (double)NAN, .worst_series = t->series, .worst = t->worst
    };

    if (t->boundaries == 0 && strcmp(c->status, "measured") != 0)
        v.word = c->status;
    else if (t->worse)
        v.word = "slower";
    else if (t->better)
        v.word = "faster";
    else if (t->boundaries && !t->open && !(c->needs_s > 0)) {
        v.word = "same";
        v.within = t->within;
    } else {
        v.word = "undecided";
        v.needs_s = isfinite(c->needs_s)           ? c->needs_s
                    : t->more && t->more < 1000000 ? (double)t->more * round
                                                   : (double)NAN;
    }
    return v;
}

pfc_session_verdict *pfc_session_verdicts(const pfc_session_row *session,
                                          const pfc_session_commit_rows *commits,
                                          const pfc_session_judgement *j)
{
    pfc_session_verdict *out = pfc_calloc(commits->len + 1, sizeof(*out));
    tally *tallies = pfc_calloc(commits->len + 1, sizeof(*tallies));
    const double round = round_s(session, j);

    for (size_t s = 0; s < j->series_len; s++) {
        const pfc_session_series *series = &j->series[s];

        for (size_t k = 0; series->judged && k < series->boundaries_len; k++) {
            const pfc_session_boundary *b = &series->boundaries[k];
            const size_t i = owner_at(commits, j->builds[b->b->to].commit_id);

            if (i < commits->len)
                add_boundary(&tallies[i], series, b);
        }
    }
    for (size_t i = 0; i < commits->len; i++) {
        const pfc_session_commit_row *c = &commits->items[i];

        out[i] = verdict_of(c, &tallies[i], round);
        /* The first commit with this build shows its boundary. */
        if (strcmp(c->status, "measured") == 0 && owner_at(commits, c->commit_id) != i)
            out[i] = (pfc_session_verdict){ .word = "identical",
                                            .within = (double)NAN,
                                            .needs_s = (double)NAN };
    }
    free(tallies);
    return out;
}

bool pfc_session_worst_of(const pfc_session_verdict *v, pfc_session_worst *out)
{
    const pfc_session_series *s = v->worst_series;
    const pfc_boundary *b = v->worst ? v->worst->b : NULL;

    if (!b || !isfinite(b->rel_change) || !isfinite(b->rel_low) || !isfinite(b->rel_high))
        return false;
    *out = (pfc_session_worst){ .series_id = s->id,
                                .benchmark = s->benchmark,
                                .metric = s->metric,
                                .backend = s->backend,
                                .rel_change = b->rel_change,
                                .rel_low = b->rel_low,
                                .rel_high = b->rel_high,
                                .alert_id = v->worst->alert_id };
    return true;
}

/* ---- whole ---- */

pfc_code pfc_session_report_load(pfc_tx *tx, int64_t project_id, const char *id,
                                 pfc_session_report *out, pfc_err *err)
{
    pfc_err why = { 0 };
    pfc_code code;

    *out = (pfc_session_report){ .project_id = project_id };
    code = pfc_session_load(tx, project_id, id, &out->session, &out->commits, err);
    if (code)
        return code;
    code = pfc_session_judge(tx, project_id, id, &out->judgement, &why);
    if (code == PFC_ENOTFOUND) /* nothing could be measured: the commits say why */
        pfc_session_judgement_clear(&out->judgement);
    else if (code)
        return pfc_err_set(err, code, "%s", why.msg);
    out->verdicts = pfc_session_verdicts(&out->session.items[0], &out->commits, &out->judgement);
    return PFC_OK;
}

void pfc_session_report_clear(pfc_session_report *report)
{
    free(report->verdicts);
    pfc_session_judgement_clear(&report->judgement);
    pfc_rows_clear(&report->commits);
    pfc_rows_clear(&report->session);
    *report = (pfc_session_report){ 0 };
}

pfc_code pfc_session_verdicts_store(pfc_tx *tx, const pfc_session_report *report, pfc_err *err)
{
    const size_t n = report->commits.len;
    int64_t *ids = pfc_calloc(n + 1, sizeof(*ids));
    const char **words = pfc_calloc(n + 1, sizeof(*words));
    double *within = pfc_calloc(n + 1, sizeof(*within)), *needs = pfc_calloc(n + 1, sizeof(*needs));
    char **worst = pfc_calloc(n + 1, sizeof(*worst));
    pfc_code code;

    for (size_t i = 0; i < n; i++) {
        pfc_session_worst found;

        ids[i] = report->commits.items[i].commit_id;
        words[i] = report->verdicts[i].word;
        within[i] = report->verdicts[i].within;
        needs[i] = report->verdicts[i].needs_s;
        if (pfc_session_worst_of(&report->verdicts[i], &found))
            worst[i] = pfc_session_worst_text(&found);
    }
    code = pfc_sql_session_verdicts_set(
        tx,
        &(pfc_sql_session_verdicts_set_args){ .project_id = report->project_id,
                                              .session = report->session.items[0].id,
                                              .commit_ids = ids,
                                              .verdicts = words,
                                              .within = within,
                                              .open_s = needs,
                                              .worst = (const char *const *)worst,
                                              .len = n },
        err);
    for (size_t i = 0; i < n; i++)
        free(worst[i]);
    free(worst);
    free(needs);
    free(within);
    free(words);
    free(ids);
    return code;
}
