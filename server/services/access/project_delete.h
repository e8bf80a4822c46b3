/*
 * Deletion of a project with all its data.
 */
#ifndef PFC_SERVER_SERVICES_ACCESS_PROJECT_DELETE_H
#define PFC_SERVER_SERVICES_ACCESS_PROJECT_DELETE_H

#include "server/repo/connection/db.h"

/** Progress of a deletion. */
typedef struct pfc_project_gone {
    int64_t rows;  /* removed by this call */
    bool done;     /* all rows are removed */
    char name[64]; /* temporary name of the project until then; pass it to the next call */
} pfc_project_gone;

/**
 * Frees the name at once, then removes rows in short transactions for about `budget_s`. Call it
 * again with gone->name until gone->done. The audit log records the actor and keeps the project's
 * earlier entries.
 *
 * PFC_ENOTFOUND: no such project; PFC_ECONFLICT: runners hold jobs of the project.
 */
pfc_code pfc_project_delete(pfc_db *db, const char *actor, const char *name, double budget_s,
                            pfc_project_gone *gone, pfc_err *err) PFC_MUSTCHECK;

#endif
