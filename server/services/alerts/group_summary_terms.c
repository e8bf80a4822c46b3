/*
 * The parameters of a series, as the client sent them, or read from the benchmark's name.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "server/services/alerts/group_summary.h"

#define NAMES_MAX 256 /* distinct parameters of all series that are used */

char *pfc_slice_family(const char *benchmark)
{
    return pfc_strndup(benchmark, strcspn(benchmark, "/"));
}

/* ---- names: "gemm/bf16/m64n64k512" says dtype, m, n and k ---- */

static bool is_dtype(const char *text, size_t len)
{
    static const char *const known[] = { "f64",  "f32",  "tf32",  "f16",  "fp64",  "fp32",
                                         "fp16", "bf16", "fp8",   "fp4",  "i32",   "i16",
                                         "i8",   "i4",   "int32", "int8", "int4",  "int16",
                                         "u8",   "q8",   "q4",    "half", "float", "double" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(known); i++)
        if (strlen(known[i]) == len && strncasecmp(known[i], text, len) == 0)
            return true;
    return false;
}

/* The value of dimension `name` in "m64n64k512"; NULL: none, or the part has another form. */
static char *dimension(const char *part, size_t len, const char *name)
{
    char *value = NULL;

    for (size_t i = 0; i < len;) {
        size_t letters = i, digits;

        while (i < len && (isalpha((unsigned char)part[i]) || part[i] == '_'))
            i++;
        digits = i;
        while (i < len && isdigit((unsigned char)part[i]))
            i++;
        if (digits == letters || i == digits) {
            free(value);
            return NULL;
        }
        if (strlen(name) == digits - letters && strncmp(part + letters, name, strlen(name)) == 0) {
            free(value);
            value = pfc_strndup(part + digits, i - digits);
        }
    }
    return value;
}

/* Calls `each` with the name of every parameter in the benchmark's name. */
static void names_of_name(const char *benchmark, void (*each)(void *into, char *name), void *into)
{
    size_t nth = 0;

    for (const char *part = strchr(benchmark, '/'); part; part = strchr(part, '/')) {
        const size_t len = strcspn(++part, "/"), key = strcspn(part, "=:");

        nth++;
        if (key > 0 && key < len) {
            each(into, pfc_strndup(part, key));
        } else if (is_dtype(part, len)) {
            each(into, pfc_strdup("dtype"));
        } else {
            bool dimensions = len > 0;

            for (size_t i = 0; dimensions && i < len;) {
                const size_t letters = i;
                size_t digits;

                while (i < len && (isalpha((unsigned char)part[i]) || part[i] == '_'))
                    i++;
                digits = i;
                while (i < len && isdigit((unsigned char)part[i]))
                    i++;
                dimensions = digits > letters && i > digits;
            }
            for (size_t i = 0; dimensions && i < len;) {
                const size_t letters = i;

                while (i < len && !isdigit((unsigned char)part[i]))
                    i++;
                each(into, pfc_strndup(part + letters, i - letters));
                while (i < len && isdigit((unsigned char)part[i]))
                    i++;
            }
            if (!dimensions)
                each(into, pfc_format("part %zu", nth));
        }
    }
}

/* The value that the benchmark's name has for the parameter `name`; NULL: none. */
static char *value_of_name(const char *benchmark, const char *name)
{
    size_t nth = 0;

    for (const char *part = strchr(benchmark, '/'); part; part = strchr(part, '/')) {
        const size_t len = strcspn(++part, "/"), key = strcspn(part, "=:");
        char *value = NULL, own[32];

        nth++;
        (void)snprintf(own, sizeof(own), "part %zu", nth);
        if (key > 0 && key < len)
            value = strlen(name) == key && strncmp(name, part, key) == 0
                        ? pfc_strndup(part + key + 1, len - key - 1)
                        : NULL;
        else if (is_dtype(part, len))
            value = strcmp(name, "dtype") == 0 ? pfc_strndup(part, len) : NULL;
        else if (strcmp(name, own) == 0)
            value = pfc_strndup(part, len);
        else
            value = dimension(part, len, name);
        if (value)
            return value;
    }
    return NULL;
}

/* ---- one attribute of one series ---- */

static char *value_of(const pfc_slice_series *s, const char *name)
{
    if (strcmp(name, "backend") == 0)
        return s->backend && *s->backend ? pfc_strdup(s->backend) : NULL;
    if (strcmp(name, "machine") == 0)
        return s->machine_class ? pfc_strdup(s->machine_class) : NULL;
    if (strcmp(name, "metric") == 0)
        return pfc_strdup(s->metric);
    if (strcmp(name, "family") == 0)
        return pfc_slice_family(s->benchmark);
    if (!s->params || s->params->len == 0)
        return value_of_name(s->benchmark, name);
    return pfc_strdup(pfc_labels_get(s->params, name));
}

static bool number_of(const char *text, double *out)
{
    char *end = NULL;

    if (!*text || isspace((unsigned char)*text))
        return false;
    *out = strtod(text, &end);
    return !*end && isfinite(*out);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_size(const void *a, const void *b)
{
    double x = 0, y = 0;

    (void)number_of(*(char *const *)a, &x);
    (void)number_of(*(char *const *)b, &y);
    return x != y ? (x > y) - (x < y) : by_bytes(a, b);
}

/* Distinct ones, in order; takes `texts`' items, which may be NULL. */
static void number_values(pfc_slice_attribute *a, char **texts, size_t len)
{
    int (*order)(const void *, const void *);
    double number;

    a->numeric = true;
    a->values = pfc_calloc(len + 1, sizeof(char *));
    a->of = pfc_calloc(len + 1, sizeof(*a->of));
    for (size_t i = 0; i < len; i++) {
        if (!texts[i])
            continue;
        a->numeric = a->numeric && number_of(texts[i], &number);
        a->values[a->values_len++] = texts[i];
    }
    order = a->numeric ? by_size : by_bytes;
    if (a->values_len > 1)
        qsort(a->values, a->values_len, sizeof(char *), order);
    for (size_t i = 0, kept = 0, n = a->values_len; i < n; i++) {
        if (kept == 0 || strcmp(a->values[kept - 1], a->values[i]) != 0)
            a->values[kept++] = a->values[i];
        a->values_len = kept;
    }
    for (size_t i = 0; i < len; i++) {
        char **at =
            texts[i] ? bsearch(&texts[i], a->values, a->values_len, sizeof(char *), order) : NULL;

        a->of[i] = at ? (int32_t)(at - a->values) : -1;
    }
    for (size_t i = 0; i < a->values_len; i++)
        a->values[i] = pfc_strdup(a->values[i]);
    for (size_t i = 0; i < len; i++)
        free(texts[i]);
}

/* ---- all of them ---- */

typedef struct names {
    char *items[NAMES_MAX];
    size_t len;
} names;

/* Takes the name. */
static void add_name(void *into, char *name)
{
    static const char *const own[] = { "backend", "machine", "metric", "family" };
    names *n = into;
    bool known = n->len == NAMES_MAX || !*name;

    for (size_t i = 0; !known && i < n->len; i++)
        known = strcmp(n->items[i], name) == 0;
    for (size_t i = 0; i < PFC_ARRAY_LEN(own); i++)
        known = known || strcmp(own[i], name) == 0;
    if (known)
        free(name);
    else
        n->items[n->len++] = name;
}

static void add_params(names *n, const pfc_slice_series *s)
{
    for (size_t i = 0; s->params && i < s->params->len; i++)
        add_name(n, pfc_strdup(s->params->items[i].name));
    if (!s->params || s->params->len == 0)
        names_of_name(s->benchmark, add_name, n);
}

/* Texts before numbers; unnamed parts of the name last. */
static int rank(const pfc_slice_attribute *a)
{
    static const char *const fixed[] = { "backend", "machine", "metric", "family" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(fixed); i++)
        if (strcmp(a->name, fixed[i]) == 0)
            return 3 + (int)i;
    if (strncmp(a->name, "part ", 5) == 0)
        return 2;
    return a->numeric;
}

static int by_rank(const void *a, const void *b)
{
    const pfc_slice_attribute *x = a, *y = b;
    const int i = rank(x), k = rank(y);

    return i != k ? i - k : strcmp(x->name, y->name);
}

static void add_attribute(pfc_slice_table *t, const pfc_slice_series *series, const size_t *rows,
                          const char *name)
{
    char **texts = pfc_calloc(t->rows_len + 1, sizeof(char *));
    pfc_slice_attribute *a = &t->items[t->len++];

    a->name = pfc_strdup(name);
    for (size_t i = 0; i < t->rows_len; i++)
        texts[i] = value_of(&series[rows[i]], name);
    number_values(a, texts, t->rows_len);
    free(texts);
}

void pfc_slice_table_make(const pfc_slice_series *series, const size_t *rows, size_t len,
                          pfc_slice_table *out)
{
    static const char *const fixed[] = { "backend", "machine", "metric", "family" };
    names n = { .len = 0 };

    *out = (pfc_slice_table){ .rows_len = len };
    out->hit = pfc_calloc(len + 1, sizeof(bool));
    for (size_t i = 0; i < len; i++) {
        add_params(&n, &series[rows[i]]);
        out->hit[i] = series[rows[i]].hit;
        out->hits += series[rows[i]].hit;
    }
    if (n.len > 1)
        qsort(n.items, n.len, sizeof(char *), by_bytes);
    out->items = pfc_calloc(PFC_SLICE_ATTRIBUTES, sizeof(*out->items));
    for (size_t i = 0; i < PFC_ARRAY_LEN(fixed); i++)
        add_attribute(out, series, rows, fixed[i]);
    for (size_t i = 0; i < n.len; i++) {
        if (out->len < PFC_SLICE_ATTRIBUTES)
            add_attribute(out, series, rows, n.items[i]);
        free(n.items[i]);
    }
    qsort(out->items, out->len, sizeof(*out->items), by_rank);
}

void pfc_slice_table_clear(pfc_slice_table *table)
{
    for (size_t i = 0; i < table->len; i++) {
        for (size_t k = 0; k < table->items[i].values_len; k++)
            free(table->items[i].values[k]);
        free(table->items[i].values);
        free(table->items[i].name);
        free(table->items[i].of);
    }
    free(table->items);
    free(table->hit);
    *table = (pfc_slice_table){ 0 };
}
