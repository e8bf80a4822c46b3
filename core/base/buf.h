/*
 * A growing text buffer with a limit, which remembers its first failure, so that a chain of
 * appends needs one check at its end. Always NUL-terminated; may hold NUL bytes inside.
 */
#ifndef PFC_CORE_BASE_BUF_H
#define PFC_CORE_BASE_BUF_H

#include "core/base/err.h"

typedef struct pfc_buf {
    char *data;       /* NUL-terminated once anything was appended; owned */
    size_t len;       /* bytes without the terminator */
    size_t cap;       /* bytes allocated */
    size_t max_bytes; /* limit for len */
    bool overflow;    /* set by the first append that would pass the limit; nothing is added then */
} pfc_buf;

/** An empty buffer that may grow to max_bytes. Nothing is allocated yet. */
void pfc_buf_init(pfc_buf *buf, size_t max_bytes);
/** Frees the storage; the buffer may be used again with the same limit. Accepts NULL. */
void pfc_buf_clear(pfc_buf *buf);
/** Forgets the content, keeps the storage. */
void pfc_buf_reset(pfc_buf *buf);
void pfc_buf_append(pfc_buf *buf, const void *bytes, size_t len);
void pfc_buf_puts(pfc_buf *buf, const char *text);
void pfc_buf_putc(pfc_buf *buf, char c);
void pfc_buf_printf(pfc_buf *buf, const char *fmt, ...) PFC_PRINTF(2, 3);
/** The text so far, "" when nothing was appended; valid until the next append. */
const char *pfc_buf_text(const pfc_buf *buf);
/** Takes the text out of the buffer (caller frees), which is empty afterwards. Never NULL. */
char *pfc_buf_take(pfc_buf *buf);
/** PFC_OK, or PFC_ETOOBIG with a sentence naming `what` when an append did not fit. */
pfc_code pfc_buf_check(const pfc_buf *buf, const char *what, pfc_err *err) PFC_MUSTCHECK;

/* ---- numbers and words as people read and type them ---- */

/** A value with a fitting number of digits: "0.1234", "12.35", "1.235e+09" into out[32]. */
void pfc_show_value(double v, char out[32]);
/** "+5.2 %", "-0.1 %" into out[32]; NAN gives "?". */
void pfc_show_percent(double rel, char out[32]);
/** Appends a word as it is typed in a shell: in single quotes when it holds anything special. */
void pfc_shell_word(pfc_buf *out, const char *word);

#endif
