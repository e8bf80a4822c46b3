/* Limits of a saved state of the detector: each met exactly, and one beyond. */
#include <math.h>
#include <string.h>

#include "core/changepoint/online/online.h"

#include "tests/check/check.h"

static pfc_online plain(void)
{
    pfc_online o;

    cr_assert(eq(int, pfc_online_init(&o, NULL, NULL), PFC_OK));
    o.seen = 100;
    o.places = 90;
    o.from = 10;
    o.age = 5;
    o.level =
        (pfc_level){ .at = 1, .unit = 0.1, .inflate = 1, .freedom = 5, .most = 1, .summary = -1 };
    o.pins_len = 2;
    o.pins[0] = (pfc_pin){ .index = 20, .low = 18, .high = 22 };
    o.pins[1] = (pfc_pin){ .index = 40, .low = 40, .high = 40, .shares = 1 };
    o.open_len = 1;
    o.open[0] = (pfc_open){ .index = 60, .since = 70 };
    return o;
}

static bool comes_back(const pfc_online *o)
{
    uint8_t bytes[PFC_ONLINE_BYTES];
    pfc_online back = { .seen = 12345 };
    pfc_err err = { 0 };
    const size_t len = pfc_online_save(o, bytes);
    const pfc_code code = pfc_online_load(&back, bytes, len, &err);

    cr_assert(le(sz, len, PFC_ONLINE_BYTES));
    if (code) {
        cr_assert(eq(int, (int)code, PFC_EINVAL));
        cr_assert(eq(int, (int)back.seen, 12345), "left alone");
        return false;
    }
    cr_assert(eq(int, (int)back.seen, (int)o->seen));
    cr_assert(zero(int, memcmp(&back.opts, &o->opts, sizeof o->opts)));
    cr_assert(zero(int, memcmp(&back.level, &o->level, sizeof o->level)));
    cr_assert(zero(int, memcmp(back.pins, o->pins, o->pins_len * sizeof o->pins[0])));
    cr_assert(zero(int, memcmp(back.open, o->open, o->open_len * sizeof o->open[0])));
    return true;
}

#define CHECK(fine, ...)                                                                           \
    do {                                                                                           \
        pfc_online o = plain();                                                                    \
        __VA_ARGS__;                                                                               \
        cr_assert(eq(int, comes_back(&o), fine), #__VA_ARGS__);                                    \
    } while (0)

Test(limits_state, counts_keep_their_limits)
{
    CHECK(true, (void)0);
    CHECK(true, o.seen = PFC_SERIES_MAX_POINTS);
    CHECK(false, o.seen = PFC_SERIES_MAX_POINTS + 1);
    CHECK(true, o.places = 100);
    CHECK(false, o.places = 101);
    CHECK(true, o.from = 100);
    CHECK(false, o.from = 101);
    CHECK(true, o.age = PFC_ONLINE_RING - 1);
    CHECK(false, o.age = PFC_ONLINE_RING);
    CHECK(true, o.places = o.age);
    CHECK(false, o.places = o.age - 1);
    CHECK(false, o.pins_len = PFC_ONLINE_PINS + 1);
    CHECK(false, o.open_len = PFC_ONLINE_OPEN + 1);
    CHECK(true, o.open_len = PFC_ONLINE_OPEN);
    CHECK(true, o.pins_len = 0; o.open_len = 0);
    CHECK(true, o.pins_len = PFC_ONLINE_PINS; for (uint32_t k = 0; k < PFC_ONLINE_PINS; k++)
                                                  o.pins[k] = (pfc_pin){ k + 1, k + 1, k + 1, 0 });
}

Test(limits_state, the_level_keeps_its_limits)
{
    CHECK(false, o.level.summary = -2);
    CHECK(true, o.level.summary = 0);
    CHECK(true, o.level.summary = 4);
    CHECK(false, o.level.summary = 5);
    CHECK(false, o.level.at = (double)NAN);
    CHECK(false, o.level.unit = (double)INFINITY);
    CHECK(false, o.level.inflate = (double)NAN);
    CHECK(false, o.level.freedom = (double)NAN);
    CHECK(false, o.level.gap = (double)NAN);
    CHECK(false, o.level.period = -(double)INFINITY);
    CHECK(false, o.level.wave[0] = (double)NAN);
    CHECK(false, o.level.wave[1] = (double)NAN);
    CHECK(false, o.level.wave[2] = (double)NAN);
    CHECK(false, o.level.wave[3] = (double)NAN);
    CHECK(false, o.level.most = (double)NAN);
    CHECK(true, o.level.logged = true; o.level.degree = 3; o.level.wave[3] = -2.5);
    CHECK(false, o.opts.alpha = 1);
    CHECK(true, o.opts.alpha = 0.5; o.opts.exact = true);
    CHECK(false, o.opts.min_rel = -1);
    CHECK(true, o.opts.min_rel = 0.25; o.opts.higher_is_better = true);
}

Test(limits_state, settled_changes_stand_in_order_inside_the_series)
{
    CHECK(false, o.pins[0].index = o.pins[0].low = 0);
    CHECK(true, o.pins[0].index = o.pins[0].low = 1);
    CHECK(false, o.pins[0].low = 21);
    CHECK(true, o.pins[0].low = 20);
    CHECK(false, o.pins[0].high = 19);
    CHECK(true, o.pins[0].high = 20);
    CHECK(true, o.pins[1].high = 99);
    CHECK(false, o.pins[1].high = 100);
    CHECK(true, o.pins[1].index = o.pins[1].high = 99);
    CHECK(false, o.pins[1].index = o.pins[1].high = 100);
    CHECK(false, o.pins[1] = o.pins[0]);
    CHECK(false, o.pins[0].index = 41; o.pins[0].high = 41);
    CHECK(true, o.pins[0].index = 39; o.pins[0].high = 39);
}

/* Any other length, and any other first four bytes, are of another version. */
Test(limits_state, bytes_have_their_length_and_their_mark)
{
    uint8_t bytes[PFC_ONLINE_BYTES + 1] = { 0 };
    const pfc_online o = plain();
    const size_t len = pfc_online_save(&o, bytes);
    pfc_online back;
    pfc_err err = { 0 };

    /* "PCT2", the least significant byte first, then what the metric is like: false, false, 0.0. */
    cr_assert(zero(int, memcmp(bytes, "PCT2", 4)));
    cr_assert(bytes[4] == 0 && bytes[5] == 0);
    /* seen = 100 behind two doubles. */
    cr_assert(bytes[22] == 100 && bytes[23] == 0 && bytes[24] == 0 && bytes[25] == 0);
    cr_assert(eq(int, pfc_online_load(&back, bytes, len, &err), PFC_OK));
    cr_assert(eq(int, pfc_online_load(&back, bytes, len - 1, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_online_load(&back, bytes, len + 1, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_online_load(&back, bytes, 3, &err), PFC_EINVAL));
    for (size_t i = 0; i < 4; i++) {
        bytes[i] ^= 1;
        cr_assert(eq(int, pfc_online_load(&back, bytes, len, &err), PFC_EINVAL));
        bytes[i] ^= 1;
    }
}
