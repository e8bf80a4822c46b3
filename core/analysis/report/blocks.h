/* The document between an explanation and its written forms. Private to this folder. */
#ifndef PFC_CORE_ANALYSIS_REPORT_BLOCKS_H
#define PFC_CORE_ANALYSIS_REPORT_BLOCKS_H

#include "core/analysis/report/report.h"

#define PFC_REPORT_MAX_COLS 8

typedef enum pfc_report_part_kind {
    PFC_REPORT_HEADING,   /* of a section */
    PFC_REPORT_PARAGRAPH, /* a sentence or more */
    PFC_REPORT_TABLE,
    PFC_REPORT_CODE,    /* a command, a line */
    PFC_REPORT_PICTURE, /* SVG; in text and Markdown the table that follows stands for it */
} pfc_report_part_kind;

/** A cell of a table; both texts are owned. */
typedef struct pfc_report_cell {
    char *text; /* NULL: empty */
    char *link; /* NULL: none */
} pfc_report_cell;

typedef struct pfc_report_part {
    pfc_report_part_kind kind;
    char *text;                        /* of all kinds; of a table its caption */
    char *titles[PFC_REPORT_MAX_COLS]; /* of a table's columns; owned */
    bool right[PFC_REPORT_MAX_COLS];   /* numbers */
    size_t cols;
    pfc_report_cell *cells; /* cols of them a row */
    size_t rows, cells_cap;
} pfc_report_part;

struct pfc_report {
    char *title, *link_base;
    pfc_report_part *blocks;
    size_t len, cap;
};

/** Adds a block with a text that is printed by `fmt`. The block is valid until the next one. */
pfc_report_part *pfc_report_add_part(pfc_report *r, pfc_report_part_kind kind, const char *fmt, ...)
    PFC_PRINTF(3, 4);
/** Adds a column to the newest table, before its first row. */
void pfc_report_column(pfc_report_part *b, const char *title, bool right);
/** Begins a row of a table. */
void pfc_report_row(pfc_report_part *b);
/** Sets a cell of the newest row. */
void pfc_report_cell_set(pfc_report_part *b, size_t col, const char *fmt, ...) PFC_PRINTF(3, 4);
/** Links a cell of the newest row to a run or a commit of the dashboard ("runs", ID). */
void pfc_report_cell_link(const pfc_report *r, pfc_report_part *b, size_t col, const char *kind,
                          const char *id);

/** Links a cell of the newest row to a file beside the report. */
void pfc_report_cell_href(pfc_report_part *b, size_t col, const char *href);

/** An amount: whole numbers from 1,000 on, else four digits; "?" for NAN. */
void pfc_report_number(double v, char out[32]);
/** "+5.2 %"; "?" for NAN. */
void pfc_report_percent(double rel, char out[32]);

/* ---- pictures, as SVG in the colours of the page's style (picture.c, picture_roofline.c) ---- */

void pfc_picture_waterfall(const pfc_explanation *e, pfc_buf *out);
void pfc_picture_strip(const pfc_explanation *e, pfc_buf *out);
void pfc_picture_shares(const pfc_explanation *e, pfc_buf *out);
/** Nothing is appended where the run recorded no dependences. (picture_phases.c) */
void pfc_picture_phases(const pfc_explanation *e, pfc_buf *out);
/** Nothing is appended where there are no stacks. (picture_flame.c) */
void pfc_picture_flame(const pfc_explanation *e, pfc_buf *out);
/** Nothing is appended when the runs did not record what a roofline needs. */
void pfc_picture_roofline(const pfc_explanation *e, pfc_buf *out);

#endif
