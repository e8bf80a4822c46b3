/* Tuning a made-up host: what changes, what is reported, and that all of it is restored. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/machine/tune/tune.h"
#include "core/base/fs.h"

#include "tests/check/check.h"

#define CPU   "/sys/devices/system/cpu"
#define TURBO CPU "/intel_pstate/no_turbo"
#define SMT   CPU "/smt/control"
#define ASLR  "/proc/sys/kernel/randomize_va_space"

static char *root;
static FILE *say;
static pfc_err err;

static void put(const char *path, const char *text)
{
    char *full = pfc_format("%s%s", root, path);
    char *dir = pfc_strndup(full, (size_t)(strrchr(full, '/') - full));

    cr_assert(eq(int, pfc_fs_mkdirs(dir, 0700, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_write_atomic(full, text, strlen(text), 0600, &err), PFC_OK));
    free(dir);
    free(full);
}

static bool is(const char *path, const char *want)
{
    char *full = pfc_format("%s%s", root, path);
    char *text = NULL;
    size_t len = 0;
    bool same;

    cr_assert(eq(int, pfc_fs_read(full, 4096, &text, &len, &err), PFC_OK), "%s", err.msg);
    text[strcspn(text, "\n")] = '\0';
    same = strcmp(text, want) == 0;
    free(text);
    free(full);
    return same;
}

static bool exists(const char *path)
{
    char *full = pfc_format("%s%s", root, path);
    const bool there = pfc_fs_exists(full);

    free(full);
    return there;
}

static void setup(void)
{
    cr_assert(eq(int, pfc_fs_temp_dir("tune", &root, NULL), PFC_OK));
    say = tmpfile();
    put(CPU "/cpu0/cpufreq/scaling_governor", "powersave\n");
    put(CPU "/cpu1/cpufreq/scaling_governor", "schedutil\n");
    put(TURBO, "0\n");
    put(ASLR, "2\n");
    put(SMT, "on\n");
    put("/run/x", "");
}

static void teardown(void)
{
    fclose(say);
    cr_assert(eq(int, pfc_fs_remove_tree(root, NULL), PFC_OK));
    free(root);
}

static bool said(const char *want)
{
    char text[8192] = "";
    size_t n;

    rewind(say);
    n = fread(text, 1, sizeof(text) - 1, say);
    text[n] = '\0';
    return strstr(text, want) != NULL;
}

TestSuite(tune, .init = setup, .fini = teardown);

Test(tune, every_change_is_reported_and_undone_exactly)
{
    cr_assert(eq(int, pfc_tune_host(root, say, &err), PFC_OK), "%s", err.msg);
    cr_assert(is(CPU "/cpu0/cpufreq/scaling_governor", "performance"));
    cr_assert(is(CPU "/cpu1/cpufreq/scaling_governor", "performance"));
    cr_assert(is(TURBO, "1"));
    cr_assert(is(ASLR, "0"));
    cr_assert(is(SMT, "off"));
    cr_assert(said("powersave -> performance"));
    cr_assert(said(TURBO ": 0 -> 1"));
    cr_assert(exists(PFC_TUNE_JOURNAL));
    cr_assert(not(exists("/proc/sys/kernel/numa_balancing"))); /* was not there: not made */

    cr_assert(eq(int, pfc_untune_host(root, say, &err), PFC_OK), "%s", err.msg);
    cr_assert(is(CPU "/cpu0/cpufreq/scaling_governor", "powersave"));
    cr_assert(is(CPU "/cpu1/cpufreq/scaling_governor", "schedutil"));
    cr_assert(is(TURBO, "0"));
    cr_assert(is(ASLR, "2"));
    cr_assert(is(SMT, "on"));
    cr_assert(not(exists(PFC_TUNE_JOURNAL)));
}

Test(tune, threads_that_cannot_be_switched_off_are_left_alone)
{
    put(SMT, "notsupported\n");
    cr_assert(eq(int, pfc_tune_host(root, say, &err), PFC_OK), "%s", err.msg);
    cr_assert(is(SMT, "notsupported"));
    cr_assert(not(said("SMT")));
    cr_assert(eq(int, pfc_untune_host(root, say, &err), PFC_OK), "%s", err.msg);
    cr_assert(is(SMT, "notsupported"));
}

Test(tune, twice_is_refused_so_that_the_first_state_is_not_lost)
{
    cr_assert(eq(int, pfc_tune_host(root, say, &err), PFC_OK));
    cr_assert(eq(int, pfc_tune_host(root, say, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_untune_host(root, say, &err), PFC_OK));
    cr_assert(eq(int, pfc_untune_host(root, say, &err), PFC_ENOTFOUND));
    cr_assert(is(ASLR, "2"));
}

Test(tune, a_host_that_is_tuned_already_by_others_is_left_alone)
{
    put(CPU "/cpu0/cpufreq/scaling_governor", "performance\n");
    put(CPU "/cpu1/cpufreq/scaling_governor", "performance\n");
    put(TURBO, "1\n");
    put(ASLR, "0\n");
    put(SMT, "off\n");
    cr_assert(eq(int, pfc_tune_host(root, say, &err), PFC_OK));
    cr_assert(said("nothing to change"));
    cr_assert(not(exists(PFC_TUNE_JOURNAL)));
}

/* A file that went away in between: the rest comes back, and the journal keeps what is to do. */
Test(tune, what_cannot_be_put_back_stays_in_the_journal)
{
    char *full = pfc_format("%s%s", root, TURBO);

    cr_assert(eq(int, pfc_tune_host(root, say, &err), PFC_OK));
    cr_assert(eq(int, unlink(full), 0));
    cr_assert(eq(int, pfc_untune_host(root, say, &err), PFC_EIO));
    cr_assert(is(ASLR, "2"));
    cr_assert(exists(PFC_TUNE_JOURNAL));
    put(TURBO, "1\n");
    cr_assert(eq(int, pfc_untune_host(root, say, &err), PFC_OK), "%s", err.msg);
    cr_assert(is(TURBO, "0"));
    cr_assert(not(exists(PFC_TUNE_JOURNAL)));
    free(full);
}

Test(tune, without_a_place_for_the_journal_nothing_is_changed)
{
    char *run = pfc_format("%s/run", root);

    cr_assert(eq(int, pfc_fs_remove_tree(run, &err), PFC_OK));
    cr_assert(ne(int, pfc_tune_host(root, say, &err), PFC_OK));
    cr_assert(is(ASLR, "2"));
    cr_assert(is(TURBO, "0"));
    free(run);
}

#define IRQ(n) "/proc/irq/" #n "/smp_affinity_list"

/* Two cores of two threads each, 0 and 2, 1 and 3: 1 stays when SMT goes and is the last one, so 1
 * and 3 are kept free. */
Test(tune, interrupts_leave_the_core_that_measures_and_come_back)
{
    put(CPU "/online", "0-3\n");
    put(CPU "/cpu1/topology/thread_siblings_list", "1,3\n");
    put(CPU "/cpu2/topology/thread_siblings_list", "0,2\n");
    put(CPU "/cpu3/topology/thread_siblings_list", "1,3\n");
    put(IRQ(24), "0-3\n");
    put(IRQ(25), "3\n");
    put(IRQ(26), "2\n");
    put(IRQ(27), "garbage\n");
    cr_assert(eq(int, pfc_tune_host(root, say, &err), PFC_OK), "%s", err.msg);
    cr_assert(is(IRQ(24), "0,2"));
    cr_assert(is(IRQ(25), "0,2"));
    cr_assert(is(IRQ(26), "2"));
    cr_assert(is(IRQ(27), "garbage"));
    cr_assert(said("interrupt elsewhere: " IRQ(24) ": 0-3 -> 0,2"));
    cr_assert(not(said("irqbalance")));
    cr_assert(eq(int, pfc_untune_host(root, say, &err), PFC_OK), "%s", err.msg);
    cr_assert(is(IRQ(24), "0-3"));
    cr_assert(is(IRQ(25), "3"));
    cr_assert(is(IRQ(26), "2"));
    cr_assert(is(SMT, "on"));
}

Test(tune, with_one_core_interrupts_stay_and_a_balancer_is_named)
{
    put(CPU "/online", "0-1\n");
    put(CPU "/cpu0/topology/thread_siblings_list", "0-1\n");
    put(CPU "/cpu1/topology/thread_siblings_list", "0-1\n");
    put(IRQ(24), "0-1\n");
    put("/run/irqbalance/x", "");
    cr_assert(eq(int, pfc_tune_host(root, say, &err), PFC_OK), "%s", err.msg);
    cr_assert(is(IRQ(24), "0-1"));
    cr_assert(said("irqbalance"));
}

/* A process of the test's own, so that the rights are given up for good. */
Test(tune, this_host_is_changed_by_root_alone)
{
    if (geteuid() == 0)
        cr_assert(eq(int, seteuid(65534), 0));
    cr_assert(eq(int, pfc_tune_host(NULL, say, &err), PFC_EDENIED));
    cr_assert(eq(str, err.msg, "changing the host needs root"));
    cr_assert(eq(int, pfc_untune_host("", say, &err), PFC_EDENIED));
    if (getuid() == 0)
        cr_assert(eq(int, seteuid(0), 0)); /* the folder is root's */
}
