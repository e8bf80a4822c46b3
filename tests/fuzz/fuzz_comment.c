/*
 * Comments of pull requests: whatever the document says, the comment begins with its marker, is
 * below the limit, and closes what it opened; or the document is refused in one sentence.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/comment/comment.h"

#include "tests/fuzz/fuzz.h"

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const pfc_comment_opts opts = { .key = "k", .commit_url = "https://h/c/" };
    pfc_comment_result result = { 0 };
    pfc_err err = { 0 };
    const char *text;
    pfc_buf out;

    pfc_buf_init(&out, PFC_COMMENT_MAX_BYTES);
    if (pfc_comment_from_text((const char *)data, size, &opts, &out, &result, &err) == PFC_OK) {
        text = pfc_buf_text(&out);
        FUZZ_CHECK(!out.overflow && out.len < PFC_COMMENT_MAX_BYTES);
        FUZZ_CHECK(strncmp(text, "<!-- perfci:k -->\n### ", 22) == 0);
        FUZZ_CHECK(count(text, "\n<details>") == count(text, "\n</details>"));
        FUZZ_CHECK(pfc_is_utf8(text, out.len));
        FUZZ_CHECK(result.title && result.title[0] && !strchr(result.title, '\n'));
    } else {
        FUZZ_CHECK(err.msg[0] && out.len == 0);
    }
    free(result.title);
    pfc_buf_clear(&out);
    return 0;
}
