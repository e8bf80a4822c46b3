/*
 * The modes that perfci-bench starts itself in: one block, one call under valgrind, or the turns of
 * one side of a comparison. The request is on standard input.
 */
#include <stdlib.h>

#include "bench/harness/exact/exact.h"
#include "bench/harness/pairs/pairs.h"
#include "bench/program.h"
#include "core/base/fs.h"

#define MAX_SPEC_BYTES (64u * 1024)

/* The block that the parent process asks for, on standard input. */
typedef struct block_request {
    pfc_backends backends;
    const pfc_backend *backend;
    pfc_block_spec spec;
    pfc_case c;
    char *backend_name;
} block_request;

static pfc_code read_request(block_request *request, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read("-", MAX_SPEC_BYTES, &text, &len, err);

    *request = (block_request){ 0 };
    pfc_backends_list(&request->backends);
    if (!code)
        code = pfc_block_spec_from_text(text, len, &request->spec, &request->c,
                                        &request->backend_name, err);
    free(text);
    if (code)
        return code;
    request->backend = pfc_backends_find(&request->backends, request->backend_name);
    if (!request->backend)
        return pfc_err_set(err, PFC_EINVAL, "unknown backend '%s'", request->backend_name);
    return PFC_OK;
}

static void clear_request(block_request *request)
{
    pfc_case_clear(&request->c);
    free(request->backend_name);
    pfc_backends_clear(&request->backends);
}

int pfc_bench_run_block(const pfc_bench_args *args)
{
    const pfc_timer wall = pfc_timer_wall();
    const pfc_timer cpu = pfc_timer_cpu();
    pfc_block block = { 0 };
    pfc_err err = { 0 };
    block_request request;
    pfc_code code = read_request(&request, &err);

    (void)args;
    if (!code)
        code = pfc_block_run(request.backend, &request.spec, &wall, &cpu, &block, &err);
    if (!code) {
        char *text = pfc_block_to_text(&block);
        puts(text);
        free(text);
    }
    pfc_block_clear(&block);
    clear_request(&request);
    return code ? pfc_bench_fail(&err) : pfc_bench_flush();
}

int pfc_bench_run_call(const pfc_bench_args *args)
{
    pfc_err err = { 0 };
    block_request request;
    pfc_code code = read_request(&request, &err);

    (void)args;
    if (!code)
        code = pfc_counted_run(request.backend, &request.spec, &err);
    clear_request(&request);
    return code ? pfc_bench_fail(&err) : 0;
}

int pfc_bench_run_serve(const pfc_bench_args *args)
{
    const pfc_timer wall = pfc_timer_wall();
    const pfc_timer cpu = pfc_timer_cpu();
    pfc_backends backends;
    pfc_err err = { 0 };
    pfc_code code;

    (void)args;
    pfc_backends_list(&backends);
    code = pfc_serve(&backends, stdin, stdout, &wall, &cpu, &err);
    pfc_backends_clear(&backends);
    return code ? pfc_bench_fail(&err) : 0;
}
