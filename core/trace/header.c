/* The header of a trace: its rules, its bytes, and the copy that a writer or reader keeps. */
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/trace/layout.h"

/* ---- rules ---- */

static pfc_code check_text(const char *text, size_t least, size_t most, const char *what, size_t i,
                           pfc_err *err)
{
    const size_t len = text ? strlen(text) : 0;

    if (!text || len < least || len > most)
        return pfc_err_set(err, PFC_EINVAL,
                           "trace header: %s %zu: expected %zu..%zu bytes, got %zu", what, i, least,
                           most, len);
    if (!pfc_is_utf8(text, len))
        return pfc_err_set(err, PFC_EINVAL, "trace header: %s %zu: expected UTF-8", what, i);
    return PFC_OK;
}

static pfc_code check_count(size_t len, size_t least, size_t most, const char *what, pfc_err *err)
{
    if (len < least || len > most)
        return pfc_err_set(err, PFC_EINVAL, "trace header: expected %zu..%zu %s, got %zu", least,
                           most, what, len);
    return PFC_OK;
}

static pfc_code check_counts(const pfc_trace_header *h, pfc_err *err)
{
    pfc_code code = check_count(h->clocks_len, 1, PFC_TRACE_MAX_CLOCKS, "clocks", err);

    if (!code)
        code = check_count(h->units_len, 1, PFC_TRACE_MAX_UNITS, "units", err);
    if (!code)
        code = check_count(h->counters_len, 0, PFC_TRACE_MAX_COUNTERS, "counters", err);
    if (!code)
        code = check_count(h->names_len, 0, PFC_TRACE_MAX_NAMES, "names", err);
    if (!code)
        code = check_count(h->meta_len, 0, PFC_TRACE_MAX_META, "metadata pairs", err);
    return code;
}

static pfc_code check_clock(const pfc_trace_clock *c, size_t i, pfc_err *err)
{
    if (c->nominal_hz < 1 || c->nominal_hz > PFC_TRACE_MAX_HZ)
        return pfc_err_set(err, PFC_EINVAL,
                           "trace header: clock %zu: expected 1..%llu Hz, got %llu", i,
                           (unsigned long long)PFC_TRACE_MAX_HZ, (unsigned long long)c->nominal_hz);
    if (c->width_bits < 8 || c->width_bits > 64)
        return pfc_err_set(err, PFC_EINVAL,
                           "trace header: clock %zu: expected a width of 8..64 bits, got %u", i,
                           c->width_bits);
    return check_text(c->name, 1, PFC_TRACE_NAME_BYTES, "name of clock", i, err);
}

static pfc_code check_unit(const pfc_trace_header *h, size_t i, pfc_err *err)
{
    const pfc_trace_unit *u = &h->units[i];

    if (!pfc_trace_kind_of(u->kind))
        return pfc_err_set(err, PFC_EINVAL, "trace header: unit %zu: there is no kind %u", i,
                           u->kind);
    if (u->clock >= h->clocks_len)
        return pfc_err_set(err, PFC_EINVAL,
                           "trace header: unit %zu: expected a clock below %zu, got %u", i,
                           h->clocks_len, u->clock);
    if (u->device > (u->kind == PFC_TRACE_KIND_HOST ? 0 : PFC_TRACE_MAX_DEVICE))
        return pfc_err_set(err, PFC_EINVAL,
                           "trace header: unit %zu: expected a device of 0..%d (host: 0), got %u",
                           i, PFC_TRACE_MAX_DEVICE, u->device);
    return check_text(u->name, 1, PFC_TRACE_NAME_BYTES, "name of unit", i, err);
}

static pfc_code check_ids(const pfc_trace_header *h, pfc_err *err)
{
    uint8_t *seen = pfc_alloc(65536);
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < h->units_len; i++) {
        if (seen[h->units[i].id])
            code = pfc_err_set(err, PFC_EINVAL, "trace header: unit %zu: the id %u is there twice",
                               i, h->units[i].id);
        seen[h->units[i].id] = 1;
    }
    free(seen);
    return code;
}

static uint64_t number_of(const char *key)
{
    uint64_t number = PFC_TRACE_DIGEST_START;

    for (; *key; key++)
        number = pfc_trace_digest(number, (uint8_t)*key);
    return number;
}

/* `before`: a number of each key, equal for equal keys; those of the pairs before i are known. */
static pfc_code check_meta(const pfc_trace_header *h, size_t i, uint64_t *before, pfc_err *err)
{
    pfc_code code = check_text(h->meta[i].key, 1, PFC_TRACE_NAME_BYTES, "key of metadata", i, err);

    if (!code)
        before[i] = number_of(h->meta[i].key);
    for (size_t k = 0; !code && k < i; k++)
        if (before[k] == before[i] && strcmp(h->meta[k].key, h->meta[i].key) == 0)
            code = pfc_err_set(err, PFC_EINVAL, "trace header: the key \"%s\" is there twice",
                               h->meta[i].key);
    if (!code)
        code = check_text(h->meta[i].value, 0, PFC_TRACE_VALUE_BYTES, "value of metadata", i, err);
    return code;
}

pfc_code pfc_trace_header_check(const pfc_trace_header *h, pfc_err *err)
{
    uint64_t keys[PFC_TRACE_MAX_META];
    pfc_code code = check_counts(h, err);

    for (size_t i = 0; !code && i < h->clocks_len; i++)
        code = check_clock(&h->clocks[i], i, err);
    for (size_t i = 0; !code && i < h->units_len; i++)
        code = check_unit(h, i, err);
    if (!code)
        code = check_ids(h, err);
    for (size_t i = 0; !code && i < h->counters_len; i++) {
        code = check_text(h->counters[i].name, 1, PFC_TRACE_NAME_BYTES, "name of counter", i, err);
        if (!code)
            code =
                check_text(h->counters[i].unit, 0, PFC_TRACE_NAME_BYTES, "unit of counter", i, err);
    }
    for (size_t i = 0; !code && i < h->names_len; i++)
        code = check_text(h->names[i], 0, PFC_TRACE_NAME_BYTES, "name", i, err);
    for (size_t i = 0; !code && i < h->meta_len; i++)
        code = check_meta(h, i, keys, err);
    return code;
}

const char *pfc_trace_meta_value(const pfc_trace_header *header, const char *key)
{
    for (size_t i = 0; i < header->meta_len; i++)
        if (strcmp(header->meta[i].key, key) == 0)
            return header->meta[i].value;
    return NULL;
}

/* ---- to bytes ---- */

static void put_number(pfc_buf *out, uint64_t v, unsigned len)
{
    uint8_t bytes[8];

    pfc_trace_store(bytes, v, len);
    pfc_buf_append(out, bytes, len);
}

static void put_text(pfc_buf *out, const char *text, unsigned length_bytes)
{
    const size_t len = strlen(text);

    put_number(out, len, length_bytes);
    pfc_buf_append(out, text, len);
}

static void put_entries(pfc_buf *out, const pfc_trace_header *h)
{
    for (size_t i = 0; i < h->clocks_len; i++) {
        put_number(out, h->clocks[i].nominal_hz, 8);
        put_number(out, h->clocks[i].width_bits, 1);
        put_text(out, h->clocks[i].name, 1);
    }
    for (size_t i = 0; i < h->units_len; i++) {
        const pfc_trace_unit *u = &h->units[i];

        put_number(out, u->id, 2);
        put_number(out, u->kind, 2);
        put_number(out, u->clock, 2);
        put_number(out, u->device, 2);
        put_number(out, u->overlaps, 1);
        put_text(out, u->name, 1);
    }
    for (size_t i = 0; i < h->counters_len; i++) {
        put_text(out, h->counters[i].name, 1);
        put_text(out, h->counters[i].unit, 1);
    }
    for (size_t i = 0; i < h->names_len; i++)
        put_text(out, h->names[i], 1);
    for (size_t i = 0; i < h->meta_len; i++) {
        put_text(out, h->meta[i].key, 1);
        put_text(out, h->meta[i].value, 2);
    }
}

static uint64_t digest_bytes(const uint8_t *bytes, size_t len)
{
    uint64_t digest = PFC_TRACE_DIGEST_START;

    for (size_t i = 0; i < len; i += 8)
        digest = pfc_trace_digest(digest, pfc_trace_load(bytes + i, 8));
    return digest;
}

pfc_code pfc_trace_header_encode(const pfc_trace_header *h, pfc_buf *out, pfc_err *err)
{
    const uint16_t counts[] = { (uint16_t)h->clocks_len, (uint16_t)h->units_len,
                                (uint16_t)h->counters_len, (uint16_t)h->names_len,
                                (uint16_t)h->meta_len };
    const size_t start = out->len;
    pfc_code code;

    pfc_buf_puts(out, PFC_TRACE_MAGIC);
    put_number(out, PFC_TRACE_MAJOR, 2);
    put_number(out, PFC_TRACE_MINOR, 2);
    put_number(out, 0, 4); /* the length, below */
    for (size_t i = 0; i < PFC_ARRAY_LEN(counts); i++)
        put_number(out, counts[i], 2);
    while ((out->len - start) < PFC_TRACE_FIXED_BYTES && !out->overflow)
        pfc_buf_putc(out, '\0');
    put_entries(out, h);
    while ((out->len - start) % PFC_TRACE_RECORD_BYTES != 0 && !out->overflow)
        pfc_buf_putc(out, '\0');
    code = pfc_buf_check(out, "the trace header", err);
    if (!code) {
        uint8_t *fixed = (uint8_t *)out->data + start;
        const size_t len = out->len - start;

        pfc_trace_store(fixed + 12, len, 4);
        pfc_trace_store(fixed + 32,
                        digest_bytes(fixed + PFC_TRACE_FIXED_BYTES, len - PFC_TRACE_FIXED_BYTES),
                        8);
    }
    return code;
}

/* ---- from bytes ---- */

/* The rest of the header; `text` is where the next string goes. */
typedef struct cursor {
    const uint8_t *bytes;
    size_t at, len;
    char *text;
    bool cut; /* an entry went past the end */
} cursor;

static uint64_t take(cursor *c, unsigned len)
{
    uint64_t v;

    if (c->cut || c->len - c->at < len) {
        c->cut = true;
        return 0;
    }
    v = pfc_trace_load(c->bytes + c->at, len);
    c->at += len;
    return v;
}

/* A string of the header, terminated; "" past the end. NUL within it makes it `cut`, too. */
static const char *take_text(cursor *c, unsigned length_bytes)
{
    const size_t len = (size_t)take(c, length_bytes);
    char *out = c->text;

    if (c->cut || c->len - c->at < len || memchr(c->bytes + c->at, 0, len)) {
        c->cut = true;
        return "";
    }
    memcpy(out, c->bytes + c->at, len);
    out[len] = '\0';
    c->at += len;
    c->text += len + 1;
    return out;
}

static void take_clocks(cursor *c, pfc_trace_index *x)
{
    pfc_trace_clock *clocks = pfc_calloc(x->header.clocks_len, sizeof(*clocks));

    for (size_t i = 0; !c->cut && i < x->header.clocks_len; i++) {
        clocks[i].nominal_hz = take(c, 8);
        clocks[i].width_bits = (uint32_t)take(c, 1);
        clocks[i].name = take_text(c, 1);
    }
    x->header.clocks = x->parts[0] = clocks;
}

static void take_units(cursor *c, pfc_trace_index *x)
{
    pfc_trace_unit *units = pfc_calloc(x->header.units_len, sizeof(*units));

    for (size_t i = 0; !c->cut && i < x->header.units_len; i++) {
        uint64_t overlaps;

        units[i].id = (uint16_t)take(c, 2);
        units[i].kind = (uint16_t)take(c, 2);
        units[i].clock = (uint16_t)take(c, 2);
        units[i].device = (uint16_t)take(c, 2);
        overlaps = take(c, 1);
        c->cut = c->cut || overlaps > 1;
        units[i].overlaps = overlaps != 0;
        units[i].name = take_text(c, 1);
    }
    x->header.units = x->parts[1] = units;
}

static void take_counters(cursor *c, pfc_trace_index *x)
{
    pfc_trace_counter *counters = pfc_calloc(x->header.counters_len, sizeof(*counters));

    for (size_t i = 0; !c->cut && i < x->header.counters_len; i++) {
        counters[i].name = take_text(c, 1);
        counters[i].unit = take_text(c, 1);
    }
    x->header.counters = x->parts[2] = counters;
}

static void take_names(cursor *c, pfc_trace_index *x)
{
    const char **names = pfc_calloc(x->header.names_len, sizeof(*names));

    for (size_t i = 0; !c->cut && i < x->header.names_len; i++)
        names[i] = take_text(c, 1);
    x->header.names = names;
    x->parts[3] = names;
}

static void take_meta(cursor *c, pfc_trace_index *x)
{
    pfc_trace_meta *meta = pfc_calloc(x->header.meta_len, sizeof(*meta));

    for (size_t i = 0; !c->cut && i < x->header.meta_len; i++) {
        meta[i].key = take_text(c, 1);
        meta[i].value = take_text(c, 2);
    }
    x->header.meta = x->parts[4] = meta;
}

static bool all_zero(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i])
            return false;
    return true;
}

pfc_code pfc_trace_header_length(const uint8_t *fixed, size_t *out, pfc_err *err)
{
    const uint64_t major = pfc_trace_load(fixed + 8, 2);
    const uint64_t len = pfc_trace_load(fixed + 12, 4);

    if (memcmp(fixed, PFC_TRACE_MAGIC, 8) != 0)
        return pfc_err_set(err, PFC_EINVAL, "not a perfci trace: expected it to begin with \"%s\"",
                           PFC_TRACE_MAGIC);
    if (major != PFC_TRACE_MAJOR)
        return pfc_err_set(err, PFC_EINVAL,
                           "trace format %llu.%llu: this program reads the formats %d.x",
                           (unsigned long long)major,
                           (unsigned long long)pfc_trace_load(fixed + 10, 2), PFC_TRACE_MAJOR);
    if (len < PFC_TRACE_FIXED_BYTES || len > PFC_TRACE_HEADER_BYTES ||
        len % PFC_TRACE_RECORD_BYTES != 0)
        return pfc_err_set(err, PFC_EINVAL,
                           "trace header at byte 12: expected a length of %d..%u, a multiple of "
                           "%d, got %llu",
                           PFC_TRACE_FIXED_BYTES, PFC_TRACE_HEADER_BYTES, PFC_TRACE_RECORD_BYTES,
                           (unsigned long long)len);
    *out = (size_t)len;
    return PFC_OK;
}

static void fill_tables(pfc_trace_index *x)
{
    for (size_t i = 0; i < x->header.units_len; i++)
        x->ids = PFC_MAX(x->ids, (size_t)x->header.units[i].id + 1);
    x->unit_at = pfc_calloc(x->ids + 1, sizeof(*x->unit_at));
    for (size_t i = 0; i < x->header.units_len; i++)
        x->unit_at[x->header.units[i].id] = (uint16_t)(i + 1);
    for (size_t i = 0; i < x->header.clocks_len; i++)
        x->tick_mask[i] = UINT64_MAX >> (64 - x->header.clocks[i].width_bits);
    x->below[PFC_TRACE_UNUSED] = 1;
    x->below[PFC_TRACE_NUMBER] = UINT64_MAX;
    x->below[PFC_TRACE_NAME] = x->header.names_len + 1;
    x->below[PFC_TRACE_SERIES] = x->header.counters_len;
    x->below[PFC_TRACE_CLOCK] = x->header.clocks_len;
}

static pfc_code decode_entries(pfc_trace_index *x, cursor *c, pfc_err *err)
{
    pfc_code code = check_counts(&x->header, err);

    if (code)
        return code;
    take_clocks(c, x);
    take_units(c, x);
    take_counters(c, x);
    take_names(c, x);
    take_meta(c, x);
    if (c->cut || c->len - c->at >= PFC_TRACE_RECORD_BYTES ||
        !all_zero(c->bytes + c->at, c->len - c->at))
        return pfc_err_set(err, PFC_EINVAL,
                           "trace header: the entries end or break off at byte %zu of %zu", c->at,
                           c->len);
    code = pfc_trace_header_check(&x->header, err);
    if (!code)
        fill_tables(x);
    return code;
}

pfc_code pfc_trace_index_decode(pfc_trace_index **out, const uint8_t *bytes, size_t len,
                                pfc_err *err)
{
    pfc_trace_index *x = pfc_alloc(sizeof(*x));
    cursor c = { .bytes = bytes, .at = PFC_TRACE_FIXED_BYTES, .len = len };
    size_t expected = 0;
    pfc_code code = pfc_trace_header_length(bytes, &expected, err);

    /* Each string has a length of a byte or more in the file, which makes room for its NUL. */
    x->text = c.text = pfc_alloc(len);
    x->major = (uint16_t)pfc_trace_load(bytes + 8, 2);
    x->minor = (uint16_t)pfc_trace_load(bytes + 10, 2);
    x->header.clocks_len = (size_t)pfc_trace_load(bytes + 16, 2);
    x->header.units_len = (size_t)pfc_trace_load(bytes + 18, 2);
    x->header.counters_len = (size_t)pfc_trace_load(bytes + 20, 2);
    x->header.names_len = (size_t)pfc_trace_load(bytes + 22, 2);
    x->header.meta_len = (size_t)pfc_trace_load(bytes + 24, 2);
    if (!code && expected != len)
        code = pfc_err_set(err, PFC_EINVAL, "trace header: expected %zu bytes, got %zu", expected,
                           len);
    if (!code && (!all_zero(bytes + 26, 6) || !all_zero(bytes + 40, PFC_TRACE_FIXED_BYTES - 40)))
        code = pfc_err_set(err, PFC_EINVAL, "trace header: expected zeros in its reserved bytes");
    if (!code && pfc_trace_load(bytes + 32, 8) !=
                     digest_bytes(bytes + PFC_TRACE_FIXED_BYTES, len - PFC_TRACE_FIXED_BYTES))
        code = pfc_err_set(err, PFC_EINVAL, "trace header: its digest differs: it is damaged");
    if (!code)
        code = decode_entries(x, &c, err);
    if (code) {
        pfc_trace_index_free(x);
        return code;
    }
    *out = x;
    return PFC_OK;
}

void pfc_trace_index_free(pfc_trace_index *index)
{
    if (!index)
        return;
    for (size_t i = 0; i < PFC_ARRAY_LEN(index->parts); i++)
        free(index->parts[i]);
    free(index->unit_at);
    free(index->text);
    free(index);
}
