/*
 * Kernels in text: the command stream of a program as a file of lines (.pca), and schedules, which
 * fix the tiles of a built-in GEMM. docs/reference/pca.md describes both formats.
 *
 * Both are input from outside: bytes, lines, loops, names and commands are bounded, and an error
 * names file, line, what was expected and what came. Functions keep no state; thread-safe.
 */
#ifndef PFC_KERNELS_ACCEL_TEXT_TEXT_H
#define PFC_KERNELS_ACCEL_TEXT_TEXT_H

#include "core/base/buf.h"
#include "kernels/accel/compiler/compiler.h"

#define PFC_ACCEL_TEXT_MAX_BYTES (1ull << 28) /* of a file: a full stream, a line a command */
#define PFC_ACCEL_TEXT_MAX_LINE  4096         /* bytes */
#define PFC_ACCEL_TEXT_MAX_NAMES 1024
#define PFC_ACCEL_TEXT_MAX_DEPTH 8            /* loops in loops */
#define PFC_ACCEL_TEXT_MAX_STEPS (1u << 22)   /* lines, each as often as its loops repeat it */
#define PFC_ACCEL_TEXT_MAX_SPACE (1ll << 40)  /* bytes of arguments, or of a memory */
#define PFC_ACCEL_TEXT_MAX_ROWS  (1ull << 28) /* of all transfers together */

#define PFC_ACCEL_SCHEDULE_MAX_BYTES 65536

/** A kernel in text: its program and its reference. */
typedef struct pfc_accel_text {
    pfc_accel_program *program;
    char *name;                  /* of the file, for errors */
    char hash[17];               /* of the text, 16 hexadecimal digits */
    bool has_reference;          /* `reference` is what the result is checked against */
    pfc_accel_problem reference; /* its type is the program's */
    uint32_t *lines;             /* by command: the line that gave it, from 1 */
} pfc_accel_text;

/**
 * Assembles a text; `name` is for errors. The program is complete and its tokens are in order, but
 * it is checked against a chip only by pfc_accel_text_check. *out is the caller's to free.
 * PFC_EINVAL "name:line: expected ..., got ...", PFC_ETOOBIG over one of the limits.
 */
pfc_code pfc_accel_text_parse(const char *text, size_t len, const char *name, pfc_accel_text **out,
                              pfc_err *err) PFC_MUSTCHECK;
/** The same for a file. PFC_ENOTFOUND, PFC_EIO as pfc_fs_read. */
pfc_code pfc_accel_text_load(const char *path, pfc_accel_text **out, pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_accel_text_free(pfc_accel_text *t);
/** pfc_accel_program_check and pfc_accel_program_races, with the line of the command that is
 *  refused. */
pfc_code pfc_accel_text_check(const pfc_accel_text *t, const pfc_accel_chip *chip,
                              pfc_err *err) PFC_MUSTCHECK;

/**
 * Appends a program as text that assembles to the same stream, sizes and digest. reference may be
 * NULL. PFC_EINVAL for a program that holds an operation without a name, PFC_ETOOBIG when `out` is
 * full.
 */
pfc_code pfc_accel_text_print(const pfc_accel_program *p, const pfc_accel_problem *reference,
                              pfc_buf *out, pfc_err *err) PFC_MUSTCHECK;

/** A schedule of a GEMM, with or without bias and activation. */
typedef struct pfc_accel_schedule {
    pfc_accel_gemm_tiles tiles;
    char hash[17]; /* of the text, 16 hexadecimal digits */
} pfc_accel_schedule;

/**
 * Reads lines `key = value`, `#` begins a comment, every key at most once: m, n, k (elements,
 * 1..65536; required), order (m or n: the outer loop; default n), buffers (of each operand, 2..32;
 * default 2), group (result tiles that pass through k together, 1..256; default 1), queues (split:
 * a part of the DMA engines only stores, or shared; default split), fuse (on: bias and activation
 * are added before results leave the chip, or off; default on). PFC_EINVAL as above.
 */
pfc_code pfc_accel_schedule_parse(const char *text, size_t len, const char *name,
                                  pfc_accel_schedule *out, pfc_err *err) PFC_MUSTCHECK;
/** Its tiles for a GEMM: sizes over the problem's become the problem's. */
pfc_accel_gemm_tiles pfc_accel_schedule_tiles(const pfc_accel_schedule *s,
                                              const pfc_accel_problem *problem);
pfc_code pfc_accel_schedule_load(const char *path, pfc_accel_schedule *out,
                                 pfc_err *err) PFC_MUSTCHECK;

#endif
