/* Callgrind's format: costs of functions and of calls, what is refused, and the difference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/functions/functions.h"
#include "core/base/base.h"

#include "tests/check/check.h"

/* main calls dot twice from one place: 200 instructions that are dot's, not main's. */
#define HEAD                                                                                       \
    "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\ncmd:  ./bench\npart: 1\n\n"        \
    "positions: line\nevents: Ir\nsummary: 260\n\n"
#define BODY                                                                                       \
    "ob=(1) /src/bench\nfl=(1) bench.c\nfn=(1) main\n3 40\n+1 20\ncfn=(2) dot\ncalls=2 9\n+2 "     \
    "200\n"                                                                                        \
    "\nfn=(2)\n9 150\nfi=(2) dot.h\n* 50\njump=3 12\n12\n\ntotals: 260\n"

static pfc_err err;

static pfc_code read_text(const char *text, pfc_functions *out)
{
    err = (pfc_err){ 0 };
    return pfc_callgrind_read(text, strlen(text), "out.1", out, &err);
}

static const pfc_function *find(const pfc_functions *f, const char *name)
{
    for (size_t i = 0; i < f->len; i++)
        if (strcmp(f->items[i].name, name) == 0)
            return &f->items[i];
    cr_assert(false, "no function %s", name);
    return NULL;
}

Test(callgrind, a_call_costs_the_callee_and_not_the_caller)
{
    pfc_functions f = { 0 };

    cr_assert(eq(int, read_text(HEAD BODY, &f), PFC_OK), "%s", err.msg);
    pfc_functions_sort(&f);
    cr_assert(eq(sz, f.len, 2));
    cr_assert(eq(u64, find(&f, "main")->self, 60));
    cr_assert(eq(u64, find(&f, "dot")->self, 200));
    cr_assert(eq(u64, find(&f, "dot")->calls, 2));
    cr_assert(eq(u64, f.total, 260));
    pfc_functions_clear(&f);
}

Test(callgrind, processes_of_one_program_are_summed_by_name)
{
    pfc_functions f = { 0 };

    cr_assert(eq(int, read_text(HEAD BODY, &f), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, read_text(HEAD BODY, &f), PFC_OK), "%s", err.msg);
    pfc_functions_sort(&f);
    cr_assert(eq(sz, f.len, 2));
    cr_assert(eq(u64, find(&f, "dot")->self, 400));
    cr_assert(eq(u64, find(&f, "dot")->calls, 4));
    cr_assert(eq(u64, f.total, 520));
    pfc_functions_clear(&f);
}

Test(callgrind, each_fault_is_named_with_its_line)
{
    static const struct {
        const char *text, *says;
    } faults[] = {
        { "", "out.1:0: expected \"events: Ir\"" },
        { "version: 2\n", "out.1:1: expected version: 1" },
        { "events: Dr\n", "out.1:1: expected Ir as the first event" },
        { "events: Irr\n", "expected Ir as the first event" },
        { "fn=(1) main\n3 40\n", "out.1:2: expected \"events: Ir\" before the first cost" },
        { "events: Ir\n3 40\n", "out.1:2: expected fn= before the first cost" },
        { "events: Ir\nfn=(1) a\n3 forty\n", "out.1:3: expected a number, got \"forty\"" },
        { "events: Ir\nfn=(7)\n", "out.1:2: expected the number of a name that came before" },
        { "events: Ir\nfn=(200000) a\n", "number below 200000" },
        { "events: Ir\nfn=(1) a\ncalls=1 2\n", "expected cfn= before calls=" },
        { "events: Ir\nnonsense\n", "out.1:2: expected a line of callgrind's format" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(faults); i++) {
        pfc_functions f = { 0 };

        cr_assert(eq(int, read_text(faults[i].text, &f), PFC_EINVAL), "%s", faults[i].text);
        cr_assert(strstr(err.msg, faults[i].says) != NULL, "%s", err.msg);
        pfc_functions_clear(&f);
    }
}

Test(callgrind, a_number_stays_bound_to_its_first_name)
{
    pfc_functions f = { 0 };
    char line[64];

    /* Instructions and lines as positions: two numbers stand before the cost. */
    cr_assert(eq(int,
                 read_text("positions: instr line\nevents: Ir\nfn=(3) a\n0x10 3 40\n+4 * 2\n", &f),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(u64, f.total, 42));
    snprintf(line, sizeof(line), "%s", f.items[0].name);
    cr_assert(eq(str, line, "a"));
    pfc_functions_clear(&f);
}

static pfc_function item(const char *name, uint64_t self, uint64_t calls)
{
    return (pfc_function){ .name = pfc_strdup(name), .self = self, .calls = calls };
}

static void add(pfc_functions *f, pfc_function one)
{
    f->items = pfc_grow(f->items, f->len, &f->cap, sizeof(*f->items));
    f->items[f->len++] = one;
    f->total += one.self;
}

/* before 300, after 420: dot +150 (125 % of the difference), old -50, fresh +20. */
Test(functions, differences_are_listed_by_their_size_with_what_is_new_and_gone)
{
    pfc_functions a = { 0 };
    pfc_functions b = { 0 };
    pfc_function_delta d;
    char text[320];

    add(&a, item("dot", 200, 10));
    add(&a, item("old", 50, 1));
    add(&a, item("same", 50, 1));
    add(&b, item("dot", 350, 25));
    add(&b, item("fresh", 20, 2));
    add(&b, item("same", 50, 1));
    pfc_functions_sort(&a);
    pfc_functions_sort(&b);
    pfc_functions_compare(&a, &b, &d);
    cr_assert(eq(sz, d.len, 3));
    cr_assert(eq(u64, d.before, 300));
    cr_assert(eq(u64, d.after, 420));
    cr_assert(eq(str, d.changes[0].name, "dot"));
    cr_assert(eq(str, d.changes[1].name, "old"));
    cr_assert(eq(u64, d.changes[1].after, 0));
    cr_assert(eq(str, d.changes[2].name, "fresh"));
    cr_assert(eq(u64, d.changes[2].before, 0));
    cr_assert(pfc_function_sentence(&d, 0, text));
    cr_assert(eq(str, text,
                 "dot executes 350 instructions instead of 200 (+150, 125.0 % of the difference). "
                 "It is called 25 times instead of 10."));
    cr_assert(pfc_function_sentence(&d, 1, text));      /* 50 of 120 */
    cr_assert(not(pfc_function_sentence(&d, 2, text))); /* 20 of 120: below a fifth */
    cr_assert(not(pfc_function_sentence(&d, 3, text)));
    pfc_functions_clear(&a);
    pfc_functions_clear(&b);
}

Test(functions, the_largest_differences_are_kept_and_the_others_counted)
{
    pfc_functions a = { 0 };
    pfc_functions b = { 0 };
    pfc_function_delta d;
    char name[32];

    for (unsigned i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "f%02u", i);
        add(&a, item(name, 1000, 1));
        add(&b, item(name, 1000 + i, 1));
    }
    pfc_functions_compare(&a, &b, &d);
    cr_assert(eq(sz, d.len, PFC_FUNCTIONS_SHOWN));
    cr_assert(eq(sz, d.more, 49 - PFC_FUNCTIONS_SHOWN));
    cr_assert(eq(str, d.changes[0].name, "f49"));
    cr_assert(eq(str, d.changes[PFC_FUNCTIONS_SHOWN - 1].name, "f10"));
    pfc_functions_clear(&a);
    pfc_functions_clear(&b);
}
