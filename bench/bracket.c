/* The state of the machine before, during and after a run. */
#include "bench/bracket.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* the canary is read several times, because one reading may be disturbed; the machine has changed
 * only if all agree */
#define TRIES 3

static void read_before(pfc_bracket *b)
{
    b->out_of_band = true;
    for (int i = 0; i < TRIES && b->out_of_band; i++) {
        pfc_canary_measure(b->before, PFC_CANARY_SAMPLES);
        b->out_of_band = pfc_band_left(&b->band, pfc_canary_reading(b->before, PFC_CANARY_SAMPLES));
    }
}

void pfc_bracket_open_quick(pfc_bracket *b, const pfc_machine *machine, bool first)
{
    *b = (pfc_bracket){ .quick = true };
    b->band_path = pfc_band_path(machine);
    pfc_band_load(b->band_path, &b->band);
    if (!first)
        return;
    pfc_load_read(NULL, &b->load);
    read_before(b);
}

void pfc_bracket_open(pfc_bracket *b, const pfc_machine *machine, pfc_block_fn block,
                      void *block_arg)
{
    *b = (pfc_bracket){ .block = block, .block_arg = block_arg };
    pfc_gpus_open(NULL, &b->gpus);
    b->band_path = pfc_band_path(machine);
    pfc_band_load(b->band_path, &b->band);
    pfc_timing_measure(NULL, &b->timing);
    pfc_load_read(NULL, &b->load);
    b->load.core_ghz = b->timing.core_ghz;
    read_before(b);
    pfc_throttle_begin(&b->throttle, NULL, b->gpus);
}

pfc_code pfc_bracket_block(void *arg, const pfc_block_spec *spec, pfc_block *out, pfc_err *err)
{
    pfc_bracket *b = arg;
    const pfc_code code = b->block(b->block_arg, spec, out, err);

    if (!code)
        (void)pfc_throttle_look(&b->throttle, out->throttled, sizeof(out->throttled));
    return code;
}

/* Compares the readings within the run, and with all earlier runs. */
static bool moved(const pfc_bracket *b, const double *after)
{
    const double first = pfc_canary_reading(b->before, PFC_CANARY_SAMPLES);
    const double last = pfc_canary_reading(after, PFC_CANARY_SAMPLES);

    return pfc_band_moved(&b->band, first, last) || pfc_band_left(&b->band, last);
}

static pfc_measurement *add_canary(pfc_run *run, const double *before, const double *after)
{
    const size_t n = PFC_CANARY_SAMPLES;
    pfc_measurement *m = pfc_run_add(run);

    m->benchmark = pfc_strdup(PFC_CANARY_BENCHMARK);
    m->metric = pfc_strdup("canary_ns");
    m->backend = pfc_strdup("");
    m->unit = pfc_strdup("ns");
    m->samples = pfc_calloc(2 * n, sizeof(*m->samples));
    memcpy(m->samples, before, n * sizeof(*before));
    memcpy(m->samples + n, after, n * sizeof(*after));
    m->samples_len = 2 * n;
    m->blocks = pfc_calloc(2, sizeof(*m->blocks));
    m->blocks[0] = m->blocks[1] = (uint32_t)n;
    m->blocks_len = 2;
    return m;
}

static void add_facts(const pfc_bracket *b, const double *after, pfc_labels *extra)
{
    const size_t n = PFC_CANARY_SAMPLES;
    pfc_load load;
    char text[40];

    pfc_load_read(NULL, &load);
    load.core_ghz = b->quick ? (double)NAN : pfc_core_ghz();
    const struct {
        const char *name;
        double value;
    } facts[] = {
        { "before_ns", pfc_canary_reading(b->before, n) },
        { "after_ns", pfc_canary_reading(after, n) },
        { "band_center_ns", b->band.center_ns },
        { "band_width_rel", b->band.width_rel },
        { "band_readings", (double)b->band.readings },
        { "load_before", b->load.load1 },
        { "load_after", load.load1 },
        { "running_before", b->load.running },
        { "running_after", load.running },
        { "steal_seconds", load.steal_seconds - b->load.steal_seconds },
        { "busy_seconds", load.busy_seconds - b->load.busy_seconds },
        { "total_seconds", load.total_seconds - b->load.total_seconds },
        { "cpu_throttled", load.throttled - b->load.throttled },
        { "core_ghz_after", load.core_ghz },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(facts); i++) {
        snprintf(text, sizeof(text), "%.9g", facts[i].value);
        pfc_labels_set(extra, facts[i].name, isnan(facts[i].value) ? PFC_NOT_AVAILABLE : text);
    }
    if (b->quick)
        return;
    pfc_timing_facts(&b->timing, extra);
    pfc_gpus_facts(b->gpus, extra);
}

void pfc_bracket_finish(pfc_bracket *b, pfc_run *run, bool quiet)
{
    double after[PFC_CANARY_SAMPLES];
    pfc_err err = { 0 };
    bool gone = true;

    for (int i = 0; i < TRIES && gone; i++) {
        pfc_canary_measure(after, PFC_CANARY_SAMPLES);
        gone = moved(b, after);
    }
    run->infra = run->infra || gone || b->out_of_band;
    add_facts(b, after, &add_canary(run, b->before, after)->extra);
    /* Readings outside of the band are kept, too, so that the band follows a machine that changed
     * permanently. */
    if (pfc_band_add(b->band_path, pfc_canary_reading(after, PFC_CANARY_SAMPLES), &err) && !quiet)
        fprintf(stderr, "perfci-bench: note: %s\n", err.msg);
}

void pfc_bracket_close(pfc_bracket *b)
{
    if (!b->quick)
        pfc_gpus_close(b->gpus);
    free(b->band_path);
    *b = (pfc_bracket){ 0 };
}
