/*
 * The key of a pair of builds: SHA-256 of all that is known to decide the result of comparing them.
 * Two comparisons of one key would measure the same programs with the same tools, so the earlier
 * result is used for both, and nothing is measured.
 *
 * Part of it are: the git trees of both commits (not the commits: an amended message or a rebase
 * onto the same content changes nothing); build and measuring commands, suite, filter, backends,
 * metric, direction and limits of time; the toolchain (pfc_toolchain_hash); perfci-bench by its
 * content, which has harness and simulator in it, and the version of this program; a suite's file
 * outside of the checkout by its content; class and fingerprint of the machine; how jobs are
 * isolated; budget, margin and rounds; and the environment of this process, without secrets and
 * without variables that differ between two starts of one service. A variable that is not known is
 * part of the key: a pair is rather measured twice than answered with the result of another one.
 *
 * Not part of it, because it cannot be known: what a build command downloads.
 */
#ifndef PFC_RUNNER_BLOCKS_PAIR_KEY_H
#define PFC_RUNNER_BLOCKS_PAIR_KEY_H

#include "core/base/hash.h"
#include "runner/workspace/workspace.h"

typedef struct pfc_pair_of {
    const pfc_commit_id *base, *head;
    const char *build;                      /* shell command; NULL: nothing to build */
    const pfc_commit_measure_opts *measure; /* everything but names and callbacks */
    const pfc_benchmark_filter *wanted;     /* NULL: everything */
    double budget_s, margin;
    size_t rounds;
    const char *isolation; /* how jobs are isolated; NULL: not */
} pfc_pair_of;

/** out: 64 hexadecimal digits. PFC_ENOTFOUND: a commit is not in the repository; PFC_EIO. */
pfc_code pfc_pair_key(pfc_repo *repo, const pfc_pair_of *of, char out[PFC_SHA256_HEX],
                      pfc_err *err) PFC_MUSTCHECK;

#endif
