/*
 * `/perfci bisect METRIC`: a search over the pull request's own commits, which the forge lists. The
 * answer says what is expected; it is edited when the search and the check of its culprit end.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/forge/forge.h"
#include "server/bot/internal.h"

enum { NAMES_MAX = 8 };

/* ---- what to search for ---- */

/* The row of the metric in the comparison of this head: the regression with the largest change,
 * else the largest change. NULL: no row has the metric. */
static const json_t *row_of(const json_t *rows, const char *metric)
{
    const json_t *best = NULL, *row;
    double largest = -1;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "metric"));
        const char *verdict = json_string_value(json_object_get(row, "verdict"));
        const double change = fabs(json_number_value(json_object_get(row, "rel_change")));
        const double rank = change + (pfc_streq(verdict, "regression") ? 1e6 : 0);

        if (pfc_streq(name, metric) && rank > largest) {
            best = row;
            largest = rank;
        }
    }
    return best;
}

static bool is_named_before(const json_t *rows, size_t end, const char *metric)
{
    for (size_t i = 0; i < end; i++)
        if (pfc_streq(json_string_value(json_object_get(json_array_get(rows, i), "metric")),
                      metric))
            return true;
    return false;
}

static void put_metrics(const json_t *rows, pfc_buf *out)
{
    size_t named = 0, i;
    const json_t *row;

    json_array_foreach(rows, i, row)
    {
        const char *metric = json_string_value(json_object_get(row, "metric"));

        if (!metric || is_named_before(rows, i, metric))
            continue;
        if (named++ == NAMES_MAX) {
            pfc_buf_puts(out, ", ...");
            break;
        }
        pfc_buf_puts(out, named == 1 ? " " : ", ");
        pfc_markdown_code(out, metric);
    }
}

/* ---- starting ---- */

typedef struct asked {
    const char *actor, *metric;
    int64_t comment_id;
    json_t *document; /* the comparison of this head; NULL: none */
    pfc_forge_line line;
    bool refused;
    pfc_buf *answer;
} asked;

static void refuse(asked *a, const char *sentence)
{
    a->refused = true;
    pfc_buf_puts(a->answer, sentence);
}

/* A search of another comment for the same thing. */
static pfc_code find_other(const pfc_look *look, asked *a, pfc_err *err)
{
    pfc_pull_bisections open = { 0 };
    pfc_code code = pfc_pull_bisections_open(look->db, &look->key, &open, err);

    for (size_t i = 0; !code && i < open.len && !a->answer->len; i++) {
        const pfc_pull_bisection *b = &open.items[i];

        if (b->comment_id != a->comment_id && pfc_streq(b->now, "running") &&
            pfc_streq(b->metric, a->metric) &&
            pfc_streq(b->head_sha, look->pulls.items[0].head_sha))
            pfc_buf_printf(a->answer, "Bisection %lld searches this head already.",
                           (long long)b->bisection_id);
    }
    pfc_rows_clear(&open);
    return code;
}

static void check_pull(const pfc_look *look, asked *a)
{
    const pfc_pull *p = &look->pulls.items[0];
    const pfc_pull_measurement *m = look->newest.len ? &look->newest.items[0] : NULL;
    const json_t *rows;

    if (!p->open) {
        refuse(a, "The pull request is closed.");
    } else if (!p->head_sha || !p->merge_base) {
        refuse(a, "The head or the merge base is not known.");
    } else if (p->fork && !pfc_streq(p->allowed_sha, p->head_sha)) {
        refuse(a, "The head of a fork is measured after `/perfci allow`.");
    } else if (m && pfc_streq(m->verdict, "identical")) {
        refuse(a, "Head and base are identical: there is nothing to search.");
    } else if (m && m->document_json) {
        a->document = json_loads(m->document_json, 0, NULL);
        rows = json_object_get(a->document, "rows");
        if (json_array_size(rows) > 0 && !row_of(rows, a->metric)) {
            refuse(a, "The comparison of this head has no such metric. It has");
            put_metrics(rows, a->answer);
            pfc_buf_putc(a->answer, '.');
        }
    }
}

/* The forge's list may be no line: then its sentence is the answer. */
static pfc_code read_line(const pfc_look *look, asked *a, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    pfc_err why = { 0 };
    pfc_code code = pfc_forge_line_get(look->forge, p->repo, p->number, p->merge_base, p->head_sha,
                                       &a->line, &why);

    if (code == PFC_EINVAL) {
        a->refused = true;
        pfc_markdown_text(a->answer, why.msg);
        return PFC_OK;
    }
    if (code)
        return pfc_err_set(err, code, "%s", why.msg);
    if (a->line.len == 2)
        refuse(a, "The pull request has one commit: there is nothing to search.");
    return PFC_OK;
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));

    return text && text[0] ? text : NULL;
}

static pfc_code show(const pfc_look *look, int64_t id, pfc_buf *out, pfc_err *err)
{
    pfc_bisections rows = { 0 };
    pfc_bisection_detail detail = { 0 };
    pfc_code code = pfc_bisections_get(look->db, id, &rows, err);

    if (!code)
        code = pfc_bisection_detail_get(look->db, look->key.project_id, id, &detail, err);
    if (!code)
        pfc_pull_bisection_text(&look->pulls.items[0], &rows.items[0], &detail.cost,
                                &detail.verifications, look->link, out);
    pfc_bisection_detail_clear(&detail);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code start(const pfc_look *look, asked *a, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    const json_t *row = row_of(json_object_get(a->document, "rows"), a->metric);
    const json_t *change = json_object_get(row, "rel_change");
    const pfc_pull_search search = {
        .metric = a->metric,
        .benchmark = text_of(row, "benchmark"),
        .backend = text_of(row, "backend"),
        .rel_change = json_is_number(change) ? json_number_value(change) : (double)NAN,
        .line = (const char *const *)a->line.ids,
        .line_len = a->line.len,
    };
    pfc_err why = { 0 };
    int64_t id = 0;
    pfc_code code = pfc_pull_bisect(look->db, a->actor, p, a->comment_id, &search, &id, &why);

    if (code == PFC_EINVAL) {
        a->refused = true;
        pfc_markdown_text(a->answer, why.msg);
        return PFC_OK;
    }
    if (code)
        return pfc_err_set(err, code, "%s", why.msg);
    pfc_log(PFC_INFO, "pull_request_bisection", "project", p->project, "number", p->number,
            "bisection", id, "commits", a->line.len - 1);
    return show(look, id, a->answer, err);
}

pfc_code pfc_look_bisect(pfc_look *look, const char *actor, int64_t comment_id, const char *metric,
                         bool *refused, pfc_buf *answer, pfc_err *err)
{
    asked a = { .actor = actor, .metric = metric, .comment_id = comment_id, .answer = answer };
    pfc_code code = PFC_OK;

    check_pull(look, &a);
    if (!answer->len)
        code = find_other(look, &a, err);
    if (!code && !answer->len)
        code = read_line(look, &a, err);
    if (!code && !answer->len)
        code = start(look, &a, err);
    *refused = a.refused;
    pfc_forge_line_clear(&a.line);
    json_decref(a.document);
    return code;
}

/* ---- following ---- */

static pfc_code follow(pfc_look *look, const pfc_pull_bisection *b, pfc_err *err)
{
    pfc_buf text;
    pfc_code code;

    pfc_buf_init(&text, PFC_COMMENT_MAX_BYTES / 2);
    code = show(look, b->bisection_id, &text, err);
    if (!code)
        code = pfc_look_answer(look, b->comment_id, pfc_buf_text(&text), err);
    if (!code)
        code = pfc_pull_bisection_said(look->db, &look->key, b->bisection_id, b->now, err);
    pfc_buf_clear(&text);
    return code;
}

pfc_code pfc_look_follow(pfc_look *look, pfc_err *err)
{
    pfc_pull_bisections open = { 0 };
    pfc_code code = pfc_pull_bisections_open(look->db, &look->key, &open, err);

    for (size_t i = 0; !code && i < open.len; i++)
        if (!pfc_streq(open.items[i].now, open.items[i].said))
            code = follow(look, &open.items[i], err);
    pfc_rows_clear(&open);
    return code;
}
