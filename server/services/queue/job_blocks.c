/*
 * Jobs that measure several builds in blocks: validation.
 */
#include <string.h>

#include "core/base/parse.h"
#include "core/blocks/blocks.h"
#include "server/services/queue/queue.h"

_Static_assert(PFC_JOB_MAX_COMMITS + 2 == PFC_BLOCKS_MAX_BUILDS, "commits, a base and an anchor");

static bool is_in(const char *id, const char *const *ids, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (strcmp(ids[i], id) == 0)
            return true;
    return false;
}

/* Each id is a full one, that occurs neither before it nor in `others`. */
static pfc_code check_ids(const char *field, const char *const *ids, size_t len,
                          const char *const *others, size_t others_len, pfc_err *err)
{
    for (size_t i = 0; i < len; i++) {
        if (!pfc_is_sha(ids[i]))
            return pfc_err_set_field(err, PFC_EINVAL, field,
                                     "%s: expected commit ids of 40 hexadecimal digits, got "
                                     "\"%.64s\"",
                                     field, ids[i]);
        if (is_in(ids[i], ids, i) || is_in(ids[i], others, others_len))
            return pfc_err_set_field(err, PFC_EINVAL, field, "%s: commit %.12s is given twice",
                                     field, ids[i]);
    }
    return PFC_OK;
}

/* Checks the ids of all lists. The base may also be an anchor. */
static pfc_code check_commits(const pfc_job_blocks *b, pfc_err *err)
{
    pfc_code code = check_ids("blocks.commits", b->commits, b->commits_len, NULL, 0, err);

    for (size_t i = 0; i < b->known_len && !code; i++) {
        if (!is_in(b->known[i], b->commits, b->commits_len))
            code = pfc_err_set_field(err, PFC_EINVAL, "blocks.known",
                                     "blocks.known: expected ids of blocks.commits, got \"%.64s\"",
                                     b->known[i]);
    }
    if (!code)
        code = check_ids("blocks.base", &b->base, 1, b->commits, b->commits_len, err);
    if (!code)
        code = check_ids("blocks.anchors", b->anchors, b->anchors_len, b->commits, b->commits_len,
                         err);
    return code;
}

pfc_code pfc_job_blocks_check(const pfc_job_spec *spec, pfc_err *err)
{
    const pfc_job_blocks *b = spec->blocks;
    pfc_code code;

    if (!b)
        return PFC_OK;
    if (!pfc_streq(spec->kind, "nightly") && !pfc_streq(spec->kind, "pull_request"))
        return pfc_err_set_field(err, PFC_EINVAL, "blocks",
                                 "blocks: expected kind nightly or pull_request, got %s",
                                 spec->kind);
    if (b->commits_len < 1 || b->commits_len > PFC_JOB_MAX_COMMITS)
        return pfc_err_set_field(err, PFC_EINVAL, "blocks.commits",
                                 "blocks.commits: expected 1 to %d commits, got %zu",
                                 PFC_JOB_MAX_COMMITS, b->commits_len);
    if (b->anchors_len > PFC_JOB_MAX_ANCHORS)
        return pfc_err_set_field(err, PFC_EINVAL, "blocks.anchors",
                                 "blocks.anchors: expected at most %d commits, got %zu",
                                 PFC_JOB_MAX_ANCHORS, b->anchors_len);
    code = check_commits(b, err);
    if (code)
        return code;
    if (!pfc_streq(b->commits[b->commits_len - 1], spec->commit))
        return pfc_err_set_field(err, PFC_EINVAL, "blocks.commits",
                                 "blocks.commits: expected the job's commit %.12s as the last one, "
                                 "got %.12s",
                                 spec->commit, b->commits[b->commits_len - 1]);
    if (!(b->budget_s >= 1 && b->budget_s <= PFC_JOB_MAX_BUDGET_S))
        return pfc_err_set_field(err, PFC_EINVAL, "blocks.budget_s",
                                 "blocks.budget_s: expected 1 to %d seconds, got %g",
                                 PFC_JOB_MAX_BUDGET_S, b->budget_s);
    if (!(b->margin >= 0 && b->margin <= 1))
        return pfc_err_set_field(err, PFC_EINVAL, "blocks.margin",
                                 "blocks.margin: expected 0 to 1, got %g", b->margin);
    if (b->rounds < 0 || b->rounds > PFC_JOB_MAX_ROUNDS)
        return pfc_err_set_field(err, PFC_EINVAL, "blocks.rounds",
                                 "blocks.rounds: expected 0 to %d, got %lld", PFC_JOB_MAX_ROUNDS,
                                 (long long)b->rounds);
    return PFC_OK;
}
