/*
 * Other people's GEMMs, loaded at run time: nothing of them is needed to build, and each is loaded
 * by its full path into a scope of its own, because OpenBLAS and BLIS export the same names.
 */
#ifndef PFC_BENCH_PEERS_PEERS_H
#define PFC_BENCH_PEERS_PEERS_H

#include "core/base/err.h"

#define PFC_PEER_VERSION_MAX 160

typedef struct pfc_peer {
    const char *name;                   /* "openblas", "blis", "onednn" */
    char version[PFC_PEER_VERSION_MAX]; /* what the library says of itself, may be empty */
    char *path;                         /* the file loaded; owned */
    void *handle;                       /* of dlopen; stays open until pfc_peer_close */
    void *gemm;                         /* its entry point */
    bool row_major;                     /* dnnl_sgemm's convention instead of Fortran's */
} pfc_peer;

/** How many libraries are known, and their names, i < count. */
size_t pfc_peer_count(void);
const char *pfc_peer_name(size_t i);

/**
 * Loads library i, held to one thread (environment and, where it has one, its own call). Looks at
 * PERFCI_PEER_<NAME> (a path) first, then below /opt, then in the system's library folders.
 * PFC_ENOTFOUND when it is not installed, PFC_EUNAVAIL when it does not load.
 */
pfc_code pfc_peer_open(size_t i, pfc_peer *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_peer_close(pfc_peer *peer);

/** C = A B, row-major, dense: A m x k, B k x n, C m x n; each dimension 1..2^20. */
void pfc_peer_gemm(const pfc_peer *peer, size_t m, size_t n, size_t k, const float *a,
                   const float *b, float *c);

#endif
