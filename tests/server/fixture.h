/*
 * Short ways to the things that server tests start from. Everything ends the test on failure.
 */
#ifndef PFC_TESTS_SERVER_FIXTURE_H
#define PFC_TESTS_SERVER_FIXTURE_H

#include "core/wire/wire.h"
#include "server/services/service.h"

#include "tests/support/support.h"

/** A database of the test's own with project "p" in it. */
typedef struct fx_ground {
    pfc_db *db;
    char *url;
    int64_t project;
} fx_ground;

/** Opens it with so many connections; ends in fx_end. */
fx_ground fx_begin(unsigned connections);
void fx_end(fx_ground *g);

/** Creates project "p" on branch main; returns its id. */
int64_t fx_project(pfc_db *db);

/** "000...0<n in hexadecimal>", 40 digits; a ring of 16 static texts. */
const char *fx_sha(unsigned n);
/** Commits first..last on main, each the child of the one before, a minute apart, in order. */
void fx_commits(pfc_db *db, int64_t project, unsigned first, unsigned last);
/** One commit with its parents given (0: none). */
void fx_commit(pfc_db *db, int64_t project, unsigned n, unsigned parent, unsigned second_parent);
/** Position on main, 0: not on the line. */
int64_t fx_position(pfc_db *db, int64_t project, unsigned n);

/** A run of commit n with a fresh id; add measurements with fx_measure; free with pfc_run_free. */
pfc_run *fx_run(unsigned n);
/** `count` samples in `blocks` equal blocks around `center` with relative noise `rel`, seeded. */
void fx_measure(pfc_run *run, const char *benchmark, const char *metric, double center, double rel,
                size_t count, size_t blocks, uint64_t seed);
/** One sample of a metric without noise. */
void fx_exact(pfc_run *run, const char *benchmark, const char *metric, double value);
/** Makes all of its measurements of that benchmark broken. */
void fx_break(pfc_run *run, const char *benchmark, const char *reason);
/** Labels from {"name": "value", ...}; NULL for NULL. A ring of 16 static ones. */
const pfc_labels *fx_labels(const char *json);
/** Stores and frees it; returns our run id. */
int64_t fx_ingest(pfc_db *db, int64_t project, pfc_run *run);
/** Judges all that waits. */
void fx_detect(pfc_db *db);

#endif
