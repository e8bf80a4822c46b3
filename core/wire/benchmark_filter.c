/* The benchmarks of a run that --filter and --backend ask for. */
#include "core/wire/benchmark_filter.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"

enum { LIST_BYTES = 280, MAX_NAMES = 64 };

char *pfc_benchmark_only(const char *benchmark)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 4 * PFC_WIRE_MAX_NAME);
    pfc_buf_putc(&buf, '^');
    for (const char *c = benchmark; *c; c++) {
        if (strchr(".[]{}()*+?^$|\\", *c))
            pfc_buf_putc(&buf, '\\');
        pfc_buf_putc(&buf, *c);
    }
    pfc_buf_putc(&buf, '$');
    return pfc_buf_take(&buf);
}

pfc_code pfc_benchmark_matcher_init(pfc_benchmark_matcher *s, const pfc_benchmark_filter *what,
                                    pfc_err *err)
{
    int bad;

    *s = (pfc_benchmark_matcher){ .what = what };
    if (!what->filter)
        return PFC_OK;
    bad = regcomp(&s->expression, what->filter, REG_EXTENDED | REG_NOSUB);
    if (bad) {
        char why[128];

        regerror(bad, &s->expression, why, sizeof(why));
        return pfc_err_set(err, PFC_EINVAL,
                           "--filter \"%.100s\": expected an extended regular expression: %s",
                           what->filter, why);
    }
    s->has_expression = true;
    return PFC_OK;
}

void pfc_benchmark_matcher_clear(pfc_benchmark_matcher *s)
{
    if (s->has_expression)
        regfree(&s->expression);
    *s = (pfc_benchmark_matcher){ 0 };
}

bool pfc_benchmark_matches(const pfc_benchmark_matcher *s, const char *benchmark,
                           const char *backend)
{
    bool wanted = s->what->backends_len == 0;

    for (size_t i = 0; i < s->what->backends_len && !wanted; i++)
        wanted = pfc_streq(s->what->backends[i], backend);
    return wanted && (!s->has_expression || regexec(&s->expression, benchmark, 0, NULL, 0) == 0);
}

void pfc_benchmark_names_add(pfc_benchmark_names *names, const char *benchmark, const char *backend)
{
    char *name =
        backend && backend[0] ? pfc_format("%s on %s", benchmark, backend) : pfc_strdup(benchmark);

    /* More than MAX_NAMES do not fit into the sentence; one more says that it is cut. */
    for (size_t i = 0; i < names->len; i++) {
        if (names->len <= MAX_NAMES && strcmp(names->names[i], name) != 0)
            continue;
        free(name);
        return;
    }
    names->names = pfc_grow(names->names, names->len, &names->cap, sizeof(names->names[0]));
    names->names[names->len++] = name;
}

pfc_code pfc_benchmark_none_matches(const pfc_benchmark_filter *what, pfc_benchmark_names *names,
                                    pfc_err *err)
{
    pfc_buf asked, there;

    pfc_buf_init(&asked, 512);
    pfc_buf_init(&there, 64 * 1024);
    if (what->filter)
        pfc_buf_printf(&asked, " --filter \"%.100s\"", what->filter);
    for (size_t i = 0; i < what->backends_len; i++)
        pfc_buf_printf(&asked, " --backend \"%.60s\"", what->backends[i]);
    for (size_t i = 0; i < names->len; i++) {
        if (there.len + strlen(names->names[i]) > LIST_BYTES && i > 0) {
            pfc_buf_puts(&there, ", ...");
            break;
        }
        pfc_buf_printf(&there, "%s%.*s", i ? ", " : "", (int)LIST_BYTES, names->names[i]);
    }
    pfc_err_set(err, PFC_ENOTFOUND, "no benchmark fits%s; there %s %s", pfc_buf_text(&asked),
                names->len == 1 ? "is" : "are", names->len ? pfc_buf_text(&there) : "none");
    for (size_t i = 0; i < names->len; i++)
        free(names->names[i]);
    free(names->names);
    *names = (pfc_benchmark_names){ 0 };
    pfc_buf_clear(&asked);
    pfc_buf_clear(&there);
    (void)pfc_err_hint(err, "--filter is a regular expression that is searched for in the name; "
                            "--backend is a whole name");
    return PFC_ENOTFOUND;
}

static bool is_canary(const pfc_measurement *m)
{
    return pfc_streq(m->benchmark, PFC_CANARY_BENCHMARK);
}

static pfc_code none_left(const pfc_run *run, const pfc_benchmark_filter *what, pfc_err *err)
{
    pfc_benchmark_names names = { 0 };

    for (size_t i = 0; i < run->measurements_len; i++)
        if (!is_canary(&run->measurements[i]))
            pfc_benchmark_names_add(&names, run->measurements[i].benchmark,
                                    run->measurements[i].backend);
    return pfc_benchmark_none_matches(what, &names, err);
}

pfc_code pfc_run_filter(pfc_run *run, const pfc_benchmark_filter *what, pfc_err *err)
{
    pfc_benchmark_matcher s;
    size_t fitting = 0, kept = 0;
    pfc_code code;

    if (!what->filter && what->backends_len == 0)
        return PFC_OK;
    code = pfc_benchmark_matcher_init(&s, what, err);
    if (code)
        return code;
    for (size_t i = 0; i < run->measurements_len; i++)
        fitting +=
            !is_canary(&run->measurements[i]) &&
            pfc_benchmark_matches(&s, run->measurements[i].benchmark, run->measurements[i].backend);
    for (size_t i = 0; i < run->measurements_len && fitting; i++) {
        pfc_measurement *m = &run->measurements[i];

        if (!is_canary(m) && !pfc_benchmark_matches(&s, m->benchmark, m->backend)) {
            pfc_measurement_clear(m);
            continue;
        }
        if (kept != i) {
            run->measurements[kept] = *m;
            *m = (pfc_measurement){ 0 };
        }
        kept++;
    }
    pfc_benchmark_matcher_clear(&s);
    if (!fitting)
        return none_left(run, what, err);
    run->measurements_len = kept;
    return PFC_OK;
}
