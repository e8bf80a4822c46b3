/* systemd's protocol, by libsystemd. */
#include "server/manager.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "core/base/base.h"
#include "core/base/clock.h"

struct pfc_watchdog {
    bool (*alive)(void *context);
    void *context;
    int64_t period_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* guarded by lock */
};

/* Assigns the sockets by their names; false: the names are ambiguous. */
static bool assign_sockets(char **names, int count, int *fd, int *ops_fd)
{
    for (int i = 0; i < count; i++) {
        int *which = names && names[i] && strcmp(names[i], "ops") == 0 ? ops_fd : fd;

        if (*which >= 0)
            return false;
        *which = SD_LISTEN_FDS_START + i;
    }
    return true;
}

pfc_code pfc_manager_sockets(int *fd, int *ops_fd, pfc_err *err)
{
    const char *said = getenv("LISTEN_FDS");
    char *number = pfc_strdup(said ? said : "");
    char **names = NULL;
    int count = sd_listen_fds_with_names(1, &names);
    pfc_code code = PFC_OK;

    *fd = *ops_fd = -1;
    if (count < 0)
        code = pfc_err_set(err, PFC_EINVAL,
                           "LISTEN_FDS=%.32s: the service manager's sockets cannot be used: %s; "
                           "expected as many open descriptors from %d on",
                           number, strerror(-count), SD_LISTEN_FDS_START);
    else if (!assign_sockets(names, count, fd, ops_fd))
        code = pfc_err_set(
            err, PFC_EINVAL,
            "%d sockets were passed; expected one ListenStream=, and at most one more in "
            "a socket unit with FileDescriptorName=ops",
            count);
    for (int i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
    free(number);
    return code;
}

void pfc_manager_ready(const char *status)
{
    (void)sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void pfc_manager_reloading(void)
{
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(pfc_clock_ns() / 1000));
}

void pfc_manager_stopping(void)
{
    (void)sd_notify(0, "STOPPING=1");
}

static void *watchdog_main(void *arg)
{
    pfc_watchdog *dog = arg;
    bool stop = false;

    while (!stop) {
        int64_t next_ns = pfc_clock_ns() + dog->period_ns;
        const struct timespec until = { .tv_sec = (time_t)(next_ns / PFC_NS_PER_S),
                                        .tv_nsec = (long)(next_ns % PFC_NS_PER_S) };

        if (dog->alive(dog->context))
            (void)sd_notify(0, "WATCHDOG=1");
        pthread_mutex_lock(&dog->lock);
        while (!dog->stop && pfc_clock_ns() < next_ns)
            (void)pthread_cond_timedwait(&dog->wake, &dog->lock, &until);
        stop = dog->stop;
        pthread_mutex_unlock(&dog->lock);
    }
    return NULL;
}

pfc_code pfc_watchdog_start(pfc_watchdog **out, bool (*alive)(void *context), void *context,
                            pfc_err *err)
{
    uint64_t period_us = 0;
    pthread_condattr_t attr;
    pfc_watchdog *dog;

    *out = NULL;
    if (sd_watchdog_enabled(0, &period_us) <= 0 || period_us == 0)
        return PFC_OK;
    dog = pfc_alloc(sizeof(*dog));
    dog->alive = alive;
    dog->context = context;
    dog->period_ns = (int64_t)(period_us * 1000 / 3); /* two may be late */
    pthread_mutex_init(&dog->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&dog->wake, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&dog->thread, NULL, watchdog_main, dog) != 0) {
        pthread_cond_destroy(&dog->wake);
        pthread_mutex_destroy(&dog->lock);
        free(dog);
        return pfc_err_set(err, PFC_EIO, "no thread for the watchdog");
    }
    *out = dog;
    return PFC_OK;
}

void pfc_watchdog_stop(pfc_watchdog *dog)
{
    if (!dog)
        return;
    pthread_mutex_lock(&dog->lock);
    dog->stop = true;
    pthread_cond_signal(&dog->wake);
    pthread_mutex_unlock(&dog->lock);
    pthread_join(dog->thread, NULL);
    pthread_cond_destroy(&dog->wake);
    pthread_mutex_destroy(&dog->lock);
    free(dog);
}
