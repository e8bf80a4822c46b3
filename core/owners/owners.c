/* Reads the lines of CODEOWNERS files, and finds the rule that counts. */
#include "core/owners/owners.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/owners/pattern.h"

typedef enum rule_kind {
    RULE_PATH,
    RULE_NOT,       /* GitLab: excludes paths from its section */
    RULE_BENCHMARK, /* by the whole name */
    RULE_KERNEL,    /* by its first part */
} rule_kind;

typedef struct rule {
    rule_kind kind;
    owners_pattern pattern; /* of RULE_PATH, RULE_NOT */
    char *glob;             /* of the others */
    char *names;            /* separated by one space; "": none */
    size_t section;
} rule;

typedef struct section {
    char *name;
    char *names; /* of its rules that have no owners of their own */
} section;

struct pfc_owners {
    pfc_owners_syntax syntax;
    rule *rules;
    size_t rules_len, skipped;
    section *sections; /* the first holds the rules before any heading */
    size_t sections_len;
};

/* ---- lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The end of a pattern: a blank that no backslash precedes. */
static size_t pattern_len(const char *line)
{
    size_t len = 0;

    while (line[len] && !is_blank(line[len]))
        len += line[len] == '\\' && line[len + 1] ? 2 : 1;
    return len;
}

/* Owners of CODEOWNERS files are "@user", "@org/team", "@@role" or an address. */
static bool is_name(const char *word, size_t len, pfc_owners_syntax syntax)
{
    if (len == 0 || len > PFC_OWNERS_MAX_NAME)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)word[i] <= 0x20 || word[i] == 0x7F)
            return false;
    if (syntax == PFC_OWNERS_RULES)
        return true;
    return len > 1 && memchr(word, '@', len) && word[len - 1] != '@';
}

static bool has_name(const char *names, const char *word, size_t len)
{
    for (const char *at = names; *at;
         at += at[strcspn(at, " ")] ? strcspn(at, " ") + 1 : strcspn(at, " "))
        if (strcspn(at, " ") == len && strncmp(at, word, len) == 0)
            return true;
    return false;
}

static void add_name(pfc_buf *out, const char *word, size_t len, size_t *count)
{
    if (*count >= PFC_OWNERS_MAX_NAMES || has_name(pfc_buf_text(out), word, len))
        return;
    if (out->len)
        pfc_buf_putc(out, ' ');
    pfc_buf_printf(out, "%.*s", (int)len, word);
    ++*count;
}

/* The owners up to the end of the line or a comment. NULL: the line is invalid; *bad is then the
 * word, and *bad_len its length. */
static char *read_names(const char *at, pfc_owners_syntax syntax, const char **bad, size_t *bad_len)
{
    size_t count = 0;
    pfc_buf out;

    *bad = NULL;
    pfc_buf_init(&out, PFC_OWNERS_MAX_NAMES * (PFC_OWNERS_MAX_NAME + 1) + 1);
    for (;;) {
        size_t len = 0;

        while (is_blank(*at))
            at++;
        if (!*at || *at == '#')
            break;
        while (at[len] && !is_blank(at[len]))
            len++;
        if (is_name(at, len, syntax)) {
            add_name(&out, at, len, &count);
        } else if (syntax != PFC_OWNERS_GITLAB) { /* GitLab ignores the word alone */
            *bad = at;
            *bad_len = len;
            pfc_buf_clear(&out);
            return NULL;
        }
        at += len;
    }
    return pfc_buf_take(&out);
}

/* ---- sections of GitLab ---- */

/* "[Name][2] @owner" or "^[Name]"; the length of the heading with its number, 0: it is none. */
static size_t heading(const char *line, const char **name, size_t *name_len)
{
    const char *at = line + (*line == '^'), *end;

    if (*at != '[')
        return 0;
    end = strchr(at, ']');
    if (!end || end == at + 1)
        return 0;
    *name = at + 1;
    *name_len = (size_t)(end - at - 1);
    at = end + 1;
    if (*at == '[') {
        const size_t digits = strspn(at + 1, "0123456789");

        if (digits == 0 || at[1 + digits] != ']')
            return 0;
        at += digits + 2;
    }
    return *at && !is_blank(*at) ? 0 : (size_t)(at - line);
}

/* The number of the section of that name, in any case; it is made when it is new. */
static size_t open_section(pfc_owners *o, const char *name, size_t len)
{
    for (size_t i = 1; i < o->sections_len; i++)
        if (strlen(o->sections[i].name) == len && strncasecmp(o->sections[i].name, name, len) == 0)
            return i;
    o->sections[o->sections_len] =
        (section){ .name = pfc_strndup(name, len), .names = pfc_strdup("") };
    return o->sections_len++;
}

/* ---- rules ---- */

static char *rest_of(const char *pattern, const char *prefix)
{
    const size_t len = strlen(prefix);

    return strncmp(pattern, prefix, len) == 0 && pattern[len] ? pfc_strdup(pattern + len) : NULL;
}

static pfc_code read_pattern(const pfc_owners *o, const char *text, rule *out, pfc_err *err)
{
    size_t stars = 0;

    if (o->syntax == PFC_OWNERS_RULES) {
        out->glob = rest_of(text, "benchmark:");
        out->kind = RULE_BENCHMARK;
        if (!out->glob && (out->glob = rest_of(text, "kernel:")))
            out->kind = RULE_KERNEL;
        for (const char *at = out->glob; at && *at; at++)
            stars += *at == '*';
        if (stars > PFC_OWNERS_MAX_STARS)
            return pfc_err_set(err, PFC_EINVAL, "expected a pattern with at most %d stars, got %zu",
                               PFC_OWNERS_MAX_STARS, stars);
        if (out->glob)
            return PFC_OK;
    }
    out->kind = RULE_PATH;
    if (*text == '!' && o->syntax != PFC_OWNERS_GITLAB)
        return pfc_err_set(err, PFC_EINVAL, "'!' excludes nothing here");
    if (*text == '!') {
        out->kind = RULE_NOT;
        text++;
    }
    return owners_pattern_make(text, o->syntax == PFC_OWNERS_GITLAB, &out->pattern, err);
}

static void rule_clear(rule *r)
{
    owners_pattern_clear(&r->pattern);
    free(r->glob);
    free(r->names);
}

static pfc_code read_rule(pfc_owners *o, const char *line, size_t in, pfc_err *err)
{
    const size_t len = pattern_len(line);
    char *pattern = pfc_strndup(line, len);
    rule *r = &o->rules[o->rules_len];
    const char *bad = NULL;
    size_t bad_len = 0;
    pfc_code code;

    *r = (rule){ .section = in };
    code = read_pattern(o, pattern, r, err);
    free(pattern);
    if (!code) {
        r->names = read_names(line + len, o->syntax, &bad, &bad_len);
        if (!r->names)
            code = pfc_err_set(err, PFC_EINVAL, "\"%.*s\" is no owner",
                               (int)PFC_MIN(bad_len, (size_t)PFC_OWNERS_MAX_NAME), bad);
    }
    if (code) {
        rule_clear(r);
        return code;
    }
    if (!r->names[0] && o->sections[in].names[0]) {
        free(r->names);
        r->names = pfc_strdup(o->sections[in].names);
    }
    o->rules_len++;
    return PFC_OK;
}

/* PFC_EINVAL: the line is invalid. */
static pfc_code read_line(pfc_owners *o, const char *line, size_t *in, pfc_err *err)
{
    const char *name = NULL, *bad = NULL;
    size_t name_len = 0, bad_len = 0;
    const size_t skip = o->syntax == PFC_OWNERS_GITLAB ? heading(line, &name, &name_len) : 0;

    while (is_blank(*line))
        line++;
    if (!*line || *line == '#')
        return PFC_OK;
    if (skip) {
        char *names = read_names(line + skip, o->syntax, &bad, &bad_len);

        *in = open_section(o, name, name_len);
        if (names && *names) {
            free(o->sections[*in].names);
            o->sections[*in].names = names;
        } else {
            free(names);
        }
        return PFC_OK;
    }
    return read_rule(o, line, *in, err);
}

/* ---- files ---- */

const char *const pfc_owners_places[] = { ".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS",
                                          "docs/CODEOWNERS", NULL };

bool pfc_owners_is_place(const char *path)
{
    size_t i = 0;

    while (pfc_owners_places[i] && strcmp(pfc_owners_places[i], path) != 0)
        i++;
    return pfc_owners_places[i] != NULL;
}

pfc_owners_syntax pfc_owners_guess(const char *path, const char *text)
{
    const char *name;
    size_t len;

    if (path && strncmp(path, ".gitlab/", 8) == 0)
        return PFC_OWNERS_GITLAB;
    for (const char *at = text; *at;) {
        const size_t line_len = strcspn(at, "\n");
        char *line = pfc_strndup(at, line_len);
        const bool is_section = heading(line, &name, &len) > 0;

        free(line);
        if (is_section)
            return PFC_OWNERS_GITLAB;
        at += line_len + (at[line_len] == '\n');
    }
    return PFC_OWNERS_GITHUB;
}

static size_t count_lines(const char *text)
{
    size_t lines = 1;

    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static pfc_code read_text(pfc_owners *o, const char *text, const char *where, pfc_err *err)
{
    size_t number = 0, in = 0;
    pfc_err why = { 0 };

    for (const char *at = text; *at;) {
        const size_t len = strcspn(at, "\n");
        char *line = pfc_strndup(at, len);
        const pfc_code code = o->rules_len < PFC_OWNERS_MAX_RULES
                                  ? read_line(o, line, &in, &why)
                                  : pfc_err_set(err, PFC_EINVAL, "%s: expected at most %d rules",
                                                where, PFC_OWNERS_MAX_RULES);

        number++;
        free(line);
        if (code && o->rules_len == PFC_OWNERS_MAX_RULES)
            return code;
        if (code && o->syntax == PFC_OWNERS_RULES)
            return pfc_err_set(err, PFC_EINVAL, "%s:%zu: %s", where, number, why.msg);
        o->skipped += code != PFC_OK;
        at += len + (at[len] == '\n');
    }
    return PFC_OK;
}

pfc_code pfc_owners_parse(const char *text, pfc_owners_syntax syntax, const char *where,
                          pfc_owners **out, pfc_err *err)
{
    const size_t bytes = strlen(text), lines = PFC_MIN(count_lines(text), bytes + 1);
    pfc_owners *o;
    pfc_code code;

    if (bytes > PFC_OWNERS_MAX_TEXT)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected at most %d bytes, got %zu", where,
                           PFC_OWNERS_MAX_TEXT, bytes);
    o = pfc_calloc(1, sizeof(*o));
    o->syntax = syntax;
    o->rules = pfc_calloc(PFC_MIN(lines, (size_t)PFC_OWNERS_MAX_RULES) + 1, sizeof(*o->rules));
    o->sections = pfc_calloc(lines + 1, sizeof(*o->sections));
    o->sections[o->sections_len++] = (section){ .name = pfc_strdup(""), .names = pfc_strdup("") };
    code = read_text(o, text, where, err);
    if (code)
        pfc_owners_free(o);
    else
        *out = o;
    return code;
}

void pfc_owners_free(pfc_owners *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->rules_len; i++)
        rule_clear(&o->rules[i]);
    for (size_t i = 0; i < o->sections_len; i++) {
        free(o->sections[i].name);
        free(o->sections[i].names);
    }
    free(o->rules);
    free(o->sections);
    free(o);
}

size_t pfc_owners_rules(const pfc_owners *o)
{
    return o->rules_len;
}

size_t pfc_owners_skipped(const pfc_owners *o)
{
    return o->skipped;
}

/* ---- the rule that counts ---- */

/* The last one of a section, unless the section excludes the path. */
static const rule *last_match(const pfc_owners *o, size_t in, const char *path)
{
    const rule *found = NULL;

    for (size_t i = o->rules_len; i > 0; i--) {
        const rule *r = &o->rules[i - 1];

        if (r->section != in || (r->kind != RULE_PATH && r->kind != RULE_NOT) ||
            (found && r->kind == RULE_PATH) || !owners_pattern_fits(&r->pattern, path))
            continue;
        if (r->kind == RULE_NOT)
            return NULL;
        found = r;
    }
    return found;
}

static void add_names(pfc_buf *out, const char *names, size_t *count)
{
    for (const char *at = names; *at;) {
        const size_t len = strcspn(at, " ");

        add_name(out, at, len, count);
        at += len + (at[len] == ' ');
    }
}

char *pfc_owners_of_path(const pfc_owners *o, const char *path)
{
    bool found = false;
    size_t count = 0;
    pfc_buf out;

    if (!o)
        return NULL;
    pfc_buf_init(&out, PFC_OWNERS_MAX_NAMES * (PFC_OWNERS_MAX_NAME + 1) + 1);
    for (size_t i = 0; i < o->sections_len; i++) {
        const rule *r = last_match(o, i, path);

        found = found || r;
        if (r)
            add_names(&out, r->names, &count);
    }
    if (found)
        return pfc_buf_take(&out);
    pfc_buf_clear(&out);
    return NULL;
}

char *pfc_owners_of_benchmark(const pfc_owners *o, const char *benchmark)
{
    for (size_t i = o ? o->rules_len : 0; i > 0; i--) {
        const rule *r = &o->rules[i - 1];
        const size_t len = r->kind == RULE_KERNEL ? strcspn(benchmark, "/") : strlen(benchmark);

        if ((r->kind == RULE_BENCHMARK || r->kind == RULE_KERNEL) &&
            owners_glob_fits(r->glob, benchmark, len))
            return pfc_strdup(r->names);
    }
    return NULL;
}

char *pfc_owners_of_paths(const pfc_owners *rules, const pfc_owners *codeowners,
                          const char *const *paths, size_t len)
{
    const size_t most = PFC_MIN(len, (size_t)PFC_OWNERS_MAX_PATHS);
    char **names = pfc_calloc(most + 1, sizeof(*names)), *best = NULL; /* the distinct ones */
    size_t *counts = pfc_calloc(most + 1, sizeof(*counts)), distinct = 0, first = 0;

    for (size_t i = 0; i < most; i++) {
        char *own = pfc_owners_of_path(rules, paths[i]);
        size_t k = 0;

        if (!own)
            own = pfc_owners_of_path(codeowners, paths[i]);
        while (own && k < distinct && strcmp(names[k], own) != 0)
            k++;
        if (own && *own)
            counts[k]++;
        if (own && *own && k == distinct)
            names[distinct++] = own;
        else
            free(own);
    }
    for (size_t k = 1; k < distinct; k++)
        if (counts[k] > counts[first])
            first = k;
    if (distinct)
        best = pfc_strdup(names[first]);
    for (size_t k = 0; k < distinct; k++)
        free(names[k]);
    free(names);
    free(counts);
    return best;
}
