/*
 * perfci compare and perfci check: is B slower than A?
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/compare/compare.h"
#include "cli/compare/reuse.h"
#include "cli/compare/stored.h"
#include "cli/measure/measure.h"
#include "cli/output/output.h"
#include "cli/output/reports.h"
#include "cli/results/side.h"
#include "core/base/fs.h"
#include "core/base/parse.h"
#include "core/comment/comment.h"
#include "runner/blocks/pair_key.h"

enum { KEY_BACKEND = 1 };

#define MAX_TIME_S 600.0 /* of interleaved measuring until it is decided */

typedef struct compare_opts {
    pfc_take_opts take;
    const char *sides[2];
    size_t sides_len;
    const char *base;
    pfc_stored_ask ask;
    size_t rounds;
    double margin, max_time;
    const char *save;  /* folder of the run documents; NULL: not kept */
    const char *reuse; /* folder of earlier results; NULL: none is used or kept */
    bool stored;
    bool git_bisect;
    bool check; /* `perfci check`: no arguments */
    pfc_report_files reports;
} compare_opts;

#define COMMON_OPTIONS                                                                             \
    PFC_CONFIG_OPTION(compare_opts, take.config), PFC_DIRECTION_OPTION,                            \
        PFC_TIME_OPTION(compare_opts, take.time),                                                  \
        PFC_OPT_TEXT("suite", "F", compare_opts, take.suite, "Suite file or name"),                \
        PFC_OPT_TEXT("filter", "RE", compare_opts, take.filter,                                    \
                     "Only benchmarks whose name matches"),                                        \
        PFC_OPT_OWN(KEY_BACKEND, "backend", "B", "Only this backend; repeatable"),                 \
        PFC_OPT_TEXT("measure", "CMD", compare_opts, take.measure,                                 \
                     "Shell command instead of a suite"),                                          \
        PFC_OPT_TEXT("build", "CMD", compare_opts, take.build,                                     \
                     "Shell command that builds a checkout"),                                      \
        PFC_OPT_SECONDS("max-time", "T", compare_opts, max_time,                                   \
                        "Of a command: measure until decided, or as long; builds do not count",    \
                        .fallback = "10m"),                                                        \
        PFC_OPT_COUNT("rounds", "N", compare_opts, rounds, 1, PFC_TAKE_MAX_REPEATS,                \
                      "Of a command: exactly N rounds of two measurements a side"),                \
        PFC_OPT_TEXT("save", "DIR", compare_opts, save,                                            \
                     "Keep both run documents as DIR/a.json and DIR/b.json"),                      \
        PFC_OPT_INTEGER("seed", "N", compare_opts, take.seed, 0, INT64_MAX,                        \
                        "Seed of the order of turns", .fallback = "1"),                            \
        PFC_OPT_NUMBER("margin", "R", compare_opts, margin, 1e-9, 10,                              \
                       "Relative change that does not matter",                                     \
                       .fallback = "0.01, of pairs 0.005"),                                        \
        PFC_OPT_SECONDS("timeout", "T", compare_opts, take.timeout_s,                              \
                        "Of one measurement, e.g. 90s or 5m"),                                     \
        PFC_OPT_DURATION("wait-quiet", "T", compare_opts, take.wait_quiet,                         \
                         "Of a suite: wait for a quiet machine"),                                  \
        PFC_OPT_TEXT("work", "DIR", compare_opts, take.work, "Where checkouts are kept"),          \
        PFC_OPT_FLAG("git-bisect", compare_opts, git_bisect,                                       \
                     "Exit status for `git bisect run`: 0, 1 or 125")

static const pfc_option compare_options[] = {
    COMMON_OPTIONS,
    PFC_OPT_FLAG("stored", compare_opts, stored, "Compare what the service has of both"),
    PFC_OPT_FLAG("across", compare_opts, ask.across,
                 "Decide on stored results of different machines or compilers, too"),
    PFC_OPT_TEXT("backend-a", "B", compare_opts, ask.backends[0], "Stored results of A: this one"),
    PFC_OPT_TEXT("backend-b", "B", compare_opts, ask.backends[1], "Stored results of B: this one"),
    PFC_OPT_TEXT("machine-class-a", "C", compare_opts, ask.machine_classes[0],
                 "Stored results of A: this class of machines"),
    PFC_OPT_TEXT("machine-class-b", "C", compare_opts, ask.machine_classes[1],
                 "Stored results of B: this class of machines"),
    PFC_OPT_TEXT("project", "P", compare_opts, ask.project,
                 "The project's name, for stored results"),
    PFC_SERVICE_OPTIONS(compare_opts, ask.),
    { 0 },
};

static const pfc_option check_options[] = {
    COMMON_OPTIONS,
    PFC_OPT_TEXT("base", "REV", compare_opts, base, "Branch to compare with",
                 .fallback = "perfci.yaml's, else main"),
    PFC_OPT_TEXT("reuse", "DIR", compare_opts, reuse,
                 "Keep results in DIR; the same trees, toolchain, suite and machine class are not "
                 "measured again for 30 days"),
    PFC_REPORT_OPTIONS(compare_opts, reports),
    { 0 },
};

static const char compare_doc[] =
    "Says benchmark by benchmark whether B is slower than A."
    "\vA and B are files (any supported format), else revisions of this repository, else numbers "
    "ids of stored runs. With --stored also tags, branches and dates of the service (\"main~3\").\n"
    "Two revisions are built here and measured interleaved, unless --stored.\n"
    "\n"
    "Stored results that were measured on different machines or with different compilers are shown "
    "with what differs, and are not decided (exit status 3) without --across.\n"
    "\n"
    "Exit status 1 regression, 0 none, 3 not decided, 4 a benchmark is broken on one side or "
    "both.\n"
    "\n"
    "Examples:\n"
    "  perfci compare main HEAD\n"
    "  perfci compare before.json after.json --json\n"
    "  perfci compare --stored v1.2 main\n"
    "  perfci compare --stored --backend-a cpu-avx2 --backend-b hip main main\n";

static const char check_doc[] =
    "Measures HEAD against the commit where it left its base branch, interleaved: the gate for CI."
    "\vA command is measured in rounds of two measurements a side until every benchmark is "
    "decided, or\n"
    "--max-time is over; then the number of rounds that are still missing is printed. On the base\n"
    "branch itself there is nothing to compare (exit status 0). Where the base branch is not here, "
    "as\n"
    "in a clone of CI, origin's counts.\n"
    "\n"
    "Exit status 1 regression, 0 none, 3 not decided, 4 a benchmark is broken.\n"
    "\n"
    "With --reuse, a result of the same pair (its trees, commands, suite, toolchain, environment "
    "and\n"
    "machine class) is not measured again, for example after a reworded commit or a rebase. "
    "Results\n"
    "that are not decided, or broken, are not kept.\n"
    "\n"
    "Examples:\n"
    "  perfci check\n"
    "  perfci check --reuse ~/.cache/perfci-results\n"
    "  perfci check --max-time 30m --base origin/main --json > comparison.json\n"
    "  perfci check --json | perfci comment --exit-status --repo me/kernels --pr 12\n";

static error_t parse_compare(int key, char *arg, struct argp_state *state)
{
    compare_opts *o = state->input;

    switch (key) {
    case KEY_BACKEND:
        pfc_take_add_backend(&o->take, arg, state);
        return 0;
    case PFC_KEY_DIRECTION:
        pfc_directions_add(&o->take.directions, arg, state);
        return 0;
    case ARGP_KEY_ARG:
        if (o->sides_len == 2)
            pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
        o->sides[o->sides_len++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->check && o->sides_len != 2)
            pfc_cli_usage(state, "expected A and B: two revisions, files or stored runs");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- where a side comes from ---- */

static pfc_code load_side(const compare_opts *o, const pfc_take *t, const char *text,
                          pfc_side_kind kind, pfc_run **out, pfc_err *err)
{
    pfc_http *http = NULL;
    pfc_code code;

    if (kind == PFC_SIDE_FILE)
        return pfc_take_file(text, NULL, &t->directions, out, err);
    if (kind == PFC_SIDE_REVISION)
        return pfc_err_set(err, PFC_EINVAL,
                           "\"%.100s\" is a revision and the other side is none: measure it first "
                           "(perfci run --commit %.100s --out FILE), or use --stored",
                           text, text);
    code = pfc_api_open(o->ask.url, o->ask.data, &t->conf, &http, err);
    if (!code)
        code = pfc_side_fetch_run(http, text, out, err);
    pfc_http_free(http);
    return code;
}

typedef struct looking {
    const compare_opts *o;
    const pfc_commit_id *ids;
    const pfc_cli *cli;
} looking;

/* Stops when every row that can affect the verdict is decided. The tests are sequential, so a check
 * after each round does not raise the false alarm rate. */
static pfc_code decided(void *arg, const pfc_run *a, const pfc_run *b, bool *done, pfc_err *err)
{
    const looking *l = arg;
    pfc_cmp cmp = { 0 };
    pfc_code code = pfc_cmp_runs(a, b, l->ids[0].hex, l->ids[1].hex, l->o->margin, &cmp, err);

    *done = !code && cmp.count[PFC_CMP_INCONCLUSIVE] == 0;
    pfc_cmp_clear(&cmp);
    return code;
}

static pfc_code save_run(const char *dir, const char *name, const pfc_run *run, pfc_err *err)
{
    char *path = pfc_fs_join(dir, name);
    json_t *doc = pfc_run_to_json(run);
    char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));
    pfc_code code = pfc_fs_mkdirs(dir, 0755, err);

    if (!code)
        code = pfc_fs_write_atomic(path, text, strlen(text), 0644, err);
    json_decref(doc);
    free(text);
    free(path);
    return code ? pfc_err_wrap(err, "--save") : PFC_OK;
}

static pfc_code compare_measured(const compare_opts *o, pfc_take *t, const pfc_commit_id *ids,
                                 pfc_cmp *out, pfc_err *err)
{
    looking l = { .o = o, .ids = ids, .cli = t->cli };
    const pfc_take_rounds stop = { .most = o->rounds,
                                   .max_s = o->max_time > 0 ? o->max_time
                                            : o->rounds     ? 0
                                                            : MAX_TIME_S,
                                   .decided = o->rounds ? NULL : decided,
                                   .arg = &l };
    size_t rounds = 0;
    pfc_run *a = NULL;
    pfc_run *b = NULL;
    pfc_code code = pfc_take_turns(t, &ids[0], &ids[1], o->margin, &a, &b, err);

    if (code == PFC_EUNAVAIL && !pfc_cli_interrupted(NULL)) {
        *err = (pfc_err){ 0 };
        code = pfc_take_pair(t, &ids[0], &ids[1], &stop, &a, &b, &rounds, err);
    }
    if (!code && o->save)
        code = save_run(o->save, "a.json", a, err);
    if (!code && o->save)
        code = save_run(o->save, "b.json", b, err);
    if (!code)
        code = pfc_cmp_runs(a, b, ids[0].hex, ids[1].hex, o->margin, out, err);
    if (!code) {
        out->rounds = rounds;
        pfc_cmp_explain(out, a, b);
    }
    pfc_run_free(a);
    pfc_run_free(b);
    return code;
}

static pfc_code compare(const compare_opts *o, pfc_take *t, pfc_cmp *out, pfc_err *err)
{
    const pfc_benchmark_filter wanted = pfc_take_select(&o->take);
    const char *stored[2];
    pfc_commit_id ids[2] = { { "" }, { "" } };
    pfc_side_kind kinds[2] = { PFC_SIDE_FILE, PFC_SIDE_FILE };
    pfc_run *runs[2] = { NULL, NULL };
    pfc_code code = PFC_OK;

    for (int i = 0; i < 2 && !code; i++) {
        code = pfc_side_find(t->repo, o->sides[i], o->stored, &kinds[i], &ids[i], err);
        stored[i] = kinds[i] == PFC_SIDE_REVISION ? ids[i].hex : o->sides[i];
    }
    if (code)
        return code;
    if (kinds[0] != PFC_SIDE_FILE && kinds[1] != PFC_SIDE_FILE &&
        (o->stored || kinds[0] == PFC_SIDE_RUN || kinds[1] == PFC_SIDE_RUN)) {
        code = pfc_cmp_stored(&o->ask, t, stored, out, err);
        return code ? code : pfc_cmp_select(out, &wanted, err);
    }
    if (pfc_stored_ask_limits(&o->ask))
        return pfc_err_set(err, PFC_EINVAL,
                           "a backend or machine class of A or B is chosen among stored results: "
                           "pass --stored");
    if (kinds[0] == PFC_SIDE_REVISION && kinds[1] == PFC_SIDE_REVISION)
        return compare_measured(o, t, ids, out, err);
    for (int i = 0; i < 2 && !code; i++)
        code = load_side(o, t, o->sides[i], kinds[i], &runs[i], err);
    for (int i = 0; i < 2 && !code; i++)
        if (pfc_run_filter(runs[i], &wanted, err))
            code = pfc_err_wrap(err, "%.100s", o->sides[i]);
    if (!code)
        code = pfc_cmp_runs(runs[0], runs[1], o->sides[0], o->sides[1], o->margin, out, err);
    if (!code)
        pfc_cmp_explain(out, runs[0], runs[1]);
    pfc_run_free(runs[0]);
    pfc_run_free(runs[1]);
    return code;
}

/* The base branch as it is here, else as the remote has it: a clone of CI has no branch but its
 * own. */
static pfc_code find_base(const pfc_take *t, const char *base, char **name, pfc_commit_id *tip,
                          pfc_err *err)
{
    pfc_code code = pfc_repo_resolve(t->repo, base, tip, err);

    *name = pfc_strdup(base);
    if (code != PFC_ENOTFOUND)
        return code;
    free(*name);
    *name = pfc_format("origin/%s", base);
    *err = (pfc_err){ 0 };
    code = pfc_repo_resolve(t->repo, *name, tip, err);
    if (code == PFC_ENOTFOUND) {
        pfc_err_set(err, PFC_ENOTFOUND,
                    "no base branch: neither \"%.100s\" nor \"%.100s\" is in %s", base, *name,
                    pfc_repo_root(t->repo));
        code = pfc_err_hint(err,
                            "fetch it with \"git fetch origin %.100s\", or name another one "
                            "with --base",
                            base);
    }
    return code;
}

/* In the CI job of a pull request the base branch's perfci.yaml counts, which its author cannot
 * change. */
static pfc_code use_base_settings(pfc_take *t, const char *name, const pfc_commit_id *tip,
                                  pfc_err *err)
{
    const char *const marks[] = { getenv("GITHUB_BASE_REF"),
                                  getenv("CI_MERGE_REQUEST_TARGET_BRANCH_NAME") };
    bool pull_request = false;
    pfc_code code;

    for (size_t i = 0; i < PFC_ARRAY_LEN(marks); i++)
        pull_request = pull_request || (marks[i] && marks[i][0]);
    if (!pull_request)
        return PFC_OK;
    code = pfc_take_config_of(t, tip, err);
    if (code || t->measure.measure || t->measure.suite)
        return code;
    pfc_err_set(err, PFC_EINVAL,
                "nothing to measure: for a pull request perfci.yaml of the base branch counts, and "
                "%.100s has none",
                name);
    return pfc_err_hint(err,
                        "commit perfci.yaml to the base branch, or pass \"--config perfci.yaml\" "
                        "where every author is trusted");
}

/* Takes an earlier result of the same pair; without one, measures the pair and keeps the result. */
static pfc_code check_pair(const compare_opts *o, pfc_take *t, const pfc_commit_id *ids,
                           pfc_cmp *out, pfc_err *err)
{
    const pfc_benchmark_filter wanted = pfc_take_select(&o->take);
    const pfc_pair_of pair = { .base = &ids[0],
                               .head = &ids[1],
                               .build = o->take.build ? o->take.build : t->conf.build,
                               .measure = &t->measure,
                               .wanted = &wanted,
                               .budget_s = o->max_time,
                               .margin = o->margin,
                               .rounds = o->rounds };
    char key[PFC_SHA256_HEX];
    bool found = false;
    pfc_code code = pfc_pair_key(t->repo, &pair, key, err);

    if (!code)
        code = pfc_reuse_find(o->reuse, key, out, &found, err);
    if (!code && !found) {
        code = compare_measured(o, t, ids, out, err);
        return code ? code : pfc_reuse_keep(o->reuse, key, out, err);
    }
    if (!code) {
        free(out->a);
        free(out->b);
        out->a = pfc_strdup(ids[0].hex);
        out->b = pfc_strdup(ids[1].hex);
    }
    return code;
}

/* Compares HEAD with its merge base with the base branch. Nothing is compared if HEAD is on that
 * branch. */
static pfc_code check(const compare_opts *o, pfc_take *t, pfc_cmp *out, pfc_err *err)
{
    const char *base = o->base ? o->base : t->conf.branch ? t->conf.branch : "main";
    char *name = NULL;
    pfc_commit_id ids[2];
    pfc_commit_id tip;
    size_t changed = 0;
    pfc_code code = pfc_repo_resolve(t->repo, "HEAD", &ids[1], err);

    if (!code)
        code = find_base(t, base, &name, &tip, err);
    if (!code)
        code = pfc_repo_merge_base(t->repo, &tip, &ids[1], &ids[0], err);
    if (code && name && pfc_repo_is_shallow(t->repo)) {
        pfc_err_set(err, PFC_EINVAL,
                    "the clone is shallow: the commit where HEAD left %.100s is not in it", name);
        code = pfc_err_hint(err, "fetch the history with \"git fetch --unshallow\", or set "
                                 "\"fetch-depth: 0\" in the checkout step of the CI job");
    }
    if (!code && strcmp(ids[0].hex, ids[1].hex) == 0) {
        out->a = pfc_strdup(ids[0].hex);
        out->b = pfc_strdup(ids[1].hex);
        out->nothing = pfc_format("nothing to compare: HEAD, %.12s, is part of the base branch %s",
                                  ids[1].hex, name);
        free(name);
        return PFC_OK;
    }
    if (!code)
        code = use_base_settings(t, name, &tip, err);
    free(name);
    if (!code && !pfc_repo_dirty(t->repo, &changed, NULL, NULL) && changed)
        pfc_cli_warn(t->cli, "%zu tracked files differ from HEAD; only HEAD is measured", changed);
    if (code)
        return code;
    return o->reuse ? check_pair(o, t, ids, out, err) : compare_measured(o, t, ids, out, err);
}

static void put_word(json_t *words, const char *flag, const char *value)
{
    if (!value)
        return;
    json_array_append_new(words, json_string(flag));
    json_array_append_new(words, json_string(value));
}

/* The words that make it again, from anywhere in a clone. */
static json_t *repeat_words(const compare_opts *o, const pfc_cmp *cmp)
{
    const char *const sides[] = { o->check ? cmp->a : o->sides[0],
                                  o->check ? cmp->b : o->sides[1] };
    json_t *words = json_pack("[s, s]", "perfci", "compare");
    char number[32];

    for (int i = 0; i < 2; i++)
        /* A revision is written as a commit id, because a branch can move. */
        json_array_append_new(words,
                              json_string((pfc_fs_exists(sides[i]) && !pfc_fs_is_dir(sides[i])) ||
                                                  !(i ? cmp->b : cmp->a)
                                              ? sides[i]
                                              : (i ? cmp->b : cmp->a)));
    if (o->stored)
        json_array_append_new(words, json_string("--stored"));
    if (o->ask.across)
        json_array_append_new(words, json_string("--across"));
    put_word(words, "--backend-a", o->ask.backends[0]);
    put_word(words, "--backend-b", o->ask.backends[1]);
    put_word(words, "--machine-class-a", o->ask.machine_classes[0]);
    put_word(words, "--machine-class-b", o->ask.machine_classes[1]);
    put_word(words, "--project", o->ask.project);
    put_word(words, "--config", o->take.config);
    put_word(words, "--suite", o->take.suite);
    put_word(words, "--measure", o->take.measure);
    put_word(words, "--build", o->take.build);
    put_word(words, "--filter", o->take.filter);
    for (size_t i = 0; i < o->take.backends_len; i++)
        put_word(words, "--backend", o->take.backends[i]);
    (void)snprintf(number, sizeof(number), "%g", o->margin);
    put_word(words, "--margin", o->margin > 0 ? number : NULL);
    (void)snprintf(number, sizeof(number), "%zu", o->rounds);
    put_word(words, "--rounds", o->rounds ? number : NULL);
    return words;
}

/* The Markdown is the comment of a pull request. */
static pfc_code write_reports(const compare_opts *o, const pfc_take *t, const pfc_cmp *cmp,
                              pfc_err *err)
{
    const pfc_report_place place = { .repo = t->repo, .config = t->source.text };
    const char *project = t->conf.project ? t->conf.project : "perfci";
    pfc_findings findings = { 0 };
    pfc_buf text;
    pfc_code code;

    pfc_buf_init(&text, PFC_COMMENT_MAX_BYTES);
    pfc_comment_markdown(cmp, &(pfc_comment_opts){ .key = project }, &text);
    pfc_cmp_findings(cmp, "check", project, &findings);
    for (size_t i = 0; i < findings.len; i++)
        pfc_reports_place(&place, &findings.items[i]);
    code = pfc_reports_write(&o->reports, &findings, pfc_buf_text(&text), err);
    pfc_findings_clear(&findings);
    pfc_buf_clear(&text);
    return code;
}

static void report_failure(const pfc_cli *cli, const compare_opts *o, const pfc_take *t,
                           const pfc_err *failure, int status)
{
    const char *project = t->conf.project ? t->conf.project : "perfci";
    pfc_cmp none = { .failure = (char *)(uintptr_t)failure->msg, .failure_status = status };
    pfc_err err = { 0 };
    pfc_buf text;

    pfc_buf_init(&text, PFC_COMMENT_MAX_BYTES);
    pfc_comment_markdown(&none, &(pfc_comment_opts){ .key = project }, &text);
    if (pfc_reports_write_failure(&o->reports, "perfci check", pfc_buf_text(&text), failure, &err))
        (void)pfc_cli_fail(cli, &err);
    pfc_buf_clear(&text);
}

static int finish(const pfc_cli *cli, const compare_opts *o, const pfc_cmp *cmp)
{
    int status = pfc_cmp_exit(cmp);

    if (cli->json)
        pfc_cli_print_json(pfc_cmp_to_json(cmp));
    else
        pfc_cmp_print(cli, cmp);
    if (cmp->nothing)
        pfc_cli_note(cli, "hint: \"perfci compare HEAD^ HEAD\" compares the newest commit with the "
                          "one before it");
    if (o->git_bisect && status != PFC_EXIT_OK && status != PFC_EXIT_REGRESSION)
        status = PFC_MEASURE_CANNOT;
    return status;
}

static int run_compare(pfc_cli *cli, compare_opts *o)
{
    const pfc_take_range range = { .from = o->sides[0], .to = o->sides[1] };
    pfc_take t = { 0 };
    pfc_cmp cmp = { 0 };
    pfc_err err = { 0 };
    int status;
    pfc_code code;

    pfc_cli_catch_signals();
    code = pfc_reports_check(&o->reports, &err);
    if (!code)
        code = pfc_take_open(&t, cli, &o->take, NULL, o->check, &range, &err);
    if (!code)
        code = o->check ? check(o, &t, &cmp, &err) : compare(o, &t, &cmp, &err);
    if (code) {
        status = pfc_cli_fail(cli, &err);
        /* A program that reads the comparison from a pipe must receive the reason when there is
         * none. */
        if (o->check && cli->json)
            pfc_cli_print_json(json_pack("{s:{s:i,s:s}}", "error", "status", status, "message",
                                         err.msg[0] ? err.msg : pfc_code_name(err.code)));
        report_failure(cli, o, &t, &err, status);
        status = o->git_bisect ? PFC_MEASURE_CANNOT : status;
    } else {
        cmp.repeat = repeat_words(o, &cmp);
        status = finish(cli, o, &cmp);
        if (pfc_reports_wanted(&o->reports) && write_reports(o, &t, &cmp, &err))
            status = pfc_cli_fail(cli, &err);
    }
    pfc_cmp_clear(&cmp);
    pfc_take_close(&t);
    return status;
}

static int cmd_compare(pfc_cli *cli, int argc, char **argv)
{
    compare_opts o = { .take.repeats = 1, .take.seed = 1 };

    pfc_cli_parse(cli, &pfc_cmd_compare, argc, argv, &o);
    return run_compare(cli, &o);
}

static int cmd_check(pfc_cli *cli, int argc, char **argv)
{
    compare_opts o = { .check = true, .take.repeats = 1, .take.seed = 1 };

    pfc_cli_parse(cli, &pfc_cmd_check, argc, argv, &o);
    return run_compare(cli, &o);
}

const pfc_subcommand pfc_cmd_compare = {
    .name = "compare",
    .summary = "verdict of B against A: files, revisions, stored runs",
    .run = cmd_compare,
    .options = compare_options,
    .parse = parse_compare,
    .args_doc = "A B",
    .doc = compare_doc,
};

const pfc_subcommand pfc_cmd_check = {
    .name = "check",
    .summary = "measure HEAD against its merge base: the gate for CI",
    .run = cmd_check,
    .options = check_options,
    .parse = parse_compare,
    .doc = check_doc,
};
