/* The replay's state as bytes: little-endian, so that a state saved on one machine continues on
 * another. */
#include <math.h>
#include <string.h>

#include "core/changepoint/online/online.h"

#define MAGIC     0x32544350u /* "PCT2": the layout below */
#define SUMMARIES 5

/* Visits the fields in order, for writing and for reading, so that both use the same layout. */
typedef struct walk {
    uint8_t *out;      /* writes here, or */
    const uint8_t *in; /* reads here */
    size_t at, len;
    bool short_of;
} walk;

static void number(walk *w, uint64_t *x, size_t bytes)
{
    if (w->at + bytes > w->len) {
        w->short_of = true;
        return;
    }
    uint64_t read = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (w->out)
            w->out[w->at + i] = (uint8_t)(*x >> (8 * i));
        else
            read |= (uint64_t)w->in[w->at + i] << (8 * i);
    }
    if (!w->out)
        *x = read;
    w->at += bytes;
}

static void u32(walk *w, uint32_t *x)
{
    uint64_t v = *x;
    number(w, &v, 4);
    *x = (uint32_t)v;
}

static void i32(walk *w, int32_t *x)
{
    uint32_t v = (uint32_t)*x;
    u32(w, &v);
    *x = (int32_t)v;
}

static void yes(walk *w, bool *x)
{
    uint64_t v = *x;
    number(w, &v, 1);
    *x = v != 0;
}

static void f64(walk *w, double *x)
{
    uint64_t v;
    memcpy(&v, x, sizeof v);
    number(w, &v, 8);
    memcpy(x, &v, sizeof v);
}

static void walk_level(walk *w, pfc_level *level)
{
    f64(w, &level->at);
    f64(w, &level->unit);
    f64(w, &level->inflate);
    f64(w, &level->freedom);
    f64(w, &level->gap);
    f64(w, &level->period);
    for (size_t k = 0; k < PFC_ARRAY_LEN(level->wave); k++)
        f64(w, &level->wave[k]);
    f64(w, &level->most);
    i32(w, &level->summary);
    i32(w, &level->degree);
    yes(w, &level->logged);
}

static void walk_state(walk *w, pfc_online *o)
{
    uint32_t *const counts[] = { &o->seen, &o->places, &o->from,      &o->noised,
                                 &o->due,  &o->rest,   &o->fruitless, &o->phase,
                                 &o->age,  &o->exact,  &o->pins_len,  &o->open_len };
    yes(w, &o->opts.higher_is_better);
    yes(w, &o->opts.exact);
    f64(w, &o->opts.min_rel);
    f64(w, &o->opts.alpha);
    for (size_t k = 0; k < PFC_ARRAY_LEN(counts); k++)
        u32(w, counts[k]);
    walk_level(w, &o->level);
    for (size_t k = 0; k < PFC_MIN(o->pins_len, (uint32_t)PFC_ONLINE_PINS); k++) {
        u32(w, &o->pins[k].index);
        u32(w, &o->pins[k].low);
        u32(w, &o->pins[k].high);
        u32(w, &o->pins[k].shares);
    }
    for (size_t k = 0; k < PFC_MIN(o->open_len, (uint32_t)PFC_ONLINE_OPEN); k++) {
        u32(w, &o->open[k].index);
        u32(w, &o->open[k].since);
    }
    for (size_t k = 0; k < PFC_ONLINE_RING; k++)
        i32(w, &o->ring[k]);
}

size_t pfc_online_save(const pfc_online *online, uint8_t out[PFC_ONLINE_BYTES])
{
    pfc_online copy = *online;
    uint32_t magic = MAGIC;
    walk w = { .out = out, .len = PFC_ONLINE_BYTES };
    u32(&w, &magic);
    walk_state(&w, &copy);
    return w.at;
}

/* True for a state that a replay can produce; any other would cause reads out of bounds later. */
static bool plausible(const pfc_online *o)
{
    const pfc_level *level = &o->level;
    const double reals[] = { level->at,      level->unit,    level->inflate, level->freedom,
                             level->gap,     level->period,  level->wave[0], level->wave[1],
                             level->wave[2], level->wave[3], level->most };
    bool good = o->seen <= PFC_SERIES_MAX_POINTS && o->places <= o->seen && o->from <= o->seen &&
                o->pins_len <= PFC_ONLINE_PINS && o->open_len <= PFC_ONLINE_OPEN &&
                o->age < PFC_ONLINE_RING && o->age <= o->places && level->summary >= -1 &&
                level->summary < SUMMARIES;
    for (size_t k = 0; k < PFC_ARRAY_LEN(reals); k++)
        good = good && isfinite(reals[k]);
    for (size_t k = 0; good && k < o->pins_len; k++) {
        const pfc_pin *p = &o->pins[k];
        good = p->index > 0 && p->index < o->seen && p->low <= p->index && p->index <= p->high &&
               p->high < o->seen && (k == 0 || o->pins[k - 1].index < p->index);
    }
    return good && pfc_detect_check(&o->opts, NULL) == PFC_OK;
}

pfc_code pfc_online_load(pfc_online *online, const uint8_t *bytes, size_t len, pfc_err *err)
{
    pfc_online got = { 0 };
    uint32_t magic = 0;
    walk w = { .in = bytes, .len = len };
    u32(&w, &magic);
    walk_state(&w, &got);
    if (magic != MAGIC || w.short_of || w.at != len || !plausible(&got))
        return pfc_err_set(
            err, PFC_EINVAL,
            "detector state: expected one saved by this version, got %zu other bytes", len);
    *online = got;
    return PFC_OK;
}
