/*
 * Unit and direction (higher or lower is better) from a metric's name and unit, by one table of
 * words.
 *
 * A name is cut into words ("gpuTime_ms" is gpu, time, ms). A rate ("tokens_per_s", "mb/s",
 * "reqs_s") and its inverse ("s_per_token", "ns/op", "time_per_iter") share their words and differ
 * in the order, so the words around "per" are matched before any single word. A name without a
 * known word has no direction: the caller must supply it.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/import/reader/reader.h"
#include "core/import/units/metric_words.h"

enum { MAX_WORDS = 48, WORD_BYTES = 24 };

/* ---- words of a name ---- */

typedef struct cut {
    char text[WORD_BYTES]; /* in lower case; longer words are cut and match nothing */
    const pfc_word *known; /* NULL: none of the table */
    bool per;              /* "per", or a slash */
} cut;

typedef struct cuts {
    cut of[MAX_WORDS];
    size_t len;
} cuts;

static void add(cuts *out, const char *text, size_t len)
{
    cut *c;

    /* the end of a name determines its meaning more than the beginning does */
    if (out->len == MAX_WORDS) {
        memmove(out->of, out->of + 1, (MAX_WORDS - 1) * sizeof(*out->of));
        out->len--;
    }
    c = &out->of[out->len++];
    *c = (cut){ .per = false };
    for (size_t i = 0; i < len && i < WORD_BYTES - 1; i++)
        c->text[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]);
    c->known = len < WORD_BYTES ? pfc_word_find(c->text) : NULL;
    c->per = strcmp(c->text, "per") == 0 || strcmp(c->text, "/") == 0;
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80;
}

/* "opTime": a capital after a small letter begins a word, but not in "KiB", "kB". */
static bool is_hump(const char *text, size_t from, size_t at)
{
    return at > from + 2 && text[at] >= 'A' && text[at] <= 'Z' && text[at - 1] >= 'a' &&
           text[at - 1] <= 'z';
}

static void cut_up(const char *text, cuts *out)
{
    size_t from = 0;

    out->len = 0;
    for (size_t i = 0;; i++) {
        const bool inside = text[i] && is_word_byte(text[i]);

        if (inside && !(i > from && is_hump(text, from, i)))
            continue;
        if (i > from)
            add(out, text + from, i - from);
        from = inside ? i : i + 1;
        if (text[i] == '/' || text[i] == '%')
            add(out, text + i, 1);
        if (!text[i])
            return;
    }
}

static pfc_word_kind kind_at(const cuts *c, size_t i)
{
    return i < c->len && c->of[i].known ? c->of[i].known->kind : PFC_WORD_NOTHING;
}

static bool has_kind(const cuts *c, size_t from, size_t to, pfc_word_kind wanted)
{
    for (size_t i = from; i < to; i++) {
        if (kind_at(c, i) == wanted)
            return true;
    }
    return false;
}

/* ---- "A per B" ---- */

typedef struct ratio {
    size_t left;  /* the word that is counted; SIZE_MAX: none, as in "1/s" */
    size_t right; /* for each of these */
} ratio;

/* The last "per" with something behind it; or what a suffix abbreviates ("reqs_s"). */
static bool ratio_of(const cuts *c, ratio *out)
{
    size_t last = c->len;

    for (size_t i = c->len; i-- > 0;) {
        if (!c->of[i].per || i + 1 >= c->len)
            continue;
        *out = (ratio){ SIZE_MAX, i + 1 };
        for (size_t k = i; k-- > 0 && out->left == SIZE_MAX;) {
            if (kind_at(c, k) != PFC_WORD_KIND_OF)
                out->left = k;
        }
        /* "mean/ms" is a mean in ms. */
        return out->left != SIZE_MAX || i == 0 || c->of[i].text[0] != '/';
    }
    while (last > 0 && kind_at(c, last - 1) == PFC_WORD_KIND_OF)
        last--;
    if (last < 2 || (strcmp(c->of[last - 1].text, "s") && strcmp(c->of[last - 1].text, "sec")))
        return false;
    *out = (ratio){ last - 2, last - 1 };
    return kind_at(c, out->left) == PFC_WORD_MANY || kind_at(c, out->left) == PFC_WORD_SIZE;
}

/* "op_s" and "step_s" can be a rate or the seconds of one operation, so they stay unknown. */
static bool is_ambiguous(const cuts *c)
{
    size_t last = c->len;

    while (last > 0 && kind_at(c, last - 1) == PFC_WORD_KIND_OF)
        last--;
    return last >= 2 && kind_at(c, last - 2) == PFC_WORD_ONE &&
           (strcmp(c->of[last - 1].text, "s") == 0 || strcmp(c->of[last - 1].text, "sec") == 0);
}

static int ratio_better(const cuts *c, const ratio *r)
{
    const pfc_word_kind left = r->left == SIZE_MAX ? PFC_WORD_NOTHING : kind_at(c, r->left);
    const pfc_word_kind right = kind_at(c, r->right);
    const bool work = right == PFC_WORD_ONE || right == PFC_WORD_PIECE || right == PFC_WORD_MANY;

    if (right == PFC_WORD_TIME || right == PFC_WORD_SPENT || right == PFC_WORD_TICK) {
        if (left == PFC_WORD_TIME || left == PFC_WORD_COST ||
            has_kind(c, 0, r->right, PFC_WORD_COST))
            return -1;
        /* Watts are joules a second; instructions a cycle are work. */
        if (left == PFC_WORD_LOWER || (right == PFC_WORD_TIME && r->left != SIZE_MAX &&
                                       (strncmp(c->of[r->left].text, "joule", 5) == 0 ||
                                        strncmp(c->of[r->left].text, "watt", 4) == 0)))
            return -1;
        if (right != PFC_WORD_TIME && left == PFC_WORD_SPENT &&
            strncmp(c->of[r->left].text, "ins", 3) != 0)
            return -1;
        return 1;
    }
    if (left == PFC_WORD_TIME || left == PFC_WORD_LOWER || left == PFC_WORD_COST)
        return -1;
    if ((left == PFC_WORD_SIZE || left == PFC_WORD_SPENT) && work)
        return -1;
    if ((left == PFC_WORD_ONE || left == PFC_WORD_PIECE || left == PFC_WORD_MANY) &&
        right == PFC_WORD_SIZE)
        return 1;
    return 0;
}

/* ---- one word ---- */

/* Place of the unit that ends the name: behind it only which statistic it is. SIZE_MAX: none. */
static size_t unit_at(const cuts *c)
{
    size_t last = c->len;
    pfc_word_kind k;

    while (last > 0 && kind_at(c, last - 1) == PFC_WORD_KIND_OF)
        last--;
    if (last == 0)
        return SIZE_MAX;
    k = kind_at(c, last - 1);
    if (k != PFC_WORD_TIME && k != PFC_WORD_SIZE && k != PFC_WORD_RATE && k != PFC_WORD_SPENT &&
        strcmp(c->of[last - 1].text, "pct") && strcmp(c->of[last - 1].text, "percent") &&
        strcmp(c->of[last - 1].text, "%"))
        return SIZE_MAX;
    if (k == PFC_WORD_SIZE && c->of[last - 1].text[0] == 'b' &&
        strncmp(c->of[last - 1].text, "byte", 4) != 0)
        return SIZE_MAX; /* "a_b", "int8_bit" */
    /* "s" alone is a name: a sequence length. */
    return last == 1 && strcmp(c->of[0].text, "s") == 0 ? SIZE_MAX : last - 1;
}

static int word_better(pfc_word_kind k)
{
    switch (k) {
    case PFC_WORD_HIGHER:
    case PFC_WORD_RATE:
        return 1;
    case PFC_WORD_LOWER:
    case PFC_WORD_COST:
    case PFC_WORD_SPENT:
        return -1;
    case PFC_WORD_TIME:
    case PFC_WORD_TICK:
    case PFC_WORD_SIZE:
    case PFC_WORD_ONE:
    case PFC_WORD_PIECE:
    case PFC_WORD_MANY:
    case PFC_WORD_KIND_OF:
    case PFC_WORD_NOTHING:
        break;
    }
    return 0;
}

/* A name's head stands last: "cache_hit_latency" is a latency. Data and memory say the least: a
 * "throughput_mb" is a throughput. */
static int head_better(const cuts *c)
{
    const size_t at = unit_at(c);
    const pfc_word_kind unit = at == SIZE_MAX ? PFC_WORD_NOTHING : kind_at(c, at);

    if (unit == PFC_WORD_TIME)
        return -1;
    if ((has_kind(c, 0, c->len, PFC_WORD_SIZE) || has_kind(c, 0, c->len, PFC_WORD_SPENT)) &&
        (has_kind(c, 0, c->len, PFC_WORD_HIGHER) || has_kind(c, 0, c->len, PFC_WORD_RATE)))
        return 1;
    for (size_t i = c->len; i-- > 0;) {
        const int better = word_better(kind_at(c, i));
        if (better)
            return better;
    }
    return unit == PFC_WORD_SIZE ? -1 : 0;
}

static int phrase_better(const cuts *c)
{
    for (size_t i = 0; i < pfc_phrases_len; i++) {
        for (size_t at = 0; at < c->len; at++) {
            const char *rest = pfc_phrases[i].words;
            size_t k = at;

            for (; k < c->len && *rest; k++) {
                const size_t n = strlen(c->of[k].text);
                if (strncmp(rest, c->of[k].text, n) != 0 || (rest[n] && rest[n] != ' '))
                    break;
                rest += n + (rest[n] == ' ');
            }
            if (!*rest)
                return pfc_phrases[i].better;
        }
    }
    return 0;
}

/* ---- for the readers ---- */

static int unit_better(const char *unit)
{
    double scale = 1.0;
    const char *base = pfc_import_unit_base(unit, &scale);
    const size_t len = strlen(base);
    cuts c;
    ratio r;

    if (strcmp(base, "ns") == 0 || strcmp(base, "cycles") == 0)
        return -1;
    /* "MS/s" are megasamples, "ms/s" is a share of the time. */
    if (strcmp(base, "Hz") == 0 || strcmp(unit, "MS/s") == 0 ||
        (base != unit && len > 2 && strcmp(base + len - 2, "/s") == 0))
        return 1;
    cut_up(unit, &c);
    if (ratio_of(&c, &r))
        return ratio_better(&c, &r);
    return c.len > 0 ? word_better(kind_at(&c, c.len - 1)) : 0;
}

int pfc_import_nature(const char *metric, const char *unit)
{
    double scale = 1.0;
    cuts c;
    ratio r;
    int better;

    cut_up(metric ? metric : "", &c);
    better = phrase_better(&c);
    if (!better && ratio_of(&c, &r))
        better = ratio_better(&c, &r);
    if (!better && has_kind(&c, 0, c.len, PFC_WORD_COST))
        better = -1;
    if (!better && unit && *unit)
        better = unit_better(unit);
    if (better || (is_ambiguous(&c) && !(unit && *unit)))
        return better;
    if (c.len == 1 && strcmp(c.of[0].text, "ops") == 0) /* pytest-benchmark: rounds a second */
        return 1;
    better = head_better(&c);
    if (!better && unit && strcmp(pfc_import_unit_base(unit, &scale), "bytes") == 0)
        better = -1;
    return better;
}

bool pfc_import_higher_is_better(const char *metric, const char *unit_name)
{
    return pfc_import_nature(metric, unit_name) > 0;
}

/* A word's spelling in a unit: "kb" is kB, "reqs" stays. */
static const char *spelled(const cut *c)
{
    return c->known && c->known->unit ? c->known->unit : c->text;
}

static void ratio_unit(const cuts *c, const ratio *r, char out[PFC_IMPORT_UNIT_BYTES])
{
    const pfc_word_kind left = r->left == SIZE_MAX ? PFC_WORD_NOTHING : kind_at(c, r->left);
    const pfc_word_kind right = kind_at(c, r->right);
    const bool counted = left != PFC_WORD_LOWER && left != PFC_WORD_HIGHER && left != PFC_WORD_RATE;
    const char *count = r->left == SIZE_MAX ? "1" : spelled(&c->of[r->left]);
    char text[PFC_IMPORT_UNIT_BYTES];

    if (!counted || right == PFC_WORD_NOTHING || right == PFC_WORD_HIGHER ||
        right == PFC_WORD_LOWER || (left == PFC_WORD_NOTHING && right != PFC_WORD_TIME))
        return;
    if (left == PFC_WORD_SIZE && strcmp(count, "bytes") == 0)
        count = "B";
    (void)snprintf(text, sizeof(text), "%.20s/%.20s", count,
                   right == PFC_WORD_TIME ? spelled(&c->of[r->right]) : c->of[r->right].text);
    (void)snprintf(out, PFC_IMPORT_UNIT_BYTES, "%s", pfc_import_unit_spelled(text));
}

const char *pfc_import_unit_of(const char *metric, char out[PFC_IMPORT_UNIT_BYTES])
{
    cuts c;
    ratio r;
    size_t at;

    out[0] = '\0';
    cut_up(metric, &c);
    if (ratio_of(&c, &r))
        ratio_unit(&c, &r, out);
    if (!*out && !is_ambiguous(&c) && (at = unit_at(&c)) != SIZE_MAX) {
        const char *unit = c.of[at].known ? c.of[at].known->unit : "%";
        (void)snprintf(out, PFC_IMPORT_UNIT_BYTES, "%s", unit ? unit : "");
    }
    return out;
}
