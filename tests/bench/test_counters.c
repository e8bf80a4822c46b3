/* Counters on made-up system calls, and on this kernel whatever it offers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/counters/counters.h"

#include "tests/check/check.h"

static uint64_t reading[3];
static int opened, closed, begun, ended;
static bool hardware;

/* Type 0 is PERF_TYPE_HARDWARE. */
static int fake_open(void *arg, const pfc_counter_event *event)
{
    (void)arg;
    return event->type == 0 && !hardware ? -1 : 100 + opened++;
}

static bool fake_read(void *arg, int fd, uint64_t out[3])
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        out[i] = reading[i];
    return fd >= 100;
}

static void fake_enable(void *arg, int fd, bool on)
{
    (void)arg;
    cr_assert(ge(int, fd, 100)); /* one that could be opened */
    begun += on;
    ended += !on;
}

static void fake_close(void *arg, int fd)
{
    (void)arg;
    cr_assert(ge(int, fd, 100));
    closed++;
}

static const pfc_counter_sys fake = {
    .open = fake_open, .read = fake_read, .enable = fake_enable, .close = fake_close
};

static pfc_counts count(bool with_hardware, uint64_t value, uint64_t enabled, uint64_t running)
{
    pfc_counter_set set;
    pfc_counters c;
    pfc_counts n;

    pfc_counter_defaults(&set);
    hardware = with_hardware;
    reading[0] = value;
    reading[1] = enabled;
    reading[2] = running;
    pfc_counters_open(&c, &set, &fake);
    begun = ended = 0;
    pfc_counters_start(&c);
    cr_assert(eq(int, ended, 0));
    pfc_counters_stop(&c, &n);
    pfc_counters_close(&c);
    for (size_t i = 0; i < set.len; i++) {
        begun -= with_hardware || set.events[i].type != 0;
        ended -= with_hardware || set.events[i].type != 0;
        cr_assert(eq(int, c.fd[i], -1));
    }
    cr_assert(eq(int, begun, 0)); /* each once that could be opened, and no other */
    cr_assert(eq(int, ended, 0));
    return n;
}

Test(counters, events_that_took_turns_are_scaled_by_the_time_they_ran)
{
    const pfc_counts n = count(true, 1000, 400, 100);

    cr_assert(epsilon_eq(dbl, n.items[0].share, 0.25, 1e-12));
    cr_assert(epsilon_eq(dbl, n.items[0].value, 4000, 1e-9));
    cr_assert(eq(int, closed, opened));
}

Test(counters, what_the_machine_does_not_count_is_absent_and_not_zero)
{
    const pfc_counts n = count(false, 0, 400, 400);

    cr_assert(eq(sz, n.len, 10));
    for (size_t i = 0; i < n.len; i++)
        cr_assert(gt(sz, strlen(n.items[i].name), 0));
    cr_assert(epsilon_eq(dbl, n.items[0].share, 0, 0)); /* cycles: hardware */
    cr_assert(epsilon_eq(dbl, n.items[n.len - 1].share, 1, 0));
    cr_assert(epsilon_eq(dbl, n.items[n.len - 1].value, 0, 0)); /* counted, and none came */
}

Test(counters, a_count_that_hardly_ran_or_never_was_enabled_is_absent)
{
    cr_assert(epsilon_eq(dbl, count(true, 10, 1000, 50).items[0].share, 0, 0));
    cr_assert(epsilon_eq(dbl, count(true, 10, 0, 0).items[0].share, 0, 0));
}

Test(counters, the_kernel_answers_or_says_it_cannot)
{
    pfc_counter_set set;
    pfc_counters c;
    pfc_counts n;
    volatile double x = 1;

    pfc_counter_defaults(&set);
    pfc_counters_open(&c, &set, NULL);
    pfc_counters_start(&c);
    for (int i = 0; i < 1000; i++)
        x = x * 1.0001;
    pfc_counters_stop(&c, &n);
    pfc_counters_close(&c);
    for (size_t i = 0; i < n.len; i++) {
        cr_assert(n.items[i].share >= 0 && n.items[i].share <= 1);
        cr_assert(eq(int, c.fd[i], -1));
        if (n.items[i].share > 0)
            cr_assert(ge(dbl, n.items[i].value, 0));
    }
}

static void touch(char *pages, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        pages[4096 * i] = 1;
}

/* Software counts work on virtual machines, too; 50 pages are touched for the first time
 * between. */
Test(counters, only_what_happens_between_start_and_stop_counts)
{
    enum { PAGES = 150 };
    char *pages =
        mmap(NULL, 4096 * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pfc_counter_set set;
    pfc_counters c;
    pfc_counts n;
    pfc_err err = { 0 };

    cr_assert(ne(ptr, pages, MAP_FAILED));
    (void)madvise(pages, 4096 * PAGES, MADV_NOHUGEPAGE);
    cr_assert(eq(int, pfc_counter_parse("page-faults", &set, &err), PFC_OK));
    pfc_counters_open(&c, &set, NULL);
    if (c.fd[0] < 0)
        cr_skip_test("this kernel counts no page faults for this user");
    touch(pages, 0, 50);
    pfc_counters_start(&c);
    touch(pages, 50, 100);
    pfc_counters_stop(&c, &n);
    touch(pages, 100, PAGES);
    cr_assert(n.items[0].value >= 50 && n.items[0].value < 100, "%g", n.items[0].value);
    cr_assert(epsilon_eq(dbl, n.items[0].share, 1, 1e-9));
    pfc_counters_start(&c); /* from zero again */
    pfc_counters_stop(&c, &n);
    cr_assert(lt(dbl, n.items[0].value, 50));
    pfc_counters_close(&c);
    munmap(pages, 4096 * PAGES);
}

Test(counters, a_share_of_more_than_all_is_all)
{
    cr_assert(eq(dbl, count(true, 1000, 100, 101).items[0].share, 1));
    cr_assert(eq(dbl, count(true, 1000, 100, 101).items[0].value, 1000));
    cr_assert(eq(dbl, count(true, 1000, 100, 100).items[0].share, 1));
}

Test(counters, nothing_is_scaled_by_more_than_ten)
{
    const pfc_counts n = count(true, 1000, 1000, 100);

    cr_assert(epsilon_eq(dbl, n.items[0].value, 10000, 1e-6)); /* a tenth was seen: the bound */
    cr_assert(epsilon_eq(dbl, count(true, 1000, 1000, 99).items[0].share, 0, 0));
}

Test(counters, events_are_named)
{
    pfc_counter_set set;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_counter_parse(NULL, &set, &err), PFC_OK));
    cr_assert(eq(sz, set.len, 10));
    cr_assert(eq(int, pfc_counter_parse("page-faults,cycles", &set, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, set.len, 2));
    cr_assert(eq(str, set.events[0].name, "page-faults"));
    cr_assert(eq(u32, set.events[0].type, 1)); /* PERF_TYPE_SOFTWARE */
    cr_assert(set.events[0].kernel);
    cr_assert(eq(u64, set.events[1].config, 0)); /* PERF_COUNT_HW_CPU_CYCLES */
    cr_assert(not(set.events[1].kernel));
}

Test(counters, lists_that_say_nothing_are_refused)
{
    static const char *const bad[] = {
        "cycles,", ",cycles", "cycles,cycles", "no-such-event-anywhere",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    };
    pfc_counter_set set;

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_err err = { 0 };
        cr_assert(eq(int, pfc_counter_parse(bad[i], &set, &err), PFC_EINVAL), "%s", bad[i]);
        cr_assert(gt(sz, strlen(err.msg), 20));
    }
}

#ifdef PFC_HAVE_PFM
/* The ten own names and those of the kernel's PERF_TYPE_HW_CACHE events are enough. */
Test(counters, a_list_holds_as_many_events_as_its_limit_and_no_more)
{
    static const char *const caches[] = {
        "L1-DCACHE", "L1-ICACHE", "LLC", "DTLB", "ITLB", "BRANCH"
    };
    static const char *const kinds[] = { "LOADS",        "LOAD-MISSES", "STORES",
                                         "STORE-MISSES", "PREFETCHES",  "PREFETCH-MISSES" };
    pfc_counter_set set = { 0 };
    pfc_err err = { 0 };
    char text[PFC_COUNTER_LIST_MAX] =
        "cycles,instructions,cache-references,cache-misses,branches,branch-misses,task-clock,"
        "page-faults,context-switches,cpu-migrations";
    size_t known = 10;

    for (size_t i = 0; i < PFC_ARRAY_LEN(caches) * PFC_ARRAY_LEN(kinds); i++) {
        char one[PFC_COUNTER_LIST_MAX], longer[2 * PFC_COUNTER_LIST_MAX];

        snprintf(one, sizeof(one), "perf::%s-%s", caches[i / PFC_ARRAY_LEN(kinds)],
                 kinds[i % PFC_ARRAY_LEN(kinds)]);
        if (pfc_counter_parse(one, &set, &err))
            continue; /* not every pair exists */
        snprintf(longer, sizeof(longer), "%s,%s", text, one);
        if (strlen(longer) >= PFC_COUNTER_LIST_MAX)
            cr_skip_test("the names are longer than a list: %zu fit", known);
        known++;
        cr_assert(
            eq(int, pfc_counter_parse(longer, &set, &err) == PFC_OK, known <= PFC_COUNTERS_MAX),
            "%zu: %s", known, err.msg);
        if (known > PFC_COUNTERS_MAX) {
            cr_assert(eq(str, err.msg, "counters: expected at most 24"));
            return;
        }
        strcpy(text, longer);
    }
    cr_skip_test("libpfm4 knows only %zu of the names", known);
}

/* Every processor has the kernel's generic events under libpfm4's name; the encoding is the ABI's.
 */
Test(counters, libpfm4_names_are_encoded)
{
    pfc_counter_set set;
    pfc_err err = { 0 };

    cr_assert(
        eq(int,
           pfc_counter_parse("perf::PERF_COUNT_SW_PAGE_FAULTS_MIN,perf::INSTRUCTIONS", &set, &err),
           PFC_OK),
        "%s", err.msg);
    cr_assert(eq(u32, set.events[0].type, 1));
    cr_assert(eq(u64, set.events[0].config, 5)); /* PERF_COUNT_SW_PAGE_FAULTS_MIN */
    cr_assert(eq(u32, set.events[1].type, 0));
    cr_assert(eq(u64, set.events[1].config, 1)); /* PERF_COUNT_HW_INSTRUCTIONS */
    cr_assert(eq(int, pfc_counter_parse("cycles,no_such_event", &set, &err), PFC_EINVAL));
    cr_assert(eq(ptr, strstr(err.msg, "counter 'no_such_event': libpfm4 says: "), err.msg));
}
#endif

/* Different names that no machine lacks: those of the kernel, in forms of their own. */
Test(counters, a_list_has_at_most_24_names_of_511_bytes)
{
    pfc_counter_set set;
    char text[PFC_COUNTER_LIST_MAX + 1];
    pfc_err err = { 0 };

    memset(text, ',', sizeof(text));
    memcpy(text, "cycles", 6);
    text[PFC_COUNTER_LIST_MAX] = '\0';
    cr_assert(eq(int, pfc_counter_parse(text, &set, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "less than 512 characters"), NULL), "%s", err.msg);
    text[PFC_COUNTER_LIST_MAX - 1] = '\0'; /* its empty names are wrong, not its length */
    cr_assert(eq(int, pfc_counter_parse(text, &set, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "names of 1 to 79"), NULL), "%s", err.msg);
}

Test(counters, a_name_has_at_most_79_bytes)
{
    pfc_counter_set set;
    char name[PFC_COUNTER_NAME_MAX + 1];
    pfc_err err = { 0 };

    memset(name, 'a', sizeof(name));
    name[PFC_COUNTER_NAME_MAX] = '\0';
    cr_assert(eq(int, pfc_counter_parse(name, &set, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "names of 1 to 79"), NULL), "%s", err.msg);
    name[PFC_COUNTER_NAME_MAX - 1] = '\0';
    cr_assert(eq(int, pfc_counter_parse(name, &set, &err), PFC_EINVAL));
    cr_assert(eq(ptr, strstr(err.msg, "names of 1 to 79"), NULL), "%s", err.msg);
}

Test(counters, what_is_listed_can_be_named)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    char *rest = NULL;
    size_t own = 0, tables = 0;

    pfc_counter_list(out);
    (void)fclose(out);
    cr_assert(ne(ptr, strstr(text, "page-faults\n"), NULL));
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *colons = strstr(line, "::");
        pfc_counter_set set;
        pfc_err err = { 0 };

        cr_assert(eq(sz, strcspn(line, " %\t"), strlen(line)), "%s", line);
        if (!colons) {
            cr_assert(eq(int, pfc_counter_parse(line, &set, &err), PFC_OK), "%s: %s", line,
                      err.msg);
            cr_assert(eq(str, set.events[0].name, line));
            own++;
            continue;
        }
        cr_assert(colons > line && colons[2]);
        tables++;
    }
    cr_assert(ge(sz, own, 10)); /* those that are counted by default are among them */
#ifdef PFC_HAVE_PFM
    cr_assert(gt(sz, tables, 10)); /* libpfm4 has the kernel's own events on every machine */
#endif
    free(text);
}
