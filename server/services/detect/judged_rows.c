/* Rows of judged series: see judged_rows.h. */
#include "server/services/detect/judged_rows.h"

#include <stdlib.h>

#include "server/repo/sql/judging.h"

static void hex_of(const uint8_t *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

char *pfc_steady_text(const pfc_steady *steady)
{
    uint8_t bytes[PFC_STEADY_BYTES];
    const size_t len = pfc_steady_save(steady, bytes);
    char *text = pfc_calloc(2 * len + 1, 1);

    hex_of(bytes, len, text);
    return text;
}

/* Columns of whole numbers. */
enum {
    IDS,
    FIRSTS,
    LASTS,
    POINTS,
    COMMITS,
    WATCHING,
    WATCHING_OF,
    LEVEL,
    SETTLED,
    SETTLED_AT,
    ANCHOR,
    ANCHOR_AT,
    ANCHOR_RUN,
    POSITIONS,
    GENERATIONS,
    COLUMNS
};

struct pfc_judged_rows {
    size_t len, medians_len;
    int64_t *numbers[COLUMNS]; /* each has an element a series */
    double *noise, *detectable, *medians;
    bool *judged;
    char **states;
};

pfc_judged_rows *pfc_judged_rows_new(size_t len)
{
    pfc_judged_rows *rows = pfc_calloc(1, sizeof(*rows));

    for (size_t c = 0; c < COLUMNS; c++)
        rows->numbers[c] = pfc_calloc(len, sizeof(int64_t));
    rows->noise = pfc_calloc(len, sizeof(*rows->noise));
    rows->detectable = pfc_calloc(len, sizeof(*rows->detectable));
    rows->medians = pfc_calloc(len * PFC_SPARK, sizeof(*rows->medians));
    rows->judged = pfc_calloc(len, sizeof(*rows->judged));
    rows->states = pfc_calloc(len, sizeof(*rows->states));
    return rows;
}

void pfc_judged_rows_free(pfc_judged_rows *rows)
{
    for (size_t i = 0; i < rows->len; i++)
        free(rows->states[i]);
    for (size_t c = 0; c < COLUMNS; c++)
        free(rows->numbers[c]);
    free(rows->states);
    free(rows->judged);
    free(rows->medians);
    free(rows->detectable);
    free(rows->noise);
    free(rows);
}

void pfc_judged_rows_add(pfc_judged_rows *rows, const pfc_judged_row *row, const pfc_history *h,
                         const pfc_steady *steady)
{
    const size_t k = rows->len++, first = rows->medians_len;

    for (size_t i = h->len > PFC_SPARK ? h->len - PFC_SPARK : 0; i < h->len; i++)
        rows->medians[rows->medians_len++] = h->meta[i].median;
    const int64_t numbers[COLUMNS] = {
        [IDS] = row->series_id,
        [FIRSTS] = (int64_t)first + 1,
        [LASTS] = (int64_t)rows->medians_len,
        [POINTS] = row->points,
        [COMMITS] = row->last_commit_id,
        [WATCHING] = row->watching,
        [WATCHING_OF] = row->watching_of,
        [LEVEL] = row->level_points,
        [SETTLED] = row->settled.points,
        [SETTLED_AT] = row->settled.position,
        [ANCHOR] = row->settled.anchor_points,
        [ANCHOR_AT] = row->settled.anchor,
        [ANCHOR_RUN] = row->anchor_run,
        [POSITIONS] = row->position,
        [GENERATIONS] = row->generation,
    };
    for (size_t c = 0; c < COLUMNS; c++)
        rows->numbers[c][k] = numbers[c];
    rows->noise[k] = row->noise_rel;
    rows->detectable[k] = row->detectable_rel;
    rows->judged[k] = row->judged;
    rows->states[k] = row->generation ? pfc_steady_text(steady) : pfc_strdup("");
}

pfc_code pfc_judged_rows_store(pfc_tx *tx, int64_t project_id, const pfc_judged_rows *rows,
                               pfc_err *err)
{
    const size_t n = rows->len;

    if (n == 0)
        return PFC_OK;
    return pfc_sql_series_judged(tx,
                                 &(pfc_sql_series_judged_args){
                                     .project_id = project_id,
                                     .medians = rows->medians,
                                     .medians_len = rows->medians_len,
                                     .ids = rows->numbers[IDS],
                                     .ids_len = n,
                                     .firsts = rows->numbers[FIRSTS],
                                     .firsts_len = n,
                                     .lasts = rows->numbers[LASTS],
                                     .lasts_len = n,
                                     .points = rows->numbers[POINTS],
                                     .points_len = n,
                                     .commit_ids = rows->numbers[COMMITS],
                                     .commit_ids_len = n,
                                     .noise_rels = rows->noise,
                                     .noise_rels_len = n,
                                     .watching = rows->numbers[WATCHING],
                                     .watching_len = n,
                                     .detectables = rows->detectable,
                                     .detectables_len = n,
                                     .judged = rows->judged,
                                     .judged_len = n,
                                     .settled_points = rows->numbers[SETTLED],
                                     .settled_points_len = n,
                                     .settled_positions = rows->numbers[SETTLED_AT],
                                     .settled_positions_len = n,
                                     .anchor_points = rows->numbers[ANCHOR],
                                     .anchor_points_len = n,
                                     .anchor_positions = rows->numbers[ANCHOR_AT],
                                     .anchor_positions_len = n,
                                     .anchor_runs = rows->numbers[ANCHOR_RUN],
                                     .anchor_runs_len = n,
                                     .level_points = rows->numbers[LEVEL],
                                     .level_points_len = n,
                                     .watching_of = rows->numbers[WATCHING_OF],
                                     .watching_of_len = n,
                                     .positions = rows->numbers[POSITIONS],
                                     .positions_len = n,
                                     .generations = rows->numbers[GENERATIONS],
                                     .generations_len = n,
                                     .states = (const char *const *)rows->states,
                                     .states_len = n,
                                 },
                                 err);
}
