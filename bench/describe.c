/* `perfci-bench --machine`: all that is known of this machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine/canary/band.h"
#include "bench/machine/huge_pages.h"
#include "bench/machine/quiet/quiet.h"
#include "bench/machine/timing/timing.h"
#include "bench/program.h"
#include "core/machine/topology.h"

static void put_text(pfc_labels *out, const char *name, const char *text)
{
    pfc_labels_set(out, name, text && *text ? text : PFC_NOT_AVAILABLE);
}

static void put_number(pfc_labels *out, const char *name, double value)
{
    char text[40];

    snprintf(text, sizeof(text), "%.10g", value);
    pfc_labels_set(out, name, isfinite(value) ? text : PFC_NOT_AVAILABLE);
}

/* 0 says that it cannot be known. */
static void put_count(pfc_labels *out, const char *name, int64_t n)
{
    put_number(out, name, n > 0 ? (double)n : (double)NAN);
}

static void add_topology(pfc_labels *out)
{
    pfc_topology t;

    pfc_topology_read(NULL, &t);
    put_count(out, "packages", t.packages);
    put_count(out, "cores", t.cores);
    put_count(out, "threads", t.threads);
    put_count(out, "memory_nodes", t.nodes);
    put_count(out, "l1d_bytes", t.l1d_bytes);
    put_count(out, "l2_bytes", t.l2_bytes);
    put_count(out, "l3_bytes", t.l3_bytes);
    put_count(out, "l3_caches", t.l3_caches);
    put_text(out, "read_by", t.by);
}

static void add_gpu(const pfc_gpu *gpu, pfc_labels *out)
{
    put_text(out, "name", gpu->name);
    put_text(out, "uuid", gpu->uuid);
    put_text(out, "driver", gpu->driver);
    put_number(out, "sm_mhz", gpu->sm_mhz);
    put_number(out, "mem_mhz", gpu->mem_mhz);
    put_number(out, "temperature_c", gpu->temperature_c);
    put_number(out, "power_w", gpu->power_w);
    put_text(out, "ecc", gpu->ecc);
    put_number(out, "ecc_errors", gpu->ecc_errors);
    put_text(out, "clock_reasons", gpu->reasons);
    put_text(out, "throttled", gpu->throttled ? "true" : "false");
}

static void add_quiet(pfc_labels *out)
{
    pfc_quiet q;

    pfc_quiet_wait(0.0, NULL, &q);
    put_text(out, "quiet", q.quiet ? "true" : "false");
    put_text(out, "reason", q.quiet ? "none" : q.reason);
    put_number(out, "steal_share", q.steal_share);
    put_number(out, "busy_share", q.busy_share);
    put_number(out, "running_others", q.running);
    put_number(out, "load1", q.load1);
    put_number(out, "core_ghz", q.core_ghz);
    put_number(out, "clock_moved_rel", q.clock_rel);
    put_number(out, "cpu_throttled", q.throttled);
}

static void add_canary(const pfc_machine *machine, pfc_labels *out)
{
    double samples[PFC_CANARY_SAMPLES];
    char *path = pfc_band_path(machine);
    pfc_canary_band band;
    double reading;

    pfc_band_load(path, &band);
    pfc_canary_measure(samples, PFC_CANARY_SAMPLES);
    reading = pfc_canary_reading(samples, PFC_CANARY_SAMPLES);
    put_number(out, "reading_ns", reading);
    put_number(out, "band_center_ns", band.center_ns);
    put_number(out, "band_width_rel", band.width_rel);
    put_number(out, "readings", (double)band.readings);
    put_text(out, "in_band",
             isnan(band.center_ns)           ? PFC_NOT_AVAILABLE
             : pfc_band_left(&band, reading) ? "false"
                                             : "true");
    put_text(out, "history", path);
    free(path);
}

static void add_pages(const pfc_machine *machine, pfc_labels *out)
{
    const int64_t granted = pfc_pages_probe();

    put_text(out, "transparent", pfc_labels_get(&machine->fingerprint, "hugepages"));
    put_text(out, "granted_when_asked",
             granted < 0   ? PFC_NOT_AVAILABLE
             : granted > 0 ? "true"
                           : "false");
}

static void print_section(const char *title, const pfc_labels *pairs)
{
    printf("%s\n", title);
    for (size_t i = 0; i < pairs->len; i++)
        printf("  %-26s %s\n", pairs->items[i].name, pairs->items[i].value);
}

/* One part of the answer: a section of the text, a member of the document. Takes the pairs. */
static void emit(json_t *doc, const char *name, const char *title, pfc_labels *pairs)
{
    if (doc)
        json_object_set_new(doc, name, pfc_labels_to_json(pairs));
    else
        print_section(title, pairs);
    pfc_labels_clear(pairs);
}

static void emit_gpus(json_t *doc)
{
    json_t *list = json_array();
    pfc_gpus *gpus = NULL;

    pfc_gpus_open(NULL, &gpus);
    for (size_t i = 0; i < pfc_gpus_count(gpus); i++) {
        pfc_labels pairs = { 0 };
        char title[32];
        pfc_gpu gpu;

        pfc_gpus_read(gpus, i, &gpu);
        add_gpu(&gpu, &pairs);
        snprintf(title, sizeof(title), "GPU %zu", i);
        if (doc)
            json_array_append_new(list, pfc_labels_to_json(&pairs));
        else
            print_section(title, &pairs);
        pfc_labels_clear(&pairs);
    }
    if (doc)
        json_object_set(doc, "gpus", list);
    else if (pfc_gpus_count(gpus) == 0)
        printf("GPU\n  %s\n", PFC_NOT_AVAILABLE);
    json_decref(list);
    pfc_gpus_close(gpus);
}

void pfc_bench_machine(const pfc_backends *backends, const char *suite_hash, pfc_machine *out)
{
    char chips[PFC_SHA256_HEX];
    const pfc_machine_opts opts = { .suite_hash = suite_hash,
                                    .simulator = backends->simulator,
                                    .chips = chips };

    pfc_backends_chips(backends, chips);
    pfc_machine_read(&opts, out);
}

int pfc_bench_describe(const pfc_bench_args *args)
{
    pfc_backends backends;
    json_t *doc = args->json ? json_object() : NULL;
    pfc_run *run = pfc_run_new(); /* owns the machine */
    pfc_labels pairs = { 0 };
    pfc_timing timing;

    pfc_backends_list(&backends);
    pfc_bench_machine(&backends, NULL, &run->machine);
    pfc_backends_clear(&backends);
    put_text(&pairs, "name", run->machine.name);
    put_text(&pairs, "class", run->machine.machine_class);
    put_text(&pairs, "fingerprint_hash", run->machine.fingerprint_hash);
    emit(doc, "machine", "machine", &pairs);
    for (size_t i = 0; i < run->machine.fingerprint.len; i++)
        put_text(&pairs, run->machine.fingerprint.items[i].name,
                 run->machine.fingerprint.items[i].value);
    emit(doc, "fingerprint", "fingerprint", &pairs);
    add_topology(&pairs);
    emit(doc, "topology", "topology", &pairs);
    emit_gpus(doc);
    pfc_timing_measure(NULL, &timing);
    pfc_timing_facts(&timing, &pairs);
    emit(doc, "clocks", "clocks", &pairs);
    add_pages(&run->machine, &pairs);
    emit(doc, "huge_pages", "huge pages", &pairs);
    add_canary(&run->machine, &pairs);
    emit(doc, "canary", "canary", &pairs);
    add_quiet(&pairs);
    emit(doc, "quiet", "quiet", &pairs);
    pfc_run_free(run);
    if (doc) {
        char *text = json_dumps(doc, JSON_INDENT(2));
        puts(text);
        free(text);
        json_decref(doc);
    }
    return pfc_bench_flush();
}
