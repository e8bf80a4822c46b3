/*
 * Series that a machine measures at two speeds: their changes disappear and return at the same
 * place. The machines are stored, because they are the likely cause of a step between the levels.
 */
#include "server/services/detect/flaps.h"

#include <math.h>
#include <stdlib.h>

#include "server/repo/sql/withheld.h"
#include "server/services/detect/detect.h"

#define NEWEST    200  /* points that count */
#define NEAR_PART 0.25 /* of the distance between two levels: a nearer point is at the level */
#define LEAST     2    /* points of a machine at each level */
#define MACHINES  16   /* named at most */

/* Whether machine `name` shows both levels in h's points from `from` on. */
static bool shows_both(const pfc_history *h, size_t from, const char *name, double before,
                       double after)
{
    const double near = NEAR_PART * fabs(after - before);
    size_t at_before = 0, at_after = 0;

    for (size_t i = from; i < h->len; i++) {
        if (!pfc_streq(h->meta[i].machine, name))
            continue;
        at_before += fabs(h->points[i].v - before) <= near;
        at_after += fabs(h->points[i].v - after) <= near;
    }
    return at_before >= LEAST && at_after >= LEAST;
}

static bool is_named(const char *const *names, size_t len, const char *name)
{
    for (size_t i = 0; i < len; i++) {
        if (pfc_streq(names[i], name))
            return true;
    }
    return false;
}

pfc_code pfc_flaps_note(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                        const pfc_history *h, pfc_err *err)
{
    const size_t from = h->len > NEWEST ? h->len - NEWEST : 0;
    const char *names[MACHINES];
    size_t len = 0;
    pfc_sql_series_flaps_rows flaps = { 0 };
    pfc_code code;

    code = pfc_sql_series_flaps(
        tx,
        &(pfc_sql_series_flaps_args){ .project_id = project_id,
                                      .series_id = series->id,
                                      .branch = series->branch,
                                      .position = h->len ? h->meta[from].position : 0 },
        &flaps, err);
    for (size_t k = 0; !code && k < flaps.len; k++) {
        for (size_t i = from; i < h->len && len < MACHINES; i++) {
            const char *name = h->meta[i].machine;

            if (!is_named(names, len, name) &&
                shows_both(h, from, name, flaps.items[k].before, flaps.items[k].after))
                names[len++] = name;
        }
    }
    if (!code)
        code =
            pfc_sql_series_two_speeds(tx,
                                      &(pfc_sql_series_two_speeds_args){ .project_id = project_id,
                                                                         .series_id = series->id,
                                                                         .machines = names,
                                                                         .machines_len = len },
                                      err);
    pfc_rows_clear(&flaps);
    return code;
}
