/*
 * The user and the programs of the private PostgreSQL, and the folders that this user can reach.
 *
 * PostgreSQL refuses to run as root. Started by root it therefore runs as `postgres` (the account
 * that the distribution's package makes), or `nobody` where that is missing.
 */
#include "cli/local/postgres_host.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/parse.h"
#include "core/base/process/proc.h"

enum { RUN_TIMEOUT_S = 120 };

pfc_code pfc_host_find(pfc_host *host, pfc_err *err)
{
    const struct passwd *pw = getpwuid(geteuid());

    *host = (pfc_host){ .uid = geteuid(), .gid = getegid() };
    if (!pw)
        return pfc_err_set(err, PFC_EUNAVAIL,
                           "user id %u has no name, which PostgreSQL requires (/etc/passwd)",
                           (unsigned)geteuid());
    snprintf(host->caller, sizeof(host->caller), "%s", pw->pw_name);
    snprintf(host->user, sizeof(host->user), "%s", pw->pw_name);
    if (geteuid() == 0) {
        pw = getpwnam("postgres");
        if (!pw)
            pw = getpwnam("nobody");
        if (!pw)
            return pfc_err_set(err, PFC_EUNAVAIL,
                               "PostgreSQL does not run as root, and there is neither a user "
                               "\"postgres\" nor \"nobody\"");
        host->uid = pw->pw_uid;
        host->gid = pw->pw_gid;
        host->other = true;
        snprintf(host->user, sizeof(host->user), "%s", pw->pw_name);
    }
    return PFC_OK;
}

/* Runs the server program PROGRAM with ARGS as the cluster's user. Its environment carries none of
 * our settings: secrets are no business of the database, and PG* would change what the programs do.
 */
pfc_code pfc_host_run(const pfc_host *host, const char *program, const char *const *args,
                      double timeout_s, pfc_buf *out, pfc_err *err)
{
    extern char **environ;
    char *path = pfc_fs_join(host->pg.bin, program);
    char *uid = pfc_format("--reuid=%u", (unsigned)host->uid);
    char *gid = pfc_format("--regid=%u", (unsigned)host->gid);
    const char *argv[32] = { 0 };
    char *drop[256] = { 0 };
    size_t n = 0;
    size_t dropped = 0;
    pfc_proc_result res;
    pfc_proc_opts opts = { .argv = argv,
                           .cwd = "/",
                           .merge = true,
                           .timeout_s = timeout_s > 0 ? timeout_s : RUN_TIMEOUT_S };
    pfc_code code;

    for (char **e = environ; *e && dropped + 1 < PFC_ARRAY_LEN(drop); e++)
        if (strncmp(*e, "PG", 2) == 0 || strncmp(*e, "PERFCI_", 7) == 0)
            drop[dropped++] = pfc_strndup(*e, strcspn(*e, "="));
    opts.env = (const char *const *)drop;
    if (host->other) {
        argv[n++] = "setpriv";
        argv[n++] = uid;
        argv[n++] = gid;
        argv[n++] = "--init-groups";
        argv[n++] = "--";
    }
    argv[n++] = path;
    for (size_t i = 0; args[i] && n + 1 < PFC_ARRAY_LEN(argv); i++)
        argv[n++] = args[i];
    code = pfc_proc_run(&opts, &res, err);
    if (code)
        goto done;
    if (res.exit_status != 0) {
        char how[64];
        char *said = pfc_strdup(pfc_buf_text(&res.out));
        const size_t len = strlen(said);

        pfc_proc_describe(&res, how, sizeof(how));
        for (char *p = said; *p; p++)
            if (*p == '\n')
                *p = ' ';
        code = pfc_err_set(err, PFC_EUNAVAIL, "%s: %s: %s", program, how,
                           len > 300 ? said + len - 300 : said);
        free(said);
    } else if (out) {
        pfc_buf_puts(out, pfc_buf_text(&res.out));
    }
    pfc_proc_result_clear(&res);

done:
    for (size_t i = 0; i < dropped; i++)
        free(drop[i]);
    free(gid);
    free(uid);
    free(path);
    return code;
}

#define CONVERT "%s: see \"Another PostgreSQL version\" in docs/how-to/upgrade.md"

/* A cluster can only be run by the major version that made it; a new one is made by the newest. */
pfc_code pfc_host_programs(const pfc_stack *stack, pfc_host *host, pfc_err *err)
{
    pfc_err missing = { 0 };
    pfc_pg other;
    int major = 0;
    char command[64];
    pfc_code code;

    if (!pfc_fs_exists(stack->cluster))
        return pfc_pg_find(0, &host->pg, err);
    code = pfc_pg_cluster_major(stack->cluster, &major, err);
    if (code)
        return code;
    if (major < PFC_PG_OLDEST || major > PFC_PG_NEWEST) {
        (void)pfc_err_set(err, PFC_EUNAVAIL,
                          "%.250s was made by PostgreSQL %d, and perfci runs with %d to %d",
                          stack->cluster, major, PFC_PG_OLDEST, PFC_PG_NEWEST);
        return pfc_err_hint(err, CONVERT, "convert it");
    }
    code = pfc_pg_find(major, &host->pg, &missing);
    if (!code)
        return PFC_OK;
    if (pfc_pg_find(0, &other, NULL)) {
        if (err)
            *err = missing;
        return code;
    }
    (void)pfc_err_set(err, PFC_EUNAVAIL,
                      "%.250s was made by PostgreSQL %d, which is not installed, and PostgreSQL %d "
                      "cannot read it",
                      stack->cluster, major, other.major);
    if (!pfc_pg_install_command(major, command, sizeof(command)))
        snprintf(command, sizeof(command), "install PostgreSQL %d", major);
    if (other.major < major)
        return pfc_err_hint(err, "run \"%s\", then \"perfci up\" again", command);
    return pfc_err_hint(err, "run \"%s\", then \"perfci up\" again; " CONVERT, command,
                        "to convert it to the newer version");
}

bool pfc_host_reaches(const char *path, const pfc_host *host)
{
    char part[PFC_PATH_MAX];
    struct stat st;

    snprintf(part, sizeof(part), "%s", path);
    for (char *p = part + 1;; p++) {
        const char was = *p;

        if (was != '/' && was != '\0')
            continue;
        *p = '\0';
        if (stat(part, &st))
            return false;
        if (!(st.st_mode & S_IXOTH) && !(st.st_uid == host->uid && (st.st_mode & S_IXUSR)))
            return false;
        *p = was;
        if (was == '\0')
            return true;
    }
}

pfc_code pfc_host_folder(const char *path, const pfc_host *host, pfc_err *err)
{
    struct stat st;

    if (mkdir(path, 0700) == 0) {
        if (host->other && chown(path, host->uid, host->gid))
            return pfc_err_set(err, PFC_EIO, "%.300s: %s", path, strerror(errno));
        return PFC_OK;
    }
    if (errno != EEXIST)
        return pfc_err_set(err, PFC_EIO, "cannot make %.300s: %s", path, strerror(errno));
    if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != host->uid ||
        (st.st_mode & 0777) != 0700)
        return pfc_err_set(err, PFC_EDENIED,
                           "%.300s exists and is no folder of mode 0700 of user %s", path,
                           host->user);
    return PFC_OK;
}
