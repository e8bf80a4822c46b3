/*
 * The words of metrics' names and units, with the direction and unit that each implies. One table
 * for all readers; directions.c combines several words. Private to this folder.
 */
#ifndef PFC_CORE_IMPORT_UNITS_METRIC_WORDS_H
#define PFC_CORE_IMPORT_UNITS_METRIC_WORDS_H

#include <stddef.h>

typedef enum pfc_word_kind {
    PFC_WORD_NOTHING,
    PFC_WORD_HIGHER, /* more is better */
    PFC_WORD_LOWER,  /* less is better */
    PFC_WORD_COST,   /* less is better, as a rate, too: errors a second */
    PFC_WORD_RATE,   /* has its "per second" within: tflops, gbps */
    PFC_WORD_TIME,   /* a unit of time */
    PFC_WORD_SIZE,   /* a unit of data: a cost as such, work as a rate */
    PFC_WORD_SPENT,  /* cycles, joules: what is spent; work for it is better when more */
    PFC_WORD_TICK,   /* spent behind "per" alone: a clock may be a frequency */
    PFC_WORD_ONE,    /* a piece of work whose "_s" may be a rate or its seconds: op_s */
    PFC_WORD_PIECE,  /* a piece of work whose "_s" is its seconds: step_s */
    PFC_WORD_MANY,   /* pieces of work: items_s is a rate */
    PFC_WORD_KIND_OF /* which statistic: says nothing about the direction */
} pfc_word_kind;

typedef struct pfc_word {
    const char *text;
    pfc_word_kind kind;
    const char *unit; /* NULL: the word itself, or none */
} pfc_word;

/** A phrase with a direction that none of its words has alone. */
typedef struct pfc_phrase {
    const char *words;
    int better; /* -1 lower, 1 higher */
} pfc_phrase;

/** Looks up a word in lower case; NULL: not in the table. The result is static. */
const pfc_word *pfc_word_find(const char *text);
extern const pfc_phrase pfc_phrases[];
extern const size_t pfc_phrases_len;

#endif
