/* Encodes the result of a session. */
#include "runner/blocks/session_json.h"

#include <math.h>

#include "core/base/clock.h"

static const char *const words[] = { [PFC_BLOCK_MEASURED] = "measured",
                                     [PFC_BLOCK_IDENTICAL] = "identical",
                                     [PFC_BLOCK_BROKEN] = "broken",
                                     [PFC_BLOCK_NOT_MEASURED] = "not_measured" };

static json_t *encode_functions(const pfc_function_delta *d)
{
    json_t *list = json_array();

    for (size_t i = 0; i < d->len; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "name", d->changes[i].name,
                                              "before", (json_int_t)d->changes[i].before, "after",
                                              (json_int_t)d->changes[i].after));
    return list;
}

static json_t *encode_commit(const pfc_blocks_result *r, const pfc_block_commit *c)
{
    json_t *json = json_pack("{s:s, s:s, s:s*}", "commit", c->id.hex, "status", words[c->status],
                             "reason", c->reason[0] ? c->reason : NULL);

    if (c->status == PFC_BLOCK_IDENTICAL)
        json_object_set_new(json, "same_as", json_string(r->commits[c->same_as].id.hex));
    if (c->needs_s > 0 && isfinite(c->needs_s))
        json_object_set_new(json, "needs_s", json_real(c->needs_s));
    if (c->functions)
        json_object_set_new(json, "functions", encode_functions(c->functions));
    return json;
}

json_t *pfc_session_to_json(const pfc_blocks_result *r, const pfc_session_of *of)
{
    json_t *commits = json_array();
    char begun[32], ended[32];

    pfc_clock_rfc3339(r->started_at, begun);
    pfc_clock_rfc3339(r->finished_at, ended);
    for (size_t i = of->first; i < r->len; i++) {
        if (!of->known || !of->known[i])
            json_array_append_new(commits, encode_commit(r, &r->commits[i]));
    }
    return json_pack("{s:s, s:s*, s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:f, s:I, s:s*, s:s*, s:o}",
                     "id", r->session, "branch", of->branch, "anchor", r->commits[r->anchor].id.hex,
                     "base", r->commits[of->first - 1].id.hex, "machine_class",
                     of->machine->machine_class, "machine", of->machine->name, "started_at", begun,
                     "finished_at", ended, "budget_s", of->budget_s, "spent_s", r->spent_s,
                     "blocks", (json_int_t)r->blocks, "note", r->note[0] ? r->note : NULL,
                     "pair_key", of->pair_key, "commits", commits);
}
