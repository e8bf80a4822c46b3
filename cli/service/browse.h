/*
 * Shared by the subcommands that list the service's rows: queries and cells.
 */
#ifndef PFC_CLI_SERVICE_BROWSE_H
#define PFC_CLI_SERVICE_BROWSE_H

#include "cli/cli.h"
#include "cli/output/output.h"
#include "core/base/buf.h"
#include "core/base/config/conf.h"
#include "core/http/client.h"

/** A command that shows an answer of the service. */
typedef struct pfc_browse_frame {
    const char *url, *data; /* of its options */
    void *opts;             /* for both functions */
    pfc_code (*ask)(void *opts, const pfc_conf *conf, pfc_http *http, json_t **answer,
                    pfc_err *err);
    void (*show)(const pfc_cli *cli, void *opts, const json_t *answer); /* without --json */
} pfc_browse_frame;

/** Reads the settings, opens the service, asks and shows. Returns the program's exit status. */
int pfc_browse_run(const pfc_cli *cli, const pfc_browse_frame *frame);
/** Begins the path of a list, with the query for `project`, or else that of the settings; the
 *  caller adds its own queries and ends it with pfc_browse_get. */
void pfc_browse_begin(pfc_buf *path, const char *list, const char *project, const pfc_conf *conf);
/** Adds the limit, asks, and clears the path. */
pfc_code pfc_browse_get(pfc_buf *path, size_t limit, pfc_http *http, json_t **answer,
                        pfc_err *err) PFC_MUSTCHECK;

/** Adds key=value, escaped, to the path's query; nothing when value is NULL. */
void pfc_browse_query(pfc_buf *path, const char *key, const char *value);
void pfc_browse_query_i64(pfc_buf *path, const char *key, int64_t value);

/* Cells of the newest row; a member that is absent, null or of another kind leaves the cell empty.
 */

void pfc_browse_text(pfc_table *table, size_t col, const json_t *obj, const char *key);
/** A whole number, or the first 12 digits of a commit. */
void pfc_browse_id(pfc_table *table, size_t col, const json_t *obj, const char *key);
void pfc_browse_value(pfc_table *table, size_t col, const json_t *value);
void pfc_browse_percent(pfc_table *table, size_t col, const json_t *value);

typedef enum pfc_browse_kind {
    PFC_BROWSE_TEXT,
    PFC_BROWSE_ID,      /* a number, or the first 12 digits of a commit */
    PFC_BROWSE_VALUE,   /* a number */
    PFC_BROWSE_PERCENT, /* a ratio */
    PFC_BROWSE_EFFECT,  /* rel_change, rel_low and rel_high of the row; `key` is not used */
    PFC_BROWSE_YES,     /* true or false */
    PFC_BROWSE_WHEN,
    PFC_BROWSE_AGE
} pfc_browse_kind;

/** A column of a list: which member of each row, shown how. */
typedef struct pfc_browse_col {
    const char *title, *key;
    pfc_browse_kind kind;
} pfc_browse_col;

/** Prints a JSON array of objects as a table; the last column wraps when `wrap`. At most 16
 * columns. */
void pfc_browse_list(const pfc_cli *cli, const pfc_browse_col *cols, size_t len, bool wrap,
                     const json_t *list);

/** How long ago a time of the API was: "40 s", "5 min", "3 h", "12 d". */
void pfc_browse_age(pfc_table *table, size_t col, const json_t *time);
/** A time of the API as "2026-11-23 19:05" in UTC. */
void pfc_browse_when(pfc_table *table, size_t col, const json_t *time);
/** Seconds since a time of the API, 0 when it lies ahead; false when it is no time. */
bool pfc_browse_seconds_ago(const json_t *time, double *out);
/** Both as text into out[40]; empty when it is no time. */
void pfc_browse_show_age(const json_t *time, char out[40]);
void pfc_browse_show_when(const json_t *time, char out[40]);
/** "+5.2 % (4.8 .. 5.6)" from rel_change, rel_low and rel_high of `obj` into out[64]. */
void pfc_browse_show_effect(const json_t *obj, char out[64]);
/** One line when `count`, the member "hidden" of an answer, is above zero: so many of `what`
 *  ("results of this series") are in quarantine and do not count. */
void pfc_browse_hidden(const char *what, const json_t *count);
/** The member's text; "" when it is absent or no text. */
const char *pfc_browse_string(const json_t *obj, const char *key);

/** The arguments of a command that takes a verb, and the name or number that the verb is for. */
typedef struct pfc_browse_words {
    const char *items[2]; /* NULL: not given */
    size_t len;
} pfc_browse_words;

/** An argp parser for such arguments. expected: the wrong use that is reported when there is none,
 *  "expected list or delete NAME". Ends the program on a wrong use. */
error_t pfc_browse_parse_words(int key, char *arg, struct argp_state *state, pfc_browse_words *out,
                               const char *expected);

/** "expected A, B or C, got "D"; did you mean ...?" with code PFC_EINVAL; `known` is
 * NULL-terminated. */
pfc_code pfc_browse_unknown(const char *what, const char *word, const char *const *known,
                            pfc_err *err);

#endif
