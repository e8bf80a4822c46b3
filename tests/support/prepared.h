/*
 * initdb and all migrations take more processor time than most tests that need a database. So a
 * build keeps their result, in build/PRESET/tests/prepared, and each cluster begins as a copy.
 *
 * It is made by `pfc-cluster prepare` when a test first asks for it, and again when pfc-cluster was
 * linked since. PERFCI_TEST_CLUSTER=own turns it off: such a cluster has an identifier of its own.
 */
#ifndef PFC_TESTS_SUPPORT_PREPARED_H
#define PFC_TESTS_SUPPORT_PREPARED_H

#include "core/base/err.h"

/** Copies the data folder, with PFC_CLUSTER_TEMPLATE in it, to `to`, which does not exist. False:
 *  there is none for this schema and this major version of PostgreSQL, and `to` was not made. */
bool pfc_prepared_copy(int major, const char *to);
/** Keeps `data`, the folder of a stopped cluster with PFC_CLUSTER_TEMPLATE, in `folder`. */
pfc_code pfc_prepared_keep(const char *data, const char *folder, pfc_err *err) PFC_MUSTCHECK;

#endif
