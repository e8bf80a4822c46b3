/*
 * perfci roofline: how near each benchmark is to the highest rates of its machine.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"

typedef struct roofline_opts {
    const char *project, *before, *at, *branch, *machine_class, *backend, *select, *url, *data;
} roofline_opts;

static const pfc_option roofline_options[] = {
    PFC_OPT_TEXT("project", "P", roofline_opts, project, "The project's name"),
    PFC_OPT_TEXT("before", "END", roofline_opts, before,
                 "Show the rates at this commit, tag, branch or date, too"),
    PFC_OPT_TEXT("at", "END", roofline_opts, at, "The rates at this commit, tag, branch or date",
                 .fallback = "the newest results"),
    PFC_OPT_TEXT("select", "EXPR", roofline_opts, select,
                 "Only benchmarks that fit, such as \"gemm dtype=bf16 k>=4096\""),
    PFC_OPT_TEXT("backend", "B", roofline_opts, backend, "Only this backend"),
    PFC_OPT_TEXT("machine-class", "C", roofline_opts, machine_class, "Only this class of machines"),
    PFC_OPT_TEXT("branch", "B", roofline_opts, branch, "The branch", .fallback = "the project's"),
    PFC_SERVICE_OPTIONS(roofline_opts, ),
    { 0 },
};

static const char roofline_doc[] =
    "Shows for each benchmark its operations a byte, its operations a second, and the share that "
    "it reaches of the ceiling that limits it. Benchmarks furthest from their ceiling come first."
    "\v"
    "A ceiling is the highest arithmetic for the benchmark's data type, or the bandwidth of the "
    "smallest memory level that holds its bytes; the lesser of both limits. The values are those "
    "of the page \"Roofline\" and of GET /projects/{p}/roofline.\n"
    "\n"
    "Examples:\n"
    "  perfci roofline --project kernels\n"
    "  perfci roofline --before v1.2 --select \"gemm dtype=bf16 k>=4096\"\n"
    "  perfci roofline --before main~20 --at main --json\n";

/* "1.25 GFLOP/s" for 1.25e9. Units of counts are binary nowhere: 1 kB is 1000 B. */
static void show_scaled(double v, const char *unit, char out[64])
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
    size_t step = 0;

    while (step + 1 < PFC_ARRAY_LEN(prefixes) && fabs(v) >= 999.95) {
        v /= 1000;
        step++;
    }
    (void)snprintf(out, 64, "%.4g %s%.40s", v, prefixes[step], unit);
}

static void put_scaled(pfc_table *table, size_t col, const json_t *value, const char *unit)
{
    char text[64];

    if (!json_is_number(value))
        return;
    show_scaled(json_number_value(value), unit, text);
    pfc_table_number(table, col, text, json_number_value(value));
}

static void put_intensity(pfc_table *table, size_t col, const json_t *value)
{
    char text[32];

    if (!json_is_number(value))
        return;
    (void)snprintf(text, sizeof(text), "%.3g", json_number_value(value));
    pfc_table_number(table, col, text, json_number_value(value));
}

static void put_reached(pfc_table *table, size_t col, const json_t *value)
{
    char text[32];

    if (!json_is_number(value))
        return;
    (void)snprintf(text, sizeof(text), "%.1f %%", 100 * json_number_value(value));
    pfc_table_number(table, col, text, json_number_value(value));
}

static const json_t *ceiling_of(const json_t *answer, const json_t *point, const char *kind)
{
    const json_t *index = json_object_get(point, kind);

    return json_is_integer(index) ? json_array_get(json_object_get(answer, "ceilings"),
                                                   (size_t)json_integer_value(index))
                                  : NULL;
}

/* Where no arithmetic is known, it is not known whether the operations are floating-point ones. */
static const char *unit_of(const json_t *answer, const json_t *point)
{
    const json_t *compute = ceiling_of(answer, point, "compute");

    return compute ? pfc_browse_string(compute, "unit") : "OP/s";
}

static void put_limit(pfc_table *table, size_t col, const json_t *answer, const json_t *point)
{
    const char *by = json_string_value(json_object_get(point, "limited_by"));
    const bool compute = ceiling_of(answer, point, "compute") != NULL;
    const bool memory = ceiling_of(answer, point, "memory") != NULL;

    if (by)
        pfc_table_set(table, col, pfc_browse_string(ceiling_of(answer, point, by), "name"));
    else
        pfc_table_setf(table, col, "no ceiling of %s%s%s is known", compute ? "" : "arithmetic",
                       compute || memory ? "" : " and ", memory ? "" : "memory");
}

/* A pair to sort by: the share that a benchmark reaches, and where it is in the answer. */
typedef struct place {
    double fraction;
    size_t index;
} place;

static int by_fraction(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->fraction != y->fraction)
        return x->fraction < y->fraction ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void print_row(pfc_table *table, const json_t *answer, const json_t *one, bool before)
{
    const json_t *now = json_object_get(one, "b"), *then = json_object_get(one, "a");
    size_t col = 0;

    pfc_table_row(table);
    pfc_browse_text(table, col++, one, "benchmark");
    pfc_browse_text(table, col++, one, "backend");
    pfc_browse_text(table, col++, one, "machine_class");
    put_intensity(table, col++, json_object_get(now, "intensity"));
    if (before) {
        put_scaled(table, col++, json_object_get(then, "rate"), unit_of(answer, then));
        put_reached(table, col++, json_object_get(then, "fraction"));
    }
    put_scaled(table, col++, json_object_get(now, "rate"), unit_of(answer, now));
    put_reached(table, col++, json_object_get(now, "fraction"));
    put_limit(table, col++, answer, now);
    pfc_browse_id(table, col, now, "commit");
}

static void print_benchmarks(const pfc_cli *cli, const json_t *answer)
{
    static const pfc_table_col alone[] = { { "BENCHMARK", false }, { "BACKEND", false },
                                           { "MACHINE", false },   { "OP/B", true },
                                           { "RATE", true },       { "REACHED", true },
                                           { "OF", false },        { "COMMIT", false } };
    static const pfc_table_col both[] = { { "BENCHMARK", false }, { "BACKEND", false },
                                          { "MACHINE", false },   { "OP/B", true },
                                          { "BEFORE", true },     { "REACHED BEFORE", true },
                                          { "RATE", true },       { "REACHED", true },
                                          { "OF", false },        { "COMMIT", false } };
    const json_t *list = json_object_get(answer, "benchmarks");
    const size_t len = json_array_size(list);
    const bool before = json_is_string(json_object_get(answer, "a"));
    place *order = pfc_calloc(len + 1, sizeof(*order));
    pfc_table *table = before ? pfc_table_new(cli, both, PFC_ARRAY_LEN(both))
                              : pfc_table_new(cli, alone, PFC_ARRAY_LEN(alone));

    for (size_t i = 0; i < len; i++) {
        const json_t *fraction =
            json_object_get(json_object_get(json_array_get(list, i), "b"), "fraction");

        order[i] =
            (place){ json_is_number(fraction) ? json_number_value(fraction) : (double)INFINITY, i };
    }
    if (len > 1)
        qsort(order, len, sizeof(*order), by_fraction);
    for (size_t i = 0; i < len; i++)
        print_row(table, answer, json_array_get(list, order[i].index), before);
    pfc_table_print(table);
    free(order);
}

/* A ceiling with the same value at both commits is listed once. */
static bool listed_before(const json_t *list, size_t at)
{
    static const char *const keys[] = { "machine_class", "backend", "name", "value" };
    const json_t *one = json_array_get(list, at);

    for (size_t i = 0; i < at; i++) {
        size_t same = 0;

        for (size_t k = 0; k < PFC_ARRAY_LEN(keys); k++)
            same += json_equal(json_object_get(json_array_get(list, i), keys[k]),
                               json_object_get(one, keys[k])) != 0;
        if (same == PFC_ARRAY_LEN(keys))
            return true;
    }
    return false;
}

static void print_ceilings(const pfc_cli *cli, const json_t *answer)
{
    static const pfc_table_col cols[] = { { "CEILING", false }, { "RATE", true },
                                          { "UP TO", true },    { "BACKEND", false },
                                          { "MACHINE", false }, { "SOURCE", false },
                                          { "MEASURED", false } };
    const json_t *list = json_object_get(answer, "ceilings");
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        if (listed_before(list, i))
            continue;
        pfc_table_row(table);
        pfc_browse_text(table, 0, one, "name");
        put_scaled(table, 1, json_object_get(one, "value"), pfc_browse_string(one, "unit"));
        put_scaled(table, 2, json_object_get(one, "capacity_bytes"), "B");
        pfc_browse_text(table, 3, one, "backend");
        pfc_browse_text(table, 4, one, "machine_class");
        pfc_browse_text(table, 5, one, "source");
        if (pfc_streq(pfc_browse_string(one, "source"), "measured"))
            pfc_browse_when(table, 6, json_object_get(one, "at"));
    }
    pfc_table_print(table);
}

static void print_answer(const pfc_cli *cli, const json_t *answer)
{
    static const pfc_browse_col cols[] = { { "BENCHMARK", "benchmark", PFC_BROWSE_TEXT },
                                           { "BACKEND", "backend", PFC_BROWSE_TEXT },
                                           { "MACHINE", "machine_class", PFC_BROWSE_TEXT },
                                           { "WHY", "reason", PFC_BROWSE_TEXT } };
    const json_t *unknown = json_object_get(answer, "unknown");
    const json_t *fields = json_object_get(answer, "unknown_fields");
    const json_int_t left_out = json_integer_value(json_object_get(answer, "left_out"));
    const char *before = pfc_browse_string(answer, "a_how");
    const char *now = pfc_browse_string(answer, "b_how");

    print_benchmarks(cli, answer);
    if (cli->csv)
        return; /* rows and nothing else */
    if (json_array_size(json_object_get(answer, "ceilings"))) {
        pfc_out("\n");
        print_ceilings(cli, answer);
    }
    if (json_array_size(unknown)) {
        pfc_out("\nWithout a place:\n");
        pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), false, unknown);
    }
    if (left_out)
        pfc_out("%lld more without a place\n", (long long)left_out);
    pfc_out("\n%zu of %lld benchmarks on branch %s\n",
            json_array_size(json_object_get(answer, "benchmarks")),
            (long long)json_integer_value(json_object_get(answer, "matched")),
            pfc_browse_string(answer, "branch"));
    if (*before)
        pfc_out("before: %.500s\n", before);
    if (*now)
        pfc_out("at: %.500s\n", now);
    for (size_t i = 0; i < json_array_size(fields); i++)
        pfc_out("no series has \"%.200s\"\n", json_string_value(json_array_get(fields, i)));
}

static int cmd_roofline(pfc_cli *cli, int argc, char **argv)
{
    roofline_opts o = { 0 };
    char *project = NULL;
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    pfc_buf path;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_roofline, argc, argv, &o);
    pfc_buf_init(&path, 16384);
    code = pfc_api_begin(o.url, o.data, o.project, &conf, &project, &http, &err);
    pfc_buf_printf(&path, "/api/v1/projects/%s/roofline", project ? project : "");
    pfc_browse_query(&path, "branch", o.branch);
    pfc_browse_query(&path, "a", o.before);
    pfc_browse_query(&path, "b", o.at);
    pfc_browse_query(&path, "machine_class", o.machine_class);
    pfc_browse_query(&path, "backend", o.backend);
    pfc_browse_query(&path, "select", o.select);
    if (!code)
        code = pfc_buf_check(&path, "the options", &err);
    if (!code)
        code = pfc_http_json(http, "GET", pfc_buf_text(&path), NULL, NULL, &answer, &err);
    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code)
        print_answer(cli, answer);
    json_decref(answer);
    pfc_buf_clear(&path);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    free(project);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_roofline = {
    .name = "roofline",
    .summary = "how near benchmarks are to the highest rates of their machine",
    .run = cmd_roofline,
    .options = roofline_options,
    .doc = roofline_doc,
};
