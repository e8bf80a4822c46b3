/* First-parent lines, merge bases, metadata of a commit; shallow clones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/git/repo.h"
#include "core/git/tags.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"

static fixture f;
static char *base, *side, *merge, *tip; /* base - merge - tip, with side between base and merge */
static pfc_repo *repo;

static pfc_commit_id id_of(const char *hex)
{
    pfc_commit_id id = { 0 };

    memcpy(id.hex, hex, 40);
    return id;
}

static void setup(void)
{
    pfc_err err = { 0 };

    fixture_init(&f);
    free(fixture_commit(&f, "a.c", "int a;\n", "root"));
    base = fixture_commit(&f, "b.c", "int b;\n", "base");
    fixture_do(&f, "checkout -q -b side");
    side = fixture_commit(&f, "side.c", "int side;\n", "side work");
    fixture_do(&f, "checkout -q main");
    free(fixture_commit(&f, "c.c", "int c;\n", "main goes on"));
    fixture_do(&f, "merge -q --no-ff -m merge_side side");
    merge = fixture_git(&f, f.repo, "rev-parse HEAD");
    tip = fixture_commit(&f, "d.c", "int d;\n", "tip");
    cr_assert(eq(int, pfc_repo_open(f.repo, &repo, &err), PFC_OK), "%s", err.msg);
}

static void teardown(void)
{
    pfc_repo_close(repo);
    fixture_clear(&f);
    free(base);
    free(side);
    free(merge);
    free(tip);
}

TestSuite(history, .init = setup, .fini = teardown);

Test(history, the_path_is_the_first_parent_line_oldest_first)
{
    pfc_commit_id good = id_of(base), bad = id_of(tip), *ids = NULL;
    size_t len = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_repo_path(repo, &good, &bad, &ids, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, len, 4)); /* base, "main goes on", merge, tip: the side branch is one merge */
    cr_assert(eq(str, ids[0].hex, base));
    cr_assert(eq(str, ids[2].hex, merge));
    cr_assert(eq(str, ids[3].hex, tip));
    free(ids);

    cr_assert(eq(int, pfc_repo_path(repo, &bad, &bad, &ids, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, len, 1));
    free(ids);
}

Test(history, swapped_ends_are_named)
{
    pfc_commit_id good = id_of(tip), bad = id_of(base), *ids = NULL;
    size_t len = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_repo_path(repo, &good, &bad, &ids, &len, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "swapped"), NULL), "%s", err.msg);
}

Test(history, a_good_end_on_a_merged_branch_names_the_merge)
{
    pfc_commit_id good = id_of(side), bad = id_of(tip), *ids = NULL;
    size_t len = 0;
    char small[13] = { 0 };
    pfc_err err = { 0 };

    memcpy(small, merge, 12);
    cr_assert(eq(int, pfc_repo_path(repo, &good, &bad, &ids, &len, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, small), NULL), "%s", err.msg);
    cr_assert(ne(ptr, strstr(err.msg, "first-parent"), NULL), "%s", err.msg);
}

Test(history, parted_branches_name_their_merge_base)
{
    pfc_commit_id good, bad = id_of(tip), found, *ids = NULL;
    char *lone;
    size_t len = 0;
    pfc_err err = { 0 };

    fixture_do(&f, "checkout -q -b apart side");
    lone = fixture_commit(&f, "e.c", "int e;\n", "apart");
    good = id_of(lone);
    cr_assert(eq(int, pfc_repo_path(repo, &good, &bad, &ids, &len, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, side), NULL), "%s", err.msg);
    cr_assert(eq(int, pfc_repo_merge_base(repo, &good, &bad, &found, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, found.hex, side));
    free(lone);
}

Test(history, unrelated_histories_have_no_merge_base)
{
    pfc_commit_id one, two = id_of(tip), found;
    char *lone;
    pfc_err err = { 0 };

    fixture_do(&f, "checkout -q --orphan fresh");
    lone = fixture_commit(&f, "z.c", "int z;\n", "fresh root");
    one = id_of(lone);
    cr_assert(eq(int, pfc_repo_merge_base(repo, &one, &two, &found, &err), PFC_ENOTFOUND));
    cr_assert(ne(ptr, strstr(err.msg, "no common ancestor"), NULL), "%s", err.msg);
    free(lone);
}

Test(history, the_last_commits_come_oldest_first)
{
    pfc_commit_id top = id_of(tip), *ids = NULL;
    size_t len = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_repo_history(repo, &top, 2, &ids, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, len, 2));
    cr_assert(eq(str, ids[0].hex, merge));
    cr_assert(eq(str, ids[1].hex, tip));
    free(ids);
    cr_assert(eq(int, pfc_repo_history(repo, &top, 100, &ids, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, len, 5));
    free(ids);
    cr_assert(eq(int, pfc_repo_history(repo, &top, 0, &ids, &len, &err), PFC_EINVAL));
}

Test(history, a_merge_is_reported_with_its_parents_and_paths)
{
    pfc_commit_id id = id_of(merge);
    pfc_commit commit;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_repo_commit(repo, &id, &commit, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, commit.id, merge));
    cr_assert(eq(sz, commit.parents_len, 2));
    cr_assert(eq(str, commit.parents[1], side));
    cr_assert(eq(str, commit.subject, "merge side"));
    cr_assert(eq(str, commit.author, "Ada"));
    cr_assert(eq(sz, commit.paths_len, 1)); /* against the first parent: what the merge brought */
    cr_assert(eq(str, commit.paths[0], "side.c"));
    pfc_commit_clear(&commit);
}

typedef struct differing {
    char names[200];
    size_t files, lines;
} differing;

static void add_file(void *arg, const char *path, size_t lines)
{
    differing *d = arg;

    (void)snprintf(d->names + strlen(d->names), sizeof(d->names) - strlen(d->names), "%s ", path);
    d->files++;
    d->lines += lines;
}

Test(history, any_two_commits_differ_in_the_files_between_them)
{
    const pfc_commit_id from = id_of(base), to = id_of(tip),
                        unknown = id_of("0123456789012345678901234567890123456789");
    differing found = { 0 }, none = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_repo_diff(repo, &from, &to, true, add_file, &found, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(str, (char *)found.names, "c.c d.c side.c "));
    cr_assert(eq(sz, found.lines, 3));
    cr_assert(eq(int, pfc_repo_diff(repo, &to, &to, false, add_file, &none, &err), PFC_OK));
    cr_assert(eq(sz, none.files, 0));
    cr_assert(
        eq(int, pfc_repo_diff(repo, &from, &unknown, false, add_file, &none, &err), PFC_ENOTFOUND));
}

Test(history, odd_subjects_become_one_clean_line)
{
    char *odd = fixture_commit(&f, "x\xff.c", "int x;\n", "caf\xc3\xa9 \x01 end");
    pfc_commit_id id = id_of(odd);
    pfc_commit commit;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_repo_commit(repo, &id, &commit, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, commit.subject, "caf\xc3\xa9 ? end"));
    cr_assert(eq(str, commit.paths[0], "x?.c"));
    cr_assert(eq(dbl, commit.time, (double)f.time));
    pfc_commit_clear(&commit);
    free(odd);
}

Test(history, a_reverted_commit_has_the_tree_of_before)
{
    pfc_commit_id before, after, one = id_of(tip), two;
    char *undone, *redone;
    pfc_err err = { 0 };

    undone = fixture_commit(&f, "d.c", "int other;\n", "change");
    redone = fixture_commit(&f, "d.c", "int d;\n", "change back");
    two = id_of(redone);
    cr_assert(eq(int, pfc_repo_tree(repo, &one, &before, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_repo_tree(repo, &two, &after, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, before.hex, after.hex));
    two = id_of(undone);
    cr_assert(eq(int, pfc_repo_tree(repo, &two, &after, &err), PFC_OK), "%s", err.msg);
    cr_assert(ne(str, before.hex, after.hex));
    free(undone);
    free(redone);
}

Test(history, a_shallow_clone_says_how_to_get_the_rest)
{
    pfc_commit_id good = id_of(base), bad = id_of(tip), id, *ids = NULL;
    char *dir = pfc_fs_join(f.dir, "thin");
    char *words = pfc_format("clone -q --depth 2 file://%s thin", f.repo);
    pfc_repo *thin = NULL;
    pfc_commit commit;
    size_t len = 0;
    pfc_err err = { 0 };

    free(fixture_git(&f, f.dir, words));
    cr_assert(eq(int, pfc_repo_open(dir, &thin, &err), PFC_OK), "%s", err.msg);
    cr_assert(pfc_repo_is_shallow(thin));
    cr_assert(eq(int, pfc_repo_resolve(thin, "HEAD", &id, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, id.hex, tip));

    cr_assert(eq(int, pfc_repo_resolve(thin, base, &id, &err), PFC_ENOTFOUND), "%s", err.msg);
    cr_assert(ne(ptr, strstr(err.msg, "--unshallow"), NULL), "%s", err.msg);
    cr_assert(eq(int, pfc_repo_path(thin, &good, &bad, &ids, &len, &err), PFC_ENOTFOUND));
    cr_assert(ne(ptr, strstr(err.msg, "--unshallow"), NULL), "%s", err.msg);

    cr_assert(eq(int, pfc_repo_history(thin, &bad, 100, &ids, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, len, 2));
    free(ids);
    good = id_of(merge); /* at the edge: its parents are named, the touched paths are unknown */
    cr_assert(eq(int, pfc_repo_commit(thin, &good, &commit, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, commit.parents_len, 2));
    cr_assert(eq(sz, commit.paths_len, 0));
    pfc_commit_clear(&commit);
    pfc_repo_close(thin);
    free(dir);
    free(words);
}

Test(history, a_commit_is_sent_with_its_tags_releases_first)
{
    pfc_tag *tags = NULL;
    pfc_commit tagged = { 0 }, plain = { 0 };
    size_t len = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_repo_tags(repo, &tags, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, len, 0));
    pfc_tags_free(tags, len);
    fixture_do(&f, "tag -a -m release v1.2.0 HEAD~1");
    fixture_do(&f, "tag v1.2 HEAD~1");
    fixture_do(&f, "tag v1.1 HEAD~2");
    fixture_do(&f, "tag latest HEAD~1");
    fixture_do(&f, "tag v9.0 HEAD~1:a.c");         /* of a file: no commit's */
    fixture_do(&f, "tag \xff\xfe HEAD~1");         /* not UTF-8: the server refuses it */
    fixture_do(&f, "tag nightly/2026-11-01 HEAD"); /* no release */
    cr_assert(eq(int, pfc_repo_tags(repo, &tags, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, len, 5));
    tagged.id = merge;
    pfc_tags_name(tags, len, &tagged);
    cr_assert(eq(sz, tagged.tags_len, 3));
    cr_assert(eq(str, tagged.tags[0], "v1.2"));
    cr_assert(eq(str, tagged.tags[1], "v1.2.0"));
    cr_assert(eq(str, tagged.tags[2], "latest"));
    plain.id = tip;
    pfc_tags_name(tags, len, &plain);
    cr_assert(eq(sz, plain.tags_len, 1));
    cr_assert(eq(str, plain.tags[0], "nightly/2026-11-01"));
    tagged.id = plain.id = NULL;
    pfc_commit_clear(&tagged);
    pfc_commit_clear(&plain);
    pfc_tags_free(tags, len);
}

/* Of 20 tags at one commit, a release is sent, whatever its place in the alphabet. */
Test(history, releases_come_before_other_tags_of_a_commit_with_many)
{
    pfc_tag *tags = NULL;
    pfc_commit commit = { 0 };
    size_t len = 0;
    pfc_err err = { 0 };

    for (int i = 0; i < 20; i++) {
        char words[64];

        (void)snprintf(words, sizeof(words), "tag build-%02d HEAD", i);
        fixture_do(&f, words);
    }
    fixture_do(&f, "tag v3.0 HEAD");
    cr_assert(eq(int, pfc_repo_tags(repo, &tags, &len, &err), PFC_OK), "%s", err.msg);
    commit.id = tip;
    pfc_tags_name(tags, len, &commit);
    cr_assert(eq(sz, commit.tags_len, 16));
    cr_assert(eq(str, commit.tags[0], "v3.0"));
    cr_assert(eq(str, commit.tags[15], "build-14"));
    commit.id = NULL;
    pfc_commit_clear(&commit);
    pfc_tags_free(tags, len);
}
