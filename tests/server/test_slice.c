/* The common properties of series that changed together. */
#include <math.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "server/services/alerts/group_summary.h"

#include "tests/check/check.h"

static void expect(const char *text, const pfc_slice_series *series, size_t len)
{
    char *got = pfc_slice_summary(series, len);

    cr_assert(eq(str, got, (char *)text));
    free(got);
}

/* A parameter that is NULL is left out; free_one frees it. */
static const pfc_labels *params_of(const char *dtype, const char *k, const char *m,
                                   const char *layout)
{
    const char *const all[][2] = {
        { "dtype", dtype }, { "k", k }, { "m", m }, { "layout", layout }
    };
    pfc_labels *params = pfc_alloc(sizeof(*params));

    for (size_t i = 0; i < PFC_ARRAY_LEN(all); i++)
        if (all[i][1])
            pfc_labels_set(params, all[i][0], all[i][1]);
    return params;
}

static void free_one(const pfc_labels *params)
{
    pfc_labels *own = (pfc_labels *)(uintptr_t)params;

    if (own)
        pfc_labels_clear(own);
    free(own);
}

static void free_params(pfc_slice_series *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free_one(s[i].params);
}

Test(slice, names_what_sets_the_changed_series_apart)
{
    const pfc_labels *small = params_of("bf16", "64", NULL, NULL);
    const pfc_labels *large = params_of("bf16", "512", NULL, NULL);
    pfc_slice_series s[] = {
        { "gemm/a", "time_ns", "cpu-avx2", "zen4", small, true, NAN, false },
        { "gemm/b", "time_ns", "cpu-avx2", "zen4", small, true, NAN, false },
        { "gemm/a", "time_ns", "cpu-scalar", "zen4", small, false, NAN, false },
        { "gemm/c", "time_ns", "cpu-avx2", "zen4", large, false, NAN, false },
        { "norm/a", "time_ns", "cpu-avx2", "zen4", NULL, false, NAN, false },
    };

    expect("2 of 4 gemm series: k=64 and backend=cpu-avx2", s, 5);
    s[4].hit = true; /* gemm/c has the backend, too: nothing shorter parts norm/a from it */
    expect("3 of 5 series: gemm/a, gemm/b, norm/a", s, 5);
    s[2].hit = true;
    expect("4 of 5 series: gemm/a, gemm/b, norm/a", s,
           5); /* gemm/c alone stood still: no conjunction says "but this" */
    s[3].hit = true;
    expect("all 5 series", s, 5);
    s[4].hit = false;
    expect("all 4 gemm series", s, 5);
    expect("1 of 1 gemm series", s, 1);
    free_one(small);
    free_one(large);
}

/* Half precision in short rows, and one size up that only the other type has: dtype alone, or k
 * alone, would be wrong, the machine and the metric are the same everywhere and go unsaid. */
Test(slice, keeps_the_bound_that_tells_and_drops_what_is_implied)
{
    static const char *const sizes[] = { "16", "32", "64", "128", "256" };
    pfc_slice_series s[15];
    size_t n = 0;

    for (size_t type = 0; type < 3; type++) {
        for (size_t k = 0; k < 5; k++, n++)
            s[n] = (pfc_slice_series){
                "gemm/x",
                "time_ns",
                type == 0 ? "cpu-avx512" : "cpu-avx2", /* implied by the type */
                "zen4",
                params_of(type == 0   ? "bf16"
                          : type == 1 ? "f32"
                                      : "i8",
                          sizes[k], sizes[k], NULL), /* m says what k says */
                type == 0 && k <= 2,
                0.06 + 0.01 * (double)k,
                false,
            };
    }
    expect("3 of 15 gemm series: dtype=bf16 and k <= 64; +6.0 % to +8.0 %", s, n);
    s[5].hit = s[6].hit = s[7].hit = true;
    s[5].rel_change = s[6].rel_change = s[7].rel_change = (double)NAN;
    expect("6 of 15 gemm series: dtype in {bf16, f32} and k <= 64; +6.0 % to +8.0 %", s, n);
    s[7].hit = false; /* f32 at 64 */
    expect(
        "5 of 15 gemm series, most with dtype in {bf16, f32} and k <= 64 (5 of these 5; 1 with it "
        "did not move); +6.0 % to +8.0 %",
        s, n);
    s[6].hit = s[5].hit = s[0].hit =
        false; /* 32 and 64 are left: a set of two says it in one term */
    expect("2 of 15 gemm series: dtype=bf16 and k in {32, 64}; +7.0 % to +8.0 %", s, n);
    s[3].hit = true;
    expect("3 of 15 gemm series: dtype=bf16 and k <= 128 and k >= 32; +7.0 % to +9.0 %", s, n);
    s[1].hit = s[3].hit = false;
    expect("1 of 15 gemm series: dtype=bf16 and k=64; +8.0 %", s, n);
    free_params(s, n);
}

/* Series that no description fits are named: all of three, of more the ones that moved most, of
 * long names as many as fit on a line. Here: the diagonal of a square, with its corner. */
Test(slice, names_series_that_no_description_fits)
{
    char *const a = pfc_format("conv/%090d", 1), *const b = pfc_format("gemm/%090d", 2);
    pfc_slice_series s[] = {
        { "conv/x", "time_ns", "cpu", "zen4", NULL, true, 0.03, false },
        { "gemm/y", "time_ns", "cpu", "zen4", NULL, true, -0.21, false },
        { "norm/z", "time_ns", "cpu", "zen4", NULL, true, (double)NAN, false },
        { "norm/x", "time_ns", "cpu", "zen4", NULL, true, 0.05, false },
        { "conv/y", "time_ns", "cpu", "zen4", NULL, false, NAN, false },
        { "conv/z", "time_ns", "cpu", "zen4", NULL, false, NAN, false },
        { "gemm/x", "time_ns", "cpu", "zen4", NULL, false, NAN, false },
        { "gemm/z", "time_ns", "cpu", "zen4", NULL, false, NAN, false },
        { "norm/y", "time_ns", "cpu", "zen4", NULL, false, NAN, false },
        { "all", "time_ns", "cpu", "zen4", NULL, true, 0.04, true }, /* a headline metric */
    };
    char *text;

    expect("4 of 9 series; worst: gemm/y, norm/x, conv/x; -21.0 % to +5.0 %", s, 10);
    s[3].hit = s[9].hit = false;
    expect("3 of 9 series: gemm/y, conv/x, norm/z; -21.0 % to +3.0 %", s, 10);
    s[0].benchmark = a;
    s[1].benchmark = b;
    s[3].benchmark = "conv/x";
    text = pfc_format("3 of 9 series; worst: %s; -21.0 %% to +3.0 %%", b);
    expect(text, s, 10);
    free(text);
    free(a);
    free(b);
}

/* The text is as long as it has to be. */
Test(slice, cuts_nothing_off)
{
    char word[301];
    pfc_slice_series s[4];
    char *text;

    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    for (size_t i = 0; i < 4; i++) {
        word[0] = (char)('a' + i);
        s[i] =
            (pfc_slice_series){ "gemm/x", "time_ns", "b",  "m", params_of(NULL, NULL, NULL, word),
                                i < 2,    NAN,       false };
    }
    text = pfc_slice_summary(s, 4);
    cr_assert(eq(sz, strlen(text), strlen("2 of 4 gemm series: layout in {, }") + 2 * 300));
    free(text);
    free_params(s, 4);
}

Test(slice, reads_names_where_no_parameters_were_sent)
{
    pfc_slice_series s[] = {
        { "gemm/bf16/m64n64k64", "time_ns", "", "zen4", NULL, true, NAN, false },
        { "gemm/bf16/m64n64k512", "time_ns", "", "zen4", NULL, true, NAN, false },
        { "gemm/f32/m64n64k64", "time_ns", "", "zen4", NULL, false, NAN, false },
        { "gemm/f32/m64n64k512", "time_ns", "", "zen4", NULL, false, NAN, false },
        { "gemm/bf16/m64n64k4096", "time_ns", "", "zen4", NULL, false, NAN, false },
        { "headline", "gemm_tflops", "", "zen4", NULL, true, NAN, true },
    };

    expect("2 of 5 gemm series: dtype=bf16 and k <= 512", s, 6);
    for (size_t i = 0; i < 5; i++)
        s[i].hit = false;
    expect("1 of 6 series: metric=gemm_tflops", s, 6); /* the mean alone */
    s[0] = (pfc_slice_series){ "sort/1024/random", "t", "", "m", NULL, true, NAN, false };
    s[1] = (pfc_slice_series){ "sort/64/random", "t", "", "m", NULL, false, NAN, false };
    s[2] = (pfc_slice_series){ "sort/1024/key=sorted", "t", "", "m", NULL, false, NAN, false };
    s[3] = (pfc_slice_series){ "sort/2048/random", "t", "", "m", NULL, true, NAN, false };
    expect("2 of 4 sort series: name >= 1024 and random", s, 4);
}

/* ---- against every description there is ---- */

#define VALUES 4

typedef struct world {
    pfc_slice_series s[24];
    size_t len;
    int dtype[24], backend[24], k[24];
} world;

static void make(world *w, pfc_rng *rng, bool sliced)
{
    static const char *const dtypes[] = { "bf16", "f32", "i8", "f64" };
    static const char *const backends[] = { "cpu-avx2", "cpu-avx512" };
    static const char *const sizes[] = { "8", "64", "512", "4096" };
    const int dtype = (int)pfc_rng_below(rng, 4), low = (int)pfc_rng_below(rng, 3);
    size_t hits = 0;

    w->len = 8 + pfc_rng_below(rng, 17);
    for (size_t i = 0; i < w->len; i++) {
        w->dtype[i] = (int)pfc_rng_below(rng, VALUES);
        w->backend[i] = (int)pfc_rng_below(rng, 2);
        w->k[i] = (int)pfc_rng_below(rng, VALUES);
        w->s[i] = (pfc_slice_series){
            "gemm/x",
            "time_ns",
            backends[w->backend[i]],
            "zen4",
            params_of(dtypes[w->dtype[i]], sizes[w->k[i]], NULL, NULL),
            sliced ? (w->dtype[i] != dtype && w->k[i] >= low) : pfc_rng_below(rng, 3) == 0,
            NAN,
            false,
        };
        hits += w->s[i].hit;
    }
    if (hits == 0)
        w->s[0].hit = true;
    if (hits == w->len)
        w->s[0].hit = false;
}

/* A description of the brute force: sets of values as bits, bounds inclusive. */
typedef struct guess {
    unsigned dtypes, backends, ks; /* 0: not said */
    int low, high;                 /* -1: not said */
} guess;

static size_t length_of(const guess *g)
{
    return (size_t)__builtin_popcount(g->dtypes) + (size_t)__builtin_popcount(g->backends) +
           (size_t)__builtin_popcount(g->ks) + (g->low >= 0) + (g->high >= 0);
}

static bool fits(const world *w, const guess *g, size_t i)
{
    return (!g->dtypes || g->dtypes >> w->dtype[i] & 1) &&
           (!g->backends || g->backends >> w->backend[i] & 1) && (!g->ks || g->ks >> w->k[i] & 1) &&
           (g->low < 0 || w->k[i] >= g->low) && (g->high < 0 || w->k[i] <= g->high);
}

static bool is_exact(const world *w, const guess *g)
{
    for (size_t i = 0; i < w->len; i++)
        if (fits(w, g, i) != w->s[i].hit)
            return false;
    return true;
}

/* 0: there is none. */
static size_t shortest_exact(const world *w)
{
    size_t best = 0;
    guess g;

    for (g.dtypes = 0; g.dtypes < 16; g.dtypes++)
        for (g.backends = 0; g.backends < 4; g.backends++)
            for (g.ks = 0; g.ks < 16; g.ks++)
                for (g.low = -1; g.low < VALUES; g.low++)
                    for (g.high = -1; g.high < VALUES; g.high++)
                        if ((!best || length_of(&g) < best) && is_exact(w, &g))
                            best = length_of(&g);
    return best;
}

static int value_number(const char *attribute, const char *value)
{
    static const char *const names[][VALUES] = { { "bf16", "f32", "i8", "f64" },
                                                 { "cpu-avx2", "cpu-avx512", "", "" },
                                                 { "8", "64", "512", "4096" } };
    const size_t which = strcmp(attribute, "dtype") == 0     ? 0
                         : strcmp(attribute, "backend") == 0 ? 1
                                                             : 2;

    for (int i = 0; i < VALUES; i++)
        if (strcmp(names[which][i], value) == 0)
            return i;
    cr_fatal("unknown value %s of %s", value, attribute);
    return -1;
}

static bool slice_fits(const world *w, const pfc_slice *found, size_t i)
{
    for (size_t t = 0; t < found->terms_len; t++) {
        const pfc_slice_term *term = &found->terms[t];
        const int own = strcmp(term->attribute, "dtype") == 0     ? w->dtype[i]
                        : strcmp(term->attribute, "backend") == 0 ? w->backend[i]
                                                                  : w->k[i];
        bool in = false;

        for (size_t v = 0; v < term->values_len; v++) {
            const int value = value_number(term->attribute, term->values[v]);

            in |= term->relation == PFC_SLICE_IN         ? own == value
                  : term->relation == PFC_SLICE_AT_LEAST ? own >= value
                                                         : own <= value;
        }
        if (!in)
            return false;
    }
    return true;
}

/* The fewest series on the wrong side of up to four of: a value, a bound at it, all values of what
 * changed. */
static size_t fewest_wrong(const world *w)
{
    guess terms[64];
    size_t len = 0, best = w->len;
    unsigned seen[3] = { 0 };

    for (size_t i = 0; i < w->len; i++) {
        seen[0] |= w->s[i].hit ? 1u << w->dtype[i] : 0;
        seen[1] |= w->s[i].hit ? 1u << w->backend[i] : 0;
        seen[2] |= w->s[i].hit ? 1u << w->k[i] : 0;
    }
    for (int v = 0; v < VALUES; v++) {
        if (seen[0] >> v & 1)
            terms[len++] = (guess){ .dtypes = 1u << v, .low = -1, .high = -1 };
        if (seen[1] >> v & 1)
            terms[len++] = (guess){ .backends = 1u << v, .low = -1, .high = -1 };
        if (!(seen[2] >> v & 1))
            continue;
        terms[len++] = (guess){ .ks = 1u << v, .low = -1, .high = -1 };
        terms[len++] = (guess){ .low = v, .high = -1 };
        terms[len++] = (guess){ .low = -1, .high = v };
    }
    terms[len++] = (guess){ .dtypes = seen[0], .low = -1, .high = -1 };
    terms[len++] = (guess){ .backends = seen[1], .low = -1, .high = -1 };
    terms[len++] = (guess){ .ks = seen[2], .low = -1, .high = -1 };
    for (size_t a = 0; a < len; a++)
        for (size_t b = a; b < len; b++)
            for (size_t c = b; c < len; c++)
                for (size_t d = c; d < len; d++) {
                    size_t wrong = 0;

                    for (size_t i = 0; i < w->len && wrong < best; i++)
                        wrong += (fits(w, &terms[a], i) && fits(w, &terms[b], i) &&
                                  fits(w, &terms[c], i) && fits(w, &terms[d], i)) != w->s[i].hit;
                    best = PFC_MIN(best, wrong);
                }
    return best;
}

Test(slice, no_description_is_shorter_or_closer)
{
    size_t exact = 0, closest = 0, none = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 7);
    for (int trial = 0; trial < 120; trial++) {
        world w = { .len = 0 };
        pfc_slice found;
        size_t shortest, hits = 0, hit_fits = 0, other_fits = 0;

        make(&w, &rng, trial % 2 == 0);
        pfc_slice_find(w.s, w.len, &found);
        shortest = shortest_exact(&w);
        for (size_t i = 0; i < w.len; i++) {
            hits += w.s[i].hit;
            hit_fits += w.s[i].hit && slice_fits(&w, &found, i);
            other_fits += !w.s[i].hit && slice_fits(&w, &found, i);
        }
        cr_assert(eq(sz, found.hit, hits));
        cr_assert(eq(sz, found.of, w.len));
        cr_assert(eq(int, found.exact, shortest > 0), "trial %d", trial);
        if (found.exact) {
            exact++;
            cr_assert(eq(sz, found.length, shortest), "trial %d", trial);
            cr_assert(eq(sz, hit_fits, hits));
            cr_assert(eq(sz, other_fits, 0));
        } else if (found.terms_len) {
            closest++;
            cr_assert(eq(sz, found.hit_fits, hit_fits));
            cr_assert(eq(sz, found.other_fits, other_fits));
            cr_assert(eq(sz, hits - hit_fits + other_fits, fewest_wrong(&w)), "trial %d", trial);
        } else { /* nothing is closer than "all" or "none" */
            none++;
            cr_assert(ge(sz, fewest_wrong(&w), PFC_MIN(hits, w.len - hits)), "trial %d", trial);
        }
        pfc_slice_clear(&found);
        free_params(w.s, w.len);
    }
    /* All three were there to be tested. */
    cr_assert(gt(sz, exact, 20), "%zu", exact);
    cr_assert(gt(sz, closest, 20), "%zu", closest);
    cr_assert(gt(sz, none, 0), "%zu", none);
}

/* Thousands of series, in whatever order they come. */
Test(slice, many_series_have_one_answer_in_any_order)
{
    enum { LEN = 6000 };
    pfc_slice_series *s = pfc_calloc(LEN, sizeof(*s));
    char **names = pfc_calloc(LEN, sizeof(char *));
    pfc_rng rng;
    char *first, *again;

    for (int i = 0; i < LEN; i++) {
        names[i] = pfc_format("gemm/%s/m%dn%dk%d", i % 3 ? "f32" : "bf16", 8 << i % 5, 8 << i % 7,
                              8 << i % 11);
        s[i] = (pfc_slice_series){
            names[i], i % 2 ? "time_ns" : "cycles", "cpu", "m", NULL, false, NAN, false
        };
        s[i].hit = i % 3 == 0 && i % 11 <= 4 && i % 5 >= 1;
    }
    first = pfc_slice_summary(s, LEN);
    cr_assert(eq(int, strncmp(first, "", 0), 0));
    cr_assert(ne(ptr, strstr(first, " gemm series: dtype=bf16 and k <= 128 and m >= 16"), NULL),
              "%s", first);
    pfc_rng_seed(&rng, 3);
    for (size_t i = LEN; i-- > 1;) {
        const size_t k = pfc_rng_below(&rng, i + 1);
        const pfc_slice_series hold = s[i];

        s[i] = s[k];
        s[k] = hold;
    }
    again = pfc_slice_summary(s, LEN);
    cr_assert(eq(str, again, first));
    /* One that does not fit, and one that should have: the search for the closest ends, too. */
    for (size_t i = 0, left = 2; i < LEN && left; i++)
        if (s[i].hit == (left == 2)) {
            s[i].hit = left-- != 2;
        }
    free(again);
    again = pfc_slice_summary(s, LEN);
    cr_assert(ne(ptr, strstr(again, ", most with dtype=bf16 and"), NULL), "%s", again);
    free(again);
    free(first);
    for (int i = 0; i < LEN; i++)
        free(names[i]);
    free(names);
    free(s);
}
