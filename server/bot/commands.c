/*
 * Commands in comments. Only people who may write to the repository give them; everyone else gets
 * one sentence. The answer to a comment has a marker with the comment's number: an answer whose
 * record was lost is found and not repeated.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/forge/forge.h"
#include "server/bot/internal.h"

#define ANSWER_MAX 16384

static const char help[] =
    "Commands of perfci, at the beginning of a line, for people who may write to this repository:\n"
    "\n"
    "- `/perfci bench [FILTER]` measures the head again, or only the benchmarks of FILTER\n"
    "- `/perfci rerun` measures the head again\n"
    "- `/perfci why` shows the evidence behind the verdict\n"
    "- `/perfci accept REASON` accepts the verdict of this head\n"
    "- `/perfci bisect METRIC` finds the commit of this pull request that made it slower\n"
    "- `/perfci allow` lets the head of a fork be measured once\n"
    "- `/perfci help` shows this list\n";

typedef struct command {
    const pfc_sql_pull_commands_new_row *row;
    const char *state; /* "done", "refused" */
    pfc_buf answer;
} command;

static void refuse(command *c, const char *sentence)
{
    c->state = "refused";
    pfc_buf_puts(&c->answer, sentence);
}

static char *actor_of(const pfc_look *look, const command *c)
{
    return pfc_format("%s:%s", look->pulls.items[0].forge, c->row->author);
}

/* ---- the commands ---- */

static pfc_code measure_again(pfc_look *look, command *c, const char *filter, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    char *actor = actor_of(look, c);
    pfc_code code = PFC_OK;

    if (!p->open)
        refuse(c, "The pull request is closed.");
    else if (!p->head_sha || !p->merge_base)
        refuse(c, "The head or the merge base is not known.");
    else if (p->fork && !pfc_streq(p->allowed_sha, p->head_sha))
        refuse(c, "The head of a fork is measured after `/perfci allow`.");
    else if (look->newest.len && !look->newest.items[0].verdict &&
             pfc_streq(look->newest.items[0].filter, filter))
        pfc_buf_puts(&c->answer, "This head is being measured.");
    else
        code = pfc_pull_measure(look->db, actor, p, filter, true, err);
    if (!code && !c->answer.len && c->row->comment_id > 0) {
        pfc_buf_printf(&c->answer, "Measuring `%.12s`", p->head_sha);
        if (filter) {
            pfc_buf_puts(&c->answer, ", benchmarks ");
            pfc_markdown_code(&c->answer, filter);
        }
        pfc_buf_puts(&c->answer, ".");
    }
    free(actor);
    return code ? code : pfc_look_load(look, err);
}

static pfc_code allow(pfc_look *look, command *c, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    char *actor;
    pfc_code code = PFC_OK;

    if (!p->fork) {
        pfc_buf_puts(&c->answer, "This is no fork: its heads are measured without a word.");
        return PFC_OK;
    }
    if (!p->head_sha) {
        refuse(c, "The head is not known.");
        return PFC_OK;
    }
    actor = actor_of(look, c);
    code = pfc_pull_allow(look->db, actor, &look->key, p->head_sha, err);
    free(actor);
    if (!code)
        pfc_buf_printf(&c->answer, "`%.12s` may be measured; a later push needs another word.",
                       p->head_sha);
    return code ? code : pfc_look_load(look, err);
}

static pfc_code accept_verdict(pfc_look *look, command *c, pfc_err *err)
{
    const pfc_pull_measurement *m = look->newest.len ? &look->newest.items[0] : NULL;
    char *actor;
    pfc_code code;

    if (!m || !m->verdict) {
        refuse(c, "There is no verdict to accept yet.");
        return PFC_OK;
    }
    if (pfc_verdict_rank(m->verdict) < 2) {
        refuse(c, "The verdict is no regression: nothing is to be accepted.");
        return PFC_OK;
    }
    actor = actor_of(look, c);
    code = pfc_pull_accept(look->db, actor, &look->key, m, c->row->argument, err);
    free(actor);
    if (!code)
        pfc_buf_printf(&c->answer, "Accepted for `%.12s`.", m->head_sha);
    return code ? code : pfc_look_load(look, err);
}

static void why_of(const pfc_look *look, const pfc_pull_measurement *m, pfc_buf *out)
{
    pfc_pull_links links = pfc_look_links(look);

    pfc_pull_why(&look->pulls.items[0], m, &links, out);
    pfc_pull_links_clear(&links);
}

static void why(const pfc_look *look, command *c)
{
    const pfc_pull_measurement *m = look->newest.len ? &look->newest.items[0] : NULL;

    if (!m)
        pfc_buf_puts(&c->answer, "Nothing is measured of this head.");
    else if (!m->verdict)
        pfc_buf_puts(&c->answer, "This head has no verdict yet.");
    else
        why_of(look, m, &c->answer);
}

static pfc_code bisect(pfc_look *look, command *c, pfc_err *err)
{
    char *actor = actor_of(look, c);
    bool refused = false;
    pfc_code code = pfc_look_bisect(look, actor, c->row->comment_id, c->row->argument, &refused,
                                    &c->answer, err);

    if (refused)
        c->state = "refused";
    free(actor);
    return code;
}

static pfc_code carry_out(pfc_look *look, command *c, pfc_err *err)
{
    const char *word = c->row->command;

    if (strcmp(word, "bench") == 0)
        return measure_again(look, c, c->row->argument, err);
    if (strcmp(word, "rerun") == 0)
        return measure_again(look, c, look->newest.len ? look->newest.items[0].filter : NULL, err);
    if (strcmp(word, "allow") == 0)
        return allow(look, c, err);
    if (strcmp(word, "accept") == 0)
        return accept_verdict(look, c, err);
    if (strcmp(word, "bisect") == 0)
        return bisect(look, c, err);
    if (strcmp(word, "why") == 0)
        why(look, c);
    else if (strcmp(word, "help") == 0)
        pfc_buf_puts(&c->answer, help);
    else if (strcmp(word, "invalid") == 0)
        pfc_markdown_text(&c->answer, c->row->argument);
    else
        refuse(c, "Unknown command; `/perfci help` lists them.");
    return PFC_OK;
}

/* ---- who may ---- */

static pfc_code may_command(pfc_look *look, command *c, bool *may, pfc_err *err)
{
    pfc_forge_access access = PFC_ACCESS_NONE;
    pfc_code code = pfc_forge_access_of(look->forge, look->pulls.items[0].repo, c->row->author,
                                        &access, err);

    *may = !code && access == PFC_ACCESS_WRITE;
    if (!code && !*may) {
        refuse(c, "Only people who may write to this repository give commands to perfci.");
        pfc_log(PFC_WARN, "command_refused", "project", look->pulls.items[0].project, "number",
                look->key.number, "author", c->row->author, "command", c->row->command);
    }
    return code;
}

/* ---- the answer ---- */

pfc_code pfc_look_answer(pfc_look *look, int64_t comment_id, const char *text, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    char key[96], marker[PFC_COMMENT_MARKER_MAX];
    pfc_forge_comment at = { 0 };
    char *body;
    pfc_code code;

    (void)snprintf(key, sizeof(key), "answer-%lld-%.60s", (long long)comment_id, p->project);
    pfc_comment_marker(key, marker);
    body = pfc_format("%s\n%s\n", marker, text);
    code = pfc_forge_comment_put(look->forge, p->repo, p->number, key, 0, body, &at, err);
    free(at.url);
    free(body);
    return code;
}

static pfc_code answer(pfc_look *look, command *c, pfc_err *err)
{
    return c->answer.len && c->row->comment_id > 0
               ? pfc_look_answer(look, c->row->comment_id, pfc_buf_text(&c->answer), err)
               : PFC_OK;
}

static pfc_code finish(pfc_look *look, const command *c, pfc_err *err)
{
    char *object = pfc_format("pull request %lld", (long long)look->key.number);
    char *detail = pfc_format("%s %s", c->row->command, c->state);
    char *actor = actor_of(look, c);
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, look->db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_pull_command_finish(
            tx,
            &(pfc_sql_pull_command_finish_args){ .project_id = look->key.project_id,
                                                 .number = look->key.number,
                                                 .comment_id = c->row->comment_id,
                                                 .state = c->state,
                                                 .answer = pfc_buf_text(&c->answer) },
            err);
    if (!code)
        code = pfc_audit_add(tx, actor, "command", look->key.project_id, object, detail, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(actor);
    free(detail);
    free(object);
    return code;
}

static pfc_code obey_one(pfc_look *look, const pfc_sql_pull_commands_new_row *row, pfc_err *err)
{
    command c = { .row = row, .state = "done" };
    bool may = false;
    pfc_code code;

    pfc_buf_init(&c.answer, ANSWER_MAX);
    code = may_command(look, &c, &may, err);
    if (!code && may)
        code = carry_out(look, &c, err);
    if (!code)
        code = answer(look, &c, err);
    if (!code)
        code = finish(look, &c, err);
    pfc_buf_clear(&c.answer);
    return code;
}

pfc_code pfc_look_obey(pfc_look *look, pfc_err *err)
{
    pfc_sql_pull_commands_new_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, look->db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_pull_commands_new(
            tx,
            &(pfc_sql_pull_commands_new_args){ .project_id = look->key.project_id,
                                               .number = look->key.number },
            &rows, err);
    pfc_tx_free(tx);
    for (size_t i = 0; !code && i < rows.len; i++)
        code = obey_one(look, &rows.items[i], err);
    pfc_rows_clear(&rows);
    return code;
}
