#include "cli/accel/grade/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/base/base.h"

typedef struct work {
    const pfc_cli *cli;
    uint64_t cases;
    grade_one *one;
    void *arg;
    atomic_uint_fast64_t next, done;
    atomic_bool failed;
    pthread_mutex_t lock;
    pfc_err err; /* guarded by lock; of the first failure */
} work;

static void *work_on(void *arg)
{
    work *w = arg;

    for (;;) {
        const uint64_t i = atomic_fetch_add(&w->next, 1);
        pfc_err err = { 0 };

        if (i >= w->cases || atomic_load(&w->failed))
            return NULL;
        if (w->one(w->arg, i, &err)) {
            pthread_mutex_lock(&w->lock);
            if (!w->err.code)
                w->err = err;
            pthread_mutex_unlock(&w->lock);
            atomic_store(&w->failed, true);
            return NULL;
        }
        pthread_mutex_lock(&w->lock);
        pfc_cli_progress(w->cli, "[%llu/%llu] cases",
                         (unsigned long long)atomic_fetch_add(&w->done, 1) + 1,
                         (unsigned long long)w->cases);
        pthread_mutex_unlock(&w->lock);
    }
}

pfc_code grade_run_all(const pfc_cli *cli, uint64_t cases, int64_t jobs, grade_one *one, void *arg,
                       pfc_err *err)
{
    work w = {
        .cli = cli, .cases = cases, .one = one, .arg = arg, .lock = PTHREAD_MUTEX_INITIALIZER
    };
    pthread_t threads[GRADE_MAX_JOBS];
    int64_t started = 0;

    while (started + 1 < jobs && pthread_create(&threads[started], NULL, work_on, &w) == 0)
        started++;
    work_on(&w); /* this thread is one of them */
    while (started > 0)
        pthread_join(threads[--started], NULL);
    pfc_cli_progress(cli, "%s", "");
    if (w.err.code && err)
        *err = w.err;
    return w.err.code;
}

int64_t grade_default_jobs(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);

    return PFC_MIN(PFC_MAX(processors, 1), GRADE_MAX_JOBS);
}
