/* One call of a benchmark under valgrind's callgrind. */
#include <stdlib.h>
#include <string.h>

#include "bench/harness/exact/exact.h"
#include "core/base/fs.h"
#include "core/base/parse.h"
#include "core/base/process/proc.h"

#define MAX_OUT_BYTES (32u << 20)
/* callgrind is fifty times slower than the machine, and the machine may be busy */
#define TIMEOUT_S     900.0

/* The text behind "NAME: " at the start of a line; NULL: no such line. */
static const char *line_of(const char *text, const char *name)
{
    const size_t len = strlen(name);

    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, len) == 0 && at[len] == ':')
            return at + len + 1;
    }
    return NULL;
}

/* The next word before the end of the line; false when there is none. */
static bool word(const char **at, char *out, size_t cap)
{
    const char *start = *at + strspn(*at, " \t");
    const size_t len = strcspn(start, " \t\r\n");

    if (len == 0 || len >= cap)
        return false;
    memcpy(out, start, len);
    out[len] = '\0';
    *at = start + len;
    return true;
}

pfc_code pfc_call_counts_read(const char *text, pfc_call_counts *out, pfc_err *err)
{
    const char *names = line_of(text, "events");
    const char *values = line_of(text, "totals");
    pfc_call_counts counts = { 0 };
    char name[16];
    char value[32];

    if (!names || !values)
        return pfc_err_set(err, PFC_EINVAL, "callgrind's output has no %s",
                           names ? "totals" : "events");
    /* The totals leave out zeros at their end. */
    while (word(&names, name, sizeof(name)) && word(&values, value, sizeof(value))) {
        int64_t n = 0;
        pfc_code code = pfc_parse_i64(value, 0, INT64_MAX, name, &n, err);

        if (code)
            return code;
        if (strcmp(name, "Ir") == 0)
            counts.instructions = (uint64_t)n;
        else if (strcmp(name, "Dr") == 0)
            counts.reads = (uint64_t)n;
        else if (strcmp(name, "Dw") == 0)
            counts.writes = (uint64_t)n;
    }
    if (counts.instructions == 0)
        return pfc_err_set(err, PFC_EINVAL,
                           "callgrind saw no instruction of the call (is the program stripped?)");
    *out = counts;
    return PFC_OK;
}

/* The child's error message without the program's name; `otherwise` when it printed none. */
static const char *sentence(const pfc_proc_result *res, const char *otherwise)
{
    static const char own[] = "perfci-bench: ";
    char *text = strstr(pfc_buf_text(&res->err), own);

    if (!text)
        return otherwise;
    text += sizeof(own) - 1;
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static pfc_code judge(const pfc_proc_result *res, const char *path, pfc_call_counts *out,
                      pfc_err *err)
{
    char what[128];
    char *text = NULL;
    size_t len = 0;
    pfc_code code;

    pfc_proc_describe(res, what, sizeof(what));
    if (res->exit_status == pfc_code_exit(PFC_EUNAVAIL) && !res->timed_out)
        return pfc_err_set(err, PFC_EUNAVAIL, "under valgrind: %.300s", sentence(res, what));
    if (res->exit_status != 0 || res->timed_out)
        return pfc_err_set(err, PFC_EBROKEN, "under valgrind it ended with %s: %.300s", what,
                           sentence(res, "no reason given"));
    code = pfc_fs_read(path, MAX_OUT_BYTES, &text, &len, err);
    if (!code)
        code = pfc_call_counts_read(text, out, err);
    free(text);
    return code;
}

pfc_code pfc_callgrind_count(void *arg, const pfc_block_spec *spec, pfc_call_counts *out,
                             pfc_err *err)
{
    char *input = pfc_block_spec_to_text(spec);
    char *dir = NULL;
    char *path = NULL;
    char *out_arg = NULL;
    pfc_proc_result res = { 0 };
    bool ran = false;
    pfc_code code = pfc_fs_temp_dir("perfci-callgrind", &dir, err);

    if (!code) {
        /* Caches are simulated for their counts of reads and writes, which depend on no address; of
           one fixed size, so that valgrind says nothing of the host's. */
        const char *argv[] = { "valgrind",
                               "-q",
                               "--tool=callgrind",
                               "--collect-atstart=no",
                               "--toggle-collect=pfc_counted_call",
                               "--cache-sim=yes",
                               "--I1=32768,8,64",
                               "--D1=32768,8,64",
                               "--LL=2097152,16,64",
                               NULL,
                               arg,
                               "--call",
                               NULL };
        const pfc_proc_opts opts = {
            .argv = argv, .input = input, .input_len = strlen(input), .timeout_s = TIMEOUT_S
        };

        path = pfc_fs_join(dir, "out");
        out_arg = pfc_format("--callgrind-out-file=%s", path);
        argv[9] = out_arg;
        code = pfc_proc_run(&opts, &res, err);
        ran = !code;
    }
    if (code == PFC_ENOTFOUND)
        code = pfc_err_set(err, PFC_EIO,
                           "--exact counts with valgrind, which is not installed here (apt-get "
                           "install valgrind)");
    if (ran) {
        code = judge(&res, path, out, err);
        pfc_proc_result_clear(&res);
    }
    if (dir && pfc_fs_remove_tree(dir, NULL) && !code)
        code = pfc_err_set(err, PFC_EIO, "%s: cannot be removed", dir);
    free(out_arg);
    free(path);
    free(dir);
    free(input);
    return code;
}
