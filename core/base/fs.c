/* Files and folders. */
#include "core/base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pfc_code io_error(pfc_err *err, const char *doing, const char *path)
{
    int number = errno;
    pfc_code code = number == ENOENT || number == ENOTDIR ? PFC_ENOTFOUND : PFC_EIO;

    return pfc_err_set(err, code, "cannot %s %.300s: %s", doing, path, strerror(number));
}

static pfc_code read_fd(int fd, const char *path, size_t max_bytes, char **out, size_t *out_len,
                        pfc_err *err)
{
    pfc_buf buf;
    char chunk[65536];

    pfc_buf_init(&buf, max_bytes);
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            pfc_buf_clear(&buf);
            return io_error(err, "read", path);
        }
        if (got == 0)
            break;
        pfc_buf_append(&buf, chunk, (size_t)got);
        if (buf.overflow) {
            pfc_buf_clear(&buf);
            return pfc_err_set(err, PFC_ETOOBIG, "%.300s: expected at most %zu bytes, it is larger",
                               path, max_bytes);
        }
    }
    if (out_len != NULL)
        *out_len = buf.len;
    *out = pfc_buf_take(&buf);
    return PFC_OK;
}

pfc_code pfc_fs_read(const char *path, size_t max_bytes, char **out, size_t *out_len, pfc_err *err)
{
    struct stat st;
    pfc_code code;
    int fd;

    if (strcmp(path, "-") == 0)
        return read_fd(STDIN_FILENO, "standard input", max_bytes, out, out_len, err);
    /* Non-blocking: open() of a FIFO without a writer would block before fstat can reject it. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return io_error(err, "open", path);
    if (fstat(fd, &st) != 0)
        code = io_error(err, "look at", path);
    else if (S_ISDIR(st.st_mode))
        code = pfc_err_set(err, PFC_EINVAL, "%.300s: expected a file, it is a folder", path);
    else if (fcntl(fd, F_SETFL, 0) != 0)
        code = io_error(err, "open", path);
    else
        code = read_fd(fd, path, max_bytes, out, out_len, err);
    close(fd);
    return code;
}

/* Opens the folder of the path's last component, for openat. Returns -1 with errno on failure;
 * *name points to the component. */
static int open_parent(const char *dir, const char *path, const char **name)
{
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *slash;

    while (at >= 0 && (slash = strchr(path, '/')) != NULL) {
        char *part = pfc_strndup(path, (size_t)(slash - path));
        const int below = strcmp(part, "..") == 0
                              ? (errno = ELOOP, -1)
                              : openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        const int kept = errno;

        free(part);
        close(at);
        errno = kept;
        at = below;
        path = slash + strspn(slash, "/");
    }
    *name = path;
    return at;
}

pfc_code pfc_fs_read_beneath(const char *dir, const char *path, size_t max_bytes, char **out,
                             size_t *out_len, pfc_err *err)
{
    const char *name = NULL;
    struct stat st;
    pfc_code code;
    const int parent = open_parent(dir, path, &name);
    const int fd =
        parent < 0 ? -1 : openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const int number = errno;

    if (parent >= 0)
        close(parent);
    if (fd < 0) {
        errno = number;
        return number == ELOOP
                   ? pfc_err_set(err, PFC_EINVAL, "%.300s: expected a file, it is a link", path)
                   : io_error(err, "open", path);
    }
    if (fstat(fd, &st) != 0)
        code = io_error(err, "look at", path);
    else if (!S_ISREG(st.st_mode))
        code = pfc_err_set(err, PFC_EINVAL, "%.300s: expected a regular file", path);
    else
        code = read_fd(fd, path, max_bytes, out, out_len, err);
    close(fd);
    return code;
}

pfc_code pfc_fs_private(const char *path, pfc_err *err)
{
    struct stat st;

    if (strcmp(path, "-") == 0)
        return PFC_OK;
    if (stat(path, &st) != 0)
        return io_error(err, "look at", path);
    if (S_ISREG(st.st_mode) && (st.st_mode & S_IROTH))
        return pfc_err_set(err, PFC_EDENIED,
                           "%.300s: world-readable; expected no access for others (chmod o-rwx)",
                           path);
    return PFC_OK;
}

static bool write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t done = write(fd, bytes, len);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        bytes += done;
        len -= (size_t)done;
    }
    return true;
}

/* The folder is synchronised, too: without that the rename could be lost in a crash. */
static bool sync_folder_of(const char *path)
{
    char *folder = pfc_strdup(path);
    char *slash = strrchr(folder, '/');
    bool ok;
    int fd;

    if (slash == folder)
        slash++;
    if (slash != NULL)
        *slash = '\0';
    fd = open(slash == NULL ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Some file systems cannot sync a folder (EINVAL); they order renames themselves. */
    ok = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    if (fd >= 0)
        close(fd);
    free(folder);
    return ok;
}

pfc_code pfc_fs_write_atomic(const char *path, const void *bytes, size_t len, unsigned mode,
                             pfc_err *err)
{
    char *temp = pfc_format("%s.XXXXXX", path);
    pfc_code code = PFC_OK;
    int fd = mkostemp(temp, O_CLOEXEC);

    if (fd < 0) {
        code = io_error(err, "create a file beside", path);
        free(temp);
        return code;
    }
    if (fchmod(fd, (mode_t)mode) != 0 || !write_all(fd, bytes, len) || fsync(fd) != 0)
        code = io_error(err, "write", path);
    if (close(fd) != 0 && code == PFC_OK)
        code = io_error(err, "write", path);
    if (code == PFC_OK && rename(temp, path) != 0)
        code = io_error(err, "replace", path);
    if (code != PFC_OK)
        unlink(temp);
    else if (!sync_folder_of(path))
        code = io_error(err, "make durable", path);
    free(temp);
    return code;
}

pfc_code pfc_fs_mkdirs(const char *path, unsigned mode, pfc_err *err)
{
    char *copy = pfc_strdup(path);
    pfc_code code = PFC_OK;

    for (char *p = copy + 1; code == PFC_OK; p++) {
        char kept = *p;

        if (kept != '/' && kept != '\0')
            continue;
        *p = '\0';
        if (mkdir(copy, (mode_t)mode) != 0 && !(errno == EEXIST && pfc_fs_is_dir(copy)))
            code = io_error(err, "make the folder", copy);
        *p = kept;
        if (kept == '\0')
            break;
    }
    free(copy);
    return code;
}

/* depth of the chain; bounded, because each level holds a descriptor */
#define MAX_OPEN_FOLDERS 100

/* A removal under way. Folders below MAX_OPEN_FOLDERS are moved to `top` and removed from there. */
typedef struct removal {
    const char *path;
    int top; /* the first folder, -1 until it is opened */
    unsigned long moved;
} removal;

static pfc_code remove_in(removal *r, int dir, const char *name, int depth, pfc_err *err);

static pfc_code remove_children(removal *r, int fd, int depth, pfc_err *err)
{
    DIR *entries = fdopendir(fd);
    pfc_code code = PFC_OK;
    struct dirent *entry;

    if (entries == NULL) {
        code = io_error(err, "list", r->path);
        close(fd);
        return code;
    }
    if (depth == 0)
        r->top = dirfd(entries);
    while (code == PFC_OK && (entry = readdir(entries)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            code = remove_in(r, dirfd(entries), entry->d_name, depth + 1, err);
    closedir(entries);
    return code;
}

static pfc_code move_up(removal *r, int dir, const char *name, pfc_err *err)
{
    char other[64];

    do
        (void)snprintf(other, sizeof(other), ".perfci-deep-%lu", r->moved++);
    while (faccessat(r->top, other, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    return renameat(dir, name, r->top, other) == 0 ? PFC_OK : io_error(err, "remove", r->path);
}

/* The owner may have removed its own rights, without which the folder cannot be listed. */
static int open_folder(int dir, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir, name, flags);

    if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0)
        fd = openat(dir, name, flags);
    return fd;
}

static pfc_code remove_in(removal *r, int dir, const char *name, int depth, pfc_err *err)
{
    pfc_code code = PFC_OK;
    int fd;

    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return PFC_OK;
    if (errno != EISDIR && errno != EPERM && errno != EACCES)
        return io_error(err, "remove", r->path);
    if (depth > MAX_OPEN_FOLDERS)
        return move_up(r, dir, name, err);
    /* Repeats while deeper folders were moved into this one: otherwise it would not be empty. */
    while (code == PFC_OK && unlinkat(dir, name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
        const unsigned long moved = r->moved;
        struct stat st;

        if (errno != ENOTEMPTY && errno != EEXIST)
            return io_error(err, "remove", r->path);
        fd = open_folder(dir, name);
        if (fd < 0)
            return io_error(err, "remove", r->path);
        if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
            (void)fchmod(fd, 0700);
        code = remove_children(r, fd, depth, err);
        if (code == PFC_OK && moved == r->moved && unlinkat(dir, name, AT_REMOVEDIR) != 0 &&
            errno != ENOENT)
            return io_error(err, "remove", r->path);
    }
    return code;
}

pfc_code pfc_fs_remove_tree(const char *path, pfc_err *err)
{
    removal r = { .path = path, .top = -1 };

    return remove_in(&r, AT_FDCWD, path, 0, err);
}

bool pfc_fs_exists(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

bool pfc_fs_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *pfc_fs_join(const char *a, const char *b)
{
    size_t len = strlen(a);

    return pfc_format("%s%s%s", a, len > 0 && a[len - 1] == '/' ? "" : "/", b);
}

pfc_code pfc_fs_temp_dir(const char *name, char **out, pfc_err *err)
{
    const char *base = getenv("TMPDIR");
    char *path = pfc_format("%s/%s-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp", name);

    if (mkdtemp(path) == NULL) {
        pfc_code code = io_error(err, "make the folder", path);

        free(path);
        return code;
    }
    *out = path;
    return PFC_OK;
}

pfc_code pfc_fs_program_dir(char **out, pfc_err *err)
{
    char path[PFC_PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash;

    if (len <= 0)
        return io_error(err, "read", "/proc/self/exe");
    path[len] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL)
        return pfc_err_set(err, PFC_EBUG, "the program's path \"%.300s\" has no folder", path);
    *slash = '\0';
    *out = pfc_strdup(path);
    return PFC_OK;
}

void pfc_fs_open_standard(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        (void)close(fd);
}
