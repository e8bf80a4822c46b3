/* Opening, refusing, resolving, checking out: on real repositories of the git program. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/process/proc.h"
#include "core/git/repo.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"

static fixture f;

static void setup(void)
{
    fixture_init(&f);
}

static void teardown(void)
{
    fixture_clear(&f);
}

TestSuite(repo, .init = setup, .fini = teardown);

static pfc_repo *open_repo(void)
{
    pfc_repo *repo = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_repo_open(f.repo, &repo, &err), PFC_OK), "%s", err.msg);
    return repo;
}

static void want_refused(const char *dir, pfc_code code, const char *words)
{
    pfc_repo *repo = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_repo_open(dir, &repo, &err), code), "%s", err.msg);
    cr_assert(ne(ptr, strstr(err.msg, words), NULL), "%s", err.msg);
    cr_assert(eq(ptr, repo, NULL));
}

Test(repo, opens_from_a_folder_deep_inside)
{
    pfc_repo *repo = NULL;
    pfc_err err = { 0 };
    char *inner = pfc_fs_join(f.repo, "src/deep");
    char *root = realpath(f.repo, NULL);

    free(fixture_commit(&f, "src/deep/a.c", "int a;\n", "first"));
    cr_assert(eq(int, pfc_repo_open(inner, &repo, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)pfc_repo_root(repo), root));
    cr_assert(not(pfc_repo_is_bare(repo)));
    cr_assert(not(pfc_repo_is_shallow(repo)));
    pfc_repo_close(repo);
    free(inner);
    free(root);
}

Test(repo, a_plain_folder_is_refused)
{
    char *plain = pfc_fs_join(f.dir, "plain");
    char *missing = pfc_fs_join(f.dir, "missing");
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_mkdirs(plain, 0755, &err), PFC_OK));
    want_refused(plain, PFC_ENOTFOUND, "is not in a git repository");
    want_refused(missing, PFC_ENOTFOUND, "no such folder");
    free(plain);
    free(missing);
}

Test(repo, sha256_ids_are_refused_by_name)
{
    char *other = pfc_fs_join(f.dir, "wide");

    free(fixture_git(&f, f.dir, "init -q --object-format=sha256 wide"));
    want_refused(other, PFC_EINVAL, "object format sha256");
    free(other);
}

Test(repo, a_foreign_owner_is_named_with_the_way_out)
{
    char *git_dir = pfc_fs_join(f.repo, ".git");
    char *folder;
    char *quoted;

    if (geteuid() != 0) {
        free(git_dir);
        cr_skip_test("only root can give a folder away");
    }
    cr_assert(eq(int, lchown(f.repo, 65533, 65533), 0));
    cr_assert(eq(int, lchown(git_dir, 65533, 65533), 0));
    want_refused(f.repo, PFC_EDENIED, "(uid 0)");
    want_refused(f.repo, PFC_EDENIED, "uid 65533");
    want_refused(f.repo, PFC_EDENIED, "safe.directory");
    folder = realpath(f.repo, NULL); /* libgit2 adds a slash, the command has none */
    quoted = pfc_format("--add safe.directory '%s'", folder);
    want_refused(f.repo, PFC_EDENIED, quoted);
    free(folder);
    free(quoted);
    free(git_dir);
}

static void write_safe(const char *value)
{
    char *config = pfc_fs_join(f.dir, ".gitconfig");
    char *text = pfc_format("[safe]\n\tdirectory = %s\n", value);
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_write_atomic(config, text, strlen(text), 0644, &err), PFC_OK));
    free(config);
    free(text);
}

Test(repo, a_foreign_owner_is_fine_once_called_safe)
{
    char *git_dir = pfc_fs_join(f.repo, ".git");
    char *real = realpath(f.repo, NULL);

    if (geteuid() == 0) {
        cr_assert(eq(int, lchown(f.repo, 65533, 65533), 0));
        cr_assert(eq(int, lchown(git_dir, 65533, 65533), 0));
        write_safe("/somewhere/else");
        want_refused(f.repo, PFC_EDENIED, "uid 65533");
    }
    write_safe(real);
    pfc_repo_close(open_repo());
    write_safe("*");
    pfc_repo_close(open_repo());
    free(git_dir);
    free(real);
}

/* As with sudo: root acts for the user, whose repository it is. */
Test(repo, the_user_behind_sudo_owns_its_repository)
{
    static const struct {
        const char *sudo_uid;
        bool opens;
    } rows[] = { { "65533", true }, { "65532", false },      { "", false },
                 { "-1", false },   { "4294967295", false }, { "65533x", false } };
    char *git_dir = pfc_fs_join(f.repo, ".git");

    if (geteuid() != 0) {
        free(git_dir);
        cr_skip_test("only root can give a folder away");
    }
    cr_assert(eq(int, lchown(f.repo, 65533, 65533), 0));
    cr_assert(eq(int, lchown(git_dir, 65533, 65533), 0));
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_assert(eq(int, setenv("SUDO_UID", rows[i].sudo_uid, 1), 0));
        if (rows[i].opens)
            pfc_repo_close(open_repo());
        else
            want_refused(f.repo, PFC_EDENIED, "uid 65533");
    }
    free(git_dir);
}

Test(repo, a_bare_repository_is_read)
{
    char *id = fixture_commit(&f, "a.c", "int a;\n", "first");
    char *bare = pfc_fs_join(f.dir, "bare.git");
    char *target = pfc_fs_join(f.dir, "out");
    char *file = pfc_fs_join(target, "a.c");
    pfc_repo *repo = NULL;
    pfc_commit_id head;
    size_t changed = 7;
    pfc_err err = { 0 };

    free(fixture_git(&f, f.dir, "clone -q --bare repo bare.git"));
    cr_assert(eq(int, pfc_repo_open(bare, &repo, &err), PFC_OK), "%s", err.msg);
    cr_assert(pfc_repo_is_bare(repo));
    cr_assert(eq(int, pfc_repo_resolve(repo, "main", &head, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, head.hex, id));
    cr_assert(eq(int, pfc_repo_dirty(repo, &changed, NULL, &err), PFC_OK));
    cr_assert(eq(sz, changed, 0));
    cr_assert(eq(int, pfc_repo_checkout(repo, &head, target, &err), PFC_OK), "%s", err.msg);
    cr_assert(pfc_fs_exists(file));
    pfc_repo_close(repo);
    free(id);
    free(bare);
    free(target);
    free(file);
}

Test(repo, revisions_resolve_as_git_resolves_them)
{
    char *first = fixture_commit(&f, "a.c", "int a;\n", "first");
    char *second = fixture_commit(&f, "a.c", "int b;\n", "second");
    char small[9] = { 0 };
    const char *const seconds[] = { "HEAD", "main", "v1", second, small };
    pfc_repo *repo;
    pfc_commit_id id;
    pfc_err err = { 0 };

    memcpy(small, second, 8);
    fixture_do(&f, "tag -a -m one v1");
    repo = open_repo();
    for (size_t i = 0; i < PFC_ARRAY_LEN(seconds); i++) {
        cr_assert(eq(int, pfc_repo_resolve(repo, seconds[i], &id, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(str, id.hex, second));
    }
    cr_assert(eq(int, pfc_repo_resolve(repo, "HEAD~1", &id, &err), PFC_OK));
    cr_assert(eq(str, id.hex, first));

    cr_assert(eq(int, pfc_repo_resolve(repo, "v9", &id, &err), PFC_ENOTFOUND));
    cr_assert(ne(ptr, strstr(err.msg, "no revision 'v9'"), NULL), "%s", err.msg);
    cr_assert(eq(int, pfc_repo_resolve(repo, "", &id, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_repo_resolve(repo, "HEAD:a.c", &id, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "blob"), NULL), "%s", err.msg);
    pfc_repo_close(repo);
    free(first);
    free(second);
}

/* The blobs "195" and "389", each with a line end, have ids that begin with 6bb2. */
Test(repo, a_revision_with_two_meanings_is_refused)
{
    pfc_repo *repo;
    pfc_commit_id id;
    pfc_err err = { 0 };

    free(fixture_commit(&f, "a", "195\n", "first"));
    free(fixture_commit(&f, "b", "389\n", "second"));
    repo = open_repo();
    cr_assert(eq(int, pfc_repo_resolve(repo, "6bb2", &id, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "'6bb2' is ambiguous: give more digits"), NULL), "%s",
              err.msg);
    pfc_repo_close(repo);
}

Test(repo, an_unborn_head_is_a_missing_revision)
{
    pfc_repo *repo = open_repo();
    pfc_commit_id id;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_repo_resolve(repo, "HEAD", &id, &err), PFC_ENOTFOUND), "%s", err.msg);
    pfc_repo_close(repo);
}

Test(repo, tracked_changes_are_dirty_and_untracked_files_are_not)
{
    pfc_repo *repo;
    size_t changed = 9;
    char *example = NULL;
    pfc_err err = { 0 };

    free(fixture_commit(&f, "a.c", "int a;\n", "first"));
    fixture_write(&f, "untracked.txt", "x\n");
    repo = open_repo();
    cr_assert(eq(int, pfc_repo_dirty(repo, &changed, &example, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, changed, 0));
    cr_assert(eq(ptr, example, NULL));

    fixture_write(&f, "a.c", "int changed_content;\n");
    cr_assert(eq(int, pfc_repo_dirty(repo, &changed, &example, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, changed, 1));
    cr_assert(eq(str, example, "a.c"));
    pfc_repo_close(repo);
    free(example);
}

/* Everything below .git, hashed by git itself would miss new refs: compare listing and index. */
static char *fingerprint_of(const char *dir)
{
    const char *const argv[] = { "sh", "-c",
                                 "find . -type f -exec sha256sum {} + | sort; git for-each-ref; "
                                 "git status --porcelain=v1",
                                 NULL };
    /* Looking must not refresh the index that is compared. */
    const char *const env[] = { "GIT_OPTIONAL_LOCKS=0", NULL };
    pfc_proc_opts opts = { .argv = argv, .env = env, .cwd = dir, .timeout_s = 600 };
    pfc_proc_result res;
    pfc_err err = { 0 };
    char *text;

    cr_assert(eq(int, pfc_proc_run(&opts, &res, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, res.exit_status, 0));
    text = pfc_strdup(pfc_buf_text(&res.out));
    pfc_proc_result_clear(&res);
    return text;
}

Test(repo, checkout_leaves_the_users_repository_untouched)
{
    char *first = fixture_commit(&f, "src/a.c", "old\r\n", "first");
    char *target = pfc_fs_join(f.dir, "cache/first");
    char *file = pfc_fs_join(target, "src/a.c");
    char *later = pfc_fs_join(target, "later.c");
    char *before, *after, *text = NULL;
    size_t len = 0;
    pfc_repo *repo;
    pfc_commit_id id;
    pfc_err err = { 0 };

    free(fixture_commit(&f, "later.c", "int later;\n", "second"));
    fixture_write(&f, "src/a.c", "edited, not committed\n");
    free(fixture_git(&f, f.repo, "config core.autocrlf input"));
    free(fixture_git(&f, f.repo, "status --short"));
    before = fingerprint_of(f.repo);

    repo = open_repo();
    cr_assert(eq(int, pfc_repo_resolve(repo, first, &id, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_repo_checkout(repo, &id, target, &err), PFC_OK), "%s", err.msg);
    pfc_repo_close(repo);

    after = fingerprint_of(f.repo);
    cr_assert(eq(str, after, before));
    cr_assert(eq(int, pfc_fs_read(file, 100, &text, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, text, "old\r\n")); /* byte for byte, no line-end conversion */
    cr_assert(not(pfc_fs_exists(later)));
    free(first);
    free(target);
    free(file);
    free(later);
    free(before);
    free(after);
    free(text);
}

Test(repo, checkout_keeps_modes_and_links_and_refuses_a_used_folder)
{
    char *script = pfc_fs_join(f.repo, "run.sh");
    char *link = pfc_fs_join(f.repo, "link");
    char *target = pfc_fs_join(f.dir, "out");
    char *out_script = pfc_fs_join(target, "run.sh");
    char *out_link = pfc_fs_join(target, "link");
    char *id_text;
    struct stat st;
    pfc_repo *repo;
    pfc_commit_id id;
    pfc_err err = { 0 };

    fixture_write(&f, "run.sh", "#!/bin/sh\n");
    cr_assert(eq(int, chmod(script, 0755), 0));
    cr_assert(eq(int, symlink("run.sh", link), 0));
    id_text = fixture_commit(&f, "a.c", "int a;\n", "first");
    repo = open_repo();
    cr_assert(eq(int, pfc_repo_resolve(repo, id_text, &id, &err), PFC_OK));
    cr_assert(eq(int, pfc_repo_checkout(repo, &id, target, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, stat(out_script, &st), 0));
    cr_assert(ne(int, (int)(st.st_mode & S_IXUSR), 0));
    cr_assert(eq(int, lstat(out_link, &st), 0));
    cr_assert(eq(int, (int)(st.st_mode & S_IFMT), S_IFLNK));

    cr_assert(eq(int, pfc_repo_checkout(repo, &id, target, &err), PFC_ECONFLICT), "%s", err.msg);
    pfc_repo_close(repo);
    free(script);
    free(link);
    free(target);
    free(out_script);
    free(out_link);
    free(id_text);
}

Test(repo, submodules_are_named)
{
    char *first = fixture_commit(&f, "a.c", "int a;\n", "first");
    char *words = pfc_format("update-index --add --cacheinfo 160000,%s,third/lib", first);
    char **paths = NULL;
    size_t len = 0;
    pfc_repo *repo;
    pfc_commit_id id, pinned;
    pfc_err err = { 0 };

    fixture_do(&f, words);
    fixture_do(&f, "commit -q -m submodule");
    repo = open_repo();
    cr_assert(eq(int, pfc_repo_resolve(repo, "HEAD", &id, &err), PFC_OK));
    cr_assert(eq(int, pfc_repo_submodules(repo, &id, &paths, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, len, 1));
    cr_assert(eq(str, paths[0], "third/lib"));
    free(paths[0]);
    free(paths);
    cr_assert(eq(int, pfc_repo_submodule_at(repo, &id, "third/lib", &pinned, &err), PFC_OK));
    cr_assert(eq(str, pinned.hex, first));
    cr_assert(eq(int, pfc_repo_submodule_at(repo, &id, "a.c", &pinned, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_repo_submodule_at(repo, &id, "third/none", &pinned, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "third/none is no submodule at"), NULL), "%s", err.msg);
    cr_assert(eq(int, pfc_repo_resolve(repo, first, &id, &err), PFC_OK));
    cr_assert(eq(int, pfc_repo_submodules(repo, &id, &paths, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, len, 0));
    pfc_repo_close(repo);
    free(first);
    free(words);
}

Test(repo, files_are_read_as_they_were)
{
    char *first = fixture_commit(&f, "conf/perfci.yaml", "project: one\n", "first");
    char *text = NULL;
    size_t len = 0;
    pfc_repo *repo;
    pfc_commit_id id;
    pfc_err err = { 0 };

    free(fixture_commit(&f, "conf/perfci.yaml", "project: two\n", "second"));
    repo = open_repo();
    cr_assert(eq(int, pfc_repo_resolve(repo, first, &id, &err), PFC_OK));
    cr_assert(eq(int, pfc_repo_file(repo, &id, "conf/perfci.yaml", 100, &text, &len, &err), PFC_OK),
              "%s", err.msg);
    cr_assert(eq(str, text, "project: one\n"));
    cr_assert(eq(sz, len, 13));
    free(text);
    cr_assert(eq(int, pfc_repo_file(repo, &id, "conf/perfci.yaml", 13, &text, &len, &err), PFC_OK));
    free(text);
    cr_assert(
        eq(int, pfc_repo_file(repo, &id, "conf/perfci.yaml", 12, &text, &len, &err), PFC_ETOOBIG));
    cr_assert(ne(ptr, strstr(err.msg, "expected at most 12 bytes, got 13"), NULL), "%s", err.msg);
    cr_assert(eq(int, pfc_repo_file(repo, &id, "conf", 100, &text, &len, &err), PFC_ENOTFOUND));
    cr_assert(eq(int, pfc_repo_file(repo, &id, "none", 100, &text, &len, &err), PFC_ENOTFOUND));
    pfc_repo_close(repo);
    free(first);
}

Test(repo, revisions_and_histories_have_their_limits)
{
    static const size_t counts[] = { 0, 1, PFC_REPO_MAX_COMMITS, PFC_REPO_MAX_COMMITS + 1 };
    char *first = fixture_commit(&f, "a", "1", "first");
    char revision[PFC_REPO_MAX_REVISION + 2];
    pfc_commit_id *ids = NULL;
    size_t len = 0;
    pfc_repo *repo = open_repo();
    pfc_commit_id id, short_id;
    pfc_err err = { 0 };

    memset(revision, 'x', sizeof(revision));
    revision[PFC_REPO_MAX_REVISION] = '\0';
    cr_expect(ne(int, pfc_repo_resolve(repo, revision, &id, &err), PFC_OK));
    cr_expect(eq(ptr, strstr(err.msg, "expected at most"), NULL), "%s",
              err.msg); /* git's own words */
    revision[PFC_REPO_MAX_REVISION] = 'x';
    revision[PFC_REPO_MAX_REVISION + 1] = '\0';
    cr_expect(eq(int, pfc_repo_resolve(repo, revision, &id, &err), PFC_EINVAL));
    cr_expect(eq(str, err.msg, "revision: expected at most 1024 bytes, got 1025"));
    cr_expect(eq(int, pfc_repo_resolve(repo, "", &id, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_repo_resolve(repo, "HEAD", &id, &err), PFC_OK));
    cr_expect(eq(str, id.hex, first));
    for (size_t i = 0; i < PFC_ARRAY_LEN(counts); i++) {
        const bool fits = i == 1 || i == 2;
        cr_expect(eq(int, pfc_repo_history(repo, &id, counts[i], &ids, &len, &err),
                     fits ? PFC_OK : PFC_EINVAL));
        if (fits) {
            cr_expect(eq(sz, len, 1));
            cr_expect(eq(str, ids[0].hex, first));
            free(ids);
        }
    }
    short_id = id;
    short_id.hex[39] = '\0';
    cr_expect(eq(int, pfc_repo_history(repo, &short_id, 1, &ids, &len, &err), PFC_EINVAL));
    cr_expect(ne(ptr, strstr(err.msg, "commit: expected 40 hexadecimal digits, got '"), NULL));
    pfc_repo_close(repo);
    free(first);
}
