/*
 * The embedded service of `perfci up`: a private PostgreSQL cluster, a server and a runner, all of
 * one data folder. DATA/stack.json records the processes; a process is stopped or reported only
 * while its id, start time and program agree with the record, so that a stale file or a reused id
 * never harms another process.
 *
 *   DATA/endpoint.json   {"url", "data"}: how other commands find the service
 *   DATA/admin.token     0600, the first token; DATA/runner.token 0600
 *   DATA/stack.json      members, where the cluster and its socket are
 *   DATA/lock            held while members are started or stopped
 *   DATA/logs/           postgres.log, server.log, runner.log
 *   DATA/pg, DATA/run    cluster and socket, where the path allows (see postgres.c)
 *   DATA/runner          the runner's spool and checkouts
 */
#ifndef PFC_CLI_LOCAL_STACK_H
#define PFC_CLI_LOCAL_STACK_H

#include <sys/types.h>

#include "cli/cli.h"
#include "core/base/buf.h"

typedef struct pfc_member {
    const char *name;     /* "postgres", "server", "runner" */
    pid_t pid;            /* 0: not started */
    uint64_t start_ticks; /* of /proc/PID/stat: clock ticks after boot */
    char exe[64];         /* base name of the program */
} pfc_member;

typedef struct pfc_stack {
    char *data;    /* absolute */
    char *url;     /* "http://127.0.0.1:7420", NULL: never started */
    char *cluster; /* folder of the cluster; NULL: not chosen yet */
    char *socket;  /* folder of its socket */
    int port;
    pfc_member postgres, server, runner;
    int lock_fd; /* -1: not held */
} pfc_stack;

/* ---- stack.c ---- */

/** PFC_EDENIED, with what to do, when another user can change what is in the data folder: it is
 * writable for every user, or, where this user is root, owned by another one. */
pfc_code pfc_stack_trusted(const pfc_stack *stack, pfc_err *err) PFC_MUSTCHECK;
/** Names the data folder (flag, PERFCI_DATA, default), makes it when `make`, reads stack.json.
 *  PFC_ENOTFOUND when it does not exist and is not to be made. Close it in every case. */
pfc_code pfc_stack_open(pfc_stack *stack, const char *data_flag, bool make,
                        pfc_err *err) PFC_MUSTCHECK;
void pfc_stack_close(pfc_stack *stack);
/** Waits up to `timeout_s` for the lock, then reads stack.json again (another command may have
 *  changed it meanwhile). PFC_ETIMEOUT when another command keeps it. */
pfc_code pfc_stack_lock(pfc_stack *stack, double timeout_s, pfc_err *err) PFC_MUSTCHECK;
void pfc_stack_unlock(pfc_stack *stack);
pfc_code pfc_stack_save(const pfc_stack *stack, pfc_err *err) PFC_MUSTCHECK;
/** DATA/name; caller frees. */
char *pfc_stack_path(const pfc_stack *stack, const char *name);

/* ---- member.c ---- */

/** Notes the process as the member; PFC_EUNAVAIL when it is gone already. */
pfc_code pfc_member_set(pfc_member *member, pid_t pid, pfc_err *err) PFC_MUSTCHECK;
/** Runs, and is really the process that was noted. Zombies do not run; one that was killed is
 * waited for, 30 s at most, since its port and its files are its own until it is gone. */
bool pfc_member_alive(const pfc_member *member);
/** Sends `sig`, waits up to grace_s, then SIGKILL to its group; forgets it. Not ours or gone: only
 *  forgets it. True when SIGKILL was needed. */
bool pfc_member_stop(pfc_member *member, int sig, double grace_s);

/* ---- service.c ---- */

/** GET /readyz once: true when it answers 200. why, of PFC_ERR_MAX bytes: the reason otherwise. */
bool pfc_stack_ready(const pfc_stack *stack, char *why);
/** Whether the server accepts the runner's token, DATA/runner.token: PFC_EDENIED when it refuses it
 * (revoked, expired, unknown), another error when that cannot be asked. */
pfc_code pfc_stack_runner_token(const pfc_stack *stack) PFC_MUSTCHECK;
/** Stops runner, server, cluster, in this order, and takes endpoint.json away. Needs the lock. */
pfc_code pfc_stack_stop(pfc_stack *stack, const pfc_cli *cli, pfc_err *err) PFC_MUSTCHECK;
/** The sentence of an error answer of the server, NULL without one; caller frees. */
char *pfc_stack_reason(const char *body, size_t len);
/** The last lines of DATA/logs/NAME.log for a person, at most 2000 bytes, or ""; caller frees. */
char *pfc_stack_log_tail(const pfc_stack *stack, const char *name);

/* ---- postgres.c, postgres_check.c ---- */

/** Makes the cluster when there is none, starts it, waits until it answers, makes the database.
 *  Already running: nothing is done. */
pfc_code pfc_cluster_start(pfc_stack *stack, const pfc_cli *cli, pfc_err *err) PFC_MUSTCHECK;
/** Were the programs of the postmaster that runs replaced (package upgrade)? Then new backends may
 * fail. */
bool pfc_cluster_replaced(const pfc_stack *stack);
/** Tries a write in a new backend and rolls it back; fails with PostgreSQL's own reason. 30 s at
 * most. */
pfc_code pfc_cluster_write(const pfc_stack *stack, pfc_err *err) PFC_MUSTCHECK;
/** Are there programs to start the cluster again, once it is stopped? The error of pfc_pg_find. */
pfc_code pfc_cluster_restartable(const pfc_stack *stack, pfc_err *err) PFC_MUSTCHECK;
/** Fast shutdown (sessions are ended, everything is written), immediate after 60 s. */
void pfc_cluster_stop(pfc_stack *stack);
/** "postgresql://perfci@/perfci?host=..."; no secret in it. Caller frees. */
char *pfc_cluster_url(const pfc_stack *stack);

/* ---- delete.c ---- */

/** Is the folder one that `perfci up` made? PFC_ECONFLICT with the reason. Needs the lock. */
pfc_code pfc_stack_deletable(const pfc_stack *stack, pfc_err *err) PFC_MUSTCHECK;
/** Removes a stopped service: its cluster and socket, wherever they are, and what perfci made in
 * the data folder; the folder itself when nothing else is in it. Adds the paths to the array
 * `removed`; *left: how many entries of others keep the folder. */
pfc_code pfc_stack_delete(pfc_stack *stack, json_t *removed, size_t *left,
                          pfc_err *err) PFC_MUSTCHECK;

#endif
