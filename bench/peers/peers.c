/* Finding and loading the libraries, and the two calling conventions they have. */
#include "bench/peers/peers.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

typedef void (*fortran_gemm)(const char *ta, const char *tb, const int *m, const int *n,
                             const int *k, const float *alpha, const float *a, const int *lda,
                             const float *b, const int *ldb, const float *beta, float *c,
                             const int *ldc);
typedef int (*dnnl_gemm)(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha,
                         const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                         float *c, int64_t ldc);

typedef struct library {
    const char *name;
    const char *env;
    const char *patterns[8]; /* tried in order, the first match of each */
    const char *symbol;
    const char *version; /* const char *f(void), or NULL */
    const char *threads; /* void f(int), or NULL */
    bool row_major;
} library;

static const library libraries[] = {
    { "openblas",
      "PERFCI_PEER_OPENBLAS",
      { "/opt/*/lib/libopenblas.so.0", "/opt/*/lib/libopenblas.so",
        "/usr/local/lib/libopenblas.so.0", "/usr/lib/*-linux-gnu/openblas-serial/libopenblas.so.0",
        "/usr/lib/*-linux-gnu/openblas-pthread/libopenblas.so.0",
        "/usr/lib/*-linux-gnu/libopenblas.so.0", "/usr/lib64/libopenblas.so.0" },
      "sgemm_",
      "openblas_get_config",
      "openblas_set_num_threads",
      false },
    { "blis",
      "PERFCI_PEER_BLIS",
      { "/opt/*/lib/libblis.so.4", "/opt/*/lib/libblis.so", "/usr/local/lib/libblis.so",
        "/usr/lib/*-linux-gnu/blis-serial/libblis.so.*",
        "/usr/lib/*-linux-gnu/blis-pthread/libblis.so.*", "/usr/lib/*-linux-gnu/libblis.so.*",
        "/usr/lib64/libblis.so.*" },
      "sgemm_",
      "bli_info_get_version_str",
      NULL,
      false },
    { "onednn",
      "PERFCI_PEER_ONEDNN",
      { "/opt/*/lib/libdnnl.so.3", "/opt/*/lib/libdnnl.so.2", "/usr/local/lib/libdnnl.so.3",
        "/usr/lib/*-linux-gnu/libdnnl.so.3", "/usr/lib/*-linux-gnu/libdnnl.so.2",
        "/usr/lib64/libdnnl.so.3" },
      "dnnl_sgemm",
      NULL,
      NULL,
      true },
};

size_t pfc_peer_count(void)
{
    return PFC_ARRAY_LEN(libraries);
}

const char *pfc_peer_name(size_t i)
{
    return libraries[i].name;
}

static char *find(const library *wanted)
{
    const char *given = getenv(wanted->env);

    if (given && *given)
        return pfc_strdup(given);
    for (size_t i = 0; i < PFC_ARRAY_LEN(wanted->patterns) && wanted->patterns[i]; i++) {
        glob_t found = { 0 };
        char *path = NULL;

        if (glob(wanted->patterns[i], 0, NULL, &found) == 0 && found.gl_pathc > 0)
            path = pfc_strdup(found.gl_pathv[0]);
        globfree(&found);
        if (path)
            return path;
    }
    return NULL;
}

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises the bits fit. */
static void take_version(const library *wanted, pfc_peer *peer)
{
    const char *(*version)(void) = NULL;
    void *symbol = wanted->version ? dlsym(peer->handle, wanted->version) : NULL;

    if (!symbol)
        return;
    memcpy(&version, &symbol, sizeof version);
    snprintf(peer->version, sizeof peer->version, "%s", version());
}

static void hold_to_one_thread(const library *wanted, const pfc_peer *peer)
{
    void (*threads)(int) = NULL;
    void *symbol = wanted->threads ? dlsym(peer->handle, wanted->threads) : NULL;

    if (!symbol)
        return;
    memcpy(&threads, &symbol, sizeof threads);
    threads(1);
}

/* On a CPU newer than the library, OpenBLAS uses kernels of 2004, which would make the comparison
 * unfair. */
static bool is_fallback(const pfc_peer *peer)
{
    return strstr(peer->version, "Prescott") && !getenv("OPENBLAS_CORETYPE") &&
           pfc_cpu_can(PFC_CPU_AVX512, NULL);
}

/* Beating that would say nothing: it gets its AVX-512 kernels. The version, which is printed, says
   which ones it has. */
static void reload_openblas(const library *wanted, pfc_peer *peer)
{
    dlclose(peer->handle);
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    peer->handle = dlopen(peer->path, RTLD_NOW | RTLD_LOCAL);
    peer->gemm = peer->handle ? dlsym(peer->handle, wanted->symbol) : NULL;
    if (!peer->gemm)
        pfc_die("%s: loaded once, but not twice", peer->path);
    take_version(wanted, peer);
}

pfc_code pfc_peer_open(size_t i, pfc_peer *out, pfc_err *err)
{
    static const char *const one_thread[] = { "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
                                              "OMP_NUM_THREADS" };
    const library *wanted = &libraries[i];
    pfc_peer peer = { .name = wanted->name, .row_major = wanted->row_major };
    const char *reason = NULL;

    peer.path = find(wanted);
    if (!peer.path)
        return pfc_err_set(err, PFC_ENOTFOUND, "%s is not installed", wanted->name);

    /* The libraries read these when they are loaded. */
    for (size_t t = 0; t < PFC_ARRAY_LEN(one_thread); t++)
        setenv(one_thread[t], "1", 1);
    peer.handle = dlopen(peer.path, RTLD_NOW | RTLD_LOCAL);
    if (peer.handle)
        peer.gemm = dlsym(peer.handle, wanted->symbol);
    if (!peer.gemm) {
        reason = dlerror();
        pfc_err_set(err, PFC_EUNAVAIL, "%s does not load: %.300s", peer.path,
                    reason ? reason : "no reason given");
        pfc_peer_close(&peer);
        return PFC_EUNAVAIL;
    }
    take_version(wanted, &peer);
    if (is_fallback(&peer))
        reload_openblas(wanted, &peer);
    hold_to_one_thread(wanted, &peer);
    *out = peer;
    return PFC_OK;
}

void pfc_peer_close(pfc_peer *peer)
{
    if (peer->handle)
        dlclose(peer->handle);
    free(peer->path);
    *peer = (pfc_peer){ 0 };
}

void pfc_peer_gemm(const pfc_peer *peer, size_t m, size_t n, size_t k, const float *a,
                   const float *b, float *c)
{
    const float one = 1.0F;
    const float zero = 0.0F;

    if (peer->row_major) {
        dnnl_gemm call = NULL;

        memcpy(&call, &peer->gemm, sizeof call);
        call('N', 'N', (int64_t)m, (int64_t)n, (int64_t)k, one, a, (int64_t)k, b, (int64_t)n, zero,
             c, (int64_t)n);
    } else {
        /* Column-major: the same memory is the transposed product, C' = B' A'. */
        fortran_gemm call = NULL;
        const int rows = (int)n;
        const int cols = (int)m;
        const int depth = (int)k;

        memcpy(&call, &peer->gemm, sizeof call);
        call("N", "N", &rows, &cols, &depth, &one, b, &rows, a, &depth, &zero, c, &rows);
    }
}
