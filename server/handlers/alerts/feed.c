/* The Atom feed of a project's notices (RFC 4287). */
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/markup.h"
#include "server/handlers/handlers.h"
#include "server/services/notices.h"

enum { FEED_ENTRIES = 100, FEED_MAX_BYTES = 1024 * 1024 };

static void put_element(pfc_buf *out, const char *name, const char *text)
{
    pfc_buf_printf(out, "<%s>", name);
    pfc_markup_text(out, text);
    pfc_buf_printf(out, "</%s>\n", name);
}

/* The lines that only the notice of an alert has. */
static void put_alert(pfc_buf *out, const pfc_notice *n)
{
    pfc_buf_printf(out, "\nCommit: %s ", n->commit);
    pfc_markup_text(out, n->subject ? n->subject : "");
    pfc_buf_puts(out, "\nAuthor: ");
    pfc_markup_text(out, n->author ? n->author : "not known");
    pfc_buf_printf(out, "\nRepeat: perfci repro alert:%lld", (long long)n->alert_id);
}

static void put_entry(pfc_buf *out, const pfc_notice *n)
{
    char time[32];

    pfc_clock_rfc3339(n->created_at, time);
    pfc_buf_printf(out, "<entry>\n<id>urn:perfci:notice:%lld</id>\n<updated>%s</updated>\n",
                   (long long)n->id, time);
    pfc_buf_printf(out, "<category term=\"%s\"/>\n", n->kind);
    if (n->alert_id)
        pfc_buf_printf(out, "<link href=\"/alerts/%lld\"/>\n", (long long)n->alert_id);
    put_element(out, "title", n->text);
    pfc_buf_puts(out, "<content type=\"text\">");
    pfc_markup_text(out, n->text);
    if (n->alert_id)
        put_alert(out, n);
    else
        pfc_buf_printf(out, "\nEvent: perfci events %lld", (long long)n->fault_id);
    pfc_buf_puts(out, "</content>\n</entry>\n");
}

/* GET /api/v1/projects/{p}/feed: links are relative to the feed's own address. */
PFC_HANDLER(feed)
{
    pfc_notices rows = { 0 };
    int64_t project_id = 0;
    char updated[32];
    pfc_buf out;
    pfc_code code;

    code = pfc_path_project(app, req, &project_id, err);
    if (!code)
        code = pfc_notices_recent(app->db, project_id, FEED_ENTRIES, &rows, err);
    if (code)
        return code;
    pfc_clock_rfc3339(rows.len ? rows.items[0].created_at : 0, updated);
    pfc_buf_init(&out, FEED_MAX_BYTES);
    pfc_buf_puts(&out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                       "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
    pfc_buf_printf(&out, "<id>urn:perfci:feed:%s</id>\n<updated>%s</updated>\n",
                   req->params[0].value, updated);
    pfc_buf_puts(&out, "<author><name>perfci</name></author>\n");
    pfc_buf_puts(&out, "<link rel=\"self\" href=\"");
    pfc_markup_text(&out, req->path);
    pfc_buf_printf(&out, "\"/>\n<title>perfci: %s</title>\n", req->params[0].value);
    for (size_t i = 0; i < rows.len; i++)
        put_entry(&out, &rows.items[i]);
    pfc_buf_puts(&out, "</feed>\n");
    code = pfc_buf_check(&out, "the feed", err);
    if (!code)
        code =
            pfc_reply_text(reply, 200, "application/atom+xml; charset=utf-8", pfc_buf_take(&out));
    pfc_buf_clear(&out);
    pfc_rows_clear(&rows);
    return code;
}
