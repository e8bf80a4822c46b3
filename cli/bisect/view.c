/*
 * A bisection while it goes on: three lines on a terminal, a log without one.
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

#define NOTHING           0.01               /* of the fullest cell: drawn as blank */
#define WORTH_SAYING      0.2                /* probability of the likeliest commit */
#define ESTIMATE_EVERY_NS (3 * PFC_NS_PER_S) /* the estimate plays the plan out: not at each run */

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

size_t pfc_hunt_likeliest(const pfc_hunt *h, double *probability)
{
    double *p = posterior_of(h);
    size_t best = 1;

    for (size_t i = 2; i < h->commits.len; i++)
        best = p[i] > p[best] ? i : best;
    *probability = fmin(p[best], 1);
    free(p);
    return best;
}

/* Commits from left to right, as many of them a cell as there must be; the height of a cell is the
 * probability of a commit in it against the fullest one's, so that cells of more commits are no higher.
 * What is ruled out is blank. */
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

static double runs_to_go(pfc_hunt *h)
{
    const int64_t now = pfc_clock_ns();

    if (!h->to_go_ns || now - h->to_go_ns >= ESTIMATE_EVERY_NS) {
        h->to_go = pfc_hunt_pairs_cost(h) * pfc_bisect_expected_runs(h->plan);
        h->to_go_ns = now;
    } else {
        h->to_go = fmax(h->to_go - 1, 1);
    }
    return h->to_go;
}

static size_t builds_of(const pfc_hunt *h)
{
    size_t builds = 0;

    for (size_t i = 0; i < h->state.len; i++)
        builds += h->state.steps[i].built;
    return builds;
}

static void status(pfc_hunt *h, const pfc_bisect_step *next, bool confirm, pfc_buf *out)
{
    double measure_s;
    double build_s;
    double probability;
    char spent[32];
    char left[32];
    const size_t builds = builds_of(h);

    pfc_hunt_costs(h, &measure_s, &build_s);
    pfc_show_seconds(h->state.seconds, spent);
    pfc_buf_printf(out, "run %zu: %.12s", h->state.len + 1, h->commits.items[next->commit].id);
    if (next->build)
        pfc_buf_printf(out, ", layout %u", next->build);
    pfc_buf_printf(out, "; spent %s", spent);
    if (builds)
        pfc_buf_printf(out, ", %zu build%s", builds, builds == 1 ? "" : "s");
    if (!confirm && h->state.len >= 2) {
        const double runs = runs_to_go(h);
        const size_t best = pfc_hunt_likeliest(h, &probability);

        pfc_show_seconds(runs * (measure_s + build_s * (double)builds / (double)h->state.len),
                         left);
        pfc_buf_printf(out, "; to go about %.0f run%s, %s", runs, lround(runs) == 1 ? "" : "s",
                       left);
        if (probability >= WORTH_SAYING)
            pfc_buf_printf(out, "; %.12s: %.1f %%", h->commits.items[best].id, 100 * probability);
    }
}

void pfc_hunt_phase(pfc_hunt *h, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(h->phase, sizeof(h->phase), fmt, args);
    va_end(args);
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
    pfc_buf title, line;
    pfc_buf text;

    if (!h->cli->progress) {
        if (!h->phase_told && h->phase[0])
            pfc_cli_note(h->cli, "%s", h->phase);
        h->phase_told = true;
        return;
    }
    pfc_buf_init(&title, LINE_BYTES);
    pfc_buf_init(&line, LINE_BYTES);
    pfc_buf_init(&text, LINE_BYTES);
    pfc_buf_printf(&line, "%.8s |", good);
    bar(h, width - 8 - 8 - 5, &line);
    pfc_buf_printf(&line, "| %.8s", bad);
    status(h, next, confirm, &text);
    /* All lines in one write, so that it does not flicker; then back to the first. */
    pfc_buf_printf(&title, "%s%s", h->phase, confirm ? "" : "; the higher, the likelier");
    fprintf(stderr, "\r\033[J%.*s\n%s\n%.*s\033[2A\r", (int)width - 1, pfc_buf_text(&title),
            pfc_buf_text(&line), (int)width - 1, pfc_buf_text(&text));
    fflush(stderr);
    pfc_buf_clear(&title);
    pfc_buf_clear(&line);
    pfc_buf_clear(&text);
}

void pfc_hunt_log(const pfc_hunt *h, const pfc_hunt_step *step, const char *reason)
{
    const char *id = h->commits.items[step->commit].id;
    char value[96];
    char layout[24] = "";
    double probability;

    if (h->cli->quiet || (h->cli->progress && step->kind == PFC_OUTCOME_MEASURED))
        return;
    pfc_hunt_view_wipe(h);
    if (step->build)
        snprintf(layout, sizeof(layout), ", layout %u", step->build);
    if (step->kind != PFC_OUTCOME_MEASURED) {
        pfc_cli_note(h->cli, "run %zu: %.12s%s: %s: %s", h->state.len, id, layout,
                     pfc_outcome_name(step->kind), reason);
        return;
    }
    pfc_show_value(step->value, value);
    if (step->confirm || h->state.len < 4 || pfc_hunt_pairs_open(h)) {
        pfc_cli_note(h->cli, "run %zu: %.12s%s: %s%s", h->state.len, id, layout, value,
                     step->confirm     ? ", to confirm"
                     : step->reference ? ", to compare with"
                                       : "");
        return;
    }
    if (h->state.paired && h->told_len) {
        char change[32];

        pfc_show_percent(h->told[h->told_len - 1].ratio - 1, change);
        snprintf(value + strlen(value), sizeof(value) - strlen(value), ", in all %s", change);
    }
    const size_t best = pfc_hunt_likeliest(h, &probability);
    if (probability < WORTH_SAYING)
        pfc_cli_note(h->cli, "run %zu: %.12s%s: %s", h->state.len, id, layout, value);
    else
        pfc_cli_note(h->cli, "run %zu: %.12s%s: %s; most likely %.12s (%.3f)", h->state.len, id,
                     layout, value, h->commits.items[best].id, probability);
}
