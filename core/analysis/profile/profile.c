/* Named numbers and texts, kept in the order of their names for lookups by halves. */
#include "core/analysis/profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

void pfc_profile_init(pfc_profile *p, const char *source)
{
    memset(p, 0, sizeof(*p));
    p->source = pfc_strdup(source);
}

void pfc_profile_clear(pfc_profile *p)
{
    for (size_t i = 0; i < p->numbers_len; i++)
        free(p->numbers[i].name);
    for (size_t i = 0; i < p->facts_len; i++) {
        free(p->facts[i].name);
        free(p->facts[i].text);
    }
    free(p->numbers);
    free(p->facts);
    free(p->source);
    memset(p, 0, sizeof(*p));
}

/* Place of a name among `len` names that lie `step` bytes apart, each a char * at the start of its
 * entry. True when there is an entry of that name. */
static bool find(const void *entries, size_t len, size_t step, const char *name, size_t *at)
{
    size_t low = 0;
    size_t high = len;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const char *const *entry = (const void *)((const char *)entries + middle * step);
        const int order = strcmp(*entry, name);

        if (order == 0) {
            *at = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return false;
}

static pfc_code check_name(const pfc_profile *p, const char *name, pfc_err *err)
{
    if (!name[0] || strlen(name) > PFC_PROFILE_NAME_BYTES)
        return pfc_err_set(err, PFC_EINVAL, "%s: name of %zu bytes: expected 1 to %d bytes",
                           p->source, strlen(name), PFC_PROFILE_NAME_BYTES);
    return PFC_OK;
}

pfc_code pfc_profile_set(pfc_profile *p, const char *name, double value, pfc_err *err)
{
    pfc_code code = check_name(p, name, err);
    size_t at;

    if (!code && !isfinite(value))
        code = pfc_err_set(err, PFC_EINVAL, "%s: %s: expected a finite number", p->source, name);
    if (code)
        return code;
    if (find(p->numbers, p->numbers_len, sizeof(*p->numbers), name, &at)) {
        p->numbers[at].value = value;
        return PFC_OK;
    }
    if (p->numbers_len == PFC_PROFILE_MAX_NUMBERS)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected at most %d numbers", p->source,
                           PFC_PROFILE_MAX_NUMBERS);
    if (!p->numbers)
        p->numbers = pfc_calloc(PFC_PROFILE_MAX_NUMBERS, sizeof(*p->numbers));
    memmove(p->numbers + at + 1, p->numbers + at, (p->numbers_len - at) * sizeof(*p->numbers));
    p->numbers[at] = (pfc_profile_number){ pfc_strdup(name), value };
    p->numbers_len++;
    return PFC_OK;
}

pfc_code pfc_profile_set_fact(pfc_profile *p, const char *name, const char *text, pfc_err *err)
{
    pfc_code code = check_name(p, name, err);
    size_t at;

    if (code)
        return code;
    if (find(p->facts, p->facts_len, sizeof(*p->facts), name, &at)) {
        free(p->facts[at].text);
        p->facts[at].text = pfc_strdup(text);
        return PFC_OK;
    }
    if (p->facts_len == PFC_PROFILE_MAX_FACTS)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected at most %d texts", p->source,
                           PFC_PROFILE_MAX_FACTS);
    if (!p->facts)
        p->facts = pfc_calloc(PFC_PROFILE_MAX_FACTS, sizeof(*p->facts));
    memmove(p->facts + at + 1, p->facts + at, (p->facts_len - at) * sizeof(*p->facts));
    p->facts[at] = (pfc_profile_fact){ pfc_strdup(name), pfc_strdup(text) };
    p->facts_len++;
    return PFC_OK;
}

/* Digits, sign, point and exponent alone: "nan", "inf" and hexadecimal digests stay texts. */
static bool parse_number(const char *text, double *out)
{
    char *end;

    if (!text[0] || strspn(text, "0123456789+-.eE") != strlen(text) || !strpbrk(text, "0123456789"))
        return false;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out);
}

pfc_code pfc_profile_set_text(pfc_profile *p, const char *name, const char *text, pfc_err *err)
{
    /* Digests may consist of digits only, or look like an exponent. */
    const bool digest = strstr(name, "digest") || strstr(name, "hash");
    double value;

    return !digest && parse_number(text, &value) ? pfc_profile_set(p, name, value, err)
                                                 : pfc_profile_set_fact(p, name, text, err);
}

bool pfc_profile_number_of(const pfc_profile *p, const char *name, double *out)
{
    size_t at;
    const bool found = find(p->numbers, p->numbers_len, sizeof(*p->numbers), name, &at);

    if (found)
        *out = p->numbers[at].value;
    return found;
}

double pfc_profile_or(const pfc_profile *p, const char *name, double fallback)
{
    pfc_profile_number_of(p, name, &fallback);
    return fallback;
}

bool pfc_profile_total(const pfc_profile *p, double *out)
{
    return pfc_profile_number_of(p, "cycles", out) || pfc_profile_number_of(p, "time_ns", out);
}

const char *pfc_profile_fact_of(const pfc_profile *p, const char *name)
{
    size_t at;

    return find(p->facts, p->facts_len, sizeof(*p->facts), name, &at) ? p->facts[at].text : NULL;
}

size_t pfc_profile_parts(const pfc_profile *p, pfc_profile_part *out, size_t cap)
{
    size_t len = 0;
    size_t at;

    find(p->numbers, p->numbers_len, sizeof(*p->numbers), "path.", &at);
    for (; at < p->numbers_len && len < cap; at++) {
        const char *name = p->numbers[at].name;
        const char *dot = strrchr(name, '.');
        size_t phase_len;

        if (strncmp(name, "path.", 5) != 0)
            break;
        phase_len = dot > name + 5 ? (size_t)(dot - name) - 5 : 0;
        if (phase_len == 0 || phase_len >= sizeof(out[len].phase) ||
            !pfc_resource_parse(dot + 1, &out[len].resource))
            continue;
        memcpy(out[len].phase, name + 5, phase_len);
        out[len].phase[phase_len] = '\0';
        out[len].ticks = p->numbers[at].value;
        len++;
    }
    return len;
}

size_t pfc_profile_edges(const pfc_profile *p, pfc_profile_edge *out, size_t cap)
{
    size_t len = 0;
    size_t at;

    find(p->numbers, p->numbers_len, sizeof(*p->numbers), "edge.", &at);
    for (; at < p->numbers_len && len < cap; at++) {
        const char *from = p->numbers[at].name + 5;
        const char *to;
        size_t from_len;

        if (strncmp(p->numbers[at].name, "edge.", 5) != 0)
            break;
        from_len = strcspn(from, ".");
        to = from + from_len + 1;
        if (from_len == 0 || from_len >= sizeof(out[len].from) || from[from_len] == '\0' ||
            strlen(to) == 0 || strlen(to) >= sizeof(out[len].to))
            continue;
        memcpy(out[len].from, from, from_len);
        out[len].from[from_len] = '\0';
        snprintf(out[len].to, sizeof(out[len].to), "%s", to);
        out[len].waits = p->numbers[at].value;
        len++;
    }
    return len;
}
