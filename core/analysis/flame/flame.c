/* Stacks of `perf script` into a tree that both runs share. */
#include "core/analysis/flame/flame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

#define MAX_LINE 4096 /* bytes; the rest of a longer line is not read */

typedef struct reader {
    pfc_flame *f;
    const char *name;
    size_t side; /* 0: before */
    char *frames[PFC_FLAME_MAX_DEPTH];
    size_t depth;
    uint64_t samples;
    pfc_err *err;
} reader;

static pfc_code add_node(reader *r, const char *name, uint32_t *out)
{
    pfc_flame *f = r->f;

    if (f->len == PFC_FLAME_MAX_NODES)
        return pfc_err_set(r->err, PFC_ETOOBIG, "%.200s: expected at most %d different frames",
                           r->name, PFC_FLAME_MAX_NODES);
    f->nodes = pfc_grow(f->nodes, f->len, &f->cap, sizeof(*f->nodes));
    f->nodes[f->len] =
        (pfc_flame_node){ .name = pfc_strndup(name, strnlen(name, PFC_FLAME_NAME_BYTES)) };
    *out = (uint32_t)f->len++;
    return PFC_OK;
}

static pfc_code child_of(reader *r, uint32_t parent, const char *name, uint32_t *out)
{
    pfc_code code;

    for (uint32_t at = r->f->nodes[parent].first_child; at; at = r->f->nodes[at].next) {
        if (strncmp(r->f->nodes[at].name, name, PFC_FLAME_NAME_BYTES) == 0) {
            *out = at;
            return PFC_OK;
        }
    }
    code = add_node(r, name, out);
    if (code)
        return code;
    r->f->nodes[*out].next = r->f->nodes[parent].first_child;
    r->f->nodes[parent].first_child = *out;
    return PFC_OK;
}

/* The sample that ends; its frames were read from the innermost one on. */
static pfc_code end_sample(reader *r)
{
    uint32_t at = 0;
    pfc_code code = PFC_OK;

    if (r->depth == 0)
        return PFC_OK;
    r->samples++;
    r->f->nodes[0].samples[r->side]++;
    for (size_t i = r->depth; i-- > 0 && !code;) {
        code = child_of(r, at, r->frames[i], &at);
        if (!code)
            r->f->nodes[at].samples[r->side]++;
    }
    if (!code)
        r->f->nodes[at].self[r->side]++;
    for (size_t i = 0; i < r->depth; i++)
        free(r->frames[i]);
    r->depth = 0;
    return code;
}

/* "  7f3a12 gemm+0x1c (/src/bench)": the symbol without its offset. */
static void add_frame(reader *r, char *line)
{
    static char unknown[] = "[unknown]";
    char *name = line + strspn(line, " \t");
    char *end;

    if (r->depth == PFC_FLAME_MAX_DEPTH)
        return;
    name += strspn(name, "0123456789abcdef");
    name += strspn(name, " ");
    end = strrchr(name, '(');
    if (end && end > name && end[-1] == ' ')
        end[-1] = '\0';
    end = strrchr(name, '+');
    if (end && strncmp(end, "+0x", 3) == 0)
        *end = '\0';
    if (!*name)
        name = unknown;
    r->frames[r->depth++] = pfc_strndup(name, strnlen(name, PFC_FLAME_NAME_BYTES));
}

static pfc_code read_lines(reader *r, const char *text, size_t len)
{
    char line[MAX_LINE];
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < len && !code;) {
        const char *end = memchr(text + i, '\n', len - i);
        const size_t bytes = end ? (size_t)(end - text) - i : len - i;
        const size_t kept = PFC_MIN(bytes, sizeof(line) - 1);

        memcpy(line, text + i, kept);
        line[kept] = '\0';
        i += bytes + 1;
        if (line[strspn(line, " \t\r")] == '\0' || (line[0] != ' ' && line[0] != '\t'))
            code = end_sample(r);
        else
            add_frame(r, line);
    }
    return code ? code : end_sample(r);
}

pfc_code pfc_flame_read(pfc_flame *f, bool after, const char *text, size_t len, const char *name,
                        pfc_err *err)
{
    reader r = { .f = f, .name = name, .side = after, .err = err };
    uint32_t root;
    pfc_code code = PFC_OK;

    if (len > PFC_FLAME_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "%.200s: expected at most %u bytes, got %zu", name,
                           PFC_FLAME_MAX_BYTES, len);
    if (f->len == 0)
        code = add_node(&r, "all", &root);
    if (!code)
        code = read_lines(&r, text, len);
    for (size_t i = 0; i < r.depth; i++)
        free(r.frames[i]);
    if (!code && r.samples == 0)
        code = pfc_err_set(err, PFC_EINVAL, "%.200s: expected samples with stacks, got none", name);
    return code;
}

void pfc_flame_clear(pfc_flame *f)
{
    for (size_t i = 0; i < f->len; i++)
        free(f->nodes[i].name);
    free(f->nodes);
    *f = (pfc_flame){ 0 };
}

static double share(const pfc_flame *f, uint64_t samples, size_t side)
{
    const uint64_t all = f->len ? f->nodes[0].samples[side] : 0;

    return all ? (double)samples / (double)all : 0;
}

double pfc_flame_share(const pfc_flame *f, size_t node, bool after)
{
    return share(f, f->nodes[node].samples[after], after);
}

/* ---- by function ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const pfc_flame_function *)a)->name, ((const pfc_flame_function *)b)->name);
}

static int by_change(const void *a, const void *b)
{
    const pfc_flame_function *x = a;
    const pfc_flame_function *y = b;
    const double more = fabs(y->after - y->before) - fabs(x->after - x->before);

    return more > 0 ? 1 : more < 0 ? -1 : strcmp(x->name, y->name);
}

size_t pfc_flame_functions(const pfc_flame *f, pfc_flame_function *out, size_t cap)
{
    pfc_flame_function *all = pfc_calloc(f->len + 1, sizeof(*all));
    size_t len = 0;
    size_t kept = 0;

    for (size_t i = 1; i < f->len; i++)
        all[len++] = (pfc_flame_function){ f->nodes[i].name, share(f, f->nodes[i].self[0], 0),
                                           share(f, f->nodes[i].self[1], 1) };
    if (len > 1)
        qsort(all, len, sizeof(*all), by_name);
    for (size_t i = 0; i < len; i++) {
        if (kept && strcmp(all[kept - 1].name, all[i].name) == 0) {
            all[kept - 1].before += all[i].before;
            all[kept - 1].after += all[i].after;
        } else {
            all[kept++] = all[i];
        }
    }
    len = kept;
    kept = 0;
    for (size_t i = 0; i < len; i++)
        if (all[i].before != all[i].after)
            all[kept++] = all[i];
    if (kept > 1)
        qsort(all, kept, sizeof(*all), by_change);
    kept = PFC_MIN(kept, cap);
    for (size_t i = 0; i < kept; i++)
        out[i] = all[i];
    free(all);
    return kept;
}
