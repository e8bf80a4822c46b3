/*
 * The answer of a bisection: table, JSON, post to the service.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/bisect/search.h"
#include "core/forge/forge.h"

static bool names_culprits(const pfc_bisect_report *report)
{
    return report->verdict == PFC_BISECT_FOUND || report->verdict == PFC_BISECT_RANGE;
}

/* JSON knows no infinity and no NaN. */
static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

bool pfc_hunt_stands(const pfc_hunt *h, size_t culprit)
{
    if (!pfc_hunt_confirms(h))
        return true;
    return culprit < h->confirmed_len &&
           h->confirmed[culprit].result.verdict == PFC_CONFIRM_CONFIRMED;
}

size_t pfc_hunt_runs(const pfc_hunt *h, const pfc_bisect_report *report)
{
    size_t confirm = 0;
    size_t all = 0;

    for (size_t i = 0; i < h->state.len; i++) {
        confirm += h->state.steps[i].confirm;
        all += h->state.steps[i].kind != PFC_OUTCOME_BROKEN;
    }
    /* What the plan was told are units there, which both sides' runs have paid for. */
    return h->state.paired ? all : report->runs + confirm;
}

/* Named, but not to blame: what a fresh comparison did not show is no verdict. */
static void judge(const pfc_hunt *h, pfc_bisect_report *report)
{
    size_t standing = 0;

    for (size_t i = 0; i < report->culprits_len; i++)
        standing += pfc_hunt_stands(h, i);
    if (names_culprits(report) && !standing)
        report->verdict = PFC_BISECT_INCONCLUSIVE;
}

bool pfc_hunt_names(const pfc_hunt *h)
{
    pfc_bisect_report report = { 0 };
    bool names;

    pfc_bisect_report_get(h->plan, &report);
    judge(h, &report);
    names = names_culprits(&report) && !h->interrupted;
    pfc_bisect_report_clear(&report);
    return names;
}

bool pfc_hunt_branch(const pfc_hunt *h, pfc_commit_id *base, pfc_commit_id *tip)
{
    pfc_bisect_report report = { 0 };
    pfc_commit merge = { 0 };
    pfc_commit_id id;
    pfc_commit_id main;
    bool found = false;

    pfc_bisect_report_get(h->plan, &report);
    if (pfc_hunt_names(h) && h->repo && !h->points && report.culprits_len == 1 &&
        report.culprits[0].first == report.culprits[0].last &&
        !pfc_repo_resolve(h->repo, h->commits.items[report.culprits[0].last].id, &id, NULL) &&
        !pfc_repo_commit(h->repo, &id, &merge, NULL)) {
        found = merge.parents_len == 2 &&
                !pfc_repo_resolve(h->repo, merge.parents[0], &main, NULL) &&
                !pfc_repo_resolve(h->repo, merge.parents[1], tip, NULL) &&
                !pfc_repo_merge_base(h->repo, &main, tip, base, NULL) &&
                strcmp(base->hex, tip->hex) != 0;
        pfc_commit_clear(&merge);
    }
    pfc_bisect_report_clear(&report);
    return found;
}

/* The culprits that stand, or those that do not. */
static json_t *culprits_json(const pfc_hunt *h, const pfc_bisect_report *report, bool stand)
{
    json_t *list = json_array();

    for (size_t i = 0; i < report->culprits_len; i++) {
        const pfc_culprit *c = &report->culprits[i];
        json_t *ids = json_array();

        for (size_t k = c->first; k <= c->last; k++)
            json_array_append_new(ids, json_string(h->commits.items[k].id));
        if ((names_culprits(report) && pfc_hunt_stands(h, i)) != stand) {
            json_decref(ids);
            continue;
        }
        json_array_append_new(list,
                              json_pack("{s:o,s:o,s:o,s:o,s:o,s:b}", "commits", ids, "probability",
                                        number(c->probability), "rel_change", number(c->rel_change),
                                        "rel_low", number(c->rel_low), "rel_high",
                                        number(c->rel_high), "unmeasurable", c->unmeasurable));
    }
    return list;
}

static json_t *report_json(const pfc_hunt *h, const pfc_bisect_report *report,
                           const pfc_hunt_stop *stop)
{
    json_t *doc = json_pack(
        "{s:s,s:o,s:I,s:I,s:I,s:o}", "verdict", pfc_bisect_verdict_name(report->verdict),
        "culprits", culprits_json(h, report, true), "runs", (json_int_t)pfc_hunt_runs(h, report),
        "builds", (json_int_t)report->builds, "commits_measured",
        (json_int_t)report->commits_measured, "seconds", number(h->state.seconds));

    pfc_hunt_stop_json(h, stop, doc);
    return doc;
}

/* At most *room rows; what is left of it afterwards. Returns the rows that had none. */
static size_t culprit_rows(pfc_table *table, const pfc_hunt *h, const pfc_culprit *c, size_t *room)
{
    size_t left_out = 0;
    char change[32];
    char low[32];
    char high[32];

    pfc_show_percent(c->rel_change, change);
    pfc_show_percent(c->rel_low, low);
    pfc_show_percent(c->rel_high, high);
    for (size_t k = c->first; k <= c->last; k++) {
        char *subject;

        if (*room == 0) {
            left_out += c->last - k + 1;
            break;
        }
        --*room;
        subject = pfc_hunt_subject(h, k);
        pfc_table_row(table);
        pfc_table_setf(table, 0, "%.12s", h->commits.items[k].id);
        pfc_table_color(table, 0, "red");
        /* The numbers belong to the set; its first line carries them. */
        if (k == c->first) {
            pfc_table_setf(table, 1, "%.4f", c->probability);
            pfc_table_set(table, 2, change);
            pfc_table_setf(table, 3, "%s .. %s", low, high);
        } else {
            pfc_table_set(table, 1, "or");
        }
        pfc_table_set(table, 4, subject);
        free(subject);
    }
    return left_out;
}

static void markdown_culprit(const pfc_hunt *h, const pfc_bisect_report *report, size_t i)
{
    const pfc_culprit *c = &report->culprits[i];
    char change[32];
    pfc_buf line;

    if (!names_culprits(report) || !pfc_hunt_stands(h, i))
        return;
    pfc_show_percent(c->rel_change, change);
    pfc_buf_init(&line, 64u * 1024);
    for (size_t k = c->first; k <= c->last && !line.overflow; k++) {
        char *subject = pfc_hunt_subject(h, k);

        pfc_buf_puts(&line, k == c->first ? "- " : "- or ");
        pfc_markdown_code(&line, h->commits.items[k].id);
        pfc_buf_putc(&line, ' ');
        pfc_markdown_text(&line, subject);
        if (k == c->first)
            pfc_buf_printf(&line, ": **%s**, probability %.4f", change, c->probability);
        pfc_buf_putc(&line, '\n');
        free(subject);
    }
    pfc_out("%s", pfc_buf_text(&line));
    pfc_buf_clear(&line);
}

static void print_table(const pfc_hunt *h, const pfc_bisect_report *report)
{
    static const pfc_table_col cols[] = { { "CULPRIT", false },
                                          { "PROBABILITY", true },
                                          { "CHANGE", true },
                                          { "INTERVAL", true },
                                          { "SUBJECT", false } };
    pfc_table *table = pfc_table_new(h->cli, cols, PFC_ARRAY_LEN(cols));
    size_t room = h->opts->verbose ? SIZE_MAX : PFC_HUNT_REPORT_ROWS, left_out = 0;

    for (size_t i = 0; i < report->culprits_len; i++)
        if (pfc_hunt_stands(h, i))
            left_out += culprit_rows(table, h, &report->culprits[i], &room);
    pfc_table_print(table);
    if (left_out)
        pfc_out("and %zu more commit%s: --verbose or --json prints all\n", left_out,
                left_out == 1 ? "" : "s");
}

static void none_line(const char *good, const char *bad, const pfc_hunt_stop *stop, pfc_buf *out)
{
    pfc_buf_printf(out, "no regression between %.12s and %.12s: not reproduced; ", good, bad);
    pfc_hunt_none_say(stop, out);
}

static void open_line(const pfc_hunt_stop *stop, pfc_buf *out)
{
    pfc_buf_puts(out, "not decided: no regression is shown, and none is ruled out; ");
    pfc_hunt_none_say(stop, out);
}

/* The verdict in one line; *table: it names somebody. */
static void headline(const pfc_hunt *h, const pfc_bisect_report *report, const pfc_hunt_stop *stop,
                     pfc_buf *out)
{
    const char *good = h->commits.items[0].id;
    const char *bad = h->commits.items[h->commits.len - 1].id;

    if (names_culprits(report) && report->culprits_len > 0)
        pfc_buf_printf(out, "%s between %.12s and %.12s%s",
                       report->verdict == PFC_BISECT_FOUND ? "found" : "narrowed down", good, bad,
                       pfc_hunt_confirms(h) ? ", confirmed by new pairs" : "");
    else if (report->verdict == PFC_BISECT_NO_REGRESSION)
        none_line(good, bad, stop, out);
    else if (stop->open_none && !stop->budget)
        open_line(stop, out);
    else if (stop->budget)
        pfc_buf_puts(out, "inconclusive: stopped by the budget");
    else if (report->culprits_len && h->confirmed_len)
        pfc_buf_puts(out, "inconclusive: the new pairs do not confirm the named commit");
    else
        pfc_buf_puts(out, "inconclusive: more runs are needed (--resume goes on, --max-runs allows "
                          "more)");
}

static void print_stop(const pfc_hunt *h, const pfc_hunt_stop *stop)
{
    pfc_buf text;

    pfc_buf_init(&text, 4096);
    pfc_hunt_stop_say(h, stop, &text);
    pfc_out("%s\n%shint: --resume with a larger --max-runs goes on from here\n%s",
            pfc_buf_text(&text), h->opts->markdown ? "\n" : "", h->opts->markdown ? "\n" : "");
    pfc_buf_clear(&text);
}

static void print_report(const pfc_hunt *h, const pfc_bisect_report *report,
                         const pfc_hunt_stop *stop)
{
    pfc_buf head;

    pfc_buf_init(&head, 4096);
    headline(h, report, stop, &head);
    if (h->opts->markdown) {
        pfc_out("### perfci bisect: %s\n\n", pfc_buf_text(&head));
    } else {
        pfc_out("%s\n", pfc_buf_text(&head));
        if (names_culprits(report) && report->culprits_len > 0)
            print_table(h, report);
    }
    pfc_buf_clear(&head);
    if (stop->budget)
        print_stop(h, stop);
    else if (stop->open_none && isfinite(stop->more_runs))
        pfc_out("hint: --resume --max-runs %.0f goes on from here\n%s",
                (double)h->state.len + ceil(stop->more_runs), h->opts->markdown ? "\n" : "");
    for (size_t i = 0; h->opts->markdown && i < report->culprits_len; i++)
        markdown_culprit(h, report, i);
    if (h->opts->markdown && names_culprits(report))
        putchar('\n');
    pfc_hunt_evidence_print(h, report, stop, h->opts->markdown);
}

static json_t *steps_json(const pfc_hunt *h)
{
    json_t *list = json_array();

    for (size_t i = 0; i < h->state.len; i++) {
        const pfc_hunt_step *s = &h->state.steps[i];

        json_t *step;

        if (s->kind != PFC_OUTCOME_MEASURED)
            continue;
        step = json_pack("{s:s,s:f,s:I}", "commit", h->commits.items[s->commit].id, "value",
                         s->value, "build", (json_int_t)s->build);
        if (s->confirm)
            json_object_set_new(step, "confirm", json_true());
        json_array_append_new(list, step);
    }
    return list;
}

/* The one comparison that shows its single commit; NULL: none, or several. */
static const pfc_hunt_confirmed *standing(const pfc_hunt *h)
{
    const pfc_hunt_confirmed *found = NULL;

    for (size_t i = 0; i < h->confirmed_len; i++) {
        const pfc_hunt_confirmed *c = &h->confirmed[i];

        if (c->result.verdict != PFC_CONFIRM_CONFIRMED || c->culprit.first != c->culprit.last)
            continue;
        if (found)
            return NULL;
        found = c;
    }
    return found;
}

/* The raw pairs of the one that stands: the service judges them itself. */
static json_t *confirmation_json(const pfc_hunt *h)
{
    const pfc_hunt_confirmed *c = standing(h);
    json_t *pairs;
    double half = 0;
    bool open = false, half_after = false;

    if (!c)
        return NULL;
    pairs = json_array();
    for (size_t i = 0; i < h->state.len; i++) {
        const pfc_hunt_step *s = &h->state.steps[i];

        if (!s->confirm || s->kind != PFC_OUTCOME_MEASURED ||
            (s->commit != c->culprit.first - 1 && s->commit != c->culprit.last))
            continue;
        if (open)
            json_array_append_new(pairs, half_after ? json_pack("[f,f]", s->value, half)
                                                    : json_pack("[f,f]", half, s->value));
        half = s->value;
        half_after = s->commit == c->culprit.last;
        open = !open;
    }
    /* A comparison of the commit beside it may share a side: then whose a run was is not known here. */
    if (json_array_size(pairs) != c->result.pairs) {
        json_decref(pairs);
        return NULL;
    }
    return json_pack("{s:s,s:o}", "before", h->commits.items[c->culprit.first - 1].id, "pairs",
                     pairs);
}

static pfc_code post(const pfc_hunt *h, const pfc_bisect_report *report, const pfc_hunt_stop *stop,
                     pfc_err *err)
{
    const pfc_hunt_opts *o = h->opts;
    json_t *body = report_json(h, report, stop);
    json_t *confirmation;
    char *project = NULL;
    pfc_http *http = NULL;
    pfc_code code = pfc_api_open(o->url, o->data, &h->conf, &http, err);

    if (!code)
        code = pfc_api_project(o->project, &h->conf, h->repo ? pfc_repo_root(h->repo) : NULL,
                               &project, err);
    if (code)
        goto done;
    json_object_set_new(body, "project", json_string(project));
    json_object_set_new(body, "metric", json_string(h->measure.metric));
    if (o->benchmark)
        json_object_set_new(body, "benchmark", json_string(o->benchmark));
    if (o->backend)
        json_object_set_new(body, "backend", json_string(o->backend));
    json_object_set_new(body, "good", json_string(h->commits.items[0].id));
    json_object_set_new(body, "bad", json_string(h->commits.items[h->commits.len - 1].id));
    json_object_set_new(body, "steps", steps_json(h));
    confirmation = confirmation_json(h);
    if (confirmation)
        json_object_set_new(body, "confirmation", confirmation);
    code = pfc_http_json(http, "POST", "/api/v1/bisections", body, NULL, NULL, err);

done:
    pfc_http_free(http);
    free(project);
    json_decref(body);
    return code;
}

static void print_json(const pfc_hunt *h, const pfc_bisect_report *report,
                       const pfc_hunt_stop *stop)
{
    json_t *doc = report_json(h, report, stop);
    json_t *open = culprits_json(h, report, false);

    /* Readings of the same fixed work before and after: they differ when the machine did. */
    json_object_set_new(
        doc, "canary",
        h->canary.read ? json_pack("{s:o,s:o,s:b}", "before_ns", number(h->canary.before_ns),
                                   "after_ns", number(h->canary.after_ns), "moved", h->canary.moved)
                       : json_null());
    json_object_set_new(doc, "confirmed",
                        json_boolean(names_culprits(report) && pfc_hunt_confirms(h)));
    /* Named by the search, blamed by nobody: see evidence. */
    json_object_set_new(doc, "unconfirmed", open);
    json_object_set_new(doc, "evidence", pfc_hunt_evidence_json(h, report));
    pfc_cli_print_json(doc);
}

int pfc_hunt_report(pfc_hunt *h)
{
    pfc_bisect_report report = { 0 };
    pfc_hunt_stop stop;
    pfc_err err = { 0 };
    int status = PFC_EXIT_INCONCLUSIVE;

    pfc_hunt_log_flush(h);
    pfc_hunt_view_wipe(h);
    pfc_bisect_report_get(h->plan, &report);
    /* What was cut short is no verdict, whatever the posterior says at that moment. */
    if (h->interrupted) {
        report.verdict = PFC_BISECT_INCONCLUSIVE;
        pfc_cli_warn(h->cli, "interrupted; every measurement is kept, the same command with "
                             "--resume goes on");
    }
    judge(h, &report);
    pfc_hunt_stop_get(h, &report, &stop);
    if (h->cli->json)
        print_json(h, &report, &stop);
    else
        print_report(h, &report, &stop);
    if (names_culprits(&report))
        status = PFC_EXIT_REGRESSION;
    else if (report.verdict == PFC_BISECT_NO_REGRESSION)
        status = PFC_EXIT_OK;
    /* The verdict is the result; that it could not be told is said, and changes nothing. */
    if (h->opts->post && !h->interrupted && post(h, &report, &stop, &err))
        pfc_cli_warn(h->cli, "the report was not posted: %s", err.msg);
    pfc_bisect_report_clear(&report);
    return status;
}
