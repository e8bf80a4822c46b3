/*
 * Shared by the tests of the spool: a spool in a folder of its own, and a server that it uploads
 * to.
 */
#ifndef PFC_TESTS_RUNNER_SPOOL_GROUND_H
#define PFC_TESTS_RUNNER_SPOOL_GROUND_H

#include "runner/spool/spool.h"

#include "tests/core/http/stand_in.h"

#define CLERK_CALLS 64 /* of which it remembers what was sent */

extern char *dir, *rejected, *sent;
extern pfc_spool *spool;

void ground_init(void);
void ground_clear(void);
void open_spool(void);

/** A run whose id ends in `number`, with `samples` samples; caller frees. */
pfc_run *make_run(unsigned number, size_t samples);
pfc_code add(unsigned number, size_t samples, pfc_err *err);
/** Run 9, 30 x 50000 samples of about 18 bytes: 27 MB, which are two parts. */
void add_large(void);
size_t files_in(const char *path);

/** A server with one answer, and another for some runs, which remembers what it was sent. */
typedef struct clerk {
    int status;
    const char *body;
    unsigned odd[4];      /* their runs' numbers; 0: no more */
    int odd_status;       /* 0: no answer at all */
    const char *odd_head; /* a header line with its end; NULL: none */
    bool knows_no_number; /* job_fence is a fault to it */
    bool knows_no_mark;   /* unsandboxed is a fault to it */
    const char *unknown;  /* a member of the roofline that is a fault to it; NULL: it knows them */
    int calls;
    char ids[CLERK_CALLS][33];
    int64_t fences[CLERK_CALLS];
    bool marked[CLERK_CALLS]; /* unsandboxed */
} clerk;

void take_run(const stand_in_req *req, pfc_buf *out, void *clerk);
pfc_code upload_to(clerk *c, pfc_spool_report *report, pfc_err *err);

#endif
