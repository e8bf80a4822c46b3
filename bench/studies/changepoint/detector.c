/* The product's detector on one series, and the clock that its speed is read from. */
#include <stdio.h>
#include <time.h>

#include "bench/studies/changepoint/bench.h"

int64_t pfc_bench_cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool pfc_bench_detect_one(const pfc_labelled *s, size_t n, pfc_detection *out)
{
    pfc_detect_opts opts = { .higher_is_better = s->higher_is_better };
    pfc_err err = { 0 };
    if (pfc_stats_detect(s->points, n, &opts, out, &err) == PFC_OK)
        return true;
    fprintf(stderr, "perfci-bench-detect: %s: %s\n", s->id, err.msg);
    return false;
}

bool pfc_bench_detect_answer(const pfc_labelled *s, pfc_answer *out)
{
    pfc_detection found;
    if (!pfc_bench_detect_one(s, s->len, &found))
        return false;
    out->changes = pfc_calloc(found.changes_len + 1, sizeof *out->changes);
    out->len = found.changes_len;
    for (size_t i = 0; i < found.changes_len; i++)
        out->changes[i] = found.changes[i].index;
    pfc_detection_clear(&found);
    return true;
}
