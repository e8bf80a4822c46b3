/* The list of faults, and their kinds. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/trace/check/check_priv.h"

static const char *const names[] = {
#define PFC_X(id, name, meaning) [PFC_TRACE_CHECK_##id] = (name),
    PFC_TRACE_CHECKS(PFC_X)
#undef PFC_X
};

static const char *const meanings[] = {
#define PFC_X(id, name, meaning) [PFC_TRACE_CHECK_##id] = (meaning),
    PFC_TRACE_CHECKS(PFC_X)
#undef PFC_X
};

const char *pfc_trace_check_name(pfc_trace_check_kind kind)
{
    return names[kind];
}

const char *pfc_trace_check_meaning(pfc_trace_check_kind kind)
{
    return meanings[kind];
}

void pfc_trace_found(pfc_trace_report *report, pfc_trace_check_kind kind, uint64_t record,
                     uint64_t offset, const char *fmt, ...)
{
    pfc_trace_finding *f;
    va_list ap;

    report->faults++;
    report->by_kind[kind]++;
    if (report->findings_len == report->findings_max)
        return;
    report->findings = pfc_grow(report->findings, report->findings_len, &report->findings_cap,
                                sizeof(*report->findings));
    f = &report->findings[report->findings_len++];
    *f = (pfc_trace_finding){ .kind = kind, .record = record, .offset = offset };
    va_start(ap, fmt);
    vsnprintf(f->what, sizeof(f->what), fmt, ap);
    va_end(ap);
}

void pfc_trace_report_clear(pfc_trace_report *report)
{
    free(report->findings);
    *report = (pfc_trace_report){ 0 };
}
