/* The cache of checkouts: built once, bounded, honest about half-done work. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "runner/sandbox/sandbox.h"
#include "runner/workspace/workspace.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"

static fixture f;
static char *ids[4];
static char *cache;
static char *counter; /* each build adds a line */

static void setup(void)
{
    fixture_init(&f);
    ids[0] = fixture_commit(&f, "value", "10\n", "ten");
    ids[1] = fixture_commit(&f, "value", "20\n", "twenty");
    ids[2] = fixture_commit(&f, "broken", "x\n", "does not build");
    fixture_do(&f, "rm -q broken");
    ids[3] = fixture_commit(&f, "value", "40\n", "forty");
    cache = pfc_fs_join(f.dir, "cache");
    counter = pfc_fs_join(f.dir, "builds");
    setenv("BUILD_COUNTER", counter, 1);
}

static void teardown(void)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(ids); i++)
        free(ids[i]);
    free(cache);
    free(counter);
    fixture_clear(&f);
}

TestSuite(workspace, .init = setup, .fini = teardown);

#define BUILD                                                                                      \
    "echo $PERFCI_COMMIT >> $BUILD_COUNTER; test ! -e broken || { echo 'k.c:1: error: bad'; "      \
    "exit 2; }; cp value built"

static pfc_workspace *open_ws(pfc_workspace_opts opts)
{
    pfc_workspace *ws = NULL;
    pfc_err err = { 0 };

    opts.dir = cache;
    if (!opts.source)
        opts.source = f.repo;
    if (!opts.build)
        opts.build = BUILD;
    cr_assert(eq(int, pfc_workspace_open(&opts, &ws, &err), PFC_OK), "%s", err.msg);
    return ws;
}

static pfc_commit_id id_of(const char *hex)
{
    pfc_commit_id id = { 0 };

    memcpy(id.hex, hex, 40);
    return id;
}

static pfc_outcome measure(pfc_workspace *ws, const char *hex, unsigned build)
{
    const pfc_commit_measure_opts opts = { .measure = "cat built", .timeout_s = 600 };
    const pfc_commit_id id = id_of(hex);
    pfc_outcome out;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_workspace_measure(ws, &opts, &id, build, &out, &err), PFC_OK), "%s",
              err.msg);
    return out;
}

static void want_value(pfc_workspace *ws, const char *hex, double value, bool built)
{
    pfc_outcome out = measure(ws, hex, 0);

    cr_assert(eq(int, out.kind, PFC_OUTCOME_MEASURED), "%s", out.reason);
    cr_assert(eq(dbl, pfc_measurement_median(&out.run->measurements[0]), value));
    cr_assert(eq(str, out.run->commit, (char *)hex));
    cr_assert(eq(int, out.built, built));
    pfc_outcome_clear(&out);
}

static size_t builds_done(void)
{
    char *text = NULL;
    size_t len = 0, lines = 0;

    if (pfc_fs_read(counter, 100000, &text, &len, NULL) != PFC_OK)
        return 0;
    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    free(text);
    return lines;
}

static size_t entries(void)
{
    char *path = pfc_fs_join(cache, "checkouts");
    DIR *dir = opendir(path);
    size_t n = 0;

    cr_assert(ne(ptr, dir, NULL));
    while (readdir(dir))
        n++;
    closedir(dir);
    free(path);
    return n - 2;
}

Test(workspace, a_commit_is_built_once_and_measured_often)
{
    pfc_workspace *ws = open_ws((pfc_workspace_opts){ 0 });

    want_value(ws, ids[0], 10.0, true);
    want_value(ws, ids[1], 20.0, true);
    want_value(ws, ids[0], 10.0, false);
    pfc_workspace_close(ws);

    ws = open_ws((pfc_workspace_opts){ 0 }); /* the cache outlives the process */
    want_value(ws, ids[1], 20.0, false);
    pfc_workspace_close(ws);
    cr_assert(eq(sz, builds_done(), 2));
}

Test(workspace, a_failed_build_is_remembered_with_its_first_error)
{
    pfc_workspace *ws = open_ws((pfc_workspace_opts){ 0 });
    pfc_outcome out;

    for (int i = 0; i < 2; i++) {
        out = measure(ws, ids[2], 0);
        cr_assert(eq(int, out.kind, PFC_OUTCOME_BROKEN), "%s", out.reason);
        cr_assert(ne(ptr, strstr(out.reason, "k.c:1: error: bad"), NULL), "%s", out.reason);
        cr_assert(ne(ptr, out.log_path, NULL));
        cr_assert(pfc_fs_exists(out.log_path));
        pfc_outcome_clear(&out);
    }
    pfc_workspace_close(ws);
    cr_assert(eq(sz, builds_done(), 1));
}

Test(workspace, another_build_command_builds_again)
{
    pfc_workspace *ws = open_ws((pfc_workspace_opts){ 0 });

    want_value(ws, ids[0], 10.0, true);
    pfc_workspace_close(ws);
    ws = open_ws((pfc_workspace_opts){ .build = "echo 11 > built" });
    want_value(ws, ids[0], 11.0, true);
    pfc_workspace_close(ws);
}

/* A compiler of the test's own stands first on PATH: the build need not run it. */
Test(workspace, another_toolchain_builds_again)
{
    static const char *const contents[] = { "one\n", "one\n", "another\n" };
    static const bool built[] = { true, false, true };
    char *tools = pfc_fs_join(f.dir, "tools"), *compiler = pfc_fs_join(tools, "cc");
    char *path = pfc_format("%s:%s", tools, getenv("PATH"));
    pfc_workspace *ws;

    cr_assert(eq(int, pfc_fs_mkdirs(tools, 0755, NULL), PFC_OK));
    setenv("PATH", path, 1);
    for (size_t i = 0; i < PFC_ARRAY_LEN(contents); i++) {
        if (i != 1)
            cr_assert(
                eq(int, pfc_fs_write_atomic(compiler, contents[i], strlen(contents[i]), 0755, NULL),
                   PFC_OK));
        ws = open_ws((pfc_workspace_opts){ 0 });
        want_value(ws, ids[0], 10, built[i]);
        pfc_workspace_close(ws);
    }
    setenv("CFLAGS", "-O3", 1);
    ws = open_ws((pfc_workspace_opts){ 0 });
    want_value(ws, ids[0], 10, true);
    pfc_workspace_close(ws);
    free(path);
    free(compiler);
    free(tools);
}

Test(workspace, rebuilds_have_folders_of_their_own)
{
    pfc_workspace *ws = open_ws((pfc_workspace_opts){ .relink = "echo 9$PERFCI_BUILD > built" });
    pfc_outcome out;

    want_value(ws, ids[0], 10.0, true);
    for (unsigned build = 1; build <= 2; build++) {
        out = measure(ws, ids[0], build);
        cr_assert(eq(int, out.kind, PFC_OUTCOME_MEASURED), "%s", out.reason);
        cr_assert(eq(dbl, pfc_measurement_median(&out.run->measurements[0]), 90.0 + build));
        pfc_outcome_clear(&out);
    }
    want_value(ws, ids[0], 10.0, false);
    pfc_workspace_close(ws);
}

Test(workspace, the_least_recently_used_checkout_goes_first)
{
    pfc_workspace *ws = open_ws((pfc_workspace_opts){ .max_checkouts = 2 });

    want_value(ws, ids[0], 10.0, true);
    want_value(ws, ids[1], 20.0, true);
    want_value(ws, ids[0], 10.0, false);
    want_value(ws, ids[3], 40.0, true); /* pushes ids[1] out */
    cr_assert(eq(sz, entries(), 2));
    want_value(ws, ids[0], 10.0, false);
    want_value(ws, ids[1], 20.0, true);
    cr_assert(eq(sz, entries(), 2));
    pfc_workspace_close(ws);
}

Test(workspace, half_done_work_is_thrown_away)
{
    pfc_workspace *ws = open_ws((pfc_workspace_opts){ 0 });
    const pfc_commit_id id = id_of(ids[0]);
    char *dir = NULL;
    char *state, *leftover;
    pfc_outcome out;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_workspace_prepare(ws, &id, 0, &dir, &out, &err), PFC_OK), "%s", err.msg);
    /* As a kill in the middle of a build leaves it: files, but no state. */
    leftover = pfc_fs_join(dir, "leftover");
    cr_assert(eq(int, pfc_fs_write_atomic(leftover, "x", 1, 0600, &err), PFC_OK));
    state = pfc_fs_join(dir, "../state");
    cr_assert(eq(int, unlink(state), 0));
    pfc_outcome_clear(&out);

    want_value(ws, ids[0], 10.0, true);
    cr_assert(not(pfc_fs_exists(leftover)));
    pfc_workspace_close(ws);
    free(dir);
    free(state);
    free(leftover);
}

Test(workspace, two_processes_do_not_share_a_folder)
{
    pfc_workspace *ws = open_ws((pfc_workspace_opts){ 0 });
    pfc_workspace_opts opts = { .dir = cache, .source = f.repo };
    pfc_workspace *other = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_workspace_open(&opts, &other, &err), PFC_ECONFLICT), "%s", err.msg);
    cr_assert(ne(ptr, strstr(err.msg, "in use"), NULL), "%s", err.msg);
    pfc_workspace_close(ws);
}

Test(workspace, a_url_is_mirrored_and_fetched_when_a_commit_is_missing)
{
    char *url = pfc_format("file://%s", f.repo);
    pfc_workspace *ws = open_ws((pfc_workspace_opts){ .source = url });
    char *late;

    want_value(ws, ids[0], 10.0, true);
    late = fixture_commit(&f, "value", "50\n", "after the mirror was made");
    want_value(ws, late, 50.0, true);
    pfc_workspace_close(ws);
    free(url);
    free(late);
}

Test(workspace, a_missing_commit_is_said_plainly)
{
    pfc_workspace *ws = open_ws((pfc_workspace_opts){ 0 });
    const pfc_commit_id id = id_of("0123456789012345678901234567890123456789");
    char *dir = NULL;
    pfc_outcome out;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_workspace_prepare(ws, &id, 0, &dir, &out, &err), PFC_ENOTFOUND));
    cr_assert(ne(ptr, strstr(err.msg, "no revision"), NULL), "%s", err.msg);
    pfc_workspace_close(ws);
}

Test(workspace, odd_sources_are_refused)
{
    static const char *const sources[] = { "", "ext::sh -c true", "--upload-pack=x",
                                           "/no/such/folder", "ftp://host/x" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(sources); i++) {
        pfc_workspace_opts opts = { .dir = cache, .source = sources[i] };
        pfc_workspace *ws = NULL;
        pfc_err err = { 0 };

        cr_assert(lt(int, pfc_workspace_open(&opts, &ws, &err), PFC_OK), "%s", sources[i]);
        cr_assert(eq(ptr, ws, NULL));
    }
}

Test(workspace, a_build_over_its_deadline_is_not_remembered)
{
    pfc_workspace *ws = open_ws((pfc_workspace_opts){
        .build = "echo $PERFCI_COMMIT >> $BUILD_COUNTER; sleep 600", .build_timeout_s = 1 });
    pfc_outcome out = measure(ws, ids[0], 0);

    cr_assert(eq(int, out.kind, PFC_OUTCOME_BROKEN), "%s", out.reason);
    pfc_outcome_clear(&out);
    out = measure(ws, ids[0], 0);
    cr_assert(eq(int, out.kind, PFC_OUTCOME_BROKEN), "%s", out.reason);
    cr_assert(eq(int, out.built, 1)); /* tried again, not answered from the cache */
    pfc_outcome_clear(&out);
    pfc_workspace_close(ws);
}

/* ---- builds of isolated jobs ---- */

static pfc_outcome measure_isolated(const pfc_sandbox *sandbox, const char *hex,
                                    const char *measure_by)
{
    const pfc_workspace_opts ws_opts = { .sandbox = sandbox, .build = "cp value built" };
    const pfc_commit_measure_opts opts = { .sandbox = sandbox,
                                           .measure = measure_by,
                                           .timeout_s = 60 };
    const pfc_commit_id id = id_of(hex);
    pfc_workspace *ws = open_ws(ws_opts);
    pfc_outcome out;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_workspace_measure(ws, &opts, &id, 0, &out, &err), PFC_OK), "%s", err.msg);
    pfc_workspace_close(ws);
    return out;
}

static char *built_file(const char *hex)
{
    char *checkouts = pfc_fs_join(cache, "checkouts");
    DIR *dir = opendir(checkouts);
    char *found = NULL;

    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strncmp(e->d_name, hex, 40) == 0)
            found = pfc_format("%s/%s/tree/built", checkouts, e->d_name);
    closedir(dir);
    free(checkouts);
    cr_assert(ne(ptr, found, NULL));
    return found;
}

Test(workspace, a_finished_build_that_was_changed_is_built_again, .timeout = 600)
{
    const pfc_sandbox_opts opts = { .dir = f.dir };
    pfc_sandbox *sandbox = NULL;
    pfc_err err = { 0 };

    if (pfc_sandbox_open(&opts, &sandbox, &err) != PFC_OK)
        cr_skip_test("this machine cannot isolate jobs: %s", err.msg);
    for (int round = 0; round < 3; round++) { /* made, from the cache, from the cache */
        pfc_outcome out = measure_isolated(sandbox, ids[0], "cat built");

        cr_assert(eq(int, out.kind, PFC_OUTCOME_MEASURED), "%s", out.reason);
        cr_assert(eq(int, out.built, round == 0));
        pfc_outcome_clear(&out);
    }
    /* poisoned from outside: content, kind, permissions, and gone */
    for (int how = 0; how < 4; how++) {
        char *path = built_file(ids[0]);
        pfc_outcome out;

        if (how == 0)
            cr_assert(eq(int, pfc_fs_write_atomic(path, "99\n", 3, 0644, &err), PFC_OK));
        else if (how == 1)
            cr_assert(unlink(path) == 0 && symlink("value", path) == 0);
        else if (how == 2)
            cr_assert(eq(int, chmod(path, 0755), 0));
        else
            cr_assert(eq(int, unlink(path), 0));
        out = measure_isolated(sandbox, ids[0], "cat built");
        cr_assert(eq(int, out.kind, PFC_OUTCOME_MEASURED), "%s", out.reason);
        cr_assert(eq(int, out.built, true), "change %d was not noticed", how);
        cr_assert(eq(dbl, pfc_measurement_median(&out.run->measurements[0]), 10.0));
        pfc_outcome_clear(&out);
        free(path);
    }
    /* a job of another commit does not see the tree, so it cannot change it */
    {
        char *path = built_file(ids[0]);
        char *evil = pfc_format("echo 99 > %s; cat built", path);
        pfc_outcome out = measure_isolated(sandbox, ids[1], evil);

        cr_assert(eq(int, out.kind, PFC_OUTCOME_MEASURED), "%s", out.reason);
        pfc_outcome_clear(&out);
        out = measure_isolated(sandbox, ids[0], "cat built");
        cr_assert(eq(int, out.built, false));
        cr_assert(eq(dbl, pfc_measurement_median(&out.run->measurements[0]), 10.0));
        pfc_outcome_clear(&out);
        free(evil);
        free(path);
    }
    pfc_sandbox_close(sandbox);
}
