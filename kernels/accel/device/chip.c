/* Chip files: a strict reader, and the chips that are built in. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/parse.h"
#include "kernels/accel/device/device.h"

typedef struct key {
    const char *name;
    size_t offset;
    int64_t min;
    int64_t max;
    bool power_of_two;
    uint64_t fallback; /* where the file lacks the key; 0: it must not lack it */
} key;

#define KEY(f, lo, hi)                                                                             \
    {                                                                                              \
#f, offsetof(pfc_accel_chip, f), (lo), (hi), false, 0                                      \
    }
#define KEY2(f, lo, hi)                                                                            \
    {                                                                                              \
#f, offsetof(pfc_accel_chip, f), (lo), (hi), true, 0                                       \
    }
/* A key that is newer than chip files of others. */
#define KEY_NEW(f, lo, hi, fallback)                                                               \
    {                                                                                              \
#f, offsetof(pfc_accel_chip, f), (lo), (hi), false, (fallback)                             \
    }

static const key keys[] = {
    KEY(clock_mhz, 1, 10000),
    KEY(array_rows, 1, 1024),
    KEY(array_cols, 1, 1024),
    KEY_NEW(array_load_rows, 1, 1024, 1),
    KEY(f32_passes, 1, 16),
    KEY(vector_lanes, 1, 65536),
    KEY(vector_latency, 0, 10000),
    KEY(vector_reduce, 0, 10000),
    KEY(vector_exp, 1, 64),
    KEY(sram_bytes, 4096, 1 << 30),
    KEY(sram_banks, 1, PFC_ACCEL_MAX_BANKS),
    KEY(sram_port_bytes, 1, 4096),
    KEY(acc_bytes, 1024, 1 << 28),
    KEY(dma_engines, 1, PFC_ACCEL_MAX_DMA),
    KEY(dma_bytes, 1, 4096),
    KEY(dma_setup, 0, 100000),
    KEY(dma_window, 1, 64),
    KEY(hbm_bytes, 1 << 20, 1LL << 40),
    KEY(hbm_mbps, 1, 100000000),
    KEY(hbm_channels, 1, PFC_ACCEL_MAX_CHANNELS),
    KEY2(hbm_interleave, 64, 65536),
    KEY2(hbm_burst, 16, 256),
    KEY(hbm_banks, 1, PFC_ACCEL_MAX_BANKS),
    KEY2(hbm_row_bytes, 256, 65536),
    KEY(hbm_row_miss, 0, 10000),
    KEY(hbm_turnaround, 0, 10000),
    KEY(hbm_refresh_every, 100, 10000000),
    KEY(hbm_refresh, 0, 10000),
    KEY(hbm_latency, 0, 100000),
    KEY(pcie_gen, 3, 6),
    KEY(pcie_lanes, 1, 16),
    KEY(pcie_payload, 64, 4096),
    KEY(pcie_latency_ns, 0, 1000000),
    KEY(launch_ns, 0, 1000000000),
    /* As pfc-server.chip, which has the sources of these. */
    KEY_NEW(pcie_read_bytes, 64, 4096, 512),
    KEY_NEW(pcie_reads, 1, 4096, 256),
    KEY_NEW(host_call_ns, 0, 1000000000, 1200),
    KEY_NEW(host_doorbell_ns, 0, 1000000000, 150),
    KEY_NEW(host_irq_ns, 0, 1000000000, 4000),
    KEY_NEW(host_poll_ns, 1, 1000000000, 200),
    KEY_NEW(queue_fetch_ns, 0, 1000000000, 100),
    KEY_NEW(queue_semaphore_ns, 0, 1000000000, 300),
};

/* name, about and mode are read beside the numbers. */
#define TEXTS 3
static const char *const texts[TEXTS] = { "name", "about", "mode" };

typedef struct reader {
    const char *file;
    size_t line;
    bool seen[PFC_ARRAY_LEN(keys) + TEXTS];
    pfc_accel_chip chip;
} reader;

static pfc_code read_number(reader *r, const key *k, const char *value, pfc_err *err)
{
    char what[96];
    int64_t v = 0;
    uint64_t u;
    pfc_code code;

    snprintf(what, sizeof(what), "%s", k->name);
    code = pfc_parse_i64(value, k->min, k->max, what, &v, err);
    if (code)
        return pfc_err_wrap(err, "%s:%zu", r->file, r->line);
    u = (uint64_t)v;
    if (k->power_of_two && (u & (u - 1)) != 0)
        return pfc_err_set(err, PFC_EINVAL, "%s:%zu: %s: expected a power of two, got %s", r->file,
                           r->line, k->name, value);
    memcpy((char *)&r->chip + k->offset, &u, sizeof(u));
    return PFC_OK;
}

static pfc_code read_text(reader *r, size_t which, const char *value, pfc_err *err)
{
    if (which == 0) {
        if (!pfc_is_slug(value))
            return pfc_err_set(
                err, PFC_EINVAL,
                "%s:%zu: name: expected lower-case letters, digits, '-', got \"%.60s\"", r->file,
                r->line, value);
        snprintf(r->chip.name, sizeof(r->chip.name), "%s", value);
        return PFC_OK;
    }
    if (which == 1) {
        if (strlen(value) >= sizeof(r->chip.about))
            return pfc_err_set(err, PFC_EINVAL,
                               "%s:%zu: about: expected at most %zu bytes, got %zu", r->file,
                               r->line, sizeof(r->chip.about) - 1, strlen(value));
        snprintf(r->chip.about, sizeof(r->chip.about), "%s", value);
        return PFC_OK;
    }
    if (pfc_accel_mode_parse(value, &r->chip.mode, err))
        return pfc_err_wrap(err, "%s:%zu", r->file, r->line);
    return PFC_OK;
}

static char *trim(char *s)
{
    size_t len;

    s += strspn(s, " \t");
    len = strlen(s);
    while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t' || s[len - 1] == '\r'))
        s[--len] = '\0';
    return s;
}

static pfc_code read_line(reader *r, char *line, pfc_err *err)
{
    char *hash = strchr(line, '#');
    char *eq;
    char *name;
    char *value;
    size_t slot = PFC_ARRAY_LEN(keys) + TEXTS;

    if (hash)
        *hash = '\0';
    line = trim(line);
    if (*line == '\0')
        return PFC_OK;
    eq = strchr(line, '=');
    if (!eq)
        return pfc_err_set(err, PFC_EINVAL, "%s:%zu: expected \"key = value\", got \"%.60s\"",
                           r->file, r->line, line);
    *eq = '\0';
    name = trim(line);
    value = trim(eq + 1);
    for (size_t i = 0; i < PFC_ARRAY_LEN(keys); i++)
        if (strcmp(keys[i].name, name) == 0)
            slot = i;
    for (size_t i = 0; i < TEXTS; i++)
        if (strcmp(texts[i], name) == 0)
            slot = PFC_ARRAY_LEN(keys) + i;
    if (slot == PFC_ARRAY_LEN(keys) + TEXTS)
        return pfc_err_set(err, PFC_EINVAL, "%s:%zu: there is no key \"%.60s\"", r->file, r->line,
                           name);
    if (r->seen[slot])
        return pfc_err_set(err, PFC_EINVAL, "%s:%zu: %s is given twice", r->file, r->line, name);
    r->seen[slot] = true;
    if (slot < PFC_ARRAY_LEN(keys))
        return read_number(r, &keys[slot], value, err);
    return read_text(r, slot - PFC_ARRAY_LEN(keys), value, err);
}

/* Checks that involve several keys. */
static pfc_code check_whole(const reader *r, pfc_err *err)
{
    const pfc_accel_chip *c = &r->chip;

    for (size_t i = 0; i < PFC_ARRAY_LEN(r->seen); i++) {
        if (!r->seen[i] && !(i < PFC_ARRAY_LEN(keys) && keys[i].fallback))
            return pfc_err_set(
                err, PFC_EINVAL, "%s:%zu: the file ends without %s", r->file, r->line,
                i < PFC_ARRAY_LEN(keys) ? keys[i].name : texts[i - PFC_ARRAY_LEN(keys)]);
    }
    if (c->sram_bytes % (64 * c->sram_banks) != 0)
        return pfc_err_set(
            err, PFC_EINVAL,
            "%s: sram_bytes: expected a multiple of 64 in each of %llu banks, got %llu", r->file,
            (unsigned long long)c->sram_banks, (unsigned long long)c->sram_bytes);
    if (c->hbm_burst > c->hbm_interleave)
        return pfc_err_set(
            err, PFC_EINVAL, "%s: hbm_burst: expected at most hbm_interleave (%llu), got %llu",
            r->file, (unsigned long long)c->hbm_interleave, (unsigned long long)c->hbm_burst);
    if (c->hbm_refresh >= c->hbm_refresh_every)
        return pfc_err_set(err, PFC_EINVAL,
                           "%s: hbm_refresh: expected less than hbm_refresh_every (%llu), got %llu",
                           r->file, (unsigned long long)c->hbm_refresh_every,
                           (unsigned long long)c->hbm_refresh);
    return PFC_OK;
}

pfc_code pfc_accel_chip_parse(const char *text, size_t len, const char *name, pfc_accel_chip *out,
                              pfc_err *err)
{
    char hex[PFC_SHA256_HEX];
    reader r = { .file = name };
    char *copy = NULL;
    char *line;
    pfc_code code = PFC_OK;

    if (len > PFC_ACCEL_CHIP_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %d bytes, got %zu", name,
                           PFC_ACCEL_CHIP_MAX_BYTES, len);
    if (memchr(text, '\0', len))
        return pfc_err_set(err, PFC_EINVAL, "%s: expected text, got a NUL byte", name);
    for (size_t i = 0; i < PFC_ARRAY_LEN(keys); i++)
        memcpy((char *)&r.chip + keys[i].offset, &keys[i].fallback, sizeof(keys[i].fallback));
    copy = pfc_strndup(text, len);
    for (line = copy; line && !code;) {
        char *next = strchr(line, '\n');

        if (next)
            *next++ = '\0';
        r.line++;
        code = read_line(&r, line, err);
        line = next;
    }
    if (!code)
        code = check_whole(&r, err);
    free(copy);
    if (code)
        return code;
    pfc_sha256_hex(text, len, hex);
    snprintf(r.chip.hash, sizeof(r.chip.hash), "%.16s", hex);
    *out = r.chip;
    return PFC_OK;
}

pfc_code pfc_accel_chip_load(const char *name_or_path, pfc_accel_chip *out, pfc_err *err)
{
    char known[256] = "";
    char *text = NULL;
    size_t len = 0;
    pfc_code code;

    for (size_t i = 0; pfc_accel_chip_name(i); i++) {
        const char *builtin = pfc_accel_chip_text(i);
        const size_t used = strlen(known);

        if (strcmp(pfc_accel_chip_name(i), name_or_path) == 0)
            return pfc_accel_chip_parse(builtin, strlen(builtin), name_or_path, out, err);
        snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", pfc_accel_chip_name(i));
    }
    code = pfc_fs_read(name_or_path, PFC_ACCEL_CHIP_MAX_BYTES, &text, &len, err);
    if (code == PFC_ENOTFOUND)
        return pfc_err_set(err, PFC_ENOTFOUND,
                           "there is no chip and no chip file \"%.200s\"; chips are %s",
                           name_or_path, known);
    if (!code)
        code = pfc_accel_chip_parse(text, len, name_or_path, out, err);
    free(text);
    return code;
}

const char *pfc_accel_chip_constant(const pfc_accel_chip *chip, size_t i, uint64_t *value)
{
    if (i >= PFC_ARRAY_LEN(keys))
        return NULL;
    memcpy(value, (const char *)chip + keys[i].offset, sizeof(*value));
    return keys[i].name;
}

pfc_code pfc_accel_chip_set_array(pfc_accel_chip *chip, int64_t rows, int64_t cols, pfc_err *err)
{
    if (rows < 1 || rows > 1024 || cols < 1 || cols > 1024)
        return pfc_err_set(err, PFC_EINVAL,
                           "array: expected 1..1024 rows and columns, got %lldx%lld",
                           (long long)rows, (long long)cols);
    chip->array_rows = (uint64_t)rows;
    chip->array_cols = (uint64_t)cols;
    return PFC_OK;
}

static const char *const modes[] = {
    [PFC_ACCEL_PIPELINED_WS] = "pipelined-ws", [PFC_ACCEL_SCALESIM_WS] = "scalesim-ws",
    [PFC_ACCEL_SCALESIM_OS] = "scalesim-os",   [PFC_ACCEL_SCALESIM_IS] = "scalesim-is",
    [PFC_ACCEL_ONNXIM_WS] = "onnxim-ws",
};

const char *pfc_accel_mode_name(pfc_accel_mode mode)
{
    return modes[mode];
}

pfc_code pfc_accel_mode_parse(const char *text, pfc_accel_mode *out, pfc_err *err)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(modes); i++) {
        if (strcmp(modes[i], text) == 0) {
            *out = (pfc_accel_mode)i;
            return PFC_OK;
        }
    }
    return pfc_err_set(err, PFC_EINVAL,
                       "mode: expected pipelined-ws, scalesim-ws, scalesim-os, scalesim-is or "
                       "onnxim-ws, got \"%.60s\"",
                       text);
}

bool pfc_accel_mode_ideal_memory(pfc_accel_mode mode)
{
    return mode != PFC_ACCEL_PIPELINED_WS;
}

static const char *const dtypes[] = {
    [PFC_ACCEL_F32] = "f32", [PFC_ACCEL_BF16] = "bf16", [PFC_ACCEL_INT8] = "int8"
};

const char *pfc_accel_dtype_name(pfc_accel_dtype dtype)
{
    return dtypes[dtype];
}

pfc_code pfc_accel_dtype_parse(const char *text, pfc_accel_dtype *out, pfc_err *err)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(dtypes); i++) {
        if (strcmp(dtypes[i], text) == 0) {
            *out = (pfc_accel_dtype)i;
            return PFC_OK;
        }
    }
    return pfc_err_set(err, PFC_EINVAL, "dtype: expected f32, bf16 or int8, got \"%.60s\"", text);
}

size_t pfc_accel_dtype_bytes(pfc_accel_dtype dtype)
{
    static const size_t bytes[] = {
        [PFC_ACCEL_F32] = 4, [PFC_ACCEL_BF16] = 2, [PFC_ACCEL_INT8] = 1
    };

    return bytes[dtype];
}
