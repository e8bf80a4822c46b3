/* Builds runs for the readers: measurements looked up by name, samples in blocks, points of a
 * history, notes. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/parse.h"
#include "core/import/reader/reader.h"

#define MAX_NOTE_BYTES 300

/* True when the name may stand as it is: bounded and without control characters. */
static bool is_clean(const char *name)
{
    size_t n = 0;

    for (; name[n]; n++) {
        if ((unsigned char)name[n] < 0x20 || name[n] == 0x7f || n >= PFC_WIRE_MAX_NAME)
            return false;
    }
    return n > 0;
}

/* A name that fits the wire: no control characters, at most PFC_WIRE_MAX_NAME bytes. The cut
 * part is replaced by a hash of the whole name, so that two long names stay different. */
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

/* Eight bytes at a step, with FNV's prime and a fold, so that high bits reach the low ones. */
static uint64_t hash_more(uint64_t h, const char *text)
{
    size_t len = strlen(text);
    uint64_t part = len;

    for (; len > 0; len -= PFC_MIN(len, sizeof(part)), text += sizeof(part)) {
        h = (h ^ part) * 1099511628211u;
        h ^= h >> 29;
        part = 0;
        memcpy(&part, text, PFC_MIN(len, sizeof(part)));
    }
    h = (h ^ part) * 1099511628211u;
    return h ^ h >> 32;
}

static size_t hash_key(const char *benchmark, const char *metric, const char *backend)
{
    const uint64_t seed = 14695981039346656037u;

    return (size_t)hash_more(hash_more(hash_more(seed, benchmark), metric), backend);
}

static void index_grow(pfc_import *in)
{
    free(in->slots);
    in->slots_len = in->slots_len ? in->slots_len * 2 : 64;
    in->slots = pfc_calloc(in->slots_len, sizeof(*in->slots));
    for (size_t i = 0; i < in->run->measurements_len; i++) {
        const pfc_measurement *m = &in->run->measurements[i];
        size_t at = hash_key(m->benchmark, m->metric, m->backend) & (in->slots_len - 1);
        while (in->slots[at])
            at = (at + 1) & (in->slots_len - 1);
        in->slots[at] = (uint32_t)(i + 1);
    }
}

static const pfc_direction *said(const pfc_import *in, const pfc_measurement *m)
{
    for (size_t i = 0; i < in->opts.directions_len; i++) {
        const pfc_direction *d = &in->opts.directions[i];
        if (strcmp(d->name, m->metric) == 0 || strcmp(d->name, m->benchmark) == 0)
            return d;
    }
    return NULL;
}

/* pfc_import_nature of a measurement. Cutting its name into words costs more than adding it. */
static int nature_of(pfc_import *in, const pfc_measurement *m)
{
    const uint64_t hash = hash_more(hash_more(0, m->metric), m->unit);
    pfc_import_meaning *known = &in->meanings[hash & (PFC_IMPORT_MEANINGS - 1)];

    if (!known->metric || strcmp(known->metric, m->metric) != 0 ||
        strcmp(known->unit, m->unit) != 0)
        *known = (pfc_import_meaning){ m->metric, m->unit, pfc_import_nature(m->metric, m->unit) };
    return known->nature;
}

/* The direction of the run's last measurement. */
static void direct(pfc_import *in, const pfc_import_key *key, pfc_measurement *m)
{
    const pfc_direction *d = said(in, m);
    int nature = 0;

    if (d || key->has_direction || in->opts.has_direction) {
        m->higher_is_better = d                    ? d->higher
                              : key->has_direction ? key->higher_is_better
                                                   : in->opts.higher_is_better;
        return;
    }
    nature = nature_of(in, m);
    m->higher_is_better = nature > 0;
    if (nature != 0)
        return;
    if (in->opts.any_direction) {
        pfc_labels_set(&m->extra, PFC_IMPORT_DIRECTION, "unknown");
        return;
    }
    in->unknown =
        pfc_grow(in->unknown, in->unknown_len, &in->unknown_cap, sizeof(pfc_import_unknown));
    in->unknown[in->unknown_len++] =
        (pfc_import_unknown){ in->done_len, in->run->measurements_len - 1 };
}

static pfc_measurement *add(pfc_import *in, const pfc_import_key *key, const char *const names[3])
{
    pfc_measurement *m = pfc_run_add(in->run);
    const char *unit = key->unit;
    char named[PFC_IMPORT_UNIT_BYTES];

    /* Where the caller names a metric, too, the unit is that metric's. */
    if (!unit && in->opts.unit && (!in->opts.metric || strcmp(in->opts.metric, names[1]) == 0))
        unit = in->opts.unit;
    m->benchmark = pfc_strdup(names[0]);
    m->metric = pfc_strdup(names[1]);
    m->backend = pfc_strdup(names[2]);
    m->unit = clean_name(unit ? unit : pfc_import_unit_of(names[1], named));
    direct(in, key, m);
    m->status = PFC_STATUS_SKIPPED;
    m->reason = pfc_strdup("no value");
    return m;
}

/* The slot of the measurement of those names, or the free one where it would be. */
static size_t slot_of(const pfc_import *in, const char *const names[3])
{
    size_t at = hash_key(names[0], names[1], names[2]) & (in->slots_len - 1);

    for (; in->slots[at]; at = (at + 1) & (in->slots_len - 1)) {
        const pfc_measurement *m = &in->run->measurements[in->slots[at] - 1];
        if (strcmp(m->benchmark, names[0]) == 0 && strcmp(m->metric, names[1]) == 0 &&
            strcmp(m->backend, names[2]) == 0)
            break;
    }
    return at;
}

static pfc_measurement *make(pfc_import *in, const pfc_import_key *key, const char *const names[3],
                             size_t slot)
{
    pfc_measurement *m;

    if (!names[0][0] || !names[1][0]) {
        (void)pfc_err_set(in->err, PFC_EINVAL, "expected a name for every benchmark and metric");
        return NULL;
    }
    if (in->run->measurements_len >= PFC_WIRE_MAX_MEASUREMENTS) {
        (void)pfc_err_set(in->err, PFC_ETOOBIG, "more than %d measurements",
                          PFC_WIRE_MAX_MEASUREMENTS);
        return NULL;
    }
    m = add(in, key, names);
    in->slots[slot] = (uint32_t)in->run->measurements_len;
    return m;
}

pfc_measurement *pfc_import_measurement(pfc_import *in, const pfc_import_key *key)
{
    const char *names[3] = { key->benchmark, key->metric, key->backend ? key->backend : "" };
    char *cleaned[3] = { NULL, NULL, NULL };
    pfc_measurement *m = NULL;
    size_t at;

    if (2 * (in->run->measurements_len + 1) > in->slots_len)
        index_grow(in);
    at = slot_of(in, names);
    if (in->slots[at]) /* what is stored is clean: so are names that are the same */
        return &in->run->measurements[in->slots[at] - 1];
    for (int i = 0; i < 3; i++) {
        if (names[i][0] && !is_clean(names[i]))
            names[i] = cleaned[i] = clean_name(names[i]);
    }
    at = slot_of(in, names);
    m = in->slots[at] ? &in->run->measurements[in->slots[at] - 1] : make(in, key, names, at);
    for (int i = 0; i < 3; i++)
        free(cleaned[i]);
    return m;
}

/* A block's count is one more number; powers of two as below. */
static void begin_block(pfc_measurement *m)
{
    if ((m->blocks_len & (m->blocks_len - 1)) == 0)
        m->blocks = pfc_realloc(m->blocks, PFC_MAX(2 * m->blocks_len, 1), sizeof(*m->blocks));
    m->blocks[m->blocks_len++] = 0;
}

static pfc_code sample_to(pfc_import *in, pfc_measurement *m, size_t block, double value)
{
    if (m->status == PFC_STATUS_BROKEN)
        return PFC_OK; /* one failed repetition spoils the rest */
    if (m->samples_len >= PFC_WIRE_MAX_SAMPLES)
        return pfc_err_set(in->err, PFC_ETOOBIG, "%s: more than %d samples", m->benchmark,
                           PFC_WIRE_MAX_SAMPLES);
    if (m->samples_len == 0) {
        m->status = PFC_STATUS_OK;
        free(m->reason);
        m->reason = NULL;
    }
    if (m->blocks_len == 0 || block >= m->blocks_len)
        begin_block(m);
    /* Powers of two: the capacity needs no field of its own. */
    if ((m->samples_len & (m->samples_len - 1)) == 0)
        m->samples = pfc_realloc(m->samples, PFC_MAX(2 * m->samples_len, 1), sizeof(*m->samples));
    m->samples[m->samples_len++] = value;
    in->last = m;
    m->blocks[m->blocks_len - 1]++;
    return PFC_OK;
}

static pfc_code sample(pfc_import *in, const pfc_import_key *key, size_t block, double value)
{
    pfc_measurement *m;

    if (!isfinite(value))
        return pfc_import_failed(in, key, PFC_STATUS_SKIPPED, "the value is not a finite number");
    in->last = NULL;
    m = pfc_import_measurement(in, key);
    return m ? sample_to(in, m, block, value) : in->err->code;
}

/* Points of a history lie in blocks of their own: other builds, other processes. */
static size_t usual_block(const pfc_import *in)
{
    return in->point > 0 && !in->opts.split ? SIZE_MAX : 0;
}

pfc_code pfc_import_sample_of(pfc_import *in, pfc_measurement *m, double value)
{
    return sample_to(in, m, usual_block(in), value);
}

pfc_code pfc_import_sample(pfc_import *in, const pfc_import_key *key, double value)
{
    return sample(in, key, usual_block(in), value);
}

pfc_code pfc_import_block_sample(pfc_import *in, const pfc_import_key *key, size_t block,
                                 double value)
{
    return sample(in, key, block, value);
}

pfc_code pfc_import_failed(pfc_import *in, const pfc_import_key *key, pfc_status status,
                           const char *reason)
{
    pfc_measurement *m = pfc_import_measurement(in, key);

    if (!m)
        return in->err->code;
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

void pfc_import_commit(pfc_import *in, const char *commit)
{
    if (!commit || !pfc_is_commit_id(commit))
        return;
    free(in->run->commit);
    in->run->commit = pfc_strdup(commit);
}

pfc_code pfc_import_point(pfc_import *in, const char *commit, const char *branch,
                          double time_unix_s)
{
    in->point++;
    if (!in->opts.split)
        return PFC_OK;
    if (in->run->measurements_len > 0) {
        if (in->done_len + 1 >= PFC_IMPORT_MAX_POINTS)
            return pfc_err_set(in->err, PFC_ETOOBIG, "a history of more than %d commits",
                               PFC_IMPORT_MAX_POINTS);
        in->done = pfc_grow(in->done, in->done_len, &in->done_cap, sizeof(pfc_run *));
        in->done[in->done_len++] = in->run;
        in->run = pfc_run_new();
        free(in->slots);
        in->slots = NULL;
        in->slots_len = 0;
    }
    free(in->run->commit);
    free(in->run->branch);
    in->run->commit = commit && *commit ? clean_name(commit) : NULL;
    in->run->branch = branch && *branch ? clean_name(branch) : NULL;
    in->run->started_at = in->run->finished_at = isfinite(time_unix_s) ? time_unix_s : 0.0;
    return PFC_OK;
}

void pfc_import_param(pfc_measurement *m, const char *name, const char *value)
{
    char *clean, *text;

    if (!*name || m->params.len >= 64)
        return;
    clean = clean_name(name);
    text = clean_name(value);
    pfc_labels_set(&m->params, clean, text);
    free(text);
    free(clean);
}

void pfc_import_extra(pfc_measurement *m, const char *name, double value)
{
    char text[40];

    if (!isfinite(value) || m->extra.len >= 64)
        return;
    (void)snprintf(text, sizeof(text), "%.10g", value);
    pfc_labels_set(&m->extra, name, text);
}

void pfc_import_note(pfc_import *in, const char *fmt, ...)
{
    char text[MAX_NOTE_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    for (size_t i = 0; i < in->notes_len; i++) {
        if (strcmp(in->notes[i], text) == 0)
            return;
    }
    if (in->notes_len >= PFC_IMPORT_MAX_NOTES)
        return;
    in->notes = pfc_realloc(in->notes, in->notes_len + 1, sizeof(char *));
    in->notes[in->notes_len++] = clean_name(text);
}

const char *pfc_import_nameless(const pfc_import *in, const char *fallback)
{
    return in->opts.benchmark ? in->opts.benchmark : fallback;
}
