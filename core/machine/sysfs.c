/* Reading the small files of /proc and /sys. */
#include "core/machine/sysfs.h"

#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/parse.h"

#define MAX_LINE 256

static FILE *open_below(const char *root, const char *fmt, va_list args)
{
    char path[PFC_PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s", root ? root : "");
    int more;

    if (len < 0 || (size_t)len >= sizeof(path))
        return NULL;
    more = vsnprintf(path + len, sizeof(path) - (size_t)len, fmt, args);
    if (more < 0 || (size_t)more >= sizeof(path) - (size_t)len)
        return NULL;
    return fopen(path, "re");
}

static bool read_line(FILE *f, char *line, size_t cap)
{
    const bool ok = f && fgets(line, (int)cap, f);
    size_t len;

    if (f)
        fclose(f);
    if (!ok)
        return false;
    len = strcspn(line, "\n");
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
        len--;
    line[len] = '\0';
    return len > 0;
}

char *pfc_sysfs_line(const char *root, const char *fmt, ...)
{
    char line[MAX_LINE];
    va_list args;
    FILE *f;

    va_start(args, fmt);
    f = open_below(root, fmt, args);
    va_end(args);
    return read_line(f, line, sizeof(line)) ? pfc_strdup(line) : NULL;
}

bool pfc_sysfs_i64(const char *root, int64_t *out, const char *fmt, ...)
{
    char line[MAX_LINE];
    va_list args;
    FILE *f;

    va_start(args, fmt);
    f = open_below(root, fmt, args);
    va_end(args);
    return read_line(f, line, sizeof(line)) &&
           pfc_parse_i64(line, INT64_MIN, INT64_MAX, "value", out, NULL) == PFC_OK;
}

size_t pfc_sysfs_bytes(const char *root, void *out, size_t cap, const char *fmt, ...)
{
    va_list args;
    size_t len = 0;
    FILE *f;

    va_start(args, fmt);
    f = open_below(root, fmt, args);
    va_end(args);
    if (f) {
        len = fread(out, 1, cap, f);
        fclose(f);
    }
    return len;
}

char **pfc_sysfs_list(const char *root, const char *pattern, size_t max, size_t *len)
{
    char *full = pfc_format("%s%s", root ? root : "", pattern);
    char **names = NULL;
    glob_t found;

    *len = 0;
    if (glob(full, 0, NULL, &found) == 0) {
        names = pfc_calloc(PFC_MAX(found.gl_pathc, 1), sizeof(*names));
        for (size_t i = 0; i < found.gl_pathc && *len < max; i++) {
            const char *slash = strrchr(found.gl_pathv[i], '/');
            names[(*len)++] = pfc_strdup(slash ? slash + 1 : found.gl_pathv[i]);
        }
        globfree(&found);
    }
    free(full);
    return names;
}

void pfc_sysfs_list_free(char **names, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(names[i]);
    free(names);
}
