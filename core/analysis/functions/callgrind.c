/*
 * Callgrind's format: a line a cost, with names that are written once and numbered. Source: the
 * format's description in valgrind's manual, "Callgrind Format Specification", version 1.
 */
#include <stdlib.h>
#include <string.h>

#include "core/analysis/functions/functions.h"
#include "core/base/base.h"

#define MAX_LINE 4096 /* bytes; the rest of a longer line is not read */

typedef struct reader {
    const char *name;
    size_t line;
    pfc_functions *out;
    size_t first;     /* of this file in out->items */
    size_t *at;       /* by number of the name: its item + 1; 0: none */
    size_t current;   /* item of the costs; SIZE_MAX: no function has begun */
    size_t called;    /* item of the next `calls=` */
    bool of_call;     /* the next cost is that of a call */
    bool events;      /* the line of events came */
    size_t positions; /* numbers before the cost */
    pfc_err *err;
} reader;

static pfc_code wrong(const reader *r, const char *expected, const char *got)
{
    return pfc_err_set(r->err, PFC_EINVAL, "%.200s:%zu: expected %s, got \"%.60s\"", r->name,
                       r->line, expected, got);
}

static pfc_code add_item(reader *r, const char *name, size_t *out)
{
    pfc_functions *f = r->out;

    if (f->len - r->first >= PFC_FUNCTIONS_MAX)
        return pfc_err_set(r->err, PFC_ETOOBIG, "%.200s:%zu: expected at most %d functions",
                           r->name, r->line, PFC_FUNCTIONS_MAX);
    f->items = pfc_grow(f->items, f->len, &f->cap, sizeof(*f->items));
    f->items[f->len] =
        (pfc_function){ .name = pfc_strndup(name, strnlen(name, PFC_FUNCTIONS_NAME_BYTES)) };
    *out = f->len++;
    return PFC_OK;
}

/* "(12) name", "(12)" of a name that came before, or "name". */
static pfc_code function_of(reader *r, const char *text, size_t *out)
{
    char *end = NULL;
    unsigned long number;
    pfc_code code;

    if (text[0] != '(')
        return add_item(r, text, out);
    number = strtoul(text + 1, &end, 10);
    if (end == text + 1 || *end != ')' || number >= PFC_FUNCTIONS_MAX)
        return wrong(r, "\"(NUMBER) NAME\" with a number below 200000", text);
    end++;
    if (*end == '\0') {
        if (!r->at[number])
            return wrong(r, "the number of a name that came before", text);
        *out = r->at[number] - 1;
        return PFC_OK;
    }
    code = add_item(r, end + strspn(end, " "), out);
    if (!code)
        r->at[number] = *out + 1;
    return code;
}

static pfc_code number_of(const reader *r, const char **p, uint64_t *out)
{
    char *end = NULL;

    *p += strspn(*p, " \t");
    if (**p < '0' || **p > '9')
        return wrong(r, "a number", *p);
    *out = strtoull(*p, &end, 0);
    *p = end;
    return PFC_OK;
}

static pfc_code calls(reader *r, const char *text)
{
    uint64_t n = 0;
    pfc_code code = number_of(r, &text, &n);

    if (!code && r->called == SIZE_MAX)
        code = wrong(r, "cfn= before calls=", text);
    if (code)
        return code;
    r->out->items[r->called].calls += n;
    r->of_call = true;
    return PFC_OK;
}

/* Positions, which may be relative, then the events. */
static pfc_code cost(reader *r, const char *text)
{
    uint64_t n = 0;
    pfc_code code;

    for (size_t i = 0; i < r->positions; i++) {
        text += strcspn(text, " \t");
        text += strspn(text, " \t");
    }
    if (*text == '\0') /* events of 0 at the end of a line are left out */
        return PFC_OK;
    code = number_of(r, &text, &n);
    if (!code && !r->events)
        code = wrong(r, "\"events: Ir\" before the first cost", text);
    if (!code && r->current == SIZE_MAX)
        code = wrong(r, "fn= before the first cost", text);
    if (code)
        return code;
    if (!r->of_call) {
        r->out->items[r->current].self += n;
        r->out->total += n;
    }
    r->of_call = false;
    return PFC_OK;
}

static pfc_code header(reader *r, const char *line)
{
    if (strncmp(line, "events:", 7) == 0) {
        line += 7 + strspn(line + 7, " ");
        if (strncmp(line, "Ir", 2) != 0 || (line[2] && line[2] != ' '))
            return wrong(r, "Ir as the first event", line);
        r->events = true;
    } else if (strncmp(line, "positions:", 10) == 0) {
        r->positions = strstr(line, "instr") && strstr(line, "line") ? 2 : 1;
    } else if (strncmp(line, "version:", 8) == 0 && strtoul(line + 8, NULL, 10) != 1) {
        return wrong(r, "version: 1", line);
    }
    return PFC_OK;
}

static pfc_code read_line(reader *r, const char *line)
{
    static const char *const skipped[] = { "ob=",  "fl=",   "fi=",   "fe=",  "cob=", "cfi=",
                                           "cfl=", "jump=", "jcnd=", "jfi=", "jfn=", "#" };

    if (strncmp(line, "fn=", 3) == 0)
        return function_of(r, line + 3, &r->current);
    if (strncmp(line, "cfn=", 4) == 0)
        return function_of(r, line + 4, &r->called);
    if (strncmp(line, "calls=", 6) == 0)
        return calls(r, line + 6);
    if (*line == '+' || *line == '-' || *line == '*' || (*line >= '0' && *line <= '9'))
        return cost(r, line);
    for (size_t i = 0; i < PFC_ARRAY_LEN(skipped); i++)
        if (strncmp(line, skipped[i], strlen(skipped[i])) == 0)
            return PFC_OK;
    if (*line == '\0')
        return PFC_OK;
    return strchr(line, ':') ? header(r, line) : wrong(r, "a line of callgrind's format", line);
}

pfc_code pfc_callgrind_read(const char *text, size_t len, const char *name, pfc_functions *out,
                            pfc_err *err)
{
    reader r = { .name = name,
                 .out = out,
                 .first = out->len,
                 .current = SIZE_MAX,
                 .called = SIZE_MAX,
                 .positions = 1,
                 .err = err };
    char line[MAX_LINE];
    pfc_code code = PFC_OK;

    if (len > PFC_CALLGRIND_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "%.200s: expected at most %u bytes, got %zu", name,
                           PFC_CALLGRIND_MAX_BYTES, len);
    r.at = pfc_calloc(PFC_FUNCTIONS_MAX, sizeof(*r.at));
    for (size_t i = 0; i < len && !code;) {
        const char *end = memchr(text + i, '\n', len - i);
        const size_t bytes = end ? (size_t)(end - text) - i : len - i;
        const size_t kept = PFC_MIN(bytes, sizeof(line) - 1);

        memcpy(line, text + i, kept);
        line[kept] = '\0';
        r.line++;
        code = read_line(&r, line);
        i += bytes + 1;
    }
    if (!code && !r.events)
        code = pfc_err_set(err, PFC_EINVAL,
                           "%.200s:%zu: expected \"events: Ir\", got the end of the file", name,
                           r.line);
    free(r.at);
    return code;
}
