/* Simulated runners: they report the values of a table, so that the results of remote bisections
 * are known. */
#ifndef PFC_TESTS_SERVER_FLEET_H
#define PFC_TESTS_SERVER_FLEET_H

#include "server/services/bisect/bisect.h"
#include "server/services/queue/queue.h"

#define COMMITS 64
#define CULPRIT 41
#define NOISE   0.01
#define STEP    1.06

/* One fake fleet: what it was asked, and how it answers. */
typedef struct fleet {
    pfc_db *db;
    int64_t project;
    unsigned broken;  /* a commit that does not build; 0: none */
    bool none_builds; /* from now on no commit does */
    bool healed;      /* the step is gone from all later results */
    size_t jobs, pairs;
    unsigned seeds;
} fleet;

/** A project with its line of COMMITS commits. */
fleet fleet_begin(pfc_db *db);
unsigned fleet_commit_number(const char *sha);
/** Empty when there is no job; the lease's secret into `secret`. */
pfc_jobs fleet_lease(const fleet *f, const char *runner, char secret[PFC_LEASE_SIZE]);
/** Measures the leased job and hands it back, as an agent does. */
void fleet_do_job(fleet *f, const pfc_job *job, const char *secret);
/** All turns that are due; each one a server of its own as far as the rows can tell. */
void fleet_advance(pfc_db *db);
/** Every runner leases a job, then all report results; repeated until the queue is empty. *most:
 * largest number of jobs leased at once. */
void fleet_work(fleet *f, size_t runners, size_t *most);
int64_t fleet_start(const fleet *f, const pfc_bisection_order *order);
pfc_bisections fleet_bisection(const fleet *f, int64_t id);
/** Good until the next sixteen ids are written. */
pfc_bisection_order fleet_whole_line(void);
void fleet_assert_found(const fleet *f, int64_t id, unsigned culprit);

#endif
