/* Drives an export: reads records, writes JSON or CSV. */
#include "core/trace/export/export.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/trace/export/json.h"
#include "core/trace/reader_priv.h"

/* ---- CSV ---- */

typedef struct csv {
    const pfc_trace_index *index;
    pfc_trace_timeline line;
    char **names; /* of units, quoted; owned */
    pfc_trace_text text;
} csv;

/* In quotes always: a name may hold commas, quotes and newlines. */
static char *quote(const char *name)
{
    pfc_buf out;

    pfc_buf_init(&out, 2 * strlen(name) + 2);
    pfc_buf_putc(&out, '"');
    for (const char *p = name; *p; p++)
        pfc_buf_puts(&out, *p == '"' ? "\"\"" : (const char[]){ *p, '\0' });
    pfc_buf_putc(&out, '"');
    return pfc_buf_take(&out);
}

static csv *csv_new(pfc_trace_sink *sink, const pfc_trace_index *index,
                    const pfc_trace_clocks *clocks)
{
    csv *c = pfc_alloc(sizeof(*c));

    c->index = index;
    c->text.sink = sink;
    pfc_trace_timeline_init(&c->line, index, clocks);
    c->names = pfc_calloc(index->header.units_len, sizeof(*c->names));
    for (size_t i = 0; i < index->header.units_len; i++)
        c->names[i] = quote(index->header.units[i].name);
    pfc_trace_text_puts(&c->text, "record,ticks,ns,type,unit,unit_name,correlation,a,b\r\n");
    return c;
}

static void csv_number(csv *c, uint64_t v)
{
    pfc_trace_text_u64(&c->text, v);
    pfc_trace_text_puts(&c->text, ",");
}

static pfc_code csv_put(csv *c, const pfc_trace_record *r, uint64_t number, pfc_err *err)
{
    const pfc_trace_unit *unit = pfc_trace_unit_of(c->index, r->unit);
    const char *type = pfc_trace_row_of(r->type)->name;
    int64_t ns;
    int64_t later;

    if (!pfc_trace_timeline_ns(&c->line, unit, r, 0, &ns, &later))
        return pfc_err_set(err, PFC_EINVAL, "%s: its time does not fit in 63 bits of nanoseconds",
                           type);
    pfc_trace_text_room(&c->text);
    csv_number(c, number);
    csv_number(c, r->ticks);
    pfc_trace_text_i64(&c->text, ns);
    pfc_trace_text_puts(&c->text, ",");
    pfc_trace_text_puts(&c->text, type);
    pfc_trace_text_puts(&c->text, ",");
    csv_number(c, r->unit);
    pfc_trace_text_puts(&c->text, c->names[unit - c->index->header.units]);
    pfc_trace_text_puts(&c->text, ",");
    csv_number(c, r->corr);
    csv_number(c, r->a);
    pfc_trace_text_u64(&c->text, r->b);
    pfc_trace_text_puts(&c->text, "\r\n");
    return PFC_OK;
}

static void csv_free(csv *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->index->header.units_len; i++)
        free(c->names[i]);
    free(c->names);
    free(c);
}

/* ---- both ---- */

typedef struct output {
    csv *csv;
    pfc_trace_json *json;
} output;

static pfc_code put(output *to, const pfc_trace_reader *reader, const pfc_trace_record *record,
                    pfc_err *err)
{
    const uint64_t number = pfc_trace_reader_number(reader);
    const pfc_code code = to->json ? pfc_trace_json_put(to->json, record, err)
                                   : csv_put(to->csv, record, number, err);

    return code ? pfc_err_wrap(err, "record %llu at byte %llu", (unsigned long long)number,
                               (unsigned long long)pfc_trace_reader_offset(reader))
                : PFC_OK;
}

static pfc_code put_all(output *to, pfc_trace_reader *reader, const pfc_trace_sink *sink,
                        pfc_err *err)
{
    pfc_trace_record record;
    bool more = true;
    pfc_code code = PFC_OK;

    while (!code && more && !pfc_trace_sink_failed(sink)) {
        code = pfc_trace_read(reader, &record, &more, err);
        if (!code && more)
            code = put(to, reader, &record, err);
    }
    return code;
}

static void end(output *to, pfc_trace_reader *reader, pfc_trace_export_stats *stats)
{
    if (to->json) {
        pfc_trace_json_end(to->json);
        *stats = to->json->stats;
    } else {
        pfc_trace_text_flush(&to->csv->text);
        stats->records = stats->events = pfc_trace_reader_number(reader);
    }
}

pfc_code pfc_trace_export(pfc_trace_reader *reader, const char *path,
                          const pfc_trace_export_opts *opts, pfc_trace_export_stats *stats,
                          pfc_err *err)
{
    const pfc_trace_index *index = pfc_trace_reader_index(reader);
    pfc_trace_export_stats done = { 0 };
    pfc_trace_sink *sink = NULL;
    output to = { 0 };
    pfc_code code = pfc_trace_sink_open(&sink, path, err);

    if (code)
        return code;
    if (opts->format == PFC_TRACE_JSON)
        to.json = pfc_trace_json_new(sink, index, opts);
    else
        to.csv = csv_new(sink, index, opts->clocks);
    code = put_all(&to, reader, sink, err);
    if (code) {
        pfc_trace_sink_drop(sink);
    } else {
        end(&to, reader, &done);
        code = pfc_trace_sink_close(sink, err);
    }
    pfc_trace_json_free(to.json);
    csv_free(to.csv);
    if (!code && stats)
        *stats = done;
    return code;
}

/* The file can be read twice. */
static bool is_regular(const char *path)
{
    struct stat st;

    return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

pfc_code pfc_trace_export_file(const char *from, const char *path,
                               const pfc_trace_export_opts *opts, pfc_trace_export_stats *stats,
                               pfc_err *err)
{
    pfc_trace_export_opts own = *opts;
    pfc_trace_reader *reader = NULL;
    pfc_trace_clocks *clocks = NULL;
    pfc_code code = PFC_OK;

    if (is_regular(from)) {
        code = pfc_trace_reader_open(&reader, from, PFC_TRACE_STRICT, err);
        if (!code)
            code = pfc_trace_clocks_read(&clocks, reader, err);
        pfc_trace_reader_free(reader);
        reader = NULL;
        own.clocks = clocks;
    }
    if (!code)
        code = pfc_trace_reader_open(&reader, from, PFC_TRACE_STRICT, err);
    if (!code)
        code = pfc_trace_export(reader, path, &own, stats, err);
    pfc_trace_reader_free(reader);
    pfc_trace_clocks_free(clocks);
    return code;
}
