/* Commands in comments: where they count, and what they say. */
#include <stdlib.h>
#include <string.h>

#include "core/forge/webhook.h"

#include "tests/check/check.h"

static pfc_err err;

Test(bot_command, the_first_line_that_is_a_command_counts)
{
    static const struct {
        const char *body;
        pfc_code code;
        int kind;
        const char *argument;
    } rows[] = {
        { "/perfci bench", PFC_OK, PFC_BOT_BENCH, NULL },
        { "/perfci bench gemm/f32.* \t", PFC_OK, PFC_BOT_BENCH, "gemm/f32.*" },
        { "Thanks!\r\n/perfci bisect gemm_tflops\r\n", PFC_OK, PFC_BOT_BISECT, "gemm_tflops" },
        { "@perfci rerun, please", PFC_OK, PFC_BOT_UNKNOWN, "rerun," },
        { "@perfci rerun please", PFC_OK, PFC_BOT_RERUN, NULL },
        { "/perfci ACCEPT the check costs 2 %", PFC_OK, PFC_BOT_ACCEPT, "the check costs 2 %" },
        { "/perfci why", PFC_OK, PFC_BOT_WHY, NULL },
        { "/perfci", PFC_OK, PFC_BOT_HELP, NULL },
        { "/perfci\thelp", PFC_OK, PFC_BOT_HELP, NULL },
        { "/perfci allow", PFC_OK, PFC_BOT_ALLOW, NULL },
        { "/perfci dance", PFC_OK, PFC_BOT_UNKNOWN, "dance" },
        { "/perfci why\n/perfci rerun", PFC_OK, PFC_BOT_WHY, NULL },
        { "/perfci accept a\x1b[31mb", PFC_OK, PFC_BOT_ACCEPT, "a?[31mb" },
        { "", PFC_ENOTFOUND, 0, NULL },
        { "/perfcix bench", PFC_ENOTFOUND, 0, NULL },
        { "/perfci-bot bench", PFC_ENOTFOUND, 0, NULL },
        { " /perfci bench", PFC_ENOTFOUND, 0, NULL },
        { "see /perfci bench", PFC_ENOTFOUND, 0, NULL },
        { "`/perfci bench`", PFC_ENOTFOUND, 0, NULL },
        { "> /perfci bench", PFC_ENOTFOUND, 0, NULL },
        { "> said\n/perfci bench", PFC_ENOTFOUND, 0, NULL },
        { "> said\n\n/perfci bench", PFC_OK, PFC_BOT_BENCH, NULL },
        { "    /perfci bench", PFC_ENOTFOUND, 0, NULL },
        { "```\n/perfci bench\n```", PFC_ENOTFOUND, 0, NULL },
        { "```\n/perfci bench", PFC_ENOTFOUND, 0, NULL },
        { "```\n/perfci bench\n~~~\n/perfci why\n````\n/perfci rerun", PFC_OK, PFC_BOT_RERUN,
          NULL },
        { "````\n```\n/perfci bench\n````", PFC_ENOTFOUND, 0, NULL },
        { "```sh\n``` sh\n/perfci bench\n```", PFC_ENOTFOUND, 0, NULL },
        { "``\n/perfci bench", PFC_OK, PFC_BOT_BENCH, NULL },
        { "<!-- \n/perfci bench\n-->", PFC_ENOTFOUND, 0, NULL },
        { "<!-- \n/perfci bench\n-->\n/perfci why", PFC_OK, PFC_BOT_WHY, NULL },
        { "<!-- a --> b\n/perfci why", PFC_OK, PFC_BOT_WHY, NULL },
        { "/perfci bisect", PFC_EINVAL, PFC_BOT_BISECT, NULL },
        { "/perfci bisect a b", PFC_EINVAL, PFC_BOT_BISECT, NULL },
        { "/perfci accept \t", PFC_EINVAL, PFC_BOT_ACCEPT, NULL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_bot_command command;

        err = (pfc_err){ 0 };
        cr_assert(eq(int, pfc_bot_command_find(rows[i].body, &command, &err), rows[i].code),
                  "row %zu: %s", i, err.msg);
        cr_assert(eq(int, err.msg[0] != '\0', rows[i].code == PFC_EINVAL), "row %zu", i);
        if (rows[i].code == PFC_OK)
            cr_assert(eq(int, (int)command.kind, rows[i].kind), "row %zu", i);
        cr_assert(pfc_streq(command.argument, rows[i].argument), "row %zu: %s", i,
                  command.argument);
        pfc_bot_command_clear(&command);
    }
}

Test(bot_command, an_argument_has_at_most_500_bytes)
{
    for (int over = 0; over < 2; over++) {
        char *body = pfc_format("/perfci accept %0*d", 500 + over, 7);
        pfc_bot_command command;

        cr_assert(eq(int, pfc_bot_command_find(body, &command, &err), over ? PFC_EINVAL : PFC_OK));
        pfc_bot_command_clear(&command);
        free(body);
    }
}

Test(bot_command, an_unknown_word_is_cut)
{
    pfc_bot_command command;

    cr_assert(eq(int,
                 pfc_bot_command_find("/perfci \xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
                                      "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
                                      "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
                                      "x\xC3\xA4",
                                      &command, &err),
                 PFC_OK));
    cr_assert(eq(sz, strlen(command.argument), (size_t)39));
    pfc_bot_command_clear(&command);
}
