/*
 * The view on a terminal.
 */
#include "cli/bisect/output/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/bisect/measuring/runs.h"
#include "cli/output/output.h"

enum { LEVELS = 8, WIDTH_MIN = 40, WIDTH_MAX = 160, LINE_BYTES = 1024 };

#define NOTHING 0.01 /* share of the fullest cell: drawn as blank */

static bool is_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

static size_t terminal_width(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return PFC_MIN(PFC_MAX((size_t)size.ws_col, (size_t)WIDTH_MIN), (size_t)WIDTH_MAX);
}

/* Commits from left to right, several in a cell where the line is too short. The height of a cell
 * is the mean probability of its commits against the fullest cell. */
static void bar(const bisect_planning *planning, size_t cells, pfc_buf *out)
{
    static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char plain[] = " .:-=+*#@";
    const bool utf8 = is_utf8();
    const size_t commits = bisect_bad(planning->axis);
    double *p = pfc_calloc(commits + 1, sizeof(*p));
    double *cell;
    double most = 0;

    pfc_bisect_posterior(planning->plan, p);
    cells = PFC_MIN(cells, commits);
    cell = pfc_calloc(cells, sizeof(*cell));
    for (size_t i = 0; i < cells; i++) {
        const size_t from = (i * commits + cells - 1) / cells;
        const size_t to = ((i + 1) * commits + cells - 1) / cells;

        for (size_t k = from; k < to; k++)
            cell[i] += p[k + 1] / (double)(to - from);
        most = fmax(most, cell[i]);
    }
    for (size_t i = 0; i < cells; i++) {
        const double share = most > 0 ? cell[i] / most : 0;
        const size_t level =
            share < NOTHING ? 0 : PFC_MIN((size_t)ceil(share * LEVELS - 1e-9), (size_t)LEVELS);

        if (utf8)
            pfc_buf_puts(out, blocks[level]);
        else
            pfc_buf_putc(out, plain[level]);
    }
    free(cell);
    free(p);
}

static void say_status(bisect_progress *progress, const bisect_run *next, pfc_buf *out)
{
    const bisect_state *state = progress->planning->state;
    const bisect_costs costs = bisect_costs_of(state);
    const size_t builds = bisect_build_count(state);
    char spent[32], left[32];

    pfc_show_seconds(state->seconds, spent);
    bisect_say_count(progress, next->confirm, out);
    pfc_buf_printf(out, " measuring %.12s", bisect_id(progress->planning->axis, next->commit));
    if (next->build)
        pfc_buf_printf(out, ", layout %u", next->build);
    if (builds)
        pfc_buf_printf(out, "; %zu build%s", builds, builds == 1 ? "" : "s");
    pfc_buf_printf(out, "; %s spent", spent);
    if (!next->confirm && state->len >= 2) {
        pfc_show_seconds(
            bisect_runs_to_go(progress) *
                (costs.measure_s + costs.build_s * (double)builds / (double)state->len),
            left);
        pfc_buf_printf(out, ", about %s left", left);
    }
}

void bisect_view_phase(bisect_view *view, const char *text)
{
    (void)snprintf(view->phase, sizeof(view->phase), "%s", text);
    view->phase_printed = false;
}

static void draw(bisect_view *view, const bisect_run *next)
{
    const bisect_planning *planning = view->progress->planning;
    const size_t width = terminal_width();
    pfc_buf line, suspects, text;

    pfc_buf_init(&line, LINE_BYTES);
    pfc_buf_init(&suspects, LINE_BYTES);
    pfc_buf_init(&text, LINE_BYTES);
    pfc_buf_printf(&line, "%.8s |", bisect_id(planning->axis, 0));
    bar(planning, width - 8 - 8 - 5, &line);
    pfc_buf_printf(&line, "| %.8s", bisect_id(planning->axis, bisect_bad(planning->axis)));
    bisect_say_suspects(planning, &suspects);
    say_status(view->progress, next, &text);
    /* One write for all lines, so that the view does not flicker. The cursor then returns to the
     * first line, where the next view, or the output of another program, begins. */
    fprintf(stderr, "\r\033[J%.*s\n%s\nsuspects: %.*s\n%.*s\033[3A\r", (int)width - 1, view->phase,
            pfc_buf_text(&line), (int)width - 11, pfc_buf_text(&suspects), (int)width - 1,
            pfc_buf_text(&text));
    fflush(stderr);
    pfc_buf_clear(&line);
    pfc_buf_clear(&suspects);
    pfc_buf_clear(&text);
}

void bisect_view_draw(bisect_view *view, const bisect_run *next)
{
    const pfc_cli *cli = view->progress->cli;

    if (cli->progress) {
        draw(view, next);
        return;
    }
    if (!view->phase_printed && view->phase[0])
        pfc_cli_note(cli, "%s", view->phase);
    view->phase_printed = true;
}
