/*
 * Run documents, read as the server reads them.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/library/library.h"

int perfci_run_parse(const char *text, size_t len, perfci_run **out)
{
    pfc_err *err = library_err();
    pfc_run *run = NULL;
    pfc_code code = library_need(text, "text", err);

    if (!code)
        code = library_need(out, "out", err);
    if (!code && len > PERFCI_MAX_RUN_BYTES)
        code = pfc_err_set_field(err, PFC_ETOOBIG, "len", "len: expected at most %u bytes, got %zu",
                                 PERFCI_MAX_RUN_BYTES, len);
    if (!code)
        code = pfc_run_from_json(text, len, &run, err);
    if (code)
        return library_code(code);
    *out = pfc_alloc(sizeof(**out));
    (*out)->run = run;
    return PERFCI_OK;
}

int perfci_run_read(const char *path, perfci_run **out)
{
    pfc_err *err = library_err();
    char *text = NULL;
    size_t len = 0;
    pfc_code code = library_need(path, "path", err);
    int result;

    if (!code)
        code = pfc_fs_read(path, PERFCI_MAX_RUN_BYTES, &text, &len, err);
    if (code)
        return library_code(code);
    result = perfci_run_parse(text, len, out);
    free(text);
    return result;
}

void perfci_run_free(perfci_run *run)
{
    if (!run)
        return;
    pfc_run_free(run->run);
    free(run);
}

const char *perfci_run_text(const perfci_run *run, const char *name)
{
    const pfc_run *r = run->run;
    const struct {
        const char *name, *text;
    } texts[] = {
        { "id", r->id },
        { "project", r->project },
        { "commit", r->commit },
        { "branch", r->branch },
        { "suite", r->suite },
        { "machine", r->machine.name },
        { "machine_class", r->machine.machine_class },
        { "fingerprint_hash", r->machine.fingerprint_hash },
    };
    static const char of_fingerprint[] = "fingerprint.";
    const char *text = NULL;

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++)
        if (pfc_streq(texts[i].name, name))
            text = texts[i].text;
    if (name && strncmp(name, of_fingerprint, strlen(of_fingerprint)) == 0)
        text = pfc_labels_get(&r->machine.fingerprint, name + strlen(of_fingerprint));
    return text ? text : "";
}

double perfci_run_started_at(const perfci_run *run)
{
    return run->run->started_at;
}

double perfci_run_finished_at(const perfci_run *run)
{
    return run->run->finished_at;
}

size_t perfci_run_len(const perfci_run *run)
{
    return run->run->measurements_len;
}

static int status_of(pfc_status status)
{
    switch (status) {
    case PFC_STATUS_BROKEN:
        return PERFCI_MEASURED_BROKEN;
    case PFC_STATUS_SKIPPED:
        return PERFCI_MEASURED_NOT;
    case PFC_STATUS_OK:
        break;
    }
    return PERFCI_MEASURED;
}

int perfci_run_measurement(const perfci_run *run, size_t i, perfci_measurement *out)
{
    pfc_err *err = library_err();
    perfci_measurement full = PERFCI_MEASUREMENT_INIT;
    const pfc_measurement *m;
    pfc_code code = library_within(i, run->run->measurements_len, "i", err);

    if (code)
        return library_code(code);
    m = &run->run->measurements[i];
    full.benchmark = m->benchmark;
    full.metric = m->metric;
    full.backend = m->backend;
    full.unit = m->unit;
    full.status = status_of(m->status);
    full.higher_is_better = m->higher_is_better;
    full.exact = m->exact;
    full.reason = m->reason ? m->reason : "";
    full.samples = m->samples;
    full.samples_len = m->samples_len;
    full.blocks = m->blocks;
    full.blocks_len = m->blocks_len;
    full.median = pfc_measurement_median(m);
    return library_code(library_give(out, LIBRARY_UNTIL(perfci_measurement, median), &full,
                                     sizeof(full), "out", err));
}
