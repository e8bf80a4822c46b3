/*
 * Why a change point has no alert. The reason is stored where the alert would have been opened
 * (detect/judge.c: firmness and margin; group.c: the false discovery rate; sessions/changes.c:
 * blocks), with the numbers of its sentence. API, CLI and page show that sentence.
 */
#ifndef PFC_SERVER_SERVICES_ALERTS_WITHHELD_H
#define PFC_SERVER_SERVICES_ALERTS_WITHHELD_H

#include "server/repo/documents/withheld.h"
#include "server/repo/sql/withheld.h"
#include "server/services/service.h"

/** The stored properties of a change that decide why it has no alert. */
typedef struct pfc_withheld {
    int64_t alert_id; /* 0: none */
    bool regression, alertable;
    const char *code;   /* NULL: not decided yet */
    const char *detail; /* the text of its column; NULL: none */
} pfc_withheld;

/** The sentence, owned by the caller, and its code; both NULL when the change has an alert. Numbers
 *  that are not stored are left out of the sentence. Pure. */
char *pfc_withheld_sentence(const pfc_withheld *change, const char **code);

/** Reasons that are written together, at the end of a pass. Zero-initialise; clear. */
typedef struct pfc_withheld_list {
    int64_t *ids;
    char **codes, **details;
    size_t len, ids_cap, codes_cap, details_cap;
} pfc_withheld_list;

/** Adds one; detail NULL: none. */
void pfc_withheld_add(pfc_withheld_list *list, int64_t change_id, const char *code,
                      const pfc_withheld_detail *detail);
/** Writes the reasons that differ from the stored ones, and empties the list. */
pfc_code pfc_withheld_write(pfc_tx *tx, int64_t project_id, pfc_withheld_list *list,
                            pfc_err *err) PFC_MUSTCHECK;
void pfc_withheld_clear(pfc_withheld_list *list);

/** A change point at a commit, of any series of the project. */
typedef pfc_sql_commit_changes_row pfc_commit_change;
typedef pfc_sql_commit_changes_rows pfc_commit_changes;

/** Change points that most likely lie at the commit; at most 1,000, largest first. */
pfc_code pfc_commit_changes_list(pfc_db *db, int64_t project_id, int64_t commit_id,
                                 pfc_commit_changes *out, pfc_err *err) PFC_MUSTCHECK;

#endif
