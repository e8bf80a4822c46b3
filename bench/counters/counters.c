/* Performance counters by plain system calls. */
#include "bench/counters/counters.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int sys_open(void *arg, const pfc_counter_event *event)
{
    struct perf_event_attr attr;

    (void)arg;
    memset(&attr, 0, sizeof(attr));
    attr.size = sizeof(attr);
    attr.type = event->type;
    attr.config = event->config;
    attr.config1 = event->config1;
    attr.config2 = event->config2;
    attr.disabled = 1;
    attr.exclude_hv = 1;
    /* Without privilege only user space may be counted, and the kernel is not what is measured. */
    attr.exclude_kernel = !event->kernel;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool sys_read(void *arg, int fd, uint64_t out[3])
{
    (void)arg;
    return read(fd, out, 3 * sizeof(*out)) == (ssize_t)(3 * sizeof(*out));
}

static void sys_enable(void *arg, int fd, bool on)
{
    (void)arg;
    if (on)
        (void)ioctl(fd, PERF_EVENT_IOC_RESET, 0);
    (void)ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static void sys_close(void *arg, int fd)
{
    (void)arg;
    close(fd);
}

void pfc_counters_open(pfc_counters *c, const pfc_counter_set *set, const pfc_counter_sys *sys)
{
    static const pfc_counter_sys kernel = {
        .open = sys_open, .read = sys_read, .enable = sys_enable, .close = sys_close
    };

    c->sys = sys ? sys : &kernel;
    c->set = *set;
    for (size_t i = 0; i < set->len; i++)
        c->fd[i] = c->sys->open(c->sys->arg, &set->events[i]);
}

static void enable(const pfc_counters *c, bool on)
{
    for (size_t i = 0; i < c->set.len; i++) {
        if (c->fd[i] >= 0)
            c->sys->enable(c->sys->arg, c->fd[i], on);
    }
}

void pfc_counters_start(pfc_counters *c)
{
    enable(c, true);
}

static void read_one(const pfc_counters *c, size_t i, pfc_count *out)
{
    uint64_t v[3] = { 0, 0, 0 };
    double share;

    if (c->fd[i] < 0 || !c->sys->read(c->sys->arg, c->fd[i], v) || v[1] == 0)
        return;
    share = (double)v[2] / (double)v[1];
    if (share < PFC_COUNTER_MIN_RUN)
        return;
    out->share = share < 1.0 ? share : 1.0;
    out->value = (double)v[0] / out->share;
}

void pfc_counters_stop(pfc_counters *c, pfc_counts *out)
{
    *out = (pfc_counts){ .len = c->set.len };
    enable(c, false);
    for (size_t i = 0; i < c->set.len; i++) {
        memcpy(out->items[i].name, c->set.events[i].name, sizeof(out->items[i].name));
        read_one(c, i, &out->items[i]);
    }
}

void pfc_counters_close(pfc_counters *c)
{
    for (size_t i = 0; i < c->set.len; i++) {
        if (c->fd[i] >= 0)
            c->sys->close(c->sys->arg, c->fd[i]);
        c->fd[i] = -1;
    }
}
