/* The dynamic program over the points: scalar loops, and vectors held in registers where the CPU
 * has them. Costs are integers, so that all versions give the same rows. */
#include "core/changepoint/segment/segment_walk.h"

#include "core/changepoint/segment/vector_width.h"

/* One point for one band: costs before, loss of each level, costs after; returns the least. */
static inline int band_step(const int16_t *restrict before, const int16_t *restrict loss,
                            int16_t *restrict after, int32_t len, int16_t best, int16_t cap)
{
    int16_t least = INT16_MAX;
    for (int32_t j = 0; j < len; j++) {
        int16_t c = (int16_t)(before[j] - best);
        c = c < cap ? c : cap;
        c = (int16_t)(c + loss[j]);
        after[j] = c;
        least = c < least ? c : least;
    }
    return least;
}

static inline const int16_t *loss_of(const pfc_walk *w, const pfc_band *run, int32_t value)
{
    int32_t off = run->first - value + PFC_LOSS_HALF;
    return w->loss->cost + PFC_MAX(0, PFC_MIN(off, 2 * PFC_LOSS_HALF + 1 - run->len));
}

static inline int row_step(const pfc_walk *w, const int16_t *before, int16_t *after, int32_t value,
                           int best, int16_t cap)
{
    int least = INT16_MAX;
    for (size_t b = 0; b < w->g.bands_len; b++) {
        const pfc_band *run = &w->g.bands[b];
        int m = band_step(before + run->at, loss_of(w, run, value), after + run->at, run->len,
                          (int16_t)best, cap);
        least = PFC_MIN(least, m);
    }
    return least;
}

/* One state of one band: its own past, the other state's, or a new level. */
static inline int half_step(const int16_t *restrict own, const int16_t *restrict other,
                            const int16_t *restrict loss, int16_t *restrict after, int32_t len,
                            const int16_t price[4])
{
    int16_t least = INT16_MAX;
    for (int32_t j = 0; j < len; j++) {
        int16_t c = (int16_t)(own[j] + price[0]);
        int16_t o = (int16_t)(other[j] + price[1]);
        c = c < o ? c : o;
        c = c < price[2] ? c : price[2];
        c = (int16_t)(c - price[3] + loss[j]);
        after[j] = c;
        least = c < least ? c : least;
    }
    return least;
}

static inline int row_step2(const pfc_walk *w, const int16_t *before, int16_t *after, int32_t value,
                            int best, int16_t cap)
{
    int least = INT16_MAX;
    size_t half = w->g.row;
    int16_t low[4] = { w->move[0], w->move[2], (int16_t)(cap + best), (int16_t)best };
    int16_t up[4] = { w->move[3], w->move[1], (int16_t)(cap + best), (int16_t)best };
    for (size_t b = 0; b < w->g.bands_len; b++) {
        const pfc_band *run = &w->g.bands[b];
        const int16_t *from = before + run->at;
        int16_t *to = after + run->at;
        int m = half_step(from, from + half, loss_of(w, run, value), to, run->len, low);
        least = PFC_MIN(least, m);
        m = half_step(from + half, from, loss_of(w, run, value - w->gap), to + half, run->len, up);
        least = PFC_MIN(least, m);
    }
    return least;
}

/* The price of a change at a point: settled ones cost nothing. */
static inline int16_t price_at(const pfc_walk *w, size_t place, size_t *next)
{
    bool free_of_charge = *next < w->fixed.len && w->fixed.at[*next] == place;
    *next += free_of_charge;
    return free_of_charge ? 0 : w->cap;
}

WIDEST static double walk_plain(const pfc_walk *w, const int32_t *q, size_t n, uint32_t offset,
                                size_t next, int16_t *rows)
{
    int best = 0;
    int64_t total = 0;
    for (size_t t = 0; t < n; t++) {
        const int16_t *before = rows + t * w->row;
        int16_t *after = rows + (t + 1) * w->row;
        int16_t cap = price_at(w, offset + t, &next);
        best = w->two ? row_step2(w, before, after, q[t], best, cap)
                      : row_step(w, before, after, q[t], best, cap);
        total += best;
    }
    return (double)total;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define WIDE      __attribute__((target("avx2")))
#define HELD_MOST 6 /* vectors of a row that fit into registers */

static bool has_wide(void)
{
    return __builtin_cpu_supports("avx2");
}

WIDE static inline __m256i load(const int16_t *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

WIDE static inline void store(int16_t *at, __m256i v)
{
    _mm256_storeu_si256((__m256i *)(void *)at, v);
}

/* The least of a vector, in its lowest cell: one instruction for eight cells, as no cost is
 * negative. */
WIDE static inline __m128i least_of(__m256i v)
{
    return _mm_minpos_epu16(
        _mm_min_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

WIDE static inline int first_cell(__m128i v)
{
    return (int16_t)_mm_cvtsi128_si32(v);
}

/*
 * A row depends on the least cost of the row before. Two points at a time have one such dependency:
 * with a = costs before the first, lowered and capped, and l and m the losses of the two points,
 *     least after the first  = min(a + l) = f
 *     least after the second = min(min(a + l + m) - f, price + min(m)),
 * whose three minima are independent of each other.
 */
typedef struct pair {
    __m256i first, both, second; /* minima of a + l, a + l + m and m so far */
} pair;

WIDE static inline void pair_leasts(const pair *p, int16_t price, __m128i *first, __m128i *second)
{
    __m128i f = least_of(p->first);
    __m128i kept = _mm_sub_epi16(least_of(p->both), f);
    __m128i fresh = _mm_add_epi16(least_of(p->second), _mm_set1_epi16(price));
    *first = f;
    *second = _mm_min_epi16(kept, fresh);
}

/* Rows of `vectors` vectors in one band, which stay in registers. */
WIDE __attribute__((always_inline)) static inline double walk_held(const pfc_walk *w,
                                                                   const int32_t *q, size_t n,
                                                                   uint32_t offset, size_t next,
                                                                   int16_t *rows,
                                                                   const size_t vectors)
{
    const pfc_band *band = w->g.bands;
    const __m256i most = _mm256_set1_epi16(INT16_MAX);
    __m256i c[HELD_MOST];
    __m128i best = _mm_setzero_si128();
    int64_t total = 0;
    size_t t = 0;
    for (size_t j = 0; j < vectors; j++)
        c[j] = load(rows + j * PFC_WALK_LANES);
    for (; t + 2 <= n; t += 2) {
        int16_t *row = rows + (t + 1) * w->row;
        const int16_t *l = loss_of(w, band, q[t]);
        const int16_t *m = loss_of(w, band, q[t + 1]);
        int16_t price = price_at(w, offset + t, &next);
        int16_t price2 = price_at(w, offset + t + 1, &next);
        __m256i cap = _mm256_set1_epi16(price);
        __m256i lower = _mm256_broadcastw_epi16(best);
        pair p = { most, most, most };
        for (size_t j = 0; j < vectors; j++) {
            __m256i second = load(m + j * PFC_WALK_LANES);
            c[j] = _mm256_min_epi16(_mm256_sub_epi16(c[j], lower), cap);
            c[j] = _mm256_add_epi16(c[j], load(l + j * PFC_WALK_LANES));
            store(row + j * PFC_WALK_LANES, c[j]);
            p.first = _mm256_min_epi16(p.first, c[j]);
            p.both = _mm256_min_epi16(p.both, _mm256_add_epi16(c[j], second));
            p.second = _mm256_min_epi16(p.second, second);
        }
        __m128i first;
        pair_leasts(&p, price2, &first, &best);
        cap = _mm256_set1_epi16(price2);
        lower = _mm256_broadcastw_epi16(first);
        row += w->row;
        for (size_t j = 0; j < vectors; j++) {
            c[j] = _mm256_min_epi16(_mm256_sub_epi16(c[j], lower), cap);
            c[j] = _mm256_add_epi16(c[j], load(m + j * PFC_WALK_LANES));
            store(row + j * PFC_WALK_LANES, c[j]);
        }
        total += first_cell(first) + first_cell(best);
    }
    if (t < n)
        total += row_step(w, rows + t * w->row, rows + (t + 1) * w->row, q[t], first_cell(best),
                          price_at(w, offset + t, &next));
    return (double)total;
}

/* Any row: two points at a time likewise, through memory. */
WIDE static double walk_bands(const pfc_walk *w, const int32_t *q, size_t n, uint32_t offset,
                              size_t next, int16_t *rows)
{
    const pfc_band *end = w->g.bands + w->g.bands_len;
    const __m256i most = _mm256_set1_epi16(INT16_MAX);
    __m128i best = _mm_setzero_si128();
    int64_t total = 0;
    size_t t = 0;
    for (; t + 2 <= n; t += 2) {
        const int16_t *from = rows + t * w->row;
        int16_t *to = rows + (t + 1) * w->row;
        int16_t price = price_at(w, offset + t, &next);
        int16_t price2 = price_at(w, offset + t + 1, &next);
        __m256i cap = _mm256_set1_epi16(price);
        __m256i lower = _mm256_broadcastw_epi16(best);
        pair p = { most, most, most };
        for (const pfc_band *band = w->g.bands; band < end; band++) {
            const int16_t *l = loss_of(w, band, q[t]);
            const int16_t *m = loss_of(w, band, q[t + 1]);
            for (int32_t j = 0; j < band->len; j += PFC_WALK_LANES) {
                __m256i second = load(m + j);
                __m256i c = load(from + band->at + j);
                c = _mm256_min_epi16(_mm256_sub_epi16(c, lower), cap);
                c = _mm256_add_epi16(c, load(l + j));
                store(to + band->at + j, c);
                p.first = _mm256_min_epi16(p.first, c);
                p.both = _mm256_min_epi16(p.both, _mm256_add_epi16(c, second));
                p.second = _mm256_min_epi16(p.second, second);
            }
        }
        __m128i first;
        pair_leasts(&p, price2, &first, &best);
        cap = _mm256_set1_epi16(price2);
        lower = _mm256_broadcastw_epi16(first);
        for (const pfc_band *band = w->g.bands; band < end; band++) {
            const int16_t *m = loss_of(w, band, q[t + 1]);
            for (int32_t j = 0; j < band->len; j += PFC_WALK_LANES) {
                __m256i c = load(to + band->at + j);
                c = _mm256_min_epi16(_mm256_sub_epi16(c, lower), cap);
                store(to + w->row + band->at + j, _mm256_add_epi16(c, load(m + j)));
            }
        }
        total += first_cell(first) + first_cell(best);
    }
    if (t < n)
        total += row_step(w, rows + t * w->row, rows + (t + 1) * w->row, q[t], first_cell(best),
                          price_at(w, offset + t, &next));
    return (double)total;
}

WIDE static double walk_wide(const pfc_walk *w, const int32_t *q, size_t n, uint32_t offset,
                             size_t next, int16_t *rows)
{
    if (w->g.bands_len > 1)
        return walk_bands(w, q, n, offset, next, rows);
    switch (w->row / PFC_WALK_LANES) {
    case 1:
        return walk_held(w, q, n, offset, next, rows, 1);
    case 2:
        return walk_held(w, q, n, offset, next, rows, 2);
    case 3:
        return walk_held(w, q, n, offset, next, rows, 3);
    case 4:
        return walk_held(w, q, n, offset, next, rows, 4);
    case 5:
        return walk_held(w, q, n, offset, next, rows, 5);
    case HELD_MOST:
        return walk_held(w, q, n, offset, next, rows, HELD_MOST);
    default:
        return walk_bands(w, q, n, offset, next, rows);
    }
}
#else
static bool has_wide(void)
{
    return false;
}
#define walk_wide walk_plain
#endif

double pfc_walk_on(const pfc_walk *w, const int32_t *q, size_t n, uint32_t offset, size_t next,
                   int16_t *rows)
{
    if (!w->two && has_wide())
        return walk_wide(w, q, n, offset, next, rows);
    return walk_plain(w, q, n, offset, next, rows);
}
