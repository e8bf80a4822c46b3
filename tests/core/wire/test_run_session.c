/* Sessions and visits in run documents: read, written, refused with one sentence, merged, split. */
#include <stdlib.h>
#include <string.h>

#include "core/wire/wire.h"

#include "tests/check/check.h"

#define ID     "0123456789abcdef0123456789abcdef"
#define ANCHOR "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define BASE   "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HEAD                                                                                       \
    "{\"schema\":\"perfci.run/1\",\"id\":\"" ID "\",\"started_at\":\"2026-11-22T10:00:00Z\","      \
    "\"machine\":{\"class\":\"c\"}"
#define SESSION ",\"session\":{\"id\":\"" ID "\",\"anchor\":\"" ANCHOR "\",\"base\":\"" BASE "\"}"
#define MEASURED(samples, visits)                                                                  \
    ",\"measurements\":[{\"benchmark\":\"b\",\"metric\":\"time_ns\",\"samples\":" samples          \
    ",\"visits\":" visits "}]}"

static pfc_run *read_text(const char *text)
{
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_from_json(text, strlen(text), &run, &err), PFC_OK), "%s", err.msg);
    return run;
}

Test(visits, survive_a_round_trip)
{
    pfc_run *run = read_text(HEAD SESSION MEASURED("[[1,2],[3]]", "[[0,4],[100000,100000]]"));
    char *text = pfc_run_to_text(run);
    pfc_run *back = read_text(text);
    char *again = pfc_run_to_text(back);

    cr_assert(eq(str, back->session_id, ID));
    cr_assert(eq(str, back->session_anchor, ANCHOR));
    cr_assert(eq(str, back->session_base, BASE));
    cr_assert(eq(u32, back->measurements[0].visits[0].block, 0));
    cr_assert(eq(u32, back->measurements[0].visits[0].position, 4));
    cr_assert(eq(u32, back->measurements[0].visits[1].block, 100000));
    cr_assert(eq(u32, back->measurements[0].visits[1].position, 100000));
    cr_assert(eq(str, again, text));
    free(again);
    free(text);
    pfc_run_free(back);
    pfc_run_free(run);
}

Test(visits, a_run_without_a_session_is_written_as_ever)
{
    pfc_run *run = read_text(HEAD ",\"measurements\":[]}");
    char *text = pfc_run_to_text(run);

    cr_assert_null(run->session_id);
    cr_assert_null(strstr(text, "session"));
    free(text);
    pfc_run_free(run);
}

Test(visits, each_fault_has_one_sentence_with_its_path)
{
#define VISITS(list) HEAD SESSION MEASURED("[[1],[2]]", list)
#define OF(id, anchor, base)                                                                       \
    HEAD ",\"session\":{\"id\":\"" id "\",\"anchor\":\"" anchor "\",\"base\":\"" base              \
         "\"},\"measurements\":[]}"
    static const struct {
        const char *text, *says;
    } bad[] = {
        { HEAD MEASURED("[[1]]", "[[0,0]]"),
          "measurements[0].visits: expected a run with a session, got none" },
        { VISITS("[[0,0]]"), "measurements[0].visits: expected as many as samples has inner "
                             "arrays, 2, got 1" },
        { VISITS("[[0,0],[1,0],[2,0]]"), "measurements[0].visits: expected as many as samples has "
                                         "inner arrays, 2, got 3" },
        { VISITS("[[1,0],[0,5]]"),
          "measurements[0].visits[1]: expected a visit after the one before it, [1, 0]" },
        { VISITS("[[1,3],[1,3]]"),
          "measurements[0].visits[1]: expected a visit after the one before it, [1, 3]" },
        { VISITS("[[1,3],[1,2]]"),
          "measurements[0].visits[1]: expected a visit after the one before it, [1, 3]" },
        { VISITS("[[0,0],[100001,0]]"),
          "measurements[0].visits[1][0]: expected a whole number of 0 to 100000" },
        { VISITS("[[0,100001],[1,0]]"),
          "measurements[0].visits[0][1]: expected a whole number of 0 to 100000" },
        { VISITS("[[0,-1],[1,0]]"),
          "measurements[0].visits[0][1]: expected a whole number of 0 to 100000" },
        { VISITS("[[0,0.5],[1,0]]"),
          "measurements[0].visits[0][1]: expected a whole number of 0 to 100000" },
        { VISITS("[[0,\"0\"],[1,0]]"),
          "measurements[0].visits[0][1]: expected a whole number of 0 to 100000" },
        { VISITS("[[0],[1,0]]"), "measurements[0].visits[0]: expected a pair [block, position]" },
        { VISITS("[[0,0,0],[1,0]]"),
          "measurements[0].visits[0]: expected a pair [block, position]" },
        { OF("short", ANCHOR, BASE), "session.id: expected 32 hexadecimal digits in lower case" },
        { OF("0123456789ABCDEF0123456789abcdef", ANCHOR, BASE),
          "session.id: expected 32 hexadecimal digits in lower case" },
        { OF(ID, "abc", BASE),
          "session.anchor: expected a full commit id of 40 hexadecimal digits" },
        { OF(ID, ANCHOR, ID), "session.base: expected a full commit id of 40 hexadecimal digits" },
        { HEAD ",\"session\":{\"id\":\"" ID "\",\"anchor\":\"" ANCHOR "\"},\"measurements\":[]}",
          "session.base: " },
        { HEAD ",\"session\":\"" ID "\",\"measurements\":[]}", "session: " },
        { HEAD ",\"session\":{\"id\":\"" ID "\",\"anchor\":\"" ANCHOR "\",\"base\":\"" BASE
               "\",\"block\":1},\"measurements\":[]}",
          "session.block: " },
        { HEAD SESSION ",\"measurements\":[{\"benchmark\":\"b\",\"metric\":\"m\",\"status\":"
                       "\"broken\",\"reason\":\"crash\",\"visits\":[[0,0]]}]}",
          "measurements[0].visits: expected as many as samples has inner arrays, 0, got 1" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_run *run = NULL;
        pfc_err err = { 0 };

        cr_assert(
            eq(int, pfc_run_from_json(bad[i].text, strlen(bad[i].text), &run, &err), PFC_EINVAL),
            "%s", bad[i].text);
        cr_assert(eq(int, strncmp(err.msg, bad[i].says, strlen(bad[i].says)), 0),
                  "%s\nexpected %s\ngot %s", bad[i].text, bad[i].says, err.msg);
    }
}

/* Blocks first, then positions: a smaller position in a later block is later. */
Test(visits, are_in_the_order_of_blocks_and_of_positions_within_one)
{
    static const char *const good[] = { VISITS("[[1,3],[1,4]]"), VISITS("[[1,4],[2,3]]"),
                                        VISITS("[[0,0],[0,1]]") };
    static const char *const wrong[] = { VISITS("[[1,4],[1,3]]"), VISITS("[[2,3],[1,4]]"),
                                         VISITS("[[2,2],[2,2]]") };

    for (size_t i = 0; i < PFC_ARRAY_LEN(good); i++) {
        pfc_run *run = NULL;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_run_from_json(good[i], strlen(good[i]), &run, &err), PFC_OK), "%s",
                  err.msg);
        pfc_run_free(run);
        cr_assert(eq(int, pfc_run_from_json(wrong[i], strlen(wrong[i]), &run, &err), PFC_EINVAL));
    }
}

Test(visits, of_one_session_are_merged_in_the_order_of_time)
{
    static const uint32_t blocks[] = { 0, 1, 2, 3 };
    static const double samples[] = { 1, 2, 2, 3, 4, 4 };
    pfc_run *run = read_text(HEAD SESSION MEASURED("[[1],[3]]", "[[0,1],[2,0]]"));

    pfc_run_merge(run, read_text(HEAD SESSION MEASURED("[[2,2],[4,4]]", "[[1,7],[3,2]]")));
    cr_assert(eq(sz, run->measurements[0].blocks_len, 4));
    cr_assert(eq(sz, run->measurements[0].samples_len, 6));
    for (size_t i = 0; i < 4; i++)
        cr_assert(eq(u32, run->measurements[0].visits[i].block, blocks[i]));
    for (size_t i = 0; i < 6; i++)
        cr_assert(eq(dbl, run->measurements[0].samples[i], samples[i]));
    cr_assert(eq(u32, run->measurements[0].blocks[1], 2));
    cr_assert(eq(u32, run->measurements[0].visits[1].position, 7));
    /* The same visit again is no further one. */
    pfc_run_merge(run, read_text(HEAD SESSION MEASURED("[[9]]", "[[2,0]]")));
    cr_assert(eq(sz, run->measurements[0].blocks_len, 4));
    pfc_run_free(run);
}

#define PLAIN(session)                                                                             \
    HEAD session                                                                                   \
        ",\"measurements\":[{\"benchmark\":\"b\",\"metric\":\"time_ns\",\"samples\":[[9]]}]}"
#define OTHER                                                                                      \
    ",\"session\":{\"id\":\"f123456789abcdef0123456789abcdef\",\"anchor\":\"" ANCHOR               \
    "\",\"base\":\"" BASE "\"}"

Test(visits, meet_no_samples_without_a_place)
{
    static const struct {
        const char *run, *more;
        double left; /* the only sample afterwards */
        bool visits;
    } cases[] = {
        { HEAD SESSION MEASURED("[[1]]", "[[0,0]]"), PLAIN(SESSION), 1, true },
        { HEAD SESSION MEASURED("[[1]]", "[[0,0]]"), PLAIN(""), 1, true },
        { PLAIN(""), HEAD SESSION MEASURED("[[1]]", "[[0,0]]"), 9, false },
        { PLAIN(SESSION), HEAD SESSION MEASURED("[[1]]", "[[0,0]]"), 9, false },
        { HEAD SESSION MEASURED("[[1]]", "[[0,0]]"), HEAD OTHER MEASURED("[[2]]", "[[1,0]]"), 1,
          true },
        { HEAD ",\"measurements\":[]}", HEAD OTHER MEASURED("[[2]]", "[[1,0]]"), 2, true },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_run *run = read_text(cases[i].run), *back;
        char *text;

        pfc_run_merge(run, read_text(cases[i].more));
        cr_assert(eq(sz, run->measurements_len, 1), "case %zu", i);
        cr_assert(eq(sz, run->measurements[0].samples_len, 1), "case %zu", i);
        cr_assert(eq(dbl, run->measurements[0].samples[0], cases[i].left), "case %zu", i);
        cr_assert(eq(int, run->measurements[0].visits != NULL, cases[i].visits), "case %zu", i);
        text = pfc_run_to_text(run);
        back = read_text(text); /* it is a valid document still */
        pfc_run_free(back);
        free(text);
        pfc_run_free(run);
    }
}

/* A measurement of another session that is new to the run has no place in its session. */
Test(visits, of_another_session_are_not_appended)
{
    pfc_run *run =
        read_text(HEAD SESSION ",\"measurements\":[{\"benchmark\":\"a\",\"metric\":\"time_ns\","
                               "\"samples\":[[1]],\"visits\":[[0,0]]}]}");

    pfc_run_merge(run, read_text(HEAD OTHER MEASURED("[[2]]", "[[1,0]]")));
    cr_assert(eq(sz, run->measurements_len, 1));
    pfc_run_merge(run, read_text(HEAD SESSION MEASURED("[[2]]", "[[1,0]]")));
    cr_assert(eq(sz, run->measurements_len, 2));
    pfc_run_free(run);
}

Test(visits, a_break_takes_the_visits_with_the_samples)
{
    pfc_run *run = read_text(HEAD SESSION MEASURED("[[1]]", "[[0,0]]"));

    pfc_run_merge(run, read_text(HEAD SESSION
                                 ",\"measurements\":[{\"benchmark\":\"b\",\"metric\":\"time_ns\","
                                 "\"status\":\"broken\",\"reason\":\"crash\"}]}"));
    cr_assert(eq(int, run->measurements[0].status, PFC_STATUS_BROKEN));
    cr_assert_null(run->measurements[0].visits);
    pfc_run_free(run);
}

Test(visits, each_part_of_a_split_run_names_the_session)
{
    pfc_run *run = read_text(HEAD SESSION MEASURED("[[1]]", "[[7,3]]"));
    char **texts = NULL;
    size_t len = 0;
    pfc_err err = { 0 };

    for (int i = 0; i < 20; i++) {
        pfc_measurement *m = pfc_run_add(run);

        m->benchmark = pfc_format("b%d", i);
        m->metric = pfc_strdup("time_ns");
        m->backend = pfc_strdup("");
        m->unit = pfc_strdup("ns");
        m->samples = pfc_calloc(1, sizeof *m->samples);
        m->samples[0] = 1;
        m->blocks = pfc_calloc(1, sizeof *m->blocks);
        m->blocks[0] = 1;
        m->visits = pfc_calloc(1, sizeof *m->visits);
        m->samples_len = m->blocks_len = 1;
    }
    cr_assert(eq(int, pfc_run_split(run, 1500, &texts, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(gt(sz, len, 1));
    for (size_t i = 0; i < len; i++) {
        pfc_run *part = read_text(texts[i]);

        cr_assert(eq(str, part->session_id, ID));
        for (size_t k = 0; k < part->measurements_len; k++)
            cr_assert_not_null(part->measurements[k].visits);
        pfc_run_free(part);
        free(texts[i]);
    }
    free(texts);
    pfc_run_free(run);
}
