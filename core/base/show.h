/*
 * Numbers and words as people read and type them, the same in every output. Thread-safe.
 */
#ifndef PFC_CORE_BASE_SHOW_H
#define PFC_CORE_BASE_SHOW_H

#include "core/base/buf.h"

/** A value with a fitting number of digits: "0.1234", "12.35", "1.235e+09" into out[32]. */
void pfc_show_value(double v, char out[32]);
/** "+5.2 %", "-0.1 %" into out[32]; NAN gives "?". */
void pfc_show_percent(double rel, char out[32]);
/** Appends a word as it is typed in a shell: in single quotes when it holds anything special. */
void pfc_shell_word(pfc_buf *out, const char *word);

#endif
