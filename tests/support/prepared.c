/*
 * The prepared cluster: the result of initdb and all migrations, made once a build and copied from
 * then on.
 */
#include "tests/support/prepared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/process/pgbin.h"
#include "core/base/process/proc.h"

#include "schema/schema.h"

#define SCHEMA_BYTES (16 * 1024 * 1024)

/* The migrations of this program in one word. */
static char *schema_word(void)
{
    char word[PFC_SHA256_HEX];
    pfc_buf text;

    pfc_buf_init(&text, SCHEMA_BYTES);
    for (size_t i = 0; i < pfc_migrations_len; i++)
        pfc_buf_printf(&text, "%d %s\n%s\n", pfc_migrations[i].version, pfc_migrations[i].name,
                       pfc_migrations[i].sql);
    pfc_sha256_hex(pfc_buf_text(&text), text.len, word);
    pfc_buf_clear(&text);
    return pfc_strdup(word);
}

static bool ran(const char *const argv[], const char *const env[])
{
    const pfc_proc_opts opts = { .argv = argv, .env = env, .inherit_stderr = true };
    pfc_proc_result res = { 0 };
    bool ok = pfc_proc_run(&opts, &res, NULL) == PFC_OK && res.exit_status == 0;

    pfc_proc_result_clear(&res);
    return ok;
}

/* Made by the pfc-cluster of this build, not by one that was linked again since. */
static bool is_current(const char *stamp, const char *maker)
{
    struct stat made, program;

    return stat(stamp, &made) == 0 && stat(maker, &program) == 0 &&
           (made.st_mtim.tv_sec > program.st_mtim.tv_sec ||
            (made.st_mtim.tv_sec == program.st_mtim.tv_sec &&
             made.st_mtim.tv_nsec >= program.st_mtim.tv_nsec));
}

/* Its schema is this program's, and its version that of the server programs. */
static bool fits(const char *data, const char *stamp, int major)
{
    char *wanted = schema_word(), *word = NULL;
    size_t len = 0;
    int theirs = 0;
    bool is_same = pfc_fs_read(stamp, 100, &word, &len, NULL) == PFC_OK &&
                   strcmp(word, wanted) == 0 &&
                   pfc_pg_cluster_major(data, &theirs, NULL) == PFC_OK && theirs == major;

    free(word);
    free(wanted);
    return is_same;
}

bool pfc_prepared_copy(int major, const char *to)
{
    const char *tests = getenv("PERFCI_TEST_DIR"), *own = getenv("PERFCI_TEST_CLUSTER");
    char *maker, *folder, *data, *stamp, *lock;
    bool copied = false;
    int fd;

    if (!tests || (own && strcmp(own, "own") == 0))
        return false;
    maker = pfc_fs_join(tests, "pfc-cluster");
    folder = pfc_fs_join(tests, "prepared");
    data = pfc_fs_join(folder, "data");
    stamp = pfc_fs_join(folder, "schema");
    lock = pfc_fs_join(tests, "prepared.lock");
    fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    /* One makes it, and those that started beside it wait. Copies are made side by side. */
    if (fd >= 0 && flock(fd, LOCK_EX) == 0) {
        if (!is_current(stamp, maker) && pfc_fs_exists(maker))
            (void)ran((const char *const[]){ maker, "prepare", folder, NULL },
                      (const char *const[]){ "PERFCI_TEST_CLUSTER=own", NULL });
        copied = flock(fd, LOCK_SH) == 0 && fits(data, stamp, major) &&
                 ran((const char *const[]){ "cp", "-a", "--reflink=auto", data, to, NULL }, NULL);
    }
    if (fd >= 0)
        (void)close(fd);
    if (!copied && pfc_fs_remove_tree(to, NULL))
        (void)fprintf(stderr, "%s: cannot remove an incomplete copy\n", to); /* initdb fails then */
    free(maker);
    free(folder);
    free(data);
    free(stamp);
    free(lock);
    return copied;
}

pfc_code pfc_prepared_keep(const char *data, const char *folder, pfc_err *err)
{
    char *stamp = pfc_fs_join(folder, "schema"), *kept = pfc_fs_join(folder, "data");
    char *word = schema_word();
    pfc_code code = pfc_fs_remove_tree(folder, err);

    if (!code)
        code = pfc_fs_mkdirs(folder, 0755, err);
    if (!code &&
        !ran((const char *const[]){ "cp", "-a", "--reflink=auto", data, kept, NULL }, NULL))
        code = pfc_err_set(err, PFC_EIO, "%s cannot be copied to %s", data, kept);
    if (!code) /* last: without it the rest does not count */
        code = pfc_fs_write_atomic(stamp, word, strlen(word), 0644, err);
    free(stamp);
    free(kept);
    free(word);
    return code;
}
