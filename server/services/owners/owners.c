/* Finds the owners of alerts; see owners.h. */
#include "server/services/owners/owners.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/suspects/suspects.h"

#define SETTLE_MAX 10000 /* alerts of one statement */

/* The rules of a project, parsed. */
typedef struct ruling {
    pfc_owners *rules, *codeowners; /* NULL: none */
} ruling;

static void ruling_clear(ruling *r)
{
    pfc_owners_free(r->rules);
    pfc_owners_free(r->codeowners);
}

static pfc_code ruling_load(pfc_tx *tx, int64_t project_id, ruling *out, pfc_err *err)
{
    pfc_sql_owners_get_rows rows = { 0 };
    pfc_code code =
        pfc_sql_owners_get(tx, &(pfc_sql_owners_get_args){ .project_id = project_id }, &rows, err);

    if (!code && rows.len && rows.items[0].rules[0])
        code = pfc_owners_parse(rows.items[0].rules, PFC_OWNERS_RULES, "rules", &out->rules, err);
    if (!code && rows.len && rows.items[0].path)
        code = pfc_owners_parse(rows.items[0].codeowners,
                                pfc_owners_guess(rows.items[0].path, rows.items[0].codeowners),
                                rows.items[0].path, &out->codeowners, err);
    pfc_rows_clear(&rows);
    return code;
}

/* ---- the owner of one alert ---- */

/* The touched files of the benchmark: those of its build, and those that fit its globs. */
static char *owner_of_touched(const ruling *r, const pfc_texts *paths, const pfc_texts *touched,
                              const pfc_texts *globs)
{
    const char **list = pfc_calloc(paths->len + 1, sizeof(*list));
    size_t len = 0;
    char *owner;

    for (size_t i = 0; i < paths->len; i++) {
        bool own = globs->len && pfc_path_fits(paths->items[i], globs->items, globs->len);

        for (size_t k = 0; !own && k < touched->len; k++)
            own = strcmp(touched->items[k], paths->items[i]) == 0;
        if (own)
            list[len++] = paths->items[i];
    }
    owner = pfc_owners_of_paths(r->rules, r->codeowners, list, len);
    free(list);
    return owner;
}

static char *owner_of_all(const ruling *r, const pfc_texts *paths)
{
    return pfc_owners_of_paths(r->rules, r->codeowners, (const char *const *)paths->items,
                               paths->len);
}

static pfc_code owner_by_files(pfc_tx *tx, int64_t project_id, const ruling *r,
                               const pfc_sql_owners_due_row *alert, char **out, pfc_err *err)
{
    pfc_sql_owners_sources_rows rows = { 0 };
    pfc_texts paths = { 0 }, touched = { 0 }, files = { 0 }, globs = { 0 };
    pfc_code code;

    pfc_array_texts(alert->paths, &paths);
    code = pfc_sql_owners_sources(
        tx,
        &(pfc_sql_owners_sources_args){ .project_id = project_id,
                                        .benchmark = alert->benchmark,
                                        .paths = (const char *const *)paths.items,
                                        .paths_len = paths.len },
        &rows, err);
    if (!code && rows.len) {
        pfc_array_texts(rows.items[0].touched, &touched);
        pfc_array_texts(rows.items[0].files, &files);
        pfc_array_texts(rows.items[0].globs, &globs);
    }
    if (!code)
        *out = owner_of_touched(r, &paths, &touched, &globs);
    if (!code && !*out && files.len)
        *out = owner_of_all(r, &files);
    /* Nothing is known about what the benchmark is built from. */
    if (!code && !*out && !files.len && !globs.len)
        *out = owner_of_all(r, &paths);
    pfc_texts_clear(&paths);
    pfc_texts_clear(&touched);
    pfc_texts_clear(&files);
    pfc_texts_clear(&globs);
    pfc_rows_clear(&rows);
    return code;
}

/* *out: NULL: none. The caller frees it. */
static pfc_code find_owner(pfc_tx *tx, int64_t project_id, const ruling *r,
                           const pfc_sql_owners_due_row *alert, char **out, pfc_err *err)
{
    *out = pfc_owners_of_benchmark(r->rules, alert->benchmark);
    if (!*out && (r->rules || r->codeowners))
        return owner_by_files(tx, project_id, r, alert, out, err);
    if (*out && !**out) { /* a rule without owners */
        free(*out);
        *out = NULL;
    }
    return PFC_OK;
}

/* ---- all that are due ---- */

static pfc_code set_owner(pfc_tx *tx, int64_t project_id, const int64_t *ids, size_t len,
                          const char *owner, pfc_err *err)
{
    return pfc_sql_owners_set(
        tx,
        &(pfc_sql_owners_set_args){
            .project_id = project_id, .alert_ids = ids, .alert_ids_len = len, .owner = owner },
        err);
}

static bool is_alike(const pfc_sql_owners_due_row *a, const pfc_sql_owners_due_row *b)
{
    return pfc_streq(a->benchmark, b->benchmark) &&
           (a->commit ? pfc_streq(a->commit, b->commit) : b->commit == NULL);
}

/* Alerts of one benchmark and commit, which follow each other, have the same owner. */
static pfc_code settle_rows(pfc_tx *tx, int64_t project_id, const ruling *r,
                            const pfc_sql_owners_due_rows *rows, int64_t *ids, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0, end; !code && i < rows->len; i = end) {
        char *owner = NULL;

        for (end = i; end < rows->len && is_alike(&rows->items[i], &rows->items[end]); end++)
            ids[end] = rows->items[end].id;
        code = find_owner(tx, project_id, r, &rows->items[i], &owner, err);
        if (!code)
            code = set_owner(tx, project_id, ids + i, end - i, owner, err);
        free(owner);
    }
    return code;
}

pfc_code pfc_owners_settle(pfc_tx *tx, int64_t project_id, const char *branch, int64_t alert_id,
                           pfc_err *err)
{
    pfc_sql_owners_due_rows rows = { 0 };
    int64_t *ids = NULL;
    ruling r = { 0 };
    pfc_code code = pfc_sql_owners_due(
        tx,
        &(pfc_sql_owners_due_args){
            .project_id = project_id, .branch = branch, .alert_id = alert_id, .limit = SETTLE_MAX },
        &rows, err);

    if (!code && rows.len) {
        ids = pfc_calloc(rows.len, sizeof(*ids));
        code = ruling_load(tx, project_id, &r, err);
        if (!code)
            code = settle_rows(tx, project_id, &r, &rows, ids, err);
        /* An alert alone keeps the owner that its culprit gives it. */
        if (!code && !alert_id)
            code = pfc_sql_owners_of_groups(
                tx,
                &(pfc_sql_owners_of_groups_args){
                    .project_id = project_id, .alert_ids = ids, .alert_ids_len = rows.len },
                err);
    }
    ruling_clear(&r);
    free(ids);
    pfc_rows_clear(&rows);
    return code;
}

/* ---- rules and files ---- */

pfc_code pfc_owner_rules_get(pfc_db *db, int64_t project_id, pfc_owner_rules_list *out,
                             pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_owners_get(tx, &(pfc_sql_owners_get_args){ .project_id = project_id }, out,
                                  err);
    pfc_tx_free(tx);
    return code;
}

typedef struct change {
    const char *actor;
    int64_t project_id;
    const char *rules;               /* NULL: the file is changed */
    const pfc_codeowners_file *file; /* else NULL */
    pfc_codeowners_stored *stored;
} change;

/* The reason why the file of this commit is not stored; NULL: none. */
static pfc_code check_place(pfc_tx *tx, const change *c, pfc_err *err)
{
    pfc_sql_owners_place_rows rows = { 0 };
    pfc_code code = pfc_sql_owners_place(
        tx, &(pfc_sql_owners_place_args){ .project_id = c->project_id, .sha = c->file->commit },
        &rows, err);

    c->stored->reason = NULL;
    if (!code && rows.len == 0)
        c->stored->reason = "the commit is not on the project's branch";
    else if (!code && rows.items[0].newer)
        c->stored->reason = "the file of a later commit is stored";
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code write_file(pfc_tx *tx, const change *c, pfc_err *err)
{
    pfc_code code = check_place(tx, c, err);

    if (code || c->stored->reason)
        return code;
    return pfc_sql_owners_set_codeowners(
        tx,
        &(pfc_sql_owners_set_codeowners_args){ .project_id = c->project_id,
                                               .codeowners = c->file->path ? c->file->text : "",
                                               .path = c->file->path,
                                               .sha = c->file->commit },
        err);
}

static pfc_code write_change(pfc_tx *tx, void *into, pfc_err *err)
{
    const change *c = into;
    pfc_code code =
        c->rules ? pfc_sql_owners_set_rules(tx,
                                            &(pfc_sql_owners_set_rules_args){
                                                .project_id = c->project_id, .rules = c->rules },
                                            err)
                 : write_file(tx, c, err);

    if (code || (c->stored && c->stored->reason))
        return code;
    code = pfc_sql_owners_mark(tx, &(pfc_sql_owners_mark_args){ .project_id = c->project_id }, err);
    if (!code)
        code = pfc_owners_settle(tx, c->project_id, NULL, 0, err);
    if (!code)
        code = pfc_audit_add(tx, c->actor, "owners", c->project_id,
                             c->rules ? "rules" : "CODEOWNERS", NULL, err);
    return code;
}

pfc_code pfc_owner_rules_set(pfc_db *db, const char *actor, int64_t project_id, const char *rules,
                             pfc_err *err)
{
    change c = { .actor = actor, .project_id = project_id, .rules = rules };
    pfc_owners *parsed = NULL;
    pfc_err why = { 0 };
    pfc_code code = pfc_owners_parse(rules, PFC_OWNERS_RULES, "rules", &parsed, &why);

    pfc_owners_free(parsed);
    if (code)
        return pfc_err_set_field(err, code, "rules", "%s", why.msg);
    return pfc_db_write(db, write_change, &c, err);
}

static pfc_code check_file(const pfc_codeowners_file *file, pfc_codeowners_stored *out,
                           pfc_err *err)
{
    pfc_owners *parsed = NULL;
    pfc_err why = { 0 };
    pfc_code code;

    if (!pfc_is_sha(file->commit))
        return pfc_err_set_field(err, PFC_EINVAL, "commit",
                                 "commit: expected a full id of 40 hexadecimal digits");
    if (!file->path)
        return PFC_OK;
    if (!pfc_owners_is_place(file->path))
        return pfc_err_set_field(err, PFC_EINVAL, "path",
                                 "path: expected CODEOWNERS in the root, .github, .gitlab or docs, "
                                 "got \"%.100s\"",
                                 file->path);
    code = pfc_owners_parse(file->text, pfc_owners_guess(file->path, file->text), file->path,
                            &parsed, &why);
    if (code)
        return pfc_err_set_field(err, code, "text", "%s", why.msg);
    out->rules = pfc_owners_rules(parsed);
    out->skipped = pfc_owners_skipped(parsed);
    pfc_owners_free(parsed);
    return PFC_OK;
}

pfc_code pfc_codeowners_store(pfc_db *db, const char *actor, int64_t project_id,
                              const pfc_codeowners_file *file, pfc_codeowners_stored *out,
                              pfc_err *err)
{
    change c = { .actor = actor, .project_id = project_id, .file = file, .stored = out };
    pfc_code code;

    *out = (pfc_codeowners_stored){ 0 };
    code = check_file(file, out, err);
    return code ? code : pfc_db_write(db, write_change, &c, err);
}
