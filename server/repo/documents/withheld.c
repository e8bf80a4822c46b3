#include "server/repo/documents/withheld.h"

#include <math.h>

#include <jansson.h>

/* Ids of commits are hexadecimal, so that nothing needs an escape. */
char *pfc_withheld_detail_text(const char *code, const pfc_withheld_detail *d)
{
    if (d && pfc_streq(code, PFC_WITHHELD_MARGIN))
        return pfc_format("{\"rel\": %.6g, \"margin\": %.6g}", d->rel, d->margin);
    if (d && pfc_streq(code, PFC_WITHHELD_FDR))
        return pfc_format("{\"p\": %.2g, \"anywhere\": %.2g, \"points\": %.0f, \"level\": %.2g, "
                          "\"series\": %.0f, \"fdr\": %.6g}",
                          d->p, d->anywhere, d->points, d->level, d->series, d->fdr);
    if (d && pfc_streq(code, PFC_WITHHELD_NOT_FIRM))
        return pfc_format("{\"points\": %.0f, \"needed\": %.0f, \"ended\": %s}", d->points,
                          d->needed, d->ended ? "true" : "false");
    if (d &&
        (pfc_streq(code, PFC_WITHHELD_NEEDS_BLOCKS) || pfc_streq(code, PFC_WITHHELD_IDENTICAL)))
        return pfc_format("{\"against\": \"%s\", \"commit\": \"%s\"}", d->against, d->commit);
    if (d && pfc_streq(code, PFC_WITHHELD_BUDGET))
        return pfc_format("{\"against\": \"%s\", \"commit\": \"%s\", \"rounds\": %.0f, "
                          "\"rel_low\": %.4g, \"rel_high\": %.4g}",
                          d->against, d->commit, d->rounds, d->rel_low, d->rel_high);
    return pfc_strdup("{}");
}

static double number_of(const json_t *doc, const char *name)
{
    const json_t *value = json_object_get(doc, name);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static const char *keep(const json_t *doc, const char *name, pfc_texts *texts)
{
    const char *text = json_string_value(json_object_get(doc, name));

    texts->items[texts->len] = pfc_strdup(text ? text : "");
    return texts->items[texts->len++];
}

void pfc_withheld_detail_parse(const char *text, pfc_withheld_detail *out, pfc_texts *texts)
{
    json_t *doc = text ? json_loads(text, 0, NULL) : NULL;

    *texts = (pfc_texts){ .items = pfc_calloc(2, sizeof(char *)) };
    *out = (pfc_withheld_detail){
        .rel = number_of(doc, "rel"),
        .margin = number_of(doc, "margin"),
        .points = number_of(doc, "points"),
        .needed = number_of(doc, "needed"),
        .ended = json_is_true(json_object_get(doc, "ended")),
        .p = number_of(doc, "p"),
        .anywhere = number_of(doc, "anywhere"),
        .level = number_of(doc, "level"),
        .series = number_of(doc, "series"),
        .fdr = number_of(doc, "fdr"),
        .against = keep(doc, "against", texts),
        .commit = keep(doc, "commit", texts),
        .rounds = number_of(doc, "rounds"),
        .rel_low = number_of(doc, "rel_low"),
        .rel_high = number_of(doc, "rel_high"),
    };
    json_decref(doc);
}
