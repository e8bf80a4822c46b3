/* Pictures for other pages: badges and series. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/services/pictures/pictures.h"

#include "tests/check/check.h"

#define EVIL  "a<b>&\"'\xe2\x80\xae"
#define RED   "fill=\"#b3261e\""
#define AMBER "fill=\"#8a5a00\""
#define GREEN "fill=\"#1e7a3c\""
#define GREY  "fill=\"#5f6368\""

static char *badge(const char *label, const pfc_standing *s, bool measured)
{
    pfc_buf out;

    pfc_buf_init(&out, 8192);
    pfc_badge_svg(label, s, measured, &out);
    return pfc_buf_take(&out);
}

Test(pictures, a_badge_says_the_worst_that_is_open_in_its_colour)
{
    static const struct {
        pfc_standing standing;
        bool unmeasured;
        const char *words, *color;
    } rows[] = {
        { { .regressions = 1, .broken = 2, .drifts = 3, .open = 6 },
          false,
          "1 regression, 2 broken",
          RED },
        { { .regressions = 2, .open = 2 }, false, "2 regressions", RED },
        { { .broken = 1, .open = 1 }, false, "1 broken", RED },
        { { .drifts = 1, .open = 2 }, false, "1 drift", RED },
        { { .regressed = 2 }, false, "2 headline metrics worse", RED },
        { { .open = 1, .toolchain = 1 }, false, "1 open alert", AMBER },
        { { .broken_builds = 3, .silent = 1 }, false, "3 broken builds", AMBER },
        { { .silent = 1 }, false, "1 silent runner", AMBER },
        { { .watching = 1 }, false, "1 change under watch", AMBER },
        { { .headline = 4, .improved = 1 }, false, "no regression", GREEN },
        { { 0 }, true, "no results", GREY },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *svg = badge("kernels", &rows[i].standing, !rows[i].unmeasured);
        char *words = pfc_badge_words(&rows[i].standing, !rows[i].unmeasured);
        char *said = pfc_format(">%s</text>", rows[i].words);

        cr_expect(eq(str, words, (char *)(uintptr_t)rows[i].words));
        cr_expect(strstr(svg, said) != NULL, "%s in %s", said, svg);
        cr_expect(strstr(svg, rows[i].color) != NULL, "%s in %s", rows[i].color, svg);
        cr_expect(strstr(svg, "<title>kernels: ") != NULL);
        free(said);
        free(words);
        free(svg);
    }
}

Test(pictures, a_badge_escapes_and_cuts_its_label)
{
    const pfc_standing fine = { .headline = 1 };
    char longer[200] = ">";
    char *svg;

    svg = badge(EVIL, &fine, true);
    cr_expect(strstr(svg, ">a&lt;b&gt;&amp;&quot;&#39;?</text>") != NULL, "%s", svg);
    free(svg);
    for (size_t i = 0; i < 60; i++)
        strcat(longer, "\xc3\xa9");
    svg = badge(longer + 1, &fine, true);
    longer[1 + 2 * PFC_BADGE_MAX_LABEL] = '\0';
    strcat(longer, "</text>");
    cr_expect(strstr(svg, longer) != NULL, "%s", svg);
    free(svg);
}

/* ---- series ---- */

static pfc_series series = { .benchmark = "gemm/a",
                             .metric = "time_ns",
                             .backend = "cpu",
                             .machine_class = "quiet",
                             .branch = "main",
                             .unit = "ns" };
static pfc_window_point points[600];
static pfc_window_change changes[1];

static pfc_window window_of(size_t len)
{
    for (size_t i = 0; i < len; i++)
        points[i] = (pfc_window_point){ .position = 10 + (int64_t)i,
                                        .time = 1760000000 + 86400 * (double)i,
                                        .median = 100 + (double)i,
                                        .low = 99 + (double)i,
                                        .high = 101 + (double)i };
    return (pfc_window){ .series = { .items = &series, .len = 1 },
                         .points = { .items = points, .len = len } };
}

static char *picture(const pfc_window *w, bool spark)
{
    const pfc_picture_opts opts = { .spark = spark, .width = 270, .height = 146 };
    pfc_buf out;

    pfc_buf_init(&out, 256 * 1024);
    pfc_series_svg(w, &opts, &out);
    cr_assert(not(out.overflow));
    return pfc_buf_take(&out);
}

static void expect(const pfc_window *w, bool spark, const char *part, bool there)
{
    char *svg = picture(w, spark);

    cr_expect(eq(int, strstr(svg, part) != NULL, there), "%s in %s", part, svg);
    free(svg);
}

/* The plane of the chart is 200 by 100 pixels at (8, 26): values 99 to 105 in it. */
Test(pictures, a_chart_has_line_band_extremes_and_dates)
{
    const pfc_window w = window_of(5);

    expect(&w, false, "class=\"line\" d=\"M8.0 109.3h0L8.0 109.3L58.0 92.7L108.0 76.0L158.0 59.3",
           true);
    expect(&w, false, "M8.0 126.0V92.7M58.0", true);
    expect(&w, false, "<text x=\"212.0\" y=\"30.0\" text-anchor=\"start\">105</text>", true);
    expect(&w, false, "<text x=\"212.0\" y=\"130.0\" text-anchor=\"start\">99</text>", true);
    expect(&w, false, ">ns</text>", true);
    expect(&w, false, ">2025-10-09</text>", true);
    expect(&w, false, ">2025-10-13</text>", true);
    expect(&w, false, ">gemm/a time_ns on cpu, quiet, main</text>", true);
}

Test(pictures, a_sparkline_has_the_line_alone)
{
    const pfc_window w = window_of(5);

    expect(&w, true, "class=\"line\" d=\"M2.0 144.0h0L2.0 144.0L68.5 108.5", true);
    expect(&w, true, "class=\"band\"", false);
    expect(&w, true, "<text", false);
    expect(&w, true, "<title>gemm/a time_ns on cpu, quiet, main</title>", true);
}

Test(pictures, the_line_has_a_gap_where_nothing_was_measured)
{
    pfc_window w = window_of(4);

    points[2].position = 14;
    points[3].position = 15;
    expect(&w, true, "L55.2 96.7M214.8 49.3h0L214.8 49.3", true);
    w.bucketed = true;
    expect(&w, true, "L55.2 96.7L214.8 49.3", true);
    w.bucketed = false;
    points[2].median = (double)NAN;
    expect(&w, true, "nan", false);
}

Test(pictures, changes_are_red_or_green_at_their_commit)
{
    pfc_window w = window_of(5);

    changes[0] = (pfc_window_change){
        .position = 12, .commit = "0123456789abcdef", .rel_change = 0.1, .regression = true
    };
    w.changes = (pfc_window_changes){ .items = changes, .len = 1 };
    expect(&w, false, "class=\"worse\" d=\"M108.0 26.0V126.0\"><title>+10.0 % at 0123456789ab<",
           true);
    changes[0].regression = false;
    expect(&w, false, "class=\"better\" d=\"M108.0", true);
    expect(&w, true, "class=\"better\"", true);
    changes[0].position = 9;
    expect(&w, false, "class=\"better\" d=", false);
}

Test(pictures, one_point_none_and_equal_values)
{
    pfc_window w = window_of(1);

    points[0].low = points[0].high = 100;
    expect(&w, false, "d=\"M108.0 76.0h0L108.0 76.0\"", true);
    expect(&w, false, "nan", false);
    w = window_of(0);
    expect(&w, false, ">no results</text>", true);
    points[0].median = (double)NAN;
    w.points.len = 1;
    expect(&w, false, ">no results</text>", true);
}

Test(pictures, text_from_outside_is_escaped_and_size_is_bounded)
{
    pfc_window w = window_of(PFC_PICTURE_MAX_POINTS);
    char *svg;

    series.benchmark = EVIL;
    svg = picture(&w, false);
    cr_expect(strstr(svg, "a&lt;b&gt;&amp;") != NULL);
    cr_expect(strstr(svg, "<b>") == NULL);
    cr_expect(lt(sz, strlen(svg), (size_t)(200 * PFC_PICTURE_MAX_POINTS + 4096)));
    free(svg);
}
