/* Metrics of unknown direction: an error that asks the user, never a guess. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/import/reader/reader.h"

enum { MAX_NAMED = 4 }; /* names in one message */

static int compare_by_benchmark(const void *a, const void *b)
{
    const pfc_measurement *x = *(pfc_measurement *const *)a;
    const pfc_measurement *y = *(pfc_measurement *const *)b;
    const int benchmark = strcmp(x->benchmark, y->benchmark);

    return benchmark ? benchmark : strcmp(x->backend, y->backend);
}

/* Of one run: marks in `kept` the measurements that stay; `unknown` is true for each one that needs
 * a direction from the user. A metric of unknown direction in a benchmark that has one with a
 * direction is left out. */
static void leave_out(const pfc_run *run, bool *unknown, bool *kept)
{
    const size_t n = run->measurements_len;
    const pfc_measurement **order = pfc_calloc(n, sizeof(*order));

    for (size_t i = 0; i < n; i++)
        order[i] = &run->measurements[i];
    qsort(order, n, sizeof(*order), compare_by_benchmark);
    for (size_t from = 0, to; from < n; from = to) {
        bool known = false;

        for (to = from; to < n && compare_by_benchmark(&order[from], &order[to]) == 0; to++)
            known = known || !unknown[order[to] - run->measurements];
        for (size_t i = from; i < to && known; i++) {
            const size_t at = (size_t)(order[i] - run->measurements);
            kept[at] = !unknown[at];
            unknown[at] = false;
        }
    }
    free(order);
}

/* The name to show: every bare number has the metric "value", so that the benchmark is named
 * instead. */
static const char *called(const pfc_measurement *m)
{
    return strcmp(m->metric, "value") == 0 && strcmp(m->benchmark, "command") != 0 &&
                   strcmp(m->benchmark, "headline") != 0
               ? m->benchmark
               : m->metric;
}

typedef struct names {
    const char *of[MAX_NAMED];
    size_t len; /* different ones; those beyond MAX_NAMED are only counted */
} names;

static void add_name(names *n, const char *name)
{
    for (size_t i = 0; i < n->len && i < MAX_NAMED; i++) {
        if (strcmp(n->of[i], name) == 0)
            return;
    }
    if (n->len < MAX_NAMED)
        n->of[n->len] = name;
    n->len++;
}

static void list(const names *n, pfc_buf *out)
{
    pfc_buf_init(out, 4096);
    for (size_t i = 0; i < n->len && i < MAX_NAMED; i++)
        pfc_buf_printf(out, "%s\"%.60s\"", i ? ", " : "", n->of[i]);
    if (n->len > MAX_NAMED)
        pfc_buf_printf(out, " and %zu more", n->len - MAX_NAMED);
}

static void compact(pfc_run *run, const bool *kept)
{
    size_t to = 0;

    for (size_t i = 0; i < run->measurements_len; i++) {
        if (!kept[i])
            pfc_measurement_clear(&run->measurements[i]);
        else
            run->measurements[to++] = run->measurements[i];
    }
    run->measurements_len = to;
}

/* One run whose unknown ones begin at *at in in->unknown. */
static void ask_run(pfc_import *in, size_t *at, names *asked, names *left)
{
    const size_t number = in->unknown[*at].run;
    pfc_run *run = in->done[number];
    const size_t n = run->measurements_len;
    bool *unknown = pfc_calloc(n, sizeof(bool));
    bool *kept = pfc_calloc(n, sizeof(bool));

    memset(kept, true, n);
    for (; *at < in->unknown_len && in->unknown[*at].run == number; (*at)++)
        unknown[in->unknown[*at].index] = true;
    if (!in->format->bare)
        leave_out(run, unknown, kept);
    for (size_t i = 0; i < n; i++) {
        if (unknown[i])
            add_name(asked, called(&run->measurements[i]));
        else if (!kept[i])
            add_name(left, run->measurements[i].metric);
    }
    free(unknown);
    if (left->len > 0 && asked->len == 0) {
        pfc_buf text;
        list(left, &text);
        pfc_import_note(in,
                        "left out, because neither name nor unit states which direction is "
                        "better: %s; include it with --direction NAME=higher or NAME=lower",
                        pfc_buf_text(&text));
        pfc_buf_clear(&text);
        compact(run, kept);
    }
    *left = (names){ .len = 0 };
    free(kept);
}

pfc_code pfc_import_require_directions(pfc_import *in)
{
    names asked = { .len = 0 };
    names left = { .len = 0 };
    pfc_buf text;
    pfc_code code;

    for (size_t at = 0; at < in->unknown_len;)
        ask_run(in, &at, &asked, &left);
    if (asked.len == 0)
        return PFC_OK;
    list(&asked, &text);
    (void)pfc_err_set(in->err, PFC_EINVAL,
                      "direction of %s is not known: expected a name or a unit that states which "
                      "direction is better",
                      pfc_buf_text(&text));
    code = pfc_err_hint(in->err,
                        "pass --direction \"%.40s=higher\" or \"%.40s=lower\", or write it in "
                        "perfci.yaml: \"directions: {%.40s: higher}\"",
                        asked.of[0], asked.of[0], asked.of[0]);
    pfc_buf_clear(&text);
    return code;
}
