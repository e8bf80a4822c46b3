/*
 * Markdown of a comparison, and GitHub's comments by its REST API.
 */
#include "cli/comment.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_ROWS = 20, FOLDED_ROWS = 300, PAGE = 100, MAX_PAGES = 30, NAME_BYTES = 200 };

/* ---- text ---- */

void pfc_markdown_text(pfc_buf *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        const unsigned char c = (unsigned char)*p;

        if (c < 0x20 || c == 0x7f)
            pfc_buf_putc(out, ' ');
        else if (c == '<')
            pfc_buf_puts(out, "&lt;");
        else if (c == '>')
            pfc_buf_puts(out, "&gt;");
        else if (c == '&')
            pfc_buf_puts(out, "&amp;");
        else if (c == '@')
            pfc_buf_puts(out, "&#64;"); /* an escaped @ would still call somebody */
        else if (c == '#')
            pfc_buf_puts(out, "&#35;");
        else if (strchr("\\`*_{}[]()!|~:", c))
            pfc_buf_printf(out, "\\%c", c);
        else
            pfc_buf_putc(out, *p);
    }
}

void pfc_markdown_code(pfc_buf *out, const char *text)
{
    pfc_buf_putc(out, '`');
    for (const char *p = text; *p && p - text < NAME_BYTES; p++) {
        const unsigned char c = (unsigned char)*p;

        /* In a table a bar ends the cell, also inside a code span. */
        if (c < 0x20 || c == 0x7f || c == '`')
            pfc_buf_putc(out, '\'');
        else if (c == '|')
            pfc_buf_puts(out, "\\|");
        else
            pfc_buf_putc(out, *p);
    }
    pfc_buf_putc(out, '`');
}

void pfc_comment_marker(const char *key, char out[PFC_COMMENT_MARKER_MAX])
{
    snprintf(out, PFC_COMMENT_MARKER_MAX, "<!-- perfci:%.63s -->", key);
}

bool pfc_comment_is_ours(const char *body, const char *marker)
{
    return strncmp(body, marker, strlen(marker)) == 0;
}

/* ---- the comment ---- */

static void put_verdict(pfc_buf *out, const pfc_cmp *cmp)
{
    const size_t *n = cmp->count;
    double worst = 0;

    for (size_t i = 0; i < cmp->len; i++)
        if (cmp->rows[i].verdict == PFC_CMP_REGRESSION && isfinite(cmp->rows[i].rel_change))
            worst = PFC_MAX(worst, fabs(cmp->rows[i].rel_change));
    if (n[PFC_CMP_BROKEN])
        pfc_buf_printf(out, "### \xE2\x9B\x94 %zu benchmark%s broken", n[PFC_CMP_BROKEN],
                       n[PFC_CMP_BROKEN] == 1 ? " is" : "s are");
    else if (n[PFC_CMP_REGRESSION])
        pfc_buf_printf(out, "### \xF0\x9F\x94\xB4 %zu regression%s, the largest %.1f %%",
                       n[PFC_CMP_REGRESSION], n[PFC_CMP_REGRESSION] == 1 ? "" : "s", worst * 100);
    else if (cmp->len == 0)
        pfc_buf_puts(out, "### \xE2\x9A\xAA Nothing was compared");
    else if (n[PFC_CMP_INCONCLUSIVE])
        pfc_buf_printf(out, "### \xE2\x9A\xAA No regression shown; %zu of %zu not decided",
                       n[PFC_CMP_INCONCLUSIVE], cmp->len);
    else if (n[PFC_CMP_IMPROVEMENT])
        pfc_buf_printf(out, "### \xF0\x9F\x9F\xA2 %zu improvement%s, no regression",
                       n[PFC_CMP_IMPROVEMENT], n[PFC_CMP_IMPROVEMENT] == 1 ? "" : "s");
    else
        pfc_buf_printf(out, "### \xF0\x9F\x9F\xA2 No change in %zu benchmark%s", cmp->len,
                       cmp->len == 1 ? "" : "s");
    pfc_buf_puts(out, "\n\n");
}

static void put_row(pfc_buf *out, const pfc_cmp_row *r)
{
    char a[32];
    char b[32];
    char change[32];
    char low[32];
    char high[32];

    pfc_buf_puts(out, "| ");
    pfc_markdown_code(out, r->benchmark);
    pfc_buf_puts(out, " | ");
    pfc_markdown_code(out, r->metric);
    pfc_buf_puts(out, " | ");
    pfc_markdown_text(out, r->backend);
    if (r->verdict == PFC_CMP_BROKEN) {
        pfc_buf_puts(out, " | | | | ");
        pfc_markdown_text(out, r->reason ? r->reason : "");
        pfc_buf_puts(out, " | **broken** |\n");
        return;
    }
    pfc_show_value(r->a.median, a);
    pfc_show_value(r->b.median, b);
    pfc_show_percent(r->rel_change, change);
    pfc_show_percent(r->rel_low, low);
    pfc_show_percent(r->rel_high, high);
    pfc_buf_printf(out, " | %s | %s ", a, b);
    pfc_markdown_text(out, r->unit);
    pfc_buf_printf(out, " | **%s** | %s to %s | %s |\n", change, low, high,
                   pfc_cmp_name(r->verdict));
}

static const char table_head[] = "| benchmark | metric | backend | before | after | change | "
                                 "interval | verdict |\n"
                                 "| --- | --- | --- | ---: | ---: | ---: | --- | --- |\n";

static bool is_change(const pfc_cmp_row *r)
{
    return r->verdict == PFC_CMP_REGRESSION || r->verdict == PFC_CMP_BROKEN;
}

/* A table of the rows that `wanted` says; at most max, the others are counted. */
static void put_table(pfc_buf *out, const pfc_cmp *cmp, bool changes, size_t max)
{
    size_t shown = 0;
    size_t left_out = 0;

    for (size_t i = 0; i < cmp->len; i++) {
        if (is_change(&cmp->rows[i]) != changes)
            continue;
        /* A row takes a kilobyte at most, and the end of the comment must fit, too. */
        if (shown == max || out->len > PFC_COMMENT_MAX_BYTES - 6000) {
            left_out++;
            continue;
        }
        if (shown++ == 0)
            pfc_buf_puts(out, table_head);
        put_row(out, &cmp->rows[i]);
    }
    if (left_out)
        pfc_buf_printf(out, "\n%zu more not shown.\n", left_out);
    if (shown)
        pfc_buf_putc(out, '\n');
}

void pfc_comment_markdown(const pfc_cmp *cmp, const char *key, const char *link, pfc_buf *out)
{
    const size_t changed = cmp->count[PFC_CMP_REGRESSION] + cmp->count[PFC_CMP_BROKEN];
    char marker[PFC_COMMENT_MARKER_MAX];

    pfc_comment_marker(key, marker);
    pfc_buf_printf(out, "%s\n", marker);
    put_verdict(out, cmp);
    put_table(out, cmp, true, TABLE_ROWS);
    if (cmp->fingerprint) {
        pfc_buf_puts(out, "The machines differ (");
        pfc_markdown_text(out, cmp->fingerprint);
        pfc_buf_puts(out, "): read the numbers with care.\n\n");
    }
    if (cmp->len > changed) {
        pfc_buf_printf(out,
                       "<details><summary>%zu other%s: %zu improved, %zu unchanged, %zu not "
                       "decided</summary>\n\n",
                       cmp->len - changed, cmp->len - changed == 1 ? "" : "s",
                       cmp->count[PFC_CMP_IMPROVEMENT], cmp->count[PFC_CMP_SAME],
                       cmp->count[PFC_CMP_INCONCLUSIVE]);
        put_table(out, cmp, false, FOLDED_ROWS);
        pfc_buf_puts(out, "</details>\n\n");
    }
    pfc_buf_puts(out, "Compared ");
    pfc_markdown_code(out, cmp->b);
    pfc_buf_puts(out, " with ");
    pfc_markdown_code(out, cmp->a);
    pfc_buf_puts(out, ". Reproduce: `perfci compare ");
    for (const char *p = cmp->a; *p; p++)
        pfc_buf_putc(out, isalnum((unsigned char)*p) || strchr("._/-", *p) ? *p : '?');
    pfc_buf_putc(out, ' ');
    for (const char *p = cmp->b; *p; p++)
        pfc_buf_putc(out, isalnum((unsigned char)*p) || strchr("._/-", *p) ? *p : '?');
    pfc_buf_puts(out, "`");
    if (link)
        pfc_buf_printf(out, " · <%s>", link);
    pfc_buf_putc(out, '\n');
}

/* ---- GitHub ---- */

static const char *const github_headers[] = { "Accept: application/vnd.github+json",
                                              "X-GitHub-Api-Version: 2022-11-28",
                                              "User-Agent: perfci/" PFC_VERSION, NULL };

static pfc_code call(pfc_http *github, const char *method, const char *path, const json_t *body,
                     json_t **out, pfc_err *err)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    const pfc_http_req req = { .method = method,
                               .path = path,
                               .body = text,
                               .body_len = text ? strlen(text) : 0,
                               .headers = github_headers };
    pfc_http_answer answer = { 0 };
    pfc_code code = pfc_http_send(github, &req, &answer, err);

    if (!code) {
        if (answer.status >= 200 && answer.status < 300)
            code = pfc_json_parse(pfc_buf_text(&answer.body), answer.body.len, out, err);
        else if (answer.status == 401 || answer.status == 403)
            code = pfc_err_set(err, PFC_EDENIED, "GitHub refuses the token for %s (status %d)",
                               path, answer.status);
        else if (answer.status == 404)
            code = pfc_err_set(err, PFC_ENOTFOUND,
                               "GitHub knows no %s, or the token may not see it", path);
        else
            code = pfc_err_set(
                err, answer.status >= 500 || answer.status == 429 ? PFC_EUNAVAIL : PFC_EIO,
                "GitHub answers %d to %s %s", answer.status, method, path);
        pfc_http_answer_clear(&answer);
    }
    free(text);
    return code;
}

/* The number of the comment with our marker; 0 when there is none. */
static pfc_code find_comment(pfc_http *github, const char *repo, int64_t number, const char *marker,
                             int64_t *id, pfc_err *err)
{
    pfc_code code = PFC_OK;
    bool more = true;

    *id = 0;
    for (int page = 1; page <= MAX_PAGES && more && !*id && !code; page++) {
        char *path = pfc_format("/repos/%s/issues/%lld/comments?per_page=%d&page=%d", repo,
                                (long long)number, PAGE, page);
        json_t *list = NULL;

        code = call(github, "GET", path, NULL, &list, err);
        for (size_t i = 0; !code && i < json_array_size(list) && !*id; i++) {
            const json_t *comment = json_array_get(list, i);
            const char *body = json_string_value(json_object_get(comment, "body"));

            if (body && pfc_comment_is_ours(body, marker))
                *id = json_integer_value(json_object_get(comment, "id"));
        }
        more = json_array_size(list) == PAGE;
        json_decref(list);
        free(path);
    }
    return code;
}

pfc_code pfc_comment_put(pfc_http *github, const char *repo, int64_t number, const char *key,
                         const char *body, char **url, bool *created, pfc_err *err)
{
    char marker[PFC_COMMENT_MARKER_MAX];
    char *path = NULL;
    json_t *doc = json_pack("{s:s}", "body", body);
    json_t *answer = NULL;
    int64_t id = 0;
    pfc_code code;

    pfc_comment_marker(key, marker);
    code = find_comment(github, repo, number, marker, &id, err);
    if (code)
        goto done;
    if (id) {
        path = pfc_format("/repos/%s/issues/comments/%lld", repo, (long long)id);
        code = call(github, "PATCH", path, doc, &answer, err);
    } else {
        path = pfc_format("/repos/%s/issues/%lld/comments", repo, (long long)number);
        code = call(github, "POST", path, doc, &answer, err);
    }
    if (code)
        goto done;
    *created = id == 0;
    *url = pfc_strdup(json_string_value(json_object_get(answer, "html_url")));

done:
    json_decref(answer);
    json_decref(doc);
    free(path);
    return code;
}
