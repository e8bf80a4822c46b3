/* Names of forges and repositories, and tokens in texts. The calls are tested in tests/forge. */
#include <stdlib.h>
#include <string.h>

#include "core/forge/provider.h"

#include "tests/check/check.h"

Test(provider, forges_have_names)
{
    static const char *const names[] = { "github", "gitlab", "gitea" };
    pfc_forge_kind kind = PFC_FORGE_GITHUB;
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        cr_assert(eq(int, pfc_forge_kind_parse(names[i], &kind, &err), PFC_OK));
        cr_assert(eq(int, (int)kind, (int)i));
        cr_assert(eq(str, (char *)pfc_forge_kind_name(kind), (char *)names[i]));
    }
    cr_assert(eq(int, pfc_forge_kind_parse("forgejo", &kind, &err), PFC_OK));
    cr_assert(eq(int, (int)kind, (int)PFC_FORGE_GITEA));
    cr_assert(eq(int, pfc_forge_kind_parse("GitHub", &kind, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "\"GitHub\"") != NULL);
}

Test(provider, a_repository_is_two_parts_and_of_gitlab_more)
{
    static const struct {
        const char *text;
        bool github, gitlab;
    } rows[] = { { "a/b", true, true },          { "a.b-c_d/E9", true, true },
                 { "a/b/c", false, true },       { "a", false, false },
                 { "", false, false },           { "/b", false, false },
                 { "a/", false, false },         { "a//b", false, false },
                 { "a/..", false, false },       { "a/b..c", false, false },
                 { "./a", false, false },        { "a/b?c", false, false },
                 { "a/b%2e", false, false },     { "a/b c", false, false },
                 { "a/\xC3\xA9", false, false }, { "a/b/c/d/e/f", false, true } };
    char longest[PFC_FORGE_MAX_REPO + 2];

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_assert(eq(int, pfc_forge_is_repo(PFC_FORGE_GITHUB, rows[i].text), rows[i].github), "%s",
                  rows[i].text);
        cr_assert(eq(int, pfc_forge_is_repo(PFC_FORGE_GITEA, rows[i].text), rows[i].github), "%s",
                  rows[i].text);
        cr_assert(eq(int, pfc_forge_is_repo(PFC_FORGE_GITLAB, rows[i].text), rows[i].gitlab), "%s",
                  rows[i].text);
    }
    memset(longest, 'a', sizeof(longest));
    longest[1] = '/';
    longest[PFC_FORGE_MAX_REPO] = '\0';
    cr_assert(pfc_forge_is_repo(PFC_FORGE_GITHUB, longest));
    longest[PFC_FORGE_MAX_REPO] = 'a';
    longest[PFC_FORGE_MAX_REPO + 1] = '\0';
    cr_assert(not(pfc_forge_is_repo(PFC_FORGE_GITHUB, longest)));
}

Test(provider, tokens_are_shortened_to_their_prefix)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        { "Bearer ghs_12_ab.cd-ef.gh", "Bearer ghs_*" },
        { "ghp_x", "ghp_*" },
        { "(github_pat_11AA_bb)", "(github_pat_*)" },
        { "glpat-a.b,glpat-c", "glpat-*,glpat-*" },
        { "gho_1 ghu_2 ghr_3 gldt-4 glrt-5 glcbt-6 gloas-7",
          "gho_* ghu_* ghr_* gldt-* glrt-* glcbt-* gloas-*" },
        { "ghp_ is the prefix", "ghp_ is the prefix" },
        { "right_ghp_x aghp_x", "right_ghp_x aghp_x" },
        { "ghp_", "ghp_" },
        { "", "" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *text = pfc_strdup(rows[i].text);

        pfc_forge_redact(text);
        cr_assert(eq(str, text, (char *)rows[i].expected));
        free(text);
    }
}
