/* The messages of digests: all notices that were collected for a receiver. */
#include <stdlib.h>
#include <string.h>

#include "server/notify/internal.h"

#define TEXT_MAX    (256u * 1024)
#define SHOWN_MAX   200 /* notices in a message; the rest is counted */
#define CHAT_MAX    40  /* ... in a chat, where one message shows about 4000 characters */
#define KINDS_MAX   16
#define SUMMARY_MAX 4096

/* The kinds in the order of their first notice, with their numbers. */
typedef struct tally {
    const char *kind;
    size_t len;
} tally;

static size_t count_kinds(const pfc_notices *all, tally tallies[KINDS_MAX])
{
    size_t kinds = 0;

    for (size_t i = 0; i < all->len; i++) {
        size_t k = 0;

        while (k < kinds && strcmp(tallies[k].kind, all->items[i].kind) != 0)
            k++;
        if (k == KINDS_MAX)
            continue;
        if (k == kinds)
            tallies[kinds++] = (tally){ .kind = all->items[i].kind };
        tallies[k].len++;
    }
    return kinds;
}

char *notify_digest_title(const pfc_notices *all)
{
    tally tallies[KINDS_MAX];
    const size_t kinds = count_kinds(all, tallies);
    pfc_buf out;

    pfc_buf_init(&out, SUMMARY_MAX);
    pfc_buf_printf(&out, "%zu notice%s", all->len, all->len == 1 ? "" : "s");
    for (size_t k = 0; k < kinds; k++)
        pfc_buf_printf(&out, "%s%zu %s", k ? ", " : ": ", tallies[k].len, tallies[k].kind);
    return pfc_buf_take(&out);
}

char *notify_digest_webhook(const pfc_notices *all, const char *digest, const char *link)
{
    tally tallies[KINDS_MAX];
    const size_t kinds = count_kinds(all, tallies);
    char *title = notify_digest_title(all);
    json_t *counts = json_object(), *list = json_array();

    for (size_t k = 0; k < kinds; k++)
        json_object_set_new(counts, tallies[k].kind, json_integer((json_int_t)tallies[k].len));
    for (size_t i = 0; i < PFC_MIN(all->len, (size_t)SHOWN_MAX); i++)
        json_array_append_new(list, notify_document(&all->items[i], link));
    json_t *doc = json_pack("{s:s, s:s, s:s, s:o, s:o, s:I}", "kind", "digest", "digest", digest,
                            "text", title, "counts", counts, "notices", list, "more",
                            (json_int_t)(all->len - json_array_size(list)));

    free(title);
    return notify_dump(doc);
}

/* "project: text", and the alert's address or number. */
static void put_line(pfc_buf *out, const pfc_notice *n, const char *link,
                     void (*put)(pfc_buf *, const char *))
{
    char *url = notify_alert_link(link, n->alert_id);

    pfc_buf_puts(out, "\n- ");
    put(out, n->kind);
    pfc_buf_puts(out, ": ");
    put(out, n->project);
    pfc_buf_puts(out, ": ");
    put(out, n->text);
    if (url)
        pfc_buf_printf(out, " %s", url);
    else
        pfc_buf_printf(out, " (%s %lld)", n->alert_id ? "alert" : "event",
                       (long long)(n->alert_id ? n->alert_id : n->fault_id));
    free(url);
}

static void put_lines(pfc_buf *out, const pfc_notices *all, size_t max, const char *link,
                      void (*put)(pfc_buf *, const char *))
{
    char *title = notify_digest_title(all);
    size_t shown = 0;

    pfc_buf_puts(out, title);
    while (shown < PFC_MIN(all->len, max) && out->len < TEXT_MAX / 2)
        put_line(out, &all->items[shown++], link, put);
    if (shown < all->len)
        pfc_buf_printf(out, "\nand %zu more, in the feed of the project", all->len - shown);
    free(title);
}

char *notify_digest_slack(const pfc_notices *all, const char *link)
{
    pfc_buf out;
    json_t *doc;

    pfc_buf_init(&out, TEXT_MAX);
    put_lines(&out, all, CHAT_MAX, link, notify_put_slack);
    doc = json_pack("{s:s}", "text", pfc_buf_text(&out));
    pfc_buf_clear(&out);
    return notify_dump(doc);
}

char *notify_digest_mail(const pfc_notices *all, const char *link)
{
    pfc_buf out;

    pfc_buf_init(&out, TEXT_MAX);
    put_lines(&out, all, SHOWN_MAX, link, notify_put_plain);
    pfc_buf_putc(&out, '\n');
    return pfc_buf_take(&out);
}
