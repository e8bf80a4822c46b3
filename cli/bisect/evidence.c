/*
 * The answer's evidence: baseline, comparison, attribution, confirmation, cost, and the commands
 * that do it again.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/search.h"
#include "core/forge/forge.h"

enum { TEXT_BYTES = 64 * 1024, SUSPECTS = 5 };

/* ---- what was measured ---- */

/* All values of a commit, confirmations included; caller frees. */
static double *values_of(const pfc_hunt *h, size_t commit, size_t *len)
{
    double *values = pfc_calloc(h->state.len + 1, sizeof(*values));

    *len = 0;
    for (size_t i = 0; i < h->state.len; i++)
        if (h->state.steps[i].commit == commit && h->state.steps[i].kind == PFC_OUTCOME_MEASURED)
            values[(*len)++] = h->state.steps[i].value;
    return values;
}

static size_t builds_of(const pfc_hunt *h, size_t commit, size_t *layouts)
{
    size_t builds = 0;

    *layouts = 0;
    for (size_t i = 0; i < h->state.len; i++) {
        const pfc_hunt_step *s = &h->state.steps[i];
        bool seen = s->commit != commit || s->kind != PFC_OUTCOME_MEASURED;

        for (size_t k = 0; k < i && !seen; k++)
            seen = h->state.steps[k].commit == commit && h->state.steps[k].build == s->build &&
                   h->state.steps[k].kind == PFC_OUTCOME_MEASURED;
        builds += !seen;
        *layouts += !seen && s->build > 0;
    }
    return builds;
}

void pfc_hunt_side_of(const pfc_hunt *h, size_t commit, pfc_hunt_side *out)
{
    double *values = values_of(h, commit, &out->runs);

    out->commit = commit;
    out->builds = builds_of(h, commit, &out->layouts);
    out->median = out->noise_rel = (double)NAN;
    if (out->runs)
        out->median = pfc_stats_median(values, out->runs);
    for (size_t i = 0; i < out->runs; i++)
        values[i] = fabs(values[i] - out->median);
    if (out->runs >= 3)
        out->noise_rel = 1.4826 * pfc_stats_median(values, out->runs) / out->median;
    free(values);
}

bool pfc_hunt_ends_compared(const pfc_hunt *h, pfc_compare_result *out)
{
    const pfc_hunt_step *first = pfc_hunt_first(h);
    /* At the level of the finding, so that the two show one interval. */
    const pfc_compare_opts opts = { .alpha = 0.05,
                                    .exact = first && first->exact,
                                    .paired = h->state.paired };
    size_t good_len;
    size_t bad_len;
    double *good;
    double *bad;

    if (opts.paired) {
        good_len = bad_len = pfc_hunt_pairs_of(h, h->commits.len - 1, &good, &bad);
    } else {
        good = values_of(h, 0, &good_len);
        bad = values_of(h, h->commits.len - 1, &bad_len);
    }
    const bool enough = PFC_MIN(good_len, bad_len) >= (opts.exact ? 1 : 3);
    const bool ok = enough && !pfc_stats_compare(good, good_len, bad, bad_len, &opts, out, NULL);

    free(good);
    free(bad);
    return ok;
}

char *pfc_hunt_subject(const pfc_hunt *h, size_t commit)
{
    pfc_commit c = { 0 };
    pfc_commit_id id;
    char *subject = NULL;

    if (h->repo && !h->points &&
        !pfc_repo_resolve(h->repo, h->commits.items[commit].id, &id, NULL) &&
        !pfc_repo_commit(h->repo, &id, &c, NULL)) {
        subject = pfc_strdup(c.subject);
        pfc_commit_clear(&c);
    }
    return subject ? subject : pfc_strdup("");
}

/* How a unit of pairs scatters: about its commit's median, all commits together; NAN when unknown. */
static double noise_of_units(const pfc_hunt *h)
{
    double *off = pfc_calloc(h->told_len + 1, sizeof(*off));
    double noise = (double)NAN;
    size_t n = 0;

    for (size_t i = 0; i < h->told_len; i++) {
        double *ones;
        double *ratios;
        const size_t len = pfc_hunt_pairs_of(h, h->told[i].commit, &ones, &ratios);

        if (len >= 3)
            off[n++] = fabs(h->told[i].ratio / pfc_stats_median(ratios, len) - 1);
        free(ones);
        free(ratios);
    }
    if (n)
        noise = 1.4826 * pfc_stats_median(off, n);
    free(off);
    return noise;
}

static size_t single_runs(const pfc_hunt *h)
{
    size_t runs = 0;

    for (size_t i = 0; i < h->state.len; i++)
        runs += !h->state.steps[i].unit && !h->state.steps[i].confirm;
    return runs;
}

/* ---- how to repeat it ---- */

static void add_word(pfc_buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:=,@%+~^";

    pfc_buf_putc(out, ' ');
    if (*word && word[strspn(word, plain)] == '\0') {
        pfc_buf_puts(out, word);
        return;
    }
    pfc_buf_putc(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            pfc_buf_puts(out, "'\\''");
        else
            pfc_buf_putc(out, *word);
    }
    pfc_buf_putc(out, '\'');
}

/* Flags of the call that do not belong into its repetition; `ends`: nor the ends. Returns how many
 * words to leave out. */
static size_t left_out(char *const *argv, size_t i, size_t argc, bool ends)
{
    static const char *const alone[] = { "--json",    "--resume", "--dry-run", "--markdown",
                                         "--confirm", "--quiet",  "-q",        "--no-confirm" };
    static const char *const pairs[] = { "--good", "--bad" };

    for (size_t k = 0; k < PFC_ARRAY_LEN(alone); k++)
        if (strcmp(argv[i], alone[k]) == 0)
            return 1;
    for (size_t k = 0; k < PFC_ARRAY_LEN(pairs) && ends; k++) {
        const size_t len = strlen(pairs[k]);

        if (strcmp(argv[i], pairs[k]) == 0)
            return PFC_MIN((size_t)2, argc - i);
        if (strncmp(argv[i], pairs[k], len) == 0 && argv[i][len] == '=')
            return 1;
    }
    return 0;
}

/* The call again; with a culprit: about it and the commit before alone. */
static char *repeat(const pfc_hunt *h, const pfc_culprit *c)
{
    const size_t argc = (size_t)h->opts->argc;
    pfc_buf out;
    char *text;

    pfc_buf_init(&out, TEXT_BYTES);
    pfc_buf_puts(&out, "perfci bisect");
    for (size_t i = 1; i < argc;) {
        const size_t skip = left_out(h->opts->argv, i, argc, c != NULL);

        if (!skip)
            add_word(&out, h->opts->argv[i]);
        i += skip ? skip : 1;
    }
    if (c) {
        pfc_buf_puts(&out, " --good");
        add_word(&out, h->commits.items[c->first - 1].id);
        pfc_buf_puts(&out, " --bad");
        add_word(&out, h->commits.items[c->last].id);
        pfc_buf_puts(&out, " --confirm");
    }
    text = pfc_strdup(pfc_buf_text(&out));
    pfc_buf_clear(&out);
    return text;
}

/* ---- JSON ---- */

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *side_json(const pfc_hunt *h, size_t commit)
{
    pfc_hunt_side s;

    pfc_hunt_side_of(h, commit, &s);
    return json_pack("{s:s,s:I,s:I,s:I,s:o,s:o}", "commit", h->commits.items[commit].id, "runs",
                     (json_int_t)s.runs, "builds", (json_int_t)s.builds, "layouts",
                     (json_int_t)s.layouts, "median", number(s.median), "noise_rel",
                     number(s.noise_rel));
}

static json_t *compared_json(const pfc_compare_result *c)
{
    return json_pack("{s:o,s:o,s:o,s:o}", "rel_change", number(c->rel_change), "rel_low",
                     number(c->rel_low), "rel_high", number(c->rel_high), "p", number(c->p));
}

static json_t *attribution_json(const pfc_hunt *h, const pfc_bisect_report *report, size_t i)
{
    const pfc_culprit *c = &report->culprits[i];
    char *again = repeat(h, c);
    json_t *doc =
        json_pack("{s:o,s:o,s:o,s:s}", "before", side_json(h, c->first - 1), "after",
                  side_json(h, c->last), "probability", number(c->probability), "repeat", again);

    if (i < h->confirmed_len) {
        const pfc_hunt_confirmed *d = &h->confirmed[i];
        json_t *confirmation = compared_json(&d->result.cmp);

        json_object_set_new(confirmation, "verdict",
                            json_string(pfc_confirm_verdict_name(d->result.verdict)));
        json_object_set_new(confirmation, "pairs", json_integer((json_int_t)d->result.pairs));
        json_object_set_new(confirmation, "layouts", json_integer((json_int_t)d->result.layouts));
        if (d->reason[0])
            json_object_set_new(confirmation, "reason", json_string(d->reason));
        json_object_set_new(doc, "confirmation", confirmation);
    }
    free(again);
    return doc;
}

json_t *pfc_hunt_evidence_json(const pfc_hunt *h, const pfc_bisect_report *report)
{
    pfc_compare_result cmp;
    json_t *attribution = json_array();
    char *again = repeat(h, NULL);
    json_t *doc = json_pack("{s:o,s:o,s:o,s:o,s:s,s:s}", "baseline", side_json(h, 0), "candidate",
                            side_json(h, h->commits.len - 1), "comparison",
                            pfc_hunt_ends_compared(h, &cmp) ? compared_json(&cmp) : json_null(),
                            "attribution", attribution, "layout",
                            h->opts->relink || h->ws_opts.relink ? "randomised" : "as built",
                            "repeat", again);

    if (h->state.paired)
        json_object_set_new(doc, "pairs",
                            json_pack("{s:I,s:I,s:o}", "measurements", (json_int_t)h->told_len,
                                      "single_runs", (json_int_t)single_runs(h), "noise_rel",
                                      number(noise_of_units(h))));
    for (size_t i = 0; i < report->culprits_len; i++)
        json_array_append_new(attribution, attribution_json(h, report, i));
    free(again);
    return doc;
}

/* ---- sentences ---- */

typedef struct section {
    const char *title;
    pfc_buf text;
    bool code; /* a command */
} section;

typedef struct sections {
    section *items;
    size_t len, cap;
} sections;

static pfc_buf *begin(sections *all, const char *title, bool code)
{
    all->items = pfc_grow(all->items, all->len, &all->cap, sizeof(*all->items));
    section *s = &all->items[all->len++];

    *s = (section){ .title = title, .code = code };
    pfc_buf_init(&s->text, TEXT_BYTES);
    return &s->text;
}

static void say_side(const pfc_hunt *h, size_t commit, pfc_buf *out)
{
    char value[32];
    char noise[32];
    pfc_hunt_side s;

    pfc_hunt_side_of(h, commit, &s);
    pfc_buf_printf(out, "%.12s", h->commits.items[commit].id);
    if (!s.runs) {
        pfc_buf_puts(out, " was not measured");
        return;
    }
    pfc_show_value(s.median, value);
    pfc_buf_printf(out, " %s (%zu run%s", value, s.runs, s.runs == 1 ? "" : "s");
    if (s.layouts)
        pfc_buf_printf(out, " of %zu builds", s.builds);
    if (isfinite(s.noise_rel)) {
        snprintf(noise, sizeof(noise), "%.2g %%", 100 * s.noise_rel);
        pfc_buf_printf(out, ", noise %s", noise);
    }
    pfc_buf_putc(out, ')');
}

static void say_change(double rel, double low, double high, pfc_buf *out)
{
    char change[32];
    char from[32];
    char to[32];

    pfc_show_percent(rel, change);
    pfc_show_percent(low, from);
    pfc_show_percent(high, to);
    pfc_buf_printf(out, "%s (%s .. %s)", change, from, to);
}

static void say_comparison(const pfc_hunt *h, pfc_buf *out)
{
    pfc_compare_result cmp;

    say_side(h, h->commits.len - 1, out);
    if (!pfc_hunt_ends_compared(h, &cmp))
        return;
    pfc_buf_puts(out, ", ");
    say_change(cmp.rel_change, cmp.rel_low, cmp.rel_high, out);
    pfc_buf_puts(out, " against the baseline");
    if (h->higher_is_better ? cmp.rel_low > 0 : cmp.rel_high < 0)
        pfc_buf_puts(out, ": it is the better one; are the ends swapped, or the metric's direction "
                          "(--higher-is-better, --lower-is-better)?");
}

static void say_attribution(const pfc_hunt *h, const pfc_bisect_report *report,
                            const pfc_hunt_stop *stop, const pfc_culprit *c, pfc_buf *out)
{
    say_side(h, c->first - 1, out);
    pfc_buf_puts(out, ", then ");
    say_side(h, c->last, out);
    if (c->first == c->last)
        pfc_buf_puts(out, "; the step is in this commit");
    else
        pfc_buf_printf(out, "; the step is in one of these %zu commits", c->last - c->first + 1);
    pfc_buf_printf(out, " with probability %.4f", c->probability);
    /* Three reasons why a set stays a set, and only the first is final. */
    if (c->unmeasurable)
        pfc_buf_puts(out,
                     "; no run can tell them apart, because the commits between the two cannot "
                     "be measured");
    else if (c->first != c->last && stop->budget)
        pfc_buf_printf(out, "; the budget of %zu runs ended before they were told apart",
                       stop->budget_runs);
    else if (c->first != c->last && report->verdict == PFC_BISECT_RANGE)
        pfc_buf_puts(out,
                     "; another run would hardly narrow them down (known --noise and --delta, or "
                     "--relink, help)");
}

static void say_confirmation(const pfc_hunt *h, size_t i, pfc_buf *out)
{
    const pfc_hunt_confirmed *c = &h->confirmed[i];
    const pfc_confirm_result *r = &c->result;

    pfc_buf_printf(out, "%.12s against %.12s in %zu new interleaved pairs",
                   h->commits.items[c->culprit.first - 1].id, h->commits.items[c->culprit.last].id,
                   r->pairs);
    if (r->layouts > 1)
        pfc_buf_puts(out, ", each with a layout of its own");
    if (r->pairs) {
        pfc_buf_puts(out, ": ");
        say_change(r->cmp.rel_change, r->cmp.rel_low, r->cmp.rel_high, out);
        pfc_buf_printf(out, ", p %.2g at any look", r->cmp.p);
    }
    pfc_buf_printf(out, ": %s", pfc_confirm_verdict_name(r->verdict));
    if (c->reason[0])
        pfc_buf_printf(out, " (%s)", c->reason);
}

static void say_suspects(const pfc_hunt *h, pfc_buf *out)
{
    double *p = pfc_calloc(h->commits.len, sizeof(*p));

    pfc_bisect_posterior(h->plan, p);
    for (size_t k = 0; k < SUSPECTS; k++) {
        size_t best = 1;

        for (size_t i = 2; i < h->commits.len; i++)
            best = p[i] > p[best] ? i : best;
        if (p[best] < 0.01)
            break;
        pfc_buf_printf(out, "%s%.12s %.2f", k ? ", " : "", h->commits.items[best].id,
                       fmin(p[best], 1));
        p[best] = 0;
    }
    if (!out->len)
        pfc_buf_puts(out, "no commit stands out");
    free(p);
}

static void say_pairs(const pfc_hunt *h, pfc_buf *out)
{
    const double noise = noise_of_units(h);
    const size_t single = single_runs(h);

    pfc_buf_printf(out,
                   "%zu measurements interleaved with %.12s as first built, which count both sides",
                   h->told_len, h->commits.items[0].id);
    if (isfinite(noise))
        pfc_buf_printf(out, ", noise of one %.2g %%", 100 * noise);
    if (single)
        pfc_buf_printf(
            out,
            "; the first %zu runs were single ones, showed a machine with states, and do "
            "not count",
            single);
}

static void say_layout(const pfc_hunt *h, pfc_buf *out)
{
    size_t layouts = 0;

    for (size_t i = 0; i < h->commits.len; i++) {
        pfc_hunt_side s;

        pfc_hunt_side_of(h, i, &s);
        layouts += s.layouts;
    }
    if (!h->opts->relink && !h->ws_opts.relink)
        pfc_buf_puts(out, "as built: one build a commit, so a difference of layout would look like "
                          "one of code (relink in perfci.yaml, or --relink, tells them apart)");
    else
        pfc_buf_printf(out, "randomised: %zu builds with another layout%s%.200s", layouts,
                       h->ws_opts.relink ? ", by " : "",
                       h->ws_opts.relink ? h->ws_opts.relink : "");
}

static void say_spent(const pfc_hunt *h, const pfc_bisect_report *report, pfc_buf *out)
{
    const size_t runs = pfc_hunt_runs(h, report);
    size_t confirm = 0;
    char seconds[32];

    pfc_show_seconds(h->state.seconds, seconds);
    pfc_buf_printf(out, "%zu runs, %zu builds, %zu of %zu %s measured, %s", runs, report->builds,
                   report->commits_measured, h->commits.len, h->points ? "points" : "commits",
                   seconds);
    for (size_t i = 0; i < h->state.len; i++)
        confirm += h->state.steps[i].confirm;
    if (confirm)
        pfc_buf_printf(out, "; %zu of the runs confirm", confirm);
}

/* `culprits`: how many of the report's have sections of their own. */
static void collect(const pfc_hunt *h, const pfc_bisect_report *report, const pfc_hunt_stop *stop,
                    size_t culprits, sections *all)
{
    char *again;

    say_side(h, 0, begin(all, "baseline", false));
    say_comparison(h, begin(all, "comparison", false));
    for (size_t i = 0; i < culprits; i++) {
        say_attribution(h, report, stop, &report->culprits[i], begin(all, "attribution", false));
        if (i < h->confirmed_len)
            say_confirmation(h, i, begin(all, "confirmation", false));
    }
    if (report->verdict == PFC_BISECT_INCONCLUSIVE && h->state.len)
        say_suspects(h, begin(all, "likely so far", false));
    if (h->state.paired)
        say_pairs(h, begin(all, "pairs", false));
    say_layout(h, begin(all, "layout", false));
    say_spent(h, report, begin(all, "spent", false));
    for (size_t i = 0; i < culprits; i++) {
        again = repeat(h, &report->culprits[i]);
        pfc_buf_puts(begin(all, "verify", true), again);
        free(again);
    }
    again = repeat(h, NULL);
    pfc_buf_puts(begin(all, "repeat", true), again);
    free(again);
}

void pfc_hunt_evidence_print(const pfc_hunt *h, const pfc_bisect_report *report,
                             const pfc_hunt_stop *stop, bool markdown)
{
    sections all = { 0 };
    /* Text is a summary of at most 15 lines: the table has the others' figures, --verbose and --json have all. */
    const size_t most = markdown || h->opts->verbose ? report->culprits_len : 1;

    collect(h, report, stop, PFC_MIN(most, report->culprits_len), &all);
    for (size_t i = 0; i < all.len; i++) {
        const section *s = &all.items[i];
        const char *text = pfc_buf_text(&s->text);

        if (!markdown) {
            pfc_out("%-13s %s\n", s->title, text);
        } else if (s->code) {
            pfc_out("\n%s:\n\n    %s\n", s->title, text);
        } else {
            pfc_buf safe;

            pfc_buf_init(&safe, 8u * TEXT_BYTES);
            pfc_markdown_text(&safe, text);
            pfc_out("- **%s**: %s\n", s->title, pfc_buf_text(&safe));
            pfc_buf_clear(&safe);
        }
        pfc_buf_clear(&all.items[i].text);
    }
    free(all.items);
}
