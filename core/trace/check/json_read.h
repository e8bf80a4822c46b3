/*
 * A JSON document as a stream of tokens, in bounded memory. Private to core/trace.
 */
#ifndef PFC_CORE_TRACE_CHECK_JSON_READ_H
#define PFC_CORE_TRACE_CHECK_JSON_READ_H

#include "core/base/err.h"

#define PFC_TRACE_JSON_TEXT  1024 /* bytes of a string that are kept; the rest counts in its hash */
#define PFC_TRACE_JSON_DEPTH 64
#define PFC_TRACE_JSON_CHUNK 65536

typedef enum pfc_trace_token {
    PFC_TRACE_TOKEN_FAILED, /* why says it; every later token is this one */
    PFC_TRACE_TOKEN_OBJECT, /* { */
    PFC_TRACE_TOKEN_ARRAY,  /* [ */
    PFC_TRACE_TOKEN_CLOSE,  /* } or ] */
    PFC_TRACE_TOKEN_KEY,    /* text */
    PFC_TRACE_TOKEN_STRING, /* text */
    PFC_TRACE_TOKEN_NUMBER, /* text */
    PFC_TRACE_TOKEN_WORD,   /* true, false or null, as text */
    PFC_TRACE_TOKEN_END     /* of the document; nothing but blanks followed */
} pfc_trace_token;

typedef struct pfc_trace_json_in {
    int fd; /* -1: memory */
    const char *bytes;
    size_t at, len;
    uint64_t before; /* bytes of the file before `bytes` */
    int error;       /* errno of reading */
    char why[96];    /* of TOKEN_FAILED */
    /* The newest key, string, number or word. */
    char text[PFC_TRACE_JSON_TEXT + 1];
    size_t text_len;
    uint64_t hash; /* of the whole text */
    /* Where the reader is. */
    char closes[PFC_TRACE_JSON_DEPTH]; /* '}' or ']' of each open container */
    unsigned depth;
    bool started, needs_comma, after_key, failed;
    char chunk[PFC_TRACE_JSON_CHUNK];
} pfc_trace_json_in;

/** Starts on a descriptor or, with fd -1, on memory. */
void pfc_trace_json_start(pfc_trace_json_in *in, int fd, const void *bytes, size_t len);
pfc_trace_token pfc_trace_json_next(pfc_trace_json_in *in);
/** Reads to the end of the value that `token` began. */
pfc_trace_token pfc_trace_json_skip(pfc_trace_json_in *in, pfc_trace_token token);
/** Bytes read so far. */
static inline uint64_t pfc_trace_json_offset(const pfc_trace_json_in *in)
{
    return in->before + in->at;
}

#endif
