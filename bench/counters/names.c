/* Events by their names: a small table of the kernel's own, and libpfm4 for the CPU's. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "bench/counters/counters.h"

#ifdef PFC_HAVE_PFM
#include <perfmon/pfmlib_perf_event.h>
#endif

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} own[] = {
    { "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
    { "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
    { "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
    { "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
    { "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
    { "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
    { "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
    { "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
    { "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
    { "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
};

static void take_own(size_t i, pfc_counter_event *out)
{
    *out = (pfc_counter_event){ .type = own[i].type,
                                .config = own[i].config,
                                .kernel = own[i].type == PERF_TYPE_SOFTWARE };
    snprintf(out->name, sizeof(out->name), "%s", own[i].name);
}

void pfc_counter_defaults(pfc_counter_set *out)
{
    *out = (pfc_counter_set){ .len = PFC_ARRAY_LEN(own) };
    for (size_t i = 0; i < out->len; i++)
        take_own(i, &out->events[i]);
}

#ifdef PFC_HAVE_PFM
/* For an unknown CPU the library reports "not supported" but still knows the kernel's events, so
 * this is not an error. */
static pfc_code ask_pfm(const char *name, pfc_counter_event *out, pfc_err *err)
{
    struct perf_event_attr attr;
    pfm_perf_encode_arg_t arg;
    int status = pfm_initialize();

    memset(&attr, 0, sizeof(attr));
    attr.size = sizeof(attr);
    memset(&arg, 0, sizeof(arg));
    arg.attr = &attr;
    arg.size = sizeof(arg);
    if (status == PFM_SUCCESS)
        status = pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
    if (status != PFM_SUCCESS)
        return pfc_err_set(err, PFC_EINVAL,
                           "counter '%.64s': libpfm4 says: %s (--counters list shows the names)",
                           name, pfm_strerror(status));
    *out = (pfc_counter_event){
        .type = attr.type, .config = attr.config, .config1 = attr.config1, .config2 = attr.config2
    };
    snprintf(out->name, sizeof(out->name), "%s", name);
    return PFC_OK;
}

static void list_pfm(FILE *out)
{
    if (pfm_initialize() != PFM_SUCCESS)
        return;
    for (int p = 0; p < PFM_PMU_MAX; p++) {
        pfm_pmu_info_t pmu = { .size = sizeof(pmu) };
        pfm_event_info_t event = { .size = sizeof(event) };

        if (pfm_get_pmu_info((pfm_pmu_t)p, &pmu) != PFM_SUCCESS || !pmu.is_present)
            continue;
        for (int e = pmu.first_event; e != -1; e = pfm_get_event_next(e)) {
            if (pfm_get_event_info(e, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS)
                fprintf(out, "%s::%s\n", pmu.name, event.name);
        }
    }
}
#else
static pfc_code ask_pfm(const char *name, pfc_counter_event *out, pfc_err *err)
{
    (void)out;
    return pfc_err_set(err, PFC_EINVAL,
                       "counter '%.64s': this build knows a few names only (--counters list shows "
                       "them); with libpfm4-dev installed it would know the CPU's, too",
                       name);
}

static void list_pfm(FILE *out)
{
    (void)out;
}
#endif

void pfc_counter_list(FILE *out)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(own); i++)
        fprintf(out, "%s\n", own[i].name);
    list_pfm(out);
}

static pfc_code find(const char *name, pfc_counter_event *out, pfc_err *err)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(own); i++) {
        if (strcmp(own[i].name, name) != 0)
            continue;
        take_own(i, out);
        return PFC_OK;
    }
    return ask_pfm(name, out, err);
}

static pfc_code add(const char *name, size_t len, pfc_counter_set *set, pfc_err *err)
{
    char one[PFC_COUNTER_NAME_MAX];

    if (len == 0 || len >= sizeof(one))
        return pfc_err_set(
            err, PFC_EINVAL,
            "counters: expected names of 1 to %zu characters with commas between them",
            sizeof(one) - 1);
    memcpy(one, name, len);
    one[len] = '\0';
    for (size_t i = 0; i < set->len; i++) {
        if (strcmp(set->events[i].name, one) == 0)
            return pfc_err_set(err, PFC_EINVAL, "counter '%s' is given twice", one);
    }
    if (set->len == PFC_COUNTERS_MAX)
        return pfc_err_set(err, PFC_EINVAL, "counters: expected at most %d", PFC_COUNTERS_MAX);
    return find(one, &set->events[set->len++], err);
}

pfc_code pfc_counter_parse(const char *names, pfc_counter_set *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (!names || !*names) {
        pfc_counter_defaults(out);
        return PFC_OK;
    }
    if (strlen(names) >= PFC_COUNTER_LIST_MAX)
        return pfc_err_set(err, PFC_EINVAL, "counters: expected less than %d characters",
                           PFC_COUNTER_LIST_MAX);
    *out = (pfc_counter_set){ .len = 0 };
    for (const char *at = names; at && !code;) {
        const char *comma = strchr(at, ',');

        code = add(at, comma ? (size_t)(comma - at) : strlen(at), out, err);
        at = comma ? comma + 1 : NULL;
    }
    return code;
}
