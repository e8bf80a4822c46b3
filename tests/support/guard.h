/*
 * Memory with an inaccessible page on either side, for code that must not touch a byte outside its
 * buffers.
 *
 * A region is a run of pages between two pages without any access. A buffer placed in it ends
 * exactly at the second one, or begins exactly behind the first, or lies between with a margin on
 * both sides. The pages are mapped twice: inputs are handed out through the view that cannot be
 * written, so that a write into an input is noticed even when it changes nothing.
 */
#ifndef PFC_TESTS_SUPPORT_GUARD_H
#define PFC_TESTS_SUPPORT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#define PFC_GUARD_MARGIN_BYTES                                                                     \
    512 /* watched on both sides of a buffer, as far as there are pages */
#define PFC_GUARD_MARGIN_BYTE 0x5a

typedef enum pfc_guard_side {
    PFC_GUARD_END,    /* the last byte is the last one that may be touched */
    PFC_GUARD_BEGIN,  /* the first byte is the first one that may be touched */
    PFC_GUARD_MIDDLE, /* margins on both sides */
} pfc_guard_side;

typedef struct pfc_guard {
    unsigned char *view;   /* its pages, writable */
    unsigned char *sealed; /* the same pages, read only */
    size_t size;           /* bytes of either */
    size_t at;             /* where the buffer begins */
    size_t bytes;          /* its length */
} pfc_guard;

/** Pages for buffers of at most `most` bytes. Ends the program when the system has none. */
void pfc_guard_init(pfc_guard *guard, size_t most);
void pfc_guard_clear(pfc_guard *guard);

/**
 * Places a buffer of `bytes` and fills its margins with PFC_GUARD_MARGIN_BYTE.
 *
 * align   power of two; at PFC_GUARD_END up to align - 1 bytes of margin stay behind the buffer
 *
 * Returns the writable view; pfc_guard_sealed gives the other.
 */
void *pfc_guard_place(pfc_guard *guard, size_t bytes, pfc_guard_side side, size_t align);
/** The buffer's bytes through the view that cannot be written. */
void *pfc_guard_sealed(const pfc_guard *guard);
/** True while the margins are as pfc_guard_place left them. */
bool pfc_guard_margins_hold(const pfc_guard *guard);

/**
 * Calls `call(arg)`. Returns false when it touched an inaccessible page or wrote to a sealed view;
 * *address is then the place. Not thread-safe.
 */
bool pfc_guard_try(void (*call)(void *arg), void *arg, const void **address);

#endif
