/* The child of a comparison: one benchmark, measured when it is its turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/harness/cells.h"
#include "bench/harness/pairs/pairs.h"

#define MAX_LINE (64 * 1024)
#define RETAKES  3 /* of a sample that lost the processor; then it stands as it is */

typedef struct server {
    const pfc_backend *backend;
    pfc_backend round; /* when there are several copies */
    void *inst;
    const pfc_timer *wall;
    const pfc_timer *cpu;
    FILE *out;
} server;

static void answer(const server *s, json_t *doc)
{
    char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));

    json_decref(doc);
    if (!text)
        pfc_die("serve: JSON encoding failed");
    fprintf(s->out, "%s\n", text);
    fflush(s->out);
    free(text);
}

static void refuse(const server *s, pfc_status status, const char *reason)
{
    answer(s, json_pack("{s:s,s:s}", "status", status == PFC_STATUS_BROKEN ? "broken" : "skipped",
                        "reason", reason));
}

/* The benchmark open, right and warm; or the reason why not, answered. */
static pfc_code begin(server *s, const pfc_backends *backends, const char *line, pfc_err *err)
{
    pfc_block_spec spec;
    pfc_case c = { 0 };
    pfc_err inner = { 0 };
    char *name = NULL;
    double call_ns = 0.0;
    bool steady = false;
    pfc_code code = pfc_block_spec_from_text(line, strlen(line), &spec, &c, &name, err);

    if (code)
        return code;
    s->backend = pfc_backends_find(backends, name);
    if (!s->backend || s->backend->missing[0] || s->backend->exact) {
        refuse(s, PFC_STATUS_SKIPPED,
               !s->backend              ? "this build has no such backend"
               : s->backend->missing[0] ? s->backend->missing
                                        : "an exact backend takes no turns");
        goto done;
    }
    (void)pfc_pin(spec.cpu);
    if (spec.copies > 1) {
        code = pfc_copies_open(s->backend, &c, spec.seed, spec.copies, &s->round, &s->inst, &inner);
        s->backend = code ? s->backend : &s->round;
    } else {
        code = s->backend->ops->open(s->backend, &c, spec.seed, &s->inst, &inner);
    }
    if (!code && spec.check)
        code = s->backend->ops->check(s->inst, &inner);
    if (code) {
        refuse(s, code == PFC_EUNAVAIL ? PFC_STATUS_SKIPPED : PFC_STATUS_BROKEN, inner.msg);
        if (s->inst)
            s->backend->ops->close(s->inst);
        s->inst = NULL;
        code = PFC_OK;
        goto done;
    }
    call_ns = pfc_warm_up(s->backend, s->inst, s->wall, spec.warmup_seconds, &steady);
    answer(s, json_pack("{s:s,s:I,s:b,s:f}", "status", "ok", "calls",
                        (json_int_t)pfc_batch_for(call_ns,
                                                  call_ns > PFC_SAMPLE_LONG_NS ? s->cpu : s->wall),
                        "cpu_clock", (int)(call_ns > PFC_SAMPLE_LONG_NS), "call_ns", call_ns));
done:
    pfc_case_clear(&c);
    free(name);
    return code;
}

static pfc_code read_turn(const char *line, pfc_pair_turn *out, pfc_err *err)
{
    json_t *doc = NULL;
    int64_t warm = 0;
    int64_t calls = 0;
    int64_t per = 0;
    int64_t samples = 0;
    pfc_code code = pfc_json_parse(line, strlen(line), &doc, err);

    if (!code)
        code = pfc_json_i64(doc, NULL, "warm", true, 0, 1LL << 40, &warm, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "calls", true, 1, 1LL << 40, &calls, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "per", true, 1, 1LL << 40, &per, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "samples", true, 1, PFC_TURN_MAX_SAMPLES, &samples, err);
    if (!code)
        code = pfc_json_bool(doc, NULL, "cpu_clock", true, &out->cpu_clock, err);
    json_decref(doc);
    if (code)
        return code;
    out->warm = (uint64_t)warm;
    out->calls = (uint64_t)calls;
    out->per = (uint64_t)per;
    out->samples = (size_t)samples;
    return PFC_OK;
}

static long switched_away(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* One sample that the scheduler did not cut in two, if that can be had; ns a call. A long call is
 * timed by the processor's clock, which stops meanwhile, and is dear to take again. */
static double whole_sample(const server *s, const pfc_pair_turn *turn, uint64_t *preempted)
{
    double ns = 0.0;

    for (int i = 0; i < RETAKES; i++) {
        const long before = switched_away();

        ns = pfc_sample(s->backend, s->inst, turn->calls, turn->cpu_clock ? s->cpu : s->wall);
        if (turn->cpu_clock || switched_away() == before)
            break;
        ++*preempted;
    }
    return ns * ((double)turn->calls / (double)turn->per);
}

static void take_turn(const server *s, const pfc_pair_turn *turn)
{
    double samples[PFC_TURN_MAX_SAMPLES];
    uint64_t preempted = 0;
    json_t *list = json_array();

    if (turn->warm)
        s->backend->ops->run(s->inst, turn->warm);
    for (size_t i = 0; i < turn->samples; i++)
        samples[i] = whole_sample(s, turn, &preempted);
    for (size_t i = 0; i < turn->samples; i++)
        json_array_append_new(list, json_real(samples[i]));
    answer(s, json_pack("{s:o,s:I}", "samples", list, "preempted", (json_int_t)preempted));
}

pfc_code pfc_serve(const pfc_backends *backends, FILE *in, FILE *out, const pfc_timer *wall,
                   const pfc_timer *cpu, pfc_err *err)
{
    server s = { .wall = wall, .cpu = cpu, .out = out };
    char *line = pfc_alloc(MAX_LINE);
    pfc_pair_turn turn = { 0 };
    pfc_code code = PFC_OK;

    if (!fgets(line, MAX_LINE, in))
        code = pfc_err_set(err, PFC_EINVAL, "serve: expected a benchmark on standard input");
    if (!code)
        code = begin(&s, backends, line, err);
    while (!code && s.inst && fgets(line, MAX_LINE, in)) {
        code = read_turn(line, &turn, err);
        if (!code)
            take_turn(&s, &turn);
    }
    if (s.inst)
        s.backend->ops->close(s.inst);
    free(line);
    return code;
}
