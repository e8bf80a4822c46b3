#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/git/branch_files.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"

#define REF "refs/heads/data"

static const pfc_branch_limits limits = { .files = 10, .file_bytes = 100, .all_bytes = 1000 };
static const pfc_commit_id none = { "" };

typedef struct branch {
    fixture f;
    pfc_repo *repo;
    char *code; /* tip of main */
} branch;

static void begin(branch *b)
{
    pfc_err err = { 0 };

    fixture_init(&b->f);
    b->code = fixture_commit(&b->f, "a.c", "int a;\n", "one");
    cr_assert(eq(int, pfc_repo_open(b->f.repo, &b->repo, &err), PFC_OK), "%s", err.msg);
}

static void end(branch *b)
{
    pfc_repo_close(b->repo);
    free(b->code);
    fixture_clear(&b->f);
}

static pfc_commit_id add(branch *b, const pfc_commit_id *to, const char *path, const char *text)
{
    const pfc_branch_write file = { path, text, strlen(text) };
    pfc_commit_id out = { "" };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_branch_add(b->repo, REF, to, &file, 1, "add", &out, &err), PFC_OK), "%s",
              err.msg);
    return out;
}

static pfc_code take(void *arg, const char *path, const char *bytes, size_t len, pfc_err *err)
{
    (void)err;
    pfc_buf_printf(arg, "%s=%s(%zu) ", path, bytes, len);
    return PFC_OK;
}

static void oversized(void *arg, const char *path, size_t len)
{
    pfc_buf_printf(arg, "%s!%zu ", path, len);
}

static pfc_code read_all(branch *b, const pfc_commit_id *tip, pfc_buf *out)
{
    pfc_buf_init(out, 4096);
    return pfc_branch_each(b->repo, tip, &limits, take, oversized, out, NULL);
}

Test(branch_files, a_new_branch_is_an_orphan_with_its_files)
{
    branch b;
    pfc_commit_id first, second;
    pfc_buf out;
    char *parents;

    begin(&b);
    first = add(&b, &none, "x/one", "1");
    second = add(&b, &first, "x/two", "2");
    cr_assert(eq(int, read_all(&b, &second, &out), PFC_OK));
    cr_assert(eq(str, out.data, "x/one=1(1) x/two=2(1) "));
    parents = fixture_git(&b.f, b.f.repo, "rev-list --count data");
    cr_assert(eq(str, parents, "2"));
    free(parents);
    pfc_buf_clear(&out);
    end(&b);
}

Test(branch_files, the_same_files_make_no_commit)
{
    branch b;
    pfc_commit_id first, again;

    begin(&b);
    first = add(&b, &none, "one", "1");
    again = add(&b, &first, "one", "1");
    cr_assert(eq(str, first.hex, again.hex));
    end(&b);
}

Test(branch_files, of_two_writers_one_gets_a_conflict)
{
    branch b;
    pfc_commit_id first, tip, out = { "" };
    const pfc_branch_write file = { "late", "x", 1 };
    pfc_err err = { 0 };

    begin(&b);
    first = add(&b, &none, "one", "1");
    (void)add(&b, &first, "two", "2");
    cr_assert(
        eq(int, pfc_branch_add(b.repo, REF, &first, &file, 1, "late", &out, &err), PFC_ECONFLICT));
    cr_assert(
        eq(int, pfc_branch_add(b.repo, REF, &none, &file, 1, "late", &out, &err), PFC_ECONFLICT));
    cr_assert(eq(str, out.hex, ""));
    cr_assert(eq(int, pfc_branch_tip(b.repo, REF, &tip, &err), PFC_OK));
    tip = add(&b, &tip, "late", "x");
    cr_assert(ne(str, tip.hex, first.hex));
    end(&b);
}

Test(branch_files, joining_keeps_the_files_of_both)
{
    branch b;
    pfc_commit_id first, mine, theirs, joined;
    pfc_err err = { 0 };
    pfc_buf out;

    begin(&b);
    first = add(&b, &none, "one", "1");
    theirs = add(&b, &first, "page", "theirs");
    fixture_do(&b.f, "branch -q other data");
    fixture_do(&b.f, "branch -q -f data data~1");
    mine = add(&b, &first, "page", "mine");
    mine = add(&b, &mine, "two", "2");
    cr_assert(eq(int, pfc_branch_join(b.repo, REF, &mine, &theirs, "join", &joined, &err), PFC_OK),
              "%s", err.msg);
    cr_assert(eq(int, read_all(&b, &joined, &out), PFC_OK));
    cr_assert(eq(str, out.data, "one=1(1) page=theirs(6) two=2(1) "));
    pfc_buf_clear(&out);
    /* A branch that has the other one stays; one that is only behind moves. */
    cr_assert(eq(int, pfc_branch_join(b.repo, REF, &joined, &first, "join", &mine, &err), PFC_OK));
    cr_assert(eq(str, mine.hex, joined.hex));
    fixture_do(&b.f, "branch -q -f data other");
    cr_assert(eq(int, pfc_branch_join(b.repo, REF, &theirs, &joined, "join", &mine, &err), PFC_OK));
    cr_assert(eq(str, mine.hex, joined.hex));
    end(&b);
}

Test(branch_files, reading_is_bounded)
{
    static const struct {
        pfc_branch_limits limits;
        pfc_code code;
        const char *said;
    } cases[] = {
        { { 2, 3, 6 }, PFC_OK, "a=123(3) b=456(3) " },
        { { 1, 3, 6 }, PFC_ETOOBIG, "a=123(3) " },
        { { 2, 2, 6 }, PFC_OK, "a!3 b!3 " },
        { { 2, 3, 5 }, PFC_ETOOBIG, "a=123(3) " },
    };
    branch b;
    pfc_commit_id tip;

    begin(&b);
    tip = add(&b, &none, "a", "123");
    tip = add(&b, &tip, "b", "456");
    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_buf out;

        pfc_buf_init(&out, 4096);
        cr_assert(eq(int,
                     pfc_branch_each(b.repo, &tip, &cases[i].limits, take, oversized, &out, NULL),
                     cases[i].code));
        cr_assert(eq(str, out.data, (char *)cases[i].said), "case %zu", i);
        pfc_buf_clear(&out);
    }
    end(&b);
}

Test(branch_files, names_that_git_refuses_are_refused)
{
    static const char *const bad[] = {
        "", "-x", "a..b", "a b", "a~1", "a:b", "/a", "a/", "a.lock"
    };
    char *ref = NULL;
    char name[PFC_BRANCH_MAX_NAME + 2];

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++)
        cr_assert(eq(int, pfc_branch_ref(bad[i], &ref, NULL), PFC_EINVAL), "%s", bad[i]);
    memset(name, 'a', sizeof(name));
    name[PFC_BRANCH_MAX_NAME + 1] = '\0';
    cr_assert(eq(int, pfc_branch_ref(name, &ref, NULL), PFC_EINVAL));
    name[PFC_BRANCH_MAX_NAME] = '\0';
    cr_assert(eq(int, pfc_branch_ref(name, &ref, NULL), PFC_OK));
    free(ref);
}

Test(branch_files, a_branch_that_is_checked_out_is_known)
{
    branch b;

    begin(&b);
    (void)add(&b, &none, "a", "1");
    cr_assert(pfc_branch_in_use(b.repo, "refs/heads/main"));
    cr_assert(not(pfc_branch_in_use(b.repo, REF)));
    cr_assert(not(pfc_branch_in_use(b.repo, "refs/heads/none")));
    end(&b);
}
