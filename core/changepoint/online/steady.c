/* Which points of a series need its history: see steady.h. */
#include "core/changepoint/online/steady.h"

#include <math.h>
#include <string.h>

#define MAGIC      0x31535350u /* "PSS1": the layout of the head */
#define HEAD       28          /* bytes before the state of online.h */
#define RESTLESS   2u          /* points after one that was due for what it showed */
#define SETTLED    32u /* a change that was settled so many points ago may still become an alert */
/* A result may be so old: in points and in time together, each by its share. */
#define OLD_POINTS 128.0
#define OLD_S      (4 * 86400.0)
#define RING_UNIT  1024.0

pfc_code pfc_steady_init(pfc_steady *s, uint64_t base, const pfc_detect_opts *opts, pfc_err *err)
{
    memset(s, 0, sizeof *s);
    s->base = base;
    s->due_at = -INFINITY;
    return pfc_online_init(&s->online, opts, err);
}

bool pfc_steady_fits(const pfc_steady *s, const pfc_detect_opts *opts)
{
    const pfc_detect_opts *own = &s->online.opts;
    return own->higher_is_better == opts->higher_is_better && own->exact == opts->exact &&
           own->min_rel == opts->min_rel && own->alpha == opts->alpha;
}

/* Sum of the newest `length` distances from the level, in sigma. */
static double newest_sum(const pfc_online *o, uint32_t length)
{
    const uint32_t last = o->places - 1;
    const uint32_t now = (uint32_t)o->ring[last % PFC_ONLINE_RING];
    const uint32_t then = (uint32_t)o->ring[(last - length) % PFC_ONLINE_RING];
    return (double)(int32_t)(now - then) / RING_UNIT;
}

static bool is_off_level(const pfc_online *o)
{
    static const uint32_t lengths[] = { 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 63 };
    if (o->exact || !(o->level.unit > 0.0) || o->age == 0)
        return false;
    if (fabs(newest_sum(o, 1)) > PFC_STEADY_OFF)
        return true;
    for (size_t k = 0; k < PFC_ARRAY_LEN(lengths) && lengths[k] <= o->age; k++) {
        const double error = sqrt((double)lengths[k] * o->level.inflate);
        if (fabs(newest_sum(o, lengths[k])) > PFC_STEADY_SUM * error)
            return true;
    }
    return false;
}

static bool settled_lately(const pfc_online *o)
{
    return o->pins_len > 0 && o->seen - o->pins[o->pins_len - 1].index < SETTLED;
}

/* Is the newest point, which has been taken, due for what it or the state shows? */
static bool stirs(const pfc_steady *s)
{
    const pfc_online *o = &s->online;
    const uint64_t n = s->base + o->seen;
    const bool level_known = o->exact || o->level.unit > 0.0;
    return n <= PFC_STEADY_FIRST || n % PFC_STEADY_STRIDE == 0 || !level_known || o->open_len > 0 ||
           settled_lately(o) || is_off_level(o);
}

static bool is_due(pfc_steady *s, double t, bool stirred)
{
    const double age =
        (double)(s->online.seen - s->due_seen) / OLD_POINTS + fabs(t - s->due_at) / OLD_S;
    const bool due = stirred || s->restless > 0 || !(age < 1.0);
    if (stirred)
        s->restless = RESTLESS;
    else if (s->restless > 0)
        s->restless--;
    if (due) {
        s->due_at = t;
        s->due_seen = s->online.seen;
    }
    return due;
}

bool pfc_steady_append(pfc_steady *s, const pfc_point *points, pfc_segment_space *space,
                       pfc_confirmed_changes *out)
{
    const pfc_point *point = &points[s->online.seen];
    const bool looked = !pfc_online_pass(&s->online, point);
    out->len = 0;
    if (looked)
        (void)pfc_online_append(&s->online, points, space, out);
    return is_due(s, point->t, looked || stirs(s));
}

bool pfc_steady_pass(pfc_steady *s, const pfc_point *point)
{
    pfc_steady next = *s;
    if (!pfc_online_pass(&next.online, point) || is_due(&next, point->t, stirs(&next)))
        return false;
    *s = next;
    return true;
}

/* ---- as bytes, little-endian ---- */

static void put(uint8_t *out, uint64_t x, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(x >> (8 * i));
}

static uint64_t get(const uint8_t *in, size_t bytes)
{
    uint64_t x = 0;
    for (size_t i = 0; i < bytes; i++)
        x |= (uint64_t)in[i] << (8 * i);
    return x;
}

size_t pfc_steady_save(const pfc_steady *s, uint8_t out[PFC_STEADY_BYTES])
{
    uint64_t due_at;
    memcpy(&due_at, &s->due_at, sizeof due_at);
    put(out, MAGIC, 4);
    put(out + 4, s->base, 8);
    put(out + 12, due_at, 8);
    put(out + 20, s->restless, 4);
    put(out + 24, s->due_seen, 4);
    return HEAD + pfc_online_save(&s->online, out + HEAD);
}

pfc_code pfc_steady_load(pfc_steady *s, const uint8_t *bytes, size_t len, pfc_err *err)
{
    pfc_steady got = { 0 };
    uint64_t due_at;
    pfc_code code;
    if (len < HEAD || get(bytes, 4) != MAGIC)
        return pfc_err_set(
            err, PFC_EINVAL,
            "state of a series: expected one saved by this version, got %zu other bytes", len);
    code = pfc_online_load(&got.online, bytes + HEAD, len - HEAD, err);
    if (code)
        return code;
    got.base = get(bytes + 4, 8);
    due_at = get(bytes + 12, 8);
    got.restless = (uint32_t)get(bytes + 20, 4);
    got.due_seen = (uint32_t)get(bytes + 24, 4);
    memcpy(&got.due_at, &due_at, sizeof due_at);
    if (got.restless > RESTLESS || got.due_seen > got.online.seen || isnan(got.due_at))
        return pfc_err_set(err, PFC_EINVAL,
                           "state of a series: expected a time, at most %u restless points, and a "
                           "newest due point among the %u that were taken",
                           RESTLESS, got.online.seen);
    *s = got;
    return PFC_OK;
}
