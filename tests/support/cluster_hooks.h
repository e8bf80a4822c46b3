/*
 * Include in one file of a Criterion program: it then has a private cluster while its tests run.
 */
#ifndef PFC_TESTS_SUPPORT_CLUSTER_HOOKS_H
#define PFC_TESTS_SUPPORT_CLUSTER_HOOKS_H

#include <criterion/criterion.h>

#include "tests/support/support.h"

ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
    (void)tests;
    pfc_test_cluster_begin();
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
    (void)stats;
    pfc_test_cluster_end();
}

#endif
