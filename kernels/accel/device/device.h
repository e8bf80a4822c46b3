/*
 * The simulated accelerator, below its driver: chip descriptions, the command stream, the engine
 * that executes it, and the counters.
 *
 * Functional and timing model in one pass. The unit of work is a tile, not a cycle: a command of
 * the tensor or vector unit has a closed-form duration, a DMA transfer is stepped in groups of
 * 4 KiB through HBM channels with banks, open rows and refresh. Time is u64 core cycles (HBM
 * channels keep 1/1024 of a cycle), all arithmetic is in integers, and events are ordered by (time,
 * unit), so the same program on the same chip always takes the same cycles and computes the same
 * bits, on every host and in every build.
 *
 * Results: int8 products are summed in int32 (wrapping at 2^32); f32 and bf16 products are summed
 * in f32 in ascending k, without fused operations, and rounded once (to nearest even) when the
 * accumulator is written out as bf16.
 *
 * Functions here keep no state of their own; a chip and a program are read only once built, so
 * several threads may run the same program, each with its own buffers and counters.
 */
#ifndef PFC_KERNELS_ACCEL_DEVICE_DEVICE_H
#define PFC_KERNELS_ACCEL_DEVICE_DEVICE_H

#include "kernels/accel/device/counters.h"

/** Changes whenever a cycle count, a result or the meaning of a counter may: part of every machine
 *  fingerprint. */
#define PFC_ACCEL_VERSION "accel-4"

/* ---- chips (chip.c) ---- */

#define PFC_ACCEL_CHIP_MAX_BYTES 65536

typedef enum pfc_accel_dtype { PFC_ACCEL_F32, PFC_ACCEL_BF16, PFC_ACCEL_INT8 } pfc_accel_dtype;

/**
 * How the tensor unit counts time; R rows, C columns, folds as each dataflow has them.
 *
 * scalesim-*    SCALE-Sim's published closed forms, whole problem, ideal memory (its CALC mode)
 * onnxim-ws     ONNXim's issue rule for a weight-stationary array, whole problem, ideal memory
 * pipelined-ws  ours: weights double-buffered, the next fold's preload hidden behind the stream of
 *               the current one, fill and drain paid once a dependent chain, memory as the chip has
 */
typedef enum pfc_accel_mode {
    PFC_ACCEL_PIPELINED_WS,
    PFC_ACCEL_SCALESIM_WS,
    PFC_ACCEL_SCALESIM_OS,
    PFC_ACCEL_SCALESIM_IS,
    PFC_ACCEL_ONNXIM_WS,
} pfc_accel_mode;

/** A chip as its file describes it; every field is a positive integer there. */
struct pfc_accel_chip {
    char name[64];
    char about[160];
    char hash[17];            /* of the file's text, 16 hexadecimal digits */
    pfc_accel_mode mode;      /* default mode */
    uint64_t clock_mhz;       /* of everything on the die */
    uint64_t array_rows;      /* R: along k in weight-stationary modes */
    uint64_t array_cols;      /* C: along n */
    uint64_t array_load_rows; /* rows of weights that load in a cycle; 1 where the file has none */
    uint64_t f32_passes;      /* the array takes this many passes for f32 */
    uint64_t vector_lanes;    /* elements a cycle */
    uint64_t vector_latency;  /* cycles from the last operand to the result */
    uint64_t vector_reduce;   /* cycles of a reduction tree, once for each reduction of a command */
    uint64_t vector_exp;      /* passes of one exponential */
    uint64_t sram_bytes;      /* scratchpad */
    uint64_t sram_banks;      /* single-ported, contiguous address ranges */
    uint64_t sram_port_bytes; /* a cycle, a bank */
    uint64_t acc_bytes;       /* accumulators, 4 bytes each */
    uint64_t dma_engines;
    uint64_t dma_bytes;  /* a cycle, an engine */
    uint64_t dma_setup;  /* cycles before a descriptor's first byte */
    uint64_t dma_window; /* groups of 4 KiB in flight, an engine */
    uint64_t hbm_bytes;  /* capacity */
    uint64_t hbm_mbps;   /* MB/s of all channels together */
    uint64_t hbm_channels;
    uint64_t hbm_interleave;    /* bytes in a channel before the next one; power of two */
    uint64_t hbm_burst;         /* smallest transfer, bytes; power of two */
    uint64_t hbm_banks;         /* a channel */
    uint64_t hbm_row_bytes;     /* a bank's open row; power of two */
    uint64_t hbm_row_miss;      /* cycles, what overlapping banks do not hide */
    uint64_t hbm_turnaround;    /* cycles, read to write and back */
    uint64_t hbm_refresh_every; /* cycles */
    uint64_t hbm_refresh;       /* cycles */
    uint64_t hbm_latency;       /* cycles, unloaded */
    uint64_t pcie_gen;          /* 3..6 */
    uint64_t pcie_lanes;
    uint64_t pcie_payload;    /* largest payload of a packet, bytes */
    uint64_t pcie_latency_ns; /* one way */
    uint64_t launch_ns;       /* doorbell to the first command */
    /* The keys below have fallbacks, since chip files of others may lack them. */
    uint64_t pcie_read_bytes;    /* largest read request of the device, bytes */
    uint64_t pcie_reads;         /* read requests of the device that may be outstanding */
    uint64_t host_call_ns;       /* processor time of one call of the driver's interface */
    uint64_t host_doorbell_ns;   /* processor time of the write that tells of a new command */
    uint64_t host_irq_ns;        /* from an interrupt's arrival to the program that waited for it */
    uint64_t host_poll_ns;       /* between two looks of a program that polls for a completion */
    uint64_t queue_fetch_ns;     /* decoding of a command, once it has crossed the link */
    uint64_t queue_semaphore_ns; /* until all queues see a new value of a semaphore */
};

/**
 * Reads a chip file: lines `key = value`, `#` begins a comment, every key once, none unknown, none
 * missing (but those that have a fallback in chip.c). `name` is for errors, which say "name:line:
 * what was wanted and what came".
 */
pfc_code pfc_accel_chip_parse(const char *text, size_t len, const char *name, pfc_accel_chip *out,
                              pfc_err *err) PFC_MUSTCHECK;
/** A built-in chip by name, else a chip file by path. PFC_ENOTFOUND names the built-in ones. */
pfc_code pfc_accel_chip_load(const char *name_or_path, pfc_accel_chip *out,
                             pfc_err *err) PFC_MUSTCHECK;
/** The i-th number of a chip's description: its key, with *value set; NULL past the last. */
const char *pfc_accel_chip_constant(const pfc_accel_chip *chip, size_t i, uint64_t *value);
/** The i-th built-in chip's name, or NULL past the last; and its text. */
const char *pfc_accel_chip_name(size_t i);
const char *pfc_accel_chip_text(size_t i);
/** Cycles in which the weights of a fold load into the array. */
uint64_t pfc_accel_load_cycles(const pfc_accel_chip *chip);
/** Sets the array's size; 1..1024 each. */
pfc_code pfc_accel_chip_set_array(pfc_accel_chip *chip, int64_t rows, int64_t cols,
                                  pfc_err *err) PFC_MUSTCHECK;

const char *pfc_accel_mode_name(pfc_accel_mode mode);
pfc_code pfc_accel_mode_parse(const char *text, pfc_accel_mode *out, pfc_err *err) PFC_MUSTCHECK;
/** True for the modes of other simulators, which leave memory out. */
bool pfc_accel_mode_ideal_memory(pfc_accel_mode mode);
const char *pfc_accel_dtype_name(pfc_accel_dtype dtype);
pfc_code pfc_accel_dtype_parse(const char *text, pfc_accel_dtype *out, pfc_err *err) PFC_MUSTCHECK;
/** Bytes of one element. */
size_t pfc_accel_dtype_bytes(pfc_accel_dtype dtype);

/* ---- programs: what the engine executes (program.c) ---- */

#define PFC_ACCEL_MAX_COMMANDS  (1u << 20)
#define PFC_ACCEL_MAX_DMA_BYTES (1ull << 36) /* moved by one program */
#define PFC_ACCEL_MAX_ARGS      8
#define PFC_ACCEL_MAX_WAITS     6
#define PFC_ACCEL_MAX_LINES     64 /* of a schedule's text */

typedef enum pfc_accel_unit {
    PFC_ACCEL_UNIT_TENSOR,
    PFC_ACCEL_UNIT_VECTOR,
    PFC_ACCEL_UNIT_DMA
} pfc_accel_unit;

typedef enum pfc_accel_op {
    PFC_ACCEL_OP_LOAD,      /* HBM -> scratchpad, rows packed tight */
    PFC_ACCEL_OP_STORE,     /* scratchpad -> HBM */
    PFC_ACCEL_OP_STORE_ACC, /* accumulators -> HBM, rounded to the program's type (int8: int32) */
    PFC_ACCEL_OP_MATMUL,    /* acc[m,n] (+)= a[m,k] b[k,n], or b[n,k] transposed */
    PFC_ACCEL_OP_SOFTMAX,   /* rows in place */
    PFC_ACCEL_OP_LAYERNORM, /* rows in place; aux: gamma, beta */
    PFC_ACCEL_OP_RMSNORM,   /* rows in place; aux: gamma */
    PFC_ACCEL_OP_ATT_STEP,  /* online softmax of a score tile, rescales the output tile */
    PFC_ACCEL_OP_ATT_END,   /* output tile over row sums, to scratchpad */
    PFC_ACCEL_OP_MATVEC,    /* MATMULs on the vector unit: the same sums in the same order */
    PFC_ACCEL_OP_BIAS_ACT,  /* a = act(acc + bias) of m x n sums; b: bias of a row */
    PFC_ACCEL_OP_RES_NORM,  /* c += a, then a = RMS norm of c; b: gamma */
    PFC_ACCEL_OP_BIAS_ROWS, /* a = act(a + bias) of m x n in place; b: bias of a row */
} pfc_accel_op;

/** Activation of BIAS_ACT and BIAS_ROWS: x; max(x, 0); x / (1 + e^-2u) with u = 0.7978845608 (x +
 *  0.044715 x^3); x / (1 + e^-x). */
typedef enum pfc_accel_act {
    PFC_ACCEL_ACT_NONE,
    PFC_ACCEL_ACT_RELU,
    PFC_ACCEL_ACT_GELU,
    PFC_ACCEL_ACT_SILU,
} pfc_accel_act;

/** One command. Addresses are bytes in their own space. A token is done when every command that
 *  signals it is done; waits name tokens that only earlier commands signal. */
typedef struct pfc_accel_cmd {
    uint8_t unit;
    uint8_t op;
    uint8_t queue; /* DMA engine */
    uint8_t waits_len;
    bool accumulate;  /* MATMUL: adds to what is there */
    bool transpose_b; /* MATMUL */
    bool first;       /* ATT_STEP: no earlier step */
    uint8_t arg;      /* DMA: which argument */
    uint8_t act;      /* BIAS_ACT, BIAS_ROWS: pfc_accel_act */
    uint8_t line;     /* of the schedule, from 1; 0: none */
    uint32_t token;   /* signalled */
    uint32_t waits[PFC_ACCEL_MAX_WAITS];
    uint64_t offset; /* DMA: of the first byte in the argument */
    uint64_t stride; /* DMA: bytes from row to row */
    uint32_t m;      /* rows */
    uint32_t n;      /* columns; for a transfer elements a row */
    uint32_t k;
    uint32_t elem;    /* DMA: bytes of an element in HBM */
    uint32_t batch;   /* MATVEC: products one after the other in memory, side by side in the
                         lanes; 0 as 1 */
    uint64_t a;       /* scratchpad: MATMUL a, DMA's place, vector's rows, ATT_STEP's P out */
    uint64_t b;       /* scratchpad: MATMUL b, vector's aux, ATT_* row statistics */
    uint64_t c;       /* scratchpad: RES_NORM's residual */
    uint64_t acc;     /* accumulators: MATMUL's result, STORE_ACC, ATT_STEP's scores */
    uint64_t acc2;    /* accumulators: ATT_*'s output tile */
    int64_t diagonal; /* ATT_STEP: column j of row i counts when j <= i + diagonal, where rows */
    uint32_t period;  /* are counted from 0 again after so many; 0: never */
    float scale;      /* ATT_STEP */
} pfc_accel_cmd;

typedef struct pfc_accel_program {
    pfc_accel_cmd *cmds;
    size_t len;
    size_t cap;
    uint32_t tokens_len;
    pfc_accel_dtype dtype;
    pfc_accel_mode mode;
    bool ideal_memory;                      /* transfers take no time, capacities are not kept */
    uint64_t sram_used;                     /* bytes */
    uint64_t acc_used;                      /* bytes */
    uint64_t arg_bytes[PFC_ACCEL_MAX_ARGS]; /* what each argument must have */
    size_t args_len;
    uint64_t dma_bytes;
    uint64_t macs;
    char choice[160];                 /* of the compiler, in words: tiles, order, buffers */
    char *lines[PFC_ACCEL_MAX_LINES]; /* text of the schedule; line i + 1 is lines[i] */
    size_t lines_len;
} pfc_accel_program;

/** A part of the chip's memories that a command uses. */
typedef enum pfc_accel_space { PFC_ACCEL_SRAM, PFC_ACCEL_ACC } pfc_accel_space;

typedef struct pfc_accel_access {
    uint8_t space; /* pfc_accel_space */
    bool reads;
    bool writes;
    uint64_t at;
    uint64_t bytes;
    size_t field; /* offset in pfc_accel_cmd of the address */
} pfc_accel_access;

#define PFC_ACCEL_MAX_ACCESSES 4
/** "load", ...; "?" for no operation. */
const char *pfc_accel_op_name(uint8_t op);
/** The parts of the chip's memories that a command uses; returns how many (access.c). */
size_t pfc_accel_cmd_accesses(const pfc_accel_program *p, const pfc_accel_cmd *cmd,
                              pfc_accel_access out[PFC_ACCEL_MAX_ACCESSES]);
/** Cycles for which a command of the tensor or vector unit holds its unit when nothing is in the
 *  way, and, in *drain, from then to its last result. */
uint64_t pfc_accel_cmd_cycles(const pfc_accel_chip *chip, const pfc_accel_program *p,
                              const pfc_accel_cmd *cmd, uint64_t *drain);

void pfc_accel_program_free(pfc_accel_program *p);
/** SHA-256 over the fields of all commands, hexadecimal with a terminator: equal streams have equal
 *  digests on every host. (stream_digest.c) */
#define PFC_ACCEL_DIGEST_SIZE 65
void pfc_accel_program_digest(const pfc_accel_program *p, char out[PFC_ACCEL_DIGEST_SIZE]);
/** Checks a program against a chip: units, tokens, ranges, capacities. PFC_EINVAL or PFC_ETOOBIG.
 */
pfc_code pfc_accel_program_check(const pfc_accel_program *p, const pfc_accel_chip *chip,
                                 pfc_err *err) PFC_MUSTCHECK;

/* ---- engine (engine.c) ---- */

/** Resources that take no time, for what-if analysis. Bits of pfc_accel_run.ideal. */
#define PFC_ACCEL_IDEAL_TENSOR  1u /* rows stream through the array at once; weights still load */
#define PFC_ACCEL_IDEAL_VECTOR  2u
#define PFC_ACCEL_IDEAL_HBM     4u
#define PFC_ACCEL_IDEAL_DMA     8u  /* rate, setup and window of the engines */
#define PFC_ACCEL_IDEAL_LATENCY 16u /* HBM latency, fill and drain, reduction trees */
#define PFC_ACCEL_IDEAL_BANKS   32u
#define PFC_ACCEL_IDEAL_WEIGHTS 64u /* weights are in the array at once */

typedef struct pfc_accel_run {
    const pfc_accel_chip *chip;
    const pfc_accel_program *program;
    uint64_t addr[PFC_ACCEL_MAX_ARGS]; /* device addresses of the arguments */
    uint8_t *data[PFC_ACCEL_MAX_ARGS]; /* their bytes; unused when timing only */
    bool timing_only;                  /* counts, computes nothing */
    unsigned ideal;
    pfc_accel_detail *detail;        /* out; NULL: not wanted */
    struct pfc_accel_tracer *tracer; /* NULL: no trace (tracer.h) */
    pfc_accel_counters counters;     /* out */
} pfc_accel_run;

/** Executes a checked program. PFC_EBUG when commands deadlock. */
pfc_code pfc_accel_execute(pfc_accel_run *run, pfc_err *err) PFC_MUSTCHECK;

/** Cycles of a whole-problem GEMM in a mode with ideal memory, as its report prints them; 0 for
 *  an empty problem. Source: SCALE-Sim v3 (ISPASS 2020), ONNXim (arXiv 2406.08051). */
uint64_t pfc_accel_tensor_cycles(pfc_accel_mode mode, uint64_t rows, uint64_t cols, uint64_t m,
                                 uint64_t n, uint64_t k);

/** Passes over each element of a vector operation's tile, without its reduction trees; 0 for what
 *  does not pass over one. */
uint64_t pfc_accel_vector_passes(const pfc_accel_chip *chip, pfc_accel_op op, uint8_t act);

/** Core cycles, rounded up, of one copy of that size from end to end: one latency and the time on
 *  the link. A kernel's run counts this; a region (driver/region.h) uses the two functions
 *  below. */
uint64_t pfc_accel_pcie_cycles(const pfc_accel_chip *chip, uint64_t bytes);
/** Core cycles, rounded up, for which that many bytes with their packets occupy one direction. */
uint64_t pfc_accel_pcie_wire_cycles(const pfc_accel_chip *chip, uint64_t bytes);
/** The same for bytes that the device reads from the host: also bounded by the read requests that
 *  may be outstanding during one round trip. */
uint64_t pfc_accel_pcie_read_cycles(const pfc_accel_chip *chip, uint64_t bytes);
/** Nanoseconds to cycles of the chip, rounded up. */
uint64_t pfc_accel_ns_to_cycles(const pfc_accel_chip *chip, uint64_t ns);

/* ---- numbers ---- */

float pfc_accel_bf16_to_f32(uint16_t v);
/** Nearest even; NaN stays NaN. */
uint16_t pfc_accel_f32_to_bf16(float v);

#endif
