/*
 * The intermediate form of the compiler: a list of tile operations over buffers, in an order in
 * which they would be right one after the other. The passes that follow give buffers addresses,
 * choose another order and each operation's unit, and put tokens where that order needs them.
 * Private to kernels/accel/compiler.
 */
#ifndef PFC_KERNELS_ACCEL_COMPILER_IR_H
#define PFC_KERNELS_ACCEL_COMPILER_IR_H

#include "kernels/accel/compiler/compiler.h"

#define PFC_ACCEL_NO_BUF      UINT16_MAX
#define PFC_ACCEL_MAX_BUFS    4096
#define PFC_ACCEL_SPARE_BANKS 16 /* from here on buffers get banks of their own */

typedef struct pfc_accel_buffer {
    uint64_t bytes;
    uint8_t space; /* pfc_accel_space */
    uint64_t at;   /* after place */
} pfc_accel_buffer;

/** One operation on whole tiles. A transfer becomes one command for each DMA engine it uses. */
typedef struct pfc_accel_tile_op {
    pfc_accel_cmd cmd; /* no addresses before place; no token, waits or queue before semaphores */
    uint16_t a, b, c, acc, acc2; /* buffers */
    bool either;                 /* MATMUL: may run on the vector unit */
    uint32_t batch;              /* products; the array takes them one command each */
    uint64_t start;              /* after schedule: the cycle in which it is expected to start */
    uint32_t after; /* 1 + the operation that stores what this one loads again; 0: none */
} pfc_accel_tile_op;

typedef struct pfc_accel_ir {
    pfc_accel_program *p;
    const pfc_accel_chip *chip;
    size_t es;     /* bytes of an element */
    size_t out_es; /* of sums as they are stored */
    pfc_accel_buffer *bufs;
    size_t bufs_len, bufs_cap;
    pfc_accel_tile_op *ops;
    size_t ops_len, ops_cap;
    uint32_t *order; /* after schedule: indices of ops */
    bool mixed;      /* each DMA engine loads and stores; else a share of them stores */
    bool overflow;   /* over PFC_ACCEL_MAX_COMMANDS: the rest is left out */
} pfc_accel_ir;

/** Empty, for a problem of that type; the program is made and belongs to the caller. */
void pfc_accel_ir_init(pfc_accel_ir *ir, const pfc_accel_chip *chip, pfc_accel_dtype dtype,
                       pfc_accel_mode mode);
/** An empty one for the same arguments, to try something. */
void pfc_accel_ir_fork(pfc_accel_ir *ir, const pfc_accel_ir *like);
/** Frees all but the program. */
void pfc_accel_ir_free(pfc_accel_ir *ir);
/** Number of a line of the schedule, added when its text is new. */
uint8_t pfc_accel_ir_line(pfc_accel_ir *ir, const char *text);
uint16_t pfc_accel_ir_buffer(pfc_accel_ir *ir, pfc_accel_space space, uint64_t bytes);
/** An operation whose fields are zero and whose buffers are none; unit is that of the operation.
 *  Valid until the next one is added. */
pfc_accel_tile_op *pfc_accel_ir_op(pfc_accel_ir *ir, pfc_accel_op op, uint8_t line);

/** A matrix tile in HBM. */
typedef struct pfc_accel_tile {
    uint8_t arg;
    uint64_t offset; /* bytes */
    uint64_t stride; /* bytes from row to row */
    uint64_t rows;
    uint64_t cols;
} pfc_accel_tile;

/** LOAD, STORE or STORE_ACC of a tile; nothing for an empty one. */
void pfc_accel_ir_move(pfc_accel_ir *ir, pfc_accel_op op, const pfc_accel_tile *tile, uint16_t buf,
                       uint8_t line);

/** Buffers for tiles of an operand, of which the least recently used gives way. */
#define PFC_ACCEL_MAX_SLOTS 32
typedef struct pfc_accel_ring {
    size_t len;
    uint64_t turn;
    struct {
        uint16_t buf;
        bool full;
        uint64_t tag; /* which tile is in it */
        uint64_t turn;
    } slots[PFC_ACCEL_MAX_SLOTS];
} pfc_accel_ring;

void pfc_accel_ring_init(pfc_accel_ir *ir, pfc_accel_ring *ring, size_t len, uint64_t bytes);
/** The buffer that holds the tile, loaded when it is in none. */
uint16_t pfc_accel_ring_fetch(pfc_accel_ir *ir, pfc_accel_ring *ring, uint64_t tag,
                              const pfc_accel_tile *tile, uint8_t line);

/** The end of a choice of tiles when bias and activation are not fused. */
#define PFC_ACCEL_UNFUSED_TEXT "; second pass for bias and activation"
/** How transfers are spread, in words. */
const char *pfc_accel_queues_text(bool mixed);

/** Bytes that a buffer takes in the scratchpad. */
uint64_t pfc_accel_sram_rounded(const pfc_accel_chip *chip, uint64_t bytes);

/* ---- the passes after tiles, in their order ---- */

/** Addresses for buffers and operations. */
void pfc_accel_pass_place(pfc_accel_ir *ir);
/** An order, and a unit for what may run on either: always what can start first. */
void pfc_accel_pass_schedule(pfc_accel_ir *ir);
/** Commands with tokens and waits: no more than the order of the queues leaves open. */
pfc_code pfc_accel_pass_semaphores(pfc_accel_ir *ir, pfc_err *err) PFC_MUSTCHECK;

/** Operations that must be over before op i starts: from[of[i]] to from[of[i + 1]]. */
typedef struct pfc_accel_deps {
    uint32_t *of;
    uint32_t *from;
    bool *raw; /* by edge: i reads what it wrote */
    size_t len, cap, raw_cap;
} pfc_accel_deps;

/** RAW, WAR and WAW over buffers, in the order of ir->ops. */
void pfc_accel_deps_find(const pfc_accel_ir *ir, pfc_accel_deps *out);
void pfc_accel_deps_free(pfc_accel_deps *deps);

/** Cycles of the operations so far, on a part of the problem: all passes, results left out.
 *  UINT64_MAX when it does not fit. */
uint64_t pfc_accel_ir_cycles(pfc_accel_ir *ir);

/* ---- kernels: choose sizes, then emit tile operations ---- */

#define PFC_ACCEL_TILE_CHOICES 72

/** The cheapest tiles that fit, best first; returns how many there are, 0 when none fits. */
size_t pfc_accel_gemm_tiles_choose(const pfc_accel_chip *chip, const pfc_accel_problem *problem,
                                   pfc_accel_gemm_tiles *out, size_t cap);
#define PFC_ACCEL_MAX_NEIGHBOURS 24
/** Tiles that differ from `t` in one respect: the next size of a dimension (or of m and n against
 *  each other), the order, the number of buffers or of tiles together, the use of the engines. They
 *  may not fit. */
size_t pfc_accel_gemm_tiles_near(const pfc_accel_chip *chip, const pfc_accel_problem *problem,
                                 const pfc_accel_gemm_tiles *t,
                                 pfc_accel_gemm_tiles out[PFC_ACCEL_MAX_NEIGHBOURS]);
/** Whether the vector unit may take a product of that shape: not where it is far slower. */
bool pfc_accel_either_unit(const pfc_accel_ir *ir, uint64_t m, uint64_t n, uint64_t k);

typedef struct pfc_accel_attention_tiles {
    uint64_t q;     /* rows */
    uint64_t k;     /* keys */
    uint64_t heads; /* of keys, whose tiles lie beside each other */
    uint64_t lanes; /* tiles of queries in flight */
    uint64_t depth; /* tiles of keys in flight for each of them: buffers of scores and of keys */
    bool mixed;     /* each DMA engine loads and stores */
    bool split;     /* the next two say which unit multiplies; else the scheduler chooses */
    uint8_t scores; /* eighths of the tiles whose scores are the vector unit's */
    uint8_t sums;   /* eighths of the tiles whose sums of values are the vector unit's */
    uint64_t first; /* queries at the begin of all heads, whose products are the vector unit's; */
    uint64_t piece; /* so many of them, of all heads side by side, are a tile */
} pfc_accel_attention_tiles;

typedef struct pfc_accel_norm_tiles {
    uint64_t rows;
    uint64_t slots;
    bool mixed; /* queues */
} pfc_accel_norm_tiles;

/** The decision of the first pass. */
typedef union pfc_accel_plan {
    pfc_accel_gemm_tiles gemm;
    pfc_accel_attention_tiles attention;
    pfc_accel_norm_tiles norm;
} pfc_accel_plan;

/** Sets the sizes of the arguments, chooses and says so in the program; `empty` when there is
 *  nothing to do. */
pfc_code pfc_accel_choose_gemm(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                               pfc_accel_plan *out, bool *empty, pfc_err *err);
pfc_code pfc_accel_choose_attention(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                                    pfc_accel_plan *out, bool *empty, pfc_err *err);
pfc_code pfc_accel_choose_norm(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                               pfc_accel_plan *out, bool *empty, pfc_err *err);
void pfc_accel_tile_gemm(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                         const pfc_accel_plan *plan);
void pfc_accel_tile_attention(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                              const pfc_accel_plan *plan);
void pfc_accel_tile_norm(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                         const pfc_accel_plan *plan);

/* ---- text ---- */

/** The form after a pass, a line an operation or command. */
void pfc_accel_ir_print(const pfc_accel_ir *ir, pfc_accel_pass pass, pfc_buf *out);

#endif
