/* The commits that the ends of a comparison name. */
#include "server/services/history/ends.h"

#include <math.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/wire/wire.h"
#include "server/repo/sql/ends.h"

#define TAGS        "refs/tags/"
#define HEADS       "refs/heads/"
#define SHOWN       12 /* digits of a commit in sentences */
#define RUN_ID_LEN  32
#define SHORTEST_ID 7
#define DAY_LEN     10 /* of "2026-11-01" */

/* The state of one look-up. */
typedef struct finding {
    pfc_db *db;
    int64_t project_id;
    const pfc_end_ask *ask;
    const char *field;
    char name[PFC_END_MAX_TEXT + 1]; /* the text without ~N */
    int64_t back;                    /* N */
    pfc_end end;
    char *branch; /* on whose line ~N counts; NULL: any */
} finding;

void pfc_end_clear(pfc_end *end)
{
    free(end->commit);
    free(end->how);
    *end = (pfc_end){ 0 };
}

void pfc_ends_between_clear(pfc_ends_between *between)
{
    free(between->branch);
    free(between->sentence);
    *between = (pfc_ends_between){ 0 };
}

static bool is_decimal(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* Characters that no ref has (git-check-ref-format), but for the blank and colons of a date. */
static bool is_name(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at < ' ' || *at == 0x7f || strchr("~^?*[\\", *at))
            return false;
    return *text && strlen(text) <= PFC_END_MAX_TEXT;
}

/* "main~3" is "main" and 3. */
static pfc_code split(finding *f, pfc_err *err)
{
    const char *text = f->ask->text, *mark = strchr(text, '~');
    const size_t len = mark ? (size_t)(mark - text) : strlen(text);
    pfc_err why = { 0 };
    char what[64];

    if (mark && mark[1]) {
        (void)snprintf(what, sizeof(what), "%s: the number after ~", f->field);
        if (pfc_parse_i64(mark + 1, 0, PFC_END_MAX_BACK, what, &f->back, &why))
            return pfc_err_set_field(err, PFC_EINVAL, f->field, "%s", why.msg);
    } else if (mark) {
        f->back = 1;
    }
    memcpy(f->name, text, PFC_MIN(len, PFC_END_MAX_TEXT));
    f->name[PFC_MIN(len, PFC_END_MAX_TEXT)] = '\0';
    if (len > PFC_END_MAX_TEXT || !is_name(f->name) ||
        (strlen(f->name) < SHORTEST_ID && strspn(f->name, "0") == strlen(f->name)))
        return pfc_err_set_field(err, PFC_EINVAL, f->field,
                                 "%s: expected a commit id of 7 or more digits, a run id, a tag, a "
                                 "branch or a date, with ~N behind it for N commits before",
                                 f->field);
    return PFC_OK;
}

static void found(finding *f, const char *kind, int64_t commit_id, const char *sha)
{
    f->end.kind = kind;
    f->end.commit_id = commit_id;
    f->end.commit = pfc_strdup(sha);
}

/* ---- one function a kind: PFC_ENOTFOUND, if it is none of that kind ---- */

static pfc_code find_run(finding *f, pfc_err *err)
{
    pfc_run_rows runs = { 0 };
    pfc_commit_rows commits = { 0 };
    pfc_code code = pfc_runs_get(f->db, f->project_id, f->name, &runs, err);

    if (!code)
        code = pfc_commits_get(f->db, f->project_id, runs.items[0].commit, &commits, err);
    if (!code) {
        found(f, "run", commits.items[0].id, commits.items[0].sha);
        f->end.run_id = runs.items[0].run_id;
        f->branch = pfc_strdup(runs.items[0].branch);
        f->end.how = pfc_format("run %s of commit %.*s", f->name, SHOWN, f->end.commit);
    }
    pfc_rows_clear(&commits);
    pfc_rows_clear(&runs);
    return code;
}

static pfc_code find_commit(finding *f, pfc_err *err)
{
    pfc_commit_rows commits = { 0 };
    pfc_code code = pfc_commits_get(f->db, f->project_id, f->name, &commits, err);

    if (!code) {
        found(f, "commit", commits.items[0].id, commits.items[0].sha);
        f->end.how = pfc_format("commit %.*s", SHOWN, f->end.commit);
    }
    pfc_rows_clear(&commits);
    return code;
}

static pfc_code find_tag(finding *f, pfc_err *err)
{
    const bool full = strncmp(f->name, TAGS, strlen(TAGS)) == 0;
    const char *tag = f->name + (full ? strlen(TAGS) : 0);
    pfc_sql_end_tag_rows rows = { 0 };
    pfc_code code = pfc_sql_end_tag_once(
        f->db, &(pfc_sql_end_tag_args){ .project_id = f->project_id, .tag = tag }, &rows, err);

    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "there is no tag \"%s\"", tag);
    if (!code) {
        found(f, "tag", rows.items[0].id, rows.items[0].sha);
        f->end.how = pfc_format("tag %s at %.*s", tag, SHOWN, f->end.commit);
    }
    pfc_rows_clear(&rows);
    return code;
}

/* " of backend hip on machine class epyc" */
static char *limits_of(const pfc_end_ask *ask)
{
    return pfc_format("%s%s%s%s", ask->backend ? " of backend " : "",
                      ask->backend ? ask->backend : "",
                      ask->machine_class ? " on machine class " : "",
                      ask->machine_class ? ask->machine_class : "");
}

/* The newest commit with results of a branch; NULL: of the project's. until: see end_branch. */
static pfc_code find_newest(finding *f, const char *kind, const char *branch, double until,
                            const char *until_text, pfc_err *err)
{
    char *limits = limits_of(f->ask);
    pfc_sql_end_branch_rows rows = { 0 };
    pfc_code code = pfc_sql_end_branch_once(
        f->db,
        &(pfc_sql_end_branch_args){ .project_id = f->project_id,
                                    .branch = branch,
                                    .until = until,
                                    .backend = f->ask->backend,
                                    .machine_class = f->ask->machine_class },
        &rows, err);
    const pfc_sql_end_branch_row *row = !code && rows.len ? &rows.items[0] : NULL;

    if (!code && !row)
        code = pfc_err_set(err, PFC_ENOTFOUND, "there is no branch \"%s\"", branch ? branch : "");
    /* The name is known: another kind is not looked for. */
    if (row && !row->id)
        code = pfc_err_set_field(
            err, PFC_ENOTFOUND, f->field, "%s: no commit of branch %s has results%s%s%s", f->field,
            row->branch, limits, until_text ? " up to " : "", until_text ? until_text : "");
    if (!code) {
        found(f, kind, row->id, row->sha);
        f->branch = pfc_strdup(row->branch);
        f->end.how = until_text
                         ? pfc_format("date %s at %.*s, the newest commit of branch %s with "
                                      "results%s up to %s",
                                      f->name, SHOWN, row->sha, row->branch, limits, until_text)
                         : pfc_format("branch %s at %.*s, its newest commit with results%s",
                                      row->branch, SHOWN, row->sha, limits);
    }
    pfc_rows_clear(&rows);
    free(limits);
    return code;
}

static pfc_code find_branch(finding *f, pfc_err *err)
{
    const bool full = strncmp(f->name, HEADS, strlen(HEADS)) == 0;

    return find_newest(f, "branch", f->name + (full ? strlen(HEADS) : 0), (double)NAN, NULL, err);
}

static bool is_date(const char *text)
{
    static const char form[] = "0000-00-00";
    size_t at = 0;

    for (; form[at]; at++)
        if (form[at] == '-' ? text[at] != '-' : text[at] < '0' || text[at] > '9')
            return false;
    return !text[at] || text[at] == 'T' || text[at] == 't' || text[at] == ' ';
}

static pfc_code find_date(finding *f, pfc_err *err)
{
    char *text =
        strlen(f->name) == DAY_LEN ? pfc_format("%sT23:59:59Z", f->name) : pfc_strdup(f->name);
    double time = 0;
    pfc_code code = pfc_parse_rfc3339(text, "date", &time, err);

    if (!code)
        code = find_newest(f, "date", NULL, time, text, err);
    free(text);
    return code;
}

/* ---- */

static pfc_code find_name(finding *f, pfc_err *err)
{
    const size_t len = strlen(f->name);
    const bool hex = pfc_is_hex_id(f->name), decimal = is_decimal(f->name);
    pfc_err why = { 0 };
    pfc_code code = PFC_ENOTFOUND;

    if ((len == RUN_ID_LEN && hex) || (decimal && len < SHORTEST_ID))
        return find_run(f, err);
    if (pfc_is_sha(f->name))
        return find_commit(f, err);
    /* A longer decimal number is a commit first, because users mostly paste ids of commits. */
    if (hex)
        code = find_commit(f, &why);
    if (code == PFC_ENOTFOUND && hex && decimal && len < 19)
        code = find_run(f, &why);
    if (code == PFC_ENOTFOUND && strncmp(f->name, HEADS, strlen(HEADS)) != 0)
        code = find_tag(f, &why);
    if (code == PFC_ENOTFOUND && strncmp(f->name, TAGS, strlen(TAGS)) != 0)
        code = find_branch(f, &why);
    if (code == PFC_ENOTFOUND && !why.field[0] && is_date(f->name))
        return find_date(f, err);
    if (code == PFC_ENOTFOUND && !why.field[0])
        return pfc_err_set_field(err, PFC_ENOTFOUND, f->field,
                                 "%s: \"%.200s\" is no commit, run, tag or branch of this project",
                                 f->field, f->name);
    if (code && err)
        *err = why;
    return code;
}

/* Goes back N commits from what was found. */
static pfc_code go_back(finding *f, pfc_err *err)
{
    char *start = f->end.commit, *how = f->end.how;
    pfc_sql_end_line_rows line = { 0 };
    pfc_sql_end_parents_rows parents = { 0 };
    const char *sha = NULL;
    pfc_code code = pfc_sql_end_line_once(f->db,
                                          &(pfc_sql_end_line_args){ .project_id = f->project_id,
                                                                    .commit_id = f->end.commit_id,
                                                                    .branch = f->branch,
                                                                    .back = f->back },
                                          &line, err);

    if (!code && line.len && line.items[0].id) {
        f->end.commit_id = line.items[0].id;
        sha = line.items[0].sha;
    } else if (!code && !line.len) {
        code = pfc_sql_end_parents_once(f->db,
                                        &(pfc_sql_end_parents_args){ .project_id = f->project_id,
                                                                     .commit_id = f->end.commit_id,
                                                                     .back = f->back },
                                        &parents, err);
        if (!code && parents.len) {
            f->end.commit_id = parents.items[0].id;
            sha = parents.items[0].sha;
        }
    }
    if (!code && !sha)
        code = pfc_err_set_field(err, PFC_ENOTFOUND, f->field,
                                 "%s: fewer than %lld commits are known before %.*s", f->field,
                                 (long long)f->back, SHOWN, start);
    if (!code) {
        f->end.run_id = 0;
        f->end.commit = pfc_strdup(sha);
        f->end.how =
            pfc_format("%s~%lld at %.*s, %lld %s before %.*s", f->name, (long long)f->back, SHOWN,
                       sha, (long long)f->back, f->back == 1 ? "commit" : "commits", SHOWN, start);
        free(start);
        free(how);
    }
    pfc_rows_clear(&parents);
    pfc_rows_clear(&line);
    return code;
}

pfc_code pfc_end_find(pfc_db *db, int64_t project_id, const pfc_end_ask *ask, const char *field,
                      pfc_end *out, pfc_err *err)
{
    finding f = { .db = db, .project_id = project_id, .ask = ask, .field = field };
    pfc_err why = { 0 };
    pfc_code code = split(&f, &why);

    if (!code)
        code = find_name(&f, &why);
    if (!code && f.back)
        code = go_back(&f, &why);
    free(f.branch);
    if (!code) {
        *out = f.end;
        return PFC_OK;
    }
    pfc_end_clear(&f.end);
    if (code == PFC_ENOTFOUND || code == PFC_EINVAL)
        return pfc_err_set_field(err, code, field, "%s%s%s", why.field[0] ? "" : field,
                                 why.field[0] ? "" : ": ", why.msg);
    if (err)
        *err = why;
    return code;
}

static char *sentence_of(const pfc_ends_between *between, bool same)
{
    if (same)
        return pfc_strdup("A and B are the same commit.");
    if (!between->branch)
        return pfc_strdup("A and B are not on one line of history: a difference can come from any "
                          "commit that only one of them contains.");
    if (between->commits == 0)
        return pfc_format("No commit lies between A and B on branch %s%s.", between->branch,
                          between->backwards ? "; B is older than A" : "");
    return pfc_format("%lld %s between A and B on branch %s%s: a difference can come from each of "
                      "them, or from %s.",
                      (long long)between->commits,
                      between->commits == 1 ? "commit lies" : "commits lie", between->branch,
                      between->backwards ? "; B is older than A" : "",
                      between->backwards ? "A" : "B");
}

pfc_code pfc_ends_between_load(pfc_tx *tx, int64_t project_id, int64_t a, int64_t b,
                               pfc_ends_between *out, pfc_err *err)
{
    pfc_sql_ends_between_rows rows = { 0 };
    pfc_code code = pfc_sql_ends_between(
        tx, &(pfc_sql_ends_between_args){ .project_id = project_id, .a = a, .b = b }, &rows, err);

    if (!code) {
        const pfc_sql_ends_between_row *row = rows.len ? &rows.items[0] : NULL;

        out->branch = row ? pfc_strdup(row->branch) : NULL;
        out->commits = row ? row->between : a == b ? 0 : -1;
        out->backwards = row && row->b < row->a;
        out->sentence = sentence_of(out, a == b);
    }
    pfc_rows_clear(&rows);
    return code;
}
