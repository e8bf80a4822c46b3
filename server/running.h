/*
 * The running server, as main.c and reload.c share it; nobody else includes this.
 */
#ifndef PFC_SERVER_RUNNING_H
#define PFC_SERVER_RUNNING_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/handlers/handlers.h"
#include "server/manager.h"
#include "server/settings.h"
#include "server/workers/workers.h"

typedef struct server {
    pfc_server_settings settings;
    pfc_app app;
    pfc_listener *listener;
    pfc_workers *workers;
    pfc_notifier *notifier; /* until the workers have it */
    pthread_t signals;
    bool signals_running;
    pfc_watchdog *watchdog;
    int listen_fd, ops_fd; /* passed by the service manager; -1: none */
    atomic_bool stop, reload;
    atomic_bool over;        /* the thread for the signals shall end */
    _Atomic int64_t seen_ns; /* the main thread came round */
    uint64_t stored;         /* runs so far, and when it last was another number or none waited; */
    int64_t stored_ns;       /* the watchdog's */
    bool hangs;              /* the watchdog's */
} server;

/** The PEM texts of the settings' files, caller frees the key with server_wipe; both NULL: plain HTTP. */
pfc_code server_read_tls(const server *s, char **cert, char **key, pfc_err *err) PFC_MUSTCHECK;
/** Overwrites and frees; accepts NULL. */
void server_wipe(char *key);
/** Who hears of notices; *out NULL when the settings name nobody. */
pfc_code server_open_notifier(const pfc_server_settings *settings, pfc_db *db, pfc_notifier **out,
                              pfc_err *err) PFC_MUSTCHECK;
/** Passes an event of the database (repo/db.h, pfc_listener_next) on to those who wait or listen here. */
void server_relay(server *s, const char *event);
/** On SIGHUP: settings, receivers, certificates, tokens. What cannot be used changes nothing. */
void server_reload(server *s);

#endif
