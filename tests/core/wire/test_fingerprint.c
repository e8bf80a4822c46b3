/* In what fingerprints differ, and that other words for the same are no difference. */
#include <stdlib.h>

#include "core/wire/fingerprint.h"

#include "tests/check/check.h"

/* The fingerprint of a command's run as an earlier version wrote it, and as it is written now. */
static const char brief[] =
    "{\"cpu\":\"CPU 9\",\"microcode\":\"0xa1\",\"cpus\":\"2\",\"arch\":\"x86_64\",\"kernel\":"
    "\"Linux 6.1\",\"libc\":\"glibc 2.36\",\"governor\":\"performance\",\"smt\":\"0\"}";
static const char full[] =
    "{\"cpu\":\"CPU 9 (family 25 model 17 stepping 1)\",\"cpus\":\"2\",\"topology\":\"1 package\","
    "\"microcode\":\"0xa1\",\"governor\":\"powersave, performance\",\"turbo\":\"off\",\"smt\":"
    "\"off\",\"kernel\":\"Linux 6.1 x86_64\",\"libc\":\"glibc 2.36\",\"aslr\":\"2\"}";

static pfc_labels parse(const char *text)
{
    pfc_labels out = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_labels_parse(text, &out, &err), PFC_OK), "%s", err.msg);
    return out;
}

/* The names, "," behind each; valid until the next call. */
static char *diff(const pfc_labels *a, const pfc_labels *b, pfc_fingerprint_view view)
{
    static char text[400];
    char **names;
    size_t len, at = 0;

    pfc_fingerprint_diff(a, b, view, &names, &len);
    text[0] = '\0';
    for (size_t i = 0; i < len; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s,", names[i]);
        free(names[i]);
    }
    free(names);
    return text;
}

/* Both ways round, for machine and values alike. */
static void expect(const pfc_labels *a, const pfc_labels *b, const char *names)
{
    cr_expect(eq(str, diff(a, b, PFC_FINGERPRINT_MACHINE), (char *)names));
    cr_expect(eq(str, diff(b, a, PFC_FINGERPRINT_MACHINE), (char *)names));
    cr_expect(eq(str, diff(a, b, PFC_FINGERPRINT_VALUES), (char *)names));
    cr_expect(eq(str, diff(b, a, PFC_FINGERPRINT_VALUES), (char *)names));
}

Test(fingerprint, other_words_for_the_same_machine_are_no_difference)
{
    pfc_labels a = parse(brief), b = parse(full);

    expect(&a, &b, "");
    pfc_labels_set(&a, "microcode", PFC_NOT_AVAILABLE); /* it looked in fewer places */
    pfc_labels_set(&a, "smt", "1");
    pfc_labels_set(&b, "smt", "on");
    expect(&a, &b, "");
    pfc_labels_clear(&a);
    pfc_labels_clear(&b);
}

Test(fingerprint, what_contradicts_the_brief_words_is_a_difference)
{
    static const char *const changes[][2] = {
        { "cpu", "CPU 90 (family 25 model 17 stepping 1)" },
        { "cpu", "CPU 9"
                 "x" },
        { "microcode", "0xa2" },
        { "cpus", "4" },
        { "kernel", "Linux 6.10 x86_64" },
        { "kernel", "Linux 6.1 aarch64" },
        { "kernel", "Linux 6.1 PREEMPT x86_64" },
        { "libc", "glibc 2.37" },
        { "governor", "powersave" },
        { "governor", "performance_more, powersave" },
        { "smt", "on" },
        { "smt", PFC_NOT_AVAILABLE },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(changes); i++) {
        pfc_labels a = parse(brief), b = parse(full);
        char *name = pfc_format("%s,", changes[i][0]);

        pfc_labels_set(&b, changes[i][0], changes[i][1]);
        expect(&a, &b, name);
        free(name);
        pfc_labels_clear(&a);
        pfc_labels_clear(&b);
    }
}

/* One entry more or less and it is not that description: then every word counts, and what is
 * absent. */
Test(fingerprint, brief_words_are_known_by_their_entries_alone)
{
    pfc_labels a = parse(brief), b = parse(brief), other = parse(full);

    pfc_labels_set(&b, "cpu", "CPU 9 (family 25 model 17 stepping 1)");
    pfc_labels_set(&b, "smt", "off");
    expect(&a, &b, "cpu,smt,");
    pfc_labels_set(&a, "board", "7");
    cr_expect(eq(str, diff(&a, &other, PFC_FINGERPRINT_MACHINE),
                 "cpu,arch,kernel,governor,smt,board,topology,turbo,aslr,"));
    pfc_labels_clear(&a);
    pfc_labels_clear(&b);
    pfc_labels_clear(&other);
}

Test(fingerprint, an_entry_that_one_lacks_is_a_difference_but_of_what_measured_none_of_the_machines)
{
    pfc_labels a = parse(full), b = parse(full), none = { 0 };

    pfc_labels_set(&b, "compiler", "gcc 12");
    pfc_labels_set(&b, "suite", "abc");
    cr_expect(eq(str, diff(&a, &b, PFC_FINGERPRINT_MACHINE), ""));
    cr_expect(eq(str, diff(&b, &a, PFC_FINGERPRINT_MACHINE), ""));
    cr_expect(eq(str, diff(&a, &b, PFC_FINGERPRINT_VALUES), "compiler,suite,"));
    pfc_labels_set(&a, "compiler", "gcc 13");
    cr_expect(eq(str, diff(&a, &b, PFC_FINGERPRINT_MACHINE), "compiler,"));
    pfc_labels_set(&b, "gpu_driver", "550");
    cr_expect(eq(str, diff(&a, &b, PFC_FINGERPRINT_MACHINE), "compiler,gpu_driver,"));
    cr_expect(eq(str, diff(&none, &none, PFC_FINGERPRINT_VALUES), ""));
    pfc_labels_clear(&a);
    pfc_labels_clear(&b);
}
