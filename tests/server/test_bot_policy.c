/* When the bot writes a comment on a pull request, and when it adds another one. */

#include "server/bot/internal.h"

#include "tests/check/check.h"

Test(bot_policy, worse_verdicts_have_higher_ranks_and_unknown_ones_none)
{
    static const struct {
        const char *verdict;
        int rank;
    } rows[] = {
        { "broken", 3 }, { "regression", 2 }, { "inconclusive", 1 }, { "nothing", 1 },
        { "outage", 1 }, { "unchanged", 0 },  { "improvement", 0 },  { "no-regression", 0 },
        { "", 0 },       { "Regression", 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(int, pfc_verdict_rank(rows[i].verdict), rows[i].rank), "%s", rows[i].verdict);
}

Test(bot_policy, the_first_comment_depends_on_the_policy)
{
    static const struct {
        const char *verdict;
        bool improved;
        pfc_comment_step always, on_change, on_regression;
    } rows[] = {
        { "broken", false, PFC_COMMENT_EDIT, PFC_COMMENT_EDIT, PFC_COMMENT_EDIT },
        { "regression", false, PFC_COMMENT_EDIT, PFC_COMMENT_EDIT, PFC_COMMENT_EDIT },
        { "regression", true, PFC_COMMENT_EDIT, PFC_COMMENT_EDIT, PFC_COMMENT_EDIT },
        { "inconclusive", false, PFC_COMMENT_EDIT, PFC_COMMENT_NONE, PFC_COMMENT_NONE },
        { "inconclusive", true, PFC_COMMENT_EDIT, PFC_COMMENT_EDIT, PFC_COMMENT_NONE },
        { "nothing", false, PFC_COMMENT_EDIT, PFC_COMMENT_NONE, PFC_COMMENT_NONE },
        { "outage", false, PFC_COMMENT_EDIT, PFC_COMMENT_NONE, PFC_COMMENT_NONE },
        { "no-regression", false, PFC_COMMENT_EDIT, PFC_COMMENT_NONE, PFC_COMMENT_NONE },
        { "no-regression", true, PFC_COMMENT_EDIT, PFC_COMMENT_EDIT, PFC_COMMENT_NONE },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const char *v = rows[i].verdict;
        const bool up = rows[i].improved;

        cr_expect(eq(int, pfc_comment_next(PFC_PULL_ALWAYS, v, up, 0, 0), rows[i].always), "%s", v);
        cr_expect(eq(int, pfc_comment_next(PFC_PULL_ON_CHANGE, v, up, 0, 0), rows[i].on_change),
                  "%s", v);
        cr_expect(
            eq(int, pfc_comment_next(PFC_PULL_ON_REGRESSION, v, up, 0, 0), rows[i].on_regression),
            "%s", v);
    }
}

/* A comment that exists is edited, also to say that all is well; a new one only when the verdict
 * worsens, and never for a better one. */
Test(bot_policy, a_comment_is_added_only_when_the_verdict_worsens)
{
    static const struct {
        const char *verdict;
        int posted_rank;
        pfc_comment_step step;
    } rows[] = {
        { "regression", 0, PFC_COMMENT_NEW },     { "regression", 1, PFC_COMMENT_NEW },
        { "regression", 2, PFC_COMMENT_EDIT },    { "regression", 3, PFC_COMMENT_EDIT },
        { "broken", 2, PFC_COMMENT_NEW },         { "broken", 3, PFC_COMMENT_EDIT },
        { "inconclusive", 0, PFC_COMMENT_EDIT },  { "no-regression", 3, PFC_COMMENT_EDIT },
        { "no-regression", 0, PFC_COMMENT_EDIT },
    };

    for (int policy = PFC_PULL_ALWAYS; policy <= PFC_PULL_ON_REGRESSION; policy++)
        for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
            cr_expect(eq(int,
                         pfc_comment_next((pfc_pull_policy)policy, rows[i].verdict, false, 5,
                                          rows[i].posted_rank),
                         rows[i].step),
                      "policy %d row %zu", policy, i);
}
