/*
 * Posts check and comment. A hash of what was posted is kept: a look that changes nothing makes no
 * call.
 */
#include <string.h>

#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/forge/forge.h"
#include "server/bot/internal.h"

#define KEY_MAX 96

/* ---- pure parts ---- */

int pfc_verdict_rank(const char *verdict)
{
    if (!verdict)
        return 0;
    if (strcmp(verdict, "broken") == 0)
        return 3;
    if (strcmp(verdict, "regression") == 0)
        return 2;
    return strcmp(verdict, "inconclusive") == 0 || strcmp(verdict, "nothing") == 0 ||
                   strcmp(verdict, "outage") == 0
               ? 1
               : 0;
}

/* Does the policy ask for a first comment? */
static bool is_wanted(pfc_pull_policy policy, const char *verdict, bool improved)
{
    if (policy == PFC_PULL_ALWAYS || pfc_verdict_rank(verdict) >= 2)
        return true;
    return policy == PFC_PULL_ON_CHANGE && improved;
}

pfc_comment_step pfc_comment_next(pfc_pull_policy policy, const char *verdict, bool improved,
                                  int64_t number, int posted_rank)
{
    const int rank = pfc_verdict_rank(verdict);

    if (number == 0)
        return is_wanted(policy, verdict, improved) ? PFC_COMMENT_EDIT : PFC_COMMENT_NONE;
    return rank >= 2 && rank > posted_rank ? PFC_COMMENT_NEW : PFC_COMMENT_EDIT;
}

/* ---- the check ---- */

static const char *newest_verdict(const pfc_look *look)
{
    return look->newest.len ? look->newest.items[0].verdict : NULL;
}

pfc_pull_links pfc_look_links(const pfc_look *look)
{
    const pfc_pull_measurement *m = look->newest.len ? &look->newest.items[0] : NULL;
    const char *project = look->pulls.items[0].project;
    pfc_pull_links links = { 0 };

    if (!look->link)
        return links;
    links.series = pfc_format("%s/series/", look->link);
    links.whole = m && m->session_id
                      ? pfc_format("%s/p/%s/nights/%s", look->link, project, m->session_id)
                      : pfc_format("%s/p/%s/series", look->link, project);
    return links;
}

void pfc_pull_links_clear(pfc_pull_links *links)
{
    free(links->whole);
    free(links->series);
}

static pfc_code remember_check(pfc_look *look, int64_t id, const char *hash, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, look->db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_pull_checked(
            tx,
            &(pfc_sql_pull_checked_args){ .project_id = look->key.project_id,
                                          .number = look->key.number,
                                          .check_id = id,
                                          .check_sha = look->pulls.items[0].head_sha,
                                          .check_hash = hash },
            err);
    pfc_tx_free(tx);
    return code;
}

/* One check for each head. After a kill between the call and its record, it is made once more: the
 * forge shows the newest one of a name. */
static pfc_code publish_check(pfc_look *look, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    const pfc_pull_measurement *m = look->newest.len ? &look->newest.items[0] : NULL;
    char hash[PFC_SHA256_HEX];
    pfc_pull_links links = pfc_look_links(look);
    char *name = pfc_format("%s/%s", PFC_BOT_NAME, p->project),
         *ours = pfc_format("%s/%lld", p->project, (long long)p->number), *all = NULL;
    pfc_buf title, summary;
    pfc_forge_check check = {
        .name = name, .commit = p->head_sha, .url = links.whole, .external_id = ours
    };
    int64_t id = pfc_streq(p->check_sha, p->head_sha) ? p->check_id : 0;
    pfc_code code = PFC_OK;

    pfc_buf_init(&title, 512);
    pfc_buf_init(&summary, PFC_COMMENT_MAX_BYTES);
    check.state = pfc_pull_check(p, m, &title);
    if (m && m->verdict)
        pfc_pull_comment(p, m, &links, p->project, &summary);
    check.title = pfc_buf_text(&title);
    check.summary = summary.len ? pfc_buf_text(&summary) : NULL;
    all = pfc_format("%d %s %s", (int)check.state, check.title, check.summary ? check.summary : "");
    pfc_sha256_hex(all, strlen(all), hash);
    if (!pfc_streq(p->check_sha, p->head_sha) || !pfc_streq(p->check_hash, hash))
        code = pfc_forge_check_put(look->forge, p->repo, &check, &id, err);
    if (!code)
        code = remember_check(look, id, hash, err);
    pfc_buf_clear(&summary);
    pfc_buf_clear(&title);
    free(all);
    free(ours);
    free(name);
    pfc_pull_links_clear(&links);
    return code;
}

/* ---- the comment ---- */

/* Is a benchmark faster, by the summary of the stored comparison? */
static bool is_improved(const pfc_pull_measurement *m)
{
    json_t *doc = m->document_json ? json_loads(m->document_json, JSON_DECODE_ANY, NULL) : NULL;
    const json_t *summary = json_object_get(doc, "summary");
    const bool improved = json_integer_value(json_object_get(summary, "improvement")) > 0;

    json_decref(doc);
    return improved;
}

/* "kernels" for the first, "kernels.2" for the second. */
static void key_of(const pfc_pull *p, int64_t number, char out[KEY_MAX])
{
    if (number <= 1)
        (void)snprintf(out, KEY_MAX, "%s", p->project);
    else
        (void)snprintf(out, KEY_MAX, "%s.%lld", p->project, (long long)number);
}

static pfc_code remember_comment(pfc_look *look, int64_t id, int64_t number, const char *hash,
                                 int rank, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, look->db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_pull_commented(
            tx,
            &(pfc_sql_pull_commented_args){ .project_id = look->key.project_id,
                                            .number = look->key.number,
                                            .comment_id = id,
                                            .comment_number = number,
                                            .comment_hash = hash,
                                            .comment_rank = rank },
            err);
    pfc_tx_free(tx);
    return code;
}

/* The old comment shows no verdict that no longer holds. */
static pfc_code retire(pfc_look *look, const char *new_url, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    char key[KEY_MAX], marker[PFC_COMMENT_MARKER_MAX];
    pfc_forge_comment at = { 0 };
    char *body;
    pfc_code code;

    key_of(p, p->comment_number, key);
    pfc_comment_marker(key, marker);
    body = new_url ? pfc_format("%s\nReplaced by [a newer comment](%s).\n", marker, new_url)
                   : pfc_format("%s\nReplaced by a newer comment below.\n", marker);
    code =
        pfc_forge_comment_put(look->forge, p->repo, p->number, key, p->comment_id, body, &at, err);
    free(at.url);
    free(body);
    return code;
}

/* A comment that is to be posted. */
typedef struct posting {
    pfc_comment_step step;
    int64_t number, known; /* of the comment; its id, 0: not known */
    int rank;
    char key[KEY_MAX], hash[PFC_SHA256_HEX];
    const char *body;
} posting;

/* The number is stored before the comment is made: after a kill the next server finds the comment
 * by the marker of that number. */
static pfc_code put_comment(pfc_look *look, const posting *c, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    pfc_forge_comment at = { 0 };
    pfc_code code = c->step == PFC_COMMENT_NEW ? retire(look, NULL, err) : PFC_OK;

    if (!code && c->number != p->comment_number)
        code = remember_comment(look, 0, c->number, NULL, c->rank, err);
    if (!code)
        code = pfc_forge_comment_put(look->forge, p->repo, p->number, c->key, c->known, c->body,
                                     &at, err);
    if (!code)
        code = remember_comment(look, at.id, c->number, c->hash, c->rank, err);
    if (!code)
        pfc_log(PFC_INFO, "pull_request_commented", "project", p->project, "number", p->number,
                "comment", at.id, "created", at.created);
    free(at.url);
    return code;
}

/* Writes the comment, and posts it unless it is there already. */
static pfc_code write_comment(pfc_look *look, pfc_comment_step step, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    const bool new = step == PFC_COMMENT_NEW;
    posting c = { .step = step,
                  .number = new ? p->comment_number + 1 : PFC_MAX(p->comment_number, 1),
                  .known = new ? 0 : p->comment_id,
                  .rank = pfc_verdict_rank(newest_verdict(look)) };
    pfc_pull_links links = pfc_look_links(look);
    pfc_buf body;
    pfc_code code = PFC_OK;

    pfc_buf_init(&body, PFC_COMMENT_MAX_BYTES);
    key_of(p, c.number, c.key);
    pfc_pull_comment(p, &look->newest.items[0], &links, c.key, &body);
    c.body = pfc_buf_text(&body);
    pfc_sha256_hex(c.body, strlen(c.body), c.hash);
    if (new || look->stirred || !pfc_streq(c.hash, p->comment_hash))
        code = put_comment(look, &c, err);
    pfc_buf_clear(&body);
    pfc_pull_links_clear(&links);
    return code;
}

static pfc_code publish_comment(pfc_look *look, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    const pfc_pull_measurement *m = look->newest.len ? &look->newest.items[0] : NULL;
    pfc_pull_policy policy = PFC_PULL_ON_CHANGE;
    pfc_comment_step step;
    pfc_code code = pfc_pull_policy_parse(p->policy, &policy, err);

    if (code || !m || !m->verdict)
        return code;
    step = pfc_comment_next(policy, m->verdict, is_improved(m), p->comment_number,
                            (int)p->comment_rank);
    return step == PFC_COMMENT_NONE ? PFC_OK : write_comment(look, step, err);
}

pfc_code pfc_look_publish(pfc_look *look, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    pfc_code code;

    if (!p->open || p->draft || !p->head_sha)
        return PFC_OK;
    code = publish_check(look, err);
    return code ? code : publish_comment(look, err);
}
