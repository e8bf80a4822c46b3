/*
 * A stand-in for a server: one thread that listens on a free port of 127.0.0.1, reads a request and
 * lets the test's function answer it. One connection at a time, one request each.
 */
#ifndef PFC_TESTS_CORE_HTTP_STAND_IN_H
#define PFC_TESTS_CORE_HTTP_STAND_IN_H

#include <pthread.h>

#include "core/base/buf.h"

typedef struct stand_in_req {
    char method[16];
    char path[1024];
    const char *headers; /* the lines, each with its \r\n */
    const char *body;
    size_t body_len;
} stand_in_req;

/** Appends a whole answer, status line and all; an empty one closes the connection unanswered.
 *  Runs on the server's thread. */
typedef void stand_in_answer(const stand_in_req *req, pfc_buf *out, void *arg);

typedef struct stand_in {
    int listen_fd;
    int stop_fd[2];
    pthread_t thread;
    stand_in_answer *answer;
    void *arg;
    char url[64]; /* "http://127.0.0.1:PORT" */
} stand_in;

void stand_in_start(stand_in *server, stand_in_answer *answer, void *arg);
void stand_in_stop(stand_in *server);
/** A complete JSON answer. */
void stand_in_json(pfc_buf *out, int status, const char *body);
/** A port of 127.0.0.1 on which no process listens at the moment. */
int stand_in_free_port(void);

#endif
