/* Text from outside in Markdown: what it may not become. */
#include <string.h>

#include "core/forge/forge.h"

#include "tests/check/check.h"

static void check(void (*write)(pfc_buf *out, const char *text), const char *text,
                  const char *expected)
{
    pfc_buf out;

    pfc_buf_init(&out, 4096);
    write(&out, text);
    cr_assert(eq(str, (char *)pfc_buf_text(&out), (char *)expected), "%s", text);
    pfc_buf_clear(&out);
}

Test(markdown, markup_links_mentions_and_html_are_escaped)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        { "plain text 1.5 %", "plain text 1.5 %" },
        { "<b>&amp;", "&lt;b&gt;&amp;amp;" },
        { "@user #12", "@&#8203;user #&#8203;12" },
        { "\\`*_{}[]()!|~:", "\\\\\\`\\*\\_\\{\\}\\[\\]\\(\\)\\!\\|\\~\\:" },
        { "a\nb\tc\x1f\x7f", "a b c  " },
        { "www.x.y WwW.z", "www\\.x.y WwW\\.z" },
        { "ww.x", "ww.x" },
        { ".www", ".www" },
        { "w.", "w." },
        { "", "" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        check(pfc_markdown_text, rows[i].text, rows[i].expected);
}

Test(markdown, a_code_span_cannot_be_ended_from_within)
{
    char longest[202];
    char expected[203];

    check(pfc_markdown_code, "a`b", "`a'b`");
    check(pfc_markdown_code, "a|b\n\x7f", "`a\\|b''`");
    check(pfc_markdown_code, " ", "` `");
    check(pfc_markdown_code, "", "``");
    memset(longest, 'x', 201);
    longest[201] = '\0';
    memset(expected, 'x', 202);
    expected[0] = expected[201] = '`';
    expected[202] = '\0';
    check(pfc_markdown_code, longest, expected); /* 200 bytes of it */
}

Test(markdown, a_marker_claims_a_comment_that_begins_with_it)
{
    char marker[PFC_COMMENT_MARKER_MAX];

    pfc_comment_marker("kernels", marker);
    cr_assert(eq(str, marker, "<!-- perfci:kernels -->"));
    cr_assert(pfc_comment_is_ours("<!-- perfci:kernels --> text", marker));
    cr_assert(not(pfc_comment_is_ours("> <!-- perfci:kernels --> text", marker)));
    cr_assert(not(pfc_comment_is_ours("<!-- perfci:kernels", marker)));
    pfc_comment_marker("0123456789012345678901234567890123456789012345678901234567890123", marker);
    cr_assert(
        eq(str, marker,
           "<!-- perfci:012345678901234567890123456789012345678901234567890123456789012 -->"));
}
