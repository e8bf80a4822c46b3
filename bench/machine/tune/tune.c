/* Changes the host for measuring, and back. */
#include "bench/machine/tune/tune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/machine/tune/tune_irq.h"
#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/machine/sysfs.h"

#define MAX_CPUS    1024
#define MAX_IRQS    4096
#define MAX_JOURNAL (512u * 1024)
#define MAX_VALUE   128

static const struct {
    const char *path; /* one %d: for every CPU */
    const char *value;
    const char *what;
    const char *only; /* changed from this value alone; NULL: from any */
} settings[] = {
    { "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", "performance", "governor", NULL },
    { "/sys/devices/system/cpu/intel_pstate/no_turbo", "1", "turbo off", NULL },
    { "/sys/devices/system/cpu/cpufreq/boost", "0", "turbo off", NULL },
    { "/proc/sys/kernel/randomize_va_space", "0", "fixed address layout", NULL },
    { "/proc/sys/kernel/numa_balancing", "0", "no NUMA balancing", NULL },
    { "/proc/sys/kernel/nmi_watchdog", "0", "no NMI watchdog", NULL },
};

/* Changed last, so that it is the first to come back: CPUs that are off have no governor and take
 * no interrupts. Other values ("notsupported", "forceoff") say that there is nothing to switch. */
#define SMT_CONTROL "/sys/devices/system/cpu/smt/control"

static const char *root_of(const char *root)
{
    return root ? root : "";
}

static pfc_code need_root(const char *root, pfc_err *err)
{
    if (!root_of(root)[0] && geteuid() != 0)
        return pfc_err_set(err, PFC_EDENIED, "changing the host needs root");
    return PFC_OK;
}

/* The value without its newline; false when it cannot be read. */
static bool read_value(const char *root, const char *path, char *out, size_t cap)
{
    char *full = pfc_format("%s%s", root_of(root), path);
    FILE *f = fopen(full, "re");
    const bool ok = f && fgets(out, (int)cap, f);

    if (f)
        fclose(f);
    free(full);
    if (ok)
        out[strcspn(out, "\n")] = '\0';
    return ok && out[0];
}

/* sysfs needs the value in one write, and a missing file must not be created. */
static bool write_value(const char *root, const char *path, const char *value)
{
    char *full = pfc_format("%s%s", root_of(root), path);
    const int fd = open(full, O_WRONLY | O_TRUNC | O_CLOEXEC);
    const ssize_t len = (ssize_t)strlen(value);
    bool ok = fd >= 0 && write(fd, value, (size_t)len) == len;

    if (fd >= 0 && close(fd) != 0)
        ok = false;
    free(full);
    return ok;
}

static pfc_code save(const char *journal, const pfc_buf *text, pfc_err *err)
{
    pfc_code code = pfc_buf_check(text, "journal", err);

    return code ? code : pfc_fs_write_atomic(journal, pfc_buf_text(text), text->len, 0600, err);
}

/* One file of the kernel's to write. */
typedef struct setting_change {
    const char *path;
    const char *value;
    const char *what; /* for the report */
    const char *only; /* changed only from this value; NULL: from any */
} setting_change;

/* Where changes are written down, so that they can be undone. */
typedef struct tuning {
    const char *root;
    const char *journal; /* path */
    pfc_buf text;        /* of the journal */
    FILE *say;
} tuning;

static pfc_code tune_one(tuning *t, const setting_change *c, pfc_err *err)
{
    char old[MAX_VALUE];
    const size_t before = t->text.len;
    pfc_code code;

    if (!read_value(t->root, c->path, old, sizeof(old)) || strcmp(old, c->value) == 0 ||
        (c->only && strcmp(old, c->only) != 0))
        return PFC_OK;
    pfc_buf_printf(&t->text, "%s\t%s\n", c->path, old);
    code = save(t->journal, &t->text, err);
    if (code)
        return code;
    if (write_value(t->root, c->path, c->value)) {
        fprintf(t->say, "%s: %s: %s -> %s\n", c->what, c->path, old, c->value);
        return PFC_OK;
    }
    fprintf(t->say, "%s: %s: left at %s (%s)\n", c->what, c->path, old, strerror(errno));
    t->text.len = before;
    t->text.data[before] = '\0';
    return save(t->journal, &t->text, err);
}

static pfc_code tune_settings(tuning *t, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < PFC_ARRAY_LEN(settings); i++) {
        const char *mark = strstr(settings[i].path, "%d");
        for (int cpu = 0; !code && cpu < (mark ? MAX_CPUS : 1); cpu++) {
            char *path = mark ? pfc_format("%.*s%d%s", (int)(mark - settings[i].path),
                                           settings[i].path, cpu, mark + 2)
                              : pfc_strdup(settings[i].path);
            char now[MAX_VALUE];
            /* CPU numbers may have gaps, but if cpu0 lacks the file, every CPU does. */
            const bool last = mark && cpu == 0 && !read_value(t->root, path, now, sizeof(now));
            const setting_change change = { path, settings[i].value, settings[i].what,
                                            settings[i].only };

            code = tune_one(t, &change, err);
            free(path);
            if (last)
                break;
        }
    }
    return code;
}

static pfc_code tune_irqs(tuning *t, pfc_err *err)
{
    pfc_irq_plan plan;
    char *balancer;
    size_t len = 0;
    char **irqs = pfc_sysfs_list(t->root, "/proc/irq/[0-9]*", MAX_IRQS, &len);
    pfc_code code = PFC_OK;

    pfc_irq_plan_read(t->root, &plan);
    for (size_t i = 0; i < len && !code; i++) {
        char *path = pfc_format("/proc/irq/%s/smp_affinity_list", irqs[i]);
        char now[MAX_VALUE];
        char *away = NULL;

        if (read_value(t->root, path, now, sizeof(now)))
            away = pfc_irq_away(&plan, now);
        if (away)
            code = tune_one(t, &(setting_change){ path, away, "interrupt elsewhere", NULL }, err);
        free(away);
        free(path);
    }
    balancer = pfc_format("%s/run/irqbalance", root_of(t->root));
    if (len > 0 && pfc_fs_exists(balancer))
        fprintf(t->say,
                "irqbalance runs here and will move interrupts back: systemctl stop irqbalance\n");
    free(balancer);
    pfc_sysfs_list_free(irqs, len);
    return code;
}

pfc_code pfc_tune_host(const char *root, FILE *say, pfc_err *err)
{
    static const setting_change no_smt = { SMT_CONTROL, "off", "no SMT", "on" };
    char *journal = pfc_format("%s%s", root_of(root), PFC_TUNE_JOURNAL);
    tuning t = { .root = root, .journal = journal, .say = say };
    pfc_code code = need_root(root, err);

    pfc_buf_init(&t.text, MAX_JOURNAL);
    if (!code && pfc_fs_exists(journal))
        code = pfc_err_set(err, PFC_ECONFLICT,
                           "the host is tuned already (%s); --untune-host puts it back", journal);
    if (!code)
        code = tune_settings(&t, err);
    if (!code)
        code = tune_irqs(&t, err);
    if (!code)
        code = tune_one(&t, &no_smt, err);
    if (!code && t.text.len == 0) {
        fprintf(say, "nothing to change on this host\n");
        if (pfc_fs_exists(journal))
            (void)unlink(journal);
    }
    pfc_buf_clear(&t.text);
    free(journal);
    return code;
}

/* "path\tvalue" of the last line, which is cut off the text; false when there is none. */
static bool pop(char *text, char **path, char **value)
{
    size_t len = strlen(text);
    char *tab;
    char *line;

    while (len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
    if (len == 0)
        return false;
    line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    tab = strchr(line, '\t');
    *path = tab ? pfc_strndup(line, (size_t)(tab - line)) : pfc_strdup(line);
    *value = pfc_strdup(tab ? tab + 1 : "");
    *line = '\0';
    return true;
}

pfc_code pfc_untune_host(const char *root, FILE *say, pfc_err *err)
{
    char *journal = pfc_format("%s%s", root_of(root), PFC_TUNE_JOURNAL);
    char *text = NULL;
    char *path = NULL;
    char *value = NULL;
    pfc_buf left;
    size_t len = 0;
    pfc_code code = need_root(root, err);

    pfc_buf_init(&left, MAX_JOURNAL);
    if (!code && !pfc_fs_exists(journal))
        code = pfc_err_set(err, PFC_ENOTFOUND, "the host is not tuned: no %s", journal);
    if (!code)
        code = pfc_fs_read(journal, MAX_JOURNAL, &text, &len, err);
    while (!code && pop(text, &path, &value)) {
        if (write_value(root, path, value)) {
            fprintf(say, "%s: back to %s\n", path, value);
        } else {
            fprintf(say, "%s: could not be put back to %s (%s)\n", path, value, strerror(errno));
            pfc_buf_printf(&left, "%s\t%s\n", path, value);
        }
        free(path);
        free(value);
    }
    if (!code && left.len > 0) {
        code = save(journal, &left, err);
        if (!code)
            code = pfc_err_set(err, PFC_EIO, "not everything could be put back; %s keeps the rest",
                               journal);
    } else if (!code && unlink(journal) != 0) {
        code = pfc_err_set(err, PFC_EIO, "%s: %s", journal, strerror(errno));
    }
    pfc_buf_clear(&left);
    free(text);
    free(journal);
    return code;
}
