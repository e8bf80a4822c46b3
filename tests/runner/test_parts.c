/* The small parts of the runner: which value, which line, which secret, which checkout, which
 * source. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/blocks/blocks.h"
#include "runner/blocks/blocks_priv.h"
#include "runner/blocks/session_json.h"
#include "runner/workspace/workspace_priv.h"

#include "tests/check/check.h"

static char *dir;
static pfc_err err;

static void setup(void)
{
    pfc_log_set_level(PFC_OFF);
    cr_assert(eq(int, pfc_fs_temp_dir("perfci-parts", &dir, &err), PFC_OK), "%s", err.msg);
}

static void teardown(void)
{
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK), "%s", err.msg);
    free(dir);
}

TestSuite(parts, .init = setup, .fini = teardown);

/* ---- the one value of a run ---- */

static void add_value(pfc_run *run, const char *benchmark, const char *metric, const char *backend,
                      double value, pfc_status status)
{
    pfc_measurement *m = pfc_run_add(run);

    m->benchmark = pfc_strdup(benchmark);
    m->metric = pfc_strdup(metric);
    m->backend = pfc_strdup(backend);
    m->unit = pfc_strdup("ns");
    m->status = status;
    if (status != PFC_STATUS_OK)
        return;
    m->samples = pfc_calloc(1, sizeof(double));
    m->samples[0] = value;
    m->samples_len = 1;
}

Test(parts, the_value_that_fits_is_the_one_a_headline_before_others)
{
    static const struct {
        const char *metric, *benchmark, *backend;
        pfc_code code;
        double value;
    } rows[] = {
        { "time", NULL, NULL, PFC_OK, 1.0 },       /* the headline's */
        { "time", "gemm", NULL, PFC_EINVAL, 0.0 }, /* on two backends */
        { "time", "gemm", "cpu-avx2", PFC_OK, 2.0 },
        { "time", "gemm", "cpu-scalar", PFC_OK, 3.0 },
        { "time", NULL, "cpu-avx2", PFC_OK, 2.0 }, /* the only one there */
        { "bytes", NULL, NULL, PFC_OK, 4.0 },      /* no headline has it */
        { "bytes", "gemm", NULL, PFC_OK, 4.0 },
        { NULL, "norm", NULL, PFC_OK, 5.0 },
        { NULL, NULL, NULL, PFC_OK, 1.0 },
        { "time", "headline", NULL, PFC_OK, 1.0 },
        { "lost", NULL, NULL, PFC_ENOTFOUND, 0.0 }, /* it has no result */
        { "time", "nothing", NULL, PFC_ENOTFOUND, 0.0 },
        { "time", "norm", NULL, PFC_ENOTFOUND, 0.0 },
        { "time", NULL, "cpu-mmx", PFC_ENOTFOUND, 0.0 },
    };
    pfc_run *run = pfc_run_new();

    add_value(run, "gemm", "time", "cpu-avx2", 2.0, PFC_STATUS_OK);
    add_value(run, "headline", "time", "", 1.0, PFC_STATUS_OK);
    add_value(run, "gemm", "time", "cpu-scalar", 3.0, PFC_STATUS_OK);
    add_value(run, "gemm", "bytes", "", 4.0, PFC_STATUS_OK);
    add_value(run, "norm", "speed", "", 5.0, PFC_STATUS_OK);
    add_value(run, "norm", "lost", "", 0.0, PFC_STATUS_BROKEN);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_measurement *m = NULL;

        err = (pfc_err){ 0 };
        cr_assert(
            eq(int,
               pfc_run_value(run, rows[i].metric, rows[i].benchmark, rows[i].backend, &m, &err),
               rows[i].code),
            "row %zu: %s", i, err.msg);
        if (rows[i].code == PFC_OK)
            cr_assert(eq(dbl, m->samples[0], rows[i].value), "row %zu", i);
        else
            cr_assert(m == NULL);
        if (rows[i].code == PFC_ENOTFOUND)
            cr_assert(ne(ptr, strstr(err.msg, "norm lost (no result)"), NULL), "%s", err.msg);
    }
    pfc_run_free(run);
}

Test(parts, a_benchmarks_filter_fits_it_alone)
{
    static const struct {
        const char *benchmark, *filter;
    } rows[] = {
        { "gemm/f32/m8n8k8", "^gemm/f32/m8n8k8$" },
        { "a.b[c]{d}(e)*+?^$|\\f", "^a\\.b\\[c\\]\\{d\\}\\(e\\)\\*\\+\\?\\^\\$\\|\\\\f$" },
        { "headlines", "^headlines$" },
        { "headline", NULL },
        { "", NULL },
        { NULL, NULL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *filter = pfc_measure_filter(rows[i].benchmark);

        cr_assert(eq(int, filter == NULL, rows[i].filter == NULL), "row %zu", i);
        if (filter)
            cr_assert(eq(str, filter, (char *)(uintptr_t)rows[i].filter));
        free(filter);
    }
}

/* ---- commands ---- */

Test(parts, the_line_that_tells_most)
{
    static const struct {
        const char *output, *line;
    } rows[] = {
        { "", "" },
        { "\n \t\r\n", "" },
        { "one\ntwo\n", "two" },
        { "one\ntwo", "two" },
        { "one\ntwo\n\n  \n", "two" },
        { "x.c:3: error: no\nmake: *** 1\n", "x.c:3: error: no" },
        { "first Error\nsecond error\n", "first Error" },
        { "a\tb\x1b[0m\n", "a b [0m" },
    };
    char line[32];

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_command_error_line(rows[i].output, line, sizeof(line));
        cr_assert(eq(str, line, (char *)(uintptr_t)rows[i].line), "row %zu", i);
    }
    pfc_command_error_line("0123456789", line, 5);
    cr_assert(eq(str, line, "0123"));
}

Test(parts, secrets_are_known_by_their_names)
{
    static const struct {
        const char *name;
        bool secret;
    } rows[] = {
        { "PERFCI_TOKEN", true },
        { "my_token", true },
        { "AWS_SECRET_ACCESS_KEY", true },
        { "DB_PASSWORD", true },
        { "MYSQL_PASSWD", true },
        { "GOOGLE_CREDENTIALS", true },
        { "DATABASE_URL", true },
        { "SSH_PRIVATE_KEY", true },
        { "OPENAI_API_KEY", true },
        { "GIT_DIR", true },
        { "GIT_WORK_TREE", true },
        { "GIT_INDEX_FILE", true },
        { "GIT_PREFIX", true },
        { "GIT_OBJECT_DIRECTORY", true },
        { "PATH", false },
        { "HOME", false },
        { "PERFCI_URL", false },
        { "GIT_DIRECTORY", false },
        { "GIT_SSH_COMMAND", false },
        { "git_dir", false },
        { "KEY", false },
        { "PASS", false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(int, pfc_command_is_secret(rows[i].name), rows[i].secret), "%s", rows[i].name);
}

static pfc_code run_command(size_t len, pfc_proc_result *res)
{
    char *text = pfc_alloc(len + 1);
    const pfc_command cmd = { .text = text, .dir = dir, .timeout_s = 600 };
    pfc_code code;

    memset(text, ' ', len);
    memcpy(text, "exit 7", 6);
    text[len] = '\0';
    code = pfc_command_run(&cmd, res, &err);
    free(text);
    return code;
}

Test(parts, a_command_is_at_most_64_kib)
{
    pfc_proc_result res = { 0 };

    cr_assert(eq(int, run_command(65536, &res), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, res.exit_status, 7));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, run_command(65537, &res), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "expected at most 65536 bytes, got 65537"), NULL), "%s",
              err.msg);
}

/* Exit statuses of perfci-bench and of a command, and the outcome of the commit for each. */
Test(parts, each_exit_status_has_its_outcome)
{
    static const struct {
        int status;
        pfc_outcome_kind command, suite;
        bool refused, unavailable; /* of a suite */
    } rows[] = {
        { 1, PFC_OUTCOME_FAILED, PFC_OUTCOME_FAILED, false, false },
        { 2, PFC_OUTCOME_FAILED, PFC_OUTCOME_BROKEN, true, false },
        { 3, PFC_OUTCOME_FAILED, PFC_OUTCOME_FAILED, false, false },
        { 4, PFC_OUTCOME_FAILED, PFC_OUTCOME_FAILED, false, false }, /* its document is missing */
        { 5, PFC_OUTCOME_FAILED, PFC_OUTCOME_FAILED, false, true },
        { 6, PFC_OUTCOME_FAILED, PFC_OUTCOME_FAILED, false, false },
        { 124, PFC_OUTCOME_FAILED, PFC_OUTCOME_FAILED, false, false },
        { 125, PFC_OUTCOME_BROKEN, PFC_OUTCOME_BROKEN, false, false },
        { 126, PFC_OUTCOME_FAILED, PFC_OUTCOME_FAILED, false, false },
    };
    char *bench = pfc_fs_join(dir, "bench.sh");

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *command = pfc_format("exit %d", rows[i].status);
        char *script =
            pfc_format("#!/bin/sh\necho 'perfci-bench: the words' >&2\nexit %d\n", rows[i].status);
        const pfc_commit_measure_opts by_command = { .measure = command, .timeout_s = 600 };
        const pfc_commit_measure_opts by_suite = { .suite = "quick",
                                                   .bench = bench,
                                                   .timeout_s = 600 };
        pfc_outcome out;

        cr_assert(eq(int, pfc_measure(&by_command, dir, "c", 0, &out, &err), PFC_OK), "%s",
                  err.msg);
        cr_assert(eq(int, (int)out.kind, (int)rows[i].command), "status %d", rows[i].status);
        cr_assert(not(out.refused || out.unavailable));
        pfc_outcome_clear(&out);
        cr_assert(eq(int, pfc_fs_write_atomic(bench, script, strlen(script), 0755, &err), PFC_OK));
        cr_assert(eq(int, pfc_measure(&by_suite, dir, "c", 0, &out, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, (int)out.kind, (int)rows[i].suite), "status %d", rows[i].status);
        cr_assert(eq(int, out.refused, rows[i].refused), "status %d", rows[i].status);
        cr_assert(eq(int, out.unavailable, rows[i].unavailable), "status %d", rows[i].status);
        if (rows[i].refused || rows[i].unavailable)
            cr_assert(eq(str, out.reason, "the words")); /* its own, without its name */
        pfc_outcome_clear(&out);
        free(command);
        free(script);
    }
    free(bench);
}

Test(parts, outcomes_have_their_names)
{
    cr_assert(eq(str, (char *)pfc_outcome_name(PFC_OUTCOME_MEASURED), "measured"));
    cr_assert(eq(str, (char *)pfc_outcome_name(PFC_OUTCOME_BROKEN), "broken"));
    cr_assert(eq(str, (char *)pfc_outcome_name(PFC_OUTCOME_FAILED), "failed"));
    cr_assert(eq(str, (char *)pfc_outcome_name(PFC_OUTCOME_TIMED_OUT), "timed out"));
    cr_assert(eq(str, (char *)pfc_outcome_name(PFC_OUTCOME_CANCELLED), "cancelled"));
}

Test(parts, a_commits_text_is_held_to_its_limits)
{
    static const struct {
        const char *commit;
        pfc_code code;
    } rows[] = {
        { "", PFC_EINVAL },
        { "c", PFC_OK },
        { "0123456789012345678901234567890123456789012345678901234567890123", PFC_OK },
        { "01234567890123456789012345678901234567890123456789012345678901234", PFC_EINVAL },
        { "a b", PFC_EINVAL },
        { "a\x1f", PFC_EINVAL },
        { "a!~", PFC_OK },
        { "a\x7f", PFC_EINVAL },
        { NULL, PFC_OK },
    };
    const pfc_commit_measure_opts opts = { .measure = "echo 1", .timeout_s = 600 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_outcome out;

        cr_assert(eq(int, pfc_measure(&opts, dir, rows[i].commit, 0, &out, &err), rows[i].code),
                  "row %zu", i);
        pfc_outcome_clear(&out);
    }
}

/* ---- checkouts ---- */

static void make_entry(const char *name, int64_t used_s)
{
    char *path = pfc_fs_join(dir, name), *state = pfc_fs_join(path, "state");
    const struct timespec times[2] = { { .tv_sec = used_s }, { .tv_sec = used_s } };

    cr_assert(eq(int, pfc_fs_mkdirs(path, 0700, &err), PFC_OK));
    if (used_s) {
        cr_assert(eq(int, pfc_fs_write_atomic(state, "", 0, 0600, &err), PFC_OK));
        cr_assert(eq(int, utimensat(AT_FDCWD, state, times, 0), 0));
    }
    free(path);
    free(state);
}

/* By name; "-" for each that is gone. */
static void check_left(size_t keep, const char *except, const char *want)
{
    char left[] = "abcde";

    cr_assert(eq(int, pfc_cache_make_room(dir, keep, except, &err), PFC_OK), "%s", err.msg);
    for (char *name = left; *name; name++) {
        char *path = pfc_format("%s/%c", dir, *name);

        if (!pfc_fs_exists(path))
            *name = '-';
        free(path);
    }
    cr_assert(eq(str, left, (char *)(uintptr_t)want), "keep %zu", keep);
}

Test(parts, the_unfinished_go_first_then_the_least_recently_used)
{
    make_entry("a", 300);
    make_entry("b", 100);
    make_entry("c", 0); /* never finished */
    make_entry("d", 100);
    make_entry("e", 200);
    check_left(5, "", "abcde");
    check_left(4, "", "ab-de");
    check_left(3, "", "a--de");  /* of one instant, by name */
    check_left(2, "d", "a--de"); /* what is in use is not counted */
    check_left(1, "d", "a--d-");
    check_left(0, "d", "---d-");
    check_left(0, "", "-----");
    cr_assert(eq(int, pfc_cache_make_room("/nowhere", 0, "", &err), PFC_EIO));
}

/* ---- sources ---- */

Test(parts, sources_are_folders_or_plain_urls)
{
    static const struct {
        const char *source;
        pfc_code code;
    } rows[] = {
        { NULL, PFC_EINVAL },
        { "", PFC_EINVAL },
        { "/no/such/folder", PFC_ENOTFOUND },
        { "ext::sh -c id", PFC_ENOTFOUND },
        { "-uid", PFC_ENOTFOUND },
        { "ftp://x/y", PFC_ENOTFOUND },
        { "git@host", PFC_ENOTFOUND }, /* no path */
        { "xhttps://h/p", PFC_ENOTFOUND },
        { "file:///no/such/repository", PFC_EUNAVAIL }, /* a URL: git says that it is not there */
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_workspace_opts opts = { .dir = dir, .source = rows[i].source };
        pfc_repo *repo = NULL;
        char *mirror = NULL;

        cr_assert(eq(int, pfc_source_open(&opts, &repo, &mirror, &err), rows[i].code),
                  "row %zu: %s", i, err.msg);
        cr_assert(repo == NULL && mirror == NULL);
    }
    for (size_t len = 2048; len <= 2049; len++) {
        char *source = pfc_alloc(len + 1);
        pfc_workspace_opts opts = { .dir = dir, .source = source };
        pfc_repo *repo = NULL;
        char *mirror = NULL;

        memset(source, 'x', len);
        source[len] = '\0';
        cr_assert(eq(int, pfc_source_open(&opts, &repo, &mirror, &err),
                     len == 2048 ? PFC_ENOTFOUND : PFC_EINVAL));
        free(source);
    }
}

/* ---- machines ---- */

Test(parts, what_is_given_of_a_machine_stands_before_what_is_found)
{
    pfc_machine machine = { 0 };

    pfc_host_describe(NULL, &machine, "me", "lab");
    cr_assert(eq(str, machine.name, "me"));
    cr_assert(eq(str, machine.machine_class, "lab"));
    cr_assert(gt(sz, machine.fingerprint.len, 0));
    pfc_machine_clear(&machine);
    /* a document's own stays, unless something is given */
    machine = (pfc_machine){ .name = pfc_strdup("its"), .machine_class = pfc_strdup("own") };
    pfc_host_describe(NULL, &machine, NULL, "lab");
    cr_assert(eq(str, machine.name, "its"));
    cr_assert(eq(str, machine.machine_class, "lab"));
    pfc_machine_clear(&machine);
}

/* ---- sessions ---- */

static pfc_commit_id id_of(char digit)
{
    pfc_commit_id id = { 0 };

    memset(id.hex, digit, 40);
    return id;
}

static const char *text_of(const json_t *doc, const char *key)
{
    const char *text = json_string_value(json_object_get(doc, key));

    return text ? text : "(none)";
}

Test(parts, a_session_names_its_new_commits_and_what_became_of_each)
{
    static const struct {
        const char *status, *reason, *same_as;
        bool needs;
    } want[] = { { "measured", "(none)", "(none)", true },
                 { "identical", "(none)", "4444444444444444444444444444444444444444", false },
                 { "broken", "no build", "(none)", false },
                 { "not_measured", "no time", "(none)", false } };
    pfc_block_commit commits[] = {
        { .id = id_of('1'), .status = PFC_BLOCK_MEASURED }, /* anchor */
        { .id = id_of('2'), .status = PFC_BLOCK_MEASURED }, /* base */
        { .id = id_of('3'), .status = PFC_BLOCK_MEASURED }, /* known: not of this session's news */
        { .id = id_of('4'), .status = PFC_BLOCK_MEASURED, .needs_s = 12.5 },
        { .id = id_of('5'), .status = PFC_BLOCK_IDENTICAL, .same_as = 3 },
        { .id = id_of('6'), .status = PFC_BLOCK_BROKEN, .reason = "no build" },
        { .id = id_of('7'), .status = PFC_BLOCK_NOT_MEASURED, .reason = "no time", .needs_s = -1 },
    };
    const bool known[PFC_ARRAY_LEN(commits)] = { false, false, true };
    pfc_machine machine = { .name = (char *)"host", .machine_class = (char *)"lab" };
    const pfc_blocks_result r = { .commits = commits,
                                  .len = PFC_ARRAY_LEN(commits),
                                  .anchor = 0,
                                  .session = "00112233445566778899aabbccddeeff",
                                  .started_at = 0.0,
                                  .finished_at = 60.0,
                                  .spent_s = 55.0,
                                  .blocks = 4,
                                  .note = "hm" };
    const pfc_session_of of = {
        .branch = "main", .first = 2, .known = known, .budget_s = 90.0, .machine = &machine
    };
    json_t *doc = pfc_session_to_json(&r, &of);
    const json_t *list = json_object_get(doc, "commits");

    cr_assert(eq(str, (char *)text_of(doc, "id"), "00112233445566778899aabbccddeeff"));
    cr_assert(eq(str, (char *)text_of(doc, "branch"), "main"));
    cr_assert(eq(str, (char *)text_of(doc, "anchor"), commits[0].id.hex));
    cr_assert(eq(str, (char *)text_of(doc, "base"), commits[1].id.hex));
    cr_assert(eq(str, (char *)text_of(doc, "machine"), "host"));
    cr_assert(eq(str, (char *)text_of(doc, "machine_class"), "lab"));
    cr_assert(eq(str, (char *)text_of(doc, "note"), "hm"));
    cr_assert(eq(int, strncmp(text_of(doc, "started_at"), "1970-01-01T00:00:00", 19), 0));
    cr_assert(eq(int, strncmp(text_of(doc, "finished_at"), "1970-01-01T00:01:00", 19), 0));
    cr_assert(eq(dbl, json_real_value(json_object_get(doc, "budget_s")), 90.0));
    cr_assert(eq(dbl, json_real_value(json_object_get(doc, "spent_s")), 55.0));
    cr_assert(eq(i64, json_integer_value(json_object_get(doc, "blocks")), 4));
    cr_assert(eq(sz, json_array_size(list), PFC_ARRAY_LEN(want)));
    for (size_t i = 0; i < PFC_ARRAY_LEN(want); i++) {
        const json_t *commit = json_array_get(list, i);

        cr_assert(eq(str, (char *)text_of(commit, "commit"), commits[i + 3].id.hex));
        cr_assert(eq(str, (char *)text_of(commit, "status"), (char *)want[i].status));
        cr_assert(eq(str, (char *)text_of(commit, "reason"), (char *)want[i].reason));
        cr_assert(eq(str, (char *)text_of(commit, "same_as"), (char *)want[i].same_as));
        cr_assert(eq(int, json_object_get(commit, "needs_s") != NULL, want[i].needs), "row %zu", i);
    }
    json_decref(doc);
}

/* ---- blocks of a part of the suite ---- */

/* The filter of the first block that one series needs alone; the other one is exact. */
static char *narrowed(const char *open, const char **backend)
{
    pfc_block_series series[] = {
        { .benchmark = (char *)(uintptr_t)open, .backend = (char *)(uintptr_t) "cpu", .number = 0 },
        { .benchmark = (char *)(uintptr_t) "gemm/exact",
          .backend = (char *)(uintptr_t) "accel",
          .number = 1 },
    };
    const pfc_design_opts opts = { .builds = 2, .margin = 0.001, .first = 1, .all = true };
    pfc_blocks_session s = { .series = series, .series_len = PFC_ARRAY_LEN(series) };
    pfc_design_block block;
    char *filter;

    cr_assert(eq(int, pfc_design_new(&opts, &s.design, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, pfc_design_series(s.design, false), 0));
    cr_assert(eq(sz, pfc_design_series(s.design, true), 1));
    do {
        cr_assert(pfc_design_next(s.design, &block));
        for (size_t i = 0; i < block.len && pfc_design_wants(s.design, 1); i++) {
            pfc_visit visit = { .build = block.builds[i],
                                .block = block.number,
                                .value = 100 + (double)block.number };

            cr_assert(eq(int, pfc_design_add(s.design, 0, &visit, &err), PFC_OK), "%s", err.msg);
            cr_assert(eq(int, pfc_design_add(s.design, 1, &visit, &err), PFC_OK), "%s", err.msg);
        }
    } while (pfc_design_wants(s.design, 1));
    filter = pfc_blocks_narrow(&s, backend);
    pfc_design_free(s.design);
    return filter;
}

Test(parts, a_block_for_a_headline_metric_measures_all_benchmarks_of_its_backend)
{
    const char *backend = NULL;
    char *filter = narrowed("gemm/a", &backend);

    cr_assert(eq(str, filter, (char *)(uintptr_t) "^(gemm/a)$"));
    cr_expect(eq(str, (char *)(uintptr_t)backend, (char *)(uintptr_t) "cpu"));
    free(filter);
    filter = narrowed("headline", &backend);
    cr_expect(eq(ptr, filter, NULL));
    cr_assert(ne(ptr, (void *)(uintptr_t)backend, NULL));
    cr_expect(eq(str, (char *)(uintptr_t)backend, (char *)(uintptr_t) "cpu"));
    free(filter);
}
