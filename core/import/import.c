/* Finds the format, and builds the run that the readers fill. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/hash.h"
#include "core/base/parse.h"
#include "core/import/reader.h"

static const pfc_import_format *const formats[] = {
    &pfc_import_perfci,        &pfc_import_google_benchmark,
    &pfc_import_hyperfine,     &pfc_import_pytest_benchmark,
    &pfc_import_github_action, &pfc_import_numbers,
    &pfc_import_bmf,
};

const char *const *pfc_import_formats(void)
{
    static const char *const names[] = { "perfci",        "google-benchmark",
                                         "hyperfine",     "pytest-benchmark",
                                         "github-action", "numbers",
                                         "bmf",           NULL };

    return names;
}

static bool contains(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

bool pfc_import_higher_is_better(const char *metric, const char *unit)
{
    static const char *const rates[] = { "tflop", "gflop",    "mflop",      "flops",      "gbps",
                                         "mbps",  "per_sec",  "throughput", "bandwidth",  "speedup",
                                         "ops/s", "hit_rate", "accuracy",   "utilization" };

    if (unit && (contains(unit, "/s") || contains(unit, "flop") || contains(unit, "bps")))
        return true;
    for (size_t i = 0; metric && i < PFC_ARRAY_LEN(rates); i++) {
        if (contains(metric, rates[i]))
            return true;
    }
    return metric && contains(metric, "/s");
}

const char *pfc_import_unit_of(const char *metric)
{
    static const struct {
        const char *end;
        const char *unit;
    } ends[] = { { "_ns", "ns" },
                 { "_us", "us" },
                 { "_ms", "ms" },
                 { "_seconds", "s" },
                 { "_s", "s" },
                 { "_tflops", "TFLOP/s" },
                 { "_gflops", "GFLOP/s" },
                 { "_gbps", "GB/s" },
                 { "_bytes", "bytes" },
                 { "cycles", "cycles" },
                 { "bytes_per_second", "B/s" },
                 { "items_per_second", "items/s" } };
    const size_t len = strlen(metric);

    for (size_t i = PFC_ARRAY_LEN(ends); i-- > 0;) {
        const size_t n = strlen(ends[i].end);
        if (len >= n && strcmp(metric + len - n, ends[i].end) == 0)
            return ends[i].unit;
    }
    return "";
}

/* A name that fits the wire: no control characters, at most PFC_WIRE_MAX_NAME bytes. What is cut
 * off is replaced by a hash of the whole, so that two long names stay two. */
static char *clean_name(const char *name)
{
    const size_t len = strlen(name);
    char *out = pfc_strdup(name);
    char hex[PFC_SHA256_HEX];
    size_t keep = PFC_WIRE_MAX_NAME - 12;

    for (char *p = out; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = ' ';
    }
    if (len <= PFC_WIRE_MAX_NAME)
        return out;
    pfc_sha256_hex(name, len, hex);
    while (keep > 0 && ((unsigned char)out[keep] & 0xc0) == 0x80) /* never inside a character */
        keep--;
    out[keep] = '\0';
    char *cut = pfc_format("%s..%.8s", out, hex);
    free(out);
    return cut;
}

/* FNV-1a, over both names. */
static size_t hash_key(const char *benchmark, const char *metric)
{
    uint64_t h = 14695981039346656037u;

    for (const char *p = benchmark; *p; p++)
        h = (h ^ (unsigned char)*p) * 1099511628211u;
    h = (h ^ 0xff) * 1099511628211u;
    for (const char *p = metric; *p; p++)
        h = (h ^ (unsigned char)*p) * 1099511628211u;
    return (size_t)(h ^ (h >> 32));
}

static void index_grow(pfc_import *in)
{
    free(in->slots);
    in->slots_len = in->slots_len ? in->slots_len * 2 : 64;
    in->slots = pfc_calloc(in->slots_len, sizeof(*in->slots));
    for (size_t i = 0; i < in->run->measurements_len; i++) {
        const pfc_measurement *m = &in->run->measurements[i];
        size_t at = hash_key(m->benchmark, m->metric) & (in->slots_len - 1);
        while (in->slots[at])
            at = (at + 1) & (in->slots_len - 1);
        in->slots[at] = (uint32_t)(i + 1);
    }
}

pfc_measurement *pfc_import_measurement(pfc_import *in, const pfc_import_key *key)
{
    char *benchmark = clean_name(key->benchmark);
    char *metric = clean_name(key->metric);
    pfc_measurement *m = NULL;
    size_t at;

    if (2 * (in->run->measurements_len + 1) > in->slots_len)
        index_grow(in);
    at = hash_key(benchmark, metric) & (in->slots_len - 1);
    for (; in->slots[at]; at = (at + 1) & (in->slots_len - 1)) {
        m = &in->run->measurements[in->slots[at] - 1];
        if (strcmp(m->benchmark, benchmark) == 0 && strcmp(m->metric, metric) == 0)
            break;
    }
    if (in->slots[at] || in->run->measurements_len >= PFC_WIRE_MAX_MEASUREMENTS) {
        free(benchmark);
        free(metric);
        if (in->slots[at])
            return m;
        (void)pfc_err_set(in->err, PFC_ETOOBIG, "more than %d measurements",
                          PFC_WIRE_MAX_MEASUREMENTS);
        return NULL;
    }
    m = pfc_run_add(in->run);
    in->slots[at] = (uint32_t)in->run->measurements_len;
    m->benchmark = benchmark;
    m->metric = metric;
    m->backend = pfc_strdup("");
    m->unit = clean_name(key->unit ? key->unit : pfc_import_unit_of(metric));
    m->higher_is_better = key->has_direction       ? key->higher_is_better
                          : in->opts.has_direction ? in->opts.higher_is_better
                                                   : pfc_import_higher_is_better(metric, m->unit);
    m->status = PFC_STATUS_SKIPPED;
    m->reason = pfc_strdup("no value");
    return m;
}

pfc_code pfc_import_sample(pfc_import *in, const pfc_import_key *key, double value)
{
    pfc_measurement *m;

    if (!isfinite(value))
        return pfc_import_failed(in, key, PFC_STATUS_SKIPPED, "the value is not a finite number");
    m = pfc_import_measurement(in, key);
    if (!m)
        return PFC_ETOOBIG;
    if (m->status == PFC_STATUS_BROKEN)
        return PFC_OK; /* one failed repetition spoils the rest */
    if (m->samples_len >= PFC_WIRE_MAX_SAMPLES)
        return pfc_err_set(in->err, PFC_ETOOBIG, "%s: more than %d samples", m->benchmark,
                           PFC_WIRE_MAX_SAMPLES);
    if (m->samples_len == 0) {
        m->status = PFC_STATUS_OK;
        free(m->reason);
        m->reason = NULL;
        m->blocks = pfc_calloc(1, sizeof(*m->blocks));
        m->blocks_len = 1;
    }
    /* Powers of two: the capacity needs no field of its own. */
    if ((m->samples_len & (m->samples_len - 1)) == 0)
        m->samples = pfc_realloc(m->samples, PFC_MAX(2 * m->samples_len, 1), sizeof(*m->samples));
    m->samples[m->samples_len++] = value;
    m->blocks[0] = (uint32_t)m->samples_len;
    return PFC_OK;
}

pfc_code pfc_import_failed(pfc_import *in, const pfc_import_key *key, pfc_status status,
                           const char *reason)
{
    pfc_measurement *m = pfc_import_measurement(in, key);

    if (!m)
        return PFC_ETOOBIG;
    if (status == PFC_STATUS_SKIPPED && m->status != PFC_STATUS_SKIPPED)
        return PFC_OK;
    free(m->samples);
    free(m->blocks);
    m->samples = NULL;
    m->blocks = NULL;
    m->samples_len = 0;
    m->blocks_len = 0;
    m->status = status;
    free(m->reason);
    m->reason = clean_name(reason && *reason ? reason : "failed");
    return PFC_OK;
}

/* ---- JSON as tools write it ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

pfc_code pfc_import_json(const char *text, size_t len, json_t **out, pfc_err *err)
{
    static const char *const words[] = { "NaN",       "nan", "-nan", "Infinity",
                                         "-Infinity", "inf", "-inf" };
    pfc_buf buf;
    bool quoted = false;
    pfc_code code;

    pfc_buf_init(&buf, PFC_IMPORT_MAX_BYTES + 64);
    for (size_t i = 0; i < len;) {
        size_t run = 1;
        bool replaced = false;
        if (quoted && text[i] == '\\' && i + 1 < len)
            run = 2;
        else if (text[i] == '"')
            quoted = !quoted;
        for (size_t w = 0; !quoted && !replaced && text[i] != '"' && w < PFC_ARRAY_LEN(words);
             w++) {
            const size_t n = strlen(words[w]);
            if (len - i >= n && memcmp(text + i, words[w], n) == 0 &&
                (i == 0 || !is_word(text[i - 1])) && (i + n == len || !is_word(text[i + n]))) {
                run = n;
                replaced = true;
            }
        }
        if (replaced)
            pfc_buf_puts(&buf, "null");
        else
            pfc_buf_append(&buf, text + i, run);
        i += run;
    }
    code = pfc_buf_check(&buf, "JSON", err);
    if (!code)
        code = pfc_json_parse(pfc_buf_text(&buf), buf.len, out, err);
    pfc_buf_clear(&buf);
    return code;
}

double pfc_import_number(const json_t *obj, const char *key)
{
    const json_t *v = json_object_get(obj, key);
    const double x = json_is_number(v) ? json_number_value(v) : (double)NAN;

    return isfinite(x) ? x : (double)NAN;
}

const char *pfc_import_string(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

/* ---- the door ---- */

static const pfc_import_format *find_format(const char *name)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(formats); i++) {
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    }
    return NULL;
}

static pfc_code read_json(pfc_import *in, const pfc_import_format *wanted, const char *text,
                          size_t len)
{
    json_t *doc = NULL;
    const pfc_import_format *format = wanted;
    pfc_code code = pfc_import_json(text, len, &doc, in->err);

    if (code)
        return code;
    for (size_t i = 0; !format && i < PFC_ARRAY_LEN(formats); i++) {
        if (formats[i]->match_json && formats[i]->match_json(doc))
            format = formats[i];
    }
    if (!format)
        code = pfc_err_set(in->err, PFC_EINVAL,
                           "JSON of no known benchmark format (want a number, {\"value\": x}, "
                           "{\"metrics\": {...}}, or the output of Google Benchmark, hyperfine, "
                           "pytest-benchmark, github-action-benchmark, BMF)");
    else if (format->match_json && wanted && !wanted->match_json(doc))
        code = pfc_err_set(in->err, PFC_EINVAL, "the JSON is not of format %s", wanted->name);
    else
        code = format->read_json(in, doc);
    json_decref(doc);
    return code;
}

static pfc_code read_any(pfc_import *in, const char *text, size_t len)
{
    const char *name = in->opts.format;
    const pfc_import_format *format = NULL;
    size_t at = 0;

    if (name && strcmp(name, "auto") != 0) {
        format = find_format(name);
        if (!format)
            return pfc_err_set(in->err, PFC_EINVAL,
                               "unknown format '%.60s' (known: auto, perfci, google-benchmark, "
                               "hyperfine, pytest-benchmark, github-action, numbers, bmf)",
                               name);
    }
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* byte-order mark */
        at = 3;
    while (at < len && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    if (at == len)
        return pfc_err_set(in->err, PFC_EINVAL, "want benchmark results, got nothing");
    if (text[at] == '{' || text[at] == '[')
        return read_json(in, format, text + at, len - at);
    if (format && !format->read_text)
        return pfc_err_set(in->err, PFC_EINVAL, "format %s: want JSON, line 1 does not start any",
                           format->name);
    return pfc_import_numbers.read_text(in, text, len);
}

pfc_code pfc_import_text(const pfc_import_opts *opts, const char *text, size_t len, pfc_run **out,
                         pfc_err *err)
{
    pfc_err local = { 0 };
    pfc_import in = { .opts = opts ? *opts : (pfc_import_opts){ 0 }, .err = err ? err : &local };
    pfc_code code;

    if (len > PFC_IMPORT_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "results of %zu bytes, at most %u are read", len,
                           PFC_IMPORT_MAX_BYTES);
    if (!pfc_is_utf8(text, len))
        return pfc_err_set(err, PFC_EINVAL, "results: want UTF-8 text");
    in.run = pfc_run_new();
    code = read_any(&in, text, len);
    if (!code && in.run->measurements_len == 0)
        code = pfc_err_set(in.err, PFC_EINVAL, "the results hold no benchmark");
    free(in.slots);
    if (code) {
        pfc_run_free(in.run);
        return code;
    }
    *out = in.run;
    return PFC_OK;
}
