/* Where the PostgreSQL server programs are, and what installs them. */
#include "core/base/process/pgbin.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/parse.h"
#include "core/base/process/proc.h"

enum { ASK_TIMEOUT_S = 20, FOUND_MAX = 16, RELEASE_MAX_BYTES = 16 * 1024 };

typedef struct found {
    pfc_pg items[FOUND_MAX];
    size_t len;
} found;

static bool has_programs(const char *bin)
{
    static const char *const programs[] = { "initdb", "pg_ctl", "postgres" };
    bool all = true;

    for (size_t i = 0; i < PFC_ARRAY_LEN(programs) && all; i++) {
        char *path = pfc_fs_join(bin, programs[i]);

        all = access(path, X_OK) == 0;
        free(path);
    }
    return all;
}

/* Returns the first line that the program prints, or NULL when it fails. Caller frees. */
static char *ask(const char *program, const char *flag)
{
    static const char *const env[] = { "LC_ALL=C", "LD_PRELOAD", NULL };
    const char *const argv[] = { program, flag, NULL };
    const pfc_proc_opts opts = { .argv = argv, .env = env, .cwd = "/", .timeout_s = ASK_TIMEOUT_S };
    pfc_proc_result res;
    char *line = NULL;

    if (pfc_proc_run(&opts, &res, NULL))
        return NULL;
    if (res.exit_status == 0) {
        const char *text = pfc_buf_text(&res.out);

        line = pfc_strndup(text, strcspn(text, "\n"));
    }
    pfc_proc_result_clear(&res);
    return line;
}

/* Reads the major version: "postgres (PostgreSQL) 17.5 (Debian 17.5-1)" gives 17. Returns 0 for any
 * other line. */
static int major_of(const char *bin)
{
    static const char mark[] = "(PostgreSQL) ";
    char *program = pfc_fs_join(bin, "postgres");
    char *line = ask(program, "--version");
    const char *at = line ? strstr(line, mark) : NULL;
    const long major = at ? strtol(at + sizeof(mark) - 1, NULL, 10) : 0;

    free(line);
    free(program);
    return major > 0 && major < 1000 ? (int)major : 0;
}

/* Adds a folder that has the programs. With major 0 the version is unknown, and the program must be
 * run for it. */
static void add(found *all, const char *bin, int major)
{
    pfc_pg *item = &all->items[all->len];

    if (all->len == FOUND_MAX || strlen(bin) >= sizeof(item->bin) || !has_programs(bin))
        return;
    if (major == 0)
        major = major_of(bin);
    if (major == 0)
        return;
    item->major = major;
    snprintf(item->bin, sizeof(item->bin), "%s", bin);
    all->len++;
}

static void look_around(found *all)
{
    static const char *const plain[] = { "/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin" };
    char *configured = NULL;

    for (int major = PFC_PG_NEWEST; major >= PFC_PG_OLDEST; major--) {
        char bin[64];

        snprintf(bin, sizeof(bin), "/usr/lib/postgresql/%d/bin", major);
        add(all, bin, major);
        snprintf(bin, sizeof(bin), "/usr/pgsql-%d/bin", major);
        add(all, bin, major);
    }
    configured = ask("pg_config", "--bindir");
    if (configured && configured[0] == '/')
        add(all, configured, 0);
    free(configured);
    for (size_t i = 0; i < PFC_ARRAY_LEN(plain); i++)
        add(all, plain[i], 0);
}

static bool supported(int major)
{
    return major >= PFC_PG_OLDEST && major <= PFC_PG_NEWEST;
}

static const pfc_pg *choose(const found *all, int major)
{
    const pfc_pg *best = NULL;

    for (size_t i = 0; i < all->len; i++) {
        const pfc_pg *item = &all->items[i];

        if (!supported(item->major) || (major && item->major != major))
            continue;
        if (!best || item->major > best->major)
            best = item;
    }
    return best;
}

/* Lists what was found: "17 in /usr/lib/postgresql/17/bin, 16 in ...". */
static void list(const found *all, char *out, size_t cap)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < all->len && used < cap; i++)
        used += (size_t)snprintf(out + used, cap - used, "%s%d in %.80s", i ? ", " : "",
                                 all->items[i].major, all->items[i].bin);
}

pfc_code pfc_pg_find(int major, pfc_pg *out, pfc_err *err)
{
    const char *own = getenv("PERFCI_PG_BIN");
    found all = { 0 };
    const pfc_pg *best;
    char wanted[32];
    char have[200];
    char command[64];

    if (own && *own) {
        if (!has_programs(own))
            return pfc_err_set(err, PFC_EUNAVAIL,
                               "PERFCI_PG_BIN: expected a folder with initdb, pg_ctl and postgres, "
                               "got \"%.200s\"",
                               own);
        add(&all, own, 0);
    } else {
        look_around(&all);
    }
    best = choose(&all, major);
    if (best) {
        *out = *best;
        return PFC_OK;
    }
    if (major)
        snprintf(wanted, sizeof(wanted), "%d", major);
    else
        snprintf(wanted, sizeof(wanted), "%d to %d", PFC_PG_OLDEST, PFC_PG_NEWEST);
    list(&all, have, sizeof(have));
    if (all.len)
        (void)pfc_err_set(err, PFC_EUNAVAIL,
                          "PostgreSQL: expected version %s, and installed here is %s", wanted,
                          have);
    else
        (void)pfc_err_set(err, PFC_EUNAVAIL, "PostgreSQL %s is not installed", wanted);
    if (pfc_pg_install_command(major, command, sizeof(command)))
        (void)pfc_err_hint(err, "run \"%s\", or set PERFCI_PG_BIN to the folder that holds initdb",
                           command);
    else
        (void)pfc_err_hint(err, "install the PostgreSQL server package of this system, or set "
                                "PERFCI_PG_BIN to the folder that holds initdb");
    return PFC_EUNAVAIL;
}

/* ---- which package ---- */

/* The value of NAME= in os-release without its quotes, "" when it is not there. */
static void release_value(const char *text, const char *name, char *out, size_t cap)
{
    const size_t len = strlen(name);

    out[0] = '\0';
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        const char *value;

        if (strncmp(at, name, len) != 0 || at[len] != '=')
            continue;
        value = at + len + 1;
        value += *value == '"' || *value == '\'';
        snprintf(out, cap, "%.*s", (int)strcspn(value, "\"'\n"), value);
        return;
    }
}

bool pfc_pg_install_command(int major, char *out, size_t cap)
{
    static const struct {
        const char *id, *version;
        int major; /* the version that the distribution offers */
    } offers[] = { { "debian", "12", 15 }, { "debian", "13", 17 }, { "ubuntu", "24.04", 16 } };
    const char *file = getenv("PERFCI_OS_RELEASE");
    char id[32], like[64], version[32], number[16] = "";
    char *text = NULL;
    size_t len = 0;

    if (pfc_fs_read(file && *file ? file : "/etc/os-release", RELEASE_MAX_BYTES, &text, &len, NULL))
        text = NULL;
    release_value(text, "ID", id, sizeof(id));
    release_value(text, "ID_LIKE", like, sizeof(like));
    release_value(text, "VERSION_ID", version, sizeof(version));
    free(text);
    for (size_t i = 0; i < PFC_ARRAY_LEN(offers) && !major; i++)
        if (pfc_streq(id, offers[i].id) && pfc_streq(version, offers[i].version))
            major = offers[i].major;
    if (major)
        snprintf(number, sizeof(number), "-%d", major);
    if (strstr(id, "debian") || strstr(id, "ubuntu") || strstr(like, "debian"))
        snprintf(out, cap, "apt-get install postgresql%s", number);
    else if (strstr(id, "fedora") || strstr(like, "fedora") || strstr(like, "rhel"))
        snprintf(out, cap, "dnf install postgresql-server");
    else if (strstr(id, "suse") || strstr(like, "suse"))
        snprintf(out, cap, "zypper install postgresql-server");
    else if (pfc_streq(id, "arch") || strstr(like, "arch"))
        snprintf(out, cap, "pacman -S postgresql");
    else if (pfc_streq(id, "alpine"))
        snprintf(out, cap, "apk add postgresql");
    else
        return false;
    return true;
}

pfc_code pfc_pg_cluster_major(const char *cluster, int *major, pfc_err *err)
{
    char *path = pfc_fs_join(cluster, "PG_VERSION");
    char *text = NULL;
    size_t len = 0;
    int64_t value = 0;
    pfc_code code = pfc_fs_read(path, 64, &text, &len, err);

    if (!code) {
        while (len > 0 && isspace((unsigned char)text[len - 1]))
            text[--len] = '\0';
        code = pfc_parse_i64(text, 1, 999, "PG_VERSION", &value, err);
        if (code)
            pfc_err_wrap(err, "%.200s", path);
    }
    if (!code)
        *major = (int)value;
    free(text);
    free(path);
    return code;
}
