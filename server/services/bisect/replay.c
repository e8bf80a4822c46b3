/*
 * Replays a bisection: the posterior after each of its steps, from the stored results and options
 * by the planner of core/bisect.
 */
#include <math.h>
#include <stdlib.h>

#include "server/services/bisect/bisect.h"
#include "server/services/bisect/remote.h"
#include "server/services/service.h"

void pfc_bisection_replay_clear(pfc_bisection_replay *r)
{
    for (size_t i = 0; i < r->steps_len; i++)
        free(r->steps[i].posterior);
    free(r->steps);
    pfc_texts_clear(&r->line);
    pfc_rows_clear(&r->rows);
    *r = (pfc_bisection_replay){ 0 };
}

/* The posterior of the places: sums over their commits. */
static double *sum_places(const pfc_bisect_plan *plan, const pfc_bisection_replay *r)
{
    double *each = pfc_calloc(r->line.len, sizeof(*each));
    double *out = pfc_calloc(r->places, sizeof(*out));

    pfc_bisect_posterior(plan, each);
    for (size_t i = 0; i < r->line.len; i++)
        out[i / r->commits_per_place] += each[i];
    free(each);
    return out;
}

static size_t count_ended(const remote *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->steps_len; i++)
        n += r->steps[i].state != PFC_BISECT_PENDING;
    return n;
}

static pfc_code replay_steps(const remote *r, pfc_bisection_replay *out, pfc_err *err)
{
    const size_t ended = count_ended(r);
    const size_t every = 1 + ended * out->line.len / PFC_BISECTION_REPLAY_WORK;
    pfc_bisect_plan *plan = NULL;
    pfc_code code = remote_plan_new(r, &plan, err);

    out->steps = pfc_calloc(ended + 1, sizeof(*out->steps));
    for (size_t i = 0; !code && i < r->steps_len; i++) {
        const remote_step *s = &r->steps[i];
        pfc_bisection_replayed *step = &out->steps[out->steps_len];

        if (s->state == PFC_BISECT_PENDING)
            continue;
        code = remote_plan_add(plan, s, err);
        if (code)
            break;
        *step = (pfc_bisection_replayed){ .n = s->n,
                                          .commit = out->line.items[s->place],
                                          .state = remote_state_name(s->state),
                                          .place = s->place / out->commits_per_place,
                                          .value = s->state == PFC_BISECT_MEASURED ? s->value
                                                                                   : (double)NAN };
        out->steps_len++;
        if (out->steps_len % every == 0 || out->steps_len == ended)
            step->posterior = sum_places(plan, out);
    }
    pfc_bisect_free(plan);
    return code;
}

pfc_code pfc_bisection_replay_get(pfc_db *db, int64_t project_id, int64_t id,
                                  pfc_bisection_replay *out, pfc_err *err)
{
    pfc_bisection_replay replay = { 0 };
    remote r = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = remote_load(tx, project_id, id, &r, err);
    pfc_tx_free(tx);
    if (!code) {
        replay.commits_per_place =
            (r.len + PFC_BISECTION_REPLAY_PLACES - 1) / PFC_BISECTION_REPLAY_PLACES;
        replay.places = (r.len + replay.commits_per_place - 1) / replay.commits_per_place;
        replay.line = r.line;
        r.line = (pfc_texts){ 0 };
        code = replay_steps(&r, &replay, err);
    }
    if (code)
        pfc_bisection_replay_clear(&replay);
    else
        *out = replay;
    remote_clear(&r);
    return code;
}
