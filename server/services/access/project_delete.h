/*
 * Deleting a project with everything that belongs to it.
 */
#ifndef PFC_SERVER_SERVICES_ACCESS_PROJECT_DELETE_H
#define PFC_SERVER_SERVICES_ACCESS_PROJECT_DELETE_H

#include "server/repo/connection/db.h"

/** How far a deletion came. */
typedef struct pfc_project_gone {
    int64_t rows;  /* removed by this call */
    bool done;     /* nothing of it is left */
    char name[64]; /* what the rest is called until then: the next call's name */
} pfc_project_gone;

/**
 * Frees the name at once, then removes rows in short transactions for about `budget_s`. Call it again with
 * gone->name until gone->done. The audit log has who did it and keeps the project's earlier entries.
 *
 * PFC_ENOTFOUND; PFC_ECONFLICT while jobs of the project are leased.
 */
pfc_code pfc_project_delete(pfc_db *db, const char *actor, const char *name, double budget_s,
                            pfc_project_gone *gone, pfc_err *err) PFC_MUSTCHECK;

#endif
