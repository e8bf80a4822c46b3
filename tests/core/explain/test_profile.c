/* Profiles: numbers and texts by name, parts of the path, and what a check refuses. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/analysis/profile/profile.h"
#include "core/base/base.h"

#include "tests/check/check.h"

static pfc_profile p;
static pfc_err err;

static void set_up(void)
{
    pfc_profile_init(&p, "run-1");
    err = (pfc_err){ 0 };
}

static void tear_down(void)
{
    pfc_profile_clear(&p);
}

TestSuite(profile, .init = set_up, .fini = tear_down);

static void set(const char *name, double value)
{
    cr_assert(eq(int, pfc_profile_set(&p, name, value, &err), PFC_OK), "%s", err.msg);
}

Test(profile, numbers_are_found_whatever_the_order_they_came_in)
{
    static const char *const names[] = { "m", "b", "z", "a", "k", "c" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        set(names[i], (double)i);
    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        cr_assert(eq(dbl, pfc_profile_or(&p, names[i], -1), (double)i), "%s", names[i]);
    cr_assert(eq(dbl, pfc_profile_or(&p, "d", -1), -1.0));
    for (size_t i = 1; i < p.numbers_len; i++)
        cr_assert(lt(int, strcmp(p.numbers[i - 1].name, p.numbers[i].name), 0));
}

Test(profile, a_second_value_takes_the_place_of_the_first)
{
    set("cycles", 1);
    set("cycles", 2);
    cr_assert(eq(sz, p.numbers_len, 1));
    cr_assert(eq(dbl, pfc_profile_or(&p, "cycles", 0), 2.0));
    cr_assert(eq(int, pfc_profile_set_fact(&p, "chip", "a", &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set_fact(&p, "chip", "b", &err), PFC_OK));
    cr_assert(eq(sz, p.facts_len, 1));
    cr_assert(eq(str, (char *)pfc_profile_fact_of(&p, "chip"), "b"));
}

Test(profile, a_text_is_a_number_only_when_all_of_it_is_one)
{
    static const struct {
        const char *name, *text;
        bool number;
    } cases[] = {
        { "a", "12", true },           { "b", "-0.5", true },   { "c", "1e3", true },
        { "d", "12 cycles", false },   { "e", "", false },      { "f", "nan", false },
        { "g", "inf", false },         { "h", "0x10", false },  { "i", "e", false },
        { "j", "1e999", false },       { "k", "1.2.3", false }, { "stream_digest", "123", false },
        { "chip_hash", "1e5", false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        double value;

        cr_assert(eq(int, pfc_profile_set_text(&p, cases[i].name, cases[i].text, &err), PFC_OK));
        cr_assert(eq(int, pfc_profile_number_of(&p, cases[i].name, &value), cases[i].number), "%s",
                  cases[i].name);
        cr_assert(eq(int, pfc_profile_fact_of(&p, cases[i].name) != NULL, !cases[i].number), "%s",
                  cases[i].name);
    }
}

Test(profile, limits_are_kept)
{
    char name[PFC_PROFILE_NAME_BYTES + 2];

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    cr_assert(eq(int, pfc_profile_set(&p, name, 1, &err), PFC_EINVAL));
    name[PFC_PROFILE_NAME_BYTES] = '\0';
    set(name, 1);
    cr_assert(eq(int, pfc_profile_set(&p, "", 1, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_profile_set(&p, "nan", (double)NAN, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_profile_set(&p, "inf", (double)INFINITY, &err), PFC_EINVAL));
    for (int i = 1; i < PFC_PROFILE_MAX_NUMBERS; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        set(name, i);
    }
    cr_assert(eq(int, pfc_profile_set(&p, "one more", 1, &err), PFC_EINVAL));
    set("n1", 7); /* a name that is there is no further one */
    for (int i = 0; i < PFC_PROFILE_MAX_FACTS; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        cr_assert(eq(int, pfc_profile_set_fact(&p, name, "x", &err), PFC_OK));
    }
    cr_assert(eq(int, pfc_profile_set_fact(&p, "one more", "x", &err), PFC_EINVAL));
}

Test(profile, parts_of_the_path_are_read_from_their_names)
{
    pfc_profile_part parts[8];

    set("path.load a.memory", 30);
    set("path.matmul.compute", 60);
    set("path.v1.2.latency", 10); /* a phase may hold a dot */
    set("path.matmul.nonsense", 5);
    set("path..compute", 5);
    set("path.compute", 5);
    set("pathology.a.compute", 5);
    cr_assert(eq(sz, pfc_profile_parts(&p, parts, 8), 3));
    cr_assert(eq(str, parts[0].phase, "load a"));
    cr_assert(eq(int, parts[0].resource, PFC_RESOURCE_MEMORY));
    cr_assert(eq(dbl, parts[0].ticks, 30.0));
    cr_assert(eq(str, parts[2].phase, "v1.2"));
    cr_assert(eq(sz, pfc_profile_parts(&p, parts, 2), 2));
}

Test(profile, the_total_is_cycles_else_time)
{
    double total = 5;

    cr_assert(not(pfc_profile_total(&p, &total)));
    cr_assert(eq(dbl, total, 5.0));
    set("time_ns", 7);
    cr_assert(pfc_profile_total(&p, &total));
    cr_assert(eq(dbl, total, 7.0));
    set("cycles", 9);
    cr_assert(pfc_profile_total(&p, &total));
    cr_assert(eq(dbl, total, 9.0));
}

static void refused(const char *word)
{
    cr_assert(eq(int, pfc_profile_check(&p, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, word) != NULL, "%s: expected \"%s\"", err.msg, word);
    cr_assert(strstr(err.msg, "run-1") != NULL, "%s: expected the run", err.msg);
}

Test(profile, a_check_names_what_is_wrong)
{
    refused("cycles");
    set("cycles", 0);
    refused("more than 0");
    set("cycles", 100);
    cr_assert(eq(int, pfc_profile_check(&p, &err), PFC_OK));
    set("hbm_busy_cycles", -1);
    refused("hbm_busy_cycles");
    set("hbm_busy_cycles", 0);
    set("reading_bytes", -1);
    refused("reading_bytes");
    set("reading_bytes", 1);
    set("path.a.compute", 99.8);
    refused("critical path");
    set("path.a.compute", 99.95);
    cr_assert(eq(int, pfc_profile_check(&p, &err), PFC_OK));
}

Test(profile, the_sums_of_counters_are_checked)
{
    static const char *const names[] = { "vector_busy_cycles",        "vector_reduce_cycles",
                                         "vector_stall_dma_cycles",   "vector_stall_tensor_cycles",
                                         "vector_stall_chain_cycles", "vector_stall_bank_cycles",
                                         "vector_idle_cycles" };

    set("cycles", 70);
    set(names[0], 10);
    refused("vector_reduce_cycles is missing");
    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        set(names[i], 10);
    cr_assert(eq(int, pfc_profile_check(&p, &err), PFC_OK), "%s", err.msg);
    set("vector_idle_cycles", 11);
    refused("sum to 71");
}
