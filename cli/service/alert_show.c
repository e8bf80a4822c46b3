/*
 * Alerts as a person reads them: see alert_show.h.
 */
#include "cli/service/alert_show.h"

#include <stdlib.h>
#include <string.h>

#include "cli/output/output.h"
#include "cli/service/browse.h"

enum { SHORT_ID = 7, FACT_BYTES = 16384 };

/* Its values are missing, not changed: nothing can be searched by them. */
static bool is_broken(const json_t *one)
{
    return strcmp(pfc_browse_string(one, "kind"), "broken") == 0;
}

/* "gemm/a time_ns", or what the group has in common. */
static void show_what(const json_t *one, char *out, size_t cap)
{
    const json_t *group = json_object_get(one, "group");

    if (json_integer_value(json_object_get(group, "series")) > 1)
        (void)snprintf(out, cap, "%s", pfc_browse_string(group, "summary"));
    else if (is_broken(one))
        (void)snprintf(out, cap, "%s%s%s: %s", pfc_browse_string(one, "benchmark"),
                       *pfc_browse_string(one, "backend") ? " on " : "",
                       pfc_browse_string(one, "backend"), pfc_browse_string(one, "reason"));
    else
        (void)snprintf(out, cap, "%s %s%s%s", pfc_browse_string(one, "benchmark"),
                       pfc_browse_string(one, "metric"),
                       *pfc_browse_string(one, "backend") ? " on " : "",
                       pfc_browse_string(one, "backend"));
}

static void show_range(const json_t *one, int digits, char *out, size_t cap)
{
    const char *low = pfc_browse_string(one, "commit_low");
    const char *high = pfc_browse_string(one, "commit_high");

    if (strcmp(low, high) == 0 || !*low)
        (void)snprintf(out, cap, "%.*s", digits, *high ? high : pfc_browse_string(one, "commit"));
    else
        (void)snprintf(out, cap, "%.*s..%.*s", digits, low, digits, high);
}

/* "a1b2c3d Subject (Author)"; a drift and a change of the toolchain have none. */
static void show_suspect(const json_t *one, char *out, size_t cap)
{
    const json_t *suspect = json_object_get(one, "suspect");
    const char *author = pfc_browse_string(suspect, "author");

    out[0] = '\0';
    if (json_is_object(suspect))
        (void)snprintf(out, cap, "%.*s %s%s%s%s", SHORT_ID, pfc_browse_string(suspect, "commit"),
                       pfc_browse_string(suspect, "subject"), *author ? " (" : "", author,
                       *author ? ")" : "");
}

/* Adds the search that found the suspect, which no fresh pairs have confirmed. */
static void show_search(const json_t *one, char *out, size_t cap)
{
    const json_t *suspect = json_object_get(one, "suspect");
    const json_int_t id = json_integer_value(json_object_get(suspect, "bisection_id"));
    const size_t len = strlen(out);

    if (id)
        (void)snprintf(out + len, cap - len, ", found by search #%lld, not confirmed",
                       (long long)id);
}

void pfc_alert_show_suspect(const json_t *alert, char *out, size_t cap)
{
    show_suspect(alert, out, cap);
    if (*out)
        show_search(alert, out, cap);
}

static void set_effect(pfc_table *table, size_t col, const json_t *one)
{
    char text[64];

    pfc_browse_show_effect(one, text);
    pfc_table_set(table, col, text);
}

static bool several_projects(const json_t *list)
{
    const char *first = pfc_browse_string(json_array_get(list, 0), "project");

    for (size_t i = 1; i < json_array_size(list); i++)
        if (strcmp(first, pfc_browse_string(json_array_get(list, i), "project")) != 0)
            return true;
    return false;
}

void pfc_alert_list(const pfc_cli *cli, const json_t *list)
{
    static const pfc_table_col cols[] = { { "ALERT", true },   { "KIND", false },
                                          { "EFFECT", true },  { "WHAT", false },
                                          { "RANGE", false },  { "SUSPECT", false },
                                          { "STATE", false },  { "AGE", true },
                                          { "PROJECT", false } };
    const bool projects = cli->csv || several_projects(list);
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols) - !projects);
    char text[FACT_BYTES];

    pfc_table_below(table, 3);
    pfc_table_below(table, 5);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        pfc_table_row(table);
        pfc_browse_id(table, 0, one, "id");
        pfc_browse_text(table, 1, one, "kind");
        set_effect(table, 2, one);
        pfc_table_color(table, 2,
                        strcmp(pfc_browse_string(one, "direction"), "regression") == 0 ? "red"
                                                                                       : "green");
        show_what(one, text, sizeof(text));
        pfc_table_set(table, 3, text);
        show_range(one, SHORT_ID, text, sizeof(text));
        pfc_table_set(table, 4, text);
        show_range(one, 64, text, sizeof(text));
        pfc_table_raw(table, 4, text);
        show_suspect(one, text, sizeof(text));
        /* Where no commit is suspected, what is known instead. */
        pfc_table_set(table, 5, *text ? text : pfc_browse_string(one, "title"));
        pfc_browse_text(table, 6, one, "state");
        pfc_browse_age(table, 7, json_object_get(one, "created_at"));
        if (projects)
            pfc_browse_text(table, 8, one, "project");
    }
    pfc_table_print(table);
}

/* ---- one ---- */

static void fact(const char *name, const char *text)
{
    if (*text)
        pfc_out("%-10s %s\n", name, text);
}

static void show_level(const json_t *a)
{
    const char *unit = pfc_browse_string(a, "unit");
    const json_t *p = json_object_get(a, "p");
    char before[32], after[32], text[128], odds[48] = "";

    if (!json_is_number(json_object_get(a, "before")))
        return;
    pfc_show_value(json_number_value(json_object_get(a, "before")), before);
    pfc_show_value(json_number_value(json_object_get(a, "after")), after);
    if (json_is_number(p))
        (void)snprintf(odds, sizeof(odds), ", p = %.2g", json_number_value(p));
    (void)snprintf(text, sizeof(text), "%s -> %s %s%s", before, after, unit, odds);
    fact("level", text);
}

static void show_state(const json_t *a)
{
    char since[40], age[40], text[256];

    pfc_browse_show_when(json_object_get(a, "created_at"), since);
    pfc_browse_show_age(json_object_get(a, "created_at"), age);
    (void)snprintf(text, sizeof(text), "%s%s, opened %s UTC, %s ago", pfc_browse_string(a, "state"),
                   json_is_true(json_object_get(a, "accepted")) ? " (new level accepted)" : "",
                   since, age);
    fact("state", text);
}

static void show_evidence(const json_t *a)
{
    static const struct {
        const char *word, *says;
    } known[] = {
        { "exact", "exact: a metric without noise changed, so the code did it" },
        { "corroborated", "corroborated: other metrics of the benchmark changed the same way" },
        { "alone", "alone: other metrics of the benchmark were measured and did not change" },
        { "single", "single: nothing else of this benchmark is measured" },
    };
    const char *word = pfc_browse_string(a, "evidence");
    const char *says = word;

    for (size_t i = 0; i < PFC_ARRAY_LEN(known); i++)
        if (strcmp(known[i].word, word) == 0)
            says = known[i].says;
    fact("evidence", says);
}

static void show_group(const json_t *a)
{
    const json_t *group = json_object_get(a, "group");
    char *text;

    if (!json_is_object(group))
        return;
    text = pfc_format("%lld: %s", (long long)json_integer_value(json_object_get(group, "id")),
                      pfc_browse_string(group, "summary"));
    fact("group", text);
    free(text);
}

/* "+0.32 % (+0.28 % to +0.38 %)" */
static char *with_ends(const json_t *obj, const char *at, const char *low, const char *high)
{
    char percent[3][32];
    const char *const keys[] = { at, low, high };

    for (size_t i = 0; i < PFC_ARRAY_LEN(keys); i++)
        pfc_show_percent(json_number_value(json_object_get(obj, keys[i])), percent[i]);
    return pfc_format("%s (%s to %s)", percent[0], percent[1], percent[2]);
}

static void show_drift(const json_t *drift)
{
    const json_t *reference = json_object_get(drift, "reference");
    char *ends, *text, percent[32];

    if (!json_is_object(drift))
        return;
    if (json_is_number(json_object_get(drift, "rel_per_week"))) {
        ends = with_ends(drift, "rel_per_week", "rel_per_week_low", "rel_per_week_high");
        pfc_show_percent(json_number_value(json_object_get(drift, "rel_per_commit")), percent);
        text = pfc_format("%s a week, %s a commit, for %.1f weeks", ends, percent,
                          json_number_value(json_object_get(drift, "weeks")));
        fact("slope", text);
        free(text);
        free(ends);
    }
    if (json_is_object(reference)) {
        ends = with_ends(reference, "rel_change", "rel_low", "rel_high");
        text = pfc_format("%s since %s (%.12s)", ends, pfc_browse_string(reference, "tag"),
                          pfc_browse_string(reference, "commit"));
        fact("release", text);
        free(text);
        free(ends);
    } else {
        fact("release", "no release tag with enough points around it");
    }
}

/* "rule 3 of kernels until 2026-03-08 00:00 UTC: the new allocator". */
static void show_suppression(const json_t *a)
{
    const json_t *rule = json_object_get(a, "suppression");
    char until[40], text[FACT_BYTES];

    if (!json_is_object(rule))
        return;
    pfc_browse_show_when(json_object_get(rule, "expires_at"), until);
    (void)snprintf(text, sizeof(text), "rule %lld of %s until %s UTC: %s",
                   (long long)json_integer_value(json_object_get(rule, "id")),
                   pfc_browse_string(rule, "owner"), until, pfc_browse_string(rule, "reason"));
    fact("hidden by", text);
}

static void show_facts(const json_t *a)
{
    const json_t *event = json_object_get(a, "event_id");
    const char *metric = pfc_browse_string(a, "metric");
    const char *backend = pfc_browse_string(a, "backend");
    const size_t commits = json_array_size(json_object_get(a, "range"));
    char text[FACT_BYTES], effect[64];

    pfc_browse_show_effect(a, effect);
    if (is_broken(a))
        pfc_out("alert %lld: broken since %.12s: %s\n",
                (long long)json_integer_value(json_object_get(a, "id")),
                pfc_browse_string(a, "commit"), pfc_browse_string(a, "reason"));
    else
        pfc_out("alert %lld: %s, %s%s%s\n", (long long)json_integer_value(json_object_get(a, "id")),
                pfc_browse_string(a, "kind"), effect, *effect ? ", " : "",
                pfc_browse_string(a, "direction"));
    (void)snprintf(text, sizeof(text), "%s%s%s%s%s on %s, branch %s of %s (series %lld)",
                   pfc_browse_string(a, "benchmark"), *metric ? " " : "", metric,
                   *backend ? ", " : "", backend, pfc_browse_string(a, "machine_class"),
                   pfc_browse_string(a, "branch"), pfc_browse_string(a, "project"),
                   (long long)json_integer_value(json_object_get(a, "series_id")));
    fact("series", text);
    fact("title", pfc_browse_string(a, "title"));
    show_level(a);
    show_drift(json_object_get(a, "drift"));
    show_range(a, 12, text, sizeof(text));
    if (commits)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %zu commit%s", commits,
                       commits == 1 ? "" : "s");
    fact("range", text);
    pfc_alert_show_suspect(a, text, sizeof(text));
    fact(*pfc_browse_string(a, "culprit") ? "culprit" : "suspect", text);
    show_state(a);
    if (!is_broken(a))
        show_evidence(a);
    fact("reproduced", pfc_browse_string(a, "reproducibility"));
    pfc_browse_hidden("results of its series", json_object_get(a, "hidden"));
    show_group(a);
    fact("owner", pfc_browse_string(a, "owner"));
    show_suppression(a);
    if (json_is_integer(event)) {
        (void)snprintf(text, sizeof(text), "event %lld (perfci events)",
                       (long long)json_integer_value(event));
        fact("machine", text);
    }
    fact("undone by", pfc_browse_string(a, "undone_by"));
    fact("note", pfc_browse_string(a, "note"));
}

void pfc_alert_show_members(const pfc_cli *cli, const json_t *list)
{
    static const pfc_browse_col cols[] = {
        { "ALERT", "id", PFC_BROWSE_ID },
        { "SERIES", "series_id", PFC_BROWSE_ID },
        { "BENCHMARK", "benchmark", PFC_BROWSE_TEXT },
        { "METRIC", "metric", PFC_BROWSE_TEXT },
        { "BACKEND", "backend", PFC_BROWSE_TEXT },
        { "MACHINE", "machine_class", PFC_BROWSE_TEXT },
        { "EFFECT", NULL, PFC_BROWSE_EFFECT },
        { "STATE", "state", PFC_BROWSE_TEXT },
    };

    pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), false, list);
}

static void show_witnesses(const pfc_cli *cli, const json_t *list)
{
    static const pfc_browse_col cols[] = {
        { "SERIES", "series_id", PFC_BROWSE_ID },  { "METRIC", "metric", PFC_BROWSE_TEXT },
        { "BACKEND", "backend", PFC_BROWSE_TEXT }, { "MACHINE", "machine_class", PFC_BROWSE_TEXT },
        { "HERE", "moved", PFC_BROWSE_TEXT },      { "CHANGE", "rel_change", PFC_BROWSE_PERCENT },
    };

    pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), false, list);
}

static void show_commits(const pfc_cli *cli, const json_t *list)
{
    static const pfc_browse_col cols[] = {
        { "COMMIT", "id", PFC_BROWSE_ID },         { "MEASURED", "measured", PFC_BROWSE_YES },
        { "TIME (UTC)", "time", PFC_BROWSE_WHEN }, { "AUTHOR", "author", PFC_BROWSE_TEXT },
        { "SUBJECT", "subject", PFC_BROWSE_TEXT },
    };

    pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), false, list);
}

void pfc_alert_show_history(const pfc_cli *cli, const json_t *list)
{
    static const pfc_browse_col cols[] = {
        { "TIME (UTC)", "at", PFC_BROWSE_WHEN }, { "ACTOR", "actor", PFC_BROWSE_TEXT },
        { "FROM", "from", PFC_BROWSE_TEXT },     { "TO", "to", PFC_BROWSE_TEXT },
        { "CULPRIT", "culprit", PFC_BROWSE_ID }, { "REASON", "reason", PFC_BROWSE_TEXT },
    };

    pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), true, list);
}

static void show_effects(const pfc_cli *cli, const json_t *list)
{
    static const pfc_browse_col cols[] = {
        { "SOURCE", "source", PFC_BROWSE_TEXT },
        { "BISECTION", "bisection_id", PFC_BROWSE_ID },
        { "COMMIT", "commit", PFC_BROWSE_ID },
        { "CHANGE", "rel_change", PFC_BROWSE_PERCENT },
        { "LOW", "rel_low", PFC_BROWSE_PERCENT },
        { "HIGH", "rel_high", PFC_BROWSE_PERCENT },
        { "N", "n", PFC_BROWSE_ID },
    };

    pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), false, list);
}

void pfc_alert_show_effects(const pfc_cli *cli, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "effects");
    const char *differ = pfc_browse_string(doc, "effects_differ");

    if (json_array_size(list) > 1) {
        pfc_out("\nSize by source:\n");
        show_effects(cli, list);
    }
    if (*differ)
        pfc_out("%s\n", differ);
}

static void show_next(const json_t *a)
{
    const long long id = (long long)json_integer_value(json_object_get(a, "id"));

    if (is_broken(a)) {
        pfc_out("\nNext:\n"
                "  perfci repro alert:%lld\n"
                "  perfci alerts set %lld --state acknowledged\n",
                id, id);
        return;
    }
    pfc_out("\nNext:\n"
            "  perfci why %lld\n",
            id);
    /* Only a step has two sides to compare. */
    if (pfc_streq(pfc_browse_string(a, "kind"), "step"))
        pfc_out("  perfci explain --alert %lld\n", id);
    pfc_out("  perfci repro alert:%lld\n", id);
    /* Nothing of a drift is to be found by a search. */
    if (!json_is_object(json_object_get(a, "drift")))
        pfc_out("  perfci bisect --remote --alert %lld\n", id);
    pfc_out("  perfci accept %lld --reason TEXT\n", id);
}

void pfc_alert_show(const pfc_cli *cli, const json_t *a)
{
    static const struct {
        const char *key, *title;
        void (*show)(const pfc_cli *cli, const json_t *list);
    } lists[] = {
        { "members", "Series in it", pfc_alert_show_members },
        { "witnesses", "Other series of this benchmark", show_witnesses },
        { "range", "Commits of the range", show_commits },
        { "history", "History", pfc_alert_show_history },
    };
    const json_t *one;

    if (cli->csv) { /* one table: the row of the list */
        json_t *list = json_pack("[O]", a);

        pfc_alert_list(cli, list);
        json_decref(list);
        return;
    }
    show_facts(a);
    pfc_alert_show_effects(cli, a);
    for (size_t i = 0; i < PFC_ARRAY_LEN(lists); i++) {
        one = json_object_get(a, lists[i].key);
        if (json_array_size(one)) {
            pfc_out("\n%s:\n", lists[i].title);
            lists[i].show(cli, one);
        }
    }
    show_next(a);
}

void pfc_group_issue_show(const pfc_cli *cli, const json_t *group)
{
    static const pfc_table_col cols[] = { { "GROUP", true },
                                          { "FORGE", false },
                                          { "REPO", false },
                                          { "ISSUE", true },
                                          { "STATE", false },
                                          { "URL", false },
                                          { "LAST LOOK FAILED", false } };
    const json_t *issue = json_object_get(group, "issue");
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    pfc_table_row(table);
    pfc_browse_id(table, 0, group, "id");
    pfc_browse_text(table, 1, issue, "forge");
    pfc_browse_text(table, 2, issue, "repo");
    pfc_browse_id(table, 3, issue, "number");
    pfc_browse_text(table, 4, issue, "state");
    pfc_browse_text(table, 5, issue, "url");
    pfc_browse_text(table, 6, issue, "trouble");
    pfc_table_print(table);
    if (pfc_streq(pfc_browse_string(issue, "state"), "waiting"))
        pfc_cli_note(cli, "the service makes the issue soon: the same command shows its number");
}
