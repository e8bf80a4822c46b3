/*
 * Nsight Compute's `ncu --csv`: a row a metric of a launch (details page), a row a launch with a
 * column a metric (--page raw), or minimum, maximum and average a kernel (--print-summary).
 *
 * A kernel is a benchmark, each of its launches a sample. Before the header stands what ncu and the
 * program said. Rows are ragged, rule rows have no metric, values carry thousands separators and
 * units chosen by size, which become their base unit. Two sections may have metrics of one name and
 * different meaning ("Memory Throughput" in % and in byte/s): the second is named with its section.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/reader/reader.h"

static const char *const long_names[] = { "Kernel Name", "Metric Name", "Metric Value", NULL };
static const char *const summary_names[] = { "Kernel Name", "Metric Name", "Average", NULL };
static const char *const wide_names[] = { "ID", "Process ID", "Kernel Name", NULL };

static bool match(const char *text, size_t len)
{
    size_t offset = 0;
    size_t line = 0;

    return pfc_csv_find_header(text, len, long_names, &offset, &line) ||
           pfc_csv_find_header(text, len, summary_names, &offset, &line) ||
           pfc_csv_find_header(text, len, wide_names, &offset, &line);
}

/* ncu's own preference: throughput of a unit, active share, hit rates: more is better; what is only
 * a property of the launch or a limit has no direction of its own and is taken as "lower". */
static void direct(const pfc_import *in, pfc_measurement *m)
{
    if (!in->opts.has_direction && strcmp(m->unit, "%") == 0 &&
        pfc_import_nature(m->metric, m->unit) == 0)
        m->higher_is_better = true;
}

typedef struct columns {
    size_t id, kernel, section, metric, unit, value;
} columns;

/* Everything but the sample is done once a measurement: a profile has a row a metric and launch. */
static pfc_code add(pfc_import *in, pfc_import_key *key, const char *section, double value)
{
    pfc_measurement *m = pfc_import_measurement(in, key);
    const char *first = m && section ? pfc_labels_get(&m->extra, "section") : NULL;
    char *name = NULL;
    pfc_code code;

    if (first && strcmp(first, section) != 0) {
        name = pfc_format("%s: %s", section, key->metric);
        key->metric = name;
        m = pfc_import_measurement(in, key);
    }
    if (m && m->samples_len == 0) {
        direct(in, m);
        if (section)
            pfc_labels_set(&m->extra, "section", section);
        pfc_labels_set(&m->extra, "source", "ncu");
    }
    if (m && isfinite(value))
        code = pfc_import_sample_of(in, m, value);
    else
        code = m ? pfc_import_sample(in, key, value) : in->err->code;
    free(name);
    return code;
}

enum { MEMOS = 4096, MEMO_BYTES = 208 };

/* Which measurement a row's four texts (kernel, section, metric, unit) meant last time. A launch
 * repeats those of the launch before, so that most rows need no lookup by name. The texts
 * are copied here, joined: their original place in the file is no longer in the CPU caches. */
typedef struct memo {
    double scale;
    uint32_t measurement; /* its number + 1; 0: nothing is known */
    uint16_t lens[4];
    char text[MEMO_BYTES];
} memo;

typedef struct reading {
    pfc_import *in;
    const pfc_csv *csv;
    columns at;
    memo *memos;
} reading;

static size_t slot_of(const pfc_span texts[4])
{
    uint64_t h = 0;

    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < texts[i].len; k += sizeof(uint64_t)) {
            uint64_t part = 0;
            memcpy(&part, texts[i].text + k, PFC_MIN(texts[i].len - k, sizeof(part)));
            h = (h ^ part) * UINT64_C(0x9e3779b97f4a7c15);
            h ^= h >> 32;
        }
    }
    return (size_t)(h % MEMOS);
}

static bool is_known(const memo *m, const pfc_span texts[4])
{
    const char *at = m->text;

    for (size_t i = 0; i < 4 && m->measurement > 0; i++) {
        if (m->lens[i] != texts[i].len || memcmp(at, texts[i].text, texts[i].len) != 0)
            return false;
        at += texts[i].len;
    }
    return m->measurement > 0;
}

static void remember(memo *m, const pfc_span texts[4], size_t measurement, double scale)
{
    size_t n = 0;

    m->measurement = 0;
    for (size_t i = 0; i < 4; i++) {
        if (texts[i].len > MEMO_BYTES - n)
            return;
        memcpy(m->text + n, texts[i].text, texts[i].len);
        m->lens[i] = (uint16_t)texts[i].len;
        n += texts[i].len;
    }
    m->measurement = (uint32_t)measurement + 1;
    m->scale = scale;
}

static pfc_code read_metric(reading *r)
{
    const pfc_csv *csv = r->csv;
    const pfc_span texts[4] = { pfc_csv_cell(csv, r->at.kernel),
                                pfc_span_trim(pfc_csv_cell(csv, r->at.section)),
                                pfc_span_trim(pfc_csv_cell(csv, r->at.metric)),
                                pfc_span_trim(pfc_csv_cell(csv, r->at.unit)) };
    memo *known = &r->memos[slot_of(texts)];
    double value = 0.0;
    double scale = 1.0;
    char *names[4];
    pfc_import_key key = { .benchmark = NULL };
    pfc_code code;

    /* "n/a" and words ("CachePreferNone") are no measurements. */
    if (pfc_span_number(pfc_csv_cell(csv, r->at.value), &value) != PFC_NUMBER || !texts[0].len ||
        !texts[2].len)
        return PFC_OK;
    if (is_known(known, texts) && isfinite(value * known->scale))
        return pfc_import_sample_of(r->in, &r->in->run->measurements[known->measurement - 1],
                                    value * known->scale);
    for (size_t i = 0; i < 4; i++)
        names[i] = pfc_span_dup(texts[i]);
    key.benchmark = names[0];
    key.metric = names[2];
    key.unit = pfc_import_unit_base(names[3], &scale);
    r->in->last = NULL;
    code = add(r->in, &key, *names[1] ? names[1] : NULL, value * scale);
    if (!code && r->in->last)
        remember(known, texts, (size_t)(r->in->last - r->in->run->measurements), scale);
    for (size_t i = 0; i < 4; i++)
        free(names[i]);
    return code;
}

static pfc_code read_long(pfc_import *in, pfc_csv *csv, const char *value_name)
{
    reading r = { .in = in,
                  .csv = csv,
                  .at = { .id = pfc_csv_column1(csv, "ID"),
                          .kernel = pfc_csv_column1(csv, "Kernel Name"),
                          .section = pfc_csv_column1(csv, "Section Name"),
                          .metric = pfc_csv_column1(csv, "Metric Name"),
                          .unit = pfc_csv_column1(csv, "Metric Unit"),
                          .value = pfc_csv_column1(csv, value_name) },
                  .memos = pfc_calloc(MEMOS, sizeof(memo)) };
    bool more = false;
    pfc_code code;

    while ((code = pfc_csv_row(csv, &more, in->err)) == PFC_OK && more) {
        if (csv->cells_len <= r.at.metric || pfc_span_starts(csv->cells[0], "=="))
            continue; /* "==PROF== Disconnected" among the rows */
        code = read_metric(&r);
        if (code)
            break;
    }
    free(r.memos);
    return code;
}

/* Columns of the raw page that describe the launch. */
static bool describes(pfc_span name)
{
    static const char *const words[] = { "ID",
                                         "Process ID",
                                         "Process Name",
                                         "Host Name",
                                         "Kernel Name",
                                         "Kernel Time",
                                         "Context",
                                         "Stream",
                                         "Block Size",
                                         "Grid Size",
                                         "Device",
                                         "CC",
                                         "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:"
                                         "Color:Msg_Type:Msg" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        if (pfc_span_is_nocase(name, words[i]))
            return true;
    }
    return pfc_span_starts(name, "device__attribute") || pfc_span_starts(name, "launch__") ||
           pfc_span_find(name, "Domain:") < name.len;
}

/* The second line holds the units: it has no launch id. */
static pfc_code read_wide(pfc_import *in, pfc_csv *csv)
{
    const size_t id = pfc_csv_column1(csv, "ID");
    const size_t kernel = pfc_csv_column1(csv, "Kernel Name");
    char **units = pfc_calloc(csv->names_len, sizeof(*units));
    const size_t len = csv->names_len;
    bool more = false;
    pfc_code code;

    while ((code = pfc_csv_row(csv, &more, in->err)) == PFC_OK && more) {
        const pfc_span first = pfc_span_trim(pfc_csv_cell(csv, id));
        char *name = pfc_span_dup(pfc_csv_cell(csv, kernel));

        for (size_t i = 0; i < len && first.len == 0 && !*name; i++) {
            free(units[i]);
            units[i] = pfc_span_dup(pfc_span_trim(pfc_csv_cell(csv, i)));
        }
        for (size_t i = 0; i < len && *name && !code; i++) {
            double value = 0.0;
            double scale = 1.0;
            pfc_import_key key = { .benchmark = name, .metric = csv->names[i].text };
            if (describes(csv->names[i]) || csv->names[i].len == 0 ||
                pfc_span_number(pfc_csv_cell(csv, i), &value) != PFC_NUMBER)
                continue;
            key.unit = pfc_import_unit_base(units[i] ? units[i] : "", &scale);
            code = add(in, &key, NULL, value * scale);
        }
        free(name);
        if (code)
            break;
    }
    for (size_t i = 0; i < len; i++)
        free(units[i]);
    free(units);
    return code;
}

static pfc_code read_text(pfc_import *in, const char *text, size_t len)
{
    size_t offset = 0;
    size_t line = 0;
    const bool is_long = pfc_csv_find_header(text, len, long_names, &offset, &line);
    const bool is_summary =
        !is_long && pfc_csv_find_header(text, len, summary_names, &offset, &line);
    pfc_csv csv;
    pfc_code code = pfc_csv_open(&csv, text, len,
                                 is_long      ? long_names
                                 : is_summary ? summary_names
                                              : wide_names,
                                 in->err);

    if (!code)
        code = is_long      ? read_long(in, &csv, "Metric Value")
               : is_summary ? read_long(in, &csv, "Average")
                            : read_wide(in, &csv);
    pfc_csv_clear(&csv);
    return code;
}

const pfc_import_format pfc_import_ncu = { .name = "ncu",
                                           .match_text = match,
                                           .read_text = read_text };
