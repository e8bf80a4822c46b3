/*
 * perfci-bench-import: how many rows of CSV a second the importers read, from text in memory to a
 * run of measurements.
 *
 *   perfci-bench-import [--rows N] [--rounds N]
 *
 * Three tables of N rows (default 10^6) are made from a fixed seed: a mapped CSV of one's own (a
 * name, a parameter, two metrics), a rocprofv3 kernel trace (19 columns, most of them quoted) and
 * ncu's long form (a row a metric, values with thousands separators). Each is read N rounds
 * (default 5), the best round counts. Beside them, in the same run, python3's csv module (written
 * in C) over the same bytes, only splitting rows and turning the same cells into numbers: less work
 * than ours. JSON lines on stdout: {"benchmark", "rows_per_s" (wall), "rows_per_cpu_s",
 * "mb_per_cpu_s", "peer"?, "peer_rows_per_cpu_s"?, "ratio"?}; CPU time, because on a busy machine
 * the wall says who else ran.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/parse.h"
#include "core/base/process/proc.h"
#include "core/base/rng.h"
#include "core/import/import.h"

enum { KERNELS = 997 }; /* measurements of a table; a prime, so that neighbours differ */

typedef struct table {
    const char *name;
    void (*row)(pfc_buf *buf, pfc_rng *rng, size_t i);
    const char *header;
    const char *map;
    const char *columns; /* of numbers, for the peer */
} table;

static void own_row(pfc_buf *buf, pfc_rng *rng, size_t i)
{
    pfc_buf_printf(buf, "gemm_%zu,%u,%.3f,%.4f\n", i % KERNELS, 64u << (i % 5),
                   100.0 + (double)pfc_rng_below(rng, 100000) / 1000.0,
                   1.0 + (double)pfc_rng_below(rng, 10000) / 10000.0);
}

static void trace_row(pfc_buf *buf, pfc_rng *rng, size_t i)
{
    const unsigned long long start = 2414192765353337ull + 20000ull * i;

    pfc_buf_printf(buf,
                   "\"KERNEL_DISPATCH\",2,1,1,21228,%zu,11,\"kernel_%zu<float>(float*, float "
                   "const*, int)\",%zu,%llu,%llu,0,0,64,1,1,1024,1024,1\n",
                   i, i % KERNELS, i, start, start + 5000 + pfc_rng_below(rng, 9000));
}

static void ncu_row(pfc_buf *buf, pfc_rng *rng, size_t i)
{
    static const char *const metrics[][2] = { { "Duration", "ns" },
                                              { "Elapsed Cycles", "cycle" },
                                              { "Memory Throughput", "%" },
                                              { "DRAM Frequency", "hz" } };
    const size_t m = i % PFC_ARRAY_LEN(metrics);

    pfc_buf_printf(buf,
                   "\"%zu\",\"371693\",\"app\",\"127.0.0.1\",\"kernel_%zu\",\"1\",\"7\",\"(384, 1, "
                   "1)\",\"(9, 32, 1)\",\"0\",\"10.0\",\"GPU Speed Of Light "
                   "Throughput\",\"%s\",\"%s\",\"1,%03u,%03u.%02u\",\n",
                   i / 4, i / 4 % KERNELS, metrics[m][0], metrics[m][1],
                   (unsigned)pfc_rng_below(rng, 1000), (unsigned)pfc_rng_below(rng, 1000),
                   (unsigned)pfc_rng_below(rng, 100));
}

static const table tables[] = {
    { "mapped", own_row, "op,size,time_us,tflops\n",
      "name: \"{op}\"\nparams: [size]\nmetrics:\n  time_us: us\n  tflops: TFLOP/s\n", "2,3" },
    { "rocprofv3-trace", trace_row,
      "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_"
      "Id\","
      "\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\","
      "\"Private_Segment_Size\",\"Group_Segment_Size\",\"Workgroup_Size_X\",\"Workgroup_Size_Y\","
      "\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\n",
      NULL, "9,10" },
    { "ncu-long", ncu_row,
      "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
      "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric "
      "Unit\",\"Metric Value\",\"Rule Name\"\n",
      NULL, "14" },
};

static const char peer_program[] = "import csv,io,sys,time\n"
                                   "cols=[int(c) for c in sys.argv[2].split(',')]\n"
                                   "text=open(sys.argv[1],newline='').read()\n"
                                   "best=1e9\n"
                                   "for _ in range(int(sys.argv[3])):\n"
                                   "    t=time.process_time(); n=0; s=0.0\n"
                                   "    rows=csv.reader(io.StringIO(text,newline='')); next(rows)\n"
                                   "    for r in rows:\n"
                                   "        n+=1\n"
                                   "        for c in cols: s+=float(r[c].replace(',',''))\n"
                                   "    best=min(best,time.process_time()-t)\n"
                                   "print(n/best)\n";

static double peer_rows_per_s(const char *file, const table *t, size_t rounds)
{
    char count[24];
    const char *argv[] = { "python3", "-c", peer_program, file, t->columns, count, NULL };
    const pfc_proc_opts opts = { .argv = argv, .timeout_s = 600 };
    pfc_proc_result res;
    double rate = 0.0;

    (void)snprintf(count, sizeof(count), "%zu", rounds);
    if (pfc_proc_run(&opts, &res, NULL) != PFC_OK)
        return 0.0;
    if (res.exit_status == 0)
        rate = strtod(pfc_buf_text(&res.out), NULL);
    pfc_proc_result_clear(&res);
    return rate;
}

static double cpu_seconds(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static pfc_code read_once(const table *t, const pfc_buf *text, double *seconds, double *cpu,
                          pfc_err *err)
{
    const pfc_import_opts opts = { .map = t->map, .any_direction = true };
    pfc_import_result r = { 0 };
    const int64_t start = pfc_clock_ns();
    const double cpu_start = cpu_seconds();
    pfc_code code = pfc_import_read(&opts, pfc_buf_text(text), text->len, &r, err);

    *cpu = cpu_seconds() - cpu_start;
    *seconds = (double)(pfc_clock_ns() - start) * 1e-9;
    pfc_import_result_clear(&r);
    return code;
}

static pfc_code measure(const table *t, size_t rows, size_t rounds, const char *dir, pfc_err *err)
{
    char *file = pfc_fs_join(dir, "rows.csv");
    pfc_rng rng;
    pfc_buf buf;
    double best = 1e9;
    double best_cpu = 1e9;
    double peer;
    pfc_code code = PFC_OK;

    pfc_rng_seed(&rng, 20);
    pfc_buf_init(&buf, PFC_IMPORT_MAX_BYTES);
    pfc_buf_puts(&buf, t->header);
    for (size_t i = 0; i < rows; i++)
        t->row(&buf, &rng, i);
    code = pfc_buf_check(&buf, t->name, err);
    for (size_t i = 0; i < rounds && !code; i++) {
        double seconds = 0.0;
        double cpu = 0.0;
        code = read_once(t, &buf, &seconds, &cpu, err);
        best = PFC_MIN(best, seconds);
        best_cpu = PFC_MIN(best_cpu, cpu);
    }
    if (!code)
        code = pfc_fs_write_atomic(file, pfc_buf_text(&buf), buf.len, 0600, err);
    if (!code) {
        peer = peer_rows_per_s(file, t, PFC_MIN(rounds, (size_t)2));
        printf("{\"benchmark\": \"%s\", \"rows_per_s\": %.0f, \"rows_per_cpu_s\": %.0f, "
               "\"mb_per_cpu_s\": %.1f",
               t->name, (double)rows / best, (double)rows / best_cpu,
               (double)buf.len / best_cpu * 1e-6);
        if (peer > 0)
            printf(", \"peer\": \"python3 csv\", \"peer_rows_per_cpu_s\": %.0f, \"ratio\": %.2f",
                   peer, (double)rows / best_cpu / peer);
        printf("}\n");
        fflush(stdout);
    }
    pfc_buf_clear(&buf);
    free(file);
    return code;
}

int main(int argc, char **argv)
{
    int64_t rows = 1000000;
    int64_t rounds = 5;
    char *dir = NULL;
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    for (int i = 1; i < argc && !code; i += 2) {
        int64_t *out = strcmp(argv[i], "--rows") == 0     ? &rows
                       : strcmp(argv[i], "--rounds") == 0 ? &rounds
                                                          : NULL;
        if (!out || i + 1 == argc)
            code = pfc_err_set(&err, PFC_EINVAL, "expected --rows N and --rounds N, got %.60s",
                               argv[i]);
        else
            code = pfc_parse_i64(argv[i + 1], 1, 1000000, argv[i], out, &err);
    }
    if (!code)
        code = pfc_fs_temp_dir("perfci-bench-import", &dir, &err);
    for (size_t i = 0; i < PFC_ARRAY_LEN(tables) && !code; i++)
        code = measure(&tables[i], (size_t)rows, (size_t)rounds, dir, &err);
    if (dir && pfc_fs_remove_tree(dir, code ? NULL : &err) && !code)
        code = err.code;
    free(dir);
    if (code)
        fprintf(stderr, "perfci-bench-import: %s\n", err.msg);
    return pfc_code_exit(code);
}
