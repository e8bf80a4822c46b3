/* Making, splitting and freeing run documents. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/stats/stats.h"
#include "core/wire/wire_priv.h"

pfc_run *pfc_run_new(void)
{
    return pfc_alloc(sizeof(pfc_run));
}

pfc_measurement *pfc_run_add(pfc_run *run)
{
    run->measurements = pfc_grow(run->measurements, run->measurements_len, &run->measurements_cap,
                                 sizeof *run->measurements);
    run->measurements[run->measurements_len] = (pfc_measurement){ 0 };
    return &run->measurements[run->measurements_len++];
}

void pfc_run_add_value(pfc_run *run, const char *benchmark, const char *metric, const char *unit,
                       double value, bool secondary)
{
    pfc_measurement *m = pfc_run_add(run);

    m->benchmark = pfc_strdup(benchmark);
    m->metric = pfc_strdup(metric);
    m->backend = pfc_strdup("");
    m->unit = pfc_strdup(unit);
    m->samples = pfc_calloc(1, sizeof(double));
    m->blocks = pfc_calloc(1, sizeof(uint32_t));
    m->samples[0] = value;
    m->blocks[0] = 1;
    m->samples_len = m->blocks_len = 1;
    if (secondary)
        pfc_labels_set(&m->extra, PFC_ROLE, PFC_ROLE_SECONDARY);
}

void pfc_measurement_clear(pfc_measurement *m)
{
    if (m == NULL)
        return;
    free(m->benchmark);
    free(m->metric);
    free(m->backend);
    free(m->unit);
    free(m->reason);
    free(m->samples);
    free(m->blocks);
    free(m->visits);
    pfc_labels_clear(&m->params);
    pfc_labels_clear(&m->extra);
    *m = (pfc_measurement){ 0 };
}

void pfc_machine_clear(pfc_machine *machine)
{
    free(machine->name);
    free(machine->machine_class);
    free(machine->fingerprint_hash);
    pfc_labels_clear(&machine->fingerprint);
    *machine = (pfc_machine){ 0 };
}

static void ceilings_clear(pfc_run *run)
{
    for (size_t i = 0; i < run->ceilings_len; i++) {
        pfc_run_ceiling *c = &run->ceilings[i];

        free(c->name);
        free(c->unit);
        free(c->dtype);
        free(c->level);
        free(c->backend);
    }
    free(run->ceilings);
    run->ceilings = NULL;
    run->ceilings_len = run->ceilings_cap = 0;
}

void pfc_run_free(pfc_run *run)
{
    if (run == NULL)
        return;
    free(run->id);
    free(run->project);
    free(run->commit);
    free(run->branch);
    free(run->suite);
    free(run->suite_hash);
    free(run->session_id);
    free(run->session_anchor);
    free(run->session_base);
    pfc_machine_clear(&run->machine);
    ceilings_clear(run);
    for (size_t i = 0; i < run->measurements_len; i++)
        pfc_measurement_clear(&run->measurements[i]);
    free(run->measurements);
    free(run);
}

double pfc_measurement_median(const pfc_measurement *m)
{
    return m->samples_len == 0 ? (double)NAN : pfc_stats_median(m->samples, m->samples_len);
}

void pfc_machine_hash(pfc_machine *machine)
{
    json_t *pairs = pfc_labels_to_json(&machine->fingerprint);
    char *text = json_dumps(pairs, JSON_COMPACT);
    char hex[PFC_SHA256_HEX];

    pfc_sha256_hex(text, strlen(text), hex);
    free(machine->fingerprint_hash);
    machine->fingerprint_hash = pfc_strdup(hex);
    free(text);
    json_decref(pairs);
}

char *pfc_run_to_text(const pfc_run *run)
{
    json_t *doc = pfc_run_to_json(run);
    char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));

    json_decref(doc);
    if (text == NULL)
        pfc_die("out of memory while writing a run document");
    return text;
}

/* The text of the run with measurements [from, to) only; they are borrowed. */
static char *slice_text(const pfc_run *run, size_t from, size_t to)
{
    pfc_run part = *run;

    part.measurements = run->measurements + from;
    part.measurements_len = to - from;
    return pfc_run_to_text(&part);
}

typedef struct parts {
    char **texts;
    size_t len;
    size_t cap;
} parts;

/* Halves a range until its text fits: at most log2(n) deep, each text written about twice. */
static pfc_code split_range(const pfc_run *run, size_t from, size_t to, size_t max_bytes,
                            parts *out, pfc_err *err)
{
    char *text = slice_text(run, from, to);
    pfc_code code;

    if (strlen(text) <= max_bytes) {
        out->texts = pfc_grow(out->texts, out->len, &out->cap, sizeof *out->texts);
        out->texts[out->len++] = text;
        return PFC_OK;
    }
    free(text);
    if (to - from < 2)
        return pfc_err_set(err, PFC_ETOOBIG, "measurement %zu (%s) alone is over %zu bytes", from,
                           from < run->measurements_len ? run->measurements[from].benchmark : "",
                           max_bytes);
    code = split_range(run, from, from + (to - from) / 2, max_bytes, out, err);
    if (code == PFC_OK)
        code = split_range(run, from + (to - from) / 2, to, max_bytes, out, err);
    return code;
}

pfc_code pfc_run_split(const pfc_run *run, size_t max_bytes, char ***texts, size_t *len,
                       pfc_err *err)
{
    parts out = { 0 };
    pfc_code code = split_range(run, 0, run->measurements_len, max_bytes, &out, err);

    if (code != PFC_OK) {
        for (size_t i = 0; i < out.len; i++)
            free(out.texts[i]);
        free(out.texts);
        return code;
    }
    *texts = out.texts;
    *len = out.len;
    return PFC_OK;
}

static pfc_measurement *find_like(pfc_run *run, const pfc_measurement *like)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        pfc_measurement *m = &run->measurements[i];

        if (pfc_streq(m->benchmark, like->benchmark) && pfc_streq(m->metric, like->metric) &&
            pfc_streq(m->backend, like->backend))
            return m;
    }
    return NULL;
}

void pfc_wire_number(double value, char out[32])
{
    (void)snprintf(out, 32, "%.15g", value);
    if (strtod(out, NULL) != value)
        (void)snprintf(out, 32, "%.17g", value);
}

bool pfc_measurement_unequal(const pfc_measurement *m, pfc_unequal *out)
{
    for (size_t i = 1; m->exact && i < m->samples_len; i++) {
        if (m->samples[i] == m->samples[0])
            continue;
        pfc_wire_number(m->samples[0], out->first);
        pfc_wire_number(m->samples[i], out->other);
        return true;
    }
    return false;
}

static void drop_samples(pfc_measurement *m)
{
    free(m->samples);
    free(m->blocks);
    free(m->visits);
    m->samples = NULL;
    m->blocks = NULL;
    m->visits = NULL;
    m->samples_len = m->blocks_len = 0;
    m->operations = m->bytes = 0;
}

/* Repeats of what is deterministic that do not agree are no measurement. */
static void break_unequal(pfc_measurement *m)
{
    pfc_unequal values;

    if (m->status != PFC_STATUS_OK || !pfc_measurement_unequal(m, &values))
        return;
    drop_samples(m);
    m->status = PFC_STATUS_BROKEN;
    free(m->reason);
    m->reason = pfc_format("%.60s is exact: expected equal values in each repeat, got %s and %s",
                           m->metric, values.first, values.other);
}

/* `more` after what is there; a broken side makes the whole broken, for its reason must be seen. */
static void join_samples(pfc_measurement *m, const pfc_measurement *more)
{
    if (m->status != PFC_STATUS_OK)
        return;
    if (more->status != PFC_STATUS_OK) {
        m->status = more->status;
        free(m->reason);
        m->reason = pfc_strdup(more->reason);
        drop_samples(m);
        return;
    }
    if (m->samples_len + more->samples_len > PFC_WIRE_MAX_SAMPLES)
        return; /* the limit is reached */
    if (m->visits != NULL || more->visits != NULL) {
        if (m->visits != NULL && more->visits != NULL && pfc_wire_join_visits(m, more))
            break_unequal(m);
        return;
    }
    m->samples = pfc_realloc(m->samples, m->samples_len + more->samples_len, sizeof(double));
    memcpy(m->samples + m->samples_len, more->samples, more->samples_len * sizeof(double));
    m->samples_len += more->samples_len;
    m->blocks = pfc_realloc(m->blocks, m->blocks_len + more->blocks_len, sizeof(uint32_t));
    memcpy(m->blocks + m->blocks_len, more->blocks, more->blocks_len * sizeof(uint32_t));
    m->blocks_len += more->blocks_len;
    break_unequal(m);
}

/* Moves the session of `more` to a run that has nothing yet. */
static void take_session(pfc_run *run, pfc_run *more)
{
    if (run->session_id != NULL || run->measurements_len > 0)
        return;
    run->session_id = more->session_id;
    run->session_anchor = more->session_anchor;
    run->session_base = more->session_base;
    more->session_id = more->session_anchor = more->session_base = NULL;
}

bool pfc_run_drop_roofline(pfc_run *run)
{
    bool had = run->ceilings_len > 0;

    ceilings_clear(run);
    for (size_t i = 0; i < run->measurements_len; i++) {
        pfc_measurement *m = &run->measurements[i];

        had = had || m->operations > 0 || m->bytes > 0;
        m->operations = m->bytes = 0;
    }
    return had;
}

static void take_ceilings(pfc_run *run, pfc_run *more)
{
    if (run->ceilings_len > 0)
        return;
    free(run->ceilings);
    run->ceilings = more->ceilings;
    run->ceilings_len = more->ceilings_len;
    run->ceilings_cap = more->ceilings_cap;
    more->ceilings = NULL;
    more->ceilings_len = more->ceilings_cap = 0;
}

void pfc_run_merge(pfc_run *run, pfc_run *more)
{
    const bool one = pfc_streq(run->session_id, more->session_id) ||
                     (run->session_id == NULL && run->measurements_len == 0);

    take_session(run, more);
    take_ceilings(run, more);
    for (size_t i = 0; i < more->measurements_len; i++) {
        pfc_measurement *from = &more->measurements[i];
        pfc_measurement *to = find_like(run, from);

        if (from->visits != NULL && !one)
            continue;
        if (to) {
            join_samples(to, from);
        } else if (run->measurements_len < PFC_WIRE_MAX_MEASUREMENTS) {
            *pfc_run_add(run) = *from;
            *from = (pfc_measurement){ 0 }; /* ownership has moved */
        }
    }
    run->infra = run->infra || more->infra;
    run->unsandboxed = run->unsandboxed || more->unsandboxed;
    run->finished_at = more->finished_at;
    pfc_run_free(more);
}
