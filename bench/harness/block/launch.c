/* Blocks in processes of their own. */
#include <stdlib.h>
#include <string.h>

#include "bench/harness/harness.h"
#include "core/base/process/proc.h"

#define BLOCK_GRACE_S 120.0 /* for building inputs and the reference, on a busy machine */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_BYTES 0 /* a sanitizer maps terabytes that it never touches */
#else
/* Buffers (2 GiB at most), the reference in double precision, and room. */
#define MEMORY_BYTES ((uint64_t)8 << 30)
#endif

static void broken(pfc_block *out, char *reason)
{
    *out = (pfc_block){ .status = PFC_STATUS_BROKEN, .reason = reason };
}

/* The last line that a child wrote before it ended explains more than its exit status. */
static char *last_line(const char *text)
{
    size_t end = strlen(text);
    size_t start;

    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r'))
        end--;
    start = end;
    while (start > 0 && text[start - 1] != '\n')
        start--;
    return pfc_strndup(text + start, PFC_MIN(end - start, 300));
}

pfc_code pfc_block_launch(void *arg, const pfc_block_spec *spec, pfc_block *out, pfc_err *err)
{
    const char *const argv[] = { arg, "--block", NULL };
    char *input = pfc_block_spec_to_text(spec);
    const pfc_proc_opts opts = { .argv = argv,
                                 .input = input,
                                 .input_len = strlen(input),
                                 .max_output_bytes = 8u << 20,
                                 .memory_limit_bytes = MEMORY_BYTES,
                                 .timeout_s = (spec->launch_seconds > 0.0 ? spec->launch_seconds
                                                                          : BLOCK_GRACE_S) +
                                              4.0 * (spec->max_seconds + spec->warmup_seconds) };
    pfc_proc_result res;
    pfc_err inner = { 0 };
    pfc_code code = pfc_proc_run(&opts, &res, err);

    free(input);
    if (code)
        return code;
    if (res.signal || res.exit_status || res.timed_out) {
        char what[128];
        char *last = last_line(pfc_buf_text(&res.err));
        pfc_proc_describe(&res, what, sizeof(what));
        broken(out, pfc_format("the measuring process ended with %s%s%s", what, *last ? ": " : "",
                               last));
        free(last);
    } else if (pfc_block_from_text(pfc_buf_text(&res.out), res.out.len, out, &inner)) {
        broken(out, pfc_format("the measuring process answered no block: %s", inner.msg));
    }
    pfc_proc_result_clear(&res);
    return PFC_OK;
}
