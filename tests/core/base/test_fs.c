/* Files: bounded reads, replacement that is all or nothing, removal that follows no link. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "core/base/fs.h"

static char *dir;

static void begin(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_temp_dir("fs", &dir, &err), PFC_OK), "%s", err.msg);
}

static void end(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK), "%s", err.msg);
    cr_assert_not(pfc_fs_exists(dir));
    free(dir);
}

TestSuite(fs, .init = begin, .fini = end);

Test(fs, what_is_written_is_read_with_its_mode)
{
    char *path = pfc_fs_join(dir, "a");
    pfc_err err = { 0 };
    char *text = NULL;
    size_t len = 0;
    struct stat st;

    cr_assert(eq(int, pfc_fs_write_atomic(path, "one\0two", 7, 0600, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_read(path, 7, &text, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, len, 7));
    cr_assert(eq(int, memcmp(text, "one\0two", 8), 0));
    cr_assert(eq(int, stat(path, &st), 0));
    cr_assert(eq(u32, st.st_mode & 0777u, 0600u));
    free(text);
    free(path);
}

Test(fs, reading_more_than_the_limit_is_refused)
{
    char *path = pfc_fs_join(dir, "a");
    pfc_err err = { 0 };
    char *text = NULL;

    cr_assert(eq(int, pfc_fs_write_atomic(path, "12345678", 8, 0600, &err), PFC_OK));
    cr_assert(eq(int, pfc_fs_read(path, 7, &text, NULL, &err), PFC_ETOOBIG));
    cr_assert_not_null(strstr(err.msg, "expected at most 7 bytes"));
    cr_assert(eq(int, pfc_fs_read(dir, 7, &text, NULL, &err), PFC_EINVAL));
    cr_assert_null(text);
    free(path);
    path = pfc_fs_join(dir, "none");
    cr_assert(eq(int, pfc_fs_read(path, 7, &text, NULL, &err), PFC_ENOTFOUND));
    free(path);
}

/* A file-size limit is the nearest thing to a full disk that needs no mount. */
Test(fs, a_write_that_fails_leaves_the_old_content_and_no_litter)
{
    char *path = pfc_fs_join(dir, "a");
    char *big = pfc_calloc(1, 100000);
    pfc_err err = { 0 };
    char *text = NULL;
    struct rlimit small = { .rlim_cur = 1000, .rlim_max = RLIM_INFINITY };
    struct rlimit old;

    cr_assert(eq(int, pfc_fs_write_atomic(path, "old", 3, 0600, &err), PFC_OK));
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    cr_assert(eq(int, pfc_fs_write_atomic(path, big, 100000, 0600, &err), PFC_EIO));
    setrlimit(RLIMIT_FSIZE, &old);
    cr_assert_not_null(strstr(err.msg, path), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_read(path, 100, &text, NULL, &err), PFC_OK));
    cr_assert(eq(str, text, "old"));
    cr_assert(eq(int, unlink(path), 0));
    cr_assert(eq(int, rmdir(dir), 0), "the temporary file was left behind");
    cr_assert(eq(int, mkdir(dir, 0700), 0));
    free(text);
    free(big);
    free(path);
}

Test(fs, folders_are_made_and_removed_without_following_links)
{
    char *deep = pfc_fs_join(dir, "t/a/b/c");
    char *outside = pfc_fs_join(dir, "outside");
    char *link_path = pfc_fs_join(dir, "t/a/link");
    char *tree = pfc_fs_join(dir, "t");
    char *kept = pfc_fs_join(outside, "kept");
    char *under_file = pfc_fs_join(kept, "x");
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_mkdirs(deep, 0700, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_mkdirs(deep, 0700, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_mkdirs(outside, 0700, &err), PFC_OK));
    cr_assert(eq(int, pfc_fs_write_atomic(kept, "x", 1, 0600, &err), PFC_OK));
    cr_assert(eq(int, symlink(outside, link_path), 0));
    cr_assert(eq(int, pfc_fs_remove_tree(tree, &err), PFC_OK), "%s", err.msg);
    cr_assert_not(pfc_fs_exists(tree));
    cr_assert(pfc_fs_exists(kept));
    cr_assert(eq(int, pfc_fs_remove_tree(tree, &err), PFC_OK), "removing nothing is fine");
    cr_assert(eq(int, pfc_fs_mkdirs(under_file, 0700, &err), PFC_EIO));
    free(under_file);
    free(deep);
    free(outside);
    free(link_path);
    free(tree);
    free(kept);
}

Test(fs, a_write_into_a_missing_folder_names_the_file)
{
    pfc_err err = { 0 };

    cr_assert(
        eq(int, pfc_fs_write_atomic("/no/such/folder/file", "x", 1, 0644, &err), PFC_ENOTFOUND));
    cr_assert(ne(ptr, strstr(err.msg, "create a file beside /no/such/folder/file"), NULL), "%s",
              err.msg);
}
