/* Files: bounded reads, replacement that is all or nothing, removal that follows no link. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/fs.h"

#include "tests/check/check.h"

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

/* ENOENT and ENOTDIR: there is no such file. A folder exists, but is no file. */
Test(fs, a_missing_file_is_distinguished_from_a_folder)
{
    char *path = pfc_fs_join(dir, "a"), *below = pfc_fs_join(dir, "a/b");
    pfc_err err = { 0 };
    char *text = NULL;
    size_t len = 0;

    cr_assert(eq(int, pfc_fs_read(path, 9, &text, &len, &err), PFC_ENOTFOUND), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_write_atomic(path, "x", 1, 0600, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_read(below, 9, &text, &len, &err), PFC_ENOTFOUND), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_read(dir, 9, &text, &len, &err), PFC_EINVAL), "%s", err.msg);
    cr_assert_null(text);
    free(path);
    free(below);
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

/* 1,000 folders below one another, each entered by the one before. */
static void make_deep(const char *tree, int depth)
{
    int at = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (int i = 0; i < depth; i++) {
        int below;

        cr_assert(ge(int, at, 0));
        cr_assert(eq(int, mkdirat(at, "d", 0700), 0));
        below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = below;
    }
    close(openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    close(at);
}

Test(fs, a_tree_of_any_depth_and_without_rights_is_removed)
{
    char *tree = pfc_fs_join(dir, "deep"), *locked = pfc_fs_join(tree, "locked");
    char *inner = pfc_fs_join(locked, "inner"), *taken = pfc_fs_join(tree, ".perfci-deep-0");
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_mkdirs(inner, 0700, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_mkdirs(taken, 0700, &err), PFC_OK), "%s", err.msg);
    make_deep(tree, 1000);
    cr_assert(eq(int, chmod(inner, 0), 0));
    cr_assert(eq(int, chmod(locked, 0), 0));
    cr_assert(eq(int, pfc_fs_remove_tree(tree, &err), PFC_OK), "%s", err.msg);
    cr_assert_not(pfc_fs_exists(tree));
    free(taken);
    free(inner);
    free(locked);
    free(tree);
}

/* A file, and what a hostile job puts in the place of one. */
static void fixture_tree(const char *tree)
{
    char *sub = pfc_fs_join(tree, "sub"), *file = pfc_fs_join(sub, "file");
    char *outside = pfc_fs_join(dir, "outside.txt");
    const struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "socket" };
    const int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_mkdirs(sub, 0700, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_write_atomic(file, "content", 7, 0600, &err), PFC_OK));
    cr_assert(eq(int, pfc_fs_write_atomic(outside, "secret", 6, 0600, &err), PFC_OK));
    cr_assert(eq(int, chdir(tree), 0));
    cr_assert(eq(int, symlink("../outside.txt", "link"), 0));
    cr_assert(eq(int, symlink("sub", "linked"), 0));
    cr_assert(eq(int, symlink("/nowhere", "sub/dangling"), 0));
    cr_assert(eq(int, mkfifo("pipe", 0600), 0));
    cr_assert(eq(int, mkdir("folder", 0700), 0));
    cr_assert(eq(int, bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0));
    cr_assert(eq(int, fchdir(at), 0));
    close(at);
    close(fd);
    free(outside);
    free(file);
    free(sub);
}

Test(fs, a_file_that_another_user_placed_is_read_only_if_it_is_one)
{
    static const char *const refused[] = { "link",         "pipe",        "folder",
                                           "linked/file",  "sub/../file", "../outside",
                                           "sub/dangling", "socket" };
    char *tree = pfc_fs_join(dir, "placed"), *text = NULL;
    pfc_err err = { 0 };
    size_t len = 0;

    fixture_tree(tree);
    cr_assert(eq(int, pfc_fs_read_beneath(tree, "sub/file", 100, &text, &len, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(str, text, (char *)"content"));
    free(text);
    text = NULL;
    cr_assert(eq(int, pfc_fs_read_beneath(tree, "sub/file", 3, &text, &len, &err), PFC_ETOOBIG));
    cr_assert(eq(int, pfc_fs_read_beneath(tree, "none", 3, &text, &len, &err), PFC_ENOTFOUND));
    for (size_t i = 0; i < PFC_ARRAY_LEN(refused); i++) {
        cr_expect(ne(int, pfc_fs_read_beneath(tree, refused[i], 100, &text, &len, &err), PFC_OK),
                  "%s", refused[i]);
        cr_expect(eq(ptr, text, NULL), "%s", refused[i]);
    }
    cr_assert(eq(int, pfc_fs_remove_tree(tree, &err), PFC_OK), "%s", err.msg);
    free(tree);
}
