/* Schedule files: a strict reader, as that of chip files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/parse.h"
#include "kernels/accel/text/text.h"

typedef enum key {
    KEY_M,
    KEY_N,
    KEY_K,
    KEY_GROUP,
    KEY_BUFFERS,
    KEY_ORDER,
    KEY_QUEUES,
    KEY_FUSE,
    KEYS
} key;

static const char *const keys[KEYS] = { "m",       "n",     "k",      "group",
                                        "buffers", "order", "queues", "fuse" };
static const int64_t most[] = { [KEY_M] = PFC_ACCEL_MAX_DIM,
                                [KEY_N] = PFC_ACCEL_MAX_DIM,
                                [KEY_K] = PFC_ACCEL_MAX_DIM,
                                [KEY_GROUP] = 256,
                                [KEY_BUFFERS] = 32 };

typedef struct reader {
    const char *file;
    size_t line;
    bool seen[KEYS];
    pfc_accel_gemm_tiles tiles;
    pfc_err *err;
} reader;

/* One of two words. */
static pfc_code choice(reader *r, key which, const char *value, const char *yes, const char *no,
                       bool *out)
{
    *out = strcmp(value, yes) == 0;
    if (*out || strcmp(value, no) == 0)
        return PFC_OK;
    return pfc_err_set(r->err, PFC_EINVAL, "%s:%zu: %s: expected %s or %s, got \"%.40s\"", r->file,
                       r->line, keys[which], no, yes, value);
}

static pfc_code set(reader *r, key which, const char *value)
{
    pfc_accel_gemm_tiles *t = &r->tiles;
    uint64_t *const numbers[] = { [KEY_M] = &t->m,
                                  [KEY_N] = &t->n,
                                  [KEY_K] = &t->k,
                                  [KEY_GROUP] = &t->group,
                                  [KEY_BUFFERS] = &t->slots };
    int64_t v = 0;

    if (which == KEY_ORDER)
        return choice(r, which, value, "m", "n", &t->m_outer);
    if (which == KEY_QUEUES)
        return choice(r, which, value, "shared", "split", &t->mixed);
    if (which == KEY_FUSE)
        return choice(r, which, value, "off", "on", &t->unfused);
    if (pfc_parse_i64(value, which == KEY_BUFFERS ? 2 : 1, most[which], keys[which], &v, r->err)) {
        (void)pfc_err_wrap(r->err, "%s:%zu", r->file, r->line);
        return PFC_EINVAL;
    }
    *numbers[which] = (uint64_t)v;
    return PFC_OK;
}

static pfc_code read_line(reader *r, char *line)
{
    char *comment = strchr(line, '#');
    char name[16] = "";
    char value[32] = "";
    char rest[2] = "";
    key which = KEY_M;

    if (comment)
        *comment = '\0';
    if (line[strspn(line, " \t\r")] == '\0')
        return PFC_OK;
    if (sscanf(line, " %15[a-z] = %31[a-z0-9-] %1s", name, value, rest) != 2)
        return pfc_err_set(r->err, PFC_EINVAL, "%s:%zu: expected \"key = value\", got \"%.60s\"",
                           r->file, r->line, line);
    while (which < KEYS && strcmp(keys[which], name) != 0)
        which++;
    if (which == KEYS)
        return pfc_err_set(r->err, PFC_EINVAL,
                           "%s:%zu: expected m, n, k, group, buffers, order, queues or fuse, got "
                           "\"%s\"",
                           r->file, r->line, name);
    if (r->seen[which])
        return pfc_err_set(r->err, PFC_EINVAL, "%s:%zu: expected %s once, got it twice", r->file,
                           r->line, name);
    r->seen[which] = true;
    return set(r, which, value);
}

pfc_code pfc_accel_schedule_parse(const char *text, size_t len, const char *name,
                                  pfc_accel_schedule *out, pfc_err *err)
{
    reader r = { .file = name, .tiles = { .group = 1, .slots = 2 }, .err = err };
    char hex[PFC_SHA256_HEX];
    char *copy;
    pfc_code code = PFC_OK;

    if (len > PFC_ACCEL_SCHEDULE_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %d bytes, got %zu", name,
                           PFC_ACCEL_SCHEDULE_MAX_BYTES, len);
    if (len && memchr(text, '\0', len))
        return pfc_err_set(err, PFC_EINVAL, "%s: expected text, got a NUL byte", name);
    copy = pfc_strndup(text, len);
    for (char *line = copy; line && !code;) {
        char *next = strchr(line, '\n');

        if (next)
            *next++ = '\0';
        r.line++;
        code = read_line(&r, line);
        line = next;
    }
    free(copy);
    for (size_t i = 0; i < 3 && !code; i++)
        if (!r.seen[i])
            code = pfc_err_set(err, PFC_EINVAL,
                               "%s:%zu: expected \"%s = SIZE\", got the end of the file", name,
                               r.line, keys[i]);
    if (code)
        return code;
    pfc_sha256_hex(text, len, hex);
    out->tiles = r.tiles;
    snprintf(out->hash, sizeof(out->hash), "%.16s", hex);
    return PFC_OK;
}

pfc_accel_gemm_tiles pfc_accel_schedule_tiles(const pfc_accel_schedule *s,
                                              const pfc_accel_problem *problem)
{
    pfc_accel_gemm_tiles t = s->tiles;

    t.m = PFC_MAX(PFC_MIN(t.m, (uint64_t)problem->p[0]), 1);
    t.n = PFC_MAX(PFC_MIN(t.n, (uint64_t)problem->p[1]), 1);
    t.k = PFC_MAX(PFC_MIN(t.k, (uint64_t)problem->p[2]), 1);
    return t;
}

pfc_code pfc_accel_schedule_load(const char *path, pfc_accel_schedule *out, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, PFC_ACCEL_SCHEDULE_MAX_BYTES, &text, &len, err);

    if (!code)
        code = pfc_accel_schedule_parse(text, len, path, out, err);
    free(text);
    return code;
}
