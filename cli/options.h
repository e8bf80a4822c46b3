/*
 * Subcommands and their options: one row an option, from which the parser, the help text, `perfci
 * help --json` and the generated reference are made.
 */
#ifndef PFC_CLI_OPTIONS_H
#define PFC_CLI_OPTIONS_H

#include <argp.h>
#include <stddef.h>

#include <jansson.h>

#include "core/base/err.h"

typedef enum pfc_option_kind {
    PFC_OPTION_FLAG,     /* bool: true when given */
    PFC_OPTION_TEXT,     /* const char *: as given */
    PFC_OPTION_WORD,     /* const char *: one of `words` */
    PFC_OPTION_DURATION, /* const char *: as given, when it is a time such as 90s */
    PFC_OPTION_SECONDS,  /* double: a time such as 90s */
    PFC_OPTION_COUNT,    /* size_t from `least` to `most` */
    PFC_OPTION_INTEGER,  /* int64_t from `least` to `most` */
    PFC_OPTION_NUMBER    /* double from `low` to `high` */
} pfc_option_kind;

/** `at` of an option whose value only the subcommand's parse function takes. */
#define PFC_NO_MEMBER ((size_t)-1)

/** An option, or with `name` NULL the heading of those that follow. A table ends with an empty row.
 */
typedef struct pfc_option {
    const char *name;         /* without "--" */
    const char *argument;     /* what stands for its value in the help text; NULL: it takes none */
    const char *help;         /* one sentence, without the default */
    const char *fallback;     /* the default, as text for people; NULL: none */
    const char *const *words; /* of PFC_OPTION_WORD; NULL-terminated */
    pfc_option_kind kind;
    size_t at; /* offsetof the member of the subcommand's input that takes the value, or
                  PFC_NO_MEMBER */
    int64_t least, most;
    double low, high;
    int key;       /* not 0: passed to the parse function, after the value was checked and stored */
    char letter;   /* the short form; 0: none */
    bool optional; /* the value may be left out */
} pfc_option;

/* Rows. The last argument is the help text; further members may follow it as `.fallback = "100"`.
 */
#define PFC_OPT_HEADING(text)                                                                      \
    {                                                                                              \
        .help = (text)                                                                             \
    }
#define PFC_OPT_FLAG(name_, type, member, ...)                                                     \
    {                                                                                              \
        .name = (name_), .kind = PFC_OPTION_FLAG, .at = offsetof(type, member),                    \
        .help = __VA_ARGS__                                                                        \
    }
#define PFC_OPT_VALUE(kind_, name_, argument_, type, member, ...)                                  \
    {                                                                                              \
        .name = (name_), .argument = (argument_), .kind = (kind_), .at = offsetof(type, member),   \
        .help = __VA_ARGS__                                                                        \
    }
#define PFC_OPT_TEXT(name, argument, type, member, ...)                                            \
    PFC_OPT_VALUE(PFC_OPTION_TEXT, name, argument, type, member, __VA_ARGS__)
#define PFC_OPT_DURATION(name, argument, type, member, ...)                                        \
    PFC_OPT_VALUE(PFC_OPTION_DURATION, name, argument, type, member, __VA_ARGS__)
#define PFC_OPT_SECONDS(name, argument, type, member, ...)                                         \
    PFC_OPT_VALUE(PFC_OPTION_SECONDS, name, argument, type, member, __VA_ARGS__)
#define PFC_OPT_WORD(name_, argument_, words_, type, member, ...)                                  \
    {                                                                                              \
        .name = (name_), .argument = (argument_), .kind = PFC_OPTION_WORD, .words = (words_),      \
        .at = offsetof(type, member), .help = __VA_ARGS__                                          \
    }
#define PFC_OPT_COUNT(name_, argument_, type, member, low_, high_, ...)                            \
    {                                                                                              \
        .name = (name_), .argument = (argument_), .kind = PFC_OPTION_COUNT,                        \
        .at = offsetof(type, member), .least = (low_), .most = (high_), .help = __VA_ARGS__        \
    }
#define PFC_OPT_INTEGER(name_, argument_, type, member, low_, high_, ...)                          \
    {                                                                                              \
        .name = (name_), .argument = (argument_), .kind = PFC_OPTION_INTEGER,                      \
        .at = offsetof(type, member), .least = (low_), .most = (high_), .help = __VA_ARGS__        \
    }
#define PFC_OPT_NUMBER(name_, argument_, type, member, low_, high_, ...)                           \
    {                                                                                              \
        .name = (name_), .argument = (argument_), .kind = PFC_OPTION_NUMBER,                       \
        .at = offsetof(type, member), .low = (low_), .high = (high_), .help = __VA_ARGS__          \
    }
/* A value that the parse function takes under `key`. */
#define PFC_OPT_OWN(key_, name_, argument_, ...)                                                   \
    {                                                                                              \
        .name = (name_), .argument = (argument_), .kind = PFC_OPTION_TEXT, .at = PFC_NO_MEMBER,    \
        .key = (key_), .help = __VA_ARGS__                                                         \
    }
/* A flag that the parse function takes under `key`. */
#define PFC_OPT_OWN_FLAG(key_, name_, ...)                                                         \
    {                                                                                              \
        .name = (name_), .kind = PFC_OPTION_FLAG, .at = PFC_NO_MEMBER, .key = (key_),              \
        .help = __VA_ARGS__                                                                        \
    }

struct pfc_cli;

/** A subcommand. */
typedef struct pfc_subcommand {
    const char *name;    /* "bisect"; of a part "run" */
    const char *summary; /* its line in `perfci help` */
    int (*run)(struct pfc_cli *cli, int argc, char **argv);
    const pfc_option *options; /* NULL: none of its own */
    argp_parser_t parse;  /* arguments, and options with a key; state->input is the input given to
                             pfc_cli_parse */
    const char *args_doc; /* "[FILE...]"; NULL: an argument is wrong usage */
    const char *doc;      /* what it does, then \v, then examples */
    const struct pfc_subcommand *const *parts; /* `perfci NAME PART`; NULL-terminated, or NULL */
} pfc_subcommand;

/** The table as argp reads it: row i has its letter as the key, else `first_key` + i; headings have
 * the groups after `group`. Free with pfc_options_free. */
struct argp_option *pfc_options_argp(const pfc_option *rows, int first_key, int group);
void pfc_options_free(struct argp_option *options);
/** The row of a key that argp read; NULL: none. */
const pfc_option *pfc_options_find(const pfc_option *rows, int first_key, int key);
/** Checks `text` and stores it in `input`. PFC_EINVAL: "--limit: expected 1..1000, got 0". */
pfc_code pfc_options_store(const pfc_option *row, const char *text, void *input,
                           pfc_err *err) PFC_MUSTCHECK;
/** [{"name", "letter", "argument", "type", "min", "max", "words", "default", "group", "help"}]. */
json_t *pfc_options_json(const pfc_option *rows);
/** {"name", "summary", "usage", "doc", "options": [...], "parts": [...]}. */
json_t *pfc_subcommand_json(const pfc_subcommand *command);

#endif
