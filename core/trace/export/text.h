/*
 * Text that goes to a sink: numbers, times and JSON strings, appended to one buffer. Private to
 * core/trace.
 */
#ifndef PFC_CORE_TRACE_EXPORT_TEXT_H
#define PFC_CORE_TRACE_EXPORT_TEXT_H

#include <string.h>

#include "core/trace/sink.h"

#define PFC_TRACE_TEXT_BYTES (256 * 1024)
/* Room that pfc_trace_text_room guarantees: an event with three names of 127 characters, each of
 * which JSON may write with six. */
#define PFC_TRACE_TEXT_ROOM  8192

typedef struct pfc_trace_text {
    pfc_trace_sink *sink; /* not owned */
    size_t len;
    char bytes[PFC_TRACE_TEXT_BYTES];
} pfc_trace_text;

/** Writes out what is buffered. */
static inline void pfc_trace_text_flush(pfc_trace_text *t)
{
    pfc_trace_sink_write(t->sink, t->bytes, t->len);
    t->len = 0;
}

/** Makes room for PFC_TRACE_TEXT_ROOM bytes. The functions below do not look at the room: call this
 *  before each event. */
static inline void pfc_trace_text_room(pfc_trace_text *t)
{
    if (PFC_TRACE_TEXT_BYTES - t->len < PFC_TRACE_TEXT_ROOM)
        pfc_trace_text_flush(t);
}

static inline void pfc_trace_text_raw(pfc_trace_text *t, const char *text, size_t len)
{
    memcpy(t->bytes + t->len, text, len);
    t->len += len;
}

static inline void pfc_trace_text_puts(pfc_trace_text *t, const char *text)
{
    pfc_trace_text_raw(t, text, strlen(text));
}

void pfc_trace_text_u64(pfc_trace_text *t, uint64_t v);
void pfc_trace_text_i64(pfc_trace_text *t, int64_t v);
/** Nanoseconds as microseconds with three decimals: 1234 is "1.234". */
void pfc_trace_text_us(pfc_trace_text *t, int64_t ns);

/** `text` (UTF-8) as the content of a JSON string, without the surrounding quotes: quotes,
 *  backslashes and control characters are escaped. The caller frees the result. */
char *pfc_trace_json_escape(const char *text);

#endif
