/*
 * The mapping of a CSV of one's own, in YAML (or JSON, which is YAML):
 *
 *   name: "{op}/{dtype}"            # the benchmark; default: a column of that name
 *   params: [m, n, k]               # appended as " m=8 n=8 k=8", kept as parameters
 *   backend: device                 # a column
 *   metrics:
 *     time_us: {unit: us, better: lower, name: time, scale: 1.0}
 *     tflops: TFLOP/s               # the unit alone
 *   only: {status: [ok, passed]}    # other rows are left out
 *   broken: {status: failed}        # these rows say that it failed
 *   time: date                      # a history: columns of time, commit and branch
 *   commit: sha
 *   branch: branch
 *   delimiter: ";"
 *   quote: "'"
 *
 * Otava's own configuration (`tests:` with type csv) is read, too: time_column, attributes, metrics
 * (a list, or with direction and scale), csv_options.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/config/yaml.h"
#include "core/import/csv/csv_plan.h"

#define MAX_DEPTH 12

struct pfc_map {
    char *text; /* the document's nodes point into it */
    char *name;
    pfc_yaml yaml;
    struct fy_node *root; /* the mapping; of Otava's file the first CSV test */
    bool otava;
};

static const char *const known[] = { "name", "params", "backend", "metrics",   "only",  "broken",
                                     "time", "commit", "branch",  "delimiter", "quote", NULL };
static const char *const metric_keys[] = { "unit", "better", "name", "scale", NULL };

void pfc_map_free(pfc_map *map)
{
    if (!map)
        return;
    pfc_yaml_clear(&map->yaml);
    free(map->text);
    free(map->name);
    free(map);
}

/* ---- Otava's file ---- */

static struct fy_node *otava_test(struct fy_node *tests)
{
    struct fy_node_pair *pair;
    void *it = NULL;

    while (fy_node_is_mapping(tests) && (pair = fy_node_mapping_iterate(tests, &it)) != NULL) {
        struct fy_node *test = fy_node_pair_value(pair);
        if (test && fy_node_is_mapping(test) && pfc_yaml_get(test, "metrics"))
            return test;
    }
    return NULL;
}

pfc_code pfc_map_load(const char *text, const char *name, pfc_map **out, pfc_err *err)
{
    const size_t len = strlen(text);
    pfc_map *map;
    struct fy_node *root;
    pfc_code code;

    if (len > PFC_IMPORT_MAX_MAP_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "%.200s: %zu bytes, at most %u are read", name, len,
                           PFC_IMPORT_MAX_MAP_BYTES);
    map = pfc_alloc(sizeof(*map));
    map->text = pfc_strdup(text);
    map->name = pfc_strdup(name);
    code = pfc_yaml_load(map->text, len, MAX_DEPTH, map->name, &map->yaml, err);
    root = code ? NULL : fy_document_root(map->yaml.doc);
    if (!code && (!root || !fy_node_is_mapping(root)))
        code = pfc_err_set(err, PFC_EINVAL, "%.200s: expected a mapping of columns", name);
    if (!code && pfc_yaml_get(root, "tests")) {
        map->otava = true;
        map->root = otava_test(pfc_yaml_get(root, "tests"));
        if (!map->root)
            code = pfc_yaml_fault(&map->yaml, root, err, "tests: expected one with metrics");
    } else if (!code) {
        map->root = root;
        code = pfc_yaml_known(&map->yaml, root, "mapping", known, err);
    }
    if (code)
        pfc_map_free(map);
    else
        *out = map;
    return code;
}

static char one_char(const pfc_map *map, const char *key)
{
    struct fy_node *from = map->otava ? pfc_yaml_get(map->root, "csv_options") : map->root;
    struct fy_node *node = from && fy_node_is_mapping(from) ? pfc_yaml_get(from, key) : NULL;
    size_t len = 0;
    const char *text = node && fy_node_is_scalar(node) ? fy_node_get_scalar(node, &len) : NULL;

    if (len == 2 && text[0] == '\\' && text[1] == 't')
        return '\t';
    return len == 1 && text[0] != '\n' && text[0] != '\r' ? text[0] : '\0';
}

char pfc_map_delimiter(const pfc_map *map)
{
    return one_char(map, "delimiter");
}

char pfc_map_quote(const pfc_map *map)
{
    return one_char(map, map->otava ? "quotechar" : "quote");
}

/* ---- the plan ---- */

typedef struct planner {
    const pfc_map *map;
    const pfc_csv *csv;
    pfc_plan *plan;
    pfc_err *err;
} planner;

static pfc_code no_column(const planner *p, struct fy_node *node, const char *name)
{
    pfc_buf have;
    pfc_code code;

    pfc_buf_init(&have, 400);
    for (size_t i = 0; i < p->csv->names_len && have.len < 300; i++)
        pfc_buf_printf(&have, "%s%.60s", i ? ", " : "", p->csv->names[i].text);
    code =
        pfc_yaml_fault(&p->map->yaml, node, p->err, "the table has no column \"%.80s\" (it has %s)",
                       name, pfc_buf_text(&have));
    pfc_buf_clear(&have);
    return code;
}

/* Column that a scalar names. */
static pfc_code column_of(const planner *p, struct fy_node *node, const char *what, size_t *out)
{
    char *name = NULL;
    pfc_code code = pfc_yaml_text(&p->map->yaml, node, what, PFC_WIRE_MAX_TEXT, &name, p->err);

    if (code)
        return code;
    *out = pfc_csv_column1(p->csv, name);
    if (*out == SIZE_MAX)
        code = no_column(p, node, name);
    free(name);
    return code;
}

static pfc_code optional_column(const planner *p, const char *key, size_t *out)
{
    struct fy_node *node = pfc_yaml_get(p->map->root, key);

    return node ? column_of(p, node, key, out) : PFC_OK;
}

/* Splits "{op}/{dtype}" into alternating texts and cells. */
static pfc_code plan_name(const planner *p, struct fy_node *node)
{
    char *text = NULL;
    pfc_code code = pfc_yaml_text(&p->map->yaml, node, "name", PFC_WIRE_MAX_TEXT, &text, p->err);
    const char *at = text;

    while (!code && *at) {
        const size_t literal = strcspn(at, "{");
        const char *open = at + literal;
        const char *close = *open ? strchr(open, '}') : NULL;
        char *column;
        size_t i;

        if (*open && !close) {
            code = pfc_yaml_fault(&p->map->yaml, node, p->err, "name: a { without its }");
            break;
        }
        if (!close) {
            pfc_plan_part_add(p->plan, at, literal, SIZE_MAX);
            break;
        }
        column = pfc_strndup(open + 1, (size_t)(close - open - 1));
        i = pfc_csv_column1(p->csv, column);
        if (i == SIZE_MAX)
            code = no_column(p, node, column);
        else
            pfc_plan_part_add(p->plan, at, literal, i);
        free(column);
        at = close + 1;
    }
    free(text);
    return code;
}

static pfc_code plan_params(const planner *p)
{
    struct fy_node *list = pfc_yaml_get(p->map->root, "params");
    struct fy_node *item;
    void *it = NULL;
    pfc_code code = PFC_OK;

    if (!list)
        return PFC_OK;
    code = pfc_yaml_want_sequence(&p->map->yaml, list, "params", p->err);
    while (!code && (item = fy_node_sequence_iterate(list, &it)) != NULL) {
        size_t i = SIZE_MAX;
        code = column_of(p, item, "params", &i);
        if (!code) {
            char *text = pfc_format("%s%s=", p->plan->parts_len ? " " : "", p->csv->names[i].text);
            pfc_plan_part_add(p->plan, text, strlen(text), i);
            pfc_plan_param_add(p->plan, i);
            free(text);
        }
    }
    return code;
}

static pfc_code set_better(const planner *p, struct fy_node *node, pfc_plan_metric *m)
{
    char *word = NULL;
    pfc_code code = pfc_yaml_text(&p->map->yaml, node, "better", 40, &word, p->err);

    if (!code && strcmp(word, "higher") != 0 && strcmp(word, "lower") != 0)
        code = pfc_yaml_fault(&p->map->yaml, node, p->err,
                              "better: expected higher or lower, got \"%.40s\"", word);
    if (!code) {
        m->has_direction = true;
        m->higher_is_better = strcmp(word, "higher") == 0;
    }
    free(word);
    return code;
}

static pfc_code set_unit(const planner *p, struct fy_node *node, pfc_plan_metric *m)
{
    char *unit = NULL;
    pfc_code code = pfc_yaml_text(&p->map->yaml, node, "unit", PFC_WIRE_MAX_NAME, &unit, p->err);

    if (!code) {
        free(m->unit);
        m->unit = pfc_strdup(pfc_import_unit_spelled(unit));
    }
    free(unit);
    return code;
}

static pfc_code metric_body(const planner *p, struct fy_node *body, pfc_plan_metric *m)
{
    struct fy_node *unit = pfc_yaml_get(body, "unit");
    struct fy_node *better = pfc_yaml_get(body, "better");
    struct fy_node *scale = pfc_yaml_get(body, "scale");
    struct fy_node *name = pfc_yaml_get(body, "name");
    struct fy_node *direction = p->map->otava ? pfc_yaml_get(body, "direction") : NULL;
    int64_t sign = 1;
    pfc_code code = PFC_OK;

    if (!p->map->otava)
        code = pfc_yaml_known(&p->map->yaml, body, "metric", metric_keys, p->err);
    if (!code && unit)
        code = set_unit(p, unit, m);
    if (!code && better)
        code = set_better(p, better, m);
    if (!code && scale)
        code = pfc_yaml_double(&p->map->yaml, scale, "scale", -1e30, 1e30, &m->scale, p->err);
    if (!code && name) {
        free(m->name);
        m->name = NULL;
        code = pfc_yaml_text(&p->map->yaml, name, "name", PFC_WIRE_MAX_NAME, &m->name, p->err);
    }
    if (!code && direction) {
        code = pfc_yaml_i64(&p->map->yaml, direction, "direction", -1, 1, &sign, p->err);
        m->has_direction = true;
        m->higher_is_better = sign > 0;
    }
    return code;
}

static pfc_code plan_metric(const planner *p, struct fy_node *key, struct fy_node *value)
{
    struct fy_node *column =
        p->map->otava && value && fy_node_is_mapping(value) ? pfc_yaml_get(value, "column") : NULL;
    size_t i = SIZE_MAX;
    pfc_plan_metric *m;
    pfc_code code = column_of(p, column ? column : key, "metrics", &i);

    if (code)
        return code;
    m = pfc_plan_metric_add(p->plan, i, p->csv->names[i]);
    if (p->map->otava) { /* its default */
        m->has_direction = true;
        m->higher_is_better = true;
    }
    if (value && fy_node_is_mapping(value))
        return metric_body(p, value, m);
    if (value && fy_node_is_scalar(value) && !p->map->otava)
        return set_unit(p, value, m);
    return PFC_OK;
}

static pfc_code plan_metrics(const planner *p)
{
    struct fy_node *metrics = pfc_yaml_get(p->map->root, "metrics");
    struct fy_node *item;
    struct fy_node_pair *pair;
    void *it = NULL;
    pfc_code code = PFC_OK;

    if (metrics && fy_node_is_sequence(metrics)) {
        while (!code && (item = fy_node_sequence_iterate(metrics, &it)) != NULL)
            code = plan_metric(p, item, NULL);
    } else if (metrics && fy_node_is_mapping(metrics)) {
        while (!code && (pair = fy_node_mapping_iterate(metrics, &it)) != NULL)
            code = plan_metric(p, fy_node_pair_key(pair), fy_node_pair_value(pair));
    }
    if (!code && p->plan->metrics_len == 0)
        code = pfc_yaml_fault(&p->map->yaml, metrics ? metrics : p->map->root, p->err,
                              "metrics: expected the columns that hold results");
    return code;
}

/* "status: [ok, passed]" or "status: ok" under `only` or `broken`. */
static pfc_code plan_filter(const planner *p, const char *name, bool broken)
{
    struct fy_node *map = p->map->otava ? NULL : pfc_yaml_get(p->map->root, name);
    struct fy_node_pair *pair;
    void *it = NULL;
    pfc_code code = map ? pfc_yaml_want_mapping(&p->map->yaml, map, name, p->err) : PFC_OK;

    while (!code && map && (pair = fy_node_mapping_iterate(map, &it)) != NULL) {
        struct fy_node *value = fy_node_pair_value(pair);
        struct fy_node *item;
        pfc_plan_filter *f;
        void *vt = NULL;
        size_t column = SIZE_MAX;
        char *text = NULL;

        code = column_of(p, fy_node_pair_key(pair), name, &column);
        if (code)
            break;
        f = pfc_plan_filter_add(p->plan, column);
        f->broken = broken;
        if (value && fy_node_is_sequence(value)) {
            while (!code && (item = fy_node_sequence_iterate(value, &vt)) != NULL) {
                code = pfc_yaml_text(&p->map->yaml, item, name, PFC_WIRE_MAX_TEXT, &text, p->err);
                if (!code)
                    pfc_plan_filter_value(f, text, strlen(text));
                free(text);
                text = NULL;
            }
        } else {
            code = pfc_yaml_text(&p->map->yaml, value, name, PFC_WIRE_MAX_TEXT, &text, p->err);
            if (!code)
                pfc_plan_filter_value(f, text, strlen(text));
            free(text);
        }
    }
    return code;
}

/* Without `name` a column that is called so is taken, unless it means something else. */
static bool is_taken(const pfc_plan *plan, size_t column)
{
    if (column == plan->backend || column == plan->time || column == plan->commit ||
        column == plan->branch)
        return true;
    for (size_t i = 0; i < plan->metrics_len; i++) {
        if (plan->metrics[i].column == column)
            return true;
    }
    for (size_t i = 0; i < plan->filters_len; i++) {
        if (plan->filters[i].column == column)
            return true;
    }
    return false;
}

static void plan_default_name(const planner *p)
{
    static const char *const usual[] = { "name",      "benchmark", "kernel", "op",
                                         "operation", "test",      NULL };
    const size_t i = pfc_csv_column(p->csv, usual);

    if (i != SIZE_MAX && !is_taken(p->plan, i))
        pfc_plan_part_add(p->plan, "", 0, i);
}

pfc_code pfc_map_plan(const pfc_map *map, const pfc_csv *csv, pfc_plan *plan, pfc_err *err)
{
    const planner p = { map, csv, plan, err };
    struct fy_node *name = map->otava ? NULL : pfc_yaml_get(map->root, "name");
    pfc_code code = plan_metrics(&p);

    if (!code)
        code = optional_column(&p, map->otava ? "time_column" : "time", &plan->time);
    if (!code && !map->otava)
        code = optional_column(&p, "commit", &plan->commit);
    if (!code && !map->otava)
        code = optional_column(&p, "branch", &plan->branch);
    if (!code && !map->otava)
        code = optional_column(&p, "backend", &plan->backend);
    if (map->otava) {
        plan->commit = pfc_csv_column1(csv, "commit");
        plan->branch = pfc_csv_column1(csv, "branch");
    }
    if (!code)
        code = plan_filter(&p, "only", false);
    if (!code)
        code = plan_filter(&p, "broken", true);
    if (!code && name)
        code = plan_name(&p, name);
    else if (!code && !map->otava)
        plan_default_name(&p);
    if (!code && !map->otava)
        code = plan_params(&p);
    return code;
}
