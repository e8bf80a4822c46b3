/*
 * Findings as SARIF 2.1.0 (OASIS): the sections cited are those of the standard.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/findings/findings.h"

typedef struct rule {
    const char *id, *level, *title, *text;
} rule;

/* By kind; those behind are no results. */
static const rule rules[] = {
    [PFC_FINDING_REGRESSION] = { "performance-regression", "error", "Performance regression",
                                 "A benchmark became slower, or another measure of it worse." },
    [PFC_FINDING_BROKEN] = { "benchmark-broken", "error", "Broken benchmark",
                             "A benchmark does not build, crashes, or gives a wrong result." },
    [PFC_FINDING_NOT_MEASURED] = { "benchmark-not-measured", "warning", "Benchmark not measured",
                                   "There is no result, so nothing is known of its performance." },
    [PFC_FINDING_UNDECIDED] = { "benchmark-undecided", "note", "Undecided benchmark",
                                "The measurements show neither a change nor that there is none." },
};

/* Text as a message: 3.11.6 makes "[text](target)" a link and 3.11.5 makes "{0}" a place for an
 * argument. A blank in between keeps a name of others from being either. */
static json_t *message(const char *text)
{
    char *copy = pfc_format("%s", text);
    json_t *json;
    pfc_buf out;

    pfc_utf8_mend(copy);
    pfc_buf_init(&out, 64 * 1024);
    for (const char *p = copy; *p; p++) {
        pfc_buf_putc(&out, *p);
        if ((p[0] == ']' && p[1] == '(') || (p[0] == '{' && p[1] >= '0' && p[1] <= '9'))
            pfc_buf_putc(&out, ' ');
    }
    json = json_pack("{s:o}", "text", json_stringn_nocheck(pfc_buf_text(&out), out.len));
    pfc_buf_clear(&out);
    free(copy);
    return json;
}

/* A path as a relative reference (RFC 3986): "%" and everything but unreserved characters and
 * slashes are encoded. */
static char *uri_of(const char *path)
{
    pfc_buf out;

    pfc_buf_init(&out, 64 * 1024);
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        const bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                           (*p >= '0' && *p <= '9') || strchr("-._~/", *p);

        if (plain)
            pfc_buf_putc(&out, (char)*p);
        else
            pfc_buf_printf(&out, "%%%02X", *p);
    }
    return pfc_buf_take(&out);
}

static json_t *location(const pfc_findings_item *item)
{
    char *uri = uri_of(item->path);
    json_t *json = json_pack("[{s:{s:{s:s, s:s}, s:{s:I}}}]", "physicalLocation",
                             "artifactLocation", "uri", uri, "uriBaseId", "%SRCROOT%", "region",
                             "startLine", (json_int_t)PFC_MAX(item->line, (size_t)1));

    free(uri);
    return json;
}

static char *text_of(const pfc_findings_item *item)
{
    char *sentence = pfc_finding_sentence(item);
    char *text =
        pfc_format("%s%s%s%s%s%s%s%.12s: %s", item->benchmark ? item->benchmark : "commit",
                   item->metric ? " " : "", item->metric ? item->metric : "",
                   item->backend && *item->backend ? " on " : "",
                   item->backend ? item->backend : "", item->benchmark && item->commit ? " at" : "",
                   item->commit ? " " : "", item->commit ? item->commit : "", sentence);

    free(sentence);
    return text;
}

/* The part of a finding that is the same in every round: by it code scanning tells new results from
 * old ones. */
static json_t *fingerprint(const pfc_findings_item *item)
{
    char *text =
        pfc_format("%s|%s|%s|%s|%s", pfc_finding_word(item->kind), item->commit ? item->commit : "",
                   item->benchmark ? item->benchmark : "", item->metric ? item->metric : "",
                   item->backend ? item->backend : "");
    json_t *json;

    pfc_utf8_mend(text);
    json = json_pack("{s:s}", "perfci/v1", text);
    free(text);
    return json;
}

static json_t *result(const pfc_findings_item *item)
{
    const rule *r = &rules[item->kind];
    char *text = text_of(item);
    json_t *json = json_pack("{s:s, s:i, s:s, s:o, s:o}", "ruleId", r->id, "ruleIndex",
                             (int)item->kind, "level", r->level, "message", message(text),
                             "partialFingerprints", fingerprint(item));

    if (item->path)
        json_object_set_new(json, "locations", location(item));
    if (isfinite(item->rel_change))
        json_object_set_new(json, "properties", json_pack("{s:f}", "relChange", item->rel_change));
    free(text);
    return json;
}

static json_t *driver(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < PFC_ARRAY_LEN(rules); i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:{s:s}, s:{s:s}, s:{s:s}}", "id", rules[i].id,
                                        "name", rules[i].title, "shortDescription", "text",
                                        rules[i].title, "fullDescription", "text", rules[i].text,
                                        "defaultConfiguration", "level", rules[i].level));
    return json_pack("{s:s, s:s, s:o}", "name", "perfci", "version", PFC_VERSION, "rules", list);
}

json_t *pfc_findings_sarif(const pfc_findings *f)
{
    json_t *results = json_array();

    for (size_t i = 0; i < f->len; i++)
        if ((size_t)f->items[i].kind < PFC_ARRAY_LEN(rules))
            json_array_append_new(results, result(&f->items[i]));
    /* 3.17.3: the part of the id behind the last slash names the run, the rest its category. */
    return json_pack("{s:s, s:s, s:[{s:{s:o}, s:{s:s+}, s:s, s:{s:{s:o}}, s:o}]}", "$schema",
                     "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs",
                     "tool", "driver", driver(), "automationDetails", "id", f->category, "/",
                     "columnKind", "unicodeCodePoints", "originalUriBaseIds", "%SRCROOT%",
                     "description", message("The root of the repository."), "results", results);
}
