/* Texts that are refused, each with the sentence that it gets. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/text/text.h"

#include "tests/check/check.h"

/* A head of six lines, so that the text begins in line 7. */
#define HEAD "pca 1\ndtype bf16\narg A 8192\narg C 8192\nsram s 4096\nacc c 4096\n"

static pfc_err err;

static pfc_code parse_bytes(const char *text, size_t len)
{
    pfc_accel_text *t = NULL;
    pfc_code code;

    err = (pfc_err){ 0 };
    code = pfc_accel_text_parse(text, len, "k.pca", &t, &err);
    cr_assert(eq(int, t != NULL, code == PFC_OK));
    pfc_accel_text_free(t);
    return code;
}

static void refused(const char *head, const char *text, const char *says)
{
    char *all = pfc_format("%s%s", head, text);

    cr_assert(ne(int, parse_bytes(all, strlen(all)), PFC_OK), "%s", text);
    cr_assert(strstr(err.msg, says) != NULL, "%s\n%s", text, err.msg);
    cr_assert(strncmp(err.msg, "k.pca:", 6) == 0, "%s", err.msg);
    free(all);
}

Test(text_errors, each_fault_is_named_with_its_line)
{
    static const struct {
        const char *text, *says;
    } faults[] = {
        { "fly a=s", "k.pca:7: expected a directive, an operation, repeat or \"}\", got \"fly\"" },
        { "arg B", "expected \"arg NAME BYTES\", got 2 words" },
        { "arg A 1", "expected a new name, got \"A\", which is an argument" },
        { "arg B 99999999999999999999", "at most 64 bits" },
        { "arg B 1099511627777", "expected 0..1099511627776" },
        { "arg B -1", "expected 0..1099511627776, got -1" },
        { "sram 2x 4", "expected a name" },
        { "sram x 4 of=3", "expected at=BYTES or align=BYTES, got \"of=3\"" },
        { "sram x 4 at=1099511627776", "expected at most 1099511627776 bytes of buffers" },
        { "token t 0", "expected 1..2097152, got 0" },
        { "dtype f32", "expected \"dtype\" once" },
        { "mode fast", "k.pca:7: mode: expected pipelined-ws" },
        { "memory big", "expected ideal or chip" },
        { "pca 2", "expected version 1" },
        { "let x 3", "expected \"let NAME = VALUE\"" },
        { "let x = y", "x: expected a name that is known, got \"y\"" },
        { "let x = 1/0", "expected a divisor other than 0" },
        { "let x = 1%0", "expected a divisor other than 0" },
        { "let x = (1", "expected \")\", got its end" },
        { "let x = 1+", "expected a number, a name or \"(\", got its end" },
        { "let x = 9223372036854775807+1", "at most 64 bits" },
        { "let x = 4611686018427387904*2", "at most 64 bits" },
        { "let x = (((((((((((((((((((((((((((((((((1)))))))))))))))))))))))))))))))))",
          "at most 32 parentheses" },
        { "let x = A", "expected a number, got \"A\", which is an argument" },
        { "let s = 1", "expected a new name, got \"s\", which is a buffer in the scratchpad" },
        { "reference sort n=3", "k.pca:7: reference: expected gemm" },
        { "reference gemm m=3 n=3", "expected k=NUMBER, got none" },
        { "reference gemm m=3 n=3 k=3 k=3", "expected k once" },
        { "reference gemm m=3 n=3 k=70000", "expected 0..65536, got 70000" },
        { "reference gemm m=3 n=3 z=3", "expected a parameter of gemm, got \"z\"" },
        { "reference gemm 3", "expected NAME=NUMBER" },
        { "load from=A to=s rows=1", "load: expected cols=VALUE, got none" },
        { "load from=A to=s rows= cols=1", "expected rows=VALUE, got no value" },
        { "load from=A to=s rows cols=1", "expected rows=VALUE, got no value" },
        { "load from=A to=s rows=1 rows=1 cols=1", "load: expected rows once" },
        { "load from=A to=s rows=1 cols=1 speed=3", "got \"speed\"" },
        { "load from=s to=s rows=1 cols=1", "from: expected an argument, got \"s\"" },
        { "load from=3 to=s rows=1 cols=1", "expected an argument, got only a number" },
        { "load from=A+C to=s rows=1 cols=1", "expected an argument, got two of them" },
        { "load from=A+9000 to=s rows=1 cols=1", "offset of 0..8192 bytes in \"A\", got 9000" },
        { "load from=A to=c rows=1 cols=1", "expected a buffer in the scratchpad, got \"c\"" },
        { "load from=A to=s-1 rows=1 cols=1", "offset of 0..4096 bytes in \"s\", got -1" },
        { "load from=A to=s rows=1 cols=4096", "expected at most 4096 bytes from offset 0" },
        { "load from=A to=s+4000 rows=1 cols=64", "expected at most 96 bytes from offset 4000" },
        { "load from=A to=s rows=1 cols=-1", "cols: expected 0..4294967295, got -1" },
        { "load from=A to=s rows=1 cols=1 queue=256", "queue: expected 0..255, got 256" },
        { "load from=A to=s rows=4294967295 cols=4294967295", "at most 268435456 rows" },
        { "load from=A to=s rows=268435456 cols=4294967295", "at most 68719476736 bytes in all" },
        { "matmul a=s b=s to=c m=1048577 n=1 k=1",
          "at most 2^20 rows, columns and products, got 1048577" },
        { "matmul a=s b=s to=c m=64 n=64 k=1", "to: expected at most 4096 bytes" },
        { "att_end out=c stats=s to=s rows=1 depth=1 scale=2", "got \"scale\"" },
        { "att_step scores=c out=c weights=s stats=s rows=1 cols=1 depth=1 diagonal=0 scale=nan",
          "k.pca:7: att_step: scale" },
        { "softmax at=s rows=1 cols=1 raw.z=1", "expected the name of a field, got \"z\"" },
        { "softmax at=s rows=1 cols=1 wait=", "wait: expected a token, got \"\"" },
        { "softmax at=s rows=1 cols=1 wait=t", "wait: expected a token, got \"t\"" },
        { "token t\nsoftmax at=s rows=1 cols=1 wait=t", "a token that a command signals, got t" },
        { "token t 3\nsoftmax at=s rows=1 cols=1 signal=t", "an index after \"t\"" },
        { "token t 3\nsoftmax at=s rows=1 cols=1 signal=t[3]", "an index of at most 2" },
        { "token t 3\nsoftmax at=s rows=1 cols=1 signal=t[-1]", "an index of 0 and up" },
        { "token t 3\nsoftmax at=s rows=1 cols=1 signal=t[1", "expected \"]\", got its end" },
        { "token t 3\nsoftmax at=s rows=1 cols=1 signal=t[0]\nsoftmax at=s rows=1 cols=1 "
          "wait=t[0],t[0],t[0],t[0],t[0],t[0],t[0]",
          "k.pca:9: wait: expected at most 6 tokens" },
        { "token t 3\nsoftmax at=s rows=1 cols=1 wait=t[0]t", "expected \",\" and a token" },
        { "repeat 3", "expected \"repeat COUNT {\"" },
        { "repeat 3 of i {", "expected \"repeat COUNT {\"" },
        { "repeat 3 as s {\n}", "expected a new name, got \"s\"" },
        { "repeat -1 {\n}", "expected 0..1048576" },
        { "repeat 3 {", "k.pca:7: expected \"}\" for this repeat, got the end of the file" },
        { "repeat 0 {\nrepeat 3 {\n}", "k.pca:7: expected \"}\" for this repeat" },
        { "}", "expected a \"repeat\" before \"}\"" },
        { "repeat 1 {\n} x", "expected the end of the line" },
        { "repeat 1 {\narg B 3\n}", "expected \"arg\" outside of repeat" },
        { "repeat 2 as i {\nlet i = 3\n}", "expected another name than the loop's index" },
        { "repeat 1 {\nrepeat 1 {\nrepeat 1 {\nrepeat 1 {\nrepeat 1 {\nrepeat 1 {\nrepeat 1 {\n"
          "repeat 1 {\nrepeat 1 {\n",
          "at most 8 loops" },
        { "repeat 1048576 {\nrepeat 1048576 {\n}\n}", "at most 4194304 lines" },
        { "repeat 1048576 {\nsoftmax at=s rows=1 cols=1\n}\nsoftmax at=s rows=1 cols=1",
          "at most 1048576 commands" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(faults); i++)
        refused(HEAD, faults[i].text, faults[i].says);
}

Test(text_errors, a_head_must_be_whole)
{
    refused("", "", "k.pca:0: expected \"pca 1\", got the end of the file");
    refused("", "dtype bf16", "k.pca:1: expected \"pca 1\" in the first line");
    refused("", "pca 1", "expected \"dtype TYPE\"");
    refused("", "pca 1\ndtype bf16", "expected \"arg NAME BYTES\"");
    refused("", "pca 1\ndtype f64", "k.pca:2: dtype: expected f32, bf16 or int8, got \"f64\"");
    refused("", "pca 1\nsoftmax at=0 rows=1 cols=1", "expected \"dtype TYPE\" before");
    refused(HEAD, "macs 1\nreference gemm m=1 n=1 k=1", "expected \"macs\" or \"reference\"");
    refused(HEAD, "arg a0 1\narg a1 1\narg a2 1\narg a3 1\narg a4 1\narg a5 1\narg a6 1",
            "k.pca:13: expected at most 8 arguments");
}

Test(text_errors, commands_that_wait_for_each_other_are_named)
{
    /* two queues */
    refused(HEAD,
            "token t 2\n"
            "load from=A to=s rows=1 cols=1 queue=0 wait=t[1] signal=t[0]\n"
            "load from=A to=s rows=1 cols=1 queue=1 wait=t[0] signal=t[1]\n",
            "k.pca:8: expected an order of commands, got a cycle: command 0 (line 8, load) waits "
            "for t[1] of command 1 (line 9, load), which waits for t[0] of command 0 (line 8, "
            "load)");
    /* the order of a queue is a part of it */
    refused(HEAD,
            "token t\n"
            "load from=A to=s rows=1 cols=1 wait=t\n"
            "load from=A to=s rows=1 cols=1 signal=t\n",
            "got a cycle: command 0 (line 8, load) waits for t of command 1 (line 9, load), which "
            "follows in its queue command 0 (line 8, load)");
    /* a command that waits for itself */
    refused(HEAD, "token t\nload from=A to=s rows=1 cols=1 wait=t signal=t\n",
            "command 0 (line 8, load) waits for t of command 0 (line 8, load)");
    /* only late: no cycle */
    refused(HEAD,
            "token t\n"
            "load from=A to=s rows=1 cols=1 queue=0 wait=t\n"
            "load from=A to=s rows=1 cols=1 queue=1 signal=t\n",
            "k.pca:8: wait: expected a token that earlier commands signal, got t, which command 1 "
            "of line 9 signals later");
}

Test(text_errors, bytes_that_are_no_text_are_refused)
{
    static const char nul[] = "pca 1\ndtype bf16\0\narg A 1\n";
    const size_t len = 4u << 20;
    char *line = pfc_alloc(len);

    cr_assert(eq(int, parse_bytes(nul, sizeof(nul) - 1), PFC_EINVAL));
    cr_assert(strstr(err.msg, "NUL byte") != NULL, "%s", err.msg);
    memset(line, 'a', len);
    cr_assert(eq(int, parse_bytes(line, len), PFC_EINVAL));
    cr_assert(strstr(err.msg, "k.pca:1: expected a line of at most 4096 bytes, got 4194304") !=
                  NULL,
              "%s", err.msg);
    memset(line, ' ', 4000);
    for (size_t i = 1; i < 100; i += 2)
        line[i] = 'w';
    cr_assert(eq(int, parse_bytes(line, 200), PFC_EINVAL));
    cr_assert(strstr(err.msg, "at most 32 words") != NULL, "%s", err.msg);
    free(line);
}
