/*
 * Strict parsing: the whole string, a range, no locale, no silent overflow.
 * `what` names the thing in the error sentence, e.g. "--max-runs". Thread-safe.
 */
#ifndef PFC_CORE_BASE_PARSE_H
#define PFC_CORE_BASE_PARSE_H

#include "core/base/err.h"

/** Decimal integer in [min, max]. PFC_EINVAL leaves *out alone. */
pfc_code pfc_parse_i64(const char *text, int64_t min, int64_t max, const char *what, int64_t *out,
                       pfc_err *err) PFC_MUSTCHECK;
/** Finite decimal number in [min, max]; no hexadecimal, no "inf", no "nan". */
pfc_code pfc_parse_double(const char *text, double min, double max, const char *what, double *out,
                          pfc_err *err) PFC_MUSTCHECK;
/** "90", "90s", "5m", "2h", "1d" to seconds. */
pfc_code pfc_parse_duration_s(const char *text, const char *what, double *out_s,
                              pfc_err *err) PFC_MUSTCHECK;
/** "4096", "512K", "300M", "8G", "1.5T" to bytes, in powers of 1024. */
pfc_code pfc_parse_bytes(const char *text, const char *what, uint64_t *out_bytes,
                         pfc_err *err) PFC_MUSTCHECK;
/** RFC 3339 time ("2026-11-22T10:00:00Z", offsets and fractions allowed; a blank for the T too) to
 *  Unix seconds. In UTC it is in 1970 to 9999: what pfc_clock_rfc3339 writes is read again. */
pfc_code pfc_parse_rfc3339(const char *text, const char *what, double *out_unix_s,
                           pfc_err *err) PFC_MUSTCHECK;
/** True for 7..64 lower-case hexadecimal digits (a full or short commit id). */
bool pfc_is_hex_id(const char *text);
/** True for a full commit id: 40 (SHA-1) or 64 (SHA-256) lower-case hexadecimal digits. */
bool pfc_is_commit_id(const char *text);
/** True for a full SHA-1 id: 40 lower-case hexadecimal digits, what documents and the database
 * hold. */
bool pfc_is_sha(const char *text);
/** True for names used in URLs and files: [a-z0-9][a-z0-9._-]{0,62}. */
bool pfc_is_slug(const char *text);
/** True when the bytes are well-formed UTF-8 (no surrogates, no overlong forms). */
bool pfc_is_utf8(const char *bytes, size_t len);
/** Puts '?' for each byte that is no part of well-formed UTF-8 and for control characters but
 * newline and tab: what came from outside, perhaps cut within a character, becomes fit for logs and
 * terminals. */
void pfc_utf8_mend(char *text);
/** Makes text from outside safe for a terminal, in place: bytes that are no UTF-8, control
 * characters (C0, C1, DEL), line separators and the characters that reorder text (bidirectional
 * controls) become '?', a tab a space. A newline stays with `lines`, else it becomes a space. The
 * text never grows. */
void pfc_text_plain(char *text, bool lines);
/** Bytes of the character at `text` if pfc_text_plain replaces it, and its code point; else 0.
 * `len`: bytes that are left. */
size_t pfc_text_control(const char *text, size_t len, uint32_t *code);
/** The first character of a name that a terminal obeys instead of showing it: C0, C1, DEL, line
 * separators, bidirectional controls, the byte order mark. NULL: there is none. */
const char *pfc_name_control(const char *name);
/** The length of the beginning of a UTF-8 text that has at most max_len bytes and no half
 * character. */
size_t pfc_utf8_cut(const char *text, size_t max_len);

#endif
