/* The CODEOWNERS file of a commit, as it is sent to a service. */
#include <stdlib.h>
#include <string.h>

#include "core/git/codeowners.h"
#include "core/owners/owners.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"

static fixture f;

static pfc_commit_id commit(const char *path, const char *text)
{
    pfc_commit_id id = { 0 };
    char *hex = fixture_commit(&f, path, text, "change");

    memcpy(id.hex, hex, 40);
    free(hex);
    return id;
}

/* text NULL: the commit has none. */
static void expect(pfc_repo *repo, const pfc_commit_id *id, const char *path, const char *text)
{
    pfc_err err = { 0 };
    json_t *doc = pfc_codeowners_document(repo, id, &err);
    const char *got = json_string_value(json_object_get(doc, "text"));
    const char *where = json_string_value(json_object_get(doc, "path"));

    cr_assert(doc != NULL, "%s", err.msg);
    cr_expect(eq(str, (char *)json_string_value(json_object_get(doc, "commit")), (char *)id->hex));
    cr_expect(text ? got && strcmp(got, text) == 0 : got == NULL, "%s", got ? got : "none");
    cr_expect(path ? where && strcmp(where, path) == 0 : where == NULL, "%s",
              where ? where : "none");
    json_decref(doc);
}

Test(codeowners, of_a_commit_is_the_first_place_that_has_one)
{
    pfc_commit_id none, docs, root, wide, binary;
    pfc_repo *repo = NULL;
    char *large = malloc(PFC_OWNERS_MAX_TEXT + 2);
    pfc_err err = { 0 };

    fixture_init(&f);
    none = commit("a.c", "int a;\n");
    docs = commit("docs/CODEOWNERS", "* @docs\r\n\x01*.c @c\r\n");
    root = commit("CODEOWNERS", "* @root\n");
    binary = commit("CODEOWNERS", "* \xff@x\n");
    memset(large, '#', PFC_OWNERS_MAX_TEXT + 1);
    large[PFC_OWNERS_MAX_TEXT + 1] = '\0';
    wide = commit(".github/CODEOWNERS", large);
    cr_assert(eq(int, pfc_repo_open(f.repo, &repo, &err), PFC_OK), "%s", err.msg);
    expect(repo, &none, NULL, NULL);
    expect(repo, &docs, "docs/CODEOWNERS", "* @docs\n *.c @c\n");
    expect(repo, &root, "CODEOWNERS", "* @root\n");
    cr_expect(pfc_codeowners_document(repo, &binary, &err) == NULL);
    cr_expect(strstr(err.msg, "is not UTF-8") != NULL, "%s", err.msg);
    cr_expect(pfc_codeowners_document(repo, &wide, &err) == NULL);
    cr_expect(eq(int, err.code, PFC_ETOOBIG));
    free(large);
    pfc_repo_close(repo);
    fixture_clear(&f);
}
