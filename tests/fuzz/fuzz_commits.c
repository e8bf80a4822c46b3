/* Lists of commits from outside: refused with a sentence, or the same after writing and reading. */
#include <string.h>

#include "core/wire/wire.h"

#include "tests/fuzz/fuzz.h"

static char *written(const char *branch, const pfc_commit *commits, size_t len)
{
    json_t *doc = pfc_commits_to_json(branch, commits, len);
    char *text = json_dumps(doc, JSON_COMPACT | JSON_SORT_KEYS);

    FUZZ_CHECK(text != NULL);
    json_decref(doc);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *branch = NULL;
    char *branch_again = NULL;
    pfc_commit *commits = NULL;
    pfc_commit *again = NULL;
    size_t len = 0;
    size_t len_again = 0;
    pfc_err err = { 0 };
    char *text, *text_again;

    if (pfc_commits_from_json((const char *)data, size, &branch, &commits, &len, &err)) {
        FUZZ_CHECK(commits == NULL && branch == NULL && err.msg[0] != '\0');
        return 0;
    }
    text = written(branch, commits, len);
    FUZZ_CHECK(pfc_commits_from_json(text, strlen(text), &branch_again, &again, &len_again, &err) ==
               PFC_OK);
    FUZZ_CHECK(len_again == len);
    text_again = written(branch_again, again, len_again);
    FUZZ_CHECK(strcmp(text, text_again) == 0);
    free(text);
    free(text_again);
    free(branch);
    free(branch_again);
    pfc_commits_free(commits, len);
    pfc_commits_free(again, len_again);
    return 0;
}
