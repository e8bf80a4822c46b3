/*
 * Files of named entries, one a line: "NAME word=value word=value". Blank lines and lines that
 * begin with # are ignored; a backslash at the end of a line joins the next line to it; a value
 * with blanks is quoted: word="two words". Pure except pfc_entries_file; thread-safe.
 */
#ifndef PFC_CORE_BASE_CONFIG_ENTRIES_H
#define PFC_CORE_BASE_CONFIG_ENTRIES_H

#include "core/base/err.h"

#define PFC_ENTRY_MAX_BYTES   8192 /* of a line, with those joined to it */
#define PFC_ENTRIES_MAX_BYTES (256u * 1024)
#define PFC_ENTRY_MAX_WORDS   32

/* The words of a file and their number. */
typedef struct pfc_entry_rules {
    const char *what;         /* one entry in messages: "receiver" */
    const char *const *words; /* known ones, ended by NULL; at most PFC_ENTRY_MAX_WORDS */
    size_t max;               /* entries in a file */
} pfc_entry_rules;

/* One line. */
typedef struct pfc_entry {
    const char *where; /* the file, in messages */
    size_t number;     /* of its first line, from 1 */
    const char *name;  /* a slug that no earlier entry has */
    const pfc_entry_rules *rules;
    char *values[PFC_ENTRY_MAX_WORDS]; /* in the order of rules->words; NULL: absent */
} pfc_entry;

/** Handles one entry; what it does not take is freed afterwards. */
typedef pfc_code (*pfc_entry_fn)(void *arg, pfc_entry *entry, pfc_err *err);

/**
 * Calls `take` for each entry, in order, until one fails.
 *
 * text    of the file, NUL-terminated
 * where   the file in messages, which begin with "FILE:LINE: "
 *
 * PFC_EINVAL: a line is too long, its name is no slug or taken, a word is unknown, is there twice
 * or has no value, or there are more than rules->max entries; else the code of `take`.
 */
pfc_code pfc_entries_read(const char *text, const char *where, const pfc_entry_rules *rules,
                          pfc_entry_fn take, void *arg, pfc_err *err) PFC_MUSTCHECK;
/** Reads such a file, at most PFC_ENTRIES_MAX_BYTES of UTF-8 text. flag: of the command line, for
 *  messages. PFC_EINVAL; the caller frees *text, which is NULL after a failure. */
pfc_code pfc_entries_file(const char *file, const char *flag, char **text,
                          pfc_err *err) PFC_MUSTCHECK;

/** The value of a known word; NULL: absent. Lives as long as the entry. */
const char *pfc_entry_get(const pfc_entry *entry, const char *word);
/** The same, the caller's to free. */
char *pfc_entry_take(pfc_entry *entry, const char *word);
/** PFC_EINVAL with "FILE:LINE: " before the sentence. */
pfc_code pfc_entry_bad(const pfc_entry *entry, pfc_err *err, const char *sentence);

#endif
