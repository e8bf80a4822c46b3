/* Declarations shared by the files of this folder. Private to it. */
#ifndef PFC_RUNNER_BUILD_PRODUCTS_PRIV_H
#define PFC_RUNNER_BUILD_PRODUCTS_PRIV_H

#include "core/objects/objects.h"

typedef struct pfc_names {
    char **items;
    size_t len, cap;
} pfc_names;

void pfc_names_add(pfc_names *list, const char *text);
/** Sorts and removes duplicates. */
void pfc_names_sort(pfc_names *list);
bool pfc_names_have(const pfc_names *sorted, const char *text);
void pfc_names_clear(pfc_names *list);

/** The files of a checkout that describe its build; paths from the root, sorted. */
typedef struct pfc_tree {
    pfc_names commands, logs, depfiles, maps, headers, programs;
    bool whole; /* false: the checkout has more files than the limit */
} pfc_tree;

void pfc_tree_walk(const char *root, pfc_tree *out);
void pfc_tree_clear(pfc_tree *tree);

#endif
