/* Sections for what is asked for beside the stored runs: instructions by function, stacks, the
 * first command that differs, traces; and the graph of the phases. */
#include "core/analysis/report/further.h"

#include <stdlib.h>

#include "core/base/base.h"

#define EDGES_SHOWN     40
#define FUNCTIONS_SHOWN 20

/* ---- phases ---- */

void pfc_report_add_phases(pfc_report *r, const pfc_explanation *e)
{
    pfc_profile_edge *edges = pfc_calloc(PFC_PROFILE_MAX_EDGES, sizeof(*edges));
    const size_t len = pfc_profile_edges(&e->after.profile, edges, PFC_PROFILE_MAX_EDGES);
    pfc_report_part *b;

    if (len > 0) {
        pfc_report_add_part(r, PFC_REPORT_HEADING, "Phases and what they wait for");
        pfc_report_add_picture(r, e, pfc_picture_phases);
        b = pfc_report_add_part(r, PFC_REPORT_TABLE, "Waits between phases");
        pfc_report_column(b, "phase", false);
        pfc_report_column(b, "waits for", false);
        pfc_report_column(b, "waits", true);
        for (size_t i = 0; i < PFC_MIN(len, (size_t)EDGES_SHOWN); i++) {
            pfc_report_row(b);
            pfc_report_cell_set(b, 0, "%s", edges[i].to);
            pfc_report_cell_set(b, 1, "%s", edges[i].from);
            pfc_report_cell_set(b, 2, "%.0f", edges[i].waits);
        }
    }
    free(edges);
}

/* ---- command streams and traces ---- */

static void add_stream(pfc_report *r, const pfc_stream_difference *s)
{
    pfc_report_part *b;

    pfc_report_add_part(r, PFC_REPORT_HEADING, "First command that differs");
    if (s->unavailable[0]) {
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "Not available: %s.", s->unavailable);
        return;
    }
    if (s->equal) {
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH,
                            "None: both streams have the same %llu commands.",
                            (unsigned long long)s->before.commands);
        return;
    }
    pfc_report_add_part(r, PFC_REPORT_PARAGRAPH,
                        "Command %llu is the first one that differs; %llu commands before, %llu "
                        "after.",
                        (unsigned long long)s->at, (unsigned long long)s->before.commands,
                        (unsigned long long)s->after.commands);
    b = pfc_report_add_part(r, PFC_REPORT_TABLE, "The command in both streams");
    pfc_report_column(b, "", false);
    pfc_report_column(b, "command", false);
    pfc_report_column(b, "line of the schedule", false);
    for (int after = 0; after < 2; after++) {
        const pfc_stream_command *c = after ? &s->after : &s->before;

        pfc_report_row(b);
        pfc_report_cell_set(b, 0, "%s", after ? "after" : "before");
        pfc_report_cell_set(b, 1, "%s", c->text[0] ? c->text : "the stream has ended");
        pfc_report_cell_set(b, 2, "%s", c->line);
    }
}

static void add_traces(pfc_report *r, const pfc_explanation *e)
{
    const pfc_explain_side *const sides[] = { &e->before, &e->after };
    pfc_report_part *b;

    if (!e->before.trace.file && !e->after.trace.file && !e->after.trace.unavailable[0])
        return;
    pfc_report_add_part(r, PFC_REPORT_HEADING, "Traces");
    b = pfc_report_add_part(r, PFC_REPORT_TABLE, "Traces, made again from the recorded runs");
    pfc_report_column(b, "", false);
    pfc_report_column(b, "trace", false);
    for (size_t i = e->pair ? 0 : 1; i < PFC_ARRAY_LEN(sides); i++) {
        const pfc_explain_trace *t = &sides[i]->trace;

        pfc_report_row(b);
        pfc_report_cell_set(b, 0, "%s", !e->pair ? "run" : i ? "after" : "before");
        if (t->file) {
            pfc_report_cell_set(b, 1, "%s", t->file);
            pfc_report_cell_href(b, 1, t->file);
        } else {
            pfc_report_cell_set(b, 1, "not available: %s", t->unavailable);
        }
    }
}

/* ---- functions of a CPU's program ---- */

static void add_functions(pfc_report *r, const pfc_function_delta *d)
{
    pfc_report_part *b;

    pfc_report_add_part(r, PFC_REPORT_HEADING, "Instructions by function");
    if (d->unavailable[0]) {
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "Not available: %s.", d->unavailable);
        return;
    }
    pfc_report_add_part(r, PFC_REPORT_PARAGRAPH,
                        "Counted by valgrind's callgrind: %llu instructions before, %llu after. "
                        "Instructions are no time, valgrind has no AVX-512, and a program that "
                        "repeats until a time is over does not repeat equally often.",
                        (unsigned long long)d->before, (unsigned long long)d->after);
    b = pfc_report_add_part(r, PFC_REPORT_TABLE, "Functions whose instructions differ");
    pfc_report_column(b, "function", false);
    pfc_report_column(b, "before", true);
    pfc_report_column(b, "after", true);
    pfc_report_column(b, "change", true);
    pfc_report_column(b, "calls before", true);
    pfc_report_column(b, "calls after", true);
    for (size_t i = 0; i < PFC_MIN(d->len, (size_t)FUNCTIONS_SHOWN); i++) {
        const pfc_function_change *c = &d->changes[i];

        pfc_report_row(b);
        pfc_report_cell_set(b, 0, "%s", c->name);
        pfc_report_cell_set(b, 1, "%llu", (unsigned long long)c->before);
        pfc_report_cell_set(b, 2, "%llu", (unsigned long long)c->after);
        pfc_report_cell_set(b, 3, "%+.0f", (double)c->after - (double)c->before);
        pfc_report_cell_set(b, 4, "%llu", (unsigned long long)c->calls_before);
        pfc_report_cell_set(b, 5, "%llu", (unsigned long long)c->calls_after);
    }
    if (d->len + d->more > FUNCTIONS_SHOWN)
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "%zu smaller differences are not listed.",
                            d->len + d->more - FUNCTIONS_SHOWN);
}

static void add_flame(pfc_report *r, const pfc_explanation *e)
{
    pfc_flame_function functions[FUNCTIONS_SHOWN];
    pfc_report_part *b;
    size_t len;

    pfc_report_add_part(r, PFC_REPORT_HEADING, "Call stacks");
    if (e->flame->unavailable[0]) {
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "Not available: %s.", e->flame->unavailable);
        return;
    }
    pfc_report_add_part(r, PFC_REPORT_PARAGRAPH,
                        "Sampled by perf: %llu samples before, %llu after. A box is as wide as the "
                        "larger one of its shares; red: its share grew, green: it shrank.",
                        (unsigned long long)e->flame->nodes[0].samples[0],
                        (unsigned long long)e->flame->nodes[0].samples[1]);
    pfc_report_add_picture(r, e, pfc_picture_flame);
    len = pfc_flame_functions(e->flame, functions, FUNCTIONS_SHOWN);
    b = pfc_report_add_part(r, PFC_REPORT_TABLE, "Share of the samples in each function itself");
    pfc_report_column(b, "function", false);
    pfc_report_column(b, "before", true);
    pfc_report_column(b, "after", true);
    pfc_report_column(b, "change", true);
    for (size_t i = 0; i < len; i++) {
        pfc_report_row(b);
        pfc_report_cell_set(b, 0, "%s", functions[i].name);
        pfc_report_cell_set(b, 1, "%.1f %%", 100 * functions[i].before);
        pfc_report_cell_set(b, 2, "%.1f %%", 100 * functions[i].after);
        pfc_report_cell_set(b, 3, "%+.1f", 100 * (functions[i].after - functions[i].before));
    }
}

void pfc_report_add_further(pfc_report *r, const pfc_explanation *e)
{
    if (e->stream)
        add_stream(r, e->stream);
    add_traces(r, e);
    if (e->functions)
        add_functions(r, e->functions);
    if (e->flame)
        add_flame(r, e);
}

/* ---- JSON ---- */

static json_t *functions_json(const pfc_function_delta *d)
{
    json_t *list = json_array();

    for (size_t i = 0; i < d->len; i++) {
        const pfc_function_change *c = &d->changes[i];

        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:I, s:I, s:I}", "name", c->name, "before",
                                        (json_int_t)c->before, "after", (json_int_t)c->after,
                                        "calls_before", (json_int_t)c->calls_before, "calls_after",
                                        (json_int_t)c->calls_after));
    }
    return json_pack("{s:s, s:I, s:I, s:o, s:I}", "unavailable", d->unavailable, "before",
                     (json_int_t)d->before, "after", (json_int_t)d->after, "functions", list,
                     "more", (json_int_t)d->more);
}

static json_t *flame_json(const pfc_flame *f)
{
    pfc_flame_function functions[FUNCTIONS_SHOWN];
    const size_t len = pfc_flame_functions(f, functions, FUNCTIONS_SHOWN);
    json_t *list = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:f, s:f}", "name", functions[i].name, "before",
                                        functions[i].before, "after", functions[i].after));
    return json_pack("{s:s, s:I, s:I, s:o}", "unavailable", f->unavailable, "samples_before",
                     (json_int_t)(f->len ? f->nodes[0].samples[0] : 0), "samples_after",
                     (json_int_t)(f->len ? f->nodes[0].samples[1] : 0), "functions", list);
}

static json_t *command_json(const pfc_stream_command *c)
{
    return json_pack("{s:I, s:s, s:s}", "commands", (json_int_t)c->commands, "text", c->text,
                     "line", c->line);
}

static json_t *stream_json(const pfc_stream_difference *s)
{
    return json_pack("{s:s, s:b, s:I, s:o, s:o}", "unavailable", s->unavailable, "equal", s->equal,
                     "at", (json_int_t)s->at, "before", command_json(&s->before), "after",
                     command_json(&s->after));
}

static json_t *edges_json(const pfc_profile *p)
{
    pfc_profile_edge *edges = pfc_calloc(PFC_PROFILE_MAX_EDGES, sizeof(*edges));
    const size_t len = pfc_profile_edges(p, edges, PFC_PROFILE_MAX_EDGES);
    json_t *out = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(out, json_pack("{s:s, s:s, s:f}", "from", edges[i].from, "to",
                                             edges[i].to, "waits", edges[i].waits));
    free(edges);
    return out;
}

void pfc_report_further_json(const pfc_explanation *e, json_t *out)
{
    json_object_set_new(out, "phases", edges_json(&e->after.profile));
    if (e->stream)
        json_object_set_new(out, "stream", stream_json(e->stream));
    if (e->functions)
        json_object_set_new(out, "functions", functions_json(e->functions));
    if (e->flame)
        json_object_set_new(out, "stacks", flame_json(e->flame));
}
