/*
 * The running server, shared by main.c, relay.c and reload.c only.
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
    pfc_notifier *notifier; /* until the workers take it over */
    pfc_bot_setups *setups;
    pfc_bot *bot;
    pthread_t signals;
    bool signals_running;
    pfc_watchdog *watchdog;
    int listen_fd, ops_fd; /* passed by the service manager; -1: none */
    atomic_bool stop, reload;
    atomic_bool over;        /* ends the signal thread */
    _Atomic int64_t seen_ns; /* last pass of the main loop */
    uint64_t stored;         /* runs stored so far, and the time of the last progress; */
    int64_t stored_ns;       /* used by the watchdog's thread only */
    bool hangs;              /* used by the watchdog's thread only */
} server;

/** Reads the PEM files of the settings; the caller frees the key with server_wipe. Both NULL: plain
 * HTTP. */
pfc_code server_read_tls(const server *s, char **cert, char **key, pfc_err *err) PFC_MUSTCHECK;
/** Overwrites and frees; accepts NULL. */
void server_wipe(char *key);
/** Opens the notifier; *out NULL when the settings have no file of receivers. */
pfc_code server_open_notifier(const pfc_server_settings *settings, pfc_db *db, pfc_notifier **out,
                              pfc_err *err) PFC_MUSTCHECK;
/** The retention and the width of partitions of these settings. */
pfc_retention server_retention(const pfc_server_settings *settings);
/** Writes an admin token to --bootstrap-token-file unless that has a valid one (bootstrap.c). */
pfc_code server_bootstrap_token(server *s, pfc_err *err) PFC_MUSTCHECK;
/** Reads the accounts at forges, and makes the bot. */
pfc_code server_open_bot(server *s, pfc_err *err) PFC_MUSTCHECK;
/** Passes an event of the database (pfc_listener_next) on to waiting requests and event streams. */
void server_relay(server *s, const char *event);
/** On SIGHUP: reads settings, receivers, accounts at forges, certificates and
 * tokens again. Invalid files change
 * nothing. */
void server_reload(server *s);

#endif
