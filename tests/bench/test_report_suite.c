/* The list, the coverage and the roofline, of a suite, backends and ceilings of the test's own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/program.h"
#include "core/base/fs.h"

#include "tests/check/check.h"

#define SUITE                                                                                      \
    "suite: t\n"                                                                                   \
    "backends: [cpu-scalar, cpu-avx2]\n"                                                           \
    "benchmarks:\n"                                                                                \
    "  - {op: gemm, shapes: [{m: 2, n: 3, k: 4}, {m: 20, n: 3, k: 4}]}\n"                          \
    "  - {op: gemm, dtype: bf16, backends: [cpu-scalar], headline: false, shapes: [{m: 2, n: 3, "  \
    "k: 4}]}\n"                                                                                    \
    "  - {op: softmax, backends: [cpu-avx2], shapes: [{rows: 5, cols: 6}]}\n"

static pfc_suite *suite;
static pfc_backends backends;
static pfc_err err;
static char *text;
static FILE *out;
static size_t len;

/* The second backend has products of f32 with fewer than 17 rows. */
static pfc_code second_can(const pfc_backend *self, const pfc_case *c, pfc_err *why)
{
    (void)self;
    return strcmp(c->op->name, "gemm") == 0 && strcmp(c->dtype, "f32") == 0 && c->params[0] < 17
               ? PFC_OK
               : pfc_err_set(why, PFC_EUNAVAIL, "no such kernel");
}

static const pfc_backend_ops anything = { 0 };
static const pfc_backend_ops some = { .can = second_can };

static void setup(void)
{
    cr_assert(eq(int, pfc_suite_parse(SUITE, strlen(SUITE), "t", &suite, &err), PFC_OK), "%s",
              err.msg);
    backends = (pfc_backends){ 0 };
    pfc_backends_add(&backends, "cpu-scalar", "", false, &anything, NULL);
    pfc_backends_add(&backends, "cpu-avx2", "no AVX2", false, &some, NULL);
    out = open_memstream(&text, &len);
}

static void teardown(void)
{
    free(text);
    pfc_suite_free(suite);
    pfc_backends_clear(&backends);
}

TestSuite(report_suite, .init = setup, .fini = teardown);

static void expect(const char *want)
{
    (void)fclose(out);
    cr_assert(eq(str, text, (char *)want));
}

Test(report_suite, a_list_has_a_line_for_each_benchmark_with_its_backends)
{
    pfc_bench_list(out, suite, &backends, NULL, false);
    expect("gemm/f32/m2n3k4                          gemm_tflops        cpu-scalar cpu-avx2 (not "
           "here)\n"
           "gemm/f32/m20n3k4                         gemm_tflops        cpu-scalar cpu-avx2 (not "
           "here)\n"
           "gemm/bf16/m2n3k4                         gemm_tflops        cpu-scalar\n"
           "softmax/f32/rows5cols6                   norm_gbps          cpu-avx2 (not here)\n");
}

Test(report_suite, a_list_in_json_has_the_same)
{
    pfc_bench_list(out, suite, &backends, NULL, true);
    (void)fclose(out);
    cr_assert(ne(ptr,
                 strstr(text, "{\"benchmark\":\"gemm/bf16/m2n3k4\",\"op\":\"gemm\",\"dtype\":"
                              "\"bf16\",\"metric\":\"gemm_tflops\",\"headline\":false,"
                              "\"backends\":[\"cpu-scalar\"]}\n"),
                 NULL),
              "%s", text);
}

Test(report_suite, coverage_counts_benchmarks_gaps_and_missing_kernels)
{
    pfc_bench_coverage(out, suite, &backends, false);
    expect("benchmarks of              cpu-scalar       cpu-avx2\n"
           "gemm             f32                2              2\n"
           "gemm             bf16               1      no kernel\n"
           "gemm             int8             gap      no kernel\n"
           "attention        f32              gap      no kernel\n"
           "attention        bf16             gap      no kernel\n"
           "attention        int8             gap      no kernel\n"
           "layernorm        f32              gap      no kernel\n"
           "layernorm        bf16             gap      no kernel\n"
           "layernorm        int8             gap      no kernel\n"
           "rmsnorm          f32              gap      no kernel\n"
           "rmsnorm          bf16             gap      no kernel\n"
           "rmsnorm          int8             gap      no kernel\n"
           "softmax          f32              gap      no kernel\n"
           "softmax          bf16             gap      no kernel\n"
           "softmax          int8             gap      no kernel\n"
           "gemm_bias_act    f32              gap      no kernel\n"
           "gemm_bias_act    bf16             gap      no kernel\n"
           "gemm_bias_act    int8             gap      no kernel\n"
           "residual_rmsnorm f32              gap      no kernel\n"
           "residual_rmsnorm bf16             gap      no kernel\n"
           "residual_rmsnorm int8             gap      no kernel\n"
           "softmax/f32/rows5cols6: not on cpu-scalar\n");
}

Test(report_suite, coverage_in_json_has_a_line_for_each_cell_and_each_shape)
{
    static const char *const lines[] = {
        "{\"op\":\"gemm\",\"dtype\":\"f32\",\"backend\":\"cpu-scalar\",\"benchmarks\":2,\"kernel\":"
        "true,\"gap\":false}\n",
        "{\"op\":\"gemm\",\"dtype\":\"bf16\",\"backend\":\"cpu-avx2\",\"benchmarks\":0,\"kernel\":"
        "false,\"gap\":true}\n",
        "{\"op\":\"softmax\",\"dtype\":\"f32\",\"backend\":\"cpu-scalar\",\"benchmarks\":0,"
        "\"kernel\":true,\"gap\":true}\n",
        "{\"benchmark\":\"softmax/f32/rows5cols6\",\"backend\":\"cpu-scalar\",\"gap\":true}\n",
    };
    size_t n = 0;

    pfc_bench_coverage(out, suite, &backends, true);
    (void)fclose(out);
    for (size_t i = 0; i < PFC_ARRAY_LEN(lines); i++)
        cr_assert(ne(ptr, strstr(text, lines[i]), NULL), "%s in\n%s", lines[i], text);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        n++;
    cr_assert(eq(sz, n, 7 * 3 * 2 + 1));
}

/* 100 GFLOP/s; L1 reads 200, L2 100, L3 50, DRAM 10 GB/s. */
static const pfc_ceilings made_up = {
    .isa = { "avx2", "", "avx2 maddubs" },
    .size_bytes = { 32e3, 500e3, 8e6, INFINITY },
    .one = { .gops = { 100, 0, 400 }, .read_gbps = { 200, 100, 50, 10 } },
    .all = { .gops = { 190, 0, 800 }, .read_gbps = { 400, 200, 90, 12 } },
    .threads = 2
};

Test(report_suite, the_roofline_is_drawn_in_text)
{
    pfc_bench_roofline_text(out, &made_up);
    expect("Roofline of one core, f32. 1, 2, 3, D: bound by reading L1, L2, L3, DRAM; =: by arit"
           "hmetic.\n"
           "GFLOP/s\n"
           "      743 |                                                                        \n"
           "      446 |                                                                        \n"
           "      267 |                                                                        \n"
           "      160 |                                                                        \n"
           "       96 |              11========================================================\n"
           "     57.6 |          1111 2222 3333        DDD                                     \n"
           "     34.5 |      1111 2222 3333        DDDD                                        \n"
           "     20.7 |  1111 2222 3333        DDDD                                            \n"
           "     12.4 |11  222  333        DDDD                                                \n"
           "     7.43 |2222 3333        DDD                                                    \n"
           "     4.46 | 3333        DDDD                                                       \n"
           "     2.67 |3        DDDD                                                           \n"
           "      1.6 |      DDD                                                               \n"
           "     0.96 |  DDDD                                                                  \n"
           "    0.576 |DD                                                                      \n"
           "    0.345 |                                                                        \n"
           "    0.207 |                                                                        \n"
           "    0.124 |                                                                        \n"
           "          +------------------------------------------------------------------------\n"
           "           0.0625                                                              1024\n"
           "           operations a byte\n");
}

static void add(pfc_run *run, const char *benchmark, const char *metric, double value)
{
    pfc_measurement *m = pfc_run_add(run);

    m->benchmark = pfc_strdup(benchmark);
    m->metric = pfc_strdup(metric);
    m->backend = pfc_strdup("cpu-<scalar>");
    m->unit = pfc_strdup("ns");
    m->samples = pfc_calloc(1, sizeof(double));
    m->samples[0] = value;
    m->samples_len = 1;
}

/* gemm m2n3k4: 48 operations, 4 (8 + 12 + 6) = 104 bytes; in 48 ns 1 GFLOP/s. */
Test(report_suite, the_roofline_as_svg_has_ceilings_and_points)
{
    pfc_run *run = pfc_run_new();
    char path[] = "/tmp/pfc-roofline-XXXXXX";
    char *svg = NULL;
    size_t svg_len = 0;
    struct stat written;
    int fd = mkstemp(path);

    cr_assert(fd >= 0);
    close(fd);
    add(run, "gemm/f32/m2n3k4", "time_ns", 48);
    add(run, "gemm/f32/m20n3k4", "gemm_tflops", 1);
    add(run, "other", "time_ns", 1);
    add(run, "softmax/f32/rows5cols6", "time_ns", 1); /* no arithmetic that counts */
    cr_assert(eq(int, pfc_bench_roofline_svg(path, &made_up, suite, run, &err), PFC_OK));
    cr_assert(eq(int, pfc_fs_read(path, 1 << 20, &svg, &svg_len, &err), PFC_OK));
    cr_assert(eq(int, stat(path, &written), 0));
    cr_assert(eq(u32, written.st_mode & 0777, 0644));
    (void)remove(path);
    (void)fputs(svg, out);
    expect("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 560\" font-family=\"sans"
           "-serif\" font-size=\"12\" role=\"img\">\n"
           "<title>Roofline</title>\n"
           "<rect width=\"900\" height=\"560\" fill=\"white\"/>\n"
           "<path d=\"M70.0 30V510\" stroke=\"#ddd\"/>\n"
           "<text x=\"70.0\" y=\"528.0\" text-anchor=\"middle\">0.0625</text>\n"
           "<path d=\"M164.3 30V510\" stroke=\"#ddd\"/>\n"
           "<text x=\"164.3\" y=\"528.0\" text-anchor=\"middle\">0.25</text>\n"
           "<path d=\"M258.6 30V510\" stroke=\"#ddd\"/>\n"
           "<text x=\"258.6\" y=\"528.0\" text-anchor=\"middle\">1</text>\n"
           "<path d=\"M352.9 30V510\" stroke=\"#ddd\"/>\n"
           "<text x=\"352.9\" y=\"528.0\" text-anchor=\"middle\">4</text>\n"
           "<path d=\"M447.1 30V510\" stroke=\"#ddd\"/>\n"
           "<text x=\"447.1\" y=\"528.0\" text-anchor=\"middle\">16</text>\n"
           "<path d=\"M541.4 30V510\" stroke=\"#ddd\"/>\n"
           "<text x=\"541.4\" y=\"528.0\" text-anchor=\"middle\">64</text>\n"
           "<path d=\"M635.7 30V510\" stroke=\"#ddd\"/>\n"
           "<text x=\"635.7\" y=\"528.0\" text-anchor=\"middle\">256</text>\n"
           "<path d=\"M730.0 30V510\" stroke=\"#ddd\"/>\n"
           "<text x=\"730.0\" y=\"528.0\" text-anchor=\"middle\">1024</text>\n"
           "<path d=\"M70 30.0H730\" stroke=\"#ddd\"/>\n"
           "<text x=\"62.0\" y=\"34.0\" text-anchor=\"end\">960</text>\n"
           "<path d=\"M70 150.0H730\" stroke=\"#ddd\"/>\n"
           "<text x=\"62.0\" y=\"154.0\" text-anchor=\"end\">96</text>\n"
           "<path d=\"M70 270.0H730\" stroke=\"#ddd\"/>\n"
           "<text x=\"62.0\" y=\"274.0\" text-anchor=\"end\">9.6</text>\n"
           "<path d=\"M70 390.0H730\" stroke=\"#ddd\"/>\n"
           "<text x=\"62.0\" y=\"394.0\" text-anchor=\"end\">0.96</text>\n"
           "<path d=\"M70 510.0H730\" stroke=\"#ddd\"/>\n"
           "<text x=\"62.0\" y=\"514.0\" text-anchor=\"end\">0.096</text>\n"
           "<text x=\"400.0\" y=\"548.0\" text-anchor=\"middle\">operations a byte</text>\n"
           "<text x=\"62.0\" y=\"18.0\" text-anchor=\"end\">GFLOP/s</text>\n"
           "<path d=\"M70.0 256.2L211.4 147.9\" fill=\"none\" stroke=\"#1b6ca8\" stroke-width=\""
           "2\"><title>L1 read, 200.0 GB/s, one core</title></path>\n"
           "<path d=\"M70.0 220.1L207.9 114.4\" fill=\"none\" stroke=\"#1b6ca8\" stroke-width=\""
           "2\" stroke-dasharray=\"6 4\"><title>L1 read, 400.0 GB/s, all cores</title></path>\n"
           "<path d=\"M70.0 292.4L258.6 147.9\" fill=\"none\" stroke=\"#2a9d5c\" stroke-width=\""
           "2\"><title>L2 read, 100.0 GB/s, one core</title></path>\n"
           "<path d=\"M70.0 256.2L255.1 114.4\" fill=\"none\" stroke=\"#2a9d5c\" stroke-width=\""
           "2\" stroke-dasharray=\"6 4\"><title>L2 read, 200.0 GB/s, all cores</title></path>\n"
           "<path d=\"M70.0 328.5L305.7 147.9\" fill=\"none\" stroke=\"#b7791f\" stroke-width=\""
           "2\"><title>L3 read, 50.0 GB/s, one core</title></path>\n"
           "<path d=\"M70.0 297.9L309.4 114.4\" fill=\"none\" stroke=\"#b7791f\" stroke-width=\""
           "2\" stroke-dasharray=\"6 4\"><title>L3 read, 90.0 GB/s, all cores</title></path>\n"
           "<path d=\"M70.0 412.4L415.2 147.9\" fill=\"none\" stroke=\"#b83232\" stroke-width=\""
           "2\"><title>DRAM read, 10.0 GB/s, one core</title></path>\n"
           "<path d=\"M70.0 402.9L446.4 114.4\" fill=\"none\" stroke=\"#b83232\" stroke-width=\""
           "2\" stroke-dasharray=\"6 4\"><title>DRAM read, 12.0 GB/s, all cores</title></path>\n"
           "<path d=\"M211.4 147.9H730\" stroke=\"#333\"/>\n"
           "<text x=\"736\" y=\"151.9\" font-size=\"10\">f32 one, avx2: 100</text>\n"
           "<path d=\"M207.9 114.4H730\" stroke=\"#333\" stroke-dasharray=\"6 4\"/>\n"
           "<text x=\"736\" y=\"118.4\" font-size=\"10\">f32 all, avx2: 190</text>\n"
           "<path d=\"M305.7 75.6H730\" stroke=\"#333\"/>\n"
           "<text x=\"736\" y=\"79.6\" font-size=\"10\">int8 one, avx2 maddubs: 400</text>\n"
           "<path d=\"M305.7 39.5H730\" stroke=\"#333\" stroke-dasharray=\"6 4\"/>\n"
           "<text x=\"736\" y=\"43.5\" font-size=\"10\">int8 all, avx2 maddubs: 800</text>\n"
           "<text x=\"82\" y=\"46\" fill=\"#1b6ca8\">L1 200 GB/s</text>\n"
           "<text x=\"82\" y=\"62\" fill=\"#2a9d5c\">L2 100 GB/s</text>\n"
           "<text x=\"82\" y=\"78\" fill=\"#b7791f\">L3 50 GB/s</text>\n"
           "<text x=\"82\" y=\"94\" fill=\"#b83232\">DRAM 10 GB/s</text>\n"
           "<circle cx=\"206.0\" cy=\"387.9\" r=\"4\" fill=\"#6a4c93\" fill-opacity=\"0.7\"><tit"
           "le>gemm/f32/m2n3k4 on cpu-&#60;scalar&#62;: 1.0 GFLOP/s at 0.46 operations a byte</t"
           "itle></circle>\n"
           "</svg>\n");
    free(svg);
    pfc_run_free(run);
}
