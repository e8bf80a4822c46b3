/* The shortest description, by branch and bound. */
#include <stdlib.h>
#include <string.h>

#include "server/services/alerts/group_summary.h"

#define TERMS_MOST   128    /* that hold for all that changed: at most three per attribute */
#define NODES_MOST   200000 /* of the search for an exact description */
#define SHARP_MOST   2000   /* of others: up to this number, implied ones are dropped */
#define VALUES_MOST  16     /* of an attribute, in terms of an inexact description */
#define CHOICES_MOST (PFC_SLICE_ATTRIBUTES * (3 * VALUES_MOST + 1))
#define WORK_MOST    60000000 /* words compared in the search for the closest one: under a second */

/* A term in numbers of values. */
typedef struct term {
    const pfc_slice_attribute *a;
    pfc_slice_relation relation;
    int32_t values[PFC_SLICE_SET];
    size_t len;
    size_t order;   /* among all terms: breaks ties between descriptions */
    uint64_t *fits; /* a bit per series; only in the search for the closest */
    size_t wrong;   /* ... and how many series it misclassifies */
} term;

static bool holds(const term *t, size_t row)
{
    const int32_t v = t->a->of[row];

    if (v < 0 || t->relation == PFC_SLICE_AT_LEAST)
        return v >= t->values[0];
    if (t->relation == PFC_SLICE_AT_MOST)
        return v <= t->values[0];
    for (size_t i = 0; i < t->len; i++)
        if (t->values[i] == v)
            return true;
    return false;
}

static int by_order(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* A set of terms by their order. */
typedef struct choice {
    size_t items[TERMS_MOST];
    size_t len, length;
} choice;

/* Order of descriptions: shorter, then fewer terms, then preferred terms. Items are sorted. */
static bool is_better(const choice *x, const choice *y)
{
    if (x->length != y->length)
        return x->length < y->length;
    if (x->len != y->len)
        return x->len < y->len;
    for (size_t i = 0; i < x->len; i++)
        if (x->items[i] != y->items[i])
            return x->items[i] < y->items[i];
    return false;
}

static void put_term(const term *t, pfc_slice *out)
{
    pfc_slice_term *to = &out->terms[out->terms_len++];

    to->attribute = pfc_strdup(t->a->name);
    to->relation = t->relation;
    for (size_t i = 0; i < t->len; i++)
        to->values[to->values_len++] = pfc_strdup(t->a->values[t->values[i]]);
    out->length += t->len;
}

/* ---- exact: every other series fails a term that holds for all that changed ---- */

typedef struct mask {
    uint64_t w[TERMS_MOST / 64]; /* terms that the series fails */
} mask;

typedef struct cover {
    term terms[TERMS_MOST];
    size_t terms_len;
    mask *others; /* distinct */
    size_t others_len;
    size_t nodes;
    choice now, best;
    bool found;
} cover;

static bool has(const mask *m, size_t bit)
{
    return m->w[bit / 64] >> (bit % 64) & 1;
}

static int by_words(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(mask));
}

static size_t bits_of(const mask *m)
{
    return (size_t)__builtin_popcountll(m->w[0]) + (size_t)__builtin_popcountll(m->w[1]);
}

/* Adds the term unless no other series fails it. */
static void add_common(cover *c, const pfc_slice_table *t, const term *candidate)
{
    bool fails = false;

    for (size_t i = 0; i < t->rows_len && !fails; i++)
        fails = !t->hit[i] && !holds(candidate, i);
    if (!fails || c->terms_len == TERMS_MOST)
        return;
    c->terms[c->terms_len] = *candidate;
    c->terms[c->terms_len].order = c->terms_len;
    c->terms_len++;
}

/* The distinct values of the series that changed; false: one of them has none. */
static bool values_of_hits(const pfc_slice_table *t, const pfc_slice_attribute *a, bool *seen,
                           size_t *len)
{
    bool all = true;

    *len = 0;
    memset(seen, 0, a->values_len * sizeof(*seen));
    for (size_t i = 0; i < t->rows_len; i++) {
        if (!t->hit[i])
            continue;
        if (a->of[i] < 0) {
            all = false;
            continue;
        }
        *len += !seen[a->of[i]];
        seen[a->of[i]] = true;
    }
    return all;
}

/* Bounds at the extreme values of the changed series: looser bounds exclude fewer others. */
static void common_terms(cover *c, const pfc_slice_table *t, const pfc_slice_attribute *a,
                         bool *seen)
{
    term set = { .a = a, .relation = PFC_SLICE_IN };
    term low = { .a = a, .relation = PFC_SLICE_AT_LEAST, .len = 1 };
    term high = { .a = a, .relation = PFC_SLICE_AT_MOST, .len = 1 };
    size_t len = 0;
    bool first = true;

    if (!values_of_hits(t, a, seen, &len))
        return;
    for (size_t v = 0; v < a->values_len; v++) {
        if (!seen[v])
            continue;
        if (first)
            low.values[0] = (int32_t)v;
        first = false;
        high.values[0] = (int32_t)v;
        if (len <= PFC_SLICE_SET)
            set.values[set.len++] = (int32_t)v;
    }
    if (a->numeric && len > 1) {
        add_common(c, t, &high);
        add_common(c, t, &low);
    }
    if (set.len)
        add_common(c, t, &set);
}

/* Reads which terms each other series fails. false: one fails none, so no description is exact. */
static bool read_others(cover *c, const pfc_slice_table *t)
{
    size_t kept = 0;

    c->others = pfc_calloc(t->rows_len + 1, sizeof(*c->others));
    for (size_t i = 0; i < t->rows_len; i++) {
        mask *m = &c->others[c->others_len];

        if (t->hit[i])
            continue;
        for (size_t k = 0; k < c->terms_len; k++)
            if (!holds(&c->terms[k], i))
                m->w[k / 64] |= (uint64_t)1 << (k % 64);
        if (bits_of(m) == 0)
            return false;
        c->others_len++;
    }
    qsort(c->others, c->others_len, sizeof(mask), by_words);
    for (size_t i = 0; i < c->others_len; i++)
        if (kept == 0 || by_words(&c->others[kept - 1], &c->others[i]) != 0)
            c->others[kept++] = c->others[i];
    c->others_len = kept;
    return true;
}

static bool is_within(const mask *a, const mask *b)
{
    return (a->w[0] & ~b->w[0]) == 0 && (a->w[1] & ~b->w[1]) == 0;
}

/* A term that excludes a series also excludes every series that fails a superset of its terms. */
static void drop_implied(cover *c)
{
    size_t kept = 0;

    if (c->others_len > SHARP_MOST)
        return;
    for (size_t i = 0; i < c->others_len; i++) {
        bool implied = false;

        for (size_t k = 0; k < c->others_len && !implied; k++)
            implied =
                k != i && bits_of(&c->others[k]) > 0 && is_within(&c->others[k], &c->others[i]);
        if (implied)
            c->others[i] = (mask){ .w = { 0 } };
    }
    for (size_t i = 0; i < c->others_len; i++)
        if (bits_of(&c->others[i]))
            c->others[kept++] = c->others[i];
    c->others_len = kept;
}

/* The series not yet excluded that the fewest terms exclude; NULL: none. */
static const mask *hardest(const cover *c, const mask *chosen)
{
    const mask *best = NULL;

    for (size_t i = 0; i < c->others_len; i++) {
        const mask *m = &c->others[i];

        if ((m->w[0] & chosen->w[0]) == 0 && (m->w[1] & chosen->w[1]) == 0 &&
            (!best || bits_of(m) < bits_of(best)))
            best = m;
    }
    return best;
}

static void take_cover(cover *c)
{
    choice sorted = c->now;

    qsort(sorted.items, sorted.len, sizeof(size_t), by_order);
    if (!c->found || is_better(&sorted, &c->best))
        c->best = sorted;
    c->found = true;
}

static void search_cover(cover *c, mask chosen, mask banned)
{
    const mask *next;

    if (c->nodes++ >= NODES_MOST && c->found)
        return;
    next = hardest(c, &chosen);
    if (!next) {
        take_cover(c);
        return;
    }
    for (size_t k = 0; k < c->terms_len; k++) {
        mask with = chosen;

        if (!has(next, k) || has(&banned, k) ||
            (c->found && c->now.length + c->terms[k].len > c->best.length))
            continue;
        with.w[k / 64] |= (uint64_t)1 << (k % 64);
        c->now.items[c->now.len++] = k;
        c->now.length += c->terms[k].len;
        search_cover(c, with, banned);
        c->now.length -= c->terms[k].len;
        c->now.len--;
        /* All descriptions with this term have been searched. */
        banned.w[k / 64] |= (uint64_t)1 << (k % 64);
    }
}

static bool find_exact(const pfc_slice_table *t, bool *seen, pfc_slice *out)
{
    cover *c = pfc_calloc(1, sizeof(*c));
    const mask none = { .w = { 0 } };

    for (size_t i = 0; i < t->len; i++)
        common_terms(c, t, &t->items[i], seen);
    if (read_others(c, t)) {
        drop_implied(c);
        search_cover(c, none, none);
    }
    out->exact = c->found;
    for (size_t i = 0; c->found && i < c->best.len; i++)
        put_term(&c->terms[c->best.items[i]], out);
    if (c->found)
        out->hit_fits = t->hits;
    free(c->others);
    free(c);
    return out->exact;
}

/* ---- the closest description: the fewest misclassified series ---- */

typedef struct closest {
    const pfc_slice_table *t;
    term *terms;
    size_t terms_len, words, work;
    uint64_t *hits, *levels; /* levels: series that fit the terms chosen so far, a row per depth */
    choice now, best;
    size_t wrong, hit_fits, other_fits; /* of the best */
} closest;

static void add_closest(closest *c, term t)
{
    t.order = c->terms_len;
    t.fits = pfc_calloc(c->words, sizeof(uint64_t));
    for (size_t i = 0; i < c->t->rows_len; i++) {
        const bool fits = holds(&t, i);

        t.fits[i / 64] |= (uint64_t)fits << (i % 64);
        t.wrong += fits != c->t->hit[i];
    }
    c->terms[c->terms_len++] = t;
}

static void closest_terms(closest *c, const pfc_slice_attribute *a, bool *seen)
{
    term all = { .a = a, .relation = PFC_SLICE_IN };
    size_t len = 0, nth = 0, step;

    (void)values_of_hits(c->t, a, seen, &len);
    step = (len + VALUES_MOST - 1) / VALUES_MOST;
    for (size_t v = 0; v < a->values_len; v++) {
        term one = { .a = a, .relation = PFC_SLICE_IN, .values = { (int32_t)v }, .len = 1 };

        if (!seen[v])
            continue;
        if (len > 1 && len <= PFC_SLICE_SET)
            all.values[all.len++] = (int32_t)v;
        if (nth++ % step != 0 && nth != len)
            continue;
        add_closest(c, one);
        one.relation = PFC_SLICE_AT_MOST;
        if (a->numeric)
            add_closest(c, one);
        one.relation = PFC_SLICE_AT_LEAST;
        if (a->numeric)
            add_closest(c, one);
    }
    if (all.len)
        add_closest(c, all);
}

static int fewest_wrong(const void *a, const void *b)
{
    const term *x = a, *y = b;

    return x->wrong != y->wrong ? (x->wrong > y->wrong) - (x->wrong < y->wrong)
                                : (x->order > y->order) - (x->order < y->order);
}

/* Counts the series that changed, and those that did not, among the fitting ones. */
static void count(closest *c, const uint64_t *fits, size_t *hit, size_t *others)
{
    *hit = *others = 0;
    for (size_t w = 0; w < c->words; w++) {
        *hit += (size_t)__builtin_popcountll(fits[w] & c->hits[w]);
        *others += (size_t)__builtin_popcountll(fits[w] & ~c->hits[w]);
    }
    c->work += c->words;
}

/* Of two that misclassify equally many: the shorter, then the one that holds for more changed
 * ones. */
static bool is_closer(const closest *c, const choice *x, size_t hit)
{
    if (x->length != c->best.length || hit == c->hit_fits)
        return is_better(x, &c->best);
    return hit > c->hit_fits;
}

static void take_closest(closest *c, size_t hit, size_t others)
{
    const size_t wrong = c->t->hits - hit + others;
    choice sorted = c->now;

    for (size_t i = 0; i < sorted.len; i++)
        sorted.items[i] = c->terms[c->now.items[i]].order;
    qsort(sorted.items, sorted.len, sizeof(size_t), by_order);
    if (wrong > c->wrong || (wrong == c->wrong && c->best.len && !is_closer(c, &sorted, hit)))
        return;
    c->best = sorted;
    c->wrong = wrong;
    c->hit_fits = hit;
    c->other_fits = others;
}

static void search_closest(closest *c, size_t from)
{
    const uint64_t *now = c->levels + c->now.len * c->words;
    uint64_t *next = c->levels + (c->now.len + 1) * c->words;

    for (size_t k = from; k < c->terms_len && c->work < WORK_MOST; k++) {
        const term *t = &c->terms[k];
        size_t hit, others, lost;

        for (size_t w = 0; w < c->words; w++)
            next[w] = now[w] & t->fits[w];
        count(c, next, &hit, &others);
        lost = c->t->hits - hit;
        c->now.items[c->now.len++] = k;
        c->now.length += t->len;
        /* Further terms cannot regain a changed series, and make it longer. */
        take_closest(c, hit, others);
        if (c->now.len < PFC_SLICE_TERMS && others > 0 &&
            (lost < c->wrong ||
             (lost == c->wrong && (!c->best.len || c->now.length < c->best.length))))
            search_closest(c, k + 1);
        c->now.len--;
        c->now.length -= t->len;
    }
}

static void find_closest(const pfc_slice_table *t, bool *seen, pfc_slice *out)
{
    closest c = { .t = t, .words = (t->rows_len + 63) / 64 };

    c.terms = pfc_calloc(CHOICES_MOST, sizeof(*c.terms));
    c.hits = pfc_calloc(c.words, sizeof(uint64_t));
    c.levels = pfc_calloc((PFC_SLICE_TERMS + 1) * c.words, sizeof(uint64_t));
    for (size_t i = 0; i < t->rows_len; i++) {
        c.hits[i / 64] |= (uint64_t)t->hit[i] << (i % 64);
        c.levels[i / 64] |= (uint64_t)1 << (i % 64);
    }
    for (size_t i = 0; i < t->len; i++)
        closest_terms(&c, &t->items[i], seen);
    qsort(c.terms, c.terms_len, sizeof(*c.terms), fewest_wrong);
    /* The result must be better than "all of them" and "none of them", which describe nothing. */
    c.wrong = PFC_MIN(t->hits, t->rows_len - t->hits) - 1;
    if (PFC_MIN(t->hits, t->rows_len - t->hits) > 1)
        search_closest(&c, 0);
    for (size_t i = 0; i < c.best.len; i++)
        for (size_t k = 0; k < c.terms_len; k++)
            if (c.terms[k].order == c.best.items[i])
                put_term(&c.terms[k], out);
    out->hit_fits = c.hit_fits;
    out->other_fits = c.other_fits;
    for (size_t k = 0; k < c.terms_len; k++)
        free(c.terms[k].fits);
    free(c.terms);
    free(c.hits);
    free(c.levels);
}

void pfc_slice_search(const pfc_slice_table *table, pfc_slice *out)
{
    bool *seen = pfc_calloc(table->rows_len + 1, sizeof(bool));

    out->terms = pfc_calloc(TERMS_MOST, sizeof(*out->terms));
    if (!find_exact(table, seen, out))
        find_closest(table, seen, out);
    free(seen);
}
