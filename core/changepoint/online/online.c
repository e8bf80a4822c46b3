/* Replays a series: decides when a pass is due, and which changes a pass confirms. */
#include "core/changepoint/online/online.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* When a pass is due. */
#define FIRST_LOOK   12
#define KEEP         256 /* least number of points of a pass, if the series has as many */
/* most points of a pass; with more, the pass begins later in the series */
#define STRETCH_MOST 1024
#define FIND_POINTS  3   /* number of newest points that are tested for a find */
#define FIND         5.0 /* distance from the level, in standard errors, that counts as a find */
#define REST         4u  /* points without a further pass after a find */
#define CLIP         4.0 /* bound on the distance of one point, in sigma */
#define RING_UNIT    1024.0
#define LIGHT_SLACK  1.1
#define NEW_SHARE                                                                                  \
    3 /* of the points of a look may be new to noise that is taken over, one in so many */

/* Conditions that confirm a change. Levels of waves and machine states resemble steps until enough
 * of them were seen: a change must be alone in a quiet history, on plain levels, with a narrow
 * location set, and found by several passes. Tuned by replaying the development corpus. */
#define LASTED       6 /* points before which no change is confirmed */
#define LASTED_MOST  200
#define SURE_LONG    6.5
#define AGAIN        3 /* points between the looks that found it */
#define SET_MOST     6
#define ALONE        60 /* points to the next change that is not settled */
#define SAME_PLACE   1
#define INFLATE_MOST 1.5
#define EXACT_LASTED 5

pfc_code pfc_detect_check(const pfc_detect_opts *opts, pfc_err *err)
{
    if (!(opts->min_rel >= 0.0 && isfinite(opts->min_rel)))
        return pfc_err_set_field(err, PFC_EINVAL, "min_rel", "min_rel: expected at least 0, got %g",
                                 opts->min_rel);
    if (!(opts->alpha >= 0.0 && opts->alpha < 1.0))
        return pfc_err_set_field(err, PFC_EINVAL, "alpha", "alpha: expected 0..1, got %g",
                                 opts->alpha);
    return PFC_OK;
}

pfc_code pfc_online_init(pfc_online *o, const pfc_detect_opts *opts, pfc_err *err)
{
    static const pfc_detect_opts defaults = { 0 };
    pfc_code code = pfc_detect_check(opts ? opts : &defaults, err);
    if (code)
        return code;
    memset(o, 0, sizeof *o);
    o->opts = opts ? *opts : defaults;
    o->due = FIRST_LOOK;
    return PFC_OK;
}

/* ---- between looks ---- */

/* Distance of a point, number i of the series, from the newest level in sigma, bounded. Without a
 * space its logarithm is not remembered. */
static double distance(const pfc_online *o, const pfc_point *point, size_t i,
                       pfc_segment_space *space)
{
    const pfc_level *level = &o->level;
    double v = point->v;
    double y;
    if (level->summary >= 0)
        v = pfc_summary_of(point, level->summary, o->opts.higher_is_better);
    if (!level->logged)
        y = v / level->most;
    else if (v > 0.0)
        y = space ? pfc_segment_space_log(space, i, v) : log(v);
    else
        return -CLIP;
    if (level->period > 0.0)
        y -= pfc_wave_at(level, o->phase);
    double r = (y - level->at) / level->unit;
    if (level->gap > 0.0 && fabs(r - level->gap / level->unit) < fabs(r))
        r -= level->gap / level->unit;
    return PFC_MAX(-CLIP, PFC_MIN(CLIP, r));
}

static void push(pfc_online *o, double r)
{
    uint32_t last = (uint32_t)o->ring[(o->places + PFC_ONLINE_RING - 1) % PFC_ONLINE_RING];
    o->ring[o->places % PFC_ONLINE_RING] = (int32_t)(last + (uint32_t)lrint(r * RING_UNIT));
    o->places++;
    o->phase++;
    o->age = PFC_MIN(o->age + 1, (uint32_t)PFC_ONLINE_RING - 1);
}

/* Tests whether the newest points lie off the level, by their sums over some lengths. */
static bool finds(const pfc_online *o)
{
    static const uint32_t lengths[] = { 3, 4, 6, 8, 12, 16, 24, 32, 48, 63 };
    uint32_t last = o->places - 1;
    uint32_t now = (uint32_t)o->ring[last % PFC_ONLINE_RING];
    double limit = FIND * FIND * RING_UNIT * RING_UNIT * o->level.inflate;
    for (size_t k = 0; k < PFC_ARRAY_LEN(lengths) && lengths[k] <= o->age; k++) {
        uint32_t then = (uint32_t)o->ring[(last - lengths[k]) % PFC_ONLINE_RING];
        double sum = (double)(int32_t)(now - then);
        if (sum * sum > limit * (double)lengths[k])
            return true;
    }
    return false;
}

/* ---- a look ---- */

static pfc_confirmed_starts fixed_of(const pfc_online *o, uint32_t at[PFC_ONLINE_PINS])
{
    pfc_confirmed_starts fixed = { .at = at };
    for (size_t k = 0; k < o->pins_len; k++) {
        if (!o->pins[k].shares && o->pins[k].index > o->from)
            at[fixed.len++] = o->pins[k].index;
    }
    return fixed;
}

/* The shorter the calm before, the longer a change must have lasted and the clearer it must be. */
static const struct trust {
    size_t calm, lasted; /* points of the levels before and after */
    double sure;         /* standard errors */
    double high;         /* sigma of a point; only where spikes are rare */
} trusted[] = {
    { 60, 7, 8.0, 0.0 }, { 30, 16, 8.0, 0.0 }, { 10, 40, 12.0, 0.0 }, { 10, LASTED, 12.0, 14.0 }
};

static uint32_t found_since(const pfc_online *o, size_t index)
{
    for (size_t k = 0; k < o->open_len; k++) {
        size_t at = o->open[k].index;
        if (at + SAME_PLACE >= index && index + SAME_PLACE >= at)
            return o->open[k].since;
    }
    return o->seen;
}

static bool stands_alone(const pfc_detect_pass *look, size_t k)
{
    size_t at = look->seen[k].change.index;
    for (size_t i = 0; i < look->len; i++) {
        size_t other = look->seen[i].change.index;
        if (i != k && !look->seen[i].fixed && other + ALONE > at && at + ALONE > other)
            return false;
    }
    return true;
}

static bool is_settled(const pfc_online *o, const pfc_detect_pass *look, size_t k)
{
    const pfc_found_change *s = &look->seen[k];
    if (s->fixed)
        return false;
    if (look->exact)
        return s->after >= (o->opts.exact ? 3 : EXACT_LASTED);
    if (found_since(o, s->change.index) + AGAIN > o->seen || !stands_alone(look, k))
        return false;
    bool narrow = s->change.index_high - s->change.index_low <= SET_MOST;
    /* The noise that a light pass takes over is approximate: prefer one full pass too many. */
    bool calm = look->light || look->level.inflate <= INFLATE_MOST;
    double z = look->light ? LIGHT_SLACK * s->z * sqrt(look->level.inflate) : s->z;
    if (look->level.degree == 0 && narrow) {
        for (size_t i = 0; i < PFC_ARRAY_LEN(trusted); i++) {
            const struct trust *t = &trusted[i];
            bool high = t->high > 0.0 && s->jump >= t->high && look->level.freedom > 2.0;
            if (s->before >= t->calm && s->after >= t->lasted && z >= t->sure &&
                (t->high > 0.0 ? high : calm))
                return true;
        }
    }
    return s->before >= LASTED_MOST / 2 && s->after >= LASTED_MOST && z >= SURE_LONG;
}

/* Only what plain levels would settle is worth asking whether a trend, a wave or machine states
 * explain it better. */
static bool settles_any(const pfc_detect_pass *look, const void *user)
{
    const pfc_online *o = user;
    for (size_t k = 0; k < look->len; k++) {
        if (is_settled(o, look, k))
            return true;
    }
    return false;
}

/* A change of the states' shares that is settled keeps its place: a look that finds it again, there
 * or nearby, has nothing to add. */
static void drop_settled_shares(const pfc_online *o, pfc_detect_pass *look)
{
    bool settled = false;
    size_t kept = 0;
    for (size_t k = 0; k < o->pins_len; k++)
        settled = settled || o->pins[k].shares;
    for (size_t k = 0; k < look->len; k++) {
        if (!settled || !look->seen[k].shares)
            look->seen[kept++] = look->seen[k];
    }
    look->len = kept;
}

/* Much the same points have much the same noise: until a third of them are new, and while no wave,
 * trend or machine state is part of it, a look may take it over. */
static bool noise_known(const pfc_online *o)
{
    const pfc_level *level = &o->level;
    return o->noised > 0 && !o->exact && level->unit > 0.0 && !(level->gap > 0.0) &&
           !(level->period > 0.0) && level->degree == 0 &&
           NEW_SHARE * (o->seen - o->noised) <= o->seen - o->from;
}

static uint32_t newest_pin(const pfc_online *o)
{
    for (size_t k = o->pins_len; k-- > 0;) {
        if (!o->pins[k].shares && o->pins[k].index > o->from)
            return o->pins[k].index;
    }
    return o->from;
}

static pfc_detect_pass look_now(const pfc_online *o, const pfc_point *points, bool sparing,
                                pfc_segment_space *space)
{
    uint32_t at[PFC_ONLINE_PINS];
    pfc_stretch stretch = { .from = o->from,
                            .to = o->seen,
                            .places = o->places,
                            .worth = sparing ? settles_any : NULL,
                            .user = o };
    pfc_detect_pass look;
    if (sparing && noise_known(o)) {
        /* Points before a confirmed change do not affect the points after it. */
        stretch.from = newest_pin(o);
        stretch.more = stretch.from - o->from;
        stretch.known = &o->level;
        pfc_detect_pass_run(&look, points, &stretch, &o->opts, space);
        if (!look.wanted)
            return look;
        pfc_detect_pass_clear(&look);
        stretch.from = o->from;
        stretch.more = 0;
        stretch.known = NULL;
    }
    stretch.fixed = fixed_of(o, at);
    pfc_detect_pass_run(&look, points, &stretch, &o->opts, space);
    drop_settled_shares(o, &look);
    return look;
}

static void add_pin(pfc_online *o, const pfc_found_change *s)
{
    if (o->pins_len == PFC_ONLINE_PINS) {
        o->pins_len--;
        memmove(o->pins, o->pins + 1, o->pins_len * sizeof *o->pins);
        o->from = PFC_MAX(o->from, o->pins[0].index);
    }
    size_t k = o->pins_len++;
    for (; k > 0 && o->pins[k - 1].index > s->change.index; k--)
        o->pins[k] = o->pins[k - 1];
    o->pins[k] = (pfc_pin){ .index = (uint32_t)s->change.index,
                            .low = (uint32_t)s->change.index_low,
                            .high = (uint32_t)s->change.index_high,
                            .shares = s->shares };
}

static void keep_open(pfc_online *o, const pfc_detect_pass *look)
{
    pfc_open open[PFC_ONLINE_OPEN];
    uint32_t len = 0;
    for (size_t k = look->len; k-- > 0 && len < PFC_ONLINE_OPEN;) {
        size_t index = look->seen[k].change.index;
        if (!look->seen[k].fixed)
            open[len++] = (pfc_open){ .index = (uint32_t)index, .since = found_since(o, index) };
    }
    memcpy(o->open, open, len * sizeof *open);
    o->open_len = len;
}

/* Further looks need not begin where settled levels or a long calm have made the start of the
 * series worthless for the newest level. */
static void move_start(pfc_online *o)
{
    uint32_t from = o->from;
    for (size_t k = 0; k < o->pins_len; k++) {
        if (!o->pins[k].shares && o->pins[k].index + KEEP <= o->seen)
            from = PFC_MAX(from, o->pins[k].index);
    }
    if (o->seen - from > STRETCH_MOST)
        from = o->seen - STRETCH_MOST / 2;
    if (from == o->from)
        return;
    o->from = from;
    size_t kept = 0;
    for (size_t k = 0; k < o->pins_len; k++) {
        if (o->pins[k].index > from)
            o->pins[kept++] = o->pins[k];
    }
    o->pins_len = (uint32_t)kept;
}

static void refill(pfc_online *o, const pfc_point *points, const pfc_detect_pass *look,
                   pfc_segment_space *space)
{
    uint32_t back = 0;
    uint32_t i = o->seen;
    size_t start = look->len ? look->seen[look->len - 1].change.index : look->from;
    o->level = look->level;
    o->exact = look->exact;
    if (!look->light) {
        o->phase = (uint32_t)look->points;
        o->noised = o->seen;
    }
    o->age = 0;
    if (look->exact || !(o->level.unit > 0.0))
        return;
    while (i > start && back + 1 < PFC_ONLINE_RING) {
        i--;
        back += isfinite(points[i].v) != 0;
    }
    o->phase -= back;
    o->places -= back;
    o->ring[(o->places + PFC_ONLINE_RING - 1) % PFC_ONLINE_RING] = 0;
    for (; i < o->seen; i++) {
        if (isfinite(points[i].v))
            push(o, distance(o, &points[i], i, space));
    }
}

/* How many points until a change may be clear enough: its distance in standard errors grows with
 * the square root of its points. At least as many more as it has, when it is old. */
static uint32_t points_to_settle(const pfc_found_change *s)
{
    double more = (double)s->after * (trusted[0].sure / s->z * (trusted[0].sure / s->z) - 1.0);
    double least = (double)(s->after < LASTED       ? PFC_MAX((size_t)AGAIN, LASTED - s->after)
                            : s->after < 2 * LASTED ? AGAIN
                                                    : s->after);
    more = PFC_MAX(more, least);
    return (uint32_t)PFC_MIN(more, (double)STRETCH_MOST);
}

static void schedule(pfc_online *o, const pfc_detect_pass *look, bool found)
{
    uint32_t len = o->seen - o->from;
    uint32_t wait = PFC_MAX(8u, o->open_len > 0 ? len / 4 : len);
    o->due = o->seen + PFC_MIN(wait, (uint32_t)STRETCH_MOST / 2);
    for (size_t k = 0; k < look->len; k++) {
        const pfc_found_change *s = &look->seen[k];
        if (!s->fixed)
            o->due = PFC_MIN(o->due, o->seen + points_to_settle(s));
    }
    o->fruitless = found && o->open_len == 0 ? o->fruitless + 1 : 0;
    o->rest = o->seen + (found ? REST << PFC_MIN(o->fruitless, 8u) : 0);
}

static bool settle(pfc_online *o, const pfc_detect_pass *look, pfc_confirmed_changes *out)
{
    pfc_confirmed_changes local;
    if (!out)
        out = &local;
    out->len = 0;
    for (size_t k = 0; k < look->len && out->len < PFC_ONLINE_MAX_CONFIRMED; k++) {
        if (!is_settled(o, look, k))
            continue;
        look->seen[k].fixed = true;
        add_pin(o, &look->seen[k]);
        out->changes[out->len] = look->seen[k].change;
        out->changes[out->len++].confirmed = true;
    }
    return out->len > 0;
}

static bool look_and_settle(pfc_online *o, const pfc_point *points, bool found,
                            pfc_segment_space *space, pfc_confirmed_changes *out)
{
    bool settled = false;
    move_start(o);
    pfc_detect_pass look = look_now(o, points, true, space);
    if (look.whole)
        settled = settle(o, &look, out);
    keep_open(o, &look);
    refill(o, points, &look, space);
    schedule(o, &look, found);
    pfc_detect_pass_clear(&look);
    return settled;
}

/* Takes a point; true when a look is due at it. *found: because the point lies off the level. */
static bool take(pfc_online *o, const pfc_point *point, pfc_segment_space *space, bool *found)
{
    *found = false;
    o->seen++;
    if (!isfinite(point->v))
        return false;
    if (o->exact || !(o->level.unit > 0.0)) {
        o->places++;
        *found = o->exact && point->v != o->level.at;
    } else {
        push(o, distance(o, point, o->seen - 1, space));
        *found = o->seen >= o->rest && finds(o);
    }
    return o->seen >= o->due || *found;
}

bool pfc_online_append(pfc_online *o, const pfc_point *points, pfc_segment_space *space,
                       pfc_confirmed_changes *out)
{
    bool found;
    return take(o, &points[o->seen], space, &found) &&
           look_and_settle(o, points, found, space, out);
}

bool pfc_online_pass(pfc_online *o, const pfc_point *point)
{
    const uint32_t seen = o->seen, places = o->places, phase = o->phase, age = o->age;
    const int32_t sum = o->ring[places % PFC_ONLINE_RING];
    bool found;
    if (!take(o, point, NULL, &found))
        return true;
    o->seen = seen;
    o->places = places;
    o->phase = phase;
    o->age = age;
    o->ring[places % PFC_ONLINE_RING] = sum;
    return false;
}

void pfc_online_answer(const pfc_online *o, const pfc_point *points, pfc_segment_space *space,
                       pfc_detection *out)
{
    pfc_detect_pass look = look_now(o, points, false, space);
    memset(out, 0, sizeof *out);
    out->changes = pfc_calloc(look.len + 1, sizeof *out->changes);
    out->noise_rel = look.noise_rel;
    out->watching = look.watching;
    for (size_t k = 0; k < look.len; k++) {
        pfc_change *c = &out->changes[out->changes_len++];
        *c = look.seen[k].change;
        c->confirmed = look.seen[k].fixed;
        for (size_t i = 0; i < o->pins_len && c->confirmed; i++) {
            if (o->pins[i].index == c->index) {
                c->index_low = o->pins[i].low;
                c->index_high = o->pins[i].high;
            }
        }
    }
    pfc_detect_pass_clear(&look);
}
