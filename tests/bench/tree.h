/* A made-up /proc and /sys below a temporary folder. */
#ifndef PFC_TESTS_BENCH_TREE_H
#define PFC_TESTS_BENCH_TREE_H

#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"

#include "tests/check/check.h"

static char *root;

static inline void put_bytes(const char *path, const void *bytes, size_t len)
{
    char *full = pfc_format("%s%s", root, path);
    char *dir = pfc_strndup(full, (size_t)(strrchr(full, '/') - full));
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_mkdirs(dir, 0700, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_write_atomic(full, bytes, len, 0600, &err), PFC_OK), "%s", err.msg);
    free(dir);
    free(full);
}

static inline void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

static void tree_setup(void)
{
    cr_assert(eq(int, pfc_fs_temp_dir("tree", &root, NULL), PFC_OK));
}

static void tree_teardown(void)
{
    cr_assert(eq(int, pfc_fs_remove_tree(root, NULL), PFC_OK));
    free(root);
}

#endif
