/* Builds measured together in blocks: which are built, which are visited, what is kept. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "runner/blocks/blocks.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"

enum { MAX_IDS = 12 };

/* A build is the file `value` as a script. Each measurement adds a line to the file `log` (the
 * commit) and prints the value of its build times the factor that the machine has at that moment,
 * from a file: no clock decides anything. */
#define BUILD                                                                                      \
    "test ! -e broken || { echo 'k.c:1: error: bad'; exit 2; }; printf 'echo %s\\n' \"$(cat "      \
    "value)\" > prog.sh"
#define MEASURE "echo $PERFCI_COMMIT >> $BLOCKS_LOG; sh prog.sh"

static fixture f;
static pfc_commit_id ids[MAX_IDS];
static size_t ids_len;
static char *cache, *visits_log;
static pfc_workspace *ws;

static void add_commit(const char *path, const char *text)
{
    char *id = fixture_commit(&f, path, text, "work");

    memcpy(ids[ids_len++].hex, id, PFC_COMMIT_HEX);
    free(id);
}

static void setup(void)
{
    fixture_init(&f);
    cache = pfc_fs_join(f.dir, "cache");
    visits_log = pfc_fs_join(f.dir, "log");
    setenv("BLOCKS_LOG", visits_log, 1);
}

static void teardown(void)
{
    pfc_workspace_close(ws);
    free(cache);
    free(visits_log);
    fixture_clear(&f);
}

TestSuite(blocks_run, .init = setup, .fini = teardown);

static void open_ws(void)
{
    const pfc_workspace_opts opts = { .dir = cache, .source = f.repo, .build = BUILD };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_workspace_open(&opts, &ws, &err), PFC_OK), "%s", err.msg);
}

static pfc_blocks_run_opts all_of_them(size_t anchor, size_t first)
{
    return (pfc_blocks_run_opts){
        .commits = ids, .len = ids_len, .anchor = anchor, .first = first, .seed = 7
    };
}

static pfc_code measure_by(const char *command, const pfc_blocks_run_opts *opts,
                           pfc_blocks_result *out, pfc_err *err)
{
    const pfc_commit_measure_opts measure = { .measure = command, .timeout_s = 60 };

    if (!ws)
        open_ws();
    return pfc_blocks_measure(ws, &measure, opts, out, err);
}

static pfc_blocks_result session(const char *command, const pfc_blocks_run_opts *opts)
{
    pfc_blocks_result out;
    pfc_err err = { 0 };

    cr_assert(eq(int, measure_by(command, opts, &out, &err), PFC_OK), "%s", err.msg);
    return out;
}

/* The measurement of a metric; NULL: the run has none. */
static const pfc_measurement *of(const pfc_blocks_result *r, size_t commit, const char *metric)
{
    const pfc_run *run = r->commits[commit].run;

    for (size_t i = 0; run && i < run->measurements_len; i++)
        if (pfc_streq(run->measurements[i].metric, metric))
            return &run->measurements[i];
    return NULL;
}

static size_t lines(const char *path, const char *with)
{
    char *text = NULL;
    size_t len = 0, n = 0;

    if (pfc_fs_read(path, 1 << 20, &text, &len, NULL))
        return 0;
    for (const char *p = strstr(text, with); p; p = strstr(p + 1, with))
        n++;
    free(text);
    return n;
}

/* Three values of which the middle one is 10 % higher, noise of none. */
static void three_builds(void)
{
    add_commit("value", "100\n");
    add_commit("value", "110\n");
    add_commit("value", "110.5\n");
}

Test(blocks_run, every_build_is_visited_once_a_block_and_mirrored_in_the_next)
{
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;

    three_builds();
    opts = all_of_them(0, 1);
    opts.exact_rounds = 3;
    r = session(MEASURE, &opts);
    cr_assert(eq(sz, r.blocks, 6));
    for (size_t c = 0; c < 3; c++) {
        const pfc_measurement *m = of(&r, c, "value");
        pfc_run *read = NULL;
        char *text = pfc_run_to_text(r.commits[c].run);
        pfc_err err = { 0 };

        cr_assert(eq(int, (int)r.commits[c].status, PFC_BLOCK_MEASURED));
        cr_assert(eq(sz, r.commits[c].visits, 6));
        cr_assert(eq(sz, m->blocks_len, 6));
        for (uint32_t b = 0; b < 6; b++) {
            cr_assert(eq(u32, m->visits[b].block, b));
            cr_assert(lt(u32, m->visits[b].position, 3));
            if (b % 2)
                cr_assert(eq(u32, m->visits[b].position, 2 - m->visits[b - 1].position));
        }
        cr_assert(eq(str, r.commits[c].run->session_id, r.session));
        cr_assert(eq(str, r.commits[c].run->session_anchor, ids[0].hex));
        cr_assert(eq(str, r.commits[c].run->session_base, ids[0].hex));
        cr_assert(eq(str, r.commits[c].run->commit, ids[c].hex));
        /* The document that the service gets is one that it takes. */
        cr_assert(eq(int, pfc_run_from_json(text, strlen(text), &read, &err), PFC_OK), "%s",
                  err.msg);
        pfc_run_free(read);
        free(text);
    }
    pfc_blocks_result_clear(&r);
}

Test(blocks_run, more_builds_than_a_block_holds_share_blocks_with_the_anchor)
{
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;

    for (int i = 0; i < 11; i++) {
        char value[16];

        (void)snprintf(value, sizeof(value), "%d\n", 100 + i);
        add_commit("value", value);
    }
    opts = all_of_them(0, 1);
    opts.exact_rounds = 1;
    r = session(MEASURE, &opts);
    cr_assert(eq(sz, r.blocks, 4));
    cr_assert(eq(sz, r.commits[0].visits, 4));
    for (size_t c = 1; c < 11; c++)
        cr_assert(eq(sz, r.commits[c].visits, 2));
    pfc_blocks_result_clear(&r);
}

Test(blocks_run, the_planner_ends_when_nothing_is_open)
{
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;

    three_builds();
    opts = all_of_them(0, 1);
    opts.budget_s = 600;
    r = session(MEASURE, &opts);
    cr_assert(ge(sz, r.blocks, 4));
    for (size_t c = 1; c < 3; c++)
        cr_assert(eq(dbl, r.commits[c].needs_s, 0.0));
    pfc_blocks_result_clear(&r);
}

Test(blocks_run, a_commit_that_does_not_build_is_broken_and_remembered)
{
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;

    add_commit("value", "100\n");
    add_commit("broken", "x\n");
    fixture_do(&f, "rm -q broken");
    add_commit("value", "101\n");
    opts = all_of_them(0, 1);
    opts.exact_rounds = 1;
    r = session(MEASURE, &opts);
    cr_assert(eq(int, (int)r.commits[1].status, PFC_BLOCK_BROKEN));
    cr_assert_not_null(strstr(r.commits[1].reason, "error: bad"), "%s", r.commits[1].reason);
    cr_assert(eq(int, (int)r.commits[2].status, PFC_BLOCK_MEASURED));
    cr_assert(eq(sz, lines(visits_log, ids[1].hex), 0));
    pfc_blocks_result_clear(&r);
}

Test(blocks_run, all_broken_measures_nothing)
{
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;

    add_commit("value", "100\n");
    add_commit("broken", "x\n");
    add_commit("value", "101\n");
    opts = all_of_them(0, 1);
    r = session(MEASURE, &opts);
    cr_assert(eq(int, (int)r.commits[1].status, PFC_BLOCK_BROKEN));
    cr_assert(eq(int, (int)r.commits[2].status, PFC_BLOCK_BROKEN));
    cr_assert(eq(int, (int)r.commits[0].status, PFC_BLOCK_NOT_MEASURED));
    cr_assert(eq(sz, r.blocks, 0));
    cr_assert(eq(sz, lines(visits_log, "\n"), 0));
    pfc_blocks_result_clear(&r);
}

Test(blocks_run, the_next_anchor_is_taken_when_one_does_not_build)
{
    pfc_commit_id others[2];
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;

    add_commit("value", "90\n");
    others[1] = ids[--ids_len];
    add_commit("broken", "x\n");
    others[0] = ids[--ids_len];
    add_commit("value", "95\n"); /* the anchor, broken, too */
    fixture_do(&f, "rm -q broken");
    add_commit("value", "100\n");
    add_commit("value", "101\n");
    opts = all_of_them(0, 2);
    opts.anchors = others;
    opts.anchors_len = 2;
    opts.exact_rounds = 1;
    r = session(MEASURE, &opts);
    cr_assert(eq(sz, r.anchor, 0));
    cr_assert(eq(str, r.commits[0].id.hex, others[1].hex));
    cr_assert(eq(int, (int)r.commits[0].status, PFC_BLOCK_MEASURED));
    cr_assert_not_null(strstr(r.note, "error: bad"), "%s", r.note);
    cr_assert(eq(str, r.commits[2].run->session_anchor, others[1].hex));
    pfc_blocks_result_clear(&r);

    opts.anchors_len = 1;
    r = session(MEASURE, &opts);
    cr_assert(eq(sz, r.anchor, 1));
    cr_assert(eq(int, (int)r.commits[0].status, PFC_BLOCK_BROKEN));
    cr_assert(eq(str, r.commits[0].id.hex, ids[0].hex));
    cr_assert_not_null(strstr(r.note, "the base"), "%s", r.note);
    cr_assert(eq(str, r.commits[2].run->session_anchor, ids[1].hex));
    pfc_blocks_result_clear(&r);
}

Test(blocks_run, a_visit_that_fails_is_made_once_more)
{
    /* The third measurement of all crashes; the second commit's second one does at every try. */
    const char *flaky = "echo $PERFCI_COMMIT >> $BLOCKS_LOG; "
                        "test $(grep -c . $BLOCKS_LOG) -ne 3 || exit 9; sh prog.sh";
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;

    three_builds();
    opts = all_of_them(0, 1);
    opts.exact_rounds = 1;
    r = session(flaky, &opts);
    for (size_t c = 0; c < 3; c++)
        cr_assert(eq(sz, r.commits[c].visits, 2));
    cr_assert(eq(sz, lines(visits_log, "\n"), 7));
    pfc_blocks_result_clear(&r);
}

Test(blocks_run, a_build_that_keeps_failing_is_left_out_with_its_reason)
{
    const char *worse = "echo $PERFCI_COMMIT >> $BLOCKS_LOG; sh prog.sh; "
                        "test $(cat value) != 110 || { echo 'error: no luck' >&2; exit 9; }";
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;

    three_builds();
    opts = all_of_them(0, 1);
    opts.exact_rounds = 2;
    r = session(worse, &opts);
    cr_assert(eq(int, (int)r.commits[1].status, PFC_BLOCK_BROKEN));
    cr_assert_not_null(strstr(r.commits[1].reason, "no luck"), "%s", r.commits[1].reason);
    cr_assert_null(r.commits[1].run);
    cr_assert(eq(sz, lines(visits_log, ids[1].hex), 2));
    cr_assert(eq(sz, r.commits[2].visits, 4));
    pfc_blocks_result_clear(&r);
}

/* Ends the session at the given line of the log. */
static bool stop_after(void *arg)
{
    return lines(visits_log, "\n") >= *(const size_t *)arg;
}

Test(blocks_run, a_block_that_is_interrupted_counts_for_nothing)
{
    size_t limit = 5; /* block 0 has three visits, block 1 two of its three */
    const pfc_commit_measure_opts measure = { .measure =
                                                  "echo $PERFCI_COMMIT >> $BLOCKS_LOG; sh prog.sh; "
                                                  "test $(grep -c . $BLOCKS_LOG) -lt 5 || sleep 30",
                                              .timeout_s = 60,
                                              .cancelled = stop_after,
                                              .cancelled_arg = &limit };
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;
    pfc_err err = { 0 };

    three_builds();
    opts = all_of_them(0, 1);
    open_ws();
    cr_assert(eq(int, pfc_blocks_measure(ws, &measure, &opts, &r, &err), PFC_OK), "%s", err.msg);
    cr_assert(r.cancelled);
    cr_assert(eq(sz, r.blocks, 1));
    for (size_t c = 0; c < 3; c++)
        cr_assert(eq(sz, of(&r, c, "value")->samples_len, 1));
    pfc_blocks_result_clear(&r);

    /* Before the first whole block there is no result at all. */
    limit = 0;
    cr_assert(eq(int, pfc_blocks_measure(ws, &measure, &opts, &r, &err), PFC_EUNAVAIL));
    pfc_blocks_result_clear(&r);
}

/* prog.sh itself is not a program of the checkout's, so a script that the command names is its
 * code. */
Test(blocks_run, identical_builds_are_measured_once)
{
    static char *globs[] = { "table*" };
    const pfc_conf conf = { .runtime_files = globs, .runtime_files_len = 1 };
    const char *program = "echo $PERFCI_COMMIT >> $BLOCKS_LOG; ./prog";
    const pfc_workspace_opts compiled = { .dir = cache,
                                          .source = f.repo,
                                          .build = "cc -o prog main.c" };
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;
    pfc_err err = { 0 };

    add_commit("main.c",
               "#include <stdio.h>\nint main(void)\n{\n    return puts(\"100\") < 0;\n}\n");
    add_commit("README", "words\n");
    add_commit("table.txt", "1\n");
    add_commit("main.c",
               "#include <stdio.h>\nint main(void)\n{\n    return puts(\"200\") < 0;\n}\n");
    add_commit("README", "more words\n");
    cr_assert(eq(int, pfc_workspace_open(&compiled, &ws, &err), PFC_OK), "%s", err.msg);
    opts = all_of_them(0, 1);
    opts.exact_rounds = 1;
    opts.conf = &conf;
    r = session(program, &opts);
    cr_assert(eq(int, (int)r.commits[1].status, PFC_BLOCK_IDENTICAL));
    cr_assert(eq(sz, r.commits[1].same_as, 0));
    /* The same code, but a file that it reads differs. */
    cr_assert(eq(int, (int)r.commits[2].status, PFC_BLOCK_MEASURED));
    cr_assert(eq(int, (int)r.commits[3].status, PFC_BLOCK_MEASURED));
    cr_assert(eq(int, (int)r.commits[4].status, PFC_BLOCK_IDENTICAL));
    cr_assert(eq(sz, r.commits[4].same_as, 3));
    cr_assert_null(r.commits[4].run);
    cr_assert(eq(sz, lines(visits_log, "\n"), 6));
    cr_assert_not_null(pfc_labels_get(&r.commits[3].run->measurements[0].extra, PFC_OBJECT));
    pfc_blocks_result_clear(&r);
}

Test(blocks_run, a_commit_with_the_tree_of_the_one_before_is_not_even_built)
{
    /* The build fails at its second call. */
    char *command =
        pfc_format("test ! -e %s/built && touch %s/built && cp value prog.sh", f.dir, f.dir);
    const pfc_workspace_opts once = { .dir = cache, .source = f.repo, .build = command };
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;
    pfc_err err = { 0 };

    add_commit("value", "100\n");
    add_commit("value", "110\n");
    add_commit("value", "100\n");
    ids[1] = ids[2];
    ids_len = 2;
    cr_assert(eq(int, pfc_workspace_open(&once, &ws, &err), PFC_OK), "%s", err.msg);
    opts = all_of_them(0, 1);
    r = session("sh prog.sh", &opts);
    cr_assert(eq(int, (int)r.commits[1].status, PFC_BLOCK_IDENTICAL), "%s", r.commits[1].reason);
    cr_assert(eq(sz, r.commits[1].same_as, 0));
    cr_assert(eq(int, strncmp(r.commits[1].reason, "identical tree of ", 18), 0));
    cr_assert(eq(sz, r.blocks, 0));
    pfc_blocks_result_clear(&r);
    free(command);
}

/* Two functions; `slow` makes the first one run its loop three times. */
static void add_program(const char *name, int turns)
{
    char *text =
        pfc_format("#include <stdio.h>\n"
                   "__attribute__((noinline)) int dot(volatile int *a)\n"
                   "{\n    for (int i = 0; i < %d; i++)\n        *a += i;\n    return *a;\n}\n"
                   "__attribute__((noinline)) int other(volatile int *a)\n"
                   "{\n    for (int i = 0; i < 1000; i++)\n        *a -= i;\n    return *a;\n}\n"
                   "int main(void)\n{\n    volatile int a = 0;\n"
                   "    return printf(\"%d\\n\") + 0 * (dot(&a) + other(&a)) < 0;\n}\n",
                   turns * 1000, turns * 100);

    add_commit(name, text);
    free(text);
}

Test(blocks_run, functions_are_counted_of_a_build_that_differs_from_the_one_before)
{
    const pfc_workspace_opts compiled = { .dir = cache,
                                          .source = f.repo,
                                          .build = "cc -g -o prog main.c" };
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;
    const pfc_function_delta *d;
    pfc_err err = { 0 };

    if (system("valgrind --version >/dev/null 2>&1") != 0)
        cr_skip_test("valgrind is not installed");
    add_program("main.c", 1);
    add_program("main.c", 3);
    add_commit("README", "words\n");
    cr_assert(eq(int, pfc_workspace_open(&compiled, &ws, &err), PFC_OK), "%s", err.msg);
    opts = all_of_them(0, 1);
    opts.functions_s = 60;
    r = session("./prog", &opts);
    cr_assert(eq(int, (int)r.commits[1].status, PFC_BLOCK_MEASURED));
    d = r.commits[1].functions;
    cr_assert_not_null(d, "not counted");
    cr_assert(eq(str, (char *)(uintptr_t)d->changes[0].name, "dot"));
    cr_assert(gt(dbl, (double)d->changes[0].after / (double)d->changes[0].before, 2.9));
    for (size_t i = 0; i < d->len; i++)
        cr_assert(ne(str, (char *)(uintptr_t)d->changes[i].name, "other"));
    cr_assert_null(r.commits[0].functions);
    cr_assert_null(r.commits[2].functions); /* identical object code */
    pfc_blocks_result_clear(&r);
}

Test(blocks_run, when_all_are_identical_nothing_is_measured)
{
    const pfc_workspace_opts compiled = { .dir = cache,
                                          .source = f.repo,
                                          .build = "cc -o prog main.c" };
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;
    pfc_err err = { 0 };

    add_commit("main.c", "int main(void)\n{\n    return 0;\n}\n");
    add_commit("README", "words\n");
    add_commit("README", "more\n");
    cr_assert(eq(int, pfc_workspace_open(&compiled, &ws, &err), PFC_OK), "%s", err.msg);
    opts = all_of_them(0, 1);
    r = session("./prog", &opts);
    cr_assert(eq(sz, r.blocks, 0));
    cr_assert(eq(int, (int)r.commits[1].status, PFC_BLOCK_IDENTICAL));
    cr_assert(eq(int, (int)r.commits[2].status, PFC_BLOCK_IDENTICAL));
    cr_assert(eq(sz, r.commits[2].same_as, 0));
    pfc_blocks_result_clear(&r);
}

#define TWO(x, y) "printf '{\"metrics\": {\"time_ns\": %s, \"" x "\": " y "}}' $(cat value)"

Test(blocks_run, series_may_appear_and_vanish_between_builds)
{
    const char *changing = "test $(cat value) = 110 && printf '{\"metrics\": {\"time_ns\": 110, "
                           "\"late_ns\": 5}}' || printf '{\"metrics\": {\"time_ns\": %s, "
                           "\"gone_ns\": 3}}' $(cat value)";
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;

    three_builds();
    opts = all_of_them(0, 1);
    opts.budget_s = 600;
    r = session(changing, &opts);
    cr_assert_null(of(&r, 0, "late_ns"));
    cr_assert_not_null(of(&r, 1, "late_ns"));
    cr_assert_null(of(&r, 1, "gone_ns"));
    cr_assert_not_null(of(&r, 2, "gone_ns"));
    cr_assert(eq(sz, of(&r, 1, "late_ns")->blocks_len, r.commits[1].visits));
    pfc_blocks_result_clear(&r);
}

Test(blocks_run, values_that_have_no_ratio_are_kept_and_decide_nothing)
{
    const char *zero = TWO("lost_bytes", "0");
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;

    three_builds();
    opts = all_of_them(0, 1);
    opts.budget_s = 600;
    r = session(zero, &opts);
    cr_assert(eq(dbl, of(&r, 1, "lost_bytes")->samples[0], 0.0));
    cr_assert(eq(dbl, r.commits[1].needs_s, 0.0));
    cr_assert(eq(dbl, r.commits[2].needs_s, 0.0));
    pfc_blocks_result_clear(&r);
}

Test(blocks_run, settings_that_are_refused_everywhere_are_an_error)
{
    const char *unknown = "printf '{\"metrics\": {\"goodness\": 3}}'";
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;
    pfc_err err = { 0 };

    three_builds();
    opts = all_of_them(0, 1);
    cr_assert(eq(int, measure_by(unknown, &opts, &r, &err), PFC_EINVAL));
    cr_assert_not_null(strstr(err.msg, "goodness"), "%s", err.msg);
    pfc_blocks_result_clear(&r);
}

static pfc_code enough(void *arg, pfc_run *const *runs, size_t len, bool *done, pfc_err *err)
{
    size_t *calls = arg;

    (void)err;
    cr_assert(eq(sz, len, 2));
    cr_assert(eq(str, runs[1]->commit, ids[1].hex));
    *done = ++*calls == 3;
    return PFC_OK;
}

Test(blocks_run, two_builds_are_measured_until_the_caller_has_enough)
{
    pfc_blocks_run_opts opts;
    pfc_blocks_result r;
    size_t calls = 0;

    add_commit("value", "100\n");
    add_commit("value", "101\n");
    opts = all_of_them(0, 1);
    opts.decided = enough;
    opts.decided_arg = &calls;
    r = session(MEASURE, &opts);
    cr_assert(eq(sz, r.blocks, 6));
    cr_assert(eq(sz, r.commits[1].visits, 6));
    pfc_blocks_result_clear(&r);
}
