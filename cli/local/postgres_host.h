/*
 * The user that the private PostgreSQL of `perfci up` runs as, and its programs. Only the parts of
 * the stack (stack_*.c) include this.
 */
#ifndef PFC_CLI_LOCAL_POSTGRES_HOST_H
#define PFC_CLI_LOCAL_POSTGRES_HOST_H

#include "cli/local/stack.h"
#include "core/base/process/pgbin.h"

#define PFC_STACK_FAR_ROOT                                                                         \
    "/var/lib/perfci" /* clusters whose user cannot reach the data folder   \
                                              */

typedef struct pfc_host {
    uid_t uid;
    gid_t gid;
    bool other;      /* not us: programs are started through setpriv */
    char user[64];   /* its name */
    char caller[64]; /* our own name */
    pfc_pg pg;       /* its programs; see pfc_host_programs */
} pfc_host;

/** Chooses the account that PostgreSQL runs as: the caller; for root `postgres`, else `nobody`.
 *  Does not look for the programs. */
pfc_code pfc_host_find(pfc_host *host, pfc_err *err) PFC_MUSTCHECK;
/** The programs for the stack's cluster: of the version that made it, or the newest where there is
 * none yet. */
pfc_code pfc_host_programs(const pfc_stack *stack, pfc_host *host, pfc_err *err) PFC_MUSTCHECK;
/** Runs a server program as that user, with `timeout_s` (0: 120 s), without PG* and PERFCI_* in its
 * environment. Its output goes to `out`, which may be NULL; a failure quotes the end of it. */
pfc_code pfc_host_run(const pfc_host *host, const char *program, const char *const *args,
                      double timeout_s, pfc_buf *out, pfc_err *err) PFC_MUSTCHECK;
/** Can this user pass through every folder down to `path`? Group rights are not counted on. */
bool pfc_host_reaches(const char *path, const pfc_host *host);
/** Makes a folder of mode 0700 of that user. One that exists must be exactly that: in /tmp another
 * user can have made it before. */
pfc_code pfc_host_folder(const char *path, const pfc_host *host, pfc_err *err) PFC_MUSTCHECK;

#endif
