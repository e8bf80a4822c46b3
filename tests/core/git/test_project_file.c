/* Which perfci.yaml counts: --config, the working tree's, the newest commit's, one above. */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/git/project_file.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"

static fixture f;
static pfc_commit_id ids[3]; /* without one, with one, without one */
static pfc_repo *repo;
static pfc_conf conf;
static pfc_project_source source;

static pfc_commit_id commit(const char *path, const char *text)
{
    pfc_commit_id id = { 0 };
    char *hex = fixture_commit(&f, path, text, "change");

    memcpy(id.hex, hex, 40);
    free(hex);
    return id;
}

static void setup(void)
{
    pfc_err err = { 0 };

    fixture_init(&f);
    ids[0] = commit("src/a.c", "int a;\n");
    ids[1] = commit("perfci.yaml", "metric: committed\n");
    fixture_do(&f, "rm -q perfci.yaml");
    ids[2] = commit("src/a.c", "int b;\n");
    cr_assert(eq(int, pfc_repo_open(f.repo, &repo, &err), PFC_OK), "%s", err.msg);
}

static void teardown(void)
{
    pfc_conf_clear(&conf);
    pfc_project_source_clear(&source);
    pfc_repo_close(repo);
    fixture_clear(&f);
}

TestSuite(project_file, .init = setup, .fini = teardown);

static void read_place(const pfc_project_place *place)
{
    pfc_err err = { 0 };

    pfc_conf_clear(&conf);
    pfc_project_source_clear(&source);
    cr_assert(eq(int, pfc_project_read(place, &conf, &source, &err), PFC_OK), "%s", err.msg);
}

Test(project_file, the_working_trees_counts_before_any_commits_also_from_a_folder_inside)
{
    char *inner = pfc_fs_join(f.repo, "src");
    const pfc_project_place place = {
        .dir = inner, .repo = repo, .commits = ids, .commits_len = 3
    };

    fixture_write(&f, "perfci.yaml", "metric: tree\n");
    read_place(&place);
    cr_assert(eq(str, conf.metric, (char *)"tree"));
    cr_assert(eq(str, source.commit.hex, (char *)""));
    cr_assert(eq(str, source.text, (char *)"metric: tree\n"));
    fixture_write(&f, "src/perfci.yaml", "metric: nearer\n");
    read_place(&place);
    cr_assert(eq(str, conf.metric, (char *)"nearer"));
    free(inner);
}

Test(project_file, the_newest_commit_that_has_one_counts_where_the_tree_has_none)
{
    const pfc_project_place place = {
        .dir = f.repo, .repo = repo, .commits = ids, .commits_len = 3
    };
    char *name = pfc_format("perfci.yaml@%.12s", ids[1].hex);

    read_place(&place);
    cr_assert(eq(str, conf.metric, (char *)"committed"));
    cr_assert(eq(str, conf.path, name));
    cr_assert(eq(str, source.commit.hex, ids[1].hex));
    cr_assert(eq(ptr, source.dir, NULL));
    free(name);
}

Test(project_file, one_above_the_repository_counts_last)
{
    pfc_project_place place = { .dir = f.repo, .repo = repo, .commits = ids, .commits_len = 3 };
    char *above = pfc_fs_join(f.dir, "perfci.yaml");
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_write_atomic(above, "metric: above\n", 14, 0644, &err), PFC_OK));
    read_place(&place);
    cr_assert(eq(str, conf.metric, (char *)"committed"));
    place.commits_len = 1;
    read_place(&place);
    cr_assert(eq(str, conf.metric, (char *)"above"));
    free(above);
}

Test(project_file, without_a_folder_only_commits_are_looked_at)
{
    const pfc_project_place base = { .repo = repo, .commits = ids, .commits_len = 1 };

    fixture_write(&f, "perfci.yaml", "metric: tree\n");
    read_place(&base);
    cr_assert(eq(ptr, conf.path, NULL));
    cr_assert(eq(ptr, source.text, NULL));
}

Test(project_file, the_file_that_is_named_counts_and_must_be_there)
{
    char *named = pfc_fs_join(f.repo, "other.yaml");
    pfc_project_place place = { .file = named, .dir = f.repo, .repo = repo };
    pfc_err err = { 0 };

    fixture_write(&f, "perfci.yaml", "metric: tree\n");
    fixture_write(&f, "other.yaml", "metric: other\nsuite: s.yaml\n");
    read_place(&place);
    cr_assert(eq(str, conf.metric, (char *)"other"));
    place.file = "/no/such.yaml";
    cr_assert(eq(int, pfc_project_read(&place, &conf, &source, &err), PFC_ENOTFOUND));
    free(named);
}

Test(project_file, a_suite_beside_the_file_is_found_from_any_folder)
{
    const pfc_project_place place = { .dir = f.repo, .repo = repo };
    char *path, *name;

    fixture_write(&f, "perfci.yaml", "suite: s.yaml\n");
    fixture_write(&f, "s.yaml", "suite: s\n");
    fixture_write(&f, "quick", "no suite\n");
    read_place(&place);
    path = pfc_project_suite(&source, "s.yaml");
    cr_assert(eq(int, path[0], '/'));
    cr_assert(pfc_fs_exists(path));
    name = pfc_project_suite(&source, "quick");
    cr_assert(eq(str, name, (char *)"quick"));
    free(path);
    free(name);
}
