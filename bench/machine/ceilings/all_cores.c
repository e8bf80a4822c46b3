/*
 * The ceilings of all CPUs together. Threads stay for the whole measurement, one pinned to each
 * CPU; every round begins for all at once, and its rate is all work over the time from the first
 * start to the last end. The best round is the ceiling.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/machine/ceilings/pass.h"
#include "core/base/clock.h"

/* long enough that a late start does not count, short enough to fit in a scheduler's slice */
#define ROUND_NS    300000.0
#define MAX_THREADS 512
#define SPINS                                                                                      \
    2000 /* before the CPU is given to others: on a busy machine they are what we wait for */
#define MIN_ROUNDS 3

typedef struct team team;

typedef struct member {
    team *team;
    pthread_t thread;
    int cpu;
    char *buffer;
    size_t at;                     /* in the buffer */
    double start_ns, end_ns, work; /* of the round */
} member;

struct team {
    const pfc_loops *loops;
    member *members;
    atomic_size_t len; /* that come to the barrier */
    atomic_size_t arrived;
    atomic_size_t generation;
    atomic_bool stop;
    /* of the round; written by the first member between two barriers */
    pfc_pass pass; /* its buffer is each member's own */
    size_t bytes;
    uint64_t times;
};

/* A barrier with generations: the last thread that arrives releases all. */
static void wait_for_all(team *t)
{
    const size_t generation = atomic_load(&t->generation);

    if (atomic_fetch_add(&t->arrived, 1) + 1 == t->len) {
        atomic_store(&t->arrived, 0);
        atomic_fetch_add(&t->generation, 1);
        return;
    }
    for (int spins = 0; atomic_load(&t->generation) == generation; spins++) {
        if (spins >= SPINS)
            sched_yield();
    }
}

static void one_round(member *m)
{
    pfc_pass pass = m->team->pass;

    pass.buffer = m->buffer;
    pass.at = &m->at;
    m->start_ns = (double)pfc_clock_ns();
    m->work = pfc_pass_run(&pass, m->team->times);
    m->end_ns = (double)pfc_clock_ns();
}

static void *follow(void *arg)
{
    member *m = arg;

    /* First touched here, so that its pages lie with this CPU's memory. */
    m->buffer = pfc_buffer_get(m->team->bytes);
    wait_for_all(m->team);
    for (;;) {
        wait_for_all(m->team);
        if (atomic_load(&m->team->stop))
            return NULL;
        one_round(m);
        wait_for_all(m->team);
    }
}

static double rate_of(const team *t)
{
    double first = t->members[0].start_ns;
    double last = t->members[0].end_ns;
    double work = 0.0;

    for (size_t i = 0; i < t->len; i++) {
        first = fmin(first, t->members[i].start_ns);
        last = fmax(last, t->members[i].end_ns);
        work += t->members[i].work;
    }
    return work / fmax(last - first, 1.0);
}

static double best(team *t, double seconds)
{
    const int64_t start = pfc_clock_ns();
    double rate = 0.0;
    int rounds = 0;

    t->pass.buffer = t->members[0].buffer;
    t->pass.at = &t->members[0].at;
    for (size_t i = 0; i < t->len; i++)
        t->members[i].at = 0;
    t->times = pfc_pass_times(&t->pass, ROUND_NS);
    do {
        wait_for_all(t);
        one_round(&t->members[0]);
        wait_for_all(t);
        rate = fmax(rate, rate_of(t));
    } while (++rounds < MIN_ROUNDS || (double)(pfc_clock_ns() - start) * 1e-9 < seconds);
    return rate;
}

/* The first member is this thread; the others follow it. Everybody who was started has a buffer, or
 * knows that there is none, when this comes back. */
static bool start(team *t)
{
    const size_t wanted = t->len;
    size_t started = 1;
    bool ready;

    while (started < wanted) {
        member *m = &t->members[started];
        cpu_set_t set;
        pthread_attr_t attr;
        int rc;

        CPU_ZERO(&set);
        CPU_SET((size_t)m->cpu, &set);
        pthread_attr_init(&attr);
        (void)pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
        rc = pthread_create(&m->thread, &attr, follow, m);
        pthread_attr_destroy(&attr);
        if (rc != 0)
            break;
        started++;
    }
    ready = started == wanted;
    /* threads at the barrier must not wait for those that were not started */
    atomic_store(&t->len, started);
    t->members[0].buffer = pfc_buffer_get(t->bytes);
    wait_for_all(t);
    for (size_t i = 0; i < started; i++)
        ready = ready && t->members[i].buffer;
    return ready;
}

static void finish(team *t)
{
    atomic_store(&t->stop, true);
    wait_for_all(t);
    for (size_t i = 1; i < t->len; i++)
        pthread_join(t->members[i].thread, NULL);
}

/* A level's buffer is the beginning of each member's own. */
static void measure(team *t, double each, pfc_ceilings *out)
{
    for (int kind = 0; kind < PFC_COMPUTES; kind++) {
        t->pass = (pfc_pass){ .compute = t->loops->compute[kind] };
        if (t->pass.compute)
            out->all.gops[kind] = best(t, each);
    }
    for (int level = 0; level < PFC_LEVELS; level++) {
        const size_t bytes = pfc_buffer_bytes(out, level, t->len);
        t->pass = (pfc_pass){ .read = t->loops->read,
                              .bytes = PFC_MIN(bytes, t->bytes),
                              .window = level == PFC_LEVEL_DRAM ? PFC_DRAM_WINDOW : 0 };
        out->all.read_gbps[level] = best(t, each);
        t->pass.read = NULL;
        out->all.copy_gbps[level] = best(t, each);
    }
    out->threads = t->len;
}

static size_t count_cpus(int *cpus)
{
    cpu_set_t set;
    size_t n = 0;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && n < MAX_THREADS; cpu++) {
        if (CPU_ISSET((size_t)cpu, &set))
            cpus[n++] = cpu;
    }
    return n;
}

void pfc_ceilings_measure_all(const pfc_loops *loops, double seconds, pfc_ceilings *out)
{
    int cpus[MAX_THREADS];
    const size_t len = count_cpus(cpus);
    team t = { .loops = loops, .len = len };
    cpu_set_t before;
    cpu_set_t first;

    if (len == 0 || sched_getaffinity(0, sizeof(before), &before) != 0)
        return;
    t.members = pfc_calloc(len, sizeof(*t.members));
    for (int level = 0; level < PFC_LEVELS; level++)
        t.bytes = PFC_MAX(t.bytes, pfc_buffer_bytes(out, level, len));
    for (size_t i = 0; i < len; i++)
        t.members[i] = (member){ .team = &t, .cpu = cpus[i] };
    CPU_ZERO(&first);
    CPU_SET((size_t)cpus[0], &first);
    (void)sched_setaffinity(0, sizeof(first), &first);
    if (start(&t))
        measure(&t, seconds / (PFC_COMPUTES + 2 * PFC_LEVELS), out);
    finish(&t);
    (void)sched_setaffinity(0, sizeof(before), &before);
    for (size_t i = 0; i < len; i++)
        pfc_buffer_drop(t.members[i].buffer, t.bytes);
    free(t.members);
}
