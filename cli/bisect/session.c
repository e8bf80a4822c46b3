/*
 * Opens a local bisection: settings, axis, kept state, and the plan of all kept runs.
 */
#include "cli/bisect/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"

/* Each part's view of the parts that it reads. */
static void connect(bisect_session *b)
{
    b->measuring.opts = b->opts;
    b->measuring.axis = &b->axis;
    b->measuring.builds = &b->builds;
    b->planning.opts = b->opts;
    b->planning.axis = &b->axis;
    b->planning.measuring = &b->measuring;
    b->planning.state = &b->state;
    b->progress.cli = b->cli;
    b->progress.planning = &b->planning;
    b->view.progress = &b->progress;
    b->log.progress = &b->progress;
}

/* Everything that decides the meaning of a measurement. */
static pfc_code read_settings(bisect_session *b, pfc_err *err)
{
    const bisect_opts *o = b->opts;
    const pfc_conf *conf = &b->measuring.conf;
    bisect_globs globs;
    pfc_code code = PFC_OK;

    if (!o->no_checkout || (!o->commits_file && o->axis == BISECT_COMMITS))
        code = pfc_repo_open(o->repo ? o->repo : ".", &b->builds.repo, err);
    if (!code)
        code = bisect_measuring_read(&b->measuring, err);
    if (code)
        return code;
    globs = (bisect_globs){ conf->paths, conf->paths_len };
    code = bisect_axis_read(&b->axis, o, b->builds.repo, &globs, err);
    b->builds.opts =
        (pfc_workspace_opts){ .build = o->build ? o->build : conf->build,
                              .relink = o->relink_command ? o->relink_command : conf->relink,
                              .cancelled = pfc_cli_interrupted };
    return code ? code : bisect_measuring_settle(&b->measuring, err);
}

static pfc_code read_state(bisect_session *b, pfc_err *err)
{
    const bisect_opts *o = b->opts;
    bool found = false;
    pfc_code code = PFC_OK;

    bisect_measuring_key(&b->measuring, &b->state);
    if (o->resume || o->dry_run)
        code = bisect_state_load(&b->state, b->axis.commits.len, &found, err);
    if (!code && o->resume && !o->dry_run) {
        if (found)
            pfc_cli_note(b->cli, "continuing after %zu measurements", b->state.len);
        else
            pfc_cli_note(b->cli, "no state of this bisection is kept: it starts again");
    }
    if (o->dry_run) {
        /* The kept runs give the duration of a run; the plan contains them with --resume only. */
        b->kept = bisect_costs_of(&b->state);
        if (!o->resume)
            b->state.len = 0;
    }
    /* --paired and --no-paired hold for kept runs too. */
    if (o->paired)
        b->state.paired = o->paired > 0;
    b->seconds_before = b->state.seconds;
    return code;
}

pfc_code bisect_session_open(bisect_session *b, const pfc_cli *cli, const bisect_opts *opts,
                             pfc_err *err)
{
    pfc_code code;

    *b = (bisect_session){ .cli = cli, .opts = opts, .started_ns = pfc_clock_ns() };
    connect(b);
    code = read_settings(b, err);
    if (code)
        return code;
    bisect_measuring_print(&b->measuring, cli);
    code = read_state(b, err);
    return code ? code : bisect_planning_remake(&b->planning, err);
}

void bisect_session_phase(bisect_session *b, const char *fmt, ...)
{
    char text[BISECT_PHASE_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    bisect_log_flush(&b->log);
    bisect_view_phase(&b->view, text);
}

void bisect_session_close(bisect_session *b)
{
    bisect_planning_clear(&b->planning);
    bisect_measuring_clear(&b->measuring);
    bisect_state_clear(&b->state);
    bisect_axis_clear(&b->axis);
    bisect_builds_clear(&b->builds);
    free(b->confirmations.items);
    *b = (bisect_session){ 0 };
}
