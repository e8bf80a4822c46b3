/*
 * Series as the list and the search show them.
 */
#include <stdlib.h>
#include <string.h>

#include "server/repo/tables/repo.h"

/* For words of up to PFC_WIRE_MAX_NAME bytes: each byte escaped, two signs around each word. */
#define PATTERN_BYTES 1024

static pfc_sql_series_list_args series_args(int64_t project_id, int64_t series_id,
                                            const pfc_series_filter *f, pfc_page page)
{
    return (pfc_sql_series_list_args){ .project_id = project_id,
                                       .series_id = series_id,
                                       .metric = f->metric,
                                       .benchmark = f->benchmark,
                                       .backend = f->backend,
                                       .machine_class = f->machine_class,
                                       .branch = f->branch,
                                       .headline_only = f->headline,
                                       .spark_length = PFC_MIN(PFC_MAX(f->spark, 0), 200),
                                       .cursor = page.cursor,
                                       .limit = pfc_page_fetch(page) };
}

static size_t place_of(const pfc_sql_series_order_rows *order, int64_t id)
{
    for (size_t i = 0; i < order->len; i++) {
        if (order->items[i].id == id)
            return i;
    }
    return order->len;
}

/* Puts the rows in the order of the ids. */
static void put_in_order(const pfc_sql_series_order_rows *order, pfc_series_rows *rows)
{
    for (size_t i = 0; i < rows->len; i++) { /* each step puts one row in its place */
        size_t to = place_of(order, rows->items[i].id);

        while (to < rows->len && to != i) {
            const pfc_series row = rows->items[to];

            rows->items[to] = rows->items[i];
            rows->items[i] = row;
            to = place_of(order, rows->items[i].id);
        }
    }
}

/* Appends the word as a pattern of LIKE: it may be anywhere. */
static void add_pattern(pfc_buf *out, const char *word, size_t len)
{
    pfc_buf_puts(out, "%");
    for (size_t i = 0; i < len; i++) {
        if (strchr("%_\\", word[i]))
            pfc_buf_putc(out, '\\');
        pfc_buf_putc(out, word[i]);
    }
    pfc_buf_puts(out, "%");
}

/* Patterns of LIKE: of the first words each its own, which an index of trigrams finds, then of all
 * others, divided by spaces. */
typedef struct patterns {
    pfc_buf words[4];
} patterns;

static void split_words(const char *words, patterns *out)
{
    size_t k = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(out->words); i++)
        pfc_buf_init(&out->words[i], PATTERN_BYTES);
    for (const char *w = words ? words + strspn(words, " ") : ""; *w; w += strspn(w, " ")) {
        const size_t len = strcspn(w, " ");
        pfc_buf *buf = &out->words[PFC_MIN(k, PFC_ARRAY_LEN(out->words) - 1)];

        if (buf->len > 0)
            pfc_buf_putc(buf, ' ');
        add_pattern(buf, w, len);
        w += len;
        k++;
    }
}

static const char *pattern(const patterns *of, size_t k)
{
    return of->words[k].len > 0 ? pfc_buf_text(&of->words[k]) : NULL;
}

/* The time of the last commit changes with each result, so it is in no index. */
static pfc_code expect_few(pfc_tx *tx, pfc_sql_series_order_args asked, pfc_err *err)
{
    pfc_sql_series_order_rows more = { 0 };
    bool many;
    pfc_code code;

    asked.sort = "id";
    asked.cursor = 0;
    asked.skip = PFC_SERIES_MAX_FRESH;
    asked.limit = 1;
    code = pfc_sql_series_order(tx, &asked, &more, err);
    many = more.len > 0;
    pfc_rows_clear(&more);
    if (!code && many)
        code = pfc_err_set(err, PFC_EINVAL,
                           "sort: \"fresh\" sorts at most %d series, and more fit the filter: "
                           "restrict it, or sort by name, change or noise",
                           PFC_SERIES_MAX_FRESH);
    return code;
}

static pfc_code list_sorted(pfc_db *db, int64_t project_id, const pfc_series_filter *f,
                            pfc_page page, pfc_series_rows *out, pfc_err *err)
{
    pfc_sql_series_order_args asked = { .project_id = project_id,
                                        .metric = f->metric,
                                        .benchmark = f->benchmark,
                                        .backend = f->backend,
                                        .machine_class = f->machine_class,
                                        .branch = f->branch,
                                        .headline_only = f->headline,
                                        .change = f->change,
                                        .sort = f->sort     ? f->sort
                                                : f->change ? "name"
                                                            : "id",
                                        .cursor = page.cursor,
                                        .limit = pfc_page_fetch(page) };
    const pfc_series_filter any = { .spark = f->spark };
    pfc_sql_series_list_args args = series_args(project_id, 0, &any, page);
    pfc_sql_series_order_rows order = { 0 };
    int64_t *ids;
    patterns words;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    split_words(f->words, &words);
    asked.word_1 = pattern(&words, 0);
    asked.word_2 = pattern(&words, 1);
    asked.word_3 = pattern(&words, 2);
    asked.more_words = pattern(&words, 3);
    if (!code && pfc_streq(asked.sort, "fresh"))
        code = expect_few(tx, asked, err);
    if (!code)
        code = pfc_sql_series_order(tx, &asked, &order, err);
    ids = pfc_calloc(order.len + 1, sizeof(*ids));
    for (size_t i = 0; i < order.len; i++)
        ids[i] = order.items[i].id;
    args.cursor = 0;
    args.ids = ids;
    args.ids_len = order.len;
    if (!code)
        code = pfc_sql_series_list(tx, &args, out, err);
    if (!code) {
        put_in_order(&order, out);
        pfc_rows_cut(out, page, id);
    }
    free(ids);
    pfc_rows_clear(&order);
    for (size_t i = 0; i < PFC_ARRAY_LEN(words.words); i++)
        pfc_buf_clear(&words.words[i]);
    pfc_tx_free(tx);
    return code;
}

static pfc_code list_by_id(pfc_db *db, int64_t project_id, const pfc_series_filter *filter,
                           pfc_page page, pfc_series_rows *out, pfc_err *err)
{
    const pfc_sql_series_list_args args = series_args(project_id, 0, filter, page);
    pfc_code code = pfc_sql_series_list_once(db, &args, out, err);

    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

pfc_code pfc_series_list(pfc_db *db, int64_t project_id, const pfc_series_filter *filter,
                         pfc_page page, pfc_series_rows *out, pfc_err *err)
{
    if (filter->sort || filter->change || filter->words)
        return list_sorted(db, project_id, filter, page, out, err);
    return list_by_id(db, project_id, filter, page, out, err);
}

pfc_code pfc_series_get(pfc_db *db, int64_t series_id, pfc_series_rows *out, pfc_err *err)
{
    const pfc_series_filter filter = { .spark = 200 };
    const pfc_sql_series_list_args args = series_args(0, series_id, &filter, (pfc_page){ 0 });
    pfc_series_rows rows = { 0 };
    pfc_code code;

    if (series_id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such series");
    code = pfc_sql_series_list_once(db, &args, &rows, err);
    if (!code)
        code = pfc_rows_expect_one(rows.len, "such series", err);
    if (code)
        pfc_rows_clear(&rows);
    else
        *out = rows;
    return code;
}
