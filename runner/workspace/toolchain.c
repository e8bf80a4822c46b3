/*
 * The identity of the programs that build. Asking each for its version would start dozens of
 * processes for each job; the package manager replaces files, so path, size and time of change tell
 * the same.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "runner/workspace/workspace_priv.h"

#define MAX_TEXT (256u * 1024)

static const char *const programs[] = {
    "cc",      "c++",    "gcc",      "g++",   "clang",    "clang++", "ld",      "ld.bfd",
    "ld.gold", "ld.lld", "as",       "ar",    "make",     "gmake",   "cmake",   "ninja",
    "meson",   "bazel",  "bazelisk", "rustc", "cargo",    "go",      "python3", "node",
    "javac",   "nvcc",   "hipcc",    "icx",   "gfortran", "ccache",  "nasm",    "zig",
};

/* The folders of Debian's libraries; on another system only the programs on PATH are compared. */
static const char *const libraries[] = {
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/aarch64-linux-gnu/libc.so.6",
    "/usr/lib64/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
    "/usr/lib64/libstdc++.so.6",
};

static const char *const variables[] = { "PATH",     "CC",        "CXX",       "CFLAGS",
                                         "CXXFLAGS", "CPPFLAGS",  "LDFLAGS",   "RUSTFLAGS",
                                         "GOFLAGS",  "MAKEFLAGS", "CUDA_HOME", "ROCM_PATH" };

static void put_file(pfc_buf *out, const char *path)
{
    char *real = realpath(path, NULL);
    struct stat st;

    if (real && stat(real, &st) == 0)
        pfc_buf_printf(out, "%s %s %lld %lld\n", path, real, (long long)st.st_size,
                       (long long)st.st_mtim.tv_sec * PFC_NS_PER_S + st.st_mtim.tv_nsec);
    free(real);
}

/* The first of that name on PATH, which is the one that a shell runs. */
static void put_program(pfc_buf *out, const char *path, const char *name)
{
    while (path && *path) {
        const size_t len = strcspn(path, ":");
        char *folder = pfc_strndup(path, len);
        char *file = pfc_fs_join(folder, name);
        const bool found = len && pfc_fs_exists(file);

        if (found)
            put_file(out, file);
        free(file);
        free(folder);
        if (found)
            return;
        path += len + (path[len] == ':');
    }
}

void pfc_toolchain_hash(char out[PFC_SHA256_HEX])
{
    pfc_buf text;

    pfc_buf_init(&text, MAX_TEXT);
    for (size_t i = 0; i < PFC_ARRAY_LEN(variables); i++) {
        const char *value = getenv(variables[i]);

        if (value)
            pfc_buf_printf(&text, "%s=%s\n", variables[i], value);
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(programs); i++)
        put_program(&text, getenv("PATH"), programs[i]);
    for (size_t i = 0; i < PFC_ARRAY_LEN(libraries); i++)
        put_file(&text, libraries[i]);
    pfc_sha256_hex(pfc_buf_text(&text), text.len, out);
    pfc_buf_clear(&text);
}
