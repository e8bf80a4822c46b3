/*
 * A server with one answer, and a line to it, for the tests of jobs.
 */
#ifndef PFC_TESTS_RUNNER_JOB_LINE_H
#define PFC_TESTS_RUNNER_JOB_LINE_H

#include "core/http/client.h"

#include "tests/core/http/stand_in.h"

typedef struct clerk {
    int status; /* 0: it hangs up */
    const char *body;
    int refuse_asked; /* the number of a question is a fault to it */
    int calls;
    char path[1024], request[4096]; /* of the last call */
} clerk;

typedef struct line {
    stand_in server;
    pfc_http *http;
} line;

void open_line(line *l, clerk *c);
void close_line(line *l);

#endif
