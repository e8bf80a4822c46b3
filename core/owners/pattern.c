/*
 * Matches paths by segments. Both loops return to their last star only, so the time is bounded by
 * the product of the lengths.
 */
#include "core/owners/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "core/owners/owners.h"

static bool is_deep(const char *segment)
{
    return strcmp(segment, "**") == 0;
}

bool owners_glob_fits(const char *glob, const char *text, size_t len)
{
    const char *star = NULL, *end = text + len, *back = NULL;

    while (text < end) {
        if (*glob == '*') {
            star = glob++;
            back = text;
            continue;
        }
        if (*glob == '?') {
            glob++;
            text++;
            continue;
        }
        if (*glob && *glob != '?') {
            const char *literal = *glob == '\\' && glob[1] ? glob + 1 : glob;

            if (*literal == *text) {
                glob = literal + 1;
                text++;
                continue;
            }
        }
        if (!star)
            return false;
        glob = star + 1;
        text = ++back;
    }
    while (*glob == '*')
        glob++;
    return *glob == '\0';
}

static size_t count_stars(const char *text)
{
    size_t stars = 0;

    for (; *text; text++)
        stars += *text == '*';
    return stars;
}

static void add(owners_pattern *p, const char *segment)
{
    /* Two in a row match the same as one. */
    if (is_deep(segment) && p->len && is_deep(p->segments[p->len - 1]))
        return;
    p->segments[p->len++] = segment;
}

pfc_code owners_pattern_make(const char *text, bool gitlab, owners_pattern *out, pfc_err *err)
{
    const size_t len = strlen(text);
    const bool rooted = text[0] == '/';
    const bool folder = len > 0 && text[len - 1] == '/';
    const char *middle = strchr(text + rooted, '/');
    char *save = NULL;

    *out = (owners_pattern){ 0 };
    if (len == 0 || len > PFC_OWNERS_MAX_PATTERN)
        return pfc_err_set(err, PFC_EINVAL, "expected a pattern of 1 to %d bytes, got %zu",
                           PFC_OWNERS_MAX_PATTERN, len);
    if (count_stars(text) > PFC_OWNERS_MAX_STARS)
        return pfc_err_set(err, PFC_EINVAL, "expected a pattern with at most %d stars, got %zu",
                           PFC_OWNERS_MAX_STARS, count_stars(text));
    out->text = pfc_strdup(text);
    out->segments = pfc_calloc(len + 4, sizeof(*out->segments));
    /* .gitignore: a slash in the middle roots the pattern, one at the end does not. */
    if (!rooted && (gitlab || !middle || !middle[1]))
        add(out, "**");
    for (char *at = strtok_r(out->text, "/", &save); at; at = strtok_r(NULL, "/", &save))
        add(out, at);
    if (folder || (out->len && is_deep(out->segments[out->len - 1]))) {
        add(out, "**");
        add(out, "*");
    }
    out->below = !gitlab && !folder && out->len && strcmp(out->segments[out->len - 1], "*") != 0;
    return PFC_OK;
}

void owners_pattern_clear(owners_pattern *pattern)
{
    free(pattern->text);
    free(pattern->segments);
    *pattern = (owners_pattern){ 0 };
}

static const char *next_segment(const char *at)
{
    at += strcspn(at, "/");
    return *at ? at + 1 : at;
}

bool owners_pattern_fits(const owners_pattern *p, const char *path)
{
    size_t i = 0, star = p->len;
    const char *at = path, *back = NULL;

    while (*at) {
        if (i < p->len && is_deep(p->segments[i])) {
            star = i++;
            back = at;
            continue;
        }
        if (i < p->len && owners_glob_fits(p->segments[i], at, strcspn(at, "/"))) {
            i++;
            at = next_segment(at);
            if (i == p->len && p->below)
                return true;
            continue;
        }
        if (star == p->len)
            return false;
        i = star + 1;
        at = back = next_segment(back);
    }
    return i == p->len;
}
