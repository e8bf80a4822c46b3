/*
 * Base of the database tests: a private PostgreSQL cluster, and a fresh database for each test.
 *
 * A cluster lives in a short folder of its own under /tmp, listens on a Unix socket there and on
 * nothing else, and never touches one of the system. A guard process beside it stops it and removes
 * the folder when the program that started it ends, however it ends. As root the cluster runs as
 * `postgres` or `nobody`, because PostgreSQL refuses root.
 *
 * Usual case, one cluster for all tests of a program: include tests/support/cluster_hooks.h in
 * one file, and call pfc_test_db_open() in the tests. A test that stops its cluster starts one
 * itself instead.
 */
#ifndef PFC_TESTS_SUPPORT_SUPPORT_H
#define PFC_TESTS_SUPPORT_SUPPORT_H

#include "server/repo/connection/db.h"

typedef struct pfc_cluster pfc_cluster;

#define PFC_CLUSTER_TEMPLATE "pfc_template"

/** initdb, or a copy of the prepared one (prepared.h), and start; ready for connections when it
 * returns. */
pfc_code pfc_cluster_start(pfc_cluster **out, pfc_err *err) PFC_MUSTCHECK;
/** Connection string of a database in it; caller frees. */
char *pfc_cluster_url(const pfc_cluster *cluster, const char *database);
/** It began as a copy, and has PFC_CLUSTER_TEMPLATE and the empty database "main". */
bool pfc_cluster_is_prepared(const pfc_cluster *cluster);
/** Stops it and keeps its data in `folder`, for later ones to begin with. */
pfc_code pfc_cluster_keep(pfc_cluster *cluster, const char *folder, pfc_err *err) PFC_MUSTCHECK;
/** Stops the server, keeping the data: "fast" as an administrator does, else like a crash. */
pfc_code pfc_cluster_halt(pfc_cluster *cluster, bool fast, pfc_err *err) PFC_MUSTCHECK;
/** Starts it again; ready when it returns. */
pfc_code pfc_cluster_resume(pfc_cluster *cluster, pfc_err *err) PFC_MUSTCHECK;
/** Stops and removes everything. Accepts NULL. */
void pfc_cluster_free(pfc_cluster *cluster);
/** Creates a database; template NULL: empty. */
pfc_code pfc_cluster_create(const char *admin_url, const char *name, const char *template_name,
                            pfc_err *err) PFC_MUSTCHECK;

/** Creates PFC_CLUSTER_TEMPLATE, a migrated database to create others from, unless the cluster is a
 * prepared one and has it already. No connection to it may be open then. */
pfc_code pfc_cluster_make_template(const pfc_cluster *cluster, pfc_err *err) PFC_MUSTCHECK;

/** For cluster_hooks.h: starts and stops the program's cluster, with a migrated template in it. */
void pfc_test_cluster_begin(void);
void pfc_test_cluster_end(void);

/** Connection string of a fresh, migrated database for this test (empty: not migrated); ends the
 *  test program when there is no cluster. Caller frees. */
char *pfc_test_db_url(bool empty);
/** A pool on a fresh, migrated database. *url may be NULL; caller closes and frees. */
pfc_db *pfc_test_db_open(unsigned connections, char **url);
/** Runs SQL of the test's own, without results; ends the test when it fails. */
void pfc_test_sql(const char *url, const char *sql);
/** First column of the first row as text, caller frees; NULL: no row or SQL NULL. */
char *pfc_test_sql_value(const char *url, const char *sql);

#endif
