/*
 * The start of a child: fork, the child's environment, descriptors and limits, exec. Private to the
 * files proc*.c of this folder.
 */
#ifndef PFC_CORE_BASE_PROCESS_PROC_START_H
#define PFC_CORE_BASE_PROCESS_PROC_START_H

#include <sys/types.h>

#include "core/base/err.h"

typedef struct pfc_proc_plan {
    const char *const *argv;
    char **env;
    const char *cwd;
    int in_fd, out_fd, err_fd; /* become 0, 1, 2; -1: inherited */
    bool detach;
    bool new_group;
    double cpu_limit_s;
    uint64_t memory_limit_bytes;
    int keep_fd;      /* stays open in the child; 0: none */
    int join_fd;      /* the child writes "0" to it before exec; 0: none */
    bool first_to_go; /* when the machine runs out of memory */
    pid_t parent;
} pfc_proc_plan;

/** Our environment with the changes applied ("NAME=value" sets, "NAME" removes; NULL-terminated,
 * may be NULL). The caller frees the array; its strings are borrowed. */
char **pfc_proc_environment(const char *const *changes);
/** Starts plan->argv. PFC_ENOTFOUND when the program or plan->cwd does not exist, PFC_EIO for the
 * rest; there is no child then. */
pfc_code pfc_proc_start(pfc_proc_plan *plan, pid_t *out, pfc_err *err) PFC_MUSTCHECK;

#endif
