/* The messages that receivers get. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/clock.h"
#include "core/forge/forge.h"
#include "server/notify/internal.h"

#define TEXT_MAX     (256u * 1024)
#define GITHUB_ROWS  100
#define OWNERS_NAMED 8 /* in one comment */

static const pfc_notice *find(const pfc_notices *all, int64_t id)
{
    size_t i = 0;

    while (i + 1 < all->len && all->items[i].id != id)
        i++;
    return &all->items[i];
}

static json_t *text_or_null(const char *text)
{
    json_t *json = text ? json_string(text) : NULL;

    return json ? json : json_null();
}

/* No commit's: what it is about is in its text. */
static bool blames_nobody(const pfc_notice *n)
{
    return strcmp(n->kind, "culprit_confirmed") != 0;
}

/* NULL: of a fault, too, which is on the project's page. */
char *notify_alert_link(const char *link, int64_t alert_id)
{
    return link && alert_id ? pfc_format("%s/alerts/%lld", link, (long long)alert_id) : NULL;
}

/* A fault has no alert and no command that repeats it. */
static void name_fault(json_t *doc, const pfc_notice *n)
{
    json_object_set_new(doc, "alert", json_null());
    json_object_set_new(doc, "repro", json_null());
    json_object_set_new(doc, "event_id", json_integer((json_int_t)n->fault_id));
}

/* The command that shows more. */
static char *next_command(const pfc_notice *n)
{
    return n->alert_id ? pfc_format("perfci repro alert:%lld", (long long)n->alert_id)
                       : pfc_format("perfci events %lld", (long long)n->fault_id);
}

json_t *notify_document(const pfc_notice *n, const char *link)
{
    char *url = notify_alert_link(link, n->alert_id);
    char time[32];
    json_t *doc;

    pfc_clock_rfc3339(n->created_at, time);
    doc = json_pack(
        "{s:I, s:s, s:s, s:s, s:s, s:{s:I, s:o, s:o, s:o, s:o, s:o, s:o}, s:{s:s, s:o, s:o}, s:o}",
        "id", (json_int_t)n->id, "kind", n->kind, "project", n->project, "created_at", time, "text",
        n->text, "alert", "id", (json_int_t)n->alert_id, "benchmark", text_or_null(n->benchmark),
        "metric", text_or_null(n->metric), "backend", text_or_null(n->backend), "machine_class",
        text_or_null(n->machine_class), "rel_change",
        isfinite(n->rel_change) ? json_real(n->rel_change) : json_null(), "url", text_or_null(url),
        "commit", "id", n->commit ? n->commit : "", "subject", text_or_null(n->subject), "author",
        text_or_null(n->author), "repro",
        json_sprintf("perfci repro alert:%lld", (long long)n->alert_id));
    json_object_set_new(doc, "owner", text_or_null(n->owner));
    if (blames_nobody(n))
        json_object_set_new(doc, "commit", json_null());
    if (!n->alert_id)
        name_fault(doc, n);
    free(url);
    return doc;
}

char *notify_dump(json_t *doc)
{
    char *text = json_dumps(doc, JSON_COMPACT);

    if (!text)
        pfc_die("a notice is no JSON");
    json_decref(doc);
    return text;
}

char *notify_webhook(const pfc_notices *all, int64_t id, const char *link)
{
    return notify_dump(notify_document(find(all, id), link));
}

/* https://api.slack.com/reference/surfaces/formatting#escaping: only these three characters can
 * form a mention. Mattermost reads a plain @ as a mention, unless a zero-width character follows
 * it. */
void notify_put_slack(pfc_buf *out, const char *text)
{
    for (const char *p = text ? text : ""; *p; p++) {
        if (*p == '&')
            pfc_buf_puts(out, "&amp;");
        else if (*p == '<')
            pfc_buf_puts(out, "&lt;");
        else if (*p == '>')
            pfc_buf_puts(out, "&gt;");
        else if (*p == '@')
            pfc_buf_puts(out, "@\xE2\x80\x8B");
        else
            pfc_buf_putc(out, (unsigned char)*p < 0x20 || *p == '`' ? ' ' : *p);
    }
}

char *notify_slack(const pfc_notices *all, int64_t id, const char *link)
{
    const pfc_notice *n = find(all, id);
    char *url = notify_alert_link(link, n->alert_id), *command = next_command(n);
    pfc_buf out;
    json_t *doc;

    pfc_buf_init(&out, TEXT_MAX);
    notify_put_slack(&out, n->project);
    pfc_buf_puts(&out, ": ");
    notify_put_slack(&out, n->text);
    if (!blames_nobody(n)) {
        pfc_buf_printf(&out, "\n`%.12s` ", n->commit);
        notify_put_slack(&out, n->subject ? n->subject : "");
    }
    if (n->benchmark) {
        pfc_buf_puts(&out, "\nseen in `");
        notify_put_slack(&out, n->benchmark);
        pfc_buf_puts(&out, "` ");
        notify_put_slack(&out, n->metric);
    }
    if (n->owner) {
        pfc_buf_puts(&out, "\nowner: ");
        notify_put_slack(&out, n->owner);
    }
    pfc_buf_printf(&out, "\n%s: `%s`", n->alert_id ? "again" : "more", command);
    if (url)
        pfc_buf_printf(&out, "\n%s", url);
    doc = json_pack("{s:s}", "text", pfc_buf_text(&out));
    pfc_buf_clear(&out);
    free(command);
    free(url);
    return notify_dump(doc);
}

/* The texts come from strangers' commits: a control character could hide a part of the message. */
void notify_put_plain(pfc_buf *out, const char *text)
{
    for (const char *p = text ? text : ""; *p; p++)
        pfc_buf_putc(out, (unsigned char)*p < 0x20 || *p == 0x7F ? ' ' : *p);
}

char *notify_mail(const pfc_notices *all, int64_t id, const char *link)
{
    const pfc_notice *n = find(all, id);
    char *url = notify_alert_link(link, n->alert_id), *command = next_command(n);
    pfc_buf out;

    pfc_buf_init(&out, TEXT_MAX);
    pfc_buf_puts(&out, "Project:   ");
    notify_put_plain(&out, n->project);
    pfc_buf_puts(&out, "\nWhat:      ");
    notify_put_plain(&out, n->text);
    if (!blames_nobody(n)) {
        pfc_buf_printf(&out, "\nCommit:    %.12s ", n->commit);
        notify_put_plain(&out, n->subject);
        pfc_buf_puts(&out, "\nAuthor:    ");
        notify_put_plain(&out, n->author ? n->author : "not known");
    }
    if (n->benchmark) {
        pfc_buf_puts(&out, "\nBenchmark: ");
        notify_put_plain(&out, n->benchmark);
        pfc_buf_puts(&out, "\nMetric:    ");
        notify_put_plain(&out, n->metric);
        pfc_buf_puts(&out, "\nBackend:   ");
        notify_put_plain(&out, n->backend);
        if (isfinite(n->rel_change))
            pfc_buf_printf(&out, "\nChange:    %+.2f %%", 100 * n->rel_change);
    }
    if (n->owner) {
        pfc_buf_puts(&out, "\nOwner:     ");
        notify_put_plain(&out, n->owner);
    }
    if (url)
        pfc_buf_printf(&out, "\nAlert:     %s", url);
    pfc_buf_printf(&out, "\n%s    %s\n", n->alert_id ? "Repeat:" : "More:  ", command);
    free(command);
    free(url);
    return pfc_buf_take(&out);
}

/* In code, because a plain @name makes the forge send mail; the receivers of notices do that. */
static void put_owners(const pfc_notices *all, pfc_buf *out)
{
    size_t named = 0;

    for (size_t i = 0; i < all->len && named < OWNERS_NAMED; i++) {
        const char *owner = all->items[i].owner;
        size_t k = 0;

        while (owner && k < i && !pfc_streq(all->items[k].owner, owner))
            k++;
        if (!owner || k < i)
            continue;
        pfc_buf_puts(out, named++ ? ", " : "\nOwner: ");
        pfc_markdown_code(out, owner);
    }
    if (named)
        pfc_buf_putc(out, '\n');
}

char *notify_github(const pfc_notices *all, const json_t *explanation, const char *link)
{
    char marker[PFC_COMMENT_MARKER_MAX];
    pfc_buf out;

    pfc_buf_init(&out, PFC_COMMENT_MAX_BYTES);
    pfc_comment_marker(GITHUB_KEY, marker);
    pfc_buf_printf(
        &out,
        "%s\n### \xF0\x9F\x94\xB4 This commit changed %zu measurement%s, confirmed by fresh "
        "runs\n\n| benchmark | metric | backend | change | alert |\n"
        "| --- | --- | --- | ---: | --- |\n",
        marker, all->len, all->len == 1 ? "" : "s");
    for (size_t i = 0; i < all->len && i < GITHUB_ROWS && out.len < PFC_COMMENT_MAX_BYTES / 2;
         i++) {
        const pfc_notice *n = &all->items[i];
        char *url = notify_alert_link(link, n->alert_id);

        pfc_buf_puts(&out, "| ");
        pfc_markdown_code(&out, n->benchmark ? n->benchmark : "?");
        pfc_buf_puts(&out, " | ");
        pfc_markdown_code(&out, n->metric ? n->metric : "?");
        pfc_buf_puts(&out, " | ");
        pfc_markdown_text(&out, n->backend ? n->backend : "");
        if (isfinite(n->rel_change))
            pfc_buf_printf(&out, " | **%+.2f %%**", 100 * n->rel_change);
        else
            pfc_buf_puts(&out, " | ");
        if (url)
            pfc_buf_printf(&out, " | [%lld](%s) |\n", (long long)n->alert_id, url);
        else
            pfc_buf_printf(&out, " | %lld |\n", (long long)n->alert_id);
        free(url);
    }
    if (all->len > GITHUB_ROWS)
        pfc_buf_printf(&out, "\n%zu more not shown.\n", all->len - GITHUB_ROWS);
    put_owners(all, &out);
    pfc_buf_putc(&out, '\n');
    pfc_comment_explanation(explanation, &out);
    pfc_buf_puts(&out, "<details><summary>Evidence, and how to see it again</summary>\n\n");
    for (size_t i = 0; i < all->len && i < GITHUB_ROWS && out.len < PFC_COMMENT_MAX_BYTES - 4096;
         i++) {
        pfc_buf_puts(&out, "- ");
        pfc_markdown_text(&out, all->items[i].text);
        pfc_buf_printf(&out, ": `perfci repro alert:%lld`\n", (long long)all->items[i].alert_id);
    }
    pfc_buf_puts(&out, "\n</details>\n");
    return pfc_buf_take(&out);
}
