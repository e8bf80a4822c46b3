/* The comment of a pull request. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/comment/comment_priv.h"

enum {
    TABLE_ROWS = 20,
    FOLDED_ROWS = 500,
    LINE_BYTES = 8192,
    DIFFERENCES = 8,
    ID_SHOWN = 12,
    TEXT_BYTES = 400,
};

#define RED   "\xF0\x9F\x94\xB4"
#define GREEN "\xF0\x9F\x9F\xA2"
#define WHITE "\xE2\x9A\xAA"
#define STOP  "\xE2\x9B\x94"

bool pfc_comment_is_link(const char *text)
{
    if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
        return false;
    for (const char *p = text; *p; p++)
        if (*p <= ' ' || *p > '~' || strchr("<>\"`\\", *p))
            return false;
    return strlen(text) < 2000;
}

static void put_cut(pfc_buf *out, const char *text, size_t max_len)
{
    char *copy = pfc_strdup(text);

    copy[pfc_utf8_cut(copy, max_len)] = '\0';
    pfc_markdown_text(out, copy);
    free(copy);
}

/* ---- the verdict ---- */

static double largest(const pfc_cmp *cmp, pfc_cmp_verdict verdict)
{
    double most = 0;

    for (size_t i = 0; i < cmp->len; i++) {
        const pfc_cmp_row *r = &cmp->rows[i];

        if (!r->secondary && r->verdict == verdict && isfinite(r->rel_change) &&
            fabs(r->rel_change) > fabs(most))
            most = r->rel_change;
    }
    return most;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void put_counts(pfc_buf *out, const pfc_cmp *cmp)
{
    const size_t *n = cmp->count;
    char change[32];

    if (n[PFC_CMP_REGRESSION]) {
        pfc_show_percent(largest(cmp, PFC_CMP_REGRESSION), change);
        pfc_buf_printf(out, "%zu regression%s, the largest %s", n[PFC_CMP_REGRESSION],
                       plural(n[PFC_CMP_REGRESSION]), change);
        if (n[PFC_CMP_IMPROVEMENT])
            pfc_buf_printf(out, "; %zu improvement%s", n[PFC_CMP_IMPROVEMENT],
                           plural(n[PFC_CMP_IMPROVEMENT]));
    } else if (n[PFC_CMP_INCONCLUSIVE]) {
        pfc_buf_printf(out, "No regression shown; %zu of %zu not decided", n[PFC_CMP_INCONCLUSIVE],
                       n[PFC_CMP_INCONCLUSIVE] + n[PFC_CMP_SAME] + n[PFC_CMP_IMPROVEMENT] +
                           n[PFC_CMP_BROKEN]);
        if (n[PFC_CMP_IMPROVEMENT])
            pfc_buf_printf(out, "; %zu improvement%s", n[PFC_CMP_IMPROVEMENT],
                           plural(n[PFC_CMP_IMPROVEMENT]));
    } else if (n[PFC_CMP_IMPROVEMENT]) {
        pfc_show_percent(largest(cmp, PFC_CMP_IMPROVEMENT), change);
        pfc_buf_printf(out, "%zu improvement%s, the largest %s; no regression",
                       n[PFC_CMP_IMPROVEMENT], plural(n[PFC_CMP_IMPROVEMENT]), change);
    } else {
        pfc_buf_printf(out, "No change in %zu benchmark%s", n[PFC_CMP_SAME],
                       plural(n[PFC_CMP_SAME]));
    }
}

/* The mark of the verdict; its words go to `out`. */
static const char *verdict(const pfc_cmp *cmp, pfc_buf *out)
{
    const size_t *n = cmp->count;
    size_t counted = 0;

    for (int v = 0; v < PFC_CMP_VERDICTS; v++)
        counted += n[v];
    if (cmp->failure) {
        pfc_buf_puts(out, cmp->failure_status == 4 ? "No comparison: a build or a benchmark is "
                                                     "broken"
                                                   : "No comparison: the measurement failed");
        return cmp->failure_status == 4 ? STOP : WHITE;
    }
    if (pfc_cmp_is_unmeasured(cmp)) {
        pfc_buf_puts(out, "Unchanged: identical object code, nothing was measured");
        return GREEN;
    }
    if (cmp->nothing || counted == 0) {
        pfc_buf_puts(out, "Nothing was compared");
        return WHITE;
    }
    if (n[PFC_CMP_BROKEN]) {
        pfc_buf_printf(out, "%zu benchmark%s broken", n[PFC_CMP_BROKEN],
                       n[PFC_CMP_BROKEN] == 1 ? " is" : "s are");
        if (n[PFC_CMP_REGRESSION]) {
            pfc_buf_puts(out, "; ");
            put_counts(out, cmp);
        }
        return STOP;
    }
    if (pfc_cmp_is_undecided(cmp)) {
        pfc_buf_puts(out, "Not decided: measured with different machines or compilers");
        return WHITE;
    }
    put_counts(out, cmp);
    return n[PFC_CMP_REGRESSION] ? RED : n[PFC_CMP_INCONCLUSIVE] ? WHITE : GREEN;
}

char *pfc_comment_verdict(const pfc_cmp *cmp)
{
    pfc_buf text;

    pfc_buf_init(&text, LINE_BYTES);
    (void)verdict(cmp, &text);
    return pfc_buf_take(&text);
}

/* ---- both sides ---- */

/* A commit's short id with a link to it, or the name of a file. */
static void put_side(pfc_buf *out, const char *name, const pfc_comment_opts *opts)
{
    char *shown = pfc_strdup(name ? name : "?");
    const bool commit = pfc_is_commit_id(shown);
    const bool linked = commit && opts->commit_url && pfc_comment_is_link(opts->commit_url);

    if (linked)
        pfc_buf_putc(out, '[');
    if (commit)
        shown[ID_SHOWN] = '\0';
    pfc_markdown_code(out, shown);
    if (linked)
        pfc_buf_printf(out, "](<%s%s>)", opts->commit_url, name);
    free(shown);
}

static void put_reused(pfc_buf *out, const pfc_cmp *cmp)
{
    char *sentence = pfc_cmp_reused_sentence(cmp);

    if (!sentence)
        return;
    put_cut(out, sentence, TEXT_BYTES);
    pfc_buf_puts(out, "\n\n");
    free(sentence);
}

void comment_sides(const pfc_cmp *cmp, const pfc_comment_opts *opts, pfc_buf *out)
{
    if (cmp->a && cmp->b) {
        pfc_buf_puts(out, "Head ");
        put_side(out, cmp->b, opts);
        pfc_buf_puts(out, cmp->failure || cmp->nothing ? ", base " : " compared with base ");
        put_side(out, cmp->a, opts);
        if (cmp->rounds && cmp->len)
            pfc_buf_printf(out, " in %zu interleaved rounds", cmp->rounds);
        else if (cmp->stored)
            pfc_buf_puts(out, " as stored");
    }
    if (opts->link && pfc_comment_is_link(opts->link))
        pfc_buf_printf(out, "%s[Whole comparison](<%s>)", cmp->a && cmp->b ? " \xC2\xB7 " : "",
                       opts->link);
    pfc_buf_puts(out, "\n\n");
    put_reused(out, cmp);
    if (opts->note) {
        put_cut(out, opts->note, 4 * TEXT_BYTES);
        pfc_buf_puts(out, "\n\n");
    }
}

/* ---- what a reader has to know before the numbers ---- */

static void put_differences(pfc_buf *out, const pfc_cmp *cmp)
{
    if (cmp->differs_len == 0)
        return;
    pfc_buf_puts(out,
                 pfc_cmp_machines_differ(cmp) ? "The machines differ (" : "The backends differ (");
    for (size_t i = 0; i < PFC_MIN(cmp->differs_len, (size_t)DIFFERENCES); i++) {
        const pfc_cmp_difference *d = &cmp->differs[i];

        pfc_buf_puts(out, i ? "; " : "");
        put_cut(out, d->field, 100);
        pfc_buf_puts(out, ": ");
        put_cut(out, d->a ? d->a : "not recorded", 100);
        pfc_buf_puts(out, " to ");
        put_cut(out, d->b ? d->b : "not recorded", 100);
    }
    if (cmp->differs_len > DIFFERENCES)
        pfc_buf_printf(out, "; %zu more", cmp->differs_len - DIFFERENCES);
    pfc_buf_puts(out, "): a difference may not come from the code.\n\n");
}

static void put_warnings(pfc_buf *out, const pfc_cmp *cmp)
{
    const size_t only_a = json_array_size(cmp->only_a), only_b = json_array_size(cmp->only_b);
    char change[32];

    put_differences(out, cmp);
    if (cmp->canary_rel != 0) {
        pfc_show_percent(cmp->canary_rel, change);
        pfc_buf_printf(out,
                       "The same fixed work took %s on the head's side: the machine ran at "
                       "another speed.\n\n",
                       change);
    }
    if (only_a || only_b)
        pfc_buf_printf(out, "Not compared: %zu only in the base, %zu only in the head.\n\n", only_a,
                       only_b);
    if (cmp->hidden_a || cmp->hidden_b)
        pfc_buf_printf(out,
                       "In quarantine, not counted: %lld results of the base, %lld of the "
                       "head.\n\n",
                       (long long)cmp->hidden_a, (long long)cmp->hidden_b);
}

void comment_object_code(const pfc_cmp *cmp, pfc_buf *out)
{
    if (pfc_streq(cmp->object_code, "identical"))
        pfc_buf_puts(out, "Object code: identical on both sides, so the code is not the cause of "
                          "a difference.\n\n");
    else if (pfc_streq(cmp->object_code, "different"))
        pfc_buf_puts(out, "Object code: different.\n\n");
}

/* ---- the end ---- */

/* A fence that is longer than any run of back-ticks in the text. */
static void put_fenced(pfc_buf *out, const char *text)
{
    size_t run = 0, most = 2;

    for (const char *p = text; *p; p++) {
        run = *p == '`' ? run + 1 : 0;
        most = PFC_MAX(most, run);
    }
    for (int end = 0; end < 2; end++) {
        for (size_t i = 0; i <= most; i++)
            pfc_buf_putc(out, '`');
        pfc_buf_puts(out, end ? "\n" : "sh\n");
        if (!end)
            pfc_buf_printf(out, "%s\n", text);
    }
}

static void put_repeat(pfc_buf *out, const pfc_cmp *cmp)
{
    pfc_buf line;
    bool whole = false;

    pfc_buf_init(&line, LINE_BYTES);
    if (!cmp->failure && !cmp->nothing && cmp->a && cmp->b &&
        pfc_cmp_repeat_line(cmp, &line, &whole)) {
        pfc_buf_puts(out, whole ? "Reproduce:\n\n"
                                : "Reproduce, with the job's further options added:\n\n");
        put_fenced(out, pfc_buf_text(&line));
    }
    pfc_buf_clear(&line);
}

/* ---- the whole ---- */

static void put_rows(pfc_buf *out, const pfc_cmp *cmp, const char *series_url, size_t max_bytes)
{
    static const char end[] = "</details>\n\n";
    const comment_shape table = { .evidence = true,
                                  .series_url = series_url,
                                  .max_rows = TABLE_ROWS,
                                  .max_bytes = max_bytes / 2 };
    const comment_shape folded = { .series_url = series_url,
                                   .max_rows = FOLDED_ROWS,
                                   .max_bytes = max_bytes - sizeof(end) - 64 };
    const pfc_cmp_row **rows = comment_order(cmp);
    const size_t *n = cmp->count;
    size_t changes = 0, shown = 0;

    while (changes < cmp->len && comment_is_change(rows[changes]))
        changes++;
    if (changes)
        shown = comment_table(cmp, &table, rows, PFC_MIN(changes, (size_t)TABLE_ROWS), out);
    comment_object_code(cmp, out);
    comment_functions(cmp, out);
    if (changes)
        comment_slices(cmp, out);
    pfc_comment_explanation(cmp->explanation, out);
    if (cmp->len > shown && out->len + 2000 < max_bytes) {
        pfc_buf_printf(out,
                       "<details><summary>%zu other%s: %zu unchanged, %zu not decided, %zu "
                       "changed or not counted</summary>\n\n",
                       cmp->len - shown, plural(cmp->len - shown), n[PFC_CMP_SAME],
                       n[PFC_CMP_INCONCLUSIVE],
                       cmp->len - shown -
                           PFC_MIN(cmp->len - shown, n[PFC_CMP_SAME] + n[PFC_CMP_INCONCLUSIVE]));
        if (!changes)
            comment_slices(cmp, out);
        (void)comment_table(cmp, &folded, rows + shown, cmp->len - shown, out);
        pfc_buf_puts(out, end);
    }
    free(rows);
}

/* Why there are no rows, in the words of who measured. */
static void put_reason(pfc_buf *out, const pfc_cmp *cmp)
{
    const char *why = cmp->failure ? cmp->failure : cmp->nothing;

    if (!why && cmp->len == 0 && !pfc_cmp_is_unmeasured(cmp))
        why = "Both sides have no measured benchmark in common.";
    if (!why)
        return;
    put_cut(out, why, 4 * TEXT_BYTES);
    pfc_buf_puts(out, "\n\n");
}

void pfc_comment_markdown(const pfc_cmp *cmp, const pfc_comment_opts *opts, pfc_buf *out)
{
    char marker[PFC_COMMENT_MARKER_MAX];
    const char *mark;
    pfc_buf words, end;

    pfc_buf_init(&words, LINE_BYTES);
    pfc_buf_init(&end, 2 * LINE_BYTES);
    mark = verdict(cmp, &words);
    pfc_comment_marker(opts->key, marker);
    pfc_buf_printf(out, "%s\n### %s %s%s\n\n", marker, opts->accepted ? GREEN : mark,
                   pfc_buf_text(&words), opts->accepted ? " (accepted)" : "");
    comment_sides(cmp, opts, out);
    put_reason(out, cmp);
    put_repeat(&end, cmp);
    if (!cmp->failure && !cmp->nothing && cmp->len > 0) {
        put_warnings(out, cmp);
        put_rows(out, cmp, opts->series_url, PFC_COMMENT_MAX_BYTES - 1 - end.len);
    }
    pfc_buf_puts(out, pfc_buf_text(&end));
    pfc_buf_clear(&end);
    pfc_buf_clear(&words);
}

/* A failure is not the code's fault, unless the build or the benchmark is broken. */
static pfc_cmp_verdict overall(const pfc_cmp *cmp)
{
    if (cmp->failure)
        return cmp->failure_status == 4 ? PFC_CMP_BROKEN : PFC_CMP_INCONCLUSIVE;
    return cmp->nothing ? PFC_CMP_INCONCLUSIVE : pfc_cmp_overall(cmp);
}

pfc_code pfc_comment_from_text(const char *document, size_t len, const pfc_comment_opts *opts,
                               pfc_buf *out, pfc_comment_result *result, pfc_err *err)
{
    json_t *doc = NULL;
    pfc_cmp cmp = { 0 };
    pfc_code code = len <= PFC_WIRE_MAX_BODY_BYTES
                        ? pfc_json_parse(document, len, &doc, err)
                        : pfc_err_set(err, PFC_ETOOBIG, "comparison: expected at most %u bytes",
                                      PFC_WIRE_MAX_BODY_BYTES);

    if (!code)
        code = pfc_cmp_from_document(doc, &cmp, err);
    if (!code)
        pfc_comment_markdown(&cmp, opts, out);
    if (!code && result)
        *result = (pfc_comment_result){ overall(&cmp), pfc_comment_verdict(&cmp) };
    pfc_cmp_clear(&cmp);
    json_decref(doc);
    return code;
}
