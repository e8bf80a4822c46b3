/*
 * The judgement of a round's series as JSON: as the service answers it in
 * GET /projects/{p}/sessions/{id}, as far as this program knows it.
 */
#include <math.h>

#include "cli/nightly/night_series.h"

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *builds(const pfc_night_series *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->fit->levels_len && i < s->result->len; i++) {
        const pfc_block_level *l = &s->fit->levels[i];

        if (l->visits)
            json_array_append_new(
                list, json_pack("{s:s, s:o, s:I, s:o, s:o, s:o}", "commit",
                                s->result->commits[i].id.hex, "median", number(l->median), "visits",
                                (json_int_t)l->visits, "ratio", number(l->ratio), "ratio_low",
                                number(l->low), "ratio_high", number(l->high)));
    }
    return list;
}

json_t *pfc_night_boundary_json(const pfc_blocks_result *r, const pfc_boundary *b,
                                const char *verdict, double adjusted)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "commit",
                     r->commits[b->to].id.hex, "against", r->commits[b->from].id.hex, "place_after",
                     r->commits[b->place_from].id.hex, "place_until",
                     r->commits[b->place_to].id.hex, "verdict", verdict, "rel_change",
                     number(b->rel_change), "rel_low", number(b->rel_low), "rel_high",
                     number(b->rel_high), "screen_p", number(b->screen_p), "p", number(b->p),
                     "p_adjusted", number(adjusted), "rounds", (json_int_t)b->rounds);
}

json_t *pfc_night_series_json(const pfc_night_series *s, json_t *boundaries)
{
    const pfc_measurement *m = s->like;

    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:o, s:o, s:o}", "benchmark",
                     m->benchmark, "metric", m->metric, "backend", m->backend, "unit", m->unit,
                     "higher_is_better", m->higher_is_better, "exact", m->exact, "judged", true,
                     "noise_rel", number(s->fit->noise_rel), "builds", builds(s), "boundaries",
                     boundaries);
}
