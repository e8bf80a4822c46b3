/* Stacks of `perf script`: one tree for both runs, shares, what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/flame/flame.h"
#include "core/analysis/report/blocks.h"
#include "core/base/base.h"
#include "core/base/buf.h"

#include "tests/check/check.h"

/* As perf 6.1 printed it with -F comm,ip,sym,dso: innermost frame first. */
static const char before[] = "bench \n"
                             "\t          11a9 dot+0x9 (/src/bench)\n"
                             "\t          1234 gemm+0x34 (/src/bench)\n"
                             "\t          1400 main+0x10 (/src/bench)\n"
                             "\n"
                             "bench \n"
                             "\t          1234 gemm+0x34 (/src/bench)\n"
                             "\t          1400 main+0x10 (/src/bench)\n"
                             "\n";
static const char after[] = "bench \n"
                            "\t          11a9 dot+0x9 (/src/bench)\n"
                            "\t          1234 gemm+0x34 (/src/bench)\n"
                            "\t          1400 main+0x10 (/src/bench)\n"
                            "bench \n"
                            "\t             0 [unknown] ([unknown])\n";

static pfc_err err;

static size_t child(const pfc_flame *f, size_t node, const char *name)
{
    for (size_t at = f->nodes[node].first_child; at; at = f->nodes[at].next)
        if (strcmp(f->nodes[at].name, name) == 0)
            return at;
    cr_assert(false, "no %s", name);
    return 0;
}

Test(flame, stacks_of_both_runs_meet_in_one_tree)
{
    pfc_flame f = { 0 };
    size_t main_, gemm, dot;

    err = (pfc_err){ 0 };
    cr_assert(eq(int, pfc_flame_read(&f, false, before, strlen(before), "a", &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_flame_read(&f, true, after, strlen(after), "b", &err), PFC_OK), "%s",
              err.msg);
    main_ = child(&f, 0, "main");
    gemm = child(&f, main_, "gemm");
    dot = child(&f, gemm, "dot");
    cr_assert(eq(u64, f.nodes[0].samples[0], 2));
    cr_assert(eq(u64, f.nodes[gemm].samples[0], 2));
    cr_assert(eq(u64, f.nodes[gemm].self[0], 1));
    cr_assert(eq(u64, f.nodes[dot].samples[1], 1));
    cr_assert(epsilon_eq(dbl, pfc_flame_share(&f, main_, false), 1.0, 1e-12));
    cr_assert(epsilon_eq(dbl, pfc_flame_share(&f, main_, true), 0.5, 1e-12));
    cr_assert(eq(u64, f.nodes[child(&f, 0, "[unknown]")].self[1], 1));
    pfc_flame_clear(&f);
}

/* Own shares: gemm 1/2 to 0, [unknown] 0 to 1/2; dot is 1/2 in both and is not listed. */
Test(flame, functions_are_listed_by_the_change_of_their_own_share)
{
    pfc_flame f = { 0 };
    pfc_flame_function list[8];

    cr_assert(eq(int, pfc_flame_read(&f, false, before, strlen(before), "a", &err), PFC_OK));
    cr_assert(eq(int, pfc_flame_read(&f, true, after, strlen(after), "b", &err), PFC_OK));
    cr_assert(eq(sz, pfc_flame_functions(&f, list, 8), 2));
    cr_assert(eq(str, (char *)(uintptr_t)list[0].name, "[unknown]"));
    cr_assert(epsilon_eq(dbl, list[0].after, 0.5, 1e-12));
    cr_assert(eq(str, (char *)(uintptr_t)list[1].name, "gemm"));
    cr_assert(epsilon_eq(dbl, list[1].before, 0.5, 1e-12));
    cr_assert(eq(sz, pfc_flame_functions(&f, list, 1), 1));
    pfc_flame_clear(&f);
}

Test(flame, a_deep_stack_keeps_its_inner_frames)
{
    pfc_flame f = { 0 };
    pfc_buf text;
    size_t depth = 0;

    pfc_buf_init(&text, 1u << 20);
    pfc_buf_puts(&text, "deep\n");
    for (unsigned i = 0; i < 1000; i++)
        pfc_buf_printf(&text, "\t 1 f%u (x)\n", i);
    cr_assert(eq(int, pfc_flame_read(&f, false, pfc_buf_text(&text), text.len, "a", &err), PFC_OK));
    for (size_t at = f.nodes[0].first_child; at; at = f.nodes[at].first_child)
        depth++;
    cr_assert(eq(sz, depth, PFC_FLAME_MAX_DEPTH));
    pfc_flame_clear(&f);
    pfc_buf_clear(&text);
}

Test(flame, no_samples_and_too_many_frames_are_one_sentence)
{
    pfc_flame f = { 0 };
    pfc_buf text;

    err = (pfc_err){ 0 };
    cr_assert(eq(int, pfc_flame_read(&f, false, "", 0, "stacks", &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "stacks: expected samples with stacks, got none") != NULL, "%s",
              err.msg);
    pfc_flame_clear(&f);
    pfc_buf_init(&text, 16u << 20);
    for (unsigned i = 0; i <= PFC_FLAME_MAX_NODES; i++)
        pfc_buf_printf(&text, "p\n\t 1 f%u (x)\n", i);
    err = (pfc_err){ 0 };
    cr_assert(
        eq(int, pfc_flame_read(&f, false, pfc_buf_text(&text), text.len, "s", &err), PFC_ETOOBIG));
    cr_assert(strstr(err.msg, "at most 20000 different frames") != NULL, "%s", err.msg);
    pfc_flame_clear(&f);
    pfc_buf_clear(&text);
}

/* The time to draw grows with the number of boxes, whatever their depth: a stack of 60 frames once
 * took 2^40 steps. */
Test(flame, the_picture_of_a_deep_stack_is_drawn)
{
    pfc_explanation *e = pfc_calloc(1, sizeof(*e));
    pfc_buf text, picture;

    pfc_buf_init(&text, 1 << 16);
    pfc_buf_init(&picture, 1 << 20);
    for (int i = 0; i < 60; i++)
        pfc_buf_printf(&text, "\t 11a9 frame%d+0x9 (/src/bench)\n", i);
    e->flame = pfc_calloc(1, sizeof(*e->flame));
    err = (pfc_err){ 0 };
    for (int after_ = 0; after_ < 2; after_++)
        cr_assert(eq(int,
                     pfc_flame_read(e->flame, after_, pfc_buf_text(&text), text.len, "a", &err),
                     PFC_OK),
                  "%s", err.msg);
    pfc_picture_flame(e, &picture);
    cr_assert(ne(ptr, strstr(pfc_buf_text(&picture), "frame59"), NULL));
    cr_assert(ne(ptr, strstr(pfc_buf_text(&picture), "frame25"), NULL));
    pfc_buf_clear(&text);
    pfc_buf_clear(&picture);
    pfc_flame_clear(e->flame);
    free(e->flame);
    free(e);
}
