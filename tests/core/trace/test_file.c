/* The binary format: what is written is read again; what is damaged is refused with its place. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/rng.h"
#include "core/trace/layout.h"

#include "tests/check/check.h"
#include "tests/core/trace/trace_case.h"

#define RECORD 32

/* The bytes of the shared case; caller frees. */
static char *case_bytes(size_t *len)
{
    size_t count = 0;
    const pfc_trace_record *records = case_records(&count);
    char *path = case_path("a.pct");
    char *bytes = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, case_write(path, case_header(), records, count, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_fs_read(path, 1 << 20, &bytes, len, &err), PFC_OK), "%s", err.msg);
    case_remove(path);
    return bytes;
}

/* Reads all; the number of records that came before the end or the failure. */
static pfc_code read_all(const void *bytes, size_t len, pfc_trace_record *out, size_t cap,
                         size_t *count, pfc_err *err)
{
    pfc_trace_reader *r = NULL;
    bool more = true;
    pfc_code code = pfc_trace_reader_open_bytes(&r, bytes, len, "x.pct", PFC_TRACE_STRICT, err);

    *count = 0;
    while (!code && more) {
        pfc_trace_record record;

        code = pfc_trace_read(r, &record, &more, err);
        if (code || !more)
            continue;
        cr_assert(lt(sz, *count, cap));
        out[(*count)++] = record;
        cr_assert(eq(u64, pfc_trace_reader_number(r), *count));
    }
    if (code && r) {
        pfc_trace_record record;
        pfc_err again = { 0 };

        cr_assert(eq(int, pfc_trace_read(r, &record, &more, &again), code));
        cr_assert(eq(str, again.msg, err->msg));
    }
    pfc_trace_reader_free(r);
    return code;
}

static bool same(const pfc_trace_record *a, const pfc_trace_record *b)
{
    return a->ticks == b->ticks && a->type == b->type && a->unit == b->unit && a->corr == b->corr &&
           a->a == b->a && a->b == b->b;
}

Test(trace_file, case_comes_back_with_its_header)
{
    const pfc_trace_header *want = case_header();
    const pfc_trace_header *got;
    pfc_trace_reader *r = NULL;
    pfc_err err = { 0 };
    size_t len = 0;
    char *bytes = case_bytes(&len);

    cr_assert(
        eq(int, pfc_trace_reader_open_bytes(&r, bytes, len, "x", PFC_TRACE_STRICT, &err), PFC_OK),
        "%s", err.msg);
    got = pfc_trace_reader_header(r);
    cr_assert(eq(sz, got->clocks_len, want->clocks_len));
    cr_assert(eq(str, got->clocks[1].name, "device"));
    cr_assert(eq(u64, got->clocks[1].nominal_hz, 2000000000));
    cr_assert(eq(u32, got->clocks[1].width_bits, 36));
    cr_assert(eq(sz, got->units_len, want->units_len));
    for (size_t i = 0; i < want->units_len; i++) {
        cr_assert(eq(str, got->units[i].name, want->units[i].name));
        cr_assert(eq(u16, got->units[i].id, want->units[i].id));
        cr_assert(eq(u16, got->units[i].kind, want->units[i].kind));
        cr_assert(eq(u16, got->units[i].clock, want->units[i].clock));
        cr_assert(eq(int, got->units[i].overlaps, want->units[i].overlaps));
    }
    cr_assert(eq(str, got->counters[0].name, "hbm_read"));
    cr_assert(eq(str, got->counters[1].unit, "K"));
    cr_assert(eq(str, got->names[2], "phase 1"));
    cr_assert(eq(str, pfc_trace_meta_value(got, "chip"), "edge8"));
    cr_assert(pfc_trace_meta_value(got, "chap") == NULL);
    pfc_trace_reader_free(r);
    free(bytes);
}

/* More records than a buffer of writer or reader holds, of every type with random fields. */
Test(trace_file, random_records_come_back)
{
    enum { COUNT = 3 * PFC_TRACE_BUFFER_RECORDS + 17 };
    size_t some = 0;
    const pfc_trace_record *templates = case_records(&some);
    pfc_trace_record *records = calloc(COUNT, sizeof(*records));
    pfc_trace_record *got = calloc(COUNT, sizeof(*got));
    char *path = case_path("b.pct");
    pfc_trace_reader *r = NULL;
    bool more = true;
    pfc_rng rng;
    pfc_err err = { 0 };

    pfc_rng_seed(&rng, 17);
    for (size_t i = 0; i < COUNT; i++) {
        records[i] = templates[pfc_rng_below(&rng, some)];
        records[i].ticks = pfc_rng_u64(&rng) >> 28;
        records[i].corr = (uint32_t)pfc_rng_u64(&rng);
        if (pfc_trace_row_of(records[i].type)->b_kind == PFC_TRACE_NUMBER)
            records[i].b = pfc_rng_u64(&rng);
    }
    cr_assert(eq(int, case_write(path, case_header(), records, COUNT, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_trace_reader_open(&r, path, PFC_TRACE_STRICT, &err), PFC_OK));
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert(eq(int, pfc_trace_read(r, &got[i], &more, &err), PFC_OK), "%s", err.msg);
        cr_assert(more);
        cr_assert(same(&got[i], &records[i]), "record %zu", i + 1);
    }
    cr_assert(eq(int, pfc_trace_read(r, &got[0], &more, &err), PFC_OK), "%s", err.msg);
    cr_assert(not(more));
    pfc_trace_reader_free(r);
    case_remove(path);
    free(records);
    free(got);
}

Test(trace_file, every_prefix_is_refused)
{
    pfc_trace_record got[64];
    size_t len = 0;
    char *bytes = case_bytes(&len);
    size_t count = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, read_all(bytes, len, got, 64, &count, &err), PFC_OK), "%s", err.msg);
    for (size_t cut = 0; cut < len; cut++) {
        size_t before = 0;

        cr_assert(eq(int, read_all(bytes, cut, got, 64, &before, &err), PFC_EINVAL), "%zu", cut);
        cr_assert(le(sz, before, count));
        if (before > 0)
            cr_assert(strstr(err.msg, "cut off") != NULL, "%s", err.msg);
    }
    free(bytes);
}

/* A changed bit anywhere: in the header its digest or a rule, in a record the digest or a rule. */
Test(trace_file, every_flipped_bit_is_noticed)
{
    pfc_trace_record got[64];
    size_t len = 0;
    char *bytes = case_bytes(&len);
    size_t count = 0;
    pfc_err err = { 0 };

    for (size_t bit = 0; bit < 8 * len; bit++) {
        const bool minor = bit >= 80 && bit < 96; /* a newer minor version is accepted */

        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << (bit % 8)));
        cr_assert(eq(int, read_all(bytes, len, got, 64, &count, &err), minor ? PFC_OK : PFC_EINVAL),
                  "bit %zu", bit);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << (bit % 8)));
    }
    free(bytes);
}

Test(trace_file, swapped_records_and_more_bytes_are_noticed)
{
    pfc_trace_record got[64];
    size_t len = 0;
    char *bytes = case_bytes(&len);
    char *more = calloc(1, len + 1);
    char kept[RECORD];
    size_t count = 0;
    pfc_err err = { 0 };

    memcpy(more, bytes, len);
    cr_assert(eq(int, read_all(more, len + 1, got, 64, &count, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "nothing behind the end") != NULL, "%s", err.msg);

    memcpy(kept, bytes + len - 4 * RECORD, RECORD);
    memcpy(bytes + len - 4 * RECORD, bytes + len - 3 * RECORD, RECORD);
    memcpy(bytes + len - 3 * RECORD, kept, RECORD);
    cr_assert(eq(int, read_all(bytes, len, got, 64, &count, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "reordered") != NULL, "%s", err.msg);
    free(more);
    free(bytes);
}

/* Sets a byte of the header and puts its digest right. */
static pfc_code read_changed(char *bytes, size_t len, size_t at, char value, pfc_err *err)
{
    uint8_t *data = (uint8_t *)bytes;
    const size_t header = (size_t)pfc_trace_load(data + 12, 4);
    const char kept = bytes[at];
    uint64_t digest = PFC_TRACE_DIGEST_START;
    pfc_trace_record got[64];
    size_t count = 0;
    pfc_code code;

    bytes[at] = value;
    for (size_t i = PFC_TRACE_FIXED_BYTES; i < header; i += 8)
        digest = pfc_trace_digest(digest, pfc_trace_load(data + i, 8));
    pfc_trace_store(data + 32, digest, 8);
    code = read_all(bytes, len, got, 64, &count, err);
    bytes[at] = kept;
    return code;
}

/* A digest does not protect from a writer that is wrong. */
Test(trace_file, header_with_a_right_digest_is_still_checked)
{
    size_t len = 0;
    char *bytes = case_bytes(&len);
    const size_t header = (size_t)pfc_trace_load((uint8_t *)bytes + 12, 4);
    const char *unit = memmem(bytes, len, "dma 0", 5);
    pfc_err err = { 0 };

    cr_assert(unit != NULL);
    cr_assert(eq(chr, bytes[header - 1], '\0'), "the shared header has no padding to change");
    /* Before the name are its length and the flag of overlapping slices. */
    cr_assert(eq(int, read_changed(bytes, len, (size_t)(unit - bytes) - 2, 1, &err), PFC_OK));
    cr_assert(eq(int, read_changed(bytes, len, (size_t)(unit - bytes) - 2, 2, &err), PFC_EINVAL));
    cr_assert(eq(int, read_changed(bytes, len, (size_t)(unit - bytes) - 1, 0, &err), PFC_EINVAL));
    cr_assert(eq(int, read_changed(bytes, len, (size_t)(unit - bytes), '\0', &err), PFC_EINVAL));
    cr_assert(eq(int, read_changed(bytes, len, header - 1, 1, &err), PFC_EINVAL));
    free(bytes);
}

/* ---- the writer refuses ---- */

Test(trace_file, record_that_contradicts_the_header_leaves_no_file)
{
    const pfc_trace_record bad[] = {
        { .type = 999, .unit = CASE_HOST },
        { .type = PFC_TRACE_MARKER, .unit = 999 },
        { .type = PFC_TRACE_TILE_BEGIN, .unit = CASE_HOST },
        { .type = PFC_TRACE_MARKER, .unit = CASE_HOST, .a = 4 },
        { .type = PFC_TRACE_DROP, .unit = CASE_HOST, .b = 1 },
        { .type = PFC_TRACE_FETCH, .unit = CASE_QUEUE, .ticks = UINT64_C(1) << 36 },
        { .type = PFC_TRACE_COUNTER_SAMPLE, .unit = CASE_DMA, .a = 2 }
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        char *path = case_path("c.pct");
        pfc_err err = { 0 };

        cr_assert(eq(int, case_write(path, case_header(), &bad[i], 1, &err), PFC_EINVAL), "%zu", i);
        cr_assert(strstr(err.msg, "trace record 1: ") != NULL, "%s", err.msg);
        cr_assert(not(pfc_fs_exists(path)));
        *strrchr(path, '/') = '\0';
        cr_assert(eq(int, rmdir(path), 0)); /* no temporary file either */
        free(path);
    }
}

Test(trace_file, full_disk_is_an_error)
{
    size_t len = 0;
    const pfc_trace_record *records = case_records(&len);
    pfc_err err = { 0 };

    cr_assert(eq(int, case_write("/dev/full", case_header(), records, len, &err), PFC_EIO));
    cr_assert(strstr(err.msg, "/dev/full") != NULL, "%s", err.msg);
}

Test(trace_file, file_that_cannot_grow_leaves_the_old_one)
{
    const struct rlimit limit = { 1024, 1024 };
    size_t len = 0;
    const pfc_trace_record *records = case_records(&len);
    char *path = case_path("d.pct");
    char *bytes = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_write_atomic(path, "old", 3, 0600, &err), PFC_OK));
    signal(SIGXFSZ, SIG_IGN);
    cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &limit), 0));
    cr_assert(eq(int, case_write(path, case_header(), records, len, &err), PFC_EIO), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_read(path, 10, &bytes, NULL, &err), PFC_OK));
    cr_assert(eq(str, bytes, "old"));
    free(bytes);
    case_remove(path);
}

Test(trace_file, header_rules)
{
    const pfc_trace_header *good = case_header();
    pfc_trace_unit units[5];
    pfc_trace_clock clocks[2];
    pfc_trace_meta meta[2] = { { "k", "v" }, { "k", "w" } };
    pfc_trace_header h = *good;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_trace_header_check(good, &err), PFC_OK), "%s", err.msg);
    h.units_len = 0;
    cr_assert(eq(int, pfc_trace_header_check(&h, &err), PFC_EINVAL));
    h = *good;
    h.meta = meta;
    h.meta_len = 2;
    cr_assert(eq(int, pfc_trace_header_check(&h, &err), PFC_EINVAL));
    h = *good;
    for (int wrong = 0; wrong < 8; wrong++) {
        memcpy(units, good->units, sizeof(units));
        memcpy(clocks, good->clocks, sizeof(clocks));
        h.units = units;
        h.clocks = clocks;
        switch (wrong) {
        case 0:
            units[1].id = units[0].id;
            break;
        case 1:
            units[1].kind = PFC_TRACE_KINDS_LEN;
            break;
        case 2:
            units[1].clock = 2;
            break;
        case 3:
            units[0].device = 1;
            break;
        case 4:
            units[1].name = "";
            break;
        case 5:
            units[1].name = "\xff";
            break;
        case 6:
            clocks[0].nominal_hz = 0;
            break;
        default:
            clocks[0].width_bits = 65;
            break;
        }
        cr_assert(eq(int, pfc_trace_header_check(&h, &err), PFC_EINVAL), "%d", wrong);
    }
}
