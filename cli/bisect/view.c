/*
 * A bisection while it runs: four lines on a terminal, redrawn in place; decision_log.c has the log of other outputs.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/bisect/search.h"
#include "core/base/clock.h"

enum { LEVELS = 8, WIDTH_MIN = 40, WIDTH_MAX = 160, LINE_BYTES = 1024 };

#define NOTHING    0.01 /* share of the fullest cell: drawn as blank */
#define SHOWN_FROM 0.05 /* probability of a commit that is listed as a suspect */
#define SUSPECTS   3    /* suspects that are listed */
#define ESTIMATE_EVERY_NS                                                                          \
    (3 * PFC_NS_PER_S) /* an estimate simulates the plan: too slow for every run */

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

static double *posterior_of(const pfc_hunt *h)
{
    double *p = pfc_calloc(h->commits.len, sizeof(*p));

    pfc_bisect_posterior(h->plan, p);
    return p;
}

void pfc_hunt_suspects_say(const pfc_hunt *h, pfc_buf *out)
{
    double *p = posterior_of(h);

    for (size_t k = 0; k < SUSPECTS; k++) {
        size_t best = 1;

        for (size_t i = 2; i < h->commits.len; i++)
            best = p[i] > p[best] ? i : best;
        if (p[best] < SHOWN_FROM)
            break;
        /* Never 1.00: a measured probability is below 1. */
        pfc_buf_printf(out, "%s%.12s %.2f", k ? "   " : "", h->commits.items[best].id,
                       fmin(p[best], 0.99));
        p[best] = 0;
    }
    if (!out->len)
        pfc_buf_puts(out, "none has 5 % yet");
    free(p);
}

/* Commits from left to right, several in a cell where the line is too short. The height of a cell is the mean
 * probability of its commits against the fullest cell. */
static void bar(const pfc_hunt *h, size_t cells, pfc_buf *out)
{
    static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char plain[] = " .:-=+*#@";
    const bool utf8 = is_utf8();
    const size_t commits = h->commits.len - 1;
    double *p = posterior_of(h);
    double *cell;
    double most = 0;

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

double pfc_hunt_runs_to_go(pfc_hunt *h)
{
    const int64_t now = pfc_clock_ns();

    if (!h->to_go_ns || now - h->to_go_ns >= ESTIMATE_EVERY_NS) {
        h->to_go = pfc_hunt_pairs_cost(h) * pfc_bisect_expected_runs(h->plan);
        h->to_go_ns = now;
        h->to_go_at = h->state.len;
    }
    return fmax(h->to_go - (double)(h->state.len - h->to_go_at), 1);
}

static size_t builds_of(const pfc_hunt *h)
{
    size_t builds = 0;

    for (size_t i = 0; i < h->state.len; i++)
        builds += h->state.steps[i].built;
    return builds;
}

/* "[18/45]": runs done and expected; "[18]" while there is no estimate, and in a confirmation, which ends when its
 * test decides. */
void pfc_hunt_count_say(pfc_hunt *h, bool confirm, pfc_buf *out)
{
    if (confirm || h->state.len < 2)
        pfc_buf_printf(out, "[%zu]", h->state.len);
    else
        pfc_buf_printf(out, "[%zu/%.0f]", h->state.len,
                       (double)h->state.len + pfc_hunt_runs_to_go(h));
}

static void status(pfc_hunt *h, const pfc_bisect_step *next, bool confirm, pfc_buf *out)
{
    double measure_s, build_s;
    char spent[32], left[32];
    const size_t builds = builds_of(h);

    pfc_hunt_costs(h, &measure_s, &build_s);
    pfc_show_seconds(h->state.seconds, spent);
    pfc_hunt_count_say(h, confirm, out);
    pfc_buf_printf(out, " measuring %.12s", h->commits.items[next->commit].id);
    if (next->build)
        pfc_buf_printf(out, ", layout %u", next->build);
    if (builds)
        pfc_buf_printf(out, "; %zu build%s", builds, builds == 1 ? "" : "s");
    pfc_buf_printf(out, "; %s spent", spent);
    if (!confirm && h->state.len >= 2) {
        pfc_show_seconds(pfc_hunt_runs_to_go(h) *
                             (measure_s + build_s * (double)builds / (double)h->state.len),
                         left);
        pfc_buf_printf(out, ", about %s left", left);
    }
}

void pfc_hunt_phase(pfc_hunt *h, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(h->phase, sizeof(h->phase), fmt, args);
    va_end(args);
    pfc_hunt_log_flush(h);
    h->phase_told = false;
}

void pfc_hunt_view_wipe(const pfc_hunt *h)
{
    if (h->cli->progress)
        fputs("\r\033[J", stderr);
}

void pfc_hunt_view(pfc_hunt *h, const pfc_bisect_step *next, bool confirm)
{
    const char *good = h->commits.items[0].id;
    const char *bad = h->commits.items[h->commits.len - 1].id;
    const size_t width = terminal_width();
    pfc_buf line, suspects, text;

    if (!h->cli->progress) {
        if (!h->phase_told && h->phase[0])
            pfc_cli_note(h->cli, "%s", h->phase);
        h->phase_told = true;
        return;
    }
    pfc_buf_init(&line, LINE_BYTES);
    pfc_buf_init(&suspects, LINE_BYTES);
    pfc_buf_init(&text, LINE_BYTES);
    pfc_buf_printf(&line, "%.8s |", good);
    bar(h, width - 8 - 8 - 5, &line);
    pfc_buf_printf(&line, "| %.8s", bad);
    pfc_hunt_suspects_say(h, &suspects);
    status(h, next, confirm, &text);
    /* One write for all lines, so that the view does not flicker; then the cursor returns to the first line, where the
     * next view, or the output of another program, begins. */
    fprintf(stderr, "\r\033[J%.*s\n%s\nsuspects: %.*s\n%.*s\033[3A\r", (int)width - 1, h->phase,
            pfc_buf_text(&line), (int)width - 11, pfc_buf_text(&suspects), (int)width - 1,
            pfc_buf_text(&text));
    fflush(stderr);
    pfc_buf_clear(&line);
    pfc_buf_clear(&suspects);
    pfc_buf_clear(&text);
}
