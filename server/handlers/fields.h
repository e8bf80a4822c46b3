/*
 * Rows of the database as JSON objects, written as tables: a line names a member of the answer and
 * the member of the row that it comes from. The macros choose the encoding from the C type, or
 * check it, at compile time.
 *
 *     static const pfc_field fields[] = {
 *         PFC_FIELD(pfc_runner, name),
 *         PFC_FIELD_AS(pfc_runner, "last_seen_at", last_seen_at, TIME),
 *     };
 */
#ifndef PFC_SERVER_HANDLERS_FIELDS_H
#define PFC_SERVER_HANDLERS_FIELDS_H

#include <stddef.h>

#include "server/http/http.h"
#include "server/repo/statements/statement.h"

typedef enum pfc_field_kind {
    PFC_FIELD_TEXT,      /* const char *; null when NULL */
    PFC_FIELD_NUMBER,    /* double; null when not finite */
    PFC_FIELD_TIME,      /* double, Unix seconds, as RFC 3339; null when 0 or not finite */
    PFC_FIELD_INT,       /* int */
    PFC_FIELD_INT64,     /* int64_t */
    PFC_FIELD_SIZE,      /* size_t */
    PFC_FIELD_ID,        /* int64_t; null when 0 */
    PFC_FIELD_BOOL,      /* bool */
    PFC_FIELD_DIRECTION, /* bool higher_is_better: "higher" or "lower" */
    PFC_FIELD_CHANGE,    /* bool regression: "regression" or "improvement" */
    PFC_FIELD_STATUS,    /* bool confirmed: "confirmed" or "provisional" */
    PFC_FIELD_JSON,      /* const char *, JSON text; null when NULL */
    PFC_FIELD_TEXTS,     /* pfc_array_text of texts; [] when NULL */
    PFC_FIELD_ARRAY,     /* JSON text, as of PFC_FIELD_JSON; [] when NULL */
    PFC_FIELD_OBJECT,    /* likewise; {} when NULL */
} pfc_field_kind;

typedef struct pfc_field {
    const char *name; /* in the answer */
    pfc_field_kind kind;
    size_t offset; /* of the member in the row */
} pfc_field;

typedef struct pfc_fields {
    const pfc_field *items;
    size_t len;
} pfc_fields;

/* Pointers to members, so that an array of characters matches no kind. */
#define PFC_FIELD_KIND(m)                                                                          \
    _Generic((m), const char **                                                                    \
             : PFC_FIELD_TEXT, char **                                                             \
             : PFC_FIELD_TEXT, double *                                                            \
             : PFC_FIELD_NUMBER, int *                                                             \
             : PFC_FIELD_INT, int64_t *                                                            \
             : PFC_FIELD_INT64, size_t *                                                           \
             : PFC_FIELD_SIZE, bool *                                                              \
             : PFC_FIELD_BOOL)
#define PFC_FIELD_IS_TIME(m)      _Generic((m), double * : PFC_FIELD_TIME)
#define PFC_FIELD_IS_ID(m)        _Generic((m), int64_t * : PFC_FIELD_ID)
#define PFC_FIELD_IS_DIRECTION(m) _Generic((m), bool * : PFC_FIELD_DIRECTION)
#define PFC_FIELD_IS_CHANGE(m)    _Generic((m), bool * : PFC_FIELD_CHANGE)
#define PFC_FIELD_IS_STATUS(m)    _Generic((m), bool * : PFC_FIELD_STATUS)
#define PFC_FIELD_IS_TEXTS(m)     _Generic((m), pfc_array_text * : PFC_FIELD_TEXTS)

#define PFC_FIELD_IS_JSON(m) _Generic((m), const char ** : PFC_FIELD_JSON, char ** : PFC_FIELD_JSON)

#define PFC_FIELD_IS_ARRAY(m)                                                                      \
    _Generic((m), const char ** : PFC_FIELD_ARRAY, char ** : PFC_FIELD_ARRAY)
#define PFC_FIELD_IS_OBJECT(m)                                                                     \
    _Generic((m), const char ** : PFC_FIELD_OBJECT, char ** : PFC_FIELD_OBJECT)

/** A member that has the same name in the row and in the answer. */
#define PFC_FIELD(type, member) PFC_FIELD_NAMED(type, #member, member)
#define PFC_FIELD_NAMED(type, name, member)                                                        \
    {                                                                                              \
        (name), PFC_FIELD_KIND(&((type *)0)->member), offsetof(type, member)                       \
    }
/** A member whose type does not say how to encode it: `kind` is the end of a pfc_field_kind's name.
 */
#define PFC_FIELD_AS(type, name, member, kind)                                                     \
    {                                                                                              \
        (name), PFC_FIELD_IS_##kind(&((type *)0)->member), offsetof(type, member)                  \
    }
/** The four members that name a series, in the order of every answer. */
#define PFC_FIELDS_SERIES(type)                                                                    \
    PFC_FIELD(type, benchmark), PFC_FIELD(type, metric), PFC_FIELD(type, backend),                 \
        PFC_FIELD(type, machine_class)
/** A relative change and its confidence interval. */
#define PFC_FIELDS_REL_CHANGE(type)                                                                \
    PFC_FIELD(type, rel_change), PFC_FIELD(type, rel_low), PFC_FIELD(type, rel_high)

/** Of an array: PFC_FIELDS(fields). */
#define PFC_FIELDS(array)                                                                          \
    (pfc_fields)                                                                                   \
    {                                                                                              \
        (array), PFC_ARRAY_LEN(array)                                                              \
    }

/** One row as an object, with its members in the order of the table. */
json_t *pfc_encode_fields(pfc_fields fields, const void *row);

/** Rows of any type, as the lists of the database layer hold them. */
typedef struct pfc_row_view {
    const void *items;
    size_t len;
    size_t size; /* of one row */
} pfc_row_view;

#define PFC_ROW_VIEW(list)                                                                         \
    (pfc_row_view)                                                                                 \
    {                                                                                              \
        (list)->items, (list)->len, sizeof(*(list)->items)                                         \
    }

typedef json_t *(*pfc_row_encoder)(const void *row, const void *context);

/** An array of encode(row, context), in the order of the rows. */
json_t *pfc_encode_rows(pfc_row_view rows, pfc_row_encoder encode, const void *context);
/** An array of pfc_encode_fields. */
json_t *pfc_encode_table(pfc_row_view rows, pfc_fields fields);

#endif
