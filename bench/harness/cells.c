/* Which benchmarks are measured on which backends: the suite, the filter and the machine decide. */
#include "bench/harness/cells.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

void pfc_cells_clear(pfc_cells *all)
{
    for (size_t i = 0; i < all->len; i++) {
        pfc_cell *c = &all->items[i];
        for (size_t b = 0; b < c->blocks_len; b++)
            pfc_block_clear(&c->blocks[b]);
        free(c->blocks);
        free(c->reason);
    }
    free(all->items);
    *all = (pfc_cells){ 0 };
}

static void add_cell(pfc_cells *all, const pfc_case *c, const pfc_backend *backend,
                     const char *name)
{
    pfc_cell *made;

    all->items = pfc_grow(all->items, all->len, &all->cap, sizeof(*all->items));
    made = &all->items[all->len++];
    *made = (pfc_cell){ .c = c, .backend = backend, .backend_name = name };
    if (!backend || backend->missing[0]) {
        made->done = true;
        made->status = PFC_STATUS_SKIPPED;
        made->reason = pfc_strdup(backend ? backend->missing : "not part of this build");
    }
}

static bool wanted(const pfc_measure_opts *opts, const char *backend)
{
    for (size_t i = 0; i < opts->backends_len; i++) {
        if (strcmp(opts->backends[i], backend) == 0)
            return true;
    }
    return opts->backends_len == 0;
}

static void add_case_cells(pfc_cells *all, const pfc_case *c, const pfc_backends *backends,
                           const pfc_measure_opts *opts)
{
    for (size_t i = 0; i < backends->len; i++) {
        const pfc_backend *b = &backends->items[i];
        if (pfc_case_wants(c, b->name) && wanted(opts, b->name))
            add_cell(all, c, b, b->name);
    }
    for (size_t i = 0; i < c->backends_len; i++) {
        const char *name = c->backends[i];
        if (!pfc_suite_is_glob(name) && !pfc_backends_find(backends, name) && wanted(opts, name))
            add_cell(all, c, NULL, name);
    }
}

/* Names what there is; the rest is for --list. */
static pfc_code none_left(const pfc_suite *suite, const pfc_backends *backends, pfc_err *err)
{
    pfc_buf cases, names;

    pfc_buf_init(&cases, 150);
    pfc_buf_init(&names, 100);
    for (size_t i = 0; i < suite->cases_len && !cases.overflow; i++)
        pfc_buf_printf(&cases, "%s%s", i ? ", " : "", suite->cases[i].name);
    for (size_t i = 0; i < backends->len && !names.overflow; i++)
        pfc_buf_printf(&names, "%s%s", i ? ", " : "", backends->items[i].name);
    pfc_err_set(err, PFC_EINVAL,
                "suite %s: no benchmark is left by the filter and the backends; there are %s%s on "
                "%s%s (perfci-bench --list shows all)",
                suite->name, pfc_buf_text(&cases), cases.overflow ? ", ..." : "",
                pfc_buf_text(&names), names.overflow ? ", ..." : "");
    pfc_buf_clear(&cases);
    pfc_buf_clear(&names);
    return PFC_EINVAL;
}

pfc_code pfc_cells_select(const pfc_suite *suite, const pfc_backends *backends,
                          const pfc_measure_opts *opts, pfc_cells *all, pfc_err *err)
{
    regex_t filter;
    pfc_code code = PFC_OK;

    if (opts->filter) {
        const int bad = regcomp(&filter, opts->filter, REG_EXTENDED | REG_NOSUB);
        if (bad) {
            char why[128];
            regerror(bad, &filter, why, sizeof(why));
            return pfc_err_set(err, PFC_EINVAL, "filter '%.100s': %s", opts->filter, why);
        }
    }
    for (size_t i = 0; i < suite->cases_len; i++) {
        const pfc_case *c = &suite->cases[i];
        if (!opts->filter || regexec(&filter, c->name, 0, NULL, 0) == 0)
            add_case_cells(all, c, backends, opts);
    }
    if (opts->filter)
        regfree(&filter);
    if (all->len == 0)
        code = none_left(suite, backends, err);
    return code;
}
