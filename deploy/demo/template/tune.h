#ifndef TINYGEMM_TUNE_H
#define TINYGEMM_TUNE_H

/* Largest columns and depth that gemm packs. */
#define MAX_N 256
#define MAX_K 256

/* Depth of one dot product before it is added to the result. */
#define KC 32

#endif
