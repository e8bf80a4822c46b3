/*
 * Files and folders. Paths are bounded by PFC_PATH_MAX; errors name the path and the reason.
 */
#ifndef PFC_CORE_BASE_FS_H
#define PFC_CORE_BASE_FS_H

#include "core/base/buf.h"

#define PFC_PATH_MAX 4096

/** PFC_EDENIED when this regular file is world-readable and so must not hold a secret. Access for
 * its group is accepted: systemd's credentials have it. */
pfc_code pfc_fs_private(const char *path, pfc_err *err) PFC_MUSTCHECK;
/** Reads a whole regular file of at most max_bytes; *out is NUL-terminated, caller frees.
 *  PFC_ENOTFOUND, PFC_ETOOBIG or PFC_EIO. "-" reads standard input. */
pfc_code pfc_fs_read(const char *path, size_t max_bytes, char **out, size_t *out_len,
                     pfc_err *err) PFC_MUSTCHECK;
/** Reads `path` below the folder `dir`, which other users may write: a regular file, reached
 *  without a symbolic link in any component of `path`, of at most max_bytes. Never waits for a
 *  pipe or a device. Errors as pfc_fs_read; PFC_EINVAL: not a regular file, or a link. */
pfc_code pfc_fs_read_beneath(const char *dir, const char *path, size_t max_bytes, char **out,
                             size_t *out_len, pfc_err *err) PFC_MUSTCHECK;
/** Replaces `path` so that a crash leaves the old or the new content: temporary file beside it,
 *  write, fsync, rename, fsync of the folder. A failed write leaves nothing behind.
 *  mode e.g. 0600. */
pfc_code pfc_fs_write_atomic(const char *path, const void *bytes, size_t len, unsigned mode,
                             pfc_err *err) PFC_MUSTCHECK;
/** mkdir -p with `mode` for the folders that are made. */
pfc_code pfc_fs_mkdirs(const char *path, unsigned mode, pfc_err *err) PFC_MUSTCHECK;
/** Removes a tree of any depth without following symbolic links, also folders that this user owns
 *  and may not enter; a missing path is fine. */
pfc_code pfc_fs_remove_tree(const char *path, pfc_err *err) PFC_MUSTCHECK;
bool pfc_fs_exists(const char *path);
bool pfc_fs_is_dir(const char *path);
/** "a/b" in a new string; caller frees. */
char *pfc_fs_join(const char *a, const char *b);
/** A fresh folder NAME-XXXXXX under $TMPDIR or /tmp; caller frees the path. */
pfc_code pfc_fs_temp_dir(const char *name, char **out, pfc_err *err) PFC_MUSTCHECK;
/** Folder of the running program (so that perfci finds perfci-bench beside it); caller frees. */
pfc_code pfc_fs_program_dir(char **out, pfc_err *err) PFC_MUSTCHECK;
/** First thing in main. Started with a standard descriptor closed (cron, CI), the next file or
 * socket opened would take its number, and what is printed or logged would go there: they become
 * /dev/null. */
void pfc_fs_open_standard(void);

#endif
