/* The advice for one run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/guidance/priv.h"
#include "core/base/buf.h"

/* The names limiter_RESOURCE of a verdict. */
typedef struct verdict_names {
    char names[PFC_RESOURCES_LEN][32];
    pfc_expr_change changes[PFC_RESOURCES_LEN];
} verdict_names;

static void name_verdict(const pfc_limiter_verdict *verdict, verdict_names *out)
{
    for (pfc_resource i = 0; i < PFC_RESOURCES_LEN; i++) {
        snprintf(out->names[i], sizeof(out->names[i]), "limiter_%s", pfc_resource_name(i));
        out->changes[i] =
            (pfc_expr_change){ .name = out->names[i], .value = verdict && verdict->first == i };
    }
}

/* The numbers that the change sets, behind them those of the verdict, and a place for `gain`. */
typedef struct change_set {
    pfc_expr_change all[MAX_WITH + PFC_RESOURCES_LEN + 1];
    size_t len;
} change_set;

/* False when a number is not available. */
static bool set_changes(const guidance_entry *e, const pfc_expr_scope *now, const verdict_names *v,
                        change_set *out)
{
    out->len = 0;
    for (size_t i = 0; i < e->with_len; i++) {
        const pfc_expr_result r = pfc_expr_eval(e->values[i], now);

        if (!r.available)
            return false;
        out->all[out->len++] = (pfc_expr_change){ .name = e->names[i], .value = r.number };
    }
    memcpy(out->all + out->len, v->changes, sizeof(v->changes));
    out->len += PFC_RESOURCES_LEN;
    return true;
}

/* The numbers that differ from the run's, then the entry's own text. */
static void write_action(const guidance_entry *e, const change_set *changes,
                         const pfc_expr_scope *now, char *out, size_t size)
{
    pfc_buf text;

    pfc_buf_init(&text, size - 1);
    for (size_t i = 0; i < e->with_len; i++) {
        double old = (double)NAN;

        pfc_profile_number_of(now->profile, e->names[i], &old);
        if (changes->all[i].value != old)
            pfc_buf_printf(&text, "%s%s=%.0f", text.len ? " " : "", e->names[i],
                           changes->all[i].value);
    }
    if (e->action[0])
        pfc_buf_printf(&text, "%s%s", text.len ? " " : "", e->action);
    snprintf(out, size, "%s", pfc_buf_text(&text));
    pfc_buf_clear(&text);
}

static double spread_of(const pfc_guidance *g, const guidance_entry *e, const change_set *changes,
                        const pfc_expr_scope *now, double gain)
{
    change_set with_gain = *changes;
    pfc_expr_scope *scope = pfc_alloc(sizeof(*scope));
    pfc_expr_result r;

    with_gain.all[with_gain.len++] = (pfc_expr_change){ .name = "gain", .value = gain };
    pfc_expr_scope_change(scope, now, with_gain.all, with_gain.len);
    r = pfc_expr_eval(e->spread ? e->spread : g->spread, scope);
    free(scope);
    return r.available ? fabs(r.number) : 1.0;
}

/* False when the entry does not apply to the run, or promises too little. */
static bool advise_one(const pfc_guidance *g, const guidance_entry *e, const pfc_expr_scope *now,
                       const verdict_names *names, pfc_expr_scope *then, pfc_advice *out)
{
    change_set changes;
    pfc_expr_result value, gain;
    double spread;

    if (!pfc_expr_true(e->when, now) || !set_changes(e, now, names, &changes))
        return false;
    pfc_expr_scope_change(then, now, changes.all, changes.len);
    gain = pfc_expr_eval(e->gain, then);
    value = pfc_expr_eval(e->value, now);
    if (!value.available || !gain.available || (e->fits && !pfc_expr_true(e->fits, then)))
        return false;
    memset(out, 0, sizeof(*out));
    out->gain = PFC_MIN(gain.number, 1.0);
    spread = spread_of(g, e, &changes, now, out->gain);
    out->low = out->gain - spread;
    if (out->low < g->least)
        return false;
    out->high = PFC_MIN(out->gain + spread, 1.0);
    write_action(e, &changes, now, out->action, sizeof(out->action));
    if (e->with_len && !out->action[0]) /* nothing would change */
        return false;
    snprintf(out->id, sizeof(out->id), "%s", e->id);
    pfc_expr_sentence(e->symptom, e->format, value.number, 0, out->symptom, sizeof(out->symptom));
    snprintf(out->change, sizeof(out->change), "%s", e->change);
    snprintf(out->risk, sizeof(out->risk), "%s", e->risk);
    snprintf(out->effort, sizeof(out->effort), "%s", e->effort);
    return true;
}

/* Keeps the largest gains in order; of equal ones the earlier entry. */
static void insert(pfc_advice *out, size_t *len, const pfc_advice *one)
{
    size_t at = *len;

    while (at > 0 && one->gain > out[at - 1].gain)
        at--;
    if (at == PFC_GUIDANCE_MAX)
        return;
    if (*len < PFC_GUIDANCE_MAX)
        (*len)++;
    memmove(&out[at + 1], &out[at], (*len - at - 1) * sizeof(*out));
    out[at] = *one;
}

size_t pfc_guidance_advise(const pfc_guidance *g, const pfc_profile *p,
                           const pfc_limiter_verdict *verdict, pfc_advice out[PFC_GUIDANCE_MAX])
{
    pfc_expr_scope *scopes = pfc_calloc(3, sizeof(*scopes));
    verdict_names names;
    size_t len = 0;

    name_verdict(verdict, &names);
    pfc_expr_scope_init(&scopes[0], &g->defs, p);
    pfc_expr_scope_change(&scopes[1], &scopes[0], names.changes, PFC_RESOURCES_LEN);
    for (size_t i = 0; i < g->len; i++) {
        pfc_advice one;

        if (advise_one(g, &g->entries[i], &scopes[1], &names, &scopes[2], &one))
            insert(out, &len, &one);
    }
    free(scopes);
    return len;
}
