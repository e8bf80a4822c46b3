/*
 * The evidence, as JSON and as sentences.
 */
#include "cli/bisect/evidence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/output.h"
#include "core/bisect/report_json.h"
#include "core/forge/forge.h"

enum { TEXT_BYTES = 64 * 1024, SUSPECTS = 5 };

/* Bad commit against good commit over all runs; false with too few. */
static bool compare_ends(const bisect_session *b, pfc_compare_result *out)
{
    const bisect_run *first = bisect_first_measured(&b->state);
    /* At the level of the finding, so that both print the same interval. */
    const pfc_compare_opts opts = { .alpha = 0.05,
                                    .exact = first && first->exact,
                                    .paired = b->state.paired };
    size_t good_len;
    size_t bad_len;
    double *good;
    double *bad;

    if (opts.paired) {
        good_len = bad_len = bisect_units_of(&b->planning.units, bisect_bad(&b->axis), &good, &bad);
    } else {
        good = bisect_values_of(&b->state, 0, &good_len);
        bad = bisect_values_of(&b->state, bisect_bad(&b->axis), &bad_len);
    }
    const bool enough = PFC_MIN(good_len, bad_len) >= (opts.exact ? 1 : 3);
    const bool ok = enough && !pfc_stats_compare(good, good_len, bad, bad_len, &opts, out, NULL);

    free(good);
    free(bad);
    return ok;
}

static size_t single_runs(const bisect_session *b)
{
    size_t runs = 0;

    for (size_t i = 0; i < b->state.len; i++)
        runs += !b->state.runs[i].unit && !b->state.runs[i].confirm;
    return runs;
}

/* ---- the commands that repeat it ---- */

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

/* Words to leave out of the repeated command at word i: flags of this call alone and, with `ends`,
 * --good and --bad. */
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

/* The command that repeats the call; with a culprit: for it and the commit before it. */
static char *repeat(const bisect_session *b, const pfc_culprit *c)
{
    const size_t argc = (size_t)b->opts->argc;
    pfc_buf out;
    char *text;

    pfc_buf_init(&out, TEXT_BYTES);
    pfc_buf_puts(&out, "perfci bisect");
    for (size_t i = 1; i < argc;) {
        const size_t skip = left_out(b->opts->argv, i, argc, c != NULL);

        if (!skip)
            add_word(&out, b->opts->argv[i]);
        i += skip ? skip : 1;
    }
    if (c) {
        pfc_buf_puts(&out, " --good");
        add_word(&out, bisect_id(&b->axis, c->first - 1));
        pfc_buf_puts(&out, " --bad");
        add_word(&out, bisect_id(&b->axis, c->last));
        pfc_buf_puts(&out, " --confirm");
    }
    text = pfc_strdup(pfc_buf_text(&out));
    pfc_buf_clear(&out);
    return text;
}

/* ---- JSON ---- */

static json_t *side_json(const bisect_session *b, size_t commit)
{
    const bisect_side s = bisect_side_of(&b->state, commit);

    return json_pack("{s:s,s:I,s:I,s:I,s:o,s:o}", "commit", bisect_id(&b->axis, commit), "runs",
                     (json_int_t)s.runs, "builds", (json_int_t)s.builds, "layouts",
                     (json_int_t)s.layouts, "median", pfc_bisect_number_json(s.median), "noise_rel",
                     pfc_bisect_number_json(s.noise_rel));
}

static json_t *compared_json(const pfc_compare_result *c)
{
    return json_pack("{s:o,s:o,s:o,s:o}", "rel_change", pfc_bisect_number_json(c->rel_change),
                     "rel_low", pfc_bisect_number_json(c->rel_low), "rel_high",
                     pfc_bisect_number_json(c->rel_high), "p", pfc_bisect_number_json(c->p));
}

static json_t *attribution_json(const bisect_session *b, const pfc_bisect_report *report, size_t i)
{
    const pfc_culprit *c = &report->culprits[i];
    char *again = repeat(b, c);
    json_t *doc = json_pack("{s:o,s:o,s:o,s:s}", "before", side_json(b, c->first - 1), "after",
                            side_json(b, c->last), "probability",
                            pfc_bisect_number_json(c->probability), "repeat", again);

    if (i < b->confirmations.len) {
        const bisect_confirmation *d = &b->confirmations.items[i];
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

json_t *bisect_evidence_json(const bisect_session *b, const pfc_bisect_report *report)
{
    pfc_compare_result cmp;
    json_t *attribution = json_array();
    char *again = repeat(b, NULL);
    json_t *doc = json_pack("{s:o,s:o,s:o,s:o,s:s,s:s}", "baseline", side_json(b, 0), "candidate",
                            side_json(b, bisect_bad(&b->axis)), "comparison",
                            compare_ends(b, &cmp) ? compared_json(&cmp) : json_null(),
                            "attribution", attribution, "layout",
                            bisect_builds_relink(&b->builds, b->opts) ? "randomised" : "as built",
                            "repeat", again);

    if (b->state.paired)
        json_object_set_new(
            doc, "pairs",
            json_pack("{s:I,s:I,s:o}", "measurements", (json_int_t)b->planning.units.len,
                      "single_runs", (json_int_t)single_runs(b), "noise_rel",
                      pfc_bisect_number_json(bisect_units_noise(&b->planning.units))));
    for (size_t i = 0; i < report->culprits_len; i++)
        json_array_append_new(attribution, attribution_json(b, report, i));
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

static void say_side(const bisect_session *b, size_t commit, pfc_buf *out)
{
    char value[32];
    char noise[32];
    const bisect_side s = bisect_side_of(&b->state, commit);

    pfc_buf_printf(out, "%.12s", bisect_id(&b->axis, commit));
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

static void say_comparison(const bisect_session *b, pfc_buf *out)
{
    pfc_compare_result cmp;

    say_side(b, bisect_bad(&b->axis), out);
    if (!compare_ends(b, &cmp))
        return;
    pfc_buf_puts(out, ", ");
    say_change(cmp.rel_change, cmp.rel_low, cmp.rel_high, out);
    pfc_buf_puts(out, " against the baseline");
    if (b->planning.higher_is_better ? cmp.rel_low > 0 : cmp.rel_high < 0)
        pfc_buf_puts(out, ": it is the better one; are the ends swapped, or the metric's direction "
                          "(--higher-is-better, --lower-is-better)?");
}

static void say_attribution(const bisect_session *b, const pfc_bisect_report *report,
                            const bisect_stop *stop, const pfc_culprit *c, pfc_buf *out)
{
    say_side(b, c->first - 1, out);
    pfc_buf_puts(out, ", then ");
    say_side(b, c->last, out);
    if (c->first == c->last)
        pfc_buf_puts(out, "; the step is in this commit");
    else
        pfc_buf_printf(out, "; the step is in one of these %zu commits", c->last - c->first + 1);
    pfc_buf_printf(out, " with probability %.4f", c->probability);
    /* Three reasons for a set of several commits; only the first is final. */
    if (c->unmeasurable)
        pfc_buf_puts(out, "; no run can separate them, because the commits between the two cannot "
                          "be measured");
    else if (c->first != c->last && stop->budget)
        pfc_buf_printf(out, "; the budget of %zu runs ended before they were separated",
                       stop->budget_runs);
    else if (c->first != c->last && report->verdict == PFC_BISECT_RANGE)
        pfc_buf_puts(out,
                     "; another run would hardly narrow them down (known --noise and --delta, or "
                     "--relink, help)");
}

static void say_confirmation(const bisect_session *b, size_t i, pfc_buf *out)
{
    const bisect_confirmation *c = &b->confirmations.items[i];
    const pfc_confirm_result *r = &c->result;

    pfc_buf_printf(out, "%.12s against %.12s in %zu new interleaved pairs",
                   bisect_id(&b->axis, c->culprit.first - 1), bisect_id(&b->axis, c->culprit.last),
                   r->pairs);
    if (r->layouts > 1)
        pfc_buf_puts(out, ", each with a layout of its own");
    if (r->pairs) {
        pfc_buf_puts(out, ": ");
        say_change(r->cmp.rel_change, r->cmp.rel_low, r->cmp.rel_high, out);
        pfc_buf_printf(out, ", always-valid p %.2g", r->cmp.p);
    }
    pfc_buf_printf(out, ": %s", pfc_confirm_verdict_name(r->verdict));
    if (c->reason[0])
        pfc_buf_printf(out, " (%s)", c->reason);
}

static void say_suspects(const bisect_session *b, pfc_buf *out)
{
    double *p = pfc_calloc(b->axis.commits.len, sizeof(*p));

    pfc_bisect_posterior(b->planning.plan, p);
    for (size_t k = 0; k < SUSPECTS; k++) {
        size_t best = 1;

        for (size_t i = 2; i < b->axis.commits.len; i++)
            best = p[i] > p[best] ? i : best;
        if (p[best] < 0.01)
            break;
        pfc_buf_printf(out, "%s%.12s %.2f", k ? ", " : "", bisect_id(&b->axis, best),
                       fmin(p[best], 1));
        p[best] = 0;
    }
    if (!out->len)
        pfc_buf_puts(out, "no commit has 1 %");
    free(p);
}

static void say_pairs(const bisect_session *b, pfc_buf *out)
{
    const double noise = bisect_units_noise(&b->planning.units);
    const size_t single = single_runs(b);

    pfc_buf_printf(out,
                   "%zu measurements interleaved with %.12s as first built, which count both sides",
                   b->planning.units.len, bisect_id(&b->axis, 0));
    if (isfinite(noise))
        pfc_buf_printf(out, ", noise of one %.2g %%", 100 * noise);
    if (single)
        pfc_buf_printf(
            out,
            "; the first %zu runs were single ones, showed a machine with speed states, and do "
            "not count",
            single);
}

static void say_layout(const bisect_session *b, pfc_buf *out)
{
    size_t layouts = 0;

    for (size_t i = 0; i < b->axis.commits.len; i++)
        layouts += bisect_side_of(&b->state, i).layouts;
    if (!b->opts->relink && !b->builds.opts.relink)
        pfc_buf_puts(out, "as built: one build a commit, so a difference of layout would look like "
                          "one of code (relink in perfci.yaml, or --relink, tells them apart)");
    else
        pfc_buf_printf(out, "randomised: %zu builds with another layout%s%.200s", layouts,
                       b->builds.opts.relink ? ", by " : "",
                       b->builds.opts.relink ? b->builds.opts.relink : "");
}

static void say_spent(const bisect_session *b, const pfc_bisect_report *report, pfc_buf *out)
{
    const size_t runs = bisect_run_count(b, report);
    const size_t confirm = bisect_confirm_runs(&b->state);
    char seconds[32];

    pfc_show_seconds(b->state.seconds, seconds);
    pfc_buf_printf(out, "%zu runs, %zu builds, %zu of %zu %s measured, %s", runs, report->builds,
                   report->commits_measured, b->axis.commits.len, bisect_axis_noun(&b->axis),
                   seconds);
    if (confirm)
        pfc_buf_printf(out, "; %zu of the runs confirm", confirm);
}

/* `culprits`: how many of the report's get their own sections. */
static void collect(const bisect_session *b, const pfc_bisect_report *report,
                    const bisect_stop *stop, size_t culprits, sections *all)
{
    char *again;

    say_side(b, 0, begin(all, "baseline", false));
    say_comparison(b, begin(all, "comparison", false));
    for (size_t i = 0; i < culprits; i++) {
        say_attribution(b, report, stop, &report->culprits[i], begin(all, "attribution", false));
        if (i < b->confirmations.len)
            say_confirmation(b, i, begin(all, "confirmation", false));
    }
    if (report->verdict == PFC_BISECT_INCONCLUSIVE && b->state.len)
        say_suspects(b, begin(all, "likely so far", false));
    if (b->state.paired)
        say_pairs(b, begin(all, "pairs", false));
    say_layout(b, begin(all, "layout", false));
    say_spent(b, report, begin(all, "spent", false));
    for (size_t i = 0; i < culprits; i++) {
        again = repeat(b, &report->culprits[i]);
        pfc_buf_puts(begin(all, "verify", true), again);
        free(again);
    }
    again = repeat(b, NULL);
    pfc_buf_puts(begin(all, "repeat", true), again);
    free(again);
}

void bisect_evidence_print(const bisect_session *b, const pfc_bisect_report *report,
                           const bisect_stop *stop, bool markdown)
{
    sections all = { 0 };
    /* Text is a summary of at most 15 lines: the table has the figures of the other culprits,
     * --verbose and --json have all sections. */
    const size_t most = markdown || b->opts->verbose ? report->culprits_len : 1;

    collect(b, report, stop, PFC_MIN(most, report->culprits_len), &all);
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
