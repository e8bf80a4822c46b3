/* The issue of an alert group: its title and its text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/forge/forge.h"
#include "server/bot/issues.h"

#include "tests/check/check.h"

#define LOW  "1111111111111111111111111111111111111111"
#define HIGH "3333333333333333333333333333333333333333"
#define EVIL "@all <b>#7</b> | www.evil.example"

static pfc_alert alerts[30];
static pfc_alerts list = { .items = alerts };
static pfc_group group;
static pfc_group_event events[25];
static pfc_group_events history = { .items = events };
static pfc_group_issue_subject subject;

static pfc_alert alert_of(int64_t id, double rel)
{
    return (pfc_alert){ .id = id,
                        .kind = "step",
                        .state = "untriaged",
                        .benchmark = "gemm/a",
                        .metric = "time_ns",
                        .backend = "cpu",
                        .machine_class = "quiet",
                        .rel_change = rel,
                        .rel_low = rel - 0.01,
                        .rel_high = rel + 0.01,
                        .commit = HIGH,
                        .commit_low = LOW,
                        .commit_high = HIGH,
                        .suspect_subject = "Change the tiles" };
}

/* Alerts 1 (+3 %) and 2 (+12 %) of one group. */
static void setup(void)
{
    alerts[0] = alert_of(1, 0.03);
    alerts[1] = alert_of(2, 0.12);
    list.len = 2;
    history.len = 0;
    group = (pfc_group){ .id = 12,
                         .project = "tiny",
                         .summary = "2 of 5 gemm series: dtype=bf16; +3.0 % to +12.0 %",
                         .state = "untriaged",
                         .alerts = 2,
                         .series = 2,
                         .rel_least = 0.03,
                         .rel_most = 0.12,
                         .opened_first = 1760000000,
                         .opened_last = 1760000000 };
    subject = (pfc_group_issue_subject){ .key = "group-12-tiny",
                                         .project = "tiny",
                                         .link = "https://perf.example",
                                         .group = &group,
                                         .lead = &alerts[1],
                                         .alerts = &list,
                                         .events = &history };
}

TestSuite(issue_text, .init = setup);

static pfc_group_issue_words words(void)
{
    pfc_group_issue_words out = { 0 };

    pfc_group_issue_text(&subject, &out);
    return out;
}

static void expect(const char *part, bool there)
{
    pfc_group_issue_words w = words();

    cr_expect(eq(int, strstr(w.body, part) != NULL, there), "%s in:\n%s", part, w.body);
    pfc_group_issue_words_clear(&w);
}

static void expect_title(const char *title)
{
    pfc_group_issue_words w = words();

    cr_expect(eq(str, w.title, (char *)(uintptr_t)title));
    pfc_group_issue_words_clear(&w);
}

Test(issue_text, says_all_of_a_group)
{
    pfc_group_issue_words w = words();

    cr_expect(eq(str, w.title, (char *)"tiny: 2 of 5 gemm series: dtype=bf16; +3.0 % to +12.0 %"));
    cr_expect(w.open);
    cr_expect(eq(
        str, w.body,
        (char *)"<!-- perfci:group-12-tiny -->\n"
                "**State: untriaged.** 2 series became slower, probably by one cause: 2 of 5 gemm "
                "series\\: dtype=bf16; +3.0 % to "
                "+12.0 %\n\n"
                "| | |\n|---|---|\n"
                "| change | +3.0 % to +12.0 % (the smallest and the largest of 2 alerts) |\n"
                "| what | step\\: at 333333333333 |\n"
                "| between | " LOW " and " HIGH " |\n"
                "| suspect | " HIGH " Change the tiles |\n"
                "| found | 2025-10-09 08:53 UTC |\n"
                "| page | [group 12](<https://perf.example/groups/12>) |\n"
                "\n| benchmark | metric | backend | machines | change | 95 % interval | state |\n"
                "|---|---|---|---|---:|---:|---|\n"
                "| `gemm/a` | `time_ns` | `cpu` | `quiet` | +12.0 % | +11.0 % to +13.0 % | "
                "untriaged |\n"
                "| `gemm/a` | `time_ns` | `cpu` | `quiet` | +3.0 % | +2.0 % to +4.0 % | untriaged "
                "|\n"
                "\nReproduce: `perfci repro alert:2`. Evidence: `perfci why 2`.\n\nperfci edits "
                "this "
                "issue when the group changes, and closes it when no alert of the group is "
                "open.\n"));
    pfc_group_issue_words_clear(&w);
}

Test(issue_text, equal_subjects_have_equal_words)
{
    pfc_group_issue_words a = words(), b;

    alerts[0] = alert_of(2, 0.12); /* another order of the rows */
    alerts[1] = alert_of(1, 0.03);
    subject.lead = &alerts[0];
    b = words();
    cr_expect(eq(str, a.title, b.title));
    cr_expect(eq(str, a.body, b.body));
    pfc_group_issue_words_clear(&a);
    pfc_group_issue_words_clear(&b);
}

Test(issue_text, is_open_while_an_alert_is)
{
    static const struct {
        const char *state;
        bool open;
    } rows[] = { { "untriaged", true }, { "acknowledged", true }, { "investigating", true },
                 { "fixed", false },    { "backed_out", false },  { "verified_fixed", false },
                 { "wont_fix", false }, { "noise", false },       { "infrastructure", false },
                 { "duplicate", false } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_group_issue_words w;

        group.state = (char *)(uintptr_t)rows[i].state;
        w = words();
        cr_expect(eq(int, w.open, rows[i].open), "%s", rows[i].state);
        pfc_group_issue_words_clear(&w);
    }
}

Test(issue_text, escapes_text_from_outside_and_names_no_person)
{
    events[0] = (pfc_group_event){
        .at = 1760000000, .actor = "ann", .state_to = "acknowledged", .reason = EVIL, .alerts = 2
    };
    history.len = 1;
    group.assignee = "bob";
    group.summary = EVIL;
    alerts[1].benchmark = "gemm`|x";
    alerts[1].suspect_subject = EVIL;
    alerts[1].suspect_author = "carol";
    expect("@all", false);
    expect("<b>", false);
    expect("#7", false);
    expect("www.", false);
    expect("ann", false);
    expect("bob", false);
    expect("carol", false);
    expect("`gemm'\\|x`", true);
    expect("- 2025-10-09 08:53 UTC: acknowledged, 2 alerts: @&#8203;all ", true);
    /* A title is plain text, in which only the order of characters can mislead. */
    group.summary = "a\u202eb\nc";
    expect_title("tiny: a?b c");
}

Test(issue_text, bounds_every_list)
{
    pfc_group_issue_words w;
    char *reason = pfc_calloc(5000, 1);

    memset(reason, '@', 4999);
    for (size_t i = 0; i < 30; i++)
        alerts[i] = alert_of((int64_t)i + 1, 0.01 * (double)(i + 1));
    for (size_t i = 0; i < 25; i++)
        events[i] = (pfc_group_event){
            .at = 1760000000, .state_to = "noise", .reason = reason, .alerts = 1
        };
    list.len = 30;
    history.len = 25;
    group.alerts = 45;
    group.summary = reason;
    w = words();
    cr_expect(le(sz, strlen(w.title), (size_t)200));
    cr_expect(lt(sz, strlen(w.body), (size_t)PFC_COMMENT_MAX_BYTES));
    cr_expect(strstr(w.body, "25 more alerts are in the group.") != NULL);
    cr_expect(strstr(w.body, "+30.0 %") != NULL && strstr(w.body, "| +10.0 % |") == NULL);
    pfc_group_issue_words_clear(&w);
    free(reason);
}

Test(issue_text, a_broken_or_recovered_group_and_one_without_alerts)
{
    alerts[1].kind = "broken";
    alerts[1].reason = "exit status 1";
    alerts[1].rel_change = alerts[1].rel_low = alerts[1].rel_high = (double)NAN;
    group.rel_least = group.rel_most = (double)NAN;
    group.summary = "";
    expect_title("tiny: gemm/a time_ns on cpu: broken");
    expect("2 series cannot be measured", true);
    expect("| change |", true); /* of the table of alerts */
    expect("| change | +", false);
    setup();
    group.back = true;
    group.state = "verified_fixed";
    expect("**State: verified fixed.** 2 series were slower, and their levels are back", true);
    group.suppressed = 1;
    expect("| hidden | 1 of 2 alerts, by suppression rules |", true);
    subject.group = NULL;
    expect("<!-- perfci:group-12-tiny -->\nThe alerts of this group were moved to other groups.",
           true);
    expect_title("tiny: alerts that were moved to other groups");
}
