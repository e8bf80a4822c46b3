/* Traces of whole problems: complete, in order, and the same run as without. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/trace/trace.h"
#include "kernels/accel/ops/ops.h"

#include "tests/check/check.h"

#define UNITS 80
#define EVERY 500

typedef struct seen {
    size_t tiles, transfers, signals, waits, kernels, counters;
    uint64_t states[UNITS]; /* cycles of all states, by unit */
    uint64_t end;           /* of the kernel */
    uint64_t cycles;        /* as the counter says it */
    uint64_t work;
    size_t commands;
    uint64_t details[64]; /* sums of the costs, by type of record */
} seen;

static void note(seen *s, const pfc_trace_record *r)
{
    switch (r->type) {
    case PFC_TRACE_TILE_END:
        s->tiles++;
        s->work += r->unit == PFC_ACCEL_TRACE_TENSOR ? r->b : 0;
        break;
    case PFC_TRACE_DMA_DONE:
        s->transfers++;
        break;
    case PFC_TRACE_SEM_SIGNAL:
        s->signals++;
        break;
    case PFC_TRACE_SEM_WAIT:
        s->waits++;
        break;
    case PFC_TRACE_STATE_SAMPLE:
        cr_assert(lt(u16, r->unit, UNITS));
        s->states[r->unit] += r->b;
        break;
    case PFC_TRACE_COUNTER_SAMPLE:
        s->counters++;
        if (r->a == PFC_ACCEL_CYCLES)
            s->cycles = r->b;
        break;
    case PFC_TRACE_KERNEL_END:
        s->kernels++;
        s->end = r->ticks;
        break;
    case PFC_TRACE_COMMAND:
        s->commands++;
        break;
    default:
        if (r->type < PFC_ARRAY_LEN(s->details))
            s->details[r->type] += r->b;
        break;
    }
}

/* The costs of all commands together are the counters of the same run. */
static void expect_costs(const seen *s, const pfc_accel_counters *c)
{
    const uint64_t *d = s->details;
    const uint64_t *v = c->v;

    cr_assert(
        eq(u64, d[PFC_TRACE_COST_STREAM], v[PFC_ACCEL_TENSOR_BUSY] + v[PFC_ACCEL_VECTOR_BUSY]));
    cr_assert(eq(u64, d[PFC_TRACE_COST_WEIGHTS], v[PFC_ACCEL_TENSOR_STALL_WEIGHTS]));
    cr_assert(ge(u64, d[PFC_TRACE_COST_PRELOAD], v[PFC_ACCEL_TENSOR_PRELOAD]));
    cr_assert(eq(u64, d[PFC_TRACE_COST_REDUCE], v[PFC_ACCEL_VECTOR_REDUCE]));
    cr_assert(eq(u64, d[PFC_TRACE_COST_BANK],
                 v[PFC_ACCEL_TENSOR_STALL_BANK] + v[PFC_ACCEL_VECTOR_STALL_BANK]));
    cr_assert(eq(u64, d[PFC_TRACE_FOLDS], v[PFC_ACCEL_FOLDS]));
    cr_assert(eq(u64, d[PFC_TRACE_COST_DMA_SETUP], v[PFC_ACCEL_DMA_SETUP]));
    cr_assert(eq(u64, d[PFC_TRACE_COST_DMA_RATE], v[PFC_ACCEL_DMA_BUSY]));
    cr_assert(eq(u64, d[PFC_TRACE_COST_DMA_WINDOW], v[PFC_ACCEL_DMA_STALL_HBM]));
    /* The cost of each transfer is rounded up to whole cycles, the counter only once. */
    cr_assert(ge(u64, d[PFC_TRACE_COST_MEMORY_SERVICE], v[PFC_ACCEL_HBM_SERVICE]));
    cr_assert(le(u64, d[PFC_TRACE_COST_MEMORY_SERVICE], v[PFC_ACCEL_HBM_SERVICE] + s->transfers));
    cr_assert(ge(u64, d[PFC_TRACE_COST_MEMORY_QUEUE], v[PFC_ACCEL_HBM_QUEUE]));
    cr_assert(le(u64, d[PFC_TRACE_COST_MEMORY_QUEUE], v[PFC_ACCEL_HBM_QUEUE] + s->transfers));
}

static seen read_trace(const char *path, const char *chip_hash)
{
    pfc_trace_reader *reader = NULL;
    pfc_trace_record r;
    seen s = { 0 };
    uint64_t last = 0;
    bool more = true;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_trace_reader_open(&reader, path, PFC_TRACE_STRICT, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(
        str, (char *)(uintptr_t)pfc_trace_meta_value(pfc_trace_reader_header(reader), "chip_hash"),
        (char *)(uintptr_t)chip_hash));
    for (;;) {
        cr_assert(eq(int, pfc_trace_read(reader, &r, &more, &err), PFC_OK), "%s", err.msg);
        if (!more)
            break;
        cr_assert(ge(u64, r.ticks, last), "record %llu goes back",
                  (unsigned long long)pfc_trace_reader_number(reader));
        last = r.ticks;
        note(&s, &r);
    }
    pfc_trace_reader_free(reader);
    return s;
}

static void expect_whole(const seen *s, const pfc_accel_program *p, const pfc_accel_result *r,
                         const pfc_accel_chip *chip)
{
    size_t transfers = 0, waits = 0;

    for (size_t i = 0; i < p->len; i++) {
        transfers += p->cmds[i].unit == PFC_ACCEL_UNIT_DMA;
        waits += p->cmds[i].waits_len;
    }
    cr_assert(eq(sz, s->transfers, transfers));
    cr_assert(eq(sz, s->tiles, p->len - transfers));
    cr_assert(eq(sz, s->signals, p->len));
    cr_assert(eq(sz, s->commands, p->len));
    cr_assert(eq(sz, s->waits, waits));
    cr_assert(eq(sz, s->kernels, 1));
    cr_assert(eq(sz, s->counters, PFC_ACCEL_COUNTERS_LEN));
    cr_assert(eq(u64, s->end, r->cycles));
    cr_assert(eq(u64, s->cycles, r->cycles));
    cr_assert(eq(u64, s->work, r->counters.v[PFC_ACCEL_MACS]));
    /* each unit is in one state at a time, from the begin to the end */
    cr_assert(eq(u64, s->states[PFC_ACCEL_TRACE_TENSOR], r->cycles));
    cr_assert(eq(u64, s->states[PFC_ACCEL_TRACE_VECTOR], r->cycles));
    for (size_t i = 0; i < chip->dma_engines; i++)
        cr_assert(eq(u64, s->states[PFC_ACCEL_TRACE_DMA + i], r->cycles), "engine %zu", i);
}

static void trace_and_compare(const pfc_accel_problem *problem, const char *chip_name)
{
    const pfc_accel_case_opts opts = { .timing_only = true };
    char path[] = "/tmp/perfci-trace-XXXXXX";
    const int fd = mkstemp(path);
    const pfc_accel_trace_opts trace = {
        .path = path, .kernel = "kernel", .every = EVERY, .correlation = 7
    };
    pfc_accel_case *c = NULL;
    pfc_accel_result plain, traced;
    pfc_accel_chip chip;
    pfc_err err = { 0 };
    seen s;

    cr_assert(ge(int, fd, 0));
    close(fd);
    cr_assert(eq(int, pfc_accel_chip_load(chip_name, &chip, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_case_new(&c, problem, &chip, chip.mode, &opts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_accel_case_run(c, &plain, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_run_detail(c, &traced, NULL, &trace, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(str, plain.digest, traced.digest)); /* a trace changes nothing */
    s = read_trace(path, chip.hash);
    expect_whole(&s, pfc_accel_case_program(c), &traced, &chip);
    expect_costs(&s, &traced.counters);
    pfc_accel_case_free(c);
    unlink(path);
}

Test(tracer, a_trace_holds_every_command_and_every_cycle)
{
    static const pfc_accel_problem problems[] = {
        { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 300, 200, 500 } },
        { PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 2, 300, 64, 1 } },
        { PFC_ACCEL_SOFTMAX, PFC_ACCEL_F32, { 64, 1000 } },
        { PFC_ACCEL_LAYERNORM, PFC_ACCEL_BF16, { 100, 777 } },
    };
    static const char *const chips[] = { "pfc-edge", "pfc-server", "pfc-server2", "pfc-trn",
                                         "pfc-xf" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(problems); i++)
        for (size_t k = 0; k < PFC_ARRAY_LEN(chips); k++)
            trace_and_compare(&problems[i], chips[k]);
}

typedef struct names {
    size_t records;
    size_t phases;
    char text[8][48]; /* of phases, in their order */
    const pfc_trace_header *header;
} names;

static pfc_code begin_names(void *arg, const pfc_trace_header *header, pfc_err *err)
{
    names *n = arg;

    (void)err;
    n->header = header;
    return PFC_OK;
}

static pfc_code take_names(void *arg, const pfc_trace_record *records, size_t len, pfc_err *err)
{
    names *n = arg;

    (void)err;
    n->records += len;
    for (size_t i = 0; i < len; i++)
        if (records[i].type == PFC_TRACE_PHASE && n->phases < PFC_ARRAY_LEN(n->text))
            snprintf(n->text[n->phases++], sizeof(n->text[0]), "%s",
                     n->header->names[records[i].b - 1]);
    return PFC_OK;
}

static pfc_code refuse(void *arg, const pfc_trace_record *records, size_t len, pfc_err *err)
{
    (void)arg;
    (void)records;
    return pfc_err_set(err, PFC_ETOOBIG, "refused %zu records", len);
}

/* Operation and operand of the lines "load a[mi, ki]", "load b[ki, ni]", "sum[mi, ni] += ...",
 * "store sum[mi, ni]", in the order of the program. */
Test(tracer, a_consumer_takes_the_records_and_phases_have_names)
{
    const pfc_accel_problem problem = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 300, 200, 500 } };
    const pfc_accel_case_opts opts = { .timing_only = true };
    names n = { 0 };
    pfc_trace_consumer consumer = { begin_names, take_names, &n };
    const pfc_accel_trace_opts trace = { .consumer = &consumer, .kernel = "gemm" };
    pfc_accel_case *c = NULL;
    pfc_accel_result r;
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_case_new(&c, &problem, &chip, chip.mode, &opts, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_case_run_detail(c, &r, NULL, &trace, &err), PFC_OK), "%s", err.msg);
    cr_assert(gt(sz, n.records, 10 * pfc_accel_case_program(c)->len / 2));
    cr_assert(eq(sz, n.phases, 4));
    cr_assert(eq(str, n.text[0], "load_a"));
    cr_assert(eq(str, n.text[1], "load_b"));
    cr_assert(eq(str, n.text[2], "matmul_sum"));
    cr_assert(eq(str, n.text[3], "store_acc_sum"));
    consumer.records = refuse;
    cr_assert(eq(int, pfc_accel_case_run_detail(c, &r, NULL, &trace, &err), PFC_ETOOBIG));
    cr_assert(ne(ptr, strstr(err.msg, "refused"), NULL), "%s", err.msg);
    pfc_accel_case_free(c);
}

/* A folder that is not there: the launch fails, says so, and leaves the device usable. */
Test(tracer, a_file_that_cannot_be_written_is_an_error)
{
    const pfc_accel_problem problem = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 8, 8, 8 } };
    const pfc_accel_case_opts opts = { .timing_only = true };
    const pfc_accel_trace_opts trace = { .path = "/nonexistent/t.pct", .kernel = "gemm" };
    pfc_accel_case *c = NULL;
    pfc_accel_result r;
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_case_new(&c, &problem, &chip, chip.mode, &opts, &err), PFC_OK));
    cr_assert(ne(int, pfc_accel_case_run_detail(c, &r, NULL, &trace, &err), PFC_OK));
    cr_assert(ne(ptr, strstr(err.msg, "/nonexistent"), NULL), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
    pfc_accel_case_free(c);
}
