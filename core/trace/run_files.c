#include "core/trace/run_files.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"

void pfc_run_traces_free(pfc_run_trace *traces, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        free(traces[i].benchmark);
        free(traces[i].file);
        free(traces[i].bytes);
    }
    free(traces);
}

/* False for a path with an empty component, "." or "..". */
static bool stays_inside(const char *path)
{
    for (const char *at = path;; at++) {
        const size_t len = strcspn(at, "/");

        if (len == 0 || (len <= 2 && strspn(at, ".") >= len))
            return false;
        at += len;
        if (!*at)
            return true;
    }
}

char *pfc_run_trace_file(const char *benchmark, const char *backend)
{
    const bool has_backend = backend && backend[0];
    const size_t len = strlen(benchmark) + (has_backend ? strlen(backend) : 0);

    if (len + 16 > PFC_PATH_MAX || !stays_inside(benchmark) ||
        (has_backend && strchr(backend, '/')))
        return NULL;
    return pfc_format("%s%s%s.pct", benchmark, has_backend ? "@" : "", has_backend ? backend : "");
}
