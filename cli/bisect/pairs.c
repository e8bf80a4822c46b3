/*
 * Measuring by difference. A machine that is slow for seconds at a time makes single runs useless: most
 * of what they say is which state it was in. In turns with the good end's build, kept as it was first
 * built, a commit is measured against what the machine is like right then (core/bisect/pairing.h);
 * what the plan hears is the ratio of the two, and the good end against itself besides, which costs
 * nothing. Single runs made before are kept, and the plan forgets them.
 *
 * Runs of one unit carry its number, so that a search that is resumed goes on in the midst of a unit.
 * The reference of a unit is commit 0, but for pairs that a confirmation made: they compare a commit
 * with the one before, and say how far it lies from what is known of that one.
 */
#include <math.h>
#include <stdlib.h>

#include "cli/bisect/search.h"

enum { LOOK_BACK = 256 }; /* runs that tell what the machine is like now */

/* ---- when ---- */

bool pfc_hunt_pairs_may(const pfc_hunt *h)
{
    const pfc_hunt_step *first = pfc_hunt_first(h);

    return !h->state.paired && h->opts->paired == 0 && !h->opts->no_checkout && first &&
           !first->exact;
}

/* The change that is looked for: what was said, else what the ends show. */
static double step_of(const pfc_hunt *h)
{
    pfc_hunt_side good;
    pfc_hunt_side bad;

    if (h->opts->delta != 0)
        return log1p(h->opts->delta);
    pfc_hunt_side_of(h, 0, &good);
    pfc_hunt_side_of(h, h->commits.len - 1, &bad);
    return good.runs && bad.runs ? log(bad.median / good.median) : 0;
}

static pfc_noise_look look_at(const pfc_hunt *h)
{
    pfc_noise_run *runs = pfc_calloc(LOOK_BACK, sizeof *runs);
    pfc_noise_look look;
    size_t len = 0;

    for (size_t i = h->state.len > LOOK_BACK ? h->state.len - LOOK_BACK : 0; i < h->state.len;
         i++) {
        const pfc_hunt_step *s = &h->state.steps[i];

        /* One group a build; a layout is another build. */
        if (s->kind == PFC_OUTCOME_MEASURED)
            runs[len++] = (pfc_noise_run){ s->commit + h->commits.len * s->build, s->value };
    }
    look = pfc_noise_look_at(runs, len, step_of(h));
    free(runs);
    return look;
}

static pfc_code turn(pfc_hunt *h, pfc_err *err)
{
    pfc_code code;

    pfc_hunt_view_wipe(h);
    pfc_cli_note(
        h->cli,
        "from here on commits are measured interleaved with the good commit's build (--no-paired: "
        "single runs only)");
    h->state.paired = true;
    code = pfc_hunt_state_save(&h->state, err);
    return code ? code : pfc_hunt_replan(h, err);
}

pfc_code pfc_hunt_pairs_turn(pfc_hunt *h, bool *turned, pfc_err *err)
{
    const pfc_noise_look look = pfc_hunt_pairs_may(h) ? look_at(h) : (pfc_noise_look){ 0 };

    *turned = look.states;
    if (!look.states)
        return PFC_OK;
    pfc_hunt_view_wipe(h);
    pfc_cli_note(
        h->cli,
        "this machine changes its speed: %zu of %zu runs of equal builds are far from the others "
        "(by %.2g %% at most, correlation %.2f)",
        look.far, look.runs, 100 * look.farthest, look.correlation);
    return turn(h, err);
}

pfc_code pfc_hunt_pairs_doubt(pfc_hunt *h, bool *turned, pfc_err *err)
{
    pfc_bisect_report report = { 0 };
    bool names;

    *turned = false;
    if (!pfc_hunt_pairs_may(h))
        return PFC_OK;
    pfc_bisect_report_get(h->plan, &report);
    names = report.verdict == PFC_BISECT_FOUND || report.verdict == PFC_BISECT_RANGE;
    pfc_bisect_report_clear(&report);
    *turned = names || look_at(h).far > 0;
    if (!*turned)
        return PFC_OK;
    pfc_hunt_view_wipe(h);
    pfc_cli_note(h->cli, names ? "the new pairs do not show the change that single runs showed"
                               : "single runs show nothing, and some were far from the others");
    if (names)
        pfc_hunt_pairs_take_over(h);
    for (size_t i = 0; i < h->state.len; i++)
        h->state.steps[i].confirm = false;
    return turn(h, err);
}

/* ---- a unit ---- */

static const pfc_hunt_step *last_of_units(const pfc_hunt *h)
{
    for (size_t i = h->state.len; i > 0; i--)
        if (h->state.steps[i - 1].unit)
            return &h->state.steps[i - 1];
    return NULL;
}

bool pfc_hunt_pairs_open(const pfc_hunt *h)
{
    return h->state.paired && h->pairing.runs > 0;
}

void pfc_hunt_pairs_ask(const pfc_hunt *h, const pfc_bisect_step *next, pfc_hunt_step *step)
{
    const pfc_hunt_step *last = last_of_units(h);
    const pfc_hunt_step *subject = pfc_hunt_pairs_open(h) ? &h->subject : NULL;

    *step = (pfc_hunt_step){ .commit = subject ? subject->commit : next->commit,
                             .build = subject ? subject->build : next->build,
                             .unit = subject ? subject->unit : (last ? last->unit : 0) + 1 };
    if (pfc_pairing_reference_next(&h->pairing)) {
        step->reference = true;
        step->commit = 0;
        step->build = 0;
    }
}

static pfc_code tell(pfc_hunt *h, size_t commit, unsigned build, double ratio, pfc_err *err)
{
    h->told = pfc_grow(h->told, h->told_len, &h->told_cap, sizeof *h->told);
    h->told[h->told_len++] = (pfc_hunt_told){ commit, ratio };
    return pfc_bisect_add_run(h->plan, commit, build, ratio, err);
}

/* How a commit compares with the good end, as far as its units say; 0: they do not. */
static double level_of(const pfc_hunt *h, size_t commit)
{
    double *ones;
    double *ratios;
    const size_t len = pfc_hunt_pairs_of(h, commit, &ones, &ratios);
    const double level = commit == 0 ? 1 : len ? pfc_stats_median(ratios, len) : 0;

    free(ones);
    free(ratios);
    return level;
}

/* A run of a pair that a confirmation made. */
static pfc_code tell_link(pfc_hunt *h, const pfc_hunt_step *s, pfc_err *err)
{
    const pfc_hunt_step first = h->link;
    const pfc_hunt_step *before = s->reference ? s : &first;
    const pfc_hunt_step *after = s->reference ? &first : s;
    double level;

    if (first.unit != s->unit) {
        h->link = *s;
        return PFC_OK;
    }
    h->link = (pfc_hunt_step){ 0 };
    level = level_of(h, before->commit);
    if (!(level > 0))
        return PFC_OK;
    return tell(h, after->commit, after->build, level * after->value / before->value, err);
}

pfc_code pfc_hunt_pairs_tell(pfc_hunt *h, const pfc_hunt_step *s, pfc_err *err)
{
    pfc_pairing_unit got;
    pfc_code code;

    if (!s->unit)
        return PFC_OK; /* a single run from before */
    if (s->link)
        return tell_link(h, s, err);
    if (h->pairing.runs == 0)
        h->subject = *s; /* a unit begins with its own commit */
    if (!pfc_pairing_tell(&h->pairing, s->value, &got))
        return PFC_OK;
    code = tell(h, h->subject.commit, h->subject.build, got.ratio, err);
    if (!code && got.has_still)
        code = pfc_bisect_add_run(h->plan, 0, 0, got.still, err);
    return code;
}

void pfc_hunt_pairs_reset(pfc_hunt *h)
{
    pfc_pairing_clear(&h->pairing);
    h->link = (pfc_hunt_step){ 0 };
    h->told_len = 0;
}

void pfc_hunt_pairs_take_over(pfc_hunt *h)
{
    const pfc_hunt_step *last = last_of_units(h);
    unsigned unit = last ? last->unit : 0;
    pfc_hunt_step *half = NULL;

    for (size_t i = 0; i < h->state.len; i++) {
        pfc_hunt_step *s = &h->state.steps[i];

        if (!s->confirm || s->kind != PFC_OUTCOME_MEASURED)
            continue;
        if (half && half->commit != s->commit) {
            half->unit = s->unit = ++unit;
            half->link = s->link = true;
            (half->commit < s->commit ? half : s)->reference = true;
            half = NULL;
        } else {
            half = s;
        }
    }
}

/* ---- what they say ---- */

size_t pfc_hunt_pairs_of(const pfc_hunt *h, size_t commit, double **ones, double **ratios)
{
    size_t len = 0;

    *ones = pfc_calloc(h->told_len + 1, sizeof(double));
    *ratios = pfc_calloc(h->told_len + 1, sizeof(double));
    for (size_t i = 0; i < h->told_len; i++) {
        if (h->told[i].commit != commit)
            continue;
        (*ones)[len] = 1;
        (*ratios)[len++] = h->told[i].ratio;
    }
    return len;
}

double pfc_hunt_pairs_cost(const pfc_hunt *h)
{
    /* A unit is two pairs. The good end's share of what the plan asks, about half of it, comes with
     * the other units. */
    return h->state.paired ? PFC_PAIRING_PAIRS : 1;
}
