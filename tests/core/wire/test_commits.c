/* Commits as they are sent to the server. */
#include <stdlib.h>
#include <string.h>

#include "core/wire/wire.h"

#include "tests/check/check.h"

#define ID     "0123456789012345678901234567890123456789"
#define PARENT "1123456789012345678901234567890123456789"
#define COMMIT                                                                                     \
    "{\"id\":\"" ID "\",\"parents\":[\"" PARENT "\"],\"author\":\"A\","                            \
    "\"time\":\"2026-11-22T10:00:00Z\",\"subject\":\"s\",\"paths\":[\"a/"                          \
    "b.c\"],\"tags\":[\"v1.2\"]}"

Test(commits, survive_a_round_trip)
{
    static const char text[] = "{\"branch\":\"main\",\"commits\":[" COMMIT "]}";
    pfc_commit *commits = NULL;
    char *branch = NULL;
    size_t len = 0;
    pfc_err err = { 0 };
    json_t *doc;
    char *again;
    char *second_branch = NULL;
    pfc_commit *second = NULL;
    size_t second_len = 0;

    cr_assert(eq(int, pfc_commits_from_json(text, sizeof text - 1, &branch, &commits, &len, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(str, branch, "main"));
    cr_assert(eq(sz, len, 1));
    cr_assert(eq(str, commits[0].parents[0], PARENT));
    cr_assert(eq(str, commits[0].paths[0], "a/b.c"));
    doc = pfc_commits_to_json(branch, commits, len);
    again = json_dumps(doc, JSON_COMPACT);
    cr_assert(
        eq(int,
           pfc_commits_from_json(again, strlen(again), &second_branch, &second, &second_len, &err),
           PFC_OK));
    cr_assert(eq(dbl, second[0].time, commits[0].time));
    cr_assert(eq(sz, second[0].tags_len, 1));
    cr_assert(eq(str, second[0].tags[0], "v1.2"));
    json_decref(doc);
    free(again);
    free(branch);
    free(second_branch);
    pfc_commits_free(commits, len);
    pfc_commits_free(second, second_len);
}

Test(commits, faults_have_their_path)
{
    static const struct {
        const char *text;
        const char *field;
    } bad[] = {
        { "{\"commits\":[" COMMIT ",{\"id\":\"abc\"}]}", "commits[1].id" },
        { "{\"commits\":[{\"id\":\"" ID "\",\"parents\":[\"x\"]}]}", "commits[0].parents[0]" },
        { "{\"commits\":[{\"id\":\"" ID "\",\"parents\":[\"" PARENT "\",\"" ID "\"]}]}",
          "commits[0].parents[1]" },
        { "{\"commits\":[{\"id\":\"" ID "\",\"parents\":[],\"author\":\"A\",\"time\":\"now\"}]}",
          "commits[0].time" },
        { "{\"commits\":{}}", "commits" },
        { "{\"commit\":[]}", "commit" },
        { "{}", "commits" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_commit *commits = NULL;
        char *branch = NULL;
        size_t len = 0;
        pfc_err err = { 0 };

        cr_assert(eq(int,
                     pfc_commits_from_json(bad[i].text, strlen(bad[i].text), &branch, &commits,
                                           &len, &err),
                     PFC_EINVAL),
                  "%s", bad[i].text);
        cr_assert(eq(str, err.field, (char *)bad[i].field), "%s", err.msg);
    }
}
