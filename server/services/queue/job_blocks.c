/*
 * Jobs that measure several builds in blocks: validation, and storage as JSON.
 */
#include <stdlib.h>

#include "core/base/parse.h"
#include "core/blocks/blocks.h"
#include "core/wire/wire.h"
#include "server/services/queue/queue.h"

_Static_assert(PFC_JOB_MAX_COMMITS + 2 == PFC_BLOCKS_MAX_BUILDS, "commits, a base and an anchor");

/* Adds each id to `seen`; PFC_EINVAL: one is not a full id, or is a duplicate. */
static pfc_code check_ids(const char *field, const char *const *ids, size_t len, json_t *seen,
                          pfc_err *err)
{
    for (size_t i = 0; i < len; i++) {
        if (!pfc_is_sha(ids[i]))
            return pfc_err_set_field(err, PFC_EINVAL, field,
                                     "%s: expected commit ids of 40 hexadecimal digits, got "
                                     "\"%.64s\"",
                                     field, ids[i]);
        if (json_object_get(seen, ids[i]))
            return pfc_err_set_field(err, PFC_EINVAL, field, "%s: commit %.12s is given twice",
                                     field, ids[i]);
        json_object_set_new(seen, ids[i], json_true());
    }
    return PFC_OK;
}

/* Checks the ids of all lists. The base may also be an anchor. */
static pfc_code check_commits(const pfc_job_blocks *b, pfc_err *err)
{
    json_t *seen = json_object();
    pfc_code code = check_ids("blocks.commits", b->commits, b->commits_len, seen, err);

    for (size_t i = 0; i < b->known_len && !code; i++) {
        if (!json_object_get(seen, b->known[i]))
            code = pfc_err_set_field(err, PFC_EINVAL, "blocks.known",
                                     "blocks.known: expected ids of blocks.commits, got \"%.64s\"",
                                     b->known[i]);
    }
    if (!code)
        code = check_ids("blocks.base", &b->base, 1, seen, err);
    if (!code)
        json_object_del(seen, b->base);
    if (!code)
        code = check_ids("blocks.anchors", b->anchors, b->anchors_len, seen, err);
    json_decref(seen);
    return code;
}

pfc_code pfc_job_blocks_check(const pfc_job_spec *spec, pfc_err *err)
{
    const pfc_job_blocks *b = spec->blocks;
    pfc_code code;

    if (!b)
        return PFC_OK;
    if (!pfc_streq(spec->kind, "nightly"))
        return pfc_err_set_field(err, PFC_EINVAL, "blocks", "blocks: expected kind nightly, got %s",
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

static json_t *texts_of(const char *const *items, size_t len)
{
    json_t *list = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(list, json_string(items[i]));
    return list;
}

json_t *pfc_job_blocks_task(const pfc_job_blocks *b)
{
    json_t *doc = json_pack("{s:o, s:s, s:o, s:f}", "commits", texts_of(b->commits, b->commits_len),
                            "base", b->base, "anchors", texts_of(b->anchors, b->anchors_len),
                            "budget_s", b->budget_s);

    if (b->known_len)
        json_object_set_new(doc, "known", texts_of(b->known, b->known_len));
    if (b->margin > 0)
        json_object_set_new(doc, "margin", json_real(b->margin));
    if (b->rounds)
        json_object_set_new(doc, "rounds", json_integer((json_int_t)b->rounds));
    return doc;
}

pfc_code pfc_job_blocks_labels(char **labels, pfc_err *err)
{
    json_t *doc = NULL;
    pfc_code code = pfc_json_parse(*labels, strlen(*labels), &doc, err);

    if (code)
        return code;
    json_object_set_new(doc, PFC_JOB_TASKS_LABEL, json_string(PFC_JOB_TASKS_BLOCKS));
    free(*labels);
    *labels = json_dumps(doc, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(doc);
    return PFC_OK;
}
